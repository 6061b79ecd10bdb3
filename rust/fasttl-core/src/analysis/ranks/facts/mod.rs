//! What the comparison of ranks keeps of each log: little, since a job has hundreds of them.

pub(super) mod conditions;
mod groups;
pub(super) mod inputs;
mod noise;
mod profile;
mod said;

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

pub use profile::{Key, ParityFact, Profile, ScheduleFact, Texts};
pub(super) use profile::{RuntimeFact, Said, Value};

use super::kept_time::KeptTime;
use super::tally::{Tally, tally};
use super::timing::{CompileTime, LogTime, timing};
use crate::analysis::cache::{LookUp, look_ups};
use crate::analysis::compiles::{Compile, Compiles};
use crate::analysis::exec_order::{Recording, recordings};
use crate::analysis::parts::Parts;
use crate::analysis::runtimes::GraphOps;
use crate::analysis::schedules::{NO_NAME, Parity, Schedule, schedules};
use crate::analysis::symbols;
use crate::analysis::versions::{Versions, versions};
use crate::format::code_place::file_name;
use crate::format::kind::Kind;
use crate::format::payload::md5;
use crate::index::{Problem, ProblemKind};
use crate::tables::MetricRecords;
use crate::trace::{Log, LogState};
use said::{LastSettings, MoreRecords, OfLog, said};
pub(super) use said::{NO_BREAK, OF_ANY_RANK};

/// A fact with the record that has it.
pub(super) type Shown<T> = (usize, T);

/// How much of what its process wrote a log has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wholeness {
    /// All, as far as can be told.
    #[default]
    Whole,
    /// Its end is missing, or it ends in the middle of a compile: what comes after is not known.
    Cut,
    /// Records are lost in it: anything that it lacks may have been there.
    Damaged,
}

/// One compile of a log.
#[derive(Clone, Debug)]
pub struct CompileFact {
    /// What it is compared by.
    pub profile: Arc<Profile>,
    /// Graphs and the process groups of their collectives, see `groups.rs`.
    pub(super) groups: Option<Arc<str>>,
    /// Its first record.
    first: u32,
    /// Where its records begin in those of the log.
    records: u32,
    /// When it ran, and for how long.
    time: KeptTime,
}

impl CompileFact {
    /// Its first record.
    pub const fn first(&self) -> usize {
        self.first as usize
    }

    /// When it ran, and for how long.
    pub fn time(&self) -> CompileTime {
        self.time.into()
    }
}

/// One log.
#[derive(Debug, Default)]
pub struct Facts {
    /// Its compiles, in the order of their first records.
    pub compiles: Vec<CompileFact>,
    /// Records of what is said of them, compile by compile in the order of the profile: said, schedules, runtimes.
    records: Vec<u32>,
    /// The orders in which its graphs ran.
    pub recordings: Vec<Recording>,
    /// Collectives of records that belong to no compile of a frame, by what ids they have.
    pub loose: BTreeMap<Key, Vec<Shown<ScheduleFact>>>,
    /// The process groups that its graphs use.
    pub(super) groups: FxHashSet<Arc<str>>,
    /// Whether what is missing in it may have been there.
    pub wholeness: Wholeness,
    /// When it compiled, and what it did last.
    pub time: LogTime,
    /// What it is counted for.
    pub tally: Tally,
    /// What made it.
    pub(super) versions: Versions,
    /// The record that tells the version of PyTorch.
    pub(super) version_record: Option<usize>,
}

impl Facts {
    fn record(&self, compile: &CompileFact, nth: usize) -> usize {
        self.records.get(compile.records as usize + nth).map_or(compile.first(), |at| *at as usize)
    }

    /// What is said of a compile, with the records.
    pub(super) fn said<'f>(&'f self, compile: &'f CompileFact) -> impl Iterator<Item = Shown<&'f Said>> + 'f {
        compile.profile.said.iter().enumerate().map(|(nth, said)| (self.record(compile, nth), said))
    }

    /// The collectives of a compile, graph by graph, with the records.
    pub fn schedules<'f>(&'f self, compile: &'f CompileFact) -> impl Iterator<Item = Shown<&'f ScheduleFact>> + 'f {
        let before = compile.profile.said.len();
        compile.profile.schedules.iter().enumerate().map(move |(nth, fact)| (self.record(compile, before + nth), fact))
    }

    /// The operations of a compile, graph by graph, with the records.
    pub(super) fn runtimes<'f>(
        &'f self,
        compile: &'f CompileFact,
    ) -> impl Iterator<Item = Shown<&'f RuntimeFact>> + 'f {
        let before = compile.profile.said.len() + compile.profile.schedules.len();
        compile.profile.runtimes.iter().enumerate().map(move |(nth, fact)| (self.record(compile, before + nth), fact))
    }

    /// All collectives of the log, with the compile or the ids that they belong to.
    pub fn all_schedules(&self) -> impl Iterator<Item = (Key, Shown<&ScheduleFact>)> + '_ {
        let of_compiles = self.compiles.iter().flat_map(|c| self.schedules(c).map(|shown| (c.profile.key, shown)));
        let loose = self.loose.iter().flat_map(|(key, all)| all.iter().map(|(record, fact)| (*key, (*record, fact))));
        of_compiles.chain(loose)
    }
}

/// Gathers the facts of a log. `bytes` are the log's; compiles, parts and graphs with their operations are those
/// that were found in it.
pub(crate) fn facts(
    (log, bytes, metrics): (&Log, &[u8], &MetricRecords<'_>),
    (compiles, parts, graphs): (&Compiles, &Parts, &[GraphOps]),
    texts: &Texts,
) -> Facts {
    let of = OfLog { log, bytes, metrics, texts };
    let look_ups = look_ups(log, bytes, parts);
    let tally = tally(log, bytes, compiles, &look_ups);
    let mut more = more_records(log, look_ups);
    let (mut with_schedules, loose) = schedule_facts(of, parts, compiles);
    let mut with_runtimes = runtime_facts(texts, graphs);
    let mut time = timing(log, bytes, compiles);
    let times = std::mem::take(&mut time.compiles);
    // A log may hold records of another rank, too; and what only ran is no compile.
    let own = |compile: &&Compile| {
        let rank = log.index.records.get(compile.first).and_then(|r| r.rank);
        (rank.is_none() || rank == log.index.rank) && compile.was_compiled()
    };
    let own: Vec<_> = compiles
        .iter()
        .zip(times)
        .filter(|(compile, _)| own(compile))
        .map(|(compile, time)| {
            let key = (compile.generation, compile.id);
            let of_key = (
                more.remove(&key).unwrap_or_default(),
                with_schedules.remove(&key).unwrap_or_default(),
                with_runtimes.remove(&key).unwrap_or_default(),
            );
            (compile, time, of_key)
        })
        .collect();
    let made: Vec<_> = own
        .into_par_iter()
        .map_init(LastSettings::default, |last, (compile, time, (more, schedules, runtimes))| {
            let (profile, records) = of_compile(of, compile, &more, (schedules, runtimes), last);
            let groups = groups::groups(of, &profile.said, &records);
            let first = u32::try_from(compile.first).unwrap_or(u32::MAX);
            (texts.keep_profile(profile), first, time, (groups, records))
        })
        .collect();
    let mut facts = Facts { recordings: recordings(log, bytes), loose, time, tally, ..Facts::default() };
    for (profile, first, time, (groups, records)) in made {
        let at = u32::try_from(facts.records.len()).unwrap_or(u32::MAX);
        facts.compiles.push(CompileFact { profile, groups, first, records: at, time: time.into() });
        facts.records.extend(records);
    }
    let names: FxHashSet<&str> = facts.compiles.iter().flat_map(CompileFact::groups).map(|(_, name)| name).collect();
    facts.groups = names.into_iter().map(|name| texts.keep(name)).collect();
    facts.wholeness = wholeness(log, bytes, &facts);
    facts.versions = versions(log, bytes);
    facts.version_record = log.index.records.iter().position(|r| log.index.names.name(r) == Some("torch_version"));
    facts
}

fn wholeness(log: &Log, bytes: &[u8], facts: &Facts) -> Wholeness {
    let lost = |p: &Problem| {
        matches!(
            p.kind,
            ProblemKind::BadJson
                | ProblemKind::TornRecord
                | ProblemKind::OrphanPayload
                | ProblemKind::NoKind
                | ProblemKind::BadCompression
        ) || (p.kind == ProblemKind::ForeignText && was_record(p, bytes))
    };
    let cut = |p: &Problem| p.kind == ProblemKind::CutShort;
    if log.index.problems.iter().any(lost) {
        return Wholeness::Damaged;
    }
    let unfinished = facts.compiles.iter().any(|c| c.profile.unfinished);
    if log.state != LogState::Complete || unfinished || log.index.problems.iter().any(cut) {
        return Wholeness::Cut;
    }
    Wholeness::Whole
}

/// Records by compile that a pass over compiles does not list.
fn more_records(log: &Log, look_ups: Vec<LookUp>) -> FxHashMap<Key, MoreRecords> {
    let mut more: FxHashMap<Key, MoreRecords> = FxHashMap::default();
    for (at, record) in log.index.records.iter().enumerate() {
        let describes = record.kind.is(Kind::DescribeTensor) || record.kind.is(Kind::DescribeSource);
        if describes || symbols::is_fact(record.kind) {
            let key = (record.generation, log.index.names.id(record).without_attempt());
            let of_key = more.entry(key).or_default();
            if describes { of_key.described.push(at) } else { of_key.symbols.push(at) }
        }
    }
    for found in look_ups {
        more.entry(found.key).or_default().look_ups.push(found);
    }
    more
}

type ByKey<T> = FxHashMap<Key, Vec<Shown<T>>>;

/// The collectives of each compile, and those that belong to none.
fn schedule_facts(
    of: OfLog<'_>,
    parts: &Parts,
    compiles: &Compiles,
) -> (ByKey<ScheduleFact>, BTreeMap<Key, Vec<Shown<ScheduleFact>>>) {
    let OfLog { log, bytes, texts, .. } = of;
    let (mut owned, mut loose) = (ByKey::default(), BTreeMap::new());
    // By try, the last one last: it is the one that holds.
    for ((generation, id), found) in schedules(log, bytes, parts, &texts.graphs) {
        let key = (generation, id.without_attempt());
        let kept = found.into_iter().map(|schedule| (schedule.record, schedule_fact(schedule, texts))).collect();
        if compiles.get(generation, id).is_some_and(Compile::was_compiled) {
            owned.insert(key, kept);
        } else {
            loose.insert(key, kept);
        }
    }
    (owned, loose)
}

fn schedule_fact(schedule: Schedule, texts: &Texts) -> ScheduleFact {
    let ops = match schedule.ops {
        Ok(ops) if ops.iter().any(|op| op == NO_NAME) => Err(texts.keep("an operator of its schedule has no name")),
        Ok(ops) => Ok(texts.keep(&ops.iter().map(|op| op.replace('\n', " ") + "\n").collect::<String>())),
        Err(why) => Err(texts.keep(&why)),
    };
    let parity = match schedule.parity {
        Parity::Compared { offset, reordered, missing_waits, .. } => {
            ParityFact::Compared { offset, reordered, missing_waits }
        }
        Parity::Unknown(why) => ParityFact::Unknown(texts.keep(&why)),
        Parity::Nothing => ParityFact::Nothing,
    };
    ScheduleFact { source: schedule.source, part: schedule.part, ops, parity }
}

/// The operations of each compile, of its last try.
fn runtime_facts(texts: &Texts, graphs: &[GraphOps]) -> ByKey<RuntimeFact> {
    let mut tries: FxHashMap<Key, i64> = FxHashMap::default();
    for graph in graphs {
        let attempt = tries.entry(graph.key).or_insert(graph.attempt);
        *attempt = graph.attempt.max(*attempt);
    }
    let mut found = ByKey::default();
    for graph in graphs.iter().filter(|g| tries.get(&g.key) == Some(&g.attempt)) {
        let outputs = graph.outputs().map(|all| md5(all.join("\n").as_bytes())).map_err(|why| texts.keep(why));
        let fact = RuntimeFact::new(graph.part, outputs, graph.total_ns());
        found.entry(graph.key).or_default().push((graph.record, fact));
    }
    found
}

type OfKey = (Vec<Shown<ScheduleFact>>, Vec<Shown<RuntimeFact>>);

fn of_compile(
    of: OfLog<'_>,
    compile: &Compile,
    more: &MoreRecords,
    (schedules, runtimes): OfKey,
    last: &mut LastSettings,
) -> (Profile, Vec<u32>) {
    let (said, mut records) = said(of, compile, more, last);
    let (at_schedules, schedules): (Vec<usize>, Vec<ScheduleFact>) = schedules.into_iter().unzip();
    let (at_runtimes, runtimes): (Vec<usize>, Vec<RuntimeFact>) = runtimes.into_iter().unzip();
    records.extend(at_schedules.into_iter().chain(at_runtimes).map(|at| u32::try_from(at).unwrap_or(u32::MAX)));
    let profile = Profile {
        key: (compile.generation, compile.id),
        name: compile.name.as_deref().map(|name| of.texts.keep(name)),
        file: compile.file.as_deref().map(|file| of.texts.keep(without_count(file_name(file)))),
        line: compile.line,
        status: compile.status,
        unfinished: compile.unfinished,
        is_recompile: compile.is_recompile(),
        said,
        schedules,
        runtimes,
    };
    (profile, records)
}

/// Whether foreign text stands where a record was: output of the program does not, a piece of a record or a hole does.
fn was_record(problem: &Problem, bytes: &[u8]) -> bool {
    let start = usize::try_from(problem.offset).unwrap_or(usize::MAX);
    let end = start.saturating_add(usize::try_from(problem.len).unwrap_or(usize::MAX)).min(bytes.len());
    let text = bytes.get(start..end).unwrap_or_default();
    memchr::memchr(0, text).is_some() || memchr::memmem::find(text, b"] {\"").is_some()
}

/// The name of a file without what PyTorch counts over the whole process: `<eval_with_key>.7`.
fn without_count(file: &str) -> &str {
    match file.split_once(">.") {
        Some((name, number)) if name.starts_with('<') && number.bytes().all(|b| b.is_ascii_digit()) => {
            file.get(..name.len() + 1).unwrap_or(file)
        }
        _ => file,
    }
}
