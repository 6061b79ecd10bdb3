//! Graphs, node by node. Names do not count: nodes are matched by what they do, then it is looked at whether they use
//! the same nodes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Aspect;
use super::compiles::count_row;
use super::sheet::{Sheet, Values};
use super::side::{Half, Pair};
use crate::analysis::compiles::CacheState;
use crate::analysis::graphs::stage;
use crate::analysis::lines::{Budget, Refused, Run, compare};
use crate::format::fx_graph::{Node, nodes};

/// A stage, the direction of the Inductor compile, and the n-th of these.
type Key = (String, Option<bool>, usize);

/// Compares the graphs of two compiles, and the counts of their metrics.
pub(super) fn graphs(pair: &Pair<'_>, budget: &Budget, sheet: &mut Sheet) {
    if !sheet.wants(Aspect::Graph) {
        return;
    }
    let (a, b) = (pair.a.compile, pair.b.compile);
    for (place, counts) in
        [("operations", (a.ops, b.ops)), ("nodes", (a.nodes, b.nodes)), ("inputs", (a.inputs, b.inputs))]
    {
        count_row(pair, Aspect::Graph, place, counts, sheet);
    }
    let (of_a, mut of_b) = (keyed(&pair.a), keyed(&pair.b));
    let mut order: Vec<(&Key, &(usize, usize))> = of_a.iter().collect();
    order.sort_by_key(|(_, (nth, _))| *nth);
    for (key, (_, at_a)) in order {
        match of_b.remove(key) {
            Some((_, at_b)) => one(pair, &name(key), (*at_a, at_b), budget, sheet),
            None => missing(pair, key, *at_a, true, sheet),
        }
    }
    let mut rest: Vec<(Key, (usize, usize))> = of_b.into_iter().collect();
    rest.sort_by_key(|(_, (nth, _))| *nth);
    for (key, (_, at)) in rest {
        missing(pair, &key, at, false, sheet);
    }
}

/// The graphs of a compile, with their order and their records.
fn keyed(half: &Half<'_>) -> BTreeMap<Key, (usize, usize)> {
    let mut found = BTreeMap::new();
    let mut seen: BTreeMap<(&str, Option<bool>), usize> = BTreeMap::new();
    for (nth, &at) in half.records.graphs.iter().enumerate() {
        let stage = half.side.log.index.records.get(at).and_then(|record| stage(half.side.log, record));
        let Some(stage) = stage else { continue };
        let is_backward = half.side.parts.of(at).and_then(|part| part.is_backward);
        let count = seen.entry((stage, is_backward)).or_default();
        found.insert((stage.to_owned(), is_backward, *count), (nth, at));
        *count += 1;
    }
    found
}

fn name((stage, is_backward, nth): &Key) -> String {
    let direction = match is_backward {
        Some(true) => ", backward",
        _ => "",
    };
    let which = if *nth > 0 { format!(" {}", nth + 1) } else { String::new() };
    format!("{stage} graph{which}{direction}")
}

/// A graph of one side only. What a cache gave was not made again, so that its stages are not logged.
fn missing(pair: &Pair<'_>, key: &Key, at: usize, in_a: bool, sheet: &mut Sheet) {
    let (has, lacks, side) = if in_a { (&pair.a, &pair.b, "b") } else { (&pair.b, &pair.a, "a") };
    if is_from_cache(lacks) && !is_from_cache(has) {
        let text = format!("{}: no {} in {side}, whose result came from a cache", has.label(), name(key));
        sheet.unknown(Aspect::Graph, text);
        return;
    }
    let count = has.side.text(at).and_then(|text| nodes(&text)).map(|nodes| format!("{} nodes", calls(&nodes)));
    let text = Some(count.unwrap_or_else(|| "a graph that cannot be read".to_owned()));
    if in_a {
        sheet.add(Aspect::Graph, pair.spots(Some(at), None), name(key), (text, None));
    } else {
        sheet.add(Aspect::Graph, pair.spots(None, Some(at)), name(key), (None, text));
    }
}

/// Whether what was compiled came from a cache, in part at least.
pub(super) fn is_from_cache(half: &Half<'_>) -> bool {
    let hit = |state| matches!(state, Some(CacheState::Hit | CacheState::Mixed));
    hit(half.compile.fx_cache) || hit(half.compile.aot_cache)
}

fn calls(nodes: &[Node]) -> usize {
    nodes.iter().filter(|node| is_call(node)).count()
}

fn is_call(node: &Node) -> bool {
    !matches!(node.call.as_str(), "input" | "return" | "forward")
}

/// Compares two graphs.
fn one(pair: &Pair<'_>, name: &str, (at_a, at_b): (usize, usize), budget: &Budget, sheet: &mut Sheet) {
    if pair.same_bytes(at_a, at_b) {
        return;
    }
    let (Some(text_a), Some(text_b)) = (pair.a.side.text(at_a), pair.b.side.text(at_b)) else {
        sheet.unknown(Aspect::Graph, format!("{}: its {name} is damaged", pair.a.label()));
        return;
    };
    if text_a == text_b {
        return;
    }
    let (Some(a), Some(b)) = (nodes(&text_a), nodes(&text_b)) else {
        sheet.unknown(Aspect::Graph, format!("{}: its {name} is no graph that can be read", pair.a.label()));
        return;
    };
    let spots = pair.spots(Some(at_a), Some(at_b));
    let changes = match changes(&a, &b, budget) {
        Ok(changes) => changes,
        Err(why) => {
            let size = |nodes| Some(format!("{}: {} nodes", why.words("node by node"), calls(nodes)));
            sheet.add(Aspect::Graph, spots, name, (size(&a), size(&b)));
            return;
        }
    };
    let (a, b) = (Placed::new(&a), Placed::new(&b));
    for (of_a, of_b) in changes {
        sheet.add_made(Aspect::Graph, spots, || {
            let place = match (of_a.map(|at| a.position(at)), of_b.map(|at| b.position(at))) {
                (Some(from), Some(to)) if from != to => format!("{name}, {from}, in b {to}"),
                (Some(at), _) | (None, Some(at)) => format!("{name}, {at}"),
                (None, None) => name.to_owned(),
            };
            (place, texts((&a, of_a), (&b, of_b)))
        });
    }
}

/// Two nodes as they were printed. Where that is alike, they use other nodes of the same names, which are told.
fn texts((a, at_a): (&Placed<'_>, Option<usize>), (b, at_b): (&Placed<'_>, Option<usize>)) -> Values {
    let of_a = at_a.and_then(|at| a.nodes.get(at));
    let of_b = at_b.and_then(|at| b.nodes.get(at));
    let (text_a, text_b) = (of_a.map(|node| node.text.clone()), of_b.map(|node| node.text.clone()));
    if text_a != text_b {
        return (text_a, text_b);
    }
    let uses = |of: &Placed<'_>, node: Option<&Node>| {
        let uses: Vec<String> = node?.uses.iter().map(|at| of.position(*at)).collect();
        Some(uses.join(", "))
    };
    let (uses_a, uses_b) = (uses(a, of_a), uses(b, of_b));
    if uses_a == uses_b {
        return (text_a, text_b);
    }
    let with =
        |text: Option<String>, uses: Option<String>| text.zip(uses).map(|(text, uses)| format!("{text} (of {uses})"));
    (with(text_a, uses_a), with(text_b, uses_b))
}

/// The nodes of a graph with their places. All are counted at once: a graph may have as many changes as nodes.
struct Placed<'n> {
    nodes: &'n [Node],
    /// Of each node, the how many-th it is of the inputs, or of what calls something, from 1.
    numbers: Vec<usize>,
}

impl<'n> Placed<'n> {
    fn new(nodes: &'n [Node]) -> Self {
        let (mut inputs, mut others) = (0, 0);
        let number = |node: &Node| {
            let count = if node.call == "input" { &mut inputs } else { &mut others };
            *count += usize::from(node.call == "input" || is_call(node));
            *count
        };
        Self { nodes, numbers: nodes.iter().map(number).collect() }
    }

    /// Where a node stands, for a person.
    fn position(&self, at: usize) -> String {
        let number = self.numbers.get(at).copied().unwrap_or_default();
        match self.nodes.get(at).map(|node| node.call.as_str()) {
            Some("input") => format!("input {number}"),
            Some("return") => "return".to_owned(),
            Some("forward") => "inner graph".to_owned(),
            _ => format!("node {number}"),
        }
    }
}

/// Stretches of nodes of both sides, and whether they stand for each other one by one.
type Matched = (Range<usize>, Range<usize>, bool);

/// A node of either side, or one in the place of the other.
type Changed = (Option<usize>, Option<usize>);

/// Nodes of one side only, and pairs of nodes that are not the same, in their order.
fn changes(a: &[Node], b: &[Node], budget: &Budget) -> Result<Vec<Changed>, Refused> {
    let key = |node: &Node| node.key.clone();
    let (keys_a, keys_b): (Vec<String>, Vec<String>) = (a.iter().map(key).collect(), b.iter().map(key).collect());
    // First those that are alike in all, then those in between that call the same.
    let mut matched: Vec<Matched> = Vec::new();
    for run in compare(&keys_a, &keys_b, budget)? {
        match run {
            Run::Same(of_a, of_b) => matched.push((of_a, of_b, true)),
            Run::Other(of_a, of_b) => {
                let call = |nodes: &[Node], range: &Range<usize>| {
                    nodes.get(range.clone()).unwrap_or_default().iter().map(|n| n.call.clone()).collect::<Vec<_>>()
                };
                let runs = compare(&call(a, &of_a), &call(b, &of_b), budget)?;
                let shift = |range: Range<usize>, by: usize| range.start + by..range.end + by;
                matched.extend(runs.into_iter().map(|run| {
                    let (sub_a, sub_b, same) = match run {
                        Run::Same(a, b) => (a, b, true),
                        // As many on each side: each stands in the place of the other.
                        Run::Other(a, b) => {
                            let same = a.len() == b.len();
                            (a, b, same)
                        }
                    };
                    (shift(sub_a, of_a.start), shift(sub_b, of_b.start), same)
                }));
            }
        }
    }
    let mut to_b: Vec<Option<usize>> = vec![None; a.len()];
    for (of_a, of_b, _) in matched.iter().filter(|(.., same)| *same) {
        for (at_a, at_b) in of_a.clone().zip(of_b.clone()) {
            if let Some(to_b) = to_b.get_mut(at_a) {
                *to_b = Some(at_b);
            }
        }
    }
    let moved = moved(a, b, &matched);
    for (at_a, at_b) in &moved {
        if let Some(to_b) = to_b.get_mut(*at_a) {
            *to_b = Some(*at_b);
        }
    }
    let arrived: FxHashSet<usize> = moved.values().copied().collect();
    let mut changes = Vec::new();
    for (of_a, of_b, same) in matched {
        if same {
            let pairs = of_a.zip(of_b).filter(|(at_a, at_b)| !is_same(a.get(*at_a), b.get(*at_b), &to_b));
            changes.extend(pairs.map(|(at_a, at_b)| (Some(at_a), Some(at_b))));
        } else {
            changes.extend(of_a.map(|at| (Some(at), moved.get(&at).copied())));
            changes.extend(of_b.filter(|at| !arrived.contains(at)).map(|at| (None, Some(at))));
        }
    }
    Ok(changes)
}

/// Nodes that do the same and stand elsewhere, by their place in the first.
fn moved(a: &[Node], b: &[Node], matched: &[Matched]) -> BTreeMap<usize, usize> {
    let alone = || matched.iter().filter(|(.., same)| !*same);
    let mut waiting: FxHashMap<&str, VecDeque<usize>> = FxHashMap::default();
    for at in alone().flat_map(|(_, of_b, _)| of_b.clone()) {
        if let Some(node) = b.get(at) {
            waiting.entry(&node.key).or_default().push_back(at);
        }
    }
    let mut found = BTreeMap::new();
    for at in alone().flat_map(|(of_a, ..)| of_a.clone()) {
        let queue = a.get(at).and_then(|node| waiting.get_mut(node.key.as_str()));
        found.extend(queue.and_then(VecDeque::pop_front).map(|to| (at, to)));
    }
    found
}

/// Whether two nodes do the same with the same nodes.
fn is_same(a: Option<&Node>, b: Option<&Node>, to_b: &[Option<usize>]) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let partner = |at: &usize| to_b.get(*at).copied().flatten();
    a.key == b.key && a.uses.len() == b.uses.len() && a.uses.iter().zip(&b.uses).all(|(a, b)| partner(a) == Some(*b))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of(a: &str, b: &str) -> Vec<(Option<String>, Option<String>)> {
        let read = |body: &str| nodes(format!("def forward(self, x, y):\n{body}").as_bytes()).unwrap();
        let (a, b) = (read(a), read(b));
        let text = |nodes: &[Node], at: Option<usize>| at.map(|at| nodes[at].text.clone());
        let found = changes(&a, &b, &Budget::new(Duration::from_secs(20), 40_000)).unwrap();
        found.into_iter().map(|(of_a, of_b)| (text(&a, of_a), text(&b, of_b))).collect()
    }

    fn some(a: &str, b: &str) -> (Option<String>, Option<String>) {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (text(a), text(b))
    }

    #[test]
    fn names_do_not_count() {
        assert_eq!(
            of("    a = x.sin()\n    return (a,)", "    # File: x\n    sin = x.sin();  x = None\n    return (sin,)"),
            []
        );
    }

    #[test]
    fn a_node_in_between_is_one_row_and_its_user_another() {
        let found = of(
            "    a = x.sin()\n    b = a * 2\n    c = b + 1",
            "    a = x.sin()\n    k = a.clamp(0)\n    b = k * 2\n    c = b + 1",
        );
        assert_eq!(found, [some("", "k = a.clamp(0)"), some("b = a * 2", "b = k * 2")]);
    }

    #[test]
    fn constants_types_and_arguments_count() {
        assert_eq!(of("    a = x + 1", "    a = x + 2"), [some("a = x + 1", "a = x + 2")]);
        let typed = |n: u32| format!("    a: \"f32[{n}]\" = x.sin()");
        assert_eq!(of(&typed(3), &typed(4)), [some(typed(3).trim(), typed(4).trim())]);
        assert_eq!(of("    a = f(x, y)", "    a = f(y, x)"), [some("a = f(x, y)", "a = f(y, x)")]);
    }

    #[test]
    fn a_node_in_the_place_of_another_is_one_row() {
        let found = of("    a = x.sin()\n    b = a * 2", "    a = x.cosh()\n    b = a * 2");
        assert_eq!(found, [some("a = x.sin()", "a = x.cosh()")]);
    }

    #[test]
    fn other_nodes_of_the_same_names_are_told() {
        let read = |body: &str| nodes(format!("def forward(self, x):\n{body}").as_bytes()).unwrap();
        let a = read("    y = x.sin()\n    return (y,)");
        let b = read("    z = x.sin()\n    y = z.cos()\n    return (y,)");
        let (of_a, of_b) = texts((&Placed::new(&a), Some(3)), (&Placed::new(&b), Some(4)));
        assert_eq!(
            (of_a.unwrap(), of_b.unwrap()),
            ("return (y,) (of node 1)".into(), "return (y,) (of node 2)".into())
        );
    }

    #[test]
    fn inputs_and_calls_are_counted_apart() {
        let text =
            b"def forward(self, x, y):\n    a = x.sin()\n    def forward(self, z):\n    b = z.cos()\n    return (b,)";
        let nodes = nodes(text).unwrap();
        let placed = Placed::new(&nodes);
        let said: Vec<String> = (0..nodes.len()).map(|at| placed.position(at)).collect();
        assert_eq!(said, ["inner graph", "input 1", "input 2", "node 1", "inner graph", "input 3", "node 2", "return"]);
    }

    #[test]
    fn a_node_that_moved_is_one_row_and_its_users_none() {
        let a = "    a = gather(x)\n    b = wait(a)\n    c = reduce(y)\n    d = join(b, c)";
        let b = "    c = reduce(y)\n    a = gather(x)\n    b = wait(a)\n    d = join(b, c)";
        assert_eq!(of(a, b), [some("c = reduce(y)", "c = reduce(y)")]);
    }
}
