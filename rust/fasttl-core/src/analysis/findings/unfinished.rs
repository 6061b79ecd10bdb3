//! Compiles that the log ends in: what a killed or hanging process was doing.

use std::collections::BTreeMap;

use super::words::{code, on_ranks, seconds, short, times};
use super::{Evidence, Finding, FindingKind, JobSeen, Seen, Severity};
use crate::analysis::causes::Code;
use crate::analysis::ranks::{LastState, Standing, rank_list};

pub(super) const KIND: FindingKind =
    FindingKind { name: "unfinished compiles", about: "The log ends before a compile did.", find };

fn find(Seen { gathered, job }: &Seen<'_>) -> Vec<Finding> {
    let finding = |group: &super::gathered::Group<super::gathered::OpenKey>| {
        let ((name, file, line), is_cut) = &group.key;
        let code = code(name.as_deref(), file.as_deref(), *line);
        let often = if group.count > 1 { format!(" {}", times(group.count)) } else { String::new() };
        let cut = if *is_cut { " The log ends inside a record." } else { "" };
        Finding {
            kind: KIND.name,
            severity: Severity::Error,
            cost_s: None,
            sentence: format!(
                "The log ends while {code} is being compiled{often}{}: the process was killed, hangs, or still works.{cut}{}",
                on_ranks(&group.spread.ranks),
                job.map(|job| steps(job, &group.key.0, &group.spread.ranks)).unwrap_or_default()
            ),
            advice:
                "See what the compile had done last (its artifacts, and its open spans in `events`). Out of memory, a \
                 time limit, and a collective that other ranks never enter are the usual reasons."
                    .to_owned(),
            spread: group.spread.clone(),
            evidence: Evidence { table: "records", rows: group.evidence.clone() },
        }
    };
    gathered.unfinished.iter().map(finding).collect()
}

/// Steps that a sentence names.
const STEPS: usize = 3;

/// Ends that lie closer together are of one moment.
const APART_S: f64 = 1.0;

/// In which step the ranks were, and how long before the others' last record.
fn steps(job: JobSeen<'_>, code: &Code, ranks: &[i32]) -> String {
    let mut steps: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    let mut behind: Vec<f64> = Vec::new();
    let is_of = |rank: &&Standing| ranks.binary_search(&rank.rank).is_ok();
    for standing in job.comparison.standings.iter().filter(is_of) {
        let open = standing.last.as_ref().filter(|last| last.state == LastState::Open);
        let Some(last) = open.filter(|last| last.code.as_ref() == Some(code)) else { continue };
        steps.entry(&last.step).or_default().push(standing.rank);
        behind.extend(standing.behind_s);
    }
    let mut steps: Vec<(&str, Vec<i32>)> = steps.into_iter().collect();
    steps.sort_by_key(|(_, ranks)| std::cmp::Reverse(ranks.len()));
    let several = steps.len() > 1;
    let one = |(step, ranks): &(&str, Vec<i32>)| {
        format!("`{}`{}", short(step), if several { format!(" on {}", rank_list(ranks)) } else { String::new() })
    };
    let mut told: Vec<String> = steps.iter().take(STEPS).map(one).collect();
    if steps.len() > STEPS {
        told.push("…".to_owned());
    }
    let mut sentence = if told.is_empty() { String::new() } else { format!(" Last step: {}.", told.join(", ")) };
    if let Some(longest) = behind.into_iter().reduce(f64::max).filter(|longest| *longest >= APART_S) {
        let up_to = if ranks.len() > 1 { "up to " } else { "" };
        sentence += &format!(" The last record of the job is logged {up_to}{} later.", seconds(longest));
    }
    sentence
}
