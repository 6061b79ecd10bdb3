//! Maps each kind of error of the core to its Python class.

use fasttl_core::error::{Error, ErrorKind};
use pyo3::PyErr;
use pyo3::exceptions::PyKeyboardInterrupt;

/// Python's classes; in a module of its own, since their names are those of the field.
mod classes {
    pyo3::import_exception!(fasttl.exceptions, TraceNotFoundError);
    pyo3::import_exception!(fasttl.exceptions, NotATraceError);
    pyo3::import_exception!(fasttl.exceptions, OptionError);
    pyo3::import_exception!(fasttl.exceptions, TraceChangedError);
    pyo3::import_exception!(fasttl.exceptions, TooLargeError);
    pyo3::import_exception!(fasttl.exceptions, ReadError);
    pyo3::import_exception!(fasttl.exceptions, OutputError);
    pyo3::import_exception!(fasttl.exceptions, InternalError);
}

/// The Python exception for an error.
pub(crate) fn to_py(error: &Error) -> PyErr {
    let text = error.to_string();
    match error.kind {
        ErrorKind::NotFound => classes::TraceNotFoundError::new_err(text),
        ErrorKind::NotATrace => classes::NotATraceError::new_err(text),
        ErrorKind::Option => classes::OptionError::new_err(text),
        ErrorKind::Changed => classes::TraceChangedError::new_err(text),
        ErrorKind::TooLarge => classes::TooLargeError::new_err(text),
        ErrorKind::Read => classes::ReadError::new_err(text),
        ErrorKind::Output => classes::OutputError::new_err(text),
        ErrorKind::Cancelled => PyKeyboardInterrupt::new_err(text),
        ErrorKind::Internal => classes::InternalError::new_err(text),
    }
}
