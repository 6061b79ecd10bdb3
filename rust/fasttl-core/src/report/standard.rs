//! Which records the standard reader takes, so that files have its numbers.
//!
//! tlparse 0.4.3 numbers the files that it writes, in the order of the log. It drops a record when its JSON
//! is not strict, when a field has a type that it does not expect, and when its rank is not the first one
//! seen. fasttl keeps these records, outside of that numbering; so it has to know them.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::format::json;
use crate::format::kind::Kind;
use crate::index::{Encoding, Index, KindId, Record};
use crate::tables::{Fields, MetricRecords};

/// Whether the standard reader takes each record.
pub(super) fn taken(index: &Index, bytes: &[u8], metrics: &MetricRecords<'_>) -> Vec<bool> {
    let readable = |(at, record): (usize, &Record)| {
        let typed = || match record.kind {
            KindId::Known(Kind::CompilationMetrics) => fit(&metrics.fields(at), METRICS),
            KindId::Known(Kind::BwdCompilationMetrics) => fit(&metrics.fields(at), BACKWARD),
            KindId::Known(Kind::AotBwdCompilationMetrics) => fit(&metrics.fields(at), AOT_BACKWARD),
            KindId::Known(kind) => typed(kind, index.metadata(record, bytes)),
            KindId::Other(_) => true,
        };
        !record.kind.is(Kind::Str) && (record.plain || plain_enough(index, record, bytes)) && typed()
    };
    let mut taken: Vec<bool> = index.records.par_iter().enumerate().map(readable).collect();
    // It stays with the first rank that it sees.
    let mut rank = None;
    for (taken, record) in taken.iter_mut().zip(&index.records).filter(|(taken, _)| **taken) {
        rank = rank.or(record.rank);
        *taken = rank.is_none() || rank == record.rank;
    }
    taken
}

/// Whether an unusual head is one that a strict reader takes: unknown keys do not trouble it, but it reads what
/// they hold. Inside of metadata it passes over them.
fn plain_enough(index: &Index, record: &Record, bytes: &[u8]) -> bool {
    let head = index.json(record, bytes);
    let mut others_read = true;
    let walked = json::each_member(head, |key, value| {
        let known = KEYS.contains(&key) || Kind::by_name(key).is_some();
        others_read &= known || serde_json::from_slice::<serde_json::Value>(value).is_ok();
        others_read
    });
    walked.is_ok()
        && others_read
        && serde_json::from_slice::<serde::de::IgnoredAny>(head).is_ok()
        && json::member(head, b"rank").is_none_or(|rank| rank == b"null" || fits(Unsigned32, rank))
}

/// Keys that it has fields for, beside those of kinds.
const KEYS: [&[u8]; 7] =
    [b"rank", b"compiled_autograd_id", b"frame_id", b"frame_compile_id", b"attempt", b"has_payload", b"stack"];

/// Whether the metadata has the types that the reader wants, for kinds that become files.
fn typed(kind: Kind, meta: &[u8]) -> bool {
    let text = |name: &[u8]| json::member(meta, name).is_some_and(is_text);
    match kind {
        Kind::Artifact => text(b"name") && text(b"encoding"),
        Kind::GraphDump | Kind::OptimizeDdpSplitChild | Kind::DumpFile => text(b"name"),
        Kind::Link => text(b"name") && text(b"url"),
        Kind::InductorOutputCode => json::member(meta, b"filename").is_none_or(|v| v == b"null" || is_text(v)),
        Kind::GuardAdded | Kind::PropagateRealTensorsProvenance => {
            serde_json::from_slice::<ConditionTypes>(meta).is_ok()
        }
        Kind::ExportedProgram => meta.starts_with(b"{"),
        _ => true,
    }
}

/// Whether an artifact is of an encoding that becomes a file.
pub(super) fn has_file(record: &Record) -> bool {
    matches!(record.encoding, Encoding::Text | Encoding::Json)
}

/// Whether a record has a file of its own in the standard report of an export.
pub(super) fn has_export_file(index: &Index, record: &Record, bytes: &[u8]) -> bool {
    match record.kind {
        KindId::Known(Kind::ExportedProgram | Kind::PropagateRealTensorsProvenance) => true,
        KindId::Known(Kind::GuardAdded) => {
            let prefix = json::member(index.metadata(record, bytes), b"prefix").and_then(json::unescape);
            prefix.as_deref() == Some("eval")
        }
        _ => false,
    }
}

/// The types that a condition's fields have in the standard reader. Since PyTorch 2.8 local variables are
/// lists, which it does not take.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only the types matter")]
struct ConditionTypes {
    expr: Option<String>,
    result: Option<String>,
    prefix: Option<String>,
    expr_node_id: Option<u64>,
    user_stack: Option<Vec<FrameTypes>>,
    stack: Option<Vec<FrameTypes>>,
    symbol_to_sources: Option<HashMap<String, String>>,
    frame_locals: Option<LocalsTypes>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only the types matter")]
struct FrameTypes {
    filename: u32,
    line: i32,
    name: String,
    loc: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only the types matter")]
struct LocalsTypes {
    loc: Option<IgnoredAny>,
    locals: Option<HashMap<String, Option<String>>>,
    symbols: Option<HashMap<String, Option<String>>>,
}

#[derive(Clone, Copy)]
enum Want {
    Text,
    Unsigned,
    Signed32,
    Unsigned32,
    Float,
    Texts,
}

use Want::{Float, Signed32, Text, Texts, Unsigned, Unsigned32};

const METRICS: &[(&str, Want)] = &[
    ("co_name", Text),
    ("co_filename", Text),
    ("co_firstlineno", Signed32),
    ("cache_size", Unsigned),
    ("accumulated_cache_size", Unsigned),
    ("guard_count", Unsigned),
    ("shape_env_guard_count", Unsigned),
    ("graph_op_count", Unsigned),
    ("graph_node_count", Unsigned),
    ("graph_input_count", Unsigned),
    ("start_time", Float),
    ("entire_frame_compile_time_s", Float),
    ("backend_compile_time_s", Float),
    ("inductor_compile_time_s", Float),
    ("code_gen_time_s", Float),
    ("fail_type", Text),
    ("fail_reason", Text),
    ("fail_user_frame_filename", Text),
    ("fail_user_frame_lineno", Unsigned32),
    ("non_compliant_ops", Texts),
    ("compliant_custom_ops", Texts),
    ("restart_reasons", Texts),
    ("dynamo_time_before_restart_s", Float),
];

const BACKWARD: &[(&str, Want)] =
    &[("inductor_compile_time_s", Float), ("code_gen_time_s", Float), ("fail_type", Text), ("fail_reason", Text)];

const AOT_BACKWARD: &[(&str, Want)] =
    &[("start_time", Float), ("elapsed_time", Float), ("fail_type", Text), ("fail_reason", Text)];

fn fit(fields: &Fields<'_>, wanted: &[(&str, Want)]) -> bool {
    wanted.iter().all(|(name, want)| fields.get(name).is_none_or(|value| fits(*want, value)))
}

fn fits(want: Want, value: &[u8]) -> bool {
    let number = value.first().is_some_and(|b| b.is_ascii_digit() || *b == b'-');
    match want {
        Want::Text => is_text(value),
        Want::Unsigned => unsigned(value),
        Want::Signed32 => json::integer(value).is_some_and(|n| i32::try_from(n).is_ok()),
        Want::Unsigned32 => json::integer(value).is_some_and(|n| u32::try_from(n).is_ok()),
        Want::Float => number,
        Want::Texts => serde_json::from_slice::<Vec<String>>(value).is_ok(),
    }
}

/// Whether a value is a text for it: one with half a surrogate pair is none.
fn is_text(value: &[u8]) -> bool {
    let escaped = memchr::memchr(b'\\', value).is_some();
    value.starts_with(b"\"") && (!escaped || serde_json::from_slice::<String>(value).is_ok())
}

fn unsigned(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|n| n.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{IndexOptions, index};
    use crate::job::Job;

    #[test]
    fn what_the_standard_reader_drops_takes_no_number() {
        let prefix = "V1129 23:59:59.000001 1 x.py:1] ";
        let takes = |head: &str| {
            let log = format!("{prefix}{head}\n");
            let index = index(log.as_bytes(), 0, IndexOptions::default(), &Job::default()).unwrap();
            taken(&index, log.as_bytes(), &MetricRecords::new(&index, log.as_bytes()))[0]
        };
        for head in [
            r#"{"artifact": {"name": "\ud83d\ude00", "encoding": "string", "x": "\udc80"}}"#,
            r#"{"artifact": {"name": "a", "encoding": "string"}, "x": [1]}"#,
            r#"{"compilation_metrics": {"co_name": "f", "new": "\udc80"}, "rank": 4294967295}"#,
            r#"{"dynamo_output_graph": {"sizes": {"\udc80": 1}}}"#,
        ] {
            assert!(takes(head), "{head}");
        }
        for head in [
            r#"{"artifact": {"name": "\udc80", "encoding": "string"}}"#,
            r#"{"artifact": {"name": "a", "encoding": "string"}, "x": "\udc80"}"#,
            r#"{"compilation_metrics": {"co_name": "\udc80"}}"#,
            r#"{"compilation_metrics": {"new": NaN}}"#,
            r#"{"artifact": {"name": "a", "encoding": "string"}, "rank": -1}"#,
            r#"{"artifact": {"name": "a", "encoding": "string"}, "rank": 4294967296}"#,
        ] {
            assert!(!takes(head), "{head}");
        }
    }
}
