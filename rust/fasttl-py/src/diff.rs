//! `diff`.

use std::sync::Arc;

use fasttl_core::analysis::diff::diff as compare;
use fasttl_core::analysis::diff::{Aspect, Diff, DiffOptions, Selector, Side, diff_table, summary_table};
use fasttl_core::error::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::errors::to_py;
use crate::run::run;
use crate::table::PyTable;
use crate::trace::PyTrace;

/// A table's name, and name, type and meaning of its columns.
type Described = (&'static str, Vec<(String, String, String)>);

/// Compares two traces, or two selections of one: the differences and the result of each aspect.
#[pyfunction]
#[pyo3(signature = (a, b, *, select_a, select_b, aspects, min_seconds, min_share, progress))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub(crate) fn diff(
    py: Python<'_>,
    a: &PyTrace,
    b: &PyTrace,
    select_a: &str,
    select_b: &str,
    aspects: Option<Vec<String>>,
    min_seconds: f64,
    min_share: f64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(PyTable, PyTable)> {
    let read = |text: &str| Selector::parse(text).map_err(|e| to_py(&e));
    let (select_a, select_b) = (read(select_a)?, read(select_b)?);
    let aspects = aspects.map_or(Ok(Aspect::ALL.to_vec()), named).map_err(|e| to_py(&e))?;
    let options = DiffOptions { aspects, seconds: min_seconds, share: min_share, ..DiffOptions::default() };
    let (trace_a, trace_b) = (Arc::clone(&a.trace), Arc::clone(&b.trace));
    let (differences, summary) = run(py, a.threads, progress, move |job| {
        let a = Side { trace: &trace_a, selector: &select_a };
        let b = Side { trace: &trace_b, selector: &select_b };
        let found = compare(a, b, &options, job)?;
        Ok((diff_table(&found)?, summary_table(&found)?))
    })?;
    Ok((PyTable(differences), PyTable(summary)))
}

fn named(aspects: Vec<String>) -> Result<Vec<Aspect>> {
    let one = |name: String| {
        Aspect::named(&name).ok_or_else(|| {
            let names: Vec<&str> = Aspect::ALL.into_iter().map(Aspect::name).collect();
            Error::new(ErrorKind::Option, format!("no aspect {name:?}; the aspects are {}", names.join(", ")))
        })
    };
    aspects.into_iter().map(one).collect()
}

/// The columns of both tables.
#[pyfunction]
pub(crate) fn describe_diff() -> PyResult<Vec<Described>> {
    let none = Diff::default();
    let tables = [diff_table(&none), summary_table(&none)];
    let described = |table: Result<fasttl_core::tables::Table>| {
        let table = table.map_err(|e| to_py(&e))?;
        Ok((table.name, table.columns().into_iter().map(|c| (c.name, c.data_type, c.about)).collect()))
    };
    tables.into_iter().map(described).collect()
}
