//! Why compiles were recompiled, and where graphs broke.

use rustc_hash::FxHashSet;

use super::Aspect;
use super::compiles::{Shown, sets};
use super::noise::{base, plain, plain_guard};
use super::sheet::Sheet;
use super::side::{Half, Pair};
use crate::analysis::compiles::FailureKind;
use crate::format::json;

/// Compares why they were recompiled.
pub(super) fn recompile_reasons(pair: &Pair<'_>, sheet: &mut Sheet) {
    let (Some(a), Some(b)) = (reasons(&pair.a, sheet), reasons(&pair.b, sheet)) else { return };
    sets(pair, Aspect::RecompileReasons, "reason", a, b, sheet);
}

/// The reasons of a compile: all that were logged, else the first, which its metrics have.
fn reasons(half: &Half<'_>, sheet: &mut Sheet) -> Option<Vec<Shown>> {
    let compile = half.compile;
    let Some(at) = compile.reasons() else {
        let record = compile.metrics.last().copied().unwrap_or(compile.first);
        return Some(compile.recompile_reason.iter().map(|text| shown(text, record)).collect());
    };
    let Some(text) = half.side.text(at) else {
        sheet.unknown(Aspect::RecompileReasons, format!("{}: its reasons are damaged", half.label()));
        return None;
    };
    let one = |value: &[u8]| json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned());
    let list = match json::only_value(&text) {
        Ok((list, _)) if text.get(list.start) == Some(&b'[') => text.get(list).and_then(json::elements),
        _ => None,
    };
    Some(match list {
        Some(list) => list.map(|value| shown(&one(value), at)).collect(),
        None => vec![shown(&one(&text), at)],
    })
}

/// A reason begins with the id of the entry that did not fit; ids are shifted where a frame is more.
fn shown(text: &str, record: usize) -> Shown {
    let bare =
        text.split_once(": ").filter(|(id, _)| id.contains('/') && !id.contains(' ')).map_or(text, |(_, rest)| rest);
    let bare = bare.split("\nUser stack trace:").next().unwrap_or(bare).trim_end();
    (plain_guard(bare), text.to_owned(), record)
}

/// Compares where and why the graph broke, and what else was started over.
pub(super) fn graph_breaks(pair: &Pair<'_>, sheet: &mut Sheet) {
    let (Some(a), Some(b)) = (breaks(&pair.a, sheet), breaks(&pair.b, sheet)) else { return };
    let (restarts_a, restarts_b) = (restarts(&pair.a, &a), restarts(&pair.b, &b));
    let shown = |all: Vec<Break>| all.into_iter().map(|found| found.shown).collect();
    sets(pair, Aspect::GraphBreaks, "break", shown(a), shown(b), sheet);
    sets(pair, Aspect::GraphBreaks, "restart", restarts_a, restarts_b, sheet);
}

/// A graph break.
struct Break {
    /// First line of the reason, as restarts repeat it.
    headline: String,
    shown: Shown,
}

fn breaks(half: &Half<'_>, sheet: &mut Sheet) -> Option<Vec<Break>> {
    let mut found = Vec::new();
    for &at in half.compile.graph_breaks() {
        let Some(text) = half.side.text(at) else {
            sheet.unknown(Aspect::GraphBreaks, format!("{}: a graph break is damaged", half.label()));
            return None;
        };
        found.push(read_break(&String::from_utf8_lossy(&text), at));
    }
    Some(found)
}

/// `Graph break in user code at <file>:<line>`, `Graph Break Reason: <reason>` with further lines, then tracebacks.
fn read_break(text: &str, record: usize) -> Break {
    let (place, rest) = text.split_once('\n').unwrap_or((text, ""));
    let place = base(place.strip_prefix("Graph break in user code at ").unwrap_or(place));
    let rest = rest.strip_prefix("Graph Break Reason: ").unwrap_or(rest);
    let end = ["\nUser code traceback:", "\nTraceback (most recent call last):"]
        .into_iter()
        .filter_map(|mark| rest.find(mark));
    let reason = rest.get(..end.min().unwrap_or(rest.len())).unwrap_or(rest);
    // Newer releases say first what was traced, then why it broke.
    let reason = match reason.split_once('\n') {
        Some((traced, why)) if traced.starts_with("Encountered graph break") && !why.trim().is_empty() => why,
        _ => reason,
    };
    let reason = reason.trim();
    // The line moves when something above is edited.
    let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
    let headline = reason.lines().next().unwrap_or_default().to_owned();
    Break { headline, shown: (plain(&format!("{file} {reason}")), format!("{place}: {reason}"), record) }
}

/// Restarts that are no graph break.
fn restarts(half: &Half<'_>, breaks: &[Break]) -> Vec<Shown> {
    let headlines: FxHashSet<&str> = breaks.iter().map(|found| found.headline.as_str()).collect();
    let restarts = half.compile.failures.iter().filter(|f| f.kind == FailureKind::Restart && f.place.is_none());
    let other = restarts.filter(|f| !headlines.contains(f.reason.lines().next().unwrap_or_default()));
    other.map(|f| (plain(&f.reason), f.reason.clone(), f.record)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_is_its_file_and_its_reason() {
        let text = "Graph break in user code at /x/y.py:19\nGraph Break Reason: Encountered graph break when tracing CALL:\n\nFailed to trace print\n  Hint: none\n\nUser code traceback:\n  File 1";
        let found = read_break(text, 7);
        assert_eq!(found.headline, "Failed to trace print");
        assert_eq!(found.shown.0, "y.py Failed to trace print\n  Hint: none");
        assert_eq!(found.shown.1, "y.py:19: Failed to trace print\n  Hint: none");
        let old = read_break("Graph break in user code at y.py:3\nGraph Break Reason: call print\n", 7);
        assert_eq!(old.shown.1, "y.py:3: call print");
        assert_eq!(read_break("odd", 7).shown.1, "odd: ");
    }
}
