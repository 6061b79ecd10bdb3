//! The order of logs, and what it takes to know it.
//!
//! The number of a log follows from the ranks and times of all. Where no two logs have one rank, ranks are enough, and
//! the first record that gives one tells a log's. Else all logs are read, and their records are forgotten again where they
//! are many.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use memchr::memmem;
use rayon::prelude::*;

use super::Selection;
use crate::error::Result;
use crate::format::json;
use crate::index::{Index, Names, first_rank};
use crate::input::{LogFile, Source};
use crate::job::Job;
use crate::sidecar::{self, Sidecars};
use crate::trace::{self, LoadOptions, Log, Runs, arrange, common_offset};

/// Of logs with so many bytes in all, the records are kept once they were read.
const KEPT: u64 = 256 << 20;

/// A log in its place.
#[derive(Debug)]
pub(super) struct Planned {
    /// The log; of its index there is the rank only, unless it is whole.
    pub(super) log: Arc<Log>,
    /// Whether its index has all records.
    pub(super) is_whole: bool,
    /// Whether the ranks of log and records are known.
    pub(super) rank_is_known: bool,
}

/// The offset from UTC that logs take which do not tell their own.
#[derive(Debug)]
pub(super) struct Zone {
    /// All logs that were found, those of other ranks included.
    files: Vec<LogFile>,
    found: OnceLock<Option<i32>>,
}

impl Zone {
    /// The one offset of all logs that tell theirs. Reads them once.
    pub(super) fn of_all(&self, options: &LoadOptions, job: &Job) -> Result<Option<i32>> {
        if let [_] = self.files.as_slice() {
            return Ok(None);
        }
        if let Some(known) = self.found.get() {
            return Ok(*known);
        }
        let offset = |file: &LogFile| Ok(trace::read(file.clone(), options, job)?.index.utc_offset_s);
        let offsets = self.files.par_iter().map(offset).collect::<Result<Vec<_>>>()?;
        Ok(*self.found.get_or_init(|| common_offset(offsets.into_iter())))
    }
}

/// Puts logs in their order.
pub(super) fn plan(files: Vec<LogFile>, options: &LoadOptions, job: &Job) -> Result<Selection> {
    let zone = Zone { files, found: OnceLock::new() };
    let alone = zone.files.len() == 1 && options.ranks.is_none();
    let looked =
        if alone { zone.files.iter().cloned().map(Log::unread).collect() } else { look(&zone.files, options, job)? };
    let ranks: BTreeSet<Option<i32>> = looked.iter().map(|log| log.index.rank.or(log.rank)).collect();
    let by_rank = ranks.len() == looked.len() && (alone || options.runs == Runs::All);
    let bytes: u64 = zone.files.iter().map(|file| file.source.as_ref().map_or(0, Source::len)).sum();
    let is_whole = !by_rank && bytes <= KEPT;
    let mut logs = if by_rank { looked } else { read_all(&zone.files, is_whole, options, job)? };
    if !by_rank {
        // Before some are left out: those, too, tell what the zone is.
        zone.found.get_or_init(|| common_offset(logs.iter().map(|log| log.index.utc_offset_s)));
    }
    arrange(&mut logs, options)?;
    let planned = |log| Planned { log: Arc::new(log), is_whole, rank_is_known: !alone };
    Ok(Selection { options: options.clone(), planned: logs.into_iter().map(planned).collect(), zone })
}

/// Logs of which the rank was looked at.
fn look(files: &[LogFile], options: &LoadOptions, job: &Job) -> Result<Vec<Log>> {
    let how = options.index();
    let look = |file: &LogFile| {
        let mut log = Log::unread(file.clone());
        let Ok(view) = log.view() else { return Ok(log) };
        // Without a rank in its name a log may have none, and only an index tells that without reading it all.
        let stored = if file.name_rank.is_none() { fresh(file, &view, options) } else { None };
        let rank = match stored {
            Some(index) => index.rank,
            None => first_rank(&view, how, job)?,
        };
        log.rank = rank.or(log.rank);
        log.index = Index { rank, ..Index::default() };
        Ok(log)
    };
    files.par_iter().map(look).collect()
}

/// The index beside a log, where it may be used and holds.
pub(super) fn fresh(file: &LogFile, bytes: &[u8], options: &LoadOptions) -> Option<Index> {
    (options.sidecars == Sidecars::Use).then(|| sidecar::fresh(file, bytes, options.verify)).flatten()
}

/// Logs that were read; only what their order needs is kept of them, unless all of it is.
fn read_all(files: &[LogFile], keep: bool, options: &LoadOptions, job: &Job) -> Result<Vec<Log>> {
    let read = |file: &LogFile| {
        let mut log = trace::read(file.clone(), options, job)?;
        if !keep {
            // One record is left, to tell the log from one that has none.
            log.index.records.truncate(1);
            log.index.records.shrink_to_fit();
            log.index.problems = Vec::new();
            log.index.names = Names::default();
        }
        Ok(log)
    };
    files.par_iter().map(read).collect()
}

/// Whether no record in `bytes` can have another rank than this: wherever the key stands, this number follows.
pub(super) fn names_only_rank(bytes: &[u8], rank: i32) -> bool {
    memmem::find_iter(bytes, b"\"rank\"").all(|at| {
        let after = bytes.get(at + 6..).unwrap_or_default();
        let mut value = after.trim_ascii_start();
        let Some(rest) = value.strip_prefix(b":") else {
            // A text, and no key.
            return true;
        };
        value = rest.trim_ascii_start();
        let end = value.iter().position(|b| !b.is_ascii_digit()).unwrap_or(value.len());
        value.get(..end).and_then(json::integer) == Some(i64::from(rank))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_rank_is_seen() {
        let only = |text: &str| names_only_rank(text.as_bytes(), 3);
        assert!(only("{\"rank\": 3, \"x\": \"rank\"} {\"rank\" :\t3}"));
        assert!(only("{\"ranks\": 4} {\\\"rank\\\": 4}"));
        assert!(!only("{\"rank\": 3} {\"rank\": 30}"));
        assert!(!only("{\"rank\": 3} {\"rank\": null}"));
    }
}
