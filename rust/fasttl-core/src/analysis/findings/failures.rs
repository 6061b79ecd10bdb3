//! Compiles that failed, those of one function and message together.

use rustc_hash::FxHashMap;

use super::divergence::{ALIKE, went_through};
use super::gathered::{FailureKey, Group};
use super::words::{at, code, ends, few, on_ranks, seconds, short, times};
use super::{Evidence, Finding, FindingKind, Seen, Severity};
use crate::analysis::causes::{Spread, advice};
use crate::analysis::ranks::{Aspect, Difference, rank_list};

pub(super) const KIND: FindingKind =
    FindingKind { name: "failed compiles", about: "A compile ended with an error, and which.", find };

fn find(Seen { gathered, job }: &Seen<'_>) -> Vec<Finding> {
    let mut outcomes: FxHashMap<String, Vec<&Difference>> = FxHashMap::default();
    for difference in job.iter().flat_map(|job| job.comparison.of_aspect(Aspect::Outcome)) {
        let of_id = outcomes.entry(difference.key.map(|(_, id)| id.to_string()).unwrap_or_default()).or_default();
        if of_id.len() < ALIKE {
            of_id.push(difference);
        }
    }
    gathered.failures.iter().map(|group| finding(group, elsewhere(&outcomes, &group.spread))).collect()
}

/// Where else the compile went through.
fn elsewhere(outcomes: &FxHashMap<String, Vec<&Difference>>, spread: &Spread) -> Option<String> {
    let mut of_ids = spread.compile_ids.iter().filter_map(|id| outcomes.get(id)).flatten();
    let ranks = of_ids.find_map(|difference| went_through(difference, spread))?;
    Some(format!(" It went through on {}.", rank_list(ranks)))
}

fn finding(group: &Group<FailureKey>, elsewhere: Option<String>) -> Finding {
    let Group { key, count, cost_s, spread, example, codes, evidence } = group;
    let what = if key.is_backward { "backward compile" } else { "compile" };
    let names: Vec<String> =
        codes.iter().map(|(name, file, line)| code(name.as_deref(), file.as_deref(), *line)).collect();
    let mut sentence = match names.as_slice() {
        [one] => format!(
            "The {what} of {one} failed{}",
            if *count > 1 { format!(" {}", times(*count)) } else { String::new() }
        ),
        several => format!("{} failed alike, of {}", super::words::count(*count, what), few(several, 2)),
    };
    sentence += &on_ranks(&spread.ranks);
    if let Some(own) = &key.own {
        sentence += &format!(", at {}", at(own));
    }
    let error = key.error.as_deref().map(short);
    let last = example.as_deref().map(ends).filter(|text| !text.is_empty());
    sentence += &match (&error, &last) {
        (Some(error), Some(message)) => format!(": {error}: {message}"),
        (Some(one), None) | (None, Some(one)) => format!(": {one}"),
        (None, None) => String::new(),
    };
    if !sentence.ends_with('.') {
        sentence.push('.');
    }
    sentence += &elsewhere.unwrap_or_default();
    if key.fell_back {
        sentence += " The function runs without being compiled.";
    }
    if let Some(cost) = cost_s.filter(|cost| *cost >= 0.005) {
        sentence += &format!(" {} of work were lost.", seconds(cost));
    }
    Finding {
        kind: KIND.name,
        severity: if key.fell_back { Severity::Warning } else { Severity::Error },
        cost_s: *cost_s,
        sentence,
        advice: advice::of_failure(key.error.as_deref(), key.has_reproducer),
        spread: spread.clone(),
        evidence: Evidence { table: "failures", rows: evidence.clone() },
    }
}
