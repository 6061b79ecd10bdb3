//! Logs of ranks made record by record, and what is said of a job of them.

use std::fmt::Write;
use std::fs;

use fasttl_core::analysis::table;
use fasttl_core::trace::Trace;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cells::{cell, column};
use super::logs::{folder, loaded, record};

pub(crate) const ID: &str = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";

/// A log of a rank, record by record.
#[derive(Clone)]
pub(crate) struct RankLog {
    pub(crate) rank: i32,
    pub(crate) bytes: Vec<u8>,
}

impl RankLog {
    pub(crate) fn new(rank: i32) -> Self {
        Self { rank, bytes: Vec::new() }
    }

    pub(crate) fn add(mut self, kind: &str, id: &str, payload: Option<&str>) -> Self {
        let head = format!("{kind}, \"rank\": {}, {id}", self.rank);
        self.bytes.extend(record(&head, payload.map(str::as_bytes)));
        self
    }

    pub(crate) fn compile(self, frame: u32, name: &str) -> Self {
        let id = format!("\"frame_id\": {frame}, \"frame_compile_id\": 0, \"attempt\": 0");
        let metrics = format!(
            "\"compilation_metrics\": {{\"co_name\": \"{name}\", \"co_filename\": \"/a/b.py\", \"co_firstlineno\": 3, \"graph_op_count\": 1}}"
        );
        self.add("\"dynamo_start\": {\"stack\": []}", &id, None).add(&metrics, &id, None)
    }

    pub(crate) fn artifact(self, name: &str, payload: &str) -> Self {
        self.artifact_of(ID, name, payload)
    }

    pub(crate) fn artifact_of(self, id: &str, name: &str, payload: &str) -> Self {
        self.add(&format!("\"artifact\": {{\"name\": \"{name}\", \"encoding\": \"json\"}}"), id, Some(payload))
    }

    pub(crate) fn schedule(self, ops: &[&str]) -> Self {
        let ops: Vec<String> = ops.iter().map(|op| format!("torch.ops._c10d_functional.{op}.default")).collect();
        self.artifact("inductor_collective_schedule", &json!(ops).to_string())
    }

    pub(crate) fn code(self, lines: &[&str]) -> Self {
        let mut code = "def call(args):\n".to_owned();
        for line in lines {
            writeln!(code, "    {line}").unwrap();
        }
        self.add("\"inductor_output_code\": {}", ID, Some(&code))
    }

    pub(crate) fn graph(self, body: &str) -> Self {
        let text = format!("class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4]\"):\n{body}");
        self.add("\"dynamo_output_graph\": {}", ID, Some(&text))
    }

    pub(crate) fn runtime(self, ns: &str, shape: &str) -> Self {
        let ops = format!(
            "{{\"ops\": [{{\"name\": \"op0\", \"type\": \"compute\", \"estimated_runtime_ns\": {ns}, \"outputs\": [{{\"shape\": {shape}, \"stride\": [1], \"dtype\": \"float32\"}}]}}]}}"
        );
        self.artifact("inductor_runtime_and_tensor_meta", &ops)
    }

    pub(crate) fn order(self, ids: &[Option<&str>]) -> Self {
        let runs: Vec<Value> = ids.iter().map(|id| json!({"compile_id": id})).collect();
        self.artifact_of("\"stack\": []", "graph_execution", &json!({"graph_execution_order": runs}).to_string())
    }
}

/// A compile of `f` on `ranks` ranks.
pub(crate) fn job(ranks: i32, more: impl Fn(RankLog) -> RankLog) -> (TempDir, Trace) {
    written((0..ranks).map(|rank| more(RankLog::new(rank).compile(0, "f"))))
}

pub(crate) fn written(logs: impl Iterator<Item = RankLog>) -> (TempDir, Trace) {
    let dir = folder(&[]);
    for log in logs {
        fs::write(dir.path().join(format!("dedicated_log_torch_trace_rank_{}_abcdefgh.log", log.rank)), log.bytes)
            .unwrap();
    }
    let trace = loaded(dir.path());
    (dir, trace)
}

/// `verdict: sentence` of one comparison.
pub(crate) fn said(trace: &Trace, aspect: &str) -> String {
    let found = table(trace, "diagnostics").unwrap();
    let row = (0..found.batch.num_rows()).find(|row| cell(column(&found, "aspect"), *row) == aspect).unwrap();
    format!("{}: {}", cell(column(&found, "verdict"), row), cell(column(&found, "sentence"), row))
}

pub(crate) fn verdict(trace: &Trace, aspect: &str) -> String {
    said(trace, aspect).split(':').next().unwrap().to_owned()
}

/// `place: value [ranks]; …` of all places that differ in an aspect.
pub(crate) fn differences(trace: &Trace, aspect: &str) -> Vec<String> {
    let found = table(trace, "divergence").unwrap();
    let rows = (0..found.batch.num_rows()).filter(|row| cell(column(&found, "aspect"), *row) == aspect);
    rows.map(|row| {
        let of = |name| cell(column(&found, name), row);
        format!("{}: {} {}", of("place"), of("values"), of("groups"))
    })
    .collect()
}
