//! The differences before one, so arranged that its cause is found at once however many there are.

use rustc_hash::FxHashMap;

use super::Aspect;
use super::cells::{Difference, Group};
use super::facts::NO_BREAK;

/// Failures and breaks that are looked at, the latest ones.
const LATEST: usize = 64;
/// Differences that may be the cause of another order of runs.
const FIRST: usize = 1_000;

/// What differs before the difference at hand.
#[derive(Default)]
pub(super) struct Earlier {
    versions: Vec<usize>,
    /// The row at hand, and what differs in it.
    row: (Option<usize>, Vec<usize>),
    failed: Vec<usize>,
    broke: Vec<usize>,
    /// The first ones that belong to compiles.
    first: Vec<usize>,
    /// What was found for an order of runs, by the ranks.
    of_runs: FxHashMap<(Vec<i32>, Vec<i32>), Option<usize>>,
}

impl Earlier {
    /// Notes difference number `at`.
    pub(super) fn add(&mut self, at: usize, difference: &Difference) {
        if self.row.0 != difference.row {
            self.row = (difference.row, Vec::new());
        }
        if difference.row.is_some() {
            self.row.1.push(at);
            if self.first.len() < FIRST && difference.aspect != Aspect::Runtimes {
                self.first.push(at);
            }
        }
        match difference.aspect {
            Aspect::Versions => self.versions.push(at),
            Aspect::Outcome => self.failed.push(at),
            Aspect::Breaks => self.broke.push(at),
            _ => {}
        }
    }

    /// The earliest one that made `difference`: of the same compile, or of the versions. What ran in another order was
    /// compiled in another, or is something else.
    pub(super) fn cause(&mut self, difference: &Difference, all: &[Difference]) -> Option<usize> {
        let odd = difference.odd_ranks();
        let most = difference.groups.first()?.ranks.as_slice();
        if difference.aspect == Aspect::ExecOrder {
            let first = &self.first;
            return *self
                .of_runs
                .entry((odd.clone(), most.to_vec()))
                .or_insert_with(|| first.iter().copied().find(|at| parts(all.get(*at), &odd, most)));
        }
        let row = difference.row?;
        let of_row = if self.row.0 == Some(row) { self.row.1.as_slice() } else { &[] };
        let earlier = |at: &usize| {
            all.get(*at).is_some_and(|d| {
                d.aspect == Aspect::Versions || (d.aspect < difference.aspect && d.aspect != Aspect::Order)
            })
        };
        let candidates = self.versions.iter().chain(of_row).copied().filter(earlier);
        candidates.into_iter().find(|at| parts(all.get(*at), &odd, most))
    }

    /// The latest failure of all these ranks.
    pub(super) fn failure<'d>(
        &self,
        ranks: &[i32],
        all: &'d [Difference],
    ) -> Option<(usize, &'d Difference, &'d Group)> {
        latest(&self.failed, ranks, all, |_, group| group.value.starts_with("failed"))
    }

    /// The latest graph break of all these ranks in a compile that `is_it`.
    pub(super) fn graph_break<'d>(
        &self,
        ranks: &[i32],
        all: &'d [Difference],
        is_it: impl Fn(&Difference) -> bool,
    ) -> Option<(usize, &'d Difference, &'d Group)> {
        latest(&self.broke, ranks, all, |d, group| group.value != NO_BREAK && is_it(d))
    }
}

/// The latest difference in which all the ranks have one value, which is as wanted.
fn latest<'d>(
    numbers: &[usize],
    ranks: &[i32],
    all: &'d [Difference],
    wanted: impl Fn(&Difference, &Group) -> bool,
) -> Option<(usize, &'d Difference, &'d Group)> {
    numbers.iter().rev().take(LATEST).find_map(|&at| {
        let difference = all.get(at)?;
        let group = group_of(difference, *ranks.first()?)?;
        let group = difference.groups.get(group).filter(|group| wanted(difference, group))?;
        ranks.iter().all(|rank| group.ranks.binary_search(rank).is_ok()).then_some((at, difference, group))
    })
}

/// Number of the group that has a rank.
fn group_of(difference: &Difference, rank: i32) -> Option<usize> {
    difference.groups.iter().position(|group| group.ranks.binary_search(&rank).is_ok())
}

/// Whether a difference parts the odd ranks from all others: no group of it has some of both, and one has odd ranks.
fn parts(candidate: Option<&Difference>, odd: &[i32], most: &[i32]) -> bool {
    let Some(candidate) = candidate else { return false };
    let has = |group: &Group, ranks: &[i32]| {
        let (few, many) = if ranks.len() < group.ranks.len() { (ranks, &*group.ranks) } else { (&*group.ranks, ranks) };
        few.iter().any(|rank| many.binary_search(rank).is_ok())
    };
    let mut any_odd = false;
    let mut any_most = false;
    for group in &candidate.groups {
        let (has_odd, has_most) = (has(group, odd), has(group, most));
        if has_odd && has_most {
            return false;
        }
        any_odd |= has_odd;
        any_most |= has_most;
    }
    any_odd && any_most
}
