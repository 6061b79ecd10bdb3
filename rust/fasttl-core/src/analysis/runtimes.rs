//! Estimated runtimes and outputs of the operations of compiled graphs, and table `runtimes`.
//!
//! PyTorch logs them with `LOG_TLPARSE=1`, for an Inductor compile that generates code.

use std::borrow::Cow;

use super::parts::{Part, Parts, part_columns, parts};
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::kind::Kind;
use crate::format::{json, strict};
use crate::tables::{Row, Table, TableBuilder, TableDef, compile_columns};
use crate::trace::{Log, Trace};

pub(super) const RUNTIMES: TableDef =
    TableDef { name: "runtimes", about: "an operation of a compiled graph with its estimated runtime", build };

/// An operation of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// Its kernel; empty where the log has null.
    pub name: String,
    /// `compute` or `collective`.
    pub kind: String,
    /// The estimate in nanoseconds; `None` where it is no finite number.
    pub ns: Option<f64>,
    /// The estimate as it stands in the log, as strict JSON.
    pub ns_text: String,
    /// Shapes, strides and types of what it yields, as compact JSON; `null` where the log has none.
    pub outputs: String,
}

/// The operations of one graph.
#[derive(Clone, Debug)]
pub struct GraphOps {
    /// The record.
    pub record: usize,
    /// Generation and id without attempt.
    pub key: (u32, CompileId),
    /// The try.
    pub attempt: i64,
    /// The Inductor compile.
    pub part: Option<Part>,
    /// The operations; why they could not be read.
    pub ops: std::result::Result<Vec<Op>, String>,
}

impl GraphOps {
    /// Nanoseconds of all operations; `None` where one has no estimate or nothing could be read.
    pub fn total_ns(&self) -> Option<f64> {
        let total: Option<f64> = self.ops.as_ref().ok()?.iter().map(|op| op.ns).sum();
        total.filter(|ns| ns.is_finite())
    }

    /// Outputs of all operations; why they cannot be compared.
    pub fn outputs(&self) -> std::result::Result<Vec<&str>, &str> {
        let ops = self.ops.as_ref().map_err(String::as_str)?;
        let list = |op: &'_ Op| op.outputs.starts_with('[');
        if !ops.iter().all(list) {
            return Err("the outputs of an operation are no list");
        }
        Ok(ops.iter().map(|op| op.outputs.as_str()).collect())
    }
}

/// All of a log, in its order.
pub fn runtimes(log: &Log, bytes: &[u8], parts: &Parts) -> Vec<GraphOps> {
    let names = &log.index.names;
    let of = |(at, record): (usize, &crate::index::Record)| {
        let wanted = record.kind.is(Kind::Artifact) && names.name(record) == Some("inductor_runtime_and_tensor_meta");
        wanted.then(|| {
            let ops = read_record(log, bytes, at);
            let key = (record.generation, names.id(record).without_attempt());
            let attempt = names.id(record).attempt.unwrap_or(0);
            GraphOps { record: at, key, attempt, part: parts.of(at), ops }
        })
    };
    log.index.records.iter().enumerate().filter_map(of).collect()
}

/// The operations that the record number `at` has; why they could not be read.
pub fn read_record(log: &Log, bytes: &[u8], at: usize) -> std::result::Result<Vec<Op>, String> {
    let record = log.index.records.get(at).ok_or_else(|| "there is no such record".to_owned())?;
    if record.payload.is_readable() {
        read(&log.index.payload(record, bytes).text())
    } else {
        Err(format!("the record is damaged: {}", record.payload.name()))
    }
}

/// The operations that a payload has. Numbers are kept digit by digit.
pub(crate) fn read(text: &[u8]) -> std::result::Result<Vec<Op>, String> {
    json::only_value(text).map_err(|_| "the record is no JSON".to_owned())?;
    let ops = json::member(text, b"ops").and_then(json::elements);
    let ops = ops.ok_or_else(|| "the record has no list of operations".to_owned())?;
    let strict = |value: &[u8]| String::from_utf8_lossy(&strict::to_strict(value)).into_owned();
    let op = |op: &[u8]| {
        let text = |key: &[u8]| json::member(op, key).and_then(json::unescape).unwrap_or_default();
        let ns = json::member(op, b"estimated_runtime_ns").map_or_else(|| "null".to_owned(), strict);
        let outputs = json::member(op, b"outputs").map_or_else(|| "null".to_owned(), strict);
        Op {
            name: text(b"name"),
            kind: text(b"type"),
            ns: ns.parse().ok().filter(|ns: &f64| ns.is_finite()),
            ns_text: ns,
            outputs: outputs.split_ascii_whitespace().collect(),
        }
    };
    Ok(ops.map(op).collect())
}

struct OpRow<'t> {
    row: Row<'t>,
    graph: &'t GraphOps,
    position: u32,
    op: &'t Op,
}

fn build(trace: &Trace) -> Result<Table> {
    let mut all: Vec<(Row<'_>, GraphOps)> = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        let view = log.view()?;
        for graph in runtimes(log, &view, &parts(log, &view)) {
            if let Some(record) = log.index.records.get(graph.record) {
                all.push((Row { file, log, record }, graph));
            }
        }
    }
    let mut rows = Vec::new();
    for (row, graph) in &all {
        let ops = graph.ops.as_deref().unwrap_or_default();
        rows.extend((0..).zip(ops).map(|(position, op)| OpRow { row: *row, graph, position, op }));
    }
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row);
    part_columns(builder, |r: &OpRow<'_>| r.graph.part)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .u32("position", "Place in the graph, from 0.", |r| Some(r.position))
        .name("op", "Kernel or operator; empty where the log has none.", |r| Some(Cow::Borrowed(r.op.name.as_str())))
        .name("type", "compute or collective; waits count as compute.", |r| Some(Cow::Borrowed(r.op.kind.as_str())))
        .f64("estimated_ns", "Estimated runtime in nanoseconds; null where it is no finite number.", |r| r.op.ns)
        .text("outputs", "Shape, stride and dtype of each output, as JSON; sizes are hints, not symbols.", |r| {
            Some(Cow::Borrowed(r.op.outputs.as_str()))
        })
        .finish("runtimes")
}
