//! Functions that were compiled again and again, each kind of reason a finding; those at the limit are errors.

use super::words::{code, few, on_ranks, seconds, short, times};
use super::{Evidence, Finding, FindingKind, Seen, Severity};
use crate::analysis::causes::RecompileGroup;
use crate::format::recompile_reason::Cause;

pub(super) const KIND: FindingKind = FindingKind {
    name: "recompiles",
    about: "A function was compiled again because a guard did not hold; whether the limit was hit.",
    find,
};

/// Dimensions that a sentence names.
const TOLD: usize = 4;

fn find(Seen { gathered, .. }: &Seen<'_>) -> Vec<Finding> {
    // Where recompiles are errors, they are told as failed compiles.
    let made = |group: &&RecompileGroup| group.forbidden < group.count;
    gathered.recompiles.iter().filter(made).map(finding).collect()
}

fn finding(group: &RecompileGroup) -> Finding {
    let (name, file, line) = &group.code;
    let code = code(name.as_deref(), file.as_deref(), *line);
    let again = group.count.saturating_sub(group.refused + group.forbidden);
    let mut sentence = match (again, group.refused) {
        (0, _) => format!("{code} was not compiled again: it had hit the recompile limit"),
        (_, 0) => format!("{code} was compiled again {}", times(again)),
        _ => format!("{code} was compiled again {} and hit the recompile limit", times(again)),
    };
    sentence += &on_ranks(&group.spread.ranks);
    sentence += &format!(": {}.", what(group));
    if let Some(guard) = &group.example {
        sentence += &format!(" Guard `{}`.", short(guard));
    }
    if let Some(cost) = group.cost_s {
        sentence += &format!(" These compiles took {}.", seconds(cost));
    }
    let advice = group.advice();
    Finding {
        kind: KIND.name,
        severity: severity(group),
        cost_s: group.cost_s,
        sentence,
        advice,
        evidence: Evidence { table: "recompiles", rows: group.evidence.clone() },
        spread: group.spread.clone(),
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

/// What was other, in words: ``the size of `x` in dimension 0 changed (2, 3, 4)``.
fn what(group: &RecompileGroup) -> String {
    let name = group.source.as_deref().map(|source| format!("`{}`", short(source)));
    let of = name.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
    let it = name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let subject = match group.cause {
        Cause::GradMode => return "the grad mode changed".to_owned(),
        Cause::GlobalState => return "a global setting of PyTorch changed".to_owned(),
        Cause::Limit => return "too many variants".to_owned(),
        Cause::Other => return "a guard did not hold".to_owned(),
        Cause::Aliasing => return "which arguments are the same tensor changed".to_owned(),
        Cause::ObjectId => return format!("another object stands for{it}"),
        Cause::Type => return format!("the class{of} changed"),
        Cause::Attribute => return format!("an attribute{of} came or went"),
        Cause::RequiresGrad => return format!("whether{it} wants a gradient changed"),
        Cause::TensorKind => return format!("the kind of tensor{of} changed"),
        Cause::Container => return format!("the length or the keys{of} changed"),
        Cause::Backend => "the backend".to_owned(),
        Cause::Dimensions => format!("the number of dimensions{of}"),
        Cause::Float => format!("the number{it}"),
        Cause::Integer => format!("the integer{it}"),
        Cause::Constant => format!("the constant{it}"),
        Cause::Global => format!("the global variable{it}"),
        Cause::Size | Cause::Stride | Cause::Dtype | Cause::Device => format!("the {}{of}", group.cause.name()),
    };
    let places: Vec<String> = group.values.values().map(|values| listed(values)).collect();
    match places.as_slice() {
        [one] => format!("{subject}{} changed{}", dimension(group), one),
        several => {
            let told = several.iter().zip(group.values.keys()).take(TOLD);
            let one = |(values, of): (&String, &Option<u32>)| of.map(|n| format!(", in dimension {n}{values}"));
            let more = if several.len() > TOLD { ", and in others" } else { "" };
            format!("{subject} changed{}{more}", told.filter_map(one).collect::<String>())
        }
    }
}

fn dimension(group: &RecompileGroup) -> String {
    group.dimensions().first().map(|n| format!(" in dimension {n}")).unwrap_or_default()
}

/// The values in brackets; one alone tells nothing of what changed.
fn listed(values: &[String]) -> String {
    let shown: Vec<String> = values.iter().map(|value| short(value)).collect();
    if shown.len() < 2 { String::new() } else { format!(" ({})", few(&shown, 8)) }
}
