//! `write_index`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use fasttl_core::sidecar::{self, Sidecar, Sidecars, Writing};
use pyo3::prelude::*;

use crate::run::run;
use crate::trace::verify_of;

/// A log, its index, how that is, bytes of both, and why.
type Row = (OsString, OsString, &'static str, u64, u64, String);

/// Writes an index beside each log, or says how those that are there are.
#[pyfunction]
#[pyo3(signature = (paths, *, verify, force, dry_run, threads, progress))]
pub(crate) fn write_index(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    verify: bool,
    force: bool,
    dry_run: bool,
    threads: Option<NonZeroUsize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Row>> {
    let writing = match (dry_run, force) {
        (true, _) => Writing::Never,
        (false, true) => Writing::Always,
        (false, false) => Writing::WhereStale,
    };
    let work = move |job: &fasttl_core::job::Job| sidecar::write_sidecars(&paths, verify_of(verify), writing, job);
    let row =
        |s: Sidecar| (s.log.into_os_string(), s.path.into_os_string(), s.state.name(), s.log_bytes, s.bytes, s.detail);
    Ok(run(py, threads, progress, work)?.into_iter().map(row).collect())
}

pub(crate) fn sidecars(use_index: bool) -> Sidecars {
    if use_index { Sidecars::Use } else { Sidecars::Ignore }
}
