//! Which pages of provenance a log's report has.

use rustc_hash::FxHashMap;

use super::Provenance;
use super::names::RelPath;
use super::plan::Plan;
use crate::analysis::provenance::{Part, parts};
use crate::format::compile_id::CompileId;
use crate::trace::Log;

/// The page of one compile id.
#[derive(Clone, Debug)]
pub(super) struct ProvenancePage {
    /// Where it goes.
    pub(super) path: RelPath,
    /// The Inductor compiles of the id.
    pub(super) parts: Vec<Part>,
}

/// The pages by compile id: where the log ties graphs to code, or for each id that has a directory's entry.
pub(super) fn pages(log: &Log, plan: &Plan, which: Provenance) -> FxHashMap<CompileId, ProvenancePage> {
    let mut parts = parts(log);
    let page = |(id, _): &(CompileId, _)| {
        let parts = parts.remove(id).unwrap_or_default();
        let wanted = which == Provenance::Standard || parts.iter().any(Part::is_tied);
        wanted.then(|| (*id, ProvenancePage { path: RelPath::provenance(&id.folder()), parts }))
    };
    plan.directory.iter().filter_map(page).collect()
}
