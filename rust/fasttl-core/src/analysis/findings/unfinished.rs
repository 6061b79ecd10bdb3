//! Compiles that the log ends in: what a killed or hanging process was doing.

use super::words::{code, on_ranks, times};
use super::{Evidence, Finding, FindingKind, Gathered, Severity};

pub(super) const KIND: FindingKind =
    FindingKind { name: "unfinished compiles", about: "The log ends before a compile did.", find };

fn find(gathered: &Gathered) -> Vec<Finding> {
    let finding = |group: &super::gathered::Group<super::gathered::OpenKey>| {
        let ((name, file, line), is_cut) = &group.key;
        let code = code(name.as_deref(), file.as_deref(), *line);
        let often = if group.count > 1 { format!(" {}", times(group.count)) } else { String::new() };
        let cut = if *is_cut { " The log ends inside a record." } else { "" };
        Finding {
            kind: KIND.name,
            severity: Severity::Error,
            cost_s: None,
            sentence: format!(
                "The log ends while {code} is being compiled{often}{}: the process was killed, hangs, or still works.{cut}",
                on_ranks(&group.spread.ranks)
            ),
            advice:
                "See what the compile had done last (its artifacts, and its open spans in `events`). Out of memory, a \
                 time limit, and a collective that other ranks never enter are the usual reasons."
                    .to_owned(),
            spread: group.spread.clone(),
            evidence: Evidence { table: "records", rows: group.evidence.clone() },
        }
    };
    gathered.unfinished.iter().map(finding).collect()
}
