//! `chromium_events.json`: the timing events of a log, in its order, as Perfetto and `chrome://tracing` read them.

use std::borrow::Cow;
use std::io::{self, Write};

use super::pieces::Values;
use crate::format::kind::Kind;
use crate::format::strict::to_strict;
use crate::index::Mark;
use crate::trace::Log;

/// The name of the file, of a log and of a job.
pub(super) const FILE: &str = "chromium_events.json";

/// Writes the events of one log as a JSON array. In a job they are written a second time, into the list of all logs,
/// with the process id that tells the logs apart there.
pub(super) fn write(
    out: &mut dyn Write,
    mut in_job: Option<(i64, &mut Values<'_>)>,
    log: &Log,
    bytes: &[u8],
) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut text = Vec::new();
    let mut own = Values::after(b"\n", out);
    // What is no JSON stands in `problems`.
    let events = log.index.records.iter().filter(|r| r.kind.is(Kind::ChromiumEvent) && r.mark != Mark::Broken);
    for record in events.filter(|r| r.text_len > 0) {
        text.clear();
        log.index.payload(record, bytes).read_into(&mut text);
        let strict = strict_text(&text, record.plain);
        own.add(&[&strict])?;
        if let Some((pid, all)) = &mut in_job {
            add_with_pid(all, &strict, *pid)?;
        }
    }
    out.write_all(b"\n]\n")
}

/// Strict JSON for an event; nearly all are, as the index knows, and are not read again for it.
fn strict_text(text: &[u8], plain: bool) -> Cow<'_, [u8]> {
    if plain { Cow::Borrowed(text) } else { to_strict(text) }
}

/// Adds the event with another `pid`; what is no object has none, and is left out.
///
/// PyTorch writes `"pid": 0` on a line of its own, last or before `"s"`; a line feed cannot stand in a
/// string, so what looks like that line is that line.
fn add_with_pid(out: &mut Values<'_>, text: &[u8], pid: i64) -> io::Result<()> {
    const LINE: &[u8] = b"\n\"pid\": 0";
    const RESTS: [&[u8]; 2] = [b"\n}", b",\n\"s\": \"p\"\n}"];
    for rest in RESTS {
        if let Some(before) = text.strip_suffix(rest).and_then(|text| text.strip_suffix(LINE)) {
            return out.add(&[before, b"\n\"pid\": ", pid.to_string().as_bytes(), rest]);
        }
    }
    let Ok(mut event) = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(text) else {
        return Ok(());
    };
    event.insert("pid".to_owned(), pid.into());
    out.add(&[&serde_json::to_vec(&event)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_are_replaced_where_they_stand() {
        let pid = |text: &str| {
            let mut out = Vec::new();
            add_with_pid(&mut Values::after(b"", &mut out), text.as_bytes(), 7).unwrap();
            String::from_utf8(out).unwrap()
        };
        let real = "{\n\"args\": {\n\"pid\": 0\n},\n\"tid\": 0,\n\"pid\": 0";
        let wanted = "{\n\"args\": {\n\"pid\": 0\n},\n\"tid\": 0,\n\"pid\": 7";
        for rest in ["\n}", ",\n\"s\": \"p\"\n}"] {
            assert_eq!(pid(&format!("{real}{rest}")), format!("{wanted}{rest}"));
        }
        assert_eq!(pid("{\"pid\": 3, \"n\": 1.50}"), "{\"pid\":7,\"n\":1.50}");
        assert_eq!(pid("{\"name\": 1}"), "{\"name\":1,\"pid\":7}");
        assert_eq!(pid("[1]"), "");
    }
}
