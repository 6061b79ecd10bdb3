//! Functions with so many guards that checking them costs time in each call.

use super::gathered::GuardGroup;
use super::words::{code, count, on_ranks};
use super::{Evidence, Finding, FindingKind, Seen, Severity};

pub(super) const KIND: FindingKind =
    FindingKind { name: "guards", about: "A function has so many guards that each call pays for them.", find };

/// As many as this are worth a finding: a check of them takes a tenth of a millisecond and more.
pub(super) const MANY: i64 = 500;

fn find(Seen { gathered, .. }: &Seen<'_>) -> Vec<Finding> {
    let finding = |GuardGroup { group, most, latency_us }: &GuardGroup| {
        let latency = latency_us.map(|us| format!(", and a check of them took {us} µs when it was built"));
        let (name, file, line) = &group.key;
        Finding {
            kind: KIND.name,
            severity: Severity::Info,
            cost_s: None,
            sentence: format!(
                "{} has up to {most} guards, in {}{}{}.",
                code(name.as_deref(), file.as_deref(), *line),
                count(group.count, "compile"),
                on_ranks(&group.spread.ranks),
                latency.unwrap_or_default()
            ),
            advice: "Each call checks them all. Guards on what never changes can be left out with \
                 torch.compile(options={\"guard_filter_fn\": …}), for instance with \
                 torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe; the table `guards` tells what they are about."
                .to_owned(),
            spread: group.spread.clone(),
            evidence: Evidence { table: "metrics", rows: group.evidence.clone() },
        }
    };
    gathered.guards.iter().map(finding).collect()
}
