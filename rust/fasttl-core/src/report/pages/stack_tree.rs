//! The stack tree: all stacks that led to a compile, merged where they agree.
//!
//! A frame with one successor stands above it on the same level; where stacks part, a level begins. The
//! tree is given as rows that open and close levels, so that no depth is too deep for a template.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::common::{FrameView, Site, count, ends, plural, shorten};
use crate::analysis::Compile;
use crate::format::envelope;
use crate::format::frame::{Frame, parse_stack};

/// Levels deeper than this are not indented further: browsers stop nesting at 512.
const DEEPEST: usize = 120;
/// So many frames of PyTorch in a row are folded into one line.
const FOLD_FROM: usize = 3;

/// Bytes that the rows of the tree of compiles have on the page, about.
const BYTES: usize = 500_000;
/// The same of the tree of records that belong to no compile.
const OTHER_BYTES: usize = 250_000;
/// Rows of a tree.
const ROWS: usize = 3000;
/// Records of no compile that are named at one frame.
const SAME_FRAME: usize = 50;
/// Characters of a function in the title of a link.
const TITLE: usize = 200;

/// A tree, as much as is shown of it.
#[derive(Serialize)]
pub(crate) struct TreeView {
    rows: Vec<TreeRow>,
    /// Compiles at frames that are not shown.
    rest: Vec<TreeLink>,
    note: String,
}

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

type Key = (Option<String>, Option<i64>, Option<String>, Option<String>, Option<usize>);

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
pub(crate) fn compile_tree(site: &Site<'_>) -> TreeView {
    let mut tree = Tree::new();
    for compile in site.compiles.iter() {
        let Some(start) = compile.start.and_then(|at| site.log.index.records.get(at)) else { continue };
        tree.insert(site, trim(site, &compile.stack, start.offset), start.offset, link(site, compile));
    }
    tree.view(BYTES)
}

/// The tree of the stacks of records that belong to no compile.
pub(crate) fn other_tree(site: &Site<'_>) -> TreeView {
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
    for node in &mut tree.nodes {
        if let Some(more) = node.links.len().checked_sub(SAME_FRAME).filter(|more| *more > 0) {
            node.links.truncate(SAME_FRAME);
            let label = format!("and {} more", count(more));
            node.links.push(TreeLink { label, href: None, status: "", title: String::new() });
        }
    }
    tree.view(OTHER_BYTES)
}

fn link(site: &Site<'_>, compile: &Compile) -> TreeLink {
    let label = site.files_label(compile);
    TreeLink {
        href: Some(format!("#{label}")),
        label,
        status: compile.status.name(),
        title: shorten(compile.name.as_deref().unwrap_or_default(), TITLE),
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

/// Takes `n` from what is left, if there is so much.
fn take(left: &mut usize, n: usize) -> bool {
    let after = left.checked_sub(n);
    *left = after.unwrap_or(*left);
    after.is_some()
}

impl TreeLink {
    /// About how many bytes it has on a page.
    fn bytes(&self) -> usize {
        60 + self.label.len() + self.title.len() + self.href.as_ref().map_or(0, String::len)
    }
}

impl Tree {
    fn new() -> Self {
        Self { nodes: vec![Node { frame: None, children: Vec::new(), links: Vec::new() }], edges: FxHashMap::default() }
    }

    fn insert(&mut self, site: &Site<'_>, frames: &[Frame], offset: u64, link: TreeLink) {
        let (first, gap, last) = ends(frames);
        let mut at = 0;
        let mut step = |key: Key, view: &dyn Fn() -> FrameView| at = self.step(at, key, view);
        let key = |frame: &Frame| {
            let file = frame.filename.and_then(|id| site.trace.string(site.log, id, offset)).map(str::to_owned);
            (file, frame.line, frame.name.clone(), frame.loc.clone(), None)
        };
        for frame in first {
            step(key(frame), &|| site.frame(frame, offset, 0).cut());
        }
        if let Some(n) = gap {
            step((None, None, None, None, Some(n)), &|| FrameView::gap(n));
        }
        for frame in last {
            step(key(frame), &|| site.frame(frame, offset, 0).cut());
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.links.push(link);
        }
    }

    /// The node that `key` leads to from the node `at`, made where there is none.
    fn step(&mut self, at: usize, key: Key, view: &dyn Fn() -> FrameView) -> usize {
        let next = self.nodes.len();
        let found = *self.edges.entry((at, key)).or_insert(next);
        if found == next {
            self.nodes.push(Node { frame: Some(view()), children: Vec::new(), links: Vec::new() });
            if let Some(node) = self.nodes.get_mut(at) {
                node.children.push(next);
            }
        }
        found
    }

    /// As many rows as fit, and the links of the others.
    fn view(self, most: usize) -> TreeView {
        let mut rows = self.rows();
        let (all, mut left) = (rows.len(), most);
        let mut rest = Vec::new();
        let (mut kept, mut open) = (0, 0);
        for row in rows.iter_mut().take(ROWS) {
            let Some(after) = left.checked_sub(row.frame.bytes()) else { break };
            left = after;
            // A frame can have thousands of compiles: as many of them as fit.
            let fits = row.links.iter().take_while(|link| take(&mut left, link.bytes())).count();
            rest.extend(row.links.drain(fits..));
            open = (open + usize::from(row.opens)).saturating_sub(row.closes);
            kept += 1;
        }
        rest.extend(rows.drain(kept..).flat_map(|row| row.links));
        if let Some(last) = rows.last_mut() {
            last.closes += open;
        }
        let note = match (all - kept, rest.len()) {
            (0, 0) => String::new(),
            (0, _) => "Not all is shown here.".to_owned(),
            (frames, _) => format!("{} more in this tree.", plural(frames, "frame")),
        };
        TreeView { rows, rest, note }
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
