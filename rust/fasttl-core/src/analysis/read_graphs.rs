//! Graphs that were read, each content once: ranks compile the same ones, and several analyses look at them.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::format::fx_graph;
use crate::index::{PayloadState, Record};
use crate::trace::Log;

/// What is kept of a graph.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReadGraph {
    /// MD5 of it without names, see [`fx_graph::Graph::shape`].
    pub(crate) shape: [u8; 16],
    /// Number of its nodes.
    pub(crate) nodes: usize,
    /// The collectives that it calls and the waits for them, in order.
    pub(crate) collectives: Vec<String>,
    /// Names of process groups, see [`fx_graph::Graph::groups`].
    pub(crate) groups: Vec<String>,
}

/// The graphs of one log or of many, by the MD5 of the payload.
#[derive(Debug, Default)]
pub(crate) struct ReadGraphs(Mutex<FxHashMap<[u8; 16], Option<Arc<ReadGraph>>>>);

impl ReadGraphs {
    /// The graph that a record holds; `None` where it is damaged or no graph. `bytes` are the log's.
    pub(crate) fn of(&self, log: &Log, record: &Record, bytes: &[u8]) -> Option<Arc<ReadGraph>> {
        if !record.payload.is_whole() {
            return None;
        }
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The MD5 of another one is only what its head says.
        let verified = record.payload == PayloadState::Verified;
        if let (true, Some(known)) = (verified, lock().get(&record.md5)) {
            return known.clone();
        }
        let graph = fx_graph::parse(&log.index.payload(record, bytes).text());
        let found = graph.map(|graph| {
            let nodes = graph.calls.len();
            let collectives = graph.calls.into_iter().filter(|call| is_collective(call)).collect();
            Arc::new(ReadGraph { shape: graph.shape, nodes, collectives, groups: graph.groups })
        });
        if verified {
            lock().insert(record.md5, found.clone());
        }
        found
    }
}

fn is_collective(call: &str) -> bool {
    call.starts_with("torch.ops._c10d_functional.") || call.starts_with("torch.ops._c10d_functional_autograd.")
}
