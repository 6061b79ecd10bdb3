//! Ranks that compiled something else: where they part first, why, and what follows from it.
//!
//! What differs later on the same ranks is only counted. A rank that failed is told as a failed compile, and one that was
//! slow since its cache was cold, as a slow rank: one cause has one finding.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::words::{capital, count, short};
use super::{Evidence, Finding, FindingKind, JobSeen, Seen, Severity};
use crate::analysis::causes::{Shown, Spread};
use crate::analysis::ranks::{Aspect, Difference, Group, rank_list, shown};

pub(super) const KIND: FindingKind = FindingKind {
    name: "ranks that differ",
    about: "A rank compiled something else than the others: where first, and why.",
    find,
};

/// Findings of this kind; the rest stand in the table.
const TOLD: usize = 20;

/// Failures, and differences, of one compile id that are looked at.
pub(super) const ALIKE: usize = 16;

/// Rows of evidence.
const ROWS: usize = 100;

/// Groups beside that of most ranks that a sentence has.
const SIDES: usize = 3;

/// Aspects whose counts a sentence has.
const ASPECTS: usize = 4;

/// The first difference of some ranks, and those that come after on the same.
struct Chain<'a> {
    odd: Vec<i32>,
    first: &'a Difference,
    later: Vec<&'a Difference>,
    /// Ranks that are odd only at later ones.
    joined: Vec<i32>,
}

fn find(seen: &Seen<'_>) -> Vec<Finding> {
    let Some(job) = seen.job else { return Vec::new() };
    let mut chains: Vec<Chain<'_>> = Vec::new();
    let mut of_rank: FxHashMap<i32, usize> = FxHashMap::default();
    for difference in &job.comparison.differences {
        let odd = difference.odd_ranks();
        let known = odd.iter().find_map(|rank| of_rank.get(rank)).copied();
        if let Some((at, chain)) = known.and_then(|at| Some((at, chains.get_mut(at)?))) {
            chain.later.push(difference);
            // Ranks that part here for the first time are of this chain from now on.
            for rank in odd {
                if let Entry::Vacant(place) = of_rank.entry(rank) {
                    place.insert(at);
                    chain.joined.push(rank);
                }
            }
            continue;
        }
        for rank in &odd {
            of_rank.insert(*rank, chains.len());
        }
        chains.push(Chain { odd, first: difference, later: Vec::new(), joined: Vec::new() });
    }
    let failures = by_id(seen);
    let is_told = |chain: &Chain<'_>| is_told_as_failure(&failures, chain.first) || is_told_as_slow(job, chain);
    chains.retain(|chain| !chain.joined.is_empty() || !is_told(chain));
    let rest = chains.len().saturating_sub(TOLD);
    let mut found: Vec<Finding> = chains.iter().take(TOLD).map(|chain| finding(job, chain)).collect();
    if let Some(last) = found.last_mut().filter(|_| rest > 0) {
        last.sentence += &format!(" {} of other ranks: see `divergence`.", count(rest as u64, "more first difference"));
    }
    found
}

/// Where compiles of each id failed.
fn by_id<'a>(seen: &Seen<'a>) -> FxHashMap<&'a str, Vec<&'a Spread>> {
    let mut failures: FxHashMap<&str, Vec<&Spread>> = FxHashMap::default();
    for group in seen.gathered.failures.iter() {
        for id in &group.spread.compile_ids {
            let of_id = failures.entry(id).or_default();
            if of_id.len() < ALIKE {
                of_id.push(&group.spread);
            }
        }
    }
    failures
}

/// Whether the finding about a failed compile tells it.
fn is_told_as_failure(failures: &FxHashMap<&str, Vec<&Spread>>, first: &Difference) -> bool {
    let id = first.key.map(|(_, id)| id.to_string()).filter(|_| first.aspect == Aspect::Outcome);
    let of_id = id.and_then(|id| failures.get(id.as_str()));
    of_id.is_some_and(|spreads| spreads.iter().any(|spread| went_through(first, spread).is_some()))
}

/// The ranks on which a compile went through, of those that differ in it, where it failed on all others.
pub(super) fn went_through<'d>(difference: &'d Difference, failed: &Spread) -> Option<&'d [i32]> {
    let has_failed = |rank: &i32| failed.ranks.binary_search(rank).is_ok();
    let others = difference.groups.first().map(|group| group.ranks.as_slice())?;
    (difference.odd_ranks().iter().all(has_failed) && !others.iter().any(has_failed)).then_some(others)
}

/// Whether only caches differ, and the ranks are told as slow for it.
fn is_told_as_slow(job: JobSeen<'_>, chain: &Chain<'_>) -> bool {
    let only_caches = std::iter::once(&chain.first).chain(&chain.later).all(|d| d.aspect == Aspect::Cache);
    let skews = &job.comparison.skews;
    only_caches && skews.iter().any(|skew| chain.first.key == Some(skew.key) && super::skew::has_cold_cache(job, skew))
}

/// Whether ranks that differ in this may wait for each other for ever.
const fn can_hang(difference: &Difference) -> bool {
    matches!(difference.aspect, Aspect::Collectives | Aspect::ExecOrder) || difference.has_collectives
}

fn finding(job: JobSeen<'_>, chain: &Chain<'_>) -> Finding {
    let Chain { odd, first, later, joined } = chain;
    let all = || std::iter::once(first).chain(later);
    let hangs = all().any(|difference| can_hang(difference));
    let is_harmless = all().all(|difference| matches!(difference.aspect, Aspect::Cache | Aspect::Runtimes));
    let mut ids: Vec<String> = Vec::new();
    for difference in all() {
        let id = difference.key.map(|(_, id)| id.to_string());
        if let Some(id) = id.filter(|id| ids.len() < ROWS && !ids.contains(id)) {
            ids.push(id);
        }
    }
    let rows: Vec<Shown> = first.groups.iter().take(ROWS).map(|group| evidence(job, group.evidence)).collect();
    let mut ranks: Vec<i32> = odd.iter().chain(joined).copied().collect();
    ranks.sort_unstable();
    let mut spread = job.spread(&ranks, ids);
    spread.files.extend(rows.iter().filter_map(|row| i32::try_from(row.file).ok()));
    spread.files.sort_unstable();
    spread.files.dedup();
    Finding {
        kind: KIND.name,
        severity: match (hangs, is_harmless) {
            (true, _) => Severity::Error,
            (false, true) => Severity::Info,
            (false, false) => Severity::Warning,
        },
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

fn sentence(Chain { odd, first, later, joined }: &Chain<'_>, hangs: bool) -> String {
    let verb = if odd.len() == 1 { "differs" } else { "differ" };
    let mut sentence = format!("{} {verb} first at {}", capital(&rank_list(odd)), short(&first.place));
    // Places mostly say it in words of their own: "collective 3", "order".
    let word = first.aspect.name().rsplit(' ').next().unwrap_or_default().trim_end_matches('s');
    if !first.place.contains(word) {
        sentence += &format!(" ({})", first.aspect.name());
    }
    sentence.push('.');
    // The group of most ranks comes last: it is what was to be expected.
    let side = |group: &Group| format!(" {}: {}.", capital(&rank_list(&group.ranks)), short(&group.value));
    if let [most, others @ ..] = first.groups.as_slice() {
        sentence.extend(others.iter().take(SIDES).map(side));
        if others.len() > SIDES {
            sentence += &format!(" And {}.", count((others.len() - SIDES) as u64, "more group"));
        }
        sentence += &side(most);
    }
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
        sentence += &format!(" {} after that: {}.", count(later.len() as u64, "more difference"), told.join(", "));
    }
    if !joined.is_empty() {
        let mut joined = joined.clone();
        joined.sort_unstable();
        let verb = if joined.len() == 1 { "differs" } else { "differ" };
        sentence += &format!(" There {} {verb}, too.", rank_list(&joined));
    }
    if hangs {
        sentence += " Ranks that do not call the same collectives in the same order wait for each other for ever.";
    }
    sentence
}

fn advice(first: &Difference, hangs: bool) -> &'static str {
    match first.aspect {
        Aspect::Outcome | Aspect::Compiles if !hangs => {
            "See what became of these ranks: the finding about a failure or an end without one, and their rows of `ranks`. \
             Inputs of other shapes on some ranks make them compile more than the others."
        }
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
