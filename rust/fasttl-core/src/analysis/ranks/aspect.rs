//! The aspects in which ranks are compared.

use super::{exec_order, runtimes};

/// What is compared, in the order in which one makes the next differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aspect {
    /// PyTorch, Python, CUDA, Triton.
    Versions,
    /// Settings of the compiler.
    Configuration,
    /// Which compiles there are.
    Compiles,
    /// In which order.
    Order,
    /// The function that is compiled.
    Code,
    /// Its tensors: shapes, strides and types.
    Inputs,
    /// Symbolic sizes: what they stand for, and values that they were fixed to.
    Symbols,
    /// Guards.
    Guards,
    /// Why it was recompiled.
    Recompiles,
    /// Graph breaks.
    Breaks,
    /// Whether it failed.
    Outcome,
    /// Graphs.
    Graph,
    /// Answers of the caches.
    Cache,
    /// Collectives of each graph in their order.
    Collectives,
    /// Collectives in the schedule and in the code, and waits for them; each rank by itself.
    Parity,
    /// Shapes, strides and types of what operations yield.
    Tensors,
    /// Estimated runtimes of graphs.
    Runtimes,
    /// The order in which graphs ran.
    ExecOrder,
}

impl Aspect {
    /// All, in their order.
    pub const ALL: [Self; 18] = [
        Self::Versions,
        Self::Configuration,
        Self::Compiles,
        Self::Order,
        Self::Code,
        Self::Inputs,
        Self::Symbols,
        Self::Guards,
        Self::Recompiles,
        Self::Breaks,
        Self::Outcome,
        Self::Graph,
        Self::Cache,
        Self::Collectives,
        Self::Parity,
        Self::Tensors,
        Self::Runtimes,
        Self::ExecOrder,
    ];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Versions => "versions",
            Self::Configuration => "configuration",
            Self::Compiles => "compiles",
            Self::Order => "compile order",
            Self::Code => "code",
            Self::Inputs => "inputs",
            Self::Symbols => "symbols",
            Self::Guards => "guards",
            Self::Recompiles => "recompile reasons",
            Self::Breaks => "graph breaks",
            Self::Outcome => "outcome",
            Self::Graph => "graph",
            Self::Cache => "cache",
            Self::Collectives => "collectives",
            Self::Parity => "collectives and code",
            Self::Tensors => "tensors",
            Self::Runtimes => "runtimes",
            Self::ExecOrder => "execution order",
        }
    }

    /// What is said where all ranks are the same in it, and where no two ranks have anything to compare.
    pub(super) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Versions => ("All ranks have the same versions.", "No two logs name a version."),
            Self::Configuration => {
                ("All ranks have the same settings in each compile.", "No two logs have settings of one compile.")
            }
            Self::Compiles => ("All ranks compiled the same.", "No log has a compile."),
            Self::Order => ("All ranks compiled in the same order.", "No two ranks have a compile in common."),
            Self::Code => ("All ranks compiled the same functions.", "No two logs name a function to compare."),
            Self::Inputs => (
                "In each compile all ranks have inputs of the same shapes, strides and types.",
                "No two logs describe the inputs of a compile.",
            ),
            Self::Symbols => ("All ranks have the same symbolic sizes.", "No two ranks have a compile in common."),
            Self::Guards => ("In each compile all ranks have the same guards.", "No two logs have guards to compare."),
            Self::Recompiles => (
                "All ranks recompiled for the same reasons, or not at all.",
                "Of no two ranks it is known whether and why they recompiled.",
            ),
            Self::Breaks => ("All ranks have the same graph breaks.", "No two logs tell of graph breaks."),
            Self::Outcome => ("Each compile ended alike on all ranks.", "No two logs tell how a compile ended."),
            Self::Graph => ("In each compile all ranks have the same graphs.", "No two ranks have a graph to compare."),
            Self::Cache => (
                "Where ranks have a compile in common, the caches gave them the same answers.",
                "No two ranks have a look-up to compare: the caches were off, or the backend has none.",
            ),
            Self::Collectives => (
                "All ranks run the same collectives in the same order in each graph.",
                "No two ranks have a graph or code to compare.",
            ),
            Self::Parity => ("", ""),
            Self::Tensors => (
                "In each graph that all of them compiled, all ranks have tensors of the same shapes, strides and types.",
                runtimes::NONE_HAS,
            ),
            Self::Runtimes => (
                "In each graph that all of them compiled, all ranks have the same estimated runtime.",
                runtimes::NONE_HAS,
            ),
            Self::ExecOrder => ("All ranks ran the same graphs in the same order.", exec_order::NONE_HAS),
        }
    }
}
