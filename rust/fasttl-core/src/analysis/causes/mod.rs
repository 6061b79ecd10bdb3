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

use super::compiles::{Compiles, compiles};
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
    /// Its graph breaks.
    pub(crate) breaks: Vec<breaks::Break>,
    /// Its failures and restarts.
    pub(crate) failures: Vec<failures::FailureFact>,
}

impl Causes {
    /// Reads them. `bytes` are the log's.
    pub(crate) fn new(log: &Log, bytes: &[u8], metrics: &MetricRecords<'_>, compiles: Compiles) -> Self {
        let recompiles = recompiles::recompiles(log, bytes, metrics, &compiles);
        let breaks = breaks::breaks(log, bytes, metrics, &compiles);
        let failures = failures::failures(log, metrics, &compiles);
        Self { compiles, recompiles, breaks, failures }
    }

    /// Where something is that record number `at` tells of compile number `compile`.
    pub(crate) fn place(&self, file: u32, log: &Log, compile: usize, at: usize) -> Option<(Spread, Shown)> {
        let (compile, record) = (self.compiles.get_at(compile)?, log.index.records.get(at)?);
        let shown = Shown { file, offset: Some(record.offset), record: Some(at) };
        Some((Spread::of(file, record.rank.or(log.rank), Some(compile.id)), shown))
    }
}

/// Those of all logs, each with its number.
pub(crate) fn of_logs(trace: &Trace) -> Result<Vec<(u32, &Log, Causes)>> {
    let numbered: Vec<(u32, &Log)> = (0..).zip(&trace.logs).collect();
    let of_log = |(file, log): (u32, &'_ Log)| {
        let view = log.view()?;
        let metrics = MetricRecords::new(&log.index, &view);
        Ok((file, Causes::new(log, &view, &metrics, compiles(trace, log, &view, &metrics))))
    };
    let causes = numbered.par_iter().map(|&(file, log)| of_log((file, log))).collect::<Result<Vec<_>>>()?;
    Ok(causes.into_iter().zip(&trace.logs).map(|((file, causes), log)| (file, log, causes)).collect())
}
