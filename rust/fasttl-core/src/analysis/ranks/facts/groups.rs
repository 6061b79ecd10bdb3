//! Names of process groups in the graphs of a compile. Ranks of one job have different ones, so that they are no part of
//! the profile that ranks share.

use std::sync::Arc;

use super::super::Aspect;
use super::said::OfLog;
use super::{CompileFact, Said};

impl CompileFact {
    /// The graphs with the process groups of their collectives, in the order of the calls.
    pub(in crate::analysis::ranks) fn groups(&self) -> impl Iterator<Item = (&str, &str)> + '_ {
        self.groups.iter().flat_map(|lines| lines.split_terminator('\n')).filter_map(|line| line.split_once('\t'))
    }
}

/// A line for each collective that names its group: the graph and the group. `records` are those of `said`.
pub(super) fn groups(of: OfLog<'_>, said: &[Said], records: &[u32]) -> Option<Arc<str>> {
    let mut lines = String::new();
    for (said, at) in said.iter().zip(records).filter(|(said, _)| said.aspect == Aspect::Graph) {
        let Some(record) = of.log.index.records.get(*at as usize) else { continue };
        let Some(graph) = of.texts.graphs.of(of.log, record, of.bytes) else { continue };
        for group in &graph.groups {
            for text in [&said.what, "\t", group, "\n"] {
                lines.push_str(text);
            }
        }
    }
    (!lines.is_empty()).then(|| of.texts.keep(&lines))
}
