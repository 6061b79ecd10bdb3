//! Recompiles, graph breaks, failures, what is missing, and the findings about them.

use fasttl_core::analysis::table;
use fasttl_core::tables::Table;
use fasttl_core::trace::Trace;

use crate::common::cells::{cell, column};
use crate::common::logs::{data, dated_copy, example, loaded, log_of, record};

fn all_cells(table: &Table, names: &[&str]) -> Vec<Vec<String>> {
    let row = |row| names.iter().map(|name| cell(column(table, name), row)).collect();
    (0..table.batch.num_rows()).map(row).collect()
}

fn cells(trace: &Trace, name: &str, names: &[&str]) -> Vec<Vec<String>> {
    all_cells(&table(trace, name).unwrap(), names)
}

fn ids(frame: u32, compile: u32) -> String {
    format!(r#""frame_id": {frame}, "frame_compile_id": {compile}, "attempt": 0"#)
}

fn start(frame: u32, compile: u32) -> Vec<u8> {
    record(&format!(r#""dynamo_start": {{"stack": []}}, {}"#, ids(frame, compile)), None)
}

fn metrics(frame: u32, compile: u32, fields: &str) -> Vec<u8> {
    record(&format!(r#""compilation_metrics": {{{fields}}}, {}"#, ids(frame, compile)), None)
}

fn artifact(name: &str, frame: u32, compile: u32, payload: &str) -> Vec<u8> {
    let head = format!(r#""artifact": {{"name": "{name}", "encoding": "string"}}, {}"#, ids(frame, compile));
    record(&head, Some(payload.as_bytes()))
}

/// A function that is compiled first and then again for each reason.
fn recompiled(reasons: &[String]) -> Vec<u8> {
    let ok = r#""co_name": "f", "co_filename": "/job/a.py", "co_firstlineno": 3, "graph_op_count": 1, "entire_frame_compile_time_s": 0.5"#;
    let mut log = [start(0, 0), metrics(0, 0, ok)].concat();
    for (nth, reason) in (1..).zip(reasons) {
        log.extend(artifact("recompile_reasons", 0, nth, reason));
        log.extend(start(0, nth));
        log.extend(metrics(0, nth, ok));
    }
    log
}

#[test]
fn reasons_that_differ_in_an_id_only_are_one_group() {
    let reason =
        |n: u64| format!("0/{}: ___check_obj_id(self._modules['attn'].processor, {})", n, 140_491_146_774_816 + n);
    let reasons: Vec<String> = (0..37).map(reason).collect();
    let (_folder, trace) = log_of(&recompiled(&reasons));
    let groups = cells(&trace, "recompile_groups", &["code_name", "cause", "pattern", "source", "count", "cost_s"]);
    let pattern = "___check_obj_id(self._modules['attn'].processor, #)";
    assert_eq!(groups, [["f", "object id", pattern, "self._modules['attn'].processor", "37", "18.5000"]]);
    assert_eq!(cells(&trace, "recompiles", &["compile_id", "refused"]).len(), 37);
    let found = cells(&trace, "findings", &["kind", "severity", "sentence"]);
    assert!(
        found[0][2].starts_with("`f` (a.py:3) was compiled again 37 times: another object stands for `self._modules"),
        "{found:?}"
    );
}

#[test]
fn a_call_that_is_refused_is_named_with_the_function_of_its_frame() {
    let mut log = recompiled(&["0/0: tensor 'x' size mismatch at index 1. expected 2, actual 3".to_owned()]);
    log.extend(artifact("recompile_reasons", 0, 2, r#"["0/1: tensor 'x' size mismatch at index 1. expected 3, actual 4", "0/0: tensor 'x' size mismatch at index 0. expected 2, actual 4"]"#));
    log.extend(metrics(0, 2, r#""fail_type": "torch._dynamo.exc.FailOnRecompileLimitHit", "fail_reason": "limit""#));
    let (_folder, trace) = log_of(&log);
    let rows = cells(
        &trace,
        "recompiles",
        &["compile_id", "code_name", "refused", "entry", "dimension", "expected", "actual", "values"],
    );
    assert_eq!(rows[0], ["0/1", "f", "false", "0/0", "1", "2", "3", "[2; 3; 4]"]);
    assert_eq!(rows[1], ["0/2", "f", "true", "0/1", "1", "3", "4", "[2; 3; 4]"]);
    let groups = cells(&trace, "recompile_groups", &["count", "refused", "dimensions"]);
    assert_eq!(groups, [["2", "1", "[0; 1]"]]);
    let found = cells(&trace, "findings", &["severity", "sentence", "advice"]);
    assert_eq!(found[0][0], "error");
    assert!(found[0][1].contains("compiled again once and hit the recompile limit"), "{}", found[0][1]);
    assert!(found[0][2].contains("mark_dynamic") && found[0][2].contains("recompile_limit"), "{}", found[0][2]);
    // The limit itself is no second finding of another kind.
    assert_eq!(cells(&trace, "failures", &["event"]), [["limit"]]);
    assert!(!found.iter().any(|row| row[1].contains("failed")), "{found:?}");
}

#[test]
fn constants_are_known_from_the_guards_of_the_compiles() {
    let mut log = Vec::new();
    for (nth, value) in ["0.5", "0.25", "0.125"].iter().enumerate() {
        let nth = u32::try_from(nth).unwrap();
        if nth > 0 {
            let reason = ["0.5", "0.25"].iter().take(nth as usize).rev();
            let reasons: Vec<String> = reason.map(|v| format!("\"1/0: alpha == {v}  # x  # a.py:2 in f\"")).collect();
            log.extend(artifact("recompile_reasons", 1, nth, &format!("[{}]", reasons.join(","))));
        }
        log.extend(start(1, nth));
        let guards = format!("\nTREE_GUARD_MANAGER:\n| +- EQUALS_MATCH: L['alpha'] == {value}   # x  # a.py:2 in f\n");
        log.extend(record(&format!(r#""dynamo_cpp_guards_str": {{}}, {}"#, ids(1, nth)), Some(guards.as_bytes())));
        log.extend(metrics(1, nth, r#""co_name": "f", "graph_op_count": 1"#));
    }
    let (_folder, trace) = log_of(&log);
    let rows = cells(&trace, "recompiles", &["cause", "source", "expected", "actual", "values", "user_line"]);
    let row = |expected: &str| ["float", "alpha", expected, "-", "[0.5; 0.25; 0.125]", "2"].map(String::from);
    assert_eq!(rows, [row("0.5"), row("0.25")]);
}

const BREAK: &str = "Graph break in user code at /job/a.py:7\nGraph Break Reason: Encountered graph break when attempting to trace CALL: a call:\n\nCannot <trace>\n  Explanation: e\n  Hint: Do this.\n  Hint: Please report an issue to PyTorch.\n\nUser code traceback:\n  File \"/job/a.py\", line 20, in main\n    g(x)\n  File \"/job/a.py\", line 7, in g\n    print(x)\n";

#[test]
fn one_break_told_for_the_caller_and_the_callee_is_one_to_mend() {
    let ok = r#""co_name": "main", "graph_op_count": 1, "dynamo_time_before_restart_s": 0.25, "restart_reasons": ["Cannot <trace>\n  Explanation: e"]"#;
    let log = [
        start(0, 0),
        artifact("dynamo_graph_break_reason", 0, 0, BREAK),
        // Once more by the second try.
        artifact("dynamo_graph_break_reason", 0, 0, BREAK),
        metrics(0, 0, ok),
        start(1, 0),
        artifact("dynamo_graph_break_reason", 1, 0, BREAK),
        metrics(1, 0, ok),
    ]
    .concat();
    let (_folder, trace) = log_of(&log);
    let rows = cells(&trace, "graph_breaks", &["reason", "break_owner", "user_line", "user_code", "advice"]);
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0], ["Cannot <trace>", "user", "7", "print(x)", "Do this."]);
    let groups = cells(&trace, "break_groups", &["count", "compiles", "lost_s", "compile_ids"]);
    assert_eq!(groups, [["3", "2", "0.5000", "[0/0; 1/0]"]]);
    // A restart has the place of its break.
    let failures = cells(&trace, "failures", &["event", "user_file", "user_line"]);
    assert_eq!(failures, vec![["restart", "/job/a.py", "7"].map(String::from); 2]);
}

#[test]
fn breaks_of_early_releases_are_known_from_restarts() {
    let fields = r#""co_name": "f", "graph_op_count": 1, "restart_reasons": ["builtin: print [x] False", "Unknown fail_and_restart_analysis", "<class 'torch._dynamo.exc.TensorifyScalarRestartAnalysis'>"]"#;
    let (_folder, trace) = log_of(&[start(0, 0), metrics(0, 0, fields)].concat());
    let rows = cells(&trace, "graph_breaks", &["reason", "evidence", "break_file", "user_line"]);
    let reasons = ["builtin: print [x] False", "Unknown fail_and_restart_analysis"];
    assert_eq!(rows, reasons.map(|reason| [reason, "restart reason", "-", "-"].map(String::from)));
    assert_eq!(cells(&trace, "failures", &["event"]).len(), 3);
}

#[test]
fn a_backward_that_fails_is_a_failure_of_its_own() {
    let log = [
        start(0, 0),
        metrics(0, 0, r#""co_name": "f", "graph_op_count": 1"#),
        record(
            &format!(r#""bwd_compilation_metrics": {{"fail_type": "InductorError", "fail_reason": "no", "duration_us": 500000}}, {}"#, ids(0, 0)),
            None,
        ),
    ]
    .concat();
    let (_folder, trace) = log_of(&log);
    let rows = cells(&trace, "failures", &["event", "type", "reason", "stage", "lost_s"]);
    assert_eq!(rows, [["backward failure", "InductorError", "no", "backward", "0.5000"]]);
    let found = cells(&trace, "findings", &["sentence"]);
    assert_eq!(found[0][0], "The backward compile of `f` failed: InductorError: no. 0.50 s of work were lost.");
}

#[test]
fn a_recompile_that_was_forbidden_is_told_as_the_failure_that_it_is() {
    let error = r#""co_name": "f", "fail_type": "torch._dynamo.exc.RecompileError", "fail_reason": "Recompiling function f\n    - 0/0: n == 3""#;
    let log = [start(0, 0), metrics(0, 0, r#""co_name": "f", "graph_op_count": 1"#), start(0, 1), metrics(0, 1, error)];
    let (_folder, trace) = log_of(&log.concat());
    assert_eq!(cells(&trace, "recompiles", &["compile_id", "forbidden", "cause"]), [["0/1", "true", "integer"]]);
    assert_eq!(cells(&trace, "findings", &["kind"]), [["failed compiles"]]);
    let missing = cells(&trace, "missing", &["compile_id", "name"]);
    assert!(!missing.contains(&vec!["0/1".to_owned(), "recompile_reasons".to_owned()]), "{missing:?}");
}

#[test]
fn a_group_of_refused_calls_alone_was_not_compiled_again() {
    let refused = r#""fail_type": "torch._dynamo.exc.FailOnRecompileLimitHit", "fail_reason": "limit""#;
    let log = [
        start(0, 0),
        metrics(0, 0, r#""co_name": "f", "graph_op_count": 1"#),
        artifact("recompile_reasons", 0, 1, "0/0: n == 3"),
        metrics(0, 1, refused),
    ];
    let (_folder, trace) = log_of(&log.concat());
    let sentence = &cells(&trace, "findings", &["sentence"])[0][0];
    assert!(
        sentence.starts_with("`f` was not compiled again: it had hit the recompile limit: the integer `n` changed"),
        "{sentence}"
    );
}

#[test]
fn failures_that_only_a_traceback_tells_of_are_not_lost() {
    let traceback = "Traceback (most recent call last):\n  File \"/x/site-packages/torch/a.py\", line 1, in f\n    g()\nValueError: no such thing\n\nfrom user code:\n   File \"/job/m.py\", line 2, in m\n    g()\n";
    let log = [
        start(0, 0),
        metrics(0, 0, r#""co_name": "f", "graph_op_count": 1"#),
        artifact("eager_compile_backwards_failure", 0, 0, traceback),
        // Its metrics are lost.
        start(1, 0),
        artifact("dynamo_error", 1, 0, traceback),
    ];
    let (_folder, trace) = log_of(&log.concat());
    let rows = cells(&trace, "failures", &["compile_id", "event", "type", "reason", "user_file", "user_line"]);
    let row = |id: &str, event: &str| [id, event, "ValueError", "no such thing", "/job/m.py", "2"].map(String::from);
    assert_eq!(rows, [row("0/0", "backward failure"), row("1/0", "failure")]);
    assert_eq!(cells(&trace, "findings", &["kind"]), [["failed compiles"], ["failed compiles"]]);
    assert_eq!(cells(&trace, "frames", &["unfinished"]), [["false"], ["false"]]);
}

#[test]
fn functions_with_many_guards_have_their_own_numbers() {
    let guards = |count: u32, us: u32| {
        format!(r#""co_name": "f{count}", "graph_op_count": 1, "guard_count": {count}, "guard_latency_us": {us}"#)
    };
    let log =
        [metrics(0, 0, &guards(600, 5)), metrics(1, 0, &guards(50_000, 9_000)), metrics(2, 0, &guards(499, 9_999))];
    let (_folder, trace) = log_of(&log.concat());
    let found = cells(&trace, "findings", &["sentence"]);
    assert_eq!(found.len(), 2);
    assert!(
        found[0][0].starts_with("`f600` has up to 600 guards, in 1 compile, and a check of them took 5 µs"),
        "{found:?}"
    );
    assert!(found[1][0].starts_with("`f50000` has up to 50000 guards"), "{found:?}");
}

#[test]
fn long_texts_and_lists_take_time_and_room_in_proportion() {
    // What was quadratic took minutes for these.
    let reasons: Vec<String> =
        (0..100_000).map(|n| format!("\"0/0: tensor 'x' size mismatch at index {n}. expected 1, actual 2\"")).collect();
    let mut log = recompiled(&[format!("[{}]", reasons.join(","))]);
    let traceback = format!("Traceback (most recent call last):\n{}ValueError: x", "    y\n".repeat(100_000));
    log.extend(artifact("dynamo_error", 3, 0, &traceback));
    for _ in 0..2000 {
        log.extend(metrics(3, 0, r#""fail_type": "ValueError", "fail_reason": "x""#));
    }
    for n in 0..3000 {
        log.extend(artifact(
            "dynamo_graph_break_reason",
            5,
            0,
            &format!("Graph break in user code at /job/a.py:{n}\nGraph Break Reason: {}", "word ".repeat(200)),
        ));
    }
    let (_folder, trace) = log_of(&log);
    let begun = std::time::Instant::now();
    let found = cells(&trace, "findings", &["kind", "sentence", "advice"]);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    assert!(found.iter().all(|row| row[1].len() < 4000 && row[2].len() < 4000));
    assert!(
        found.iter().any(|row| row[1] == "2000 more of the kind \"graph breaks\" are not told one by one."),
        "{}",
        found.len()
    );
}

#[test]
fn damaged_reasons_and_breaks_lose_nothing_else() {
    let log = [
        recompiled(&["[\"0/0: a == 1\", {\"b\": ".to_owned(), "\u{0}\u{feff}".to_owned(), String::new()]),
        artifact("dynamo_graph_break_reason", 5, 0, ""),
        artifact("dynamo_graph_break_reason", 5, 0, "Graph break in user code at :::\nGraph Break Reason:"),
        metrics(5, 0, r#""restart_reasons": 3, "fail_type": 7, "recompile_reason": ["x"]"#),
    ]
    .concat();
    let (_folder, trace) = log_of(&log);
    assert_eq!(cells(&trace, "recompiles", &["compile_id"]), [["0/1"], ["0/2"], ["0/3"]]);
    assert_eq!(cells(&trace, "graph_breaks", &["compile_id"]).len(), 2);
    for name in ["recompile_groups", "break_groups", "failures", "findings", "missing", "cache"] {
        table(&trace, name).unwrap();
    }
}

#[test]
fn evidence_names_rows_that_are_there() {
    for folder in [data("unusual"), data("killed"), data("processes"), data("hello"), example()] {
        let copy = dated_copy(&folder);
        let trace = loaded(copy.path());
        for row in
            cells(&trace, "findings", &["sentence", "advice", "evidence_table", "evidence_files", "evidence_offsets"])
        {
            assert!(row[0].ends_with('.') && !row[1].is_empty(), "{row:?}");
            let list = |text: &str| -> Vec<String> {
                text.trim_matches(['[', ']']).split("; ").filter(|t| !t.is_empty()).map(str::to_owned).collect()
            };
            let rows: Vec<Vec<String>> = match row[2].as_str() {
                // A row of these is about a whole rank, or has a list.
                "ranks" => Vec::new(),
                "divergence" => cells(&trace, &row[2], &["evidence_files", "evidence_offsets"])
                    .iter()
                    .flat_map(|shown| list(&shown[0]).into_iter().zip(list(&shown[1])).collect::<Vec<_>>())
                    .map(|(file, offset)| vec![file, offset])
                    .collect(),
                of_records => cells(&trace, of_records, &["file", "offset"]),
            };
            for (file, offset) in list(&row[3]).iter().zip(&list(&row[4])) {
                assert!(offset == "-1" || rows.contains(&vec![file.clone(), offset.clone()]), "{row:?}");
            }
        }
    }
}

#[test]
fn what_is_missing_has_the_reason_that_the_log_gives() {
    let copy = dated_copy(&example());
    let trace = loaded(copy.path());
    let rows = cells(&trace, "missing", &["rank", "compile_id", "name", "reason"]);
    let reason = |rank: &str, id: &str, name: &str| {
        rows.iter().find(|row| row[0] == rank && row[1] == id && row[2] == name).map(|row| row[3].as_str())
    };
    assert_eq!(reason("1", "1/0", "dynamo_cpp_guards_str"), Some("the compile failed before"));
    assert_eq!(reason("0", "2/0", "compilation_metrics"), Some("the log ends before the compile did"));
    assert_eq!(reason("2", "2/0", "compilation_metrics"), None);
    assert_eq!(
        reason("2", "0/0", "inductor_output_code"),
        Some("the backend does not use Inductor (such as aot_eager)")
    );
}

#[test]
fn real_logs() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for name in ["unusual", "processes", "killed"] {
            let copy = dated_copy(&data(name));
            let trace = loaded(copy.path());
            let text = |name| {
                let built = table(&trace, name).unwrap();
                let columns: Vec<String> = built.columns().into_iter().map(|c| c.name).collect();
                let names: Vec<&str> = columns.iter().map(String::as_str).collect();
                let mut text = format!("## {name}: {} rows\n", built.batch.num_rows());
                for (nth, row) in all_cells(&built, &names).into_iter().enumerate() {
                    text += &format!("row {nth}\n");
                    for (name, cell) in names.iter().zip(row) {
                        text += &format!("  {name}: {cell}\n");
                    }
                }
                text
            };
            let tables =
                ["recompiles", "recompile_groups", "graph_breaks", "break_groups", "failures", "findings", "missing"];
            insta::assert_snapshot!(format!("causes_{name}"), tables.map(text).join("\n"));
        }
    });
}
