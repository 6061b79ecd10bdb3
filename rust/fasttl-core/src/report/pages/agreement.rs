//! "Do the ranks agree?" on the landing page: each diagnostic with its verdict, who has what, and the evidence.

use std::collections::BTreeMap;

use serde::Serialize;

use super::common::{count, plural};
use super::overview::Note;
use crate::analysis::ranks::{Aspect, Comparison, Diagnostic, Difference, Group, Unjudged, Verdict, rank_list};

/// Differences of one diagnostic that are listed.
const DIFFERENCES: usize = 5;
/// Groups of ranks at one place that are listed.
pub(super) const GROUPS: usize = 8;
/// Reasons listed for what could not be judged.
const UNKNOWN: usize = 10;

/// Addresses of the pages that put two groups side by side, by the number of the difference and of the group.
pub(crate) type Compared = BTreeMap<(usize, usize), String>;

/// Addresses of records by log and record; without a record, of the log's list of compiles.
pub(crate) type Evidence = BTreeMap<(usize, Option<usize>), String>;

#[derive(Serialize)]
pub(crate) struct Agreement {
    compared: String,
    /// What differs or is not known, and what is the same.
    rows: Vec<Row>,
    same: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    verdict: &'static str,
    level: &'static str,
    sentence: String,
    differences: Vec<Place>,
    more: String,
    unknown: Vec<Reason>,
}

#[derive(Serialize)]
struct Place {
    at: String,
    groups: Vec<Side>,
    more: String,
}

/// Ranks that have the same at one place, and where that is shown.
#[derive(Serialize)]
pub(super) struct Side {
    ranks: String,
    value: String,
    href: Option<String>,
    compare: Option<String>,
}

#[derive(Serialize)]
struct Reason {
    ranks: String,
    place: String,
    why: String,
}

/// What a diagnostic is called and what it is for.
const fn words(aspect: Aspect) -> (&'static str, &'static str, &'static str) {
    match aspect {
        Aspect::Versions => ("versions", "Versions", "PyTorch, Python, CUDA and Triton, as far as the logs name them."),
        Aspect::Configuration => {
            ("configuration", "Settings", "Settings of the compiler in each compile. Folders do not count.")
        }
        Aspect::Compiles => (
            "compile-ids",
            "Compiles",
            "Which compiles each rank has. A rank that compiles more than the others makes them wait at the next collective.",
        ),
        Aspect::Order => ("order", "Order of compiles", "Whether the ranks compiled in the same order."),
        Aspect::Code => ("code", "Functions", "Which function each compile is of."),
        Aspect::Inputs => ("inputs", "Inputs", "Shapes, strides and types of the tensors that each compile got."),
        Aspect::Symbols => {
            ("symbols", "Symbolic sizes", "What symbolic sizes stand for, and values that they were fixed to.")
        }
        Aspect::Guards => ("guards", "Guards", "Conditions of each compile. Their order and addresses do not count."),
        Aspect::Recompiles => (
            "recompiles",
            "Recompile reasons",
            "Which guard failed where all ranks recompiled. Addresses do not count.",
        ),
        Aspect::Breaks => ("breaks", "Graph breaks", "Where the graphs break, and why."),
        Aspect::Outcome => ("outcome", "Outcome", "Whether each compile went through, and how it failed."),
        Aspect::Graph => ("graphs", "Graphs", "The graphs of each compile: names of variables do not count."),
        Aspect::Cache => (
            "cache",
            "Cache answers",
            "Where some ranks find code in a cache and others compile it, the first wait for the second.",
        ),
        Aspect::Collectives => (
            "collectives",
            "Collective schedules",
            "The collectives of each graph in their order. Ranks that call different ones hang or exchange the wrong data.",
        ),
        Aspect::Parity => (
            "parity",
            "Collectives against code",
            "Whether the generated code of each rank has the collectives of its schedule, and waits for each of them.",
        ),
        Aspect::Tensors => {
            ("tensors", "Tensor metadata", "Shapes, strides and types of what the operations of each graph yield.")
        }
        Aspect::Runtimes => (
            "runtimes",
            "Estimated runtimes",
            "Sums of Inductor's estimates, by graph. Estimates that lie close together count as the same.",
        ),
        Aspect::ExecOrder => {
            ("exec-order", "Graph execution order", "Which graphs ran, in order: compared is what ran, not its id.")
        }
    }
}

/// How bad it is that an aspect differs: estimates may, and answers of caches cost time only.
const fn level(diagnostic: &Diagnostic) -> &'static str {
    match (diagnostic.verdict, diagnostic.aspect) {
        (Verdict::Same, _) => "ok",
        (Verdict::Unknown, _) | (_, Aspect::Runtimes) => "info",
        (_, Aspect::Collectives | Aspect::ExecOrder | Aspect::Compiles | Aspect::Outcome) => "error",
        (_, _) => "warn",
    }
}

/// The section.
pub(crate) fn agreement(comparison: &Comparison, evidence: &Evidence, compared: &Compared) -> Agreement {
    let who = match comparison.ranks.as_slice() {
        [] => "No log names a rank.".to_owned(),
        [one] => format!("Rank {one} is the only one with a log."),
        ranks => format!("Compared: {}, the newest start of each.", rank_list(ranks)),
    };
    let row = |diagnostic| row(comparison, diagnostic, evidence, compared);
    let (same, mut rows): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
        comparison.diagnostics.iter().partition(|diagnostic| diagnostic.verdict == Verdict::Same);
    rows.sort_by_key(|diagnostic| diagnostic.verdict != Verdict::Differs);
    Agreement { compared: who, rows: rows.into_iter().map(row).collect(), same: same.into_iter().map(row).collect() }
}

fn row(comparison: &Comparison, diagnostic: &Diagnostic, evidence: &Evidence, compared: &Compared) -> Row {
    let (id, title, about) = words(diagnostic.aspect);
    let places: Vec<Place> = if diagnostic.aspect == Aspect::Parity {
        let faults = comparison.faults.iter().take(DIFFERENCES);
        faults.map(|fault| place(&fault.place, &fault.groups, evidence, |_| None)).collect()
    } else {
        let href = |number: usize| move |group| compared.get(&(number, group)).cloned();
        let found = shown_of(comparison, diagnostic.aspect);
        found.map(|(number, of)| place(&of.place, &of.groups, evidence, href(number))).collect()
    };
    let more = diagnostic.differences.saturating_sub(places.len());
    Row {
        id,
        title,
        about,
        verdict: verdict_word(diagnostic),
        level: level(diagnostic),
        sentence: diagnostic.sentence.clone(),
        differences: places,
        more: if more > 0 { format!("{} more places differ.", count(more)) } else { String::new() },
        unknown: diagnostic.unknown.iter().take(UNKNOWN).map(reason).collect(),
    }
}

/// The differences of an aspect that the section lists, with their numbers.
pub(crate) fn shown_of(comparison: &Comparison, aspect: Aspect) -> impl Iterator<Item = (usize, &Difference)> + '_ {
    let of_aspect = move |(_, difference): &(usize, &Difference)| difference.aspect == aspect;
    comparison.differences.iter().enumerate().filter(of_aspect).take(DIFFERENCES)
}

const fn verdict_word(diagnostic: &Diagnostic) -> &'static str {
    match (diagnostic.verdict, diagnostic.aspect) {
        (Verdict::Same, Aspect::Parity) => "agree",
        (Verdict::Same, _) => "same",
        (Verdict::Differs, Aspect::Parity) => "do not agree",
        (Verdict::Differs, _) => "differ",
        (Verdict::Unknown, _) => "unknown",
    }
}

fn place(at: &str, groups: &[Group], evidence: &Evidence, compare: impl Fn(usize) -> Option<String>) -> Place {
    let (groups, more) = sides(groups, evidence, compare);
    Place { at: at.to_owned(), groups, more }
}

/// The groups of one place, and that there are more; `compare` leads to the page that has one beside the largest.
pub(super) fn sides(
    groups: &[Group],
    evidence: &Evidence,
    compare: impl Fn(usize) -> Option<String>,
) -> (Vec<Side>, String) {
    let side = |(nth, group): (usize, &Group)| Side {
        ranks: rank_list(&group.ranks),
        value: group.value.clone(),
        href: evidence.get(&group.evidence).cloned(),
        compare: compare(nth),
    };
    let more = groups.len().saturating_sub(GROUPS);
    let more = if more > 0 { format!("and {}", plural(more, "more group")) } else { String::new() };
    (groups.iter().enumerate().take(GROUPS).map(side).collect(), more)
}

fn reason(unknown: &Unjudged) -> Reason {
    Reason { ranks: rank_list(&unknown.ranks), place: unknown.place.clone(), why: unknown.why.clone() }
}

/// The records that the section points at.
pub(crate) fn shown_evidence(comparison: &Comparison) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
    let of_aspect = |aspect: &Aspect| shown_of(comparison, *aspect).map(|(_, difference)| difference);
    let differences = Aspect::ALL.iter().flat_map(of_aspect).map(|d| d.groups.as_slice());
    let faults = comparison.faults.iter().take(DIFFERENCES).map(|f| f.groups.as_slice());
    differences.chain(faults).flat_map(|groups| groups.iter().take(GROUPS)).map(|group| group.evidence)
}

/// What is to be looked at, though the ranks do not differ in it: a rank's own schedule and code.
pub(crate) fn parity_note(comparison: &Comparison) -> Option<Note> {
    let diagnostic = comparison.diagnostics.iter().find(|d| d.aspect == Aspect::Parity)?;
    let (id, title, _) = words(diagnostic.aspect);
    (diagnostic.verdict == Verdict::Differs).then(|| Note {
        level: level(diagnostic),
        title: format!("{title}: {}.", verdict_word(diagnostic)),
        text: diagnostic.sentence.clone(),
        // Inside the fold, so that the browser opens it.
        href: Some(format!("#{id}-who")),
        link: Some("Who has what"),
    })
}
