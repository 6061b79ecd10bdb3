//! Compiles that failed, those of one function and message together.

use super::gathered::{FailureKey, Group};
use super::words::{code, on_ranks, place, seconds, short, times};
use super::{Evidence, Finding, FindingKind, Gathered, Severity};
use crate::analysis::causes::advice;

pub(super) const KIND: FindingKind =
    FindingKind { name: "failed compiles", about: "A compile ended with an error, and which.", find };

fn find(gathered: &Gathered) -> Vec<Finding> {
    gathered.failures.clone().into_list().into_iter().map(finding).collect()
}

fn finding(group: Group<FailureKey>) -> Finding {
    let Group { key, count, cost_s, spread, example, evidence } = group;
    let (name, file, line) = &key.code;
    let what = if key.is_backward { "The backward compile of " } else { "The compile of " };
    let mut sentence = format!("{what}{} failed", code(name.as_deref(), file.as_deref(), *line));
    if count > 1 {
        sentence += &format!(" {}", times(count));
    }
    sentence += &on_ranks(&spread.ranks);
    if let Some((file, line)) = &key.place {
        sentence += &format!(", at {}", place(file, *line));
    }
    let error = key.error.as_deref().map(short);
    let last = example.as_deref().map(short).filter(|text| !text.is_empty());
    sentence += &match (&error, &last) {
        (Some(error), Some(message)) => format!(": {error}: {message}"),
        (Some(one), None) | (None, Some(one)) => format!(": {one}"),
        (None, None) => String::new(),
    };
    if !sentence.ends_with('.') {
        sentence.push('.');
    }
    if let Some(cost) = cost_s.filter(|cost| *cost > 0.0) {
        sentence += &format!(" {} of work were lost.", seconds(cost));
    }
    Finding {
        kind: KIND.name,
        severity: Severity::Error,
        cost_s,
        sentence,
        advice: advice::of_failure(key.error.as_deref(), key.has_reproducer),
        spread,
        evidence: Evidence { table: "failures", rows: evidence },
    }
}
