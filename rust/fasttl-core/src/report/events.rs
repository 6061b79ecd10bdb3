//! `chromium_events.json`: the timing events of a log, in its order, as Perfetto and `chrome://tracing` read them.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::format::kind::Kind;
use crate::format::strict::to_strict;
use crate::index::Mark;
use crate::input::View;
use crate::trace::Log;

/// Writes the events of one log as a JSON array.
pub(super) fn write(out: &mut dyn Write, log: &Log, bytes: &[u8]) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut text = Vec::new();
    let mut first = true;
    // What is no JSON stands in `problems`.
    let events = log.index.records.iter().filter(|r| r.kind.is(Kind::ChromiumEvent) && r.mark != Mark::Broken);
    for record in events.filter(|r| r.text_len > 0) {
        text.clear();
        log.index.payload(record, bytes).read_into(&mut text);
        out.write_all(if first { b"\n" } else { b",\n" })?;
        first = false;
        out.write_all(&strict_text(&text, record.plain))?;
    }
    out.write_all(b"\n]\n")
}

/// Strict JSON for an event; nearly all are, as the index knows, and are not read again for it.
fn strict_text(text: &[u8], plain: bool) -> Cow<'_, [u8]> {
    if plain { Cow::Borrowed(text) } else { to_strict(text) }
}

/// The event with another `pid`; `None` for what is no object.
///
/// PyTorch writes `"pid": 0` on a line of its own, last or before `"s"`; a line feed cannot stand in a
/// string, so what looks like that line is that line.
fn with_pid(text: &[u8], pid: i64) -> Option<Vec<u8>> {
    const LINE: &[u8] = b"\n\"pid\": 0";
    if let Some(at) = memchr::memmem::rfind(text, LINE) {
        let (before, line_and_rest) = text.split_at_checked(at)?;
        let rest = line_and_rest.get(LINE.len()..)?;
        if matches!(rest, b"\n}" | b",\n\"s\": \"p\"\n}") {
            return Some([before, format!("\n\"pid\": {pid}").as_bytes(), rest].concat());
        }
    }
    let mut event: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text).ok()?;
    event.insert("pid".to_owned(), pid.into());
    serde_json::to_vec(&event).ok()
}

/// Writes the events of several logs as one array; `pid` tells the logs apart.
pub(super) fn write_merged<'l>(
    out: &mut dyn Write,
    logs: impl IntoIterator<Item = (i64, &'l Log, View)>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut text = Vec::new();
    let mut first = true;
    for (pid, log, view) in logs {
        for record in log.index.records.iter().filter(|r| r.kind.is(Kind::ChromiumEvent) && r.mark != Mark::Broken) {
            text.clear();
            log.index.payload(record, &view).read_into(&mut text);
            let strict = strict_text(&text, record.plain);
            let Some(event) = with_pid(&strict, pid) else { continue };
            out.write_all(if first { b"\n" } else { b",\n" })?;
            first = false;
            out.write_all(&event)?;
        }
    }
    out.write_all(b"\n]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_are_replaced_where_they_stand() {
        let pid = |text: &str| with_pid(text.as_bytes(), 7).map(|t| String::from_utf8(t).unwrap());
        let real = "{\n\"args\": {\n\"pid\": 0\n},\n\"tid\": 0,\n\"pid\": 0";
        let wanted = "{\n\"args\": {\n\"pid\": 0\n},\n\"tid\": 0,\n\"pid\": 7";
        for rest in ["\n}", ",\n\"s\": \"p\"\n}"] {
            assert_eq!(pid(&format!("{real}{rest}")).unwrap(), format!("{wanted}{rest}"));
        }
        assert_eq!(pid("{\"pid\": 3, \"n\": 1.50}").unwrap(), "{\"pid\":7,\"n\":1.50}");
        assert_eq!(pid("{\"name\": 1}").unwrap(), "{\"name\":1,\"pid\":7}");
        assert_eq!(pid("[1]"), None);
    }
}
