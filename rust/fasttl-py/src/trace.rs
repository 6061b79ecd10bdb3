//! `load` and `Trace`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fasttl_core::analysis;
use fasttl_core::index::{ParserProblem, Verify};
use fasttl_core::tables::Table;
use fasttl_core::trace::{self, LoadOptions, Runs, Trace};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::to_py;
use crate::index::sidecars;
use crate::parsers::{PyExtras, PyLogRecords};
use crate::run::run;
use crate::table::PyTable;
use crate::write::{PyReport, ReportKeywords, write_loaded};

/// What was read from logs.
#[pyclass(name = "Trace", module = "fasttl._core", frozen)]
pub(crate) struct PyTrace {
    pub(crate) trace: Arc<Trace>,
    pub(crate) threads: Option<NonZeroUsize>,
    built: Mutex<BTreeMap<String, Table>>,
}

/// Reads logs.
#[pyfunction]
#[pyo3(signature = (paths, *, ranks, latest, verify, threads, max_unpacked, use_index, progress))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub(crate) fn load(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    ranks: Option<Vec<Option<i32>>>,
    latest: bool,
    verify: bool,
    threads: Option<NonZeroUsize>,
    max_unpacked: Option<u64>,
    use_index: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTrace> {
    let options = load_options(ranks, latest, verify, threads, max_unpacked, use_index);
    let trace = run(py, threads, progress, move |job| trace::load(&paths, &options, job))?;
    Ok(PyTrace { trace: Arc::new(trace), threads, built: Mutex::default() })
}

/// What to read, from the keywords that `load` and `select` share.
pub(crate) fn load_options(
    ranks: Option<Vec<Option<i32>>>,
    latest: bool,
    verify: bool,
    threads: Option<NonZeroUsize>,
    max_unpacked: Option<u64>,
    use_index: bool,
) -> LoadOptions {
    LoadOptions {
        ranks,
        runs: runs(latest),
        verify: verify_of(verify),
        threads,
        max_unpacked,
        sidecars: sidecars(use_index),
        ..LoadOptions::default()
    }
}

pub(crate) fn verify_of(verify: bool) -> Verify {
    if verify { Verify::Md5 } else { Verify::Skip }
}

pub(crate) fn runs(latest: bool) -> Runs {
    if latest { Runs::Latest } else { Runs::All }
}

impl PyTrace {
    /// Sets what custom parsers failed at; the table that lists it is built anew.
    pub(crate) fn set_parser_problems(&self, problems: Vec<ParserProblem>) {
        self.trace.set_parser_problems(problems);
        self.built.lock().unwrap_or_else(PoisonError::into_inner).remove("problems");
    }
}

#[pymethods]
impl PyTrace {
    #[getter]
    fn inputs(&self) -> Vec<OsString> {
        self.trace.inputs.iter().map(|p| p.clone().into_os_string()).collect()
    }

    #[getter]
    fn skipped(&self) -> Vec<(OsString, String)> {
        self.trace.passed.iter().map(|p| (p.path.clone().into_os_string(), p.reason.clone())).collect()
    }

    #[getter]
    fn size(&self) -> u64 {
        self.trace.logs.iter().map(|log| log.index.len).sum()
    }

    #[expect(clippy::unused_self, reason = "a method in Python")]
    fn table_names(&self) -> Vec<&'static str> {
        analysis::TABLES.iter().map(|def| def.name).collect()
    }

    fn table(&self, py: Python<'_>, name: String) -> PyResult<PyTable> {
        let built = self.built.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        if let Some(table) = built {
            return Ok(PyTable(table));
        }
        let trace = Arc::clone(&self.trace);
        let key = name.clone();
        let (table, others) = run(py, self.threads, None, move |_| analysis::table_and_others(&trace, &name))?;
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        built.insert(key, table.clone());
        for other in others {
            built.entry(other.name.to_owned()).or_insert(other);
        }
        Ok(PyTable(table))
    }

    #[expect(clippy::unused_self, reason = "a method in Python")]
    fn describe_table(&self, name: &str) -> PyResult<Vec<(String, String, String)>> {
        let columns = analysis::describe(name).map_err(|e| to_py(&e))?;
        Ok(columns.into_iter().map(|c| (c.name, c.data_type, c.about)).collect())
    }

    fn payload<'py>(&self, py: Python<'py>, file: u32, offset: u64) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.trace.payload(file, offset)).map_err(|e| to_py(&e))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn payload_by_md5<'py>(&self, py: Python<'py>, md5: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = py.detach(|| self.trace.payload_by_md5(md5)).map_err(|e| to_py(&e))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn metadata(&self, py: Python<'_>, file: u32, offset: u64) -> PyResult<String> {
        py.detach(|| self.trace.head(file, offset)).map_err(|e| to_py(&e))
    }

    fn records_of(&self, wanted: Vec<(String, Option<Vec<String>>)>) -> PyLogRecords {
        PyLogRecords::new(Arc::clone(&self.trace), wanted)
    }

    /// Takes over what custom parsers failed at in another trace of the same logs.
    fn take_parser_problems(&self, other: &Self) {
        self.set_parser_problems(other.trace.parser_problems());
    }

    #[pyo3(signature = (
        out, *, overwrite, plain_text, all_ranks_html, export, inductor_provenance, custom_header_html, command,
        raw_log, max_memory, extras, progress
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
    #[expect(clippy::fn_params_excessive_bools, reason = "the keywords of a Python function")]
    fn write_report(
        &self,
        py: Python<'_>,
        out: PathBuf,
        overwrite: bool,
        plain_text: bool,
        all_ranks_html: bool,
        export: bool,
        inductor_provenance: bool,
        custom_header_html: String,
        command: OsString,
        raw_log: String,
        max_memory: Option<u64>,
        extras: &PyExtras,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyReport> {
        let keywords = ReportKeywords {
            out,
            overwrite,
            plain_text,
            all_ranks_html,
            export,
            inductor_provenance,
            custom_header_html,
            command,
            raw_log,
            max_memory,
        };
        write_loaded(py, self, keywords, extras, progress)
    }
}
