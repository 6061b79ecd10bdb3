//! Table `records`: every record, without its text.

use std::borrow::Cow;

use super::TableDef;
use super::build::{Table, TableBuilder};
use super::row::{Row, compile_columns, rows};
use crate::error::Result;
use crate::index::NONE;
use crate::trace::Trace;

pub(super) const RECORDS: TableDef = TableDef { name: "records", about: "a log record", build };

fn build(trace: &Trace) -> Result<Table> {
    let rows = rows(trace, |_| true);
    record_columns(TableBuilder::new(&rows)).finish(RECORDS.name)
}

/// The columns of the table, over whichever records.
pub(crate) fn record_columns<'r>(builder: TableBuilder<'r, Row<'r>>) -> TableBuilder<'r, Row<'r>> {
    compile_columns(builder, |r| *r)
        .u64("line", "Line of the head in its file, from 1.", |r| Some(r.record.line))
        .u64("offset", "Byte at which the record starts in its (unpacked) file.", |r| Some(r.record.offset))
        .u64("length", "Bytes of the record, head and payload lines.", |r| Some(r.record.len))
        .time(
            "time",
            "When it was logged (milliseconds in current PyTorch). Order within a file is that of the rows.",
            |r| r.record.time_us(),
        )
        .u64("thread", "Process id (thread id before PyTorch 2.5).", |r| r.record.thread)
        .name("source_file", "Source file that logged the record.", |r| {
            Some(Cow::Borrowed(r.log.index.names.source(r.record)))
        })
        .u32("source_line", "Line in that file.", |r| Some(r.record.source_line).filter(|&n| n != NONE))
        .name("kind", "Kind of the record: the first key of its head.", |r| {
            Some(Cow::Borrowed(r.log.index.names.kind(r.record.kind)))
        })
        .name("name", "Name of an artifact, graph, dumped file or link; file of generated code.", |r| {
            r.log.index.names.name(r.record).map(Cow::Borrowed)
        })
        .name("subgraph", "Sub-graph of a regional compile.", |r| {
            r.log.index.names.names.get(r.record.subgraph as usize).map(|s| Cow::Borrowed(s.as_str()))
        })
        .u64("metadata_offset", "Byte at which the metadata (JSON) starts in the file.", |r| {
            Some(r.record.meta_range().0)
        })
        .u64("metadata_length", "Bytes of the metadata.", |r| Some(r.record.meta_len))
        .u64("payload_offset", "Byte at which the payload's first line starts; null without payload.", |r| {
            r.record.has_payload().then_some(r.record.payload_range().0)
        })
        .u64("payload_length", "Bytes of the payload's text, leading TABs removed; null without payload.", |r| {
            r.record.has_payload().then_some(r.record.text_len)
        })
        .md5("md5", "MD5 of the payload as the head gives it.", |r| Some(r.record.md5).filter(|md5| *md5 != [0; 16]))
        .name("state", "verified, unchecked, wrong md5, payload missing, cut short, or no payload.", |r| {
            Some(Cow::Borrowed(r.record.payload.name()))
        })
}
