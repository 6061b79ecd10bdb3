//! The order in which graphs ran: by what was run, since one id can be different functions on two ranks.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cells::{Alike, Cell, Found, Mark, Place};
use super::facts::{CompileFact, Value};
use super::{Aspect, Member};
use crate::analysis::exec_order::Order;
use crate::format::compile_id::CompileId;
use crate::format::payload::md5_hex;

/// What is said where no two ranks recorded it.
pub(super) const NONE_HAS: &str = "No two ranks recorded it. To have it recorded, run the steps inside torch._inductor.debug.record_and_log_graph_execution_order().";
const NO_ID: &str = "graphs that came from a cache, or were compiled before the recording, are in it without an id";

/// Compares recordings, n-th with n-th, position by position.
pub(super) fn exec_order(members: &[Member<'_>]) -> Found {
    let mut findings = Found::default();
    let alike: Vec<Alike> = members.iter().map(Alike::one).collect();
    let recordings = members.iter().map(|m| m.facts.recordings.len()).max().unwrap_or(0);
    let mut graphs = Graphs::default();
    for nth in 0..recordings {
        let orders: Vec<Vec<Ran>> = members.iter().map(|m| graphs.order(m, nth)).collect();
        let longest = orders.iter().map(Vec::len).max().unwrap_or(0);
        let reasons = members.iter().any(|m| m.facts.recordings.get(nth).is_none_or(|r| r.order.is_err()));
        // Where no rank has an order to go through, the reasons are still to be told.
        let longest = if longest == 0 && reasons { 1 } else { longest };
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
            let cell = |(at, ran): (&Member<'_>, &Option<Ran>)| graphs.cell(at, nth, position, *ran);
            let cells = alike.iter().zip(members.iter().zip(&ran).map(cell)).collect();
            let at = position as u64 + 1;
            let place = Place { position: Some(at), words: format!("{of}position {at}"), ..Place::default() };
            findings.place(Aspect::ExecOrder, &place, cells);
        }
    }
    findings
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
        let mut of_id: FxHashMap<CompileId, Vec<&CompileFact>> = FxHashMap::default();
        if recording.is_some() {
            for compile in &member.facts.compiles {
                of_id.entry(compile.profile.key.1).or_default().push(compile);
            }
        }
        let mut ran = |id: Option<CompileId>| match id {
            None => Ran::Unknown(NO_ID),
            Some(id) => *known.entry(id).or_insert_with(|| self.ran(compile_of(member, &of_id, nth, id))),
        };
        recording.into_iter().flat_map(Order::iter).map(&mut ran).collect()
    }

    /// The function and the graph behind an id: of the compile that had it when the recording ended.
    fn ran(&mut self, compile: Result<&CompileFact, &'static str>) -> Ran {
        let compile = match compile {
            Ok(compile) => compile,
            Err(why) => return Ran::Unknown(why),
        };
        let Some(code) = compile.profile.code() else {
            return Ran::Unknown("its log does not name the function of a graph that ran");
        };
        let graph = match compile.profile.dynamo_graph() {
            Some(Value::Unknown(_)) => return Ran::Unknown("a graph that ran is damaged in its log"),
            Some(Value::Known(digest, _)) => md5_hex(*digest),
            None => String::new(),
        };
        let Self { numbers, code: names } = self;
        Ran::Graph(*numbers.entry(format!("{code} {graph}")).or_insert_with(|| {
            let short = graph.get(..8).map(|hash| format!(" ({hash})")).unwrap_or_default();
            names.push(format!("{code}{short}").into());
            names.len() - 1
        }))
    }

    fn cell(&self, member: &Member<'_>, nth: usize, position: usize, ran: Option<Ran>) -> Cell {
        let Some(recording) = member.facts.recordings.get(nth) else {
            return Cell::unknown("its log has no such recording");
        };
        let record = recording.record;
        match (&recording.order, ran) {
            (Err(why), _) => Cell::unknown(why),
            (_, Some(Ran::Unknown(why))) => Cell::unknown(why),
            (_, None) => Cell::plain("nothing", Some(record)),
            (Ok(order), Some(Ran::Graph(graph))) => {
                let id = order.get(position).flatten().unwrap_or_default();
                let code = self.code.get(graph).map_or("", |code| code);
                Cell::Known(Mark::Number(graph as u64), format!("{id} {code}"), Some(record))
            }
        }
    }
}

/// The compile that an id stood for in the n-th recording. Ids start again with `torch._dynamo.reset()`; where one stood
/// for several compiles during the recording, it cannot be told which ran when.
fn compile_of<'a>(
    member: &Member<'_>,
    of_id: &FxHashMap<CompileId, Vec<&'a CompileFact>>,
    nth: usize,
    id: CompileId,
) -> Result<&'a CompileFact, &'static str> {
    let end = |nth: usize| member.facts.recordings.get(nth).map_or(0, |recording| recording.record);
    let (from, to) = (nth.checked_sub(1).map(end), end(nth));
    let all = of_id.get(&id.without_attempt()).map(Vec::as_slice).unwrap_or_default();
    let before: Vec<&CompileFact> = all.iter().copied().filter(|compile| compile.first() < to).collect();
    let during = before.iter().filter(|compile| from.is_none_or(|from| compile.first() > from)).count();
    match before.last() {
        None => Err("it ran a graph whose compile is not in its log"),
        Some(_) if during > 1 => Err("an id stood for several compiles during the recording"),
        Some(compile) => Ok(compile),
    }
}
