//! Table `stacks`: the frames of all stacks in all records.

use std::borrow::Cow;

use rayon::prelude::*;

use super::TableDef;
use super::build::{Table, TableBuilder};
use super::row::{Row, compile_columns, rows};
use crate::error::Result;
use crate::format::frame::{Frame, parse_stack};
use crate::format::kind::Kind;
use crate::format::{envelope, json};
use crate::trace::Trace;

pub(super) const STACKS: TableDef = TableDef { name: "stacks", about: "a stack frame", build };

struct FrameRow<'t> {
    row: Row<'t>,
    stack: &'static str,
    position: u32,
    frame: Frame,
    file_name: Option<&'t str>,
}

fn build(trace: &Trace) -> Result<Table> {
    // Payload kinds have no stacks in their metadata; their heads have one only without a compile id.
    let payload_kind = |kind| matches!(kind, Kind::Artifact | Kind::ChromiumEvent | Kind::Str);
    let rows = rows(trace, |_| true);
    let mut by_log = Vec::new();
    for chunk in rows.chunk_by(|a, b| a.file == b.file) {
        let Some(first) = chunk.first() else { continue };
        let view = first.log.view()?;
        let frames: Vec<Vec<FrameRow<'_>>> = chunk
            .par_iter()
            .filter(|row| {
                let index = &row.log.index;
                let no_stack = matches!(row.record.kind, crate::index::KindId::Known(kind) if payload_kind(kind));
                !no_stack || index.names.id(row.record).is_none()
            })
            .map(|row| frames_of(trace, *row, &view))
            .collect();
        by_log.extend(frames.into_iter().flatten());
    }
    compile_columns(TableBuilder::new(&by_log), |r| r.row)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .name("kind", "Kind of the record.", |r| Some(Cow::Borrowed(r.row.log.index.names.kind(r.row.record.kind))))
        .name("stack", "Which stack: `stack` or `user_stack` of the metadata, or `envelope`.", |r| {
            Some(Cow::Borrowed(r.stack))
        })
        .u32("position", "Place in the stack, outermost first, from 0.", |r| Some(r.position))
        .name("file_name", "Source file; null where the string is not defined.", |r| r.file_name.map(Cow::Borrowed))
        .i64("line", "Line in that file.", |r| r.frame.line)
        .name("function", "Function.", |r| r.frame.name.as_deref().map(Cow::Borrowed))
        .text("source", "Text of the line (PyTorch 2.7 and later).", |r| r.frame.loc.as_deref().map(Cow::Borrowed))
        .finish("stacks")
}

fn frames_of<'t>(trace: &'t Trace, row: Row<'t>, bytes: &[u8]) -> Vec<FrameRow<'t>> {
    let index = &row.log.index;
    let meta = index.metadata(row.record, bytes);
    let head = index.json(row.record, bytes);
    let own = envelope::parse(head).ok().and_then(|e| e.stack).and_then(|range| head.get(range));
    let stacks =
        [("stack", json::member(meta, b"stack")), ("user_stack", json::member(meta, b"user_stack")), ("envelope", own)];
    let mut frames = Vec::new();
    for (stack, text) in stacks {
        for (position, frame) in (0..).zip(text.map(parse_stack).unwrap_or_default()) {
            let file_name = frame.filename.and_then(|id| trace.string(row.log, id, row.record.offset));
            frames.push(FrameRow { row, stack, position, frame, file_name });
        }
    }
    frames
}
