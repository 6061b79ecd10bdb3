//! Whether the ranks of a job agree: right where they do, right where they do not, and unknown where it cannot be told.
//!
//! Each test is about a kind of wrong verdict that the standard reader gives (B53 to B62 in the list of its faults), over
//! the input that showed it and others of the same kind.

use std::fs;

use fasttl_core::analysis::table;
use fasttl_core::report::ReportOptions;
use fasttl_core::trace::Trace;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::logs::{data, folder, loaded, reported};
use crate::common::rank_logs::{ID, RankLog, differences, job, said, verdict, written};

#[test]
fn b53_every_graph_of_a_compile_counts() {
    // Only one file of a compile's folder is read: what differs in another one is missed.
    let trace = loaded(&data("probes/collective_second_graph_differs"));
    assert_eq!(verdict(&trace, "collectives"), "differs");
    assert_eq!(differences(&trace, "collectives").len(), 1);
    // The second of two schedules, whichever order they come in.
    let (_dir, trace) = job(3, |log| match log.rank {
        2 => log.schedule(&["all_reduce_"]).schedule(&["all_reduce_", "wait_tensor"]),
        _ => log.schedule(&["all_reduce_"]).schedule(&["all_reduce_", "all_gather"]),
    });
    let found = differences(&trace, "collectives");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("0/0, part 2, collective 2: [all_gather"), "{found:?}");
    assert!(found[0].ends_with("[[0; 1]; [2]]"), "{found:?}");
    // Runtimes and tensors of the second graph.
    let (_dir, trace) = job(2, |log| log.clone().runtime("5", "[1]").runtime("7", &format!("[{}]", log.rank)));
    assert!(
        differences(&trace, "tensors")[0].starts_with("0/0, part 2, operation 1: [op0 "),
        "{:?}",
        differences(&trace, "tensors")
    );
    assert_eq!(verdict(&trace, "runtimes"), "same");
    // A graph that one rank has and the other has not.
    let (_dir, trace) =
        job(2, |log| if log.rank == 0 { log.schedule(&["a"]).schedule(&["b"]) } else { log.schedule(&["a"]) });
    assert_eq!(verdict(&trace, "collectives"), "differs");
}

#[test]
fn b54_the_order_of_a_folder_does_not_matter() {
    // Files and graphs are joined as the file system lists them.
    let both = |reverse: bool| {
        let dir = folder(&[]);
        let mut ranks = vec![0, 1, 2];
        if reverse {
            ranks.reverse();
        }
        for rank in ranks {
            let other = if rank == 1 { "all_gather" } else { "all_reduce_" };
            let log = RankLog::new(rank).compile(0, "f").schedule(&[other]).compile(1, "g");
            let name = if reverse { format!("{}_rank_{rank}.log", 9 - rank) } else { format!("rank_{rank}.log") };
            fs::write(dir.path().join(name), log.bytes).unwrap();
        }
        let trace = loaded(dir.path());
        (said(&trace, "collectives"), differences(&trace, "collectives"))
    };
    assert_eq!(both(false), both(true));
    assert!(
        both(true).0.contains("all_reduce_ (of 1 collective) on ranks 0, 2; all_gather (of 1 collective) on rank 1")
    );
    // Ids that come in another order are the same ids; runs of graphs in another order are not the same.
    let swapped = |rank: i32| {
        let log = RankLog::new(rank);
        if rank == 0 { log.compile(0, "f").compile(1, "g") } else { log.compile(1, "g").compile(0, "f") }
    };
    let (_dir, trace) = written((0..2).map(swapped));
    assert_eq!(verdict(&trace, "compiles"), "same");
    let ran =
        |rank| swapped(rank).order(if rank == 0 { &[Some("0/0"), Some("1/0")] } else { &[Some("1/0"), Some("0/0")] });
    let (_dir, trace) = written((0..2).map(ran));
    assert_eq!(differences(&trace, "execution order").len(), 2);
}

#[test]
fn b55_estimates_are_no_tensors() {
    // A difference in one aspect is reported as one in another.
    let trace = loaded(&data("probes/runtime_only_differs"));
    assert_eq!(verdict(&trace, "tensors"), "same");
    // 100 ns and 101 ns: estimates come from measurements, and are not the same to the digit.
    assert_eq!(verdict(&trace, "runtimes"), "same");
    let (_dir, trace) =
        job(3, |log| log.clone().runtime(["100", "101", "200"][usize::try_from(log.rank).unwrap()], "[4]"));
    assert_eq!(verdict(&trace, "tensors"), "same");
    let found = said(&trace, "runtimes");
    assert!(found.starts_with("differs: 0/0: 100 ns on ranks 0, 1, 200 ns on rank 2"), "{found}");
    let (_dir, trace) = job(2, |log| log.clone().runtime("12.5", &format!("[{}]", 4 + log.rank)));
    assert_eq!((verdict(&trace, "runtimes").as_str(), verdict(&trace, "tensors").as_str()), ("same", "differs"));
    // Nothing but the type of an output differs.
    let (_dir, trace) = job(2, |log| {
        let ops = "{\"ops\": [{\"name\": \"a\", \"estimated_runtime_ns\": 1, \"outputs\": [{\"dtype\": \"DT\"}]}]}";
        let dtype = if log.rank == 0 { "float32" } else { "bfloat16" };
        log.artifact("inductor_runtime_and_tensor_meta", &ops.replace("DT", dtype))
    });
    assert!(differences(&trace, "tensors")[0].contains("bfloat16"));
}

#[test]
fn b56_only_look_ups_count_as_cache() {
    // Any artifact with the right letters in its name is taken for a look-up.
    let trace = loaded(&data("probes/cache_unknown_name_hit"));
    assert_eq!(verdict(&trace, "cache"), "unknown");
    for name in ["kv_cache_hit", "cache_miss_report", "fx_graph_cache_hit_rate", "my_fx_graph_cache_miss"] {
        let (_dir, trace) = job(2, |log| if log.rank == 0 { log } else { log.artifact(name, "{}") });
        assert_eq!(verdict(&trace, "cache"), "unknown", "{name}");
        assert_eq!(table(&trace, "cache").unwrap().batch.num_rows(), 0, "{name}");
    }
}

#[test]
fn b57_caches_are_told_apart() {
    // Answers of different caches look alike.
    for (a, b) in [
        ("fx_graph_cache_hit", "aotautograd_cache_hit"),
        ("fx_graph_cache_miss", "fx_graph_cache_bypass"),
        ("aotautograd_cache_miss", "fx_graph_cache_miss"),
    ] {
        let (_dir, trace) = job(3, |log| log.clone().artifact(if log.rank == 1 { b } else { a }, "{\"key\": \"k\"}"));
        assert_eq!(verdict(&trace, "cache"), "differs", "{a} {b}");
        assert!(differences(&trace, "cache")[0].ends_with("[[0; 2]; [1]]"));
    }
    let (_dir, trace) = job(2, |log| log.artifact("fx_graph_cache_hit", "{}"));
    assert_eq!(verdict(&trace, "cache"), "same");
}

#[test]
fn b58_graphs_and_guards_are_compared() {
    // Ranks that compiled other code under the same ids are called alike.
    let trace = loaded(&data("probes/graph_code_differs"));
    assert!(said(&trace, "graph").contains("aot forward graph"), "{}", said(&trace, "graph"));
    let (_dir, trace) = job(3, |log| {
        let op = if log.rank == 2 { "cos" } else { "sin" };
        log.graph(&format!("        y = x.{op}();  x = None\n        return (y,)\n"))
    });
    assert!(differences(&trace, "graph")[0].ends_with("[[0; 1]; [2]]"), "{:?}", differences(&trace, "graph"));
    // Names and places of a graph do not count, functions do.
    let (_dir, trace) = job(2, |log| {
        let name = if log.rank == 0 { "y" } else { "other" };
        log.graph(&format!("        # File: /rank{name}/a.py:3\n        {name} = x.sin()\n        return ({name},)\n"))
    });
    assert_eq!(verdict(&trace, "graph"), "same");
    let (_dir, trace) = written((0..2).map(|rank| RankLog::new(rank).compile(0, if rank == 0 { "f" } else { "g" })));
    assert!(said(&trace, "code").contains("f at b.py:3 on rank 0; g at b.py:3 on rank 1"), "{}", said(&trace, "code"));
    // Reasons for recompiles; addresses in them do not count.
    let again = "\"frame_id\": 0, \"frame_compile_id\": 1, \"attempt\": 0";
    for (text, expected) in [("L['x'] size RANK", "differs"), ("___check_obj_id(L['f'], 14012345678RANK)", "same")] {
        let (_dir, trace) = job(2, |log| {
            let reason = text.replace("RANK", &log.rank.to_string());
            log.artifact_of(again, "recompile_reasons", &reason)
        });
        assert_eq!(verdict(&trace, "recompile reasons"), expected, "{text}");
    }
}

#[test]
fn b59_b60_what_is_missing_is_named_and_judged_by_nobody() {
    // Gaps, empty, unreadable and unranked logs are passed over without a word, or counted as divergence.
    for (probe, left_out) in [("one_empty_rank", "rank 2"), ("missing_ranks", "ranks 2, 4–6")] {
        let trace = loaded(&data("probes").join(probe));
        let ids = said(&trace, "compiles");
        assert!(
            ids.starts_with("unknown: ") && ids.ends_with(&format!("Of {left_out} nothing is known.")),
            "{probe}: {ids}"
        );
    }
    let trace = loaded(&data("probes/compile_ids_differ"));
    assert_eq!(differences(&trace, "compiles"), ["1/0: [not compiled; compiled, fn at foo.py:3] [[0]; [1]]"]);
    // A rank whose log cannot be unpacked, and one whose log is cut: the first is left out, what the second lacks may
    // have come later.
    let (dir, _) = job(2, |log| log);
    fs::write(dir.path().join("dedicated_log_torch_trace_rank_2_aaaaaaaa.log.gz"), b"\x1f\x8b\x08\x00broken").unwrap();
    let trace = loaded(dir.path());
    assert!(said(&trace, "compiles").ends_with("Of rank 2 nothing is known."), "{}", said(&trace, "compiles"));
    let (dir, _) = job(2, |log| log.compile(1, "g"));
    let mut cut = RankLog::new(2).compile(0, "f").bytes;
    cut.extend_from_slice(b"V1129 23:59:59.000001 7 torch/x.py:7] {\"dynamo_sta");
    fs::write(dir.path().join("dedicated_log_torch_trace_rank_2_aaaaaaaa.log"), cut).unwrap();
    let trace = loaded(dir.path());
    assert!(said(&trace, "compiles").starts_with("unknown: "), "{}", said(&trace, "compiles"));
    assert_eq!(differences(&trace, "compiles"), Vec::<String>::new());
}

#[test]
fn b61_records_say_the_rank_unless_names_tell_files_apart() {
    // The name of a file is believed before its records.
    let rename = |names: &[(&str, i32)]| {
        let dir = folder(&[]);
        for (name, rank) in names {
            fs::write(dir.path().join(name), RankLog::new(*rank).compile(0, "f").bytes).unwrap();
        }
        let trace = loaded(dir.path());
        trace.logs.iter().map(|log| log.rank.unwrap()).collect::<Vec<_>>()
    };
    let trace = loaded(&data("probes/rank_name_vs_content"));
    assert!(trace.logs.iter().any(|log| log.rank == Some(5)) && trace.logs.iter().all(|log| log.rank != Some(0)));
    assert_eq!(
        rename(&[("dedicated_log_torch_trace_rank_0.log", 7), ("dedicated_log_torch_trace_rank_1.log", 1)]),
        [1, 7]
    );
    assert_eq!(rename(&[("copy.log", 3), ("dedicated_log_torch_trace_rank_9_abcdefgh.log", 2)]), [2, 3]);
    // Three files that hold the same rank were told apart by whoever named them.
    assert_eq!(
        rename(&[
            ("dedicated_log_torch_trace_rank_0.log", 0),
            ("dedicated_log_torch_trace_rank_1.log", 0),
            ("dedicated_log_torch_trace_rank_2.log", 0)
        ]),
        [0, 1, 2]
    );
}

#[test]
fn b62_nothing_to_compare_is_no_agreement() {
    // Where there is no data it is said that all ranks agree.
    for (aspect, needs) in [
        ("tensors", "LOG_TLPARSE=1"),
        ("runtimes", "LOG_TLPARSE=1"),
        ("execution order", "record_and_log"),
        ("cache", "look-up"),
    ] {
        for probe in ["mixed_dir", "missing_ranks", "rank_order_10_2"] {
            let found = said(&loaded(&data("probes").join(probe)), aspect);
            assert!(found.starts_with("unknown: ") && found.contains(needs), "{probe}: {found}");
        }
        // One rank of two has the data.
        let (_dir, trace) = job(2, |log| match (log.rank, aspect) {
            (0, _) => log,
            (_, "cache") => log.artifact("fx_graph_cache_hit", "{}"),
            (_, "execution order") => log.order(&[Some("0/0")]),
            (_, _) => log.runtime("1", "[1]"),
        });
        assert_eq!(verdict(&trace, aspect), "unknown", "{aspect}");
    }
    // Logs without a rank, and a single rank.
    for probe in ["unranked_only", "rank_only_inside"] {
        let trace = loaded(&data("probes").join(probe));
        let ranks: Vec<_> = trace.logs.iter().filter_map(|log| log.rank).collect();
        let expected = if ranks.len() > 1 { "same" } else { "unknown" };
        assert_eq!(verdict(&trace, "compiles"), expected, "{probe}");
    }
}

#[test]
fn what_cannot_be_read_stops_no_other_rank() {
    // NaN, an object where a list belongs, broken JSON: one odd value hides the results of all ranks.
    let bad = loaded(&data("probes/collective_bad_json"));
    assert!(said(&bad, "collectives").starts_with("unknown: "), "{}", said(&bad, "collectives"));
    for (name, aspect, payload) in [
        ("inductor_collective_schedule", "collectives", "{\"a\": 1}"),
        ("inductor_collective_schedule", "collectives", "[1, 2]"),
        ("inductor_runtime_and_tensor_meta", "tensors", "[]"),
        ("inductor_runtime_and_tensor_meta", "runtimes", "{\"ops\": 7}"),
        ("graph_execution", "execution order", "{\"graph_execution_order\": \"0/0\"}"),
    ] {
        let (_dir, trace) = job(3, |log| match (log.rank, name) {
            (2, _) => log.artifact(name, payload),
            (_, "inductor_collective_schedule") => log.schedule(&["all_reduce_"]),
            (_, "graph_execution") => log.order(&[Some("0/0")]),
            (_, _) => log.runtime("5", "[1]"),
        });
        let found = said(&trace, aspect);
        assert!(found.starts_with("unknown: ") && found.contains("rank 2: "), "{name} {payload}: {found}");
        let (_temp, report) = reported(&trace, &ReportOptions::default());
        assert!(report.index.is_file());
    }
    // NaN in an estimate: the tensors are compared, the runtime of that rank is not known.
    let (_dir, trace) = job(3, |log| log.clone().runtime(if log.rank == 1 { "NaN" } else { "4.5" }, "[1]"));
    assert_eq!((verdict(&trace, "tensors").as_str(), verdict(&trace, "runtimes").as_str()), ("same", "unknown"));
    let (_temp, report) = reported(&trace, &ReportOptions::default());
    let written = fs::read(report.out.join("runtime_estimations.json")).unwrap();
    let estimations: Vec<Value> = serde_json::from_slice(&written).unwrap();
    let ns: Vec<&Value> = estimations.iter().map(|graph| &graph["ops"][0]["estimated_runtime_ns"]).collect();
    assert_eq!(ns, [&json!(4.5), &Value::Null, &json!(4.5)]);
}

#[test]
fn collectives_come_from_code_where_a_cache_answered() {
    let reduce = "torch.ops._c10d_functional.all_reduce_.default(buf0, 'sum', '0')";
    let wait = "torch.ops._c10d_functional.wait_tensor.default(buf0)";
    let (_dir, trace) = job(2, |log| match log.rank {
        0 => log.code(&[reduce, wait]).schedule(&["all_reduce_", "wait_tensor"]),
        _ => log.code(&[reduce, wait]).artifact("fx_graph_cache_hit", "{}"),
    });
    assert_eq!(verdict(&trace, "collectives"), "same");
    // The rank without a schedule cannot be judged against its code.
    assert!(said(&trace, "collectives and code").starts_with("unknown: "), "{}", said(&trace, "collectives and code"));
    for (lines, expected) in [
        (&[reduce][..], "1 collective that nothing waits for on rank 1"),
        (&[reduce, wait, reduce, wait], "schedule and code differ by 1 collective on rank 1"),
    ] {
        let (_dir, trace) = job(2, |log| {
            let lines = if log.rank == 1 { lines } else { &[reduce, wait] };
            log.code(lines).schedule(&["all_reduce_", "wait_tensor"])
        });
        let found = said(&trace, "collectives and code");
        assert!(found.starts_with("differs: ") && found.contains(expected), "{found}");
        let (_temp, report) = reported(&trace, &ReportOptions::default());
        let parity = |rank: i32| -> Value {
            let file = report.out.join(format!("rank_{rank}/collectives_parity.json"));
            serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
        };
        assert_eq!(parity(0)["graphs"], json!([]));
        assert_eq!(parity(1)["graphs"][0]["compile_id"], "[0/0]");
    }
}

#[test]
fn runs_are_compared_by_what_ran() {
    let (_dir, trace) = written((0..2).map(|rank| {
        let names = if rank == 0 { ["f", "g"] } else { ["g", "f"] };
        RankLog::new(rank).compile(0, names[0]).compile(1, names[1]).order(&[Some("0/0"), Some("1/0")])
    }));
    assert_eq!(differences(&trace, "execution order").len(), 2);
    // Graphs without an id are not known, and shift nothing.
    let (_dir, trace) = job(2, |log| {
        let first = (log.rank == 0).then_some("0/0");
        log.compile(1, "g").order(&[first, Some("1/0")])
    });
    assert!(said(&trace, "execution order").starts_with("unknown: "), "{}", said(&trace, "execution order"));
    assert_eq!(differences(&trace, "execution order"), Vec::<String>::new());
}

#[test]
fn an_earlier_start_is_not_compared_with_a_later_one() {
    let trace = loaded(&data("dist_restart"));
    assert_eq!(verdict(&trace, "compiles"), "same");
    assert!(said(&trace, "compiles").contains("the same 2 compiles"));
}

#[test]
fn forward_is_held_against_forward() {
    let span = |log: RankLog, ph: &str, more: &str| {
        let event = format!(
            "{{\n\"name\": \"inductor_compile\",\n\"ph\": \"{ph}\",\n\"args\": {{\"compile_id\": \"0/0\"{more}}}\n}}"
        );
        log.add("\"chromium_event\": {}", ID, Some(&event))
    };
    let compiled = |log: RankLog, back: bool, shape: Option<&str>| {
        let log = span(log, "B", "").code(&[]);
        let log = match shape {
            Some(shape) => log.runtime("1", shape),
            None => log,
        };
        span(log, "E", &format!(", \"is_backward\": {back}"))
    };
    // Rank 1 logged nothing of its forward: its backward must not stand in for it.
    let (_dir, trace) = job(2, |log| {
        let forward = if log.rank == 0 { Some("[4]") } else { None };
        compiled(compiled(log, false, forward), true, Some("[8]"))
    });
    assert_eq!(verdict(&trace, "tensors"), "unknown", "{}", said(&trace, "tensors"));
    // Rank 1 compiled its backward first.
    let (_dir, trace) = job(2, |log| match log.rank {
        0 => compiled(compiled(log, false, Some("[4]")), true, Some("[8]")),
        _ => compiled(compiled(log, true, Some("[8]")), false, Some("[4]")),
    });
    assert_eq!(verdict(&trace, "tensors"), "same", "{:?}", differences(&trace, "tensors"));
}

#[test]
fn earlier_tries_do_not_count() {
    let again = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 1";
    let graph = "def forward(self, x):\n    y = torch.ops._c10d_functional.all_reduce(x, 'sum', '0')\n    return (y,)";
    let (_dir, trace) = job(2, |log| match log.rank {
        0 => log.add("\"aot_inference_graph\": {}", ID, Some(graph)),
        _ => log.add("\"aot_inference_graph\": {}", ID, Some(graph)).add(
            "\"aot_inference_graph\": {}",
            again,
            Some(graph),
        ),
    });
    for aspect in ["collectives", "graph"] {
        assert_eq!(verdict(&trace, aspect), "same", "{aspect}: {:?}", differences(&trace, aspect));
    }
}

#[test]
fn what_was_lost_is_no_agreement() {
    let broken = |rank: i32| -> (TempDir, Trace) {
        let (dir, _) = job(2, |log| log.schedule(&["all_reduce_"]).compile(1, "g"));
        let mut bytes = RankLog::new(rank).compile(0, "f").bytes;
        bytes.extend_from_slice(b"V1129 23:59:59.000001 7 torch/x.py:7] {\"dynamo_sta");
        fs::write(dir.path().join(format!("dedicated_log_torch_trace_rank_{rank}_aaaaaaaa.log")), bytes).unwrap();
        let trace = loaded(dir.path());
        (dir, trace)
    };
    let (_dir, trace) = broken(2);
    for aspect in ["compiles", "code", "recompile reasons", "collectives"] {
        assert_eq!(verdict(&trace, aspect), "unknown", "{aspect}: {}", said(&trace, aspect));
    }
    // A graph that is damaged on all ranks.
    let (dir, _) = job(2, |log| log.graph("        return (x,)\n"));
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap().replace("return (x,)", "return (x, x)");
        fs::write(&path, text).unwrap();
    }
    assert_eq!(verdict(&loaded(dir.path()), "graph"), "unknown");
    // Reasons that are cut are no reasons.
    let again = "\"frame_id\": 0, \"frame_compile_id\": 1, \"attempt\": 0";
    let (_dir, trace) = job(2, |log| match log.rank {
        0 => log.artifact_of(again, "recompile_reasons", "why"),
        _ => log.add("\"dynamo_start\": {\"stack\": []}", again, None),
    });
    assert!(said(&trace, "recompile reasons").starts_with("unknown: "), "{}", said(&trace, "recompile reasons"));
}

#[test]
fn collectives_outside_of_frames_are_compared() {
    for ids in ["\"stack\": []", "\"compiled_autograd_id\": 0, \"attempt\": 0"] {
        let (_dir, trace) = job(2, |log| {
            let op = if log.rank == 0 { "all_reduce_" } else { "all_gather" };
            log.artifact_of(ids, "inductor_collective_schedule", &json!([op]).to_string())
        });
        assert_eq!(verdict(&trace, "collectives"), "differs", "{ids}");
    }
    // Names with line feeds, and empty ones, are names.
    for (a, b) in [(json!(["a\nb"]), json!(["a", "b"])), (json!(["a"]), json!(["a", ""]))] {
        let (_dir, trace) = job(2, |log| {
            let ops = if log.rank == 0 { &a } else { &b };
            log.artifact("inductor_collective_schedule", &ops.to_string())
        });
        assert_eq!(verdict(&trace, "collectives"), "differs", "{a} {b}");
    }
    let (_dir, trace) = job(2, |log| log.artifact("inductor_collective_schedule", "[null]"));
    assert_eq!(verdict(&trace, "collectives"), "unknown");
}

#[test]
fn a_schedule_is_held_against_its_code_by_name_and_order() {
    let call = |op: &str, n: u32| format!("buf{n} = torch.ops._c10d_functional.{op}.default(a, '0')");
    let wait = |n: u32| format!("torch.ops._c10d_functional.wait_tensor.default(buf{n})");
    let lines = [call("all_gather", 1), call("all_reduce", 2), wait(1), wait(2)];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for (schedule, expected) in [
        (&["all_gather", "all_reduce"][..], "same: "),
        (
            &["all_reduce", "all_gather"],
            "differs: 0/0: schedule and code have the same collectives in another order on ranks 0, 1.",
        ),
        (&["all_gather", "reduce_scatter"], "differs: 0/0: schedule and code differ by 2 collectives on ranks 0, 1."),
    ] {
        let (_dir, trace) = job(2, |log| log.code(&lines).schedule(schedule));
        assert!(said(&trace, "collectives and code").starts_with(expected), "{}", said(&trace, "collectives and code"));
    }
    // Logs without a rank are named.
    let dir = folder(&[]);
    let log = RankLog::new(0).compile(0, "f").code(&lines).schedule(&["all_gather"]).bytes;
    let text = String::from_utf8(log).unwrap().replace("\"rank\": 0, ", "");
    fs::write(dir.path().join("one.log"), &text).unwrap();
    fs::write(dir.path().join("two.log"), &text).unwrap();
    let found = said(&loaded(dir.path()), "collectives and code");
    assert!(found.starts_with("differs: one.log, 0/0: ") && !found.contains("rank"), "{found}");
}

#[test]
fn an_id_is_what_it_was_when_it_ran() {
    // Ids start again with a reset: what came after a recording did not run in it.
    let reset = |log: RankLog, name: &str| log.compile(0, name);
    let (_dir, trace) = written((0..2).map(|rank| {
        let log = RankLog::new(rank).compile(0, "a").order(&[Some("0/0")]);
        reset(log, if rank == 0 { "x" } else { "y" })
    }));
    assert_eq!(verdict(&trace, "execution order"), "same", "{:?}", differences(&trace, "execution order"));
    let (_dir, trace) = written((0..2).map(|rank| {
        let log = RankLog::new(rank).compile(0, if rank == 0 { "a" } else { "b" }).order(&[Some("0/0")]);
        reset(log, "z")
    }));
    assert_eq!(verdict(&trace, "execution order"), "differs");
    let (_dir, trace) =
        written((0..2).map(|rank| reset(RankLog::new(rank).compile(0, "a"), "b").order(&[Some("0/0")])));
    assert_eq!(verdict(&trace, "execution order"), "unknown");
    let (_dir, trace) = job(2, |log| log.order(&[]));
    assert_eq!(verdict(&trace, "execution order"), "unknown");
}

#[test]
fn a_child_of_a_rank_is_no_start_of_it() {
    let at = |bytes: Vec<u8>, time: &str| String::from_utf8(bytes).unwrap().replace("23:59:59.000001", time);
    let (dir, _) = job(1, |log| log);
    let main = RankLog::new(1).compile(0, "f");
    let later = at(RankLog::new(1).compile(1, "late").bytes, "23:59:59.900000");
    let child = at(RankLog::new(1).compile(0, "child").bytes, "23:59:59.500000").replace(" 4242 ", " 4343 ");
    let write = |name: &str, text: String| fs::write(dir.path().join(name), text).unwrap();
    write("dedicated_log_torch_trace_rank_1_aaaaaaaa.log", String::from_utf8(main.bytes).unwrap() + &later);
    write("dedicated_log_torch_trace_rank_1_bbbbbbbb.log", child);
    let trace = loaded(dir.path());
    assert_eq!(verdict(&trace, "code"), "same", "{:?}", differences(&trace, "code"));
    assert_eq!(differences(&trace, "compiles"), ["1/0: [not compiled; compiled, late at b.py:3] [[0]; [1]]"]);
}

#[test]
fn a_graph_without_code_is_held_against_no_schedule() {
    // PyTorch logs the schedule behind the graphs: a compile that failed or was cut has its graph only.
    let reduce = "torch.ops._c10d_functional.all_reduce(x, 'sum', '0')";
    let body = format!("        y = {reduce};  x = None\n        return (y,)\n");
    let start = |rank: i32| RankLog::new(rank).add("\"dynamo_start\": {\"stack\": []}", ID, None).graph(&body);
    let metrics = |fail: &str| {
        format!(
            "\"compilation_metrics\": {{\"co_name\": \"f\", \"co_filename\": \"/a/b.py\", \"co_firstlineno\": 3, \"fail_type\": {fail}, \"fail_reason\": {fail}}}"
        )
    };
    let whole = |rank: i32| start(rank).schedule(&["all_reduce_"]).add(&metrics("null"), ID, None);
    let failed = start(2).add(&metrics("\"E\""), ID, None);
    let unfinished = start(2);
    for odd in [failed, unfinished] {
        let (_dir, trace) = written([whole(0), whole(1), odd].into_iter());
        assert_eq!(differences(&trace, "collectives"), Vec::<String>::new());
        assert_eq!(verdict(&trace, "collectives"), "unknown", "{}", said(&trace, "collectives"));
    }
    // Where no rank has code, the graphs are what there is.
    let without = |rank: i32| start(rank).add(&metrics("null"), ID, None);
    let (_dir, trace) = written([without(0), without(1), without(2).graph("        return (x,)\n")].into_iter());
    assert_eq!(verdict(&trace, "collectives"), "same", "{}", said(&trace, "collectives"));
}
