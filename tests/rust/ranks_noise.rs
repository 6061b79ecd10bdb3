//! What differs between the ranks of a healthy job is no difference, and what has one cause is blamed on nothing else.

use fasttl_core::analysis::table;
use fasttl_core::trace::Trace;

use crate::common::cells::{cell, column};
use crate::common::rank_logs::{RankLog, differences, job, verdict, written};

/// `aspect place` of all that differs, in the order of the table.
fn rows(trace: &Trace) -> Vec<String> {
    let found = table(trace, "divergence").unwrap();
    let row = |row| format!("{} {}", cell(column(&found, "aspect"), row), cell(column(&found, "place"), row));
    (0..found.batch.num_rows()).map(row).collect()
}

/// The causes of an aspect.
fn causes(trace: &Trace, aspect: &str) -> Vec<String> {
    let found = table(trace, "divergence").unwrap();
    let of_aspect = (0..found.batch.num_rows()).filter(|row| cell(column(&found, "aspect"), *row) == aspect);
    of_aspect.map(|row| cell(column(&found, "cause"), row)).collect()
}

fn id(frame: u32, compile: u32) -> String {
    format!("\"frame_id\": {frame}, \"frame_compile_id\": {compile}, \"attempt\": 0")
}

/// A compile with a graph of one operation.
fn compile(log: RankLog, at: (u32, u32), code: (&str, &str), op: &str) -> RankLog {
    let (name, file) = code;
    let id = id(at.0, at.1);
    let graph = format!("def forward(self, x):\n    y = x.{op}();  x = None\n    return (y,)\n");
    let metrics = format!(
        "\"compilation_metrics\": {{\"co_name\": \"{name}\", \"co_filename\": \"{file}\", \"co_firstlineno\": 3, \"graph_op_count\": 1}}"
    );
    log.add("\"dynamo_start\": {\"stack\": []}", &id, None)
        .add("\"dynamo_output_graph\": {}", &id, Some(&graph))
        .add(&metrics, &id, None)
}

fn guards(log: RankLog, at: (u32, u32), lines: &[&str]) -> RankLog {
    let mut text = "TREE_GUARD_MANAGER:\n+- RootGuardManager\n".to_owned();
    for line in lines {
        text += &format!("| +- GuardManager: source=L['x'], accessed_by=X\n| | +- {line}\n");
    }
    log.add("\"dynamo_cpp_guards_str\": {}", &id(at.0, at.1), Some(&text))
}

#[test]
fn what_is_left_is_told_from_what_is_more() {
    // Of four recompiles of one function one is more on rank 1, and the last has another graph.
    let log = |rank: i32| {
        let ops: &[&str] = if rank == 1 { &["a", "x", "b", "c2"] } else { &["a", "b", "c"] };
        (0..).zip(ops).fold(RankLog::new(rank), |log, (nth, op)| compile(log, (0, nth), ("f", "/a/b.py"), op))
    };
    let (_dir, trace) = written((0..3).map(log));
    assert_eq!(rows(&trace), ["compiles 0/1", "graph 0/2, dynamo graph, statement 2"]);
    // Two ranks have one compile more each, of functions of their own.
    let log = |rank: i32| {
        let names: &[&str] = match rank {
            1 => &["f", "p", "g"],
            2 => &["f", "q", "g"],
            _ => &["f", "g"],
        };
        (0..).zip(names).fold(RankLog::new(rank), |log, (nth, name)| {
            compile(log, (nth, 0), (name, "/a/b.py"), &format!("{name}_op"))
        })
    };
    let (_dir, trace) = written((0..5).map(log));
    let found = differences(&trace, "compiles");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|row| row.contains("p at b.py:3") && row.ends_with("[[0; 2; 3; 4]; [1]]")), "{found:?}");
    assert!(found.iter().any(|row| row.contains("q at b.py:3") && row.ends_with("[[0; 1; 3; 4]; [2]]")), "{found:?}");
}

#[test]
fn a_cause_parts_exactly_the_odd_ranks() {
    // Rank 2 has another release, too, and agrees with the others all the same.
    let log = |rank: i32| {
        let version = if rank >= 2 { "2.9.1" } else { "2.9.0" };
        let log = RankLog::new(rank).artifact_of(
            "\"stack\": []",
            "torch_version",
            &format!("{{\"pytorch_version\": \"{version}\"}}"),
        );
        compile(log, (0, 0), ("f", "/a/b.py"), if rank == 3 { "cos" } else { "sin" })
    };
    let (_dir, trace) = written((0..4).map(log));
    assert_eq!(causes(&trace, "graph"), ["-"]);
    // Of two breaks the one of the function itself.
    let broken = |log: RankLog, at: (u32, u32), line: u32| {
        let text = format!("Graph break in user code at /a/b.py:{line}\nGraph Break Reason: call print\n");
        log.add(
            "\"artifact\": {\"name\": \"dynamo_graph_break_reason\", \"encoding\": \"string\"}",
            &id(at.0, at.1),
            Some(&text),
        )
    };
    let log = |rank: i32| {
        let log = RankLog::new(rank).artifact_of("\"stack\": []", "torch_version", "{\"pytorch_version\": \"2.9.0\"}");
        let log = if rank == 1 { broken(log, (0, 0), 5) } else { log };
        let log = compile(log, (0, 0), ("f", "/a/b.py"), "sin");
        let log = if rank == 1 { broken(log, (1, 0), 9) } else { log };
        let log = compile(log, (1, 0), ("h", "/a/b.py"), "cos");
        if rank == 1 { compile(log, (2, 0), ("torch_dynamo_resume_in_f_at_5", "/a/b.py"), "tan") } else { log }
    };
    let (_dir, trace) = written((0..3).map(log));
    let found = causes(&trace, "compiles");
    assert_eq!(found, ["it is the rest of f, whose graph breaks at line 5 on rank 1 (0/0: b.py:5: call print)"]);
    // A failure is the end of a rank only where nothing came after it.
    let log = |rank: i32| {
        let failed = "\"compilation_metrics\": {\"co_name\": \"f\", \"co_filename\": \"/a/b.py\", \"co_firstlineno\": 3, \"fail_type\": \"E\", \"fail_reason\": \"r\"}";
        let log = RankLog::new(rank).add("\"dynamo_start\": {\"stack\": []}", &id(0, 0), None);
        let log = if rank == 1 {
            log.add(failed, &id(0, 0), None)
        } else {
            log.add(
                &failed.replace(", \"fail_type\": \"E\", \"fail_reason\": \"r\"", ", \"graph_op_count\": 1"),
                &id(0, 0),
                None,
            )
        };
        let log = if rank == 1 { log } else { compile(log, (1, 0), ("g", "/a/b.py"), "sin") };
        compile(log, (if rank == 1 { 1 } else { 2 }, 0), ("h", "/a/b.py"), "cos")
    };
    let (_dir, trace) = written((0..3).map(log));
    assert_eq!(causes(&trace, "compiles"), ["-"]);
}

#[test]
fn counters_of_a_process_are_no_difference() {
    let (_dir, trace) = written((0..3).map(|rank| {
        let file = format!("<eval_with_key>.{}", 7 + rank);
        let log = compile(RankLog::new(rank), (0, 0), ("forward", &file), "sin");
        guards(log, (0, 0), &[&format!("DICT_CONTAINS: G['__optimizer_14018467465588{rank}_c{}/0'] is None", 4 + rank)])
    }));
    assert_eq!(rows(&trace), Vec::<String>::new());
}

#[test]
fn what_each_rank_has_of_its_own_is_no_difference() {
    // A guard on the number of the rank, where the graphs are the same; the same failure with other figures.
    let (_dir, trace) = job(4, |log| {
        let n = log.rank;
        guards(log, (0, 0), &[&format!("EQUALS_MATCH: L['self'].tp_rank == {n}"), "EQUALS_MATCH: L['n'] == 1"])
    });
    assert_eq!(rows(&trace), Vec::<String>::new());
    let (_dir, trace) = written((0..4).map(|rank| {
        let reason = format!("CUDA out of memory on rank {rank}. GPU {rank} has {}.5 GiB free, process 1234{rank}", 2 + rank);
        let metrics = format!(
            "\"compilation_metrics\": {{\"co_name\": \"f\", \"co_filename\": \"/a/b.py\", \"fail_type\": \"OutOfMemoryError\", \"fail_reason\": \"{reason}\"}}"
        );
        RankLog::new(rank).add("\"dynamo_start\": {\"stack\": []}", &id(0, 0), None).add(&metrics, &id(0, 0), None)
    }));
    assert_eq!(rows(&trace), Vec::<String>::new());
    // Where the graphs differ the number of the rank is what made them differ.
    let (_dir, trace) = written((0..2).map(|rank| {
        let log = compile(RankLog::new(rank), (0, 0), ("f", "/a/b.py"), if rank == 0 { "sin" } else { "cos" });
        guards(log, (0, 0), &[&format!("EQUALS_MATCH: G['rank'] == {rank}")])
    }));
    assert_eq!(rows(&trace), ["guards 0/0, guards", "graph 0/0, dynamo graph, statement 2"]);
}

#[test]
fn sizes_that_may_be_any_are_no_difference() {
    let (_dir, trace) = job(4, |log| {
        let n = 5 + log.rank;
        let symbol = format!(
            "\"create_symbol\": {{\"symbol\": \"s77\", \"val\": \"{n}\", \"vr\": \"[2, int_oo]\", \"source\": \"L['x'].size()[0]\"}}"
        );
        let tensor =
            format!("\"describe_tensor\": {{\"id\": 0, \"describer_id\": 0, \"size\": [{n}, 4], \"stride\": [4, 1]}}");
        let source = "\"describe_source\": {\"describer_id\": 0, \"id\": 0, \"source\": \"L['x']\"}";
        let reason = format!("0/0: tensor 'x' size mismatch at index 0. expected 3, actual {n}");
        log.add(&tensor, &id(0, 0), None).add(source, &id(0, 0), None).add(&symbol, &id(0, 0), None).artifact_of(
            &id(0, 0),
            "recompile_reasons",
            &reason,
        )
    });
    assert_eq!(rows(&trace), Vec::<String>::new());
    assert_eq!((verdict(&trace, "inputs").as_str(), verdict(&trace, "symbols").as_str()), ("same", "same"));
}

#[test]
fn a_setting_that_differs_everywhere_is_one_row() {
    let log = |rank: i32| {
        (0..5).fold(RankLog::new(rank), |log, frame| {
            let config = format!("{{\\\"a\\\": {}, \\\"dir\\\": \\\"/tmp/r{rank}\\\", \\\"cxx\\\": [null, \\\"/tmp/r{rank}/g++\\\"]}}", rank / 2);
            let metrics = format!(
                "\"compilation_metrics\": {{\"co_name\": \"f\", \"co_filename\": \"/a/b.py\", \"graph_op_count\": 1, \"inductor_config\": \"{config}\"}}"
            );
            log.add("\"dynamo_start\": {\"stack\": []}", &id(frame, 0), None).add(&metrics, &id(frame, 0), None)
        })
    };
    let (_dir, trace) = written((0..3).map(log));
    assert_eq!(
        differences(&trace, "configuration"),
        ["0/0, settings of inductor, and in 4 more compiles: [a = 0; a = 1] [[0; 1]; [2]]"]
    );
}

#[test]
fn the_order_of_a_set_is_no_difference() {
    let (_dir, trace) = job(3, |log| {
        let mut facts =
            ["\"guard_added_fast\": {\"expr\": \"s0 > 1\"}", "\"guard_added_fast\": {\"expr\": \"s1 > 1\"}"];
        let mut reasons = ["0/0: L['a'] == 1", "0/1: L['b'] == 2"];
        if log.rank == 1 {
            facts.reverse();
            reasons.reverse();
        }
        let log = facts.iter().fold(log, |log, fact| log.add(fact, &id(0, 0), None));
        log.artifact_of(&id(0, 0), "recompile_reasons", &serde_json::json!(reasons).to_string())
    });
    assert_eq!(rows(&trace), Vec::<String>::new());
}

#[test]
fn waits_make_no_rank_hang() {
    let (_dir, trace) = job(2, |log| match log.rank {
        0 => log.schedule(&["all_reduce_", "wait_tensor", "all_gather", "wait_tensor"]),
        _ => log.schedule(&["all_reduce_", "all_gather", "wait_tensor", "wait_tensor"]),
    });
    assert_eq!(verdict(&trace, "collectives"), "same");
    let (_dir, trace) = job(4, |log| match log.rank {
        2 => log.schedule(&["all_reduce_", "wait_tensor", "broadcast"]),
        3 => log.schedule(&["all_gather"]),
        _ => log.schedule(&["all_reduce_", "wait_tensor", "all_gather"]),
    });
    assert_eq!(
        differences(&trace, "collectives"),
        [
            "0/0, collective 1: [all_reduce_ (of 2 collectives); broadcast (of 2 collectives), collective 2; all_gather (of 1 collective)] [[0; 1]; [2]; [3]]"
        ]
    );
}

#[test]
fn ranks_with_nothing_in_common_take_their_time_and_no_more() {
    let log = |rank: i32| {
        (0..200).fold(RankLog::new(rank), |log, frame| {
            compile(
                log,
                (frame, 0),
                (&format!("f{rank}_{frame}"), &format!("/a/r{rank}.py")),
                &format!("op{rank}_{frame}"),
            )
        })
    };
    let begun = std::time::Instant::now();
    let (_dir, trace) = written((0..16).map(log));
    assert_eq!(verdict(&trace, "compiles"), "differs");
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}
