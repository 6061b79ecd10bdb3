//! Where a record's payload ends, and whether it is whole.

use super::{Scan, Verify};
use crate::format::envelope;
use crate::format::payload::{self, Payload, next_line};
use crate::format::prefix;
use crate::index::problem::ProblemKind;
use crate::index::record::PayloadState;

/// So many texts that look like heads are tried in a damaged payload.
const MOST_LOOKALIKES: usize = 1000;

impl Scan<'_> {
    /// Reads the payload of the record that was just added; `at` is behind its head.
    pub(super) fn payload(&mut self, start: usize, md5: &[u8], torn: bool) {
        let from = self.at;
        let mut to = from;
        if !torn {
            let mut rest = self.rest();
            loop {
                let (line, len) = next_line(rest);
                let text = self.line_end.strip(line);
                // Blank lines count only between payload lines; behind them they are taken as such.
                if len == 0 || !(text.first() == Some(&b'\t') || (text.is_empty() && to > from)) {
                    break;
                }
                rest = rest.get(len..).unwrap_or_default();
                to += len;
            }
            // Blank lines between head and payload are noise as well.
            if to == from {
                to = self.payload_after_blanks(from);
            }
        }
        let raw = self.bytes.get(from..to).unwrap_or_default();
        self.text.clear();
        Payload::new(raw, self.line_end).read_into(&mut self.text);
        let wanted = payload::parse_md5(md5);
        let (state, cut) = self.judge(raw, to, wanted);
        let to = from + cut;
        self.advance(to - from);
        let text_len = self.text.len() as u64;
        if let Some(record) = self.chunk.records.last_mut() {
            record.len = (to - start) as u64;
            record.text_len = text_len;
            record.md5 = wanted.unwrap_or_default();
            record.payload = state;
        }
    }

    /// Where the payload ends that starts behind blank lines at `from`; `from` itself if there is none.
    fn payload_after_blanks(&self, from: usize) -> usize {
        let (mut to, mut seen) = (from, false);
        loop {
            let (line, len) = next_line(self.bytes.get(to..).unwrap_or_default());
            let text = self.line_end.strip(line);
            let payload = text.first() == Some(&b'\t');
            if len == 0 || !(payload || text.is_empty()) {
                return if seen { to } else { from };
            }
            seen |= payload;
            to += len;
        }
    }

    /// Compares the payload with its md5 and adds rows for what is wrong. Yields its state and how many
    /// of its bytes belong to it: fewer than all where another record was torn into it.
    fn judge(&mut self, raw: &[u8], to: usize, wanted: Option<[u8; 16]>) -> (PayloadState, usize) {
        let at_end = self.ends_file && to == self.bytes.len();
        if raw.is_empty() {
            if at_end {
                self.note(ProblemKind::CutShort, 0, "the log ends before the payload of its last record");
                return (PayloadState::CutShort, 0);
            }
            self.note(ProblemKind::PayloadMissing, 0, "the head names a payload, but none follows");
            return (PayloadState::Missing, 0);
        }
        let mut state = PayloadState::Unchecked;
        let mut len = raw.len();
        if self.verify == Verify::Md5 {
            state = PayloadState::Verified;
            if wanted != Some(payload::md5(&self.text)) {
                state = PayloadState::WrongMd5;
                len = self.torn_payload(raw);
                if len < raw.len() {
                    self.note(ProblemKind::TornRecord, len, "another record starts inside this payload");
                } else if at_end && wanted.is_some() {
                    state = PayloadState::CutShort;
                    self.note(ProblemKind::CutShort, len, "the log ends inside a payload");
                } else {
                    let why = if wanted.is_some() { "the payload has another md5" } else { "has_payload is no md5" };
                    self.note(ProblemKind::WrongMd5, len, why);
                }
            }
        } else if wanted.is_none() {
            state = PayloadState::WrongMd5;
            self.note(ProblemKind::WrongMd5, len, "has_payload is no md5");
        }
        // A cut text may end inside a character; that says nothing new.
        if let Err(error) = std::str::from_utf8(&self.text)
            && state != PayloadState::CutShort
        {
            let detail = format!("in the payload, at byte {} of its text", error.valid_up_to());
            self.note(ProblemKind::BadUtf8, len, detail);
        }
        (state, len)
    }

    /// Looks for a whole record head inside a damaged payload; yields the bytes before it, and leaves
    /// the text of only those in `text`.
    fn torn_payload(&mut self, raw: &[u8]) -> usize {
        let mut from = 0;
        for _ in 0..MOST_LOOKALIKES {
            let Some(at) = find_in_lines(raw, from) else { break };
            let (line, _) = next_line(raw.get(at..).unwrap_or_default());
            let whole =
                prefix::parse(line).and_then(|p| line.get(p.json_at..)).is_some_and(|j| envelope::parse(j).is_ok());
            if whole {
                self.text.clear();
                Payload::new(raw.get(..at).unwrap_or_default(), self.line_end).read_into(&mut self.text);
                return at;
            }
            from = at + 1;
        }
        raw.len()
    }
}

/// The offset, at `from` or later, of a prefix inside one of the lines of `raw`.
fn find_in_lines(raw: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < raw.len() {
        let (line, len) = next_line(raw.get(at..)?);
        // Right behind a payload line's TAB a text that looks like a head is text: nothing was torn there.
        let skip = if line.starts_with(b"\t") { 2 } else { 0 };
        if let Some(found) = prefix::find(line, skip) {
            return Some(at + found);
        }
        at += len;
    }
    None
}
