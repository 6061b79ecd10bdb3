//! Collectives of each graph in their order.

use std::collections::BTreeSet;

use super::cells::{Cell, Findings};
use super::compiles::{INCOMPLETE, keys, label};
use super::facts::ScheduleFact;
use super::spots::{by_spot, name};
use super::{Aspect, Diagnostic, Key, Member};
use crate::analysis::schedules::ScheduleSource;
use crate::format::output_code::is_wait;

/// Collectives in the order of each graph, waits among them.
pub(super) fn collectives(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    let mut any = false;
    for key in keys(members) {
        any |= of_key(members, key, &label(key), Belongs::ToCompile, &mut findings);
    }
    let loose: BTreeSet<Key> = members.iter().flat_map(|m| m.facts.loose.keys().copied()).collect();
    for key in loose {
        let place = if key.1.is_none() { "no compile id".to_owned() } else { label(key) };
        any |= of_key(members, key, &place, Belongs::ToNone, &mut findings);
    }
    let same = if any {
        "All ranks run the same collectives in the same order in each graph."
    } else {
        "No graph of any rank has a collective."
    };
    findings.diagnostic(Aspect::Collectives, same, "No two ranks have a graph or code to compare.")
}

/// Whether schedules belong to the compile of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belongs {
    ToCompile,
    ToNone,
}

/// Compares the graphs of an id; yields whether one has a collective.
fn of_key(members: &[Member<'_>], key: Key, place: &str, belongs: Belongs, findings: &mut Findings) -> bool {
    let spots = by_spot(members, |m| facts(m, key, belongs), |fact| fact.part);
    let mut any = false;
    for (spot, found) in &spots {
        let ops = |fact: &ScheduleFact| fact.ops.as_ref().is_ok_and(|ops| !ops.is_empty());
        let has_any = found.iter().any(|(_, fact)| ops(fact));
        any |= has_any;
        let final_order = found.iter().any(|(_, fact)| fact.source != ScheduleSource::Graph);
        let judged = |fact: &&ScheduleFact| !(has_any && final_order && fact.source == ScheduleSource::Graph);
        let known: Vec<&str> =
            found.iter().map(|(_, fact)| *fact).filter(judged).filter_map(|f| f.ops.as_deref().ok()).collect();
        let position = first_difference(&known);
        let cell = |at: usize, m: &Member<'_>| match found.iter().find(|(of, _)| *of == at).map(|(_, fact)| *fact) {
            None if m.facts.incomplete => Cell::Unknown(INCOMPLETE.to_owned()),
            None if !has_any => Cell::Known(String::new(), "no collective".to_owned(), None),
            None if belongs == Belongs::ToNone => Cell::absent("no such graph"),
            None => match m.facts.compiles.get(&key) {
                None => Cell::absent("not compiled"),
                Some(compile) => Cell::plain("no such graph", compile.first),
            },
            Some(fact) => match &fact.ops {
                Err(why) => Cell::Unknown(why.to_string()),
                Ok(_) if !judged(&fact) => {
                    Cell::Unknown("only its graph is logged, which has another order than the code".to_owned())
                }
                Ok(ops) => Cell::Known(ops.to_string(), at_position(ops, position), Some(fact.record)),
            },
        };
        let part = name(*spot, spots.len(), found.iter().map(|(_, fact)| fact.part));
        let place = format!("{place}{part}, collective {}", position + 1);
        findings.place(Some(key), &place, members.iter().enumerate().map(|(at, m)| (m, cell(at, m))).collect());
    }
    any
}

fn facts<'a>(member: &'a Member<'_>, key: Key, belongs: Belongs) -> &'a [ScheduleFact] {
    match belongs {
        Belongs::ToCompile => member.facts.compiles.get(&key).map_or(&[], |c| c.schedules.as_slice()),
        Belongs::ToNone => member.facts.loose.get(&key).map_or(&[], Vec::as_slice),
    }
}

fn each(ops: &str) -> impl Iterator<Item = &str> {
    ops.split_terminator('\n')
}

/// The first position at which the lists are not all the same.
fn first_difference(lists: &[&str]) -> usize {
    let Some(first) = lists.first() else { return 0 };
    let differs = |other: &&str| {
        if first == other {
            return None;
        }
        let same = each(first).zip(each(other)).take_while(|(a, b)| a == b).count();
        Some(same)
    };
    lists.iter().filter_map(differs).min().unwrap_or(0)
}

/// What stands at a position, and how many collectives there are in all.
fn at_position(ops: &str, position: usize) -> String {
    let count = each(ops).filter(|op| !is_wait(op)).count();
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
