//! "Do the ranks agree?" on the landing page: each diagnostic with its verdict, who has what, and the evidence.

use std::collections::BTreeMap;

use serde::Serialize;

use super::common::{count, plural};
use super::overview::Note;
use crate::analysis::ranks::{Aspect, Comparison, Diagnostic, Difference, Group, Unjudged, Verdict, rank_list};

/// Differences of one diagnostic that are listed.
const DIFFERENCES: usize = 20;
/// Groups of ranks at one place that are listed.
const GROUPS: usize = 8;
/// Reasons listed for what could not be judged.
const UNKNOWN: usize = 10;

/// Addresses of records by log and record; without a record, of the log's list of compiles.
pub(crate) type Evidence = BTreeMap<(usize, Option<usize>), String>;

#[derive(Serialize)]
pub(crate) struct Agreement {
    compared: String,
    rows: Vec<Row>,
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
    cause: Option<String>,
    groups: Vec<Side>,
    more: String,
}

#[derive(Serialize)]
struct Side {
    ranks: String,
    value: String,
    href: Option<String>,
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
pub(crate) fn agreement(comparison: &Comparison, evidence: &Evidence) -> Agreement {
    let compared = match comparison.ranks.as_slice() {
        [] => "No log names a rank.".to_owned(),
        [one] => format!("Rank {one} is the only one with a log."),
        ranks => format!("Compared: {}, the newest start of each.", rank_list(ranks)),
    };
    Agreement { compared, rows: comparison.diagnostics.iter().map(|d| row(comparison, d, evidence)).collect() }
}

fn row(comparison: &Comparison, diagnostic: &Diagnostic, evidence: &Evidence) -> Row {
    let (id, title, about) = words(diagnostic.aspect);
    let mut places: Vec<Place> =
        comparison.of_aspect(diagnostic.aspect).take(DIFFERENCES).map(|d| place(d, evidence)).collect();
    if diagnostic.aspect == Aspect::Parity {
        places =
            comparison.faults.iter().take(DIFFERENCES).map(|f| groups(&f.place, None, &f.groups, evidence)).collect();
    }
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

const fn verdict_word(diagnostic: &Diagnostic) -> &'static str {
    match (diagnostic.verdict, diagnostic.aspect) {
        (Verdict::Same, Aspect::Parity) => "agree",
        (Verdict::Same, _) => "same",
        (Verdict::Differs, Aspect::Parity) => "do not agree",
        (Verdict::Differs, _) => "differ",
        (Verdict::Unknown, _) => "unknown",
    }
}

fn place(difference: &Difference, evidence: &Evidence) -> Place {
    groups(&difference.place, difference.cause.clone(), &difference.groups, evidence)
}

fn groups(place: &str, cause: Option<String>, groups: &[Group], evidence: &Evidence) -> Place {
    let side = |group: &Group| Side {
        ranks: rank_list(&group.ranks),
        value: group.value.clone(),
        href: evidence.get(&group.evidence).cloned(),
    };
    let more = groups.len().saturating_sub(GROUPS);
    Place {
        at: place.to_owned(),
        cause,
        groups: groups.iter().take(GROUPS).map(side).collect(),
        more: if more > 0 { format!("and {}", plural(more, "more group")) } else { String::new() },
    }
}

fn reason(unknown: &Unjudged) -> Reason {
    Reason { ranks: rank_list(&unknown.ranks), place: unknown.place.clone(), why: unknown.why.clone() }
}

/// The records that the section points at.
pub(crate) fn shown_evidence(comparison: &Comparison) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
    let of_aspect = |aspect: &Aspect| comparison.of_aspect(*aspect).take(DIFFERENCES);
    let differences = Aspect::ALL.iter().flat_map(of_aspect).map(|d| d.groups.as_slice());
    let faults = comparison.faults.iter().take(DIFFERENCES).map(|f| f.groups.as_slice());
    differences.chain(faults).flat_map(|groups| groups.iter().take(GROUPS)).map(|group| group.evidence)
}

/// What differs, for "What to look at": one note for each diagnostic.
pub(crate) fn divergences(comparison: &Comparison) -> Vec<Note> {
    let differs =
        comparison.diagnostics.iter().filter(|d| d.verdict == Verdict::Differs && d.aspect != Aspect::Runtimes);
    let note = |diagnostic: &Diagnostic| {
        let (id, title, _) = words(diagnostic.aspect);
        Note {
            level: level(diagnostic),
            title: format!("{title}: {}.", verdict_word(diagnostic)),
            text: diagnostic.sentence.clone(),
            // Inside the fold, so that the browser opens it.
            href: Some(format!("#{id}-who")),
            link: Some("Who has what"),
        }
    };
    let mut notes: Vec<Note> = differs.map(note).collect();
    notes.sort_by_key(|note| note.level != "error");
    notes
}
