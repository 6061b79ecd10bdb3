//! What findings are made from: a little of each log, brought together over all of them.

use crate::analysis::cache::{LookUp, look_ups};
use crate::analysis::causes::failures::{Event, FailureFact};
use crate::analysis::causes::{
    BreakGroup, Causes, Code, EVIDENCE, GroupKey, Groups, OfLog, RecompileGroup, Shown, Spread, breaks,
    recompile_groups, sum,
};
use crate::analysis::compiles::Compile;
use crate::analysis::findings::words::{failure_words, without_temporary};
use crate::analysis::parts::Parts;
use crate::format::code_place::CodePlace;
use crate::format::json;
use crate::format::recompile_reason::blank;
use crate::index::Severity;
use crate::tables::MetricRecords;
use crate::trace::{Log, LogState};

/// Things of one kind with where they are.
#[derive(Clone, Debug)]
pub(crate) struct Group<K> {
    /// What they have in common.
    pub(crate) key: K,
    /// How many.
    pub(crate) count: u64,
    /// Seconds, as far as the log says.
    pub(crate) cost_s: Option<f64>,
    /// Where they are.
    pub(crate) spread: Spread,
    /// The text of the first, where the key has not all of it.
    pub(crate) example: Option<String>,
    /// The functions concerned, a few.
    pub(crate) codes: Vec<Code>,
    /// The records that show them, a hundred at most.
    pub(crate) evidence: Vec<Shown>,
}

impl<K> Group<K> {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.cost_s = sum(self.cost_s, other.cost_s);
        self.spread.merge(other.spread);
        for code in other.codes {
            if self.codes.len() < CODES && !self.codes.contains(&code) {
                self.codes.push(code);
            }
        }
        self.evidence.extend(other.evidence.into_iter().take(EVIDENCE.saturating_sub(self.evidence.len())));
    }
}

/// Most functions of a group that are kept.
const CODES: usize = 4;

/// What failures have in common: what happened, class, the message without its numbers, the line of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FailureKey {
    pub(crate) is_backward: bool,
    pub(crate) error: Option<String>,
    pub(crate) message: String,
    pub(crate) own: Option<CodePlace>,
    pub(crate) has_reproducer: bool,
}

/// A cache's answer: layer, state, reason.
pub(crate) type CacheKey = (&'static str, String, Option<String>);

/// Compiles that the logs end in: function, and whether the log is cut.
pub(crate) type OpenKey = (Code, bool);

/// Seconds of compile time by phase, each without what it calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PhaseTimes {
    /// All of it.
    pub(crate) total: f64,
    /// Dynamo.
    pub(crate) dynamo: f64,
    /// The backend but for Inductor: AOTAutograd, mostly.
    pub(crate) aot: f64,
    /// Inductor but for code generation.
    pub(crate) inductor: f64,
    /// Code generation.
    pub(crate) code_gen: f64,
    /// Backward graphs that were compiled apart.
    pub(crate) backward: f64,
}

/// A compile and how long it took.
#[derive(Clone, Debug)]
pub(crate) struct Slow {
    pub(crate) seconds: f64,
    pub(crate) code: Code,
    pub(crate) spread: Spread,
    pub(crate) evidence: Shown,
}

/// How many of the slowest compiles are kept.
const SLOWEST: usize = 5;

/// What is kept of the logs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) recompiles: Groups<GroupKey, RecompileGroup>,
    pub(crate) breaks: Groups<breaks::BreakKey, BreakGroup>,
    pub(crate) failures: Groups<FailureKey, Group<FailureKey>>,
    pub(crate) caches: Groups<CacheKey, Group<CacheKey>>,
    pub(crate) cudagraphs: Groups<String, Group<String>>,
    pub(crate) unfinished: Groups<OpenKey, Group<OpenKey>>,
    pub(crate) guards: Groups<Code, Group<Code>>,
    /// The most guards of a compile, and the longest check of them in microseconds.
    pub(crate) most_guards: (i64, Option<i64>),
    pub(crate) problems: Groups<&'static str, Group<&'static str>>,
    /// Logs of which nothing could be read.
    pub(crate) unread: Groups<&'static str, Group<&'static str>>,
    pub(crate) phases: PhaseTimes,
    pub(crate) slowest: Vec<Slow>,
    /// All logs.
    pub(crate) logs: Spread,
}

impl<K: Clone + Eq + std::hash::Hash> Default for Groups<K, Group<K>> {
    fn default() -> Self {
        Self::new(|group| group.key.clone(), Group::merge)
    }
}

impl Gathered {
    /// What is kept of a log.
    pub(crate) fn new(read: OfLog<'_>, causes: &Causes, parts: &Parts) -> Self {
        let OfLog { file, log, bytes, metrics } = read;
        let mut kept =
            Self { recompiles: recompile_groups(read, causes), breaks: causes.breaks.clone(), ..Self::default() };
        let of = Of { file, log };
        kept.take_failures(of, causes);
        for compile in causes.compiles.iter() {
            kept.take_compile(of, metrics, compile);
        }
        for look_up in look_ups(log, bytes, parts) {
            kept.take_look_up(of, bytes, causes, &look_up);
        }
        kept.take_problems(of);
        kept.slowest = only_slowest(kept.slowest);
        kept.logs = of.spread(None);
        kept
    }

    /// These and then `other`'s.
    pub(crate) fn merge(self, other: Self) -> Self {
        let mut slowest = self.slowest;
        let mut logs = self.logs;
        logs.merge(other.logs);
        slowest.extend(other.slowest);
        Self {
            recompiles: self.recompiles.merge(other.recompiles),
            breaks: self.breaks.merge(other.breaks),
            failures: self.failures.merge(other.failures),
            caches: self.caches.merge(other.caches),
            cudagraphs: self.cudagraphs.merge(other.cudagraphs),
            unfinished: self.unfinished.merge(other.unfinished),
            guards: self.guards.merge(other.guards),
            most_guards: (self.most_guards.0.max(other.most_guards.0), self.most_guards.1.max(other.most_guards.1)),
            problems: self.problems.merge(other.problems),
            unread: self.unread.merge(other.unread),
            phases: self.phases.plus(other.phases),
            slowest: only_slowest(slowest),
            logs,
        }
    }

    fn take_failures(&mut self, of: Of<'_>, causes: &Causes) {
        let failed = |fact: &&FailureFact| matches!(fact.event, Event::Failure | Event::Backward);
        // A break that leaves the frame to run as it is says the same, and why.
        let told = |fact: &&FailureFact| fact.event == Event::Failure && causes.fell_back.contains(&fact.compile);
        for fact in causes.failures.iter().filter(failed).filter(|fact| !told(fact)) {
            let Some(compile) = causes.compiles.get_at(fact.compile) else { continue };
            let message = failure_words(&fact.reason);
            let key = FailureKey {
                is_backward: fact.event == Event::Backward,
                error: fact.error.clone(),
                message: blank(&without_temporary(&message)),
                own: fact.own.clone(),
                has_reproducer: compile.has_reproducer,
            };
            let group = of.group(key, fact.lost_s, Some(compile), of.record(Some(fact.record)));
            self.failures.add(Group { example: Some(message), codes: vec![fact.code.clone()], ..group });
        }
    }

    fn take_compile(&mut self, of: Of<'_>, metrics: &MetricRecords<'_>, compile: &Compile) {
        let measured = compile.metrics.last().copied();
        if compile.unfinished {
            let is_cut = of.log.state == LogState::Truncated;
            self.unfinished.add(of.group(
                (compile.code_owned(), is_cut),
                None,
                Some(compile),
                of.record(compile.start),
            ));
        }
        if let Some(reason) = &compile.cudagraph_skip {
            let group = of.group(reason.clone(), None, Some(compile), of.record(measured));
            self.cudagraphs.add(group);
        }
        if compile.guards.is_some_and(|guards| guards >= super::guards::MANY) {
            let latency = compile.metrics.iter().filter_map(|&at| metrics.fields(at).int("guard_latency_us")).max();
            self.most_guards = (self.most_guards.0.max(compile.guards.unwrap_or(0)), self.most_guards.1.max(latency));
            self.guards.add(of.group(compile.code_owned(), None, Some(compile), of.record(measured)));
        }
        let Some(seconds) = sum(compile.phases.frame_s, compile.phases.backward_s) else { return };
        self.phases = self.phases.plus(PhaseTimes::of(compile));
        self.slowest.push(Slow {
            seconds,
            code: compile.code_owned(),
            spread: of.spread(Some(compile)),
            evidence: of.record(measured),
        });
        if self.slowest.len() > 8 * SLOWEST {
            self.slowest = only_slowest(std::mem::take(&mut self.slowest));
        }
    }

    fn take_look_up(&mut self, of: Of<'_>, bytes: &[u8], causes: &Causes, look_up: &LookUp) {
        let reason = (look_up.state == "bypass").then(|| {
            let payload =
                of.log.index.records.get(look_up.record).map(|record| of.log.index.payload(record, bytes).text());
            let payload = payload.unwrap_or_default();
            let member = |name: &[u8]| json::member(&payload, name).and_then(json::unescape);
            member(b"cache_bypass_reason").or_else(|| member(b"_reason")).map(|reason| super::words::short(&reason))
        });
        let (generation, id) = look_up.key;
        let compile = causes.compiles.get(generation, id);
        // What a miss costs is what Inductor then takes; only that layer is asked, so that it counts once.
        let cost = compile.filter(|_| look_up.layer == "fx_graph" && look_up.part.is_none_or(|part| part.number == 0));
        let cost_s = cost.and_then(|compile| sum(compile.phases.inductor_s, compile.phases.backward_s));
        let key = (look_up.layer, look_up.state.clone(), reason.flatten());
        self.caches.add(of.group(key, cost_s, compile, of.record(Some(look_up.record))));
    }

    fn take_problems(&mut self, of: Of<'_>) {
        if of.log.state == LogState::Unreadable || of.log.state == LogState::Empty {
            self.unread.add(of.group(of.log.state.name(), None, None, of.record(None)));
            return;
        }
        for problem in &of.log.index.problems {
            if problem.kind.severity() == Severity::Error {
                let group = of.group(problem.kind.name(), None, None, of.byte(problem.offset));
                self.problems.add(Group { example: Some(problem.detail.clone()), ..group });
            }
        }
    }
}

/// A log and its number.
#[derive(Clone, Copy)]
struct Of<'a> {
    file: u32,
    log: &'a Log,
}

impl Of<'_> {
    fn spread(self, compile: Option<&Compile>) -> Spread {
        let rank = compile.and_then(|compile| self.log.index.records.get(compile.first)).and_then(|record| record.rank);
        Spread::of(self.file, rank.or(self.log.rank), compile.map(|compile| compile.id))
    }

    /// The record of this number; the log as a whole without one.
    fn record(self, number: Option<usize>) -> Shown {
        let record = number.and_then(|at| self.log.index.records.get(at));
        Shown { file: self.file, offset: record.map(|record| record.offset), record: number }
    }

    /// A stretch that may be no record.
    const fn byte(self, offset: u64) -> Shown {
        Shown { file: self.file, offset: Some(offset), record: None }
    }

    fn group<K>(self, key: K, cost_s: Option<f64>, compile: Option<&Compile>, shown: Shown) -> Group<K> {
        Group {
            key,
            count: 1,
            cost_s,
            spread: self.spread(compile),
            example: None,
            codes: Vec::new(),
            evidence: vec![shown],
        }
    }
}

fn only_slowest(mut list: Vec<Slow>) -> Vec<Slow> {
    list.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    list.truncate(SLOWEST);
    list
}

impl PhaseTimes {
    fn of(compile: &Compile) -> Self {
        let phases = &compile.phases;
        let [frame, backend, inductor, code_gen, backward] =
            [phases.frame_s, phases.backend_s, phases.inductor_s, phases.code_gen_s, phases.backward_s]
                .map(|seconds| seconds.filter(|s| s.is_finite()).unwrap_or(0.0));
        Self {
            total: frame + backward,
            dynamo: (frame - backend).max(0.0),
            aot: (backend - inductor).max(0.0),
            inductor: (inductor - code_gen).max(0.0),
            code_gen,
            backward,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            dynamo: self.dynamo + other.dynamo,
            aot: self.aot + other.aot,
            inductor: self.inductor + other.inductor,
            code_gen: self.code_gen + other.code_gen,
            backward: self.backward + other.backward,
        }
    }
}
