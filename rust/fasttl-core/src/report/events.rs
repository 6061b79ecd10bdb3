//! `chromium_events.json`: the timing events of a log, in its order, as Perfetto and `chrome://tracing` read them.

use std::io::{self, Write};

use crate::format::kind::Kind;
use crate::format::strict::to_strict;
use crate::index::Mark;
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
        let suspect = [&b"NaN"[..], b"Infinity", b"\\u"].iter().any(|w| memchr::memmem::find(&text, w).is_some());
        if suspect || std::str::from_utf8(&text).is_err() {
            out.write_all(&to_strict(&text))?;
        } else {
            out.write_all(&text)?;
        }
    }
    out.write_all(b"\n]\n")
}

/// Writes the events of several logs as one array; `pid` tells the logs apart.
pub(super) fn write_merged<'l>(
    out: &mut dyn Write,
    logs: impl Iterator<Item = (i64, &'l Log, crate::error::Result<crate::input::View>)>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut first = true;
    for (pid, log, view) in logs {
        // A log that is gone by now is named where its own report is written.
        let Ok(view) = view else { continue };
        for record in log.index.records.iter().filter(|r| r.kind.is(Kind::ChromiumEvent) && r.mark != Mark::Broken) {
            let text = log.index.payload(record, &view).text();
            let Ok(mut event) = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&to_strict(&text))
            else {
                continue;
            };
            event.insert("pid".to_owned(), pid.into());
            out.write_all(if first { b"\n" } else { b",\n" })?;
            first = false;
            serde_json::to_writer(&mut *out, &event)?;
        }
    }
    out.write_all(b"\n]\n")
}
