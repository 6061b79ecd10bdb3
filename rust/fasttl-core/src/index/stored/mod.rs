//! An [`Index`] as bytes: Arrow IPC streams, one after another, each with one batch.
//!
//! The streams are `index` (what is said once), `records`, `problems`, `texts` (kinds, source files and names), `ids` and
//! `strings`. What is read back is checked: places inside of the log, in order, and numbers of texts that are there. So
//! nothing that follows can be led astray by it further than by a log. Times in the prefixes are left out: they only
//! serve to find the times since 1970.

mod cells;
mod check;
mod records;

use std::io::{Read, Write};

use arrow_array::types::{Int32Type, Int64Type, UInt8Type, UInt64Type};

pub(crate) use cells::{Cells, Rows, Sections, unfit};

use super::members::Members;
use super::{Index, Interned, Names, Problem, ProblemKind, Strings};
use crate::error::{Error, ErrorKind, Result};
use crate::format::compile_id::CompileId;
use crate::format::payload::LineEnd;
use cells::cell;

/// Writes an index.
///
/// # Errors
/// `out` does not take it.
///
/// ```
/// use fasttl_core::index::{IndexOptions, index, read_index, write_index};
/// use fasttl_core::job::Job;
///
/// let log = b"V1129 23:51:41.631000 7 torch/x.py:3] {\"dynamo_start\": {}, \"frame_id\": 0, \"frame_compile_id\": 1}\n";
/// let made = index(log, 0, IndexOptions::default(), &Job::default())?;
/// let mut bytes = Vec::new();
/// write_index(&made, &mut bytes)?;
/// let read = read_index(bytes.as_slice(), log.len() as u64)?;
/// assert_eq!(read.records[0].line, made.records[0].line);
/// assert!(read_index(&bytes[..bytes.len() - 1], log.len() as u64).is_err());
/// # Ok::<(), fasttl_core::error::Error>(())
/// ```
pub fn write_index(index: &Index, mut out: impl Write) -> Result<()> {
    let kinds = records::Kinds::of(index);
    once(&[index]).write(&mut out)?;
    records::columns(&index.records, &kinds).write(&mut out)?;
    problems(&index.problems).write(&mut out)?;
    let Names { kinds: others, sources, names, ids: compile_ids } = &index.names;
    let listed: Vec<(u8, &str)> = [texts_of(others), kinds.names(), texts_of(sources), texts_of(names)]
        .into_iter()
        .zip(0..)
        .flat_map(|(list, number)| list.into_iter().map(move |text| (number, text)))
        .collect();
    texts(&listed).write(&mut out)?;
    ids(compile_ids).write(&mut out)?;
    strings(index.strings.defs()).write(&mut out)
}

/// Reads an index that [`write_index`] wrote for a log of `log_len` bytes.
///
/// # Errors
/// The bytes are no such index: cut, changed, of other columns, or not of a log of this size.
pub fn read_index(mut from: impl Read, log_len: u64) -> Result<Index> {
    let mut bytes = Vec::new();
    let failed = |e| Error::new(ErrorKind::Read, format!("the index could not be read: {e}"));
    from.read_to_end(&mut bytes).map_err(failed)?;
    read_sections(&mut Sections::new(bytes), log_len)
}

/// Reads what [`write_index`] wrote from where `sections` is to its end.
pub(crate) fn read_sections(sections: &mut Sections, log_len: u64) -> Result<Index> {
    let about = sections.read(&once(&[]))?;
    let record_cells = sections.read(&records::columns(&[], &records::Kinds::default()))?;
    let problems = read_problems(&sections.read(&problems(&[]))?)?;
    let [others, known, sources, names] = read_texts(&sections.read(&texts(&[]))?)?;
    let ids = read_ids(&sections.read(&ids(&[]))?)?;
    let strings = read_strings(&sections.read(&strings(&[]))?)?;
    if !sections.rest().is_empty() || about.rows() != 1 {
        return Err(unfit("more or less than an index"));
    }
    let kinds = records::read_kinds(others.len(), &known)?;
    let index = Index {
        records: records::read(&record_cells, &kinds)?,
        problems,
        names: Names { kinds: others, sources, names, ids },
        strings: Strings::new(strings),
        // Looked for when they are asked for.
        members: Members::default(),
        line_end: if about.numbers::<UInt8Type>("crlf")?.value(0) == 0 { LineEnd::Lf } else { LineEnd::CrLf },
        len: about.numbers::<UInt64Type>("length")?.value(0),
        rank: cell(about.maybe::<Int32Type>("rank")?, 0),
        utc_offset_s: cell(about.maybe::<Int32Type>("utc_offset_s")?, 0),
    };
    check::check(&index, log_len)?;
    Ok(index)
}

fn texts_of(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

/// What is said once of a log.
fn once<'r>(index: &'r [&'r Index]) -> Rows<'r, &'r Index> {
    Rows::new(index)
        .u64("length", |i| i.len)
        .u8("crlf", |i| u8::from(i.line_end == LineEnd::CrLf))
        .maybe_i32("rank", |i| i.rank)
        .maybe_i32("utc_offset_s", |i| i.utc_offset_s)
}

fn problems(problems: &[Problem]) -> Rows<'_, Problem> {
    Rows::new(problems)
        .u64("offset", |p| p.offset)
        .u64("length", |p| p.len)
        .u64("line", |p| p.line)
        .text("kind", |p| p.kind.name())
        .text("detail", |p| &p.detail)
        .u8("owns_bytes", |p| u8::from(p.owns_bytes))
}

fn read_problems(cells: &Cells) -> Result<Vec<Problem>> {
    let offset = cells.numbers::<UInt64Type>("offset")?;
    let len = cells.numbers::<UInt64Type>("length")?;
    let line = cells.numbers::<UInt64Type>("line")?;
    let kind = cells.texts("kind")?;
    let detail = cells.texts("detail")?;
    let owns_bytes = cells.numbers::<UInt8Type>("owns_bytes")?;
    let kind_at = |row| {
        let name = kind.value(row);
        ProblemKind::ALL.into_iter().find(|k| k.name() == name).ok_or_else(|| unfit("an unknown kind of problem"))
    };
    let problem = |row| {
        Ok(Problem {
            offset: offset.value(row),
            len: len.value(row),
            line: line.value(row),
            kind: kind_at(row)?,
            detail: detail.value(row).to_owned(),
            owns_bytes: owns_bytes.value(row) != 0,
        })
    };
    (0..cells.rows()).map(problem).collect()
}

/// Lists of texts, each text with the number of its list.
fn texts<'r>(listed: &'r [(u8, &'r str)]) -> Rows<'r, (u8, &'r str)> {
    Rows::new(listed).u8("list", |(list, _)| *list).text("text", |(_, text)| text)
}

fn read_texts<const N: usize>(cells: &Cells) -> Result<[Vec<String>; N]> {
    let (list, text) = (cells.numbers::<UInt8Type>("list")?, cells.texts("text")?);
    let mut lists = std::array::from_fn(|_| Vec::new());
    for row in 0..cells.rows() {
        let list = lists.get_mut(usize::from(list.value(row))).ok_or_else(|| unfit("an unknown list"))?;
        list.push(text.value(row).to_owned());
    }
    Ok(lists)
}

fn ids(ids: &[CompileId]) -> Rows<'_, CompileId> {
    Rows::new(ids)
        .maybe_i64("compiled_autograd_id", |id| id.compiled_autograd_id)
        .maybe_i64("frame_id", |id| id.frame_id)
        .maybe_i64("frame_compile_id", |id| id.frame_compile_id)
        .maybe_i64("attempt", |id| id.attempt)
}

fn read_ids(cells: &Cells) -> Result<Vec<CompileId>> {
    let number = |name| cells.maybe::<Int64Type>(name);
    let (autograd, frame) = (number("compiled_autograd_id")?, number("frame_id")?);
    let (compile, attempt) = (number("frame_compile_id")?, number("attempt")?);
    let id = |row| CompileId {
        compiled_autograd_id: cell(autograd, row),
        frame_id: cell(frame, row),
        frame_compile_id: cell(compile, row),
        attempt: cell(attempt, row),
    };
    Ok((0..cells.rows()).map(id).collect())
}

fn strings(defs: &[Interned]) -> Rows<'_, Interned> {
    Rows::new(defs).u64("offset", |d| d.offset).maybe_i64("id", |d| Some(d.id)).text("text", |d| &d.text)
}

fn read_strings(cells: &Cells) -> Result<Vec<Interned>> {
    let (offset, id) = (cells.numbers::<UInt64Type>("offset")?, cells.numbers::<Int64Type>("id")?);
    let text = cells.texts("text")?;
    let def = |row| Interned { offset: offset.value(row), id: id.value(row), text: text.value(row).to_owned() };
    Ok((0..cells.rows()).map(def).collect())
}
