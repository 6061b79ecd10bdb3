//! Findings: the sentences that a reader wants first, each with its cost, its evidence and what to try.
//!
//! Each kind of finding is a file here and one line in `KINDS`. They are made from `Gathered`, which is small and is
//! brought together log by log, so that hundreds of ranks fit.

mod breaks;
mod caches;
mod cudagraphs;
mod divergence;
mod early_ends;
mod failures;
mod gathered;
mod guards;
mod lost;
mod missing_ranks;
mod phases;
mod recompiles;
mod skew;
mod table;
mod unfinished;
mod words;

pub(crate) use gathered::Gathered;
pub(super) use table::FINDINGS;
pub(crate) use words::{failure_words, first_words, without_temporary};

use std::collections::BTreeMap;

use super::causes::{OfLog, Shown, Spread, of_logs};
use super::compiles::Compiles;
use super::parts::parts;
use super::ranks::{Comparison, Facts, Texts, compare, facts};
use super::runtimes::runtimes;
use crate::error::Result;
use crate::job::Job;
use crate::trace::Trace;

/// How much a finding asks for a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something failed, was given up, or is missing.
    Error,
    /// Time is lost that need not be.
    Warning,
    /// Where the time goes.
    Info,
}

impl Severity {
    /// Name in the table and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// The rows that show a finding: of which table, and where their records stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Name of the table.
    pub table: &'static str,
    /// The record of each row, a hundred at most.
    pub(crate) rows: Vec<Shown>,
}

/// One sentence and what stands behind it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What kind it is: one of `KINDS`.
    pub kind: &'static str,
    /// How much it asks for a reader.
    pub severity: Severity,
    /// Seconds that it cost, as far as the log says.
    pub cost_s: Option<f64>,
    /// What was found.
    pub sentence: String,
    /// What to try.
    pub advice: String,
    /// Ranks, logs and compiles concerned.
    pub(crate) spread: Spread,
    /// What shows it.
    pub evidence: Evidence,
}

impl Finding {
    /// Ranks concerned, in order; logs without a rank are not among them.
    pub fn ranks(&self) -> &[i32] {
        &self.spread.ranks
    }

    /// Compile ids concerned, a hundred at most.
    pub fn compile_ids(&self) -> &[String] {
        &self.spread.compile_ids
    }
}

/// A kind of finding: its name, what it tells, and how it is made.
pub(crate) struct FindingKind {
    /// Name.
    pub(crate) name: &'static str,
    /// What it tells.
    pub(crate) about: &'static str,
    /// Makes the findings of this kind.
    pub(crate) find: fn(&Seen<'_>) -> Vec<Finding>,
}

/// What findings are made of.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// A little of each log.
    pub(crate) gathered: &'a Gathered,
    /// How the ranks compare; `None` for a single log.
    pub(crate) job: Option<JobSeen<'a>>,
}

/// The ranks of a job.
#[derive(Clone, Copy)]
pub(crate) struct JobSeen<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) comparison: &'a Comparison,
}

impl<'a> Seen<'a> {
    /// What was gathered of a single log.
    pub(crate) const fn log(gathered: &'a Gathered) -> Self {
        Self { gathered, job: None }
    }
}

impl JobSeen<'_> {
    /// Where ranks and compiles are: the newest logs of these ranks.
    fn spread(&self, ranks: &[i32], compile_ids: Vec<String>) -> Spread {
        let of: BTreeMap<i32, usize> =
            self.comparison.standings.iter().filter_map(|standing| Some((standing.rank, standing.log?))).collect();
        let file = |rank: &i32| of.get(rank).and_then(|at| i32::try_from(*at).ok());
        Spread { ranks: ranks.to_vec(), files: ranks.iter().filter_map(file).collect(), compile_ids }
    }
}

/// All kinds. A new one is a line here.
pub(crate) const KINDS: &[FindingKind] = &[
    failures::KIND,
    divergence::KIND,
    missing_ranks::KIND,
    early_ends::KIND,
    skew::KIND,
    recompiles::KIND,
    breaks::KIND,
    unfinished::KIND,
    lost::KIND,
    caches::KIND,
    cudagraphs::KIND,
    guards::KIND,
    phases::KIND,
];

/// The kinds of findings: name, and what each tells.
///
/// ```
/// use fasttl_core::analysis::findings::kinds;
///
/// assert!(kinds().any(|(name, _)| name == "recompiles"));
/// ```
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().map(|kind| (kind.name, kind.about))
}

/// The findings of what was seen: first what failed, then what costs most.
pub(crate) fn findings(seen: &Seen<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = KINDS.iter().flat_map(|kind| (kind.find)(seen)).collect();
    found.extend(left_out(seen.gathered));
    let cost = |finding: &Finding| finding.cost_s.unwrap_or(0.0);
    found.sort_by(|a, b| a.severity.cmp(&b.severity).then(cost(b).total_cmp(&cost(a))));
    found
}

/// What there was no room for, so that nobody takes the findings for all there is.
fn left_out(gathered: &Gathered) -> impl Iterator<Item = Finding> + use<> {
    let counts = [
        (recompiles::KIND.name, "recompile_groups", gathered.recompiles.left_out()),
        (breaks::KIND.name, "break_groups", gathered.breaks.left_out()),
        (failures::KIND.name, "failures", gathered.failures.left_out()),
        (unfinished::KIND.name, "frames", gathered.unfinished.left_out()),
    ];
    counts.into_iter().filter(|(.., count)| *count > 0).map(|(kind, table, count)| Finding {
        kind,
        severity: Severity::Info,
        cost_s: None,
        sentence: format!("{count} more of the kind \"{kind}\" are not told one by one."),
        advice: format!("The table `{table}` has all of them."),
        spread: Spread::default(),
        evidence: Evidence { table, rows: Vec::new() },
    })
}

/// The findings of a whole trace.
///
/// # Errors
/// A log that changed since it was read.
pub fn all_findings(trace: &Trace) -> Result<Vec<Finding>> {
    let texts = Texts::default();
    // Where there is nothing to compare with, nothing is kept for it.
    let is_job = trace.logs.len() > 1 && trace.logs.iter().any(|log| log.rank.is_some());
    let read = |of: OfLog<'_>, compiles: Compiles| {
        let parts = parts(of.log, of.bytes);
        let compared = || {
            let graphs = runtimes(of.log, of.bytes, &parts);
            facts((of.log, of.bytes, of.metrics), (&compiles, &parts, &graphs), &texts)
        };
        (Gathered::new(of, &compiles, &parts), if is_job { compared() } else { Facts::default() })
    };
    let (all, facts): (Vec<Gathered>, Vec<Facts>) =
        of_logs(trace, read)?.into_iter().map(|(_, _, found)| found).unzip();
    let gathered = all.into_iter().reduce(Gathered::merge).unwrap_or_default();
    let comparison = is_job.then(|| compare(trace, &facts, &Job::default())).transpose()?;
    let job = comparison.as_ref().map(|comparison| JobSeen { trace, comparison });
    Ok(findings(&Seen { gathered: &gathered, job }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gathered_is_nothing_found() {
        assert!(findings(&Seen::log(&Gathered::default())).is_empty());
    }

    #[test]
    fn every_kind_has_a_name_of_its_own_and_a_meaning() {
        let names: std::collections::BTreeSet<&str> = kinds().map(|(name, _)| name).collect();
        assert_eq!(names.len(), KINDS.len());
        assert!(kinds().all(|(name, about)| !name.is_empty() && about.ends_with('.')));
    }
}
