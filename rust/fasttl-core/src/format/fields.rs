//! The metadata keys that each kind is known to have, so that a new one is noticed.
//!
//! Metrics are not here: their fields have a list of their own, and pages that show the others too.

use super::kind::Kind;

/// The keys that PyTorch writes into the metadata of a kind; none where the list stands elsewhere, or the
/// metadata is no object.
pub const fn known_keys(kind: Kind) -> Option<&'static [&'static str]> {
    Some(match kind {
        Kind::Str
        | Kind::CompilationMetrics
        | Kind::BwdCompilationMetrics
        | Kind::AotBwdCompilationMetrics
        | Kind::CompilationMetricsRuntime
        | Kind::BwdCompilationMetricsRuntime => return None,
        Kind::Artifact => &["name", "encoding"],
        Kind::GraphDump => &["name", "type", "filename"],
        Kind::DumpFile | Kind::OptimizeDdpSplitChild => &["name"],
        Kind::Link => &["name", "url"],
        Kind::InductorOutputCode => &["filename", "file_path"],
        Kind::DynamoStart => &["stack"],
        Kind::DynamoOutputGraph => &["sizes"],
        Kind::DescribeStorage => &["id", "describer_id", "size"],
        Kind::DescribeSource => &["id", "describer_id", "source"],
        Kind::DescribeTensor => TENSOR,
        Kind::CreateSymbol => &["symbol", "val", "vr", "source", "user_stack", "stack"],
        Kind::CreateUnbackedSymbol => &["symbol", "node_id", "vr", "user_stack", "stack"],
        Kind::SymbolicShapeSpecialization => &["symbol", "sources", "value", "reason", "stack", "user_stack"],
        Kind::GuardAddedFast => &["expr", "user_stack", "stack"],
        Kind::GuardAdded => {
            &["expr", "prefix", "expr_node_id", "user_stack", "stack", "symbol_to_sources", "frame_locals"]
        }
        Kind::PropagateRealTensors => &["expr", "result", "stack"],
        Kind::PropagateRealTensorsProvenance => {
            &["expr", "result", "expr_node_id", "user_stack", "stack", "symbol_to_sources", "frame_locals"]
        }
        Kind::GuardOnDataDependentError => &["expr", "unhinted_expr", "expr_id", "stack"],
        Kind::ExpressionCreated => {
            &["method", "result", "result_id", "arguments", "argument_ids", "user_stack", "stack"]
        }
        Kind::MissingFakeKernel => &["op"],
        Kind::MismatchedFakeKernel => &["op", "reason"],
        Kind::ChromiumEvent
        | Kind::DynamoGuards
        | Kind::DynamoCppGuardsStr
        | Kind::AotForwardGraph
        | Kind::AotBackwardGraph
        | Kind::AotInferenceGraph
        | Kind::AotJointGraph
        | Kind::InductorPreGradGraph
        | Kind::InductorPostGradGraph
        | Kind::OptimizeDdpSplitGraph
        | Kind::CompiledAutogradGraph
        | Kind::Export
        | Kind::ExportedProgram => &[],
    })
}

/// Keys of a described tensor; those with their usual value are left out.
const TENSOR: &[&str] = &[
    "id",
    "describer_id",
    "ndim",
    "dtype",
    "device",
    "size",
    "dynamo_hint_overrides",
    "dynamo_dynamic_indices",
    "is_inference",
    "is_leaf",
    "requires_grad",
    "is_sparse",
    "is_mkldnn",
    "is_functorch_wrapped",
    "is_batchedtensor",
    "is_legacy_batchedtensor",
    "is_gradtrackingtensor",
    "is_view",
    "is_nested",
    "is_traceable_wrapper_subclass",
    "is_functional",
    "is_conj",
    "is_neg",
    "is_parameter",
    "is_coalesced",
    "layout",
    "stride",
    "storage_offset",
    "storage",
    "base",
    "grad",
    "values",
    "unwrapped",
    "crow_indices",
    "col_indices",
    "ccol_indices",
    "row_indices",
    "attrs",
    "sparse_dim",
    "dense_dim",
    "bdim",
    "creation_meta",
    "type",
    "ctx",
    "fake_mode",
    "view_func",
    "level",
    "current_level",
    "functorch_stack",
    "nested_int",
    "opaque_attrs",
    "data",
    "autograd_meta_from",
];
