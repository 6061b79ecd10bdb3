//! Every record that a log has is named, explained and shown, on pages that stay small.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fasttl_core::format::catalogue::{NAMES, about};
use fasttl_core::format::kind::{KINDS, Kind};
use fasttl_core::report::ReportOptions;

use crate::common::html::{check_report, parse};
use crate::common::logs::{data, folder, loaded, record, reported, repository};

const IDS: &str = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";

/// The texts between backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// First cells of the table that follows a heading.
fn first_cells<'a>(document: &'a str, heading: &str) -> Vec<&'a str> {
    let section = document.split_once(heading).unwrap().1;
    let section = section.split_once("\n### ").unwrap().0;
    section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).skip(1).collect()
}

/// A name of the reference as a log would have it: no pattern in it, and what is left out put back.
fn as_logged(name: &str) -> String {
    let whole = match name.strip_prefix("..._") {
        Some(rest) => format!("torch_dynamo_resume_in_f_at_1_{rest}"),
        None => name.to_owned(),
    };
    let mut out = whole.replace('*', "x");
    while let Some((before, (_, after))) = out.split_once('<').map(|(a, b)| (a, b.split_once('>').unwrap())) {
        out = format!("{before}x{after}");
    }
    out
}

#[test]
fn nothing_of_the_reference_is_missing() {
    let path = repository("../shared/format.md");
    let Ok(reference) = fs::read_to_string(path) else {
        // The reference is not part of the repository.
        return;
    };
    let kinds: BTreeSet<&str> = first_cells(&reference, "### 4.1").into_iter().flat_map(code).collect();
    assert!(kinds.len() > 35, "{kinds:?}");
    let unknown: Vec<_> = kinds.iter().filter(|kind| Kind::by_name(kind.as_bytes()).is_none()).collect();
    assert!(unknown.is_empty(), "kinds: {unknown:?}");

    let artifacts: Vec<&str> = first_cells(&reference, "### 4.2").into_iter().flat_map(code).collect();
    assert!(artifacts.len() > 100, "{}", artifacts.len());
    let missing = |kind, names: &[&str]| {
        let gone = names.iter().filter(|name| about(kind, &as_logged(name)).is_none());
        gone.map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(missing(Kind::Artifact, &artifacts), Vec::<String>::new());
    let graphs: Vec<&str> = first_cells(&reference, "### 4.3").into_iter().flat_map(code).collect();
    assert_eq!(missing(Kind::GraphDump, &graphs), Vec::<String>::new());

    let others = reference.split_once("Outside PyTorch:").unwrap().1.split_once("\n### ").unwrap().0;
    let theirs = |name: &&str| ["vllm_", "autoparallel_", "asynctp_"].iter().any(|start| name.starts_with(start));
    let theirs: Vec<&str> = code(others).filter(theirs).collect();
    assert!(theirs.len() > 8, "{theirs:?}");
    for name in theirs {
        let name = as_logged(name);
        assert!(about(Kind::Artifact, &name).or(about(Kind::GraphDump, &name)).is_some(), "{name}");
    }
    // And nothing has been misspelt here: each name without a pattern stands in the reference, brackets resolved.
    let spelt = [
        ("_{joint,forward,backward}_graph", ""),
        (
            "before_/after_recompile_{pre,post}_grad",
            "before_recompile_pre_grad after_recompile_pre_grad before_recompile_post_grad after_recompile_post_grad",
        ),
        ("fusion_regions_before/after", "fusion_regions_before fusion_regions_after"),
    ];
    let text = spelt.iter().fold(reference.clone(), |text, (short, long)| text.replace(short, long));
    for entry in NAMES.iter().filter(|entry| !entry.name.contains('*')) {
        assert!(text.contains(entry.name) || entry.name.ends_with("_cache_hash"), "{}", entry.name);
    }
}

/// What stands on the page before the list of all files, and all of it.
fn first_page(out: &Path) -> (String, String) {
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    let (before, after) = page.split_once("<details class=\"directory\">").unwrap();
    assert_eq!(after.matches("<section aria-labelledby").count(), 0, "the list of all files is not the last section");
    (before.to_owned(), page)
}

fn written(log: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let temp = folder(&[("a.log", log)]);
    let (dir, report) = reported(&loaded(temp.path()), &ReportOptions::default());
    check_report(&report.out).unwrap();
    (dir, report.out)
}

#[test]
fn a_kind_that_nobody_knows_is_shown() {
    let (_temp, report) = reported(&loaded(&data("probes/unknown_record")), &ReportOptions::default());
    let (before, page) = first_page(&report.out);
    for kind in ["brand_new_thing", "brand_new_flag", "dynamo_start", "str"] {
        assert!(before.contains(kind), "{kind} is not in the section of records");
    }
    assert!(page.contains("A kind of record that this version of fasttl does not know."));
    let others = fs::read_to_string(report.out.join("other_records.html")).unwrap();
    assert!(others.contains("{&quot;a&quot;: 1}") && others.contains(">true<"), "{others}");
    assert!(others.contains("href=\"payloads/d68b30661cd9fc58b4dca03166a104d6.txt\""));
    check_report(&report.out).unwrap();
}

#[test]
fn a_field_that_nobody_knows_is_shown() {
    let artifact = "\"artifact\": {\"name\": \"flex_gemm_x\", \"encoding\": \"string\", \"verbosity\": \"<2>\"}";
    let log = [record(&format!("{artifact}, {IDS}"), Some(b"x")), record(&format!("{artifact}, {IDS}"), Some(b"y"))];
    let (_temp, out) = written(&log.concat());
    let others = fs::read_to_string(out.join("other_records.html")).unwrap();
    assert!(others.contains("verbosity") && others.contains("&quot;&lt;2&gt;&quot;") && others.contains("1, 3"));
    let (before, _) = first_page(&out);
    assert!(before.contains("<a href=\"other_records.html#fields\">1 unknown field</a>"));
    // A log in which everything is known has no such page.
    let plain = record(&format!("\"artifact\": {{\"name\": \"a\", \"encoding\": \"string\"}}, {IDS}"), Some(b"x"));
    assert!(!written(&plain).1.join("other_records.html").exists());
}

#[test]
fn symbols_stand_with_their_metrics_or_among_other_records() {
    let symbol = |ids: &str| record(&format!("\"create_symbol\": {{\"symbol\": \"s77\"}}, {ids}"), None);
    let metrics = record(&format!("\"compilation_metrics\": {{\"co_name\": \"f\"}}, {IDS}"), None);
    let elsewhere = "\"frame_id\": 1, \"frame_compile_id\": 0, \"attempt\": 0";
    let (_temp, out) = written(&[symbol(IDS), symbol(IDS), symbol(elsewhere), metrics.clone()].concat());
    let (before, _) = first_page(&out);
    assert!(before.contains("1 on Other records"), "{before}");
    let others = fs::read_to_string(out.join("other_records.html")).unwrap();
    assert_eq!(others.matches("s77").count(), 1);
    assert!(!written(&[symbol(IDS), metrics].concat()).1.join("other_records.html").exists());
}

#[test]
fn names_are_explained_where_they_stand() {
    let (_temp, report) = reported(&loaded(&data("hello")), &ReportOptions::default());
    let (before, page) = first_page(&report.out);
    let listed = page.get(before.len()..).unwrap();
    for name in ["torch._functorch.config", "fx_graph_cache_miss", "fx_graph_runnable", "inductor_post_grad_graph"] {
        let sentence = about(Kind::Artifact, name).unwrap().about.replace('\'', "&#39;");
        assert!(before.contains(&sentence), "{name} is not in the help");
        assert!(listed.contains(&sentence), "{name} has no line beside its link");
    }
    let records = before.split_once("id=\"records\"").unwrap().1;
    for (kind, info) in KINDS {
        let has = records.contains(&format!("<th scope=\"row\" class=\"mono\">{}</th>", info.name));
        let logged = loaded(&data("hello")).logs[0].index.records.iter().any(|r| r.kind.is(*kind));
        assert_eq!(has, logged, "{}", info.name);
    }
}

#[test]
fn a_graph_break_without_a_restart_is_shown_with_its_reason() {
    let text = b"Graph break in user code at /x/m.py:9\nGraph Break Reason: Call to <f>\n  Hint: none\n\nUser code traceback:\n  File";
    let name = "\"artifact\": {\"name\": \"dynamo_graph_break_reason\", \"encoding\": \"string\"}";
    let metrics = "\"compilation_metrics\": {\"co_name\": \"f\", \"graph_op_count\": 1, \"restart_reasons\": [], \
                   \"cudagraph_skip_reason\": \"cpu <device>\"}";
    let log = [record(&format!("{name}, {IDS}"), Some(text)), record(&format!("{metrics}, {IDS}"), None)].concat();
    let (_temp, out) = written(&log);
    let page = fs::read_to_string(out.join("failures_and_restarts.html")).unwrap();
    for part in ["/x/m.py:9", "Call to &lt;f&gt;", "1 graph break", "href=\"-_0_0_0/dynamo_graph_break_reason_0.txt\""]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("User code traceback"), "the stack is in the file");
    let (before, _) = first_page(&out);
    assert!(before.contains("failures_and_restarts.html#breaks") && before.contains("cpu &lt;device&gt;"));
}

/// The bytes of a page before its list of all files, which must be few, and of the page of other records.
fn check_small(name: &str, log: &[u8]) -> String {
    let temp = folder(&[("a.log", log)]);
    let (_dir, report) = reported(&loaded(temp.path()), &ReportOptions::default());
    let (before, page) = first_page(&report.out);
    parse(&page).unwrap();
    assert!(before.len() < 1_000_000, "{name}: {} bytes", before.len());
    assert!(before.matches('<').count() < 40_000, "{name}: {} tags", before.matches('<').count());
    let others = fs::metadata(report.out.join("other_records.html")).map_or(0, |m| m.len());
    assert!(others < 1_000_000, "{name}: {others} bytes of other records");
    page
}

fn start(frame: usize, compile: usize, stack: &str) -> Vec<u8> {
    let ids = format!("\"frame_id\": {frame}, \"frame_compile_id\": {compile}, \"attempt\": 0");
    record(&format!("\"dynamo_start\": {{\"stack\": [{stack}]}}, {ids}"), None)
}

fn frame(line: usize) -> String {
    format!("{{\"line\": {line}, \"name\": \"a_function\", \"filename\": 0, \"loc\": \"y = call(x, \\\"<b>\\\")\"}}")
}

#[test]
fn the_first_page_stays_small() {
    let file = record("\"str\": [\"/a/rather/long/path/to/some/file.py\", 0]", None);
    let artifacts = (0..10_000).flat_map(|n| {
        let name = format!("\"artifact\": {{\"name\": \"name_{n}\", \"encoding\": \"string\"}}, {IDS}");
        record(&name, Some(b"x"))
    });
    check_small("artifacts", &artifacts.collect::<Vec<u8>>());

    let deep: Vec<String> = (0..50_000).map(frame).collect();
    let page = check_small("one stack", &[file.clone(), start(0, 0, &deep.join(", "))].concat());
    assert!(page.contains("(49,000 frames left out)") && page.contains("href=\"#[0/0]\" class=\"status-missing\""));

    let apart = (0..5_000).flat_map(|n| start(n, 0, &[frame(0), frame(n), frame(n + 1)].join(", ")));
    let together = (0..5_000).flat_map(|n| start(0, n, &frame(1)));
    let mut logs = [file.clone(), file];
    logs[0].extend(apart);
    logs[1].extend(together);
    for (log, last) in logs.iter().zip(["4999/0", "0/4999"]) {
        let page = check_small("compiles", log);
        // The standard report has a link for each compile; those that do not fit stand with the files.
        let links = page.matches("class=\"status-missing\"").count();
        assert_eq!(links, 5_000);
        assert!(page.contains(&format!("href=\"#[{last}]\" class=\"status-missing\"")));
    }
}

#[test]
fn the_page_of_other_records_stays_small() {
    let long = "\\\"<&".repeat(5_000);
    let same = (0..100_000).flat_map(|n| record(&format!("\"new\": {{\"n\": {n}}}"), None));
    let kinds = (0..1_000).flat_map(|n| record(&format!("\"new_{n}\": {{\"text\": \"{long}\"}}"), None));
    let keys = (0..1_000).flat_map(|n| {
        let key = format!("\"artifact\": {{\"name\": \"a\", \"encoding\": \"string\", \"key_{n}\": \"{long}\"}}");
        record(&key, Some(b"x"))
    });
    let stacks = (0..20_000).flat_map(|_| record(&format!("\"new\": {{}}, \"stack\": [{}]", frame(1)), None));
    check_small("one kind", &same.collect::<Vec<u8>>().repeat(2));
    let page = check_small("many kinds", &kinds.collect::<Vec<u8>>());
    assert!(page.contains("940 further kinds with 940 records"));
    check_small("many keys", &keys.collect::<Vec<u8>>());
    check_small("stacks of no compile", &stacks.collect::<Vec<u8>>());
}
