//! `select`: records log by log, for `fasttl.scan`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fasttl_core::select::{Part, Selection, Visit, Wanted, open};
use pyo3::prelude::*;

use crate::errors::to_py;
use crate::run::run;
use crate::table::PyTable;
use crate::trace::load_options;

/// Logs in their order, most of them not read.
#[pyclass(name = "Selection", module = "fasttl._core", frozen)]
pub(crate) struct PySelection {
    selection: Arc<Selection>,
    threads: Option<NonZeroUsize>,
}

/// A way over the logs of a selection.
#[pyclass(name = "Visit", module = "fasttl._core", frozen)]
pub(crate) struct PyVisit {
    visit: Arc<Mutex<Visit>>,
    threads: Option<NonZeroUsize>,
}

/// The records of one log.
#[pyclass(name = "Part", module = "fasttl._core", frozen)]
pub(crate) struct PyPart {
    part: Arc<Mutex<Part>>,
    threads: Option<NonZeroUsize>,
}

/// Finds logs and their order.
#[pyfunction]
#[pyo3(signature = (paths, *, ranks, latest, verify, threads, max_unpacked, use_index))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub(crate) fn select(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    ranks: Option<Vec<Option<i32>>>,
    latest: bool,
    verify: bool,
    threads: Option<NonZeroUsize>,
    max_unpacked: Option<u64>,
    use_index: bool,
) -> PyResult<PySelection> {
    let options = load_options(ranks, latest, verify, threads, max_unpacked, use_index);
    let selection = run(py, threads, None, move |job| open(&paths, &options, job))?;
    Ok(PySelection { selection: Arc::new(selection), threads })
}

#[pymethods]
impl PySelection {
    fn schema(&self) -> PyResult<PyTable> {
        self.selection.schema().map(PyTable).map_err(|e| to_py(&e))
    }

    fn ranks(&self) -> Vec<Option<Vec<Option<i32>>>> {
        self.selection.ranks()
    }

    #[pyo3(signature = (*, columns, files, without_ranks, rows))]
    fn visit(
        &self,
        columns: Option<Vec<String>>,
        files: Option<Vec<u32>>,
        without_ranks: Vec<Option<i32>>,
        rows: Option<u64>,
    ) -> PyVisit {
        let visit = self.selection.visit(Wanted { columns, files, without_ranks, rows });
        PyVisit { visit: Arc::new(Mutex::new(visit)), threads: self.threads }
    }
}

#[pymethods]
impl PyVisit {
    fn next(&self, py: Python<'_>) -> PyResult<Option<PyPart>> {
        let visit = Arc::clone(&self.visit);
        let next = move |job: &fasttl_core::job::Job| visit.lock().unwrap_or_else(PoisonError::into_inner).next(job);
        let part = run(py, self.threads, None, next)?;
        Ok(part.map(|part| PyPart { part: Arc::new(Mutex::new(part)), threads: self.threads }))
    }

    fn counts(&self, py: Python<'_>) -> (u64, u64, u64) {
        let counts = py.detach(|| self.visit.lock().unwrap_or_else(PoisonError::into_inner).counts());
        (counts.logs_read, counts.logs_skipped, counts.records_read)
    }
}

impl PyPart {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Part) -> T + Send) -> T {
        py.detach(|| work(&mut self.part.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl PyPart {
    #[getter]
    fn rows(&self, py: Python<'_>) -> usize {
        self.with(py, |part| part.rows())
    }

    fn kinds(&self, py: Python<'_>) -> Vec<String> {
        self.with(py, |part| part.kinds())
    }

    fn keep_kinds(&self, py: Python<'_>, keep: Vec<bool>) {
        self.with(py, move |part| part.keep_kinds(&keep));
    }

    fn compile_ids(&self, py: Python<'_>) -> Vec<Option<String>> {
        self.with(py, |part| part.compile_ids())
    }

    fn keep_compile_ids(&self, py: Python<'_>, keep: Vec<bool>) {
        self.with(py, move |part| part.keep_compile_ids(&keep));
    }

    fn table(&self, py: Python<'_>, columns: Option<Vec<String>>, start: usize, length: usize) -> PyResult<PyTable> {
        let part = Arc::clone(&self.part);
        let work = move |_: &fasttl_core::job::Job| {
            part.lock().unwrap_or_else(PoisonError::into_inner).table(columns.as_deref(), start, length)
        };
        run(py, self.threads, None, work).map(PyTable)
    }
}
