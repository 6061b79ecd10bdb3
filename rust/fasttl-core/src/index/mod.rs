//! All records of a file: found in parallel, joined in the order of the file.
//!
//! *Every byte of the input belongs to exactly one record or to one problem that owns its bytes.* The
//! result does not depend on how the file was cut into chunks or on the number of threads; tests hold
//! both over random damage.

mod clock;
mod cut;
mod generation;
mod interner;
mod problem;
mod record;
mod scan;
mod start;
mod stored;
mod strings;

use rayon::prelude::*;

pub use problem::{ParserProblem, Problem, ProblemKind, Severity};
pub use record::{Encoding, KindId, Mark, NONE, Names, PayloadState, Record};
pub use scan::{Interned, Verify};
pub(crate) use start::{first_rank, first_records};
pub(crate) use stored::{Rows, Sections, read_sections, unfit};
pub use stored::{read_index, write_index};
pub use strings::Strings;

use crate::error::Result;
use crate::format::payload::{LineEnd, Payload};
use crate::job::Job;
use interner::Interner;
use scan::Chunk;

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
        Self { verify: Verify::Md5, chunk_len: 4 << 20 }
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
    let chunks = cut::cut(bytes, options.chunk_len)
        .into_par_iter()
        .map(|range| {
            let len = range.len() as u64;
            let chunk = scan::scan(bytes, range, line_end, options.verify);
            job.advance(len)?;
            Ok(chunk)
        })
        .collect::<Result<Vec<_>>>()?;
    let mut index = join(chunks);
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
        Payload::new(range(bytes, record.payload_range()), self.line_end)
    }

    /// The metadata of a record: the value of its kind's key.
    pub fn metadata<'a>(&self, record: &Record, bytes: &'a [u8]) -> &'a [u8] {
        range(bytes, record.meta_range())
    }

    /// The JSON head of a record.
    pub fn json<'a>(&self, record: &Record, bytes: &'a [u8]) -> &'a [u8] {
        range(bytes, record.json_range())
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

/// Joins what the chunks yielded, with one numbering.
fn join(chunks: Vec<Chunk>) -> Index {
    let mut index = Index::default();
    let (mut kinds, mut sources, mut names) = (Interner::default(), Interner::default(), Interner::default());
    let mut ids = Interner::default();
    let mut strings = Vec::new();
    let mut line = 1;
    index.records.reserve_exact(chunks.iter().map(|c| c.records.len()).sum());
    for mut chunk in chunks {
        let kind_map = remap(&mut kinds, chunk.kinds.values());
        let source_map = remap(&mut sources, chunk.sources.values());
        let name_map = remap(&mut names, chunk.names.values());
        let id_map: Vec<u32> = chunk.ids.values().iter().map(|id| ids.id(id)).collect();
        let mapped = |map: &[u32], id: u32| map.get(id as usize).copied().unwrap_or(NONE);
        for record in &mut chunk.records {
            record.line += line;
            record.source = mapped(&source_map, record.source);
            record.name = mapped(&name_map, record.name);
            record.subgraph = mapped(&name_map, record.subgraph);
            record.id = mapped(&id_map, record.id);
            if let KindId::Other(kind) = &mut record.kind {
                *kind = mapped(&kind_map, *kind);
            }
        }
        for problem in &mut chunk.problems {
            problem.line += line;
        }
        line += chunk.lines;
        index.records.append(&mut chunk.records);
        index.problems.append(&mut chunk.problems);
        strings.append(&mut chunk.strings);
    }
    index.names = Names {
        kinds: kinds.into_values(),
        sources: sources.into_values(),
        names: names.into_values(),
        ids: ids.into_values(),
    };
    index.strings = Strings::new(strings);
    let redefined = index.strings.redefined().map(|(offset, id)| {
        let line = index.record_at(offset).map_or(0, |r| r.line);
        let detail = format!("string {id} has another text before");
        Problem { offset, len: 0, line, kind: ProblemKind::StringRedefined, detail, owns_bytes: false }
    });
    let redefined: Vec<_> = redefined.collect();
    index.problems.extend(redefined);
    index
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
