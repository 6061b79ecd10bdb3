//! Compiles for which CUDA graphs were not used.

use super::words::{count, on_ranks, short};
use super::{Evidence, Finding, FindingKind, Seen, Severity};

pub(super) const KIND: FindingKind =
    FindingKind { name: "cudagraphs", about: "CUDA graphs were asked for and not used, and why.", find };

fn find(Seen { gathered, .. }: &Seen<'_>) -> Vec<Finding> {
    let finding = |group: &super::gathered::Group<String>| Finding {
        kind: KIND.name,
        severity: Severity::Warning,
        cost_s: None,
        sentence: format!(
            "CUDA graphs were skipped for {}{}: {}.",
            count(group.count, "compile"),
            on_ranks(&group.spread.ranks),
            short(&group.key).trim_end_matches('.')
        ),
        advice:
            "Take away what the reason names: inputs that are changed in place, tensors on the CPU, dynamic shapes, \
             operations that CUDA graphs cannot record. Without them each call launches its kernels one by one."
                .to_owned(),
        spread: group.spread.clone(),
        evidence: Evidence { table: "metrics", rows: group.evidence.clone() },
    };
    gathered.cudagraphs.iter().map(finding).collect()
}
