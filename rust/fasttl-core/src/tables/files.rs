//! Table `files`: the logs.

use std::borrow::Cow;

use super::TableDef;
use super::build::{Table, TableBuilder};
use crate::error::Result;
use crate::trace::{Log, Trace};

pub(super) const FILES: TableDef = TableDef { name: "files", about: "a log file", build };

fn build(trace: &Trace) -> Result<Table> {
    let rows: Vec<(u32, &Log)> = (0..).zip(&trace.logs).collect();
    TableBuilder::new(&rows)
        .u32("file", "Number of the log; other tables refer to it.", |(n, _)| Some(*n))
        .text("path", "Path as it was given or found.", |(_, log)| Some(log.file.path.to_string_lossy()))
        .i32("rank", "Rank: as its records say, else as its name; null where there is none.", |(_, log)| log.rank)
        .u32(
            "run",
            "Run within the folder, by time: a new one starts when a rank begins again after all earlier logs have ended, or ten minutes after them.",
            |(_, log)| Some(log.run),
        )
        .u32("restart", "N-th file of its rank (without one: of its process) in its run, by time.", |(_, log)| Some(log.restart))
        .u64("process_id", "Process that wrote most records (a thread id before PyTorch 2.5).", |(_, log)| log.pid)
        .u64("bytes", "Bytes of the log, unpacked.", |(_, log)| Some(log.index.len))
        .u64("disk_bytes", "Bytes on disk.", |(_, log)| Some(log.file.disk_bytes))
        .u64("records", "Records found.", |(_, log)| Some(log.index.records.len() as u64))
        .u64("problems", "Problems of severity error.", |(_, log)| {
            Some(log.index.errors().count() as u64)
        })
        .time("first_time", "Time of the earliest record.", |(_, log)| log.first_us)
        .time("last_time", "Time of the latest record.", |(_, log)| log.last_us)
        .i32(
            "utc_offset_s",
            "Seconds that local time was ahead of UTC, from the log or from those beside it that agree; null where none tells, then times are local.",
            |(_, log)| log.index.utc_offset_s,
        )
        .name("state", "complete, truncated, empty or unreadable.", |(_, log)| Some(Cow::Borrowed(log.state.name())))
        .text("detail", "Why the file is unreadable or was cut.", |(_, log)| {
            log.file.source.as_ref().err().or(log.file.damage.as_ref()).map(|text| Cow::Borrowed(text.as_str()))
        })
        .finish("files")
}
