//! `index.html` of one log: what failed, what ran, where the time went, the stack tree, the compiles, and
//! every file.

use serde::Serialize;

use super::common::{Link, Page, Site, anchor, count, duration, moment, place, plural, size};
use super::stack_tree::{TreeRow, compile_tree, other_tree};
use crate::analysis::versions::versions;
use crate::analysis::{Compile, FailureKind, Status};
use crate::error::Result;
use crate::format::kind::Kind;
use crate::index::{KindId, Problem, Severity};
use crate::report::html::Pages;
use crate::report::names::RelPath;
use crate::report::plan::{Entry, Target};
use crate::trace::LogState;

/// Rows of the table of compiles.
const COMPILES: usize = 200;
/// Rows of the table of problems.
const PROBLEMS: usize = 100;

/// What the page needs beside the site.
pub(crate) struct RankInput<'a> {
    /// Name and address of the job's page, where there is one.
    pub(crate) job: Option<&'a str>,
    /// The logs before and after.
    pub(crate) siblings: Vec<Link>,
    /// How fasttl was called.
    pub(crate) command: &'a str,
    /// The user's own header.
    pub(crate) header_html: &'a str,
}

/// Counts over the compiles of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) compiles: usize,
    pub(crate) recompiles: usize,
    pub(crate) breaks: usize,
    pub(crate) failed: usize,
    pub(crate) restarts: usize,
    pub(crate) unfinished: usize,
    pub(crate) limit_hit: usize,
    pub(crate) compile_s: f64,
    pub(crate) first_failure: Option<String>,
}

/// Counts them.
pub(crate) fn summary(compiles: &[Compile]) -> Summary {
    let mut sum = Summary { compiles: compiles.len(), ..Summary::default() };
    for compile in compiles {
        sum.recompiles += usize::from(compile.is_recompile());
        sum.breaks += usize::from(compile.has_graph_break == Some(true));
        sum.failed += usize::from(compile.status == Status::Error);
        sum.restarts += compile.failures.iter().filter(|f| f.kind == FailureKind::Restart).count();
        sum.unfinished += usize::from(compile.unfinished);
        sum.limit_hit += usize::from(compile.limit_hit);
        sum.compile_s += compile.phases.frame_s.unwrap_or(0.0) + compile.phases.backward_s.unwrap_or(0.0);
        let failure = compile.failures.iter().find(|f| f.kind == FailureKind::Failure);
        if let (None, Some(failure)) = (&sum.first_failure, failure) {
            let reason = first_words(&failure.reason);
            let kind = failure.error.as_deref().unwrap_or("error");
            sum.first_failure =
                Some(format!("{} {}: {kind}: {reason}", compile.id, compile.name.as_deref().unwrap_or("")));
        }
    }
    sum
}

/// The first line of a message, and the next where the first only leads up to it.
fn first_words(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.next() {
        Some(next) if first.ends_with(':') => format!("{first} {next}"),
        _ => first.to_owned(),
    }
}

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: String,
    job: Option<JobLink>,
    siblings: Vec<Link>,
    facts: Vec<Fact>,
    notes: Vec<Note>,
    tiles: Vec<Tile>,
    phases: Vec<Phase>,
    tree: Vec<TreeRow>,
    unknown_tree: Vec<TreeRow>,
    compiles: Vec<CompileRow>,
    compiles_note: String,
    failures: Failures,
    directory: Vec<Section>,
    links: Vec<FileLink>,
    problems: Problems,
}

#[derive(Serialize)]
struct JobLink {
    href: &'static str,
    name: String,
}

/// A line of "What ran".
#[derive(Serialize)]
pub(crate) struct Fact {
    label: &'static str,
    value: String,
    title: String,
    mono: bool,
}

impl Fact {
    /// A line in words.
    pub(crate) fn new(label: &'static str, value: impl Into<String>) -> Self {
        Self { label, value: value.into(), title: String::new(), mono: false }
    }

    /// A line of code or a path.
    pub(crate) fn mono(label: &'static str, value: impl Into<String>) -> Self {
        Self { mono: true, ..Self::new(label, value) }
    }
}

/// Something to look at.
#[derive(Serialize)]
pub(crate) struct Note {
    pub(crate) level: &'static str,
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) href: Option<String>,
    pub(crate) link: Option<&'static str>,
}

/// A figure.
#[derive(Serialize)]
pub(crate) struct Tile {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    pub(crate) note: String,
    pub(crate) href: Option<&'static str>,
}

/// A file for other tools.
#[derive(Serialize)]
pub(crate) struct FileLink {
    pub(crate) href: &'static str,
    pub(crate) label: &'static str,
    pub(crate) about: &'static str,
}

#[derive(Serialize)]
struct Phase {
    name: &'static str,
    class: &'static str,
    label: String,
    x: u32,
    width: u32,
}

#[derive(Serialize)]
struct CompileRow {
    id: String,
    href: String,
    status: &'static str,
    function: String,
    place: String,
    start: String,
    time: String,
    time_v: Option<f64>,
    nodes: Option<i64>,
    guards: Option<i64>,
    why: String,
    attempts: i64,
}

#[derive(Serialize)]
struct Failures {
    count: usize,
    restarts: usize,
    failed: usize,
    href: &'static str,
}

#[derive(Serialize)]
struct Section {
    label: String,
    anchor: String,
    c: String,
    function: String,
    status: &'static str,
    count: usize,
    files: Vec<FileRow>,
}

#[derive(Serialize)]
struct FileRow {
    href: Option<String>,
    external: Option<String>,
    name: String,
    suffix: &'static str,
    readable: Option<String>,
    bytes: Option<String>,
    about: &'static str,
    extra: bool,
    number: Option<u32>,
}

#[derive(Serialize)]
struct Problems {
    total: usize,
    note: String,
    rows: Vec<ProblemRow>,
}

#[derive(Serialize)]
struct ProblemRow {
    kind: &'static str,
    place: String,
    detail: String,
    snippet: String,
}

/// The page.
pub(crate) fn rank_page(site: &Site<'_>, pages: &Pages, input: RankInput<'_>, sum: &Summary) -> Result<String> {
    let context = Context {
        page: Page::new(format!("{} · fasttl", site.heading), site.up, 0, input.header_html),
        heading: site.heading.to_owned(),
        job: input.job.map(|name| JobLink { href: "../index.html", name: name.to_owned() }),
        siblings: input.siblings,
        facts: facts(site, input.command),
        notes: notes(site, sum),
        tiles: tiles(site, sum),
        phases: phases(site.compiles),
        tree: compile_tree(site),
        unknown_tree: other_tree(site),
        compiles: compile_rows(site),
        compiles_note: if site.compiles.len() > COMPILES {
            format!(
                "The {COMPILES} slowest of {}; all of them stand below, under “Files by compile”.",
                count(site.compiles.len())
            )
        } else {
            String::new()
        },
        failures: Failures {
            count: sum.restarts + sum.failed,
            restarts: sum.restarts,
            failed: sum.failed,
            href: "failures_and_restarts.html",
        },
        directory: site.plan.directory.iter().map(|(id, entries)| section(site, *id, entries)).collect(),
        links: links(),
        problems: problems(site),
    };
    pages.render("rank.html", &context)
}

fn links() -> Vec<FileLink> {
    let link = |href, about| FileLink { href, label: href, about };
    vec![
        link("raw.log", "the log as it was read"),
        link("raw.jsonl", "the records without payloads, one JSON object a line"),
        link("chromium_events.json", "begin and end of each step of the compiler"),
        link("compile_directory.json", "this list of files, for scripts"),
    ]
}

fn facts(site: &Site<'_>, command: &str) -> Vec<Fact> {
    let log = site.log;
    let versions = versions(log, site.bytes);
    let mut facts = vec![
        Fact::mono("Log", log.file.path.display().to_string()),
        Fact::new("Size", format!("{}, {}", size(log.index.len), plural(log.index.records.len(), "record"))),
        Fact::new("State", log.state.name()),
    ];
    if let Some(rank) = log.rank {
        facts.push(Fact::new("Rank", rank.to_string()));
    }
    if let Some(pid) = log.pid {
        facts.push(Fact::new("Process", pid.to_string()));
    }
    let known = [
        ("PyTorch", versions.pytorch),
        ("Python", versions.python),
        ("CUDA", versions.cuda),
        ("Triton", versions.triton),
    ];
    facts.extend(known.into_iter().filter_map(|(label, value)| Some(Fact::new(label, value?))));
    facts.push(Fact::new("Started", moment(log.first_us, log)));
    if let (Some(first), Some(last)) = (log.first_us, log.last_us) {
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        facts.push(Fact::new("Lasted", duration((last - first) as f64 / 1e6)));
    }
    facts.push(Fact::mono("Made by", command));
    facts.push(Fact::new("fasttl", env!("CARGO_PKG_VERSION")));
    facts
}

fn notes(site: &Site<'_>, sum: &Summary) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |level, title: String, text: String, href: Option<&str>, link| {
        notes.push(Note { level, title, text, href: href.map(str::to_owned), link });
    };
    if sum.failed > 0 {
        let title = format!("{} failed.", plural(sum.failed, "compile"));
        let text = format!("The first: {}", sum.first_failure.as_deref().unwrap_or("the log gives no reason"));
        add("error", title, text, Some("failures_and_restarts.html"), Some("All failures"));
    }
    if let Some(compile) = site.compiles.iter().find(|c| c.unfinished) {
        let title = format!("{} never finished.", plural(sum.unfinished, "compile"));
        let name = compile.name.as_deref().unwrap_or_default();
        let text = format!("{} {name} was still compiling when the log ends.", compile.id);
        add("error", title, text, Some(&anchor(&compile.id.collapsed().label(), 0)), Some("What it had written"));
    }
    if site.log.state == LogState::Truncated {
        let text = "The process was killed or the disk was full; all before the cut is here.";
        add("warn", "The log ends inside a record.".to_owned(), text.to_owned(), Some("#problems"), Some("Where"));
    }
    if sum.limit_hit > 0 {
        let title =
            format!("Refused, since the frame had been compiled too often: {}.", plural(sum.limit_hit, "recompile"));
        add("warn", title, "Such a frame runs without compiled code from then on.".to_owned(), None, None);
    }
    if let Some((name, times)) = most_recompiled(site.compiles) {
        let title = format!("{}.", plural(sum.recompiles, "recompile"));
        add(
            "info",
            title,
            format!("Most of them of {name}: {times}."),
            Some("#compiles"),
            Some("Why they compiled again"),
        );
    }
    let errors = site.log.index.problems.iter().filter(|p| p.kind.severity() == Severity::Error).count();
    if errors > 0 && site.log.state != LogState::Truncated {
        let title = format!("{} in the log.", plural(errors, "damaged place"));
        add("warn", title, "Everything else was read.".to_owned(), Some("#problems"), Some("Where"));
    }
    notes
}

/// The function that was recompiled most, and how often.
fn most_recompiled(compiles: &[Compile]) -> Option<(String, usize)> {
    let mut counts: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for compile in compiles.iter().filter(|c| c.is_recompile()) {
        let name = compile.name.clone().unwrap_or_else(|| format!("frame {}", compile.id.frame_id.unwrap_or_default()));
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, n)| *n)
}

fn tiles(site: &Site<'_>, sum: &Summary) -> Vec<Tile> {
    let slowest = site.compiles.iter().filter_map(|c| c.phases.frame_s).fold(0.0, f64::max);
    let tile = |label, value: String, note: String, href| Tile { label, value, note, href };
    vec![
        tile("Compiles", count(sum.compiles), format!("longest {}", duration(slowest)), Some("#compiles")),
        tile("Recompiles", count(sum.recompiles), format!("of {}", plural(sum.compiles, "compile")), Some("#compiles")),
        tile("Graph breaks", count(sum.breaks), "compiles with one".to_owned(), Some("failures_and_restarts.html")),
        tile("Failures", count(sum.failed), plural(sum.restarts, "restart"), Some("failures_and_restarts.html")),
        tile("Compile time", duration(sum.compile_s), "all compiles together".to_owned(), Some("#time")),
    ]
}

/// Seconds by phase over all compiles, as widths of a bar of 1000.
fn phases(compiles: &[Compile]) -> Vec<Phase> {
    let total = |get: fn(&Compile) -> Option<f64>| compiles.iter().filter_map(get).sum::<f64>();
    let frame = total(|c| c.phases.frame_s);
    let backend = total(|c| c.phases.backend_s);
    let inductor = total(|c| c.phases.inductor_s);
    let backward = total(|c| c.phases.backward_s);
    let parts = [
        ("Dynamo", "dynamo", frame - backend),
        ("AOTAutograd", "aot", backend - inductor),
        ("Inductor", "inductor", inductor),
        ("Backward", "other", backward),
    ];
    let all: f64 = parts.iter().map(|p| p.2.max(0.0)).sum();
    let mut x = 0;
    let mut phases = Vec::new();
    for (name, class, seconds) in parts {
        if seconds <= 0.0 {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of 1000")]
        let width = (seconds / all * 1000.0).round() as u32;
        phases.push(Phase { name, class, label: duration(seconds), x, width });
        x += width;
    }
    phases
}

fn compile_rows(site: &Site<'_>) -> Vec<CompileRow> {
    let mut order: Vec<&Compile> = site.compiles.iter().collect();
    if order.len() > COMPILES {
        let time = |c: &Compile| c.phases.frame_s.unwrap_or(-1.0);
        order.sort_by(|a, b| time(b).total_cmp(&time(a)).then(a.first.cmp(&b.first)));
        order.truncate(COMPILES);
    }
    let row = |c: &Compile| CompileRow {
        id: c.id.to_string(),
        href: anchor(&c.id.collapsed().label(), 0),
        status: c.status.name(),
        function: c.name.clone().unwrap_or_default(),
        place: place(c),
        start: c
            .start_us
            .map(crate::format::time::iso)
            .and_then(|t| t.get(11..23).map(str::to_owned))
            .unwrap_or_default(),
        time: c.phases.frame_s.map(duration).unwrap_or_default(),
        time_v: c.phases.frame_s,
        nodes: c.nodes,
        guards: c.guards,
        why: c.recompile_reason.clone().unwrap_or_default(),
        attempts: c.last_attempt.saturating_add(1),
    };
    order.into_iter().map(row).collect()
}

/// Whether a link of a log may be one on a page.
pub(crate) fn is_web(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    lower.starts_with("https://") || lower.starts_with("http://")
}

fn section(site: &Site<'_>, id: crate::format::compile_id::CompileId, entries: &[Entry]) -> Section {
    let compile = site.compiles.newest(id);
    let label = id.label();
    Section {
        anchor: label.clone(),
        c: format!("c={id}"),
        label,
        function: compile.and_then(|c| c.name.clone()).unwrap_or_default(),
        status: compile.map_or("", |c| c.status.name()),
        count: entries.len(),
        files: entries.iter().map(|entry| file_row(site, entry)).collect(),
    }
}

/// The mark that the standard report puts behind caches' files.
pub(crate) fn cache_mark(path: &str) -> &'static str {
    if path.contains("cache_miss") {
        "\u{274C}"
    } else if path.contains("cache_hit") {
        "\u{2705}"
    } else if path.contains("cache_bypass") {
        "\u{2753}"
    } else {
        ""
    }
}

fn file_row(site: &Site<'_>, entry: &Entry) -> FileRow {
    let record = site.log.index.records.get(entry.record);
    let about = match record.map(|r| r.kind) {
        Some(KindId::Known(kind)) => kind.info().about,
        _ => "A kind of record that this version of fasttl does not know.",
    };
    let (href, external, suffix) = match &entry.target {
        Target::File(path) => (Some(path.href()), None, cache_mark(path.as_str())),
        Target::Link(url) => (is_web(url).then(|| url.clone()), Some(url.clone()), ""),
    };
    let is_link = record.is_some_and(|r| r.kind.is(Kind::Link));
    FileRow {
        href,
        external,
        name: entry.name.clone(),
        suffix,
        readable: entry.readable.as_ref().map(RelPath::href),
        bytes: (!is_link && entry.bytes > 0).then(|| size(entry.bytes)),
        about,
        extra: entry.number.is_none(),
        number: entry.number,
    }
}

fn problems(site: &Site<'_>) -> Problems {
    let all = &site.log.index.problems;
    let errors = |p: &&Problem| p.kind.severity() == Severity::Error;
    let total = all.iter().filter(errors).count();
    let notes = all.len() - total;
    let ordered = all.iter().filter(errors).chain(all.iter().filter(|p| !errors(p)));
    let rows: Vec<ProblemRow> = ordered.take(PROBLEMS).map(|p| problem_row(site, p)).collect();
    let mut note = String::new();
    if notes > 0 {
        note = format!("{} of what is unusual, but lost nothing.", plural(notes, "note"));
    }
    if all.len() > rows.len() {
        note += &format!(" The first {} are shown; all are in the table `problems`.", rows.len());
    }
    Problems { total, note, rows }
}

fn problem_row(site: &Site<'_>, problem: &Problem) -> ProblemRow {
    let start = usize::try_from(problem.offset).unwrap_or(usize::MAX);
    let len = usize::try_from(problem.len).unwrap_or(usize::MAX).min(80);
    let snippet = site.bytes.get(start..start.saturating_add(len).min(site.bytes.len())).unwrap_or_default();
    let visible = |c: char| if c.is_control() { '\u{B7}' } else { c };
    ProblemRow {
        kind: problem.kind.name(),
        place: format!("line {}, byte {}", problem.line, problem.offset),
        detail: problem.detail.clone(),
        snippet: String::from_utf8_lossy(snippet).chars().map(visible).collect(),
    }
}
