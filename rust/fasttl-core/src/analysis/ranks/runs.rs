//! What ran on each rank, recording by recording: functions with their graphs, which have the same number on all ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Member;
use super::cells::Found;
use super::facts::{CompileFact, Value};
use super::run_stretches::Ran;
use crate::analysis::exec_order::Order;
use crate::format::compile_id::CompileId;
use crate::format::payload::md5_hex;

const NO_ID: &str = "graphs that came from a cache, or were compiled before the recording, are in it without an id";

/// Positions of what is not known that are told.
const TOLD: usize = 4;

/// The n-th recording of all ranks.
#[derive(Default)]
pub(super) struct Recordings {
    /// The different orders, with the members that have them.
    pub(super) orders: FxHashMap<Vec<Ran>, Vec<usize>>,
    /// What is not known, with the first positions of it and the ranks; all positions, where there are none.
    unknown: BTreeMap<(Arc<str>, Vec<usize>), Vec<i32>>,
}

impl Recordings {
    /// Tells what is not known. `name` is the recording's, where there are several.
    pub(super) fn tell_unknown(&self, name: &str, found: &mut Found) {
        let of = if name.is_empty() { String::new() } else { format!("{name}, ") };
        for ((why, positions), ranks) in &self.unknown {
            let told: Vec<String> = positions.iter().take(TOLD).map(|at| format!("{of}position {at}")).collect();
            let more = if positions.len() > TOLD { " …" } else { "" };
            let place = if told.is_empty() { name.to_owned() } else { told.join(", ") + more };
            found.not_known(ranks.clone(), &place, why);
        }
    }
}

/// Functions with their graphs, each with a number.
#[derive(Default)]
pub(super) struct Graphs {
    numbers: FxHashMap<String, u32>,
    /// The functions by number.
    code: Vec<Arc<str>>,
}

impl Graphs {
    /// Reads the recordings of a member.
    pub(super) fn read(&mut self, at: usize, member: &Member<'_>, recordings: &mut [Recordings]) {
        let mut of_id: FxHashMap<CompileId, Vec<&CompileFact>> = FxHashMap::default();
        if !member.facts.recordings.is_empty() {
            for compile in &member.facts.compiles {
                of_id.entry(compile.profile.key.1).or_default().push(compile);
            }
        }
        for (nth, of_all) in recordings.iter_mut().enumerate() {
            let mut unknown: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
            match member.facts.recordings.get(nth).map(|recording| &recording.order) {
                None => drop(unknown.insert("its log has no such recording".into(), Vec::new())),
                Some(Err(why)) => drop(unknown.insert(why.as_str().into(), Vec::new())),
                Some(Ok(order)) => {
                    let mut gaps: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
                    let runs = self.order(order, |id| compile_of(member, &of_id, nth, id), &mut gaps);
                    of_all.orders.entry(runs).or_default().push(at);
                    unknown.extend(gaps.into_iter().map(|(why, positions)| (why.into(), positions)));
                }
            }
            for key in unknown {
                of_all.unknown.entry(key).or_default().push(member.rank);
            }
        }
    }

    /// What ran, position by position; `gaps` gets where that is not known, and why.
    fn order<'a>(
        &mut self,
        order: &Order,
        compile_of: impl Fn(CompileId) -> Result<&'a CompileFact, &'static str>,
        gaps: &mut BTreeMap<&'static str, Vec<usize>>,
    ) -> Vec<Ran> {
        let mut known: FxHashMap<CompileId, Result<Ran, &'static str>> = FxHashMap::default();
        let mut runs = Vec::new();
        for (position, id) in (1..).zip(order.iter()) {
            let ran = match id {
                None => Err(NO_ID),
                Some(id) => *known.entry(id).or_insert_with(|| self.ran(compile_of(id)?)),
            };
            runs.push(ran.unwrap_or_else(|why| {
                let positions = gaps.entry(why).or_default();
                if positions.len() <= TOLD {
                    positions.push(position);
                }
                Ran::UNKNOWN
            }));
        }
        runs
    }

    /// The function and the graph that ran; `None` where that is not known.
    pub(super) fn code(&self, ran: Ran) -> Option<&str> {
        self.code.get(ran.number()?).map(|code| &**code)
    }

    /// The function and the graph of a compile.
    fn ran(&mut self, compile: &CompileFact) -> Result<Ran, &'static str> {
        let Some(code) = compile.profile.code() else {
            return Err("its log does not name the function of a graph that ran");
        };
        let graph = match compile.profile.dynamo_graph() {
            Some(Value::Unknown(_)) => return Err("a graph that ran is damaged in its log"),
            Some(Value::Known(digest, _)) => md5_hex(*digest),
            None => String::new(),
        };
        let Self { numbers, code: names } = self;
        Ok(Ran::graph(*numbers.entry(format!("{code} {graph}")).or_insert_with(|| {
            let short = graph.get(..8).map(|hash| format!(" ({hash})")).unwrap_or_default();
            names.push(format!("{code}{short}").into());
            u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
        })))
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
