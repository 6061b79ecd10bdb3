//! Tables `diagnostics` and `divergence`: how each comparison of ranks ended, and the places that differ.

use std::borrow::Cow;

use super::{Comparison, Difference, Texts, compare, facts};
use crate::analysis::of_logs::of_logs;
use crate::analysis::parts::parts;
use crate::analysis::runtimes::runtimes;
use crate::error::Result;
use crate::job::Job;
use crate::tables::{Table, TableBuilder, TableDef};
use crate::trace::Trace;

pub(in crate::analysis) const DIAGNOSTICS: TableDef =
    TableDef { name: "diagnostics", about: "a comparison of the ranks, with its verdict", build: diagnostics };

pub(in crate::analysis) const DIVERGENCE: TableDef =
    TableDef { name: "divergence", about: "a place at which ranks differ", build: divergence };

pub(in crate::analysis) const SKEW: TableDef =
    TableDef { name: "skew", about: "a compile, and how long the ranks took for it", build: skew };

pub(in crate::analysis) const RANKS: TableDef =
    TableDef { name: "ranks", about: "a rank of the job, and how it stands", build: ranks };

/// Gathers the facts of all logs and compares them.
fn comparison(trace: &Trace) -> Result<Comparison> {
    let texts = Texts::default();
    let all = of_logs(trace, |of, compiles| {
        let parts = parts(of.log, of.bytes);
        facts((of.log, of.bytes, of.metrics), (&compiles, &parts, &runtimes(of.log, of.bytes, &parts)), &texts)
    })?;
    compare(trace, &all.into_iter().map(|(_, _, facts)| facts).collect::<Vec<_>>(), &Job::default())
}

fn skew(trace: &Trace) -> Result<Table> {
    super::skew::table(trace, &comparison(trace)?.skews)
}

fn ranks(trace: &Trace) -> Result<Table> {
    super::rank_table::table(&comparison(trace)?.standings)
}

fn diagnostics(trace: &Trace) -> Result<Table> {
    diagnostics_of(&comparison(trace)?)
}

fn divergence(trace: &Trace) -> Result<Table> {
    divergence_of(trace, &comparison(trace)?)
}

/// The tables that one comparison makes, where `name` is one of them: who asks for one mostly asks for others.
pub(in crate::analysis) fn along_with(trace: &Trace, name: &str) -> Option<Result<Vec<Table>>> {
    let is_one = [DIAGNOSTICS, DIVERGENCE, SKEW, RANKS].iter().any(|def| def.name == name);
    is_one.then(|| {
        let found = comparison(trace)?;
        Ok(vec![
            diagnostics_of(&found)?,
            divergence_of(trace, &found)?,
            super::skew::table(trace, &found.skews)?,
            super::rank_table::table(&found.standings)?,
        ])
    })
}

fn diagnostics_of(found: &Comparison) -> Result<Table> {
    let ranks = &found.ranks;
    let left_out: Vec<i32> = found.left_out.iter().map(|(rank, _)| *rank).collect();
    TableBuilder::new(&found.diagnostics)
        .name("aspect", "What was compared: compiles, code, recompile reasons, cache, collectives and so on.", |d| {
            Some(Cow::Borrowed(d.aspect.name()))
        })
        .name("verdict", "same, differs, or unknown: what cannot be judged is never the same.", |d| {
            Some(Cow::Borrowed(d.verdict.name()))
        })
        .text("sentence", "The result for a person, with the ranks on each side of the first difference.", |d| {
            Some(Cow::Borrowed(d.sentence.as_str()))
        })
        .u64(
            "differences",
            "Places that differ: rows of `divergence`, which has 10,000 of a comparison at most.",
            |d| Some(d.differences as u64),
        )
        .texts("unknown", "What could not be judged, and why.", |d| {
            Some(d.unknown.iter().map(|u| format!("{} {}: {}", super::rank_list(&u.ranks), u.place, u.why)).collect())
        })
        .ints("ranks", "Ranks that were compared.", |_| Some(ranks.clone()))
        .ints("left_out", "Ranks whose logs could not be compared.", |_| Some(left_out.clone()))
        .finish("diagnostics")
}

fn divergence_of(trace: &Trace, found: &Comparison) -> Result<Table> {
    let offset = |(log, record): (usize, Option<usize>)| {
        trace.logs.get(log)?.index.records.get(record?).map(|record| record.offset)
    };
    TableBuilder::new(&found.differences)
        .name(
            "aspect",
            "What differs: versions, configuration, compiles (which there are), compile order, code, inputs, symbols, \
             guards, recompile reasons, graph breaks, outcome, graph, cache, collectives, tensors, runtimes (estimates), \
             execution order. Measured time is in `skew`.",
            |d| Some(Cow::Borrowed(d.aspect.name())),
        )
        .u32("generation", "How often compile ids had started again; null without a compile.", |d| {
            d.key.map(|(generation, _)| generation)
        })
        .name(
            "compile_id",
            "Compile id without attempt, as on most ranks that have the compile; null where the place belongs to none.",
            |d| d.key.map(|(_, id)| Cow::Owned(id.to_string())),
        )
        .u64(
            "position",
            "Place in the list that differs, from 1: collective, node of a graph, operation, run; null where there is none.",
            |d| d.position,
        )
        .time(
            "time",
            "When a rank that is not of the largest group began the compile; where none of them has it, when another did.",
            |d| d.time_us,
        )
        .text("place", "The compile id with the part of it and the position, for a person.", |d| {
            Some(Cow::Borrowed(d.place.as_str()))
        })
        .ints("odd_ranks", "Ranks that are not of the largest group.", |d| Some(d.odd_ranks()))
        .int_lists("groups", "Ranks that have the same, the largest group first.", |d: &Difference| {
            Some(d.groups.iter().map(|g| g.ranks.clone()).collect())
        })
        .texts("values", "What each group has.", |d| Some(d.groups.iter().map(|g| g.value.clone()).collect()))
        .text("cause", "What made them differ, as far as the logs show it; null where they do not.", |d| {
            d.cause.as_deref().map(Cow::Borrowed)
        })
        .u64("follows", "Row of this table, from 0, that it follows from; null for the begin of a chain of causes.", |d| {
            d.follows.map(|at| at as u64)
        })
        .ints("evidence_files", "For each group a log that shows its value: row of `files`.", |d| {
            Some(d.groups.iter().map(|g| i32::try_from(g.evidence.0).unwrap_or(i32::MAX)).collect())
        })
        .u64s("evidence_offsets", "For each group the record in that log; null for what is not there.", move |d| {
            Some(d.groups.iter().map(|g| offset(g.evidence)).collect())
        })
        .finish("divergence")
}
