//! How each rank of a job stands: whether it could be compared, with whom it agrees, how long it compiled and waited, and
//! what it did last. Ranks without a log have their place, too.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::cells::Difference;
use super::last_thing::LastThing;
use super::stretches::{merged, seconds_between};
use super::tally::Tally;
use super::timing::LogTime;
use super::{Facts, Key, Member};
use crate::analysis::causes::Code;
use crate::analysis::compiles::Status;
use crate::trace::{LogState, Trace};

/// Most ranks that a job is taken to have: a hostile number must not make a list of billions.
const MOST_RANKS: u32 = 100_000;

/// Whether a rank could be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankState {
    /// Its log is compared with the others.
    Compared,
    /// It has a log that cannot be compared.
    LeftOut,
    /// It has no log.
    Missing,
}

impl RankState {
    /// Name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compared => "compared",
            Self::LeftOut => "left out",
            Self::Missing => "missing",
        }
    }
}

/// What became of the last thing that a rank did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastState {
    /// It has no end in the log.
    Open,
    /// It is done.
    Done,
    /// It ended with an error.
    Failed,
    /// Nothing was compiled.
    Idle,
}

impl LastState {
    /// Name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Idle => "idle",
        }
    }
}

/// The last thing that a rank did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    /// Whether it is over.
    pub state: LastState,
    /// The compile that it belongs to.
    pub key: Option<Key>,
    /// What was compiled.
    pub(crate) code: Option<Code>,
    /// The step: a span that is open, else the last record's kind or name.
    pub step: String,
    /// The record that shows it.
    pub record: Option<usize>,
}

/// One rank of a job.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The rank.
    pub rank: i32,
    /// The log of its newest start.
    pub log: Option<usize>,
    /// Whether it could be compared.
    pub state: RankState,
    /// Why it could not.
    pub why: Option<String>,
    /// Ranks of one number differ from each other nowhere; 0 is the largest group.
    pub group: Option<u32>,
    /// Whether its log is whole.
    pub log_state: Option<LogState>,
    /// Counts of its log.
    pub tally: Option<Tally>,
    /// Seconds that its compiles took; `None` where none says.
    pub compile_s: Option<f64>,
    /// When its first record was logged, in microseconds since 1970.
    pub first_us: Option<i64>,
    /// When its last was.
    pub last_us: Option<i64>,
    /// Seconds from that to the last record of any rank.
    pub behind_s: Option<f64>,
    /// Seconds in which it compiled nothing, while others did.
    pub waiting_s: Option<f64>,
    /// What it did last.
    pub last: Option<Last>,
}

/// The ranks of a job that are to be expected: up to the highest that is there, or as many as the logs say it has.
fn expected(trace: &Trace, members: &[Member<'_>]) -> BTreeSet<i32> {
    let mut ranks: BTreeSet<i32> = trace.logs.iter().filter_map(|log| log.rank).collect();
    // Where only some ranks were asked for, the others are not missing.
    if !trace.some_ranks {
        let highest = ranks.last().map_or(0, |rank| i64::from(*rank) + 1);
        let said = members.iter().filter_map(|member| member.facts.tally.world_size).max().unwrap_or(0);
        let count = highest.max(i64::from(said)).min(i64::from(MOST_RANKS));
        ranks.extend((0..).take(usize::try_from(count).unwrap_or(0)));
    }
    ranks
}

/// Ranks that are to be expected and have no log.
pub(super) fn missing(trace: &Trace, members: &[Member<'_>]) -> Vec<i32> {
    let present: BTreeSet<i32> = trace.logs.iter().filter_map(|log| log.rank).collect();
    expected(trace, members).into_iter().filter(|rank| !present.contains(rank)).collect()
}

/// How all ranks stand.
pub(super) fn standings(
    trace: &Trace,
    (members, left_out): (&[Member<'_>], &[(i32, String)]),
    differences: &[Difference],
) -> Vec<Standing> {
    let groups = groups(members, differences);
    let compared: BTreeMap<i32, &Member<'_>> = members.iter().map(|member| (member.rank, member)).collect();
    let why: BTreeMap<i32, &String> = left_out.iter().map(|(rank, why)| (*rank, why)).collect();
    let newest: BTreeMap<i32, usize> =
        trace.logs.iter().enumerate().filter_map(|(at, log)| Some((log.rank?, at))).collect();
    let all_busy = merged(members.iter().flat_map(|member| member.facts.time.busy.iter().copied()).collect());
    let end_us = members.iter().filter_map(|member| member.facts.time.last_us).max();
    let of = |rank: i32| match compared.get(&rank) {
        Some(member) => Standing {
            group: groups.get(&rank).copied(),
            log_state: trace.logs.get(member.log).map(|log| log.state),
            behind_s: member.facts.time.last_us.zip(end_us).map(|(last, end)| seconds_between(last, end)),
            waiting_s: Some((total_s(&all_busy) - total_s(&member.facts.time.busy)).max(0.0)),
            ..of_facts(rank, member.log, member.facts)
        },
        None => match newest.get(&rank) {
            Some(&at) => Standing {
                log: Some(at),
                why: why.get(&rank).map(|why| (*why).clone()),
                log_state: trace.logs.get(at).map(|log| log.state),
                first_us: trace.logs.get(at).and_then(|log| log.first_us),
                last_us: trace.logs.get(at).and_then(|log| log.last_us),
                ..without_log(rank, RankState::LeftOut)
            },
            None => Standing { why: Some("it has no log".to_owned()), ..without_log(rank, RankState::Missing) },
        },
    };
    expected(trace, members).into_iter().map(of).collect()
}

const fn without_log(rank: i32, state: RankState) -> Standing {
    Standing {
        rank,
        log: None,
        state,
        why: None,
        group: None,
        log_state: None,
        tally: None,
        compile_s: None,
        first_us: None,
        last_us: None,
        behind_s: None,
        waiting_s: None,
        last: None,
    }
}

fn of_facts(rank: i32, log: usize, facts: &Facts) -> Standing {
    let LogTime { first_us, last_us, last, .. } = &facts.time;
    let seconds = facts.compiles.iter().filter_map(|compile| compile.time().seconds);
    Standing {
        log: Some(log),
        tally: Some(facts.tally),
        compile_s: seconds.map(f64::from).reduce(|a, b| a + b),
        first_us: *first_us,
        last_us: *last_us,
        last: Some(last_of(last)),
        ..without_log(rank, RankState::Compared)
    }
}

/// The innermost open span, else the compile without an end, else the last compile.
fn last_of(found: &LastThing) -> Last {
    let of_key = |key: Option<Key>| {
        let all = found.unfinished.iter().chain(&found.compile);
        all.into_iter().find(|compile| Some(compile.key) == key).map(|compile| compile.code.clone())
    };
    if let Some(open) = found.open.first() {
        return Last {
            state: LastState::Open,
            key: open.key,
            code: of_key(open.key),
            step: open.name.clone(),
            record: Some(open.record),
        };
    }
    let (state, compile) = match (found.unfinished.first(), &found.compile) {
        (Some(open), _) => (LastState::Open, Some(open)),
        (None, Some(last)) if last.status == Status::Error => (LastState::Failed, Some(last)),
        (None, Some(last)) => (LastState::Done, Some(last)),
        (None, None) => (LastState::Idle, None),
    };
    Last {
        state,
        key: compile.map(|compile| compile.key),
        code: compile.map(|compile| compile.code.clone()),
        step: found.step.clone(),
        record: compile.map(|compile| compile.record).or(found.record),
    }
}

fn total_s(busy: &[(i64, i64)]) -> f64 {
    busy.iter().map(|(start, end)| seconds_between(*start, *end)).sum()
}

/// The numbers of the groups of ranks that differ from each other nowhere. A rank of which something is not known is
/// with those that it does not differ from.
fn groups(members: &[Member<'_>], differences: &[Difference]) -> FxHashMap<i32, u32> {
    // Each rank begins in one class, and each place divides the classes further.
    let mut class: BTreeMap<i32, u32> = members.iter().map(|member| (member.rank, 0)).collect();
    let mut next = 1;
    for difference in differences {
        for group in difference.groups.iter().skip(1) {
            let mut divided: FxHashMap<u32, u32> = FxHashMap::default();
            for rank in &group.ranks {
                let Some(own) = class.get_mut(rank) else { continue };
                *own = *divided.entry(*own).or_insert_with(|| {
                    next += 1;
                    next - 1
                });
            }
        }
    }
    let mut sizes: BTreeMap<u32, (usize, i32)> = BTreeMap::new();
    for (rank, of) in &class {
        let (size, lowest) = sizes.entry(*of).or_insert((0, i32::MAX));
        *size += 1;
        *lowest = (*lowest).min(*rank);
    }
    let mut order: Vec<(u32, (usize, i32))> = sizes.into_iter().collect();
    order.sort_by(|(_, a), (_, b)| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let numbers: FxHashMap<u32, u32> = order.into_iter().map(|(of, _)| of).zip(0..).collect();
    class.into_iter().filter_map(|(rank, of)| Some((rank, *numbers.get(&of)?))).collect()
}
