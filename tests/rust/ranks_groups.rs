//! Process groups of collectives: ranks that wait for each other in two groups, and ranks of different groups.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::common::rank_logs::{RankLog, differences, job, verdict, written};

/// A graph with an `all_reduce` on each group.
fn reduces(groups: &[&str]) -> String {
    let mut body = String::new();
    for (nth, group) in groups.iter().enumerate() {
        writeln!(body, "        y{nth} = torch.ops._c10d_functional.all_reduce(x, 'sum', '{group}')").unwrap();
    }
    body + "        return (x,)\n"
}

#[test]
fn ranks_that_wait_in_two_groups_are_told() {
    let (_dir, trace) = job(4, |log| {
        let groups: &[&str] = if log.rank == 1 { &["0", "2", "1"] } else { &["0", "1", "2"] };
        log.graph(&reduces(groups))
    });
    assert_eq!(
        differences(&trace, "collectives"),
        ["0/0, process group of collective 2: [group 1; group 2] [[0; 2; 3]; [1]]"]
    );
    assert_eq!(verdict(&trace, "graph"), "same");
}

#[test]
fn ranks_of_different_groups_are_no_difference() {
    // Two tensor parallel groups, and two data parallel ones across them.
    let groups = |rank: i32| [if rank < 2 { "1" } else { "2" }, if rank % 2 == 0 { "3" } else { "4" }];
    let (_dir, trace) = job(4, |log| {
        let groups = groups(log.rank);
        log.graph(&reduces(&groups))
    });
    for aspect in ["collectives", "graph"] {
        assert_eq!(verdict(&trace, aspect), "same", "{:?}", differences(&trace, aspect));
    }
    // One of them does in the other order what it does: rank 0 and rank 3 wait for it, and it for rank 0.
    let (_dir, trace) = job(4, |log| {
        let mut groups = groups(log.rank);
        if log.rank == 2 {
            groups.reverse();
        }
        log.graph(&reduces(&groups))
    });
    assert_eq!(
        differences(&trace, "collectives"),
        ["0/0, process group of collective 1: [group 1; group 3; group 2] [[0; 1]; [2]; [3]]"]
    );
    // That it is in both groups may be known from another compile.
    let (_dir, trace) = written((0..2).map(|rank| {
        let log = RankLog::new(rank).compile(0, "f").graph(&reduces(&[if rank == 0 { "1" } else { "2" }]));
        let id = "\"frame_id\": 1, \"frame_compile_id\": 0, \"attempt\": 0";
        let graph = |group| format!("def forward(self, x):\n{}", reduces(&[group]));
        log.compile(1, "g").add("\"dynamo_output_graph\": {}", id, Some(&graph("1")))
    }));
    assert_eq!(
        differences(&trace, "collectives"),
        ["0/0, process group of collective 1: [group 1; group 2] [[0]; [1]]"]
    );
}

#[test]
fn collectives_that_differ_are_told_once() {
    let (_dir, trace) = job(3, |log| {
        let swapped = log.rank == 2;
        let (ops, groups) = if swapped { (["b", "a"], ["2", "1"]) } else { (["a", "b"], ["1", "2"]) };
        log.graph(&reduces(&groups)).schedule(&ops)
    });
    let found = differences(&trace, "collectives");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("0/0, collective 1: "), "{found:?}");
}

#[test]
fn numbers_of_kernels_are_no_difference() {
    let (_dir, trace) = job(3, |log| {
        let kernel = |nth| format!("triton_kernel_wrapper_mutation(kernel_idx = {nth}, constant_args_idx = {nth})");
        // Rank 1 had called a kernel before.
        let (a, b) = if log.rank == 1 { (1, 2) } else { (0, 1) };
        log.graph(&format!("        y = {}\n        z = {}\n        return (x,)\n", kernel(a), kernel(b)))
    });
    assert_eq!(verdict(&trace, "graph"), "same", "{:?}", differences(&trace, "graph"));
}

#[test]
fn groups_of_many_ranks_take_no_time() {
    let ranks = 64;
    let begun = Instant::now();
    let (_dir, trace) = job(ranks, |log| {
        let own: Vec<String> =
            (0..500).map(|n| format!("{}", if n % 2 == 0 { log.rank / 8 } else { 8 + log.rank % 8 })).collect();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        log.graph(&reduces(&own))
    });
    assert_eq!(verdict(&trace, "collectives"), "same");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
