//! What the pages over all ranks point at: addresses of records, and the texts of those that are put side by side.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::log::Writer;
use super::memory::needed;
use super::names::RelPath;
use super::pages::{Compared, ComparedPair, DiffInput, Evidence, SideText};
use super::places::Place;
use super::plan::{Target, plan};
use super::tree::Tree;
use crate::analysis::diff::reading::record_text;
use crate::analysis::ranks::{Aspect, Comparison, Facts};
use crate::error::Result;
use crate::job::few_at_once;
use crate::tables::MetricRecords;

/// Logs whose files are looked up.
const LOGS: usize = 64;
/// Folder of the pages with two texts side by side.
const FOLDER: &str = "diff";

/// Texts of records, by log and record.
pub(super) type Texts = BTreeMap<(usize, usize), SideText>;

/// What was found of the records that pages point at.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) evidence: Evidence,
    pub(super) texts: Texts,
}

/// A log with its records that are pointed at, and those whose texts are wanted.
type Wanted = (usize, BTreeSet<Option<usize>>, BTreeSet<usize>);

impl Writer<'_> {
    /// The addresses of records, and the texts of those in `pairs`. Their logs are planned once more, since the plans
    /// of hundreds of logs are not kept.
    pub(super) fn shown(
        &self,
        records: impl Iterator<Item = (usize, Option<usize>)>,
        pairs: &[ComparedPair],
        places: &[Place],
    ) -> Result<Shown> {
        let mut by_log: BTreeMap<usize, (BTreeSet<Option<usize>>, BTreeSet<usize>)> = BTreeMap::new();
        for (log, record) in records {
            by_log.entry(log).or_default().0.insert(record);
        }
        for (log, record) in pairs.iter().flat_map(|pair| pair.records) {
            let (records, texts) = by_log.entry(log).or_default();
            records.insert(Some(record));
            texts.insert(record);
        }
        let wanted: Vec<Wanted> = by_log.into_iter().take(LOGS).map(|(log, (all, texts))| (log, all, texts)).collect();
        let len = |at: &usize| self.trace.logs.get(*at).map_or(0, |log| log.index.len);
        let sizes: Vec<u64> = wanted.iter().map(|(at, ..)| needed(len(at))).collect();
        let found = few_at_once(&sizes, self.memory.at_work, |nth| match wanted.get(nth) {
            Some(wanted) => self.shown_of(wanted, places),
            None => Ok(Shown::default()),
        })?;
        let mut all = Shown::default();
        for shown in found {
            all.evidence.extend(shown.evidence);
            all.texts.extend(shown.texts);
        }
        Ok(all)
    }

    fn shown_of(&self, (at, records, texts): &Wanted, places: &[Place]) -> Result<Shown> {
        let mut shown = Shown::default();
        let (Some(log), Some(place)) = (self.trace.at_hand(*at, self.job)?, places.get(*at)) else { return Ok(shown) };
        let view = log.view()?;
        let metrics = MetricRecords::new(&log.index, &view);
        let plan = plan(&log, &view, &metrics, (self.options.code, self.options.mode), &[]);
        let mut files: FxHashMap<usize, String> = FxHashMap::default();
        for entry in plan.directory.iter().flat_map(|(_, entries)| entries) {
            if let (true, Target::File(path)) = (records.contains(&Some(entry.record)), &entry.target) {
                files.entry(entry.record).or_insert_with(|| path.href());
            }
        }
        for record in records {
            let found = record.and_then(|at| log.index.records.get(at));
            let compile = found.map(|found| log.index.names.id(found).collapsed().label());
            let anchor = || format!("index.html#{}", compile.as_deref().unwrap_or("compiles"));
            let href = record.and_then(|at| files.remove(&at)).unwrap_or_else(anchor);
            shown.evidence.insert((*at, *record), format!("{}/{href}", place.folder));
        }
        let text = |record: &usize| Some(((*at, *record), SideText::of(&record_text(&log, &view, *record)?)));
        shown.texts.extend(texts.iter().filter_map(text));
        Ok(shown)
    }

    /// Writes the pages with two texts side by side; yields their addresses.
    pub(super) fn side_by_side(
        &self,
        root: &Tree,
        input: &DiffInput<'_>,
        (pairs, facts, texts): (&[ComparedPair], &[Facts], &Texts),
    ) -> Result<Compared> {
        let text = |pair| Some((pair, texts_of(pair, input.comparison, facts, texts)?));
        let pairs: Vec<(&ComparedPair, TextPair<'_>)> = pairs.iter().filter_map(text).collect();
        if !pairs.is_empty() {
            root.make_folders(std::iter::once(&RelPath::numbered(FOLDER, 1)))?;
        }
        let write = |(number, (pair, [a, b])): (usize, &(&ComparedPair, TextPair<'_>))| {
            self.job.check()?;
            let Some(page) = input.page(self.pages, **pair, [a, b])? else { return Ok(None) };
            let path = RelPath::numbered(FOLDER, number + 1);
            root.write(&path, page.as_bytes())?;
            Ok(Some(((pair.difference, pair.group), path.href())))
        };
        let written: Result<Vec<Option<_>>> = pairs.par_iter().enumerate().map(write).collect();
        Ok(written?.into_iter().flatten().collect())
    }
}

/// The texts of a pair.
type TextPair<'t> = [Cow<'t, SideText>; 2];

/// The texts of a pair: of collectives their lists, where both logs have them; else the records.
fn texts_of<'t>(pair: &ComparedPair, found: &Comparison, facts: &[Facts], texts: &'t Texts) -> Option<TextPair<'t>> {
    let aspect = found.differences.get(pair.difference)?.aspect;
    let [a, b] = pair.records;
    if aspect == Aspect::Collectives {
        let ops = |(log, record): (usize, usize)| {
            let mut all = facts.get(log)?.all_schedules();
            let (_, (_, fact)) = all.find(|(_, (of, _))| *of == record)?;
            fact.ops.as_ref().ok().map(|ops| SideText::of(ops))
        };
        if let (Some(a), Some(b)) = (ops(a), ops(b)) {
            return Some([a, b].map(Cow::Owned));
        }
    }
    Some([Cow::Borrowed(texts.get(&a)?), Cow::Borrowed(texts.get(&b)?)])
}
