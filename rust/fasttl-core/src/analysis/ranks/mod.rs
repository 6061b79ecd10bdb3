//! Whether the ranks of a job compiled the same things, where they differ first, and what made them differ.
//!
//! The compiles of all ranks are lined up (`lineup.rs`), never by the order of a folder and not by ids alone. Each
//! compile is then compared aspect by aspect (`said.rs`, `collectives.rs`, `process_groups.rs`, `runtimes.rs`,
//! `compiles.rs`); ranks that are alike in all of it are looked at once (`row.rs`). The order of runs is compared as a whole
//! (`exec_order.rs`). What differs is told by its first line (`detail.rs`) and by what made it differ (`cause.rs`). Each
//! diagnostic ends in one of three ways: the same, different, or unknown; what cannot be judged is never called fine.
//! Compared is the newest start of each rank, unless others were started over since.

mod aspect;
mod cause;
mod cells;
mod collectives;
mod compiles;
mod detail;
mod earlier;
mod exec_order;
mod facts;
mod kept_time;
mod last_thing;
mod lineup;
mod members;
mod parity;
mod process_groups;
mod rank_table;
mod row;
mod run_stretches;
mod runs;
mod runtimes;
mod said;
mod skew;
mod spots;
mod standing;
mod stretches;
mod tables;
mod tally;
mod timing;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

pub use aspect::Aspect;
pub use cells::{Difference, Group, Unjudged, rank_list};
pub(crate) use facts::facts;
pub use facts::{CompileFact, Facts, Key, ParityFact, Profile, ScheduleFact, Texts, Wholeness};
pub use last_thing::{LastCompile, LastThing, OpenStep};
pub use lineup::{Lineup, LineupRow};
pub use members::Member;
pub use parity::Fault;
pub(crate) use skew::shown;
pub use skew::{Skew, SkewOptions};
pub use standing::{Last, LastState, RankState, Standing};
pub(super) use tables::{DIAGNOSTICS, DIVERGENCE, RANKS, SKEW, along_with};
pub use tally::Tally;
pub use timing::{Clock, CompileTime, LogTime};

use crate::error::Result;
use crate::job::Job;
use crate::trace::Trace;
use cells::Found;
use parity::Subject;
use row::Row;

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

/// The result of comparing one aspect.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// What was compared.
    pub aspect: Aspect,
    /// How it ended.
    pub verdict: Verdict,
    /// The result in a sentence, with the ranks on each side of the first difference.
    pub sentence: String,
    /// Places that differ, those that are not kept among them.
    pub differences: usize,
    /// What could not be judged, and why.
    pub unknown: Vec<Unjudged>,
}

/// The results of a job.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Ranks that were compared.
    pub ranks: Vec<i32>,
    /// Number of the log of each.
    pub logs: Vec<usize>,
    /// Ranks whose logs are left out, and why.
    pub left_out: Vec<(i32, String)>,
    /// Ranks that the numbers leave out, from 0 to the highest; none where only some were asked for.
    pub missing: Vec<i32>,
    /// The compiles of all ranks side by side.
    pub lineup: Lineup,
    /// The results, the peer's seven diagnostics among them.
    pub diagnostics: Vec<Diagnostic>,
    /// What differs, the first difference first: by the place in the job's compiles, then in the order of causes.
    pub differences: Vec<Difference>,
    /// Where schedule and code of a rank do not agree.
    pub faults: Vec<Fault>,
    /// How long the ranks took for each compile.
    pub skews: Vec<Skew>,
    /// How each rank stands, those without a log included.
    pub standings: Vec<Standing>,
}

impl Comparison {
    /// Ranks that are not of the largest group at some place; estimates do not count.
    pub fn odd_ranks(&self) -> BTreeSet<i32> {
        let judged = self.differences.iter().filter(|d| d.aspect != Aspect::Runtimes);
        let groups = judged.flat_map(|d| d.groups.iter().skip(1));
        groups.flat_map(|group| group.ranks.iter().copied()).collect()
    }

    /// The differences of one aspect, in order.
    pub fn of_aspect(&self, aspect: Aspect) -> impl Iterator<Item = &Difference> + '_ {
        self.differences.iter().filter(move |difference| difference.aspect == aspect)
    }
}

/// Compares the ranks of a job. `facts` are those of the trace's logs, in their order.
///
/// # Errors
/// A log that changed since it was read, an interrupt.
pub fn compare(trace: &Trace, facts: &[Facts], job: &Job) -> Result<Comparison> {
    let (mut members, mut left_out) = members::members(trace, facts);
    let missing = standing::missing(trace, &members);
    let (mut lineup, too_many) = Lineup::new(&members);
    if !too_many.is_empty() {
        let why = "it has too many compiles that no other rank has";
        left_out.extend(too_many.iter().filter_map(|at| Some((members.get(*at)?.rank, why.to_owned()))));
        left_out.sort_unstable();
        let ranks: BTreeSet<i32> = left_out.iter().map(|(rank, _)| *rank).collect();
        members.retain(|member| !ranks.contains(&member.rank));
        (lineup, _) = Lineup::new(&members);
    }
    let (mut found, has_collectives) = by_aspect(&lineup, &members);
    let mut diagnostics = Vec::new();
    let mut differences = Vec::new();
    let mut faults = Vec::new();
    for aspect in Aspect::ALL {
        if aspect == Aspect::Parity {
            let (diagnostic, of_logs) = parity::parity(&subjects(trace, facts, &members));
            diagnostics.push(diagnostic);
            faults = of_logs;
            continue;
        }
        let (mut same, nothing) = aspect.words();
        let compiles = match lineup.rows.len() {
            1 => "All ranks have the same compile.".to_owned(),
            n => format!("All ranks have the same {n} compiles."),
        };
        if aspect == Aspect::Compiles {
            same = &compiles;
        } else if aspect == Aspect::Collectives && !has_collectives {
            same = "No graph of any rank has a collective.";
        }
        let (diagnostic, of_aspect) = found.remove(&aspect).unwrap_or_default().diagnostic(aspect, same, nothing);
        diagnostics.push(diagnostic);
        differences.extend(of_aspect);
    }
    differences.sort_by_key(|d| (d.aspect != Aspect::Versions, d.row.is_none(), d.row, d.aspect));
    detail::tell(trace, &mut differences, job)?;
    cause::find(trace, (&members, &lineup), &mut differences, job)?;
    resay(&mut diagnostics, &differences);
    lacking_collectives(&mut diagnostics, &differences);
    let mut unknown: Vec<i32> = left_out.iter().map(|(rank, _)| *rank).chain(missing.iter().copied()).collect();
    unknown.sort_unstable();
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
        } else if diagnostic.verdict == Verdict::Same && !unknown.is_empty() {
            diagnostic.verdict = Verdict::Unknown;
            diagnostic.sentence += &compiles::nothing_known(&unknown);
        }
    }
    let standings = standing::standings(trace, (&members, &left_out), &differences);
    let skews = skew::skews(&lineup, &members);
    Ok(Comparison {
        ranks: members.iter().map(|m| m.rank).collect(),
        logs: members.iter().map(|m| m.log).collect(),
        left_out,
        missing,
        lineup,
        diagnostics,
        differences,
        faults,
        skews,
        standings,
    })
}

/// The logs whose schedules are held against their code: all, where no log can be compared with others.
fn subjects<'a>(trace: &Trace, facts: &'a [Facts], members: &[Member<'_>]) -> Vec<Subject<'a>> {
    let compared: BTreeSet<usize> = members.iter().map(|m| m.log).collect();
    let logs = trace.logs.iter().zip(facts).enumerate();
    logs.filter(|(at, _)| compared.is_empty() || compared.contains(at))
        .map(|(log, (of, facts))| Subject { log, rank: of.rank, name: of.name(), facts })
        .collect()
}

/// Compiles that are compared before what was found is brought together.
const ROWS: usize = 512;

/// What was found aspect by aspect, and whether any graph has a collective. Rows are compared side by side, and brought
/// together in their order.
fn by_aspect(lineup: &Lineup, members: &[Member<'_>]) -> (BTreeMap<Aspect, Found>, bool) {
    let ends = row::ends(lineup, members.len());
    let compare = |(number, of): (usize, &LineupRow)| {
        let row = Row::new(number, of, members, &ends);
        let mut found: BTreeMap<Aspect, Found> = BTreeMap::new();
        compiles::compiles(&row, found.entry(Aspect::Compiles).or_default());
        compiles::order(&row, of, members, found.entry(Aspect::Order).or_default());
        for aspect in said::ASPECTS {
            said::said(&row, aspect, found.entry(aspect).or_default());
        }
        let has_collective = collectives::of_row(&row, found.entry(Aspect::Collectives).or_default());
        process_groups::of_row(&row, of, members, found.entry(Aspect::Collectives).or_default());
        let (mut tensors, mut estimates) = (Found::default(), Found::default());
        runtimes::of_row(&row, &mut tensors, &mut estimates);
        found.insert(Aspect::Tensors, tensors);
        found.insert(Aspect::Runtimes, estimates);
        (found, has_collective)
    };
    let mut all: BTreeMap<Aspect, Found> = BTreeMap::new();
    let mut any = false;
    for (nth, rows) in lineup.rows.chunks(ROWS).enumerate() {
        let number = |(at, of)| compare((nth * ROWS + at, of));
        let found: Vec<(BTreeMap<Aspect, Found>, bool)> = rows.par_iter().enumerate().map(number).collect();
        for (found, has_collective) in found {
            any |= has_collective;
            for (aspect, found) in found {
                all.entry(aspect).or_default().take(found);
            }
        }
    }
    any |= collectives::loose(members, all.entry(Aspect::Collectives).or_default());
    all.insert(Aspect::Versions, compiles::versions(members));
    all.insert(Aspect::ExecOrder, exec_order::exec_order(members));
    let settings = all.entry(Aspect::Configuration).or_default();
    settings.differences = compiles::fold_equal(std::mem::take(&mut settings.differences));
    let compiled = all.entry(Aspect::Compiles).or_default();
    let ends: FxHashMap<i32, Option<usize>> = members.iter().map(|m| m.rank).zip(ends).collect();
    let differences = std::mem::take(&mut compiled.differences);
    compiled.differences = compiles::fold_tails(differences, |rank| ends.get(&rank).copied().flatten());
    (all, any)
}

/// Ranks that lack a compile with collectives do not run the same ones, though no compile that they share differs in them.
fn lacking_collectives(diagnostics: &mut [Diagnostic], differences: &[Difference]) {
    let lacking = differences.iter().find(|difference| difference.has_collectives);
    let of_collectives = diagnostics.iter_mut().find(|diagnostic| diagnostic.aspect == Aspect::Collectives);
    if let (Some(lacking), Some(diagnostic)) = (lacking, of_collectives)
        && diagnostic.verdict != Verdict::Differs
    {
        diagnostic.verdict = Verdict::Differs;
        diagnostic.sentence = format!(
            "In the compiles that all ranks have, no collective is known to differ; {} has some, and not all ranks compiled it.",
            lacking.place
        );
    }
}

/// Sentences of diagnostics whose first difference was put into other words since.
fn resay(diagnostics: &mut [Diagnostic], differences: &[Difference]) {
    for diagnostic in diagnostics.iter_mut().filter(|d| d.verdict == Verdict::Differs) {
        let mut of_aspect = differences.iter().filter(|d| d.aspect == diagnostic.aspect);
        if diagnostic.aspect == Aspect::Runtimes {
            let all: Vec<Difference> = of_aspect.cloned().collect();
            if let Some(sentence) = runtimes::sentence(&all, diagnostic.differences) {
                diagnostic.sentence = sentence;
            }
        } else if let Some(first) = of_aspect.next() {
            diagnostic.sentence = cells::first_difference(first, diagnostic.differences);
        }
    }
}
