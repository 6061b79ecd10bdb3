//! The order in which graphs ran: by what was run, since one id can be different functions on two ranks.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cells::{Cell, Findings};
use super::facts::CompileFact;
use super::{Aspect, Diagnostic, Member};
use crate::analysis::exec_order::Order;
use crate::format::compile_id::CompileId;
use crate::format::payload::md5_hex;

const NONE_HAS: &str = "No two ranks recorded it. To have it recorded, run the steps inside torch._inductor.debug.record_and_log_graph_execution_order().";
const NO_ID: &str = "graphs that came from a cache, or were compiled before the recording, are in it without an id";

/// Compares recordings, n-th with n-th, position by position.
pub(super) fn exec_order(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    let recordings = members.iter().map(|m| m.facts.recordings.len()).max().unwrap_or(0);
    let mut graphs = Graphs::default();
    for nth in 0..recordings {
        let orders: Vec<Vec<Ran>> = members.iter().map(|m| graphs.order(m, nth)).collect();
        // Where no rank has an order to go through, the reasons are still to be told.
        let longest = orders.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let of = if recordings > 1 { format!("recording {}, ", nth + 1) } else { String::new() };
        for position in 0..longest {
            let ran: Vec<Option<Ran>> = orders.iter().map(|order| order.get(position).copied()).collect();
            // Orders are long and mostly alike: what is the same everywhere is not put into words.
            if let Some(Some(first @ Ran::Graph(_))) = ran.first()
                && ran.len() > 1
                && ran.iter().all(|other| *other == Some(*first))
            {
                findings.agreed += 1;
                continue;
            }
            if findings.is_full() {
                findings.count(differs(&ran));
                continue;
            }
            let cells = members.iter().zip(&ran).map(|(m, ran)| (m, graphs.cell(m, nth, position, *ran)));
            findings.place(None, &format!("{of}position {}", position + 1), cells.collect());
        }
    }
    let same = "All ranks ran the same graphs in the same order.";
    findings.diagnostic(Aspect::ExecOrder, same, NONE_HAS)
}

/// Whether ranks of which it is known ran different things.
fn differs(ran: &[Option<Ran>]) -> bool {
    let mut known = ran.iter().filter(|ran| !matches!(ran, Some(Ran::Unknown(_))));
    let first = known.next();
    known.any(|other| Some(other) != first)
}

/// What ran at one position of one rank.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ran {
    /// A graph, by its number in [`Graphs`].
    Graph(usize),
    /// It has no id, its compile is not in the log, or its function is not named.
    Unknown(&'static str),
}

/// Functions with their graphs, each with a number.
#[derive(Default)]
struct Graphs {
    numbers: FxHashMap<String, usize>,
    /// The functions by number.
    code: Vec<Arc<str>>,
}

impl Graphs {
    /// What ran, position by position; nothing where the rank has no such recording or it cannot be read.
    fn order(&mut self, member: &Member<'_>, nth: usize) -> Vec<Ran> {
        let recording = member.facts.recordings.get(nth).and_then(|r| r.order.as_ref().ok());
        let mut known: FxHashMap<CompileId, Ran> = FxHashMap::default();
        let mut ran = |id: Option<CompileId>| match id {
            None => Ran::Unknown(NO_ID),
            Some(id) => *known.entry(id).or_insert_with(|| self.ran(member, id)),
        };
        recording.into_iter().flat_map(Order::iter).map(&mut ran).collect()
    }

    /// The function and the graph behind an id: of the newest generation, since the recording does not name one.
    fn ran(&mut self, member: &Member<'_>, id: CompileId) -> Ran {
        match compile_of(member, id).map(|compile| (compile, compile.code.as_ref())) {
            None => Ran::Unknown("it ran a graph whose compile is not in its log"),
            Some((_, None)) => Ran::Unknown("its log does not name the function of a graph that ran"),
            Some((compile, Some(code))) => {
                let graph = compile.graphs.first().map(|g| md5_hex(g.shape)).unwrap_or_default();
                let Self { numbers, code: names } = self;
                Ran::Graph(*numbers.entry(format!("{code} {graph}")).or_insert_with(|| {
                    names.push(Arc::clone(code));
                    names.len() - 1
                }))
            }
        }
    }

    fn cell(&self, member: &Member<'_>, nth: usize, position: usize, ran: Option<Ran>) -> Cell {
        let Some(recording) = member.facts.recordings.get(nth) else {
            return Cell::Unknown("its log has no such recording".to_owned());
        };
        let record = recording.record;
        match (&recording.order, ran) {
            (Err(why), _) => Cell::Unknown(why.clone()),
            (_, Some(Ran::Unknown(why))) => Cell::Unknown(why.to_owned()),
            (_, None) => Cell::plain("nothing", record),
            (Ok(order), Some(Ran::Graph(graph))) => {
                let id = order.get(position).flatten().unwrap_or_default();
                let code = self.code.get(graph).map_or("", |code| code);
                Cell::Known(graph.to_string(), format!("{id} {code}"), Some(record))
            }
        }
    }
}

fn compile_of<'a>(member: &Member<'a>, id: CompileId) -> Option<&'a CompileFact> {
    let id = id.without_attempt();
    member.facts.compiles.iter().rev().find(|((_, other), _)| *other == id).map(|(_, compile)| compile)
}
