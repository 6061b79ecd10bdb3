//! The files that a job has over all its ranks: schedules of collectives, estimated runtimes, the trace made from
//! these, and for each log how schedules and code agree.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::json;

use super::pieces::Pieces;
use super::places::Place;
use super::tree::Tree;
use crate::analysis::parts::Part;
use crate::analysis::ranks::{Facts, ParityFact, ScheduleFact};
use crate::analysis::runtimes::GraphOps;
use crate::analysis::schedules::ScheduleSource;
use crate::error::Result;
use crate::trace::Log;

/// A log that has a place in the job's files: the newest start of a rank; where no log has a rank, of a process.
#[derive(Clone, Copy)]
pub(super) struct Ranked<'a> {
    /// Number of the log.
    pub(super) at: usize,
    pub(super) log: &'a Log,
    pub(super) place: &'a Place,
}

/// Which of the job's files there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobFiles {
    /// `collective_schedules.json`.
    pub(crate) schedules: bool,
    /// `runtime_estimations.json` and `chromium_trace_with_runtime.json`.
    pub(crate) runtimes: bool,
}

impl JobFiles {
    /// The files that either has.
    pub(super) fn or(self, other: Self) -> Self {
        Self { schedules: self.schedules || other.schedules, runtimes: self.runtimes || other.runtimes }
    }
}

const SCHEDULES: &str = "collective_schedules.json";
const ESTIMATES: &str = "runtime_estimations.json";
const RUNTIMES: &str = "chromium_trace_with_runtime.json";

/// Writes what a log adds to the files; yields which of them have something to say then.
pub(super) fn write_pieces(
    pieces: &Pieces,
    ranked: Ranked<'_>,
    facts: &Facts,
    graphs: &[GraphOps],
) -> Result<JobFiles> {
    let names = &ranked.log.index.names.names;
    let schedules = schedules(&ranked, facts);
    let has = JobFiles {
        schedules: !schedules.is_empty(),
        runtimes: names.iter().any(|name| name == "inductor_runtime_and_tensor_meta"),
    };
    let write = |file, values: Vec<serde_json::Value>| {
        pieces.write(file, ranked.at, |out| values.iter().try_for_each(|value| out.add(&[&serde_json::to_vec(value)?])))
    };
    if has.schedules {
        write(SCHEDULES, schedules)?;
    }
    if has.runtimes {
        write(ESTIMATES, estimations(&ranked, graphs))?;
        write(RUNTIMES, trace_events(&ranked, graphs))?;
    }
    Ok(has)
}

/// Writes the files that a job has.
pub(super) fn write_files(root: &Tree, pieces: &Pieces, has: JobFiles) -> Result<()> {
    let files = [(has.schedules, SCHEDULES), (has.runtimes, ESTIMATES), (has.runtimes, RUNTIMES)];
    files.into_iter().filter(|(has, _)| *has).try_for_each(|(_, file)| pieces.join(root, file))
}

/// The standard report's name of a graph: its compile's folder.
fn graph_name(log: &Log, record: usize) -> String {
    let id = log.index.records.get(record).map(|r| log.index.names.id(r)).unwrap_or_default();
    id.folder()
}

/// The head of an object about a graph. The standard report knows one graph for each compile id; where there are
/// more, they say which part they are.
fn head(
    ranked: &Ranked<'_>,
    record: usize,
    part: Option<Part>,
    several: bool,
) -> serde_json::Map<String, serde_json::Value> {
    let mut head = serde_json::Map::new();
    head.insert("rank".to_owned(), json!(ranked.log.rank));
    if ranked.log.rank.is_none() {
        head.insert("process".to_owned(), json!(ranked.place.folder));
    }
    head.insert("graph".to_owned(), json!(graph_name(ranked.log, record)));
    if let (true, Some(part)) = (several, part) {
        head.insert("part".to_owned(), json!(part.number));
        head.insert("is_backward".to_owned(), json!(part.is_backward));
    }
    head
}

fn schedules(ranked: &Ranked<'_>, facts: &Facts) -> Vec<serde_json::Value> {
    let all = facts.all_schedules().map(|(_, shown)| shown);
    let mut found: Vec<(usize, &ScheduleFact)> =
        all.filter(|(_, fact)| fact.source == ScheduleSource::Schedule).collect();
    found.sort_by_key(|(record, _)| *record);
    let several = several(found.iter().map(|(record, _)| graph_name(ranked.log, *record)));
    let value = |&(record, fact): &(usize, &ScheduleFact)| {
        // What could not be read is a row of `problems`.
        let ops: Vec<&str> = fact.ops.as_ref().ok()?.split_terminator('\n').collect();
        let several = several.get(&graph_name(ranked.log, record)).is_some_and(|n| *n > 1);
        let mut object = head(ranked, record, fact.part, several);
        object.insert("ops".to_owned(), json!(ops));
        Some(object.into())
    };
    found.iter().filter_map(value).collect()
}

/// How many there are of each name.
fn several(names: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn estimations(ranked: &Ranked<'_>, graphs: &[GraphOps]) -> Vec<serde_json::Value> {
    let several = several(graphs.iter().map(|graph| graph_name(ranked.log, graph.record)));
    let value = |graph: &GraphOps| {
        let several = several.get(&graph_name(ranked.log, graph.record)).is_some_and(|n| *n > 1);
        let ops = graph.ops.as_ref().ok()?;
        let op = |op: &crate::analysis::runtimes::Op| json!({"name": op.name, "estimated_runtime_ns": op.ns});
        let mut object = head(ranked, graph.record, graph.part, several);
        object.insert("ops".to_owned(), ops.iter().map(op).collect());
        Some(object.into())
    };
    graphs.iter().filter_map(value).collect()
}

/// Operations one behind the other on a lane for each graph, each as long as its estimate; a process for each rank.
fn trace_events(ranked: &Ranked<'_>, graphs: &[GraphOps]) -> Vec<serde_json::Value> {
    let pid = ranked.log.rank.map_or_else(|| 1_000_000 + ranked.at as u64, |rank| u64::from(rank.unsigned_abs()));
    let process = ranked.log.rank.map_or_else(|| ranked.place.heading.clone(), |rank| format!("Rank {rank}"));
    let mut events = vec![
        json!({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": process}}),
        json!({"name": "process_sort_index", "ph": "M", "pid": pid, "args": {"sort_index": pid}}),
    ];
    let several = several(graphs.iter().map(|graph| graph_name(ranked.log, graph.record)));
    let mut lanes: Vec<(String, &GraphOps)> = graphs.iter().map(|g| (graph_name(ranked.log, g.record), g)).collect();
    lanes.sort_by(|a, b| a.0.cmp(&b.0));
    for (tid, (name, graph)) in lanes.into_iter().enumerate() {
        let Ok(ops) = &graph.ops else { continue };
        let part = graph.part.filter(|_| several.get(&name).is_some_and(|n| *n > 1));
        let lane = part.map_or_else(|| format!("graph {name}"), |part| format!("graph {name}, {}", part.label()));
        events.push(json!({"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": lane}}));
        events
            .push(json!({"name": "thread_sort_index", "ph": "M", "pid": pid, "tid": tid, "args": {"sort_index": tid}}));
        let mut ts = 0_u64;
        for op in ops {
            let ns = op.ns.unwrap_or(0.0).clamp(0.0, 1e18);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
            let (whole_ns, us) = (ns as u64, (ns / 1e3).ceil().max(1.0) as u64);
            let args = json!({"rank": ranked.log.rank, "graph": name, "runtime_ns": op.ns.map(|_| whole_ns)});
            events.push(json!({
                "name": op.name, "cat": "runtime", "ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": us, "args": args
            }));
            ts = ts.saturating_add(us);
        }
    }
    events
}

/// `collectives_parity.json`: graphs whose schedule and code do not agree, and those that cannot be judged.
pub(super) fn write_parity(out: &mut dyn Write, log: &Log, facts: &Facts) -> io::Result<()> {
    let (mut graphs, mut unknown) = (Vec::new(), Vec::new());
    for (_, (record, fact)) in facts.all_schedules() {
        let id = log.index.records.get(record).map(|r| log.index.names.id(r)).unwrap_or_default();
        let mut object = serde_json::Map::new();
        object.insert("graph".to_owned(), json!(id.folder()));
        object.insert("compile_id".to_owned(), json!(id.collapsed().label()));
        if let Some(part) = fact.part {
            object.insert("part".to_owned(), json!(part.number));
            object.insert("is_backward".to_owned(), json!(part.is_backward));
        }
        match &fact.parity {
            ParityFact::Compared { offset, reordered, missing_waits }
                if *reordered || *offset > 0 || *missing_waits > 0 =>
            {
                object.insert("offset".to_owned(), json!(offset));
                object.insert("missing_waits".to_owned(), json!(missing_waits));
                object.insert("reordered".to_owned(), json!(reordered));
                graphs.push(serde_json::Value::from(object));
            }
            ParityFact::Unknown(why) => {
                object.insert("why".to_owned(), json!(**why));
                unknown.push(serde_json::Value::from(object));
            }
            ParityFact::Compared { .. } | ParityFact::Nothing => {}
        }
    }
    let description = "Collectives that stand in the schedule and not in the generated code, or the other way round (offset), collectives in the code whose result nothing in it waits for (missing_waits), and whether the same collectives stand in another order (reordered). Graphs without either are left out; of those under unknown it cannot be told.";
    let all = json!({"description": description, "graphs": graphs, "unknown": unknown});
    serde_json::to_writer_pretty(&mut *out, &all)?;
    out.write_all(b"\n")
}
