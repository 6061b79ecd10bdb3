//! The records of an index as columns. A field of [`Record`] is one line where it is written and one where it is read;
//! a change of its type needs none as long as the numbers fit.

use arrow_array::types::{Int32Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};

use super::cells::{Cells, Rows, cell, unfit};
use crate::error::Result;
use crate::format::kind::Kind;
use crate::index::{Encoding, Index, KindId, Mark, NONE, PayloadState, Record, When};

/// Numbers of the states; an entry keeps its place.
const STATES: [PayloadState; 6] = [
    PayloadState::None,
    PayloadState::Verified,
    PayloadState::Unchecked,
    PayloadState::WrongMd5,
    PayloadState::Missing,
    PayloadState::CutShort,
];
/// Numbers of the encodings.
const ENCODINGS: [Encoding; 4] = [Encoding::Absent, Encoding::Text, Encoding::Json, Encoding::Unknown];
/// Numbers of the marks.
const MARKS: [Mark; 4] = [Mark::None, Mark::Begin, Mark::End, Mark::Broken];

/// The known kinds of a log, which are stored by name: their numbers differ from version to version. They are numbered
/// behind those that are not known.
#[derive(Default)]
pub(super) struct Kinds {
    others: u32,
    known: Vec<Kind>,
}

impl Kinds {
    /// Those of all records.
    pub(super) fn of(index: &Index) -> Self {
        let mut kinds = Self { others: u32::try_from(index.names.kinds.len()).unwrap_or(NONE), known: Vec::new() };
        for record in &index.records {
            if let KindId::Known(kind) = record.kind
                && !kinds.known.contains(&kind)
            {
                kinds.known.push(kind);
            }
        }
        kinds
    }

    /// Names of the known ones.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.known.iter().map(|kind| kind.info().name).collect()
    }

    fn number(&self, kind: KindId) -> u32 {
        match kind {
            KindId::Other(number) => number,
            KindId::Known(kind) => {
                let at = self.known.iter().position(|known| *known == kind).and_then(|at| u32::try_from(at).ok());
                at.and_then(|at| self.others.checked_add(at)).unwrap_or(NONE)
            }
        }
    }
}

/// The kinds by their stored numbers.
pub(super) fn read_kinds(others: usize, known: &[String]) -> Result<Vec<KindId>> {
    let others = (0..).take(others).map(|number| Ok(KindId::Other(number)));
    let known = known.iter().map(|name| {
        Kind::by_name(name.as_bytes()).map(KindId::Known).ok_or_else(|| unfit(format!("the unknown kind {name:?}")))
    });
    others.chain(known).collect()
}

fn place<T: PartialEq>(list: &[T], value: &T) -> u8 {
    list.iter().position(|one| one == value).and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
}

/// The columns of records.
pub(super) fn columns<'r>(records: &'r [Record], kinds: &'r Kinds) -> Rows<'r, Record> {
    Rows::new(records)
        .u64("offset", |r| r.offset)
        .u64("length", |r| r.len)
        .u64("head_length", |r| r.head_len)
        .u32("json_at", |r| r.json_at)
        .u64("json_length", |r| r.json_len)
        .u32("metadata_at", |r| r.meta_at)
        .u64("metadata_length", |r| r.meta_len)
        .u64("text_length", |r| r.text_len)
        .md5("md5", |r| r.md5)
        .u64("line", |r| r.line)
        .maybe_i64("time_us", Record::time_us)
        .maybe_u64("thread", |r| r.thread)
        .u32("source", |r| r.source)
        .u32("source_line", |r| r.source_line)
        .u32("kind", |r| kinds.number(r.kind))
        .u32("name", |r| r.name)
        .u32("id", |r| r.id)
        .u32("subgraph", |r| r.subgraph)
        .u32("generation", |r| r.generation)
        .maybe_i32("rank", |r| r.rank)
        .u8("encoding", |r| place(&ENCODINGS, &r.encoding))
        .u8("payload", |r| place(&STATES, &r.payload))
        .u8("mark", |r| place(&MARKS, &r.mark))
        .u8("plain", |r| u8::from(r.plain))
}

/// Back to records; `kinds` are those of the stored numbers.
pub(super) fn read(cells: &Cells, kinds: &[KindId]) -> Result<Vec<Record>> {
    let wide = |name| cells.numbers::<UInt64Type>(name);
    let narrow = |name| cells.numbers::<UInt32Type>(name);
    let byte = |name| cells.numbers::<UInt8Type>(name);
    let (offset, len, head_len) = (wide("offset")?, wide("length")?, wide("head_length")?);
    let (json_at, json_len) = (narrow("json_at")?, wide("json_length")?);
    let (meta_at, meta_len) = (narrow("metadata_at")?, wide("metadata_length")?);
    let (text_len, md5, line) = (wide("text_length")?, cells.md5s("md5")?, wide("line")?);
    let (time_us, thread) = (cells.maybe::<Int64Type>("time_us")?, cells.maybe::<UInt64Type>("thread")?);
    let (source, source_line, kind) = (narrow("source")?, narrow("source_line")?, narrow("kind")?);
    let (name, id, subgraph) = (narrow("name")?, narrow("id")?, narrow("subgraph")?);
    let (generation, rank) = (narrow("generation")?, cells.maybe::<Int32Type>("rank")?);
    let (encoding, payload) = (byte("encoding")?, byte("payload")?);
    let (mark, plain) = (byte("mark")?, byte("plain")?);
    let record = |row| {
        Some(Record {
            offset: fit(offset.value(row))?,
            len: fit(len.value(row))?,
            head_len: fit(head_len.value(row))?,
            json_at: fit(json_at.value(row))?,
            json_len: fit(json_len.value(row))?,
            meta_at: fit(meta_at.value(row))?,
            meta_len: fit(meta_len.value(row))?,
            text_len: fit(text_len.value(row))?,
            md5: fit(md5.value(row))?,
            line: fit(line.value(row))?,
            when: cell(time_us, row).map_or(When::Unknown, When::Utc),
            thread: cell(thread, row),
            source: fit(source.value(row))?,
            source_line: fit(source_line.value(row))?,
            kind: *kinds.get(kind.value(row) as usize)?,
            name: fit(name.value(row))?,
            id: fit(id.value(row))?,
            subgraph: fit(subgraph.value(row))?,
            generation: fit(generation.value(row))?,
            rank: cell(rank, row),
            encoding: *ENCODINGS.get(usize::from(encoding.value(row)))?,
            payload: *STATES.get(usize::from(payload.value(row)))?,
            mark: *MARKS.get(usize::from(mark.value(row)))?,
            plain: plain.value(row) != 0,
        })
    };
    let records: Option<Vec<Record>> = (0..cells.rows()).map(record).collect();
    records.ok_or_else(|| unfit("a number that is out of range"))
}

fn fit<S, T: TryFrom<S>>(value: S) -> Option<T> {
    T::try_from(value).ok()
}
