//! How symbolic expressions were made: each from others, down to the sizes of inputs and unknown sizes.
//!
//! Nodes are known by their addresses, and an address is used again when its node is gone. So a node is, for
//! each place in the log, the last one that was made at its address before. Arguments were made before what is
//! made of them; a draft export logs late, but in that order too.

use rustc_hash::{FxHashMap, FxHashSet};

use super::export::address;
use crate::format::json;
use crate::format::kind::Kind;
use crate::index::{Index, Record};

/// Nodes deeper than this are left out.
const DEEPEST: usize = 60;

/// The records that made nodes, by address, each list in the order of the log.
#[derive(Debug, Default)]
pub(crate) struct Expressions {
    made: FxHashMap<i128, Vec<usize>>,
}

/// How much of a node is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It, and what it was made of.
    Whole,
    /// It alone: its arguments stand in the tree before.
    Above,
    /// It alone: its arguments would be too deep.
    TooDeep,
}

/// A node of the tree of an expression, in the order in which it is read. A node that `opens` starts a level,
/// and `closes` says how many levels end after it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The expression.
    pub(crate) text: Option<String>,
    /// The record that made it; none for the size of an input.
    pub(crate) record: Option<usize>,
    /// The method that made it; `create_unbacked_symbol` for a size that is known at run time only.
    pub(crate) method: Option<String>,
    /// What the method was called with, or where the size comes from.
    pub(crate) arguments: Vec<String>,
    /// How much of it is shown.
    pub(crate) shown: Shown,
    /// Whether its arguments follow.
    pub(crate) opens: bool,
    /// Levels that end after it.
    pub(crate) closes: usize,
}

/// The tree of an expression.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpressionTree {
    /// Its nodes; none where the log does not tell how it was made.
    pub(crate) nodes: Vec<Node>,
    /// Whether some were left out, since there are too many.
    pub(crate) cut: bool,
}

/// What a tree is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Address of the node.
    pub(crate) node: i128,
    /// The record that speaks of it.
    pub(crate) before: usize,
    /// Where the sizes of inputs come from.
    pub(crate) symbols: &'a [(String, String)],
    /// Most nodes.
    pub(crate) most: usize,
    /// Most bytes of the records that are read for it.
    pub(crate) bytes: u64,
}

enum Step {
    Made(usize, usize),
    Source(String, String),
    Close,
}

impl Expressions {
    /// Those of a log.
    pub(crate) fn new(index: &Index, bytes: &[u8]) -> Self {
        let mut made: FxHashMap<i128, Vec<usize>> = FxHashMap::default();
        for (at, record) in index.records.iter().enumerate() {
            let name: &[u8] = if record.kind.is(Kind::ExpressionCreated) {
                b"result_id"
            } else if record.kind.is(Kind::CreateUnbackedSymbol) {
                b"node_id"
            } else {
                continue;
            };
            if let Some(id) = json::member(index.metadata(record, bytes), name).and_then(address) {
                made.entry(id).or_default().push(at);
            }
        }
        Self { made }
    }

    fn last_before(&self, id: i128, before: usize) -> Option<usize> {
        let made = self.made.get(&id)?;
        made.get(made.partition_point(|&at| at < before).checked_sub(1)?).copied()
    }

    /// The tree of an expression, each of its nodes once.
    pub(crate) fn tree(&self, index: &Index, bytes: &[u8], wanted: Wanted<'_>) -> ExpressionTree {
        let mut tree = ExpressionTree::default();
        // Of several sources the first counts.
        let symbols = wanted.symbols.iter().rev().map(|(symbol, source)| (symbol.as_str(), source.as_str()));
        let symbols: FxHashMap<&str, &str> = symbols.collect();
        let mut seen = FxHashSet::default();
        let mut steps: Vec<Step> =
            self.last_before(wanted.node, wanted.before).map(|at| Step::Made(at, 0)).into_iter().collect();
        let mut have_read = 0;
        while let Some(step) = steps.pop() {
            let full = tree.nodes.len() >= wanted.most || have_read > wanted.bytes;
            match step {
                Step::Close => {
                    if let Some(last) = tree.nodes.last_mut() {
                        last.closes += 1;
                    }
                }
                _ if full => tree.cut = true,
                Step::Source(text, source) => tree.nodes.push(Node {
                    text: Some(text),
                    record: None,
                    method: None,
                    arguments: vec![source],
                    shown: Shown::Whole,
                    opens: false,
                    closes: 0,
                }),
                Step::Made(at, depth) => {
                    let Some(record) = index.records.get(at) else { continue };
                    have_read += record.meta_len;
                    let mut node = read(index, bytes, at, record);
                    let below = self.below(index, bytes, (at, record), wanted).into_iter();
                    let mut below: Vec<Step> = below.map(|below| Step::Made(below, depth + 1)).collect();
                    for argument in node.arguments.iter().take(wanted.most) {
                        if let Some(source) = symbols.get(argument.as_str()) {
                            below.push(Step::Source(argument.clone(), (*source).to_owned()));
                        }
                    }
                    if below.is_empty() {
                        // A leaf may be shown as often as it is used.
                    } else if !seen.insert(at) {
                        node.shown = Shown::Above;
                        below.clear();
                    } else if depth >= DEEPEST {
                        node.shown = Shown::TooDeep;
                        below.clear();
                    }
                    node.opens = !below.is_empty();
                    if node.opens {
                        steps.push(Step::Close);
                        steps.extend(below.into_iter().rev());
                    }
                    tree.nodes.push(node);
                }
            }
        }
        tree
    }

    /// The nodes that a node was made of.
    fn below(&self, index: &Index, bytes: &[u8], (at, record): (usize, &Record), wanted: Wanted<'_>) -> Vec<usize> {
        let meta = index.metadata(record, bytes);
        let ids = json::member(meta, b"argument_ids").and_then(json::elements);
        let made = |id: i128| self.last_before(id, at).or_else(|| self.last_before(id, wanted.before));
        ids.into_iter().flatten().filter_map(address).filter_map(made).take(wanted.most).collect()
    }
}

fn read(index: &Index, bytes: &[u8], at: usize, record: &Record) -> Node {
    let meta = index.metadata(record, bytes);
    let text = |name: &[u8]| json::member(meta, name).and_then(json::unescape);
    let unbacked = record.kind.is(Kind::CreateUnbackedSymbol);
    Node {
        text: if unbacked { text(b"symbol") } else { text(b"result") },
        record: Some(at),
        method: if unbacked { Some(Kind::CreateUnbackedSymbol.info().name.to_owned()) } else { text(b"method") },
        arguments: if unbacked { text(b"vr").into_iter().collect() } else { texts(meta, b"arguments") },
        shown: Shown::Whole,
        opens: false,
        closes: 0,
    }
}

/// The texts of a list.
fn texts(meta: &[u8], name: &[u8]) -> Vec<String> {
    let text = |value: &[u8]| json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned());
    json::member(meta, name).and_then(json::elements).into_iter().flatten().map(text).collect()
}
