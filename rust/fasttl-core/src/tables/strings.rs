//! Table `strings`: the interned strings of each file.

use std::borrow::Cow;

use super::TableDef;
use super::build::{Table, TableBuilder};
use crate::error::Result;
use crate::index::Interned;
use crate::trace::{Log, Trace};

pub(super) const STRINGS: TableDef = TableDef { name: "strings", about: "an interned string", build };

fn build(trace: &Trace) -> Result<Table> {
    let mut rows: Vec<(u32, &Log, &Interned)> = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        rows.extend(log.index.strings.defs().iter().map(|def| (file, log, def)));
    }
    TableBuilder::new(&rows)
        .i32("rank", "Rank of the file.", |(_, log, _)| log.rank)
        .u32("file", "Number of the log: row of `files`.", |(file, ..)| Some(*file))
        .i64("id", "Number that frames use; per file.", |(.., def)| Some(def.id))
        .text("text", "The string.", |(.., def)| Some(Cow::Borrowed(def.text.as_str())))
        .u64("offset", "Byte at which the defining record starts.", |(.., def)| Some(def.offset))
        .finish("strings")
}
