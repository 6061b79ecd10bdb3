//! The report: numbers files, writes the tree of each log, and the landing page of a job.
//!
//! The tree has the names, numbers and bytes of the standard report (tlparse 0.4.3), since people's scripts
//! read it. Whatever is more than that stands beside it.

mod census;
mod comparison;
mod configs;
mod directory;
mod events;
mod evidence;
mod extras;
mod html;
mod job;
mod jsonl;
mod log;
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

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Result;
use crate::index::{ParserProblem, Problem};
use crate::job::Job;
use crate::trace::{self, LoadOptions, Log, LogState, Trace};
pub use extras::{Extras, Form};
use html::{ASSETS, Pages};
use log::{Done, Writer};
use memory::Memory;
use names::RelPath;
pub use out_dir::Overwrite;
use out_dir::{MARKER, Staging};
use pages::plural;
use places::Place;
pub use raw_log::RawLog;
use tree::Tree;

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
