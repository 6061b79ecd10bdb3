//! Table `metrics`: every field of every metrics record, typed.
//!
//! The fields are those of PyTorch's `CompilationMetrics` (`torch/_dynamo/utils.py`), 2.3 to 2.14. A field
//! that is not listed, or a value that is not of the listed type, stands in the column `extra` as JSON.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::TableDef;
use super::build::{Table, TableBuilder};
use super::row::{Row, compile_columns, rows};
use crate::error::Result;
use crate::format::kind::Kind;
use crate::format::{json, strict};
use crate::index::{KindId, Record, key_hash};
use crate::trace::Trace;

pub(super) const METRICS: TableDef =
    TableDef { name: "metrics", about: "a metrics record: forward, backward or run time", build };

/// Type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// Integer.
    Int,
    /// Floating-point number.
    Float,
    /// Text.
    Text,
    /// JSON inside a string, or an object.
    Json,
    /// Truth value.
    Bool,
    /// List of texts.
    Texts,
}

/// A known field.
#[derive(Clone, Copy, Debug)]
pub struct MetricField {
    /// Name in the log and of the column.
    pub name: &'static str,
    /// Type.
    pub kind: MetricType,
    /// Under which heading a page shows it.
    pub group: &'static str,
    /// Meaning; the unit follows from the name's ending (`_us`, `_ms`, `_s`).
    pub about: &'static str,
}

macro_rules! fields {
    ($($group:literal { $($kind:ident $name:ident $about:literal;)* })*) => {
        /// The known fields, in the order in which pages show them.
        pub const METRIC_FIELDS: &[MetricField] = &[
            $($(MetricField { name: stringify!($name), kind: MetricType::$kind, group: $group, about: $about },)*)*
        ];
    };
}

fields! {
    "What was compiled" {
        Text co_name "Function, as its code object names it.";
        Text co_filename "File of the code object.";
        Int co_firstlineno "First line of the code object.";
        Text compile_id "Compile id as the metrics give it.";
        Text frame_key "Number of the code frame in this process, from 1.";
        Int cache_size "Compiled entries that this code object had before.";
        Int accumulated_cache_size "The same, over all objects that share the code.";
        Bool is_forward "Whether this is a forward compile.";
        Bool is_runtime "Whether the work was done while compiled code ran.";
        Texts stack_trace "Stack at which the compile began.";
        Text recompile_reason "The first guard that failed, where this is a recompile.";
        Texts recompile_user_contexts "What the program said about its recompiles.";
    }
    "Outcome" {
        Bool has_guarded_code "Whether guarded code came out (also true for skipped frames).";
        Text fail_type "Class of the error that ended the compile.";
        Text fail_reason "Its message.";
        Text fail_user_frame_filename "File of the user's line that failed.";
        Int fail_user_frame_lineno "That line.";
        Texts exception_stack_trace "Traceback of the error.";
        Texts restart_reasons "Why the compile was started over, graph breaks among them.";
        Int num_graph_breaks "Graph breaks of the process so far.";
        Text cudagraph_skip_reason "Why CUDA graphs were not used.";
    }
    "Sizes" {
        Int graph_op_count "Operations in the graph.";
        Int graph_node_count "Nodes in the graph.";
        Int graph_input_count "Inputs of the graph.";
        Text graph_node_shapes "Shapes of the graph's nodes.";
        Int guard_count "Guards.";
        Int shape_env_guard_count "Guards on symbolic sizes.";
        Int ir_count "Bytecode instructions traced.";
        Int param_numel "Elements of all parameters.";
        Int param_bytes "Bytes of all parameters.";
        Int param_count "Parameters.";
        Texts non_compliant_ops "Custom operators that break a rule of torch.compile.";
        Texts compliant_custom_ops "Custom operators that keep the rules.";
    }
    "Time" {
        Float start_time "When the compile began, seconds since 1970.";
        Int start_time_us "When it began, microseconds since 1970.";
        Int end_time_us "When it ended, microseconds since 1970.";
        Int duration_us "From begin to end.";
        Float entire_frame_compile_time_s "The whole compile of the frame.";
        Float backend_compile_time_s "The backend: AOTAutograd and what it calls.";
        Float inductor_compile_time_s "Inductor.";
        Float code_gen_time_s "Inductor's code generation.";
        Float dynamo_time_before_restart_s "Time lost to tries that were started over; all of it where the compile failed.";
        Int dynamo_cumulative_compile_time_us "Dynamo and all that it calls.";
        Int aot_autograd_cumulative_compile_time_us "AOTAutograd and all that it calls.";
        Int inductor_cumulative_compile_time_us "Inductor and all that it calls.";
        Int inductor_code_gen_cumulative_compile_time_us "Code generation.";
        Int backward_cumulative_compile_time_us "Backward compile.";
        Int triton_compile_time_us "Compiling Triton kernels.";
        Int compile_time_autotune_time_us "Autotuning during the compile.";
        Int pre_grad_pass_time_us "Passes before autograd.";
        Int joint_graph_pass_time_us "Passes over the joint graph.";
        Int post_grad_pass_time_us "Passes after autograd.";
        Int gc_time_us "Garbage collection.";
        Int guard_latency_us "One check of the guards.";
        Int dynamo_compile_time_before_restart_us "Time lost to tries that were started over.";
        Int runtime_cudagraphify_time_us "Recording CUDA graphs at run time.";
        Int runtime_triton_autotune_time_us "Autotuning at run time.";
        Int cuda_synchronize_time_us "Waiting for the GPU (PyTorch 2.6 and 2.7).";
        Int distributed_ephemeral_timeout_us "Time that was added to the collectives' timeout.";
        Float structured_logging_overhead_s "Writing this log.";
        Int structured_logging_overhead_us "Writing this log.";
        Text triton_kernel_compile_times_us "The slowest Triton kernels and their times.";
    }
    "Caches" {
        Int inductor_fx_local_cache_hit_count "Local FX graph cache: hits.";
        Int inductor_fx_local_cache_miss_count "Local FX graph cache: misses.";
        Int inductor_fx_remote_cache_hit_count "Remote FX graph cache: hits.";
        Int inductor_fx_remote_cache_miss_count "Remote FX graph cache: misses.";
        Text inductor_fx_remote_cache_backend_type "Remote FX graph cache: backend.";
        Text inductor_fx_remote_cache_hit_keys "Remote FX graph cache: keys that hit.";
        Text inductor_fx_remote_cache_miss_keys "Remote FX graph cache: keys that missed.";
        Int aotautograd_local_cache_hit_count "Local AOTAutograd cache: hits.";
        Int aotautograd_local_cache_miss_count "Local AOTAutograd cache: misses.";
        Int aotautograd_remote_cache_hit_count "Remote AOTAutograd cache: hits.";
        Int aotautograd_remote_cache_miss_count "Remote AOTAutograd cache: misses.";
        Float remote_cache_time_saved_s "Time that remote caches saved.";
        Int remote_fx_graph_cache_get_time_ms "Reading the remote FX graph cache.";
        Int remote_fx_graph_cache_put_time_ms "Writing the remote FX graph cache.";
        Int remote_fx_graph_cache_get_time_us "Reading the remote FX graph cache.";
        Int remote_fx_graph_cache_put_time_us "Writing the remote FX graph cache.";
        Int remote_cache_version "Version of the remote cache's keys.";
        Int num_triton_bundles "Bundles of Triton kernels.";
        Int pgo_get_remote_code_state_time_us "Reading the remote profile.";
        Int pgo_put_remote_code_state_time_us "Writing the remote profile.";
    }
    "Settings" {
        Text pytorch_version "PyTorch.";
        Text python_version "Python.";
        Text cuda_version "CUDA.";
        Text triton_version "Triton.";
        Int log_format_version "Version of these metrics.";
        Json feature_usage "Features and whether they were used.";
        Bool specialize_float "Whether floats are taken as constants.";
        Bool config_suppress_errors "Whether errors fall back to eager.";
        Bool config_inline_inbuilt_nn_modules "Whether built-in modules are inlined.";
        Bool inline_inbuilt_nn_modules_candidate "No longer used.";
        Bool tensorify_float_attempt "Whether floats were to become tensors.";
        Bool tensorify_float_success "Whether they did.";
        Texts tensorify_float_failure "Why they did not.";
        Int possibly_missed_reinplacing_opportunities "In-place chances missed (PyTorch 2.5).";
        Texts inductor_provenance "What is known of the origin of the code.";
        Json dynamo_config "Configuration of Dynamo.";
        Json compiler_config "Configuration of the compiler.";
        Json inductor_config "Configuration of Inductor.";
        Json functorch_config "Configuration of AOTAutograd.";
    }
}

/// Whether a record holds metrics.
pub(crate) fn is_metrics(record: &Record) -> bool {
    matches!(
        record.kind,
        KindId::Known(
            Kind::CompilationMetrics
                | Kind::BwdCompilationMetrics
                | Kind::AotBwdCompilationMetrics
                | Kind::CompilationMetricsRuntime
                | Kind::BwdCompilationMetricsRuntime
        )
    )
}

/// The fields of one metrics record, as they stand in the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields<'a>(Vec<Field<'a>>);

/// A field as it stands in the log.
#[derive(Clone, Copy, Debug)]
struct Field<'a> {
    /// Of the key; see [`key_hash`].
    hash: u32,
    key: &'a [u8],
    value: &'a [u8],
}

impl<'a> FromIterator<(u32, (&'a [u8], &'a [u8]))> for Fields<'a> {
    fn from_iter<T: IntoIterator<Item = (u32, (&'a [u8], &'a [u8]))>>(fields: T) -> Self {
        Self(fields.into_iter().map(|(hash, (key, value))| Field { hash, key, value }).collect())
    }
}

/// Reads the fields of a metrics record; what cannot be read of it is not there.
pub(crate) fn metrics_fields(metadata: &[u8]) -> Fields<'_> {
    let mut fields = Vec::with_capacity(METRIC_FIELDS.len());
    // A head whose JSON is broken is no record, so the walk reaches the end.
    let _ = json::each_member(metadata, |key, value| {
        fields.push(Field { hash: key_hash(key), key, value });
        true
    });
    Fields(fields)
}

/// The fields of a record, as they stand in the log.
pub(crate) struct Sorted<'a> {
    /// By place in [`METRIC_FIELDS`]; `null` is a value here.
    pub(crate) known: Vec<Option<&'a [u8]>>,
    /// Those that are not listed there, in the order of the log.
    pub(crate) others: Vec<(&'a [u8], &'a [u8])>,
}

/// Where each known field stands in [`METRIC_FIELDS`]; made once for many records.
#[derive(Debug)]
pub(crate) struct FieldPlaces(FxHashMap<&'static [u8], usize>);

impl Default for FieldPlaces {
    fn default() -> Self {
        Self(METRIC_FIELDS.iter().map(|f| f.name.as_bytes()).zip(0..).collect())
    }
}

impl<'a> Fields<'a> {
    /// The value of a field as it stands; `None` where it is missing or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a [u8]> {
        let hash = key_hash(name.as_bytes());
        let found = self.0.iter().rev().find(|field| field.hash == hash && field.key == name.as_bytes());
        found.map(|field| field.value).filter(|value| *value != b"null")
    }

    /// The fields told apart by whether they are known.
    pub(crate) fn sorted(&self, FieldPlaces(places): &FieldPlaces) -> Sorted<'a> {
        let mut sorted = Sorted { known: vec![None; METRIC_FIELDS.len()], others: Vec::new() };
        for Field { key, value, .. } in &self.0 {
            match places.get(key).and_then(|place| sorted.known.get_mut(*place)) {
                Some(known) => *known = Some(value),
                None => sorted.others.push((key, value)),
            }
        }
        sorted
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        json::unescape(self.get(name)?)
    }

    /// A text; a value of another type as JSON.
    pub(crate) fn shown(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| json::unescape(value).unwrap_or_else(|| as_json(value)))
    }

    /// An integer; a float without fraction is taken as one.
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        as_int(self.get(name)?)
    }

    /// A finite number.
    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        as_float(self.get(name)?)
    }

    /// A list of texts; elements of other types as JSON.
    pub(crate) fn texts(&self, name: &str) -> Option<Vec<String>> {
        as_texts(self.get(name)?)
    }
}

fn as_int(value: &[u8]) -> Option<i64> {
    json::integer(value).or_else(|| {
        let float = as_float(value)?;
        #[expect(clippy::cast_possible_truncation, reason = "the range and the fraction were checked")]
        (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
    })
}

fn as_float(value: &[u8]) -> Option<f64> {
    let starts = value.first().is_some_and(|b| b.is_ascii_digit() || *b == b'-');
    let number: f64 = std::str::from_utf8(value).ok().filter(|_| starts)?.parse().ok()?;
    number.is_finite().then_some(number)
}

fn as_texts(value: &[u8]) -> Option<Vec<String>> {
    let values: Vec<serde_json::Value> = serde_json::from_slice(&strict::to_strict(value)).ok()?;
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    Some(values.into_iter().map(text).collect())
}

fn as_json(value: &[u8]) -> String {
    String::from_utf8_lossy(&strict::to_strict(value)).into_owned()
}

/// Whether a value can stand in the column of its field.
fn fits(kind: MetricType, value: &[u8]) -> bool {
    match kind {
        MetricType::Int => as_int(value).is_some(),
        MetricType::Float => as_float(value).is_some(),
        MetricType::Text => value.starts_with(b"\""),
        MetricType::Json => true,
        MetricType::Bool => matches!(value, b"true" | b"false"),
        MetricType::Texts => as_texts(value).is_some(),
    }
}

/// A row: its record and its fields.
struct MetricsRow<'t> {
    row: Row<'t>,
    /// By position in [`METRIC_FIELDS`].
    values: Vec<Option<Vec<u8>>>,
    extra: Option<String>,
}

fn read<'t>(row: Row<'t>, bytes: &[u8], places: &FieldPlaces) -> MetricsRow<'t> {
    let fields = metrics_fields(row.log.index.metadata(row.record, bytes)).sorted(places);
    let mut extra = serde_json::Map::new();
    let mut keep = |key: &[u8], value: &[u8]| {
        let value = serde_json::from_slice(&strict::to_strict(value)).unwrap_or(serde_json::Value::Null);
        extra.insert(json::unescape_inner(key), value);
    };
    let values = METRIC_FIELDS.iter().zip(fields.known).map(|(field, value)| {
        let value = value.filter(|value| *value != b"null")?;
        if fits(field.kind, value) {
            return Some(value.to_vec());
        }
        keep(field.name.as_bytes(), value);
        None
    });
    let values = values.collect();
    for (key, value) in fields.others {
        keep(key, value);
    }
    let extra = (!extra.is_empty()).then(|| serde_json::Value::Object(extra).to_string());
    MetricsRow { row, values, extra }
}

fn build(trace: &Trace) -> Result<Table> {
    let rows = rows(trace, is_metrics);
    let mut metrics = Vec::with_capacity(rows.len());
    let places = FieldPlaces::default();
    for chunk in rows.chunk_by(|a, b| a.file == b.file) {
        let Some(first) = chunk.first() else { continue };
        let view = first.log.view()?;
        let read: Vec<MetricsRow<'_>> = chunk.par_iter().map(|row| read(*row, &view, &places)).collect();
        metrics.extend(read);
    }
    let mut builder = compile_columns(TableBuilder::new(&metrics), |m: &MetricsRow<'_>| m.row)
        .u64("offset", "Byte at which the record starts.", |m| Some(m.row.record.offset))
        .time("time", "When it was logged.", |m| m.row.record.time_us())
        .name("kind", "Kind of the record: forward, backward, run time.", |m| {
            Some(Cow::Borrowed(m.row.log.index.names.kind(m.row.record.kind)))
        });
    for (at, field) in METRIC_FIELDS.iter().enumerate() {
        // The record's own id stands in `compile_id`.
        let name = if field.name == "compile_id" { "metrics_compile_id" } else { field.name };
        let cell = move |m: &'_ MetricsRow<'_>| m.values.get(at).cloned().flatten();
        builder = match field.kind {
            MetricType::Int => builder.i64(name, field.about, move |m| as_int(&cell(m)?)),
            MetricType::Float => builder.f64(name, field.about, move |m| as_float(&cell(m)?)),
            MetricType::Text => builder.text(name, field.about, move |m| json::unescape(&cell(m)?).map(Cow::Owned)),
            MetricType::Json => builder.text(name, field.about, move |m| {
                let value = cell(m)?;
                Some(Cow::Owned(json::unescape(&value).unwrap_or_else(|| as_json(&value))))
            }),
            MetricType::Bool => builder.bool(name, field.about, move |m| Some(cell(m)? == b"true")),
            MetricType::Texts => builder.texts(name, field.about, move |m| as_texts(&cell(m)?)),
        };
    }
    builder
        .text("extra", "Fields that are not listed here, and values of an unexpected type: a JSON object.", |m| {
            m.extra.as_deref().map(Cow::Borrowed)
        })
        .finish("metrics")
}
