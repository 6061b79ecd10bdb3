//! Tables `diagnostics` and `divergence`: how each comparison of ranks ended, and the places that differ.

use std::borrow::Cow;

use super::{Comparison, Diagnostic, Difference, Facts, Texts, compare, facts};
use crate::analysis::compiles::compiles;
use crate::analysis::parts::parts;
use crate::analysis::runtimes::runtimes;
use crate::error::Result;
use crate::tables::{MetricRecords, Table, TableBuilder, TableDef};
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
pub(crate) fn comparison(trace: &Trace) -> Result<Comparison> {
    let texts = Texts::default();
    let mut all: Vec<Facts> = Vec::new();
    for log in &trace.logs {
        let view = log.view()?;
        let compiles = compiles(trace, log, &view, &MetricRecords::new(&log.index, &view));
        let parts = parts(log, &view);
        all.push(facts(log, &view, (&compiles, &parts, &runtimes(log, &view, &parts)), &texts));
    }
    Ok(compare(trace, &all))
}

fn skew(trace: &Trace) -> Result<Table> {
    super::skew::table(trace, &comparison(trace)?.skews)
}

fn ranks(trace: &Trace) -> Result<Table> {
    super::rank_table::table(&comparison(trace)?.standings)
}

fn diagnostics(trace: &Trace) -> Result<Table> {
    let found = comparison(trace)?;
    let ranks = found.ranks;
    let left_out: Vec<i32> = found.left_out.iter().map(|(rank, _)| *rank).collect();
    TableBuilder::new(&found.diagnostics)
        .name("aspect", "What was compared: compile ids, code, recompile reasons, cache, collectives and so on.", |d| {
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
            |d| Some((d.differences.len() + d.more) as u64),
        )
        .texts("unknown", "What could not be judged, and why.", |d| {
            Some(d.unknown.iter().map(|u| format!("{} {}: {}", super::rank_list(&u.ranks), u.place, u.why)).collect())
        })
        .ints("ranks", "Ranks that were compared.", |_| Some(ranks.clone()))
        .ints("left_out", "Ranks whose logs could not be compared.", |_| Some(left_out.clone()))
        .finish("diagnostics")
}

fn divergence(trace: &Trace) -> Result<Table> {
    let found = comparison(trace)?;
    let rows: Vec<(&Diagnostic, &Difference)> =
        found.diagnostics.iter().flat_map(|d| d.differences.iter().map(move |difference| (d, difference))).collect();
    TableBuilder::new(&rows)
        .name("aspect", "What was compared.", |(d, _)| Some(Cow::Borrowed(d.aspect.name())))
        .u32("generation", "How often compile ids had started again.", |(_, at)| {
            at.key.map(|(generation, _)| generation)
        })
        .name("compile_id", "Compile id without attempt; null where the place belongs to none.", |(_, at)| {
            at.key.map(|(_, id)| Cow::Owned(id.to_string()))
        })
        .text("place", "The compile id with the part of it and the position, for a person.", |(_, at)| {
            Some(Cow::Borrowed(at.place.as_str()))
        })
        .ints("odd_ranks", "Ranks that are not of the largest group.", |(_, at)| {
            let mut odd: Vec<i32> = at.groups.iter().skip(1).flat_map(|g| g.ranks.clone()).collect();
            odd.sort_unstable();
            Some(odd)
        })
        .int_lists("groups", "Ranks that have the same, the largest group first.", |(_, at)| {
            Some(at.groups.iter().map(|g| g.ranks.clone()).collect())
        })
        .texts("values", "What each group has.", |(_, at)| Some(at.groups.iter().map(|g| g.value.clone()).collect()))
        .finish("divergence")
}
