//! Look-ups in the caches of the compiler, and table `cache`.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::cache_others::other_answers;
use super::parts::{Part, Parts, part_columns, parts};
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::json;
use crate::format::kind::Kind;
use crate::index::Record;
use crate::tables::{MetricRecords, Row, Table, TableBuilder, TableDef, compile_columns};
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

/// Why a cache was passed by, from the payload of the artifact that says so. `None` where it gives no reason.
pub(crate) fn bypass_reason(payload: &[u8]) -> Option<String> {
    // Those of Dynamo's own caches have the second.
    [&b"cache_bypass_reason"[..], b"_reason"].into_iter().find_map(|key| text(payload, key))
}

/// What a row says of a look-up, or of several that were only counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) layer: &'static str,
    pub(super) state: String,
    pub(super) origin: &'static str,
    pub(super) count: u64,
    pub(super) key: Option<String>,
    pub(super) detail: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) place: Option<&'static str>,
    pub(super) saved_s: Option<f64>,
}

struct CacheRow<'t> {
    row: Row<'t>,
    part: Option<Part>,
    answer: Answer,
}

fn build(trace: &Trace) -> Result<Table> {
    let mut rows = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        let view = log.view()?;
        let parts = parts(log, &view);
        let states: FxHashMap<usize, LookUp> =
            look_ups(log, &view, &parts).into_iter().map(|found| (found.record, found)).collect();
        let metrics = MetricRecords::new(&log.index, &view);
        let of = |(at, record)| {
            let row = Row { file, log, record };
            let own = states.get(&at).map(|found| artifact_answers(row, found, &view));
            let answers = own.unwrap_or_else(|| other_answers(log, (at, record), &view, &metrics));
            let part = parts.of(at);
            answers.into_iter().map(move |answer| CacheRow { row, part, answer }).collect::<Vec<_>>()
        };
        let found: Vec<Vec<CacheRow<'_>>> = log.index.records.par_iter().enumerate().map(of).collect();
        rows.extend(found.into_iter().flatten());
    }
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row);
    part_columns(builder, |r: &CacheRow<'_>| r.part)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .time("time", "When it was logged.", |r| r.row.record.time_us())
        .name(
            "layer",
            "fx_graph, fx_graph_bundled, aotautograd, precompile, dynamo, pgo (profile of dynamic shapes), triton (bundled kernels) or autotune.",
            |r| Some(Cow::Borrowed(r.answer.layer)),
        )
        .name("place", "local or remote; null where the log does not say.", |r| r.answer.place.map(Cow::Borrowed))
        .name("state", "hit, miss, bypass, stored, failed, or what the log says.", |r| {
            Some(Cow::Borrowed(r.answer.state.as_str()))
        })
        .u64("count", "Look-ups that the row stands for: 1, but for those that metrics only count.", |r| {
            Some(r.answer.count)
        })
        .name("origin", "What tells of it: artifact, kernel info, or metrics, which count look-ups in remote caches; artifacts may tell of the same ones.", |r| {
            Some(Cow::Borrowed(r.answer.origin))
        })
        .name("detail", "The answer in full, where the log has it.", |r| r.answer.detail.as_deref().map(Cow::Borrowed))
        .text("key", "Key that was looked up; the kernel's name for autotune.", |r| {
            r.answer.key.as_deref().map(Cow::Borrowed)
        })
        .text("reason", "Why the cache was passed by, or what failed.", |r| r.answer.reason.as_deref().map(Cow::Borrowed))
        .f64("time_saved_s", "Seconds that the hit saved, as PyTorch estimates.", |r| r.answer.saved_s)
        .finish("cache")
}

/// What the artifact of a look-up says: of its own cache, and of the kernels that are bundled with the code.
fn artifact_answers(row: Row<'_>, found: &LookUp, bytes: &[u8]) -> Vec<Answer> {
    let payload = row.log.index.payload(row.record, bytes).text();
    let mut answer =
        Answer { layer: found.layer, state: found.state.clone(), origin: "artifact", count: 1, ..Answer::default() };
    let mut bundle = None;
    let number = |value: &[u8]| std::str::from_utf8(value).ok().and_then(|n| n.parse::<f64>().ok());
    // The payloads hold the whole graph; one walk finds all members. What is no object yields an empty row.
    let _ = json::each_member(&payload, |key, value| {
        match key {
            b"key" => answer.key = json::unescape(value),
            b"cache_status_detailed" => answer.detail = json::unescape(value),
            b"time_saved_ns" => answer.saved_s = number(value).map(|ns| ns / 1e9),
            b"time_saved_ms" => answer.saved_s = number(value).map(|ms| ms / 1e3),
            b"triton_bundler_meta" => bundle = json::unescape(value),
            _ => {}
        }
        true
    });
    // Other answers have no reason, and payloads that are not worth a second walk.
    if !matches!(found.state.as_str(), "hit" | "miss") {
        answer.reason = bypass_reason(&payload);
    }
    answer.place = answer
        .detail
        .as_deref()
        .and_then(|detail| ["local", "remote"].into_iter().find(|place| detail.to_ascii_lowercase().contains(place)));
    let mut answers = vec![answer];
    // Without kernels there is nothing to bundle.
    if let Some(bundle) = bundle.filter(|bundle| !bundle.is_empty() && !bundle.contains("cached_kernel_names=[]")) {
        let state = if found.state == "hit" { "hit" } else { "stored" };
        answers.push(Answer {
            layer: "triton",
            state: state.to_owned(),
            origin: "artifact",
            count: 1,
            detail: Some(bundle),
            ..Answer::default()
        });
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_bypass_has_one_of_two_names() {
        let reason = |payload: &str| bypass_reason(payload.as_bytes());
        assert_eq!(reason(r#"{"cache_state": "bypass", "cache_bypass_reason": "a\n"}"#).as_deref(), Some("a\n"));
        assert_eq!(reason(r#"{"x": 1, "_reason": "b"}"#).as_deref(), Some("b"));
        assert_eq!(reason(r#"{"_reason": "b", "cache_bypass_reason": "a"}"#).as_deref(), Some("a"));
        assert_eq!(reason(r#"{"cache_bypass_reason": null, "_reason": "b"}"#).as_deref(), Some("b"));
        assert_eq!(reason(r#"{"entry": "f", "missing_backend": "x"}"#), None);
        assert_eq!(reason("[1"), None);
    }
}
