//! Collectives of each graph in their order. Waits for them do not count: where they stand makes no rank hang.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cells::{Alike, Cell, Found, Mark, Place};
use super::compiles::{INCOMPLETE, label};
use super::facts::{ScheduleFact, Wholeness};
use super::row::{Has, Row};
use super::spots::{by_spot, name};
use super::{Aspect, Key, Member};
use crate::analysis::compiles::Status;
use crate::analysis::schedules::ScheduleSource;
use crate::format::output_code::is_wait;

/// Who has which schedules, and what it means where a rank has none.
#[derive(Default)]
struct Sides<'a> {
    alike: Vec<Alike>,
    /// By side: the schedules, or what is said of a side without any.
    facts: Vec<Result<Vec<(usize, &'a ScheduleFact)>, Cell>>,
    /// By side: what is said where it has not this graph.
    lacks: Vec<Cell>,
    /// By side: whether the compile did not come to its end, so that later graphs would have stood for its earlier ones.
    partial: Vec<bool>,
}

impl Sides<'_> {
    fn is_partial(&self, side: usize) -> bool {
        self.partial.get(side).copied().unwrap_or_default()
    }
}

/// What is said of a rank that has the graphs of a program only, where others have code.
const ONLY_GRAPHS: &str = "only its graph is logged, which has another order than the code";

/// What is said of a rank whose compile failed.
const FAILED: &str = "its compile failed";

/// Collectives in the order of each graph of a compile, waits among them. Yields whether there is one.
pub(super) fn of_row(row: &Row<'_>, found: &mut Found) -> bool {
    let mut sides = Sides::default();
    for side in &row.sides {
        let (facts, lacks, partial) = match side.has {
            // A compile that a rank lacks is a difference of its own, which tells of its collectives.
            Has::Absent => continue,
            Has::Lost => (Err(Cell::unknown(INCOMPLETE)), Cell::unknown(INCOMPLETE), true),
            Has::Compile(facts, compile) => {
                let cut = side.doubtful || facts.wholeness != Wholeness::Whole;
                let failed = compile.profile.status == Status::Error;
                let lacks = match (cut, failed) {
                    (true, _) => Cell::unknown(INCOMPLETE),
                    (false, true) => Cell::unknown(FAILED),
                    (false, false) => Cell::plain("no such graph", Some(compile.first())),
                };
                (Ok(facts.schedules(compile).collect()), lacks, side.doubtful || failed)
            }
        };
        sides.partial.push(partial);
        sides.alike.push(side.alike.clone());
        sides.facts.push(facts);
        sides.lacks.push(lacks);
    }
    compare(&sides, &row.place(""), found)
}

/// The same of what belongs to no compile of a frame.
pub(super) fn loose(members: &[Member<'_>], found: &mut Found) -> bool {
    let keys: BTreeSet<Key> = members.iter().flat_map(|m| m.facts.loose.keys().copied()).collect();
    let mut any = false;
    for key in keys {
        let mut sides = Sides::default();
        for member in members {
            let facts = member.facts.loose.get(&key).map_or(&[][..], Vec::as_slice);
            sides.alike.push(Alike::one(member));
            sides.facts.push(Ok(facts.iter().map(|(record, fact)| (*record, fact)).collect()));
            let whole = member.facts.wholeness == Wholeness::Whole;
            sides.lacks.push(if whole { Cell::plain("no such graph", None) } else { Cell::unknown(INCOMPLETE) });
        }
        let words = if key.1.is_none() { "no compile id".to_owned() } else { label(key) };
        let key = Some(key).filter(|key| !key.1.is_none());
        any |= compare(&sides, &Place { key, words, ..Place::default() }, found);
    }
    any
}

/// Compares the graphs of an id; yields whether one has a collective.
fn compare(sides: &Sides<'_>, place: &Place, found: &mut Found) -> bool {
    let has_ops = |fact: &ScheduleFact| fact.ops.as_ref().is_ok_and(|ops| !ops.is_empty());
    let is_graph = |fact: &ScheduleFact| fact.source == ScheduleSource::Graph;
    // The graphs of a program have no Inductor compile, and stand beside no graph of a rank that has code.
    let has_code = sides.facts.iter().flatten().flatten().any(|(_, fact)| !is_graph(fact) && has_ops(fact));
    let only_graphs = |facts: &[(usize, &ScheduleFact)]| has_code && facts.iter().any(|(_, fact)| is_graph(fact));
    let judged: Vec<Result<&[(usize, &ScheduleFact)], Cell>> = sides
        .facts
        .iter()
        .map(|facts| match facts {
            Err(cell) => Err(cell.clone()),
            Ok(facts) if only_graphs(facts) => Err(Cell::unknown(ONLY_GRAPHS)),
            Ok(facts) => Ok(facts.as_slice()),
        })
        .collect();
    let with: Vec<(usize, Vec<(usize, &ScheduleFact)>)> = judged
        .iter()
        .enumerate()
        .filter_map(|(side, facts)| facts.as_ref().ok().map(|facts| (side, facts.to_vec())))
        .collect();
    let spots = by_spot(&with, |fact| fact.part);
    let mut any = false;
    for (spot, of_spot) in &spots {
        let has_any = of_spot.iter().any(|(.., fact)| has_ops(fact));
        any |= has_any;
        // Of a compile that did not come to its end a later graph may have said it in other words.
        let may_change = |side: usize, fact: &ScheduleFact| is_graph(fact) && sides.is_partial(side);
        let ops = |fact: &ScheduleFact| fact.ops.as_ref().map(without_waits).map_err(Arc::clone);
        let lists: Vec<(usize, Arc<str>)> = of_spot
            .iter()
            .filter(|(side, _, fact)| !may_change(*side, fact))
            .filter_map(|(side, _, fact)| Some((*side, ops(fact).ok()?)))
            .collect();
        let weights = lists.iter().map(|(side, list)| (&**list, sides.alike.get(*side).map_or(0, |a| a.ranks.len())));
        let most = most(weights);
        let position = lists.iter().filter_map(|(_, list)| parting(most, list)).min().unwrap_or(0);
        let cell = |side: usize| match of_spot.iter().find(|(of, ..)| *of == side) {
            None => match judged.get(side) {
                Some(Err(cell)) => cell.clone(),
                _ if !has_any => Cell::Known(Mark::Text("".into()), "no collective".to_owned(), None),
                _ => sides.lacks.get(side).cloned().unwrap_or_else(|| Cell::unknown(INCOMPLETE)),
            },
            Some((_, record, fact)) => match ops(fact) {
                Err(why) => Cell::Unknown(why),
                Ok(ops) => {
                    // Each group is told where it parts from that of most ranks.
                    let own = parting(most, &ops).unwrap_or(position);
                    let more = if own == position { String::new() } else { format!(", collective {}", own + 1) };
                    let shown = at_position(&ops, own) + &more;
                    let cell = Cell::Known(Mark::Text(ops), shown, Some(*record));
                    if may_change(side, fact) { cell.doubtful() } else { cell }
                }
            },
        };
        let part = name(*spot, spots.len(), of_spot.iter().map(|(.., fact)| fact.part));
        let cells = sides.alike.iter().enumerate().map(|(side, alike)| (alike, cell(side))).collect();
        let at = position as u64 + 1;
        let words = format!("{}{part}, collective {at}", place.words);
        found.place(Aspect::Collectives, &Place { words, position: Some(at), ..place.clone() }, cells);
    }
    any
}

fn each(ops: &str) -> impl Iterator<Item = &str> {
    ops.split_terminator('\n')
}

/// The operators that are no waits.
fn without_waits(ops: &Arc<str>) -> Arc<str> {
    if each(ops).any(is_wait) {
        each(ops).filter(|op| !is_wait(op)).flat_map(|op| [op, "\n"]).collect::<String>().into()
    } else {
        Arc::clone(ops)
    }
}

/// The list that most ranks have.
fn most<'a>(lists: impl Iterator<Item = (&'a str, usize)>) -> &'a str {
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    let mut order: Vec<&str> = Vec::new();
    for (list, ranks) in lists {
        let count = counts.entry(list).or_insert_with(|| {
            order.push(list);
            0
        });
        *count += ranks;
    }
    // Of several the first.
    let largest = order.iter().rev().max_by_key(|list| counts.get(**list));
    largest.copied().unwrap_or_default()
}

/// The position from which on a list is not like that of most ranks; `None` where it is the same.
fn parting(most: &str, list: &str) -> Option<usize> {
    (most != list).then(|| each(most).zip(each(list)).take_while(|(a, b)| a == b).count())
}

/// What stands at a position, and how many collectives there are in all.
fn at_position(ops: &str, position: usize) -> String {
    let count = each(ops).count();
    let all = if count == 1 { "1 collective".to_owned() } else { format!("{count} collectives") };
    match each(ops).nth(position) {
        Some("") => format!("(no name) (of {all})"),
        Some(op) => format!("{} (of {all})", short(op)),
        None => format!("nothing (of {all})"),
    }
}

/// `all_reduce_` for `torch.ops._c10d_functional.all_reduce_.default`.
fn short(op: &str) -> &str {
    let op = op.strip_prefix("torch.ops.").unwrap_or(op);
    op.split('.').nth(1).unwrap_or(op)
}

/// How many collectives a compile has, in all its graphs.
pub(super) fn count(facts: &super::Facts, compile: &super::CompileFact) -> usize {
    let of_graph =
        |(_, fact): (usize, &ScheduleFact)| fact.ops.as_ref().map_or(0, |ops| each(&without_waits(ops)).count());
    facts.schedules(compile).map(of_graph).sum()
}
