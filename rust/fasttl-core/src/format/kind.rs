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

/// Which part of PyTorch, or who else, makes a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Bytecode to graphs.
    Dynamo,
    /// Backward graphs and basic operations.
    Aot,
    /// Graphs to kernels.
    Inductor,
    /// Backward passes traced as programs of their own.
    CompiledAutograd,
    /// Several ranks.
    Distributed,
    /// `torch.export`.
    Export,
    /// Symbolic sizes, and tensors without data.
    Shapes,
    /// Caches, and profiles of earlier runs.
    Caches,
    /// Times and counts.
    Metrics,
    /// More than one of these.
    Any,
    /// Programs beside PyTorch.
    Others,
}

impl Phase {
    /// All, in the order of the pages.
    pub const ALL: [Self; 11] = [
        Self::Dynamo,
        Self::Aot,
        Self::Inductor,
        Self::CompiledAutograd,
        Self::Distributed,
        Self::Export,
        Self::Shapes,
        Self::Caches,
        Self::Metrics,
        Self::Any,
        Self::Others,
    ];

    /// Name on pages and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dynamo => "Dynamo",
            Self::Aot => "AOTAutograd",
            Self::Inductor => "Inductor",
            Self::CompiledAutograd => "Compiled autograd",
            Self::Distributed => "Distributed",
            Self::Export => "Export",
            Self::Shapes => "Fake tensors and shapes",
            Self::Caches => "Caches and profiles of earlier runs",
            Self::Metrics => "Times and metrics",
            Self::Any => "Any phase",
            Self::Others => "Programs beside PyTorch",
        }
    }
}

/// A known kind.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// The first key of the record's head.
    pub name: &'static str,
    /// Which phase makes it.
    pub phase: Phase,
    /// What the report makes of it.
    pub output: Output,
    /// One sentence for the reader.
    pub about: &'static str,
}

macro_rules! kinds {
    ($($id:ident = $name:literal, $phase:ident, $output:ident, $about:literal;)*) => {
        /// The known kinds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Kind {
            $(#[doc = $about] $id,)*
        }

        /// The known kinds in the order of [`Kind`].
        pub const KINDS: &[(Kind, KindInfo)] = &[
            $((
                Kind::$id,
                KindInfo { name: $name, phase: Phase::$phase, output: Output::$output, about: $about },
            ),)*
        ];

        impl Kind {
            /// What is known of it.
            pub const fn info(self) -> &'static KindInfo {
                match self {
                    $(Self::$id => {
                        const INFO: &KindInfo = &KindInfo {
                            name: $name,
                            phase: Phase::$phase,
                            output: Output::$output,
                            about: $about,
                        };
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
    ChromiumEvent = "chromium_event", Metrics, None, "The begin, end or instant of a timed step of the compiler.";
    Str = "str", Any, None, "A file name that stack frames refer to by number.";
    Artifact = "artifact", Any, Named, "A text or JSON document that a compiler phase filed under a name.";
    DescribeTensor = "describe_tensor", Shapes, None, "A tensor as the compiler saw it: sizes, strides, type, device.";
    DescribeStorage = "describe_storage", Shapes, None, "The memory behind a described tensor.";
    DescribeSource = "describe_source", Shapes, None, "How user code reaches a described tensor.";
    DynamoStart = "dynamo_start", Dynamo, None, "Dynamo begins to compile a frame, with the stack that led there.";
    DynamoOutputGraph = "dynamo_output_graph", Dynamo, Text, "The graph that Dynamo captured from the bytecode.";
    DynamoGuards = "dynamo_guards", Dynamo, Page, "Conditions under which the compiled code may be used again.";
    DynamoCppGuardsStr = "dynamo_cpp_guards_str", Dynamo, Text, "The tree of guards that is checked before compiled code runs.";
    CompilationMetrics = "compilation_metrics", Metrics, Page, "Times, counts and outcome of one compile of a frame.";
    BwdCompilationMetrics = "bwd_compilation_metrics", Metrics, Page, "Times, counts and outcome of compiling a backward graph.";
    AotBwdCompilationMetrics = "aot_autograd_backward_compilation_metrics", Metrics, Page, "Times of a backward compile, as early releases wrote them.";
    CompilationMetricsRuntime = "compilation_metrics_runtime", Metrics, Extra, "Metrics of compile work that was done while the compiled code ran.";
    BwdCompilationMetricsRuntime = "bwd_compilation_metrics_runtime", Metrics, Extra, "Metrics of compile work that was done while compiled backward code ran.";
    AotForwardGraph = "aot_forward_graph", Aot, Text, "The forward half that AOTAutograd cut from the joint graph.";
    AotBackwardGraph = "aot_backward_graph", Aot, Text, "The backward half that AOTAutograd cut from the joint graph.";
    AotInferenceGraph = "aot_inference_graph", Aot, Text, "The graph that AOTAutograd made where no gradient is needed.";
    AotJointGraph = "aot_joint_graph", Aot, Text, "Forward and backward in one graph, before they are cut apart.";
    InductorPreGradGraph = "inductor_pre_grad_graph", Inductor, Text, "The graph before Inductor's passes on the level of modules and functions.";
    InductorPostGradGraph = "inductor_post_grad_graph", Inductor, Text, "The graph after Inductor's last passes, from which code is made.";
    InductorOutputCode = "inductor_output_code", Inductor, Code, "The program that Inductor generated.";
    GraphDump = "graph_dump", Inductor, Named, "A graph or generated code that was filed under a name.";
    OptimizeDdpSplitGraph = "optimize_ddp_split_graph", Distributed, Text, "How DDPOptimizer ties together the parts that it cut a graph into.";
    OptimizeDdpSplitChild = "optimize_ddp_split_child", Distributed, Named, "One part of a graph that DDPOptimizer cut.";
    CompiledAutogradGraph = "compiled_autograd_graph", CompiledAutograd, Text, "The backward graph that compiled autograd captured.";
    DumpFile = "dump_file", Dynamo, Dump, "Source of generated Python code that stack frames point into.";
    Link = "link", Metrics, Link, "A link that the program logged.";
    CreateSymbol = "create_symbol", Shapes, None, "A size became a symbol: its source, first value and range.";
    CreateUnbackedSymbol = "create_unbacked_symbol", Shapes, None, "A size that is only known at run time got a symbol.";
    SymbolicShapeSpecialization = "symbolic_shape_specialization", Shapes, None, "A symbol was fixed to one value, with the reason.";
    GuardAddedFast = "guard_added_fast", Shapes, None, "A condition on sizes was added as a guard.";
    GuardAdded = "guard_added", Shapes, None, "A condition on sizes was added as a guard, with all detail.";
    PropagateRealTensors = "propagate_real_tensors", Shapes, None, "A condition on data was decided by running on real values.";
    PropagateRealTensorsProvenance = "propagate_real_tensors_provenance", Shapes, None, "A condition on data that was decided by running on real values, and where it came from.";
    GuardOnDataDependentError = "guard_on_data_dependent_error", Shapes, None, "A condition on data that could not be decided.";
    ExpressionCreated = "expression_created", Shapes, None, "A symbolic expression and those that it was made from.";
    MissingFakeKernel = "missing_fake_kernel", Shapes, None, "An operator without an implementation for fake tensors.";
    MismatchedFakeKernel = "mismatched_fake_kernel", Shapes, None, "An operator whose fake and real results differ.";
    Export = "export", Export, Extra, "A mark that an export began.";
    ExportedProgram = "exported_program", Export, Extra, "The program that torch.export produced.";
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
