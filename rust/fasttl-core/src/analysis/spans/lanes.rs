//! Spans put into each other, and what each took by itself.
//!
//! The log has no thread ids. So a span is put into the innermost open one of its compile, where it fits into that; else
//! into a lane whose innermost open span it fits into; else into a lane in which nothing is open. It fits where it
//! begins and ends within the other by the order of the records *and* by the clock: the order alone tells spans of
//! one moment apart, and where a clock went back, the times alone would be taken for something they are not.
//!
//! A span whose end is lost takes what is of its own compile or of none, since it may be the last of a process that
//! was killed, or have ended long before.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{Span, State};

/// Lanes that are looked at for one span: a hostile log may have as many as it has records.
const TRIED: usize = 16;

/// Puts all spans, which stand in the order of their records, into lanes.
pub(super) fn arrange(list: &mut [Span]) {
    // By record: what begins there, or ends. Both are in order already, each by itself.
    let mut steps: Vec<(usize, bool, usize)> = Vec::with_capacity(2 * list.len());
    for (at, span) in list.iter().enumerate() {
        steps.push((span.record, true, at));
        if let (State::Whole, Some(end)) = (span.state, span.end) {
            steps.push((end, false, at));
        }
    }
    steps.sort_unstable();
    let mut lanes = Lanes { list, ..Lanes::default() };
    for (_, begins, at) in steps {
        if begins { lanes.begin(at) } else { lanes.end(at) }
    }
    for lane in 0..lanes.all.len() {
        while lanes.pop(lane).is_some() {}
    }
}

/// A span that lies in a lane and has not ended.
#[derive(Clone, Copy)]
struct Open {
    span: usize,
    /// Whether it has no end of its own.
    is_unfinished: bool,
    /// The record at which it is over at the latest: its end, else that of the span around it.
    end: Option<usize>,
    compile: Option<u32>,
    group: u32,
    took_us: Option<f64>,
    /// What comes next in it begins here at the earliest …
    reached_us: f64,
    /// … and ends here at the latest.
    until_us: f64,
    /// What the spans within it took.
    inner_us: f64,
}

#[derive(Default)]
struct Lane {
    process: u32,
    open: Vec<Open>,
    /// Where the latest of its outermost spans ended.
    reached_us: Option<f64>,
}

#[derive(Default)]
struct Lanes<'s> {
    list: &'s mut [Span],
    all: Vec<Lane>,
    /// The lane in which a span of a compile began last.
    of_compile: FxHashMap<u32, usize>,
    /// Lanes with open spans, the one in which something began last at the end; not more than are looked at.
    recent: Vec<usize>,
    /// Lanes of a process in which nothing is open.
    free: FxHashMap<u32, BTreeSet<usize>>,
    /// How many spans of a group that have a duration are open in a lane.
    timed: FxHashMap<(usize, u32), u32>,
}

impl Lanes<'_> {
    fn begin(&mut self, at: usize) {
        let Some(span) = self.list.get(at).cloned() else { return };
        let lane = self.lane_for(&span);
        let Some(open) = self.all.get(lane).map(|lane| &lane.open) else { return };
        let (depth, top) = (open.len(), open.last().copied());
        let took_us = span.duration_us();
        let is_within_own = took_us.is_some() && self.timed.contains_key(&(lane, span.group));
        if let Some(span) = self.list.get_mut(at) {
            span.lane = u32::try_from(lane).unwrap_or(u32::MAX);
            span.depth = u32::try_from(depth).unwrap_or(u32::MAX);
            span.parent = top.map(|top| top.span);
            span.is_within_own = is_within_own;
        }
        if !matches!(span.state, State::Whole | State::Unfinished) {
            return;
        }
        if took_us.is_some() {
            *self.timed.entry((lane, span.group)).or_default() += 1;
        }
        // What has no duration has the room of the span that it lies in.
        let reached_us = top.map(|top| top.reached_us).or_else(|| self.all.get(lane)?.reached_us);
        let open = Open {
            span: at,
            is_unfinished: span.state == State::Unfinished,
            end: span.end.or(top.and_then(|top| top.end)),
            compile: span.compile,
            group: span.group,
            took_us,
            reached_us: known_start(&span).unwrap_or(f64::MIN).max(reached_us.unwrap_or(f64::MIN)),
            until_us: span.end_us.filter(|_| took_us.is_some()).or(top.map(|top| top.until_us)).unwrap_or(f64::MAX),
            inner_us: 0.0,
        };
        if let Some(place) = self.all.get_mut(lane) {
            place.open.push(open);
        }
        self.note_open(lane, &span, depth == 0);
    }

    /// Keeps in mind that a span has begun in a lane.
    fn note_open(&mut self, lane: usize, span: &Span, is_first: bool) {
        if let Some(compile) = span.compile {
            self.of_compile.insert(compile, lane);
        }
        if is_first && let Some(free) = self.free.get_mut(&span.process) {
            free.remove(&lane);
        }
        self.recent.retain(|other| *other != lane);
        if self.recent.len() == TRIED {
            self.recent.remove(0);
        }
        self.recent.push(lane);
    }

    /// Ends a span, and with it those within it that have no end.
    fn end(&mut self, at: usize) {
        let Some(lane) = self.list.get(at).and_then(|span| usize::try_from(span.lane).ok()) else { return };
        while let Some(ended) = self.pop(lane) {
            if ended == at {
                return;
            }
        }
    }

    /// Takes the innermost span out of a lane, and gives it what it took by itself.
    fn pop(&mut self, lane: usize) -> Option<usize> {
        let place = self.all.get_mut(lane)?;
        let ended = place.open.pop()?;
        // A span without a duration leaves what lies in it to the one around it.
        let took_us = ended.took_us.unwrap_or(ended.inner_us);
        let reached_us = if ended.took_us.is_some() { ended.until_us } else { ended.reached_us };
        if let Some(around) = place.open.last_mut() {
            around.inner_us += took_us;
            around.reached_us = around.reached_us.max(reached_us);
        } else {
            place.reached_us = Some(reached_us.max(place.reached_us.unwrap_or(f64::MIN)));
            self.free.entry(place.process).or_default().insert(lane);
            self.recent.retain(|other| *other != lane);
        }
        if let (Some(took_us), Some(span)) = (ended.took_us, self.list.get_mut(ended.span)) {
            // Times are exact to a quarter of a microsecond, and so are their sums.
            span.self_us = Some((took_us - ended.inner_us).max(0.0));
            if let Some(count) = self.timed.get_mut(&(lane, ended.group)) {
                *count -= 1;
                if *count == 0 {
                    self.timed.remove(&(lane, ended.group));
                }
            }
        }
        Some(ended.span)
    }

    fn lane_for(&mut self, span: &Span) -> usize {
        let fits = |lane: &&usize| {
            self.all.get(**lane).is_some_and(|lane| {
                lane.process == span.process && lane.open.last().is_some_and(|top| fits_into(span, top))
            })
        };
        let own = span.compile.and_then(|compile| self.of_compile.get(&compile));
        if let Some(lane) = own.iter().copied().chain(self.recent.iter().rev()).find(fits) {
            return *lane;
        }
        let free = self.free.entry(span.process).or_default();
        let is_past = |lane: &&usize| {
            let reached_us = self.all.get(**lane).and_then(|lane| lane.reached_us);
            reached_us.zip(known_start(span)).is_none_or(|(reached, start)| reached <= start)
        };
        if let Some(lane) = free.iter().take(TRIED).find(is_past) {
            return *lane;
        }
        let new = self.all.len();
        self.all.push(Lane { process: span.process, ..Lane::default() });
        free.insert(new);
        new
    }
}

/// When a span begins, where it takes room in a lane.
fn known_start(span: &Span) -> Option<f64> {
    match span.state {
        State::Whole => span.duration_us().and(span.start_us),
        State::Unfinished => span.start_us,
        // When it was logged tells where these belong: a look-up in a cache is told when it is over, with the time
        // at which it began.
        State::Instant | State::NoBegin | State::Unknown => None,
    }
}

fn fits_into(span: &Span, top: &Open) -> bool {
    let is_related = span.compile == top.compile || span.compile.is_none() || top.compile.is_none();
    if !is_related && (top.is_unfinished || span.state == State::Unfinished) {
        return false;
    }
    let end = span.end.filter(|_| span.state == State::Whole);
    let end_us = span.duration_us().and(span.end_us);
    end.zip(top.end).is_none_or(|(end, top_end)| end < top_end)
        && known_start(span).is_none_or(|start| start >= top.reached_us && start <= top.until_us)
        && end_us.is_none_or(|end| end <= top.until_us)
}
