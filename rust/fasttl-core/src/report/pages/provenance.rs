//! `provenance_tracking_<id>.html`: the graphs of a compile beside its generated code, line tied to line.

use std::collections::BTreeSet;

use serde::Serialize;

use super::common::{Link, Page, Site, count, link_to, plural, shorten};
use super::provenance_text::{Block, Budget, blocks};
use crate::analysis::provenance::{At, CodeKind, Direction, Mapping, Node, Part, Row, Side, Ties, tie};
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::report::html::Pages;
use crate::report::plan::Target;
use crate::report::provenance::ProvenancePage;

/// Parts of one page; further ones are only counted.
const PARTS: usize = 40;
/// Texts larger than this are not shown.
const LARGEST: u64 = 64 << 20;
/// Rows of the table below the panes.
const ROWS: usize = 300;
/// Characters of a name that are shown.
const NAME: usize = 200;
/// Names in one cell of it.
const NAMES: usize = 30;

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: String,
    back: Link,
    label: String,
    parts: Vec<PartView>,
    more: String,
}

#[derive(Serialize)]
struct PartView {
    id: String,
    heading: String,
    lead: String,
    panes: [Pane; 3],
    rows: Vec<RowView>,
    rows_note: String,
    losses: Vec<String>,
    losses_note: String,
}

#[derive(Serialize)]
struct Pane {
    id: String,
    heading: &'static str,
    none: &'static str,
    texts: Vec<TextView>,
}

#[derive(Serialize)]
struct TextView {
    name: String,
    href: Option<String>,
    note: String,
    lang: &'static str,
    blocks: Vec<Block>,
}

#[derive(Serialize)]
struct RowView {
    kernel: String,
    code: Vec<NameView>,
    post: Vec<NameView>,
    pre: Vec<NameView>,
}

/// A name or a line number, with a link where the line is shown.
#[derive(Serialize)]
struct NameView {
    label: String,
    href: Option<String>,
}

/// A text of a part, with the record that it comes from.
struct Source {
    side: Side,
    record: usize,
    text: Vec<u8>,
    too_large: bool,
}

/// The page of one compile id.
pub(crate) fn provenance_page(
    site: &Site<'_>,
    pages: &Pages,
    id: CompileId,
    planned: &ProvenancePage,
) -> Result<String> {
    let total = planned.parts.len();
    let shown = planned.parts.iter().take(PARTS);
    let texts = shown.clone().map(|part| part.code.len() + 2).sum();
    let budget = Budget::shared_by(texts);
    let view = |(n, part)| part_view(site, (id, n, total), part, budget);
    let path = &planned.path;
    let heading = path.file_name().trim_end_matches(".html").to_owned();
    let context = Context {
        page: Page::new(format!("{heading} · {}", site.heading), site.up, path.depth(), ""),
        heading,
        back: site.back(path),
        label: id.label(),
        parts: (1..).zip(shown).map(view).collect(),
        more: if total > PARTS {
            format!("The first {PARTS} of {} are shown; the files of all stand on the log's page.", count(total))
        } else {
            String::new()
        },
    };
    pages.render("provenance.html", &context)
}

fn sources(site: &Site<'_>, part: &Part) -> Vec<Source> {
    let index = &site.log.index;
    let code = part.code.iter().map(|&(_, at)| (Side::Code, at));
    let graphs = [(Side::Pre, part.pre), (Side::Post, part.post())];
    let all = graphs.into_iter().filter_map(|(side, at)| Some((side, at?))).chain(code);
    let source = |(side, record): (Side, usize)| {
        let found = index.records.get(record)?;
        let too_large = found.text_len > LARGEST;
        let text = if too_large { Vec::new() } else { index.payload(found, site.bytes).text() };
        Some(Source { side, record, text, too_large })
    };
    all.filter_map(source).collect()
}

fn mapping(site: &Site<'_>, part: &Part) -> Mapping {
    let index = &site.log.index;
    let text = |at: Option<usize>| Some(index.payload(index.records.get(at?)?, site.bytes).text());
    let mut mapping = Mapping::default();
    if let Some(text) = text(part.mapping) {
        mapping.add_mapping(&text);
    } else {
        // Releases before the mapping logged its halves.
        if let Some(text) = text(part.kernel_nodes) {
            mapping.add_kernel_nodes(&text);
        }
        if let Some(text) = text(part.node_origins) {
            mapping.add_node_origins(&text);
        }
    }
    mapping
}

fn part_view(site: &Site<'_>, (id, n, total): (CompileId, usize, usize), part: &Part, budget: Budget) -> PartView {
    let sources = sources(site, part);
    let texts: Vec<(Side, &[u8])> = sources.iter().map(|s| (s.side, s.text.as_slice())).collect();
    // Names of a text that is not read would all seem to be missing.
    let too_large = sources.iter().any(|source| source.too_large);
    let names_of_log = if too_large { Mapping::default() } else { mapping(site, part) };
    let ties = tie(names_of_log, &texts);
    let of = |side| texts.iter().find(|(have, _)| *have == side).map_or(&[][..], |(_, text)| text);
    let direction = Direction::of(of(Side::Code), of(Side::Post));
    let words = direction.map(|d| format!(", {}", d.name())).unwrap_or_default();
    let names = Names { part: n, shown: BTreeSet::new() };
    let (names, blocks) = lay_out(&sources, &ties, names, budget);
    let mut views: Vec<(Side, TextView)> = Vec::new();
    for (source, (blocks, note)) in sources.iter().zip(blocks) {
        views.push((source.side, text_view(site, id, part, source, blocks, note)));
    }
    let mut pane = |side, letter, heading, none| {
        let (own, others) = std::mem::take(&mut views).into_iter().partition(|(have, _)| *have == side);
        views = others;
        let own: Vec<(Side, TextView)> = own;
        Pane { id: format!("p{n}{letter}"), heading, none, texts: own.into_iter().map(|(_, view)| view).collect() }
    };
    let panes = [
        pane(Side::Pre, "-pre", "Pre-grad graph", "The log has no graph of this compile before Inductor's passes."),
        pane(Side::Post, "-post", "Post-grad graph", "The log has no graph of this compile after Inductor's passes."),
        pane(Side::Code, "-code", "Generated code", "The log has no generated code of this compile."),
    ];
    let (rows, rows_note) = rows(&ties.rows, &names);
    PartView {
        id: format!("part-{n}"),
        heading: if total == 1 {
            format!("One Inductor compile{words}")
        } else {
            format!("Part {n} of {total}{words}")
        },
        lead: if too_large {
            "A text of this compile is too large to be tied line by line.".to_owned()
        } else {
            lead(part, &ties)
        },
        panes,
        rows,
        rows_note,
        losses_note: if ties.losses.total > ties.losses.told.len() {
            format!("{} in all.", count(ties.losses.total))
        } else {
            String::new()
        },
        losses: ties.losses.told,
    }
}

fn lead(part: &Part, ties: &Ties) -> String {
    if part.mapping.is_none() && part.kernel_nodes.is_none() {
        return "The log does not say how the lines of these texts belong together.".to_owned();
    }
    if ties.rows.is_empty() {
        return "The log has a mapping for these texts, but it names nothing.".to_owned();
    }
    let kernels = ties.rows.iter().filter(|row| row.kernel.is_some()).count();
    format!("{}. A line whose number is a link belongs to lines of the other panes.", plural(kernels, "kernel"))
}

/// Chooses the lines to show of each text; then it is known which ones a link can lead to.
fn lay_out(sources: &[Source], ties: &Ties, mut names: Names, budget: Budget) -> (Names, Vec<(Vec<Block>, String)>) {
    let own = |text: usize| {
        let range = At { text, line: 0 }..At { text: text + 1, line: 0 };
        ties.lines.range(range).map(|(at, _)| at.line).collect::<Vec<_>>()
    };
    let chosen: Vec<_> = sources.iter().enumerate().map(|(n, s)| budget.choose(&s.text, &own(n))).collect();
    for (text, choice) in chosen.iter().enumerate() {
        names.shown.extend(choice.lines().map(|line| At { text, line }));
    }
    let made = sources.iter().zip(&chosen).enumerate().map(|(n, (source, choice))| {
        let ids = |line: usize| names.id(At { text: n, line });
        let to = |line: usize| {
            let others = ties.lines.get(&At { text: n, line }).into_iter().flatten();
            let mut others: Vec<At> = others.copied().filter(|at| names.shown.contains(at)).collect();
            // A pane scrolls to the first.
            others.sort_by_key(|at| (at.text, !ties.best.contains(at), at.line));
            others.into_iter().map(|at| names.id(at)).collect()
        };
        (blocks(&source.text, choice, ids, to), choice.note())
    });
    let made = made.collect();
    (names, made)
}

/// What lines are called on the page.
struct Names {
    part: usize,
    shown: BTreeSet<At>,
}

impl Names {
    fn id(&self, at: At) -> String {
        format!("p{}t{}L{}", self.part, at.text + 1, at.line)
    }

    fn link(&self, label: String, at: Option<At>) -> NameView {
        let href = at.filter(|at| self.shown.contains(at)).map(|at| format!("#{}", self.id(at)));
        NameView { label, href }
    }
}

fn text_view(
    site: &Site<'_>,
    id: CompileId,
    part: &Part,
    source: &Source,
    blocks: Vec<Block>,
    note: String,
) -> TextView {
    let entries = site.plan.by_id.get(&id).and_then(|&slot| site.plan.directory.get(slot));
    let entry = entries.and_then(|(_, entries)| entries.iter().find(|entry| entry.record == source.record));
    let href = entry.and_then(|entry| match &entry.target {
        Target::File(path) => Some(link_to(path, 0)),
        Target::Link(_) => None,
    });
    let cpp = part.code.iter().any(|&(kind, at)| at == source.record && kind != CodeKind::Output);
    TextView {
        name: entry.map(|entry| entry.name.clone()).unwrap_or_default(),
        href,
        note: if source.too_large { "Too large to be shown here; the file has it.".to_owned() } else { note },
        lang: if cpp { "cpp" } else { "python" },
        blocks,
    }
}

fn rows(all: &[Row], names: &Names) -> (Vec<RowView>, String) {
    let nodes = |nodes: &[Node]| {
        let mut views: Vec<NameView> =
            nodes.iter().take(NAMES).map(|node| names.link(short(&node.name), node.at)).collect();
        views.extend(left_out(nodes.len()));
        views
    };
    let row = |row: &Row| {
        let lines = row.code.iter().take(NAMES).map(|at| names.link(format!("line {}", at.line), Some(*at)));
        RowView {
            kernel: row.kernel.as_deref().map(short).unwrap_or_default(),
            code: lines.chain(left_out(row.code.len())).collect(),
            post: nodes(&row.post),
            pre: nodes(&row.pre),
        }
    };
    let note = if all.len() > ROWS {
        format!("The first {ROWS} of {} rows; the mapping's own file has all of them.", count(all.len()))
    } else {
        String::new()
    };
    (all.iter().take(ROWS).map(row).collect(), note)
}

fn left_out(total: usize) -> Option<NameView> {
    (total > NAMES).then(|| NameView { label: format!("and {} more", count(total - NAMES)), href: None })
}

/// A name as a cell can hold it.
fn short(name: &str) -> String {
    shorten(name, NAME)
}
