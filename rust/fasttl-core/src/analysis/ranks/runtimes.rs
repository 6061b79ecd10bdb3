//! Outputs and estimated runtimes of operations.

use super::cells::{Cell, Found, Mark};
use super::facts::RuntimeFact;
use super::row::Row;
use super::spots::{OfSide, by_spot, name};
use super::{Aspect, Difference, Group, rank_list};
use crate::format::payload::md5_hex;

/// What is said of a rank without such a record.
const NO_RECORD: &str =
    "its log has no such record: PyTorch writes it with LOG_TLPARSE=1, and not for what comes from a cache";

/// What is said where no two ranks have one.
pub(super) const NONE_HAS: &str = "No two ranks have records to compare: PyTorch writes them with LOG_TLPARSE=1, and not for what comes from a cache.";

/// Share of the larger of two neighbours by which estimates may differ: they come from measurements.
const TOLERANCE: f64 = 0.05;

/// Compares the operations of a compile: tensors, then estimates.
pub(super) fn of_row(row: &Row<'_>, tensors: &mut Found, runtimes: &mut Found) {
    let sides: Vec<_> = row.compiled().collect();
    let with: Vec<(usize, Vec<(usize, &RuntimeFact)>)> =
        sides.iter().enumerate().map(|(at, (_, facts, compile))| (at, facts.runtimes(compile).collect())).collect();
    let spots = by_spot(&with, |fact| fact.part);
    for (spot, of_spot) in &spots {
        let part = name(*spot, spots.len(), of_spot.iter().map(|(.., fact)| fact.part));
        let place = row.place(&part);
        let of = |side: usize| of_spot.iter().find(|(of, ..)| *of == side);
        let cells = |cell: &dyn Fn(Option<&OfSide<'_, RuntimeFact>>) -> Cell| {
            sides.iter().enumerate().map(|(at, (side, ..))| (&side.alike, cell(of(at)))).collect::<Vec<_>>()
        };
        tensors.place(Aspect::Tensors, &place, cells(&outputs));
        let marks = marks(of_spot.iter().filter_map(|(.., fact)| fact.total_ns()));
        runtimes.place(Aspect::Runtimes, &place, cells(&|fact| estimate(fact, &marks)));
    }
}

fn outputs(fact: Option<&OfSide<'_, RuntimeFact>>) -> Cell {
    match fact {
        None => Cell::unknown(NO_RECORD),
        Some((_, _, RuntimeFact { outputs: Err(why), .. })) => Cell::Unknown(why.clone()),
        Some((_, record, RuntimeFact { outputs: Ok(hash), .. })) => {
            Cell::Known(Mark::Digest(*hash), md5_hex(*hash), Some(*record))
        }
    }
}

fn estimate(fact: Option<&OfSide<'_, RuntimeFact>>, marks: &[f64]) -> Cell {
    let Some((_, record, fact)) = fact else { return Cell::unknown(NO_RECORD) };
    match (fact.total_ns(), &fact.outputs) {
        (Some(ns), _) => {
            let mark = marks.iter().position(|from| *from > ns).unwrap_or(marks.len());
            Cell::Known(Mark::Number(mark as u64), nanoseconds(ns), Some(*record))
        }
        (None, Err(why)) => Cell::Unknown(why.clone()),
        (None, Ok(_)) => Cell::unknown("an estimate of it is no finite number"),
    }
}

/// Where groups of estimates begin: those between which no gap is wider than the tolerance are one.
fn marks(estimates: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = estimates.collect();
    all.sort_by(f64::total_cmp);
    let mut marks = Vec::new();
    let mut before: Option<f64> = None;
    for ns in all {
        if before.is_none_or(|before| ns - before > TOLERANCE * ns.abs()) {
            marks.push(ns);
        }
        before = Some(ns);
    }
    marks
}

/// The sentence about estimates that differ: from the fastest to the slowest.
pub(super) fn sentence(differences: &[Difference], count: usize) -> Option<String> {
    let first = differences.first()?;
    let by_time = |a: &&Group, b: &&Group| number(a).total_cmp(&number(b));
    let (fast, slow) = (first.groups.iter().min_by(by_time)?, first.groups.iter().max_by(by_time)?);
    let others = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
    Some(format!(
        "{}{others}: {} on {}, {} on {}. These are estimates, not measurements.",
        first.place,
        fast.value,
        rank_list(&fast.ranks),
        slow.value,
        rank_list(&slow.ranks)
    ))
}

fn number(group: &Group) -> f64 {
    let (number, unit) = group.value.split_once(' ').unwrap_or((&group.value, "ns"));
    let number: f64 = number.parse().unwrap_or(f64::INFINITY);
    if unit == "ms" { number * 1e6 } else { number }
}

/// Estimates with all digits that tell two of them apart.
fn nanoseconds(ns: f64) -> String {
    if ns >= 1e6 { format!("{} ms", ns / 1e6) } else { format!("{ns} ns") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_that_lie_close_together_are_one() {
        assert_eq!(marks([100.0, 104.0, 101.0, 108.0, 200.0, 0.0, 0.0].into_iter()), [0.0, 100.0, 200.0]);
        assert_eq!(marks(std::iter::empty()), Vec::<f64>::new());
    }
}
