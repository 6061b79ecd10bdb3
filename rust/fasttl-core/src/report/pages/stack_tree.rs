//! The stack tree: all stacks that led to a compile, merged where they agree.
//!
//! A frame with one successor stands above it on the same level; where stacks part, a level begins. The
//! tree is given as rows that open and close levels, so that no depth is too deep for a template.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::common::{FrameView, Site};
use crate::analysis::Compile;
use crate::format::envelope;
use crate::format::frame::{Frame, parse_stack};

/// Levels deeper than this are not indented further: browsers stop nesting at 512.
const DEEPEST: usize = 120;
/// So many frames of PyTorch in a row are folded into one line.
const FOLD_FROM: usize = 3;

/// A row of the tree.
#[derive(Serialize)]
pub(crate) struct TreeRow {
    frame: FrameView,
    links: Vec<TreeLink>,
    opens: bool,
    closes: usize,
    fold: usize,
}

/// A compile, or a record of none, at a frame.
#[derive(Clone, Serialize)]
pub(crate) struct TreeLink {
    label: String,
    href: Option<String>,
    status: &'static str,
    title: String,
}

type Key = (Option<String>, Option<i64>, Option<String>, Option<String>);

struct Node {
    frame: Option<FrameView>,
    children: Vec<usize>,
    links: Vec<TreeLink>,
}

#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    edges: FxHashMap<(usize, Key), usize>,
}

/// The tree of all compiles' stacks.
pub(crate) fn compile_tree(site: &Site<'_>) -> Vec<TreeRow> {
    let mut tree = Tree::new();
    for compile in site.compiles.iter() {
        let Some(start) = compile.start.and_then(|at| site.log.index.records.get(at)) else { continue };
        tree.insert(site, trim(site, &compile.stack, start.offset), start.offset, link(site, compile));
    }
    tree.rows()
}

/// The tree of the stacks of records that belong to no compile.
pub(crate) fn other_tree(site: &Site<'_>) -> Vec<TreeRow> {
    let index = &site.log.index;
    let mut tree = Tree::new();
    for record in index.records.iter().filter(|r| index.names.id(r).is_none()) {
        let head = index.json(record, site.bytes);
        let stack = envelope::parse(head).ok().and_then(|e| e.stack).and_then(|range| head.get(range));
        let frames = stack.map(parse_stack).unwrap_or_default();
        if !frames.is_empty() {
            let label = format!("(unknown) {}", index.names.kind(record.kind));
            let link = TreeLink { label, href: None, status: "", title: String::new() };
            tree.insert(site, &frames, record.offset, link);
        }
    }
    tree.rows()
}

fn link(site: &Site<'_>, compile: &Compile) -> TreeLink {
    let label = site.files_label(compile);
    TreeLink {
        href: Some(format!("#{label}")),
        label,
        status: compile.status.name(),
        title: compile.name.clone().unwrap_or_default(),
    }
}

/// Old releases log their own frames at the end of the stack; the compiled code is above them.
fn trim<'f>(site: &Site<'_>, frames: &'f [Frame], offset: u64) -> &'f [Frame] {
    let own = |frame: &Frame| {
        let file = frame.filename.and_then(|id| site.trace.string(site.log, id, offset));
        file.is_some_and(|file| file.ends_with("torch/_dynamo/convert_frame.py"))
    };
    let tail = frames.iter().rev().take_while(|f| own(f)).count();
    if tail >= FOLD_FROM { frames.get(..frames.len() - tail).unwrap_or(frames) } else { frames }
}

impl Tree {
    fn new() -> Self {
        Self { nodes: vec![Node { frame: None, children: Vec::new(), links: Vec::new() }], edges: FxHashMap::default() }
    }

    fn insert(&mut self, site: &Site<'_>, frames: &[Frame], offset: u64, link: TreeLink) {
        let mut at = 0;
        for frame in frames {
            let file = frame.filename.and_then(|id| site.trace.string(site.log, id, offset)).map(str::to_owned);
            let key = (file, frame.line, frame.name.clone(), frame.loc.clone());
            let next = self.nodes.len();
            let found = *self.edges.entry((at, key)).or_insert(next);
            if found == next {
                self.nodes.push(Node {
                    frame: Some(site.frame(frame, offset, 0)),
                    children: Vec::new(),
                    links: Vec::new(),
                });
                if let Some(node) = self.nodes.get_mut(at) {
                    node.children.push(next);
                }
            }
            at = found;
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.links.push(link);
        }
    }

    /// The rows, by a walk that keeps its own stack.
    fn rows(self) -> Vec<TreeRow> {
        enum Step {
            Visit(usize),
            Close,
        }
        let mut rows: Vec<TreeRow> = Vec::new();
        let mut depth = 0;
        let children = |at: usize| self.nodes.get(at).map(|n| n.children.iter().rev().copied());
        let mut steps: Vec<Step> = children(0).into_iter().flatten().map(Step::Visit).collect();
        while let Some(step) = steps.pop() {
            let Step::Visit(at) = step else {
                depth -= 1;
                if let Some(row) = rows.last_mut() {
                    row.closes += 1;
                }
                continue;
            };
            let run = self.framework_run(at);
            let Some(node) = self.nodes.get(at) else { continue };
            let Some(frame) = node.frame.clone() else { continue };
            if run.len() >= FOLD_FROM && depth < DEEPEST {
                self.folded(&run, &mut rows);
                let end = run.last().copied().unwrap_or(at);
                steps.extend(children(end).into_iter().flatten().map(Step::Visit));
                continue;
            }
            let opens = node.children.len() > 1 && depth < DEEPEST;
            rows.push(TreeRow { frame, links: node.links.clone(), opens, closes: 0, fold: 0 });
            if opens {
                depth += 1;
                steps.push(Step::Close);
            }
            steps.extend(children(at).into_iter().flatten().map(Step::Visit));
        }
        rows
    }

    /// Frames of PyTorch that follow each other from `at`, without a compile and with one successor each.
    fn framework_run(&self, at: usize) -> Vec<usize> {
        let mut run = Vec::new();
        let mut next = Some(at);
        while let Some(node) = next.and_then(|n| self.nodes.get(n)) {
            let plain = node.links.is_empty() && node.children.len() == 1;
            if !plain || !node.frame.as_ref().is_some_and(|f| f.framework) {
                break;
            }
            run.extend(next);
            next = node.children.first().copied();
        }
        run
    }

    fn folded(&self, run: &[usize], rows: &mut Vec<TreeRow>) {
        for (n, at) in run.iter().enumerate() {
            let Some(frame) = self.nodes.get(*at).and_then(|node| node.frame.clone()) else { continue };
            let fold = if n == 0 { run.len() } else { 0 };
            let closes = usize::from(n + 1 == run.len());
            rows.push(TreeRow { frame, links: Vec::new(), opens: n == 0, closes, fold });
        }
    }
}
