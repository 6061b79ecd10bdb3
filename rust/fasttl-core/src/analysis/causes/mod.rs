//! Why compiling took more than once: recompiles, graph breaks, failures, each with its place, its cost and what to try.

pub(crate) mod advice;
mod break_groups;
pub(crate) mod breaks;
pub(crate) mod failures;
mod groups;
mod recompile_groups;
pub(crate) mod recompiles;

pub(super) use break_groups::BREAK_GROUPS;
pub(super) use breaks::GRAPH_BREAKS;
pub(super) use failures::FAILURES;
pub(super) use recompile_groups::RECOMPILE_GROUPS;
pub(super) use recompiles::RECOMPILES;

pub(crate) use break_groups::{BreakGroup, break_groups};
pub(crate) use groups::Shown;
pub(crate) use groups::{EVIDENCE, Groups, Spread, sum};
pub(crate) use recompile_groups::{GroupKey, RecompileGroup, recompile_groups};

use rayon::prelude::*;

use super::compiles::{Compile, Compiles, compiles};
use crate::error::Result;
use crate::tables::MetricRecords;
use crate::trace::{Log, Trace};

/// What a log says of why its compiles took more than once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes {
    /// Its compiles, which the others number.
    pub(crate) compiles: Compiles,
    /// Its recompiles.
    pub(crate) recompiles: Vec<recompiles::Recompile>,
    /// Its graph breaks, those that are one brought together.
    pub(crate) breaks: Groups<breaks::BreakKey, BreakGroup>,
    /// Its failures and restarts.
    pub(crate) failures: Vec<failures::FailureFact>,
}

impl Causes {
    /// Reads them.
    pub(crate) fn new(of: OfLog<'_>, compiles: Compiles) -> Self {
        let recompiles = recompiles::recompiles(of, &compiles);
        let breaks = break_groups(of, &compiles);
        let failures = failures::failures(of, &compiles);
        Self { compiles, recompiles, breaks, failures }
    }
}

/// A log, its number, and what it is read by.
#[derive(Clone, Copy)]
pub(crate) struct OfLog<'a> {
    /// Number of the log: the column `file`.
    pub(crate) file: u32,
    /// The log.
    pub(crate) log: &'a Log,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
    /// Its metrics records.
    pub(crate) metrics: &'a MetricRecords<'a>,
}

impl OfLog<'_> {
    /// Where something is that record number `at` tells of a compile.
    fn place(self, compile: &Compile, at: usize) -> Option<(Spread, Shown)> {
        let record = self.log.index.records.get(at)?;
        let shown = Shown { file: self.file, offset: Some(record.offset), record: Some(at) };
        Some((Spread::of(self.file, record.rank.or(self.log.rank), Some(compile.id)), shown))
    }
}

/// What `read` makes of each log and its compiles, side by side, each with the log and its number.
pub(crate) fn of_logs<T: Send>(
    trace: &Trace,
    read: impl Fn(OfLog<'_>, Compiles) -> T + Sync,
) -> Result<Vec<(u32, &Log, T)>> {
    let numbered: Vec<(u32, &Log)> = (0..).zip(&trace.logs).collect();
    let of_log = |&(file, log): &(u32, &Log)| {
        let view = log.view()?;
        let metrics = &MetricRecords::new(&log.index, &view);
        Ok(read(OfLog { file, log, bytes: &view, metrics }, compiles(trace, log, &view, metrics)))
    };
    let found = numbered.par_iter().map(of_log).collect::<Result<Vec<_>>>()?;
    Ok(numbered.into_iter().zip(found).map(|((file, log), found)| (file, log, found)).collect())
}
