//! The record kinds that are known by name, in one list.
//!
//! A kind that is not listed here is kept all the same: in the tables, in `raw.jsonl`, and with its
//! payload. To list a kind, add a line below.

/// What a record becomes in the standard report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nothing of its own: it is part of an index, a page or a trace file.
    None,
    /// Its payload, as `<kind>_<n>.txt`.
    Text,
    /// Its payload, named by the metadata's `name` and, for artifacts, its encoding.
    Named,
    /// Generated code, shown on a page.
    Code,
    /// A page made from the metadata or the payload, as `<kind>_<n>.html`.
    Page,
    /// A file in `dump_file/`.
    Dump,
    /// A link to elsewhere.
    Link,
    /// A file that the standard report does not have.
    Extra,
}

/// A known kind.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// The first key of the record's head.
    pub name: &'static str,
    /// What the report makes of it.
    pub output: Output,
    /// One sentence for the reader.
    pub about: &'static str,
}

macro_rules! kinds {
    ($($id:ident = $name:literal, $output:ident, $about:literal;)*) => {
        /// The known kinds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Kind {
            $(#[doc = $about] $id,)*
        }

        /// The known kinds in the order of [`Kind`].
        pub const KINDS: &[(Kind, KindInfo)] = &[
            $((Kind::$id, KindInfo { name: $name, output: Output::$output, about: $about }),)*
        ];

        impl Kind {
            /// What is known of it.
            pub const fn info(self) -> &'static KindInfo {
                match self {
                    $(Self::$id => {
                        const INFO: &KindInfo =
                            &KindInfo { name: $name, output: Output::$output, about: $about };
                        INFO
                    })*
                }
            }

            /// The known kind of that name.
            pub fn by_name(name: &[u8]) -> Option<Self> {
                KINDS.iter().find(|(_, info)| info.name.as_bytes() == name).map(|(kind, _)| *kind)
            }
        }
    };
}

kinds! {
    ChromiumEvent = "chromium_event", None, "The begin, end or instant of a timed step of the compiler.";
    Str = "str", None, "A file name that stack frames refer to by number.";
    Artifact = "artifact", Named, "A text or JSON document that a compiler phase filed under a name.";
    DescribeTensor = "describe_tensor", None, "A tensor as the compiler saw it: sizes, strides, type, device.";
    DescribeStorage = "describe_storage", None, "The memory behind a described tensor.";
    DescribeSource = "describe_source", None, "How user code reaches a described tensor.";
    DynamoStart = "dynamo_start", None, "Dynamo begins to compile a frame, with the stack that led there.";
    DynamoOutputGraph = "dynamo_output_graph", Text, "The graph that Dynamo captured from the bytecode.";
    DynamoGuards = "dynamo_guards", Page, "Conditions under which the compiled code may be used again.";
    DynamoCppGuardsStr = "dynamo_cpp_guards_str", Text, "The tree of guards that is checked before compiled code runs.";
    CompilationMetrics = "compilation_metrics", Page, "Times, counts and outcome of one compile of a frame.";
    BwdCompilationMetrics = "bwd_compilation_metrics", Page, "Times, counts and outcome of compiling a backward graph.";
    AotBwdCompilationMetrics = "aot_autograd_backward_compilation_metrics", Page, "Times of a backward compile, as early releases wrote them.";
    CompilationMetricsRuntime = "compilation_metrics_runtime", Extra, "Metrics of compile work that was done while the compiled code ran.";
    BwdCompilationMetricsRuntime = "bwd_compilation_metrics_runtime", Extra, "Metrics of compile work that was done while compiled backward code ran.";
    AotForwardGraph = "aot_forward_graph", Text, "The forward half that AOTAutograd cut from the joint graph.";
    AotBackwardGraph = "aot_backward_graph", Text, "The backward half that AOTAutograd cut from the joint graph.";
    AotInferenceGraph = "aot_inference_graph", Text, "The graph that AOTAutograd made where no gradient is needed.";
    AotJointGraph = "aot_joint_graph", Text, "Forward and backward in one graph, before they are cut apart.";
    InductorPreGradGraph = "inductor_pre_grad_graph", Text, "The graph before Inductor's passes on the level of modules and functions.";
    InductorPostGradGraph = "inductor_post_grad_graph", Text, "The graph after Inductor's last passes, from which code is made.";
    InductorOutputCode = "inductor_output_code", Code, "The program that Inductor generated.";
    GraphDump = "graph_dump", Named, "A graph or generated code that was filed under a name.";
    OptimizeDdpSplitGraph = "optimize_ddp_split_graph", Text, "How DDPOptimizer ties together the parts that it cut a graph into.";
    OptimizeDdpSplitChild = "optimize_ddp_split_child", Named, "One part of a graph that DDPOptimizer cut.";
    CompiledAutogradGraph = "compiled_autograd_graph", Text, "The backward graph that compiled autograd captured.";
    DumpFile = "dump_file", Dump, "Source of generated Python code that stack frames point into.";
    Link = "link", Link, "A link that the program logged.";
    CreateSymbol = "create_symbol", None, "A size became a symbol: its source, first value and range.";
    CreateUnbackedSymbol = "create_unbacked_symbol", None, "A size that is only known at run time got a symbol.";
    SymbolicShapeSpecialization = "symbolic_shape_specialization", None, "A symbol was fixed to one value, with the reason.";
    GuardAddedFast = "guard_added_fast", None, "A condition on sizes was added as a guard.";
    GuardAdded = "guard_added", None, "A condition on sizes was added as a guard, with all detail.";
    PropagateRealTensors = "propagate_real_tensors", None, "A condition on data was decided by running on real values.";
    PropagateRealTensorsProvenance = "propagate_real_tensors_provenance", None, "A condition on data was decided by running on real values; with its origin.";
    GuardOnDataDependentError = "guard_on_data_dependent_error", None, "A condition on data that could not be decided.";
    ExpressionCreated = "expression_created", None, "A symbolic expression and those that it was made from.";
    MissingFakeKernel = "missing_fake_kernel", None, "An operator without an implementation for fake tensors.";
    MismatchedFakeKernel = "mismatched_fake_kernel", None, "An operator whose fake and real results differ.";
    Export = "export", Extra, "A mark that an export began.";
    ExportedProgram = "exported_program", Extra, "The program that torch.export produced.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_and_enum_agree() {
        for (index, (kind, info)) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, index);
            assert_eq!(kind.info().name, info.name);
            assert_eq!(Kind::by_name(info.name.as_bytes()), Some(*kind));
        }
    }
}
