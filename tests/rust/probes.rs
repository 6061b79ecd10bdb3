//! What is found in each of the hand-made logs of `tests/data/probes`.
//!
//! A log is told in one line: rank, records, state, and how many problems of each kind there are. Bytes that are odd
//! but whole (markup in names, numbers beyond 32 bits, NUL, U+2028, a payload that looks like a head) are no damage,
//! so most lines have none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use fasttl_core::error::ErrorKind;
use fasttl_core::trace::{LoadOptions, Log};

use crate::common::logs::{data, load_paths, loaded};

/// What becomes of a probe.
enum Expected {
    /// It loads: a line for each log, by rank, those without last.
    Reads(&'static [&'static str]),
    /// There is nothing to read, and the error says what the file looks like.
    Fails(&'static str),
}

use Expected::{Fails, Reads};

const PROBES: &[(&str, Expected)] = &[
    ("artifact_bad_encoding", Reads(&["-: 4 complete"])),
    ("artifact_bad_json", Reads(&["-: 3 complete, artifact is no JSON 1"])),
    ("attempt_missing", Reads(&["-: 4 complete"])),
    ("attempts", Reads(&["-: 7 complete"])),
    ("blank_lines", Reads(&["-: 3 complete"])),
    ("bom", Reads(&["-: 3 complete"])),
    ("cache_unknown_name_hit", Reads(&["0: 3 complete", "1: 3 complete"])),
    ("chromium_pids", Reads(&["0: 3 complete", "1: 3 complete"])),
    ("collective_bad_json", Reads(&["0: 3 complete", "1: 3 complete, unexpected payload 1"])),
    ("collective_second_graph_differs", Reads(&["0: 4 complete", "1: 4 complete"])),
    ("compile_id_null", Reads(&["-: 4 complete"])),
    ("compile_ids_differ", Reads(&["0: 3 complete", "1: 5 complete"])),
    ("crlf_file", Reads(&["-: 4 complete"])),
    ("dup_compile_id", Reads(&["-: 6 complete"])),
    ("duplicate_key", Reads(&["-: 4 complete, key conflict 1"])),
    ("empty_file", Fails("looks like an empty file")),
    ("fail_type_without_reason", Reads(&["-: 5 complete"])),
    ("fake_kernel_no_op_export", Reads(&["-: 3 complete"])),
    ("graph_code_differs", Reads(&["0: 4 complete", "1: 4 complete"])),
    ("guard_no_expr_export", Reads(&["-: 4 complete"])),
    ("gz_input", Reads(&["-: 4 complete"])),
    ("huge_frame_id", Reads(&["-: 5 complete, bad field 2"])),
    ("intern_after_use", Reads(&["-: 2 complete"])),
    ("intern_leak_ranks", Reads(&["0: 2 complete", "1: 2 complete"])),
    ("intern_sparse_20m", Reads(&["-: 3 complete"])),
    ("lineno_gt_u64", Reads(&["-: 4 complete, bad field 1"])),
    ("link_in_metrics_page", Reads(&["-: 4 complete"])),
    ("metrics_float_count", Reads(&["-: 4 complete"])),
    ("metrics_neg_lineno", Reads(&["-: 4 complete"])),
    ("metrics_null_restart", Reads(&["-: 3 complete"])),
    ("metrics_unknown_keys", Reads(&["-: 3 complete"])),
    ("missing_ranks", Reads(&["0: 3 complete", "1: 3 complete", "3: 3 complete", "7: 3 complete"])),
    ("mixed_dir", Reads(&["0: 3 complete", "1: 3 complete", "2: 2 complete", "-: 2 complete", "-: 3 complete"])),
    ("name_html", Reads(&["-: 4 complete"])),
    ("name_slash", Reads(&["-: 4 complete"])),
    ("name_too_long", Reads(&["-: 4 complete"])),
    ("name_url_chars", Reads(&["-: 4 complete"])),
    ("nan_metrics", Reads(&["-: 4 complete, NaN or infinity 1"])),
    ("neg_line_numbers", Reads(&["-: 4 complete"])),
    ("no_trailing_newline", Reads(&["-: 3 complete"])),
    ("non_utf8_payload", Reads(&["-: 5 complete, bad UTF-8 1"])),
    ("not_a_log", Fails("looks like a program or shared library (ELF)")),
    ("nul_bytes", Reads(&["-: 4 complete, foreign text 1"])),
    ("one_bad_utf8_rank", Reads(&["0: 3 complete", "1: 3 complete", "2: 2 complete, foreign text 1"])),
    ("one_empty_rank", Reads(&["0: 3 complete", "1: 3 complete", "2: 0 empty, nothing read 1"])),
    ("only_blank", Fails("looks like an empty file")),
    ("other_text_lines", Reads(&["-: 3 complete, foreign text 1"])),
    ("path_traversal_artifact", Reads(&["-: 3 complete"])),
    ("path_traversal_dump_file", Reads(&["-: 3 complete"])),
    ("path_traversal_graph_dump", Reads(&["-: 3 complete"])),
    ("payload_glog_lookalike", Reads(&["-: 4 complete"])),
    ("payload_missing", Reads(&["-: 4 complete, payload missing 1"])),
    ("rank_name_vs_content", Reads(&["1: 3 complete", "5: 3 complete, rank in name 1"])),
    ("rank_only_inside", Reads(&["0: 7 complete", "1: 7 complete"])),
    (
        "rank_order_10_2",
        Reads(&["0: 3 complete", "1: 3 complete", "2: 3 complete", "10: 3 complete", "100: 3 complete"]),
    ),
    ("runtime_only_differs", Reads(&["0: 3 complete", "1: 3 complete"])),
    ("same_md5_twice", Reads(&["-: 4 complete"])),
    ("same_rank_twice", Reads(&["0: 3 complete", "0: 3 complete", "1: 3 complete"])),
    ("stats_zero_all_bad", Fails("text that begins with \"garbage line\"")),
    ("stderr_prefix", Reads(&["-: 3 complete"])),
    ("tab_after_no_payload", Reads(&["-: 3 complete, orphan payload 1"])),
    ("time_backwards", Reads(&["-: 5 complete"])),
    ("truncated_mid_payload", Reads(&["-: 3 truncated, cut short 1"])),
    ("two_kinds_in_one", Reads(&["-: 3 complete, key conflict 1"])),
    ("u2028_payload", Reads(&["-: 3 complete"])),
    ("unknown_record", Reads(&["-: 4 complete"])),
    ("unranked_only", Reads(&["-: 3 complete", "-: 3 complete"])),
    ("upper_md5", Reads(&["-: 3 complete"])),
    ("wrong_md5", Reads(&["-: 4 complete, wrong md5 2"])),
    ("xss_export", Reads(&["-: 13 complete"])),
    ("xss_fail_reason", Reads(&["-: 3 complete"])),
    ("xss_guard", Reads(&["-: 3 complete"])),
    ("xss_metrics_fields", Reads(&["-: 3 complete"])),
    ("xss_restart_reason", Reads(&["-: 3 complete"])),
    ("xss_stack", Reads(&["-: 4 complete"])),
];

fn told(log: &Log) -> String {
    let rank = log.rank.map_or("-".to_owned(), |rank| rank.to_string());
    let mut text = format!("{rank}: {} {}", log.index.records.len(), log.state.name());
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for problem in &log.index.problems {
        *counts.entry(problem.kind.name()).or_default() += 1;
    }
    for (kind, count) in counts {
        text += &format!(", {kind} {count}");
    }
    text
}

#[test]
fn every_probe_is_read_as_it_should_be() {
    for (name, expected) in PROBES {
        let folder = data("probes").join(name);
        let one = folder.join("in.log");
        let found = load_paths(&[if one.exists() { one } else { folder }], &LoadOptions::default());
        match (expected, found) {
            (Reads(lines), Ok(trace)) => {
                let found: Vec<String> = trace.logs.iter().map(told).collect();
                assert_eq!(found, *lines, "{name}");
            }
            (Fails(words), Err(error)) => {
                assert_eq!(error.kind, ErrorKind::NotATrace, "{name}: {error}");
                assert!(error.to_string().contains(words), "{name}: {error}");
            }
            (Reads(_), Err(error)) => panic!("{name}: {error}"),
            (Fails(_), Ok(trace)) => panic!("{name}: {:?}", trace.logs.iter().map(told).collect::<Vec<_>>()),
        }
    }
}

#[test]
fn every_probe_has_a_row() {
    let folders = fs::read_dir(data("probes")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let folders: BTreeSet<String> = folders.collect();
    let rows: BTreeSet<String> = PROBES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(rows.len(), PROBES.len(), "a row stands twice");
    assert_eq!(folders, rows);
}

#[test]
fn what_is_no_log_is_passed_over_by_name() {
    let trace = loaded(&data("probes/mixed_dir"));
    let passed: Vec<_> = trace.passed.iter().map(|p| p.path.file_name().unwrap().to_string_lossy()).collect();
    assert_eq!(passed, ["notes.txt", "other.log"]);
    assert!(trace.passed.iter().all(|p| p.reason.starts_with("looks like text that begins with")));
}

#[test]
fn strings_of_one_rank_never_name_frames_of_another() {
    let trace = loaded(&data("probes/intern_leak_ranks"));
    for log in &trace.logs {
        let own = log.index.strings.defs();
        let undefined = if own.iter().any(|d| d.id == 5) { 7 } else { 5 };
        assert!(own.iter().all(|d| d.id != undefined));
        assert_eq!(trace.string(log, undefined, u64::MAX), None);
    }
}
