//! What differs between two sides: all that was made to differ is told, and nothing that differs between any two
//! processes.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use fasttl_core::analysis::diff::{Aspect, Change, Diff, DiffOptions, Selector, Side, diff, diff_table, summary_table};
use fasttl_core::analysis::ranks::Verdict;
use fasttl_core::error::{ErrorKind, Result};
use fasttl_core::job::{Job, on_pool};
use fasttl_core::tables::Table;
use fasttl_core::trace::Trace;
use tempfile::TempDir;

use crate::common::cells::{cell, column};
use crate::common::logs::{REAL, data, example, folder, loaded, record};

fn compared(a: (&Trace, &str), b: (&Trace, &str), options: &DiffOptions) -> Result<Diff> {
    let (of_a, of_b) = (Selector::parse(a.1)?, Selector::parse(b.1)?);
    let (a, b) = (Side { trace: a.0, selector: &of_a }, Side { trace: b.0, selector: &of_b });
    on_pool(NonZeroUsize::new(2), || diff(a, b, options, &Job::default()))
}

fn found(a: (&Trace, &str), b: (&Trace, &str)) -> Diff {
    compared(a, b, &DiffOptions::default()).unwrap()
}

/// Rows of an aspect: what changed, where, and what both sides have.
fn rows(found: &Diff, aspect: Aspect) -> Vec<(&'static str, &str, &str, &str)> {
    let of = found.differences.iter().filter(|d| d.aspect == aspect);
    of.map(|d| (d.change.name(), d.place.as_str(), d.a.as_deref().unwrap_or("-"), d.b.as_deref().unwrap_or("-")))
        .collect()
}

fn verdict(found: &Diff, aspect: Aspect) -> Verdict {
    found.findings.iter().find(|finding| finding.aspect == aspect).unwrap().verdict
}

fn lines(table: &Table) -> String {
    let names: Vec<String> = table.columns().into_iter().map(|c| c.name).collect();
    let mut text = format!("## {}: {} rows\n{}\n", table.name, table.batch.num_rows(), names.join(" | "));
    for row in 0..table.batch.num_rows() {
        let cells: Vec<String> = names.iter().map(|name| cell(column(table, name), row)).collect();
        text += &format!("{}\n", cells.join(" | "));
    }
    text
}

/// Logs made by hand, compile by compile.
#[derive(Clone, Default)]
struct Made(Vec<u8>);

impl Made {
    fn add(mut self, members: &str, id: (u32, u32), payload: Option<&str>) -> Self {
        let (frame, compile) = id;
        let members = format!("{members}, \"frame_id\": {frame}, \"frame_compile_id\": {compile}, \"attempt\": 0");
        self.0.extend(record(&members, payload.map(str::as_bytes)));
        self
    }

    fn compile(self, id: (u32, u32), name: &str, metrics: &str) -> Self {
        let metrics = format!(
            "\"compilation_metrics\": {{\"co_name\": \"{name}\", \"co_filename\": \"/a/b.py\", \"co_firstlineno\": 3, \"graph_op_count\": 1{metrics}}}"
        );
        self.add("\"dynamo_start\": {\"stack\": []}", id, None).add(&metrics, id, None)
    }

    fn artifact(self, id: (u32, u32), name: &str, payload: &str) -> Self {
        self.add(&format!("\"artifact\": {{\"name\": \"{name}\", \"encoding\": \"string\"}}"), id, Some(payload))
    }

    fn trace(&self) -> (TempDir, Trace) {
        let folder = folder(&[("dedicated_log_torch_trace_abcd1234.log", &self.0)]);
        let trace = loaded(folder.path());
        (folder, trace)
    }
}

fn of_made(a: &Made, b: &Made) -> Diff {
    let ((_a, a), (_b, b)) = (a.trace(), b.trace());
    found((&a, ""), (&b, ""))
}

#[test]
fn a_trace_does_not_differ_from_itself() {
    let all = REAL.iter().map(|name| data(name)).chain([example()]);
    for path in all {
        let trace = loaded(&path);
        let found = found((&trace, ""), (&trace, ""));
        assert!(found.is_same(), "{}: {:?}", path.display(), found.differences.first());
        assert_eq!(found.differences, [], "{}", path.display());
        assert_eq!(found.findings.len(), Aspect::ALL.len());
    }
    let hello = loaded(&data("hello"));
    let same = found((&hello, ""), (&hello, ""));
    assert!(same.findings.iter().all(|finding| finding.verdict == Verdict::Same), "{:?}", same.findings);
}

#[test]
fn ranks_of_the_example() {
    // Rank 1 fails in 1/0 and has no 2/0; rank 2 is complete.
    let trace = loaded(&example());
    let of = found((&trace, "r1"), (&trace, "r2"));
    insta::assert_snapshot!(format!("{}\n{}", lines(&diff_table(&of).unwrap()), lines(&summary_table(&of).unwrap())));
    let other_way = found((&trace, "r2"), (&trace, "r1"));
    assert_eq!(other_way.differences.len(), of.differences.len());
    assert_eq!(rows(&other_way, Aspect::Status).len(), rows(&of, Aspect::Status).len());
}

#[test]
fn logs_without_a_partner_are_no_compiles() {
    // Ranks 0 and 2 have three compiles each, rank 1 has two.
    let trace = loaded(&example());
    let expected = "2 pairs of compiles, 2 logs with 6 compiles only in b.";
    for most_rows in [1000, 1] {
        let options = DiffOptions { most_rows, ..DiffOptions::default() };
        let of = compared((&trace, "r1"), (&trace, ""), &options).unwrap();
        assert_eq!((of.findings[0].sentence.as_str(), of.findings[0].differences), (expected, 2));
        let back = compared((&trace, ""), (&trace, "r1"), &options).unwrap();
        assert_eq!(back.findings[0].sentence, expected.replace("only in b", "only in a"));
    }
    // Both at once: a log without a partner, and a compile without one in a log that has one.
    let job = |made: &[&Made]| {
        let name = |rank| format!("dedicated_log_torch_trace_rank_{rank}_abcd1234.log");
        let named: Vec<(String, &[u8])> = (0..).zip(made).map(|(rank, made)| (name(rank), &made.0[..])).collect();
        folder(&named.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect::<Vec<_>>())
    };
    let few = Made::default().compile((0, 0), "f", "");
    let more = few.clone().compile((1, 0), "g", "");
    let (one, two) = (job(&[&more]), job(&[&few, &few]));
    let of = found((&loaded(two.path()), ""), (&loaded(one.path()), "r0"));
    let sentence = "1 pair of compiles, 1 log with 1 compile only in a, 1 only in b.";
    assert_eq!(of.findings[0].sentence, sentence);
}

#[test]
fn starts_of_a_job_are_told_apart() {
    let trace = loaded(&data("dist_restart"));
    let of = found((&trace, "r0.a0"), (&trace, "r0.a1"));
    let [(change, _, a, b)] = rows(&of, Aspect::Compiles)[..] else { panic!("{:?}", of.differences) };
    assert_eq!((change, a), ("only b", "-"));
    assert!(b.starts_with("train at "), "{b}");
    // The program multiplies by the number of the start.
    assert_eq!(
        rows(&of, Aspect::Guards),
        [("changed", "G['attempt'] EQUALS_MATCH", "G['attempt'] == 1", "G['attempt'] == 2")]
    );
    let node =
        ("changed", "dynamo graph, node 1", "mul: \"f32[4][1]cpu\" = l_x_ * 1", "mul: \"f32[4][1]cpu\" = l_x_ * 2");
    assert_eq!(rows(&of, Aspect::Graph)[0], node);
    let ranks = found((&trace, "r0"), (&trace, "r1"));
    assert_eq!(rows(&ranks, Aspect::Compiles), []);
    assert_eq!(verdict(&ranks, Aspect::Graph), Verdict::Same);
}

#[test]
fn a_compile_more_does_not_shift_the_others() {
    let few = Made::default().compile((0, 0), "f", "").compile((1, 0), "g", "").compile((1, 1), "g", "");
    let more = Made::default().compile((0, 0), "extra", "").compile((1, 0), "f", "").compile((2, 0), "g", "").compile(
        (2, 1),
        "g",
        "",
    );
    let of = of_made(&few, &more);
    assert_eq!(rows(&of, Aspect::Compiles), [("only b", "compile", "-", "extra at b.py:3, ok")]);
    assert_eq!(of.differences.len(), 1);
    assert!(of.findings[0].sentence.starts_with("3 pairs of compiles, 1 only in b."), "{}", of.findings[0].sentence);
    let back = of_made(&more, &few);
    assert_eq!(rows(&back, Aspect::Compiles), [("only a", "compile", "extra at b.py:3, ok", "-")]);
}

#[test]
fn another_function_in_the_same_place_is_a_change() {
    let of = of_made(&Made::default().compile((0, 0), "f", ""), &Made::default().compile((0, 0), "g", ""));
    assert_eq!(rows(&of, Aspect::Compiles), [("changed", "code", "f at b.py:3", "g at b.py:3")]);
    let swapped = |one: &str, two: &str| Made::default().compile((0, 0), one, "").compile((1, 0), two, "");
    assert!(of_made(&swapped("f", "g"), &swapped("g", "f")).is_same());
}

#[test]
fn reasons_are_a_set_without_ids_and_addresses() {
    let with = |reasons: &str| Made::default().compile((0, 1), "f", "").artifact((0, 1), "recompile_reasons", reasons);
    let a = with(r#"["0/0: ___check_obj_id(L['f'], 140184674655888)", "0/0: x == 3  # f(x)  # b.py:7 in f"]"#);
    // Lines move when something above is edited.
    let b = with(r#"["3/0: x == 3  # f(x)  # b.py:9 in f", "3/0: ___check_obj_id(L['f'], 140184674651111)"]"#);
    assert!(of_made(&a, &b).is_same());
    let of = of_made(&with("0/0: size 4 \nUser stack trace:\n x"), &with("0/0: size 5"));
    let [(change, place, a, b)] = rows(&of, Aspect::RecompileReasons)[..] else { panic!("{:?}", of.differences) };
    assert_eq!((change, place, b), ("changed", "reason", "0/0: size 5"));
    assert!(a.starts_with("0/0: size 4"));
}

#[test]
fn guards_settings_and_versions() {
    let with = |n: u32, id: u64, order: bool, config: &str, version: &str| {
        let mut leaves = [
            format!("| | +- TENSOR_MATCH: check_tensor(L['x'], size=[{n}])  # a.py:{n} in f"),
            "| | +- NO_HASATTR: hasattr(L['x'], 'y') == False".to_owned(),
            format!("| | +- ID_MATCH: ___check_obj_id(L['x'], {id})"),
        ];
        if order {
            leaves.reverse();
        }
        let guards = format!(
            "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['x'], accessed_by=Y(framelocals_idx={n})\n{}\n\nGuard latency = {n}.00 us",
            leaves.join("\n")
        );
        let metrics = format!(
            ", \"guard_count\": 3, \"dynamo_config\": \"{{\\\"a\\\": {config}, \\\"dir\\\": \\\"/tmp/{n}\\\"}}\", \"pytorch_version\": \"{version}\", \"entire_frame_compile_time_s\": {n}"
        );
        Made::default().compile((0, 0), "f", &metrics).add("\"dynamo_cpp_guards_str\": {}", (0, 0), Some(&guards))
    };
    let of = of_made(
        &with(4, 140_184_674_655_888, false, "true", "2.13"),
        &with(5, 140_184_674_651_111, true, "null", "2.14"),
    );
    let checks = ("changed", "L['x'] TENSOR_MATCH", "check_tensor(L['x'], size=[4])", "check_tensor(L['x'], size=[5])");
    assert_eq!(rows(&of, Aspect::Guards), [checks]);
    assert_eq!(rows(&of, Aspect::Configuration), [("changed", "dynamo.a", "true", "null")]);
    assert_eq!(rows(&of, Aspect::Versions), [("changed", "PyTorch", "2.13", "2.14")]);
    // All compiles together, and the one.
    let times = rows(&of, Aspect::Phases);
    assert_eq!(times, [("changed", "frame", "4.000 s", "5.000 s"), ("changed", "all compiles", "4.000 s", "5.000 s")]);
    assert_eq!(of.differences.iter().find(|d| d.aspect == Aspect::Phases).unwrap().delta, Some(1.0));
}

#[test]
fn graphs_code_breaks_and_caches() {
    let with = |op: &str, cache: &str| {
        let graph = format!(
            "class G(torch.nn.Module):\n    def forward(self, x: \"f32[4]\"):\n        y = x.{op}();  x = None\n        return (y,)"
        );
        let code = format!("def call(args):\n    # Source: {op}\n    buf0 = {op}(arg0_1)\n    return (buf0, )");
        let reason = format!("Graph break in user code at /x/{op}/a.py:{}\nGraph Break Reason: print {op}", op.len());
        Made::default()
            .compile((0, 0), "f", "")
            .add("\"dynamo_output_graph\": {}", (0, 0), Some(&graph))
            .add("\"inductor_output_code\": {}", (0, 0), Some(&code))
            .artifact((0, 0), "dynamo_graph_break_reason", &reason)
            .artifact((0, 0), cache, "{\"key\": \"a\"}")
    };
    let of = of_made(&with("sin", "fx_graph_cache_miss"), &with("cosh", "fx_graph_cache_hit"));
    assert_eq!(rows(&of, Aspect::Graph), [("changed", "dynamo graph, node 1", "y = x.sin()", "y = x.cosh()")]);
    let hunk = ("changed", "code, @@ -2 +2 @@", "    buf0 = sin(arg0_1)", "    buf0 = cosh(arg0_1)");
    assert_eq!(rows(&of, Aspect::OutputCode), [hunk]);
    assert_eq!(rows(&of, Aspect::GraphBreaks), [("changed", "break", "a.py:3: print sin", "a.py:4: print cosh")]);
    assert_eq!(rows(&of, Aspect::Cache), [("changed", "fx_graph", "miss", "hit")]);
    let spot = of.differences.iter().find(|d| d.aspect == Aspect::Graph).unwrap().spot_a.unwrap();
    assert!(spot.offset.is_some_and(|offset| offset > 0));
}

#[test]
fn why_a_cache_was_passed_by_counts() {
    let with =
        |payload: &str| Made::default().compile((0, 0), "f", "").artifact((0, 0), "precompile_cache_bypass", payload);
    let of = of_made(&with(r#"{"_reason": "no source"}"#), &with(r#"{"_reason": "no name"}"#));
    assert_eq!(rows(&of, Aspect::Cache), [("changed", "precompile", "bypass: no source", "bypass: no name")]);
}

/// A compile with a graph of `n` nodes, and code of as many lines.
fn of_size(n: usize, node: impl Fn(usize) -> String) -> Made {
    let mut graph = "class G(torch.nn.Module):\n    def forward(self, x, y):\n".to_owned();
    let mut code = "def call(args):\n".to_owned();
    for i in 0..n {
        writeln!(graph, "        a_{i} = {}", node(i)).unwrap();
        writeln!(code, "    f({})", node(i)).unwrap();
    }
    graph += "        return (x,)";
    Made::default().compile((0, 0), "f", "").add("\"dynamo_output_graph\": {}", (0, 0), Some(&graph)).add(
        "\"inductor_output_code\": {}",
        (0, 0),
        Some(&code),
    )
}

#[test]
fn a_graph_of_which_each_node_changed_takes_linear_time() {
    // Going over all earlier nodes for each change would take minutes.
    let n = 300_000;
    let (a, b) = (of_size(n, |_| "torch.add(x, y)".to_owned()), of_size(n, |_| "torch.add(y, x)".to_owned()));
    let ((_a, a), (_b, b)) = (a.trace(), b.trace());
    let options = DiffOptions { aspects: vec![Aspect::Graph], ..DiffOptions::default() };
    let begun = Instant::now();
    let of = compared((&a, ""), (&b, ""), &options).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!((of.findings[0].differences, of.differences.len()), (n, 1000));
    let last = of.differences.last().unwrap();
    assert_eq!(last.place, "dynamo graph, node 1000");
    assert_eq!(last.a.as_deref(), Some("a_999 = torch.add(x, y)"));
}

#[test]
fn it_is_said_whether_size_or_time_was_too_much() {
    let (a, b) = (of_size(8, |i| format!("torch.add(x, {i})")), of_size(8, |i| format!("torch.mul(y, {i})")));
    let ((_a, a), (_b, b)) = (a.trace(), b.trace());
    let of = |options: DiffOptions| {
        let of = compared((&a, ""), (&b, ""), &options).unwrap();
        let graph = rows(&of, Aspect::Graph)[0].2.to_owned();
        (graph, rows(&of, Aspect::OutputCode)[0].1.to_owned())
    };
    let (graph, code) = of(DiffOptions { most_lines: 4, ..DiffOptions::default() });
    assert_eq!(graph, "too large to compare node by node: 8 nodes");
    assert_eq!(code, "code, too large to compare line by line: 9 and 9 lines; the md5s differ");
    let (graph, code) = of(DiffOptions { time: Duration::ZERO, ..DiffOptions::default() });
    assert_eq!(graph, "not compared node by node, since the time for it was over: 8 nodes");
    let why = "code, not compared line by line, since the time for it was over: 9 and 9 lines; the md5s differ";
    assert_eq!(code, why);
}

#[test]
fn what_is_damaged_is_not_called_the_same() {
    let graph = "def forward(self, x):\n    return (x,)";
    let whole = Made::default().compile((0, 0), "f", "").add("\"dynamo_output_graph\": {}", (0, 0), Some(graph));
    let cut = Made(whole.0[..whole.0.len() - 12].to_vec());
    let of = of_made(&whole, &cut);
    assert_eq!(verdict(&of, Aspect::Graph), Verdict::Unknown);
    assert_eq!(verdict(&of, Aspect::Compiles), Verdict::Unknown);
    assert!(of.is_same());
    let none = of_made(&Made::default().compile((0, 0), "f", ""), &Made(record("\"str\": [\"a\", 0]", None)));
    for aspect in [Aspect::Guards, Aspect::Configuration, Aspect::Phases] {
        assert_eq!(verdict(&none, aspect), Verdict::Unknown);
    }
    assert_eq!(verdict(&none, Aspect::Compiles), Verdict::Differs);
}

#[test]
fn compiles_are_compared_whatever_their_ids() {
    let made =
        Made::default().compile((0, 0), "f", ", \"guard_count\": 3").compile((4, 1), "g", ", \"guard_count\": 5");
    let (_folder, trace) = made.trace();
    let of = found((&trace, "0/0"), (&trace, "4/1"));
    assert_eq!(rows(&of, Aspect::Compiles), [("changed", "code", "f at b.py:3", "g at b.py:3")]);
    let guards = of.differences.iter().find(|d| d.aspect == Aspect::Guards).unwrap();
    assert_eq!((guards.change, guards.delta), (Change::Changed, Some(2.0)));
    let ids = (guards.spot_a.unwrap().compile.unwrap().1, guards.spot_b.unwrap().compile.unwrap().1);
    assert_eq!((ids.0.to_string(), ids.1.to_string()), ("0/0".to_owned(), "4/1".to_owned()));
}

#[test]
fn only_what_is_asked_for_is_compared() {
    let trace = loaded(&example());
    let options = DiffOptions { aspects: vec![Aspect::Status], ..DiffOptions::default() };
    let of = compared((&trace, "r1"), (&trace, "r2"), &options).unwrap();
    assert_eq!(of.findings.len(), 1);
    assert!(of.differences.iter().all(|d| d.aspect == Aspect::Status));
    let options = DiffOptions { most_rows: 1, ..DiffOptions::default() };
    let cut = compared((&trace, "r1"), (&trace, "r2"), &options).unwrap();
    let status = cut.findings.iter().find(|finding| finding.aspect == Aspect::Status).unwrap();
    assert_eq!((status.differences, rows(&cut, Aspect::Status).len()), (of.findings[0].differences, 1));
}

#[test]
fn a_selection_that_names_nothing_says_what_there_is() {
    let trace = loaded(&example());
    for (a, b, word) in [
        ("r7", "r0", "r0, r1, r2"),
        ("r0/9/9", "r0/0/0", "no compile 9/9"),
        ("0/0", "r1/0/0", "several logs have a compile 0/0"),
        ("r0/0/0", "r1", "on one side only"),
        ("r0/0/0@3", "r0/0/0", "0/0@3"),
    ] {
        let error = compared((&trace, a), (&trace, b), &DiffOptions::default()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Option);
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn damage_anywhere_ends_well() {
    let bytes = std::fs::read(first_log(&data("fail_backend"))).unwrap();
    let whole = loaded(&data("fail_backend"));
    for cut in [0.2, 0.5, 0.9] {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a test"
        )]
        let len = (bytes.len() as f64 * cut) as usize;
        let mut damaged = bytes[..len].to_vec();
        for at in (0..len).step_by(997) {
            damaged[at] = b'{';
        }
        let folder = folder(&[("dedicated_log_torch_trace_abcd1234.log", &damaged)]);
        let trace = loaded(folder.path());
        found((&whole, ""), (&trace, ""));
        assert!(found((&trace, ""), (&trace, "")).is_same());
    }
}

fn first_log(folder: &Path) -> std::path::PathBuf {
    let mut logs: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|e| e == "log"));
    logs.sort();
    logs.remove(0)
}
