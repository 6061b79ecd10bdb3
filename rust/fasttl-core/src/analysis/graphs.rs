//! Graphs as the compiler stages logged them, and table `graphs`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::parts::{Part, part_columns, parts};
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::fx_graph::{Graph, parse};
use crate::format::kind::Kind;
use crate::format::payload::md5_hex;
use crate::index::{KindId, Record};
use crate::tables::{Row, Table, TableBuilder, TableDef, compile_columns};
use crate::trace::{Log, Trace};

pub(super) const GRAPHS: TableDef =
    TableDef { name: "graphs", about: "a graph that a stage of the compiler logged", build };

/// The stage that a record's graph belongs to; `None` for what is no graph.
pub fn stage<'a>(log: &'a Log, record: &Record) -> Option<&'a str> {
    let KindId::Known(kind) = record.kind else { return None };
    let name = log.index.names.name(record);
    match kind {
        Kind::DynamoOutputGraph => Some("dynamo"),
        Kind::AotForwardGraph => Some("aot forward"),
        Kind::AotBackwardGraph => Some("aot backward"),
        Kind::AotInferenceGraph => Some("aot inference"),
        Kind::AotJointGraph => Some("aot joint"),
        Kind::InductorPreGradGraph => Some("pre grad"),
        Kind::InductorPostGradGraph => Some("post grad"),
        Kind::CompiledAutogradGraph => Some("compiled autograd"),
        Kind::OptimizeDdpSplitGraph => Some("ddp split"),
        Kind::OptimizeDdpSplitChild => Some("ddp part"),
        Kind::GraphDump | Kind::Artifact => match name? {
            "before_pre_grad_graph" => Some("before pre grad"),
            "after_pre_grad_graph" => Some("after pre grad"),
            "before_joint_graph" => Some("before joint"),
            "after_joint_graph" => Some("after joint"),
            "before_post_grad_graph" => Some("before post grad"),
            "after_post_grad_graph" | "inductor_post_grad_graph" => Some("post grad"),
            "compiled_autograd_graph_pre_reordering" => Some("compiled autograd, before reordering"),
            other if kind == Kind::GraphDump && !other.starts_with("inductor_aot_") => Some(other),
            other if other.ends_with("_graph") || other.ends_with("_grad") => Some(other),
            _ => None,
        },
        _ => None,
    }
}

struct GraphRow<'t> {
    row: Row<'t>,
    stage: &'t str,
    occurrence: u32,
    part: Option<Part>,
    graph: Graph,
    ops: BTreeMap<String, u32>,
}

fn build(trace: &Trace) -> Result<Table> {
    let mut rows: Vec<GraphRow<'_>> = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        let view = log.view()?;
        let parts = parts(log, &view);
        let mut seen: FxHashMap<(u32, CompileId, &str), u32> = FxHashMap::default();
        let mut found = Vec::new();
        for (at, record) in log.index.records.iter().enumerate() {
            let Some(stage) = stage(log, record).filter(|_| record.payload.is_whole()) else { continue };
            let id = log.index.names.id(record).without_attempt();
            let count = seen.entry((record.generation, id, stage)).or_default();
            found.push((record, stage, *count, parts.of(at)));
            *count += 1;
        }
        let row = |(record, stage, occurrence, part)| {
            let graph = parse(&log.index.payload(record, &view).text())?;
            let mut ops: BTreeMap<String, u32> = BTreeMap::new();
            for call in &graph.calls {
                *ops.entry(call.clone()).or_default() += 1;
            }
            Some(GraphRow { row: Row { file, log, record }, stage, occurrence, part, graph, ops })
        };
        rows.par_extend(found.into_par_iter().filter_map(row));
    }
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row);
    part_columns(builder, |r: &GraphRow<'_>| r.part)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .name(
            "stage",
            "dynamo, aot joint, aot forward, before post grad, post grad …; the name of a named graph.",
            |r| Some(Cow::Borrowed(r.stage)),
        )
        .u32("occurrence", "N-th graph of this stage within the compile id, from 0.", |r| Some(r.occurrence))
        .u64("nodes", "Nodes that compute something, those of inner graphs among them.", |r| {
            Some(r.graph.calls.len() as u64)
        })
        .u32("placeholders", "Inputs.", |r| Some(r.graph.placeholders))
        .u32("outputs", "Values that it returns.", |r| Some(r.graph.outputs))
        .text("ops", "How often each operator is called, as a JSON object.", |r| {
            serde_json::to_string(&r.ops).ok().map(Cow::Owned)
        })
        .text(
            "shape_md5",
            "MD5 of the graph without names of variables, numbers of devices and comments: equal graphs have equal ones.",
            |r| Some(Cow::Owned(md5_hex(r.graph.shape))),
        )
        .finish("graphs")
}
