//! Reads PyTorch `TORCH_TRACE` logs into Arrow tables and writes the compile report.
//!
//! The data goes one way, and each module imports earlier ones only:
//! [`input`] → [`format`] → [`index`] → [`tables`] → [`analysis`] → [`report`].
//! `docs/design.md` tells what each step guarantees.

pub mod analysis;
pub mod error;
pub mod format;
pub mod index;
pub mod input;
pub mod job;
pub mod report;
pub mod tables;
pub mod trace;
