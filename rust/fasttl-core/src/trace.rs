//! The logs of a job: found, indexed in parallel, and put in order by run, rank and restart.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::RwLock;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::format::kind::Kind;
use crate::format::payload::{Payload, parse_md5};
use crate::index::{self, Index, IndexOptions, ParserProblem, PayloadState, Problem, ProblemKind, Verify};
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

/// Ranks that log nothing at the same time are of one run if they follow each other within this time.
const SAME_RUN_US: i64 = 10 * 60 * 1_000_000;

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
#[derive(Debug)]
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
        }
    }

    /// Takes local times for those of a zone that is `offset` seconds ahead of UTC.
    pub(crate) fn set_offset(&mut self, offset: i32) {
        let shift = i64::from(offset) * 1_000_000;
        self.index.utc_offset_s = Some(offset);
        for time in self.index.records.iter_mut().filter_map(|r| r.time_us.as_mut()) {
            *time -= shift;
        }
        self.first_us = self.first_us.map(|us| us - shift);
        self.last_us = self.last_us.map(|us| us - shift);
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
    /// What custom parsers failed at when a report was written last: found after loading, and no part of a log.
    pub(crate) parser_problems: RwLock<Vec<ParserProblem>>,
}

/// Finds, reads and orders the logs that `paths` name. To be called on the pool that shall do the work.
///
/// # Errors
/// Nothing to read, a named file that is no trace, an unpacking limit, an interrupt. A log of a folder that
/// cannot be read is a [`Log`] of state [`LogState::Unreadable`].
pub fn load(paths: &[PathBuf], options: &LoadOptions, job: &Job) -> Result<Trace> {
    let found = find_logs(paths, &InputOptions { max_unpacked: options.max_unpacked })?;
    let Found { logs, passed, folder } = found;
    for log in &logs {
        job.expect(log.source.as_ref().map_or(0, Source::len));
    }
    let mut logs = logs.into_par_iter().map(|file| read(file, options, job)).collect::<Result<Vec<_>>>()?;
    if logs.iter().all(|log| log.index.records.is_empty()) {
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
        ..Trace::default()
    };
    let parents: Vec<Option<usize>> = trace.logs.iter().map(|log| trace.parent_of(log)).collect();
    for (log, parent) in trace.logs.iter_mut().zip(parents) {
        log.parent = parent;
    }
    Ok(trace)
}

/// Settles rank, zone, run and restart of the logs of a job, and keeps those that were asked for, in their order. It
/// looks at no record but for whether there is one, and at their times where they have to be shifted.
pub(crate) fn arrange(logs: &mut Vec<Log>, options: &LoadOptions) -> Result<()> {
    settle_ranks(logs);
    borrow_offsets(logs);
    assign_runs(logs);
    select(logs, options)?;
    logs.sort_by(|a, b| {
        let key = |log: &Log| (log.rank.is_none(), log.rank, log.run, log.restart, log.first_us);
        key(a).cmp(&key(b)).then_with(|| a.file.path.cmp(&b.file.path))
    });
    Ok(())
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
    let how = IndexOptions { verify: options.verify, chunk_len: options.chunk_len };
    log.index = sidecar::index(&log.file, &view, how, options.sidecars, job)?;
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
    log.first_us = records.iter().filter_map(|r| r.time_us).min();
    log.last_us = records.iter().filter_map(|r| r.time_us).max();
}

/// Where name and records disagree, the records hold: PyTorch wrote them. But files that were given different
/// ranks by name, and have the same one inside, were told apart by somebody: then the names hold.
fn settle_ranks(logs: &mut [Log]) {
    let mut named: BTreeMap<i32, BTreeSet<i32>> = BTreeMap::new();
    for log in logs.iter() {
        if let (Some(inside), Some(name)) = (log.index.rank, log.file.name_rank) {
            named.entry(inside).or_default().insert(name);
        }
    }
    for log in logs {
        if let (Some(inside), Some(name)) = (log.index.rank, log.file.name_rank)
            && inside != name
        {
            let shared = named.get(&inside).is_some_and(|names| names.len() > 1);
            let holds = if shared { "other files have that rank too, so the name holds" } else { "the records hold" };
            log.rank = Some(if shared { name } else { inside });
            log.index.problems.push(Problem {
                offset: 0,
                len: 0,
                line: 1,
                kind: ProblemKind::RankName,
                detail: format!("the file's name says rank {name}, its records say {inside}; {holds}"),
                owns_bytes: false,
            });
        }
        log.index.problems.sort_by_key(|p| (p.offset, !p.owns_bytes));
    }
}

/// The process that wrote most records.
fn main_process(index: &Index) -> Option<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for thread in index.records.iter().filter_map(|r| r.thread) {
        // A log of PyTorch 2.3 has a few threads; more ids than this are noise.
        if counts.len() < 1024 || counts.contains_key(&thread) {
            *counts.entry(thread).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|&(_, count)| count).map(|(id, _)| id)
}

/// Logs that do not tell how far local time is from UTC take it from those beside them, where all of these
/// agree: they were written by one job.
fn borrow_offsets(logs: &mut [Log]) {
    let Some(offset) = common_offset(logs.iter().map(|log| log.index.utc_offset_s)) else { return };
    for log in logs.iter_mut().filter(|log| log.index.utc_offset_s.is_none() && log.first_us.is_some()) {
        log.set_offset(offset);
    }
}

/// The one offset of all logs that tell theirs.
pub(crate) fn common_offset(offsets: impl Iterator<Item = Option<i32>>) -> Option<i32> {
    let known: BTreeSet<i32> = offsets.flatten().collect();
    known.first().copied().filter(|_| known.len() == 1)
}

/// Logs that were written at the same time, or shortly after each other by different ranks.
struct Group {
    logs: Vec<usize>,
    ranks: BTreeSet<Option<i32>>,
    first_us: i64,
    last_us: i64,
}

/// A new run starts where a process begins after all earlier ones have ended; within a run the files of one
/// rank are numbered by time.
///
/// What is known of an end is the last record, and a rank may log its first after another has logged its last.
/// So stretches in which some log was being written are put together, the closest first, as long as no rank
/// would be in a run twice.
fn assign_runs(logs: &mut [Log]) {
    let mut groups = overlapping(logs);
    loop {
        let gap = |pair: &[Group]| match pair {
            [a, b] if a.ranks.is_disjoint(&b.ranks) => Some(b.first_us - a.last_us).filter(|gap| *gap <= SAME_RUN_US),
            _ => None,
        };
        let closest = groups.windows(2).enumerate().filter_map(|(at, pair)| Some((gap(pair)?, at))).min();
        let Some((_, at)) = closest else { break };
        let next = groups.remove(at + 1);
        if let Some(group) = groups.get_mut(at) {
            group.logs.extend(next.logs);
            group.ranks.extend(next.ranks);
            group.last_us = group.last_us.max(next.last_us);
        }
    }
    let mut starts: FxHashMap<(u32, Who), u32> = FxHashMap::default();
    for (run, group) in (0..).zip(&groups) {
        for log in &group.logs {
            let Some(log) = logs.get_mut(*log) else { continue };
            log.run = run;
            let before = starts.entry((run, log.who())).or_default();
            log.restart = *before;
            *before += 1;
        }
    }
}

/// Groups of logs between which no log was being written, by time.
fn overlapping(logs: &[Log]) -> Vec<Group> {
    let start = |log: &Log| log.first_us.unwrap_or(log.file.modified_us);
    let mut order: Vec<(i64, &PathBuf, usize)> =
        logs.iter().enumerate().map(|(at, log)| (start(log), &log.file.path, at)).collect();
    order.sort();
    let mut groups: Vec<Group> = Vec::new();
    for (first_us, _, at) in order {
        let Some(log) = logs.get(at) else { continue };
        let last_us = log.last_us.unwrap_or(first_us);
        // One that goes on with another's string ids was forked from it, or is a second file of its process. One
        // without a record has no time to go by. Both belong to the run at hand.
        let goes_on = log.index.strings.defs().first().is_some_and(|def| def.id > 0);
        let joins = |group: &Group| first_us <= group.last_us || goes_on || log.first_us.is_none();
        match groups.last_mut().filter(|group| joins(group)) {
            Some(group) => {
                group.logs.push(at);
                group.ranks.insert(log.rank);
                group.last_us = group.last_us.max(last_us);
            }
            None => groups.push(Group { logs: vec![at], ranks: BTreeSet::from([log.rank]), first_us, last_us }),
        }
    }
    groups
}

/// Keeps the runs and ranks that were asked for.
fn select(logs: &mut Vec<Log>, options: &LoadOptions) -> Result<()> {
    if options.runs == Runs::Latest {
        let with_records = logs.iter().filter(|log| !log.index.records.is_empty());
        let newest = with_records.map(|log| log.run).max().unwrap_or(0);
        logs.retain(|log| log.run == newest);
    }
    if let Some(ranks) = &options.ranks {
        let name = |rank: Option<i32>| rank.map_or("none".to_owned(), |r| r.to_string());
        let mut there: Vec<_> = logs.iter().map(|log| log.rank).collect();
        there.sort_unstable();
        there.dedup();
        logs.retain(|log| ranks.contains(&log.rank));
        if logs.is_empty() {
            let there = there.into_iter().map(name).collect::<Vec<_>>().join(", ");
            let text = format!("no log has one of the ranks asked for; there are logs of rank {there}");
            return Err(Error::new(ErrorKind::Option, text));
        }
    }
    Ok(())
}

impl Trace {
    /// The log that a forked process, or a second file of a process, took its strings from: a file of the same
    /// rank that was begun earlier and had defined just those that this one goes on from. `None` where that is
    /// not certain.
    fn parent_of(&self, child: &Log) -> Option<usize> {
        let own = child.index.strings.defs().first().map(|d| d.id);
        // A process that was not forked defines its strings from 0 on.
        if own == Some(0) {
            return None;
        }
        let begun = child.first_us?;
        let fits = |log: &Log| {
            let strings = log.index.strings.defs();
            let before = |id: i64, offset: u64| {
                let time = log.index.record_at(offset).and_then(|r| r.time_us);
                time.is_some_and(|time| time < begun).then_some(id)
            };
            let last_before = strings.iter().filter_map(|d| before(d.id, d.offset)).max();
            strings.first().is_some_and(|d| d.id == 0)
                && own.is_none_or(|own| last_before < Some(own) && strings.iter().any(|d| d.id == own - 1))
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
        let about_process = |log: &Log, r: &index::Record| {
            matches!(log.index.names.name(r), Some("torch_version" | "compile_worker_status"))
        };
        let unknown = |log: &Log, r: &index::Record| {
            let free = r.kind.is(Kind::Str) || r.kind.is(Kind::ChromiumEvent) || about_process(log, r);
            !free && log.index.names.id(r).is_none()
        };
        self.logs.iter().map(|log| log.index.records.iter().filter(|r| unknown(log, r)).count()).sum()
    }
}

/// Texts on demand: read from the file when asked for, and checked against what it was.
impl Trace {
    fn record(&self, file: u32, offset: u64) -> Result<(&Log, &index::Record)> {
        let missing = || Error::new(ErrorKind::Option, format!("no record starts at byte {offset} of file {file}"));
        let log = self.logs.get(file as usize).ok_or_else(missing)?;
        Ok((log, log.index.record_at(offset).ok_or_else(missing)?))
    }

    fn read(log: &Log, (from, to): (u64, u64)) -> Result<Vec<u8>> {
        let path = &log.file.path;
        let source = log.file.source.as_ref().map_err(|why| Error::at(ErrorKind::Read, path, why.clone()))?;
        let len = usize::try_from(to.saturating_sub(from))
            .map_err(|_| Error::at(ErrorKind::TooLarge, path, "the record is too large for the address space"))?;
        source.read_at(from, len)
    }

    /// The payload's text of the record that starts at `offset` of log number `file`.
    ///
    /// # Errors
    /// No such record; a log that changed or is gone.
    pub fn payload(&self, file: u32, offset: u64) -> Result<Vec<u8>> {
        let (log, record) = self.record(file, offset)?;
        if !record.has_payload() {
            return Ok(Vec::new());
        }
        let raw = Self::read(log, record.payload_range())?;
        Ok(Payload::new(&raw, log.index.line_end).text())
    }

    /// The text of the first whole payload with that md5, if there is one.
    ///
    /// # Errors
    /// An md5 that is none; a log that changed or is gone.
    pub fn payload_by_md5(&self, md5: &str) -> Result<Option<Vec<u8>>> {
        let wanted = parse_md5(md5.as_bytes())
            .ok_or_else(|| Error::new(ErrorKind::Option, format!("{md5:?} is no md5: 32 hexadecimal digits")))?;
        for (file, log) in (0..).zip(&self.logs) {
            let found = log.index.records.iter().find(|r| r.payload.is_whole() && r.md5 == wanted);
            if let Some(record) = found {
                return self.payload(file, record.offset).map(Some);
            }
        }
        Ok(None)
    }

    /// The metadata of the record that starts at `offset` of log number `file`: the value of its kind's key.
    ///
    /// # Errors
    /// No such record; a log that changed or is gone.
    pub fn metadata(&self, file: u32, offset: u64) -> Result<String> {
        let (log, record) = self.record(file, offset)?;
        let raw = Self::read(log, record.meta_range())?;
        Ok(String::from_utf8_lossy(&raw).into_owned())
    }

    /// The JSON head of the record that starts at `offset` of log number `file`, as it stands; bytes that are not
    /// UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// No such record; a log that changed or is gone.
    pub fn head(&self, file: u32, offset: u64) -> Result<String> {
        let (log, record) = self.record(file, offset)?;
        let raw = Self::read(log, record.json_range())?;
        Ok(String::from_utf8_lossy(&raw).into_owned())
    }
}
