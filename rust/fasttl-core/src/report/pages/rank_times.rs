//! Times over ranks on `ranks.html`: which compiles took longer on one rank than on the others, and the last thing that
//! each rank did.

use serde::Serialize;

use super::RankRow;
use super::common::{Link, count, duration, moment, plural, shorten};
use super::job::link;
use crate::analysis::ranks::{Comparison, Key, Skew, Standing};

/// Compiles and ranks that are listed.
const SKEWS: usize = 200;
const RANKS: usize = 4_096;
/// Characters of a name.
const NAME: usize = 80;

/// Compiles whose times differ from rank to rank.
#[derive(Serialize)]
pub(super) struct SkewTable {
    rows: Vec<SkewRow>,
    more: String,
}

#[derive(Serialize)]
struct SkewRow {
    id: String,
    function: String,
    ranks: String,
    spread: Number,
    fastest: Number,
    fastest_on: String,
    median: Number,
    slowest: Number,
    slowest_on: Option<Link>,
    waited: Number,
}

/// Seconds as they are shown, and as they are sorted by.
#[derive(Default, Serialize)]
struct Number {
    text: String,
    value: Option<f64>,
}

impl Number {
    fn of(seconds: Option<f64>) -> Self {
        Self { text: seconds.map(duration).unwrap_or_default(), value: seconds }
    }
}

/// The last thing that each rank did.
#[derive(Serialize)]
pub(super) struct LastTable {
    rows: Vec<LastRow>,
    more: String,
}

#[derive(Serialize)]
struct LastRow {
    rank: i32,
    href: Option<String>,
    state: &'static str,
    level: &'static str,
    why: String,
    last: &'static str,
    what: String,
    at: String,
    behind: Number,
    waiting: Number,
}

/// The table of compiles, those that others waited for longest first.
pub(super) fn skew_table(comparison: &Comparison, rows: &[RankRow<'_>]) -> Option<SkewTable> {
    let mut skews: Vec<&Skew> = comparison.skews.iter().filter(|skew| skew.ranks > 1).collect();
    skews.sort_by(|a, b| b.waited_s.unwrap_or(-1.0).total_cmp(&a.waited_s.unwrap_or(-1.0)));
    let more = skews.len().saturating_sub(SKEWS);
    skews.truncate(SKEWS);
    let row = |skew: &&Skew| {
        let slowest = skew.max.and_then(|(_, rank)| Some((rank, rows.get(skew.slowest.0)?)));
        SkewRow {
            id: label(skew.key),
            function: shorten(skew.code.0.as_deref().unwrap_or_default(), NAME),
            ranks: count(skew.ranks as usize),
            spread: Number::of(skew.start_spread_s),
            fastest: Number::of(skew.min.map(|(seconds, _)| f64::from(seconds))),
            fastest_on: skew.min.map(|(_, rank)| format!("rank {rank}")).unwrap_or_default(),
            median: Number::of(skew.median_s.map(f64::from)),
            slowest: Number::of(skew.max.map(|(seconds, _)| f64::from(seconds))),
            slowest_on: slowest.map(|(rank, row)| Link { href: link(row), label: format!("rank {rank}") }),
            waited: Number::of(skew.waited_s),
        }
    };
    let rows: Vec<SkewRow> = skews.iter().map(row).collect();
    let more = if more > 0 { format!("{} more are in the table `skew`.", count(more)) } else { String::new() };
    (!rows.is_empty()).then_some(SkewTable { rows, more })
}

/// The table of ranks, those without a log included.
pub(super) fn last_table(comparison: &Comparison, rows: &[RankRow<'_>]) -> Option<LastTable> {
    let more = comparison.standings.len().saturating_sub(RANKS);
    let row = |standing: &Standing| {
        let of = standing.log.and_then(|log| rows.get(log));
        let state = standing.state.name();
        LastRow {
            rank: standing.rank,
            href: of.map(link),
            state,
            level: if state == "compared" { "ok" } else { "error" },
            why: standing.why.clone().unwrap_or_default(),
            last: standing.last.as_ref().map_or("", |last| last.state.name()),
            what: what(standing),
            at: of.map(|row| moment(standing.last_us, row.log)).unwrap_or_default(),
            behind: Number::of(standing.behind_s),
            waiting: Number::of(standing.waiting_s),
        }
    };
    let rows: Vec<LastRow> = comparison.standings.iter().take(RANKS).map(row).collect();
    let more =
        if more > 0 { format!("{} are in the table `ranks`.", plural(more, "more rank")) } else { String::new() };
    (!rows.is_empty()).then_some(LastTable { rows, more })
}

/// The compile and the step that a rank was at.
fn what(standing: &Standing) -> String {
    let Some(last) = &standing.last else { return String::new() };
    let name = last.code.as_ref().and_then(|(name, ..)| name.as_deref()).unwrap_or_default();
    let parts = [last.key.map(label).unwrap_or_default(), shorten(name, NAME), shorten(&last.step, NAME)];
    parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" · ")
}

/// A compile id, with the generation where there are several.
pub(super) fn label((generation, id): Key) -> String {
    if generation > 0 { format!("{id} @{generation}") } else { id.to_string() }
}
