//! Begins and ends made spans.
//!
//! A record does not say which thread it is of. Of one thread, spans end in the reverse order of their begins; so an
//! end belongs to the latest begin of the same process, name and compile that has none.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Span, Spans, State};
use crate::format::compile_id::CompileId;
use crate::format::event::{self, Moment};
use crate::format::kind::Kind;
use crate::index::{Mark, NONE, Record};
use crate::trace::Log;

/// What is read of a record.
struct Read<'a> {
    record: usize,
    moment: Moment,
    name: Option<Cow<'a, str>>,
    ts_us: Option<f64>,
    id: CompileId,
}

/// The spans of a log, not yet in lanes.
pub(super) fn paired(log: &Log, bytes: &[u8]) -> Spans {
    let read = |(at, record)| read(log, at, record, bytes);
    let events: Vec<Read<'_>> = log.index.records.par_iter().enumerate().filter_map(read).collect();
    let mut pairing = Pairing {
        // A record that tells no rank is one of the log's own.
        own_rank: log.index.records.iter().find_map(|r| r.rank),
        ..Pairing::default()
    };
    for event in events {
        if let Some(record) = log.index.records.get(event.record) {
            pairing.add(event, record);
        }
    }
    pairing.spans
}

fn read<'a>(log: &Log, at: usize, record: &Record, bytes: &'a [u8]) -> Option<Read<'a>> {
    // What is no JSON stands in `problems`.
    if !record.kind.is(Kind::ChromiumEvent) || record.mark == Mark::Broken {
        return None;
    }
    let payload = log.index.payload(record, bytes);
    let head = log.index.names.id(record);
    let whole = |event: event::Event<'a>, name| Read {
        record: at,
        moment: event.moment,
        name,
        ts_us: event.ts_us,
        id: if head.is_none() { event.id } else { head },
    };
    if record.plain {
        // No string has a line feed in it, so that the TABs of the lines are white space to JSON.
        let event = event::parse(payload.raw())?;
        return Some(whole(event, event.name.map(event::name)));
    }
    let text = payload.text();
    let event = event::parse(&text)?;
    let name = event.name.map(|name| Cow::Owned(event::name(name).into_owned()));
    Some(whole(event::Event { name: None, ..event }, name))
}

/// A number for each value, in the order in which they come.
type Numbers<K> = FxHashMap<K, u32>;

fn number<K: std::hash::Hash + Eq>(numbers: &mut Numbers<K>, key: K) -> u32 {
    // There are never four billion records.
    let next = u32::try_from(numbers.len()).unwrap_or(NONE);
    *numbers.entry(key).or_insert(next)
}

#[derive(Default)]
struct Pairing {
    own_rank: Option<i32>,
    spans: Spans,
    names: Numbers<String>,
    /// By process id and rank.
    processes: Numbers<(Option<u64>, Option<i32>)>,
    /// By process, generation and id without attempt.
    compiles: Numbers<(u32, u32, CompileId)>,
    /// By generation, compile and name.
    groups: Numbers<(u32, Option<u32>, u32)>,
    /// Spans that have no end yet, by process, compile and name.
    open: FxHashMap<(u32, Option<u32>, u32), Vec<usize>>,
}

impl Pairing {
    fn add(&mut self, event: Read<'_>, record: &Record) {
        let name = event.name.map_or(NONE, |name| self.name(name));
        let process = number(&mut self.processes, (record.thread, record.rank.or(self.own_rank)));
        let compile = (!event.id.is_none())
            .then(|| number(&mut self.compiles, (process, record.generation, event.id.without_attempt())));
        let key = (process, compile, name);
        if event.moment == Moment::End
            && let Some(begun) = self.open.get_mut(&key).and_then(Vec::pop)
        {
            if let Some(span) = self.spans.list.get_mut(begun) {
                (span.end, span.end_us, span.state) = (Some(event.record), event.ts_us, State::Whole);
            }
            return;
        }
        let (state, start_us, end_us, end) = match event.moment {
            Moment::Begin => (State::Unfinished, event.ts_us, None, None),
            Moment::End => (State::NoBegin, None, event.ts_us, Some(event.record)),
            Moment::Instant => (State::Instant, event.ts_us, None, None),
            Moment::Unknown => (State::Unknown, event.ts_us, None, None),
        };
        if event.moment == Moment::Begin {
            self.open.entry(key).or_default().push(self.spans.list.len());
        }
        self.spans.list.push(Span {
            record: event.record,
            end,
            state,
            name,
            id: event.id,
            start_us,
            end_us,
            process,
            compile,
            group: number(&mut self.groups, (record.generation, compile, name)),
            lane: 0,
            depth: 0,
            parent: None,
            self_us: None,
            is_within_own: false,
        });
    }

    fn name(&mut self, name: Cow<'_, str>) -> u32 {
        if let Some(known) = self.names.get(&*name) {
            return *known;
        }
        let name = name.into_owned();
        self.spans.names.push(name.clone());
        number(&mut self.names, name)
    }
}
