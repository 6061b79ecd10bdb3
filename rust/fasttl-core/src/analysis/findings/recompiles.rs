//! Functions that were compiled again and again, each kind of reason a finding; those at the limit are errors.

use super::words::{code, few, on_ranks, seconds, short, times};
use super::{Evidence, Finding, FindingKind, Gathered, Severity};
use crate::analysis::causes::RecompileGroup;
use crate::format::recompile_reason::Cause;

pub(super) const KIND: FindingKind = FindingKind {
    name: "recompiles",
    about: "A function was compiled again because a guard did not hold; whether the limit was hit.",
    find,
};

fn find(gathered: &Gathered) -> Vec<Finding> {
    gathered.recompiles.clone().into_list().into_iter().map(finding).collect()
}

fn finding(group: RecompileGroup) -> Finding {
    let (name, file, line) = &group.code;
    let mut sentence = format!(
        "{} was compiled again {}",
        code(name.as_deref(), file.as_deref(), *line),
        times(group.count.saturating_sub(group.refused))
    );
    if group.refused > 0 {
        sentence += if group.count == group.refused { " no more: it" } else { " and" };
        sentence += " hit the recompile limit";
    }
    sentence += &on_ranks(&group.spread.ranks);
    sentence += &format!(": {}.", what(&group));
    if let Some(guard) = &group.example {
        sentence += &format!(" Guard `{}`.", short(guard));
    }
    if let Some(cost) = group.cost_s {
        sentence += &format!(" These compiles took {}.", seconds(cost));
    }
    let advice = group.advice();
    Finding {
        kind: KIND.name,
        severity: severity(&group),
        cost_s: group.cost_s,
        sentence,
        advice,
        evidence: Evidence { table: "recompiles", rows: group.evidence },
        spread: group.spread,
    }
}

/// One more compile for a change that every training loop makes is nothing to mend.
fn severity(group: &RecompileGroup) -> Severity {
    let once = group.count <= group.spread.files.len() as u64;
    match group.cause {
        _ if group.refused > 0 => Severity::Error,
        Cause::GradMode | Cause::Container if once => Severity::Info,
        _ => Severity::Warning,
    }
}

/// What was other, in words: `the size of `x` in dimension 0 changed (2, 3, 4)`.
fn what(group: &RecompileGroup) -> String {
    let source = group.source.as_deref().map(|source| format!(" of `{}`", short(source))).unwrap_or_default();
    let dimensions: Vec<String> = group.dimensions.iter().map(ToString::to_string).collect();
    let dimensions = match dimensions.len() {
        0 => String::new(),
        1 => format!(" in dimension {}", few(&dimensions, 1)),
        _ => format!(" in dimensions {}", few(&dimensions, 6)),
    };
    let changed = match group.cause {
        Cause::Float => "the number",
        Cause::Integer => "the integer",
        Cause::Constant => "the constant",
        Cause::Global => "the global variable",
        Cause::ObjectId => "the object",
        Cause::GradMode => return "the grad mode changed".to_owned(),
        Cause::GlobalState => return "a global setting of PyTorch changed".to_owned(),
        Cause::Limit => return "too many variants".to_owned(),
        Cause::Other => return "a guard did not hold".to_owned(),
        Cause::Container => return format!("the length or the keys{source} changed"),
        other => return format!("the {}{source}{dimensions} changed{}", other.name(), values(group)),
    };
    let source = group.source.as_deref().map(|source| format!(" `{}`", short(source))).unwrap_or_default();
    format!("{changed}{source} changed{}", values(group))
}

fn values(group: &RecompileGroup) -> String {
    // Ids of objects say nothing to a reader.
    if group.values.is_empty() || matches!(group.cause, Cause::ObjectId | Cause::Type) {
        return String::new();
    }
    let shown: Vec<String> = group.values.iter().map(|value| short(value)).collect();
    format!(" ({})", few(&shown, 8))
}
