//! Table `phases`: the spans of `events` summed up for each compile and name.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::spans::phase::phase_of;
use super::spans::{Span, Spans, State, spans};
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::tables::{Row, Table, TableBuilder, TableDef};
use crate::trace::{Log, Trace};

pub(super) const PHASES: TableDef =
    TableDef { name: "phases", about: "the spans of one name of a compile, summed up", build };

/// Spans of one name, compile and generation.
struct Sum {
    /// The record of the first.
    record: usize,
    name: Option<String>,
    id: CompileId,
    count: u32,
    total_us: Option<f64>,
    self_us: Option<f64>,
    unfinished: u32,
}

struct SumRow<'t> {
    row: Row<'t>,
    sum: Sum,
}

fn build(trace: &Trace) -> Result<Table> {
    let of_log = |log: &Log| Ok(sums(&spans(log, &log.view()?)));
    let of_logs = trace.logs.par_iter().map(of_log).collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for ((file, log), sums) in (0..).zip(&trace.logs).zip(of_logs) {
        let row = |sum: Sum| {
            let record = log.index.records.get(sum.record)?;
            Some(SumRow { row: Row { file, log, record }, sum })
        };
        rows.extend(sums.into_iter().filter_map(row));
    }
    TableBuilder::new(&rows)
        .i32("rank", "Rank of the process: as the first record says, else as its file; null where the log has none.", |r| {
            r.row.record.rank.or(r.row.log.rank)
        })
        .u32("file", "Number of the log: row of `files`.", |r: &SumRow<'_>| Some(r.row.file))
        .u32(
            "generation",
            "How often compile ids had started again in this file (`torch._dynamo.reset()`, or another rank's).",
            |r| Some(r.row.record.generation),
        )
        .keyed_name(
            "compile_id",
            "Compile id without attempt; null for spans that belong to no compile.",
            |r| Some(r.sum.id).filter(|id| !id.is_none()),
            CompileId::to_string,
        )
        .i64("frame_id", "Number of the code frame, in order of first compile.", |r| r.sum.id.frame_id)
        .i64("frame_compile_id", "How often the frame had been compiled before.", |r| r.sum.id.frame_compile_id)
        .i64("compiled_autograd_id", "Number of the compiled-autograd capture.", |r| r.sum.id.compiled_autograd_id)
        .name("name", "Name of the spans; null where the log has none.", |r| r.sum.name.as_deref().map(Cow::Borrowed))
        .name(
            "phase",
            "What their own time counts for, as the name tells; see `events.phase`. Null for a name that is not known.",
            |r| r.sum.name.as_deref().and_then(phase_of).map(Cow::Borrowed),
        )
        .u32("count", "How many spans there are, those without a begin or an end included.", |r| Some(r.sum.count))
        .f64(
            "total_s",
            "Seconds that they took: the sum of `events.duration_s`, of spans within each other the outermost only; null \
             where no span has a duration.",
            |r| r.sum.total_us.map(|us| us / 1e6),
        )
        .f64("self_s", "Seconds of these in which no span within them ran; null where `total_s` is.", |r| {
            r.sum.self_us.map(|us| us / 1e6)
        })
        .u32("unfinished", "How many of them have no end.", |r| Some(r.sum.unfinished))
        .finish("phases")
}

/// Sums in the order in which their first spans stand in the log.
fn sums(spans: &Spans) -> Vec<Sum> {
    let mut sums: Vec<Sum> = Vec::new();
    let mut places: FxHashMap<u32, usize> = FxHashMap::default();
    for span in spans.list.iter().filter(|span| span.state.is_span()) {
        let place = *places.entry(span.group).or_insert(sums.len());
        if place == sums.len() {
            sums.push(Sum {
                record: span.record,
                name: spans.name(span).map(str::to_owned),
                id: span.id.without_attempt(),
                count: 0,
                total_us: None,
                self_us: None,
                unfinished: 0,
            });
        }
        if let Some(sum) = sums.get_mut(place) {
            add(sum, span);
        }
    }
    sums
}

fn add(sum: &mut Sum, span: &Span) {
    sum.count += 1;
    sum.unfinished += u32::from(span.state == State::Unfinished);
    let add = |sum: &mut Option<f64>, us: f64| *sum = Some(sum.unwrap_or(0.0) + us);
    if let Some(took_us) = span.duration_us().filter(|_| !span.is_within_own) {
        add(&mut sum.total_us, took_us);
    }
    if let Some(self_us) = span.self_us {
        add(&mut sum.self_us, self_us);
    }
}
