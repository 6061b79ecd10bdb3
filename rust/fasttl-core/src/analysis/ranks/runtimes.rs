//! Outputs and estimated runtimes of operations.

use super::cells::{Cell, Difference, Findings, Group};
use super::compiles::{keys, label};
use super::facts::RuntimeFact;
use super::spots::{by_spot, name};
use super::{Aspect, Diagnostic, Key, Member, Verdict, rank_list};
use crate::analysis::runtimes::{Op, read};
use crate::format::payload::md5_hex;
use crate::trace::Trace;

const NO_RECORD: &str =
    "its log has no such record: PyTorch writes it with LOG_TLPARSE=1, and not for what comes from a cache";
const NONE_HAS: &str = "No two ranks have records to compare: PyTorch writes them with LOG_TLPARSE=1, and not for what comes from a cache.";

/// The n-th graph of an id on the ranks that compiled the id.
struct Slot<'a> {
    key: Key,
    place: String,
    facts: Vec<(&'a Member<'a>, Option<&'a RuntimeFact>)>,
}

fn slots<'a>(members: &'a [Member<'a>]) -> Vec<Slot<'a>> {
    let mut slots = Vec::new();
    for key in keys(members) {
        let facts = |m: &'a Member<'a>| m.facts.compiles.get(&key).map_or(&[][..], |c| c.runtimes.as_slice());
        let graphs = by_spot(members, facts, |fact| fact.part);
        for (spot, found) in &graphs {
            let part = name(*spot, graphs.len(), found.iter().map(|(_, fact)| fact.part));
            let of = |at: usize| found.iter().find(|(of, _)| *of == at).map(|(_, fact)| *fact);
            let compiled = members.iter().enumerate().filter(|(_, m)| m.facts.compiles.contains_key(&key));
            let facts = compiled.map(|(at, m)| (m, of(at))).collect();
            slots.push(Slot { key, place: format!("{}{part}", label(key)), facts });
        }
    }
    slots
}

/// Shapes, strides and types of what operations yield. Runtimes do not count.
pub(super) fn tensors(trace: &Trace, members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    for Slot { key, place, facts } in slots(members) {
        let payload = |(log, record): (usize, Option<usize>)| {
            let of = facts.iter().filter(|(m, _)| m.log == log).find_map(|(_, fact)| *fact)?;
            (record == Some(of.record)).then_some(of.payload)
        };
        let cell = |fact: Option<&RuntimeFact>| match fact.map(|f| (f.outputs.as_ref(), f.record)) {
            None => Cell::Unknown(NO_RECORD.to_owned()),
            Some((Err(why), _)) => Cell::Unknown(why.to_string()),
            Some((Ok(hash), record)) => Cell::plain(md5_hex(*hash), record),
        };
        let before = findings.differences.len();
        findings.place(Some(key), &place, facts.iter().map(|(m, fact)| (*m, cell(*fact))).collect());
        if let Some(new) = findings.differences.get_mut(before) {
            say_which(trace, payload, new);
        }
    }
    let same = "In each graph that all of them compiled, all ranks have tensors of the same shapes, strides and types.";
    findings.diagnostic(Aspect::Tensors, same, NONE_HAS)
}

/// Replaces the hashes of a difference by the first operation whose outputs differ. `payload` tells where the operations
/// of a log and record stand.
fn say_which(
    trace: &Trace,
    payload: impl Fn((usize, Option<usize>)) -> Option<(u64, u64)>,
    difference: &mut Difference,
) {
    let ops = |group: &Group| -> Vec<Op> {
        let read = || {
            let log = trace.logs.get(group.evidence.0)?;
            let view = log.view().ok()?;
            read(&log.index.payload_at(payload(group.evidence)?, &view).text()).ok()
        };
        read().unwrap_or_default()
    };
    let all: Vec<Vec<Op>> = difference.groups.iter().take(8).map(ops).collect();
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let outputs = |ops: &Vec<Op>, at: usize| ops.get(at).map(|op| op.outputs.clone());
    let Some(at) = (0..longest).find(|&at| {
        let first = all.first().and_then(|ops| outputs(ops, at));
        all.iter().any(|ops| outputs(ops, at) != first)
    }) else {
        return;
    };
    difference.place += &format!(", operation {}", at + 1);
    for group in difference.groups.iter_mut().skip(all.len()) {
        "other outputs".clone_into(&mut group.value);
    }
    for (group, ops) in difference.groups.iter_mut().zip(&all) {
        group.value = match ops.get(at) {
            None => "nothing".to_owned(),
            Some(op) => {
                let outputs: String = op.outputs.chars().take(120).collect();
                format!("{} {outputs}", if op.name.is_empty() { "(no name)" } else { &op.name })
            }
        };
    }
}

/// Sums of the estimates. They are estimates: a difference is worth a look and breaks nothing.
pub(super) fn runtimes(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    let (mut zero, mut any) = (true, false);
    for Slot { key, place, facts } in slots(members) {
        let cell = |fact: Option<&RuntimeFact>| match fact {
            None => Cell::Unknown(NO_RECORD.to_owned()),
            Some(RuntimeFact { total_ns: Some(ns), record, .. }) => {
                Cell::Known((ns + 0.0).to_bits().to_string(), nanoseconds(*ns), Some(*record))
            }
            Some(RuntimeFact { outputs: Err(why), .. }) => Cell::Unknown(why.to_string()),
            Some(_) => Cell::Unknown("an estimate of it is no finite number".to_owned()),
        };
        let totals = || facts.iter().filter_map(|(_, fact)| fact.and_then(|f| f.total_ns));
        any |= totals().next().is_some();
        zero &= totals().all(|ns| ns == 0.0);
        let cells = facts.iter().map(|(m, fact)| (*m, cell(*fact))).collect();
        let before = findings.differences.len();
        findings.place(Some(key), &place, cells);
        if let Some(new) = findings.differences.get_mut(before) {
            new.groups.sort_by(|a, b| total(&facts, a).total_cmp(&total(&facts, b)));
        }
    }
    let same = "In each graph that all of them compiled, all ranks have the same estimated runtime.";
    let mut found = findings.diagnostic(Aspect::Runtimes, same, NONE_HAS);
    if any && zero {
        let sentence = "All estimates are 0: PyTorch has none for this device.".to_owned();
        found = Diagnostic { verdict: Verdict::Unknown, sentence, ..found };
    }
    if let Some(first) = found.differences.first()
        && let (Some(fast), Some(slow)) = (first.groups.first(), first.groups.last())
    {
        let others = if found.differences.len() + found.more > 1 {
            format!(" and {} more", found.differences.len() + found.more - 1)
        } else {
            String::new()
        };
        found.sentence = format!(
            "{}{others}: {} on {}, {} on {}. These are estimates, not measurements.",
            first.place,
            fast.value,
            rank_list(&fast.ranks),
            slow.value,
            rank_list(&slow.ranks)
        );
    }
    found
}

fn total(facts: &[(&Member<'_>, Option<&RuntimeFact>)], group: &Group) -> f64 {
    let of_group = facts.iter().find(|(m, _)| group.ranks.contains(&m.rank));
    of_group.and_then(|(_, fact)| fact.and_then(|f| f.total_ns)).unwrap_or(f64::INFINITY)
}

/// Estimates with all digits that tell two of them apart.
fn nanoseconds(ns: f64) -> String {
    if ns >= 1e6 { format!("{} ms", ns / 1e6) } else { format!("{ns} ns") }
}
