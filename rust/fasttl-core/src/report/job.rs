//! What a job of several logs has beside their trees: the landing page and the files over all ranks.

use super::comparison::{self, JobFiles};
use super::evidence::Shown;
use super::memory::needed;
use super::names::RelPath;
use super::pages::{self, DiffInput, JobInput, OverRanks, RankRow};
use super::pieces::Pieces;
use super::places::{Place, places};
use super::tree::Tree;
use super::twins::Twins;
use super::{Done, Staging, Writer, events};
use crate::analysis::findings::{Finding, Gathered, JobSeen, Seen, findings};
use crate::analysis::ranks::{Comparison, Facts, Texts, compare};
use crate::error::Result;
use crate::job::few_at_once;
use crate::trace::Log;

/// In the timing events of a job the newest start of a rank has the rank as its process id; other logs count
/// from here.
const OTHER_PIDS: i64 = 1_000_000;

/// What the logs of a job share while they are written.
pub(super) struct InJob {
    pub(super) texts: Texts,
    pub(super) twins: Twins,
    pub(super) pieces: Pieces,
    /// Whether any log has a rank.
    any_rank: bool,
}

impl InJob {
    /// The process id of a log in the timing events of the job.
    pub(super) fn pid(number: usize, log: &Log, place: &Place) -> i64 {
        let other = || OTHER_PIDS + i64::try_from(number).unwrap_or_default();
        log.rank.filter(|_| place.newest).map_or_else(other, i64::from)
    }

    /// Whether a log has a place in the files about all ranks.
    pub(super) fn is_ranked(&self, log: &Log, place: &Place) -> bool {
        place.newest && (log.rank.is_some() || !self.any_rank)
    }
}

impl Writer<'_> {
    /// Writes the trees of all logs and the landing page; yields the number of files in the trees.
    pub(super) fn job(&self, staging: &Staging, root: &Tree, notes: &mut Vec<String>) -> Result<u64> {
        let places = places(self.trace);
        let shared = InJob {
            texts: Texts::default(),
            twins: Twins::default(),
            pieces: Pieces::new(staging.beside("pieces"), self.trace.logs.len())?,
            any_rank: self.trace.logs.iter().any(|log| log.rank.is_some()),
        };
        let sizes: Vec<u64> = self.trace.logs.iter().map(|log| needed(log.index.len)).collect();
        let done =
            few_at_once(&sizes, self.memory.at_work, |at| match (self.trace.at_hand(at, self.job)?, places.get(at)) {
                (Some(log), Some(place)) => {
                    self.log((at, &log), &staging.root.join(&place.folder), place, Some(&shared))
                }
                _ => Ok(Done::default()),
            })?;
        let files = done.iter().map(|done| done.files).sum();
        let mut has = JobFiles::default();
        let mut rows = Vec::new();
        let mut facts: Vec<Facts> = Vec::new();
        let mut gathered = Gathered::default();
        for (done, (log, place)) in done.into_iter().zip(self.trace.logs.iter().zip(&places)) {
            has = has.or(done.has);
            notes.extend(done.note);
            facts.push(done.facts);
            gathered = gathered.merge(done.gathered);
            let (folder, label) = (place.folder.clone(), place.heading.clone());
            rows.push(RankRow { log, folder, label, summary: done.summary });
        }
        let compared = || {
            let comparison = &compare(self.trace, &facts, self.job)?;
            let seen = Seen { gathered: &gathered, job: Some(JobSeen { trace: self.trace, comparison }) };
            self.landing_page(root, &places, (&rows, &facts), (comparison, &findings(&seen)), has)
        };
        let (page, joined) = rayon::join(compared, || {
            comparison::write_files(root, &shared.pieces, has)?;
            shared.pieces.join(root, events::FILE)
        });
        page.and(joined)?;
        Ok(files)
    }

    /// The page that leads to the logs, and says how they compare.
    fn landing_page(
        &self,
        root: &Tree,
        places: &[Place],
        (rows, facts): (&[RankRow<'_>], &[Facts]),
        (found, findings): (&Comparison, &[Finding]),
        files: JobFiles,
    ) -> Result<()> {
        let heading = places.first().and_then(|p| p.job.as_deref()).unwrap_or("job");
        let header_html = self.options.header_html.as_str();
        let pairs = pages::compared_pairs(found);
        let records = pages::shown_evidence(found).chain(pages::linked_records(findings));
        let Shown { evidence, texts } = self.shown(records, &pairs, places)?;
        let diff = DiffInput { comparison: found, rows, evidence: &evidence, heading, header_html };
        let compared = self.side_by_side(root, &diff, (&pairs, facts, &texts))?;
        let over_ranks = OverRanks::new(found, rows, facts);
        if over_ranks.is_several() {
            let page = pages::ranks_page(self.pages, (&over_ranks, rows), heading, header_html)?;
            root.write(&RelPath::fixed("ranks.html"), page.as_bytes())?;
        }
        let input = JobInput {
            trace: self.trace,
            heading,
            rows,
            comparison: found,
            over_ranks: &over_ranks,
            compared: &compared,
            evidence: &evidence,
            findings,
            files,
            command: &self.options.command,
            header_html,
        };
        root.write(&RelPath::fixed("index.html"), pages::job_page(self.pages, &input)?.as_bytes())
    }
}
