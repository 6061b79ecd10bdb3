//! The names that artifacts and graphs are known by, in one list: what each is, and which phase makes it.
//!
//! Names are free text, so some are patterns, in which `*` stands for any text. A name that is not listed
//! is kept and shown all the same, with what is known of its kind. To list a name, add a line below.
//! `docs/records.md` is made from this list and from that of [`super::kind`].

use super::kind::{Kind, Phase};

/// A known name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The kind that carries it.
    pub kind: Kind,
    /// The name, or a pattern.
    pub name: &'static str,
    /// Which phase makes it.
    pub phase: Phase,
    /// One sentence for the reader.
    pub about: &'static str,
}

macro_rules! names {
    ($($kind:ident $name:literal, $phase:ident, $about:literal;)*) => {
        /// The known names.
        pub const NAMES: &[Entry] = &[
            $(Entry { kind: Kind::$kind, name: $name, phase: Phase::$phase, about: $about },)*
        ];
    };
}

names! {
    // Every phase.
    Artifact "torch_version", Any, "Which build of PyTorch wrote the log: version, commit, and whether it is an open-source build.";
    Artifact "fx_interpreter_error", Any, "The message and the graph of a run, node by node, in which one node raised an error.";
    Artifact "make_fx_fail_partial", Any, "As much of a graph as had been traced when tracing it failed.";
    Artifact "fx_net_acc_splitter_finder_events", Any, "For each node, the decisions by which a graph was split between an accelerator and the rest.";

    // Dynamo.
    Artifact "recompile_reasons", Dynamo, "Which guard of each earlier compile did not hold, so that the code was compiled again.";
    Artifact "dynamo_graph_break_reason", Dynamo, "Where and why Dynamo had to end a graph in the middle of a function.";
    Artifact "dynamo_error", Dynamo, "The Python traceback of a compile that failed.";
    Artifact "dynamo_side_effects", Dynamo, "Changes to Python objects that Dynamo makes once more after the compiled graph has run.";
    Artifact "torch_dynamo_resume_in_*_ORIGINAL_BYTECODE", Dynamo, "The bytecode of the rest of a function after a graph break, as Dynamo found it.";
    Artifact "torch_dynamo_resume_in_*_MODIFIED_BYTECODE", Dynamo, "The bytecode that Dynamo wrote for the rest of a function after a graph break.";
    Artifact "guard_collective", Dynamo, "Whether the guards held on all ranks when these agreed on a recompile; written by PyTorch 2.8 only.";

    // AOTAutograd.
    Artifact "torch._functorch.config", Aot, "The settings of AOTAutograd at this compile, as a JSON object.";
    Artifact "aot_forward_graph_fw_metadata", Aot, "What AOTAutograd found out about inputs and outputs of a graph: aliases, mutations, views.";
    Artifact "aot_forward_graph_fw_subclass_metadata", Aot, "The same facts about inputs and outputs, after tensor subclasses were taken apart.";
    Artifact "aot_inference_graph_after_hop_passes", Aot, "The graph without gradients, after the passes over its nested sub-graphs.";
    Artifact "aot_saved_tensors_hooks_graphs", Aot, "The graphs before and after hooks on saved tensors were put into them.";
    Artifact "eager_compile_backwards_failure", Aot, "The traceback of a backward graph that could not be compiled together with its forward graph.";
    Artifact "min_cut_information", Aot, "What the partitioner weighed: size of the joint graph, memory budget, expected run time.";
    Artifact "min_cut_failed_fx_graph", Aot, "The graph that the partitioner could not cut in two.";
    Artifact "min_cut_failed_edge_list", Aot, "The weighted edges of the flow network in which no cut was found.";
    Artifact "min_cut_failed_svg", Aot, "A drawing of the flow network in which no cut was found.";
    Artifact "before_activation_quantization_fwd_aten_pass", Aot, "The forward graph before saved activations are quantized.";
    Artifact "after_activation_quantization_fwd_aten_pass", Aot, "The forward graph after saved activations were quantized.";
    Artifact "before_activation_quantization_bwd_aten_pass", Aot, "The backward graph before it takes quantized activations.";
    Artifact "after_activation_quantization_bwd_aten_pass", Aot, "The backward graph that turns quantized activations back.";
    Artifact "invoke_subgraph_backward_duplicate", Aot, "One forward sub-graph led to a further variant of its backward sub-graph.";
    Artifact "runtime_wrapper_orchestration", Aot, "Generated Python around the compiled graph: the order in which its run-time wrappers are called.";
    Artifact "backward_prologue", Aot, "Generated Python that prepares the gradients before the compiled backward graph runs.";
    Artifact "backward_epilogue", Aot, "Generated Python that hands on the results after the compiled backward graph ran.";
    Artifact "compiled_function_forward", Aot, "Generated Python of the autograd function's forward step, which runs the compiled forward graph.";
    Artifact "compiled_function_backward", Aot, "Generated Python of the autograd function's backward step, which runs the compiled backward graph.";
    Artifact "compiled_fn_wrapper", Aot, "Generated Python by which the compiled function is called.";
    Artifact "output_alias_wrapper", Aot, "Generated Python that makes outputs views of inputs again, where they were.";
    Artifact "mutation_epilogue", Aot, "Generated Python that writes changed inputs back after the graph ran.";
    Artifact "functionalized_rng_wrapper", Aot, "Generated Python that hands the state of the random generator in and out.";
    Artifact "effect_tokens_wrapper", Aot, "Generated Python that adds the tokens which keep effects in order.";
    Artifact "dedup_wrapper", Aot, "Generated Python that drops arguments which are the same tensor twice.";
    Artifact "synthetic_base_wrapper", Aot, "Generated Python that replaces inputs sharing memory by one common base.";
    Artifact "debug_assert_wrapper", Aot, "Generated Python that checks what AOTAutograd assumed about the inputs.";
    Artifact "subclass_wrapper", Aot, "Generated Python that takes tensor subclasses apart and puts results together again.";
    Artifact "backward_subclass_unwrap", Aot, "Generated Python that takes gradients of tensor subclasses apart for the backward graph.";
    Artifact "backward_subclass_wrapper", Aot, "Generated Python that makes gradients tensor subclasses again after the backward graph.";

    // Inductor.
    Artifact "before_pre_grad_graph", Inductor, "The graph before Inductor's passes on the level of modules and functions.";
    Artifact "after_pre_grad_graph", Inductor, "The graph after Inductor's passes on the level of modules and functions.";
    Artifact "before_joint_graph", Inductor, "The graph before Inductor's passes on the joint graph, logged where no gradient is needed.";
    Artifact "after_joint_graph", Inductor, "The graph after Inductor's passes on the joint graph, logged where no gradient is needed.";
    Artifact "before_post_grad_graph", Inductor, "The graph of basic operations before Inductor's last passes.";
    Artifact "inductor_post_grad_graph", Inductor, "The graph after Inductor's last passes, from which code is made.";
    Artifact "after_post_grad_graph", Inductor, "The graph after Inductor's last passes, as PyTorch 2.8 and 2.9 called it.";
    Artifact "before_recompile_pre_grad", Inductor, "The graph before the passes on the level of modules and functions, as PyTorch 2.7 called it.";
    Artifact "after_recompile_pre_grad", Inductor, "The graph after the passes on the level of modules and functions, as PyTorch 2.7 called it.";
    Artifact "before_recompile_post_grad", Inductor, "The graph before Inductor's last passes, as PyTorch 2.7 called it.";
    Artifact "after_recompile_post_grad", Inductor, "The graph after Inductor's last passes, as PyTorch 2.7 called it.";
    Artifact "optimus_*", Inductor, "The graph after a rule that fuses groups of like operations had changed it.";
    Artifact "cff_*", Inductor, "The graph after a rule of custom fusion had changed it.";
    Artifact "*_pre_grad", Inductor, "The graph after a configured pattern pass on the level of modules and functions had changed it.";
    Artifact "*_post_grad", Inductor, "The graph after a configured pattern pass among the last ones had changed it.";
    Artifact "*_fused", Inductor, "Nodes and buffers of a graph after fusion, as JSON for looking at the use of memory.";
    Artifact "fx_graph_runnable", Inductor, "A Python script that compiles and runs this graph on its own, to reproduce an error.";
    Artifact "inductor_provenance_tracking_node_mappings", Inductor, "Which nodes before the last passes, nodes after them and kernels belong together.";
    Artifact "inductor_provenance_tracking_kernel_stack_traces", Inductor, "For each kernel, the lines of your code that it was made from.";
    Artifact "inductor_triton_kernel_to_post_grad_nodes", Inductor, "Which nodes of the last graph each Triton kernel holds; written by PyTorch 2.7 only.";
    Artifact "inductor_generated_kernel_to_post_grad_nodes", Inductor, "Which nodes of the last graph each kernel holds; written by PyTorch 2.8 only.";
    Artifact "inductor_post_to_pre_grad_nodes", Inductor, "Which nodes before AOTAutograd each node of the last graph comes from; PyTorch 2.7 and 2.8.";
    Artifact "triton_kernel_info", Inductor, "For each Triton kernel its compile time, its number of configurations and the one that was chosen.";
    Artifact "inductor_autotune_at_compile_time_code", Inductor, "The Python program that tries out kernels while Inductor compiles.";
    Artifact "compile_worker_status", Inductor, "What a worker process that compiles kernels reports of itself.";
    Artifact "compile_worker_sidecar_death", Inductor, "A helper process that compiles kernels has died.";
    Artifact "native_dsl_compile", Inductor, "The compile of a kernel that is written in a language of its own.";
    Artifact "flex_gemm_*", Inductor, "A step in making a matrix multiplication from the flex_gemm templates.";
    Artifact "fusion_regions_before", Inductor, "The graph before operations were gathered into regions to fuse; PyTorch 2.11 and 2.12.";
    Artifact "fusion_regions_after", Inductor, "The graph after operations were gathered into regions to fuse; PyTorch 2.11 and 2.12.";
    GraphDump "inductor_aot_wrapper_code", Inductor, "The C++ program around the kernels of an ahead-of-time compile.";
    GraphDump "inductor_aot_kernel_code", Inductor, "The C++ kernels of an ahead-of-time compile.";
    GraphDump "inductor_aot_header_code", Inductor, "The C++ header of an ahead-of-time compile.";
    GraphDump "inductor_aot_code", Inductor, "The C++ program of an ahead-of-time compile, as PyTorch 2.4 to 2.6 called it.";

    // Compiled autograd.
    Artifact "compiled_autograd_compile_reasons", CompiledAutograd, "Why compiled autograd could not use an earlier capture for this backward pass.";
    Artifact "compiled_autograd_graph_pre_reordering", CompiledAutograd, "The captured backward graph, before its nodes are moved to where they belong.";

    // Distributed.
    Artifact "compiler_collective", Distributed, "What this rank tells the others about the sizes it saw, so that all compile alike.";
    Artifact "aot_joint_graph_sync_decision_cross_ranks", Distributed, "Whose choice of tensors to save all ranks follow, and the choice of this one.";
    Artifact "inductor_collective_schedule", Distributed, "The collective kernels of a graph in the order in which they will run.";
    Artifact "inductor_runtime_and_tensor_meta", Distributed, "Estimated run time and output shapes of each scheduled operation.";
    Artifact "graph_execution", Distributed, "The order in which the compiled graphs of this process ran.";
    Artifact "inductor_graph_execution", Distributed, "The order in which compiled graphs ran, as nightly builds called it.";
    Artifact "inductor_spmd_graph_mismatch", Distributed, "How the graphs of the ranks differ, where they should be the same.";
    Artifact "scheduler_nodes_before_comm_overlap", Distributed, "The schedule before collectives are moved to overlap with computation.";
    Artifact "reorder_communication_preserving_peak_memory", Distributed, "Which collectives were moved in the schedule, and what that does to peak memory.";
    Artifact "sink_waits_iterative_info", Distributed, "How far the waits for collectives were moved back in the schedule.";
    Artifact "*_ITERATIVE_RECOMPUTE_ERROR", Distributed, "A pass over collectives tracked memory step by step and came to another figure than counting anew.";
    Artifact "inductor_fx_passes_overlap_bucketing", Distributed, "What the pass did that puts collectives into buckets and keeps their overlap.";
    Artifact "inductor_overlap_cyclic_extra_deps", Distributed, "The extra dependencies that made a cycle when collectives were put into buckets.";
    Artifact "overlap_scheduling_graph_before", Distributed, "The graph before collectives and computation are scheduled to overlap.";
    Artifact "overlap_scheduling_graph_after", Distributed, "The graph after collectives and computation were scheduled to overlap.";
    Artifact "fx_compute_nodes_runtime_estimation", Distributed, "Measured and estimated time of each computing node, as CSV.";
    Artifact "fx_collectives_analytical_estimation", Distributed, "The estimated time of each collective, as CSV.";
    Artifact "fx_collectives_node_runtime_estimation", Distributed, "Measured and estimated time of each collective, as CSV.";
    Artifact "fx_collectives_estimations_after_overlap_bucketing", Distributed, "The estimated time of each collective after they were put into buckets, as CSV.";
    Artifact "fx_bucketing_passes_all_gather_buckets", Distributed, "Which all-gathers were put into one bucket.";
    Artifact "fx_bucketing_passes_reduce_scatter_buckets", Distributed, "Which reduce-scatters were put into one bucket.";
    Artifact "pre_bucketing_collective_sizes", Distributed, "Type and size of each collective before they are put into buckets.";
    Artifact "pre_bucketing_collective_sizes_after", Distributed, "Type and size of each collective after the pass that gets them ready for buckets.";
    Artifact "pre_bucketing_fsdp_collectives", Distributed, "Which collectives belong to FSDP, found before they are put into buckets.";
    Artifact "pre_decomp_comms", Distributed, "The graph before collectives are broken down into simpler ones.";
    Artifact "post_decomp_comms", Distributed, "The graph after collectives were broken down into simpler ones.";
    Artifact "pge_profile_vs_analytical", Distributed, "Times from a profile beside the estimates, for collectives and other operations.";

    // Caches and profiles.
    Artifact "fx_graph_cache_hit", Caches, "Inductor found the compiled graph in its cache: the key and what it is made of.";
    Artifact "fx_graph_cache_miss", Caches, "Inductor's cache had no graph under this key: the key and what it is made of.";
    Artifact "fx_graph_cache_bypass", Caches, "Inductor did not ask its cache for this graph, and why.";
    Artifact "fx_graph_cache_hash", Caches, "The key of a graph in Inductor's cache, as PyTorch 2.4 and 2.5 wrote it.";
    Artifact "fx_graph_bundled_cache_hit", Caches, "The compiled graph came with an entry of AOTAutograd's cache.";
    Artifact "aotautograd_cache_hit", Caches, "AOTAutograd found forward and backward in its cache: the key and the time saved.";
    Artifact "aotautograd_cache_miss", Caches, "AOTAutograd's cache had nothing under this key.";
    Artifact "aotautograd_cache_bypass", Caches, "AOTAutograd did not use its cache, and why.";
    Artifact "aotautograd_cache_hash", Caches, "The key of a graph in AOTAutograd's cache, as PyTorch 2.5 and 2.6 wrote it.";
    Artifact "aotautograd_cache_pickle_failure", Caches, "A field that could not be stored in AOTAutograd's cache.";
    Artifact "precompile_cache_bypass", Caches, "Why a frame was not stored for use without compiling.";
    Artifact "dynamo_cache_bypass", Caches, "An entry of Dynamo's cache could not be used or stored, and which backend it lacks.";
    Artifact "dynamo_cache_entries", Caches, "How many entries Dynamo's cache has, and what they hold.";
    Artifact "dynamo_cache_exception", Caches, "The error that using Dynamo's cache led to, with the key.";
    Artifact "get_local_code_state", Caches, "The profile of earlier runs that was read from this machine: which sizes changed.";
    Artifact "get_remote_code_state", Caches, "The profile of earlier runs that was read from the remote store.";
    Artifact "get_extra_remote_code_state", Caches, "A further profile of earlier runs that was read from the remote store.";
    Artifact "put_local_code_state", Caches, "The profile that was stored on this machine for later runs: which sizes changed.";
    Artifact "put_remote_code_state", Caches, "The profile that was stored remotely for later runs.";
    Artifact "put_extra_remote_code_state", Caches, "A further profile that was stored remotely for later runs.";

    // Programs beside PyTorch.
    Artifact "vllm_compilation_config", Others, "vLLM: the model and how it is compiled: mode, backend, where the graph is split, CUDA graphs.";
    Artifact "vllm_piecewise_compile_start", Others, "vLLM: one piece of the model begins to compile for a range of sizes.";
    GraphDump "vllm_piecewise_split_graph", Others, "vLLM: how the pieces that the model's graph was split into are called.";
    GraphDump "vllm_*", Others, "vLLM: the graph of one piece of the model.";
    GraphDump "vllm_post_grad.*", Others, "vLLM: the graph at one of vLLM's own passes, which the name tells.";
    GraphDump "vllm_patterns.*", Others, "vLLM: the patterns that one of vLLM's own passes looks for.";
    Artifact "fx_codegen", Others, "torchtitan: Python code generated from a graph.";
    Artifact "activation_memory_policy", Others, "torchtitan: which activations are kept, recomputed or moved out of the way.";
    Artifact "autoparallel_joint_graph", Others, "autoparallel: forward and backward in one graph, before it is spread over devices.";
    Artifact "autoparallel_parallel_graph", Others, "autoparallel: the graph after it was spread over devices.";
    Artifact "autoparallel_sharding_optimizer_log", Others, "autoparallel: how the search for a placement of the tensors went.";
    Artifact "autoparallel_solution", Others, "autoparallel: the placement that was found for each tensor.";
    Artifact "asynctp_pre_graph", Others, "autoparallel: the graph before communication is overlapped with matrix multiplications.";
    Artifact "asynctp_log", Others, "autoparallel: what the pass did that overlaps communication with matrix multiplications.";
    Artifact "asynctp_post_graph", Others, "autoparallel: the graph after communication was overlapped with matrix multiplications.";
}

/// What is known of a record by its name: the entry of that name, or the longest pattern that it fits.
pub fn about(kind: Kind, name: &str) -> Option<&'static Entry> {
    let of_kind = || NAMES.iter().filter(|entry| entry.kind == kind);
    of_kind()
        .find(|entry| entry.name == name)
        .or_else(|| of_kind().filter(|entry| fits(entry.name, name)).max_by_key(|entry| exactness(entry)))
}

/// How much a pattern says: its length, and between equals how much stands at its start.
fn exactness(entry: &Entry) -> (usize, Option<usize>) {
    (entry.name.len(), entry.name.find('*'))
}

/// Whether `name` is of the form of a pattern with one `*`.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else { return false };
    name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_entry_counts() {
        let found = |kind, name| about(kind, name).map(|entry| entry.name);
        assert_eq!(found(Kind::Artifact, "before_recompile_pre_grad"), Some("before_recompile_pre_grad"));
        assert_eq!(found(Kind::Artifact, "my_pass_pre_grad"), Some("*_pre_grad"));
        assert_eq!(found(Kind::GraphDump, "vllm_post_grad.3.Fuse"), Some("vllm_post_grad.*"));
        assert_eq!(found(Kind::GraphDump, "vllm_submod_3"), Some("vllm_*"));
        assert_eq!(found(Kind::Artifact, "vllm_submod_3"), None);
        assert_eq!(found(Kind::Artifact, "_pre_grad"), None, "a star stands for some text");
        let resumed = "torch_dynamo_resume_in_f_at_10_MODIFIED_BYTECODE";
        assert_eq!(found(Kind::Artifact, resumed), Some("torch_dynamo_resume_in_*_MODIFIED_BYTECODE"));
        assert_eq!(found(Kind::Artifact, "nobody_knows"), None);
    }

    #[test]
    fn no_two_entries_claim_one_name() {
        for (at, entry) in NAMES.iter().enumerate() {
            let (stars, after) = (entry.name.matches('*').count(), &NAMES[at + 1..]);
            assert!(stars <= 1 && !entry.name.trim_matches('*').is_empty(), "{}", entry.name);
            let same = after.iter().find(|other| (other.kind, other.name) == (entry.kind, entry.name));
            assert_eq!(same, None);
            // Of two patterns that one name fits, one has to be more exact.
            for other in after.iter().filter(|o| o.kind == entry.kind && exactness(o) == exactness(entry)) {
                let name = format!("{}{}", entry.name, other.name).replace('*', "x");
                let back = format!("{}{}", other.name, entry.name).replace('*', "x");
                let both = |name: &str| fits(entry.name, name) && fits(other.name, name);
                assert!(!both(&name) && !both(&back), "{} and {}", entry.name, other.name);
            }
        }
    }

    #[test]
    fn every_entry_says_one_thing() {
        for entry in NAMES {
            let about = entry.about;
            assert!(about.ends_with('.') && about.len() < 110 && !about.contains(". "), "{about}");
            let twin = NAMES.iter().find(|other| other.about == about && other.name != entry.name);
            assert!(twin.is_none(), "{} says what another one says", entry.name);
        }
    }
}
