//! Writes the tree of one log: its planned files, the files that it has once, and its part of those of a job.

use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::census::Census;
use super::comparison::{self, JobFiles, Ranked};
use super::configs::Configs;
use super::extras::Extra;
use super::html::Pages;
use super::job::InJob;
use super::memory::Memory;
use super::names::RelPath;
use super::pages::{self, CodePage, GuardTrees, LineAnchors, RankInput, Shapes, Site};
use super::places::Place;
use super::plan::{Content, Planned, plan};
use super::tree::Tree;
use super::{Mode, ReportOptions, directory, events, jsonl, provenance, raw_log, twins};
use crate::analysis::causes::OfLog;
use crate::analysis::compiles::compiles;
use crate::analysis::export::exports;
use crate::analysis::findings::{Finding, Gathered, Seen, findings};
use crate::analysis::parts::parts;
use crate::analysis::ranks::{Facts, facts};
use crate::analysis::runtimes::runtimes;
use crate::error::Result;
use crate::format::strict;
use crate::index::Record;
use crate::job::Job;
use crate::tables::MetricRecords;
use crate::trace::{Log, Trace};

/// Payloads larger than this are written piece by piece.
const IN_MEMORY: u64 = 1 << 20;

/// What is left of a log whose tree was written.
#[derive(Default)]
pub(super) struct Done {
    pub(super) summary: pages::Summary,
    pub(super) gathered: Gathered,
    pub(super) facts: Facts,
    pub(super) has: JobFiles,
    pub(super) files: u64,
    /// What the caller should know of its files.
    pub(super) note: Option<String>,
}

/// What all parts of one report share.
pub(super) struct Writer<'a> {
    pub(super) trace: &'a Trace,
    pub(super) options: &'a ReportOptions,
    pub(super) job: &'a Job,
    pub(super) pages: &'a Pages,
    pub(super) memory: Memory,
}

impl Writer<'_> {
    /// Writes the tree of one log, given with its number.
    pub(super) fn log(
        &self,
        (number, log): (usize, &Log),
        folder: &Path,
        place: &Place,
        in_job: Option<&InJob>,
    ) -> Result<Done> {
        let tree = Tree::new(folder.to_owned())?;
        let view = log.view()?;
        let extras = self.options.extras.of_log(number);
        let metrics = MetricRecords::new(&log.index, &view);
        let planned = || {
            let mut plan = plan(log, &view, &metrics, (self.options.code, self.options.mode), extras);
            plan.provenance = provenance::pages(log, &plan, self.options.provenance);
            plan
        };
        let analysed = || (compiles(self.trace, log, &view, &metrics), parts(log, &view));
        let ((compiles, parts), plan) = rayon::join(analysed, planned);
        let site = Site {
            trace: self.trace,
            log,
            number,
            bytes: &view,
            metrics: &metrics,
            compiles: &compiles,
            parts: &parts,
            plan: &plan,
            up: place.up,
            heading: &place.heading,
        };
        tree.make_folders(plan.files.iter().map(|f| &f.path).chain(plan.same.iter().map(|s| &s.path)))?;
        let shapes = pages::shapes(log);
        let configs = Configs::default();
        let trees = GuardTrees::new(&site);
        let shared = Shared { tree: &tree, site, shapes: &shapes, configs: &configs, trees: &trees, extras, in_job };
        let mut summary = pages::summary(&compiles);
        if self.options.mode == Mode::Export {
            summary.exports = Some(exports(log, &view));
        }
        let (files, wholes) = rayon::join(
            || {
                plan.files
                    .par_iter()
                    .try_for_each_init(Scratch::default, |scratch, file| self.file(&shared, file, scratch))?;
                plan.same.par_iter().try_for_each(|same| tree.link(&same.of, &same.path))?;
                plan.provenance.par_iter().try_for_each(|(id, page)| {
                    self.job.check()?;
                    tree.write(&page.path, pages::provenance_page(&site, self.pages, *id, page)?.as_bytes())
                })
            },
            || self.wholes(&shared, place, &summary),
        );
        files?;
        let (note, gathered) = wholes?;
        let (facts, has) = match in_job {
            Some(in_job) => self.compared(&shared, place, in_job)?,
            None => Default::default(),
        };
        self.job.advance(log.index.len)?;
        Ok(Done { summary, gathered, facts, has, files: tree.written(), note })
    }

    /// What the log is compared with others by, and its part of the files over all of them.
    fn compared(&self, shared: &Shared<'_>, place: &Place, in_job: &InJob) -> Result<(Facts, JobFiles)> {
        self.job.check()?;
        let Shared { tree, site, .. } = shared;
        let Site { log, bytes, metrics, compiles, parts, number, .. } = *site;
        let graphs = runtimes(log, bytes, parts);
        let facts = facts((log, bytes, metrics), (compiles, parts, &graphs), &in_job.texts);
        let parity = |out: &mut dyn Write| comparison::write_parity(out, log, &facts);
        tree.stream(&RelPath::fixed("collectives_parity.json"), parity)?;
        let has = if in_job.is_ranked(log, place) {
            let ranked = Ranked { at: number, log, place };
            comparison::write_pieces(&in_job.pieces, ranked, &facts, &graphs)?
        } else {
            JobFiles::default()
        };
        Ok((facts, has))
    }

    /// The files that a log has once; yields what the caller should know of them, and what findings are made from.
    fn wholes(
        &self,
        shared: &Shared<'_>,
        place: &Place,
        summary: &pages::Summary,
    ) -> Result<(Option<String>, Gathered)> {
        let Shared { tree, site, .. } = shared;
        let (log, bytes) = (site.log, site.bytes);
        let fixed = RelPath::fixed;
        let raw_log = || raw_log::write(tree, log, bytes, self.options.raw_log);
        let jsonl = || tree.stream(&fixed("raw.jsonl"), |out| jsonl::write(out, log, bytes, &site.plan.payload_files));
        let events = || match shared.in_job {
            None => tree.stream(&fixed(events::FILE), |out| events::write(out, None, log, bytes)),
            Some(in_job) => in_job.pieces.write(events::FILE, site.number, |all| {
                let pid = InJob::pid(site.number, log, place);
                tree.stream(&fixed(events::FILE), |out| events::write(out, Some((pid, all)), log, bytes))
                    .map_err(io::Error::other)
            }),
        };
        let gathered = OnceLock::new();
        let pages = || {
            let file = u32::try_from(site.number).unwrap_or(u32::MAX);
            let of = OfLog { file, log, bytes, metrics: site.metrics };
            let gathered = gathered.get_or_init(|| Gathered::new(of, site.compiles, site.parts));
            self.log_pages(shared, place, summary, &findings(&Seen::log(gathered)))
        };
        // Side by side, the longest first.
        let others: [&(dyn Fn() -> Result<()> + Sync); 3] = [&jsonl, &pages, &events];
        let (note, others) = rayon::join(raw_log, || {
            others.par_iter().try_for_each(|write| {
                self.job.check()?;
                write()
            })
        });
        others?;
        Ok((note?, gathered.into_inner().unwrap_or_default()))
    }

    /// The directory of a log's files, and its pages of which there is one.
    fn log_pages(
        &self,
        shared: &Shared<'_>,
        place: &Place,
        summary: &pages::Summary,
        findings: &[Finding],
    ) -> Result<()> {
        let Shared { tree, site, shapes, .. } = shared;
        let log = site.log;
        let census = Census::new(log, site.bytes, self.options.mode, |record| shapes.have_page(log, record));
        let fixed = RelPath::fixed;
        tree.stream(&fixed("compile_directory.json"), |out| directory::write(out, site.plan))?;
        tree.write(&fixed("failures_and_restarts.html"), pages::failures_page(site, self.pages)?.as_bytes())?;
        if census.has_others() {
            let page = pages::other_records_page(site, self.pages, &census)?;
            tree.write(&fixed(pages::OTHER_RECORDS), page.as_bytes())?;
        }
        let input = RankInput {
            census: &census,
            findings,
            raw_log: self.options.raw_log,
            job: place.job.as_deref(),
            siblings: place.siblings.iter().map(|(folder, label)| pages::sibling(folder, label)).collect(),
            command: &self.options.command,
            header_html: &self.options.header_html,
        };
        let page = match self.options.mode {
            Mode::Compile => pages::rank_page(site, self.pages, input, summary)?,
            Mode::Export => pages::export_page(site, self.pages, input, summary)?,
        };
        tree.write(&fixed("index.html"), page.as_bytes())
    }

    /// Writes one planned file.
    fn file(&self, shared: &Shared<'_>, planned: &Planned, scratch: &mut Scratch) -> Result<()> {
        self.job.check()?;
        let Shared { tree, site, extras, .. } = shared;
        if let Content::Extra(nth) = planned.content {
            let write = |extra| self.options.extras.write(extra, tree, &planned.path, site.up);
            return extras.get(nth).map_or(Ok(()), write);
        }
        let index = &site.log.index;
        let Some(record) = index.records.get(planned.record) else { return Ok(()) };
        let path = &planned.path;
        let twins = shared.in_job.and_then(|in_job| Some((&in_job.twins, twins::key(record, planned.content)?)));
        if let Some((twins, key)) = twins {
            if let Some(written) = twins.find(&key) {
                return tree.link_to(&written, path);
            }
            self.content(shared, planned, record, scratch)?;
            twins.add(key, &tree.path(path));
            return Ok(());
        }
        self.content(shared, planned, record, scratch)
    }

    /// Writes what is planned for a record.
    fn content(&self, shared: &Shared<'_>, planned: &Planned, record: &Record, scratch: &mut Scratch) -> Result<()> {
        let Shared { tree, site, shapes, configs, trees, .. } = shared;
        let (index, path) = (&site.log.index, &planned.path);
        let payload = index.payload(record, site.bytes);
        if planned.content == Content::Payload && record.text_len > IN_MEMORY {
            return tree.stream(path, |out| payload.write_to(out));
        }
        let Scratch { text, out } = scratch;
        text.clear();
        payload.read_into(text);
        match planned.content {
            Content::Payload => tree.write(path, text),
            Content::Json => {
                out.clear();
                match strict::pretty(text, out) {
                    Ok(_) => tree.write(path, out),
                    // Some payloads are called JSON and are words, some are nested deeper than readers follow.
                    Err(_) => tree.write(path, text),
                }
            }
            Content::Code | Content::Dump => {
                let about = site.about(record);
                let raw = site.plan.payload_files.binary_search_by_key(&planned.record, |(at, _)| *at).ok();
                let raw = raw.and_then(|at| site.plan.payload_files.get(at)).map(|(_, path)| path);
                let lines = if planned.content == Content::Dump { LineAnchors::Each } else { LineAnchors::None };
                tree.write(path, &CodePage { path, about, raw, lines }.render(site, self.pages, text)?)
            }
            Content::Guards => {
                tree.write(path, pages::guards_page(site, self.pages, path, text, record.offset)?.as_bytes())
            }
            Content::SymbolicGuard => {
                let page = pages::symbolic_guard_page(site, self.pages, trees, path, planned.record)?;
                tree.write(path, page.as_bytes())
            }
            // Written above, without a look at the payload.
            Content::Extra(_) => Ok(()),
            Content::KernelStacks => tree.write(path, pages::traces_page(site, self.pages, path, text)?.as_bytes()),
            Content::Metrics => {
                let page =
                    pages::metrics_page(site, self.pages, (tree, configs), shapes, (path, planned.record, record))?;
                tree.write(path, page.as_bytes())
            }
        }
    }
}

/// Buffers that a thread uses for one file after the other.
#[derive(Default)]
struct Scratch {
    text: Vec<u8>,
    out: Vec<u8>,
}

/// What the files of one log share.
struct Shared<'a> {
    tree: &'a Tree,
    site: Site<'a>,
    shapes: &'a Shapes,
    configs: &'a Configs<'a>,
    trees: &'a GuardTrees,
    extras: &'a [Extra],
    in_job: Option<&'a InJob>,
}
