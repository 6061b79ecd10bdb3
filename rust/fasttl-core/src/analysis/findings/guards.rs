//! Functions with so many guards that checking them costs time in each call.

use super::words::{code, count, on_ranks};
use super::{Evidence, Finding, FindingKind, Gathered, Severity};
use crate::analysis::causes::Code;

pub(super) const KIND: FindingKind =
    FindingKind { name: "guards", about: "A function has so many guards that each call pays for them.", find };

/// As many as this are worth a finding: a check of them takes a tenth of a millisecond and more.
pub(super) const MANY: i64 = 500;

fn find(gathered: &Gathered) -> Vec<Finding> {
    let (most, latency) = gathered.most_guards;
    let latency = latency.map(|us| format!(", and the check of them up to {us} µs")).unwrap_or_default();
    let finding = |group: super::gathered::Group<Code>| {
        let (name, file, line) = &group.key;
        Finding {
            kind: KIND.name,
            severity: Severity::Info,
            cost_s: None,
            sentence: format!(
                "{} has {MANY} guards or more, in {}{}. The most of a compile are {most}{latency} when it was built.",
                code(name.as_deref(), file.as_deref(), *line),
                count(group.count, "compile"),
                on_ranks(&group.spread.ranks)
            ),
            advice: "Each call checks them all. Guards on what never changes can be left out with \
                 torch.compile(options={\"guard_filter_fn\": …}), for instance with \
                 torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe; the table `guards` tells what they are about."
                .to_owned(),
            spread: group.spread,
            evidence: Evidence { table: "metrics", rows: group.evidence },
        }
    };
    gathered.guards.clone().into_list().into_iter().map(finding).collect()
}
