//! Two sequences side by side: which items are equal, which are on one side only. The work is bounded, since what is
//! compared comes from logs.

use std::hash::Hash;
use std::ops::Range;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// The share of one text of the time for all.
const SHARE: u32 = 10;

/// How much work may be done.
pub(in crate::analysis) struct Budget {
    until: Instant,
    one: Duration,
    most: usize,
}

/// A stretch of both sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// Equal items.
    Same(Range<usize>, Range<usize>),
    /// Items of the first in place of items of the second; one of both may be empty.
    Other(Range<usize>, Range<usize>),
}

/// Why two sequences were not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Refused {
    /// What lies between their equal ends is too much.
    TooLarge,
    /// The time for all comparisons was over before.
    TimeOver,
}

impl Refused {
    /// The reason for a person. `how` says what was not done: `line by line`.
    pub(in crate::analysis) fn words(self, how: &str) -> String {
        match self {
            Self::TooLarge => format!("too large to compare {how}"),
            Self::TimeOver => format!("not compared {how}, since the time for it was over"),
        }
    }
}

impl Budget {
    /// For all comparisons `time` together, for each as many items as `most` between equal ends.
    pub(in crate::analysis) fn new(time: Duration, most: usize) -> Self {
        Self { until: Instant::now() + time, one: time / SHARE, most }
    }
}

/// Compares two sequences. Equal ends cost nothing of the budget.
///
/// # Errors
/// What lies between their equal ends is too much, or the time is over.
pub(in crate::analysis) fn compare<T: Eq + Hash>(a: &[T], b: &[T], budget: &Budget) -> Result<Vec<Run>, Refused> {
    compared(a, b, budget, |a, b, until| {
        // Numbers for items: texts are compared once each.
        let mut numbers: FxHashMap<&T, u32> = FxHashMap::default();
        let mut number = |item| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(item).or_insert(next)
        };
        let a: Vec<u32> = a.iter().map(&mut number).collect();
        let b: Vec<u32> = b.iter().map(&mut number).collect();
        capture_diff_slices_deadline(Algorithm::Myers, &a, &b, Some(until))
    })
}

/// The same where an item of the one may be equal to several of the other, as one that is not known is.
///
/// # Errors
/// As [`compare`] has them.
pub(in crate::analysis) fn compare_loosely<A, B: PartialEq<A>>(
    a: &[A],
    b: &[B],
    budget: &Budget,
) -> Result<Vec<Run>, Refused> {
    compared(a, b, budget, |a, b, until| {
        let mut ops = Compact::new(Replace::new(Capture::new()), a, b);
        // It fails only where what gathers the pieces does, and that does not.
        let _ = myers::diff_deadline_raw(&mut ops, a, 0..a.len(), b, 0..b.len(), Some(until));
        ops.into_inner().into_inner().into_ops()
    })
}

/// Compares what lies between the equal ends by `between`, which is told when to stop.
fn compared<A, B: PartialEq<A>>(
    a: &[A],
    b: &[B],
    budget: &Budget,
    between: impl FnOnce(&[A], &[B], Instant) -> Vec<DiffOp>,
) -> Result<Vec<Run>, Refused> {
    let shortest = a.len().min(b.len());
    let head = a.iter().zip(b).take_while(|(a, b)| b == a).count();
    let tail = a.iter().rev().zip(b.iter().rev()).take(shortest - head).take_while(|(a, b)| b == a).count();
    let (end_a, end_b) = (a.len() - tail, b.len() - tail);
    let (middle_a, middle_b) = (a.get(head..end_a).unwrap_or_default(), b.get(head..end_b).unwrap_or_default());
    let mut runs = Vec::new();
    if head > 0 {
        runs.push(Run::Same(0..head, 0..head));
    }
    if middle_a.is_empty() || middle_b.is_empty() {
        if !(middle_a.is_empty() && middle_b.is_empty()) {
            runs.push(Run::Other(head..end_a, head..end_b));
        }
    } else {
        if middle_a.len() + middle_b.len() > budget.most {
            return Err(Refused::TooLarge);
        }
        if Instant::now() > budget.until {
            return Err(Refused::TimeOver);
        }
        let until = budget.until.min(Instant::now() + budget.one);
        runs.extend(joined(between(middle_a, middle_b, until)).into_iter().map(|run| run.moved(head)));
    }
    if tail > 0 {
        runs.push(Run::Same(end_a..a.len(), end_b..b.len()));
    }
    Ok(runs)
}

/// A removal and an insertion beside each other are one piece.
fn joined(ops: Vec<DiffOp>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for op in ops {
        let (of_a, of_b) = (op.old_range(), op.new_range());
        match (op, runs.last_mut()) {
            (DiffOp::Equal { .. }, _) => runs.push(Run::Same(of_a, of_b)),
            (_, Some(Run::Other(last_a, last_b))) => {
                last_a.end = last_a.end.max(of_a.end);
                last_b.end = last_b.end.max(of_b.end);
            }
            _ => runs.push(Run::Other(of_a, of_b)),
        }
    }
    runs
}

impl Run {
    fn moved(self, by: usize) -> Self {
        let add = |range: Range<usize>| range.start + by..range.end + by;
        match self {
            Self::Same(a, b) => Self::Same(add(a), add(b)),
            Self::Other(a, b) => Self::Other(add(a), add(b)),
        }
    }
}

/// What only one of two sorted lists has, each as often as it has it more than the other.
pub(in crate::analysis) fn one_sided<T: Ord>(mut a: Vec<T>, mut b: Vec<T>) -> (Vec<T>, Vec<T>) {
    a.sort_unstable();
    b.sort_unstable();
    let (mut only_a, mut only_b) = (Vec::new(), Vec::new());
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some(of_a), Some(of_b)) => of_a.cmp(of_b),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return (only_a, only_b),
        };
        match order {
            std::cmp::Ordering::Less => only_a.extend(a.next()),
            std::cmp::Ordering::Greater => only_b.extend(b.next()),
            std::cmp::Ordering::Equal => {
                a.next();
                b.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> Budget {
        Budget::new(Duration::from_secs(20), 40_000)
    }

    fn runs(a: &str, b: &str) -> Vec<Run> {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        compare(&letters(a), &letters(b), &budget()).unwrap()
    }

    #[test]
    fn what_is_equal_and_what_is_not() {
        assert_eq!(runs("", ""), []);
        assert_eq!(runs("ab", "ab"), [Run::Same(0..2, 0..2)]);
        assert_eq!(runs("ab", ""), [Run::Other(0..2, 0..0)]);
        assert_eq!(runs("abd", "abcd"), [Run::Same(0..2, 0..2), Run::Other(2..2, 2..3), Run::Same(2..3, 3..4)]);
        assert_eq!(
            runs("xaybz", "1a2b3"),
            [
                Run::Other(0..1, 0..1),
                Run::Same(1..2, 1..2),
                Run::Other(2..3, 2..3),
                Run::Same(3..4, 3..4),
                Run::Other(4..5, 4..5),
            ]
        );
        assert_eq!(runs("aa", "aaa"), [Run::Same(0..2, 0..2), Run::Other(2..2, 2..3)]);
    }

    #[test]
    fn too_much_is_not_begun() {
        let small = Budget::new(Duration::from_secs(20), 10);
        let (a, b): (Vec<u32>, Vec<u32>) = ((0..20).collect(), (100..120).collect());
        assert_eq!(compare(&a, &b, &small), Err(Refused::TooLarge));
        // Equal ends cost nothing.
        let longer: Vec<u32> = (0..20).chain([7]).chain(0..20).collect();
        let shorter: Vec<u32> = (0..20).chain(0..20).collect();
        assert!(compare(&longer, &shorter, &small).is_ok());
    }

    #[test]
    fn nothing_is_begun_when_the_time_is_over() {
        let budget = Budget::new(Duration::ZERO, 40_000);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(compare(&[1], &[2], &budget), Err(Refused::TimeOver));
        assert_eq!(compare(&[1], &[1], &budget), Ok(vec![Run::Same(0..1, 0..1)]));
    }

    #[test]
    fn hostile_sequences_end_in_time() {
        let n = 19_000_u32;
        let hostile: [(Vec<u32>, Vec<u32>); 4] = [
            ((0..n).collect(), (0..n).rev().collect()),
            ((0..n).map(|i| i % 2).collect(), (0..n).map(|i| i % 3).collect()),
            ((0..n).map(|i| i % 7).collect(), (0..n).map(|i| i * i % 7).collect()),
            (vec![0; n as usize], (0..n).map(|i| u32::from(i % 5 == 0)).collect()),
        ];
        for (a, b) in hostile {
            let begun = Instant::now();
            assert!(compare(&a, &b, &Budget::new(Duration::from_secs(1), 40_000)).is_ok());
            assert!(begun.elapsed() < Duration::from_secs(10));
        }
    }

    #[test]
    fn what_is_not_known_equals_anything() {
        #[derive(Clone, Copy)]
        struct Letter(char);
        impl PartialEq<char> for Letter {
            fn eq(&self, other: &char) -> bool {
                self.0 == '?' || self.0 == *other
            }
        }
        let runs = |a: &str, b: &str| {
            let a: Vec<char> = a.chars().collect();
            let b: Vec<Letter> = b.chars().map(Letter).collect();
            compare_loosely(&a, &b, &budget()).unwrap()
        };
        assert_eq!(runs("abc", "?b?"), [Run::Same(0..3, 0..3)]);
        assert_eq!(runs("xabcay", "z?bcaw"), [Run::Other(0..1, 0..1), Run::Same(1..5, 1..5), Run::Other(5..6, 5..6)]);
    }

    #[test]
    fn sets_count_what_comes_several_times() {
        assert_eq!(one_sided(vec![3, 1, 1], vec![1, 2]), (vec![1, 3], vec![2]));
        assert_eq!(one_sided(vec![1, 1], vec![1, 1]), (vec![], vec![]));
    }
}
