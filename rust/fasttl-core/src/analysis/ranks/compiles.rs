//! Compile ids, what they stand for, why they were recompiled, and what the caches answered.

use std::collections::BTreeSet;

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

/// What is said of a rank whose log ends in the middle of something.
pub(super) const ENDS_EARLY: &str = "its log ends early";

/// Which compile ids there are.
pub(super) fn compile_ids(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    let keys = keys(members);
    for &key in &keys {
        let cell = |m: &Member<'_>| match m.facts.compiles.get(&key) {
            Some(compile) => Cell::Known("yes".to_owned(), "compiled".to_owned(), Some(compile.first)),
            None if m.facts.ends_early => Cell::Unknown(ENDS_EARLY.to_owned()),
            None => Cell::absent("not compiled"),
        };
        findings.place(Some(key), &label(key), members.iter().map(|m| (m, cell(m))).collect());
    }
    let ids = if keys.len() == 1 { "id".to_owned() } else { format!("{} ids", keys.len()) };
    let same = format!("All ranks compiled the same {ids}.");
    findings.diagnostic(Aspect::CompileIds, &same, "No log has a compile.")
}

/// Compares, id by id, what the compiles of all ranks that have it say; ranks without the id are left to
/// [`compile_ids`].
fn by_id(members: &[Member<'_>], findings: &mut Findings, what: &str, cell: impl Fn(&CompileFact) -> Option<Cell>) {
    for key in keys(members) {
        let with = members.iter().filter_map(|m| Some((m, m.facts.compiles.get(&key)?)));
        let cells: Vec<(&Member<'_>, Option<Cell>)> = with.map(|(m, compile)| (m, cell(compile))).collect();
        if cells.iter().all(|(_, cell)| cell.is_none()) {
            continue;
        }
        let unknown = || Cell::Unknown("its log does not say".to_owned());
        let cells = cells.into_iter().map(|(m, cell)| (m, cell.unwrap_or_else(unknown))).collect();
        findings.place(Some(key), &format!("{}{what}", label(key)), cells);
    }
}

/// What the ids stand for: functions, then graphs.
pub(super) fn code(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    by_id(members, &mut findings, ", function", |compile| {
        compile.code.as_ref().map(|code| Cell::plain(&**code, compile.first))
    });
    let compiles = || members.iter().flat_map(|m| m.facts.compiles.values());
    // Dynamo's graph is the first: what differs later comes from it mostly.
    let stage = |g: &'_ GraphFact| (!g.stage.starts_with("dynamo"), g.stage.clone());
    let stages: BTreeSet<(bool, String)> = compiles().flat_map(|c| &c.graphs).map(stage).collect();
    for (_, stage) in stages {
        by_id(members, &mut findings, &format!(", {stage}"), |compile| {
            let graph = compile.graphs.iter().find(|graph| graph.stage == stage)?;
            let hash = md5_hex(graph.shape);
            let nodes = if graph.nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", graph.nodes) };
            let shown = format!("{nodes} ({})", hash.get(..8).unwrap_or(&hash));
            Some(Cell::Known(hash, shown, Some(graph.record)))
        });
    }
    findings.differences.sort_by_key(|d| d.key);
    let same = "Under each id all ranks compiled the same function to the same graph.";
    findings.diagnostic(Aspect::Code, same, "No two ranks have a compile in common.")
}

/// Why they were recompiled.
pub(super) fn recompiles(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    let compiles = || members.iter().flat_map(|m| &m.facts.compiles);
    if !compiles().any(|((_, id), c)| c.reasons.is_some() || id.frame_compile_id.is_some_and(|n| n > 0)) {
        findings.agreed = 1;
        return findings.diagnostic(Aspect::Recompiles, "No rank recompiled anything.", "");
    }
    let cell = |m: &Member<'_>, key: Key| match m.facts.compiles.get(&key) {
        None if m.facts.ends_early => Cell::Unknown(ENDS_EARLY.to_owned()),
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
    let with_reasons: BTreeSet<Key> = compiles().filter(|(_, c)| c.reasons.is_some()).map(|(key, _)| *key).collect();
    for key in with_reasons {
        findings.place(Some(key), &label(key), members.iter().map(|m| (m, cell(m, key))).collect());
    }
    let same = "All ranks recompiled for the same reasons.";
    findings.diagnostic(Aspect::Recompiles, same, "No log has a reason for its recompiles.")
}

/// What the caches answered.
pub(super) fn cache(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    by_id(members, &mut findings, "", |compile| {
        compile.cache.as_ref().map(|seen| Cell::plain(&*seen.text, seen.record))
    });
    let same = "The caches gave all ranks the same answers.";
    let nothing = "No two ranks have a look-up to compare: the caches were off, or the backend has none.";
    findings.diagnostic(Aspect::Cache, same, nothing)
}
