//! Reads one chunk of a log into records and problems.
//!
//! Every byte of the chunk goes to exactly one record or to one problem that owns its bytes.

use std::ops::Range;

mod details;
mod payload;

use super::interner::Interner;
use super::members::{Member, members};
use super::problem::{Problem, ProblemKind};
use super::record::{Encoding, KindId, Mark, NONE, PayloadState, Record, When};
use crate::format::compile_id::CompileId;
use crate::format::envelope::{self, Envelope, FieldFault};
use crate::format::json::{self, Oddities};
use crate::format::kind::Kind;
use crate::format::md5_lanes;
use crate::format::payload::{LineEnd, next_line};
use crate::format::prefix::{self, Prefix};

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
    /// Where the members of metrics records stand.
    pub(super) members: Vec<(usize, Box<[Member]>)>,
    /// Lines in the chunk.
    pub(super) lines: u64,
}

/// How payloads are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    /// Not at all.
    Skip,
    /// All of a chunk side by side, when it was read; until then they are taken to be whole.
    Together,
    /// Each when it is read, so that a record torn into one is found.
    OneByOne,
}

/// So many source files are told apart without making text of their paths.
const SOURCES_AT_HAND: usize = 16;

/// A payload's text that is not yet checked.
#[derive(Debug)]
struct Pending {
    /// Where it stands in [`Scratch::texts`].
    text: Range<usize>,
    /// The md5 that it should have.
    md5: [u8; 16],
}

/// Buffers that one chunk after the other uses: fresh memory for each would cost more than to fill it.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The texts of payloads that are checked together, one behind the other.
    texts: Vec<u8>,
    pending: Vec<Pending>,
}

/// Reads the chunk `range` of `bytes`.
pub(super) fn scan(
    bytes: &[u8],
    range: &Range<usize>,
    line_end: LineEnd,
    verify: Verify,
    scratch: &mut Scratch,
) -> Chunk {
    let mut read = |check| {
        scratch.texts.clear();
        scratch.pending.clear();
        let mut scan = Scan::new(bytes, range, line_end, check, scratch);
        while scan.at < scan.bytes.len() {
            scan.line();
        }
        scan.chunk.lines = scan.line;
        let whole = check != Check::Together || scan.all_have_their_md5();
        (scan.chunk, whole)
    };
    match verify {
        Verify::Skip => read(Check::Skip).0,
        Verify::Md5 => match read(Check::Together) {
            (chunk, true) => chunk,
            // One is not what its head says, and others may hide in it: these few chunks are read with more care.
            (_, false) => read(Check::OneByOne).0,
        },
    }
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
    check: Check,
    ends_file: bool,
    last: Last,
    /// The payload of the record at hand: its lines as they stand in the file.
    payload: &'a [u8],
    scratch: &'a mut Scratch,
    /// The source files met first, as they stand in prefixes.
    sources: Vec<(&'a [u8], u32)>,
    chunk: Chunk,
}

impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8], range: &Range<usize>, line_end: LineEnd, check: Check, scratch: &'a mut Scratch) -> Self {
        Self {
            bytes: bytes.get(..range.end).unwrap_or(bytes),
            at: range.start,
            line: 0,
            line_ends: range.start,
            torn_line: false,
            line_end,
            check,
            ends_file: range.end == bytes.len(),
            last: Last::Nothing,
            payload: &[],
            scratch,
            sources: Vec::new(),
            chunk: Chunk::default(),
        }
    }

    /// Whether the payloads that wait for it have the md5s of their heads.
    fn all_have_their_md5(&self) -> bool {
        let Scratch { texts, pending } = &*self.scratch;
        let texts: Vec<&[u8]> = pending.iter().map(|p| texts.get(p.text.clone()).unwrap_or_default()).collect();
        let mut found = Vec::new();
        md5_lanes::md5_many(&texts, &mut found);
        found.len() == pending.len() && pending.iter().zip(&found).all(|(p, md5)| p.md5 == *md5)
    }

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
        } else if self.ends_file && self.at + len == self.bytes.len() && prefix::may_begin(rest) {
            self.own(ProblemKind::CutShort, len, "the log ends inside the head of a record");
            self.advance(len);
        } else {
            self.stray(ProblemKind::ForeignText, len);
        }
    }

    /// Goes on by `len` bytes of the line at hand.
    fn advance(&mut self, len: usize) {
        let passed = self.rest().get(..len).unwrap_or_default();
        self.line += u64::from(passed.ends_with(b"\n"));
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
        if let Some(members) = members(json, &envelope.metadata, &envelope.members) {
            self.chunk.members.push((self.chunk.records.len() - 1, members));
        }
        self.faults(head_len, prefix, &envelope);
        if torn.is_none() && !after.iter().all(u8::is_ascii_whitespace) {
            self.note(ProblemKind::TrailingText, len, "text after the JSON of the head");
        }
        self.advance(head_len);
        self.last = Last::Record;
        // A record without payload must not be judged by the text of the one before.
        self.payload = &[];
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
        let unterminated = self.bytes.last() != Some(&b'\n');
        let (kind, detail) = if at_end && (error.ended || unterminated) {
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
        prefix: &Prefix<'a>,
        envelope: &Envelope<'_>,
    ) {
        let source = self.source(prefix.path);
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
            when: prefix.time.map_or(When::Unknown, When::Wall),
            thread: prefix.thread,
            source,
            source_line: prefix.lineno.unwrap_or(NONE),
            kind,
            name: NONE,
            id: chunk.ids.id(&envelope.id),
            subgraph,
            generation: 0,
            rank: envelope.rank,
            encoding: Encoding::Absent,
            payload: PayloadState::None,
            mark: Mark::None,
            plain: envelope.oddities.is_empty() && envelope.faults.is_empty(),
        });
    }

    /// The number of the source file `path`; a few of them log all records, mostly several in a row.
    fn source(&mut self, path: &'a [u8]) -> u32 {
        if let Some((_, number)) = self.sources.iter().find(|(known, _)| *known == path) {
            return *number;
        }
        let number = self.chunk.sources.id(String::from_utf8_lossy(path).as_ref());
        if self.sources.len() < SOURCES_AT_HAND {
            self.sources.push((path, number));
        }
        number
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
        for (missing, what) in [
            (prefix.time.is_none(), "time: no such date or time"),
            (prefix.thread.is_none(), "process id: out of range"),
            (prefix.lineno.is_none(), "source line: out of range"),
        ] {
            if missing {
                self.note(ProblemKind::BadField, len, what);
            }
        }
        if std::str::from_utf8(prefix.path).is_err() {
            self.note(ProblemKind::BadUtf8, len, "in the path of the emitting file");
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
}

/// The prefix at the start of a line, behind text that is known to be harmless.
fn head(line: &[u8]) -> Option<(usize, Prefix<'_>)> {
    let lead = prefix::harmless_lead(line);
    Some((lead, prefix::parse(line.get(lead..)?)?))
}
