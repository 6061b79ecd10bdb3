//! `symbolic_guard_information_<n>.html`: one condition on sizes or data, and how its expression was made.

use serde::Serialize;

use super::common::{FrameView, Link, Page, Site, clipped, count};
use super::stack_view::StackView;
use crate::analysis::export::{Condition, condition, origin};
use crate::analysis::expressions::{ExpressionTree, Expressions, Node, Shown, Wanted};
use crate::error::Result;
use crate::format::frame::Frame;
use crate::index::Record;
use crate::report::html::Pages;
use crate::report::names::RelPath;
use crate::report::plan::Content;

/// Most nodes of a tree, and of all trees of a log together; each has some at least.
const NODES: usize = 300;
const NODES_IN_ALL: usize = 100_000;
const FEWEST: usize = 8;
/// Most bytes of the stacks of a tree, and of all trees of a log together; each has some at least.
const STACKS: usize = 4 << 20;
const STACKS_IN_ALL: usize = 64 << 20;
const SMALLEST: usize = 8 << 10;
/// Bytes of the stacks of a page's own record.
const OWN_STACKS: usize = 2 << 20;
/// The same for the bytes of the records that are read for a tree.
const READ: u64 = 256 << 20;
const READ_IN_ALL: u64 = 4 << 30;
const LEAST_READ: u64 = 64 << 10;
/// Innermost frames of a stack within a tree.
const FRAMES: usize = 60;
/// Bytes of a text within a tree or a heading.
const LONGEST: usize = 2000;
const HEADING: usize = 120;
/// Bytes of the condition and what is said of it.
const LONGEST_EXPRESSION: usize = 10_000;
/// Values of one variable.
const VALUES: usize = 100;
/// Rows of the tables of variables and of symbols.
const ROWS: usize = 500;

/// What the pages of one log's conditions share.
pub(crate) struct GuardTrees {
    expressions: Expressions,
    most: usize,
    room: usize,
    bytes: u64,
}

impl GuardTrees {
    /// What the planned pages need.
    pub(crate) fn new(site: &Site<'_>) -> Self {
        let pages = site.plan.files.iter().filter(|f| f.content == Content::SymbolicGuard).count();
        if pages == 0 {
            return Self { expressions: Expressions::default(), most: 0, room: 0, bytes: 0 };
        }
        let expressions = Expressions::new(&site.log.index, site.bytes);
        let most = (NODES_IN_ALL / pages).clamp(FEWEST, NODES);
        let room = (STACKS_IN_ALL / pages).clamp(SMALLEST, STACKS);
        Self { expressions, most, room, bytes: (READ_IN_ALL / pages as u64).clamp(LEAST_READ, READ) }
    }
}

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: String,
    back: Link,
    kind: &'static str,
    about: &'static str,
    expr: String,
    result: Option<String>,
    unhinted: Option<String>,
    prefix: Option<String>,
    loc: Option<String>,
    place: Option<FrameView>,
    user_stack: StackView,
    stack: StackView,
    locals: Vec<Pair>,
    symbols: Vec<Pair>,
    tables_note: String,
    nodes: Vec<NodeView>,
    nodes_note: String,
}

/// A name and what it stands for.
#[derive(Serialize)]
struct Pair {
    name: String,
    values: Vec<Option<String>>,
}

#[derive(Serialize)]
struct NodeView {
    text: String,
    method: String,
    arguments: String,
    note: &'static str,
    place: Option<FrameView>,
    user_title: String,
    user_stack: StackView,
    title: String,
    stack: StackView,
    without_stack: bool,
    opens: bool,
    closes: usize,
}

/// The page of the condition that a record tells of.
pub(crate) fn symbolic_guard_page(
    site: &Site<'_>,
    pages: &Pages,
    trees: &GuardTrees,
    path: &RelPath,
    at: usize,
) -> Result<String> {
    let index = &site.log.index;
    let Some(record) = index.records.get(at) else { return Ok(String::new()) };
    let depth = path.depth();
    let info = match record.kind {
        crate::index::KindId::Known(kind) => kind.info(),
        crate::index::KindId::Other(_) => return Ok(String::new()),
    };
    let said = condition(index.metadata(record, site.bytes));
    let tree = said.node.map(|node| {
        let wanted = Wanted { node, before: at, symbols: &said.symbols, most: trees.most, bytes: trees.bytes };
        trees.expressions.tree(index, site.bytes, wanted)
    });
    let tree = tree.unwrap_or_default();
    let from = origin(site.trace, site.log, site.bytes, record);
    let expr = said.expr.clone().unwrap_or_else(|| super::export::NOT_LOGGED.to_owned());
    let heading = clipped(&expr, HEADING);
    let text = |text: &Option<String>| text.as_deref().map(|text| clipped(text, LONGEST_EXPRESSION));
    let (mut room, mut own) = (trees.room, OWN_STACKS);
    let context = Context {
        page: Page::new(format!("{heading} · {}", site.heading), site.up, depth, ""),
        back: site.back(path),
        kind: info.name,
        about: info.about,
        place: from.place.as_ref().map(|frame| site.frame(frame, record.offset, depth)),
        user_stack: site.stack(&from.user_stack, record.offset, depth, &mut own).into(),
        stack: site.stack(&from.stack, record.offset, depth, &mut own).into(),
        tables_note: tables_note(&said),
        nodes_note: nodes_note(&said, &tree),
        nodes: tree.nodes.iter().map(|node| node_view(site, node, depth, &mut room)).collect(),
        locals: said.locals.iter().take(ROWS).map(|(name, values)| pair(name, values)).collect(),
        symbols: said.symbols.iter().take(ROWS).map(|(name, source)| pair(name, &[Some(source.clone())])).collect(),
        result: text(&said.result),
        unhinted: text(&said.unhinted.filter(|text| *text != expr)),
        prefix: text(&said.prefix),
        loc: text(&said.loc),
        heading,
        expr: clipped(&expr, LONGEST_EXPRESSION),
    };
    pages.render("symbolic_guard.html", &context)
}

/// A row of the tables; of a variable with very many values the first are shown.
fn pair(name: &str, all: &[Option<String>]) -> Pair {
    let shown = all.iter().take(VALUES).map(|value| value.as_deref().map(|text| clipped(text, LONGEST)));
    let more = all.len().checked_sub(VALUES).filter(|more| *more > 0);
    let more = more.map(|more| Some(format!("({} more values left out)", count(more))));
    Pair { name: clipped(name, LONGEST), values: shown.chain(more).collect() }
}

fn tables_note(said: &Condition) -> String {
    let (locals, symbols) = (said.locals.len(), said.symbols.len());
    if locals.max(symbols) <= ROWS {
        return String::new();
    }
    let (locals, symbols) = (count(locals), count(symbols));
    format!("Of {locals} variables and {symbols} symbols the first {ROWS} are shown; raw.jsonl has all.")
}

fn nodes_note(said: &Condition, tree: &ExpressionTree) -> String {
    match (said.node, tree.nodes.len()) {
        (None, _) => "The record names no node, so how the expression was made cannot be told.".to_owned(),
        (_, 0) => "The log does not tell how this expression was made.".to_owned(),
        (_, n) if n > 0 && !tree.cut && tree.nodes.first().is_some_and(|root| root.text != said.expr) => {
            "The first one is what the code asked; the condition is what follows from the answer.".to_owned()
        }
        (_, n) if tree.cut => format!("The first {} are shown; raw.jsonl has the rest.", super::plural(n, "node")),
        _ => String::new(),
    }
}

fn node_view(site: &Site<'_>, node: &Node, depth: usize, room: &mut usize) -> NodeView {
    let record = node.record.and_then(|at| site.log.index.records.get(at));
    let from = record.filter(|_| node.shown != Shown::Above);
    let from = from.map(|record| (origin(site.trace, site.log, site.bytes, record), record));
    let (origin, record) = from.unzip();
    let origin = origin.unwrap_or_default();
    let (user_title, user_stack) = inner_frames(site, "User stack", &origin.user_stack, (record, depth), room);
    let (title, stack) = inner_frames(site, "Stack", &origin.stack, (record, depth), room);
    let place = record.zip(origin.place.as_ref()).map(|(record, frame)| site.frame(frame, record.offset, depth));
    let text = node.text.as_deref().unwrap_or(super::export::NOT_LOGGED);
    NodeView {
        text: clipped(text, LONGEST),
        method: clipped(node.method.as_deref().unwrap_or_default(), LONGEST),
        arguments: clipped(&node.arguments.join(", "), LONGEST),
        note: match node.shown {
            Shown::Whole => "",
            Shown::Above => "shown above",
            Shown::TooDeep => "what it was made of is too deep to show",
        },
        place,
        user_title,
        without_stack: stack.is_empty() && !origin.stack.is_empty(),
        user_stack,
        title,
        stack,
        opens: node.opens,
        closes: node.closes,
    }
}

/// The innermost frames of a stack that there is room for, under a title that says whether there are more.
fn inner_frames(
    site: &Site<'_>,
    title: &str,
    frames: &[Frame],
    (record, depth): (Option<&Record>, usize),
    room: &mut usize,
) -> (String, StackView) {
    let (mut shown, mut from) = (Vec::new(), frames.len());
    for frame in frames.iter().rev().take(FRAMES) {
        let view = site.frame(frame, record.map_or(0, |record| record.offset), depth);
        let Some(left) = room.checked_sub(view.bytes()) else { break };
        *room = left;
        from -= 1;
        shown.push(view);
    }
    shown.reverse();
    let more = if from > 0 { format!(", innermost of {}", count(frames.len())) } else { String::new() };
    (format!("{title}{more}"), shown.into())
}
