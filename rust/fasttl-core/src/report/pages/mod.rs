//! The pages: each turns what was found into the context of its template. They only arrange; what they
//! say is decided in [`crate::analysis`].

mod agreement;
mod code;
mod common;
mod export;
mod failures;
mod file_list;
mod findings;
mod guard_tree;
mod guards;
mod job;
mod metric_rows;
mod metrics;
mod other_records;
mod overview;
mod provenance;
mod provenance_text;
mod rank;
mod records;
mod stack_tree;
mod stack_view;
mod traces;

pub(super) use agreement::{Evidence, shown_evidence};
pub(super) use code::{CodePage, LineAnchors};
pub(super) use common::{Site, plural, sibling};
pub(super) use export::export_page;
pub(super) use failures::failures_page;
pub(super) use findings::linked_records;
pub(super) use guard_tree::{GuardTrees, symbolic_guard_page};
pub(super) use guards::guards_page;
pub(super) use job::{JobInput, RankRow, job_page};
pub(super) use metrics::{Forms, Shapes, metrics_page, shapes};
pub(super) use other_records::other_records_page;
pub(super) use overview::{Summary, summary};
pub(super) use provenance::provenance_page;
pub(super) use rank::{RankInput, cache_mark, rank_page};
pub(super) use records::OTHER_RECORDS;
pub(super) use traces::traces_page;
