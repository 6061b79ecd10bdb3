//! Where ranks part first, and what made them part: compiles that are shifted, tails that are missing, causes.

use fasttl_core::analysis::table;
use fasttl_core::trace::Trace;

use crate::common::cells::{cell, column};
use crate::common::rank_logs::{RankLog, differences, job, verdict, written};

/// `aspect place: cause` of all that differs, in the order of the table.
fn causes(trace: &Trace) -> Vec<String> {
    let found = table(trace, "divergence").unwrap();
    let row = |row| {
        let of = |name| cell(column(&found, name), row);
        format!("{} {}: {}", of("aspect"), of("place"), of("cause"))
    };
    (0..found.batch.num_rows()).map(row).collect()
}

fn id(frame: u32, compile: u32) -> String {
    format!("\"frame_id\": {frame}, \"frame_compile_id\": {compile}, \"attempt\": 0")
}

/// A graph of one operation for a compile.
fn graph(log: RankLog, frame: u32, op: &str) -> RankLog {
    let text = format!("def forward(self, x):\n    y = x.{op}();  x = None\n    return (y,)\n");
    log.add("\"dynamo_output_graph\": {}", &id(frame, 0), Some(&text))
}

#[test]
fn a_compile_more_shifts_nothing() {
    // Rank 2 compiles `extra` first, so that all its ids are one higher.
    let functions = ["f", "g", "h", "f"];
    let log = |rank: i32| {
        let mut log = RankLog::new(rank);
        let mut frame = 0;
        if rank == 2 {
            log = graph(log.compile(0, "extra"), 0, "exp");
            frame = 1;
        }
        for name in functions {
            log = graph(log.compile(frame, name), frame, &format!("{name}_op"));
            frame += 1;
        }
        log
    };
    let (_dir, trace) = written((0..4).map(log));
    assert_eq!(causes(&trace).len(), 1, "{:?}", causes(&trace));
    assert_eq!(differences(&trace, "compiles"), ["0/0: [not compiled; compiled, extra at b.py:3] [[0; 1; 3]; [2]]"]);
    // Frames of one function, told apart by their graphs only.
    let log = |rank: i32| {
        let ops: &[&str] = if rank == 1 { &["exp", "sin", "cos", "tan"] } else { &["sin", "cos", "tan"] };
        (0..).zip(ops).fold(RankLog::new(rank), |log, (frame, op)| graph(log.compile(frame, "forward"), frame, op))
    };
    let (_dir, trace) = written((0..3).map(log));
    assert_eq!(differences(&trace, "compiles"), ["0/0: [not compiled; compiled, forward at b.py:3] [[0; 2]; [1]]"]);
    assert_eq!(causes(&trace).len(), 1, "{:?}", causes(&trace));
}

#[test]
fn another_order_is_one_difference() {
    let log = |rank: i32| {
        let names: &[&str] = if rank == 1 { &["f", "h", "g", "i"] } else { &["f", "g", "h", "i"] };
        (0..).zip(names).fold(RankLog::new(rank), |log, (frame, name)| log.compile(frame, name))
    };
    let (_dir, trace) = written((0..3).map(log));
    assert_eq!(verdict(&trace, "compiles"), "same");
    let found = differences(&trace, "compile order");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("[[0; 2]; [1]]"), "{found:?}");
    assert_eq!(causes(&trace).len(), 1, "{:?}", causes(&trace));
}

#[test]
fn a_tail_that_is_missing_is_one_difference() {
    let log = |rank: i32| {
        let count = if rank == 1 { 2 } else { 6 };
        (0..count).fold(RankLog::new(rank), |log, frame| log.compile(frame, "f"))
    };
    let (_dir, trace) = written((0..4).map(log));
    assert_eq!(
        differences(&trace, "compiles"),
        ["2/0, and 3 more after it: [compiled, f at b.py:3; not compiled] [[0; 2; 3]; [1]]"]
    );
    // A rank that goes on alone is one, too.
    let log = |rank: i32| {
        let count = if rank == 1 { 4 } else { 2 };
        (0..count).fold(RankLog::new(rank), |log, frame| log.compile(frame, "f"))
    };
    let (_dir, trace) = written((0..3).map(log));
    assert_eq!(
        differences(&trace, "compiles"),
        ["2/0, and 1 more after it: [not compiled; compiled, f at b.py:3] [[0; 2]; [1]]"]
    );
}

#[test]
fn a_recompile_has_the_guard_that_failed_as_its_cause() {
    let log = |rank: i32| {
        let log = RankLog::new(rank).compile(0, "f");
        if rank != 2 {
            return log;
        }
        let text = "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 6";
        log.artifact_of(&id(0, 1), "recompile_reasons", text).add("\"dynamo_start\": {\"stack\": []}", &id(0, 1), None).add(
            "\"compilation_metrics\": {\"co_name\": \"f\", \"co_filename\": \"/a/b.py\", \"co_firstlineno\": 3, \"graph_op_count\": 1}",
            &id(0, 1),
            None,
        )
    };
    let (_dir, trace) = written((0..4).map(log));
    assert_eq!(
        causes(&trace),
        ["compiles 0/1: rank 2 recompiled, since the size of x at index 0 was 6 where 8 was expected"]
    );
}

#[test]
fn the_earliest_of_several_differences_is_the_cause() {
    let (_dir, trace) = job(3, |log| {
        let size = if log.rank == 1 { 5 } else { 8 };
        let tensor = format!(
            "\"describe_tensor\": {{\"id\": 0, \"describer_id\": 0, \"size\": [{size}], \"stride\": [1], \"dtype\": \"torch.float32\"}}"
        );
        let source = "\"describe_source\": {\"describer_id\": 0, \"id\": 0, \"source\": \"L['x']\"}";
        let op = if log.rank == 1 { "cos" } else { "sin" };
        let log = log.add(&tensor, &id(0, 0), None).add(source, &id(0, 0), None);
        let log = log.add(
            "\"dynamo_cpp_guards_str\": {}",
            &id(0, 0),
            Some(&format!(
                "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['x'], accessed_by=X\n| | +- TENSOR_MATCH: check_tensor(L['x'], size=[{size}])\n"
            )),
        );
        graph(log, 0, op)
    });
    let input = "the inputs differ: L['x']: [8] torch.float32, stride [1] on ranks 0, 2; L['x']: [5] torch.float32, stride [1] on rank 1";
    assert_eq!(
        causes(&trace),
        [
            "inputs 0/0, inputs: -".to_owned(),
            format!("guards 0/0, guards: {input}"),
            format!("graph 0/0, dynamo graph, statement 2: {input}"),
        ]
    );
    assert_eq!(
        differences(&trace, "graph"),
        [
            "0/0, dynamo graph, statement 2: [y = x.sin() (a graph of 1 node); y = x.cos() (a graph of 1 node)] [[0; 2]; [1]]"
        ]
    );
}

#[test]
fn devices_of_ranks_are_no_difference() {
    let (_dir, trace) = job(4, |log| {
        let n = log.rank;
        let tensor = format!(
            "\"describe_tensor\": {{\"id\": 0, \"describer_id\": 0, \"size\": [8], \"device\": \"device(type='cuda', index={n})\"}}"
        );
        let source = "\"describe_source\": {\"describer_id\": 0, \"id\": 0, \"source\": \"L['x']\"}";
        let guards = format!(
            "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['x'], accessed_by=X\n| | +- TENSOR_MATCH: check_tensor(L['x'], device={n}, size=[8])\n| | +- ID_MATCH: ___check_obj_id(L['x'], 14012345678901{n})\n"
        );
        let graph = format!(
            "def forward(self, x: \"f32[8]cuda:{n}\"):\n    y = torch.zeros(8, device = device(type='cuda', index={n}))\n    return (y,)\n"
        );
        log.add(&tensor, &id(0, 0), None)
            .add(source, &id(0, 0), None)
            .add("\"dynamo_cpp_guards_str\": {}", &id(0, 0), Some(&guards))
            .add("\"dynamo_output_graph\": {}", &id(0, 0), Some(&graph))
    });
    assert_eq!(causes(&trace), Vec::<String>::new());
    for aspect in ["inputs", "guards", "graph"] {
        assert_eq!(verdict(&trace, aspect), "same", "{aspect}");
    }
}
