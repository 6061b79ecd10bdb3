//! Graph breaks, each line of the program that breaks a graph a finding.

use super::words::{at, count, on_ranks, seconds, short};
use super::{Evidence, Finding, FindingKind, Seen, Severity};
use crate::analysis::causes::BreakGroup;
use crate::format::code_place::Owner;

pub(super) const KIND: FindingKind =
    FindingKind { name: "graph breaks", about: "A line of the program breaks the graph, and why.", find };

/// Less time than this is not worth a word.
const WORTH_S: f64 = 0.005;

fn find(Seen { gathered, .. }: &Seen<'_>) -> Vec<Finding> {
    // Where a break made the whole compile fail, that is a finding of its own.
    let own = |group: &&BreakGroup| !(group.first.said.skips_frame && group.failed);
    gathered.breaks.iter().filter(own).map(finding).collect()
}

fn finding(group: &BreakGroup) -> Finding {
    let said = &group.first.said;
    let own = group.first.own.as_ref().map(|(place, _)| place);
    let inside = said.place.as_ref().filter(|place| Owner::of(&place.file) != Owner::User);
    let mut sentence = match (own, &group.code_name) {
        (Some(place), _) if inside.is_some_and(|inside| inside.file != place.file) => {
            format!("The graph breaks in {}, called from {}", inside.map(at).unwrap_or_default(), at(place))
        }
        (Some(place), _) => format!("The graph breaks at {}", at(place)),
        (None, _) => "The graph breaks".to_owned(),
    };
    sentence += &format!(", in {}{}", count(group.compiles, "compile"), on_ranks(&group.spread.ranks));
    if let (None, Some(name)) = (own, &group.code_name) {
        sentence += &format!(" ({}`{}`)", if group.compiles > 1 { "the first of " } else { "of " }, short(name));
    }
    sentence += &format!(": {}.", short(&said.reason).trim_end_matches('.'));
    if let Some(code) = group.first.own.as_ref().and_then(|(_, code)| code.as_deref()) {
        sentence += &format!(" Line `{}`.", short(code));
    }
    if said.skips_frame {
        sentence += " The whole function runs without being compiled.";
    }
    if let Some(lost) = group.lost_s.filter(|lost| *lost >= WORTH_S) {
        sentence += &format!(" Tries that were started over took {}.", seconds(lost));
    }
    Finding {
        kind: KIND.name,
        severity: Severity::Warning,
        cost_s: group.lost_s,
        sentence,
        advice: group.first.advice(),
        evidence: Evidence { table: "graph_breaks", rows: group.evidence.clone() },
        spread: group.spread.clone(),
    }
}
