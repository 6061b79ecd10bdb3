//! What the logs say of a compile, thing by thing: settings, code, inputs, sizes, guards, reasons, breaks, graphs, caches.

use std::sync::Arc;

use super::Aspect;
use super::cells::{Cell, Found, Mark};
use super::compiles::INCOMPLETE;
use super::facts::{CompileFact, Facts, Said, Value};
use super::row::{Has, Row, Side};

/// The aspects that are compared here, in the order of the chain of causes.
pub(super) const ASPECTS: [Aspect; 10] = [
    Aspect::Configuration,
    Aspect::Code,
    Aspect::Inputs,
    Aspect::Symbols,
    Aspect::Guards,
    Aspect::Recompiles,
    Aspect::Breaks,
    Aspect::Outcome,
    Aspect::Graph,
    Aspect::Cache,
];

/// Compares one aspect of a compile.
pub(super) fn said(row: &Row<'_>, aspect: Aspect, found: &mut Found) {
    let mut whats: Vec<&Arc<str>> = Vec::new();
    for profile in row.profiles() {
        for said in profile.said.iter().filter(|said| said.aspect == aspect) {
            if !whats.contains(&&said.what) {
                whats.push(&said.what);
            }
        }
    }
    let nothing: Arc<str> = "".into();
    if aspect == Aspect::Recompiles && whats.is_empty() {
        // Not to be recompiled is something to agree on.
        whats.push(&nothing);
    }
    // Dynamo's graph is the first: what differs later comes from it mostly.
    if aspect == Aspect::Graph {
        whats.sort_by_key(|what| !what.starts_with("dynamo"));
    }
    let before = found.differences.len();
    for what in whats {
        let cells = row.sides.iter().filter_map(|side| Some((&side.alike, cell(side, aspect, what)?))).collect();
        let more = match (aspect, what.is_empty()) {
            (Aspect::Code, _) => ", function".to_owned(),
            (Aspect::Configuration, _) => format!(", settings of {what}"),
            (_, true) => format!(", {}", aspect.name()),
            (_, false) => format!(", {what}"),
        };
        let differs = found.place(aspect, &row.place(&more), cells);
        // A later graph that parts the same ranks follows from the earlier one.
        if aspect == Aspect::Graph && differs {
            let ranks =
                |at: usize| found.differences.get(at).map(|d| d.groups.iter().map(|g| &g.ranks).collect::<Vec<_>>());
            let last = found.differences.len() - 1;
            if last >= before && (before..last).any(|earlier| ranks(earlier) == ranks(last)) {
                found.differences.pop();
            }
        }
    }
}

/// What a side has; `None` where it is not to be compared.
fn cell(side: &Side<'_>, aspect: Aspect, what: &Arc<str>) -> Option<Cell> {
    match side.has {
        Has::Absent => None,
        Has::Lost => Some(Cell::unknown(INCOMPLETE)),
        Has::Compile(facts, compile) => {
            let is_it = |(_, said): &(usize, &Said)| said.aspect == aspect && said.what == *what;
            let cell = match facts.said(compile).find(is_it) {
                Some((record, Said { value: Value::Known(digest, shown), .. })) => {
                    Cell::Known(Mark::Digest(*digest), shown_as(aspect, *digest, shown), Some(record))
                }
                Some((_, Said { value: Value::Unknown(why), .. })) => Cell::Unknown(Arc::clone(why)),
                None => not_said(aspect, side, facts, compile),
            };
            let whole_at_once = matches!(aspect, Aspect::Code | Aspect::Graph | Aspect::Guards | Aspect::Recompiles);
            Some(if side.doubtful && !whole_at_once { cell.doubtful() } else { cell })
        }
    }
}

fn not_said(aspect: Aspect, side: &Side<'_>, facts: &Facts, compile: &CompileFact) -> Cell {
    let cut = side.doubtful || facts.wholeness != super::Wholeness::Whole;
    match aspect {
        _ if cut => Cell::unknown(INCOMPLETE),
        Aspect::Recompiles if !compile.profile.is_recompile => Cell::plain("compiled for the first time", None),
        Aspect::Graph => Cell::unknown("its log has no such graph"),
        Aspect::Cache => not_asked(compile),
        _ => Cell::unknown("its log does not say"),
    }
}

/// A layer of the caches that the log does not name, while it may name others.
fn not_asked(compile: &CompileFact) -> Cell {
    let others: Vec<&Said> = compile.profile.said.iter().filter(|said| said.aspect == Aspect::Cache).collect();
    let is_answer = |said: &&Said| {
        let is_hit = matches!(&said.value, Value::Known(_, state) if &**state == "hit");
        is_hit && said.what.starts_with("aotautograd")
    };
    if others.is_empty() {
        return Cell::unknown("its log has no look-up in a cache");
    }
    // What it finds has the code of the other layers in it.
    if others.iter().any(is_answer) {
        return Cell::unknown("the AOTAutograd cache answered before");
    }
    Cell::plain("not asked", None)
}

fn shown_as(aspect: Aspect, digest: [u8; 16], shown: &str) -> String {
    let [a, b, c, d, ..] = digest;
    match aspect {
        Aspect::Graph | Aspect::Inputs | Aspect::Guards | Aspect::Configuration => {
            format!("{shown} ({a:02x}{b:02x}{c:02x}{d:02x})").trim_start().to_owned()
        }
        _ => shown.to_owned(),
    }
}
