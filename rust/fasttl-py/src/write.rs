//! `write_report` and `Report`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use fasttl_core::error::{Error, ErrorKind};
use fasttl_core::report::{self, CodeStyle, Layout, Mode, Overwrite, Provenance, RawLog, Report, ReportOptions};
use pyo3::prelude::*;

use crate::errors::to_py;
use crate::parsers::PyExtras;
use crate::run::run;
use crate::trace::{PyTrace, load_options};

/// What was written.
#[pyclass(name = "Report", module = "fasttl._core", frozen)]
pub(crate) struct PyReport(Report);

/// The keywords that say what to write and how, as Python gives them.
#[expect(clippy::struct_excessive_bools, reason = "the keywords of a Python function; each becomes an enum here")]
pub(crate) struct ReportKeywords {
    pub(crate) out: PathBuf,
    pub(crate) overwrite: bool,
    pub(crate) plain_text: bool,
    pub(crate) all_ranks_html: bool,
    pub(crate) export: bool,
    pub(crate) inductor_provenance: bool,
    pub(crate) custom_header_html: String,
    pub(crate) command: OsString,
    pub(crate) raw_log: String,
    pub(crate) max_memory: Option<u64>,
}

impl ReportKeywords {
    fn options(self) -> PyResult<ReportOptions> {
        let raw_log = RawLog::ALL.iter().find(|(name, _)| *name == self.raw_log);
        let (_, raw_log) = *raw_log.ok_or_else(|| {
            let names = RawLog::ALL.map(|(name, _)| name).join(", ");
            to_py(&Error::new(ErrorKind::Option, format!("raw_log must be one of {names}, not {:?}", self.raw_log)))
        })?;
        Ok(ReportOptions {
            out: self.out,
            overwrite: if self.overwrite { Overwrite::Replace } else { Overwrite::Refuse },
            code: if self.plain_text { CodeStyle::PlainText } else { CodeStyle::Page },
            mode: if self.export { Mode::Export } else { Mode::Compile },
            provenance: if self.inductor_provenance { Provenance::Standard } else { Provenance::WhereLogged },
            layout: if self.all_ranks_html { Layout::LandingPage } else { Layout::ByCount },
            header_html: self.custom_header_html,
            command: self.command.into_string().unwrap_or_else(|raw| raw.to_string_lossy().into_owned()),
            raw_log,
            max_memory: self.max_memory,
            ..ReportOptions::default()
        })
    }
}

/// Writes the report of a trace that was read before, with what custom parsers made of its records.
pub(crate) fn write_loaded(
    py: Python<'_>,
    trace: &PyTrace,
    keywords: ReportKeywords,
    extras: &PyExtras,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyReport> {
    let (extras, problems) = extras.take();
    trace.set_parser_problems(problems);
    let options = ReportOptions { extras: Arc::new(extras), ..keywords.options()? };
    let read = Arc::clone(&trace.trace);
    Ok(PyReport(run(py, trace.threads, progress, move |job| report::write_report(&read, &options, job))?))
}

/// Reads logs and writes their report.
#[pyfunction]
#[pyo3(signature = (
    paths, out, *, ranks, latest, overwrite, plain_text, all_ranks_html, export,
    inductor_provenance, custom_header_html, command, raw_log, max_memory, threads, max_unpacked, progress
))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
#[expect(clippy::fn_params_excessive_bools, reason = "the keywords of a Python function")]
pub(crate) fn write_report(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    out: PathBuf,
    ranks: Option<Vec<Option<i32>>>,
    latest: bool,
    overwrite: bool,
    plain_text: bool,
    all_ranks_html: bool,
    export: bool,
    inductor_provenance: bool,
    custom_header_html: String,
    command: OsString,
    raw_log: String,
    max_memory: Option<u64>,
    threads: Option<NonZeroUsize>,
    max_unpacked: Option<u64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyReport> {
    let input = load_options(ranks, latest, true, threads, max_unpacked, true);
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
    let options = keywords.options()?;
    Ok(PyReport(run(py, threads, progress, move |job| report::read_and_write(&paths, &input, &options, job))?))
}

#[pymethods]
impl PyReport {
    #[getter]
    fn out(&self) -> OsString {
        self.0.out.clone().into_os_string()
    }

    #[getter]
    fn index(&self) -> OsString {
        self.0.index.clone().into_os_string()
    }

    #[getter]
    fn logs(&self) -> usize {
        self.0.logs
    }

    #[getter]
    fn records(&self) -> usize {
        self.0.records
    }

    #[getter]
    fn problems(&self) -> usize {
        self.0.problems
    }

    #[getter]
    fn unknown_compile_ids(&self) -> usize {
        self.0.unknown_compile_ids
    }

    #[getter]
    fn files_written(&self) -> u64 {
        self.0.files_written
    }

    #[getter]
    fn messages(&self) -> Vec<String> {
        self.0.messages.clone()
    }
}
