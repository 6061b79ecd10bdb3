//! Whether the ranks of a job compiled the same things, and where they differ.
//!
//! Ranks are joined by compile id and place in the log, never by the order of a folder. Each diagnostic ends in
//! one of three ways: the same, different, or unknown; what cannot be judged is never called fine. Compared is the
//! newest start of each rank, unless others were started over since.

mod cells;
mod collectives;
mod compiles;
mod exec_order;
mod facts;
mod last_thing;
mod parity;
mod rank_table;
mod runtimes;
mod skew;
mod spots;
mod standing;
mod tables;
mod tally;
mod timing;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

pub use cells::{Difference, Group, Unjudged, rank_list};
pub(crate) use facts::facts;
pub use facts::{Facts, Key, ScheduleFact, Texts};
pub use last_thing::{LastCompile, LastThing, OpenStep};
pub(crate) use skew::shown;
pub use skew::{Skew, SkewOptions};
pub use standing::{Last, LastState, RankState, Standing};
pub(super) use tables::{DIAGNOSTICS, DIVERGENCE, RANKS, SKEW};
pub use tally::Tally;
pub use timing::{Clock, CompileTime, LogTime};

use crate::trace::{Log, LogState, Trace};
use parity::Subject;

/// What was found when one aspect was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// All that can be compared is the same, and all could be compared.
    Same,
    /// Something differs.
    Differs,
    /// Nothing differs in what could be compared, but not all could.
    Unknown,
}

impl Verdict {
    /// Name in tables and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs => "differs",
            Self::Unknown => "unknown",
        }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aspect {
    /// Which compile ids there are.
    CompileIds,
    /// What they stand for: functions and graphs.
    Code,
    /// Why they were recompiled.
    Recompiles,
    /// Answers of the caches.
    Cache,
    /// Collectives of each graph in their order.
    Collectives,
    /// Collectives in the schedule and in the code, and waits for them; each rank by itself.
    Parity,
    /// Shapes, strides and types of what operations yield.
    Tensors,
    /// Estimated runtimes of graphs.
    Runtimes,
    /// The order in which graphs ran.
    ExecOrder,
}

impl Aspect {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CompileIds => "compile ids",
            Self::Code => "code",
            Self::Recompiles => "recompile reasons",
            Self::Cache => "cache",
            Self::Collectives => "collectives",
            Self::Parity => "collectives and code",
            Self::Tensors => "tensors",
            Self::Runtimes => "runtimes",
            Self::ExecOrder => "execution order",
        }
    }
}

/// The result of comparing one aspect.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// What was compared.
    pub aspect: Aspect,
    /// How it ended.
    pub verdict: Verdict,
    /// The result in a sentence, with the ranks on each side of the first difference.
    pub sentence: String,
    /// What differs, in the order of ids and places.
    pub differences: Vec<Difference>,
    /// Further places that differ, beyond those that are kept.
    pub more: usize,
    /// What could not be judged, and why.
    pub unknown: Vec<Unjudged>,
}

/// A log that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Number of the log in the trace.
    pub log: usize,
    /// Its rank.
    pub rank: i32,
    /// What is known of it.
    pub facts: &'a Facts,
}

/// The results of a job.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Ranks that were compared.
    pub ranks: Vec<i32>,
    /// Ranks whose logs are left out, and why.
    pub left_out: Vec<(i32, String)>,
    /// Ranks that the numbers leave out, from 0 to the highest; none where only some were asked for.
    pub missing: Vec<i32>,
    /// The results, the peer's seven diagnostics among them.
    pub diagnostics: Vec<Diagnostic>,
    /// How long the ranks took for each compile.
    pub skews: Vec<Skew>,
    /// How each rank stands, those without a log included.
    pub standings: Vec<Standing>,
}

impl Comparison {
    /// Ranks that are not of the largest group at some place.
    pub fn odd_ranks(&self) -> BTreeSet<i32> {
        let judged = self.diagnostics.iter().filter(|d| d.aspect != Aspect::Runtimes);
        let groups = judged.flat_map(|d| &d.differences).flat_map(|d| d.groups.iter().skip(1));
        groups.flat_map(|group| group.ranks.iter().copied()).collect()
    }
}

/// Compares the ranks of a job. `facts` are those of the trace's logs, in their order.
pub fn compare(trace: &Trace, facts: &[Facts]) -> Comparison {
    let (members, left_out) = members(trace, facts);
    let compared: BTreeSet<usize> = members.iter().map(|m| m.log).collect();
    let subjects: Vec<Subject<'_>> = trace
        .logs
        .iter()
        .zip(facts)
        .enumerate()
        .filter(|(at, _)| compared.is_empty() || compared.contains(at))
        .map(|(log, (of, facts))| Subject { log, rank: of.rank, name: of.name(), facts })
        .collect();
    let expected = standing::expected(trace, &members);
    let present: BTreeSet<i32> = trace.logs.iter().filter_map(|log| log.rank).collect();
    let missing: Vec<i32> = expected.difference(&present).copied().collect();
    let mut ranks: Vec<i32> = left_out.iter().map(|(rank, _)| *rank).chain(missing.iter().copied()).collect();
    ranks.sort_unstable();
    let aspects: [&(dyn Fn() -> Diagnostic + Sync); 9] = [
        &|| compiles::compile_ids(&members),
        &|| compiles::code(&members),
        &|| compiles::recompiles(&members),
        &|| compiles::cache(&members),
        &|| collectives::collectives(&members),
        &|| parity::parity(&subjects),
        &|| runtimes::tensors(trace, &members),
        &|| runtimes::runtimes(&members),
        &|| exec_order::exec_order(&members),
    ];
    let mut diagnostics: Vec<Diagnostic> = aspects.par_iter().map(|aspect| aspect()).collect();
    for diagnostic in &mut diagnostics {
        if members.len() < 2 && diagnostic.aspect != Aspect::Parity {
            diagnostic.verdict = Verdict::Unknown;
            diagnostic.sentence = match (members.first(), left_out.is_empty()) {
                (None, true) => "No log names a rank, so that there is nothing to compare.".to_owned(),
                (None, false) => "No log of a rank can be compared.".to_owned(),
                (Some(only), _) => {
                    format!("Only the log of rank {} can be compared, so that there is no other.", only.rank)
                }
            };
        } else if diagnostic.verdict == Verdict::Same && !ranks.is_empty() {
            diagnostic.verdict = Verdict::Unknown;
            diagnostic.sentence += &format!(" Of {} nothing is known.", rank_list(&ranks));
        }
    }
    let differences: Vec<Difference> = diagnostics.iter().flat_map(|d| d.differences.clone()).collect();
    let standings = standing::standings(trace, (&members, &left_out), &differences);
    let skews = skews(&members);
    Comparison { ranks: members.iter().map(|m| m.rank).collect(), left_out, missing, diagnostics, skews, standings }
}

/// The times of each compile over all ranks.
fn skews(members: &[Member<'_>]) -> Vec<Skew> {
    let keys: BTreeSet<Key> = members.iter().flat_map(|m| m.facts.compiles.keys().copied()).collect();
    let of = |key: &Key| {
        let sample = |m: &Member<'_>| {
            let compile = m.facts.compiles.get(key)?;
            Some(skew::Sample { rank: m.rank, log: m.log, record: compile.first, time: compile.time })
        };
        let samples: Vec<skew::Sample> = members.iter().filter_map(sample).collect();
        let code = members.iter().find_map(|m| m.facts.compiles.get(key)?.code.as_deref());
        skew::skew(*key, (code.map(str::to_owned), None, None), &samples)
    };
    keys.iter().collect::<Vec<_>>().into_par_iter().map(of).collect()
}

/// The log of the newest start of a rank. Logs stand by rank and time, so that it is the last, but for processes that
/// were begun while another of the rank was at work: these are its children.
fn newest_start(trace: &Trace, rank: i32) -> Option<(usize, &Log)> {
    let own = |(_, log): &(usize, &Log)| log.rank == Some(rank) && log.parent.is_none();
    let mut starts = trace.logs.iter().enumerate().filter(own).rev();
    let mut newest = starts.next()?;
    for (at, log) in starts.take_while(|(_, log)| log.run == newest.1.run) {
        if log.last_us.zip(newest.1.first_us).is_some_and(|(end, begin)| end > begin) {
            newest = (at, log);
        }
    }
    Some(newest)
}

/// The logs that are compared.
fn members<'a>(trace: &Trace, facts: &'a [Facts]) -> (Vec<Member<'a>>, Vec<(i32, String)>) {
    let mut runs: BTreeMap<i32, BTreeSet<u32>> = BTreeMap::new();
    for log in trace.logs.iter().filter(|log| log.records() > 0) {
        if let Some(rank) = log.rank {
            runs.entry(rank).or_default().insert(log.run);
        }
    }
    // A run that was started over has a rank in a later one, too. Where no rank comes twice, logs that lie far
    // apart in time were gathered, or have clocks that differ.
    let restarted: BTreeSet<u32> = runs.values().flat_map(|of_rank| of_rank.iter().copied().rev().skip(1)).collect();
    let mut members: Vec<Member<'a>> = Vec::new();
    let mut left_out = Vec::new();
    let ranks: BTreeSet<i32> = trace.logs.iter().filter_map(|log| log.rank).collect();
    for rank in ranks {
        let newest = newest_start(trace, rank);
        let Some((at, log)) = newest else { continue };
        let why = match log.state {
            LogState::Unreadable => Some("its log could not be read"),
            LogState::Empty => Some("its log has no record"),
            _ if restarted.contains(&log.run) => Some("its newest log is of an earlier start of the job"),
            _ => None,
        };
        match (why, facts.get(at)) {
            (Some(why), _) => left_out.push((rank, why.to_owned())),
            (None, Some(facts)) => members.push(Member { log: at, rank, facts }),
            (None, None) => {}
        }
    }
    (members, left_out)
}
