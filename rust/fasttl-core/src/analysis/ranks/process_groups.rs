//! Process groups on which the collectives of a graph run.
//!
//! All ranks call a group by the same name, and ranks of different groups use different names, which is no difference.
//! It is one where a rank that is in two groups uses the one while others use the other: they wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cells::{Alike, Cell, Found, Mark, Place};
use super::facts::CompileFact;
use super::lineup::LineupRow;
use super::row::{Has, Row};
use super::{Aspect, Member};

/// Collectives of a graph that are looked at.
const MOST: usize = 10_000;

/// A member with the groups of a graph's collectives.
type Names<'a> = (usize, Vec<&'a str>);

/// By number of the graph and of its collectives, what each member has.
type ByGraph<'a> = BTreeMap<(usize, usize), Vec<Names<'a>>>;

/// Members by the group that they use for one collective.
type ByGroup<'a> = FxHashMap<&'a str, Vec<usize>>;

/// The first collective for which ranks use groups of which one of them is in both. Where their collectives differ, that
/// was told.
pub(super) fn of_row(row: &Row<'_>, of: &LineupRow, members: &[Member<'_>], found: &mut Found) {
    if !found.differences.is_empty() {
        return;
    }
    let sides = row.sides.iter().filter(|side| !side.doubtful && matches!(side.has, Has::Compile(..)));
    let with: Vec<(usize, &CompileFact)> =
        sides.flat_map(|side| side.members.iter()).filter_map(|at| Some((*at, compile(of, members, *at)?))).collect();
    let address = |(_, compile): &(usize, &CompileFact)| compile.groups.as_ref().map(|groups| groups.as_ptr());
    // Texts are kept once, and most ranks have the same.
    if with.windows(2).all(|pair| pair.first().map(address) == pair.last().map(address)) {
        return;
    }
    let (graphs, lists) = by_graph(&with);
    for ((graph, len), lists) in &lists {
        let first = (0..*len.min(&MOST)).find_map(|at| Some((at, differ(&by_group(lists, at), members)?)));
        if let (Some((at, groups)), Some(graph)) = (first, graphs.get(*graph)) {
            tell(row, (graph, at), groups, (of, members), found);
            return;
        }
    }
}

/// The graphs, and what members have of each.
fn by_graph<'a>(with: &[(usize, &'a CompileFact)]) -> (Vec<&'a str>, ByGraph<'a>) {
    let mut graphs: Vec<&str> = Vec::new();
    let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
    let mut lists = ByGraph::new();
    for (at, compile) in with {
        let mut of_graph: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for (graph, name) in compile.groups() {
            let number = *numbers.entry(graph).or_insert_with(|| {
                graphs.push(graph);
                graphs.len() - 1
            });
            of_graph.entry(number).or_default().push(name);
        }
        for (graph, names) in of_graph {
            lists.entry((graph, names.len())).or_default().push((*at, names));
        }
    }
    (graphs, lists)
}

fn compile<'a>(of: &LineupRow, members: &[Member<'a>], at: usize) -> Option<&'a CompileFact> {
    members.get(at)?.facts.compiles.get(of.of.get(at).copied().flatten()? as usize)
}

fn by_group<'a>(lists: &[Names<'a>], at: usize) -> ByGroup<'a> {
    let mut by_group = ByGroup::default();
    for (member, names) in lists {
        if let Some(name) = names.get(at) {
            by_group.entry(name).or_default().push(*member);
        }
    }
    by_group
}

/// The groups of which a member that uses one uses another elsewhere, with the members; `None` where there are none.
fn differ<'a>(by_group: &ByGroup<'a>, members: &[Member<'_>]) -> Option<Vec<(&'a str, Vec<usize>)>> {
    if by_group.len() < 2 {
        return None;
    }
    let mut involved: BTreeSet<&str> = BTreeSet::new();
    let mut names: Vec<&str> = by_group.keys().copied().collect();
    names.sort_unstable();
    for name in &names {
        for member in by_group.get(name).into_iter().flatten().filter_map(|at| members.get(*at)) {
            let own = &member.facts.groups;
            let mut also = |other: &'a str| {
                if other != *name {
                    involved.extend([*name, other]);
                }
            };
            if own.len() < names.len() {
                let used = own.iter().filter_map(|group| by_group.get_key_value(&**group));
                used.for_each(|(other, _)| also(other));
            } else {
                names.iter().copied().filter(|other| own.contains(*other)).for_each(also);
            }
        }
    }
    let of = |name: &&'a str| by_group.get_key_value(*name).map(|(name, members)| (*name, members.clone()));
    (!involved.is_empty()).then(|| names.iter().filter(|name| involved.contains(**name)).filter_map(of).collect())
}

fn tell(
    row: &Row<'_>,
    (graph, at): (&str, usize),
    groups: Vec<(&str, Vec<usize>)>,
    (of, members): (&LineupRow, &[Member<'_>]),
    found: &mut Found,
) {
    let mut all: Vec<(Alike, Cell)> = Vec::new();
    for (name, of_group) in groups {
        let mark = Mark::Text(name.into());
        let of_group = of_group.into_iter().filter_map(|at| Some((members.get(at)?, compile(of, members, at)?)));
        for (member, compile) in of_group {
            let is_it = |what: &Arc<str>, aspect| aspect == Aspect::Graph && **what == *graph;
            let record = member.facts.said(compile).find(|(_, said)| is_it(&said.what, said.aspect)).map(|(at, _)| at);
            all.push((Alike::one(member), Cell::Known(mark.clone(), format!("group {name}"), record)));
        }
    }
    // Dynamo's graph is what is meant by the graph of a compile.
    let graph = if graph == "dynamo graph" { String::new() } else { format!(", {graph}") };
    let place = row.place(&format!("{graph}, process group of collective {}", at + 1));
    let place = Place { position: Some(at as u64 + 1), ..place };
    found.place(Aspect::Collectives, &place, all.iter().map(|(alike, cell)| (alike, cell.clone())).collect());
}
