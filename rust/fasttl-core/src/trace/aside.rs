//! Logs whose index is set aside, so that the memory of a report does not grow with the number of its logs.
//!
//! Of such a log its numbers are known; the index is made again when the log's turn comes, from the same bytes and
//! in the same way, and so is the same.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Log, Trace};
use crate::error::Result;
use crate::index::{Index, ProblemKind, Record};
use crate::job::Job;
use crate::sidecar;

/// What is known of an index that is not kept.
#[derive(Clone, Debug)]
pub(super) struct Aside {
    pub(super) records: usize,
    pub(super) errors: usize,
    pub(super) without_compile: usize,
    pub(super) first_string: Option<i64>,
    /// See [`string_times`]; until it is known which logs go on from which.
    pub(super) strings: Vec<(i64, Option<i64>)>,
}

impl Aside {
    /// Sets all times back by so many microseconds.
    pub(super) fn shift(&mut self, shift: i64) {
        for time in self.strings.iter_mut().filter_map(|(_, time)| time.as_mut()) {
            *time -= shift;
        }
    }
}

/// The ids of the strings of a log, and when each was defined.
pub(super) fn string_times(index: &Index) -> Vec<(i64, Option<i64>)> {
    let time = |offset| index.record_at(offset).and_then(Record::time_us);
    index.strings.defs().iter().map(|def| (def.id, time(def.offset))).collect()
}

/// The memory for indexes, shared by the threads that read.
pub(super) struct Kept {
    most: Option<u64>,
    bytes: AtomicU64,
}

impl Kept {
    /// Room for `most` bytes; for all indexes without.
    pub(super) fn new(most: Option<u64>) -> Self {
        Self { most, bytes: AtomicU64::new(0) }
    }

    /// Keeps the index of a log if there is room for it.
    pub(super) fn or_set_aside(&self, log: &mut Log) {
        let Some(most) = self.most else { return };
        let size = memory(&log.index);
        let take = |bytes: u64| bytes.checked_add(size).filter(|sum| *sum <= most);
        if self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            set_aside(log);
        }
    }
}

/// About how many bytes an index takes.
fn memory(index: &Index) -> u64 {
    let problems: usize = index.problems.iter().map(|p| size_of_val(p) + p.detail.len()).sum();
    let strings: usize = index.strings.defs().iter().map(|d| size_of_val(d) + d.text.len()).sum();
    let ids = size_of_val(index.names.ids.as_slice());
    (size_of_val(index.records.as_slice()) + index.members.memory() + problems + strings + ids) as u64
}

/// Keeps of an index what other logs need, and what is counted.
pub(super) fn set_aside(log: &mut Log) {
    if log.index.records.is_empty() {
        return;
    }
    let errors = log.index.errors().filter(|problem| problem.kind != ProblemKind::BadCompression).count();
    // Not of the index, but of the file.
    let mut problems = std::mem::take(&mut log.index.problems);
    problems.retain(|problem| problem.kind == ProblemKind::BadCompression);
    let aside = Aside {
        records: log.records(),
        errors,
        without_compile: log.records_without_compile(),
        first_string: log.first_string(),
        strings: string_times(&log.index),
    };
    let Index { line_end, len, rank, utc_offset_s, .. } = log.index;
    log.index = Index { problems, line_end, len, rank, utc_offset_s, ..Index::default() };
    log.aside = Some(Box::new(aside));
}

/// Makes all indexes again that were set aside.
pub(super) fn take_up(trace: &mut Trace, job: &Job) -> Result<()> {
    for at in 0..trace.logs.len() {
        let Some(Cow::Owned(whole)) = trace.at_hand(at, job)? else { continue };
        if let Some(log) = trace.logs.get_mut(at) {
            *log = whole;
        }
    }
    Ok(())
}

/// Reads the strings of logs that others go on from, and forgets what was kept to find out which these are.
pub(super) fn keep_strings_of(trace: &mut Trace, parents: impl Iterator<Item = usize>, job: &Job) -> Result<()> {
    for at in parents {
        let strings = match trace.at_hand(at, job)? {
            Some(Cow::Owned(log)) => log.index.strings,
            _ => continue,
        };
        if let Some(log) = trace.logs.get_mut(at) {
            log.index.strings = strings;
        }
    }
    for aside in trace.logs.iter_mut().filter_map(|log| log.aside.as_mut()) {
        aside.strings = Vec::new();
    }
    Ok(())
}

impl Trace {
    /// Log number `at` with its index, which is made again where it was set aside; `None` where there is no such log.
    ///
    /// # Errors
    /// A log that changed or is gone, an interrupt.
    pub(crate) fn at_hand(&self, at: usize, job: &Job) -> Result<Option<Cow<'_, Log>>> {
        let Some(log) = self.logs.get(at) else { return Ok(None) };
        if log.aside.is_none() {
            return Ok(Some(Cow::Borrowed(log)));
        }
        job.expect(log.index.len);
        let (how, sidecars) = self.how;
        let view = log.view()?;
        let mut index = sidecar::index(&log.file, &view, how, sidecars, job)?;
        // What was found after the log was read, when it was held against the others.
        index.problems.extend(log.index.problems.iter().cloned());
        index.problems.sort_by_key(|p| (p.offset, !p.owns_bytes));
        let borrowed = log.index.utc_offset_s.filter(|_| index.utc_offset_s.is_none());
        let mut whole = Log { file: log.file.clone(), index, aside: None, ..*log };
        if let Some(offset) = borrowed {
            whole.set_offset(offset);
            (whole.first_us, whole.last_us) = (log.first_us, log.last_us);
        }
        Ok(Some(Cow::Owned(whole)))
    }
}
