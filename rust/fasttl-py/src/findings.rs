//! `finding_kinds`.

use pyo3::prelude::*;

/// The kinds of findings: name, and what each tells.
#[pyfunction]
pub(crate) fn finding_kinds() -> Vec<(&'static str, &'static str)> {
    fasttl_core::analysis::findings::kinds().collect()
}
