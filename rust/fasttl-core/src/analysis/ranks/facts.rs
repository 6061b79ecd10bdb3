//! What the comparison of ranks keeps of each log: little, since a job has hundreds of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::tally::{Tally, tally};
use super::timing::{CompileTime, LogTime, timing};
use crate::analysis::cache::look_ups;
use crate::analysis::compiles::{Compile, Compiles};
use crate::analysis::exec_order::{Recording, recordings};
use crate::analysis::graphs::stage;
use crate::analysis::parts::{Part, Parts};
use crate::analysis::read_graphs::ReadGraphs;
use crate::analysis::runtimes::GraphOps;
use crate::analysis::schedules::{NO_NAME, Parity, ScheduleSource, schedules};
use crate::format::code_place::file_name;
use crate::format::compile_id::CompileId;
use crate::format::payload::md5;
use crate::index::{Problem, ProblemKind, Record};
use crate::trace::{Log, LogState};

/// Generation and compile id without attempt: what ranks are joined by.
pub type Key = (u32, CompileId);

/// MD5 of a graph without names, and the number of its nodes.
pub(super) type Shape = ([u8; 16], usize);

/// What many ranks share: texts, each kept once, and graphs, each read once.
#[derive(Debug, Default)]
pub struct Texts {
    texts: Mutex<FxHashSet<Arc<str>>>,
    graphs: ReadGraphs,
}

impl Texts {
    fn keep(&self, text: &str) -> Arc<str> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        texts.insert(Arc::clone(&new));
        new
    }
}

/// A text with the record that it comes from.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The text.
    pub text: Arc<str>,
    /// The record.
    pub record: usize,
}

/// The collectives of one graph; see [`crate::analysis::schedules::Schedule`].
#[derive(Clone, Debug)]
pub struct ScheduleFact {
    /// The record that has them.
    pub record: usize,
    /// What kind of record that is.
    pub source: ScheduleSource,
    /// The Inductor compile.
    pub part: Option<Part>,
    /// Operators, each with a line feed behind it; why they could not be read.
    pub ops: Result<Arc<str>, Arc<str>>,
    /// How they agree with the code.
    pub parity: Parity,
}

/// Estimates and outputs of the operations of one graph.
#[derive(Clone, Debug)]
pub struct RuntimeFact {
    /// The record.
    pub record: usize,
    /// The Inductor compile.
    pub part: Option<Part>,
    /// Where its payload starts and ends in the log.
    pub payload: (u64, u64),
    /// MD5 of all outputs; why they could not be read.
    pub outputs: Result<[u8; 16], Arc<str>>,
    /// Nanoseconds of all operations; `None` where one has no estimate.
    pub total_ns: Option<f64>,
}

/// A graph of a compile.
#[derive(Clone, Debug)]
pub struct GraphFact {
    /// The record.
    pub record: usize,
    /// The stage that made it, and which of several: `dynamo graph`, `aot forward graph 2`.
    pub stage: String,
    /// MD5 of the graph without names, see [`crate::format::fx_graph::Graph::shape`], and its nodes; `None` where it is damaged.
    pub(super) shape: Option<Shape>,
}

/// One compile.
#[derive(Clone, Debug)]
pub struct CompileFact {
    /// Its first record.
    pub first: usize,
    /// `function at file:line`, the file without its folder.
    pub code: Option<Arc<str>>,
    /// Whether the log ends before it did.
    pub unfinished: bool,
    /// When it was worked on.
    pub time: CompileTime,
    /// Its graphs, in order.
    pub graphs: Vec<GraphFact>,
    /// Answers of the caches, in order.
    pub cache: Option<Seen>,
    /// Why it was recompiled.
    pub reasons: Option<Seen>,
    /// Its collectives, graph by graph.
    pub schedules: Vec<ScheduleFact>,
    /// Its operations, graph by graph.
    pub runtimes: Vec<RuntimeFact>,
}

/// One log.
#[derive(Debug, Default)]
pub struct Facts {
    /// Its compiles.
    pub compiles: BTreeMap<Key, CompileFact>,
    /// The orders in which its graphs ran.
    pub recordings: Vec<Recording>,
    /// Collectives of records that belong to no compile of a frame, by what ids they have.
    pub loose: BTreeMap<Key, Vec<ScheduleFact>>,
    /// When the compiler was at work, and on what last.
    pub time: LogTime,
    /// What it is counted for.
    pub tally: Tally,
    /// Whether records of the log are lost, or it ends in the middle of something: what is missing in it may have
    /// been there.
    pub incomplete: bool,
}

/// Gathers the facts of a log. `bytes` are the log's; compiles, parts and graphs with their operations are those
/// that were found in it.
pub(crate) fn facts(
    log: &Log,
    bytes: &[u8],
    (compiles, parts, graphs): (&Compiles, &Parts, &[GraphOps]),
    texts: &Texts,
) -> Facts {
    let mut facts = Facts { recordings: recordings(log, bytes), ..Facts::default() };
    // A log may hold records of another rank, too; and what only ran is no compile.
    let own = |compile: &Compile| {
        let rank = log.index.records.get(compile.first).and_then(|r| r.rank);
        (rank.is_none() || rank == log.index.rank) && compile.was_compiled()
    };
    facts.time = timing(log, bytes, compiles);
    let all: Vec<(Key, CompileFact)> = compiles
        .par_iter()
        .zip(&facts.time.compiles)
        .filter(|(compile, _)| own(compile))
        .map(|(compile, time)| ((compile.generation, compile.id), of_compile((log, bytes), compile, *time, texts)))
        .collect();
    facts.compiles.extend(all);
    let lost = |p: &Problem| matches!(p.kind, ProblemKind::BadJson | ProblemKind::TornRecord | ProblemKind::CutShort);
    let unfinished = facts.compiles.values().any(|c| c.unfinished);
    facts.incomplete = log.state != LogState::Complete || unfinished || log.index.problems.iter().any(lost);
    let mut answers: BTreeMap<Key, (String, usize)> = BTreeMap::new();
    let look_ups = look_ups(log, bytes, parts);
    facts.tally = tally(log, bytes, compiles, &look_ups);
    for found in look_ups {
        let (text, _) = answers.entry(found.key).or_insert_with(|| (String::new(), found.record));
        let comma = if text.is_empty() { "" } else { ", " };
        *text += &format!("{comma}{} {}", found.layer, found.state);
    }
    for (key, (text, record)) in answers {
        if let Some(compile) = facts.compiles.get_mut(&key) {
            compile.cache = Some(Seen { text: texts.keep(&text), record });
        }
    }
    add_schedules(&mut facts, log, bytes, parts, texts);
    let mut tries: BTreeMap<Key, i64> = BTreeMap::new();
    for graph in graphs {
        let attempt = tries.entry(graph.key).or_insert(graph.attempt);
        *attempt = graph.attempt.max(*attempt);
    }
    for graph in graphs.iter().filter(|g| tries.get(&g.key) == Some(&g.attempt)) {
        let total_ns = graph.total_ns();
        let outputs = graph.outputs().map(|all| md5(all.join("\n").as_bytes())).map_err(|why| texts.keep(why));
        if let Some(compile) = facts.compiles.get_mut(&graph.key) {
            let payload = log.index.records.get(graph.record).map(Record::payload_range).unwrap_or_default();
            let (record, part) = (graph.record, graph.part);
            compile.runtimes.push(RuntimeFact { record, part, payload, outputs, total_ns });
        }
    }
    facts
}

fn add_schedules(facts: &mut Facts, log: &Log, bytes: &[u8], parts: &Parts, texts: &Texts) {
    // By try, the last one last: it is the one that holds.
    for ((generation, id), found) in schedules(log, bytes, parts, &texts.graphs) {
        let kept = found.into_iter().map(|schedule| ScheduleFact {
            record: schedule.record,
            source: schedule.source,
            part: schedule.part,
            ops: match schedule.ops {
                Ok(ops) if ops.iter().any(|op| op == NO_NAME) => {
                    Err(texts.keep("an operator of its schedule has no name"))
                }
                Ok(ops) => Ok(texts.keep(&ops.iter().map(|op| op.replace('\n', " ") + "\n").collect::<String>())),
                Err(why) => Err(texts.keep(&why)),
            },
            parity: schedule.parity,
        });
        let key = (generation, id.without_attempt());
        match facts.compiles.get_mut(&key) {
            Some(compile) => compile.schedules = kept.collect(),
            None => {
                facts.loose.insert(key, kept.collect());
            }
        }
    }
}

fn of_compile((log, bytes): (&Log, &[u8]), compile: &Compile, time: CompileTime, texts: &Texts) -> CompileFact {
    let record = |at: usize| log.index.records.get(at);
    let reasons = compile.reasons().and_then(|at| {
        let text = log.index.payload(record(at).filter(|r| r.payload.is_whole())?, bytes).text();
        Some(Seen { text: texts.keep(&without_addresses(&String::from_utf8_lossy(&text))), record: at })
    });
    let code = compile.name.as_ref().map(|name| {
        let file = compile.file.as_deref().map_or("", file_name);
        let line = compile.line.map(|line| format!(":{line}")).unwrap_or_default();
        texts.keep(&format!("{name} at {file}{line}"))
    });
    CompileFact {
        first: compile.first,
        code,
        unfinished: compile.unfinished,
        time,
        graphs: graphs(log, bytes, compile, texts),
        cache: None,
        reasons,
        schedules: Vec::new(),
        runtimes: Vec::new(),
    }
}

/// The graphs of a compile: of several tries the last.
fn graphs(log: &Log, bytes: &[u8], compile: &Compile, texts: &Texts) -> Vec<GraphFact> {
    let attempt = |record: &Record| log.index.names.id(record).attempt.unwrap_or(0);
    let with_record = |&at: &usize| Some((at, log.index.records.get(at)?));
    let last = compile.graphs().iter().filter_map(with_record).map(|(_, r)| attempt(r)).max().unwrap_or(0);
    let mut seen: FxHashMap<&str, usize> = FxHashMap::default();
    let mut graphs = Vec::new();
    for (at, record) in compile.graphs().iter().filter_map(with_record) {
        let Some(stage) = stage(log, record).filter(|_| attempt(record) == last) else { continue };
        let nth = seen.entry(stage).and_modify(|n| *n += 1).or_insert(1);
        let which = if *nth > 1 { format!(" {nth}") } else { String::new() };
        let shape = texts.graphs.of(log, record, bytes).map(|graph| (graph.shape, graph.nodes));
        graphs.push(GraphFact { record: at, stage: format!("{stage} graph{which}"), shape });
    }
    graphs
}

/// Addresses differ from process to process: numbers of nine digits and more, and hexadecimal ones, become `…`.
fn without_addresses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        let number = word.strip_prefix("0x").is_some_and(|hex| hex.len() > 5)
            || (word.len() > 8 && word.bytes().all(|b| b.is_ascii_digit()));
        out.push_str(if number { "…" } else { word });
        word.clear();
    };
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            flush(&mut word, &mut out);
            out.push(c);
        }
    }
    flush(&mut word, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_do_not_count() {
        let text = "___check_obj_id(L['f'], 140123456789) and x == 12345678 at 0x7fdefc5d4410";
        assert_eq!(without_addresses(text), "___check_obj_id(L['f'], …) and x == 12345678 at …");
    }

    #[test]
    fn equal_texts_are_kept_once() {
        let texts = Texts::default();
        assert!(Arc::ptr_eq(&texts.keep("a"), &texts.keep("a")));
    }
}
