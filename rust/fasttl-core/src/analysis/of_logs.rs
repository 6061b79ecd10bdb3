//! The logs of a trace with their compiles, read side by side: where most analyses begin.

use rayon::prelude::*;

use super::compiles::{Compiles, compiles};
use crate::error::Result;
use crate::tables::MetricRecords;
use crate::trace::{Log, Trace};

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
