//! The pages: each turns what was found into the context of its template. They only arrange; what they
//! say is decided in [`crate::analysis`].

mod code;
mod common;
mod export;
mod failures;
mod guard_tree;
mod guards;
mod job;
mod metrics;
mod overview;
mod rank;
mod stack_tree;
mod traces;

pub(super) use code::{CodePage, LineAnchors};
pub(super) use common::{Site, plural, sibling};
pub(super) use export::export_page;
pub(super) use failures::failures_page;
pub(super) use guard_tree::{GuardTrees, symbolic_guard_page};
pub(super) use guards::guards_page;
pub(super) use job::{JobInput, RankRow, job_page};
pub(super) use metrics::{Shapes, metrics_page, shapes};
pub(super) use overview::{Summary, summary};
pub(super) use rank::{RankInput, cache_mark, rank_page};
pub(super) use traces::traces_page;
