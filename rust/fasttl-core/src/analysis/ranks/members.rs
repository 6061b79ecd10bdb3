//! Which logs of a trace are compared, and which ranks have none.

use std::collections::{BTreeMap, BTreeSet};

use super::Facts;
use crate::trace::{Log, LogState, Trace};

/// A log that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Number of the log in the trace.
    pub log: usize,
    /// Its rank.
    pub rank: i32,
    /// What is known of it.
    pub facts: &'a Facts,
}

/// The log of the newest start of a rank. Logs stand by rank and time, so that it is the last, but for processes that
/// were begun while another of the rank was at work: these are its children.
fn newest_start(trace: &Trace, rank: i32) -> Option<(usize, &Log)> {
    let own = |(_, log): &(usize, &Log)| log.rank == Some(rank) && log.parent.is_none();
    let mut starts = trace.logs.iter().enumerate().filter(own).rev();
    let mut newest = starts.next()?;
    for (at, log) in starts.take_while(|(_, log)| log.run == newest.1.run) {
        if log.last_us.zip(newest.1.first_us).is_some_and(|(end, begin)| end > begin) {
            newest = (at, log);
        }
    }
    Some(newest)
}

/// The logs that are compared.
pub(super) fn members<'a>(trace: &Trace, facts: &'a [Facts]) -> (Vec<Member<'a>>, Vec<(i32, String)>) {
    let mut runs: BTreeMap<i32, BTreeSet<u32>> = BTreeMap::new();
    for log in trace.logs.iter().filter(|log| log.records() > 0) {
        if let Some(rank) = log.rank {
            runs.entry(rank).or_default().insert(log.run);
        }
    }
    // A run that was started over has a rank in a later one, too. Where no rank comes twice, logs that lie far
    // apart in time were gathered, or have clocks that differ.
    let restarted: BTreeSet<u32> = runs.values().flat_map(|of_rank| of_rank.iter().copied().rev().skip(1)).collect();
    let mut members: Vec<Member<'a>> = Vec::new();
    let mut left_out = Vec::new();
    let ranks: BTreeSet<i32> = trace.logs.iter().filter_map(|log| log.rank).collect();
    for rank in ranks {
        let newest = newest_start(trace, rank);
        let Some((at, log)) = newest else { continue };
        let why = match log.state {
            LogState::Unreadable => Some("its log could not be read"),
            LogState::Empty => Some("its log has no record"),
            _ if restarted.contains(&log.run) => Some("its newest log is of an earlier start of the job"),
            _ => None,
        };
        match (why, facts.get(at)) {
            (Some(why), _) => left_out.push((rank, why.to_owned())),
            (None, Some(facts)) => members.push(Member { log: at, rank, facts }),
            (None, None) => {}
        }
    }
    (members, left_out)
}
