//! Puts the logs of a job in order: rank, time zone, run and restart of each, and which of them are asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use super::{LoadOptions, Log, Runs, Who};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Problem, ProblemKind};

/// Ranks that log nothing at the same time are of one run if they follow each other within this time.
const SAME_RUN_US: i64 = 10 * 60 * 1_000_000;

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
        let goes_on = log.first_string().is_some_and(|id| id > 0);
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
        let with_records = logs.iter().filter(|log| log.records() > 0);
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
