//! Compile ids, what they stand for, why they were recompiled, and what the caches answered.

use std::collections::{BTreeMap, BTreeSet};

use super::cells::{Cell, Findings};
use super::facts::{CompileFact, GraphFact};
use super::{Aspect, Diagnostic, Key, Member};
use crate::format::payload::md5_hex;

/// The ids that any of the logs has.
pub(super) fn keys(members: &[Member<'_>]) -> BTreeSet<Key> {
    members.iter().flat_map(|m| m.facts.compiles.keys().copied()).collect()
}

/// `0/1`, or `0/1 after 2 resets` where ids had started again.
pub(super) fn label((generation, id): Key) -> String {
    match generation {
        0 => id.to_string(),
        1 => format!("{id} after a reset"),
        n => format!("{id} after {n} resets"),
    }
}

/// What is said of what is missing in a log that is not whole.
pub(super) const INCOMPLETE: &str = "its log is cut or damaged";

/// Which compile ids there are.
pub(super) fn compile_ids(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    let keys = keys(members);
    for &key in &keys {
        let cell = |m: &Member<'_>| match m.facts.compiles.get(&key) {
            Some(compile) => Cell::Known("yes".to_owned(), "compiled".to_owned(), Some(compile.first)),
            None if m.facts.incomplete => Cell::Unknown(INCOMPLETE.to_owned()),
            None => Cell::absent("not compiled"),
        };
        findings.place(Some(key), &label(key), members.iter().map(|m| (m, cell(m))).collect());
    }
    let ids = if keys.len() == 1 { "id".to_owned() } else { format!("{} ids", keys.len()) };
    let same = format!("All ranks compiled the same {ids}.");
    findings.diagnostic(Aspect::CompileIds, &same, "No log has a compile.")
}

/// Compares, id by id, what the compiles of all ranks that have it say. Ranks without the id are left to
/// [`compile_ids`], unless their log is not whole.
fn by_id(members: &[Member<'_>], findings: &mut Findings, what: &str, cell: impl Fn(&CompileFact) -> Option<Cell>) {
    for key in keys(members) {
        at_id(members, findings, key, what, &cell);
    }
}

fn at_id(
    members: &[Member<'_>],
    findings: &mut Findings,
    key: Key,
    what: &str,
    cell: impl Fn(&CompileFact) -> Option<Cell>,
) {
    let of = |m: &Member<'_>| match m.facts.compiles.get(&key) {
        Some(compile) => Some(cell(compile)),
        None if m.facts.incomplete => Some(Some(Cell::Unknown(INCOMPLETE.to_owned()))),
        None => None,
    };
    let cells: Vec<(&Member<'_>, Option<Cell>)> = members.iter().filter_map(|m| Some((m, of(m)?))).collect();
    let says = |cell: &Option<Cell>| {
        matches!(cell, Some(Cell::Unknown(why)) if why != INCOMPLETE) || matches!(cell, Some(Cell::Known(..)))
    };
    if !cells.iter().any(|(_, cell)| says(cell)) {
        return;
    }
    let unknown = || Cell::Unknown("its log does not say".to_owned());
    let cells = cells.into_iter().map(|(m, cell)| (m, cell.unwrap_or_else(unknown))).collect();
    findings.place(Some(key), &format!("{}{what}", label(key)), cells);
}

/// What the ids stand for: functions, then graphs.
pub(super) fn code(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    for key in keys(members) {
        at_id(members, &mut findings, key, ", function", |compile| {
            compile.code.as_ref().map(|code| Cell::plain(&**code, compile.first))
        });
        let of_key = members.iter().filter_map(|m| m.facts.compiles.get(&key));
        // Dynamo's graph is the first: what differs later comes from it mostly.
        let stage = |g: &'_ GraphFact| (!g.stage.starts_with("dynamo"), g.stage.clone());
        let stages: BTreeSet<(bool, String)> = of_key.flat_map(|c| &c.graphs).map(stage).collect();
        let graphs: BTreeMap<i32, BTreeMap<&str, &GraphFact>> = members
            .iter()
            .filter_map(|m| Some((m.rank, m.facts.compiles.get(&key)?)))
            .map(|(rank, c)| (rank, c.graphs.iter().map(|g| (g.stage.as_str(), g)).collect()))
            .collect();
        for (_, stage) in stages {
            let cell = |m: &Member<'_>| match graphs.get(&m.rank).map(|of_rank| of_rank.get(stage.as_str())) {
                None if m.facts.incomplete => Some(Cell::Unknown(INCOMPLETE.to_owned())),
                None => None,
                Some(None) => Some(Cell::Unknown("its log has no such graph".to_owned())),
                Some(Some(graph)) => Some(graph_cell(graph)),
            };
            let cells = members.iter().filter_map(|m| Some((m, cell(m)?))).collect();
            findings.place(Some(key), &format!("{}, {stage}", label(key)), cells);
        }
    }
    let same = "Under each id all ranks compiled the same function to the same graph.";
    findings.diagnostic(Aspect::Code, same, "No two ranks have a function or a graph to compare.")
}

fn graph_cell(graph: &GraphFact) -> Cell {
    let Some((shape, nodes)) = graph.shape else { return Cell::Unknown("its graph is damaged".to_owned()) };
    let hash = md5_hex(shape);
    let nodes = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
    let shown = format!("{nodes} ({})", hash.get(..8).unwrap_or(&hash));
    Cell::Known(hash, shown, Some(graph.record))
}

/// Why they were recompiled.
pub(super) fn recompiles(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    let compiles = || members.iter().flat_map(|m| &m.facts.compiles);
    let again = |((_, id), c): &(&Key, &CompileFact)| c.reasons.is_some() || id.frame_compile_id.is_some_and(|n| n > 0);
    if !compiles().any(|compile| again(&compile)) {
        // Of a log that is not whole it is not known what came after.
        let cell = |m: &Member<'_>| {
            if m.facts.incomplete { Cell::Unknown(INCOMPLETE.to_owned()) } else { Cell::absent("nothing recompiled") }
        };
        findings.place(None, "recompiles", members.iter().map(|m| (m, cell(m))).collect());
        let nothing = "No rank recompiled anything, as far as the logs go.";
        return findings.diagnostic(Aspect::Recompiles, "No rank recompiled anything.", nothing);
    }
    let cell = |m: &Member<'_>, key: Key| match m.facts.compiles.get(&key) {
        None if m.facts.incomplete => Cell::Unknown(INCOMPLETE.to_owned()),
        None => Cell::absent("not recompiled"),
        Some(compile) => match &compile.reasons {
            None => Cell::Unknown("its log has no reason".to_owned()),
            Some(reasons) => {
                let first = reasons.text.lines().next().unwrap_or_default();
                let shown: String = first.chars().take(160).collect();
                Cell::Known(reasons.text.to_string(), shown, Some(reasons.record))
            }
        },
    };
    let recompiled: BTreeSet<Key> = compiles().filter(again).map(|(key, _)| *key).collect();
    for key in recompiled {
        findings.place(Some(key), &label(key), members.iter().map(|m| (m, cell(m, key))).collect());
    }
    let same = "All ranks recompiled for the same reasons.";
    findings.diagnostic(Aspect::Recompiles, same, "No log has a reason for its recompiles.")
}

/// What the caches answered.
pub(super) fn cache(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    by_id(members, &mut findings, "", |compile| {
        compile.cache.as_ref().map(|seen| {
            if seen.text.contains(" unknown") {
                Cell::Unknown("the answer of a cache cannot be read".to_owned())
            } else {
                Cell::plain(&*seen.text, seen.record)
            }
        })
    });
    let same = "Where ranks have a compile in common, the caches gave them the same answers.";
    let nothing = "No two ranks have a look-up to compare: the caches were off, or the backend has none.";
    findings.diagnostic(Aspect::Cache, same, nothing)
}
