//! Stretches of time: put in order, made one where they touch, and made fewer where there are too many.

use rustc_hash::FxHashSet;

/// Begin and end, in microseconds since 1970.
pub(super) type Stretch = (i64, i64);

/// Stretches of work that are kept of a log.
const STRETCHES: usize = 2_000;

/// Seconds from one moment to the other; none where it is earlier.
#[expect(clippy::cast_precision_loss, reason = "a difference of times is exact up to 285 years")]
pub(super) fn seconds_between(from_us: i64, to_us: i64) -> f64 {
    to_us.saturating_sub(from_us).max(0) as f64 / 1e6
}

/// Stretches in order, those that touch made one.
pub(super) fn merged(mut list: Vec<Stretch>) -> Vec<Stretch> {
    list.sort_unstable();
    let mut merged: Vec<Stretch> = Vec::new();
    for (start, end) in list {
        match merged.last_mut() {
            Some(before) if start <= before.1 => before.1 = before.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// The same with the shortest gaps closed, so that not too many are left.
pub(super) fn coarse(list: Vec<Stretch>) -> Vec<Stretch> {
    if list.len() <= STRETCHES {
        return list;
    }
    let gap = |pair: &[Stretch]| match pair {
        [a, b] => b.0.saturating_sub(a.1),
        _ => 0,
    };
    let mut gaps: Vec<(i64, usize)> = list.windows(2).enumerate().map(|(at, pair)| (gap(pair), at)).collect();
    gaps.sort_unstable_by(|a, b| b.cmp(a));
    let kept: FxHashSet<usize> = gaps.iter().take(STRETCHES - 1).map(|(_, at)| at + 1).collect();
    let mut out: Vec<Stretch> = Vec::new();
    for (at, stretch) in list.into_iter().enumerate() {
        match out.last_mut() {
            Some(before) if !kept.contains(&at) => before.1 = stretch.1,
            _ => out.push(stretch),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_stretches_the_shortest_gaps_are_closed() {
        let many = (0..10_000).map(|at| (at * 100, at * 100 + if at % 10 == 9 { 50 } else { 99 })).collect();
        let few = coarse(many);
        assert_eq!(few.len(), STRETCHES);
        assert_eq!((few[0].0, few.last().unwrap().1), (0, 999_950));
        assert!(few.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert_eq!(merged(vec![(5, 9), (0, 3), (2, 4), (9, 12)]), [(0, 4), (5, 12)]);
    }
}
