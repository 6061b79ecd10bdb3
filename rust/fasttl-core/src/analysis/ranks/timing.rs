//! What the comparison of ranks keeps of a log's times: when each compile was worked on, and when anything was.
//!
//! Timing events have one clock, microseconds since 1970, and are what counts. A compile without them is timed by its
//! metrics. Clocks of machines may differ all the same: durations are sure, moments are as good as the clocks.

use rustc_hash::FxHashMap;

use super::Key;
use super::last_thing::{LastThing, last_thing};
use super::stretches::{Stretch, coarse, merged, seconds_between};
use crate::analysis::compiles::{Compile, Compiles};
use crate::analysis::spans::phase::phase_of;
use crate::analysis::spans::{Span, Spans, State, spans};
use crate::index::Record;
use crate::trace::Log;

/// Where the times of a compile come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The log has none.
    #[default]
    None,
    /// Its timing events.
    Events,
    /// Its metrics.
    Metrics,
}

/// When a compile was worked on, backward graphs and tries that were started over included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompileTime {
    /// When work on it began, in microseconds since 1970.
    pub start_us: Option<i64>,
    /// When the first stretch of work ended: before a backward graph that is compiled later.
    pub first_end_us: Option<i64>,
    /// When the last ended; `None` where one has no end.
    pub end_us: Option<i64>,
    /// Seconds of work; `None` where some of it has no end. Never negative, never NaN.
    pub seconds: Option<f32>,
    /// What tells all this.
    pub clock: Clock,
}

/// What is kept of the times of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogTime {
    /// Of each compile of the log, in the order of these.
    pub compiles: Vec<CompileTime>,
    /// When the compiler was at work: begin and end in microseconds since 1970, in order and apart from each other.
    pub busy: Vec<(i64, i64)>,
    /// When the first record was logged.
    pub first_us: Option<i64>,
    /// When the last was.
    pub last_us: Option<i64>,
    /// What it was doing at its end.
    pub last: LastThing,
}

/// No compile takes this long: such a number is damage.
const CENTURY_S: f64 = 3e9;

/// Reads the times of a log. `bytes` are the log's, `compiles` those that were found in it.
pub(crate) fn timing(log: &Log, bytes: &[u8], compiles: &Compiles) -> LogTime {
    let spans = spans(log, bytes);
    let found = Found::new(log, &spans, compiles);
    let times = compiles.iter().enumerate().map(|(at, compile)| found.compile(at, compile, log)).collect();
    LogTime {
        compiles: times,
        busy: coarse(merged(found.busy)),
        first_us: log.first_us,
        last_us: log.last_us,
        last: last_thing(log, &spans, compiles),
    }
}

/// The stretches of work of a log, by compile and all together.
struct Found {
    of_compile: FxHashMap<usize, Of>,
    busy: Vec<Stretch>,
}

/// The spans of one compile.
#[derive(Default)]
struct Of {
    whole: Vec<Stretch>,
    /// When the first of those without an end began, or `i64::MAX` where that is not known.
    open_us: Option<i64>,
    /// Whether a backward graph was begun and its end is not there.
    open_backward: bool,
}

impl Found {
    fn new(log: &Log, spans: &Spans, compiles: &Compiles) -> Self {
        let numbers: FxHashMap<Key, usize> =
            compiles.iter().enumerate().map(|(at, c)| ((c.generation, c.id), at)).collect();
        let mut found = Self { of_compile: FxHashMap::default(), busy: Vec::new() };
        let inner = inner(spans);
        for (span, is_inner) in spans.list.iter().zip(inner).filter(|(span, _)| span.state.is_span()) {
            let Some(record) = log.index.records.get(span.record).filter(|record| is_own(log, record)) else {
                continue;
            };
            let phase = spans.name(span).and_then(phase_of);
            if phase == Some("runtime") || (span.id.is_none() && phase.is_none()) {
                continue;
            }
            let compile = numbers.get(&(record.generation, span.id.without_attempt())).copied();
            found.take(span, compile, phase, is_inner);
        }
        found
    }

    fn take(&mut self, span: &Span, compile: Option<usize>, phase: Option<&str>, is_inner: bool) {
        match stretch(span) {
            // The one around it has its time, and its end.
            _ if is_inner => {}
            Some(stretch) => {
                self.busy.push(stretch);
                if let Some(at) = compile {
                    self.of_compile.entry(at).or_default().whole.push(stretch);
                }
            }
            None => {
                let Some(at) = compile else { return };
                let of = self.of_compile.entry(at).or_default();
                let start_us = span.start_us.filter(|_| span.state == State::Unfinished).map_or(i64::MAX, micros);
                of.open_us = Some(of.open_us.map_or(start_us, |before| before.min(start_us)));
                of.open_backward |= phase == Some("backward");
            }
        }
    }

    fn compile(&self, at: usize, compile: &Compile, log: &Log) -> CompileTime {
        let Some(of) = self.of_compile.get(&at) else { return by_metrics(compile, log) };
        let stretches = merged(of.whole.clone());
        let first_us = stretches.first().map(|(start, _)| *start);
        let open_us = of.open_us.filter(|us| *us < i64::MAX);
        let start_us = first_us.into_iter().chain(open_us).min();
        if of.open_us.is_some() {
            let lost = by_metrics(compile, log);
            // An end was lost, and the metrics tell how long it took.
            if lost.seconds.is_some() && !of.open_backward {
                return CompileTime { start_us: start_us.or(lost.start_us), ..lost };
            }
            return CompileTime {
                start_us: start_us.or(lost.start_us),
                first_end_us: lost.first_end_us,
                end_us: None,
                seconds: None,
                clock: Clock::Events,
            };
        }
        CompileTime {
            start_us,
            first_end_us: stretches.first().map(|(_, end)| *end),
            end_us: stretches.last().map(|(_, end)| *end),
            seconds: seconds(stretches.iter().map(|(start, end)| seconds_between(*start, *end)).sum()),
            clock: Clock::Events,
        }
    }
}

/// Whether a record is of the rank that the log is of.
pub(super) fn is_own(log: &Log, record: &Record) -> bool {
    record.rank.is_none() || record.rank == log.index.rank
}

/// Whether each span lies in one of the same compile that is timed.
fn inner(spans: &Spans) -> Vec<bool> {
    let mut inner: Vec<bool> = Vec::with_capacity(spans.list.len());
    // A span stands behind the one that it lies in.
    for span in &spans.list {
        let is_inner = span.parent.and_then(|at| Some((spans.list.get(at)?, *inner.get(at)?)));
        let same = |around: &Span| around.id.without_attempt() == span.id.without_attempt();
        inner.push(is_inner.is_some_and(|(around, deeper)| same(around) && (deeper || stretch(around).is_some())));
    }
    inner
}

fn stretch(span: &Span) -> Option<Stretch> {
    span.duration_us().filter(|us| us / 1e6 < CENTURY_S)?;
    Some((micros(span.start_us?), micros(span.end_us?)))
}

#[expect(clippy::cast_possible_truncation, reason = "times of events are bounded; a cast of a float saturates")]
pub(super) const fn micros(us: f64) -> i64 {
    us as i64
}

/// The seconds, where they can be any.
#[expect(clippy::cast_possible_truncation, reason = "the range fits, and seven digits are enough")]
fn seconds(seconds: f64) -> Option<f32> {
    (0.0..CENTURY_S).contains(&seconds).then_some(seconds as f32)
}

/// The times of a compile that has no timing events.
fn by_metrics(compile: &Compile, log: &Log) -> CompileTime {
    let seconds_of = |s: Option<f64>| s.and_then(seconds);
    let frame_s = seconds_of(compile.phases.frame_s);
    let backward_s = seconds_of(compile.phases.backward_s);
    let time_of = |at: &usize| log.index.records.get(*at)?.time_us();
    // Metrics are logged when it is over.
    let first_end_us = compile.metrics.iter().filter_map(time_of).max();
    let all_s = match (frame_s, backward_s) {
        (Some(frame), backward) => Some(frame + backward.unwrap_or(0.0)),
        (None, backward) => backward,
    };
    CompileTime {
        start_us: compile.start_us,
        first_end_us,
        end_us: compile.backward.iter().filter_map(time_of).max().or(first_end_us),
        seconds: all_s,
        clock: if all_s.is_some() { Clock::Metrics } else { Clock::None },
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::analysis::compiles::compiles;
    use crate::format::payload::{md5, md5_hex};
    use crate::job::{Job, on_pool};
    use crate::tables::MetricRecords;
    use crate::trace::{LoadOptions, load};

    /// 2026-11-29, in microseconds since 1970.
    const DAY: i64 = 1_795_910_400_000_000;

    /// A log, written record by record. Times are microseconds of that day.
    #[derive(Clone, Default)]
    pub(in super::super) struct Lines(String);

    impl Lines {
        fn add(mut self, members: &str, payload: Option<&str>) -> Self {
            write!(self.0, "V1129 00:00:01.000001 7 torch/x.py:3] {{{members}").unwrap();
            if let Some(text) = payload {
                write!(self.0, ", \"has_payload\": \"{}\"}}\n\t{text}", md5_hex(md5(text.as_bytes()))).unwrap();
            } else {
                self.0.push('}');
            }
            self.0.push('\n');
            self
        }

        pub(in super::super) fn event(self, ph: &str, name: &str, id: &str, ts: i64) -> Self {
            let event = format!("{{\"name\": \"{name}\", \"ts\": {}.0, \"args\": {{}}, \"ph\": \"{ph}\"}}", DAY + ts);
            self.add(&format!("\"chromium_event\": {{}}{}", ids(id)), Some(&event))
        }

        pub(in super::super) fn start(self, id: &str) -> Self {
            self.add(&format!("\"dynamo_start\": {{\"stack\": []}}{}", ids(id)), None)
        }

        pub(in super::super) fn metrics(self, id: &str, seconds: f64) -> Self {
            let metrics = format!(
                "\"compilation_metrics\": {{\"entire_frame_compile_time_s\": {seconds}, \"start_time_us\": {DAY}, \"graph_op_count\": 1}}"
            );
            self.add(&format!("{metrics}{}", ids(id)), None)
        }

        /// A compile that begins and ends at these times.
        pub(in super::super) fn compile(self, id: &str, start: i64, end: i64) -> Self {
            let begun = self.event("B", "dynamo", id, start).start(id);
            begun.metrics(id, seconds_between(start, end)).event("E", "dynamo", id, end)
        }
    }

    fn ids(id: &str) -> String {
        id.split_once('/').map_or(String::new(), |(frame, compile)| {
            format!(", \"frame_id\": {frame}, \"frame_compile_id\": {compile}, \"attempt\": 0")
        })
    }

    pub(in super::super) fn timed(lines: Lines) -> LogTime {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("dedicated_log_torch_trace_abcdefgh.log"), lines.0).unwrap();
        let paths = [folder.path().to_owned()];
        let trace = on_pool(None, || load(&paths, &LoadOptions::default(), &Job::default())).unwrap();
        let log = &trace.logs[0];
        let view = log.view().unwrap();
        timing(log, &view, &compiles(&trace, log, &view, &MetricRecords::new(&log.index, &view)))
    }

    /// Start, first end and end in microseconds of the day, and seconds.
    type Times = (Option<i64>, Option<i64>, Option<i64>, Option<f32>);

    fn times(lines: Lines) -> Vec<Times> {
        let of_day = |us: Option<i64>| us.map(|us| us - DAY);
        let one =
            |time: CompileTime| (of_day(time.start_us), of_day(time.first_end_us), of_day(time.end_us), time.seconds);
        timed(lines).compiles.into_iter().map(one).collect()
    }

    fn busy(lines: Lines) -> Vec<(i64, i64)> {
        timed(lines).busy.into_iter().map(|(start, end)| (start - DAY, end - DAY)).collect()
    }

    #[test]
    fn a_compile_takes_what_its_frame_and_its_backward_take() {
        let lines = Lines::default()
            .compile("0/0", 1_000_000, 3_000_000)
            .compile("1/0", 3_500_000, 4_000_000)
            .event("B", "entire_backward_compile", "0/0", 10_000_000)
            .event("B", "inductor_compile", "0/0", 10_000_001)
            .event("E", "inductor_compile", "0/0", 10_999_999)
            .event("E", "entire_backward_compile", "0/0", 11_000_000);
        assert_eq!(
            times(lines.clone()),
            [
                (Some(1_000_000), Some(3_000_000), Some(11_000_000), Some(3.0)),
                (Some(3_500_000), Some(4_000_000), Some(4_000_000), Some(0.5))
            ]
        );
        assert_eq!(busy(lines), [(1_000_000, 3_000_000), (3_500_000, 4_000_000), (10_000_000, 11_000_000)]);
    }

    #[test]
    fn what_has_no_end_has_no_duration() {
        let open = Lines::default()
            .event("B", "dynamo", "0/0", 5)
            .start("0/0")
            .event("B", "inductor_compile", "0/0", 10)
            .event("E", "inductor_compile", "0/0", 20);
        assert_eq!(times(open.clone()), [(Some(5), None, None, None)]);
        assert_eq!(busy(open), [(10, 20)], "work that is sure");
        let backward = Lines::default().compile("0/0", 0, 10).event("B", "entire_backward_compile", "0/0", 20);
        assert_eq!(times(backward)[0].3, None);
    }

    #[test]
    fn where_an_end_is_lost_the_metrics_tell() {
        let outer = Lines::default().event("B", "dynamo", "0/0", 5).start("0/0").metrics("0/0", 2.0);
        assert_eq!(times(outer.clone())[0].3, Some(2.0));
        assert_eq!(timed(outer).compiles[0].clock, Clock::Metrics);
        let inner = Lines::default()
            .event("B", "dynamo", "0/0", 5)
            .start("0/0")
            .event("B", "inductor_compile", "0/0", 10)
            .event("E", "dynamo", "0/0", 1_000_005);
        assert_eq!(times(inner), [(Some(5), Some(1_000_005), Some(1_000_005), Some(1.0))]);
    }

    #[test]
    fn without_events_metrics_tell() {
        let time = timed(Lines::default().start("0/0").metrics("0/0", 2.5)).compiles[0];
        assert_eq!((time.seconds, time.clock, time.start_us), (Some(2.5), Clock::Metrics, Some(DAY)));
        let time = timed(Lines::default().start("0/0").metrics("0/0", -2.5)).compiles[0];
        assert_eq!((time.seconds, time.clock), (None, Clock::None));
    }

    #[test]
    fn what_runs_is_no_compile() {
        let lines = Lines::default()
            .compile("0/0", 0, 10)
            .event("B", "cudagraphify", "0/0", 20)
            .event("E", "cudagraphify", "0/0", 900)
            .event("B", "my own step", "", 20)
            .event("E", "my own step", "", 900);
        assert_eq!(times(lines.clone()), [(Some(0), Some(10), Some(10), Some(1e-5))]);
        assert_eq!(busy(lines), [(0, 10)]);
    }

    #[test]
    fn a_clock_that_goes_back_gives_no_duration() {
        let time = timed(Lines::default().event("B", "dynamo", "0/0", 50).start("0/0").event("E", "dynamo", "0/0", 5));
        assert_eq!(time.compiles[0].seconds, None);
        assert_eq!(time.busy, []);
    }
}
