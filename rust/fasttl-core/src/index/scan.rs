//! Reads one chunk of a log into records and problems.
//!
//! Every byte of the chunk goes to exactly one record or to one problem that owns its bytes.

use std::ops::Range;

use super::interner::Interner;
use super::problem::{Problem, ProblemKind};
use super::record::{Encoding, KindId, Mark, NONE, PayloadState, Record};
use crate::format::compile_id::CompileId;
use crate::format::envelope::{self, Envelope, FieldFault};
use crate::format::json::{self, Oddities};
use crate::format::kind::Kind;
use crate::format::payload::{self, LineEnd, Payload, next_line};
use crate::format::prefix::{self, Prefix};
use crate::format::{frame, strict};

/// So many texts that look like heads are tried in a damaged payload.
const MOST_LOOKALIKES: usize = 1000;

/// Whether payloads are checked against the md5 in their heads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Compute every md5.
    #[default]
    Md5,
    /// Take payloads as they are. Records torn inside a payload are then not found.
    Skip,
}

/// A string that a record defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interned {
    /// Where the record stands.
    pub offset: u64,
    /// The number that frames use.
    pub id: i64,
    /// The text.
    pub text: String,
}

/// What one chunk yields. Numbers refer to the chunk's own lists, lines count from the chunk's start.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) records: Vec<Record>,
    pub(super) problems: Vec<Problem>,
    pub(super) strings: Vec<Interned>,
    pub(super) kinds: Interner<String>,
    pub(super) sources: Interner<String>,
    pub(super) names: Interner<String>,
    pub(super) ids: Interner<CompileId>,
    /// Lines in the chunk.
    pub(super) lines: u64,
}

/// Reads the chunk `range` of `bytes`.
pub(super) fn scan(bytes: &[u8], range: Range<usize>, line_end: LineEnd, verify: Verify) -> Chunk {
    let mut scan = Scan {
        bytes: bytes.get(..range.end).unwrap_or(bytes),
        at: range.start,
        line: 0,
        line_ends: range.start,
        torn_line: false,
        line_end,
        verify,
        ends_file: range.end == bytes.len(),
        last: Last::Nothing,
        text: Vec::new(),
        chunk: Chunk::default(),
    };
    while scan.at < scan.bytes.len() {
        scan.line();
    }
    scan.chunk.lines = scan.line;
    scan.chunk
}

/// What the bytes just read belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Record,
    /// The last problem that owns bytes.
    Problem(usize),
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Lines that ended before `at`.
    line: u64,
    /// End of the line that `at` is in, as far as it was looked for.
    line_ends: usize,
    /// Whether a record of this line was torn: then its records are told apart by their prefixes alone, so
    /// that a line of many torn records takes no more time than its length.
    torn_line: bool,
    line_end: LineEnd,
    verify: Verify,
    ends_file: bool,
    last: Last,
    /// Text of the payload at hand, reused.
    text: Vec<u8>,
    chunk: Chunk,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Reads what starts at `at`, which is the start of a line or of a record inside one.
    fn line(&mut self) {
        if self.at >= self.line_ends {
            self.line_ends = self.at + next_line(self.rest()).1;
            self.torn_line = false;
        }
        let len = self.line_ends - self.at;
        let rest = self.rest().get(..len).unwrap_or_default();
        let text = self.line_end.strip(rest.strip_suffix(b"\n").unwrap_or(rest));
        if text.is_empty() {
            self.blank(len);
        } else if text.first() == Some(&b'\t') {
            self.stray(ProblemKind::OrphanPayload, len);
        } else if let Some((lead, prefix)) = head(text) {
            self.record(text, len, lead, &prefix);
        } else if let Some(start) = prefix::find(text, 0) {
            self.stray(ProblemKind::ForeignText, start);
        } else {
            self.stray(ProblemKind::ForeignText, len);
        }
    }

    /// Goes on by `len` bytes, counting the line feeds of whole lines.
    fn advance(&mut self, len: usize) {
        let passed = self.rest().get(..len).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.at += len;
    }

    fn blank(&mut self, len: usize) {
        match self.last {
            Last::Nothing => {
                let n = self.own(ProblemKind::BlankLines, len, "blank lines before the first record");
                self.last = Last::Problem(n);
            }
            Last::Record => {
                if let Some(record) = self.chunk.records.last_mut() {
                    record.len += len as u64;
                }
            }
            Last::Problem(n) => self.extend(n, len),
        }
        self.advance(len);
    }

    /// Lines that belong to no record: one problem for each stretch of them.
    fn stray(&mut self, kind: ProblemKind, len: usize) {
        let joins = match self.last {
            // Payload lines after foreign text belong to the same damage.
            Last::Problem(n) => self.chunk.problems.get(n).is_some_and(|p| {
                p.kind == kind || (p.kind != ProblemKind::BlankLines && kind == ProblemKind::OrphanPayload)
            }),
            _ => false,
        };
        match self.last {
            Last::Problem(n) if joins => self.extend(n, len),
            _ => {
                let detail = match kind {
                    ProblemKind::OrphanPayload => "payload lines without a head that names a payload",
                    _ => "text that is no record",
                };
                let n = self.own(kind, len, detail);
                self.last = Last::Problem(n);
            }
        }
        self.advance(len);
    }

    fn extend(&mut self, problem: usize, len: usize) {
        if let Some(problem) = self.chunk.problems.get_mut(problem) {
            problem.len += len as u64;
        }
    }

    /// A problem that owns the next `len` bytes; yields its index.
    fn own(&mut self, kind: ProblemKind, len: usize, detail: impl Into<String>) -> usize {
        self.chunk.problems.push(Problem {
            offset: self.at as u64,
            len: len as u64,
            line: self.line,
            kind,
            detail: detail.into(),
            owns_bytes: true,
        });
        self.chunk.problems.len() - 1
    }

    /// A problem about the record at hand, which keeps its bytes.
    fn note(&mut self, kind: ProblemKind, len: usize, detail: impl Into<String>) {
        let n = self.own(kind, len, detail);
        if let Some(problem) = self.chunk.problems.get_mut(n) {
            problem.owns_bytes = false;
        }
    }

    /// A line with a prefix: the head of a record, of two torn into one, or of none.
    fn record(&mut self, line: &'a [u8], len: usize, lead: usize, prefix: &Prefix<'a>) {
        let json_at = lead + prefix.json_at;
        let next = if self.torn_line { prefix::find(line, lead + 1) } else { None };
        let json = line.get(json_at..next.unwrap_or(line.len())).unwrap_or_default();
        let envelope = match envelope::parse(json) {
            Ok(envelope) => envelope,
            Err(error) => {
                self.broken_head(line, len, lead, error);
                return;
            }
        };
        let after = json.get(envelope.len..).unwrap_or_default();
        // A record that starts right behind the head, without a line feed between, is the next one.
        let torn = next.or_else(|| prefix::find(line, json_at + envelope.len));
        let head_len = torn.unwrap_or(len);
        let start = self.at;
        self.describe(start, head_len, json_at, prefix, &envelope);
        self.faults(head_len, prefix, &envelope);
        if torn.is_none() && !after.iter().all(u8::is_ascii_whitespace) {
            self.note(ProblemKind::TrailingText, len, "text after the JSON of the head");
        }
        self.advance(head_len);
        self.last = Last::Record;
        if let Some(md5) = envelope.has_payload {
            self.payload(start, md5, torn.is_some());
        }
        self.details(start, &envelope);
    }

    /// A head whose JSON cannot be read, with the payload lines that follow it.
    fn broken_head(&mut self, line: &[u8], len: usize, lead: usize, error: json::JsonError) {
        if let Some(next) = prefix::find(line, lead + 1) {
            let detail = format!("another record starts inside this one, {next} bytes in");
            let n = self.own(ProblemKind::TornRecord, next, detail);
            self.last = Last::Problem(n);
            self.torn_line = true;
            self.advance(next);
            return;
        }
        let at_end = self.ends_file && self.at + len == self.bytes.len();
        let (kind, detail) = if at_end && error.ended {
            (ProblemKind::CutShort, "the log ends inside the head of a record".to_owned())
        } else {
            let detail = format!("expected {} at byte {} of the JSON", error.expected, error.at);
            (ProblemKind::BadJson, detail)
        };
        let n = self.own(kind, len, detail);
        self.last = Last::Problem(n);
        self.advance(len);
        while self.rest().first() == Some(&b'\t') {
            let (_, len) = next_line(self.rest());
            self.extend(n, len);
            self.advance(len);
        }
    }

    /// Adds the record; its payload is filled in afterwards.
    fn describe(
        &mut self,
        start: usize,
        head_len: usize,
        json_at: usize,
        prefix: &Prefix<'_>,
        envelope: &Envelope<'_>,
    ) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let chunk = &mut self.chunk;
        let kind = Kind::by_name(envelope.kind)
            .map_or_else(|| KindId::Other(chunk.kinds.id(json::unescape_inner(envelope.kind).as_str())), KindId::Known);
        let subgraph = envelope.subgraph.map_or(NONE, |name| chunk.names.id(json::unescape_inner(name).as_str()));
        chunk.records.push(Record {
            offset: start as u64,
            len: head_len as u64,
            head_len: head_len as u64,
            json_at: u32::try_from(json_at).unwrap_or(u32::MAX),
            json_len: envelope.len as u64,
            meta_at: u32::try_from(envelope.metadata.start).unwrap_or(u32::MAX),
            meta_len: envelope.metadata.len() as u64,
            text_len: 0,
            md5: [0; 16],
            line: self.line,
            wall: prefix.time,
            time_us: None,
            thread: prefix.thread,
            source: chunk.sources.id(text(prefix.path).as_str()),
            source_line: prefix.lineno.unwrap_or(NONE),
            kind,
            name: NONE,
            id: chunk.ids.id(&envelope.id),
            subgraph,
            generation: 0,
            rank: envelope.rank.and_then(|rank| i32::try_from(rank).ok()),
            encoding: Encoding::Absent,
            payload: PayloadState::None,
            mark: Mark::None,
            plain: envelope.oddities.is_empty() && envelope.faults.is_empty(),
        });
    }

    /// Rows for what was odd about a head.
    fn faults(&mut self, len: usize, prefix: &Prefix<'_>, envelope: &Envelope<'_>) {
        if envelope.kind.is_empty() {
            self.note(ProblemKind::NoKind, len, "the head names no kind of record");
        }
        for (fault, key) in &envelope.faults {
            let name = String::from_utf8_lossy(key);
            match fault {
                FieldFault::BadValue => self.note(ProblemKind::BadField, len, format!("{name}: unexpected value")),
                FieldFault::Twice => self.note(ProblemKind::KeyConflict, len, format!("{name} stands twice")),
                FieldFault::UnknownKey if Kind::by_name(key).is_some() => {
                    self.note(ProblemKind::KeyConflict, len, format!("a second kind in one head: {name}"));
                }
                FieldFault::UnknownKey => self.note(ProblemKind::UnknownField, len, name.into_owned()),
            }
        }
        if envelope.rank.is_some_and(|rank| i32::try_from(rank).is_err()) {
            self.note(ProblemKind::BadField, len, "rank: out of range");
        }
        for (missing, what) in [
            (prefix.time.is_none(), "time: no such date or time"),
            (prefix.thread.is_none(), "process id: out of range"),
            (prefix.lineno.is_none(), "source line: out of range"),
        ] {
            if missing {
                self.note(ProblemKind::BadField, len, what);
            }
        }
        if envelope.oddities.contains(Oddities::NON_FINITE) {
            self.note(ProblemKind::NonFinite, len, "in the head");
        }
        if envelope.oddities.contains(Oddities::DEEP) {
            self.note(ProblemKind::DeepJson, len, "in the head");
        }
        if envelope.oddities.contains(Oddities::NOT_UTF8) {
            self.note(ProblemKind::BadUtf8, len, "in the head");
        }
    }

    /// Reads the payload of the record that was just added; `at` is behind its head.
    fn payload(&mut self, start: usize, md5: &[u8], torn: bool) {
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
                } else if at_end && wanted.is_some() && !self.text.is_empty() {
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

    /// What some kinds carry that the index itself needs: names, strings, the begin of a compile.
    fn details(&mut self, start: usize, envelope: &Envelope<'a>) {
        let Some(record) = self.chunk.records.last() else { return };
        let KindId::Known(kind) = record.kind else { return };
        let json_start = start + record.json_at as usize;
        let meta = self
            .bytes
            .get(json_start + envelope.metadata.start..json_start + envelope.metadata.end)
            .unwrap_or_default();
        let mut name = None;
        let mut encoding = Encoding::Absent;
        match kind {
            Kind::Artifact => {
                name = json::member(meta, b"name").and_then(json::unescape);
                encoding = match json::member(meta, b"encoding") {
                    Some(b"\"string\"") => Encoding::Text,
                    Some(b"\"json\"") => Encoding::Json,
                    Some(_) => Encoding::Unknown,
                    None => Encoding::Absent,
                };
            }
            Kind::GraphDump | Kind::DumpFile | Kind::Link | Kind::OptimizeDdpSplitChild => {
                name = json::member(meta, b"name").and_then(json::unescape);
            }
            Kind::InductorOutputCode => name = json::member(meta, b"filename").and_then(json::unescape),
            Kind::Str => self.string(start, meta),
            Kind::ChromiumEvent => self.span(),
            _ => {}
        }
        if encoding == Encoding::Json || kind == Kind::ChromiumEvent {
            self.check_numbers();
        }
        let name = name.map(|name| self.chunk.names.id(name.as_str()));
        if let Some(record) = self.chunk.records.last_mut() {
            record.encoding = encoding;
            record.name = name.unwrap_or(NONE);
        }
    }

    fn string(&mut self, start: usize, meta: &[u8]) {
        match frame::parse_interned(meta) {
            Some((id, text)) => self.chunk.strings.push(Interned { offset: start as u64, id, text }),
            None => self.note_record(ProblemKind::BadField, "str: not a text and a number"),
        }
    }

    /// Marks begin and end of the span that is a compile's life.
    fn span(&mut self) {
        let mut scanner = json::Scanner::new(&self.text);
        if scanner.value().is_err() {
            let whole = |r: &Record| matches!(r.payload, PayloadState::Verified | PayloadState::Unchecked);
            // Of a damaged payload there is a row already.
            if self.chunk.records.last().is_some_and(whole) {
                self.note_record(ProblemKind::BadPayloadJson, "a timing event");
            }
            if let Some(record) = self.chunk.records.last_mut() {
                record.mark = Mark::Broken;
            }
            return;
        }
        let is_dynamo = |text: &[u8]| json::member(text, b"name") == Some(b"\"dynamo\"");
        // The name is the first member; a cheap look tells nearly all other events apart.
        let head = self.text.get(..40.min(self.text.len())).unwrap_or_default();
        if memchr::memmem::find(head, b"\"dynamo\"").is_none() || !is_dynamo(&self.text) {
            return;
        }
        let mark = match json::member(&self.text, b"ph") {
            Some(b"\"B\"") => Mark::Begin,
            Some(b"\"E\"") => Mark::End,
            _ => Mark::None,
        };
        if let Some(record) = self.chunk.records.last_mut() {
            record.mark = mark;
        }
    }

    /// A row where a JSON payload has numbers that strict JSON lacks.
    fn check_numbers(&mut self) {
        let suspect = [&b"NaN"[..], b"Infinity"].iter().any(|w| memchr::memmem::find(&self.text, w).is_some());
        if suspect && matches!(strict::pretty(&self.text, &mut Vec::new()), Ok(true)) {
            self.note_record(ProblemKind::NonFinite, "in the payload");
        }
    }

    /// A problem about the record that was just read whole.
    fn note_record(&mut self, kind: ProblemKind, detail: &str) {
        let Some(record) = self.chunk.records.last() else { return };
        self.chunk.problems.push(Problem {
            offset: record.offset,
            len: record.len,
            line: record.line,
            kind,
            detail: detail.to_owned(),
            owns_bytes: false,
        });
    }
}

/// The prefix at the start of a line, behind text that is known to be harmless.
fn head(line: &[u8]) -> Option<(usize, Prefix<'_>)> {
    let lead = prefix::harmless_lead(line);
    Some((lead, prefix::parse(line.get(lead..)?)?))
}

/// The offset, at `from` or later, of a prefix inside one of the lines of `raw`.
fn find_in_lines(raw: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < raw.len() {
        let (line, len) = next_line(raw.get(at..)?);
        if let Some(found) = prefix::find(line, 0) {
            return Some(at + found);
        }
        at += len;
    }
    None
}
