//! What findings are made from: a little of each log, brought together over all of them.

use rustc_hash::FxHashSet;

use crate::analysis::cache::{LookUp, bypass_reason, look_ups};
use crate::analysis::causes::failures::{Event, FailureFact, failures};
use crate::analysis::causes::{
    BreakGroup, Code, GROUPS, GroupKey, Groups, OfLog, RecompileGroup, Shown, Spread, Texts, append, break_groups,
    breaks, recompile_groups, short_code, short_place, sum,
};
use crate::analysis::compiles::{Compile, Compiles};
use crate::analysis::findings::words::{failure_words, without_temporary};
use crate::analysis::parts::Parts;
use crate::format::code_place::CodePlace;
use crate::format::compile_id::CompileId;
use crate::format::recompile_reason::blank;
use crate::format::text::shorten;
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
        append(&mut self.evidence, other.evidence);
    }
}

/// No compile takes this long: such a number is damage.
const CENTURY_S: f64 = 3e9;
/// Characters of a text that are kept.
const WORDS: usize = 600;
/// Most functions of a group that are kept.
const CODES: usize = 4;

/// What failures have in common: what happened, class, the message without its numbers, the line of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FailureKey {
    pub(crate) is_backward: bool,
    /// Whether the log says that the function runs as it is.
    pub(crate) fell_back: bool,
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

/// A function with many guards.
#[derive(Clone, Debug)]
pub(crate) struct GuardGroup {
    /// Its compiles that have many.
    pub(crate) group: Group<Code>,
    /// The most guards of one of them.
    pub(crate) most: i64,
    /// The longest check of them, in microseconds.
    pub(crate) latency_us: Option<i64>,
}

impl Default for Groups<Code, GuardGroup> {
    fn default() -> Self {
        let join = |known: &mut GuardGroup, other: GuardGroup| {
            known.group.merge(other.group);
            known.most = known.most.max(other.most);
            known.latency_us = known.latency_us.max(other.latency_us);
        };
        Self::new(|one: &GuardGroup| one.group.key.clone(), join).at_most(GROUPS)
    }
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
    pub(crate) guards: Groups<Code, GuardGroup>,
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
        Self::new(|group: &Group<K>| group.key.clone(), Group::merge).at_most(GROUPS)
    }
}

impl Gathered {
    /// What is kept of a log.
    pub(crate) fn new(read: OfLog<'_>, compiles: &Compiles, parts: &Parts) -> Self {
        let OfLog { file, log, bytes, metrics } = read;
        let (recompiles, ((breaks, fell_back), failures)) = rayon::join(
            || recompile_groups(read, compiles, Texts::Short),
            || rayon::join(|| break_groups(read, compiles, Texts::Short), || failures(read, compiles)),
        );
        let mut kept = Self { recompiles, breaks, ..Self::default() };
        let of = Of { file, log };
        kept.take_failures(of, compiles, (&failures, &fell_back));
        for compile in compiles.iter() {
            kept.take_compile(of, metrics, compile);
        }
        let mut counted = FxHashSet::default();
        for look_up in look_ups(log, bytes, parts) {
            kept.take_look_up(of, (bytes, compiles), &look_up, &mut counted);
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
            problems: self.problems.merge(other.problems),
            unread: self.unread.merge(other.unread),
            phases: self.phases.plus(other.phases),
            slowest: only_slowest(slowest),
            logs,
        }
    }

    fn take_failures(
        &mut self,
        of: Of<'_>,
        compiles: &Compiles,
        (failures, fell_back): (&[FailureFact], &FxHashSet<usize>),
    ) {
        let failed = |fact: &&FailureFact| matches!(fact.event, Event::Failure | Event::Backward);
        for fact in failures.iter().filter(failed) {
            let Some(compile) = compiles.get_at(fact.compile) else { continue };
            let message = failure_words(&fact.reason);
            let key = FailureKey {
                is_backward: fact.event == Event::Backward,
                error: fact.error.as_deref().map(|error| shorten(error, WORDS)),
                message: shorten(&blank(&without_temporary(&message)), WORDS),
                fell_back: fact.event == Event::Failure && fell_back.contains(&fact.compile),
                own: fact.own.as_ref().map(short_place),
                has_reproducer: compile.has_reproducer,
            };
            let group = of.group(key, fact.lost_s, Some(compile), of.record(Some(fact.record)));
            self.failures.add(Group {
                example: Some(shorten(&message, WORDS)),
                codes: vec![short_code(fact.code.clone())],
                ..group
            });
        }
    }

    fn take_compile(&mut self, of: Of<'_>, metrics: &MetricRecords<'_>, compile: &Compile) {
        let measured = compile.metrics.last().copied();
        if compile.unfinished {
            let is_cut = of.log.state == LogState::Truncated;
            self.unfinished.add(of.group(
                (short_code(compile.code_owned()), is_cut),
                None,
                Some(compile),
                of.record(compile.start),
            ));
        }
        if let Some(reason) = &compile.cudagraph_skip {
            let group = of.group(shorten(reason, WORDS), None, Some(compile), of.record(measured));
            self.cudagraphs.add(group);
        }
        if compile.guards.is_some_and(|guards| guards >= super::guards::MANY) {
            let latency_us = compile.metrics.iter().filter_map(|&at| metrics.fields(at).int("guard_latency_us")).max();
            let group = of.group(short_code(compile.code_owned()), None, Some(compile), of.record(measured));
            self.guards.add(GuardGroup { group, most: compile.guards.unwrap_or(0), latency_us });
        }
        let seconds = sum(compile.phases.frame_s, compile.phases.backward_s).filter(|s| (0.0..CENTURY_S).contains(s));
        let Some(seconds) = seconds else { return };
        self.phases = self.phases.plus(PhaseTimes::of(compile));
        self.slowest.push(Slow {
            seconds,
            code: short_code(compile.code_owned()),
            spread: of.spread(Some(compile)),
            evidence: of.record(measured),
        });
        if self.slowest.len() > 8 * SLOWEST {
            self.slowest = only_slowest(std::mem::take(&mut self.slowest));
        }
    }

    fn take_look_up(
        &mut self,
        of: Of<'_>,
        (bytes, compiles): (&[u8], &Compiles),
        look_up: &LookUp,
        counted: &mut FxHashSet<((u32, CompileId), bool)>,
    ) {
        let record = of.log.index.records.get(look_up.record).filter(|_| look_up.state == "bypass");
        let reason = record.and_then(|record| bypass_reason(&of.log.index.payload(record, bytes).text()));
        let reason = reason.map(|reason| super::words::short(&reason));
        let (generation, id) = look_up.key;
        let compile = compiles.get(generation, id);
        // What a miss costs is what Inductor then takes: for a forward and a backward graph once each.
        let is_backward = look_up.part.and_then(|part| part.is_backward) == Some(true);
        let is_first =
            look_up.layer == "fx_graph" && look_up.state != "hit" && counted.insert((look_up.key, is_backward));
        let phases = compile.filter(|_| is_first).map(|compile| compile.phases);
        let cost_s = phases.and_then(|phases| if is_backward { phases.backward_s } else { phases.inductor_s });
        let key = (look_up.layer, look_up.state.clone(), reason);
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
                self.problems.add(Group { example: Some(shorten(&problem.detail, WORDS)), ..group });
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
                .map(|seconds| seconds.filter(|s| (0.0..CENTURY_S).contains(s)).unwrap_or(0.0));
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
