//! The records of one log, fewer and fewer, and then their rows.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::index::Record;
use crate::tables::{Row, Table, TableBuilder, record_columns};
use crate::trace::Log;

/// Name of the column with the JSON heads.
const METADATA: &str = "metadata";

/// Records of one log.
#[derive(Debug)]
pub struct Part {
    file: u32,
    log: Arc<Log>,
    /// Numbers of those that are left.
    left: Vec<usize>,
}

impl Part {
    /// All records of log number `file`.
    pub(super) fn new(file: u32, log: Arc<Log>) -> Self {
        let left = (0..log.index.records.len()).collect();
        Self { file, log, left }
    }

    /// Number of records that are left.
    pub fn rows(&self) -> usize {
        self.left.len()
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.left.iter().filter_map(|at| self.log.index.records.get(*at))
    }

    /// The kinds of the records that are left, each once.
    pub fn kinds(&self) -> Vec<String> {
        let names = &self.log.index.names;
        distinct(self.records().map(|r| r.kind)).into_iter().map(|kind| names.kind(kind).to_owned()).collect()
    }

    /// Drops records: `keep` says of each of [`Self::kinds`] whether it stays.
    pub fn keep_kinds(&mut self, keep: &[bool]) {
        let kept = kept(distinct(self.records().map(|r| r.kind)), keep);
        self.retain(|r| kept.contains(&r.kind));
    }

    /// The compile ids of the records that are left, as the column has them, each once.
    pub fn compile_ids(&self) -> Vec<Option<String>> {
        let ids = &self.log.index.names.ids;
        let text = |id| ids.get(id as usize).filter(|id| !id.is_none()).map(ToString::to_string);
        distinct(self.records().map(|r| r.id)).into_iter().map(text).collect()
    }

    /// Drops records: `keep` says of each of [`Self::compile_ids`] whether it stays.
    pub fn keep_compile_ids(&mut self, keep: &[bool]) {
        let kept: FxHashSet<u32> = kept(distinct(self.records().map(|r| r.id)), keep).into_iter().collect();
        self.retain(|r| kept.contains(&r.id));
    }

    fn retain(&mut self, wanted: impl Fn(&Record) -> bool) {
        let records = &self.log.index.records;
        self.left.retain(|at| records.get(*at).is_some_and(&wanted));
    }

    /// Rows of `len` records from `start` on, with these columns in the order of the table; all when `None`.
    ///
    /// # Errors
    /// The log changed since it was found, where its text is asked for.
    pub fn table(&self, columns: Option<&[String]>, start: usize, len: usize) -> Result<Table> {
        let records = self.records().skip(start).take(len);
        let rows: Vec<Row<'_>> = records.map(|record| Row { file: self.file, log: &self.log, record }).collect();
        let wants_text = columns.is_none_or(|columns| columns.iter().any(|c| c == METADATA));
        let view = if wants_text { Some(self.log.view()?) } else { None };
        table(&rows, columns, view.as_deref())
    }
}

/// Rows of records of one log, whose bytes are at hand where its text is wanted.
pub(super) fn table<'r>(rows: &'r [Row<'r>], columns: Option<&'r [String]>, bytes: Option<&'r [u8]>) -> Result<Table> {
    let mut builder = TableBuilder::new(rows);
    if let Some(columns) = columns {
        builder = builder.only(columns);
    }
    record_columns(builder)
        .text(METADATA, "The JSON head of the record as it stands in the log.", |r| {
            bytes.map(|bytes| r.log.index.json(r.record, bytes)).map(String::from_utf8_lossy)
        })
        .finish("records")
}

/// Each value once, in order of first sight.
fn distinct<T: Copy + Eq + std::hash::Hash>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = FxHashSet::default();
    values.filter(|value| seen.insert(*value)).collect()
}

/// The values that stay; one of which nothing is said does.
fn kept<T>(values: Vec<T>, keep: &[bool]) -> Vec<T> {
    values.into_iter().enumerate().filter(|(at, _)| keep.get(*at).copied().unwrap_or(true)).map(|(_, v)| v).collect()
}
