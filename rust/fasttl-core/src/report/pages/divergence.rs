//! "Where the ranks part" on the landing page: each difference with its cause, who has what, and what shows it; and the
//! pages that put two groups' texts side by side.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;

use super::agreement::{self, Compared, Evidence, GROUPS, Side};
use super::common::{Link, Page, count, moment};
use super::overview::Fact;
use super::side_by_side::{SideText, side_by_side};
use super::{RankRow, findings};
use crate::analysis::ranks::{Aspect, Comparison, Difference, Group, rank_list};
use crate::error::Result;
use crate::report::html::Pages;

/// Differences that are open, and those behind the fold.
const OPEN: usize = 5;
const MOST: usize = 40;
/// Groups of one place that are put beside the largest.
const COMPARED: usize = 3;
/// Pages with two texts side by side.
const PAGES: usize = 100;

/// Two groups of a difference whose records are put side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ComparedPair {
    /// Number of the difference.
    pub(crate) difference: usize,
    /// Number of the group that is put beside the largest.
    pub(crate) group: usize,
    /// Logs and records of both: the largest group first.
    pub(crate) records: [(usize, usize); 2],
}

/// The section.
#[derive(Serialize)]
pub(crate) struct Divergence {
    rows: Vec<Row>,
    folded: Vec<Row>,
    more: String,
}

#[derive(Serialize)]
struct Row {
    aspect: &'static str,
    place: String,
    when: String,
    cause: Vec<findings::Piece>,
    groups: Vec<Side>,
    more: String,
}

/// Whether the records of a difference are texts that say more side by side.
const fn has_text(aspect: Aspect) -> bool {
    matches!(
        aspect,
        Aspect::Graph
            | Aspect::Guards
            | Aspect::Collectives
            | Aspect::Code
            | Aspect::Inputs
            | Aspect::Recompiles
            | Aspect::Breaks
            | Aspect::Configuration
    )
}

/// The records that this section and the one of all aspects point at.
pub(crate) fn shown_evidence(comparison: &Comparison) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
    let shown = comparison.differences.iter().take(MOST);
    let own = shown.flat_map(|difference| difference.groups.iter().take(GROUPS)).map(|group| group.evidence);
    own.chain(agreement::shown_evidence(comparison))
}

/// What is put side by side.
pub(crate) fn compared_pairs(comparison: &Comparison) -> Vec<ComparedPair> {
    let of_difference = |(number, difference): (usize, &Difference)| {
        let record = |group: &Group| Some((group.evidence.0, group.evidence.1?));
        let most = difference.groups.first().filter(|_| has_text(difference.aspect)).and_then(record);
        let odd = difference.groups.iter().enumerate().skip(1).take(COMPARED);
        odd.filter_map(|(group, odd)| Some(ComparedPair { difference: number, group, records: [most?, record(odd)?] }))
            .collect::<Vec<_>>()
    };
    let mut shown: BTreeMap<usize, &Difference> = comparison.differences.iter().enumerate().take(MOST).collect();
    shown.extend(Aspect::ALL.into_iter().flat_map(|aspect| agreement::shown_of(comparison, aspect)));
    shown.into_iter().flat_map(of_difference).take(PAGES).collect()
}

/// The section.
pub(crate) fn divergence(
    comparison: &Comparison,
    rows: &[RankRow<'_>],
    evidence: &Evidence,
    compared: &Compared,
) -> Divergence {
    let row = |(number, difference): (usize, &Difference)| {
        let compare = |nth| compared.get(&(number, nth)).cloned();
        let (groups, more) = agreement::sides(&difference.groups, evidence, compare);
        Row {
            aspect: difference.aspect.name(),
            place: place(difference),
            when: when(difference, rows),
            cause: difference.cause.as_deref().map(findings::pieces).unwrap_or_default(),
            groups,
            more,
        }
    };
    let mut rows: Vec<Row> = comparison.differences.iter().enumerate().take(MOST).map(row).collect();
    let folded = rows.split_off(OPEN.min(rows.len()));
    let more = comparison.differences.len().saturating_sub(MOST);
    let more = if more > 0 { format!("{} more are in the table `divergence`.", count(more)) } else { String::new() };
    Divergence { rows, folded, more }
}

fn place(difference: &Difference) -> String {
    match difference.position {
        // The words mostly say it already.
        Some(position) if !difference.place.contains(&position.to_string()) => {
            format!("{}, position {position}", difference.place)
        }
        _ => difference.place.clone(),
    }
}

fn when(difference: &Difference, rows: &[RankRow<'_>]) -> String {
    let odd = difference.groups.get(1).and_then(|group| rows.get(group.evidence.0));
    odd.map(|row| moment(difference.time_us, row.log)).unwrap_or_default()
}

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: String,
    back: Link,
    aspect: &'static str,
    place: String,
    cause: Vec<findings::Piece>,
    sentence: String,
    notes: Vec<String>,
    facts: Vec<Fact>,
    sides: Vec<Head>,
    body: Value,
}

#[derive(Serialize)]
struct Head {
    ranks: String,
    value: String,
    href: Option<String>,
}

/// What a page with two texts side by side is made of.
pub(crate) struct DiffInput<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) rows: &'a [RankRow<'a>],
    pub(crate) evidence: &'a Evidence,
    /// Name of the job.
    pub(crate) heading: &'a str,
    pub(crate) header_html: &'a str,
}

impl DiffInput<'_> {
    /// A page; `None` where the pair is none.
    pub(crate) fn page(&self, pages: &Pages, pair: ComparedPair, texts: [&SideText; 2]) -> Result<Option<String>> {
        let Some(difference) = self.comparison.differences.get(pair.difference) else { return Ok(None) };
        let (Some(most), Some(odd)) = (difference.groups.first(), difference.groups.get(pair.group)) else {
            return Ok(None);
        };
        let [a, b] = texts;
        let side_by_side = side_by_side(a, b);
        let head = |group: &Group| Head {
            ranks: rank_list(&group.ranks),
            value: group.value.clone(),
            href: self.evidence.get(&group.evidence).map(|href| format!("../{href}")),
        };
        let note = |(text, group): (&SideText, &Group)| {
            text.left_out().map(|words| format!("{}: {words}.", rank_list(&group.ranks)))
        };
        let mut facts = Vec::new();
        let when = when(difference, self.rows);
        if !when.is_empty() {
            facts.push(Fact::new("When", when));
        }
        let heading = format!("{} beside {}", rank_list(&most.ranks), rank_list(&odd.ranks));
        let context = Context {
            page: Page::new(format!("{heading} · {} · fasttl", self.heading), "", 1, self.header_html),
            heading,
            back: Link { href: "../index.html#divergence".to_owned(), label: self.heading.to_owned() },
            aspect: difference.aspect.name(),
            place: place(difference),
            cause: difference.cause.as_deref().map(findings::pieces).unwrap_or_default(),
            sentence: side_by_side.sentence,
            notes: [(a, most), (b, odd)].into_iter().filter_map(note).collect(),
            facts,
            sides: vec![head(most), head(odd)],
            body: side_by_side.body.into_value(),
        };
        pages.render("diff.html", &context).map(Some)
    }
}
