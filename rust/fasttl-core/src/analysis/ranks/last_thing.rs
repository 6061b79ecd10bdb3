//! The last thing that a process was doing, as far as its log goes: what a killed or hanging job is asked first.

use rustc_hash::FxHashSet;

use super::Key;
use super::timing::{is_own, micros};
use crate::analysis::causes::{Code, short_code};
use crate::analysis::compiles::{Compile, Compiles, Status};
use crate::analysis::spans::phase::phase_of;
use crate::analysis::spans::{Span, Spans, State};
use crate::format::kind::Kind;
use crate::trace::Log;

/// Open spans and compiles without an end that are kept.
const OPEN: usize = 16;

/// Characters of a name that are kept.
const NAME: usize = 200;

/// A step that was begun and has no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenStep {
    /// Name of the span.
    pub name: String,
    /// Its compile, if it has one.
    pub key: Option<Key>,
    /// When it began.
    pub start_us: Option<i64>,
    /// The record of its begin.
    pub record: usize,
}

/// A compile that stands at the end of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCompile {
    /// Generation and id.
    pub key: Key,
    /// What was compiled: function, file, line.
    pub(crate) code: Code,
    /// How it ended.
    pub status: Status,
    /// Its first record.
    pub record: usize,
}

/// The last thing that a process was doing, as far as its log goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastThing {
    /// Innermost open spans, the one that began last in front; a process may have several threads.
    pub open: Vec<OpenStep>,
    /// Compiles without an end, the last first.
    pub unfinished: Vec<LastCompile>,
    /// The latest compile.
    pub compile: Option<LastCompile>,
    /// The last record.
    pub record: Option<usize>,
    /// Kind, or name where there is one, of the last record that is no timing event.
    pub step: String,
}

/// Finds it.
pub(super) fn last_thing(log: &Log, spans: &Spans, compiles: &Compiles) -> LastThing {
    let own = |at: usize| log.index.records.get(at).filter(|record| is_own(log, record));
    let all = || compiles.iter().rev().filter(|compile| compile.was_compiled() && own(compile.first).is_some());
    let last_compile = |compile: &Compile| LastCompile {
        key: (compile.generation, compile.id),
        code: short_code(compile.code_owned()),
        status: compile.status,
        record: compile.first,
    };
    let last = log.index.records.iter().enumerate().rev().find(|(_, record)| is_own(log, record));
    let names = &log.index.names;
    // That a span ended tells less than what was logged in it.
    let told = log
        .index
        .records
        .iter()
        .rev()
        .find(|record| is_own(log, record) && !record.kind.is(Kind::ChromiumEvent) && !record.kind.is(Kind::Str));
    let step = told
        .or(last.map(|(_, record)| record))
        .map(|record| names.name(record).unwrap_or_else(|| names.kind(record.kind)));
    LastThing {
        open: open_steps(log, spans, compiles),
        unfinished: all().filter(|compile| compile.unfinished).take(OPEN).map(last_compile).collect(),
        compile: all().next().map(last_compile),
        record: last.map(|(at, _)| at),
        step: kept_name(step.unwrap_or_default()),
    }
}

fn kept_name(name: &str) -> String {
    name.chars().take(NAME).collect()
}

/// Innermost spans that are open at the end of the log. One that only lost its end is not: its compile has ended, or
/// something outside of it came after.
fn open_steps(log: &Log, spans: &Spans, compiles: &Compiles) -> Vec<OpenStep> {
    let list = &spans.list;
    // The outermost span around each, which stands before it.
    let mut roots: Vec<usize> = Vec::with_capacity(list.len());
    for (at, span) in list.iter().enumerate() {
        roots.push(span.parent.and_then(|parent| roots.get(parent).copied()).unwrap_or(at));
    }
    let latest = list.iter().rposition(|span| span.state.is_span()).and_then(|at| roots.get(at).copied());
    let key = |span: &Span| {
        let record = log.index.records.get(span.record).filter(|record| is_own(log, record))?;
        Some((record.generation, span.id.without_attempt()))
    };
    let is_open = |at: usize, span: &Span| {
        let Some((generation, id)) = key(span).filter(|_| span.state == State::Unfinished) else { return false };
        match compiles.get(generation, id) {
            Some(compile) if compile.unfinished => true,
            // Its frame was compiled: what is open is the backward, or nothing.
            Some(_) => {
                roots.get(at) == latest.as_ref()
                    && root_is_backward(spans, roots.get(at).and_then(|root| list.get(*root)))
            }
            None => roots.get(at) == latest.as_ref(),
        }
    };
    let open: Vec<usize> = list.iter().enumerate().filter(|(at, span)| is_open(*at, span)).map(|(at, _)| at).collect();
    let around: FxHashSet<usize> = open.iter().filter_map(|at| list.get(*at).and_then(|span| span.parent)).collect();
    let step = |at: &usize| {
        let span = list.get(*at)?;
        let (generation, id) = key(span)?;
        Some(OpenStep {
            name: kept_name(spans.name(span).unwrap_or_default()),
            key: (!id.is_none()).then_some((generation, id)),
            start_us: span.start_us.map(micros),
            record: span.record,
        })
    };
    open.iter().rev().filter(|at| !around.contains(at)).take(OPEN).filter_map(step).collect()
}

fn root_is_backward(spans: &Spans, root: Option<&Span>) -> bool {
    let name = root.and_then(|root| spans.name(root));
    name.and_then(phase_of) == Some("backward")
}

#[cfg(test)]
mod tests {
    use super::super::timing::tests::{Lines, timed};
    use super::*;
    use crate::analysis::compiles::Status;

    fn open(lines: Lines) -> Vec<(String, String)> {
        let text = |key: Option<Key>| key.map_or_else(String::new, |(_, id)| id.to_string());
        timed(lines).last.open.into_iter().map(|step| (step.name, text(step.key))).collect()
    }

    fn step(name: &str, id: &str) -> (String, String) {
        (name.to_owned(), id.to_owned())
    }

    #[test]
    fn a_process_that_was_killed_was_in_its_innermost_span() {
        let killed = Lines::default()
            .compile("0/0", 0, 10)
            .event("B", "dynamo", "1/0", 20)
            .start("1/0")
            .event("B", "backend_compile", "1/0", 21)
            .event("B", "code_gen", "1/0", 22)
            .event("E", "code_gen", "1/0", 23);
        let last = timed(killed.clone()).last;
        assert_eq!(open(killed), [step("backend_compile", "1/0")]);
        let ids: Vec<String> = last.unfinished.iter().map(|compile| compile.key.1.to_string()).collect();
        assert_eq!(ids, ["1/0"]);
        assert_eq!(last.compile.unwrap().status, Status::Missing);
        assert_eq!(last.step, "dynamo_start");
    }

    #[test]
    fn threads_are_in_a_span_each() {
        let both = Lines::default()
            .event("B", "dynamo", "0/0", 0)
            .start("0/0")
            .event("B", "dynamo", "1/0", 5)
            .start("1/0")
            .event("B", "inductor_compile", "0/0", 6);
        assert_eq!(open(both), [step("inductor_compile", "0/0"), step("dynamo", "1/0")]);
    }

    #[test]
    fn an_end_that_was_lost_leaves_nothing_open() {
        let lost = Lines::default()
            .event("B", "dynamo", "0/0", 0)
            .start("0/0")
            .event("B", "backend_compile", "0/0", 1)
            .metrics("0/0", 3.0)
            .event("E", "dynamo", "0/0", 3_000_000);
        assert_eq!(open(lost.clone()), []);
        assert_eq!(open(lost.compile("1/0", 4_000_000, 5_000_000)), []);
        // The end of the frame itself is lost, and nothing comes after.
        let frame = Lines::default().event("B", "dynamo", "0/0", 0).start("0/0").metrics("0/0", 3.0);
        assert_eq!(open(frame), []);
    }

    #[test]
    fn a_backward_that_hangs_is_open() {
        let hangs = Lines::default().compile("0/0", 0, 10).event("B", "entire_backward_compile", "0/0", 20).event(
            "B",
            "inductor_compile",
            "0/0",
            21,
        );
        assert_eq!(open(hangs.clone()), [step("inductor_compile", "0/0")]);
        assert_eq!(open(hangs.compile("1/0", 30, 40)), [], "something else came after");
    }
}
