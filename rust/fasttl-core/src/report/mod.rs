//! The report: numbers files, writes the tree of each log, and the landing page of a job.
//!
//! The tree has the names, numbers and bytes of the standard report (tlparse 0.4.3), since people's scripts
//! read it. Whatever is more than that stands beside it.

mod census;
mod comparison;
mod configs;
mod directory;
mod events;
mod extras;
mod html;
mod job;
mod jsonl;
mod memory;
mod names;
mod out_dir;
mod pages;
mod pieces;
mod places;
mod plan;
mod policy;
mod provenance;
mod raw_log;
mod standard;
mod tree;
mod twins;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::analysis::compiles::compiles;
use crate::analysis::export::exports;
use crate::analysis::parts::parts;
use crate::analysis::ranks::{Facts, facts};
use crate::analysis::runtimes::runtimes;
use crate::error::Result;
use crate::format::strict;
use crate::index::{ParserProblem, Problem, Record};
use crate::job::Job;
use crate::tables::MetricRecords;
use crate::trace::{self, LoadOptions, Log, LogState, Trace};
use census::Census;
use comparison::{JobFiles, Ranked};
use configs::Configs;
use extras::Extra;
pub use extras::{Extras, Form};
use html::{ASSETS, Pages};
use job::InJob;
use memory::Memory;
use names::RelPath;
pub use out_dir::Overwrite;
use out_dir::{MARKER, Staging};
use pages::{CodePage, GuardTrees, LineAnchors, RankInput, Shapes, Site, plural};
use places::Place;
use plan::{Content, Planned, plan};
pub use raw_log::RawLog;
use tree::Tree;

/// Payloads larger than this are written piece by piece.
const IN_MEMORY: u64 = 1 << 20;

/// How generated code is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeStyle {
    /// As a page that colours it.
    #[default]
    Page,
    /// As plain text.
    PlainText,
}

/// What the report is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Compiles: `torch.compile` in all its forms.
    #[default]
    Compile,
    /// An export: what failed in it, and why.
    Export,
}

/// Which pages tie graphs to generated code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provenance {
    /// One at each compile that logged how they belong together.
    #[default]
    WhereLogged,
    /// The standard report's, one for each compile id.
    Standard,
}

/// Where the logs' trees go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// A single log at the top, several in a folder each under a landing page.
    #[default]
    ByCount,
    /// A landing page also for a single log.
    LandingPage,
}

/// What to write and where.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// Folder of the report.
    pub out: PathBuf,
    /// What to do with a report that is there.
    pub overwrite: Overwrite,
    /// How generated code is written.
    pub code: CodeStyle,
    /// Where the logs' trees go.
    pub layout: Layout,
    /// What the report is about.
    pub mode: Mode,
    /// Which pages tie graphs to generated code.
    pub provenance: Provenance,
    /// Trusted HTML for the top of index pages.
    pub header_html: String,
    /// How fasttl was called, for the page.
    pub command: String,
    /// What custom parsers made of records.
    pub extras: Arc<Extras>,
    /// How the logs get into the report.
    pub raw_log: RawLog,
    /// Bytes that the process may take, beside the maps of the logs; 200 MiB when `None`. Of a log that takes more by
    /// itself, and a trace that was loaded before, nothing can be left out.
    pub max_memory: Option<u64>,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Report {
    /// Folder of the report.
    pub out: PathBuf,
    /// Page to open.
    pub index: PathBuf,
    /// Logs read.
    pub logs: usize,
    /// Records found.
    pub records: usize,
    /// Problems of severity error.
    pub problems: usize,
    /// Records that belong to no compile, though their kind has one.
    pub unknown_compile_ids: usize,
    /// Files written.
    pub files_written: u64,
    /// A line for each log that is damaged or unreadable.
    pub messages: Vec<String>,
}

/// Reads logs and writes their report, with no more of them in memory than there is room for. To be called on the pool
/// that shall do the work.
///
/// # Errors
/// Those of [`trace::load`] and of [`write_report`].
pub fn read_and_write(paths: &[PathBuf], load: &LoadOptions, options: &ReportOptions, job: &Job) -> Result<Report> {
    let trace = trace::load_within(paths, load, Some(Memory::of(options.max_memory).indexes), job)?;
    write_report(&trace, options, job)
}

/// Writes the report of a trace. To be called on the pool that shall do the work.
///
/// # Errors
/// An output folder that may not be replaced, a log that changed meanwhile, output that cannot be written,
/// an interrupt. Nothing half-done is left.
pub fn write_report(trace: &Trace, options: &ReportOptions, job: &Job) -> Result<Report> {
    let named = trace.logs.iter().map(|log| &log.file.path).chain(&trace.inputs);
    let inputs: Vec<PathBuf> = named.map(|path| trace.base.join(path)).collect();
    let staging = Staging::new(&options.out, options.overwrite, &inputs)?;
    let root = Tree::new(staging.root.clone())?;
    let pages = Pages::new()?;
    let writer = Writer { trace, options, job, pages: &pages, memory: Memory::of(options.max_memory) };
    for log in &trace.logs {
        job.expect(log.index.len);
    }
    write_assets(&root)?;
    let alone = match (trace.logs.as_slice(), options.layout) {
        ([_], Layout::ByCount) => trace.at_hand(0, job)?,
        _ => None,
    };
    let mut notes = Vec::new();
    let mut files = match alone {
        Some(log) => {
            let done = writer.log((0, &log), &staging.root, &Place::alone(trace, &log), None)?;
            notes.extend(done.note);
            done.files
        }
        None => writer.job(&staging, &root, &mut notes)?,
    };
    files += root.written();
    let out = staging.place()?;
    Ok(Report {
        index: out.join("index.html"),
        out,
        logs: trace.logs.len(),
        records: trace.logs.iter().map(Log::records).sum(),
        problems: trace.logs.iter().map(Log::errors).sum::<usize>() + trace.parser_problems().len(),
        unknown_compile_ids: trace.records_without_compile(),
        files_written: files,
        messages: messages(trace).into_iter().chain(notes).collect(),
    })
}

fn write_assets(root: &Tree) -> Result<()> {
    let paths = ASSETS.map(|(path, bytes)| (RelPath::fixed(path), bytes));
    root.make_folders(paths.iter().map(|(path, _)| path))?;
    for (path, bytes) in &paths {
        root.write(path, bytes)?;
    }
    let marker = format!("{{\"fasttl\": \"{}\"}}\n", env!("CARGO_PKG_VERSION"));
    root.write(&RelPath::fixed(MARKER), marker.as_bytes())
}

/// One line for each log that is not as it should be.
fn messages(trace: &Trace) -> Vec<String> {
    let line = |log: &Log| {
        let path = log.file.path.display();
        match (log.state, log.errors()) {
            (LogState::Unreadable, _) => {
                Some(format!("{path}: {}", log.file.source.as_ref().err().map_or("unreadable", String::as_str)))
            }
            (LogState::Empty, _) => Some(format!("{path}: has no record")),
            (LogState::Truncated, n) => {
                Some(format!("{path}: ends inside a record ({} in all)", plural(n, "damaged place")))
            }
            (LogState::Complete, 0) => None,
            (LogState::Complete, n) => {
                Some(format!("{path}: {}; see “Problems” on its page", plural(n, "damaged place")))
            }
        }
    };
    trace.logs.iter().filter_map(line).chain(parser_messages(trace)).collect()
}

/// One line for each custom parser that failed, with what it failed at first.
fn parser_messages(trace: &Trace) -> Vec<String> {
    let problems = trace.parser_problems();
    let mut first: Vec<(&str, &Problem, usize)> = Vec::new();
    for ParserProblem { parser, problem, .. } in &problems {
        match first.iter_mut().find(|(name, ..)| name == parser) {
            Some((.., times)) => *times += 1,
            None => first.push((parser, problem, 1)),
        }
    }
    let more = |times: usize| if times > 1 { format!(" (and {} more)", times - 1) } else { String::new() };
    let line = |(_, problem, times): (&str, &Problem, usize)| format!("{}{}", problem.detail, more(times));
    first.into_iter().map(line).collect()
}

/// What is left of a log whose tree was written.
#[derive(Default)]
struct Done {
    summary: pages::Summary,
    facts: Facts,
    has: JobFiles,
    files: u64,
    /// What the caller should know of its files.
    note: Option<String>,
}

/// What all parts of one report share.
struct Writer<'a> {
    trace: &'a Trace,
    options: &'a ReportOptions,
    job: &'a Job,
    pages: &'a Pages,
    memory: Memory,
}

impl Writer<'_> {
    /// Writes the tree of one log, given with its number.
    fn log(&self, (number, log): (usize, &Log), folder: &Path, place: &Place, in_job: Option<&InJob>) -> Result<Done> {
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
        let note = wholes?;
        let (facts, has) = match in_job {
            Some(in_job) => self.compared(&shared, place, in_job)?,
            None => Default::default(),
        };
        self.job.advance(log.index.len)?;
        Ok(Done { summary, facts, has, files: tree.written(), note })
    }

    /// What the log is compared with others by, and its part of the files over all of them.
    fn compared(&self, shared: &Shared<'_>, place: &Place, in_job: &InJob) -> Result<(Facts, JobFiles)> {
        self.job.check()?;
        let Shared { tree, site, .. } = shared;
        let Site { log, bytes, compiles, parts, number, .. } = *site;
        let graphs = runtimes(log, bytes, parts);
        let facts = facts(log, bytes, (compiles, parts, &graphs), &in_job.texts);
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

    /// The files that a log has once; yields what the caller should know of them.
    fn wholes(&self, shared: &Shared<'_>, place: &Place, summary: &pages::Summary) -> Result<Option<String>> {
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
        let pages = || self.log_pages(shared, place, summary);
        // Side by side, the longest first.
        let others: [&(dyn Fn() -> Result<()> + Sync); 3] = [&jsonl, &pages, &events];
        let (note, others) = rayon::join(raw_log, || {
            others.par_iter().try_for_each(|write| {
                self.job.check()?;
                write()
            })
        });
        others.and(note)
    }

    /// The directory of a log's files, and its pages of which there is one.
    fn log_pages(&self, shared: &Shared<'_>, place: &Place, summary: &pages::Summary) -> Result<()> {
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
