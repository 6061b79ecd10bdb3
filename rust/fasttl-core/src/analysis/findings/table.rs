//! Table `findings`.

use std::borrow::Cow;

use super::{Finding, all_findings};
use crate::error::Result;
use crate::tables::{Table, TableBuilder, TableDef};
use crate::trace::Trace;

pub(in crate::analysis) const FINDINGS: TableDef =
    TableDef { name: "findings", about: "a sentence for the reader", build };

fn build(trace: &Trace) -> Result<Table> {
    let rows = all_findings(trace)?;
    let place = |finding: &Finding| finding.evidence.rows.clone();
    TableBuilder::new(&rows)
        .name(
            "kind",
            "failed compiles, ranks that differ, missing ranks, early ends, rank skew, recompiles, graph breaks, unfinished compiles, lost records, \
             caches, cudagraphs, guards or slow phases.",
            |r| Some(Cow::Borrowed(r.kind)),
        )
        .name("severity", "error: something failed or is missing; warning: time is lost; info: where the time goes.", |r| {
            Some(Cow::Borrowed(r.severity.name()))
        })
        .f64("cost_s", "Seconds that it cost over all ranks; null where the log does not say.", |r| r.cost_s)
        .text("sentence", "What was found.", |r| Some(Cow::Borrowed(r.sentence.as_str())))
        .text("advice", "What to try.", |r| Some(Cow::Borrowed(r.advice.as_str())))
        .ints("ranks", "Ranks concerned; logs without a rank are not among them.", |r| Some(r.spread.ranks.clone()))
        .ints("files", "Logs concerned: rows of `files`.", |r| Some(r.spread.files.clone()))
        .texts("compile_ids", "Compile ids concerned, without attempt; 100 at most.", |r| {
            Some(r.spread.compile_ids.clone())
        })
        .name("evidence_table", "Table whose rows show it.", |r| Some(Cow::Borrowed(r.evidence.table)))
        .ints("evidence_files", "Column `file` of these rows; 100 at most.", move |r| {
            Some(place(r).into_iter().map(|shown| i32::try_from(shown.file).unwrap_or(i32::MAX)).collect())
        })
        .u64s("evidence_offsets", "Column `offset` of these rows; null for a row that is about a whole log.", move |r| {
            Some(place(r).into_iter().map(|shown| shown.offset).collect())
        })
        .finish("findings")
}
