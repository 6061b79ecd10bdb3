//! Look-ups in the caches of the compiler, and table `cache`.

use std::borrow::Cow;

use rayon::prelude::*;

use super::parts::{Part, Parts, part_columns, parts};
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::json;
use crate::format::kind::Kind;
use crate::index::Record;
use crate::tables::{Row, Table, TableBuilder, TableDef, compile_columns};
use crate::trace::{Log, Trace};

pub(super) const CACHE: TableDef = TableDef { name: "cache", about: "a look-up in a cache of the compiler", build };

/// Artifacts that report a look-up: name, layer, and the answer where the name has it.
const LOOK_UPS: &[(&str, &str, Option<&str>)] = &[
    ("fx_graph_cache_hit", "fx_graph", Some("hit")),
    ("fx_graph_cache_miss", "fx_graph", Some("miss")),
    ("fx_graph_cache_bypass", "fx_graph", Some("bypass")),
    ("fx_graph_cache_hash", "fx_graph", None),
    ("fx_graph_bundled_cache_hit", "fx_graph_bundled", Some("hit")),
    ("aotautograd_cache_hit", "aotautograd", Some("hit")),
    ("aotautograd_cache_miss", "aotautograd", Some("miss")),
    ("aotautograd_cache_bypass", "aotautograd", Some("bypass")),
    ("aotautograd_cache_hash", "aotautograd", None),
    ("precompile_cache_bypass", "precompile", Some("bypass")),
    ("dynamo_cache_bypass", "dynamo", Some("bypass")),
];

/// One look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookUp {
    /// The record.
    pub record: usize,
    /// Generation and id without attempt.
    pub key: (u32, CompileId),
    /// The Inductor compile.
    pub part: Option<Part>,
    /// Which cache.
    pub layer: &'static str,
    /// hit, miss or bypass; what the log says otherwise.
    pub state: String,
}

/// All look-ups of a log, in its order.
pub fn look_ups(log: &Log, bytes: &[u8], parts: &Parts) -> Vec<LookUp> {
    let names = &log.index.names;
    let of = |(at, record): (usize, &Record)| {
        let name = names.name(record).filter(|_| record.kind.is(Kind::Artifact))?;
        let (_, layer, answer) = LOOK_UPS.iter().find(|(known, ..)| *known == name)?;
        let state = match answer {
            Some(answer) => (*answer).to_owned(),
            // Early releases had one name for all answers.
            None => {
                text(&log.index.payload(record, bytes).text(), b"cache_state").unwrap_or_else(|| "unknown".to_owned())
            }
        };
        let key = (record.generation, names.id(record).without_attempt());
        Some(LookUp { record: at, key, part: parts.of(at), layer, state })
    };
    log.index.records.iter().enumerate().filter_map(of).collect()
}

fn text(object: &[u8], key: &[u8]) -> Option<String> {
    json::member(object, key).and_then(json::unescape)
}

struct CacheRow<'t> {
    row: Row<'t>,
    found: LookUp,
    key: Option<String>,
    detail: Option<String>,
    reason: Option<String>,
    place: Option<&'static str>,
    saved_s: Option<f64>,
}

fn build(trace: &Trace) -> Result<Table> {
    let mut rows = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        let view = log.view()?;
        let found = look_ups(log, &view, &parts(log, &view));
        let row = |found: LookUp| {
            let record = log.index.records.get(found.record)?;
            Some(cache_row(Row { file, log, record }, found, &view))
        };
        rows.par_extend(found.into_par_iter().filter_map(row));
    }
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row);
    part_columns(builder, |r: &CacheRow<'_>| r.found.part)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .time("time", "When it was logged.", |r| r.row.record.time_us())
        .name("layer", "fx_graph, fx_graph_bundled, aotautograd, precompile or dynamo.", |r| {
            Some(Cow::Borrowed(r.found.layer))
        })
        .name("place", "local or remote; null where the log does not say.", |r| r.place.map(Cow::Borrowed))
        .name("state", "hit, miss, bypass, or what the log says.", |r| Some(Cow::Borrowed(r.found.state.as_str())))
        .name("detail", "The answer in full, where the log has it.", |r| r.detail.as_deref().map(Cow::Borrowed))
        .text("key", "Key that was looked up.", |r| r.key.as_deref().map(Cow::Borrowed))
        .text("reason", "Why the cache was passed by.", |r| r.reason.as_deref().map(Cow::Borrowed))
        .f64("time_saved_s", "Seconds that the hit saved, as PyTorch estimates.", |r| r.saved_s)
        .finish("cache")
}

fn cache_row<'t>(row: Row<'t>, found: LookUp, bytes: &[u8]) -> CacheRow<'t> {
    let payload = row.log.index.payload(row.record, bytes).text();
    let mut cells = CacheRow { row, found, key: None, detail: None, reason: None, place: None, saved_s: None };
    let number = |value: &[u8]| std::str::from_utf8(value).ok().and_then(|n| n.parse::<f64>().ok());
    // The payloads hold the whole graph; one walk finds all members. What is no object yields an empty row.
    let _ = json::each_member(&payload, |key, value| {
        match key {
            b"key" => cells.key = json::unescape(value),
            b"cache_status_detailed" => cells.detail = json::unescape(value),
            b"cache_bypass_reason" | b"_reason" => cells.reason = json::unescape(value),
            b"time_saved_ns" => cells.saved_s = number(value).map(|ns| ns / 1e9),
            b"time_saved_ms" => cells.saved_s = number(value).map(|ms| ms / 1e3),
            _ => {}
        }
        true
    });
    cells.place = cells
        .detail
        .as_deref()
        .and_then(|detail| ["local", "remote"].into_iter().find(|place| detail.to_ascii_lowercase().contains(place)));
    cells
}
