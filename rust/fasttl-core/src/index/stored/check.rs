//! Whether a stored index can be that of a log: nothing in it points out of the log or out of its own lists.

use super::unfit;
use crate::error::Result;
use crate::index::{Index, KindId, NONE, Problem, Record};

/// Refuses an index that no log of `log_len` bytes has.
pub(super) fn check(index: &Index, log_len: u64) -> Result<()> {
    let faults = [
        (index.len != log_len, "that of a log of another size"),
        (!records_follow(&index.records, log_len), "records outside of the log or of each other"),
        (!index.records.iter().all(|r| has_texts(index, r)), "records with texts that are not there"),
        (index.records.iter().find_map(|r| r.rank) != index.rank, "another rank than its records'"),
        (!problems_fit(&index.problems, log_len), "problems outside of the log"),
        (index.strings.defs().iter().any(|def| def.offset >= log_len), "strings outside of the log"),
    ];
    match faults.iter().find(|(found, _)| *found) {
        Some((_, what)) => Err(unfit(what)),
        None => Ok(()),
    }
}

/// Whether records follow each other in the log, each with its parts inside.
fn records_follow(records: &[Record], log_len: u64) -> bool {
    let mut free = 0;
    records.iter().all(|record| {
        let fits = record.offset >= free && parts_fit(record).is_some();
        free = record.offset.saturating_add(record.len);
        fits && free <= log_len
    }) && records.iter().all(|r| r.generation as usize <= records.len() && r.rank.is_none_or(|rank| rank >= 0))
}

fn parts_fit(record: &Record) -> Option<()> {
    let json_end = u64::from(record.json_at).checked_add(record.json_len)?;
    let meta_end = u64::from(record.meta_at).checked_add(record.meta_len)?;
    let payload = record.len.checked_sub(record.head_len)?;
    (record.len > 0 && json_end <= record.head_len && meta_end <= record.json_len && record.text_len <= payload)
        .then_some(())
}

/// Whether the texts that a record names are there.
fn has_texts(index: &Index, record: &Record) -> bool {
    let names = &index.names;
    let there = |number: u32, len: usize| number == NONE || (number as usize) < len;
    there(record.source, names.sources.len())
        && there(record.name, names.names.len())
        && there(record.subgraph, names.names.len())
        && there(record.id, names.ids.len())
        && match record.kind {
            KindId::Known(_) => true,
            KindId::Other(number) => there(number, names.kinds.len()),
        }
}

fn problems_fit(problems: &[Problem], log_len: u64) -> bool {
    problems.iter().all(|p| p.offset.checked_add(p.len).is_some_and(|end| end <= log_len))
        && problems.is_sorted_by_key(|p| (p.offset, !p.owns_bytes))
}
