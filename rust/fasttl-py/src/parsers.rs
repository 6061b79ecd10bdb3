//! What custom parsers are given, and what they give back: one Python object for each record that they asked for.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

use fasttl_core::format::payload::md5_hex;
use fasttl_core::index::{ParserProblem, Record};
use fasttl_core::parsers::Wanted;
use fasttl_core::report::{Extras, Form};
use fasttl_core::trace::{Log, Trace};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::to_py;

/// One record, for a custom parser. Its texts are read when they are asked for.
#[pyclass(name = "LogRecord", module = "fasttl._core", frozen)]
pub(crate) struct PyLogRecord {
    trace: Arc<Trace>,
    log: usize,
    at: usize,
}

impl PyLogRecord {
    fn parts(&self) -> PyResult<(&Log, &Record)> {
        let log = self.trace.logs.get(self.log);
        let parts = log.and_then(|log| Some((log, log.index.records.get(self.at)?)));
        // It was made from one that is there.
        parts.ok_or_else(|| pyo3::exceptions::PyIndexError::new_err("no such record"))
    }

    fn place(&self) -> PyResult<(u32, u64)> {
        let (_, record) = self.parts()?;
        Ok((u32::try_from(self.log)?, record.offset))
    }
}

/// Numbers of a compile id: frame, compile, attempt, compiled autograd.
type Ids = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

#[pymethods]
impl PyLogRecord {
    #[getter]
    fn file(&self) -> usize {
        self.log
    }

    #[getter]
    fn offset(&self) -> PyResult<u64> {
        Ok(self.parts()?.1.offset)
    }

    #[getter]
    fn line(&self) -> PyResult<u64> {
        Ok(self.parts()?.1.line)
    }

    #[getter]
    fn path(&self) -> PyResult<OsString> {
        Ok(self.parts()?.0.file.path.clone().into_os_string())
    }

    #[getter]
    fn kind(&self) -> PyResult<&str> {
        let (log, record) = self.parts()?;
        Ok(log.index.names.kind(record.kind))
    }

    #[getter]
    fn name(&self) -> PyResult<Option<&str>> {
        let (log, record) = self.parts()?;
        Ok(log.index.names.name(record))
    }

    #[getter]
    fn compile_id(&self) -> PyResult<Option<String>> {
        let (log, record) = self.parts()?;
        let id = log.index.names.id(record);
        Ok((!id.is_none()).then(|| id.to_string()))
    }

    #[getter]
    fn ids(&self) -> PyResult<Ids> {
        let (log, record) = self.parts()?;
        let id = log.index.names.id(record);
        Ok((id.frame_id, id.frame_compile_id, id.attempt, id.compiled_autograd_id))
    }

    #[getter]
    fn generation(&self) -> PyResult<u32> {
        Ok(self.parts()?.1.generation)
    }

    #[getter]
    fn rank(&self) -> PyResult<Option<i32>> {
        let (log, record) = self.parts()?;
        Ok(record.rank.or(log.rank))
    }

    #[getter]
    fn time_us(&self) -> PyResult<Option<i64>> {
        Ok(self.parts()?.1.time_us())
    }

    #[getter]
    fn is_utc(&self) -> PyResult<bool> {
        Ok(self.parts()?.0.index.utc_offset_s.is_some())
    }

    #[getter]
    fn thread(&self) -> PyResult<Option<u64>> {
        Ok(self.parts()?.1.thread)
    }

    #[getter]
    fn md5(&self) -> PyResult<Option<String>> {
        let (_, record) = self.parts()?;
        Ok(record.has_payload().then(|| md5_hex(record.md5)))
    }

    #[getter]
    fn payload_state(&self) -> PyResult<&'static str> {
        Ok(self.parts()?.1.payload.name())
    }

    #[getter]
    fn payload_length(&self) -> PyResult<u64> {
        Ok(self.parts()?.1.text_len)
    }

    fn head(&self, py: Python<'_>) -> PyResult<String> {
        let (file, offset) = self.place()?;
        py.detach(|| self.trace.head(file, offset)).map_err(|e| to_py(&e))
    }

    fn metadata(&self, py: Python<'_>) -> PyResult<String> {
        let (file, offset) = self.place()?;
        py.detach(|| self.trace.metadata(file, offset)).map_err(|e| to_py(&e))
    }

    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (file, offset) = self.place()?;
        let bytes = py.detach(|| self.trace.payload(file, offset)).map_err(|e| to_py(&e))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn string(&self, number: i64) -> PyResult<Option<&str>> {
        let (log, record) = self.parts()?;
        Ok(self.trace.string(log, number, record.offset))
    }
}

/// The records of some kinds and names, log by log in the order of the file.
#[pyclass(name = "LogRecords", module = "fasttl._core")]
pub(crate) struct PyLogRecords {
    trace: Arc<Trace>,
    wanted: Vec<Wanted>,
    next: (usize, usize),
}

impl PyLogRecords {
    pub(crate) fn new(trace: Arc<Trace>, wanted: Vec<(String, Option<Vec<String>>)>) -> Self {
        let wanted = wanted.into_iter().map(|(kind, names)| Wanted { kind, names }).collect();
        Self { trace, wanted, next: (0, 0) }
    }
}

#[pymethods]
impl PyLogRecords {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Option<PyLogRecord> {
        let (log, at) = self.trace.next_wanted(&self.wanted, self.next)?;
        self.next = (log, at + 1);
        Some(PyLogRecord { trace: Arc::clone(&self.trace), log, at })
    }
}

/// What custom parsers made of records, and where they failed.
#[pyclass(name = "Extras", module = "fasttl._core", frozen)]
#[derive(Default)]
pub(crate) struct PyExtras(Mutex<(Extras, Vec<ParserProblem>)>);

impl PyExtras {
    /// Takes what was collected, and leaves nothing.
    pub(crate) fn take(&self) -> (Extras, Vec<ParserProblem>) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyExtras {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn add_file(&self, record: &PyLogRecord, parser: &str, name: &str, content: &[u8], html: bool) -> PyResult<()> {
        let form = if html { Form::Html } else { Form::Data };
        let place = (record.log, record.parts()?.1.offset);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.0.add_file(place, parser, name, content, form).map_err(|e| to_py(&e))
    }

    fn add_link(&self, record: &PyLogRecord, parser: &str, name: &str, url: &str) -> PyResult<()> {
        let place = (record.log, record.parts()?.1.offset);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.add_link(place, parser, name, url);
        Ok(())
    }

    fn add_problem(&self, record: Option<&PyLogRecord>, parser: &str, why: &str) -> PyResult<()> {
        let place = record.map(|r| PyResult::Ok((r.log, r.parts()?.1))).transpose()?;
        let problem = ParserProblem::new(parser, place, why);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.push(problem);
        Ok(())
    }
}
