//! `index.html` of a job: a row for each log, what is missing or failed first.

use std::collections::BTreeSet;

use serde::Serialize;

use super::agreement::{Agreement, Compared, Evidence, agreement, parity_note};
use super::common::{Link, Page, count, duration, moment, plural, size};
use super::divergence::{Divergence, divergence};
use super::export::job_verdict;
use super::findings::{Findings, job_findings};
use super::over_ranks::OverRanks;
use super::overview::{Fact, Note, Summary, Tile};
use super::rank::FileLink;
use super::ranks::{RankPictures, rank_pictures};
use crate::analysis::findings::Finding;
use crate::analysis::ranks::{Comparison, rank_list};
use crate::error::Result;
use crate::report::comparison::JobFiles;
use crate::report::html::Pages;
use crate::trace::{Log, LogState, Trace};

/// Rows of the table of logs.
const LOGS: usize = 128;
/// Files listed that are no logs.
const SKIPPED: usize = 100;

/// One log and what was found in it.
pub(crate) struct RankRow<'a> {
    /// The log.
    pub(crate) log: &'a Log,
    /// Its folder in the report.
    pub(crate) folder: String,
    /// What it is called.
    pub(crate) label: String,
    /// Its counts.
    pub(crate) summary: Summary,
}

/// What the page shows.
pub(crate) struct JobInput<'a> {
    /// The job.
    pub(crate) trace: &'a Trace,
    /// Its name.
    pub(crate) heading: &'a str,
    /// Its logs.
    pub(crate) rows: &'a [RankRow<'a>],
    /// How its ranks compare.
    pub(crate) comparison: &'a Comparison,
    /// Its ranks side by side.
    pub(crate) over_ranks: &'a OverRanks<'a>,
    /// Pages that put the texts of two groups side by side.
    pub(crate) compared: &'a Compared,
    /// Where the records stand that show it.
    pub(crate) evidence: &'a Evidence,
    /// What its logs show.
    pub(crate) findings: &'a [Finding],
    /// Files over all ranks.
    pub(crate) files: JobFiles,
    /// How fasttl was called.
    pub(crate) command: &'a str,
    /// The user's own header.
    pub(crate) header_html: &'a str,
}

#[derive(Serialize)]
struct Context<'a> {
    page: Page,
    heading: &'a str,
    facts: Vec<Fact>,
    notes: Vec<Note>,
    tiles: Vec<Tile>,
    findings: Findings,
    divergence: Option<Divergence>,
    ranks_in_pictures: Option<RankPictures>,
    agreement: Agreement,
    ranks: Vec<Row<'a>>,
    ranks_note: String,
    all_ranks: Vec<Link>,
    skipped: Vec<Skipped>,
    skipped_note: String,
    links: Vec<FileLink>,
}

#[derive(Serialize)]
struct Row<'a> {
    href: String,
    label: &'a str,
    log: String,
    state: &'static str,
    state_level: &'static str,
    compiles: String,
    recompiles: String,
    breaks: String,
    failures: String,
    problems: String,
    records: String,
    bytes: String,
    time: String,
    time_v: f64,
    first: String,
    last: String,
    run: String,
}

#[derive(Serialize)]
struct Skipped {
    path: String,
    reason: String,
}

/// The page.
pub(crate) fn job_page(pages: &Pages, input: &JobInput<'_>) -> Result<String> {
    let rows = shown_rows(input);
    let passed = &input.trace.passed;
    let context = Context {
        page: Page::new(format!("{} · fasttl", input.heading), "", 0, input.header_html),
        heading: input.heading,
        facts: facts(input),
        notes: notes(input),
        tiles: tiles(input.rows),
        findings: job_findings(input.findings, input.rows, input.evidence, &sections(input)),
        divergence: (!input.comparison.differences.is_empty())
            .then(|| divergence(input.comparison, input.rows, input.evidence, input.compared)),
        ranks_in_pictures: rank_pictures(input.over_ranks),
        agreement: agreement(input.comparison, input.evidence, input.compared),
        ranks_note: if rows.len() < input.rows.len() {
            format!(
                "The {} of {} logs that differ, failed or took longest; all of them are linked at the end.",
                rows.len(),
                count(input.rows.len())
            )
        } else {
            String::new()
        },
        all_ranks: if rows.len() < input.rows.len() {
            input.rows.iter().map(|r| Link { href: link(r), label: r.label.clone() }).collect()
        } else {
            Vec::new()
        },
        ranks: rows.into_iter().map(row).collect(),
        skipped_note: if passed.len() > SKIPPED {
            format!("The first {SKIPPED} are listed; `fasttl info` has all.")
        } else {
            String::new()
        },
        skipped: passed
            .iter()
            .take(SKIPPED)
            .map(|p| Skipped { path: p.path.display().to_string(), reason: p.reason.clone() })
            .collect(),
        links: links(input.files),
    };
    pages.render("job.html", &context)
}

/// The parts of the page that tell more of some kinds of findings.
fn sections(input: &JobInput<'_>) -> Vec<(&'static str, &'static str)> {
    let mut sections = Vec::new();
    if !input.comparison.differences.is_empty() {
        sections.push(("ranks that differ", "divergence"));
    }
    if input.over_ranks.has_clock() {
        sections.extend([("rank skew", "timeline"), ("early ends", "timeline"), ("unfinished compiles", "timeline")]);
    }
    sections
}

fn links(files: JobFiles) -> Vec<FileLink> {
    let mut links = vec![("chromium_events.json", "the timing events of all logs, one process each")];
    if files.runtimes {
        links.push(("runtime_estimations.json", "estimated runtime of each operation, by rank and graph"));
        links.push((
            "chromium_trace_with_runtime.json",
            "the same as a trace: a process for each rank, a lane for each graph",
        ));
    }
    if files.schedules {
        links.push(("collective_schedules.json", "collectives of each graph in their order, by rank"));
    }
    links.into_iter().map(|(href, about)| FileLink { href, label: href, about }).collect()
}

/// The logs that the table shows: all, or of many those that differ, are damaged, failed or took longest, in order.
fn shown_rows<'a>(input: &JobInput<'a>) -> Vec<&'a RankRow<'a>> {
    let mut rows: Vec<&RankRow<'_>> = input.rows.iter().collect();
    if rows.len() > LOGS {
        let odd: BTreeSet<i32> = input.comparison.odd_ranks();
        let weight = |r: &RankRow<'_>| {
            let is_odd = r.log.rank.is_some_and(|rank| odd.contains(&rank));
            (r.log.state != LogState::Complete, r.summary.failed + r.summary.unfinished > 0, is_odd)
        };
        rows.sort_by(|a, b| weight(b).cmp(&weight(a)).then(b.summary.compile_s.total_cmp(&a.summary.compile_s)));
        rows.truncate(LOGS);
        rows.sort_by_key(|r| (r.log.rank.is_none(), r.log.rank, r.log.run, r.log.restart));
    }
    rows
}

/// `0, 3, 5` or the first few and how many more.
pub(super) fn list(items: &[String]) -> String {
    let shown = items.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    if items.len() > 8 { format!("{shown} and {} more", items.len() - 8) } else { shown }
}

fn facts(input: &JobInput<'_>) -> Vec<Fact> {
    let logs: Vec<&Log> = input.rows.iter().map(|r| r.log).collect();
    let bytes: u64 = logs.iter().map(|log| log.index.len).sum();
    let records: usize = logs.iter().map(|log| log.records()).sum();
    let mut ranks: Vec<i32> = logs.iter().filter_map(|log| log.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let missing = &input.comparison.missing;
    let ranks = match (ranks.len(), missing.len()) {
        (0, _) => "none: no log names a rank".to_owned(),
        (n, _) if input.trace.some_ranks => format!("{n} that were asked for"),
        (n, 0) => format!("{n}, none missing up to {}", ranks.last().copied().unwrap_or_default()),
        (n, m) => format!("{n}; {m} missing"),
    };
    let inputs: Vec<String> = input.trace.inputs.iter().map(|p| p.display().to_string()).collect();
    let problems = problems(&logs);
    let mut facts = vec![
        Fact::mono("Input", list(&inputs)),
        Fact::new("Logs", format!("{}, {}, {}", plural(logs.len(), "file"), size(bytes), plural(records, "record"))),
        Fact::new("Ranks", ranks),
        Fact::new(
            "Problems",
            if problems == 0 { "none: every byte was read".to_owned() } else { plural(problems, "damaged place") },
        ),
    ];
    if let Some(first) = logs.iter().filter(|log| log.first_us.is_some()).min_by_key(|log| log.first_us) {
        facts.push(Fact::new("Started", moment(first.first_us, first)));
    }
    facts.push(Fact::mono("Made by", input.command));
    facts.push(Fact::new("fasttl", env!("CARGO_PKG_VERSION")));
    facts
}

fn problems(logs: &[&Log]) -> usize {
    logs.iter().map(|log| log.errors()).sum()
}

fn notes(input: &JobInput<'_>) -> Vec<Note> {
    let mut notes: Vec<Note> = job_verdict(input.rows).into_iter().collect();
    let mut add = |level, title: String, text: String, href: Option<String>, link| {
        notes.push(Note { level, title, text, href, link });
    };
    let missing = &input.comparison.missing;
    if !missing.is_empty() && !is_found(input, &["missing ranks"]) {
        let title = format!("No log of {}.", plural(missing.len(), "rank"));
        add("error", title, format!("Missing: {}.", rank_list(missing)), None, None);
    }
    for (state, level, what) in [
        (LogState::Unreadable, "error", "could not be read"),
        (LogState::Empty, "error", "has no record"),
        (LogState::Truncated, "warn", "ends inside a record"),
    ] {
        let found: Vec<&RankRow<'_>> = input.rows.iter().filter(|r| r.log.state == state).collect();
        // Of an unreadable log the finding does not say why.
        let is_told = state != LogState::Unreadable && is_found(input, &["lost records"]);
        if let Some(first) = found.first().filter(|_| !is_told) {
            let names: Vec<String> = found.iter().map(|r| r.label.clone()).collect();
            let why = first.log.file.source.as_ref().err().cloned().unwrap_or_default();
            let title = format!("{} that {what}.", plural(found.len(), "log"));
            add(level, title, format!("{}. {why}", list(&names)), Some(link(first)), Some("Open"));
        }
    }
    for (rank, why) in &input.comparison.left_out {
        // Logs that are empty or unreadable are named above.
        if input.rows.iter().any(|r| r.log.rank == Some(*rank) && r.log.state == LogState::Complete) {
            add("warn", format!("Rank {rank} is not compared."), format!("{why}."), None, None);
        }
    }
    let failed: Vec<&RankRow<'_>> = input.rows.iter().filter(|r| r.summary.failed > 0).collect();
    if let Some(first) = failed.first().filter(|_| !is_found(input, &["failed compiles"])) {
        let names: Vec<String> = failed.iter().map(|r| r.label.clone()).collect();
        let title = format!("Compiles failed on {}.", list(&names));
        let reason = first.summary.first_failure.as_deref().unwrap_or_default();
        add("error", title, format!("{}: {reason}", first.label), Some(link(first)), Some("Open"));
    }
    let unfinished: Vec<&RankRow<'_>> = input.rows.iter().filter(|r| r.summary.unfinished > 0).collect();
    if let Some(first) = unfinished.first().filter(|_| !is_found(input, &["unfinished compiles"])) {
        let names: Vec<String> = unfinished.iter().map(|r| r.label.clone()).collect();
        let title = format!("Compiles never finished on {}.", list(&names));
        add("error", title, "They were still at work when the log ends.".to_owned(), Some(link(first)), Some("Open"));
    }
    let by_parsers = input.trace.parser_problems();
    if let Some(first) = by_parsers.first() {
        // One that could not be loaded stands on the page of every log.
        let row = input.rows.get(first.log.unwrap_or(0));
        let title = format!("{} of custom parsers.", plural(by_parsers.len(), "failure"));
        let href = row.map(|row| format!("{}#problems", link(row)));
        add("warn", title, first.problem.detail.clone(), href, Some("Open"));
    }
    notes.extend(parity_note(input.comparison));
    notes
}

/// Whether a finding says it: one cause, one sentence.
fn is_found(input: &JobInput<'_>, kinds: &[&str]) -> bool {
    input.findings.iter().any(|finding| kinds.contains(&finding.kind))
}

pub(super) fn link(row: &RankRow<'_>) -> String {
    format!("{}/index.html", row.folder)
}

fn tiles(rows: &[RankRow<'_>]) -> Vec<Tile> {
    let counted = |label, get: fn(&Summary) -> usize| {
        let all: Vec<usize> = rows.iter().map(|r| get(&r.summary)).collect();
        let (least, most) = (all.iter().min().copied().unwrap_or(0), all.iter().max().copied().unwrap_or(0));
        let at = rows.iter().find(|r| get(&r.summary) == most).map_or("", |r| r.label.as_str());
        let note =
            if least == most { format!("{least} on each") } else { format!("{least}–{most} each, most on {at}") };
        Tile { label, value: count(all.iter().sum()), note, href: Some("#ranks") }
    };
    let times: Vec<f64> = rows.iter().map(|r| r.summary.compile_s).collect();
    let slowest = rows.iter().max_by(|a, b| a.summary.compile_s.total_cmp(&b.summary.compile_s));
    let note = slowest.map(|r| format!("at most {} on {}", duration(r.summary.compile_s), r.label)).unwrap_or_default();
    vec![
        counted("Compiles", |s| s.compiles),
        counted("Recompiles", |s| s.recompiles),
        counted("Graph breaks", |s| s.breaks),
        counted("Failures", Summary::failures),
        Tile { label: "Compile time", value: duration(times.iter().sum()), note, href: Some("#ranks") },
    ]
}

fn row<'a>(row: &'a RankRow<'a>) -> Row<'a> {
    let log = row.log;
    let sum = &row.summary;
    Row {
        href: link(row),
        label: &row.label,
        log: log.name(),
        state: log.state.name(),
        state_level: match log.state {
            LogState::Complete => "ok",
            LogState::Truncated => "warn",
            LogState::Empty | LogState::Unreadable => "error",
        },
        compiles: count(sum.compiles),
        recompiles: count(sum.recompiles),
        breaks: count(sum.breaks),
        failures: count(sum.failures()),
        problems: count(problems(&[log])),
        records: count(log.records()),
        bytes: size(log.index.len),
        time: duration(sum.compile_s),
        time_v: sum.compile_s,
        first: moment(log.first_us, log),
        last: moment(log.last_us, log),
        run: format!("{}.{}", log.run, log.restart),
    }
}
