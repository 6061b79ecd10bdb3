//! The extension module `fasttl._core`: hands tables over, maps errors, releases the GIL. No logic lives
//! here.

mod diff;
mod errors;
mod findings;
mod index;
mod parsers;
mod run;
mod select;
mod table;
mod trace;
mod write;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// A report makes millions of short texts on all threads: with this allocator it takes a sixth less time than with
/// that of glibc.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The extension module; `python/fasttl/_core.pyi` documents it.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::diff::{describe_diff, diff};
    #[pymodule_export]
    use super::findings::finding_kinds;
    #[pymodule_export]
    use super::index::write_index;
    #[pymodule_export]
    use super::parsers::{PyExtras, PyLogRecord, PyLogRecords};
    #[pymodule_export]
    use super::select::{PyPart, PySelection, PyVisit, select};
    #[pymodule_export]
    use super::table::PyTable;
    #[pymodule_export]
    use super::trace::{PyTrace, load};
    #[pymodule_export]
    use super::write::{PyReport, write_report};
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
