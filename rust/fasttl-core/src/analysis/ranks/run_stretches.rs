//! Orders of runs side by side: the stretches in which they differ.
//!
//! An order is held against that of most ranks, so that a run more on a rank is one stretch and shifts nothing. A run of
//! which it is not known what it was equals any other at its place.

use std::ops::Range;

use crate::analysis::lines::{Budget, Run, compare, compare_loosely};

/// Stretches of one order; what comes behind is one with the last of them.
const MOST: usize = 1_000;

/// What ran, by a number that is the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ran(u32);

impl Ran {
    /// Something that the log does not tell.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);

    /// A graph by its number.
    pub(super) const fn graph(number: u32) -> Self {
        Self(number)
    }

    pub(super) fn is_known(self) -> bool {
        self != Self::UNKNOWN
    }

    /// The number of the graph.
    pub(super) fn number(self) -> Option<usize> {
        self.is_known().then_some(self.0 as usize)
    }

    /// Whether both may be the same.
    pub(super) fn fits(self, other: Self) -> bool {
        self == other || !self.is_known() || !other.is_known()
    }
}

/// What ran, equal to all that it may be.
#[derive(Clone, Copy)]
struct MayBe(Ran);

impl PartialEq<Ran> for MayBe {
    fn eq(&self, other: &Ran) -> bool {
        self.0.fits(*other)
    }
}

/// Whether two orders may be the same.
pub(super) fn fit(a: &[Ran], b: &[Ran]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.fits(*b))
}

/// Where an order has something else than that of most ranks; one of both may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) of_most: Range<usize>,
    pub(super) of_odd: Range<usize>,
}

/// The stretches in which `odd` differs from `most`, in order. Run for run, unless fewer come out where a run more shifts
/// those behind it.
pub(super) fn stretches(most: &[Ran], odd: &[Ran], budget: &Budget) -> Vec<Stretch> {
    let beside = unlike(most, odd).count() + usize::from(most.len() != odd.len());
    let all_known = || most.iter().chain(odd).all(|ran| ran.is_known());
    let mut found = if beside <= 1 {
        run_for_run(most, odd)
    } else {
        let runs = if all_known() {
            compare(most, odd, budget)
        } else {
            let odd: Vec<MayBe> = odd.iter().map(|ran| MayBe(*ran)).collect();
            compare_loosely(most, &odd, budget)
        };
        let shifted = runs.map_or_else(|_| as_one(most, odd), |runs| runs.into_iter().filter_map(other).collect());
        if beside <= shifted.len() { run_for_run(most, odd) } else { shifted }
    };
    if let Some((of_most, of_odd)) = found.get(MOST..).and_then(<[_]>::last).map(|l| (l.of_most.end, l.of_odd.end)) {
        found.truncate(MOST);
        if let Some(last) = found.last_mut() {
            last.of_most.end = of_most;
            last.of_odd.end = of_odd;
        }
    }
    found
}

fn other(run: Run) -> Option<Stretch> {
    match run {
        Run::Same(..) => None,
        Run::Other(of_most, of_odd) => Some(Stretch { of_most, of_odd }),
    }
}

/// Positions at which both ran something, and not the same.
fn unlike<'a>(most: &'a [Ran], odd: &'a [Ran]) -> impl Iterator<Item = usize> + 'a {
    most.iter().zip(odd).enumerate().filter(|(_, (a, b))| !a.fits(**b)).map(|(at, _)| at)
}

/// Each position that differs, and what one of both has behind the end of the other.
fn run_for_run(most: &[Ran], odd: &[Ran]) -> Vec<Stretch> {
    let shorter = most.len().min(odd.len());
    let rest = Stretch { of_most: shorter..most.len(), of_odd: shorter..odd.len() };
    let rest = (most.len() != odd.len()).then_some(rest);
    unlike(most, odd).map(|at| Stretch { of_most: at..at + 1, of_odd: at..at + 1 }).chain(rest).collect()
}

/// All between the first and the last run that differ.
fn as_one(most: &[Ran], odd: &[Ran]) -> Vec<Stretch> {
    let shorter = most.len().min(odd.len());
    let head = most.iter().zip(odd).take_while(|(a, b)| a.fits(**b)).count();
    let ends = most.iter().rev().zip(odd.iter().rev()).take(shorter - head);
    let tail = ends.take_while(|(a, b)| a.fits(**b)).count();
    vec![Stretch { of_most: head..most.len() - tail, of_odd: head..odd.len() - tail }]
}

/// Fills what is not known of `most` from an order that agrees with it around its stretches. Yields whether both know
/// and agree anywhere.
pub(super) fn fill(most: &mut [Ran], odd: &[Ran], stretches: &[Stretch]) -> bool {
    let (mut at_most, mut at_odd, mut agree) = (0, 0, false);
    let end = Stretch { of_most: most.len()..most.len(), of_odd: odd.len()..odd.len() };
    for stretch in stretches.iter().chain([&end]) {
        let of_most = most.get_mut(at_most..stretch.of_most.start).unwrap_or_default();
        let of_odd = odd.get(at_odd..stretch.of_odd.start).unwrap_or_default();
        for (most, odd) in of_most.iter_mut().zip(of_odd) {
            agree |= most.is_known() && odd.is_known();
            if !most.is_known() {
                *most = *odd;
            }
        }
        (at_most, at_odd) = (stretch.of_most.end, stretch.of_odd.end);
    }
    agree
}

/// The places in the order of most ranks at which any order differs; those that overlap are one.
pub(super) fn places(all: &[Vec<Stretch>]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = all.iter().flatten().map(|stretch| stretch.of_most.clone()).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut places: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match places.last_mut() {
            Some(last) if *last == range || range.start < last.end => last.end = last.end.max(range.end),
            _ => places.push(range),
        }
    }
    places
}

/// Goes through an order place by place.
pub(super) struct Cursor<'a> {
    stretches: &'a [Stretch],
    /// Behind the last stretch: equal runs begin here.
    at_most: usize,
    at_odd: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(stretches: &'a [Stretch]) -> Self {
        Self { stretches, at_most: 0, at_odd: 0 }
    }

    /// What stands at a place of [`places`]; later places come later.
    pub(super) fn at(&mut self, place: &Range<usize>) -> Range<usize> {
        let start = self.beside(place.start);
        while let Some((first, rest)) = self.stretches.split_first() {
            if first.of_most != *place && first.of_most.start >= place.end {
                break;
            }
            (self.at_most, self.at_odd) = (first.of_most.end, first.of_odd.end);
            self.stretches = rest;
        }
        start..self.beside(place.end)
    }

    const fn beside(&self, of_most: usize) -> usize {
        self.at_odd + of_most.saturating_sub(self.at_most)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn runs(letters: &str) -> Vec<Ran> {
        letters.chars().map(|c| if c == '?' { Ran::UNKNOWN } else { Ran::graph(u32::from(c)) }).collect()
    }

    fn budget() -> Budget {
        Budget::new(Duration::from_secs(20), 1_000_000)
    }

    /// Each stretch: the place, what most have and what the odd one has.
    fn found(most: &str, odd: &str) -> Vec<(usize, String, String)> {
        let part = |text: &str, range: Range<usize>| text.chars().skip(range.start).take(range.len()).collect();
        let all = stretches(&runs(most), &runs(odd), &budget());
        all.into_iter().map(|s| (s.of_most.start + 1, part(most, s.of_most), part(odd, s.of_odd))).collect()
    }

    fn is(at: usize, most: &str, odd: &str) -> (usize, String, String) {
        (at, most.to_owned(), odd.to_owned())
    }

    #[test]
    fn a_run_more_shifts_nothing() {
        assert_eq!(found("abcabc", "abcabc"), []);
        assert_eq!(found("abcabc", "abxcabc"), [is(3, "", "x")]);
        assert_eq!(found("abcdef", "abef"), [is(3, "cd", "")]);
        assert_eq!(found("abcabcabc", "bcabcabca"), [is(1, "a", ""), is(10, "", "a")]);
        // A rank that stops, and one that goes on.
        assert_eq!(found("abc", "a"), [is(2, "bc", "")]);
        assert_eq!(found("abc", "abcde"), [is(4, "", "de")]);
        assert_eq!(found("abc", ""), [is(1, "abc", "")]);
    }

    #[test]
    fn runs_that_were_swapped_are_told_one_by_one() {
        assert_eq!(found("abc", "acb"), [is(2, "b", "c"), is(3, "c", "b")]);
        // Fewer are told, where several in a row are others.
        assert_eq!(found("abcdz", "amnoz"), [is(2, "bcd", "mno")]);
    }

    #[test]
    fn what_is_not_known_is_like_anything_and_shifts_nothing() {
        assert_eq!(found("abcabc", "a?c??c"), []);
        assert_eq!(found("?bc", "ab?"), []);
        assert_eq!(found("abcabcabc", "a?cxabca?c"), [is(4, "", "x")]);
        // One entry more is one run more, whatever it was.
        assert_eq!(found("abcdefgh", "ab?cdefgh").len(), 1);
        assert_eq!(found("abc", "abc?"), [is(4, "", "?")]);
        // A shift in front and one at the end, with gaps between.
        assert_eq!(found("abcdefgh", "bc?e?ghx"), [is(1, "a", ""), is(9, "", "x")]);
    }

    #[test]
    fn what_one_does_not_know_another_tells() {
        let (mut most, odd) = (runs("a?c?"), runs("abxcd"));
        let all = stretches(&most, &odd, &budget());
        assert!(fill(&mut most, &odd, &all));
        assert_eq!(most, runs("abcd"));
        assert!(!fill(&mut runs("?"), &runs("a"), &[]));
    }

    #[test]
    fn places_that_overlap_are_one() {
        let orders = ["abcdef", "abxcdef", "axydef", "abcdyz", "abcdef"];
        let most = runs("abcdef");
        let all: Vec<Vec<Stretch>> = orders.iter().map(|order| stretches(&most, &runs(order), &budget())).collect();
        let places = places(&all);
        assert_eq!(places, [1..3, 4..6]);
        let mut told = Vec::new();
        for (order, stretches) in orders.iter().zip(&all) {
            let mut cursor = Cursor::new(stretches);
            told.push(places.iter().map(|place| order.get(cursor.at(place)).unwrap()).collect::<Vec<_>>());
        }
        assert_eq!(told, [["bc", "ef"], ["bxc", "ef"], ["xy", "ef"], ["bc", "yz"], ["bc", "ef"]]);
        // What was put between two runs is no part of what is put in the place of the one behind them.
        let all = [vec![Stretch { of_most: 1..1, of_odd: 1..2 }], vec![Stretch { of_most: 1..2, of_odd: 1..2 }]];
        let places = super::places(&all);
        assert_eq!(places, [1..1, 1..2]);
        let at = |stretches| {
            let mut cursor = Cursor::new(stretches);
            places.iter().map(|place| cursor.at(place)).collect::<Vec<_>>()
        };
        assert_eq!(at(&all[0]), [1..2, 2..3]);
        assert_eq!(at(&all[1]), [1..1, 1..2]);
    }

    #[test]
    fn hostile_orders_end_in_time_and_are_few_stretches() {
        let order = |of: &dyn Fn(u32) -> u32| (0..100_000).map(|n| Ran::graph(of(n))).collect::<Vec<_>>();
        let most = order(&|n| n % 7);
        let begun = Instant::now();
        let budget = Budget::new(Duration::from_secs(3), 1_000_000);
        for odd in
            [order(&|n| n % 13 * (n % 5) % 11), order(&|n| 99_999 - n), order(&|n| if n % 2 == 0 { n % 7 } else { 9 })]
        {
            let found = stretches(&most, &odd, &budget);
            assert!((1..=MOST).contains(&found.len()));
            assert!(found.windows(2).all(|pair| pair[0].of_most.end <= pair[1].of_most.start));
        }
        assert!(begun.elapsed() < Duration::from_secs(30));
        let small = Budget::new(Duration::from_secs(3), 10);
        let unlike = stretches(&runs("abcdefghij"), &runs("bcdefghijk"), &small);
        assert_eq!(unlike, [Stretch { of_most: 0..10, of_odd: 0..10 }]);
    }
}
