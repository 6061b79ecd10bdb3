//! Logs that are cut long before the others end: where a process was killed, or its disk was full.
//!
//! A rank that ends inside of a compile is told as an unfinished compile; one whose log is whole, as what it lacks.

use super::words::{code, seconds};
use super::{Evidence, Finding, FindingKind, Seen, Severity};
use crate::analysis::causes::Shown;
use crate::analysis::ranks::{LastState, RankState, Standing};
use crate::trace::LogState;

pub(super) const KIND: FindingKind =
    FindingKind { name: "early ends", about: "The log of a rank is cut long before those of the others end.", find };

/// Less than this is no sign of anything.
const EARLY_S: f64 = 30.0;

/// Ranks that are told one by one.
const TOLD: usize = 8;

fn find(seen: &Seen<'_>) -> Vec<Finding> {
    let Some(job) = seen.job else { return Vec::new() };
    let is_cut = |rank: &&Standing| {
        let is_open = rank.last.as_ref().is_some_and(|last| last.state == LastState::Open);
        rank.state == RankState::Compared && rank.log_state == Some(LogState::Truncated) && !is_open
    };
    let mut early: Vec<(f64, &Standing)> = job
        .comparison
        .standings
        .iter()
        .filter(is_cut)
        .filter_map(|rank| Some((rank.behind_s.filter(|s| *s >= EARLY_S)?, rank)))
        .collect();
    early.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    early
        .iter()
        .take(TOLD)
        .enumerate()
        .map(|(nth, (behind_s, rank))| {
            let more = early.len().saturating_sub(TOLD);
            let after = rank.last.as_ref().and_then(|last| {
                let (name, file, line) = last.code.as_ref()?;
                let id = last.key.map(|(_, id)| format!(", compile id {id}")).unwrap_or_default();
                Some(format!(", after the compile of {}{id}", code(name.as_deref(), file.as_deref(), *line)))
            });
            let mut sentence = format!(
                "The log of rank {} is cut {} before the last record of the job{}.",
                rank.rank,
                seconds(*behind_s),
                after.unwrap_or_default()
            );
            if nth + 1 == TOLD && more > 0 {
                sentence += &format!(" So are those of {more} more ranks.");
            }
            let ids = rank.last.iter().filter_map(|last| Some(last.key?.1.to_string())).collect();
            let file = rank.log.and_then(|at| u32::try_from(at).ok());
            Finding {
                kind: KIND.name,
                severity: Severity::Error,
                cost_s: None,
                sentence,
                advice:
                    "Look for what ended the process there: out of memory, a full disk, a time limit. What came after \
                         is not known."
                        .to_owned(),
                spread: job.spread(&[rank.rank], ids),
                evidence: Evidence {
                    table: "ranks",
                    rows: file.map(|file| Shown { file, offset: None, record: None }).into_iter().collect(),
                },
            }
        })
        .collect()
}
