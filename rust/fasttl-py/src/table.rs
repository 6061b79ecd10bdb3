//! Hands Arrow tables over by the `PyCapsule` interface.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use fasttl_core::error::{Error, ErrorKind};
use fasttl_core::tables::Table;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::to_py;

/// An Arrow table.
#[pyclass(name = "Table", module = "fasttl._core", frozen)]
pub(crate) struct PyTable(pub(crate) Table);

#[pymethods]
impl PyTable {
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.0.batch.num_rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.0.batch.num_columns()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer pass over the schema that was asked for.
        drop(requested_schema);
        let batch = self.0.batch.clone();
        let schema = batch.schema();
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(RecordBatchIterator::new([Ok(batch)], schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.batch.schema().as_ref())
            .map_err(|e| to_py(&Error::new(ErrorKind::Internal, format!("schema: {e}"))))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
