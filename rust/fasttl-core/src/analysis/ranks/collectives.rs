//! Collectives of each graph in their order; schedules against the code made from them.

use std::sync::Arc;

use super::cells::{Cell, Difference, Findings, Group, Unjudged};
use super::compiles::{ENDS_EARLY, keys, label};
use super::facts::ScheduleFact;
use super::{Aspect, Diagnostic, Key, Member, Verdict, rank_list};
use crate::analysis::schedules::{Parity, ScheduleSource};
use crate::format::output_code::is_wait;

/// Collectives in the order of each graph, waits among them.
pub(super) fn collectives(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    let mut any = false;
    for key in keys(members) {
        let of = |m: &Member<'_>| m.facts.compiles.get(&key).map_or(0, |c| c.schedules.len());
        let graphs = members.iter().map(of).max().unwrap_or(0);
        for nth in 0..graphs {
            any |= graph(members, key, nth, graphs, &mut findings);
        }
    }
    let same = if any {
        "All ranks run the same collectives in the same order in each graph."
    } else {
        "No graph of any rank has a collective."
    };
    findings.diagnostic(Aspect::Collectives, same, "No two ranks have a graph or code to compare.")
}

/// Compares the n-th graph of an id; yields whether it has a collective.
fn graph(members: &[Member<'_>], key: Key, nth: usize, graphs: usize, findings: &mut Findings) -> bool {
    let fact = |m: &Member<'_>| m.facts.compiles.get(&key).and_then(|c| c.schedules.get(nth)).cloned();
    let facts: Vec<Option<ScheduleFact>> = members.iter().map(fact).collect();
    let ops = |fact: &ScheduleFact| fact.ops.clone().unwrap_or_default();
    let any = facts.iter().flatten().any(|fact| !ops(fact).is_empty());
    let final_order = facts.iter().flatten().any(|fact| fact.source != ScheduleSource::Graph);
    let lists: Vec<Arc<str>> = facts.iter().flatten().map(ops).collect();
    let position = first_difference(&lists);
    let cell = |m: &Member<'_>, fact: &Option<ScheduleFact>| match fact {
        None if !any => Cell::Known(String::new(), "no collective".to_owned(), None),
        None if m.facts.ends_early => Cell::Unknown(ENDS_EARLY.to_owned()),
        None => match m.facts.compiles.get(&key) {
            None => Cell::absent("not compiled"),
            Some(compile) => Cell::plain("no such graph", compile.first),
        },
        Some(fact) => match &fact.ops {
            Err(why) => Cell::Unknown(why.to_string()),
            Ok(_) if any && final_order && fact.source == ScheduleSource::Graph => {
                Cell::Unknown("only its graph is logged, which has another order than the code".to_owned())
            }
            Ok(ops) => Cell::Known(ops.to_string(), at(ops, position), Some(fact.record)),
        },
    };
    let part = facts.iter().flatten().find_map(|fact| fact.part).filter(|_| graphs > 1);
    let part = match (part, graphs) {
        (Some(part), _) => format!(", {}", part.label()),
        (None, 1) => String::new(),
        (None, _) => format!(", graph {}", nth + 1),
    };
    let place = format!("{}{part}, collective {}", label(key), position + 1);
    findings.place(Some(key), &place, members.iter().zip(&facts).map(|(m, fact)| (m, cell(m, fact))).collect());
    any
}

/// The first position at which the lists are not all the same.
fn first_difference(lists: &[Arc<str>]) -> usize {
    let Some(first) = lists.first() else { return 0 };
    let differs = |other: &Arc<str>| {
        if first == other {
            return None;
        }
        let (a, b): (Vec<&str>, Vec<&str>) = (first.lines().collect(), other.lines().collect());
        (0..a.len().max(b.len())).find(|&at| a.get(at) != b.get(at))
    };
    lists.iter().filter_map(differs).min().unwrap_or(0)
}

/// What stands at a position, and how many collectives there are in all.
fn at(ops: &str, position: usize) -> String {
    let count = ops.lines().filter(|op| !is_wait(op)).count();
    let all = if count == 1 { "1 collective".to_owned() } else { format!("{count} collectives") };
    match ops.lines().nth(position) {
        Some(op) => format!("{} (of {all})", short(op)),
        None => format!("nothing (of {all})"),
    }
}

/// `all_reduce_` for `torch.ops._c10d_functional.all_reduce_.default`.
fn short(op: &str) -> &str {
    let op = op.strip_prefix("torch.ops.").unwrap_or(op);
    op.split('.').nth(1).unwrap_or(op)
}

/// The schedule of each graph against its code, and collectives that nothing waits for; each log by itself.
pub(super) fn parity(members: &[Member<'_>]) -> Diagnostic {
    let mut differences: Vec<Difference> = Vec::new();
    let mut unknown: Vec<Unjudged> = Vec::new();
    let mut compared = 0;
    for member in members {
        let loose = member.facts.loose.iter().map(|fact| (None, fact));
        let of_compiles = member.facts.compiles.iter();
        let of_compiles = of_compiles.flat_map(|(key, c)| c.schedules.iter().map(move |fact| (Some(*key), fact)));
        for (key, fact) in of_compiles.chain(loose) {
            let place = key.map_or_else(|| "no compile id".to_owned(), label);
            let part = fact.part.filter(|p| p.number > 0).map(|p| format!(", {}", p.label())).unwrap_or_default();
            let place = format!("{place}{part}");
            match &fact.parity {
                Parity::Nothing => {}
                Parity::Unknown(why) => not_known(&mut unknown, member.rank, &place, why),
                Parity::Compared { offset: 0, missing_waits: 0, .. } => compared += 1,
                Parity::Compared { offset, missing_waits, code } => {
                    compared += 1;
                    let group = Group {
                        ranks: vec![member.rank],
                        value: fault(*offset, *missing_waits),
                        evidence: (member.log, Some(*code)),
                    };
                    merge(&mut differences, Difference { key, place, groups: vec![group] });
                }
            }
        }
    }
    let (verdict, sentence) = match differences.first() {
        Some(first) => {
            let sides: Vec<String> =
                first.groups.iter().take(4).map(|g| format!("{} on {}", g.value, rank_list(&g.ranks))).collect();
            (Verdict::Differs, format!("{}: {}.", first.place, sides.join("; ")))
        }
        None if !unknown.is_empty() => {
            let why = unknown.first().map(|u| u.why.clone()).unwrap_or_default();
            (Verdict::Unknown, format!("Not every graph with collectives could be judged: {why}."))
        }
        None if compared == 0 => {
            (Verdict::Unknown, "No log has a schedule of collectives to compare with code.".to_owned())
        }
        None => (Verdict::Same, "All collectives of the schedules are in the code, each with a wait.".to_owned()),
    };
    Diagnostic { aspect: Aspect::Parity, verdict, sentence, differences, more: 0, unknown }
}

fn fault(offset: u32, missing_waits: u32) -> String {
    let plural = |n: u32, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    match (offset, missing_waits) {
        (0, waits) => format!("{} that nothing waits for", plural(waits, "collective")),
        (offset, 0) => format!("schedule and code differ by {}", plural(offset, "collective")),
        (offset, waits) => format!(
            "schedule and code differ by {}, {} that nothing waits for",
            plural(offset, "collective"),
            plural(waits, "collective")
        ),
    }
}

/// Ranks with the same fault at the same place are one group.
fn merge(differences: &mut Vec<Difference>, new: Difference) {
    let Some(known) = differences.iter_mut().find(|d| d.key == new.key && d.place == new.place) else {
        differences.push(new);
        return;
    };
    for group in new.groups {
        match known.groups.iter_mut().find(|g| g.value == group.value) {
            Some(same) => same.ranks.extend(group.ranks),
            None => known.groups.push(group),
        }
    }
}

fn not_known(unknown: &mut Vec<Unjudged>, rank: i32, place: &str, why: &str) {
    match unknown.iter_mut().find(|u| u.place == place && u.why == why) {
        Some(known) => known.ranks.push(rank),
        None => unknown.push(Unjudged { ranks: vec![rank], place: place.to_owned(), why: why.to_owned() }),
    }
}
