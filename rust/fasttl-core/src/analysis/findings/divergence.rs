//! Ranks that compiled something else: where they part first, why, and what follows from it.
//!
//! What differs later on the same ranks is taken to follow from the first difference, and is only counted with it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::words::{capital, count, short};
use super::{Evidence, Finding, FindingKind, JobSeen, Seen, Severity};
use crate::analysis::causes::Shown;
use crate::analysis::ranks::{Aspect, Difference, rank_list, shown};

pub(super) const KIND: FindingKind = FindingKind {
    name: "ranks that differ",
    about: "A rank compiled something else than the others: where first, and why.",
    find,
};

/// Findings of this kind; the rest stand in the table.
const TOLD: usize = 20;

/// Rows of evidence.
const ROWS: usize = 100;

/// Aspects whose counts a sentence has.
const ASPECTS: usize = 4;

/// The first difference of some ranks, and those that come after on the same.
struct Chain<'a> {
    odd: Vec<i32>,
    first: &'a Difference,
    later: Vec<&'a Difference>,
}

fn find(seen: &Seen<'_>) -> Vec<Finding> {
    let Some(job) = seen.job else { return Vec::new() };
    let mut chains: Vec<Chain<'_>> = Vec::new();
    let mut of_rank: FxHashMap<i32, usize> = FxHashMap::default();
    for difference in &job.comparison.differences {
        let odd = difference.odd_ranks();
        let known = odd.iter().find_map(|rank| of_rank.get(rank)).copied();
        match known.and_then(|at| chains.get_mut(at)) {
            Some(chain) => chain.later.push(difference),
            None => {
                for rank in &odd {
                    of_rank.insert(*rank, chains.len());
                }
                chains.push(Chain { odd, first: difference, later: Vec::new() });
            }
        }
    }
    let rest = chains.len().saturating_sub(TOLD);
    let mut found: Vec<Finding> = chains.iter().take(TOLD).map(|chain| finding(job, chain)).collect();
    if let Some(last) = found.last_mut().filter(|_| rest > 0) {
        last.sentence += &format!(" {} of other ranks: see `divergence`.", count(rest as u64, "more first difference"));
    }
    found
}

/// Whether ranks that differ in this may wait for each other for ever.
const fn can_hang(aspect: Aspect) -> bool {
    matches!(aspect, Aspect::Collectives | Aspect::ExecOrder)
}

fn finding(job: JobSeen<'_>, chain: &Chain<'_>) -> Finding {
    let Chain { odd, first, later } = chain;
    let all = || std::iter::once(first).chain(later);
    let hangs = all().any(|difference| can_hang(difference.aspect));
    let mut ids: Vec<String> = Vec::new();
    for difference in all() {
        let id = difference.key.map(|(_, id)| id.to_string());
        if let Some(id) = id.filter(|id| ids.len() < ROWS && !ids.contains(id)) {
            ids.push(id);
        }
    }
    let rows: Vec<Shown> = first.groups.iter().take(ROWS).map(|group| evidence(job, group.evidence)).collect();
    let mut spread = job.spread(odd, ids);
    spread.files.extend(rows.iter().filter_map(|row| i32::try_from(row.file).ok()));
    spread.files.sort_unstable();
    spread.files.dedup();
    Finding {
        kind: KIND.name,
        severity: if hangs { Severity::Error } else { Severity::Warning },
        cost_s: None,
        sentence: sentence(chain, hangs),
        advice: advice(first, hangs).to_owned(),
        spread,
        evidence: Evidence { table: "divergence", rows },
    }
}

fn evidence(job: JobSeen<'_>, (log, record): (usize, Option<usize>)) -> Shown {
    match record {
        Some(record) => shown(job.trace, (log, record)),
        None => Shown { file: u32::try_from(log).unwrap_or(u32::MAX), offset: None, record: None },
    }
}

fn sentence(Chain { odd, first, later }: &Chain<'_>, hangs: bool) -> String {
    let groups = &first.groups;
    let verb = if odd.len() == 1 { "differs" } else { "differ" };
    let mut sentence =
        format!("{} {verb} first in {}, at {}", capital(&rank_list(odd)), first.aspect.name(), short(&first.place));
    if let [most, other, rest @ ..] = groups.as_slice() {
        let more =
            if rest.is_empty() { String::new() } else { format!(", and {}", count(rest.len() as u64, "more group")) };
        sentence += &format!(
            ": {} on {}, {} on {}{more}",
            short(&other.value),
            rank_list(&other.ranks),
            short(&most.value),
            rank_list(&most.ranks)
        );
    }
    sentence.push('.');
    if let Some(cause) = &first.cause {
        sentence += &format!(" {}.", capital(cause.trim_end_matches('.')));
    }
    if !later.is_empty() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for difference in later {
            *counts.entry(difference.aspect.name()).or_default() += 1;
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut told: Vec<String> =
            counts.iter().take(ASPECTS).map(|(name, count)| format!("{name} {count}")).collect();
        if counts.len() > ASPECTS {
            told.push("…".to_owned());
        }
        let verb = if later.len() == 1 { "follows" } else { "follow" };
        sentence +=
            &format!(" {} {verb}: {}.", capital(&count(later.len() as u64, "more difference")), told.join(", "));
    }
    if hangs {
        sentence += " Ranks that do not call the same collectives in the same order wait for each other for ever.";
    }
    sentence
}

fn advice(first: &Difference, hangs: bool) -> &'static str {
    match first.aspect {
        Aspect::Cache => {
            "A cache that is filled before the start, or shared by all ranks (TORCHINDUCTOR_CACHE_DIR, a remote cache), \
             makes them alike."
        }
        _ if hangs => {
            "Make all ranks call the same collectives: give them inputs of the same shapes (pad the last batch, or drop \
             it), and keep what depends on the rank out of what is compiled. fasttl diff PATH --ranks X,Y shows both \
             sides."
        }
        _ => {
            "Give all ranks inputs of the same shapes, and keep what depends on the rank out of what is compiled, unless \
             they are to differ. fasttl diff PATH --ranks X,Y shows both sides."
        }
    }
}
