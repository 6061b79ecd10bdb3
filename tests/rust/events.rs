//! Tables `events` and `phases`: real logs, hand-made odd ones, and what holds for every log.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMicrosecondType, UInt32Type, UInt64Type};
use fasttl_core::analysis::table;
use fasttl_core::tables::Table;
use fasttl_core::trace::Trace;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

use crate::common::cells::{cell, column};
use crate::common::logs::{data, dated_copy, example, folder, loaded, record};
use crate::properties::cases;

/// 2026-11-29, in microseconds since 1970.
const DAY: i64 = 1_795_910_400_000_000;

/// A log of events, written line by line.
#[derive(Default)]
struct Events(Vec<u8>);

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl Events {
    /// An event at `ts` microseconds after midnight, of a compile as its head has it.
    fn add(self, ph: &str, name: &str, id: &str, ts: i64) -> Self {
        self.raw(id, &format!("{{\"name\": \"{name}\", \"ts\": {}.0, \"args\": {{}}, \"ph\": \"{ph}\"}}", DAY + ts))
    }

    fn begin(self, name: &str, id: &str, ts: i64) -> Self {
        self.add("B", name, id, ts)
    }

    fn end(self, name: &str, id: &str, ts: i64) -> Self {
        self.add("E", name, id, ts)
    }

    /// An event with this payload.
    fn raw(mut self, id: &str, payload: &str) -> Self {
        let ids = id.split_once('/').map_or(String::new(), |(frame, compile)| {
            format!(", \"frame_id\": {frame}, \"frame_compile_id\": {compile}, \"attempt\": 0")
        });
        self.0.extend(record(&format!("\"chromium_event\": {{}}{ids}"), Some(payload.as_bytes())));
        self
    }

    /// The same events as another process would log them.
    fn of_process(mut self, pid: u32, other: Self) -> Self {
        let text = String::from_utf8(other.0).unwrap();
        self.0.extend(text.replace(" 4242 ", &format!(" {pid} ")).into_bytes());
        self
    }

    fn load(&self) -> (TempDir, Trace) {
        let logs = folder(&[("dedicated_log_torch_trace_abcdefgh.log", &self.0)]);
        let trace = loaded(logs.path());
        (logs, trace)
    }

    /// Some columns of the table `events`, a line for each row.
    fn lines(&self, columns: &[&str]) -> Vec<String> {
        lines(&table(&self.load().1, "events").unwrap(), columns)
    }

    fn phases(&self, columns: &[&str]) -> Vec<String> {
        lines(&table(&self.load().1, "phases").unwrap(), columns)
    }
}

fn lines(table: &Table, columns: &[&str]) -> Vec<String> {
    let line = |row| columns.iter().map(|name| cell(column(table, name), row)).collect::<Vec<_>>().join(" ");
    (0..table.batch.num_rows()).map(line).collect()
}

/// A table with its cells, without those that the other columns repeat.
fn all_lines(table: &Table) -> String {
    let names: Vec<String> = table.columns().into_iter().map(|c| c.name).collect();
    let wanted = |name: &&str| !name.ends_with("_id") || *name == "compile_id";
    let names: Vec<&str> = names.iter().map(String::as_str).filter(wanted).collect();
    format!("## {}\n{}\n{}\n", table.name, names.join(" "), lines(table, &names).join("\n"))
}

const PLACES: &[&str] = &["name", "state", "lane", "depth", "duration_s", "self_s"];
const S: i64 = 1_000_000;

#[test]
fn real_logs() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, path) in [
            ("events_hello", data("hello")),
            ("events_killed_between", data("killed_between")),
            ("events_crash_3_ranks", example()),
        ] {
            let copy = dated_copy(&path);
            let trace = loaded(copy.path());
            let tables = ["events", "phases"].map(|name| all_lines(&table(&trace, name).unwrap()));
            insta::assert_snapshot!(name, tables.join("\n"));
        }
    });
}

#[test]
fn spans_lie_in_each_other_and_keep_their_own_time() {
    let log = Events::default()
        .begin("a", "0/0", 0)
        .begin("b", "0/0", S)
        .begin("c", "0/0", 2 * S)
        .end("c", "0/0", 3 * S)
        .end("b", "0/0", 4 * S)
        .add("i", "now", "0/0", S)
        .begin("b", "0/0", 5 * S)
        .end("b", "0/0", 7 * S)
        .end("a", "0/0", 10 * S);
    assert_eq!(
        log.lines(PLACES),
        [
            "a span 0 0 10.0000 5.0000",
            "b span 0 1 3.0000 2.0000",
            "c span 0 2 1.0000 1.0000",
            "now instant 0 1 - -",
            "b span 0 1 2.0000 2.0000",
        ]
    );
    let (_logs, trace) = log.load();
    let events = table(&trace, "events").unwrap();
    let offset = |row| cell(column(&events, "offset"), row);
    let parents: Vec<String> = (0..5).map(|row| cell(column(&events, "parent"), row)).collect();
    assert_eq!(parents, ["-".to_owned(), offset(0), offset(1), offset(0), offset(0)]);
}

#[test]
fn threads_get_lanes_of_their_own() {
    // Each is begun before the other ends.
    let log = Events::default()
        .begin("a", "0/0", 0)
        .begin("b", "1/0", S)
        .begin("in_a", "0/0", 2 * S)
        .begin("in_b", "1/0", 3 * S)
        .end("in_a", "0/0", 4 * S)
        .end("in_b", "1/0", 5 * S)
        .end("a", "0/0", 6 * S)
        .end("b", "1/0", 7 * S)
        .begin("later", "2/0", 8 * S)
        .end("later", "2/0", 9 * S);
    assert_eq!(
        log.lines(PLACES),
        [
            "a span 0 0 6.0000 4.0000",
            "b span 1 0 6.0000 4.0000",
            "in_a span 0 1 2.0000 2.0000",
            "in_b span 1 1 2.0000 2.0000",
            "later span 0 0 1.0000 1.0000",
        ]
    );
}

#[test]
fn processes_are_never_mixed() {
    let one = Events::default().begin("a", "0/0", 0);
    let both = one.of_process(7, Events::default().begin("a", "0/0", 0).end("a", "0/0", S)).end("a", "0/0", 5 * S);
    assert_eq!(both.lines(PLACES), ["a span 0 0 5.0000 5.0000", "a span 1 0 1.0000 1.0000"]);
}

#[test]
fn of_one_moment_the_records_tell_the_order() {
    let log = Events::default()
        .begin("a", "0/0", 0)
        .begin("b", "0/0", 0)
        .end("b", "0/0", 0)
        .end("a", "0/0", 0)
        .begin("c", "0/0", 0)
        .end("c", "0/0", 0);
    assert_eq!(log.lines(PLACES), ["a span 0 0 0.0000 0.0000", "b span 0 1 0.0000 0.0000", "c span 0 0 0.0000 0.0000"]);
}

#[test]
fn a_killed_process_leaves_spans_open() {
    let log = Events::default()
        .begin("a", "0/0", 0)
        .begin("b", "0/0", S)
        .begin("c", "0/0", 2 * S)
        .end("c", "0/0", 3 * S)
        .begin("no id", "", 4 * S);
    assert_eq!(
        log.lines(PLACES),
        ["a unfinished 0 0 - -", "b unfinished 0 1 - -", "c span 0 2 1.0000 1.0000", "no id unfinished 0 2 - -"]
    );
    assert_eq!(log.phases(&["name", "count", "total_s", "self_s", "unfinished"])[0], "a 1 - - 1");
}

#[test]
fn a_lost_end_takes_no_other_compile_with_it() {
    let log = Events::default()
        .begin("a", "0/0", 0)
        .begin("lost", "0/0", S)
        .begin("c", "0/0", 2 * S)
        .end("c", "0/0", 3 * S)
        .end("a", "0/0", 10 * S)
        .begin("lost too", "1/0", 11 * S)
        .begin("d", "2/0", 12 * S)
        .end("d", "2/0", 13 * S)
        .end("never begun", "2/0", 14 * S);
    assert_eq!(
        log.lines(PLACES),
        [
            // The time of what lies in `lost` is not its own.
            "a span 0 0 10.0000 9.0000",
            "lost unfinished 0 1 - -",
            "c span 0 2 1.0000 1.0000",
            "lost too unfinished 0 0 - -",
            "d span 1 0 1.0000 1.0000",
            "never begun no_begin 1 0 - -",
        ]
    );
}

#[test]
fn a_lost_end_does_not_reach_beyond_what_it_lies_in() {
    let log = Events::default()
        .begin("a", "0/0", 0)
        .begin("lost", "0/0", S)
        .begin("other thread", "0/0", 2 * S)
        .end("a", "0/0", 10 * S)
        .begin("next", "0/0", 10 * S)
        .end("other thread", "0/0", 10 * S)
        .end("next", "0/0", 11 * S);
    assert_eq!(
        log.lines(PLACES),
        [
            "a span 0 0 10.0000 10.0000",
            "lost unfinished 0 1 - -",
            "other thread span 1 0 8.0000 8.0000",
            "next span 0 0 1.0000 1.0000",
        ]
    );
}

#[test]
fn a_clock_that_goes_back_gives_no_negative_times() {
    let log = Events::default()
        .begin("a", "0/0", 10 * S)
        .begin("b", "0/0", 11 * S)
        .end("b", "0/0", 3 * S)
        .begin("c", "0/0", 4 * S)
        .end("c", "0/0", 5 * S)
        .end("a", "0/0", 20 * S);
    assert_eq!(
        log.lines(&["name", "state", "lane", "depth", "start", "end", "duration_s", "self_s"]),
        [
            "a span 0 0 2026-11-29T00:00:10.000000 2026-11-29T00:00:20.000000 10.0000 10.0000",
            "b span 0 1 2026-11-29T00:00:11.000000 2026-11-29T00:00:03.000000 - -",
            "c span 1 0 2026-11-29T00:00:04.000000 2026-11-29T00:00:05.000000 1.0000 1.0000",
        ]
    );
}

#[test]
fn odd_events_are_kept_as_far_as_they_tell() {
    let log = Events::default()
        .raw("", "{\"name\": \"nan\", \"ts\": NaN, \"ph\": \"B\"}")
        .raw("", "{\"name\": \"nan\", \"ts\": \"soon\", \"ph\": \"E\"}")
        .raw("", "{\"name\": 5, \"ph\": \"X\", \"args\": {\"compile_id\": \"!1/2/3\", \"n\": Infinity}}")
        .raw("", "{}")
        .raw("", "no JSON")
        .raw(
            "3/1",
            "{\"name\": \"a\\u0041\\ud800\", \"ph\": \"i\", \"ts\": 1e99, \"args\": {\"compile_id\": \"0/0\"}}",
        );
    assert_eq!(
        log.lines(&["name", "state", "compile_id", "compiled_autograd_id", "start", "duration_s", "args"]),
        [
            "nan span - - - - -",
            "- - !1/2/3 1 - - {\"compile_id\":\"!1/2/3\",\"n\":null}",
            "- - - - - - -",
            "aA\u{FFFD} instant 3/1 - - - {\"compile_id\":\"0/0\"}",
        ]
    );
    let problems = table(&log.load().1, "problems").unwrap();
    assert!(
        lines(&problems, &["kind"]).contains(&"payload is no JSON".to_owned()),
        "{:?}",
        lines(&problems, &["kind"])
    );
}

#[test]
fn the_end_has_the_arguments_and_large_ones_are_named() {
    let large = "x".repeat(5000);
    let log = Events::default()
        .raw("", "{\"name\": \"a\", \"ph\": \"B\", \"args\": {\"compile_id\": \"0/0\"}}")
        .raw("", &format!("{{\"name\": \"a\", \"ph\": \"E\", \"args\": {{\"key\": \"{large}\",\n\"compile_id\": \"0/0\",\n\"n\": [1.50,\n2]}}}}"));
    assert_eq!(
        log.lines(&["compile_id", "attempt", "args", "args_left_out"]),
        ["0/0 - {\"compile_id\":\"0/0\",\"n\":[1.50,2]} [key]"]
    );
}

#[test]
fn what_is_within_its_own_kind_is_counted_once() {
    let log = Events::default()
        .begin("gc", "0/0", 0)
        .begin("step", "0/0", S)
        .begin("gc", "0/0", 2 * S)
        .end("gc", "0/0", 3 * S)
        .end("step", "0/0", 4 * S)
        .end("gc", "0/0", 10 * S)
        .begin("gc", "0/0", 11 * S)
        .end("gc", "0/0", 12 * S)
        .begin("gc", "0/0", 13 * S)
        .end("step", "1/0", 14 * S)
        .add("i", "no span", "1/0", 15 * S);
    assert_eq!(
        log.phases(&["compile_id", "name", "phase", "count", "total_s", "self_s", "unfinished"]),
        ["0/0 gc gc 4 11.0000 9.0000 1", "0/0 step - 1 3.0000 2.0000 0", "1/0 step - 1 - - 0"]
    );
}

#[test]
fn a_reset_begins_new_sums() {
    let once = || Events::default().begin("dynamo", "0/0", 0).end("dynamo", "0/0", S);
    let log = once().of_process(4242, once());
    assert_eq!(log.phases(&["generation", "compile_id", "count", "total_s"]), ["0 0/0 1 1.0000", "1 0/0 1 1.0000"]);
}

/// Would take hours if a lane were looked for among all.
#[test]
fn a_hundred_thousand_open_spans_are_no_trouble() {
    let mut log = Events::default();
    for frame in 0..100_000 {
        log = log.begin("a", &format!("{frame}/0"), frame);
    }
    let lanes = log.lines(&["lane"]);
    assert_eq!((lanes.len(), lanes[99_999].as_str()), (100_000, "99999"));
    let mut deep = Events::default();
    for at in 0..50_000 {
        deep = deep.begin("a", "0/0", at);
    }
    for at in 50_000..100_000 {
        deep = deep.end("a", "0/0", at);
    }
    assert_eq!(deep.lines(&["lane", "depth", "self_s"])[49_999], "0 49999 0.0000");
    assert_eq!(deep.phases(&["count", "total_s"]), ["50000 0.1000"]);
}

/// A row of `events` as numbers.
struct Row {
    offset: u64,
    end_offset: Option<u64>,
    parent: Option<u64>,
    lane: u32,
    depth: u32,
    /// Begin and end in microseconds, where there is a duration.
    times: Option<(i64, i64)>,
    self_us: Option<f64>,
}

fn rows(events: &Table) -> Vec<Row> {
    let of = |name| column(events, name);
    let u64_of = |name, row| of(name).is_valid(row).then(|| of(name).as_primitive::<UInt64Type>().value(row));
    let u32_of = |name, row| of(name).as_primitive::<UInt32Type>().value(row);
    let us = |name, row| of(name).is_valid(row).then(|| of(name).as_primitive::<Float64Type>().value(row) * 1e6);
    let time = |name, row| of(name).as_primitive::<TimestampMicrosecondType>().value(row);
    let row = |row| Row {
        offset: u64_of("offset", row).unwrap(),
        end_offset: u64_of("end_offset", row),
        parent: u64_of("parent", row),
        lane: u32_of("lane", row),
        depth: u32_of("depth", row),
        times: us("duration_s", row).map(|_| (time("start", row), time("end", row))),
        self_us: us("self_s", row),
    };
    (0..events.batch.num_rows()).map(row).collect()
}

/// How much time some intervals cover together.
fn covered(mut times: Vec<(i64, i64)>) -> i64 {
    times.sort_unstable();
    let mut reached = i64::MIN;
    let mut sum = 0;
    for (start, end) in times {
        sum += (end - start.max(reached)).max(0);
        reached = reached.max(end);
    }
    sum
}

/// What holds for the events of any log.
fn check(trace: &Trace) -> Result<(), TestCaseError> {
    let rows = rows(&table(trace, "events").unwrap());
    let broken = |kind: &str| kind == "payload is no JSON";
    let problems = table(trace, "problems").unwrap();
    let broken = lines(&problems, &["kind"]).iter().filter(|kind| broken(kind)).count();
    let records = &trace.logs[0].index.records;
    let mut offsets: Vec<u64> = rows.iter().map(|row| row.offset).collect();
    offsets.extend(rows.iter().filter_map(|row| row.end_offset.filter(|end| *end != row.offset)));
    offsets.sort_unstable();
    prop_assert!(offsets.is_sorted_by(|a, b| a < b), "a record is in two rows");
    prop_assert_eq!(offsets.len() + broken, records.len());

    let by_offset: HashMap<u64, &Row> = rows.iter().map(|row| (row.offset, row)).collect();
    let mut lanes: BTreeMap<u32, (Vec<(i64, i64)>, f64)> = BTreeMap::new();
    for row in &rows {
        prop_assert_eq!(row.parent.is_none(), row.depth == 0);
        let mut around = row.parent.map(|parent| by_offset[&parent]);
        // It ends before all around it that end.
        let mut outer = around;
        while let Some(parent) = outer {
            prop_assert!(row.end_offset.zip(parent.end_offset).is_none_or(|(end, parent_end)| end < parent_end));
            outer = parent.parent.map(|parent| by_offset[&parent]);
        }
        if let Some(parent) = around {
            prop_assert_eq!((parent.lane, parent.depth + 1), (row.lane, row.depth));
            prop_assert!(parent.offset < row.offset);
        }
        prop_assert_eq!(row.times.is_some(), row.self_us.is_some());
        let Some(((start, end), self_us)) = row.times.zip(row.self_us) else { continue };
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let took_us = (end - start) as f64;
        prop_assert!(self_us >= 0.0 && self_us <= took_us + 1e-3);
        // It lies in the nearest one around it that has times.
        while let Some(parent) = around {
            if let Some((parent_start, parent_end)) = parent.times {
                prop_assert!(parent_start <= start && end <= parent_end);
                break;
            }
            around = parent.parent.map(|parent| by_offset[&parent]);
        }
        let lane = lanes.entry(row.lane).or_default();
        lane.0.push((start, end));
        lane.1 += self_us;
    }
    for (lane, (times, self_us)) in lanes {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let covered = covered(times) as f64;
        prop_assert!((covered - self_us).abs() < 0.1, "lane {}: {} covered, {} by themselves", lane, covered, self_us);
    }
    Ok(())
}

/// An event: sort, name, compile, time.
fn event() -> impl Strategy<Value = (&'static str, &'static str, &'static str, String)> {
    let ts = prop_oneof![
        9 => (0..40_i64).prop_map(|ts| (DAY + ts).to_string()),
        1 => select(&["NaN", "\"5\"", "null", "-Infinity"][..]).prop_map(str::to_owned),
    ];
    let ph = prop_oneof![8 => select(&["B", "E"][..]), 1 => select(&["i", "X", ""][..])];
    (ph, select(&["a", "b", "c"][..]), select(&["", "0/0", "0/1", "1/0"][..]), ts)
}

fn log_of(events: &[(&str, &str, &str, String)]) -> Events {
    events.iter().fold(Events::default(), |log, (ph, name, id, ts)| {
        log.raw(id, &format!("{{\"name\": \"{name}\", \"ts\": {ts}, \"ph\": \"{ph}\"}}"))
    })
}

/// What threads that take turns log, each with spans in spans; the clock goes on, most of the time.
fn threads() -> impl Strategy<Value = Events> {
    let step = (0..3_usize, any::<bool>(), select(&["a", "b"][..]), -1..6_i64);
    vec(step, 1..80).prop_map(|steps| {
        let mut open: [Vec<&str>; 3] = Default::default();
        let (mut log, mut now) = (Events::default(), 100);
        let ids = ["0/0", "1/0", ""];
        for (thread, begins, name, later) in steps {
            now += later;
            if begins {
                open[thread].push(name);
                log = log.begin(name, ids[thread], now);
            } else if let Some(name) = open[thread].pop() {
                log = log.end(name, ids[thread], now);
            }
        }
        log.begin("last", "", now)
    })
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn any_events_at_all_fall_into_place(events in vec(event(), 1..60)) {
        check(&log_of(&events).load().1)?;
    }

    #[test]
    fn threads_that_take_turns_fall_into_place(log in threads()) {
        check(&log.load().1)?;
    }
}
