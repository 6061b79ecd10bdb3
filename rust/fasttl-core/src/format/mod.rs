//! One record's grammar: pure functions on byte slices.
//!
//! Nothing here does I/O, starts a thread or keeps state; what can be a slice of the input is one.
//! The fuzzers call these functions directly. The grammar is PyTorch's `torch/_logging/_internal.py`
//! and `torch/_logging/structured.py`; `docs/format.md` names what was checked against real runs.

pub mod catalogue;
pub mod code_place;
pub mod compared;
pub mod compile_id;
pub mod envelope;
pub mod event;
pub mod fields;
pub mod frame;
pub mod fx_graph;
mod fx_nodes;
pub(crate) mod fx_numbers;
pub mod graph_break;
pub mod guards;
pub mod json;
pub mod kind;
pub mod md5_lanes;
mod open;
pub mod output_code;
pub mod payload;
pub mod prefix;
mod python;
pub mod recompile_reason;
pub mod strict;
pub(crate) mod text;
pub mod time;
mod vectors;
