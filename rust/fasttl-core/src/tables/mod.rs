//! Typed Arrow tables, each with its schema written once, beside its builder.
//!
//! A table is one file here (or in [`crate::analysis`], where it takes more than single records) and one
//! line in the list of [`crate::analysis::TABLES`].

mod artifacts;
mod build;
mod files;
mod metric_records;
mod metrics;
mod problems;
mod records;
mod row;
mod stacks;
mod strings;

pub(crate) use build::TableBuilder;
pub use build::{Column, Table};
pub(crate) use metric_records::MetricRecords;
pub(crate) use metrics::{FieldPlaces, Fields, Sorted, metrics_fields};
pub use metrics::{METRIC_FIELDS, MetricField, MetricType};
pub(crate) use records::record_columns;
pub(crate) use row::{Row, compile_columns};

use crate::error::Result;
use crate::trace::Trace;

/// Version of names, types and meanings of the tables; it stands in the Arrow metadata.
pub const SCHEMA_VERSION: &str = "1";

/// A table: its name, what one row stands for, and its builder.
#[derive(Clone, Copy)]
pub struct TableDef {
    /// Name.
    pub name: &'static str,
    /// What one row is.
    pub about: &'static str,
    /// Builds it.
    pub build: fn(&Trace) -> Result<Table>,
}

/// The tables that come straight from records.
pub const TABLES: [TableDef; 7] = [
    files::FILES,
    records::RECORDS,
    problems::PROBLEMS,
    metrics::METRICS,
    artifacts::ARTIFACTS,
    strings::STRINGS,
    stacks::STACKS,
];
