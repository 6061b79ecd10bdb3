//! `index.html` of one log in the report of an export: what failed and what to try, the conditions on sizes,
//! the programs, and every file.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::common::{FrameView, Link, Page, Site, clipped, count, plural, size};
use super::file_list::{Section, directory};
use super::job::{RankRow, link, list};
use super::overview::{Fact, Note, Summary, Tile, facts, notes};
use super::rank::{CompileRow, FileLink, JobLink, Problems, RankInput, compile_rows, compiles_note, links, problems};
use super::records::{NamesView, RecordsView, names_by_phase, records};
use super::stack_view::StackView;
use crate::analysis::export::{Exports, Finding, FindingKind, condition, origin};
use crate::error::Result;
use crate::report::html::Pages;
use crate::report::plan::Content;

/// Failures, and other conditions, that are shown on the page.
const ROWS: usize = 2000;
/// So many of them have their stacks with them; the others' stand on their own pages.
const STACKS: usize = 300;
/// Bytes that these stacks have together.
const STACK_BYTES: usize = 16 << 20;
/// Bytes of an expression, or of what else the log says, in a row.
const LONGEST: usize = 1000;

/// Stands for a field that a record lacks.
pub(super) const NOT_LOGGED: &str = "not in the log";

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: String,
    job: Option<JobLink>,
    siblings: Vec<Link>,
    facts: Vec<Fact>,
    notes: Vec<Note>,
    tiles: Vec<Tile>,
    failures: Vec<Failure>,
    failures_note: String,
    guards: Vec<Guard>,
    guards_note: String,
    programs: Vec<Program>,
    unfinished: usize,
    compiles: Vec<CompileRow>,
    compiles_note: String,
    records: RecordsView,
    names: NamesView,
    directory: Vec<Section>,
    links: Vec<FileLink>,
    problems: Problems,
}

#[derive(Serialize)]
struct Failure {
    title: &'static str,
    subject: Option<String>,
    meaning: String,
    advice: &'static str,
    manual: Vec<Manual>,
    from: From,
    href: Option<String>,
}

/// A page of PyTorch's documentation.
#[derive(Clone, Copy, Serialize)]
struct Manual {
    href: &'static str,
    label: &'static str,
}

/// The place in the user's code.
#[derive(Serialize)]
struct From {
    place: Option<FrameView>,
    loc: Option<String>,
    user_stack: StackView,
    stack: StackView,
}

#[derive(Serialize)]
struct Guard {
    subject: String,
    prefix: String,
    href: Option<String>,
    from: From,
}

#[derive(Serialize)]
struct Program {
    href: String,
    name: String,
    bytes: String,
}

/// The page.
pub(crate) fn export_page(site: &Site<'_>, pages: &Pages, input: RankInput<'_>, sum: &Summary) -> Result<String> {
    let none = Exports::default();
    let exports = sum.exports.as_ref().unwrap_or(&none);
    let hrefs: FxHashMap<usize, String> = site
        .plan
        .files
        .iter()
        .filter(|file| file.content == Content::SymbolicGuard)
        .map(|file| (file.record, file.path.href()))
        .collect();
    let (failed, guards): (Vec<&Finding>, Vec<&Finding>) =
        exports.findings.iter().partition(|finding| finding.kind.is_failure());
    let more = |all: usize| {
        if all > ROWS {
            format!("The first {ROWS} of {}; pages of all stand below, under “Files by compile”.", count(all))
        } else {
            String::new()
        }
    };
    let mut room = STACK_BYTES;
    let context = Context {
        page: Page::new(format!("{} · export · fasttl", site.heading), site.up, 0, input.header_html),
        heading: site.heading.to_owned(),
        job: input.job_link(),
        facts: facts(site, input.command),
        notes: std::iter::once(verdict(exports)).chain(notes(site, sum)).collect(),
        tiles: tiles(exports, failed.len()),
        failures_note: more(failed.len()),
        guards_note: more(guards.len()),
        failures: (failed.into_iter().take(ROWS).enumerate())
            .map(|(n, f)| failure(site, f, (n, &mut room), &hrefs))
            .collect(),
        guards: (guards.into_iter().take(ROWS).enumerate())
            .map(|(n, f)| guard(site, f, (n, &mut room), &hrefs))
            .collect(),
        programs: programs(site, exports),
        unfinished: exports.findings.iter().filter(|f| f.kind == FindingKind::NoProgram).count(),
        compiles: compile_rows(site),
        compiles_note: compiles_note(site),
        records: records(input.census, &site.log.index.names),
        names: names_by_phase(input.census),
        directory: directory(site),
        links: links(site, input.census, input.raw_log),
        problems: problems(site),
        siblings: input.siblings,
    };
    pages.render("export.html", &context)
}

/// What the reader wants to know first.
fn verdict(exports: &Exports) -> Note {
    let note = |level, title: String, text: String, href: Option<&str>, link| Note {
        level,
        title,
        text,
        href: href.map(str::to_owned),
        link,
    };
    if !exports.any {
        let title = "This log has no record of an export.".to_owned();
        return note("warn", title, NO_EXPORT.to_owned(), None, None);
    }
    let failed = exports.failures().count();
    if failed > 0 {
        let title = format!("{} of an export.", plural(failed, "failure"));
        return note("error", title, outcome(exports), Some("#failures"), Some("What to try"));
    }
    let level = if exports.programs.is_empty() { "warn" } else { "good" };
    let title = "No failure of an export in this log.".to_owned();
    note(level, title, outcome(exports), Some("#programs"), Some("Programs"))
}

const NO_EXPORT: &str = "So it does not say whether an export worked. An export is logged where TORCH_DTRACE is \
    set, and draft_export writes a log of its own, beside the one of the process.";

/// How many of what, in words.
fn outcome(exports: &Exports) -> String {
    let mut kinds: Vec<(FindingKind, usize)> = Vec::new();
    for finding in exports.failures() {
        match kinds.iter_mut().find(|(kind, _)| *kind == finding.kind) {
            Some((_, n)) => *n += 1,
            None => kinds.push((finding.kind, 1)),
        }
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, n)| format!("{} ({n})", words(*kind).title)).collect();
    let failures = if kinds.is_empty() { String::new() } else { format!("{}. ", kinds.join(", ")) };
    let programs = plural(exports.programs.len(), "program");
    match (exports.begun, exports.programs.len()) {
        (0, 0) if kinds.is_empty() => "It has no program either: the export may be in another log.".to_owned(),
        (0, 0) => format!("{failures}The log has no program."),
        (0, _) => format!("{failures}The log has {programs}."),
        (begun, _) => format!("{failures}{} began, and the log has {programs}.", plural(begun, "export")),
    }
}

/// The same for a job; none where the report is not about exports.
pub(super) fn job_verdict(rows: &[RankRow<'_>]) -> Option<Note> {
    let with: Vec<(&RankRow<'_>, &Exports)> =
        rows.iter().filter_map(|row| Some((row, row.summary.exports.as_ref()?))).collect();
    if with.is_empty() {
        return None;
    }
    let named =
        |rows: &[(&RankRow<'_>, &Exports)]| list(&rows.iter().map(|(row, _)| row.label.clone()).collect::<Vec<_>>());
    let any: Vec<_> = with.iter().filter(|(_, exports)| exports.any).copied().collect();
    let failed: Vec<_> = any.iter().filter(|(_, exports)| exports.failures().next().is_some()).copied().collect();
    Some(match (failed.first(), any.first()) {
        (Some((row, exports)), _) => Note {
            level: "error",
            title: format!("Failures of an export in {}.", named(&failed)),
            text: format!("{}: {}", row.label, outcome(exports)),
            href: Some(link(row)),
            link: Some("What to try"),
        },
        (None, Some((row, exports))) => Note {
            level: "good",
            title: format!("No failure of an export. Records of one are in {}.", named(&any)),
            text: format!("{}: {}", row.label, outcome(exports)),
            href: Some(link(row)),
            link: Some("Open"),
        },
        (None, None) => Note {
            level: "warn",
            title: "No log has a record of an export.".to_owned(),
            text: NO_EXPORT.to_owned(),
            href: None,
            link: None,
        },
    })
}

fn tiles(exports: &Exports, failed: usize) -> Vec<Tile> {
    let tile = |label, value: usize, note: String, href| Tile { label, value: count(value), note, href: Some(href) };
    let guards = exports.findings.len() - failed;
    let began = if exports.begun > 0 { format!("of {} begun", plural(exports.begun, "export")) } else { String::new() };
    vec![
        tile("Failures", failed, if failed > 0 { "with what to try" } else { "" }.to_owned(), "#failures"),
        tile("Conditions on sizes", guards, "that the program relies on".to_owned(), "#guards"),
        tile("Programs", exports.programs.len(), began, "#programs"),
    ]
}

/// What a kind of failure is called and what helps.
struct Words {
    title: &'static str,
    advice: &'static str,
    manual: &'static [Manual],
}

const KERNELS: &[Manual] = &[
    Manual {
        href: "https://docs.pytorch.org/docs/stable/library.html#torch.library.register_fake",
        label: "torch.library.register_fake",
    },
    Manual {
        href: "https://docs.google.com/document/d/1_W62p8WJOQQUzPsJYa7s701JXt0qf2OfLub2sbkHOaU/edit#heading=h.ahugy69p2jmz",
        label: "custom operators manual",
    },
];
const SHAPES: &[Manual] = &[Manual { href: "https://docs.pytorch.org/docs/stable/export.html", label: "torch.export" }];

fn words(kind: FindingKind) -> Words {
    let (title, advice, manual) = match kind {
        FindingKind::NoProgram => (
            "Export without a program",
            "Read the error that the program printed. The conditions on sizes below, the last ones first, are what \
             the export had met by then.",
            SHAPES,
        ),
        FindingKind::Undecided => (
            "Undecided condition",
            "State with torch._check, before that line, what always holds. Where both cases occur, use torch.cond. \
             draft_export goes on with the example inputs instead of stopping.",
            SHAPES,
        ),
        FindingKind::DataDependent => (
            "Data-dependent condition",
            "If it always comes out so, say it with torch._check before that line. If both cases occur, use \
             torch.cond, or write the code so that it does not branch on a tensor's value.",
            SHAPES,
        ),
        FindingKind::MissingFakeKernel => (
            "Missing fake kernel",
            "Register a function that makes an empty result of the right shape and type, with \
             torch.library.register_fake.",
            KERNELS,
        ),
        FindingKind::MismatchedFakeKernel => (
            "Mismatched fake kernel",
            "Correct the function that was given to torch.library.register_fake: its sizes, strides, type and \
             device have to be those of the real result for every input.",
            KERNELS,
        ),
        FindingKind::SizeFixed => (
            "Size fixed to one value",
            "If the size may vary, take out the comparison or the constant that fixes it, at the place below. If \
             it never varies, leave it out of dynamic_shapes, or declare it with Dim.AUTO.",
            SHAPES,
        ),
        FindingKind::Guard => ("Condition on sizes", "", SHAPES),
    };
    Words { title, advice, manual }
}

fn meaning(finding: &Finding) -> String {
    let answer = finding.answer.as_deref().map(|text| clipped(text, LONGEST));
    let answer = answer.as_deref();
    match finding.kind {
        FindingKind::NoProgram => "It began, and the log has no program of it: it failed, or the log ends before it \
             was done."
            .to_owned(),
        FindingKind::Undecided => "Whether this holds depends on values that an export does not know. It stopped \
             there."
            .to_owned(),
        FindingKind::DataDependent => format!(
            "Whether this holds depends on values that an export does not know. It was taken to be {}, as with the \
             example inputs. The program asserts that, so it stops where the inputs say otherwise.",
            answer.unwrap_or(NOT_LOGGED)
        ),
        FindingKind::MissingFakeKernel => "An export runs operators on tensors without data, and this one has no \
             implementation for them. What it returns was learnt from one real run."
            .to_owned(),
        FindingKind::MismatchedFakeKernel => format!(
            "Its implementation for tensors without data does not return what the real one does. The reason: {}",
            answer.unwrap_or(NOT_LOGGED)
        ),
        FindingKind::SizeFixed => {
            let why = answer.map(|reason| format!(" The reason: {reason}.")).unwrap_or_default();
            format!(
                "The code, or an operator in it, works for this one value only. Where the size was declared as \
                 dynamic, the export ends with a constraint violation.{why}"
            )
        }
        FindingKind::Guard => String::new(),
    }
}

fn failure(
    site: &Site<'_>,
    finding: &Finding,
    (row, room): (usize, &mut usize),
    hrefs: &FxHashMap<usize, String>,
) -> Failure {
    let Words { title, advice, manual } = words(finding.kind);
    let subject = finding.subject.as_deref().unwrap_or(NOT_LOGGED);
    let subject = match finding.kind {
        FindingKind::NoProgram => format!("export {subject}"),
        FindingKind::MissingFakeKernel | FindingKind::MismatchedFakeKernel if finding.subject.is_some() => {
            format!("torch.ops.{subject}")
        }
        _ => subject.to_owned(),
    };
    Failure {
        title,
        subject: Some(clipped(&subject, LONGEST)),
        meaning: meaning(finding),
        advice,
        manual: manual.to_vec(),
        from: from(site, finding.record, row, room),
        href: hrefs.get(&finding.record).cloned(),
    }
}

fn guard(
    site: &Site<'_>,
    finding: &Finding,
    (row, room): (usize, &mut usize),
    hrefs: &FxHashMap<usize, String>,
) -> Guard {
    Guard {
        subject: clipped(finding.subject.as_deref().unwrap_or(NOT_LOGGED), LONGEST),
        prefix: clipped(finding.prefix.as_deref().unwrap_or_default(), LONGEST),
        href: hrefs.get(&finding.record).cloned(),
        from: from(site, finding.record, row, room),
    }
}

fn from(site: &Site<'_>, at: usize, row: usize, room: &mut usize) -> From {
    let Some(record) = site.log.index.records.get(at) else {
        return From { place: None, loc: None, user_stack: StackView::default(), stack: StackView::default() };
    };
    let origin = origin(site.trace, site.log, site.bytes, record);
    let mut stack = |frames| {
        if row < STACKS { site.stack(frames, record.offset, 0, room).into() } else { StackView::default() }
    };
    From {
        place: origin.place.as_ref().map(|frame| site.frame(frame, record.offset, 0)),
        loc: condition(site.log.index.metadata(record, site.bytes)).loc.map(|loc| clipped(&loc, LONGEST)),
        user_stack: stack(&origin.user_stack),
        stack: stack(&origin.stack),
    }
}

fn programs(site: &Site<'_>, exports: &Exports) -> Vec<Program> {
    let files = site.plan.directory.iter().flat_map(|(_, entries)| entries);
    let by_record: FxHashMap<usize, &crate::report::plan::Entry> = files.map(|entry| (entry.record, entry)).collect();
    let program = |record: &usize| {
        let entry = by_record.get(record)?;
        let crate::report::plan::Target::File(path) = &entry.target else { return None };
        Some(Program { href: path.href(), name: entry.name.clone(), bytes: size(entry.bytes) })
    };
    exports.programs.iter().filter_map(program).collect()
}
