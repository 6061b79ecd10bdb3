//! Which broad phase of a compile a span's own time counts for, told by its name.
//!
//! The names are those that PyTorch 2.5 to 2.14 gives to its timed steps; whoever calls `dynamo_timed` may add more.
//! Of a name that is not known nothing is said.

/// Names, or with a star at the end their beginnings, and the phase. The first that fits counts.
const PHASES: &[(&str, &[&str])] = &[
    (
        "dynamo",
        &[
            "dynamo",
            "entire_frame_compile",
            "_compile.compile_inner",
            "compile_attempt_*",
            "bytecode_tracing",
            "fullgraph_capture",
            "insert_deferred_runtime_asserts",
            "automatic_dynamic",
            "pgo.*",
        ],
    ),
    ("guards", &["build_guards"]),
    ("gc", &["gc"]),
    // What a backend of its own takes stands here as a whole.
    ("backend", &["OutputGraph.call_user_compiler", "backend_compile"]),
    (
        "aot",
        &[
            "create_aot_dispatcher_function",
            "aot_collect_metadata",
            "aot_trace_joint_graph",
            "min_cut_rematerialization_partition",
        ],
    ),
    ("backward", &["entire_backward_compile", "compiled_autograd", "backward no-op"]),
    (
        "codegen",
        &[
            "code_gen",
            "GraphLowering.codegen",
            "GraphLowering.compile_to_fn",
            "GraphLowering.compile_to_module",
            "Scheduler.codegen",
            "PythonWrapperCodegen.generate",
            "CppWrapperCpu.generate",
            "CppWrapperGpu.generate",
        ],
    ),
    (
        "kernels",
        &[
            "async_compile.*",
            "compile_file",
            "PyCodeCache.load_by_key_path",
            "AotCodeCompiler.compile",
            "aoti_precompile_header",
            "aoti_serialize_constants",
            "reload_kernel_in_parent",
            "CachingAutotuner.*",
            "StaticAutotunerFuture.*",
        ],
    ),
    (
        "inductor",
        &[
            "inductor_compile",
            "inductor_import",
            "fx_codegen_and_compile",
            "compile_fx*",
            "additional_fake_tensor_prop",
            "_recursive_pre_grad_passes",
            "_recursive_joint_graph_passes",
            "_recursive_post_grad_passes",
            "pass.*",
            "fx.bucketing.*",
            "GraphLowering.run",
            "Scheduler.*",
            "CUTLASSGemmTemplate.*",
        ],
    ),
    (
        "cache",
        &[
            "fx_graph_cache_*",
            "autograd_cache_*",
            "inductor_codecache_torch_key",
            "AOTAutogradCache.*",
            "FxGraphCache.*",
            "CacheBase.*",
            "TritonBundler.*",
        ],
    ),
    ("runtime", &["cudagraphify*", "runtime_*"]),
];

/// The phase of a span with this name; `None` where the name is not known.
pub(crate) fn phase_of(name: &str) -> Option<&'static str> {
    let is_named = |known: &&str| match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *known,
    };
    PHASES.iter().find(|(_, names)| names.iter().any(is_named)).map(|(phase, _)| *phase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_phases() {
        for (name, phase) in [
            ("dynamo", "dynamo"),
            ("compile_attempt_12", "dynamo"),
            ("backend_compile", "backend"),
            ("compile_fx.<locals>.bw_compiler", "inductor"),
            ("pass.post_grad_passes.stable_sort", "inductor"),
            ("Scheduler.codegen", "codegen"),
            ("Scheduler.fused_nodes", "inductor"),
            ("compile_file", "kernels"),
            ("gc", "gc"),
        ] {
            assert_eq!(phase_of(name), Some(phase), "{name}");
        }
        for name in ["", "dynamo2", "my own step", "GC", "pass"] {
            assert_eq!(phase_of(name), None, "{name:?}");
        }
    }

    #[test]
    fn no_name_is_in_two_phases() {
        let names: Vec<&str> = PHASES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
    }
}
