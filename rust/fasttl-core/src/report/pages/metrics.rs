//! Pages of metrics: every field of a record, with its unit, and what the compile did with symbolic sizes.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::common::{FrameView, Link, Page, Site, anchor, link_to, place};
use super::metric_rows::{groups, list};
use super::rank::is_web;
use super::stack_view::StackView;
use crate::analysis::Compile;
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::frame::parse_stack;
use crate::format::json;
use crate::format::kind::Kind;
use crate::index::{KindId, Record};
use crate::report::configs::Configs;
use crate::report::html::{Form, Markup, Pages, slot};
use crate::report::names::RelPath;
use crate::report::plan::{Entry, Target};
use crate::report::tree::Tree;
use crate::trace::Log;

/// Bytes that the stacks of a page have together.
const STACK_BYTES: usize = 16 << 20;

/// Lines that the pages of one compile have together for its files.
const FILE_LINES: usize = 50_000;

/// Records about symbolic sizes, by generation and compile id without attempt.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    records: FxHashMap<(u32, CompileId), Vec<usize>>,
    /// The metrics record on whose page they stand: the first, since a hostile log has thousands of one compile.
    shown_by: FxHashMap<(u32, CompileId), usize>,
}

/// Collects the records about symbolic sizes of a log.
pub(crate) fn shapes(log: &Log) -> Shapes {
    let mut shapes = Shapes::default();
    for (at, record) in log.index.records.iter().enumerate() {
        let about_shapes = matches!(
            record.kind,
            KindId::Known(
                Kind::SymbolicShapeSpecialization
                    | Kind::GuardAddedFast
                    | Kind::CreateSymbol
                    | Kind::CreateUnbackedSymbol
            )
        );
        let key = (record.generation, log.index.names.id(record).without_attempt());
        if about_shapes {
            shapes.records.entry(key).or_default().push(at);
        } else if record.kind.is(Kind::CompilationMetrics) {
            shapes.shown_by.entry(key).or_insert(at);
        }
    }
    shapes
}

impl Shapes {
    /// Whether a record about symbolic sizes stands on a page of metrics.
    pub(crate) fn have_page(&self, log: &Log, record: &Record) -> bool {
        self.shown_by.contains_key(&(record.generation, log.index.names.id(record).without_attempt()))
    }
}

/// The forms of the pages of metrics of a log: those of one kind in folders of one depth have one.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    pages: Mutex<FxHashMap<(Kind, usize), Arc<Form>>>,
    /// What stands under symbolic shapes where there are none.
    no_shapes: OnceLock<Markup>,
}

/// What a form is rendered with: slots for all that differs between pages.
#[derive(Serialize)]
struct Context {
    page: Page,
    back: Link,
    heading: String,
    compile: String,
    kind: &'static str,
    about: &'static str,
    stacks: String,
    files: String,
    groups: String,
    shapes: String,
}

/// The slots of a form, in their order on the page: title, address and label of the link back, heading, compile,
/// stacks, files, groups, shapes.
const SLOTS: usize = 9;

#[derive(Default, Serialize)]
struct ShapesView {
    specializations: Vec<Specialization>,
    guards_added: Vec<GuardAdded>,
    symbols: Vec<Symbol>,
}

#[derive(Serialize)]
struct Specialization {
    symbol: String,
    sources: Vec<String>,
    value: String,
    reason: String,
    user_stack: StackView,
    stack: StackView,
}

#[derive(Serialize)]
struct GuardAdded {
    expr: String,
    user_stack: StackView,
    stack: StackView,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those that the template prints")]
struct Symbol {
    symbol: String,
    value: String,
    range: String,
    source: String,
    user_stack: StackView,
    stack: StackView,
}

impl Forms {
    fn of(&self, site: &Site<'_>, pages: &Pages, kind: Kind, depth: usize) -> Result<Arc<Form>> {
        let lock = || self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(form) = lock().get(&(kind, depth)).cloned() {
            return Ok(form);
        }
        let context = Context {
            page: Page::new(slot(0), site.up, depth, ""),
            back: Link { href: slot(1), label: slot(2) },
            heading: slot(3),
            compile: slot(4),
            kind: kind.info().name,
            about: kind.info().about,
            stacks: slot(5),
            files: slot(6),
            groups: slot(7),
            shapes: slot(8),
        };
        let form = Arc::new(pages.form("metrics.html", SLOTS, &context)?);
        lock().insert((kind, depth), Arc::clone(&form));
        Ok(form)
    }

    /// The part about symbolic shapes.
    fn shapes(&self, pages: &Pages, view: &ShapesView) -> Result<Markup> {
        let ShapesView { specializations, guards_added, symbols } = view;
        let none = specializations.is_empty() && guards_added.is_empty() && symbols.is_empty();
        if let (true, Some(part)) = (none, self.no_shapes.get()) {
            return Ok(part.clone());
        }
        let part = pages.part("_shapes.html", view)?;
        Ok(if none { self.no_shapes.get_or_init(|| part).clone() } else { part })
    }
}

/// The page of the metrics record number `at`.
pub(crate) fn metrics_page<'a>(
    site: &Site<'a>,
    pages: &Pages,
    (tree, configs): (&Tree, &Configs<'a>),
    shapes: &Shapes,
    (path, at, record): (&RelPath, usize, &Record),
) -> Result<String> {
    let index = &site.log.index;
    let id = index.names.id(record);
    let fields = site.metrics.fields(at);
    let compile = site.compile_of(at);
    let depth = path.depth();
    let kind = match record.kind {
        KindId::Known(kind) => kind,
        KindId::Other(_) => Kind::CompilationMetrics,
    };
    let own_code = fields.text("co_name").zip(fields.text("co_filename"));
    let own = own_code.map(|(name, file)| FrameView::of(&file, fields.int("co_firstlineno"), &name));
    let mut whole = StackView::default();
    let mut about_shapes = ShapesView::default();
    let key = (record.generation, id.without_attempt());
    if shapes.shown_by.get(&key) == Some(&at) {
        let mut room = STACK_BYTES;
        let start = compile.and_then(|c| c.start).and_then(|at| index.records.get(at));
        let stack = compile.zip(start).map(|(c, r)| site.stack(&c.stack, r.offset, depth, &mut room));
        whole = stack.unwrap_or_default().into();
        for at in shapes.records.get(&key).into_iter().flatten() {
            if let Some(record) = index.records.get(*at) {
                shape(site, record, (depth, &mut room), &mut about_shapes);
            }
        }
    }
    let mut stacks = Markup::default();
    StackView::from(own.into_iter().collect::<Vec<_>>()).write(&mut stacks);
    stacks.tag("\n");
    whole.write_folded("Whole stack", "no whole stack", &mut stacks);
    let text = |text: &str| {
        let mut markup = Markup::default();
        markup.text(text);
        markup
    };
    let label = id.label();
    let back = site.back(path);
    let configured = |field, value| configs.file(tree, field, value).map(|path| (link_to(&path, depth), path));
    let contents: [Markup; SLOTS] = [
        text(&format!("{label} {} · {}", kind.info().name, site.heading)),
        text(&back.href),
        text(&back.label),
        text(path.file_name().trim_end_matches(".html")),
        heading(&label, &anchor(&id.collapsed().label(), depth), compile),
        stacks,
        files(site, id.collapsed(), compile.map_or(1, |c| c.metrics.len() + c.backward.len()), path),
        groups(&fields, configs.places(), configured)?,
        configs.forms.shapes(pages, &about_shapes)?,
    ];
    Ok(configs.forms.of(site, pages, kind, depth)?.fill(&contents))
}

/// Which compile the page is about.
fn heading(label: &str, href: &str, compile: Option<&Compile>) -> Markup {
    let mut out = Markup::default();
    out.tag("<a class=\"mono\" href=\"").text(href).tag("\">").text(label).tag("</a>");
    let Some(compile) = compile else { return out };
    if let Some(name) = compile.name.as_deref().filter(|name| !name.is_empty()) {
        out.tag(" <b class=\"mono\">").text(name).tag("</b>");
    }
    let place = place(compile);
    if !place.is_empty() {
        out.tag(" <span class=\"mono place\">").text(&place).tag("</span>");
    }
    let status = compile.status.name();
    out.tag(" <span class=\"status status-").text(status).tag("\">").text(status).tag("</span>");
    out
}

fn shape(site: &Site<'_>, record: &Record, (depth, room): (usize, &mut usize), view: &mut ShapesView) {
    let meta = site.log.index.metadata(record, site.bytes);
    let text = |name: &[u8]| match json::member(meta, name) {
        None | Some(b"null") => String::new(),
        Some(value) => json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned()),
    };
    let mut stack = |name: &[u8]| {
        let frames = json::member(meta, name).map(parse_stack).unwrap_or_default();
        StackView::from(site.stack(&frames, record.offset, depth, room))
    };
    let (user_stack, stack) = (stack(b"user_stack"), stack(b"stack"));
    match record.kind {
        KindId::Known(Kind::SymbolicShapeSpecialization) => view.specializations.push(Specialization {
            symbol: text(b"symbol"),
            sources: json::member(meta, b"sources").map(list).map(|l| vec![l]).unwrap_or_default(),
            value: text(b"value"),
            reason: text(b"reason"),
            user_stack,
            stack,
        }),
        KindId::Known(Kind::GuardAddedFast) => {
            view.guards_added.push(GuardAdded { expr: text(b"expr"), user_stack, stack });
        }
        _ => view.symbols.push(Symbol {
            symbol: text(b"symbol"),
            value: text(b"val"),
            range: text(b"vr"),
            source: text(b"source"),
            user_stack,
            stack,
        }),
    }
}

/// The other files of the compile. All of them on all of its pages of metrics would be the square of what
/// the log has, so many pages share a bounded number of lines.
fn files(site: &Site<'_>, id: CompileId, pages: usize, own: &RelPath) -> Markup {
    let entries = site.plan.by_id.get(&id).and_then(|slot| site.plan.directory.get(*slot)).map(|(_, entries)| entries);
    let href = |entry: &Entry| match &entry.target {
        Target::File(path) if path == own => None,
        Target::File(path) => Some(link_to(path, own.depth())),
        Target::Link(url) => is_web(url).then(|| url.clone()),
    };
    let most = (FILE_LINES / pages.max(1)).max(20);
    let mut items = Markup::default();
    let links = entries.into_iter().flatten().filter_map(|entry| Some((entry, href(entry)?))).take(most);
    for (entry, href) in links {
        items.tag("<li><a href=\"").text(&href).tag("\" rel=\"noopener noreferrer\">").text(&entry.name).tag("</a>");
        if let Some(number) = entry.number {
            items.tag(" <span class=\"n\">(").text(&number.to_string()).tag(")</span>");
        }
        items.tag("</li>");
    }
    let mut out = Markup::default();
    if items.is_empty() {
        out.tag("<p class=\"none\">The log stored no files for it.</p>");
    } else {
        out.tag("<ul class=\"files\">").markup(&items).tag("</ul>");
    }
    out
}
