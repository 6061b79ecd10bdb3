//! Table `problems`: what is wrong or unusual in the input, with its place.

use std::borrow::Cow;

use super::TableDef;
use super::build::{Table, TableBuilder};
use crate::error::Result;
use crate::index::Problem;
use crate::trace::{Log, Trace};

pub(super) const PROBLEMS: TableDef =
    TableDef { name: "problems", about: "a stretch of input that is not a good record", build };

fn build(trace: &Trace) -> Result<Table> {
    let mut rows: Vec<(u32, &Log, &Problem)> = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        rows.extend(log.index.problems.iter().map(|problem| (file, log, problem)));
    }
    TableBuilder::new(&rows)
        .i32("rank", "Rank of the file.", |(_, log, _)| log.rank)
        .u32("file", "Number of the log: row of `files`.", |(file, ..)| Some(*file))
        .u64("offset", "Byte at which it starts in the (unpacked) file.", |(.., p)| Some(p.offset))
        .u64("length", "Bytes concerned.", |(.., p)| Some(p.len))
        .u64("line", "Line in the file, from 1; null where it has none.", |(.., p)| (p.line > 0).then_some(p.line))
        .name("kind", "What it is.", |(.., p)| Some(Cow::Borrowed(p.kind.name())))
        .name("severity", "error: something is damaged or lost; note: unusual, nothing is lost.", |(.., p)| {
            Some(Cow::Borrowed(p.kind.severity().name()))
        })
        .bool("in_record", "Whether the bytes also belong to a row of `records`.", |(.., p)| Some(!p.owns_bytes))
        .text("detail", "What exactly.", |(.., p)| Some(Cow::Borrowed(p.detail.as_str())))
        .finish("problems")
}
