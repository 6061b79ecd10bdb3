//! Table `artifacts`: every stored payload but the timing events.

use std::borrow::Cow;

use super::TableDef;
use super::build::{Table, TableBuilder};
use super::row::{compile_columns, rows};
use crate::error::Result;
use crate::format::kind::Kind;
use crate::format::payload::md5_hex;
use crate::trace::Trace;

pub(super) const ARTIFACTS: TableDef = TableDef { name: "artifacts", about: "a stored payload", build };

fn build(trace: &Trace) -> Result<Table> {
    let rows = rows(trace, |r| r.has_payload() && !r.kind.is(Kind::ChromiumEvent));
    compile_columns(TableBuilder::new(&rows), |r| *r)
        .u64("offset", "Byte at which the record starts: what `payload` and `text` ask for.", |r| Some(r.record.offset))
        .name("kind", "Kind of the record.", |r| Some(Cow::Borrowed(r.log.index.names.kind(r.record.kind))))
        .name("name", "Name of the artifact; the kind where it has none of its own.", |r| {
            let names = &r.log.index.names;
            Some(Cow::Borrowed(names.name(r.record).unwrap_or_else(|| names.kind(r.record.kind))))
        })
        .name("encoding", "string, json or unknown; null where the kind has no encoding.", |r| {
            r.record.encoding.name().map(Cow::Borrowed)
        })
        .time("time", "When it was logged.", |r| r.record.time_us())
        .u64("bytes", "Bytes of the text.", |r| Some(r.record.text_len))
        .text("md5", "MD5 of the text as the head gives it.", |r| {
            (r.record.md5 != [0; 16]).then(|| Cow::Owned(md5_hex(r.record.md5)))
        })
        .u64("payload_offset", "Byte at which the payload's first line starts in the file.", |r| {
            Some(r.record.payload_range().0)
        })
        .name("state", "verified, unchecked, wrong md5, payload missing or cut short.", |r| {
            Some(Cow::Borrowed(r.record.payload.name()))
        })
        .finish("artifacts")
}
