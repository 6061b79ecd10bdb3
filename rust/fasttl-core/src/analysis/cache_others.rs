//! Caches that have no artifact of the usual shape: the profile of dynamic shapes, autotuning, what failed, and the
//! remote caches that metrics count.

use super::cache::Answer;
use crate::format::json;
use crate::format::kind::Kind;
use crate::index::{KindId, Record};
use crate::tables::{Fields, MetricRecords};
use crate::trace::Log;

/// Artifacts whose name says all: name, layer, place, state.
const NAMED: &[(&str, &str, Option<&str>, &str)] = &[
    ("get_local_code_state", "pgo", Some("local"), "hit"),
    ("get_remote_code_state", "pgo", Some("remote"), "hit"),
    ("get_extra_remote_code_state", "pgo", Some("remote"), "hit"),
    ("put_local_code_state", "pgo", Some("local"), "stored"),
    ("put_remote_code_state", "pgo", Some("remote"), "stored"),
    ("put_extra_remote_code_state", "pgo", Some("remote"), "stored"),
    ("aotautograd_cache_pickle_failure", "aotautograd", None, "failed"),
    ("dynamo_cache_exception", "dynamo", None, "failed"),
];

/// Counters of metrics: field, layer, state, field with the keys.
const COUNTERS: &[(&str, &str, &str, &str)] = &[
    ("inductor_fx_remote_cache_hit_count", "fx_graph", "hit", "inductor_fx_remote_cache_hit_keys"),
    ("inductor_fx_remote_cache_miss_count", "fx_graph", "miss", "inductor_fx_remote_cache_miss_keys"),
    ("aotautograd_remote_cache_hit_count", "aotautograd", "hit", ""),
    ("aotautograd_remote_cache_miss_count", "aotautograd", "miss", ""),
];

/// What a record says of such caches; nothing for most records.
pub(super) fn other_answers(
    log: &Log,
    (at, record): (usize, &Record),
    bytes: &[u8],
    metrics: &MetricRecords<'_>,
) -> Vec<Answer> {
    match record.kind {
        KindId::Known(Kind::Artifact) => match log.index.names.name(record) {
            Some("triton_kernel_info") => kernels(&log.index.payload(record, bytes).text()),
            Some(name) => named(name, || log.index.payload(record, bytes).text()).into_iter().collect(),
            None => Vec::new(),
        },
        KindId::Known(Kind::CompilationMetrics | Kind::BwdCompilationMetrics) => counted(&metrics.fields(at)),
        _ => Vec::new(),
    }
}

fn named(name: &str, payload: impl FnOnce() -> Vec<u8>) -> Option<Answer> {
    let &(_, layer, place, state) = NAMED.iter().find(|(known, ..)| *known == name)?;
    let text = |payload: &[u8], member: &[u8]| json::member(payload, member).and_then(json::unescape);
    // A profile is text and long; only what failed says why.
    let (key, reason) = match state {
        "failed" => {
            let payload = payload();
            (text(&payload, b"key").or_else(|| text(&payload, b"field")), text(&payload, b"error"))
        }
        _ => (None, None),
    };
    Some(Answer {
        layer,
        place,
        state: state.to_owned(),
        origin: "artifact",
        count: 1,
        key,
        reason,
        ..Answer::default()
    })
}

/// The kernels of a `triton_kernel_info`, each with what the cache of autotuning said.
fn kernels(payload: &[u8]) -> Vec<Answer> {
    let mut answers = Vec::new();
    // What is no object yields no row.
    let _ = json::each_member(payload, |kernel, about| {
        if let Some(state) = json::member(about, b"autotune_cache_state").and_then(json::unescape) {
            answers.push(Answer {
                layer: "autotune",
                state: state.to_ascii_lowercase(),
                origin: "kernel info",
                count: 1,
                key: Some(json::unescape_inner(kernel)),
                ..Answer::default()
            });
        }
        true
    });
    answers
}

fn counted(fields: &Fields<'_>) -> Vec<Answer> {
    let answer = |&(field, layer, state, keys): &(&str, &'static str, &'static str, &str)| {
        let count = fields.int(field).and_then(|count| u64::try_from(count).ok()).filter(|count| *count > 0)?;
        let key = fields.text(keys).filter(|keys| !keys.is_empty());
        let (place, origin) = (Some("remote"), "metrics");
        Some(Answer { layer, state: state.to_owned(), origin, count, key, place, ..Answer::default() })
    };
    COUNTERS.iter().filter_map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::metrics_fields;

    #[test]
    fn kernels_names_and_counters_are_read() {
        let payload = br#"{"triton_a": {"autotune_cache_state": "MISS"}, "b": {"x": 1}, "c\u0041": {"autotune_cache_state": "hit"}}"#;
        let found: Vec<(Option<String>, String)> = kernels(payload).into_iter().map(|a| (a.key, a.state)).collect();
        let kernel = |name: &str, state: &str| (Some(name.to_owned()), state.to_owned());
        assert_eq!(found, [kernel("triton_a", "miss"), kernel("cA", "hit")]);
        assert!(kernels(b"no object").is_empty());

        let failed = named("dynamo_cache_exception", || br#"{"key": "k", "error": "e"}"#.to_vec()).unwrap();
        assert_eq!((failed.key.as_deref(), failed.reason.as_deref()), (Some("k"), Some("e")));
        let stored = named("put_remote_code_state", Vec::new).unwrap();
        assert_eq!((stored.layer, stored.place, stored.state.as_str()), ("pgo", Some("remote"), "stored"));
        assert!(named("fx_graph_cache_hit", Vec::new).is_none());

        let fields = r#"{"inductor_fx_remote_cache_hit_count": 2, "inductor_fx_remote_cache_hit_keys": "a,b", "inductor_fx_remote_cache_miss_count": 0, "aotautograd_remote_cache_miss_count": "x"}"#;
        let found = counted(&metrics_fields(fields.as_bytes()));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].count, found[0].key.as_deref()), (2, Some("a,b")));
    }
}
