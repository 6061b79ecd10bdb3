//! `write_report` and `Report`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use fasttl_core::index::Verify;
use fasttl_core::report::{self, CodeStyle, Layout, Mode, Overwrite, Provenance, Report, ReportOptions};
use fasttl_core::trace::{self, LoadOptions};
use pyo3::prelude::*;

use crate::run::run;
use crate::trace::runs;

/// What was written.
#[pyclass(name = "Report", module = "fasttl._core", frozen)]
pub(crate) struct PyReport(Report);

/// Reads logs and writes their report.
#[pyfunction]
#[pyo3(signature = (
    paths, out, *, ranks, latest, overwrite, plain_text, all_ranks_html, export,
    inductor_provenance, custom_header_html, command, threads, max_unpacked, progress
))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
#[expect(clippy::fn_params_excessive_bools, reason = "the keywords of a Python function; each becomes an enum here")]
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
    threads: Option<NonZeroUsize>,
    max_unpacked: Option<u64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyReport> {
    let input =
        LoadOptions { ranks, runs: runs(latest), verify: Verify::Md5, threads, max_unpacked, ..LoadOptions::default() };
    let options = ReportOptions {
        out,
        overwrite: if overwrite { Overwrite::Replace } else { Overwrite::Refuse },
        code: if plain_text { CodeStyle::PlainText } else { CodeStyle::Page },
        mode: if export { Mode::Export } else { Mode::Compile },
        provenance: if inductor_provenance { Provenance::Standard } else { Provenance::WhereLogged },
        layout: if all_ranks_html { Layout::LandingPage } else { Layout::ByCount },
        header_html: custom_header_html,
        command: command.into_string().unwrap_or_else(|raw| raw.to_string_lossy().into_owned()),
    };
    let work = move |job: &fasttl_core::job::Job| {
        let trace = trace::load(&paths, &input, job)?;
        report::write_report(&trace, &options, job)
    };
    Ok(PyReport(run(py, threads, progress, work)?))
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
