//! Time between ranks: tables `skew` and `ranks`, and what findings say of slow, missing and killed ranks.

use std::fmt::Write;

use fasttl_core::analysis::table;
use fasttl_core::trace::Trace;
use tempfile::TempDir;

use crate::common::cells::{cell, column};
use crate::common::logs::{data, example, folder, loaded, record_at};
use crate::common::rank_logs::{RankLog, written};

/// 2026-11-29, in microseconds since 1970.
const DAY: f64 = 1_795_910_400_000_000.0;

/// A log of a rank whose clock goes on with what is logged.
#[derive(Clone)]
struct TimedLog {
    rank: i32,
    bytes: Vec<u8>,
    /// Seconds of the day.
    now: f64,
}

fn ids(id: &str) -> String {
    let (frame, compile) = id.split_once('/').unwrap();
    format!("\"frame_id\": {frame}, \"frame_compile_id\": {compile}, \"attempt\": 0")
}

impl TimedLog {
    fn new(rank: i32) -> Self {
        Self { rank, bytes: Vec::new(), now: 100.0 }
    }

    fn add(mut self, members: &str, id: &str, payload: Option<&str>) -> Self {
        let (minutes, seconds) = ((self.now / 60.0).floor(), self.now % 60.0);
        let time = format!("1129 {:02}:{:02}:{seconds:09.6}", (minutes / 60.0).floor(), minutes % 60.0);
        let head = format!("{members}, \"rank\": {}, {}", self.rank, ids(id));
        self.bytes.extend(record_at(&time, &head, payload.map(str::as_bytes)));
        self
    }

    fn event(self, ph: &str, name: &str, id: &str) -> Self {
        let ts = DAY + self.now * 1e6;
        let event = format!("{{\"name\": \"{name}\", \"ts\": {ts:.1}, \"args\": {{}}, \"ph\": \"{ph}\"}}");
        self.add("\"chromium_event\": {}", id, Some(&event))
    }

    fn wait(mut self, seconds: f64) -> Self {
        self.now += seconds;
        self
    }

    fn begin(self, id: &str) -> Self {
        self.event("B", "dynamo", id).add("\"dynamo_start\": {\"stack\": []}", id, None)
    }

    /// A compile that takes so long.
    fn compile(self, id: &str, seconds: f64) -> Self {
        self.begin(id).rest(id, seconds)
    }

    /// What comes after its begin.
    fn rest(self, id: &str, seconds: f64) -> Self {
        let name = format!("f{}", id.replace('/', "_"));
        let metrics = format!(
            "\"compilation_metrics\": {{\"co_name\": \"{name}\", \"co_filename\": \"/a/b.py\", \"co_firstlineno\": 3, \"graph_op_count\": 1, \"entire_frame_compile_time_s\": {seconds}}}"
        );
        self.wait(seconds).add(&metrics, id, None).event("E", "dynamo", id)
    }

    fn artifact(self, id: &str, name: &str, payload: &str) -> Self {
        self.add(&format!("\"artifact\": {{\"name\": \"{name}\", \"encoding\": \"string\"}}"), id, Some(payload))
    }
}

fn job(ranks: &[TimedLog]) -> (TempDir, Trace) {
    let name = |rank: i32| format!("dedicated_log_torch_trace_rank_{rank}_abcd{rank:04}.log");
    let named: Vec<(String, &[u8])> = ranks.iter().map(|of| (name(of.rank), of.bytes.as_slice())).collect();
    let files: Vec<(&str, &[u8])> = named.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    let logs = folder(&files);
    let trace = loaded(logs.path());
    (logs, trace)
}

/// Some columns of a table, a line for each row.
fn lines(trace: &Trace, name: &str, columns: &[&str]) -> String {
    let found = table(trace, name).unwrap();
    let mut text = String::new();
    for row in 0..found.batch.num_rows() {
        let cells: Vec<String> = columns.iter().map(|name| cell(column(&found, name), row)).collect();
        writeln!(text, "{}", cells.join(" | ")).unwrap();
    }
    text
}

/// The sentences of the findings of a kind.
fn said(trace: &Trace, kind: &str) -> Vec<String> {
    let found = table(trace, "findings").unwrap();
    (0..found.batch.num_rows())
        .filter(|row| cell(column(&found, "kind"), *row) == kind)
        .map(|row| cell(column(&found, "sentence"), row))
        .collect()
}

const SKEW: [&str; 9] =
    ["compile_id", "code_name", "ranks", "min_s", "median_s", "max_s", "max_rank", "start_spread_s", "waited_s"];

/// Four ranks of three compiles, of which rank 2 takes so much longer for the second.
fn slower(seconds: f64) -> Vec<TimedLog> {
    let rank = |rank| {
        let more = if rank == 2 { seconds } else { 0.0 };
        TimedLog::new(rank).compile("0/0", 0.5).compile("1/0", 2.0 + more).compile("2/0", 1.0)
    };
    (0..4).map(rank).collect()
}

#[test]
fn a_slow_compile_is_skew_and_no_divergence() {
    let (_logs, trace) = job(&slower(30.0));
    assert_eq!(
        lines(&trace, "skew", &SKEW),
        "0/0 | f0_0 | 4 | 0.5000 | 0.5000 | 0.5000 | 0 | 0.0000 | 0.0000\n\
         1/0 | f1_0 | 4 | 2.0000 | 2.0000 | 32.0000 | 2 | 0.0000 | 90.0000\n\
         2/0 | f2_0 | 4 | 1.0000 | 1.0000 | 1.0000 | 0 | 30.0000 | 0.0000\n"
    );
    assert_eq!(table(&trace, "divergence").unwrap().batch.num_rows(), 0);
    assert_eq!(
        said(&trace, "rank skew").join("\n"),
        "Rank 2 took 32 s for the compile of `f1_0` (b.py:3), compile id 1/0, where the rank in the middle took 2.0 s. \
         The 3 other ranks were done before that, 90 s in all, and likely waited."
    );
    assert_eq!(
        lines(
            &trace,
            "ranks",
            &[
                "rank",
                "state",
                "group",
                "compiles",
                "compile_s",
                "behind_s",
                "waiting_s",
                "last_compile_id",
                "last_state"
            ]
        ),
        "0 | compared | 0 | 3 | 3.5000 | 30.0000 | 30.0000 | 2/0 | done\n\
         1 | compared | 0 | 3 | 3.5000 | 30.0000 | 30.0000 | 2/0 | done\n\
         2 | compared | 0 | 3 | 33.5000 | 0.0000 | 0.0000 | 2/0 | done\n\
         3 | compared | 0 | 3 | 3.5000 | 30.0000 | 30.0000 | 2/0 | done\n"
    );
}

#[test]
fn a_little_slower_is_told_by_the_table_alone() {
    let (_logs, trace) = job(&slower(4.0));
    assert_eq!(said(&trace, "rank skew"), [""; 0]);
    assert!(lines(&trace, "skew", &SKEW).contains("| 6.0000 | 2 |"), "{}", lines(&trace, "skew", &SKEW));
}

#[test]
fn many_small_compiles_add_up() {
    let rank = |rank: i32| {
        let mut of = TimedLog::new(rank);
        for frame in 0..20 {
            let id = format!("{frame}/0");
            let (took, answer) = if rank == 1 { (4.0, "miss") } else { (0.1, "hit") };
            of = of.artifact(&id, &format!("fx_graph_cache_{answer}"), "{}").compile(&id, took);
        }
        of
    };
    let (_logs, trace) = job(&[rank(0), rank(1), rank(2)]);
    assert_eq!(
        said(&trace, "rank skew").join("\n"),
        "Rank 1 compiled for 80 s in all, the rank in the middle for 2.0 s. Others compiled nothing for up to 78 s \
         meanwhile, and likely waited. A cache was cold there and warm on most others."
    );
}

#[test]
fn a_killed_rank_is_told_with_its_last_step() {
    let killed = TimedLog::new(1).compile("0/0", 1.0).begin("1/0").event("B", "inductor_compile", "1/0");
    let whole = TimedLog::new(0).compile("0/0", 1.0).compile("1/0", 2.0).wait(338.0).compile("2/0", 0.1);
    let (_logs, trace) = job(&[whole, killed]);
    assert_eq!(
        said(&trace, "unfinished compiles").join("\n"),
        "The log ends while a frame without a name is being compiled on rank 1: the process was killed, hangs, or still \
         works. Last step: `inductor_compile`. The last record of the job is logged 340 s later."
    );
    let columns = ["rank", "behind_s", "last_compile_id", "last_step", "last_state"];
    assert_eq!(
        lines(&trace, "ranks", &columns),
        "0 | 0.0000 | 2/0 | compilation_metrics | done\n1 | 340.1000 | 1/0 | inductor_compile | open\n"
    );
}

#[test]
fn a_log_that_is_cut_early_is_told() {
    let mut cut = TimedLog::new(1).compile("0/0", 1.0).artifact("0/0", "late", "text of an artifact");
    cut.bytes.truncate(cut.bytes.len() - 9);
    let whole = TimedLog::new(0).compile("0/0", 1.0).wait(338.0).compile("1/0", 0.1);
    let (_logs, trace) = job(&[whole, cut]);
    assert_eq!(
        said(&trace, "early ends").join("\n"),
        "The log of rank 1 is cut 338 s before the last record of the job, after the compile of `f0_0` (b.py:3), compile \
         id 0/0."
    );
    assert_eq!(said(&trace, "unfinished compiles"), [""; 0]);
}

#[test]
fn ranks_without_a_log_are_missing() {
    let rank = |rank| TimedLog::new(rank).compile("0/0", 0.5);
    let (_logs, trace) = job(&[rank(0), rank(1), rank(4)]);
    let columns = ["rank", "file", "state", "why", "group", "compiles", "waiting_s"];
    assert_eq!(
        lines(&trace, "ranks", &columns),
        "0 | 0 | compared | - | 0 | 1 | 0.0000\n1 | 1 | compared | - | 0 | 1 | 0.0000\n\
         2 | - | missing | it has no log | - | - | -\n3 | - | missing | it has no log | - | - | -\n\
         4 | 2 | compared | - | 0 | 1 | 0.0000\n"
    );
    assert_eq!(said(&trace, "missing ranks").join("\n"), "2 of the 5 ranks have no log: ranks 2, 3.");
}

#[test]
fn the_world_size_tells_of_more_ranks() {
    let size = |size: &str| {
        let told = |rank: TimedLog| {
            rank.artifact("0/0", "fx_collectives_analytical_estimation", &format!("# World size: {size}\na,b"))
        };
        let (_logs, trace) =
            job(&[told(TimedLog::new(0).compile("0/0", 0.5)), told(TimedLog::new(1).compile("0/0", 0.5))]);
        (table(&trace, "ranks").unwrap().batch.num_rows(), said(&trace, "missing ranks"))
    };
    assert_eq!(size("4"), (4, vec!["2 of the 4 ranks have no log: ranks 2, 3.".to_owned()]));
    assert_eq!(size("2"), (2, Vec::new()));
    assert_eq!(size("4000000000").0, 100_000);
    assert_eq!(size("-7").0, 2);
}

#[test]
fn a_rank_that_differs_is_one_finding() {
    let of = |rank: i32| {
        let ops: &[&str] = if rank == 1 { &["all_reduce_", "wait_tensor"] } else { &["all_gather_into_tensor_out"] };
        RankLog::new(rank).compile(0, "f").schedule(ops)
    };
    let (_logs, trace) = written((0..4).map(of));
    let [sentence] = said(&trace, "ranks that differ").try_into().unwrap();
    assert!(sentence.starts_with("Rank 1 differs first at 0/0, collective 1"), "{sentence}");
    assert!(sentence.contains("all_reduce") && sentence.contains(" Ranks 0, 2, 3: "), "{sentence}");
    assert!(sentence.ends_with("wait for each other for ever."), "{sentence}");
}

#[test]
fn a_cold_cache_that_makes_a_rank_slow_is_told_with_it() {
    let of = |rank: i32| {
        let (answer, took) = if rank == 3 { ("miss", 31.0) } else { ("hit", 1.0) };
        TimedLog::new(rank).begin("0/0").artifact("0/0", &format!("fx_graph_cache_{answer}"), "{}").rest("0/0", took)
    };
    let (_logs, trace) = job(&[of(0), of(1), of(2), of(3)]);
    assert_eq!(said(&trace, "ranks that differ"), [""; 0]);
    let [sentence] = said(&trace, "rank skew").try_into().unwrap();
    assert!(sentence.ends_with("A cache was cold there and warm on most others."), "{sentence}");
}

#[test]
fn a_failure_says_where_the_compile_went_through() {
    let trace = loaded(&example());
    assert_eq!(said(&trace, "ranks that differ"), [""; 0]);
    let [sentence] = said(&trace, "failed compiles").try_into().unwrap();
    assert!(sentence.contains(" It went through on ranks 0, 2."), "{sentence}");
}

#[test]
fn logs_without_ranks_are_no_job() {
    let trace = loaded(&data("processes"));
    assert_eq!(table(&trace, "ranks").unwrap().batch.num_rows(), 0);
    assert_eq!(table(&trace, "skew").unwrap().batch.num_rows(), 0);
}

#[test]
fn a_job_that_crashed() {
    let trace = loaded(&example());
    let columns = ["rank", "state", "log_state", "compiles", "failures", "last_compile_id", "last_step", "last_state"];
    assert_eq!(
        lines(&trace, "ranks", &columns),
        "0 | compared | complete | 3 | 0 | 2/0 | build_guards | open\n\
         1 | compared | complete | 2 | 1 | 1/0 | compilation_metrics | failed\n\
         2 | compared | complete | 3 | 0 | 2/0 | compilation_metrics | done\n"
    );
    assert_eq!(
        lines(&trace, "skew", &["compile_id", "code_name", "ranks"]),
        "0/0 | warm | 3\n1/0 | step | 3\n2/0 | late | 2\n"
    );
    assert_eq!(said(&trace, "rank skew"), [""; 0]);
    assert_eq!(
        said(&trace, "unfinished compiles").join("\n"),
        "The log ends while `late` (dist_crash.py:28) is being compiled on rank 0: the process was killed, hangs, or \
         still works. Last step: `build_guards`."
    );
}

#[test]
fn each_rank_is_compared_by_its_newest_start() {
    let trace = loaded(&data("dist_restart"));
    assert_eq!(
        lines(&trace, "ranks", &["rank", "file", "compiles", "last_compile_id", "last_state"]),
        "0 | 1 | 2 | 1/0 | done\n1 | 3 | 2 | 1/0 | done\n"
    );
    assert_eq!(lines(&trace, "skew", &["compile_id", "code_name", "ranks"]), "0/0 | load | 2\n1/0 | train | 2\n");
}
