//! Reads PyTorch `TORCH_TRACE` logs into Arrow tables and writes the compile report.
//!
//! The data goes one way, and each module imports earlier ones only:
//! [`input`] → [`mod@format`] → [`index`] → [`tables`] → [`analysis`] → [`report`].
//! `docs/design.md` tells what each step guarantees. Between index and tables, [`sidecar`] keeps indexes beside
//! their logs, and [`trace`] puts the logs of a job in order; [`select`] goes over some of their records;
//! [`job`] carries progress and the wish to stop.
//!
//! ```
//! use fasttl_core::{analysis, job, report, trace};
//!
//! # fn main() -> Result<(), fasttl_core::error::Error> {
//! # let dir = tempfile::tempdir().expect("a folder");
//! let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/crash_3_ranks");
//! let job = job::Job::default();
//! job::on_pool(None, || {
//!     let trace = trace::load(&[example.into()], &trace::LoadOptions::default(), &job)?;
//!     let frames = analysis::table(&trace, "frames")?;
//!     assert_eq!(frames.batch.num_rows(), 8);
//!     let options = report::ReportOptions { out: dir.path().join("out"), ..Default::default() };
//!     let report = report::write_report(&trace, &options, &job)?;
//!     assert!(report.index.is_file());
//!     Ok(())
//! })
//! # }
//! ```

pub mod analysis;
pub mod error;
pub mod format;
pub mod index;
pub mod input;
pub mod job;
pub mod parsers;
pub mod report;
pub mod select;
pub mod sidecar;
pub mod tables;
pub mod trace;
