//! `index.html` of one log: its overview, the stack tree, the compiles, problems, and every file.

use serde::Serialize;

use super::common::{Link, Page, Site, anchor, count, duration, place, plural, shorten};
use super::file_list::{Section, directory};
use super::findings::{Findings, log_findings};
use super::overview::{Fact, Note, Phase, Summary, Tile, export_note, facts, notes, phases, tiles};
use super::records::{NamesView, OTHER_RECORDS, RecordsView, names_by_phase, records};
use super::stack_tree::{TreeView, compile_tree, other_tree};
use crate::analysis::Compile;
use crate::analysis::findings::Finding;
use crate::error::Result;
use crate::index::{Problem, Severity};
use crate::report::RawLog;
use crate::report::census::Census;
use crate::report::html::Pages;

/// Rows of the table of compiles.
const COMPILES: usize = 200;
/// Rows of the table of problems.
const PROBLEMS: usize = 100;
/// Characters of a text of the log in a cell of a table.
const CELL: usize = 400;

/// What the page needs beside the site.
pub(crate) struct RankInput<'a> {
    /// What the log has.
    pub(crate) census: &'a Census,
    /// What it shows first.
    pub(crate) findings: &'a [Finding],
    /// How the log gets into the report.
    pub(crate) raw_log: RawLog,
    /// Name and address of the job's page, where there is one.
    pub(crate) job: Option<&'a str>,
    /// The logs before and after.
    pub(crate) siblings: Vec<Link>,
    /// How fasttl was called.
    pub(crate) command: &'a str,
    /// The user's own header.
    pub(crate) header_html: &'a str,
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
    findings: Findings,
    phases: Vec<Phase>,
    tree: TreeView,
    unknown_tree: TreeView,
    names: NamesView,
    compiles: Vec<CompileRow>,
    compiles_note: String,
    failures: Failures,
    records: RecordsView,
    directory: Vec<Section>,
    links: Vec<FileLink>,
    problems: Problems,
}

#[derive(Serialize)]
pub(super) struct JobLink {
    href: &'static str,
    name: String,
}

/// A file for other tools.
#[derive(Serialize)]
pub(crate) struct FileLink {
    pub(crate) href: &'static str,
    pub(crate) label: &'static str,
    pub(crate) about: &'static str,
}

#[derive(Serialize)]
pub(super) struct CompileRow {
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
    breaks: usize,
    href: &'static str,
}

#[derive(Serialize)]
pub(super) struct Problems {
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

impl RankInput<'_> {
    /// The link to the job's page.
    pub(super) fn job_link(&self) -> Option<JobLink> {
        self.job.map(|name| JobLink { href: "../index.html", name: name.to_owned() })
    }
}

/// The page.
pub(crate) fn rank_page(site: &Site<'_>, pages: &Pages, input: RankInput<'_>, sum: &Summary) -> Result<String> {
    let context = Context {
        page: Page::new(format!("{} · fasttl", site.heading), site.up, 0, input.header_html),
        heading: site.heading.to_owned(),
        job: input.job_link(),
        siblings: input.siblings,
        facts: facts(site, input.command),
        notes: notes(site, sum).into_iter().chain(export_note(site)).collect(),
        tiles: tiles(site, sum),
        findings: log_findings(site, input.findings),
        phases: phases(site.compiles),
        tree: compile_tree(site),
        unknown_tree: other_tree(site),
        names: names_by_phase(input.census),
        records: records(input.census, &site.log.index.names),
        compiles: compile_rows(site),
        compiles_note: compiles_note(site),
        failures: Failures {
            count: sum.restarts + sum.failed,
            restarts: sum.restarts,
            failed: sum.failed,
            breaks: sum.breaks,
            href: "failures_and_restarts.html",
        },
        directory: directory(site),
        links: links(site, input.census, input.raw_log),
        problems: problems(site),
    };
    pages.render("rank.html", &context)
}

pub(super) fn links(site: &Site<'_>, census: &Census, raw_log: RawLog) -> Vec<FileLink> {
    let mut links = vec![
        ("raw.log", "the log as it was read"),
        ("raw.jsonl", "the records without payloads, one JSON object a line"),
        ("chromium_events.json", "begin and end of each step of the compiler"),
        ("compile_directory.json", "this list of files, for scripts"),
    ];
    if !site.up.is_empty() {
        links.push(("collectives_parity.json", "graphs whose schedule of collectives and code do not agree"));
    }
    if census.has_others() {
        links.push((OTHER_RECORDS, "records that no other page shows"));
    }
    if !raw_log.is_there(site.log) {
        links.remove(0);
    }
    links.into_iter().map(|(href, about)| FileLink { href, label: href, about }).collect()
}

pub(super) fn compile_rows(site: &Site<'_>) -> Vec<CompileRow> {
    let mut order: Vec<&Compile> = site.compiles.iter().collect();
    if order.len() > COMPILES {
        let time = |c: &Compile| c.phases.frame_s.unwrap_or(-1.0);
        order.sort_by(|a, b| time(b).total_cmp(&time(a)).then(a.first.cmp(&b.first)));
        order.truncate(COMPILES);
    }
    let row = |c: &Compile| CompileRow {
        id: c.id.to_string(),
        href: anchor(&site.files_label(c), 0),
        status: c.status.name(),
        function: shorten(c.name.as_deref().unwrap_or_default(), CELL),
        place: shorten(&place(c), CELL),
        start: c
            .start_us
            .map(crate::format::time::iso)
            .and_then(|t| t.get(11..23).map(str::to_owned))
            .unwrap_or_default(),
        time: c.phases.frame_s.map(duration).unwrap_or_default(),
        time_v: c.phases.frame_s,
        nodes: c.nodes,
        guards: c.guards,
        why: shorten(c.recompile_reason.as_deref().unwrap_or_default(), CELL),
        attempts: c.last_attempt.saturating_add(1),
    };
    order.into_iter().map(row).collect()
}

/// What the table of compiles leaves out.
pub(super) fn compiles_note(site: &Site<'_>) -> String {
    if site.compiles.len() > COMPILES {
        format!(
            "The {COMPILES} slowest of {}; all of them stand below, under “Files by compile”.",
            count(site.compiles.len())
        )
    } else {
        String::new()
    }
}

/// Whether a link of a log may be one on a page.
pub(crate) fn is_web(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    lower.starts_with("https://") || lower.starts_with("http://")
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

pub(super) fn problems(site: &Site<'_>) -> Problems {
    let by_parsers = site.parser_problems();
    let all = &site.log.index.problems;
    let total = site.log.index.errors().count();
    let notes = all.len() - total;
    let unusual = all.iter().filter(|p| p.kind.severity() == Severity::Note);
    let ordered = site.log.index.errors().chain(unusual);
    // First: they are few, and what they name is not in the list of files.
    let ordered = by_parsers.iter().map(|p| &p.problem).chain(ordered);
    let rows: Vec<ProblemRow> = ordered.take(PROBLEMS).map(|p| problem_row(site, p)).collect();
    let mut note = String::new();
    if !by_parsers.is_empty() {
        note = format!(
            "{} of custom parsers: what they would have made is missing. ",
            plural(by_parsers.len(), "failure")
        );
    }
    if notes > 0 {
        note += &format!("{} of what is unusual, but lost nothing.", plural(notes, "note"));
    }
    if all.len() + by_parsers.len() > rows.len() {
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
        place: match (problem.line, problem.offset) {
            (0, 0) => String::new(),
            (0, byte) => format!("byte {byte}"),
            (line, byte) => format!("line {line}, byte {byte}"),
        },
        detail: shorten(&problem.detail, CELL),
        snippet: String::from_utf8_lossy(snippet).chars().map(visible).collect(),
    }
}
