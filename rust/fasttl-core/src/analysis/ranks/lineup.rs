//! The compiles of all ranks side by side: which compile of a rank is which of another.
//!
//! Ranks that compiled the same in the same order are one sequence, and most are. The sequence of most ranks comes
//! first; each other one is aligned with what the ones before it have, so that a compile more on one rank shifts
//! nothing. Sequences are aligned by id, code and graph (`analysis/align.rs`).

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::facts::CompileFact;
use super::{Key, Member};
use crate::analysis::align::{Known, align_known};
use crate::analysis::lines::Budget;

/// Time for all sequences that are not those of most ranks.
const TIME: Duration = Duration::from_secs(20);
/// Places of a lineup, compiles times ranks. Ranks that have nothing in common would need the square of all.
const PLACES: usize = 16_000_000;
/// Compiles that two sequences are aligned by in order; those that ids and code tell do not count.
const MOST: usize = 40_000;

/// A compile on all ranks that have it.
#[derive(Clone, Debug)]
pub struct LineupRow {
    /// Its id on most of these ranks.
    pub key: Key,
    /// For each member its number in the facts of the log; `None` where the rank has no such compile.
    pub of: Vec<Option<u32>>,
    /// Members that compiled it in another order than most.
    pub moved: Vec<u32>,
}

/// The compiles of all ranks, in the order of most.
#[derive(Clone, Debug, Default)]
pub struct Lineup {
    /// The compiles.
    pub rows: Vec<LineupRow>,
}

/// Members that compiled the same in the same order.
struct Sequence<'a> {
    members: Vec<usize>,
    compiles: &'a [CompileFact],
}

/// A row while sequences are added: what it is known by, and of each sequence the number of its compile.
struct Open<'a> {
    known: Known<'a>,
    of: Vec<(usize, u32)>,
    moved: Vec<usize>,
}

impl Lineup {
    /// Lines up the compiles of the members; yields the numbers of those, too, for whose compiles there is no room.
    pub(super) fn new(members: &[Member<'_>]) -> (Self, Vec<usize>) {
        let sequences = sequences(members);
        let budget = Budget::new(TIME, MOST);
        let mut rows: Vec<Open<'_>> = Vec::new();
        let mut too_many = Vec::new();
        for (nth, sequence) in sequences.iter().enumerate() {
            if nth > 0 && (rows.len() + sequence.compiles.len()) * members.len() > PLACES {
                too_many.extend(sequence.members.iter().copied());
            } else {
                rows = with(rows, (nth, sequence), &budget);
            }
        }
        let row = |open: Open<'_>| {
            let mut of = vec![None; members.len()];
            let mut moved = Vec::new();
            let mut keys: FxHashMap<Key, usize> = FxHashMap::default();
            for (nth, number) in open.of {
                let Some(sequence) = sequences.get(nth) else { continue };
                if let Some(compile) = sequence.compiles.get(number as usize) {
                    *keys.entry(compile.profile.key).or_default() += sequence.members.len();
                }
                for &member in &sequence.members {
                    if let Some(place) = of.get_mut(member) {
                        *place = Some(number);
                    }
                    if open.moved.contains(&nth) {
                        moved.extend(u32::try_from(member));
                    }
                }
            }
            let most = keys.iter().max_by_key(|(key, count)| (**count, std::cmp::Reverse(**key)));
            let key = most.map_or((open.known.generation, open.known.id), |(key, _)| *key);
            moved.sort_unstable();
            LineupRow { key, of, moved }
        };
        too_many.sort_unstable();
        (Self { rows: rows.into_iter().map(row).collect() }, too_many)
    }
}

/// The different sequences, that of most members first.
fn sequences<'a>(members: &[Member<'a>]) -> Vec<Sequence<'a>> {
    let mut by_content: FxHashMap<Vec<Known<'_>>, usize> = FxHashMap::default();
    let mut sequences: Vec<Sequence<'a>> = Vec::new();
    for (at, member) in members.iter().enumerate() {
        let content = member.facts.compiles.iter().map(|compile| compile.profile.known()).collect();
        let nth = *by_content.entry(content).or_insert_with(|| {
            sequences.push(Sequence { members: Vec::new(), compiles: &member.facts.compiles });
            sequences.len() - 1
        });
        if let Some(sequence) = sequences.get_mut(nth) {
            sequence.members.push(at);
        }
    }
    // Of two that as many have, the longer one: what the other lacks is then a compile less.
    sequences.sort_by_key(|s| (std::cmp::Reverse(s.members.len()), std::cmp::Reverse(s.compiles.len())));
    sequences
}

/// The rows with one more sequence.
fn with<'a>(mut rows: Vec<Open<'a>>, (nth, sequence): (usize, &Sequence<'a>), budget: &Budget) -> Vec<Open<'a>> {
    let known: Vec<Known<'a>> = sequence.compiles.iter().map(|compile| compile.profile.known()).collect();
    let before: Vec<Known<'_>> = rows.iter().map(|row| row.known.clone()).collect();
    let mut row_of: Vec<Option<usize>> = vec![None; known.len()];
    // A compile that only some ranks have is no place for another function.
    let is_common = |row: usize| rows.get(row).is_some_and(|open| open.of.first().is_some_and(|(nth, _)| *nth == 0));
    for (row, compile) in align_known((&before, &known), is_common, budget) {
        if let (Some(row), Some(place)) = (row, compile.and_then(|compile| row_of.get_mut(compile))) {
            *place = Some(row);
        }
    }
    let in_order = longest_rise(&row_of);
    // Compiles that are new stand behind the one before them.
    let mut new: Vec<Vec<Open<'a>>> = Vec::new();
    new.resize_with(rows.len() + 1, Vec::new);
    let mut behind = 0;
    for ((number, row), (known, in_order)) in (0_u32..).zip(&row_of).zip(known.into_iter().zip(in_order)) {
        match row.and_then(|row| rows.get_mut(row).map(|open| (row, open))) {
            Some((row, open)) => {
                open.of.push((nth, number));
                if in_order {
                    behind = row + 1;
                } else {
                    open.moved.push(nth);
                }
            }
            None => {
                if let Some(list) = new.get_mut(behind) {
                    list.push(Open { known, of: vec![(nth, number)], moved: Vec::new() });
                }
            }
        }
    }
    let mut new = new.into_iter();
    let mut all: Vec<Open<'a>> = new.next().unwrap_or_default();
    for (row, behind) in rows.into_iter().zip(new) {
        all.push(row);
        all.extend(behind);
    }
    all
}

/// Which of the numbers belong to the longest rising run of them: the others were moved. `None` belongs to no run.
fn longest_rise(numbers: &[Option<usize>]) -> Vec<bool> {
    // Ends of the best runs by length, and for each number the one before it in its run.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; numbers.len()];
    let value = |at: &usize| numbers.get(*at).copied().flatten();
    for (at, number) in numbers.iter().enumerate() {
        let Some(number) = number else { continue };
        let length = ends.partition_point(|end| value(end) < Some(*number));
        if let Some(place) = before.get_mut(at) {
            *place = length.checked_sub(1).and_then(|nth| ends.get(nth)).copied();
        }
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut is_in = vec![false; numbers.len()];
    let mut next = ends.last().copied();
    while let Some(at) = next {
        if let Some(place) = is_in.get_mut(at) {
            *place = true;
        }
        next = before.get(at).copied().flatten();
    }
    is_in
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_order_was_moved() {
        let rise = |numbers: &[usize]| longest_rise(&numbers.iter().map(|n| Some(*n)).collect::<Vec<_>>());
        assert_eq!(rise(&[0, 1, 2]), [true, true, true]);
        assert_eq!(rise(&[0, 3, 1, 2]), [true, false, true, true]);
        assert_eq!(rise(&[2, 0, 1]), [false, true, true]);
        assert_eq!(longest_rise(&[Some(1), None, Some(2)]), [true, false, true]);
        assert_eq!(longest_rise(&[]), Vec::<bool>::new());
    }
}
