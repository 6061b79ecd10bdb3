//! What a job of several logs has beside their trees: the landing page and the files over all ranks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::names::RelPath;
use super::pages::{self, Evidence, JobInput, RankRow};
use super::places::{Place, places};
use super::plan::{Target, plan};
use super::tree::Tree;
use super::{Done, Writer, comparison, events};
use crate::analysis::ranks::{Comparison, Facts, Texts, compare};
use crate::error::Result;
use crate::tables::MetricRecords;
use crate::trace::Log;

/// In the timing events of a job the newest start of a rank has the rank as its process id; other logs count
/// from here.
const OTHER_PIDS: i64 = 1_000_000;

/// Logs whose files are looked up as evidence.
const EVIDENCE_LOGS: usize = 64;

impl Writer<'_> {
    /// Writes the trees of all logs and the landing page; yields the number of files in the trees.
    pub(super) fn job(&self, folder: &Path, root: &Tree) -> Result<u64> {
        let places = places(self.trace);
        let texts = Texts::default();
        let done = self
            .trace
            .logs
            .par_iter()
            .zip(&places)
            .map(|(log, place)| self.log(log, &folder.join(&place.folder), place, Some(&texts)))
            .collect::<Result<Vec<_>>>()?;
        let files = done.iter().map(|done| done.files).sum();
        let mut summaries = Vec::new();
        let mut facts: Vec<Facts> = Vec::new();
        for Done { summary, facts: of_log, .. } in done {
            summaries.push(summary);
            facts.push(of_log);
        }
        let found = compare(self.trace, &facts);
        let logs: Vec<(&Log, &Place)> = self.trace.logs.iter().zip(&places).collect();
        let ranked = comparison::ranked(&logs);
        let has = comparison::write_files(root, &ranked, &facts)?;
        let rows: Vec<RankRow<'_>> = logs
            .iter()
            .zip(summaries)
            .map(|((log, place), summary)| RankRow {
                log,
                folder: place.folder.clone(),
                label: place.heading.clone(),
                summary,
            })
            .collect();
        let evidence = self.evidence(&found, &places)?;
        let input = JobInput {
            trace: self.trace,
            heading: places.first().and_then(|p| p.job.as_deref()).unwrap_or("job"),
            rows: &rows,
            comparison: &found,
            evidence: &evidence,
            files: has,
            command: &self.options.command,
            header_html: &self.options.header_html,
        };
        root.write(&RelPath::fixed("index.html"), pages::job_page(self.pages, &input)?.as_bytes())?;
        let mut views = Vec::new();
        for (n, (log, place)) in (OTHER_PIDS..).zip(logs) {
            let pid = log.rank.filter(|_| place.newest).map_or(n, i64::from);
            views.push((pid, log, log.view()?));
        }
        root.stream(&RelPath::fixed("chromium_events.json"), |out| events::write_merged(out, views))?;
        Ok(files)
    }

    /// The addresses of the records that the landing page shows as evidence. Their logs are planned once more,
    /// since the plans of hundreds of logs are not kept.
    fn evidence(&self, found: &Comparison, places: &[Place]) -> Result<Evidence> {
        let mut wanted: BTreeMap<usize, BTreeSet<Option<usize>>> = BTreeMap::new();
        for (log, record) in pages::shown_evidence(found) {
            wanted.entry(log).or_default().insert(record);
        }
        let mut evidence = Evidence::default();
        for (at, records) in wanted.into_iter().take(EVIDENCE_LOGS) {
            let (Some(log), Some(place)) = (self.trace.logs.get(at), places.get(at)) else { continue };
            let view = log.view()?;
            let metrics = MetricRecords::new(&log.index, &view);
            let plan = plan(log, &view, &metrics, (self.options.code, self.options.mode), &[]);
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
                evidence.insert((at, record), format!("{}/{href}", place.folder));
            }
        }
        Ok(evidence)
    }
}
