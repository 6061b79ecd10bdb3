//! Pages of metrics: every field of a record, with its unit, and what the compile did with symbolic sizes.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::common::{FrameView, Link, Page, Site, anchor, link_to, place};
use super::metric_rows::{Group, groups, list};
use super::rank::is_web;
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::frame::parse_stack;
use crate::format::json;
use crate::format::kind::Kind;
use crate::index::{KindId, Record};
use crate::report::configs::Configs;
use crate::report::html::Pages;
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

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: String,
    back: Link,
    kind: &'static str,
    about: &'static str,
    compile: CompileView,
    groups: Vec<Group>,
    mini_stack: Vec<FrameView>,
    stack: Vec<FrameView>,
    specializations: Vec<Specialization>,
    guards_added: Vec<GuardAdded>,
    symbols: Vec<Symbol>,
    files: Vec<FileLink>,
}

#[derive(Serialize)]
struct CompileView {
    label: String,
    href: String,
    status: &'static str,
    function: String,
    place: String,
}

#[derive(Serialize)]
struct Specialization {
    symbol: String,
    sources: Vec<String>,
    value: String,
    reason: String,
    user_stack: Vec<FrameView>,
    stack: Vec<FrameView>,
}

#[derive(Serialize)]
struct GuardAdded {
    expr: String,
    user_stack: Vec<FrameView>,
    stack: Vec<FrameView>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those that the template prints")]
struct Symbol {
    symbol: String,
    value: String,
    range: String,
    source: String,
    user_stack: Vec<FrameView>,
    stack: Vec<FrameView>,
}

#[derive(Serialize)]
struct FileLink {
    href: String,
    name: String,
    number: Option<u32>,
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
    let label = id.label();
    let heading = path.file_name().trim_end_matches(".html").to_owned();
    let info = match record.kind {
        KindId::Known(kind) => kind.info(),
        KindId::Other(_) => Kind::CompilationMetrics.info(),
    };
    let start = compile.and_then(|c| c.start).and_then(|at| index.records.get(at));
    let own_code = fields.text("co_name").zip(fields.text("co_filename"));
    let mut context = Context {
        page: Page::new(format!("{label} {} · {}", info.name, site.heading), site.up, depth, ""),
        heading,
        back: site.back(path),
        kind: info.name,
        about: info.about,
        compile: CompileView {
            href: anchor(&id.collapsed().label(), depth),
            label,
            status: compile.map_or("", |c| c.status.name()),
            function: compile.and_then(|c| c.name.clone()).unwrap_or_default(),
            place: compile.map(place).unwrap_or_default(),
        },
        groups: groups(&fields, configs.places(), |field, value| {
            configs.file(tree, field, value).map(|path| (link_to(&path, depth), path))
        })?,
        mini_stack: own_code.map(|(n, f)| FrameView::of(&f, fields.int("co_firstlineno"), &n)).into_iter().collect(),
        stack: Vec::new(),
        specializations: Vec::new(),
        guards_added: Vec::new(),
        symbols: Vec::new(),
        files: files(site, id.collapsed(), compile.map_or(1, |c| c.metrics.len() + c.backward.len()), path),
    };
    let key = (record.generation, id.without_attempt());
    if shapes.shown_by.get(&key) == Some(&at) {
        let mut room = STACK_BYTES;
        let stack = compile.zip(start).map(|(c, r)| site.stack(&c.stack, r.offset, depth, &mut room));
        context.stack = stack.unwrap_or_default();
        let of_compile = shapes.records.get(&key);
        for at in of_compile.into_iter().flatten() {
            if let Some(record) = index.records.get(*at) {
                shape(site, record, (depth, &mut room), &mut context);
            }
        }
    }
    pages.render("metrics.html", &context)
}

fn shape(site: &Site<'_>, record: &Record, (depth, room): (usize, &mut usize), context: &mut Context) {
    let meta = site.log.index.metadata(record, site.bytes);
    let text = |name: &[u8]| match json::member(meta, name) {
        None | Some(b"null") => String::new(),
        Some(value) => json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned()),
    };
    let mut stack = |name: &[u8]| {
        let frames = json::member(meta, name).map(parse_stack).unwrap_or_default();
        site.stack(&frames, record.offset, depth, room)
    };
    let (user_stack, stack) = (stack(b"user_stack"), stack(b"stack"));
    match record.kind {
        KindId::Known(Kind::SymbolicShapeSpecialization) => context.specializations.push(Specialization {
            symbol: text(b"symbol"),
            sources: json::member(meta, b"sources").map(list).map(|l| vec![l]).unwrap_or_default(),
            value: text(b"value"),
            reason: text(b"reason"),
            user_stack,
            stack,
        }),
        KindId::Known(Kind::GuardAddedFast) => {
            context.guards_added.push(GuardAdded { expr: text(b"expr"), user_stack, stack });
        }
        _ => context.symbols.push(Symbol {
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
fn files(site: &Site<'_>, id: CompileId, pages: usize, own: &RelPath) -> Vec<FileLink> {
    let entries = site.plan.by_id.get(&id).and_then(|slot| site.plan.directory.get(*slot)).map(|(_, entries)| entries);
    let link = |entry: &Entry| match &entry.target {
        Target::File(path) if path == own => None,
        Target::File(path) => Some(FileLink::new(link_to(path, own.depth()), entry)),
        Target::Link(url) => is_web(url).then(|| FileLink::new(url.clone(), entry)),
    };
    let most = (FILE_LINES / pages.max(1)).max(20);
    entries.into_iter().flatten().filter_map(link).take(most).collect()
}

impl FileLink {
    fn new(href: String, entry: &Entry) -> Self {
        Self { href, name: entry.name.clone(), number: entry.number }
    }
}
