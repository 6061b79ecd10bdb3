//! The order in which compiled graphs ran, and table `exec_order`.
//!
//! PyTorch logs it on leaving `torch._inductor.debug.record_and_log_graph_execution_order()`. Graphs that were
//! compiled before, or came from a cache, stand in it without an id.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::kind::Kind;
use crate::format::strict;
use crate::index::NONE;
use crate::tables::{Row, Table, TableBuilder, TableDef};
use crate::trace::{Log, Trace};

pub(super) const EXEC_ORDER: TableDef =
    TableDef { name: "exec_order", about: "a run of a compiled graph, in order", build };

/// One recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The record.
    pub record: usize,
    /// What ran; why it could not be read.
    pub order: std::result::Result<Order, String>,
}

/// Ids in the order in which their graphs ran. There may be millions of runs of a few graphs.
#[derive(Clone, Debug, Default)]
pub struct Order {
    ids: Vec<CompileId>,
    /// Places in `ids`; [`NONE`] for a graph without an id.
    runs: Vec<u32>,
}

impl Order {
    fn new(runs: impl Iterator<Item = Option<CompileId>>) -> Self {
        let mut order = Self::default();
        let mut numbers: FxHashMap<CompileId, u32> = FxHashMap::default();
        for id in runs {
            let number = id.map_or(NONE, |id| {
                *numbers.entry(id).or_insert_with(|| {
                    order.ids.push(id);
                    u32::try_from(order.ids.len() - 1).unwrap_or(NONE)
                })
            });
            order.runs.push(number);
        }
        order
    }

    /// The runs in order; `None` for a graph without an id.
    pub fn iter(&self) -> impl Iterator<Item = Option<CompileId>> + '_ {
        self.runs.iter().map(|number| self.ids.get(*number as usize).copied())
    }

    /// The run at a position, if there is one.
    pub fn get(&self, position: usize) -> Option<Option<CompileId>> {
        self.runs.get(position).map(|number| self.ids.get(*number as usize).copied())
    }
}

/// All recordings of a log.
pub fn recordings(log: &Log, bytes: &[u8]) -> Vec<Recording> {
    let names = &log.index.names;
    let of = |(at, record): (usize, &crate::index::Record)| {
        let wanted = record.kind.is(Kind::Artifact)
            && matches!(names.name(record), Some("graph_execution" | "inductor_graph_execution"));
        wanted.then(|| {
            let order = if record.payload.is_readable() {
                read(&log.index.payload(record, bytes).text())
            } else {
                Err(format!("the record is damaged: {}", record.payload.name()))
            };
            Recording { record: at, order }
        })
    };
    log.index.records.iter().enumerate().filter_map(of).collect()
}

fn read(text: &[u8]) -> std::result::Result<Order, String> {
    let value: Value =
        serde_json::from_slice(&strict::to_strict(text)).map_err(|_| "the record is no JSON".to_owned())?;
    let runs = value
        .get("graph_execution_order")
        .and_then(Value::as_array)
        .ok_or_else(|| "the record has no list of graphs".to_owned())?;
    let id = |run: &Value| run.get("compile_id").and_then(Value::as_str).and_then(CompileId::parse);
    Ok(Order::new(runs.iter().map(id)))
}

struct RunRow<'t> {
    row: Row<'t>,
    recording: u32,
    position: u32,
    id: Option<CompileId>,
}

fn build(trace: &Trace) -> Result<Table> {
    let mut rows = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        let view = log.view()?;
        for (recording, found) in (0..).zip(recordings(log, &view)) {
            let Some(record) = log.index.records.get(found.record) else { continue };
            let row = Row { file, log, record };
            let order = found.order.unwrap_or_default();
            rows.extend((0..).zip(order.iter()).map(|(position, id)| RunRow { row, recording, position, id }));
        }
    }
    TableBuilder::new(&rows)
        .i32("rank", "Rank of the process: as the record says, else as its file; null where the log has none.", |r| {
            r.row.record.rank.or(r.row.log.rank)
        })
        .u32("file", "Number of the log: row of `files`.", |r| Some(r.row.file))
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .u32("recording", "N-th recording of the log, from 0.", |r| Some(r.recording))
        .u32("position", "Place in the order, from 0.", |r| Some(r.position))
        .name(
            "compile_id",
            "Compile whose graph ran; null for one that came from a cache or was compiled before.",
            |r| r.id.map(|id| Cow::Owned(id.to_string())),
        )
        .i64("frame_id", "Number of the code frame.", |r| r.id.and_then(|id| id.frame_id))
        .i64("frame_compile_id", "How often the frame had been compiled before.", |r| {
            r.id.and_then(|id| id.frame_compile_id)
        })
        .finish("exec_order")
}
