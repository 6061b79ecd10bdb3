//! What a log says of one compile, aspect by aspect, each with the record that says so.

use rustc_hash::FxHashMap;

use super::conditions::{guards, guards_of_any_rank, symbols};
use super::inputs::inputs;
use super::noise::{names_a_rank, plain_condition, plain_text};
use super::profile::{Said, Texts, Value};
use super::without_count;
use crate::analysis::cache::LookUp;
use crate::analysis::compiles::{Compile, FailureKind, Status};
use crate::analysis::findings::{failure_words, without_temporary};
use crate::analysis::graphs::stage;
use crate::analysis::parts::Part;
use crate::analysis::ranks::Aspect;
use crate::analysis::settings;
use crate::format::code_place::file_name;
use crate::format::payload::md5;
use crate::format::text::shorten;
use crate::format::{graph_break, recompile_reason};
use crate::index::{PayloadState, Record};
use crate::tables::MetricRecords;
use crate::trace::Log;

/// What is said of a compile whose graph does not break.
pub(in crate::analysis::ranks) const NO_BREAK: &str = "no graph break";

/// What guards are called that are the same for all ranks but for values that are the number of the rank.
pub(in crate::analysis::ranks) const OF_ANY_RANK: &str = "of any rank";

/// Characters of a value that are kept for a person.
const SHOWN: usize = 200;

/// A log and what is shared with others.
#[derive(Clone, Copy)]
pub(super) struct OfLog<'a> {
    pub(super) log: &'a Log,
    pub(super) bytes: &'a [u8],
    pub(super) metrics: &'a MetricRecords<'a>,
    pub(super) texts: &'a Texts,
}

/// Records of a compile that its [`Compile`] does not list.
#[derive(Clone, Debug, Default)]
pub(super) struct MoreRecords {
    /// Descriptions of tensors and their sources.
    pub(super) described: Vec<usize>,
    /// What is said of symbolic sizes.
    pub(super) symbols: Vec<usize>,
    /// Answers of caches.
    pub(super) look_ups: Vec<LookUp>,
}

/// The settings that a thread read last: most compiles of a process have the same.
#[derive(Debug, Default)]
pub(super) struct LastSettings {
    of: FxHashMap<&'static str, (Vec<u8>, [u8; 16])>,
}

/// What is said of one compile, with the records.
pub(super) struct Speech<'a> {
    of: OfLog<'a>,
    compile: &'a Compile,
    more: &'a MoreRecords,
    said: Vec<Said>,
    records: Vec<u32>,
}

/// All that the log says of `compile`, and the record of each.
pub(super) fn said(
    of: OfLog<'_>,
    compile: &Compile,
    more: &MoreRecords,
    last: &mut LastSettings,
) -> (Vec<Said>, Vec<u32>) {
    let mut speech = Speech { of, compile, more, said: Vec::new(), records: Vec::new() };
    speech.settings(last);
    speech.code();
    speech.inputs();
    speech.symbols();
    speech.guards();
    speech.reasons();
    speech.breaks();
    speech.outcome();
    speech.graphs();
    speech.caches();
    (speech.said, speech.records)
}

impl Speech<'_> {
    fn add(&mut self, aspect: Aspect, what: &str, value: Value, record: usize) {
        let what = self.of.texts.keep(what);
        self.said.push(Said { aspect, what, value });
        self.records.push(u32::try_from(record).unwrap_or(u32::MAX));
    }

    /// A value that is compared as `compared` and read as `shown`.
    fn known(&self, compared: &str, shown: &str) -> Value {
        Value::Known(md5(compared.as_bytes()), self.of.texts.keep(&shorten(shown, SHOWN)))
    }

    fn unknown(&self, why: &str) -> Value {
        Value::Unknown(self.of.texts.keep(why))
    }

    fn record(&self, at: usize) -> Option<&Record> {
        self.of.log.index.records.get(at)
    }

    /// The payload of a record, whole.
    fn text(&self, at: usize) -> Option<String> {
        let record = self.record(at).filter(|record| record.payload.is_whole())?;
        let text = self.of.log.index.payload(record, self.of.bytes).text();
        Some(String::from_utf8(text).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    /// Of the records of several tries those of the last.
    fn of_last_try(&self, records: &[usize]) -> Vec<usize> {
        let attempt =
            |at: &usize| self.record(*at).map_or(0, |record| self.of.log.index.names.id(record).attempt.unwrap_or(0));
        let last = records.iter().map(attempt).max().unwrap_or(0);
        records.iter().copied().filter(|at| attempt(at) == last).collect()
    }

    fn settings(&mut self, last: &mut LastSettings) {
        let Some(&at) = self.compile.metrics.last() else { return };
        let fields = self.of.metrics.fields(at);
        for (field, short) in settings::FIELDS {
            let Some(text) = fields.get(field) else { continue };
            let digest = match last.of.get(field) {
                Some((known, digest)) if known == text => *digest,
                _ => self.of.texts.once(md5(text), || settings::digest(text)),
            };
            if last.of.get(field).is_none_or(|(known, _)| known != text) {
                last.of.insert(field, (text.to_vec(), digest));
            }
            self.add(Aspect::Configuration, short, Value::Known(digest, self.of.texts.keep("")), at);
        }
    }

    fn code(&mut self) {
        let Some(name) = &self.compile.name else { return };
        let file = self.compile.file.as_deref().map_or("", |file| without_count(file_name(file)));
        let line = self.compile.line.map(|line| format!(":{line}")).unwrap_or_default();
        let code = format!("{name} at {file}{line}");
        self.add(Aspect::Code, "", self.known(&code, &code), self.compile.first);
    }

    fn inputs(&mut self) {
        let (records, symbols) = (self.of_last_try(&self.more.described), self.of_last_try(&self.more.symbols));
        let found = inputs(self.of.log, self.of.bytes, (&records, &symbols));
        let Some(&first) = records.first().filter(|_| !found.is_empty()) else { return };
        let all: Vec<String> = found.iter().map(|(source, tensor)| format!("{source}\0{tensor}")).collect();
        let shown = if found.len() == 1 { "1 input".to_owned() } else { format!("{} inputs", found.len()) };
        self.add(Aspect::Inputs, "", self.known(&all.join("\0"), &shown), first);
    }

    fn symbols(&mut self) {
        let records = self.of_last_try(&self.more.symbols);
        let mut found = symbols(self.of.log, self.of.bytes, &records);
        found.sort_unstable();
        let record = records.first().copied().unwrap_or(self.compile.first);
        let shown = match found.as_slice() {
            [] => "no symbolic size".to_owned(),
            [one] => one.clone(),
            all => format!("{} facts on symbolic sizes", all.len()),
        };
        self.add(Aspect::Symbols, "", self.known(&found.join("\0"), &shown), record);
    }

    fn guards(&mut self) {
        let Some(&at) = self.compile.guard_texts().last() else { return };
        let verified = self.record(at).filter(|record| record.payload == PayloadState::Verified);
        let Some(text) = self.text(at) else {
            self.add(Aspect::Guards, "", self.unknown("its guards are damaged"), at);
            return;
        };
        let value = match verified.map(|record| record.md5) {
            // What a rank calls itself counts for none.
            Some(digest) if !names_a_rank(text.as_bytes()) => {
                let read = || md5(guards(&text, None).join("\0").as_bytes());
                Value::Known(self.of.texts.once(digest, read), self.of.texts.keep("guards"))
            }
            _ => self.known(&guards(&text, self.of.log.rank).join("\0"), "guards"),
        };
        self.add(Aspect::Guards, "", value, at);
        if let Some(lines) = self.of.log.rank.and_then(|rank| guards_of_any_rank(&text, rank)) {
            self.add(Aspect::Guards, OF_ANY_RANK, self.known(&lines.join("\0"), "guards"), at);
        }
    }

    fn reasons(&mut self) {
        let metrics = || self.compile.metrics.last().copied().unwrap_or(self.compile.first);
        let (texts, record) = match (self.compile.reasons(), &self.compile.recompile_reason) {
            (Some(at), _) => {
                if let Some(text) = self.text(at) {
                    (recompile_reason::texts(text.as_bytes()), at)
                } else {
                    self.add(Aspect::Recompiles, "", self.unknown("its reasons are damaged"), at);
                    return;
                }
            }
            (None, Some(reason)) => (vec![reason.clone()], metrics()),
            (None, None) if self.compile.is_recompile() => {
                self.add(Aspect::Recompiles, "", self.unknown("its log has no reason"), metrics());
                return;
            }
            (None, None) => return,
        };
        let all: Vec<recompile_reason::Reason> = texts.iter().flat_map(|t| recompile_reason::reasons(t)).collect();
        let shown = all.first().map(|reason| plain_condition(&reason.guard, self.of.log.rank)).unwrap_or_default();
        // The order of entries follows the calls that came last.
        let mut compared: Vec<String> = all.iter().map(|reason| self.reason(reason)).collect();
        compared.sort_unstable();
        self.add(Aspect::Recompiles, "", self.known(&compared.join("\0"), &shown), record);
    }

    /// What is compared of a reason: not the entry, whose id is shifted where a frame is more, and not the value that did
    /// not fit where the log tells it apart, since one code serves them all.
    fn reason(&self, reason: &recompile_reason::Reason) -> String {
        match (&reason.source, &reason.expected, &reason.actual) {
            (Some(source), Some(expected), Some(_)) => {
                let dimension = reason.dimension.map(|n| format!(" {n}")).unwrap_or_default();
                let source = plain_condition(source, self.of.log.rank);
                format!("{} of {source}{dimension}, expected {expected}", reason.cause.name())
            }
            _ => plain_condition(&reason.guard, self.of.log.rank),
        }
    }

    fn breaks(&mut self) {
        let breaks = self.compile.graph_breaks();
        if self.compile.has_graph_break.is_none() {
            self.add(Aspect::Breaks, "", self.unknown("its log does not tell of graph breaks"), self.compile.first);
            return;
        }
        let words = |&at: &usize| {
            let said = graph_break::parse(&self.text(at)?);
            let place = said.place.as_ref().map(|place| {
                let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
                format!("{}{line}: ", file_name(&place.file))
            });
            Some(plain_text(&format!("{}{}", place.unwrap_or_default(), said.reason), self.of.log.rank))
        };
        let found: Option<Vec<String>> = breaks.iter().map(words).collect();
        let record = breaks.first().copied().unwrap_or(self.compile.first);
        let value = match found {
            None => self.unknown("a graph break is damaged in its log"),
            Some(found) => {
                let shown = match found.as_slice() {
                    [] => NO_BREAK.to_owned(),
                    [one] => one.clone(),
                    [first, others @ ..] => format!("{first}, and {} more", others.len()),
                };
                self.known(&found.join("\0"), &shown)
            }
        };
        self.add(Aspect::Breaks, "", value, record);
    }

    fn outcome(&mut self) {
        let compile = self.compile;
        let failure = compile.failures.iter().find(|failure| failure.kind == FailureKind::Failure);
        let record = failure.map(|failure| failure.record).or(compile.metrics.last().copied()).unwrap_or(compile.first);
        let value = match (failure, compile.status) {
            (Some(failure), _) => {
                let words = failure_words(&failure.reason);
                let error = failure.error.as_deref().map(|error| format!("{error}: ")).unwrap_or_default();
                let text = format!("failed: {error}{words}");
                // The same failure has other figures on each rank.
                self.known(&recompile_reason::blank(&without_temporary(&plain_text(&text, self.of.log.rank))), &text)
            }
            (None, Status::Missing) => self.unknown("its log does not tell how it ended"),
            (None, _) if compile.skipped => self.known("skipped", "left to run as it is"),
            (None, _) => self.known("compiled", "compiled"),
        };
        self.add(Aspect::Outcome, "", value, record);
    }

    /// Graphs of the last try, the n-th of each stage.
    fn graphs(&mut self) {
        let (log, bytes) = (self.of.log, self.of.bytes);
        let mut seen: FxHashMap<&str, usize> = FxHashMap::default();
        for at in self.of_last_try(self.compile.graphs()) {
            let Some(record) = log.index.records.get(at) else { continue };
            let Some(stage) = stage(log, record) else { continue };
            let nth = seen.entry(stage).and_modify(|n| *n += 1).or_insert(1);
            let what = if *nth > 1 { format!("{stage} graph {nth}") } else { format!("{stage} graph") };
            let value = match self.of.texts.graphs.of(log, record, bytes) {
                None => self.unknown("its graph is damaged"),
                Some(graph) => {
                    let nodes = if graph.nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", graph.nodes) };
                    Value::Known(graph.shape, self.of.texts.keep(&nodes))
                }
            };
            self.add(Aspect::Graph, &what, value, at);
        }
    }

    /// Answers of the caches: each layer, of each Inductor compile.
    fn caches(&mut self) {
        let mut layers: Vec<(String, String, usize)> = Vec::new();
        let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
        for found in &self.more.look_ups {
            let what = format!("{}{}", found.layer, part_words(found.part));
            let number = *numbers.entry(what.clone()).or_insert(layers.len());
            match layers.get_mut(number) {
                Some((_, states, _)) => *states += &format!(", {}", found.state),
                None => layers.push((what, found.state.clone(), found.record)),
            }
        }
        for (what, states, record) in layers {
            let value = if states.contains("unknown") {
                self.unknown("the answer of a cache cannot be read")
            } else {
                self.known(&states, &states)
            };
            self.add(Aspect::Cache, &what, value, record);
        }
    }
}

/// Which Inductor compile, where it is not the first forward.
fn part_words(part: Option<Part>) -> String {
    let Some(part) = part else { return String::new() };
    let backward = if part.is_backward == Some(true) { " of the backward" } else { "" };
    let nth = if part.nth > 0 { format!(" {}", part.nth + 1) } else { String::new() };
    format!("{backward}{nth}")
}
