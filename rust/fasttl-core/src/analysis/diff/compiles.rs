//! Which compiles there are on each side, and how they ended.

use super::Aspect;
use super::sheet::{Alone, Sheet, Spot, Spots, Values, counted};
use super::side::{Half, LogSide, Pair};
use crate::analysis::align::{Matched, align};
use crate::analysis::compiles::{Compile, FailureKind, Status};
use crate::analysis::lines::{Budget, one_sided};
use crate::analysis::noise::plain;
use crate::format::code_place::file_name;
use crate::trace::{Log, LogState};

/// Matches the compiles of two logs.
pub(super) fn match_up(a: &LogSide<'_>, b: &LogSide<'_>, budget: &Budget) -> Vec<Matched> {
    align(&a.compiles, &b.compiles, budget)
}

/// A log that has no partner.
pub(super) fn only_log(log: &LogSide<'_>, in_a: bool, sheet: &mut Sheet) {
    let compiles = counted(log.compiles.len(), "compile", "compiles");
    let text = Some(format!("{} with {compiles}", of_whom(log.log)));
    let (spots, texts) = on_side(log.spot(Some(0)), text, in_a);
    sheet.add(Aspect::Compiles, spots, "log", texts);
    let alone = alone(in_a, sheet);
    alone.logs += 1;
    alone.of_logs += log.compiles.len();
}

/// What a side has alone.
fn alone(in_a: bool, sheet: &mut Sheet) -> &mut Alone {
    if in_a { &mut sheet.alone.0 } else { &mut sheet.alone.1 }
}

fn of_whom(log: &Log) -> String {
    match log.rank {
        Some(rank) => format!("log of rank {rank}"),
        None => format!("log {}", log.name()),
    }
}

/// Where it stands and what it is, on its side.
fn on_side(spot: Spot, text: Option<String>, in_a: bool) -> (Spots, Values) {
    if in_a { ((Some(spot), None), (text, None)) } else { ((None, Some(spot)), (None, text)) }
}

/// A compile that has no partner.
pub(super) fn only(half: Option<&Half<'_>>, in_a: bool, sheet: &mut Sheet) {
    let Some(half) = half else { return };
    let compile = half.compile;
    let took = compile.phases.frame_s.map(|s| format!(", {s:.3} s")).unwrap_or_default();
    let text = format!("{}, {}{took}", code_name(compile), outcome(compile));
    let (spots, texts) = on_side(half.spot(Some(compile.first)), Some(text), in_a);
    sheet.add(Aspect::Compiles, spots, "compile", texts);
    alone(in_a, sheet).compiles += 1;
}

/// `function at file:line`.
fn code_name(compile: &Compile) -> String {
    let name = compile.name.as_deref().unwrap_or("unknown code");
    let line = compile.line.map(|line| format!(":{line}")).unwrap_or_default();
    compile.file.as_deref().map_or(name.to_owned(), |file| format!("{name} at {}{line}", file_name(file)))
}

/// Whether both are of the same function. Compiles that were named may be of any.
pub(super) fn code(pair: &Pair<'_>, named: bool, sheet: &mut Sheet) {
    let (a, b) = (pair.a.compile, pair.b.compile);
    let (Some(name_a), Some(name_b)) = (&a.name, &b.name) else {
        if a.name != b.name {
            let which = if a.name.is_none() { "a" } else { "b" };
            sheet.unknown(Aspect::Compiles, format!("{}: the log of {which} does not name its code", pair.a.label()));
        }
        return;
    };
    let files = (a.file.as_deref().map(file_name), b.file.as_deref().map(file_name));
    let same_file = files.0.is_none() || files.1.is_none() || files.0 == files.1;
    // A line alone has moved when something above was edited.
    let resumed = |name: &str| !named && name.starts_with("torch_dynamo_resume_in_");
    if (name_a == name_b || resumed(name_a)) && same_file {
        return;
    }
    let values = (Some(code_name(a)), Some(code_name(b)));
    sheet.add(Aspect::Compiles, pair.spots(Some(a.first), Some(b.first)), "code", values);
    sheet.other_code += 1;
}

/// How it ended, in words.
fn outcome(compile: &Compile) -> &'static str {
    match compile.status {
        _ if compile.limit_hit => "refused: recompiled too often",
        _ if compile.unfinished => "unfinished",
        _ if compile.skipped => "skipped",
        Status::Error => "error",
        Status::Empty => "empty",
        Status::Break => "break",
        Status::Ok => "ok",
        Status::Missing => "missing",
    }
}

/// Compares how they ended.
pub(super) fn status(pair: &Pair<'_>, sheet: &mut Sheet) {
    let (a, b) = (pair.a.compile, pair.b.compile);
    let shown = |compile: &Compile| compile.metrics.last().copied().unwrap_or(compile.first);
    let spots: Spots = pair.spots(Some(shown(a)), Some(shown(b)));
    if outcome(a) != outcome(b) {
        let words = |compile| Some(outcome(compile).to_owned());
        sheet.add(Aspect::Status, spots, "status", (words(a), words(b)));
    }
    failures(pair, sheet);
    if a.cudagraph_skip.as_deref().map(plain) != b.cudagraph_skip.as_deref().map(plain) {
        let values = (a.cudagraph_skip.clone(), b.cudagraph_skip.clone());
        sheet.add(Aspect::Status, spots, "cuda graphs skipped", values);
    }
    if a.last_attempt != b.last_attempt {
        let values = (Some(a.last_attempt.to_string()), Some(b.last_attempt.to_string()));
        sheet.add_number(Aspect::Status, spots, "restarts", values, Some(delta(a.last_attempt, b.last_attempt)));
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts that long are no counts")]
fn delta(a: i64, b: i64) -> f64 {
    b.saturating_sub(a) as f64
}

/// The second count less the first, for a row.
pub(super) fn count_row(
    pair: &Pair<'_>,
    aspect: Aspect,
    place: &str,
    counts: (Option<i64>, Option<i64>),
    sheet: &mut Sheet,
) {
    let (a, b) = counts;
    if a == b {
        return;
    }
    let text = |n: Option<i64>| n.map(|n| n.to_string());
    let spots = pair.spots(pair.a.compile.metrics.last().copied(), pair.b.compile.metrics.last().copied());
    let delta = a.zip(b).map(|(a, b)| delta(a, b));
    sheet.add_number(aspect, spots, place, (text(a), text(b)), delta);
}

/// Errors that one side has. Restarts are told with the graph breaks.
fn failures(pair: &Pair<'_>, sheet: &mut Sheet) {
    let of = |compile: &Compile| {
        let failed = compile.failures.iter().filter(|f| f.kind == FailureKind::Failure);
        let text = |error: &Option<String>, reason: &str| {
            let class = error.as_deref().unwrap_or("error");
            if reason.is_empty() { class.to_owned() } else { format!("{class}: {reason}") }
        };
        failed.map(|f| (text(&f.error, &f.reason), f.record)).map(|(text, at)| (plain(&text), text, at)).collect()
    };
    sets(pair, Aspect::Status, "failure", of(pair.a.compile), of(pair.b.compile), sheet);
}

/// A text as it is compared, as it is shown, and its record.
pub(super) type Shown = (String, String, usize);

/// Compares two sets of texts, without an order.
pub(super) fn sets(pair: &Pair<'_>, aspect: Aspect, place: &str, a: Vec<Shown>, b: Vec<Shown>, sheet: &mut Sheet) {
    let keyed = |all: &[Shown]| all.iter().map(|(key, ..)| key.clone()).collect::<Vec<_>>();
    let (only_a, only_b) = one_sided(keyed(&a), keyed(&b));
    let (mut a, mut b) = (named(a, only_a), named(b, only_b));
    // What stands for the same on both sides is told in one row.
    if let ([(text_a, at_a)], [(text_b, at_b)]) = (a.as_slice(), b.as_slice()) {
        let values = (Some(text_a.clone()), Some(text_b.clone()));
        sheet.add(aspect, pair.spots(Some(*at_a), Some(*at_b)), place, values);
        a.clear();
        b.clear();
    }
    for (text, at) in a {
        sheet.add(aspect, pair.spots(Some(at), None), place, (Some(text), None));
    }
    for (text, at) in b {
        sheet.add(aspect, pair.spots(None, Some(at)), place, (None, Some(text)));
    }
}

/// The texts and records of sorted keys; a key may come several times.
fn named(mut all: Vec<Shown>, keys: Vec<String>) -> Vec<(String, usize)> {
    all.sort();
    let mut all = all.into_iter().peekable();
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        while all.peek().is_some_and(|(other, ..)| *other < key) {
            all.next();
        }
        found.extend(all.next_if(|(other, ..)| *other == key).map(|(_, text, at)| (text, at)));
    }
    found
}

/// Says where a log ends early: what is missing there may have been.
pub(super) fn ends(a: &LogSide<'_>, b: &LogSide<'_>, sheet: &mut Sheet) {
    for (side, name) in [(a, "a"), (b, "b")] {
        let log = side.log;
        let why = match log.state {
            LogState::Complete if log.errors() == 0 => continue,
            LogState::Complete => "has problems: what is missing may be lost",
            LogState::Truncated => "ends in the middle of a record",
            LogState::Empty => "has no record",
            LogState::Unreadable => "could not be read",
        };
        sheet.unknown(Aspect::Compiles, format!("the {} of {name} {why}", of_whom(log)));
    }
}
