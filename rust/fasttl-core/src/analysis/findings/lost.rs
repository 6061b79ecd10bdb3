//! Records that were lost or damaged, and logs of which nothing could be read.

use super::words::{count, on_ranks, short};
use super::{Evidence, Finding, FindingKind, Seen, Severity};

pub(super) const KIND: FindingKind =
    FindingKind { name: "lost records", about: "Input that is damaged or could not be read.", find };

const ADVICE: &str = "What is said of these logs may lack something. See `problems` for file, line and byte of each. A full \
    disk, a killed process, and several processes that write into one file are the usual reasons.";

fn find(Seen { gathered, .. }: &Seen<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for group in gathered.unread.iter() {
        let logs = count(group.count, "log");
        let sentence = match group.key {
            "empty" => format!("{logs}{} without a single record.", on_ranks(&group.spread.ranks)),
            _ => format!("{logs}{} could not be read.", on_ranks(&group.spread.ranks)),
        };
        found.push(finding(sentence, group));
    }
    for group in gathered.problems.iter() {
        let first = group.example.as_deref().map(short).unwrap_or_default();
        let sentence = format!(
            "{} \"{}\" in {}{}{}{}.",
            count(group.count, "problem"),
            group.key,
            count(group.spread.files.len() as u64, "log"),
            on_ranks(&group.spread.ranks),
            if group.count > 1 { "; the first: " } else { ": " },
            first.trim_end_matches('.')
        );
        found.push(finding(sentence, group));
    }
    found
}

fn finding(sentence: String, group: &super::gathered::Group<&'static str>) -> Finding {
    Finding {
        kind: KIND.name,
        severity: Severity::Error,
        cost_s: None,
        sentence,
        advice: ADVICE.to_owned(),
        spread: group.spread.clone(),
        evidence: Evidence { table: "problems", rows: group.evidence.clone() },
    }
}
