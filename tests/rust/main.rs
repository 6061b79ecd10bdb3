//! Tests of `fasttl-core` through its public face, over real logs, hand-made ones and generated ones.
//!
//! One program, since five would each link the whole crate: `cargo test -p fasttl-core --test integration`.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod catalogue;
mod causes;
mod common;
mod diff;
mod events;
mod export;
mod guards;
mod input;
mod probes;
mod properties;
mod provenance;
mod rank_pages;
mod rank_times;
mod ranks;
mod ranks_first;
mod ranks_groups;
mod ranks_noise;
mod ranks_runs;
mod report;
mod stored;
mod tables;
mod writing;
