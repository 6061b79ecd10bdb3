//! The report of an export: what failed, how conditions came about, and the numbers of the standard report.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use fasttl_core::report::{Mode, ReportOptions};

use crate::common::html::{check_report, is_page, parse};
use crate::common::logs::{data, files_below, folder, load_paths, loaded, record, reported, repository};

/// The report of an export, and the folder that it is in.
fn exported(path: &Path) -> (tempfile::TempDir, std::path::PathBuf) {
    let options = ReportOptions { mode: Mode::Export, ..ReportOptions::default() };
    let (temp, report) = reported(&loaded(path), &options);
    check_report(&report.out).unwrap();
    (temp, report.out)
}

/// The same, of records.
fn exported_log(records: &[Vec<u8>]) -> (tempfile::TempDir, std::path::PathBuf) {
    let temp = folder(&[("in.log", &records.concat())]);
    exported(&temp.path().join("in.log"))
}

/// What a page says, without its tags.
fn words(page: &Path) -> String {
    let text = fs::read_to_string(page).unwrap();
    let main = text.split_once("<main").unwrap().1;
    let mut out = String::new();
    for piece in main.split('<').skip(1) {
        out += piece.split_once('>').map_or("", |(_, text)| text);
    }
    let out = out.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    out.replace("&amp;", "&")
}

/// Names of the files that are made of conditions and programs.
fn own_files(out: &Path) -> Vec<String> {
    let own = |path: &String| path.contains("symbolic_guard_information") || path.contains("exported_program");
    files_below(out).into_keys().filter(own).collect()
}

fn says(text: &str, all: &[&str]) {
    for words in all {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}

#[test]
fn a_draft_export_shows_its_three_findings() {
    let (_temp, out) = exported(&data("export_draft"));
    let text = words(&out.join("index.html"));
    says(
        &text,
        &[
            "3 failures of an export.",
            "Data-dependent condition: u0 > 2",
            "It was taken to be True",
            "export_draft.py:27 in forward",
            "if k > 2:",
            "Missing fake kernel: torch.ops.demo.missing.default",
            "Mismatched fake kernel: torch.ops.demo.mismatched.default",
            "mismatch between fake value 3 and real value 2",
        ],
    );
    // The standard reader drops the condition, so its page is an extra one.
    let files = ["-_-_-_-/exported_program_0.txt", "-_-_-_-/symbolic_guard_information_x0.html"];
    assert_eq!(own_files(&out), files);
    let page = words(&out.join(files[1]));
    says(&page, &["u0 > 2", "= gt(u0, 2)", "= create_unbacked_symbol([-int_oo, int_oo])", "k = n.item()"]);
}

/// A frame of the file with the number 1.
fn frames(n: usize, rest: &str) -> String {
    let frames: Vec<String> = (0..n).map(|n| format!("{{\"filename\": 1, \"line\": {n}{rest}}}")).collect();
    format!("[{}]", frames.join(", "))
}

#[test]
fn a_long_file_name_in_many_frames_makes_no_long_page() {
    let stack = frames(1000, ", \"name\": \"f\", \"loc\": \"x\"");
    let name = record(&format!("\"str\": [\"/{}/end_of_name.py\", 1]", "é".repeat(500_000)), None);
    let guard = |n: usize| {
        let rest = format!("\"expr_node_id\": {n}, \"user_stack\": {stack}, \"stack\": {stack}");
        record(&format!("\"guard_added\": {{\"expr\": \"Le(s1, {n})\", \"prefix\": \"eval\", {rest}}}"), None)
    };
    let guards = (0..20).map(guard);
    let (_temp, out) = exported_log(&std::iter::once(name).chain(guards).collect::<Vec<_>>());
    let index = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(index.contains("end_of_name.py") && index.contains("left out: this page has no room, raw.jsonl has all)"));
    assert!(index.len() < 25 << 20, "{}", index.len());
    for name in own_files(&out) {
        let page = fs::read_to_string(out.join(name)).unwrap();
        assert!(page.contains("end_of_name.py") && page.len() < 4 << 20, "{}", page.len());
    }
}

#[test]
fn long_texts_of_a_condition_are_cut() {
    let long = "y".repeat(100_000);
    let values = vec![format!("\"{long}\""); 150].join(", ");
    let locals =
        format!("{{\"loc\": \"{long}\", \"locals\": {{\"v\": [{values}]}}, \"symbols\": {{\"s\": \"{long}\"}}}}");
    let rest = format!("\"result\": \"{long}\", \"unhinted_expr\": \"u{long}\", \"prefix\": \"{long}\"");
    let condition = format!("{{\"expr\": \"{long}\", {rest}, \"expr_node_id\": 1, \"frame_locals\": {locals}}}");
    let mismatch = format!("\"mismatched_fake_kernel\": {{\"op\": \"a\", \"reason\": \"{long}\"}}");
    let (_temp, out) = exported_log(&[
        record(&format!("\"guard_added\": {condition}"), None),
        record(&format!("\"propagate_real_tensors_provenance\": {condition}"), None),
        record(&mismatch, None),
    ]);
    let index = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(index.len() < 40_000 && index.contains("(100,000 bytes)"), "{}", index.len());
    for name in own_files(&out) {
        let page = fs::read_to_string(out.join(name)).unwrap();
        assert!(page.len() < 300_000 && page.contains("(50 more values left out)"), "{}", page.len());
    }
}

#[test]
fn what_the_page_shows_is_not_among_other_records() {
    let (_temp, out) = exported_log(&[
        record("\"export\": {}", Some(b"start!")),
        record("\"guard_added\": {\"expr\": \"Le(s1, 2)\", \"prefix\": \"eval\", \"expr_node_id\": 1}", None),
        record("\"missing_fake_kernel\": {\"op\": \"a\"}", None),
        record("\"exported_program\": {}", Some(b"the program")),
    ]);
    assert!(!out.join("other_records.html").exists());
    let index = words(&out.join("index.html"));
    says(&index, &["Everything that the log has, by kind.", "What the records and files of this log are"]);
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    says(&page, &["<a href=\"#guards\">Conditions on sizes</a>", "<a href=\"#failures\">Failures</a>"]);
    let (_temp, out) = exported_log(&[
        record("\"dynamo_start\": {}, \"frame_id\": 0, \"frame_compile_id\": 0", None),
        record("\"new_kind\": {}", Some(b"a payload")),
        record("\"new_kind\": {\"without\": 1}", None),
    ]);
    let others = fs::read_to_string(out.join("other_records.html")).unwrap();
    assert_eq!((others.matches("Payload, 9 B").count(), others.matches("Payload, ").count()), (1, 1));
}

#[test]
fn of_two_logs_the_landing_page_leads_to_the_one_with_the_export() {
    let (_temp, out) = exported(&data("export_draft_guard"));
    let landing = words(&out.join("index.html"));
    says(&landing, &["Failures of an export in process 29329.2.", "Data-dependent condition (1)"]);
    let page = words(&out.join("process_29329.2/index.html"));
    says(&page, &["1 failure of an export.", "Data-dependent condition: Eq(u0, 4)"]);
    let other = words(&out.join("process_29329/index.html"));
    says(&other, &["This log has no record of an export.", "<lambda>"]);
}

#[test]
fn success_silence_and_a_lost_program_are_told_apart() {
    let begin = record("\"export\": {}", Some(b"start!"));
    let program = record("\"exported_program\": {}", Some(b"the program"));
    let first = |records: &[Vec<u8>]| {
        let (temp, out) = exported_log(records);
        let text = words(&out.join("index.html"));
        drop(temp);
        text
    };
    says(&first(&[begin.clone(), program.clone()]), &["No failure of an export in this log.", "1 export began"]);
    says(&first(std::slice::from_ref(&program)), &["No failure of an export in this log.", "The log has 1 program"]);
    says(&first(&[record("\"dynamo_start\": {}", None)]), &["This log has no record of an export."]);
    let lost = first(&[begin.clone(), program, begin]);
    says(&lost, &["1 failure of an export.", "Export without a program: export 2", "1 export left none."]);
}

#[test]
fn a_size_is_fixed_by_an_export_and_not_by_a_compile() {
    let ids = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";
    let guard = "\"guard_added\": {\"expr\": \"Eq(s77, 8)\", \"prefix\": \"eval\", \"expr_node_id\": 1}";
    let special = "\"symbolic_shape_specialization\": {\"symbol\": \"s77\", \"value\": \"8\", \"reason\": \"because\"}";
    let first = |records: &[String]| {
        let records: Vec<Vec<u8>> = records.iter().map(|members| record(members, None)).collect();
        let (_temp, out) = exported_log(&records);
        words(&out.join("index.html"))
    };
    let twice = first(&[guard.to_owned(), special.to_owned()]);
    says(&twice, &["Size fixed to one value: Eq(s77, 8)"]);
    assert_eq!(twice.matches("Size fixed to one value: ").count(), 1);
    let only = first(&[special.to_owned(), "\"exported_program\": {}".to_owned()]);
    says(&only, &["Size fixed to one value: Eq(s77, 8)", "The reason: because."]);
    says(&only, &["1 failure of an export."]);
    says(&twice, &["1 failure of an export."]);
    let compile = first(&[format!("{guard}, {ids}"), format!("{special}, {ids}")]);
    assert!(!compile.contains("Size fixed to one value"), "{compile}");
    let strict = first(&["\"export\": {}".to_owned(), format!("{guard}, {ids}")]);
    says(&strict, &["Size fixed to one value: Eq(s77, 8)", "Export without a program: export 1"]);
}

#[test]
fn numbers_are_those_of_the_standard_report() {
    let guard = |prefix: &str, more: &str| {
        record(&format!("\"guard_added\": {{\"expr\": \"a\", \"prefix\": {prefix}, \"expr_node_id\": 1{more}}}"), None)
    };
    let lists = ", \"frame_locals\": {\"locals\": {\"x\": [\"u0\"]}, \"symbols\": {}}";
    let (_temp, out) = exported_log(&[
        guard("\"eval\"", lists),
        guard("\"eval\"", ", \"frame_locals\": {\"locals\": {\"x\": \"u0\"}}"),
        guard("\"eval [guard suppressed]\"", ""),
        guard("\"runtime_assert\"", ""),
        guard("null", ""),
        record("\"artifact\": {\"name\": \"a\", \"encoding\": \"string\"}", Some(b"text")),
        record("\"link\": {\"name\": \"a\", \"url\": \"https://example.org\"}", None),
        record("\"exported_program\": {}", Some(b"one")),
        guard("\"eval\"", ", \"stack\": [{\"line\": 1, \"name\": \"f\", \"filename\": -1}]"),
        record("\"propagate_real_tensors_provenance\": {\"expr\": \"b\", \"expr_node_id\": 2}", None),
        record("\"exported_program\": {}", Some(b"two")),
    ]);
    let expected = [
        "exported_program_1.txt",
        "exported_program_3.txt",
        "symbolic_guard_information_0.html",
        "symbolic_guard_information_2.html",
        "symbolic_guard_information_x0.html",
        "symbolic_guard_information_x1.html",
        "symbolic_guard_information_x2.html",
        "symbolic_guard_information_x3.html",
        "symbolic_guard_information_x6.html",
    ];
    assert_eq!(own_files(&out), expected.map(|name| format!("-_-_-_-/{name}")));
    assert_eq!(fs::read(out.join("-_-_-_-/exported_program_3.txt")).unwrap(), b"two");
    // The payload of the artifact stands where the standard report has it, and under its name too.
    let text = fasttl_core::format::payload::md5_hex(fasttl_core::format::payload::md5(b"text"));
    assert_eq!(fs::read(out.join(format!("payloads/{text}.txt"))).unwrap(), b"text");
    assert_eq!(fs::read(out.join("-_-_-_-/a_x4.txt")).unwrap(), b"text");
}

#[test]
fn a_field_that_is_missing_or_odd_is_lost_alone() {
    for (members, expected) in [
        ("\"guard_added\": {\"prefix\": \"eval\", \"stack\": []}", "not in the log"),
        ("\"guard_added\": {\"prefix\": 3, \"expr\": [1], \"frame_locals\": 7}", "not in the log"),
        ("\"guard_added\": null", "not in the log"),
        ("\"missing_fake_kernel\": {}", "Missing fake kernel: not in the log"),
        ("\"missing_fake_kernel\": {\"op\": null}", "Missing fake kernel: not in the log"),
        ("\"missing_fake_kernel\": []", "Missing fake kernel: not in the log"),
        ("\"mismatched_fake_kernel\": {\"op\": \"a.b\"}", "The reason: not in the log"),
        ("\"mismatched_fake_kernel\": {\"reason\": \"r\"}", "Mismatched fake kernel: not in the log"),
        ("\"propagate_real_tensors_provenance\": {\"expr\": \"u0 > 2\"}", "taken to be not in the log"),
        ("\"propagate_real_tensors_provenance\": {\"result\": \"True\"}", "Data-dependent condition: not in the log"),
        ("\"propagate_real_tensors\": {\"expr\": \"u9 > 1\", \"result\": \"False\"}", "taken to be False"),
        ("\"guard_on_data_dependent_error\": {\"expr\": \"u1 > 2\"}", "Undecided condition: u1 > 2"),
    ] {
        let (_temp, out) = exported_log(&[record(members, None), record("\"exported_program\": {}", None)]);
        says(&words(&out.join("index.html")), &[expected]);
        for file in own_files(&out).into_iter().filter(|file| is_page(file)) {
            says(&words(&out.join(file)), &["How the expression was made"]);
        }
    }
    for probe in ["guard_no_expr_export", "fake_kernel_no_op_export"] {
        let (_temp, out) = exported(&data("probes").join(probe).join("in.log"));
        says(&words(&out.join("index.html")), &["not in the log"]);
    }
}

#[test]
fn nothing_of_an_export_becomes_markup() {
    let evil = "</code></pre></details><script>alert(1)</script><img src=x onerror=alert(1)>&'\\\"";
    let frame = format!("[{{\"line\": 1, \"name\": \"{evil}\", \"filename\": 0, \"loc\": \"{evil}\"}}]");
    let stacks = format!("\"user_stack\": {frame}, \"stack\": {frame}");
    let condition = format!(
        "\"expr\": \"{evil}\", \"prefix\": \"{evil}\", \"result\": \"{evil}\", \"unhinted_expr\": \"{evil} \", \
         \"expr_node_id\": 5, \"expr_id\": 5, {stacks}, \"symbol_to_sources\": {{\"{evil}\": \"{evil}\"}}, \
         \"frame_locals\": {{\"loc\": \"{evil}\", \"locals\": {{\"{evil}\": [\"{evil}\", null]}}, \"symbols\": {{\"{evil}\": \"{evil} \"}}}}"
    );
    let mut log = vec![
        record(&format!("\"str\": [\"{evil}\", 0]"), None),
        record(
            &format!(
                "\"create_unbacked_symbol\": {{\"symbol\": \"{evil}\", \"node_id\": 4, \"vr\": \"{evil}\", {stacks}}}"
            ),
            None,
        ),
        record(
            &format!(
                "\"expression_created\": {{\"method\": \"{evil}\", \"result\": \"{evil}\", \"result_id\": 5, \
                 \"arguments\": [\"{evil}\"], \"argument_ids\": [4], {stacks}}}"
            ),
            None,
        ),
        record(&format!("\"missing_fake_kernel\": {{\"op\": \"{evil}\"}}"), None),
        record(&format!("\"mismatched_fake_kernel\": {{\"op\": \"{evil}\", \"reason\": \"{evil}\"}}"), None),
        record("\"exported_program\": {}", Some(evil.as_bytes())),
    ];
    for kind in ["guard_added", "propagate_real_tensors_provenance", "guard_on_data_dependent_error"] {
        log.push(record(&format!("\"{kind}\": {{{condition}}}"), None));
    }
    let (_temp, out) = exported_log(&log);
    assert_eq!(own_files(&out).len(), 4);
    for (path, file) in files_below(&out).into_iter().filter(|(path, _)| is_page(path)) {
        let text = fs::read_to_string(file).unwrap();
        let tags = parse(&text).unwrap();
        assert!(tags.iter().all(|tag| tag.name != "img"), "{path}");
        assert_eq!(tags.iter().filter(|tag| tag.name == "script").count(), 1, "{path}");
    }
    let shown = evil.replace("\\\"", "\"");
    assert!(words(&out.join("index.html")).matches(&shown).count() > 5);
}

/// A record that makes a node.
fn made(result: &str, id: u64, of: &[u64]) -> Vec<u8> {
    let ids = of.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    record(
        &format!(
            "\"expression_created\": {{\"method\": \"m\", \"result\": \"{result}\", \"result_id\": {id}, \
             \"arguments\": [\"x\"], \"argument_ids\": [{ids}]}}"
        ),
        None,
    )
}

fn met(id: u64) -> Vec<u8> {
    record(&format!("\"guard_added\": {{\"expr\": \"e\", \"prefix\": \"eval\", \"expr_node_id\": {id}}}"), None)
}

/// The tree on the page of the guard number `n`: its nodes by what is said of them.
fn tree(out: &Path, n: usize) -> String {
    let page = words(&out.join(format!("-_-_-_-/symbolic_guard_information_{n}.html")));
    let (_, tree) = page.split_once("at run time only.").unwrap();
    let tree = tree.replace("The first one is what the code asked; the condition is what follows from the answer.", "");
    tree.split_once("Local variables").unwrap().0.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_node_is_the_last_one_that_was_made_at_its_address_before() {
    let (_temp, out) = exported_log(&[
        made("old_leaf", 1, &[]),
        made("first", 2, &[1]),
        met(2),
        // Both addresses are used again; `third` was made of the leaf that was there by then.
        made("new_leaf", 1, &[]),
        made("second", 2, &[1]),
        met(2),
        made("third", 3, &[2]),
        made("later", 2, &[]),
        met(3),
        made("much later", 3, &[]),
        met(99),
    ]);
    assert_eq!(tree(&out, 0), "first = m(x) old_leaf = m(x)");
    assert_eq!(tree(&out, 1), "second = m(x) new_leaf = m(x)");
    assert_eq!(tree(&out, 2), "third = m(x) second = m(x) new_leaf = m(x)");
    assert_eq!(tree(&out, 3), "The log does not tell how this expression was made.");
}

#[test]
fn shared_nodes_and_circles_are_shown_once() {
    let (_temp, out) = exported_log(&[
        made("leaf", 1, &[]),
        made("shared", 2, &[1]),
        made("top", 3, &[2, 2]),
        met(3),
        // No node is made of itself, but a log may say so.
        made("circle", 7, &[8]),
        made("round", 8, &[7]),
        made("circle", 7, &[8, 7]),
        met(7),
    ]);
    assert_eq!(tree(&out, 0), "top = m(x) shared = m(x) leaf = m(x) shared = m(x) shown above");
    let circle = tree(&out, 1);
    assert!(circle.contains("shown above") && circle.len() < 200, "{circle}");
}

#[test]
fn symbols_of_inputs_are_leaves_with_their_source() {
    let guard = "\"guard_added\": {\"expr\": \"e\", \"prefix\": \"eval\", \"expr_node_id\": 1, \
                 \"symbol_to_sources\": {\"x\": \"L['x'].size()[0]\"}}";
    let (_temp, out) = exported_log(&[made("top", 1, &[]), record(guard, None)]);
    assert_eq!(tree(&out, 0), "top = m(x) x = L['x'].size()[0]");
}

#[test]
fn no_tree_is_too_deep_or_too_wide() {
    let mut log: Vec<Vec<u8>> = (1..=5000).map(|id| made("deep", id, &[id - 1])).collect();
    log.push(met(5000));
    // Each node is made of all before it, which would be 2^50 paths.
    for id in 10_001..10_050 {
        let before: Vec<u64> = (10_000..id).collect();
        log.push(made("wide", id, &before));
    }
    log.push(met(10_049));
    let (_temp, out) = exported_log(&log);
    let deep = tree(&out, 0);
    assert!(deep.ends_with("what it was made of is too deep to show"), "{deep}");
    assert!(deep.matches("deep = m(x)").count() < 100, "{deep}");
    let wide = tree(&out, 1);
    assert!(wide.contains("The first 300 nodes are shown"), "{wide}");
    assert_eq!(wide.matches("wide = m(x)").count(), 300);
}

#[test]
fn many_conditions_on_one_expression_stay_small() {
    let frame = "{\"line\": 1, \"name\": \"f\", \"filename\": 0, \"loc\": \"x\"}";
    let stack = vec![frame; 20].join(", ");
    let mut log = String::new();
    for id in 1..=300_u64 {
        writeln!(
            log,
            "V1129 23:59:59.000001 4242 torch/x.py:7] {{\"expression_created\": {{\"result\": \"e\", \"result_id\": {id}, \
             \"argument_ids\": [{}], \"stack\": [{stack}]}}}}",
            id - 1
        )
        .unwrap();
    }
    let mut log = log.into_bytes();
    for _ in 0..1000 {
        log.extend(met(300));
    }
    let temp = folder(&[("in.log", &log)]);
    let (_temp, out) = exported(&temp.path().join("in.log"));
    let bytes: u64 = files_below(&out).values().map(|file| fs::metadata(file).unwrap().len()).sum();
    assert!(bytes < 200 * log.len() as u64, "{bytes} bytes from {}", log.len());
}

#[test]
fn an_ordinary_report_says_that_there_is_an_export() {
    let (_temp, report) = reported(&loaded(&data("export_draft")), &ReportOptions::default());
    says(&words(&report.index), &["This log holds 4 records of an export.", "With --export"]);
    assert_eq!(own_files(&report.out), Vec::<String>::new());
    let (_temp, report) = reported(&loaded(&data("hello")), &ReportOptions::default());
    assert!(!words(&report.index).contains("of an export"));
}

#[test]
fn a_plain_export_shows_its_conditions_and_the_one_that_failed() {
    let log = repository("../shared/traces/export_plain");
    if load_paths(std::slice::from_ref(&log), &fasttl_core::trace::LoadOptions::default()).is_err() {
        // The large set of traces is not beside the repository.
        return;
    }
    let (_temp, out) = exported(&log);
    let text = words(&out.join("index.html"));
    says(&text, &["3 exports began, and the log has 2 programs.", "Export without a program: export 3"]);
    says(&text, &["Size fixed to one value: Eq(s77, 8)", "export_plain.py:27 in forward", "Eq(s77, s17)"]);
    let pages = own_files(&out).into_iter().filter(|file| is_page(file)).count();
    assert_eq!(pages, 19);
    for file in ["-_-_-_-/exported_program_0.txt", "-_0_0_0/symbolic_guard_information_1.html"] {
        assert!(out.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_huge_record_is_not_read_again_for_each_condition() {
    let arguments = vec!["\"x\""; 100_000].join(", ");
    let huge =
        format!("\"expression_created\": {{\"result\": \"huge\", \"result_id\": 1, \"arguments\": [{arguments}]}}");
    let mut log = vec![record(&huge, None)];
    for id in 2..400 {
        log.push(made("next", id, &[id - 1, 1]));
    }
    for _ in 0..2000 {
        log.push(met(399));
    }
    let (_temp, out) = exported_log(&log);
    assert!(tree(&out, 0).contains("nodes are shown"), "{}", tree(&out, 0));
    let bytes: u64 = files_below(&out).values().map(|file| fs::metadata(file).unwrap().len()).sum();
    let size: u64 = log.iter().map(|record| record.len() as u64).sum();
    assert!(bytes < 200 * size, "{bytes} bytes from {size}");
}
