//! The results as tables: `diff`, a row a difference, and `diff_summary`, a row an aspect.

use std::borrow::Cow;

use super::Diff;
use super::sheet::{Difference, Finding, Spot};
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::tables::{Table, TableBuilder};

/// The differences, one by one.
///
/// # Errors
/// A fault of this library.
pub fn diff_table(found: &Diff) -> Result<Table> {
    let a = |d: &Difference| d.spot_a;
    let b = |d: &Difference| d.spot_b;
    let builder = TableBuilder::new(&found.differences)
        .name(
            "aspect",
            "What differs: compiles, status, recompile reasons, graph breaks, phases, graph, guards, output code, configuration, cache or versions.",
            |d| Some(Cow::Borrowed(d.aspect.name())),
        )
        .name("change", "only a, only b, or changed.", |d| Some(Cow::Borrowed(d.change.name())))
        .i32("rank_a", "Rank of the log on side a; null where it has none, and where the log is missing there.", move |d| {
            a(d).and_then(|spot| spot.rank)
        })
        .i32("rank_b", "The same on side b.", move |d| b(d).and_then(|spot| spot.rank))
        .keyed_name(
            "compile_a",
            "Compile id on side a, without attempt; null for what belongs to the log, and where the compile is missing there.",
            move |d| id(a(d)),
            CompileId::to_string,
        )
        .keyed_name("compile_b", "The same on side b.", move |d| id(b(d)), CompileId::to_string)
        .u32("generation_a", "How often compile ids had started again in the log of side a.", move |d| generation(a(d)))
        .u32("generation_b", "The same on side b.", move |d| generation(b(d)))
        .u32("file_a", "Number of the log on side a: row of `files` of that trace.", move |d| a(d).map(|spot| spot.file))
        .u32("file_b", "The same on side b.", move |d| b(d).map(|spot| spot.file))
        .u64("offset_a", "Byte in that log at which the record starts that shows it; null where there is none.", move |d| {
            a(d).and_then(|spot| spot.offset)
        })
        .u64("offset_b", "The same on side b.", move |d| b(d).and_then(|spot| spot.offset));
    builder
        .text("place", "Which part of the aspect: a stage and a position, a guard's source, a setting.", |d| {
            Some(Cow::Borrowed(d.place.as_str()))
        })
        .text("a", "What side a has, at most 10,000 bytes of it; null where it has nothing.", |d| {
            d.a.as_deref().map(Cow::Borrowed)
        })
        .text("b", "What side b has, likewise.", |d| d.b.as_deref().map(Cow::Borrowed))
        .f64("delta", "Number of side b less that of side a: seconds for times, else a count; null for texts.", |d| {
            d.delta
        })
        .finish("diff")
}

fn id(spot: Option<Spot>) -> Option<CompileId> {
    spot.and_then(|spot| spot.compile).map(|(_, id)| id)
}

fn generation(spot: Option<Spot>) -> Option<u32> {
    spot.and_then(|spot| spot.compile).map(|(generation, _)| generation)
}

/// The result of each aspect.
///
/// # Errors
/// A fault of this library.
pub fn summary_table(found: &Diff) -> Result<Table> {
    TableBuilder::new(&found.findings)
        .name("aspect", "What was compared.", |f: &Finding| Some(Cow::Borrowed(f.aspect.name())))
        .name("verdict", "same, differs, or unknown: what cannot be judged is never the same.", |f| {
            Some(Cow::Borrowed(f.verdict.name()))
        })
        .u64("differences", "Differences; `diff` has 1,000 of an aspect of a pair of compiles at most.", |f| {
            Some(f.differences as u64)
        })
        .text("sentence", "The result for a person, with the place of the first difference.", |f| {
            Some(Cow::Borrowed(f.sentence.as_str()))
        })
        .texts("unknown", "What could not be compared, and why.", |f| Some(f.unknown.clone()))
        .finish("diff_summary")
}
