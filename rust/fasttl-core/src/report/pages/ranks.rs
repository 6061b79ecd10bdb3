//! The ranks of a job in pictures and tables: on the landing page those that differ and some of the others, all of them
//! on `ranks.html`.

use minijinja::Value;
use serde::Serialize;

use super::RankRow;
use super::common::{Link, Page, count, duration, plural};
use super::over_ranks::{OverRanks, RankGroup};
use super::picture::legend;
use super::rank_times::{LastTable, SkewTable, last_table, skew_table};
use super::strip::{Bin, Columns, odd_ends, row_label, summary};
use super::timeline::Clock;
use crate::error::Result;
use crate::report::html::{Markup, Pages};

/// Rows and columns of the strip on the landing page, and lanes of the timeline there.
const ROWS: usize = 24;
const COLUMNS: u32 = 64;
/// Columns of the strip that has a row for each rank.
const EACH_COLUMNS: u32 = 48;
const LANES: usize = 16;
/// Lanes that are filled up with the slowest.
const FILLED: usize = 6;
/// Pixels of a lane there, and on the page of all ranks.
const LANE: u32 = 960;
const NARROW_LANE: u32 = 320;
/// Ranks whose lanes are as wide as those of the landing page.
const WIDE_LANES: usize = 64;
/// Groups and ranks on the page of all ranks.
const GROUPS: usize = 200;
const RANKS: usize = 4_096;

/// A row of a picture.
#[derive(Serialize)]
struct PictureRow {
    label: String,
    href: String,
    note: String,
    odd: bool,
    picture: Value,
}

/// A group of ranks in a table.
#[derive(Serialize)]
struct GroupRow {
    id: String,
    label: String,
    href: Option<String>,
    compiles: String,
    outcome: String,
    time: String,
    slowest: Option<Link>,
    differs: String,
}

/// The strip.
#[derive(Serialize)]
struct Strip {
    lead: String,
    axis: Value,
    rows: Vec<PictureRow>,
    legend: Value,
    table: Vec<GroupRow>,
    more: String,
}

/// The timeline.
#[derive(Serialize)]
struct Timeline {
    lead: String,
    axis: Value,
    work: Value,
    rows: Vec<PictureRow>,
    table: Vec<LaneRow>,
}

/// A lane in words.
#[derive(Serialize)]
struct LaneRow {
    label: String,
    href: String,
    words: String,
}

/// What the landing page shows of it.
#[derive(Serialize)]
pub(crate) struct RankPictures {
    strip: Option<Strip>,
    timeline: Option<Timeline>,
    all: String,
}

/// The sections of the landing page; nothing where there are no ranks to compare.
pub(crate) fn rank_pictures(all: &OverRanks<'_>) -> Option<RankPictures> {
    all.is_several().then(|| RankPictures {
        strip: strip(all, ROWS, "ranks.html"),
        timeline: timeline(all, &shown_lanes(all), LANE, true),
        all: format!("All {} ranks", count(all.members.len())),
    })
}

/// The strip with a row for each group, of at most `most`. `page` is the page that has all groups.
fn strip(all: &OverRanks<'_>, most: usize, page: &str) -> Option<Strip> {
    let columns = Columns::new(all.columns(), COLUMNS);
    if columns.is_empty() {
        return None;
    }
    let groups = all.groups.get(..most.min(all.groups.len())).unwrap_or_default();
    let rows: Vec<(usize, &RankGroup, Vec<Bin>)> = groups
        .iter()
        .enumerate()
        .map(|(nth, group)| (nth, group, columns.binned(all.cells_of(group).into_iter())))
        .collect();
    let longest = longest(rows.iter().flat_map(|(.., bins)| bins));
    let row = |(nth, group, bins): &(usize, &RankGroup, Vec<Bin>)| {
        let label = row_label(&all.ranks(group));
        PictureRow {
            href: group_href(all, group, *nth, page),
            note: note(all, group, *nth, bins),
            odd: group.first.is_some(),
            picture: columns.titled(bins, longest, &label).into_value(),
            label,
        }
    };
    let more = all.groups.len() - groups.len();
    Some(Strip {
        lead: lead(&columns, longest, all),
        axis: columns.axis().into_value(),
        rows: rows.iter().map(row).collect(),
        legend: legend().into_value(),
        table: rows.iter().map(|(nth, group, bins)| group_row(all, group, *nth, bins)).collect(),
        more: if more > 0 { plural(more, "more group") } else { String::new() },
    })
}

fn longest<'b>(bins: impl Iterator<Item = &'b Bin>) -> f64 {
    bins.filter_map(Bin::seconds).fold(0.0, f64::max)
}

fn lead(columns: &Columns, longest: f64, all: &OverRanks<'_>) -> String {
    let compiles = all.comparison.lineup.rows.len();
    let each = if columns.each() > 1 {
        format!("A column stands for {} of {} compiles", count(columns.each()), count(compiles))
    } else {
        "A column is a compile".to_owned()
    };
    format!(
        "{each}, a row the ranks that are alike in all but time. A bar is as high as the longest time of them, up to {}, by its logarithm.",
        duration(longest)
    )
}

/// Where the row of a group leads: to the rank, or to the group among all.
fn group_href(all: &OverRanks<'_>, group: &RankGroup, nth: usize, page: &str) -> String {
    match group.members.as_slice() {
        [only] => all.members.get(*only).map(|member| member.href.clone()).unwrap_or_default(),
        _ => format!("{page}#group-{nth}"),
    }
}

/// What is odd in a group: where it parts from most ranks, or how its compiles ended.
fn note(all: &OverRanks<'_>, group: &RankGroup, nth: usize, bins: &[Bin]) -> String {
    let first = group.first.and_then(|at| all.comparison.differences.get(at));
    match first {
        Some(difference) => format!("{}: {}", difference.aspect.name(), difference.place),
        None if nth == 0 && group.members.len() > 1 && all.groups.len() > 1 => "the largest group".to_owned(),
        None if nth > 0 => odd_ends(bins),
        None => String::new(),
    }
}

fn group_row(all: &OverRanks<'_>, group: &RankGroup, nth: usize, bins: &[Bin]) -> GroupRow {
    let compiles = |at: &usize| all.members.get(*at).map_or(0, |member| member.facts.compiles.len());
    let (least, most) =
        (group.members.iter().map(compiles).min().unwrap_or(0), group.members.iter().map(compiles).max().unwrap_or(0));
    let seconds: Vec<(f64, usize)> = group.members.iter().map(|at| (all.seconds(*at), *at)).collect();
    let fastest = seconds.iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(s, _)| *s);
    let slowest = seconds.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (longest, at) = slowest.copied().unwrap_or_default();
    let link = |at: usize| {
        all.members.get(at).map(|member| Link { href: member.href.clone(), label: format!("rank {}", member.rank) })
    };
    let range = |low: String, high: String| if low == high { low } else { format!("{low} to {high}") };
    GroupRow {
        id: format!("group-{nth}"),
        label: row_label(&all.ranks(group)),
        href: group
            .members
            .first()
            .filter(|_| group.members.len() == 1)
            .and_then(|at| all.members.get(*at))
            .map(|m| m.href.clone()),
        compiles: range(count(least), count(most)),
        outcome: summary(bins),
        time: range(duration(fastest), duration(longest)),
        slowest: link(at).filter(|_| group.members.len() > 1),
        differs: note(all, group, nth, bins),
    }
}

/// The lanes of the landing page: all of few, else the odd ranks, the slowest, the fastest and the one in the middle.
fn shown_lanes(all: &OverRanks<'_>) -> Vec<(usize, &'static str)> {
    let mut by_time: Vec<(f64, usize)> = (0..all.members.len()).map(|at| (all.seconds(at), at)).collect();
    by_time.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let told = [
        (by_time.last(), "compiled longest"),
        (by_time.first(), "compiled least"),
        (by_time.get(by_time.len() / 2), "in the middle"),
    ];
    let told: Vec<(usize, &'static str)> =
        told.into_iter().filter_map(|(found, words)| found.map(|(_, at)| (*at, words))).collect();
    let words = |at: usize| told.iter().find(|(which, _)| *which == at).map_or("", |(_, words)| *words);
    if all.members.len() <= LANES {
        return (0..all.members.len()).map(|at| (at, words(at))).collect();
    }
    let mut shown: Vec<usize> = told.iter().map(|(at, _)| *at).collect();
    // One of each odd group, then the others of them.
    let odd = || all.groups.iter().skip(1);
    let first = odd().filter_map(|group| group.members.first().copied());
    let others = odd().flat_map(|group| group.members.iter().skip(1).copied());
    let slowest = by_time.iter().rev().map(|(_, at)| *at);
    let odd = first.chain(others).map(|at| (at, LANES));
    for (at, most) in odd.chain(slowest.map(|at| (at, FILLED))) {
        if shown.len() >= LANES {
            break;
        }
        if shown.len() < most && !shown.contains(&at) {
            shown.push(at);
        }
    }
    shown.sort_unstable();
    shown.into_iter().map(|at| (at, words(at))).collect()
}

fn timeline(all: &OverRanks<'_>, shown: &[(usize, &'static str)], width: u32, titles: bool) -> Option<Timeline> {
    let lanes = || all.members.iter().map(|member| &member.lane);
    let clock = Clock::of(lanes(), width)?;
    let row = |&(at, words): &(usize, &'static str)| {
        let member = all.members.get(at)?;
        let label = format!("rank {}", member.rank);
        let title = |nth: usize| member.title(nth);
        let picture = clock.lane(&member.lane, &label, titles.then_some(&title));
        let picture = Markup::into_value(picture);
        Some(PictureRow { label, href: member.href.clone(), note: words.to_owned(), odd: member.is_odd, picture })
    };
    let words = |(at, _): &(usize, &'static str)| {
        let member = all.members.get(*at)?;
        let words = clock.words(&member.lane);
        Some(LaneRow { label: format!("rank {}", member.rank), href: member.href.clone(), words })
    };
    Some(Timeline {
        lead: format!(
            "From the first compile of any rank to the last record, {} in all, on one clock. Ranks whose lane is empty while another has a bar may wait for it.",
            duration(clock.seconds())
        ),
        axis: clock.axis().into_value(),
        work: clock.at_work(lanes()).into_value(),
        rows: shown.iter().filter_map(row).collect(),
        table: shown.iter().filter_map(words).collect(),
    })
}

#[derive(Serialize)]
struct Context<'a> {
    page: Page,
    heading: &'static str,
    back: Link,
    facts: String,
    strip: Option<Strip>,
    each: Option<Each>,
    timeline: Option<Timeline>,
    skew: Option<SkewTable>,
    last: Option<LastTable>,
    left_out: &'a str,
}

/// Every rank with its row.
#[derive(Serialize)]
struct Each {
    axis: Value,
    rows: Vec<PictureRow>,
    table: Vec<RankLine>,
}

/// A rank in the table.
#[derive(Serialize)]
struct RankLine {
    label: String,
    href: String,
    group: String,
    group_href: String,
    compiles: String,
    outcome: String,
    time: String,
    time_v: f64,
}

/// `ranks.html`: all ranks.
pub(crate) fn ranks_page(
    pages: &Pages,
    (all, rows): (&OverRanks<'_>, &[RankRow<'_>]),
    heading: &str,
    header_html: &str,
) -> Result<String> {
    let shown = all.members.len().min(RANKS);
    let lanes: Vec<(usize, &'static str)> = (0..shown).map(|at| (at, "")).collect();
    let context = Context {
        page: Page::new(format!("Ranks · {heading} · fasttl"), "", 0, header_html),
        heading: "Ranks",
        back: Link { href: "index.html".to_owned(), label: heading.to_owned() },
        facts: format!(
            "{} compared, in {}; {} of the job.",
            plural(all.members.len(), "rank"),
            plural(all.groups.len(), "group"),
            plural(all.comparison.lineup.rows.len(), "compile")
        ),
        strip: strip(all, GROUPS, ""),
        each: each(all, shown),
        timeline: timeline(all, &lanes, if shown > WIDE_LANES { NARROW_LANE } else { LANE }, false),
        skew: skew_table(all.comparison, rows),
        last: last_table(all.comparison, rows),
        left_out: if shown < all.members.len() {
            "Only the first of them are shown; the table `ranks` has all."
        } else {
            ""
        },
    };
    pages.render("ranks.html", &context)
}

fn each(all: &OverRanks<'_>, shown: usize) -> Option<Each> {
    let columns = Columns::new(all.columns(), EACH_COLUMNS);
    if columns.is_empty() {
        return None;
    }
    let bins: Vec<Vec<Bin>> = (0..shown).map(|member| columns.binned(all.cells(member))).collect();
    let longest = longest(bins.iter().flatten());
    let mut each = Each { axis: columns.axis().into_value(), rows: Vec::new(), table: Vec::new() };
    for ((at, member), bins) in all.members.iter().enumerate().zip(&bins) {
        let label = format!("rank {}", member.rank);
        let picture = columns.plain(bins, longest, &label).into_value();
        let (href, odd) = (member.href.clone(), member.is_odd);
        each.rows.push(PictureRow { label: label.clone(), href: href.clone(), note: String::new(), odd, picture });
        let seconds = all.seconds(at);
        each.table.push(RankLine {
            label,
            href,
            group: format!("group {}", member.group),
            group_href: if member.group < GROUPS { format!("#group-{}", member.group) } else { String::new() },
            compiles: count(member.facts.compiles.len()),
            outcome: summary(bins),
            time: duration(seconds),
            time_v: seconds,
        });
    }
    Some(each)
}
