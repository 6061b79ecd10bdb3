//! Pages of metrics: every field of a record, with its unit, and what the compile did with symbolic sizes.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::common::{FrameView, Link, Page, Site, anchor, duration, link_to, place, size};
use super::rank::is_web;
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::frame::parse_stack;
use crate::format::kind::Kind;
use crate::format::time::iso;
use crate::format::{json, strict};
use crate::index::{KindId, Record};
use crate::report::configs::Configs;
use crate::report::html::Pages;
use crate::report::names::RelPath;
use crate::report::plan::{Entry, Target};
use crate::report::tree::Tree;
use crate::tables::{Fields, METRIC_FIELDS, MetricType, Sorted, metrics_fields};
use crate::trace::Log;

/// Longer values are folded.
const LONG: usize = 240;

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
struct Group {
    title: &'static str,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    value: String,
    human: String,
    long: bool,
    about: &'static str,
    table: Option<Vec<KeyValue>>,
    href: Option<String>,
}

#[derive(Serialize)]
struct KeyValue {
    key: String,
    value: String,
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
    let fields = metrics_fields(index.metadata(record, site.bytes));
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
        groups: groups(&fields, depth, |field, value| configs.file(tree, field, value))?,
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

/// All fields of the log by group; those that are null are named together.
fn groups<'a>(
    fields: &Fields<'a>,
    depth: usize,
    mut config: impl FnMut(&'static str, &'a [u8]) -> Result<RelPath>,
) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut unset = Vec::new();
    let Sorted { known, others } = fields.sorted();
    for (field, value) in METRIC_FIELDS.iter().zip(known) {
        let Some(value) = value else { continue };
        if value == b"null" {
            unset.push(field.name);
            continue;
        }
        let row = if field.kind == MetricType::Json && field.name.ends_with("_config") {
            let path = config(field.name, value)?;
            Row { href: Some(link_to(&path, depth)), ..Row::new(field.name, path.file_name(), field.about) }
        } else {
            row(field.name.to_owned(), value, field.about)
        };
        match groups.last_mut().filter(|group| group.title == field.group) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { title: field.group, rows: vec![row] }),
        }
    }
    let unknown = "This version of fasttl does not know this field.";
    let others: Vec<Row> =
        others.into_iter().map(|(key, value)| row(json::unescape_inner(key), value, unknown)).collect();
    if !others.is_empty() {
        groups.push(Group { title: "Other fields", rows: others });
    }
    if !unset.is_empty() {
        let row = Row::new("not set", &unset.join(", "), "Fields that the record has without a value.");
        let row = Row { human: format!("{} fields", unset.len()), long: true, ..row };
        groups.push(Group { title: "Not set", rows: vec![row] });
    }
    Ok(groups)
}

impl Row {
    fn new(name: &str, value: &str, about: &'static str) -> Self {
        let (name, value) = (name.to_owned(), value.to_owned());
        Self { name, value, human: String::new(), long: false, about, table: None, href: None }
    }
}

fn row(name: String, value: &[u8], about: &'static str) -> Row {
    let table = value.starts_with(b"{").then(|| object(value));
    let text = match value.first() {
        Some(b'"') => json::unescape(value).unwrap_or_default(),
        Some(b'[') => list(value),
        _ => number(&String::from_utf8_lossy(&strict::to_strict(value))),
    };
    let human = human(&name, &text);
    Row { long: text.len() > LONG || text.contains('\n'), name, human, about, value: text, table, href: None }
}

/// Small numbers are written as people read them, digit by digit: `0.0000391`, not `3.91e-05`.
fn number(text: &str) -> String {
    let plain = || {
        let (mantissa, exponent) = text.split_once(['e', 'E'])?;
        let places = usize::try_from(-exponent.parse::<i32>().ok()?).ok().filter(|n| (1..30).contains(n))?;
        let (sign, digits) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        (whole.len() == 1).then(|| format!("{sign}0.{}{whole}{fraction}", "0".repeat(places - 1)))
    };
    plain().unwrap_or_else(|| text.to_owned())
}

fn object(value: &[u8]) -> Vec<KeyValue> {
    let mut rows = Vec::new();
    // Rows up to a fault are shown; a broken head is no record, so there is none.
    let _ = json::each_member(value, |key, value| {
        let value = String::from_utf8_lossy(value).into_owned();
        rows.push(KeyValue { key: json::unescape_inner(key), value });
        true
    });
    rows
}

/// One element a line, as a person would read it.
fn list(value: &[u8]) -> String {
    let elements: Vec<serde_json::Value> = serde_json::from_slice(&strict::to_strict(value)).unwrap_or_default();
    let text = |element: &serde_json::Value| element.as_str().map_or_else(|| element.to_string(), str::to_owned);
    elements.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// The value in a unit that people read, where the name tells the unit.
fn human(name: &str, text: &str) -> String {
    let Ok(number) = text.parse::<f64>() else { return String::new() };
    #[expect(clippy::cast_possible_truncation, reason = "out-of-range times are shown as they stand")]
    let moment = |us: f64| format!("{} UTC", iso(us as i64).get(..19).unwrap_or_default().replace('T', " "));
    match name {
        "start_time" if number > 1e8 && number < 1e11 => moment(number * 1e6),
        "start_time_us" | "end_time_us" if number > 1e14 && number < 1e17 => moment(number),
        "param_bytes" => text.parse().map(size).unwrap_or_default(),
        _ if name.ends_with("_us") => duration(number / 1e6),
        _ if name.ends_with("_ms") => duration(number / 1e3),
        _ if name.ends_with("_s") => duration(number),
        _ => String::new(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_keep_their_digits() {
        assert_eq!(number("2.7894973754882812e-05"), "0.000027894973754882812");
        assert_eq!((number("-1e-1"), number("1e30"), number("12.5")), ("-0.1".into(), "1e30".into(), "12.5".into()));
    }

    #[test]
    fn units_come_from_names() {
        assert_eq!(human("guard_latency_us", "1500"), "2 ms");
        assert_eq!(human("start_time", "1715885247.9"), "2024-05-16 18:47:27 UTC");
        assert_eq!(human("cache_size", "3"), "");
    }
}
