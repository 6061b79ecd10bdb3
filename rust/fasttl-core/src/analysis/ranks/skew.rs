//! How long the ranks took for one compile, and how long the others were done before the slowest: table `skew`.
//!
//! Measured time is never a difference between ranks: it is told here, and where it stands out, by a finding.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;

use super::stretches::seconds_between;
use super::timing::CompileTime;
use super::{CompileFact, Key, Lineup, LineupRow, Member};
use crate::analysis::causes::{Code, Shown, short_code};
use crate::error::Result;
use crate::tables::{Table, TableBuilder};
use crate::trace::Trace;

/// From when on a rank that took longer stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkewOptions {
    /// Seconds that it took more than the median …
    pub min_s: f64,
    /// … which must be this many times the median, too.
    pub min_ratio: f64,
}

impl Default for SkewOptions {
    fn default() -> Self {
        Self { min_s: 5.0, min_ratio: 3.0 }
    }
}

impl SkewOptions {
    /// Whether a time stands out.
    pub fn stands_out(self, seconds: f64, median: f64) -> bool {
        let more = seconds - median;
        more >= self.min_s && more >= self.min_ratio * median
    }
}

/// What one rank took for a compile.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rank: i32,
    log: usize,
    /// The compile's first record.
    record: usize,
    time: CompileTime,
}

/// A compile across ranks.
#[derive(Clone, Debug, Default)]
pub struct Skew {
    /// Generation and id on most ranks.
    pub key: Key,
    /// What was compiled.
    pub(crate) code: Code,
    /// How many ranks have it.
    pub ranks: u32,
    /// When it began on the first of them, in microseconds since 1970.
    pub first_start_us: Option<i64>,
    /// Seconds from its begin on the first rank to that on the last; `None` where fewer than two say.
    pub start_spread_s: Option<f64>,
    /// What the fastest took, and which rank that is.
    pub min: Option<(f32, i32)>,
    /// What the rank in the middle took; of two in the middle the faster, so that one of two can stand out.
    pub median_s: Option<f32>,
    /// What the slowest took, and which rank that is.
    pub max: Option<(f32, i32)>,
    /// Seconds that all others together were done before the slowest.
    pub waited_s: Option<f64>,
    /// The log of the slowest rank, and its first record of the compile.
    pub slowest: (usize, usize),
    /// Ranks that stand out by the default settings, with their seconds, in order of rank.
    pub stragglers: Vec<(i32, f32)>,
}

/// The times of each compile over all ranks.
pub(super) fn skews(lineup: &Lineup, members: &[Member<'_>]) -> Vec<Skew> {
    lineup.rows.par_iter().map(|row| of_row(row, members)).collect()
}

fn of_row(row: &LineupRow, members: &[Member<'_>]) -> Skew {
    let has = || {
        let with_number = row.of.iter().zip(members).filter_map(|(number, member)| Some((*number.as_ref()?, member)));
        with_number.filter_map(|(number, member)| Some((member, member.facts.compiles.get(number as usize)?)))
    };
    let sample = |(member, compile): (&Member<'_>, &CompileFact)| Sample {
        rank: member.rank,
        log: member.log,
        record: compile.first(),
        time: compile.time(),
    };
    // What most ranks call it, where one of them names it.
    let named = has().map(|(_, compile)| &compile.profile).find(|profile| profile.name.is_some());
    let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
    let code = named.map(|profile| (text(&profile.name), text(&profile.file), profile.line));
    skew(row.key, short_code(code.unwrap_or_default()), &has().map(sample).collect::<Vec<_>>())
}

/// Brings the times of one compile together.
fn skew(key: Key, code: Code, samples: &[Sample]) -> Skew {
    let starts = || samples.iter().filter_map(|sample| sample.time.start_us);
    let first_start_us = starts().min();
    let spread = first_start_us.zip(starts().max()).filter(|_| starts().nth(1).is_some());
    let mut timed: Vec<(f32, &Sample)> = samples.iter().filter_map(|s| Some((s.time.seconds?, s))).collect();
    // Of equal ones the lowest rank, at either end.
    timed.sort_by(|(a, x), (b, y)| a.total_cmp(b).then(x.rank.cmp(&y.rank)));
    let median_s = timed.get(timed.len().saturating_sub(1) / 2).map(|(seconds, _)| *seconds);
    let most = timed.last().map(|(seconds, _)| *seconds);
    let slowest = timed.iter().find(|(seconds, _)| Some(*seconds) == most).copied();
    let options = SkewOptions::default();
    let stands_out = |seconds: f32| median_s.is_some_and(|m| options.stands_out(seconds.into(), m.into()));
    let mut stragglers: Vec<(i32, f32)> =
        timed.iter().filter(|(s, _)| stands_out(*s)).map(|(s, sample)| (sample.rank, *s)).collect();
    stragglers.sort_by_key(|(rank, _)| *rank);
    let shown = slowest.map(|(_, sample)| sample).or(samples.first());
    Skew {
        key,
        code,
        ranks: u32::try_from(samples.len()).unwrap_or(u32::MAX),
        first_start_us,
        start_spread_s: spread.map(|(first, last)| seconds_between(first, last)),
        min: timed.first().map(|(seconds, sample)| (*seconds, sample.rank)),
        median_s,
        max: slowest.map(|(seconds, sample)| (seconds, sample.rank)),
        waited_s: slowest.and_then(|(_, slow)| waited(slow, &timed)),
        slowest: shown.map(|sample| (sample.log, sample.record)).unwrap_or_default(),
        stragglers,
    }
}

/// How long the others were done before the slowest. What ranks wait for in between makes their ends equal again, so
/// that the longer of both is taken: before the end of its first stretch of work, or before that of its last.
fn waited(slow: &Sample, timed: &[(f32, &Sample)]) -> Option<f64> {
    let lag = |end: Option<i64>, slow: Option<i64>| Some(seconds_between(end?, slow?));
    let others = timed.iter().map(|(_, sample)| sample).filter(|sample| sample.rank != slow.rank);
    let of = |sample: &&Sample| {
        let first = lag(sample.time.first_end_us, slow.time.first_end_us);
        first.into_iter().chain(lag(sample.time.end_us, slow.time.end_us)).reduce(f64::max)
    };
    others.filter_map(of).reduce(|a, b| a + b)
}

/// The record of a log as evidence.
pub(crate) fn shown(trace: &Trace, (log, record): (usize, usize)) -> Shown {
    let found = trace.logs.get(log).and_then(|of| of.index.records.get(record));
    Shown {
        file: u32::try_from(log).unwrap_or(u32::MAX),
        offset: found.map(|record| record.offset),
        record: Some(record),
    }
}

/// The table.
pub(super) fn table(trace: &Trace, skews: &[Skew]) -> Result<Table> {
    TableBuilder::new(skews)
        .u32("generation", "How often compile ids had started again.", |r| Some(r.key.0))
        .name("compile_id", "Compile id without attempt, as most of the ranks have it.", |r| {
            Some(Cow::Owned(r.key.1.to_string()))
        })
        .name("code_name", "Function.", |r| r.code.0.as_deref().map(Cow::Borrowed))
        .name("code_file", "File of the function, without its folder.", |r| r.code.1.as_deref().map(Cow::Borrowed))
        .i64("code_line", "First line of the function.", |r| r.code.2)
        .u32("ranks", "How many ranks have it.", |r| Some(r.ranks))
        .f64("start_spread_s", "Seconds from its begin on the first rank to its begin on the last.", |r| {
            r.start_spread_s
        })
        .f64("min_s", "Seconds that the fastest rank took, backward graphs and restarts included.", |r| {
            r.min.map(|(seconds, _)| seconds.into())
        })
        .i32("min_rank", "That rank.", |r| r.min.map(|(_, rank)| rank))
        .f64("median_s", "Seconds of the rank in the middle; of two in the middle the faster.", |r| {
            r.median_s.map(f64::from)
        })
        .f64("max_s", "Seconds that the slowest rank took.", |r| r.max.map(|(seconds, _)| seconds.into()))
        .i32("max_rank", "That rank.", |r| r.max.map(|(_, rank)| rank))
        .ints(
            "slow_ranks",
            "Ranks that took 5 seconds, and three times the median, more than the median: those that a finding names.",
            |r| Some(r.stragglers.iter().map(|(rank, _)| *rank).collect()),
        )
        .f64(
            "waited_s",
            "Seconds that the other ranks, together, were done before the slowest: what they likely waited.",
            |r| r.waited_s,
        )
        .time("first_start", "When it began on the first rank.", |r| r.first_start_us)
        .u32("file", "Log of the slowest rank: row of `files`.", |r| u32::try_from(r.slowest.0).ok())
        .u64("offset", "Where its first record of this compile starts.", |r| shown(trace, r.slowest).offset)
        .finish("skew")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ranks::timing::Clock;

    const SECOND: i64 = 1_000_000;

    /// A rank that began and ended its forward and its backward at these seconds.
    fn sample(rank: i32, forward: (i16, i16), backward: Option<(i16, i16)>) -> Sample {
        let moment = |second: i16| Some(i64::from(second) * SECOND);
        let took = (forward.1 - forward.0) + backward.map_or(0, |(start, end)| end - start);
        let time = CompileTime {
            start_us: moment(forward.0),
            first_end_us: moment(forward.1),
            end_us: moment(backward.map_or(forward.1, |(_, end)| end)),
            seconds: Some(f32::from(took)),
            clock: Clock::Events,
        };
        Sample { rank, log: usize::try_from(rank).unwrap(), record: 0, time }
    }

    fn of(samples: &[Sample]) -> Skew {
        skew(Key::default(), (None, None, None), samples)
    }

    #[test]
    fn one_slow_rank_stands_out() {
        let found = of(&[sample(0, (0, 1), None), sample(1, (0, 31), None), sample(2, (2, 3), None)]);
        assert_eq!((found.min, found.median_s, found.max), (Some((1.0, 0)), Some(1.0), Some((31.0, 1))));
        assert_eq!(found.stragglers, [(1, 31.0)]);
        assert_eq!((found.start_spread_s, found.waited_s), (Some(2.0), Some(30.0 + 28.0)));
        assert_eq!(found.slowest, (1, 0));
    }

    #[test]
    fn one_of_two_can_stand_out() {
        assert_eq!(of(&[sample(0, (0, 31), None), sample(1, (0, 1), None)]).stragglers, [(0, 31.0)]);
    }

    #[test]
    fn what_takes_long_everywhere_does_not() {
        let times = [(0, 20), (0, 25), (0, 60)];
        let samples: Vec<Sample> = (0..).zip(times).map(|(rank, time)| sample(rank, time, None)).collect();
        assert!(of(&samples).stragglers.is_empty(), "less than three times more");
        let samples: Vec<Sample> = (0..).zip([(0, 1), (0, 1), (0, 5)]).map(|(rank, t)| sample(rank, t, None)).collect();
        assert!(of(&samples).stragglers.is_empty(), "less than five seconds more");
    }

    #[test]
    fn waiting_between_forward_and_backward_counts() {
        // The forward is slow on one rank; all end their backward at the same time.
        let found = of(&[sample(0, (0, 1), Some((40, 41))), sample(1, (0, 31), Some((40, 41)))]);
        assert_eq!(found.waited_s, Some(30.0));
        let found = of(&[sample(0, (0, 1), Some((2, 3))), sample(1, (0, 1), Some((2, 33)))]);
        assert_eq!(found.waited_s, Some(30.0));
    }

    #[test]
    fn what_is_not_known_is_null() {
        let unknown = Sample { rank: 3, log: 3, record: 7, time: CompileTime::default() };
        let found = of(&[unknown]);
        assert_eq!((found.min, found.median_s, found.max, found.waited_s), (None, None, None, None));
        assert_eq!((found.start_spread_s, found.first_start_us, found.slowest), (None, None, (3, 7)));
        let found = of(&[unknown, sample(0, (1, 2), None)]);
        assert_eq!((found.ranks, found.waited_s, found.start_spread_s), (2, None, None));
        assert_eq!(of(&[]).ranks, 0);
    }
}
