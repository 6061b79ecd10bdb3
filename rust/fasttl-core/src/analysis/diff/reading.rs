//! A record as a text that is compared line by line: guards sorted, since their order differs from process to process,
//! JSON with a line for each value.

use crate::format::guards::{Guard, parse};
use crate::format::kind::Kind;
use crate::format::strict;
use crate::trace::Log;

/// Bytes of a payload that are read.
const MOST_BYTES: u64 = 1 << 20;

/// The text of a record; `None` where it has none, or it is damaged.
pub(crate) fn record_text(log: &Log, bytes: &[u8], at: usize) -> Option<String> {
    let record = log.index.records.get(at)?;
    if !record.has_payload() {
        return Some(without_own_numbers(&readable(log.index.metadata(record, bytes))));
    }
    if !record.payload.is_whole() {
        return None;
    }
    let (start, end) = record.payload_range();
    let text = log.index.payload_at((start, end.min(start.saturating_add(MOST_BYTES))), bytes).text();
    if record.kind.is(Kind::DynamoCppGuardsStr) {
        return Some(guards(&String::from_utf8_lossy(&text)));
    }
    Some(readable(&text))
}

/// JSON with a line for each value; other text as it is.
fn readable(text: &[u8]) -> String {
    let mut pretty = Vec::new();
    let is_json = text.trim_ascii_start().starts_with(b"{") || text.trim_ascii_start().starts_with(b"[");
    let shown = if is_json && strict::pretty(text, &mut pretty).is_ok() { &pretty } else { text };
    String::from_utf8_lossy(shown).into_owned()
}

/// Described tensors carry the number of what described them, which each process counts by itself.
fn without_own_numbers(text: &str) -> String {
    let is_own = |line: &&str| line.trim_start().starts_with("\"describer_id\":");
    text.lines().filter(|line| !is_own(line)).collect::<Vec<_>>().join("\n")
}

/// A line for each guard, sorted; the text itself where none is found in it.
fn guards(text: &str) -> String {
    let line = |guard: &Guard<'_>| {
        let source = guard.manager.source.unwrap_or_default();
        let kind = guard.kind.unwrap_or_default();
        format!("{source}  {kind}  {}", guard.code.unwrap_or_default()).trim().to_owned()
    };
    let mut lines: Vec<String> = parse(text).guards.iter().map(line).collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    lines.sort();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_sorted_and_json_has_lines() {
        let tree = "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['y'], accessed_by=A\n| | +- TENSOR_MATCH: check_tensor(L['y'], size=[8])\n| +- GuardManager: source=L['x'], accessed_by=A\n| | +- TENSOR_MATCH: check_tensor(L['x'], size=[4])\n";
        assert_eq!(
            guards(tree),
            "L['x']  TENSOR_MATCH  check_tensor(L['x'], size=[4])\nL['y']  TENSOR_MATCH  check_tensor(L['y'], size=[8])"
        );
        assert_eq!(guards("no tree"), "no tree");
        assert_eq!(readable(b"[\"a\",\"b\"]"), "[\n  \"a\",\n  \"b\"\n]");
        assert_eq!(readable(b"[\"a\","), "[\"a\",");
        assert_eq!(readable(b"def f(): pass"), "def f(): pass");
        let described = readable(br#"{"id": 0, "describer_id": 7, "size": [5]}"#);
        assert_eq!(without_own_numbers(&described), "{\n  \"id\": 0,\n  \"size\": [\n    5\n  ]\n}");
    }
}
