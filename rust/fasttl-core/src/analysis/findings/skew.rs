//! Ranks that took much longer to compile than the others, which likely waited for them.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{capital, code, count, seconds};
use super::{Evidence, Finding, FindingKind, JobSeen, Seen, Severity};
use crate::analysis::causes::Shown;
use crate::analysis::ranks::{Aspect, Difference, Skew, SkewOptions, Standing, rank_list, shown};

pub(super) const KIND: FindingKind = FindingKind {
    name: "rank skew",
    about: "A rank took much longer to compile than the others, which likely waited for it.",
    find,
};

const ADVICE: &str = "Compare the slow rank with another: fasttl diff PATH --ranks X,Y, and their rows of `phases`. A cold \
    cache, a slower or busier machine, and fewer threads for compiling are the usual reasons. A cache that is filled before \
    the start, or shared, makes ranks alike.";

/// Findings of this kind; the rest are counted.
const TOLD: usize = 20;

/// From when on it is said that others waited.
const WAITED_S: f64 = 1.0;

const COLD: &str = " A cache was cold there and warm on most others.";

/// Rows of evidence.
const ROWS: usize = 100;

fn find(seen: &Seen<'_>) -> Vec<Finding> {
    let Some(job) = seen.job else { return Vec::new() };
    // Compiles that are slow on the same ranks have one cause mostly.
    let mut by_ranks: BTreeMap<Vec<i32>, Vec<&Skew>> = BTreeMap::new();
    for skew in job.comparison.skews.iter().filter(|skew| !skew.stragglers.is_empty()) {
        by_ranks.entry(skew.stragglers.iter().map(|(rank, _)| *rank).collect()).or_default().push(skew);
    }
    let mut groups: Vec<(Vec<i32>, Vec<&Skew>)> = by_ranks.into_iter().collect();
    for (_, skews) in &mut groups {
        skews.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    }
    let most = |skews: &[&Skew]| skews.first().map_or(0.0, |skew| excess(skew));
    groups.sort_by(|(_, a), (_, b)| most(b).total_cmp(&most(a)));
    let rest: usize = groups.iter().skip(TOLD).map(|(_, skews)| skews.len()).sum();
    let mut found: Vec<Finding> = groups.iter().take(TOLD).map(|(ranks, skews)| finding(job, ranks, skews)).collect();
    if let Some(last) = found.last_mut().filter(|_| rest > 0) {
        last.sentence += &format!(" {} more on other ranks: see `skew`.", count(rest as u64, "uneven compile"));
    }
    found.extend(in_all(job, &groups.iter().flat_map(|(ranks, _)| ranks.iter().copied()).collect()));
    found
}

/// Seconds that the slowest took beyond the median.
fn excess(skew: &Skew) -> f64 {
    skew.max.zip(skew.median_s).map_or(0.0, |((most, _), median)| f64::from(most) - f64::from(median))
}

/// Whether the slow ranks missed the cache where most others hit it.
pub(super) fn has_cold_cache(job: JobSeen<'_>, skew: &Skew) -> bool {
    let slow = |rank: &i32| skew.stragglers.binary_search_by_key(rank, |(rank, _)| *rank).is_ok();
    let is_cold = |difference: &Difference| {
        let mut others = difference.groups.iter().skip(1);
        difference.key == Some(skew.key)
            && difference.groups.first().is_some_and(|most| most.value.contains("hit"))
            && others.any(|group| group.value.contains("miss") && group.ranks.iter().any(slow))
    };
    !skew.stragglers.is_empty() && job.comparison.of_aspect(Aspect::Cache).any(is_cold)
}

fn finding(job: JobSeen<'_>, ranks: &[i32], skews: &[&Skew]) -> Finding {
    let mut sentence = String::new();
    if let Some(worst) = skews.first() {
        let (name, file, line) = &worst.code;
        let (most, median) = (worst.max.map_or(0.0, |(s, _)| s.into()), worst.median_s.map_or(0.0, f64::from));
        sentence = format!(
            "{} took {}{} for the compile of {}, compile id {}, where the rank in the middle took {}.",
            capital(&rank_list(ranks)),
            if ranks.len() > 1 { "up to " } else { "" },
            seconds(most),
            code(name.as_deref(), file.as_deref(), *line),
            worst.key.1,
            seconds(median)
        );
        if let Some(waited) = worst.waited_s.filter(|waited| *waited >= WAITED_S) {
            let others = u64::from(worst.ranks).saturating_sub(worst.stragglers.len() as u64);
            sentence += &format!(
                " {} done before that, {} in all, and likely waited.",
                if others == 1 { "The other rank was".to_owned() } else { format!("The {others} other ranks were") },
                seconds(waited)
            );
        }
    }
    if skews.first().is_some_and(|worst| has_cold_cache(job, worst)) {
        sentence += COLD;
    }
    if skews.len() > 1 {
        let more = skews.len() as u64 - 1;
        sentence += &format!(
            " {} as uneven.",
            if more == 1 { "One more compile is".to_owned() } else { format!("{more} more compiles are") }
        );
    }
    let ids: Vec<String> = skews.iter().take(ROWS).map(|skew| skew.key.1.to_string()).collect();
    let rows: Vec<Shown> = skews.iter().take(ROWS).map(|skew| shown(job.trace, skew.slowest)).collect();
    Finding {
        kind: KIND.name,
        severity: Severity::Warning,
        cost_s: skews.iter().filter_map(|skew| skew.waited_s).reduce(|a, b| a + b),
        sentence,
        advice: ADVICE.to_owned(),
        spread: job.spread(ranks, ids),
        evidence: Evidence { table: "skew", rows },
    }
}

/// Ranks that compiled much longer than the others over all, though no single compile of them stands out.
fn in_all(job: JobSeen<'_>, told: &BTreeSet<i32>) -> Option<Finding> {
    let mut timed: Vec<(f64, &Standing)> =
        job.comparison.standings.iter().filter_map(|rank| Some((rank.compile_s?, rank))).collect();
    timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (median, _) = *timed.get(timed.len().saturating_sub(1) / 2)?;
    let options = SkewOptions::default();
    let mut slow: Vec<(f64, &Standing)> = timed
        .iter()
        .filter(|(s, rank)| options.stands_out(*s, median) && !told.contains(&rank.rank))
        .copied()
        .collect();
    let (most, _) = *slow.last()?;
    slow.sort_by_key(|(_, rank)| rank.rank);
    let ranks: Vec<i32> = slow.iter().map(|(_, rank)| rank.rank).collect();
    let is_slow = |rank: &Standing| ranks.binary_search(&rank.rank).is_ok();
    let idle = job.comparison.standings.iter().filter(|rank| !is_slow(rank)).filter_map(|rank| rank.waiting_s);
    let mut sentence = format!(
        "{} compiled for {}{} in all, the rank in the middle for {}.",
        capital(&rank_list(&ranks)),
        if ranks.len() > 1 { "up to " } else { "" },
        seconds(most),
        seconds(median)
    );
    if let Some(idle) = idle.reduce(f64::max) {
        sentence += &format!(" Others compiled nothing for up to {} meanwhile, and likely waited.", seconds(idle));
    }
    let is_cold = |rank: &Standing| rank.tally.is_some_and(|tally| tally.cache_misses > 0 && tally.cache_hits == 0);
    let is_warm = |rank: &Standing| rank.tally.is_some_and(|tally| tally.cache_hits > 0);
    let warm = timed.iter().filter(|(_, rank)| !is_slow(rank)).all(|(_, rank)| is_warm(rank));
    if slow.iter().all(|(_, rank)| is_cold(rank)) && warm && timed.len() > slow.len() {
        sentence += COLD;
    }
    let row =
        |(_, rank): &(f64, &Standing)| Some(Shown { file: u32::try_from(rank.log?).ok()?, offset: None, record: None });
    Some(Finding {
        kind: KIND.name,
        severity: Severity::Warning,
        cost_s: Some(slow.iter().map(|(s, _)| s - median).sum()),
        sentence,
        advice: ADVICE.to_owned(),
        spread: job.spread(&ranks, Vec::new()),
        evidence: Evidence { table: "ranks", rows: slow.iter().take(ROWS).filter_map(row).collect() },
    })
}
