//! What kinds of records a log has: how many, what they are, and where each is shown.

use serde::Serialize;

use super::common::{Link, count, plural, shorten};
use crate::format::kind::{Kind, Phase};
use crate::index::{KindId, Names};
use crate::report::Mode;
use crate::report::census::{Census, has_no_page, is_about_shapes, is_on_export_page};

/// Page of records that no other page shows.
pub(crate) const OTHER_RECORDS: &str = "other_records.html";

/// Kinds that are not known and stand in the table.
const UNKNOWN_KINDS: usize = 60;
/// Names that are not listed and stand in the help.
const UNLISTED: usize = 40;
/// Characters of a kind or name that the log gives.
const NAME: usize = 120;

/// The section "Records".
#[derive(Serialize)]
pub(super) struct RecordsView {
    rows: Vec<KindRow>,
    note: String,
}

#[derive(Serialize)]
struct KindRow {
    kind: String,
    count: String,
    number: usize,
    phase: &'static str,
    about: &'static str,
    places: Vec<Link>,
}

/// The names of the log by phase, for the help.
#[derive(Serialize)]
pub(super) struct NamesView {
    phases: Vec<PhaseView>,
    unlisted: String,
}

#[derive(Serialize)]
struct PhaseView {
    name: &'static str,
    rows: Vec<NameRow>,
}

#[derive(Serialize)]
struct NameRow {
    name: &'static str,
    about: &'static str,
    count: String,
}

/// What is said of a kind that fasttl does not know.
pub(crate) const UNKNOWN_KIND: &str = "A kind of record that this version of fasttl does not know.";

/// Every kind of the log.
pub(super) fn records(census: &Census, names: &Names) -> RecordsView {
    let known = census.kinds.iter().take_while(|(kind, _)| matches!(kind, KindId::Known(_))).count();
    let shown = census.kinds.iter().take(known + UNKNOWN_KINDS);
    let rows = shown.map(|(kind, n)| kind_row(census, names, *kind, *n)).collect();
    let rest = census.kinds.get(known + UNKNOWN_KINDS..).unwrap_or_default();
    let note = if rest.is_empty() {
        String::new()
    } else {
        let records = rest.iter().map(|(_, n)| n).sum();
        format!("{} with {} are in raw.jsonl only.", plural(rest.len(), "further kind"), plural(records, "record"))
    };
    RecordsView { rows, note }
}

fn kind_row(census: &Census, names: &Names, kind: KindId, n: usize) -> KindRow {
    let mut places: Vec<Link> = Vec::new();
    let mut add = |href: String, label: String| places.push(Link { href, label });
    if let KindId::Known(kind) = kind
        && let Some((href, label)) = own_place(kind, census.mode)
    {
        add(href.to_owned(), label.to_owned());
    }
    if let Some(at) = census.others.iter().position(|group| group.kind == kind) {
        let of = census.others.get(at).map_or(0, |group| group.total);
        let label = if of < n { format!("{} on Other records", count(of)) } else { "Other records".to_owned() };
        add(format!("{OTHER_RECORDS}#k{at}"), label);
    }
    let fields = census.fields.iter().filter(|field| KindId::Known(field.kind) == kind).count();
    if fields > 0 {
        add(format!("{OTHER_RECORDS}#fields"), plural(fields, "unknown field"));
    }
    let (phase, about) = match kind {
        KindId::Known(kind) => (kind.info().phase.name(), kind.info().about),
        KindId::Other(_) => ("unknown", UNKNOWN_KIND),
    };
    KindRow { kind: shorten(names.kind(kind), NAME), count: count(n), number: n, phase, about, places }
}

/// Where the records of a kind are shown, but for the page of other records.
const fn own_place(kind: Kind, mode: Mode) -> Option<(&'static str, &'static str)> {
    match kind {
        Kind::ChromiumEvent => Some(("chromium_events.json", "Timing events")),
        Kind::Str => Some(("raw.jsonl", "First line of raw.jsonl")),
        Kind::GuardAdded if matches!(mode, Mode::Export) => Some(("#guards", "Conditions on sizes")),
        Kind::Export | Kind::ExportedProgram if matches!(mode, Mode::Export) => Some(("#programs", "Programs")),
        _ if matches!(mode, Mode::Export) && is_on_export_page(kind) => Some(("#failures", "Failures")),
        Kind::DynamoStart if matches!(mode, Mode::Compile) => Some(("#tree", "Stack tree")),
        _ if has_no_page(kind, mode) => None,
        _ if is_about_shapes(kind) => Some(("#files", "Pages of metrics")),
        _ => Some(("#files", "Files by compile")),
    }
}

/// The kinds and names of the log, by the phase that makes them.
pub(super) fn names_by_phase(census: &Census) -> NamesView {
    let mut phases = Vec::new();
    for phase in Phase::ALL {
        let row = |(name, about, n)| NameRow { name, about, count: count(n) };
        let rows: Vec<NameRow> = census.of_phase(phase).map(row).collect();
        if !rows.is_empty() {
            phases.push(PhaseView { name: phase.name(), rows });
        }
    }
    let shown = census.unlisted.iter().take(UNLISTED).map(|(name, _)| shorten(name, NAME));
    let mut unlisted = shown.collect::<Vec<_>>().join(", ");
    if census.unlisted.len() > UNLISTED {
        unlisted += &format!(", and {} more", count(census.unlisted.len() - UNLISTED));
    }
    NamesView { phases, unlisted }
}
