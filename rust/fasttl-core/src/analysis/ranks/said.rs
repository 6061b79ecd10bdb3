//! What the logs say of a compile, thing by thing: settings, code, inputs, sizes, guards, reasons, breaks, graphs, caches.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Aspect;
use super::cells::{Cell, Found, Mark};
use super::compiles::INCOMPLETE;
use super::facts::{CompileFact, Facts, OF_ANY_RANK, Said, Value, Wholeness};
use super::row::{Has, Row, Side};
use crate::analysis::compiles::Status;

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

/// What a side says of each thing of an aspect, with the record.
type Things<'a> = FxHashMap<&'a str, (usize, &'a Value)>;

/// Compares one aspect of a compile.
pub(super) fn said(row: &Row<'_>, aspect: Aspect, found: &mut Found) {
    let (whats, mut of_sides) = things(row, aspect);
    if aspect == Aspect::Guards && row.sides.len() > 1 && same_graph(row) {
        without_own_numbers(&mut of_sides);
    }
    let before = found.differences.len();
    let mut parted: FxHashSet<Vec<Vec<i32>>> = FxHashSet::default();
    for what in whats {
        let cell = |(side, things): (&Side<'_>, &Things<'_>)| cell(side, aspect, things.get(what));
        let cells = row.sides.iter().zip(&of_sides).filter_map(|of| Some((&of.0.alike, cell(of)?))).collect();
        let more = match (aspect, what) {
            (Aspect::Code, _) => ", function".to_owned(),
            (Aspect::Configuration, _) => format!(", settings of {what}"),
            (_, "") => format!(", {}", aspect.name()),
            (_, _) => format!(", {what}"),
        };
        let differs = found.place(aspect, &row.place(&more), cells);
        // A later graph that parts the same ranks follows from the earlier one.
        if aspect == Aspect::Graph
            && differs
            && let Some(last) = found.differences.get(before..).and_then(<[_]>::last)
            && !parted.insert(last.groups.iter().map(|group| group.ranks.clone()).collect())
        {
            found.differences.pop();
        }
    }
}

/// The things that any side speaks of, in order, and what each side says of them.
fn things<'a>(row: &Row<'a>, aspect: Aspect) -> (Vec<&'a str>, Vec<Things<'a>>) {
    let mut whats: Vec<&str> = Vec::new();
    let mut known: FxHashSet<&str> = FxHashSet::default();
    let mut of_side = |side: &Side<'a>| -> Things<'a> {
        let Some((facts, compile)) = side.has.compile() else { return Things::default() };
        let of_aspect = facts.said(compile).filter(|(_, said)| said.aspect == aspect);
        let thing = |(record, said): (usize, &'a Said)| {
            if &*said.what != OF_ANY_RANK && known.insert(&said.what) {
                whats.push(&said.what);
            }
            (&*said.what, (record, &said.value))
        };
        of_aspect.map(thing).collect()
    };
    let of_sides = row.sides.iter().map(&mut of_side).collect();
    match aspect {
        // Dynamo's graph is the first: what differs later comes from it mostly.
        Aspect::Graph => whats.sort_by_key(|what| !what.starts_with("dynamo")),
        // Not to be recompiled is something to agree on.
        Aspect::Recompiles if whats.is_empty() => whats.push(""),
        _ => {}
    }
    (whats, of_sides)
}

/// Whether all that compiled it got one graph.
fn same_graph(row: &Row<'_>) -> bool {
    let mut graphs = row.profiles().map(|profile| profile.dynamo_graph());
    let first = graphs.next();
    graphs.all(|graph| Some(graph) == first)
}

/// Guards on the number of a rank are not alike on any two, and where the graphs are the same nothing follows from them:
/// sides whose guards are the same but for that get those of the first of them.
fn without_own_numbers(of_sides: &mut [Things<'_>]) {
    let mut first: FxHashMap<[u8; 16], (usize, &Value)> = FxHashMap::default();
    for things in of_sides {
        let Some((_, Value::Known(of_any, _))) = things.get(OF_ANY_RANK).copied() else { continue };
        let Some(own) = things.get("").copied() else { continue };
        let alike = *first.entry(*of_any).or_insert(own);
        things.insert("", (own.0, alike.1));
    }
}

/// What a side has; `None` where it is not to be compared.
fn cell(side: &Side<'_>, aspect: Aspect, said: Option<&(usize, &Value)>) -> Option<Cell> {
    let (facts, compile) = match side.has {
        Has::Absent => return None,
        Has::Lost => return Some(Cell::unknown(INCOMPLETE)),
        Has::Compile(facts, compile) => (facts, compile),
    };
    let cell = match said {
        Some((record, Value::Known(digest, shown))) => {
            Cell::Known(Mark::Digest(*digest), shown_as(aspect, *digest, shown), Some(*record))
        }
        Some((_, Value::Unknown(why))) => Cell::Unknown(Arc::clone(why)),
        None => not_said(aspect, side, facts, compile),
    };
    let is_whole = match aspect {
        // One record has all of it.
        Aspect::Code | Aspect::Graph | Aspect::Guards | Aspect::Recompiles => true,
        // What stands in front of the graph is all there once that is logged.
        Aspect::Inputs | Aspect::Symbols => {
            facts.wholeness != Wholeness::Damaged && compile.profile.dynamo_graph().is_some()
        }
        _ => false,
    };
    Some(if side.doubtful && !is_whole { cell.doubtful() } else { cell })
}

fn not_said(aspect: Aspect, side: &Side<'_>, facts: &Facts, compile: &CompileFact) -> Cell {
    let cut = side.doubtful || facts.wholeness != Wholeness::Whole;
    match aspect {
        _ if cut => Cell::unknown(INCOMPLETE),
        Aspect::Recompiles if !compile.profile.is_recompile => Cell::plain("compiled for the first time", None),
        Aspect::Graph => no_graph(compile),
        Aspect::Cache => not_asked(compile),
        _ => Cell::unknown("its log does not say"),
    }
}

/// What is said of a compile of one aspect.
fn of_aspect(compile: &CompileFact, aspect: Aspect) -> impl Iterator<Item = &Said> {
    compile.profile.said.iter().filter(move |said| said.aspect == aspect)
}

/// Whether a cache answered, all or the one whose name begins so.
fn was_hit(compile: &CompileFact, layer: &str) -> bool {
    let is_hit = |said: &Said| matches!(&said.value, Value::Known(_, state) if &**state == "hit");
    of_aspect(compile, Aspect::Cache).any(|said| said.what.starts_with(layer) && is_hit(said))
}

/// A graph that the log does not have, while it may have others.
fn no_graph(compile: &CompileFact) -> Cell {
    if compile.profile.status == Status::Error {
        Cell::unknown("its compile failed")
    } else if was_hit(compile, "") {
        Cell::unknown("its log has no such graph: a cache had the code")
    } else if of_aspect(compile, Aspect::Graph).next().is_none() {
        Cell::unknown("its log has no graph")
    } else {
        Cell::plain("no such graph", Some(compile.first()))
    }
}

/// A layer of the caches that the log does not name, while it may name others.
fn not_asked(compile: &CompileFact) -> Cell {
    if of_aspect(compile, Aspect::Cache).next().is_none() {
        Cell::unknown("its log has no look-up in a cache")
    } else if was_hit(compile, "aotautograd") {
        // What it finds has the code of the other layers in it.
        Cell::unknown("the AOTAutograd cache answered before")
    } else {
        Cell::plain("not asked", None)
    }
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
