//! What a log has: how many records of each kind and name, and which of them no other page shows.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::format::catalogue::{self, Entry};
use crate::format::fields::known_keys;
use crate::format::json;
use crate::format::kind::{KINDS, Kind, Phase};
use crate::index::{Index, KindId, Record};
use crate::report::Mode;
use crate::trace::Log;

/// Records of a kind that stand on the page of other records; the rest is in `raw.jsonl`.
const FIRST: usize = 50;
/// Kinds that stand there: all that are known, and so many others.
const OTHER_KINDS: usize = 60;
/// Unknown fields that stand there.
const FIELDS: usize = 100;
/// Records that are named for an unknown field.
const EXAMPLES: usize = 5;

/// The records of a log, counted.
#[derive(Debug, Default)]
pub(super) struct Census {
    /// What the report is about: its page shows more kinds where that is an export.
    pub(super) mode: Mode,
    /// The kinds of the log with their numbers of records: known ones first, then others by number.
    pub(super) kinds: Vec<(KindId, usize)>,
    /// The listed names of the log with their numbers of records, in the order of the catalogue.
    pub(super) names: Vec<(&'static Entry, usize)>,
    /// Names of artifacts and graphs that are not listed, those of most records first.
    pub(super) unlisted: Vec<(String, usize)>,
    /// Records that no other page shows, by kind.
    pub(super) others: Vec<Others>,
    /// Kinds that are neither known nor in `others`, since there are too many.
    pub(super) left_out: usize,
    /// Fields of known kinds that fasttl does not know.
    pub(super) fields: Vec<UnknownField>,
    /// Fields that are not in `fields`, since there are too many.
    pub(super) fields_left_out: usize,
}

/// Records of one kind that no other page shows.
#[derive(Clone, Debug)]
pub(super) struct Others {
    /// The kind.
    pub(super) kind: KindId,
    /// How many there are.
    pub(super) total: usize,
    /// The first of them.
    pub(super) first: Vec<usize>,
}

/// A metadata key that fasttl does not know.
#[derive(Clone, Debug)]
pub(super) struct UnknownField {
    /// The kind that has it.
    pub(super) kind: Kind,
    /// The key.
    pub(super) key: String,
    /// How many records have it.
    pub(super) total: usize,
    /// The first of them.
    pub(super) first: Vec<usize>,
}

impl Census {
    /// Counts the records of a log. `bytes` are the log's; `with_metrics` says of a record about symbolic sizes
    /// whether its compile has a page of metrics, which shows it.
    pub(super) fn new(log: &Log, bytes: &[u8], mode: Mode, with_metrics: impl Fn(&Record) -> bool) -> Self {
        let mut census = Self { mode, ..Self::default() };
        let mut kinds: FxHashMap<KindId, usize> = FxHashMap::default();
        let mut names: FxHashMap<(Kind, u32), usize> = FxHashMap::default();
        let mut others: FxHashMap<KindId, Others> = FxHashMap::default();
        for (at, record) in log.index.records.iter().enumerate() {
            *kinds.entry(record.kind).or_default() += 1;
            if let KindId::Known(kind @ (Kind::Artifact | Kind::GraphDump)) = record.kind {
                *names.entry((kind, record.name)).or_default() += 1;
            }
            if is_other(record, mode, &with_metrics) {
                let kind = record.kind;
                let group = others.entry(kind).or_insert_with(|| Others { kind, total: 0, first: Vec::new() });
                group.total += 1;
                if group.first.len() < FIRST {
                    group.first.push(at);
                }
            }
        }
        census.kinds = kinds.into_iter().collect();
        census.kinds.sort_by_key(|(kind, n)| order(*kind, *n));
        census.take_others(others);
        census.count_names(log, names);
        census.take_fields(&log.index, bytes);
        census
    }

    fn take_others(&mut self, others: FxHashMap<KindId, Others>) {
        self.others = others.into_values().collect();
        self.others.sort_by_key(|group| order(group.kind, group.total));
        let known = self.others.iter().take_while(|group| matches!(group.kind, KindId::Known(_))).count();
        self.left_out = self.others.len().saturating_sub(known + OTHER_KINDS);
        self.others.truncate(known + OTHER_KINDS);
    }

    fn count_names(&mut self, log: &Log, names: FxHashMap<(Kind, u32), usize>) {
        let mut listed: BTreeMap<usize, (&'static Entry, usize)> = BTreeMap::new();
        let mut names: Vec<((Kind, u32), usize)> = names.into_iter().collect();
        names.sort_by_key(|((kind, name), _)| (*kind as usize, *name));
        for ((kind, name), n) in names {
            let name = log.index.names.names.get(name as usize).map_or("", String::as_str);
            match catalogue::about(kind, name) {
                Some(entry) => {
                    let at = catalogue::NAMES.iter().position(|other| other == entry).unwrap_or_default();
                    listed.entry(at).or_insert((entry, 0)).1 += n;
                }
                None if name.is_empty() => self.unlisted.push(("(no name)".to_owned(), n)),
                None => self.unlisted.push((name.to_owned(), n)),
            }
        }
        self.names = listed.into_values().collect();
        self.unlisted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    }

    fn take_fields(&mut self, index: &Index, bytes: &[u8]) {
        let found: Vec<(usize, Kind, Vec<String>)> = index
            .records
            .par_iter()
            .enumerate()
            .filter_map(|(at, record)| {
                let KindId::Known(kind) = record.kind else { return None };
                let keys = unknown_keys(kind, index.metadata(record, bytes));
                (!keys.is_empty()).then_some((at, kind, keys))
            })
            .collect();
        let mut fields: BTreeMap<(usize, String), UnknownField> = BTreeMap::new();
        for (at, kind, keys) in found {
            for key in keys {
                let new = || UnknownField { kind, key: key.clone(), total: 0, first: Vec::new() };
                let field = fields.entry((kind as usize, key.clone())).or_insert_with(new);
                field.total += 1;
                if field.first.len() < EXAMPLES {
                    field.first.push(at);
                }
            }
        }
        self.fields_left_out = fields.len().saturating_sub(FIELDS);
        self.fields = fields.into_values().take(FIELDS).collect();
    }

    /// Kinds and listed names that a phase makes: name, sentence, number of records.
    pub(super) fn of_phase(&self, phase: Phase) -> impl Iterator<Item = (&'static str, &'static str, usize)> {
        let kinds = self.kinds.iter().filter_map(move |(kind, n)| match kind {
            KindId::Known(kind) if kind.info().phase == phase => Some((kind.info().name, kind.info().about, *n)),
            _ => None,
        });
        let names = self.names.iter().filter(move |(entry, _)| entry.phase == phase);
        kinds.chain(names.map(|(entry, n)| (entry.name, entry.about, *n)))
    }

    /// Whether there is anything for the page of other records.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty() || !self.fields.is_empty()
    }
}

/// Known kinds in the order of their list, others by number of records.
fn order(kind: KindId, n: usize) -> (usize, usize, u32) {
    match kind {
        KindId::Known(kind) => (kind as usize, 0, 0),
        KindId::Other(index) => (KINDS.len(), usize::MAX - n, index),
    }
}

/// Whether records of a kind stand on no page, so that the page of other records has them.
pub(super) const fn has_no_page(kind: Kind, mode: Mode) -> bool {
    if matches!(mode, Mode::Export) && is_on_export_page(kind) {
        return false;
    }
    matches!(
        kind,
        Kind::DescribeTensor
            | Kind::DescribeStorage
            | Kind::DescribeSource
            | Kind::GuardAdded
            | Kind::PropagateRealTensors
            | Kind::PropagateRealTensorsProvenance
            | Kind::GuardOnDataDependentError
            | Kind::ExpressionCreated
            | Kind::MissingFakeKernel
            | Kind::MismatchedFakeKernel
            | Kind::Export
    )
}

/// Whether the page of an export shows the records of a kind.
pub(super) const fn is_on_export_page(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::GuardAdded
            | Kind::PropagateRealTensorsProvenance
            | Kind::GuardOnDataDependentError
            | Kind::MissingFakeKernel
            | Kind::MismatchedFakeKernel
            | Kind::Export
            | Kind::ExportedProgram
    )
}

/// Whether pages of metrics show the records of a kind, where the compile has one.
pub(super) const fn is_about_shapes(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::CreateSymbol | Kind::CreateUnbackedSymbol | Kind::GuardAddedFast | Kind::SymbolicShapeSpecialization
    )
}

/// Whether no other page shows the record.
fn is_other(record: &Record, mode: Mode, with_metrics: impl Fn(&Record) -> bool) -> bool {
    match record.kind {
        KindId::Known(kind) => has_no_page(kind, mode) || is_about_shapes(kind) && !with_metrics(record),
        KindId::Other(_) => true,
    }
}

/// The keys of a record's metadata that its kind is not known to have.
fn unknown_keys(kind: Kind, meta: &[u8]) -> Vec<String> {
    let Some(known) = known_keys(kind) else { return Vec::new() };
    let mut keys = Vec::new();
    // Metadata that is no object has no keys.
    let _ = json::each_member(meta, |key, _| {
        if !known.iter().any(|k| k.as_bytes() == key) {
            keys.push(json::unescape_inner(key));
        }
        true
    });
    keys
}
