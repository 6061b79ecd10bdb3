//! Table `problems`: what is wrong or unusual in the input, with its place.

use std::borrow::Cow;

use super::TableDef;
use super::build::{Table, TableBuilder};
use crate::error::Result;
use crate::index::{ParserProblem, Problem};
use crate::trace::{Log, Trace};

pub(super) const PROBLEMS: TableDef =
    TableDef { name: "problems", about: "a stretch of input that is not a good record", build };

fn build(trace: &Trace) -> Result<Table> {
    let by_parsers = trace.parser_problems();
    let mut rows: Vec<(Option<(u32, &Log)>, &Problem)> = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        rows.extend(log.index.problems.iter().map(|problem| (Some((file, log)), problem)));
    }
    for ParserProblem { log, problem, .. } in &by_parsers {
        let place = log.and_then(|number| Some((u32::try_from(number).ok()?, trace.logs.get(number)?)));
        rows.push((place, problem));
    }
    TableBuilder::new(&rows)
        .i32("rank", "Rank of the file.", |(place, _)| place.and_then(|(_, log)| log.rank))
        .u32(
            "file",
            "Number of the log: row of `files`; null for a custom parser that could not be loaded.",
            |(place, _)| place.map(|(file, _)| file),
        )
        .u64("offset", "Byte at which it starts in the (unpacked) file.", |(_, p)| Some(p.offset))
        .u64("length", "Bytes concerned.", |(_, p)| Some(p.len))
        .u64("line", "Line in the file, from 1; null where it has none.", |(_, p)| (p.line > 0).then_some(p.line))
        .name("kind", "What it is.", |(_, p)| Some(Cow::Borrowed(p.kind.name())))
        .name("severity", "error: something is damaged or lost; note: unusual, nothing is lost.", |(_, p)| {
            Some(Cow::Borrowed(p.kind.severity().name()))
        })
        .bool("in_record", "Whether the bytes also belong to a row of `records`.", |(_, p)| Some(!p.owns_bytes))
        .text("detail", "What exactly.", |(_, p)| Some(Cow::Borrowed(p.detail.as_str())))
        .finish("problems")
}
