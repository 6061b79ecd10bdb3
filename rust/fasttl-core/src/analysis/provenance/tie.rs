//! From names to lines.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::code::kernel_lines;
use super::graph;
use super::read::{Losses, Mapping, quoted};

/// Pairs of lines that are kept.
const PAIRS: usize = 200_000;
/// Nodes and their origins that are looked at for the kernels of one part together. Each kernel may name every
/// node, and each node every origin, so a small mapping can stand for billions.
const STEPS: usize = 1_000_000;

/// Which pane a text stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The graph before Inductor's passes.
    Pre,
    /// The graph after them.
    Post,
    /// Generated code.
    Code,
}

/// A line of one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct At {
    /// Number of the text.
    pub(crate) text: usize,
    /// Its line, from 1.
    pub(crate) line: usize,
}

/// A name, and its line where the text has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    /// The name.
    pub(crate) name: String,
    /// The line.
    pub(crate) at: Option<At>,
}

/// A kernel with all that went into it, or a node that no kernel has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// Name of the kernel.
    pub(crate) kernel: Option<String>,
    /// Its lines.
    pub(crate) code: Vec<At>,
    /// Nodes after the passes.
    pub(crate) post: Vec<Node>,
    /// Nodes before the passes.
    pub(crate) pre: Vec<Node>,
}

/// Which lines belong together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ties {
    /// For each line, lines of the other sides.
    pub(crate) lines: BTreeMap<At, BTreeSet<At>>,
    /// The line of each kernel that is best to see: its first call, where there is one.
    pub(crate) best: BTreeSet<At>,
    /// The same by name: kernels first, by their place in the code.
    pub(crate) rows: Vec<Row>,
    /// What could not be tied.
    pub(crate) losses: Losses,
    pairs: usize,
}

impl Ties {
    fn join(&mut self, left: &[At], right: &[At]) {
        for &a in left {
            for &b in right {
                if self.pairs >= PAIRS {
                    return;
                }
                if self.lines.entry(a).or_default().insert(b) {
                    self.pairs += 1;
                    self.lines.entry(b).or_default().insert(a);
                }
            }
        }
    }
}

/// Finds the lines of a mapping's names in the texts of one part.
pub(crate) fn tie(mapping: Mapping, texts: &[(Side, &[u8])]) -> Ties {
    let (pre, post) = (Graph::new(texts, Side::Pre), Graph::new(texts, Side::Post));
    let numbered = texts.iter().enumerate();
    let code: Vec<(usize, &[u8])> =
        numbered.filter(|(_, (side, _))| *side == Side::Code).map(|(n, (_, text))| (n, *text)).collect();
    let kernels = kernel_lines(mapping.kernels.iter().map(|(kernel, _)| kernel.as_str()), &code);
    let mut ties = Ties { losses: mapping.losses, ..Ties::default() };
    let mut origins: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for (before, after) in &mapping.nodes {
        origins.entry(after).or_default().push(before);
    }
    let mut by_kernel: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (kernel, node) in &mapping.kernels {
        by_kernel.entry(kernel).or_default().push(node);
    }
    let mut steps = STEPS;
    for (kernel, nodes) in &by_kernel {
        let lines = kernels.get(kernel).cloned().unwrap_or_default();
        ties.rows.push(row((Some(kernel), lines), nodes, &origins, (&pre, &post), &mut steps));
    }
    let used: BTreeSet<&str> = mapping.kernels.iter().map(|(_, node)| node.as_str()).collect();
    let mut free: Vec<&str> = origins.keys().copied().filter(|node| !used.contains(node)).collect();
    free.sort_unstable();
    ties.rows.extend(free.iter().map(|node| row((None, Vec::new()), &[node], &origins, (&pre, &post), &mut steps)));
    if steps == 0 {
        ties.losses.add(|| {
            format!("The kernels have more nodes before the passes than a page can show; {STEPS} were looked at.")
        });
    }
    let first = |row: &Row| row.post.iter().filter_map(|n| n.at).min();
    ties.rows.sort_by_key(|r| (r.kernel.is_none(), r.code.is_empty(), r.code.first().copied(), first(r)));
    let rows = std::mem::take(&mut ties.rows);
    for row in &rows {
        let lines = |nodes: &[Node]| nodes.iter().filter_map(|n| n.at).collect::<Vec<At>>();
        ties.best.extend(row.code.first());
        ties.join(&row.code, &lines(&row.post));
        ties.join(&row.code, &lines(&row.pre));
        tell(row, &mut ties.losses, !code.is_empty());
    }
    for (before, after) in &mapping.nodes {
        ties.join(&pre.at(before), &post.at(after));
        if pre.text.is_some() && pre.at(before).is_empty() {
            let words = || format!("Node {} names {}, which the pre-grad graph lacks.", quoted(after), quoted(before));
            ties.losses.add(words);
        }
        if post.text.is_some() && post.at(after).is_empty() && !used.contains(after.as_str()) {
            let words = || format!("Node {} names {}, which the post-grad graph lacks.", quoted(before), quoted(after));
            ties.losses.add(words);
        }
    }
    if ties.pairs >= PAIRS {
        ties.losses
            .add(|| format!("More lines belong together than a page can show; the first {PAIRS} pairs are kept."));
    }
    ties.rows = rows;
    ties
}

fn tell(row: &Row, losses: &mut Losses, has_code: bool) {
    let Some(kernel) = &row.kernel else { return };
    if has_code && row.code.is_empty() {
        losses.add(|| format!("Kernel {} does not occur in the code.", quoted(kernel)));
    }
    for node in row.post.iter().filter(|node| node.at.is_none()) {
        losses.add(|| format!("Kernel {} names a node that the graph lacks: {}.", quoted(kernel), quoted(&node.name)));
    }
}

fn row(
    (kernel, code): (Option<&str>, Vec<At>),
    nodes: &[&str],
    origins: &FxHashMap<&str, Vec<&str>>,
    (pre, post): (&Graph<'_>, &Graph<'_>),
    steps: &mut usize,
) -> Row {
    let node = |graph: &Graph<'_>, name: &str| Node { name: name.to_owned(), at: graph.at(name).first().copied() };
    let of_nodes = nodes.iter().filter_map(|node| origins.get(node)).flatten().take(*steps);
    let before: BTreeSet<&str> = of_nodes.inspect(|_| *steps -= 1).copied().collect();
    let mut row = Row {
        kernel: kernel.map(str::to_owned),
        code,
        post: nodes.iter().map(|name| node(post, name)).collect(),
        pre: before.iter().map(|name| node(pre, name)).collect(),
    };
    let order = |node: &Node| (node.at.is_none(), node.at);
    row.post.sort_by_key(order);
    row.pre.sort_by_key(order);
    row
}

/// The nodes of the graph on one side.
struct Graph<'t> {
    text: Option<usize>,
    nodes: FxHashMap<&'t str, usize>,
}

impl<'t> Graph<'t> {
    fn new(texts: &[(Side, &'t [u8])], wanted: Side) -> Self {
        let text = texts.iter().position(|(side, _)| *side == wanted);
        let bytes = text.and_then(|n| texts.get(n)).map_or(&[][..], |(_, bytes)| bytes);
        Self { text, nodes: graph::nodes(bytes) }
    }

    /// The line of a node: one or none.
    fn at(&self, name: &str) -> Vec<At> {
        let at = self.text.zip(self.nodes.get(name)).map(|(text, &line)| At { text, line });
        at.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRE: &[u8] = b"def forward(self, x):\n    h = sin(x)\n    y = h + x\n";
    const POST: &[u8] =
        b"def forward(self, x):\n    sin = aten.sin(x)\n    add = aten.add(sin, x)\n    le = aten.le(add)\n";
    const CODE: &[u8] = b"k_0 = async_compile.cpp(\n)\n# [Provenance debug handles] k_0:1\nk_0(x)\n";

    fn ties(mapping: &str) -> Ties {
        let mut read = Mapping::default();
        read.add_mapping(mapping.as_bytes());
        tie(read, &[(Side::Pre, PRE), (Side::Post, POST), (Side::Code, CODE)])
    }

    fn of(ties: &Ties, text: usize, line: usize) -> Vec<(usize, usize)> {
        let lines = ties.lines.get(&At { text, line });
        lines.into_iter().flatten().map(|at| (at.text, at.line)).collect()
    }

    #[test]
    fn lines_of_all_panes_are_tied() {
        let ties =
            ties(r#"{"preToPost": {"h": ["sin"], "y": ["add"]}, "cppCodeToPost": {"k_0:1": ["sin", "add", "le"]}}"#);
        assert_eq!(of(&ties, 0, 2), [(1, 2), (2, 1), (2, 4)]);
        assert_eq!(of(&ties, 1, 4), [(2, 1), (2, 4)]);
        assert_eq!(of(&ties, 2, 4), [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4)]);
        assert_eq!((ties.rows.len(), ties.losses.total), (1, 0));
    }

    #[test]
    fn a_small_mapping_that_stands_for_much_is_bounded() {
        let list = |start: &str, n: usize| {
            let names: Vec<String> = (0..n).map(|n| format!("\"{start}{n}\"")).collect();
            format!("[{}]", names.join(","))
        };
        let members = |start: &str, n: usize, value: &str| {
            let members: Vec<String> = (0..n).map(|n| format!("\"{start}{n}\": {value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        for (kernels, nodes, origins) in [(5_000, 1, 5_000), (2_000, 200, 2_000)] {
            let kernels_to = members("k", kernels, &list("n", nodes));
            let before = members("n", nodes, &list("o", origins));
            let begun = std::time::Instant::now();
            let ties = ties(&format!("{{\"postToPre\": {before}, \"cppCodeToPost\": {kernels_to}}}"));
            assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
            assert_eq!(ties.rows.len(), kernels);
            let kept: usize = ties.rows.iter().map(|row| row.pre.len()).sum();
            assert!((1_000..=STEPS).contains(&kept), "{kept}");
            let told = ties.losses.told.first().unwrap();
            assert!(told.contains("than a page can show; 1000000 were looked at."), "{told}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let ties = ties(r#"{"preToPost": {"q": ["sin"]}, "cppCodeToPost": {"k_0:1": ["gone"], "k_9:2": ["sin"]}}"#);
        let told = ties.losses.told.join("\n");
        assert!(told.contains("Kernel “k_0:1” names a node that the graph lacks: “gone”."), "{told}");
        assert!(told.contains("Kernel “k_9:2” does not occur in the code."), "{told}");
        assert!(told.contains("Node “sin” names “q”, which the pre-grad graph lacks."), "{told}");
        assert_eq!(ties.losses.total, 3);
    }
}
