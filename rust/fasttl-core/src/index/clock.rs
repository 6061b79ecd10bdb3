//! Ties the times in prefixes, which lack year and zone, to real time.
//!
//! The begin and end events of the compiler carry microseconds since 1970, and were logged when they
//! happened; the difference to the prefix is the zone's offset. Where a log has no events its metrics
//! say when a compile began and how long it took; where it has neither, the year is the one that brings
//! the last record before the file's own time, and the zone stays unknown.

use rayon::prelude::*;

use super::record::{KindId, Mark, Record, When};
use crate::format::json;
use crate::format::kind::Kind;
use crate::format::payload::{LineEnd, Payload};
use crate::format::time::WallTime;

/// Offsets are whole quarters of an hour.
const QUARTER_US: i64 = 15 * 60 * 1_000_000;
/// Records that are given their times by one thread.
const BLOCK: usize = 1 << 14;
/// No zone is farther from UTC.
const MOST_US: i64 = 15 * 3600 * 1_000_000;

/// Fills in the times of all records. Yields the offset of local time from UTC, in seconds, where it is
/// known (the last one, if the clock was set between).
pub(super) fn assign(records: &mut [Record], bytes: &[u8], line_end: LineEnd, modified_us: i64) -> Option<i32> {
    let anchors = anchors(records, bytes, line_end);
    if anchors.is_empty() {
        assign_by_file_time(records, modified_us);
        return None;
    }
    let assign = |(block, records): (usize, &mut [Record])| {
        for (index, record) in (block * BLOCK..).zip(records) {
            // The anchor before it; for those before the first, that one.
            let before = anchors.partition_point(|anchor| anchor.index <= index);
            if let (Some(anchor), Some(wall)) = (anchors.get(before.saturating_sub(1)), record.wall()) {
                record.when = When::Utc(wall.nearest(anchor.utc_us + anchor.offset_us) - anchor.offset_us);
            }
        }
    };
    records.par_chunks_mut(BLOCK).enumerate().for_each(assign);
    anchors.last().and_then(|anchor| i32::try_from(anchor.offset_us / 1_000_000).ok())
}

/// A record whose real time is known.
#[derive(Clone, Copy)]
struct Anchor {
    index: usize,
    utc_us: i64,
    offset_us: i64,
}

/// One anchor for each hour of wall time, in file order, and one more where an hour is gone through again: enough
/// to see a clock that is set for summer or winter.
fn anchors(records: &[Record], bytes: &[u8], line_end: LineEnd) -> Vec<Anchor> {
    let events = |r: &Record| r.kind.is(Kind::ChromiumEvent);
    let metrics = |r: &Record| matches!(r.kind, KindId::Known(Kind::CompilationMetrics | Kind::BwdCompilationMetrics));
    let found = collect(records, events, |record| event_time(record, bytes, line_end));
    if found.is_empty() { collect(records, metrics, |record| metrics_time(record, bytes)) } else { found }
}

fn collect(records: &[Record], wanted: impl Fn(&Record) -> bool, time: impl Fn(&Record) -> Option<i64>) -> Vec<Anchor> {
    let mut anchors = Vec::new();
    // The latest time of the stretch at hand, the record that it begins with, and whether it has its anchor.
    let (mut latest, mut begins, mut anchored) = (None::<WallTime>, 0, false);
    for (index, record) in records.iter().enumerate() {
        let Some(wall) = record.wall() else { continue };
        if latest.is_none_or(|latest| latest.hour_key() != wall.hour_key() || wall.is_set_back_from(latest)) {
            (latest, begins, anchored) = (Some(wall), index, false);
        }
        latest = latest.max(Some(wall));
        if anchored || !wanted(record) {
            continue;
        }
        if let Some(utc_us) = time(record)
            && let Some(offset_us) = offset(wall, utc_us)
        {
            anchors.push(Anchor { index: begins, utc_us, offset_us });
            anchored = true;
        }
    }
    anchors
}

/// The zone's offset, if the two times can be those of one moment.
fn offset(wall: WallTime, utc_us: i64) -> Option<i64> {
    let difference = wall.nearest(utc_us) - utc_us;
    let rounded = (difference + QUARTER_US / 2).div_euclid(QUARTER_US) * QUARTER_US;
    (rounded.abs() <= MOST_US).then_some(rounded)
}

fn slice(bytes: &[u8], (from, to): (u64, u64)) -> &[u8] {
    let range = usize::try_from(from).unwrap_or(usize::MAX)..usize::try_from(to).unwrap_or(usize::MAX);
    bytes.get(range).unwrap_or_default()
}

/// When a begin or end event happened. Instant events may be older than their record.
fn event_time(record: &Record, bytes: &[u8], line_end: LineEnd) -> Option<i64> {
    let text = Payload::new(slice(bytes, record.payload_range()), line_end).text();
    if record.mark == Mark::None && !matches!(json::member(&text, b"ph"), Some(b"\"B\"" | b"\"E\"")) {
        return None;
    }
    micros(json::member(&text, b"ts")?, 1.0)
}

/// When the compile that metrics tell of ended, which is when they are logged.
fn metrics_time(record: &Record, bytes: &[u8]) -> Option<i64> {
    let meta = slice(bytes, record.meta_range());
    if let Some(end) = json::member(meta, b"end_time_us").and_then(|v| micros(v, 1.0)) {
        return Some(end);
    }
    let start = json::member(meta, b"start_time").and_then(|v| micros(v, 1e6))?;
    let took = json::member(meta, b"entire_frame_compile_time_s").and_then(|v| micros(v, 1e6));
    Some(start + took.unwrap_or(0))
}

fn micros(number: &[u8], scale: f64) -> Option<i64> {
    let value: f64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    let micros = value * scale;
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
    (micros.is_finite() && micros.abs() < 9e15).then_some(micros as i64)
}

/// Without any absolute time: the year in which the last record is not after the file's own time, or the last one
/// of a February 29, which not every year has. A day is allowed for zones ahead of UTC; within the file the year
/// follows from the record beside.
fn assign_by_file_time(records: &mut [Record], modified_us: i64) {
    let last = |wanted: fn(WallTime) -> bool| records.iter().rposition(|r| r.wall().is_some_and(wanted));
    let Some(start) = last(WallTime::is_leap_day).or_else(|| last(|_| true)) else { return };
    let limit = modified_us.saturating_add(MOST_US);
    let (before, after) = records.split_at_mut(start);
    let Some(near) = after.first().and_then(Record::wall).map(|wall| wall.latest_before(limit)) else { return };
    assign_near(after.iter_mut(), near);
    assign_near(before.iter_mut().rev(), near);
}

/// To each record the time that is nearest to that of the one before it.
fn assign_near<'r>(records: impl Iterator<Item = &'r mut Record>, mut near: i64) {
    for record in records {
        if let Some(wall) = record.wall() {
            near = wall.nearest(near);
            record.when = When::Utc(near);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::format::time::iso;
    use crate::index::{IndexOptions, index};
    use crate::job::Job;

    fn times(log: &str, modified_us: i64) -> Vec<String> {
        let index = index(log.as_bytes(), modified_us, IndexOptions::default(), &Job::default()).unwrap();
        index.records.iter().map(|r| r.time_us().map(iso).unwrap_or_default().replace(".000000", "")).collect()
    }

    fn untold(wall: &str) -> String {
        format!("V{wall}.000000 1 x.py:1] {{\"x\": {{}}}}\n")
    }

    fn told(wall: &str, ts: i64) -> String {
        let head = "\"chromium_event\": {}, \"has_payload\": \"0\"";
        format!("V{wall}.000000 1 x.py:1] {{{head}}}\n\t{{\"ph\": \"B\", \"ts\": {ts}}}\n")
    }

    #[test]
    fn an_hour_that_comes_twice_is_told_apart() {
        // 2025-10-26 00:59:00 UTC, one minute before summer time ends in Berlin.
        let utc = 1_761_440_340_000_000;
        let log = [
            told("1026 02:59:00", utc),
            untold("1026 02:59:59"),
            untold("1026 02:00:01"),
            told("1026 02:00:05", utc + 65_000_000),
        ];
        let times = times(&log.concat(), 0);
        assert_eq!(times, ["2025-10-26T00:59:00", "2025-10-26T00:59:59", "2025-10-26T01:00:01", "2025-10-26T01:00:05"]);
    }

    #[test]
    fn a_leap_day_tells_the_year_of_the_log() {
        let log = [untold("0228 23:00:00"), untold("0229 12:00:00"), untold("0301 00:00:00")];
        // The file is of 2026.
        let times = times(&log.concat(), 1_780_000_000_000_000);
        assert_eq!(times, ["2024-02-28T23:00:00", "2024-02-29T12:00:00", "2024-03-01T00:00:00"]);
    }
}
