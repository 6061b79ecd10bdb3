//! Table `events`: a row for each timed step of the compiler.

use std::borrow::Cow;

use rayon::prelude::*;

use super::spans::phase::phase_of;
use super::spans::{Span, Spans, spans};
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::event;
use crate::index::Record;
use crate::tables::{Table, TableBuilder, TableDef};
use crate::trace::{Log, Trace};

pub(super) const EVENTS: TableDef = TableDef { name: "events", about: "a timed step of the compiler", build };

/// The spans of one log, with the arguments of each.
struct LogEvents<'t> {
    file: u32,
    log: &'t Log,
    spans: Spans,
    args: Vec<Args>,
}

/// Arguments as JSON, and the names of those that are left out.
type Args = (Option<String>, Vec<String>);

struct EventRow<'r> {
    of: &'r LogEvents<'r>,
    record: &'r Record,
    span: &'r Span,
    args: &'r Args,
}

impl EventRow<'_> {
    fn offset(&self, record: usize) -> Option<u64> {
        self.of.log.index.records.get(record).map(|record| record.offset)
    }

    fn name(&self) -> Option<&str> {
        self.of.spans.name(self.span)
    }
}

fn build(trace: &Trace) -> Result<Table> {
    let of_log = |(file, log): (usize, &'_ Log)| {
        let view = log.view()?;
        let spans = spans(log, &view);
        let args = |span: &Span| args(log, span, &view);
        let args = spans.list.par_iter().map(args).collect();
        let file = u32::try_from(file).unwrap_or(u32::MAX);
        Ok((file, spans, args))
    };
    let of_logs = trace.logs.par_iter().enumerate().map(of_log).collect::<Result<Vec<(u32, Spans, Vec<Args>)>>>()?;
    let with_log = |((file, spans, args), log)| LogEvents { file, log, spans, args };
    let of_logs: Vec<LogEvents<'_>> = of_logs.into_iter().zip(&trace.logs).map(with_log).collect();
    let rows: Vec<EventRow<'_>> = of_logs.iter().flat_map(rows_of).collect();
    places(own_times(ids(TableBuilder::new(&rows)))).finish("events")
}

fn rows_of<'r>(of: &'r LogEvents<'r>) -> impl Iterator<Item = EventRow<'r>> {
    let row = |(span, args): (&'r Span, &'r Args)| {
        let record = of.log.index.records.get(span.record)?;
        Some(EventRow { of, record, span, args })
    };
    of.spans.list.iter().zip(&of.args).filter_map(row)
}

/// The arguments of the end, which has those of the begin and what was found out since; else of the begin.
fn args(log: &Log, span: &Span, bytes: &[u8]) -> Args {
    let record = span.end.unwrap_or(span.record);
    let Some(record) = log.index.records.get(record) else { return Args::default() };
    let payload = log.index.payload(record, bytes);
    event::args(&payload.text())
}

fn ids<'r>(builder: TableBuilder<'r, EventRow<'r>>) -> TableBuilder<'r, EventRow<'r>> {
    builder
        .i32(
            "rank",
            "Rank of the process: as the record says, else as its file; null where the log has none.",
            |r| r.record.rank.or(r.of.log.rank),
        )
        .u32("file", "Number of the log: row of `files`.", |r| Some(r.of.file))
        .u32(
            "generation",
            "How often compile ids had started again in this file (`torch._dynamo.reset()`, or another rank's).",
            |r| Some(r.record.generation),
        )
        .keyed_name(
            "compile_id",
            "Compile id as PyTorch prints it, with the attempt in which it began: `0/1`, `0/1_2`, `!0/1/0`; as the head \
             of the record says, else as the arguments.",
            |r| Some(r.span.id).filter(|id| !id.is_none()),
            CompileId::to_string,
        )
        .i64("frame_id", "Number of the code frame, in order of first compile.", |r| r.span.id.frame_id)
        .i64("frame_compile_id", "How often the frame had been compiled before.", |r| r.span.id.frame_compile_id)
        .i64("attempt", "How often this compile had been restarted when it began; null at run time.", |r| {
            r.span.id.attempt
        })
        .i64("compiled_autograd_id", "Number of the compiled-autograd capture.", |r| r.span.id.compiled_autograd_id)
        .u64("offset", "Byte at which the record of the begin starts; of the end where only that is there.", |r| {
            Some(r.record.offset)
        })
        .u64("end_offset", "Byte at which the record of the end starts; null where there is none.", |r| {
            r.offset(r.span.end?)
        })
}

fn own_times<'r>(builder: TableBuilder<'r, EventRow<'r>>) -> TableBuilder<'r, EventRow<'r>> {
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked where it was read")]
    let micros = |us: Option<f64>| us.map(|us| us.floor() as i64);
    builder
        .name("name", "Name of the step; null where the log has none.", |r| r.name().map(Cow::Borrowed))
        .name(
            "state",
            "span, instant (it marks one moment), unfinished (it has no end), no_begin (it has an end only); null for an \
             event of another sort.",
            |r| r.span.state.name().map(Cow::Borrowed),
        )
        .time(
            "start",
            "When it began, or for an instant the time that it tells, which may be before it was logged; null where the \
             begin is missing or tells no time.",
            move |r| micros(r.span.start_us),
        )
        .time("end", "When it ended; null for an instant, and where the end is missing or tells no time.", move |r| {
            micros(r.span.end_us)
        })
        .f64(
            "duration_s",
            "Seconds from begin to end; null where either is not known, and where the clock was set back between.",
            |r| r.span.duration_us().map(|us| us / 1e6),
        )
        .f64(
            "self_s",
            "Seconds of it in which no span within it ran, in the same lane; null where `duration_s` is.",
            |r| r.span.self_us.map(|us| us / 1e6),
        )
        .name(
            "phase",
            "What its own time counts for, as its name tells: dynamo, guards, gc, backend, aot, backward, inductor, \
             codegen, kernels (compiling and loading them), cache or runtime; null for a name that is not known.",
            |r| r.name().and_then(phase_of).map(Cow::Borrowed),
        )
}

fn places<'r>(builder: TableBuilder<'r, EventRow<'r>>) -> TableBuilder<'r, EventRow<'r>> {
    builder
        .u32(
            "lane",
            "Stands for the thread, which the log does not tell: number within the file, from 0. Spans that overlap and \
             do not lie within each other are in different lanes.",
            |r| Some(r.span.lane),
        )
        .u32("depth", "How many spans of its lane it lies in: 0 for an outermost one.", |r| Some(r.span.depth))
        .u64("parent", "`offset` of the innermost of these; null for an outermost one.", |r| {
            r.offset(r.of.spans.list.get(r.span.parent?)?.record)
        })
        .text(
            "args",
            "Arguments of the end, else of the begin, as JSON without white space and without those in `args_left_out`; \
             null where there are none. The payload of the record at `end_offset`, else at `offset`, has all of them.",
            |r| r.args.0.as_deref().map(Cow::Borrowed),
        )
        .texts("args_left_out", "Names of arguments of more than 4,096 bytes, which are not in `args`.", |r| {
            Some(r.args.1.clone())
        })
}
