//! The rows that most tables go over, and the columns that they share.

use super::build::TableBuilder;
use crate::format::compile_id::CompileId;
use crate::index::Record;
use crate::trace::{Log, Trace};

/// A record and the log that it stands in.
#[derive(Clone, Copy)]
pub(crate) struct Row<'t> {
    /// Number of the log: the column `file`.
    pub(crate) file: u32,
    /// The log.
    pub(crate) log: &'t Log,
    /// The record.
    pub(crate) record: &'t Record,
}

/// All records of a trace that `wanted` keeps, in order.
pub(crate) fn rows(trace: &Trace, wanted: impl Fn(&Record) -> bool) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        let records = log.index.records.iter().filter(|r| wanted(r));
        rows.extend(records.map(|record| Row { file, log, record }));
    }
    rows
}

/// Adds the columns that say to which file, rank and compile a row belongs.
pub(crate) fn compile_columns<'r, R: Sync>(
    builder: TableBuilder<'r, R>,
    row: impl Fn(&'r R) -> Row<'r> + Copy + Send + 'r,
) -> TableBuilder<'r, R> {
    let id = move |r| {
        let row = row(r);
        row.log.index.names.id(row.record)
    };
    builder
        .i32(
            "rank",
            "Rank of the process: as the record says, else as its file; null where the log has none.",
            move |r| {
                let row = row(r);
                row.record.rank.or(row.log.rank)
            },
        )
        .u32("file", "Number of the log: row of `files`.", move |r| Some(row(r).file))
        .u32(
            "generation",
            "How often compile ids had started again in this file (`torch._dynamo.reset()`, or another rank's).",
            move |r| Some(row(r).record.generation),
        )
        .keyed_name(
            "compile_id",
            "Compile id as PyTorch prints it, attempt included: `0/1`, `0/1_2`, `!0/1/0`.",
            move |r| Some(id(r)).filter(|id| !id.is_none()),
            CompileId::to_string,
        )
        .i64("frame_id", "Number of the code frame, in order of first compile.", move |r| id(r).frame_id)
        .i64("frame_compile_id", "How often the frame had been compiled before.", move |r| id(r).frame_compile_id)
        .i64("attempt", "How often this compile had been restarted.", move |r| id(r).attempt)
        .i64("compiled_autograd_id", "Number of the compiled-autograd capture.", move |r| id(r).compiled_autograd_id)
}
