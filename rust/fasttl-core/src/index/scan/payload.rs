//! Where a record's payload ends, and whether it is whole.

use super::{Check, Pending, Scan, Scratch};
use crate::format::envelope;
use crate::format::payload::{self, LineEnd, Payload, next_line, tabbed_lines};
use crate::format::prefix;
use crate::index::problem::ProblemKind;
use crate::index::record::PayloadState;

/// So many texts that look like heads are tried in a damaged payload.
const MOST_LOOKALIKES: usize = 1000;

/// Payloads from this size on are hashed one by one, so that no text of them is held.
const LARGE: usize = 4 << 20;

/// What a blank line before the first payload line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blank {
    EndsIt,
    IsNoise,
}

/// The payload lines behind a head.
#[derive(Clone, Copy, Default)]
struct Lines {
    /// Bytes of them, blank lines between them included.
    len: usize,
    /// Line feeds in them.
    line_feeds: u64,
    /// Bytes of the text.
    text_len: usize,
}

impl<'a> Scan<'a> {
    /// Reads the payload of the record that was just added; `at` is behind its head.
    pub(super) fn payload(&mut self, start: usize, md5: &[u8], torn: bool) {
        let from = self.at;
        let mut lines = Lines::default();
        if !torn {
            lines = self.payload_lines(from, Blank::EndsIt);
            // Blank lines between head and payload are noise as well.
            if lines.len == 0 {
                lines = self.payload_lines(from, Blank::IsNoise);
            }
        }
        let raw = self.bytes.get(from..from + lines.len).unwrap_or_default();
        let wanted = payload::parse_md5(md5);
        let (state, cut) = self.judge(raw, from + lines.len, wanted);
        if cut < raw.len() {
            self.payload = raw.get(..cut).unwrap_or_default();
            lines.text_len = Payload::new(self.payload, self.line_end).text_len();
            lines.len = cut;
            lines.line_feeds = memchr::memchr_iter(b'\n', self.payload).count() as u64;
        } else {
            self.payload = raw;
        }
        self.at += lines.len;
        self.line += lines.line_feeds;
        let len = self.at - start;
        if let Some(record) = self.chunk.records.last_mut() {
            record.len = len as u64;
            record.text_len = lines.text_len as u64;
            record.md5 = wanted.unwrap_or_default();
            record.payload = state;
        }
    }

    /// The payload lines that start at `from`; blank lines count only where there is one.
    fn payload_lines(&self, from: usize, blank_first: Blank) -> Lines {
        let mut lines = Lines::default();
        let mut rest = self.bytes.get(from..).unwrap_or_default();
        let mut seen = false;
        if self.line_end == LineEnd::Lf && rest.first() == Some(&b'\t') {
            let (len, line_feeds) = tabbed_lines(rest);
            // A TAB for each line, and the last line feed, are no part of the text.
            let ended = usize::from(rest.get(len - 1) == Some(&b'\n'));
            let count = usize::try_from(line_feeds).unwrap_or(0) + 1 - ended;
            lines = Lines { len, line_feeds, text_len: len - count - ended };
            seen = true;
            rest = rest.get(len..).unwrap_or_default();
        }
        loop {
            // The line of a head is long, and is not looked through for its end here.
            let may_belong = matches!(rest.first(), Some(b'\t' | b'\r' | b'\n'));
            let (line, len) = if may_belong { next_line(rest) } else { Default::default() };
            let text = self.line_end.strip(line);
            let is_payload = text.first() == Some(&b'\t');
            let is_noise = text.is_empty() && (seen || blank_first == Blank::IsNoise);
            if len == 0 || !(is_payload || is_noise) {
                return if seen { lines } else { Lines::default() };
            }
            if is_payload {
                // Without its TAB, and with the line feed that joins it to the line before.
                lines.text_len += text.len() - 1 + usize::from(seen);
                seen = true;
            }
            rest = rest.get(len..).unwrap_or_default();
            lines.len += len;
            lines.line_feeds += u64::from(len > line.len());
        }
    }

    /// Compares the payload with its md5 and adds rows for what is wrong. Yields its state and how many
    /// of its bytes belong to it: fewer than all where another record was torn into it.
    fn judge(&mut self, raw: &'a [u8], to: usize, wanted: Option<[u8; 16]>) -> (PayloadState, usize) {
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
        if wanted.is_none() || !self.has_md5(raw, wanted) {
            state = PayloadState::WrongMd5;
            len = if self.check == Check::Skip { len } else { Self::torn_payload(raw) };
            if len < raw.len() {
                self.note(ProblemKind::TornRecord, len, "another record starts inside this payload");
            } else if at_end && wanted.is_some() {
                state = PayloadState::CutShort;
                self.note(ProblemKind::CutShort, len, "the log ends inside a payload");
            } else {
                let why = if wanted.is_some() { "the payload has another md5" } else { "has_payload is no md5" };
                self.note(ProblemKind::WrongMd5, len, why);
            }
        } else if self.check != Check::Skip {
            state = PayloadState::Verified;
        }
        // A cut text may end inside a character; that says nothing new.
        let raw = raw.get(..len).unwrap_or(raw);
        if let Err(error) = std::str::from_utf8(raw)
            && state != PayloadState::CutShort
        {
            // TABs and line feeds are no part of a longer character, so that a fault of the lines is one of the text.
            let before = Payload::new(raw.get(..error.valid_up_to()).unwrap_or_default(), self.line_end).text_len();
            self.note(ProblemKind::BadUtf8, len, format!("in the payload, at byte {before} of its text"));
        }
        (state, len)
    }

    /// Whether a payload has the md5 `wanted`; what is checked later, or never, is taken to have it.
    fn has_md5(&mut self, raw: &'a [u8], wanted: Option<[u8; 16]>) -> bool {
        let payload = Payload::new(raw, self.line_end);
        match self.check {
            Check::Skip => true,
            Check::Together if raw.len() < LARGE => {
                let Scratch { texts, pending } = &mut *self.scratch;
                let from = texts.len();
                payload.read_into(texts);
                pending.push(Pending { text: from..texts.len(), md5: wanted.unwrap_or_default() });
                true
            }
            Check::Together | Check::OneByOne => wanted == Some(payload.md5()),
        }
    }

    /// Looks for a whole record head inside a damaged payload; yields the bytes before it.
    fn torn_payload(raw: &[u8]) -> usize {
        let mut from = 0;
        for _ in 0..MOST_LOOKALIKES {
            let Some(at) = find_in_lines(raw, from) else { break };
            let (line, _) = next_line(raw.get(at..).unwrap_or_default());
            let whole =
                prefix::parse(line).and_then(|p| line.get(p.json_at..)).is_some_and(|j| envelope::parse(j).is_ok());
            if whole {
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
