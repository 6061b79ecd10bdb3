//! Ranks of a job that have no log, or none that can be compared.

use std::collections::BTreeMap;

use super::words::capital;
use super::{Evidence, Finding, FindingKind, JobSeen, Seen, Severity};
use crate::analysis::causes::Shown;
use crate::analysis::ranks::{RankState, Standing, rank_list};
use crate::trace::LogState;

pub(super) const KIND: FindingKind =
    FindingKind { name: "missing ranks", about: "A rank of the job has no log, or none of this start.", find };

const ADVICE: &str = "Look whether the log was gathered from its machine, and whether the process began at all. A rank \
    that compiles nothing writes no log.";

fn find(seen: &Seen<'_>) -> Vec<Finding> {
    let Some(job) = seen.job else { return Vec::new() };
    let standings = &job.comparison.standings;
    let missing: Vec<&Standing> = standings.iter().filter(|rank| rank.state == RankState::Missing).collect();
    let mut found = Vec::new();
    if !missing.is_empty() {
        let ranks: Vec<i32> = missing.iter().map(|standing| standing.rank).collect();
        let sentence = format!(
            "{} of the {} ranks {} no log: {}.",
            ranks.len(),
            standings.len(),
            if ranks.len() == 1 { "has" } else { "have" },
            rank_list(&ranks)
        );
        found.push(finding(job, sentence, &ranks));
    }
    // What could not be read is told as lost.
    let is_told = |state: Option<LogState>| matches!(state, Some(LogState::Unreadable | LogState::Empty));
    let mut left_out: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for standing in standings.iter().filter(|rank| rank.state == RankState::LeftOut && !is_told(rank.log_state)) {
        left_out.entry(standing.why.as_deref().unwrap_or_default()).or_default().push(standing.rank);
    }
    for (why, ranks) in left_out {
        let list = rank_list(&ranks);
        let are = if ranks.len() == 1 { "is" } else { "are" };
        found.push(finding(job, format!("{} {are} not compared: {why}.", capital(&list)), &ranks));
    }
    found
}

fn finding(job: JobSeen<'_>, sentence: String, ranks: &[i32]) -> Finding {
    let spread = job.spread(ranks, Vec::new());
    let row = |file: &i32| Some(Shown { file: u32::try_from(*file).ok()?, offset: None, record: None });
    Finding {
        kind: KIND.name,
        severity: Severity::Error,
        cost_s: None,
        sentence,
        advice: ADVICE.to_owned(),
        // Rows of ranks without a log name no file.
        evidence: Evidence { table: "ranks", rows: spread.files.iter().take(100).filter_map(row).collect() },
        spread,
    }
}
