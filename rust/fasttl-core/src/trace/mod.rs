//! The logs of a job: found, indexed in parallel, and put in order by run, rank and restart.

mod arrange;
mod aside;
mod texts;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::RwLock;

use rayon::prelude::*;

pub(crate) use arrange::{arrange, common_offset};
use aside::{Aside, Kept};

use crate::error::{Error, ErrorKind, Result};
use crate::format::kind::Kind;
use crate::index::{Index, IndexOptions, ParserProblem, PayloadState, Problem, ProblemKind, Record, Verify, When};
use crate::input::{Found, InputOptions, LogFile, Passed, Source, View, find_logs};
use crate::job::Job;
use crate::sidecar::{self, Sidecars};

/// Which runs of a folder are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// All that the folder holds.
    #[default]
    All,
    /// The newest, with all its ranks.
    Latest,
}

/// What to load and how.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Only these ranks; `None` in the list stands for logs without a rank.
    pub ranks: Option<Vec<Option<i32>>>,
    /// Which runs.
    pub runs: Runs,
    /// Whether payloads are checked against their md5.
    pub verify: Verify,
    /// Threads; all cores when `None`.
    pub threads: Option<NonZeroUsize>,
    /// Bytes that compressed logs may take; see [`InputOptions`].
    pub max_unpacked: Option<u64>,
    /// Whether indexes beside the logs are used; the result does not depend on it.
    pub sidecars: Sidecars,
    /// Bytes a chunk aims at; the result does not depend on it.
    pub chunk_len: usize,
}

impl LoadOptions {
    /// The part of them that says how a log is read.
    pub(crate) const fn index(&self) -> IndexOptions {
        IndexOptions { verify: self.verify, chunk_len: self.chunk_len }
    }
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            ranks: None,
            runs: Runs::default(),
            verify: Verify::default(),
            threads: None,
            max_unpacked: None,
            sidecars: Sidecars::default(),
            chunk_len: IndexOptions::default().chunk_len,
        }
    }
}

/// What became of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogState {
    /// It ends with a whole record.
    Complete,
    /// It ends inside a record, or its compressed data ends early.
    Truncated,
    /// It has no record.
    Empty,
    /// It could not be read.
    Unreadable,
}

impl LogState {
    /// Name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Truncated => "truncated",
            Self::Empty => "empty",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One log and what is known of it.
#[derive(Clone, Debug)]
pub struct Log {
    /// The file.
    pub file: LogFile,
    /// Its records and problems.
    pub index: Index,
    /// Whether it is whole.
    pub state: LogState,
    /// Rank: as the records say, else the name.
    pub rank: Option<i32>,
    /// Process that wrote most of it.
    pub pid: Option<u64>,
    /// Run of the folder, by time from 0.
    pub run: u32,
    /// N-th file of its rank (without one: of its process) in its run, by time from 0.
    pub restart: u32,
    /// Time of the first record, microseconds since 1970.
    pub first_us: Option<i64>,
    /// Time of the last record.
    pub last_us: Option<i64>,
    /// The log of the process that this one was forked from, where it uses strings that only that one defines.
    pub parent: Option<usize>,
    /// What is known of an index that was set aside; `index` has then only what was found later.
    aside: Option<Box<Aside>>,
}

/// What tells starts of one process from those of others: its rank, or without one its number.
pub(crate) type Who = (Option<i32>, Option<u64>);

impl Log {
    /// A log of which only the file is known.
    pub(crate) fn unread(file: LogFile) -> Self {
        Self {
            rank: file.name_rank,
            file,
            index: Index::default(),
            state: LogState::Unreadable,
            pid: None,
            run: 0,
            restart: 0,
            first_us: None,
            last_us: None,
            parent: None,
            aside: None,
        }
    }

    /// Number of records.
    pub fn records(&self) -> usize {
        self.aside.as_ref().map_or(self.index.records.len(), |aside| aside.records)
    }

    /// Number of problems that mean a loss.
    pub fn errors(&self) -> usize {
        self.aside.as_ref().map_or(0, |aside| aside.errors) + self.index.errors().count()
    }

    /// See [`Trace::records_without_compile`].
    fn records_without_compile(&self) -> usize {
        let names = &self.index.names;
        let unknown = |r: &&Record| {
            let about_process = matches!(names.name(r), Some("torch_version" | "compile_worker_status"));
            let free = r.kind.is(Kind::Str) || r.kind.is(Kind::ChromiumEvent) || about_process;
            !free && names.id(r).is_none()
        };
        let aside = self.aside.as_ref().map(|aside| aside.without_compile);
        aside.unwrap_or_else(|| self.index.records.iter().filter(unknown).count())
    }

    /// Its strings by id, and when each was defined.
    fn string_times(&self) -> Cow<'_, [(i64, Option<i64>)]> {
        match &self.aside {
            Some(aside) => Cow::Borrowed(&aside.strings),
            None => Cow::Owned(aside::string_times(&self.index)),
        }
    }

    /// The lowest id of its strings.
    fn first_string(&self) -> Option<i64> {
        match &self.aside {
            Some(aside) => aside.first_string,
            None => self.index.strings.defs().first().map(|def| def.id),
        }
    }

    /// Takes local times for those of a zone that is `offset` seconds ahead of UTC.
    pub(crate) fn set_offset(&mut self, offset: i32) {
        let shift = i64::from(offset) * 1_000_000;
        self.index.utc_offset_s = Some(offset);
        for record in &mut self.index.records {
            if let When::Utc(time) = &mut record.when {
                *time -= shift;
            }
        }
        self.first_us = self.first_us.map(|us| us - shift);
        self.last_us = self.last_us.map(|us| us - shift);
        if let Some(aside) = &mut self.aside {
            aside.shift(shift);
        }
    }

    /// Whose start this is.
    pub(crate) fn who(&self) -> Who {
        (self.rank, self.pid.filter(|_| self.rank.is_none()))
    }

    /// The bytes, for the time of a call; none where the file is unreadable.
    pub fn view(&self) -> Result<View> {
        match &self.file.source {
            Ok(source) => source.view(),
            Err(_) => Source::Buffer([].into()).view(),
        }
    }

    /// File name without its folder.
    pub fn name(&self) -> String {
        self.file.path.file_name().map_or_else(|| "-".to_owned(), |n| n.to_string_lossy().into_owned())
    }

    /// Text of interned string `id` as the record at `offset` means it.
    pub fn string(&self, id: i64, offset: u64) -> Option<&str> {
        self.index.strings.get(id, offset)
    }
}

/// The logs of a job.
#[derive(Debug, Default)]
pub struct Trace {
    /// Logs by rank (those without last), then by time.
    pub logs: Vec<Log>,
    /// Files that were passed over, and why.
    pub passed: Vec<Passed>,
    /// The folder, where one folder was named.
    pub folder: Option<PathBuf>,
    /// What was named.
    pub inputs: Vec<PathBuf>,
    /// Whether only some ranks were asked for, so that others are not missing.
    pub some_ranks: bool,
    /// The current folder at that time: relative paths here are meant from it.
    pub(crate) base: PathBuf,
    /// How its logs were read, for those that are read again.
    how: (IndexOptions, Sidecars),
    /// What custom parsers failed at when a report was written last: found after loading, and no part of a log.
    pub(crate) parser_problems: RwLock<Vec<ParserProblem>>,
}

/// Finds, reads and orders the logs that `paths` name. To be called on the pool that shall do the work.
///
/// # Errors
/// Nothing to read, a named file that is no trace, an unpacking limit, an interrupt. A log of a folder that
/// cannot be read is a [`Log`] of state [`LogState::Unreadable`].
pub fn load(paths: &[PathBuf], options: &LoadOptions, job: &Job) -> Result<Trace> {
    load_within(paths, options, None, job)
}

/// The same, but of the indexes only so many are kept as fit into `memory` bytes. The others are set aside, and have
/// to be asked for by [`Trace::at_hand`].
pub(crate) fn load_within(paths: &[PathBuf], options: &LoadOptions, memory: Option<u64>, job: &Job) -> Result<Trace> {
    let found = find_logs(paths, &InputOptions { max_unpacked: options.max_unpacked })?;
    let Found { logs, passed, folder } = found;
    for log in &logs {
        job.expect(log.source.as_ref().map_or(0, Source::len));
    }
    // A single log has its turn at once.
    let kept = Kept::new(memory.filter(|_| logs.len() > 1));
    let read_one = |file| {
        let mut log = read(file, options, job)?;
        match &options.ranks {
            // It still counts for the order of the others.
            Some(ranks) if !ranks.contains(&log.rank) => aside::set_aside(&mut log),
            _ => kept.or_set_aside(&mut log),
        }
        Ok(log)
    };
    let mut logs = logs.into_par_iter().map(read_one).collect::<Result<Vec<_>>>()?;
    if logs.iter().all(|log| log.records() == 0) {
        return Err(no_records(&logs));
    }
    arrange(&mut logs, options)?;
    let mut trace = Trace {
        logs,
        passed,
        folder,
        inputs: paths.to_vec(),
        some_ranks: options.ranks.is_some(),
        base: std::env::current_dir().unwrap_or_default(),
        how: (options.index(), options.sidecars),
        ..Trace::default()
    };
    let parents: Vec<Option<usize>> = trace.logs.iter().map(|log| trace.parent_of(log)).collect();
    for (log, parent) in trace.logs.iter_mut().zip(&parents) {
        log.parent = *parent;
    }
    match memory {
        Some(_) => aside::keep_strings_of(&mut trace, parents.into_iter().flatten(), job)?,
        // A log whose name and records give different ranks may be asked for after all.
        None => aside::take_up(&mut trace, job)?,
    }
    Ok(trace)
}

fn no_records(logs: &[Log]) -> Error {
    let mut text = "no record could be read".to_owned();
    for log in logs.iter().take(5) {
        let why = match &log.file.source {
            Err(reason) => reason.clone(),
            Ok(_) => log.index.problems.first().map_or("the file is empty".to_owned(), |p| p.detail.clone()),
        };
        text += &format!("\n  {}: {why}", log.file.path.display());
    }
    text += "\nCheck that the program compiled something with TORCH_TRACE set";
    let path = logs.first().map(|log| log.file.path.clone()).unwrap_or_default();
    Error::at(ErrorKind::NotFound, &path, text)
}

/// Reads one log, by itself.
pub(crate) fn read(file: LogFile, options: &LoadOptions, job: &Job) -> Result<Log> {
    let mut log = Log::unread(file);
    let view = match log.view() {
        Ok(view) => view,
        Err(error) => {
            log.file.source = Err(error.to_string());
            note_nothing_read(&mut log);
            return Ok(log);
        }
    };
    log.index = sidecar::index(&log.file, &view, options.index(), options.sidecars, job)?;
    drop(view);
    if log.file.source.is_ok() {
        describe(&mut log);
    }
    note_nothing_read(&mut log);
    Ok(log)
}

/// A log without records says nothing of its process: that is a loss, which a row tells.
fn note_nothing_read(log: &mut Log) {
    if !log.index.records.is_empty() {
        return;
    }
    let detail = match &log.file.source {
        Err(reason) => reason.clone(),
        Ok(_) if log.index.len == 0 => "the file is empty".to_owned(),
        Ok(_) => "the file has no record".to_owned(),
    };
    let kind = ProblemKind::NothingRead;
    log.index.problems.push(Problem { offset: 0, len: 0, line: 0, kind, detail, owns_bytes: false });
}

/// Fills in what follows from the records.
fn describe(log: &mut Log) {
    let end = log.index.len;
    if let Some(damage) = &log.file.damage {
        log.index.problems.push(Problem {
            offset: end,
            len: 0,
            line: 0,
            kind: ProblemKind::BadCompression,
            detail: damage.clone(),
            owns_bytes: false,
        });
    }
    let records = &log.index.records;
    let cut = records.last().is_some_and(|r| r.payload == PayloadState::CutShort)
        || log.index.problems.iter().any(|p| matches!(p.kind, ProblemKind::CutShort | ProblemKind::BadCompression));
    log.state = match (records.is_empty(), cut) {
        (true, _) => LogState::Empty,
        (false, true) => LogState::Truncated,
        (false, false) => LogState::Complete,
    };
    log.rank = log.index.rank.or(log.file.name_rank);
    log.pid = main_process(&log.index);
    // Instant events and exports may log late; begin and end are the extremes.
    log.first_us = records.iter().filter_map(Record::time_us).min();
    log.last_us = records.iter().filter_map(Record::time_us).max();
}

/// The process that wrote most records.
fn main_process(index: &Index) -> Option<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    // Mostly all records are of one process, and stand in a row.
    for same in index.records.chunk_by(|a, b| a.thread == b.thread) {
        let Some(thread) = same.first().and_then(|r| r.thread) else { continue };
        // A log of PyTorch 2.3 has a few threads; more ids than this are noise.
        if counts.len() < 1024 || counts.contains_key(&thread) {
            *counts.entry(thread).or_default() += same.len();
        }
    }
    counts.into_iter().max_by_key(|&(_, count)| count).map(|(id, _)| id)
}

impl Trace {
    /// The log that a forked process, or a second file of a process, took its strings from: a file of the same
    /// rank that was begun earlier and had defined just those that this one goes on from. `None` where that is
    /// not certain.
    fn parent_of(&self, child: &Log) -> Option<usize> {
        let own = child.first_string();
        // A process that was not forked defines its strings from 0 on.
        if own == Some(0) {
            return None;
        }
        let begun = child.first_us?;
        let fits = |log: &Log| {
            let strings = log.string_times();
            let before = |(id, time): &(i64, Option<i64>)| time.is_some_and(|time| time < begun).then_some(*id);
            let last_before = strings.iter().filter_map(before).max();
            log.first_string() == Some(0)
                && own.is_none_or(|own| last_before < Some(own) && strings.iter().any(|(id, _)| *id == own - 1))
        };
        let mut candidates = self.logs.iter().enumerate().filter(|(_, log)| {
            log.rank == child.rank
                && log.run == child.run
                && !std::ptr::eq(*log, child)
                && log.first_us.is_some_and(|t| t <= begun)
                && fits(log)
        });
        let (parent, _) = candidates.next()?;
        candidates.next().is_none().then_some(parent)
    }

    /// Text of an interned string: from the log itself, else from the process that it was forked from.
    pub fn string<'t>(&'t self, log: &'t Log, id: i64, offset: u64) -> Option<&'t str> {
        if let Some(text) = log.string(id, offset) {
            return Some(text);
        }
        let lowest_own = log.index.strings.defs().first().map(|d| d.id);
        if id < 0 || lowest_own.is_some_and(|own| id > own) {
            return None;
        }
        self.logs.get(log.parent?)?.string(id, u64::MAX)
    }

    /// Number of records that belong to no compile and are not free of one by nature: strings, timing events,
    /// and what is logged about the process.
    pub fn records_without_compile(&self) -> usize {
        self.logs.iter().map(Log::records_without_compile).sum()
    }
}
