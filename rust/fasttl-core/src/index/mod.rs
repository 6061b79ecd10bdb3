//! All records of a file: found in parallel, joined in the order of the file.
//!
//! *Every byte of the input belongs to exactly one record or to one problem that owns its bytes.* The
//! result does not depend on how the file was cut into chunks or on the number of threads; tests hold
//! both over random damage.

mod clock;
mod cut;
mod generation;
mod interner;
mod members;
mod problem;
mod record;
mod scan;
mod start;
mod stored;
mod strings;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

pub use problem::{ParserProblem, Problem, ProblemKind, Severity};
pub use record::{Encoding, KindId, Mark, NONE, Names, PayloadState, Record, When};
pub use scan::{Interned, Verify};
pub(crate) use start::{first_rank, first_records};
pub(crate) use stored::{Rows, Sections, read_sections, unfit};
pub use stored::{read_index, write_index};
pub use strings::Strings;

use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::payload::{LineEnd, Payload};
use crate::job::Job;
use interner::Interner;
pub(crate) use members::key_hash;
use members::{Member, Members};
use scan::{Chunk, Scratch};

/// So many chunks for each thread are read before their records are put together.
const CHUNKS_AT_ONCE: usize = 16;

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions {
    /// Whether payloads are checked.
    pub verify: Verify,
    /// Bytes a chunk aims at; the result does not depend on it.
    pub chunk_len: usize,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { verify: Verify::Md5, chunk_len: 1 << 20 }
    }
}

/// What the file's records and bytes were found to be.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The records, in the order of the file.
    pub records: Vec<Record>,
    /// What is wrong, by offset.
    pub problems: Vec<Problem>,
    /// The texts that records refer to by number.
    pub names: Names,
    /// Interned file names.
    pub strings: Strings,
    /// Where the members of metrics records stand, by number of the record.
    pub(crate) members: Members,
    /// How lines end.
    pub line_end: LineEnd,
    /// Bytes of the file.
    pub len: u64,
    /// First rank that a record gives.
    pub rank: Option<i32>,
    /// Offset of the log's local time from UTC in seconds, where the log tells.
    pub utc_offset_s: Option<i32>,
}

/// Reads a whole file. `modified_us` (microseconds since 1970) gives the year where the log has none.
///
/// # Errors
/// Only when `job` was cancelled: what is wrong with the bytes stands in [`Index::problems`].
///
/// ```
/// use fasttl_core::index::{IndexOptions, index};
/// use fasttl_core::job::Job;
///
/// let log = b"V1129 23:51:41.631000 7 torch/x.py:3] {\"dynamo_start\": {}, \"frame_id\": 0, \"frame_compile_id\": 1}\nnoise\n";
/// let index = index(log, 0, IndexOptions::default(), &Job::default())?;
/// assert_eq!(index.names.id(&index.records[0]).to_string(), "0/1");
/// assert_eq!(index.problems[0].kind.name(), "foreign text");
/// # Ok::<(), fasttl_core::error::Error>(())
/// ```
pub fn index(bytes: &[u8], modified_us: i64, options: IndexOptions, job: &Job) -> Result<Index> {
    let line_end = line_end(bytes);
    let mut join = Join::default();
    // One for each thread that reads.
    let at_hand: Mutex<Vec<Scratch>> = Mutex::default();
    let read = |range: &Range<usize>| {
        let mut scratch = at_hand.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let chunk = scan::scan(bytes, range, line_end, options.verify, &mut scratch);
        at_hand.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        job.advance(range.len() as u64)?;
        Ok(chunk)
    };
    let all = cut::cut(bytes, options.chunk_len);
    let mut before = Vec::new();
    // Some chunks at a time: what they took is free again for those after them. While some are read, those before them
    // are put together.
    for ranges in all.chunks(CHUNKS_AT_ONCE * rayon::current_num_threads()) {
        let chunks = std::mem::take(&mut before);
        let done = ranges.first().map_or(0, |range| range.start);
        let (read, ()) = rayon::join(
            || ranges.par_iter().map(read).collect::<Result<Vec<_>>>(),
            || join.add_all(chunks, done, bytes.len()),
        );
        before = read?;
    }
    join.add_all(before, bytes.len(), bytes.len());
    let mut index = join.finish();
    index.line_end = line_end;
    index.len = bytes.len() as u64;
    index.utc_offset_s = clock::assign(&mut index.records, bytes, line_end, modified_us);
    generation::assign(&mut index);
    ranks(&mut index);
    index.problems.sort_by_key(|p| (p.offset, !p.owns_bytes));
    Ok(index)
}

impl Index {
    /// The payload of a record, as it stands in the file's bytes.
    pub fn payload<'a>(&self, record: &Record, bytes: &'a [u8]) -> Payload<'a> {
        self.payload_at(record.payload_range(), bytes)
    }

    /// The payload whose lines start and end at these bytes; see [`Record::payload_range`].
    pub(crate) fn payload_at<'a>(&self, place: (u64, u64), bytes: &'a [u8]) -> Payload<'a> {
        Payload::new(range(bytes, place), self.line_end)
    }

    /// The metadata of a record: the value of its kind's key.
    pub fn metadata<'a>(&self, record: &Record, bytes: &'a [u8]) -> &'a [u8] {
        range(bytes, record.meta_range())
    }

    /// The JSON head of a record.
    pub fn json<'a>(&self, record: &Record, bytes: &'a [u8]) -> &'a [u8] {
        range(bytes, record.json_range())
    }

    /// Where the members of record number `at` stand in its metadata, if that is known.
    pub(crate) fn members_of(&self, at: usize) -> Option<&[Member]> {
        self.members.of(at)
    }

    /// Problems that mean a loss.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|p| p.kind.severity() == Severity::Error)
    }

    /// The record that starts at byte `offset`.
    pub fn record_at(&self, offset: u64) -> Option<&Record> {
        let at = self.records.binary_search_by_key(&offset, |r| r.offset).ok()?;
        self.records.get(at)
    }
}

fn range(bytes: &[u8], (from, to): (u64, u64)) -> &[u8] {
    let index = |n| usize::try_from(n).unwrap_or(usize::MAX);
    bytes.get(index(from)..index(to)).unwrap_or_default()
}

/// A file has CRLF line ends only if every line has: a CR before one LF may be part of a payload.
fn line_end(bytes: &[u8]) -> LineEnd {
    let cr_before = |at: usize| at > 0 && bytes.get(at - 1) == Some(&b'\r');
    let mut ends = memchr::memchr_iter(b'\n', bytes);
    match ends.next() {
        Some(first) if cr_before(first) && ends.all(cr_before) => LineEnd::CrLf,
        _ => LineEnd::Lf,
    }
}

/// Joins what the chunks yield, in the order of the file, with one numbering.
#[derive(Default)]
struct Join {
    index: Index,
    kinds: Interner<String>,
    sources: Interner<String>,
    names: Interner<String>,
    ids: Interner<CompileId>,
    strings: Vec<Interned>,
    lines: u64,
}

impl Join {
    /// Adds the chunks of a file of `len` bytes up to byte `done`.
    fn add_all(&mut self, chunks: Vec<Chunk>, done: usize, len: usize) {
        let any = !chunks.is_empty();
        for chunk in chunks {
            self.add(chunk);
        }
        if any {
            self.reserve(done, len);
        }
    }

    fn add(&mut self, mut chunk: Chunk) {
        let kind_map = remap(&mut self.kinds, chunk.kinds.values());
        let source_map = remap(&mut self.sources, chunk.sources.values());
        let name_map = remap(&mut self.names, chunk.names.values());
        let id_map: Vec<u32> = chunk.ids.values().iter().map(|id| self.ids.id(id)).collect();
        let mapped = |map: &[u32], id: u32| map.get(id as usize).copied().unwrap_or(NONE);
        let first_line = self.lines + 1;
        for record in &mut chunk.records {
            record.line += first_line;
            record.source = mapped(&source_map, record.source);
            record.name = mapped(&name_map, record.name);
            record.subgraph = mapped(&name_map, record.subgraph);
            record.id = mapped(&id_map, record.id);
            if let KindId::Other(kind) = &mut record.kind {
                *kind = mapped(&kind_map, *kind);
            }
        }
        for problem in &mut chunk.problems {
            problem.line += first_line;
        }
        self.lines += chunk.lines;
        let before = self.index.records.len();
        self.index.members.add(before, chunk.members);
        self.index.records.append(&mut chunk.records);
        self.index.problems.append(&mut chunk.problems);
        self.strings.append(&mut chunk.strings);
    }

    /// Makes room for the rest of a file of `len` bytes, of which `done` are read: a list that grows by doubling
    /// takes twice the memory that it needs.
    fn reserve(&mut self, done: usize, len: usize) {
        let records = self.index.records.len() as u128;
        let expected = records * (len as u128) / (done.max(1) as u128);
        let more = usize::try_from(expected - records).unwrap_or(0);
        // A little more than expected, so that it mostly happens once.
        if self.index.records.capacity() - self.index.records.len() < more {
            self.index.records.reserve_exact(more + more / 16);
        }
    }

    fn finish(self) -> Index {
        let mut index = self.index;
        index.records.shrink_to(index.records.len() + index.records.len() / 8);
        index.names = Names {
            kinds: self.kinds.into_values(),
            sources: self.sources.into_values(),
            names: self.names.into_values(),
            ids: self.ids.into_values(),
        };
        index.strings = Strings::new(self.strings);
        let redefined = index.strings.redefined().map(|(offset, id)| {
            let line = index.record_at(offset).map_or(0, |r| r.line);
            let detail = format!("string {id} has another text before");
            Problem { offset, len: 0, line, kind: ProblemKind::StringRedefined, detail, owns_bytes: false }
        });
        let redefined: Vec<_> = redefined.collect();
        index.problems.extend(redefined);
        index
    }
}

fn remap(all: &mut Interner<String>, values: &[String]) -> Vec<u32> {
    values.iter().map(|value| all.id(value.as_str())).collect()
}

/// The file's rank is the first that a record gives; records of another one are named.
fn ranks(index: &mut Index) {
    index.rank = index.records.iter().find_map(|r| r.rank);
    let Some(rank) = index.rank else { return };
    for record in index.records.iter().filter(|r| r.rank.is_some_and(|other| other != rank)) {
        index.problems.push(Problem {
            offset: record.offset,
            len: record.len,
            line: record.line,
            kind: ProblemKind::OtherRank,
            detail: format!("rank {} in a file of rank {rank}", record.rank.unwrap_or_default()),
            owns_bytes: false,
        });
    }
}
