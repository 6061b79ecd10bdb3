//! Some records of some logs, log by log, so that no more than a few logs are in memory at once.
//!
//! [`open`] finds the logs and their order with as little reading as that takes; [`Visit`] goes over those that may have
//! wanted records, and yields a [`Part`] for each, from which the caller drops records by kind and compile id before rows
//! are made. What comes out is what the table `records` of the same logs has, in its order.

mod order;
mod part;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::index::{Record, first_rank, first_records};
use crate::input::{InputOptions, Source, View, find_logs};
use crate::job::Job;
use crate::tables::Table;
use crate::trace::{self, LoadOptions, Log};

use order::{Planned, plan};
pub use part::Part;

/// Logs that are read side by side have so many bytes together, or are one.
const AT_ONCE: u64 = 64 << 20;
/// Bytes that are read first where only some rows are wanted; then eight times as many.
const FIRST: usize = 1 << 20;

/// The logs of a job in the order of their numbers, most of them not read.
#[derive(Debug)]
pub struct Selection {
    options: LoadOptions,
    planned: Vec<Planned>,
    zone: order::Zone,
}

/// What is wanted of the records.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Names of the columns that will be asked for; all when `None`.
    pub columns: Option<Vec<String>>,
    /// Numbers of the logs that may have wanted records; all when `None`.
    pub files: Option<Vec<u32>>,
    /// Ranks whose records are not wanted.
    pub without_ranks: Vec<Option<i32>>,
    /// So many records, the first ones, are enough.
    pub rows: Option<u64>,
}

impl Wanted {
    fn has_column(&self, name: &str) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.iter().any(|c| c == name))
    }

    fn has_rank(&self, rank: Option<i32>) -> bool {
        !self.without_ranks.contains(&rank)
    }
}

/// What was done, for those who want to know what was spared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Logs of which records were read.
    pub logs_read: u64,
    /// Logs that have no wanted record.
    pub logs_skipped: u64,
    /// Records that were read, from logs or from their indexes.
    pub records_read: u64,
}

/// Finds the logs that `paths` name, and their order. To be called on the pool that shall do the work.
///
/// # Errors
/// Those of [`trace::load`], but for a job without a single record: it has no rows.
pub fn open(paths: &[PathBuf], options: &LoadOptions, job: &Job) -> Result<Selection> {
    let found = find_logs(paths, &InputOptions { max_unpacked: options.max_unpacked })?;
    plan(found.logs, options, job)
}

impl Selection {
    /// For each log its number and the ranks that most of its records have; `None` where a look at them would take as
    /// long as reading the log.
    pub fn ranks(&self) -> Vec<Option<Vec<Option<i32>>>> {
        let ranks = |log: &Planned| log.rank_is_known.then(|| vec![log.log.rank, log.log.index.rank]);
        self.planned.iter().map(ranks).collect()
    }

    /// The columns, without rows.
    ///
    /// # Errors
    /// A fault of fasttl.
    pub fn schema(&self) -> Result<Table> {
        part::table(&[], None, None)
    }

    /// Starts to go over the records.
    pub fn visit(self: &Arc<Self>, wanted: Wanted) -> Visit {
        Visit { selection: Arc::clone(self), wanted, next: 0, ready: VecDeque::new(), counts: Counts::default() }
    }
}

/// A way over the logs of a [`Selection`].
#[derive(Debug)]
pub struct Visit {
    selection: Arc<Selection>,
    wanted: Wanted,
    next: usize,
    ready: VecDeque<Part>,
    counts: Counts,
}

impl Visit {
    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The records of the next log that may have wanted ones. To be called on the pool that shall do the work.
    ///
    /// # Errors
    /// A log that changed since it was found; an interrupt.
    pub fn next(&mut self, job: &Job) -> Result<Option<Part>> {
        while self.ready.is_empty() && self.next < self.selection.planned.len() {
            let (numbers, until) = self.group();
            self.next = until;
            let parts = numbers.into_par_iter().map(|n| self.read(n, job)).collect::<Result<Vec<_>>>()?;
            for part in parts {
                match part {
                    Some(part) => {
                        self.counts.logs_read += 1;
                        self.counts.records_read += part.rows() as u64;
                        self.ready.push_back(part);
                    }
                    None => self.counts.logs_skipped += 1,
                }
            }
        }
        Ok(self.ready.pop_front())
    }

    /// The logs to read next, and the number of the one behind them.
    fn group(&self) -> (Vec<usize>, usize) {
        let (mut numbers, mut bytes) = (Vec::new(), 0);
        for (number, planned) in self.selection.planned.iter().enumerate().skip(self.next) {
            let len = planned.log.file.source.as_ref().map_or(0, Source::len);
            // Who wants some rows may have them from one log.
            if !numbers.is_empty() && (bytes + len > AT_ONCE || self.wanted.rows.is_some()) {
                return (numbers, number);
            }
            bytes += len;
            numbers.push(number);
        }
        (numbers, self.selection.planned.len())
    }

    fn read(&self, number: usize, job: &Job) -> Result<Option<Part>> {
        let Some(planned) = self.selection.planned.get(number) else { return Ok(None) };
        let file = u32::try_from(number).unwrap_or(u32::MAX);
        let other = self.wanted.files.as_ref().is_some_and(|files| !files.contains(&file));
        if other || planned.log.file.source.is_err() {
            return Ok(None);
        }
        if planned.is_whole {
            let ranks = |r: &Record| self.wanted.has_rank(r.rank.or(planned.log.rank));
            return Ok(planned.log.index.records.iter().any(ranks).then(|| Part::new(file, Arc::clone(&planned.log))));
        }
        let view = planned.log.view()?;
        if self.has_no_wanted_rank(planned, &view) {
            return Ok(None);
        }
        let mut log = match self.first_rows(planned, &view, job)? {
            Some(log) => log,
            None => self.whole(planned, job)?,
        };
        if planned.rank_is_known {
            log.rank = planned.log.rank;
        }
        Ok(Some(Part::new(file, Arc::new(log))))
    }

    /// Whether the log certainly has no record of a wanted rank: those that were looked at have others, and nowhere in it
    /// stands a further one.
    fn has_no_wanted_rank(&self, planned: &Planned, bytes: &[u8]) -> bool {
        let own = [planned.log.rank, planned.log.index.rank];
        if self.wanted.without_ranks.is_empty()
            || !planned.rank_is_known
            || own.iter().any(|rank| self.wanted.has_rank(*rank))
        {
            return false;
        }
        if let Some(index) = order::fresh(&planned.log.file, bytes, &self.selection.options) {
            return index.records.iter().all(|r| !self.wanted.has_rank(r.rank.or(planned.log.rank)));
        }
        // Without a single rank in any record, each row has that of the log.
        planned.log.index.rank.is_none_or(|rank| order::names_only_rank(bytes, rank))
    }

    /// The start of the log, where that has enough rows.
    fn first_rows(&self, planned: &Planned, bytes: &View, job: &Job) -> Result<Option<Log>> {
        let options = &self.selection.options;
        let Some(rows) = self.wanted.rows.filter(|_| !self.wanted.has_column("time")) else { return Ok(None) };
        let how = options.index();
        // An index tells more, and faster.
        if order::fresh(&planned.log.file, bytes, options).is_some() {
            return Ok(None);
        }
        let mut len = FIRST;
        while len < bytes.len() {
            let (index, all) = first_records(bytes, len, how, job)?;
            if all {
                break;
            }
            if index.records.len() as u64 >= rows {
                let mut log = Log::unread(planned.log.file.clone());
                if !planned.rank_is_known && self.wanted.has_column("rank") {
                    log.rank = first_rank(bytes, how, job)?.or(log.rank);
                }
                log.index = index;
                return Ok(Some(log));
            }
            len = len.saturating_mul(8);
        }
        Ok(None)
    }

    /// All of a log.
    fn whole(&self, planned: &Planned, job: &Job) -> Result<Log> {
        let selection = &*self.selection;
        let mut log = trace::read(planned.log.file.clone(), &selection.options, job)?;
        if let Err(why) = &log.file.source {
            return Err(Error::at(ErrorKind::Changed, &log.file.path, why.clone()));
        }
        let lacks_zone = log.index.utc_offset_s.is_none() && log.first_us.is_some();
        if lacks_zone
            && self.wanted.has_column("time")
            && let Some(offset) = selection.zone.of_all(&selection.options, job)?
        {
            log.set_offset(offset);
        }
        Ok(log)
    }
}
