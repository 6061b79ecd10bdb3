//! The report's tree: pages that are safe and whole, files that others read, and where they stand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fasttl_core::format::kind::Kind;
use fasttl_core::index::KindId;
use fasttl_core::report::{CodeStyle, Extras, Form, Layout, Mode, Overwrite, ReportOptions};
use fasttl_core::trace::{LoadOptions, Trace};

use crate::common::html::{check_report, is_page, parse};
use crate::common::logs::{REAL, data, dated_copy, example, files_below, folder, load_paths, loaded, record, reported};

/// The real logs, the example, and every probe that can be read.
fn all_inputs() -> Vec<PathBuf> {
    let mut inputs: Vec<PathBuf> = REAL.iter().map(|name| data(name)).collect();
    inputs.push(example());
    inputs.extend(fs::read_dir(data("probes")).unwrap().map(|entry| entry.unwrap().path()));
    inputs.sort();
    inputs
}

fn json(path: &Path) -> serde_json::Value {
    let text = fs::read(path).unwrap();
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The folders of the logs' trees within a report, in the order of the logs.
fn trees(out: &Path, trace: &Trace) -> Vec<PathBuf> {
    if let [_] = trace.logs.as_slice() {
        return vec![out.to_owned()];
    }
    let found: BTreeSet<PathBuf> =
        files_below(out).into_values().filter(|f| f.ends_with("raw.log")).map(|f| f.parent().unwrap().into()).collect();
    trace
        .logs
        .iter()
        .map(|log| {
            let bytes = log.view().unwrap();
            let same = found.iter().find(|tree| fs::read(tree.join("raw.log")).unwrap() == *bytes);
            same.unwrap_or_else(|| panic!("no tree has the log {}", log.name())).clone()
        })
        .collect()
}

/// Whether the tree of one log has all that it should, and its pages lead to it.
fn check_tree(tree: &Path, name: &str, trace: &Trace, at: usize) {
    let log = &trace.logs[at];
    let heads = |free: &[Kind]| {
        let kinds = log.index.records.iter().map(|r| r.kind);
        kinds.filter(|kind| !free.iter().any(|f| *kind == KindId::Known(*f))).count()
    };
    let lines = fs::read_to_string(tree.join("raw.jsonl")).unwrap();
    let values: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(values[0]["string_table"].is_array(), "{name}");
    assert_eq!(values.len() - 1, heads(&[Kind::Str, Kind::ChromiumEvent]), "{name}");
    for value in &values[1..] {
        if let Some(file) = value.get("payload_filename") {
            assert!(tree.join(file.as_str().unwrap()).is_file(), "{name}: {file} is not there");
        }
        assert!(value["pathname"].is_string() && value.get("timestamp").is_some(), "{name}: {value}");
    }
    let events = json(&tree.join("chromium_events.json"));
    let bytes = log.view().unwrap();
    let logged = log.index.records.iter().filter(|r| {
        // One that is cut is no JSON, and is left out.
        let text = log.index.payload(r, &bytes).text();
        r.kind.is(Kind::ChromiumEvent) && serde_json::from_slice::<serde_json::Value>(&text).is_ok()
    });
    assert_eq!(events.as_array().unwrap().len(), logged.count(), "{name}");
    let directory = json(&tree.join("compile_directory.json"));
    for artifact in directory.as_object().unwrap().values().flat_map(|d| d["artifacts"].as_array().unwrap()) {
        let url = artifact["url"].as_str().unwrap();
        assert!(url.contains("://") || tree.join(url).is_file(), "{name}: {url} is not there");
    }
}

#[test]
fn every_report_is_whole_and_safe() {
    for input in all_inputs() {
        let name = input.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(trace) = load_paths(std::slice::from_ref(&input), &LoadOptions::default()) else {
            // That these few cannot be read is what the tests of probes are about.
            continue;
        };
        for mode in [Mode::Compile, Mode::Export] {
            whole_and_safe(&trace, &name, mode);
        }
    }
}

/// Checks the report of one trace in one mode.
fn whole_and_safe(trace: &Trace, name: &str, mode: Mode) {
    let (temp, report) = reported(trace, &ReportOptions { mode, ..ReportOptions::default() });
    let pages = check_report(&report.out).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(files_below(temp.path()).len(), files_below(&report.out).len(), "{name}: a file outside");
    for (at, tree) in trees(&report.out, trace).iter().enumerate() {
        check_tree(tree, name, trace, at);
        let folder = tree.strip_prefix(&report.out).unwrap().to_string_lossy().into_owned();
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let jsonl = fs::read_to_string(tree.join("raw.jsonl")).unwrap();
        let listed: BTreeSet<&String> = pages[&format!("{prefix}index.html")].iter().collect();
        for file in files_below(tree).into_keys() {
            let own = file.starts_with("fasttl/") || file == ".fasttl" || file == "index.html";
            let path = format!("{prefix}{file}");
            // What a page was made from is linked there (the configurations of metrics, the payload of code),
            // or is for scripts, which find it by `raw.jsonl`.
            let behind = file.starts_with("config/") || file.starts_with("payloads/");
            let elsewhere = behind && pages.values().flatten().any(|f| *f == path)
                || file.starts_with("payloads/") && jsonl.contains(&format!("\"{file}\""));
            assert!(own || elsewhere || listed.contains(&path), "{name}: no link to {path}");
        }
    }
}

/// All files of a report with their bytes.
fn contents(out: &Path) -> Vec<(String, Vec<u8>)> {
    files_below(out).into_iter().map(|(path, file)| (path, fs::read(file).unwrap())).collect()
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for input in [data("unusual"), data("dist_restart"), example()] {
        let options = ReportOptions { command: "fasttl logs".to_owned(), ..ReportOptions::default() };
        let (_first, one) = reported(&loaded(&input), &options);
        let (_second, two) = reported(&loaded(&input), &options);
        let (one, two) = (contents(&one.out), contents(&two.out));
        let paths = |all: &[(String, Vec<u8>)]| all.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&one), paths(&two));
        for ((path, a), (_, b)) in one.iter().zip(&two) {
            assert_eq!(a, b, "{path}");
        }
    }
}

fn folders_of(out: &Path) -> Vec<String> {
    let entries = fs::read_dir(out).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    // Those of the job itself.
    names.retain(|name| name != "fasttl" && name != "diff");
    names.sort();
    names
}

#[test]
fn each_log_of_a_job_has_its_folder() {
    let (_temp, report) = reported(&loaded(dated_copy(&data("dist_restart")).path()), &ReportOptions::default());
    assert_eq!(folders_of(&report.out), ["rank_0", "rank_0.restart_0", "rank_1", "rank_1.restart_0"]);
    let newest = fs::read(data("dist_restart/dedicated_log_torch_trace_rank_0_rz2asgmy.log")).unwrap();
    assert_eq!(fs::read(report.out.join("rank_0/raw.log")).unwrap(), newest, "the newest start has the plain name");

    let (_temp, report) = reported(&loaded(dated_copy(&data("processes")).path()), &ReportOptions::default());
    assert_eq!(folders_of(&report.out), ["process_5888", "process_6013", "process_6273"]);

    let (_temp, report) = reported(&loaded(dated_copy(&data("export_draft_guard")).path()), &ReportOptions::default());
    assert_eq!(folders_of(&report.out), ["process_29329", "process_29329.2"]);

    let (_temp, report) = reported(&loaded(&data("probes/mixed_dir")), &ReportOptions::default());
    let folders = folders_of(&report.out);
    assert_eq!(folders[1..], ["process_12345.2", "rank_0", "rank_1", "rank_2"]);
}

#[test]
fn the_landing_page_leads_to_every_log() {
    let trace = loaded(&example());
    let (_temp, report) = reported(&trace, &ReportOptions::default());
    assert_eq!((report.logs, report.records, report.problems), (3, 224, 0));
    assert_eq!(report.index, report.out.join("index.html"));
    let pages = check_report(&report.out).unwrap();
    for rank in 0..3 {
        let page = format!("rank_{rank}/index.html");
        assert!(pages["index.html"].contains(&page), "{page}");
        assert!(pages[&page].contains(&"index.html".to_owned()), "no way back from {page}");
    }
    let events = json(&report.out.join("chromium_events.json"));
    let processes: BTreeSet<i64> = events.as_array().unwrap().iter().map(|e| e["pid"].as_i64().unwrap()).collect();
    assert_eq!(processes, BTreeSet::from([0, 1, 2]), "events of the ranks are told apart");
    let text = fs::read_to_string(&report.index).unwrap();
    assert!(text.contains("out of memory on rank 1"), "the failure is not named on the first page");
}

#[test]
fn one_log_stands_at_the_top_unless_a_landing_page_is_wanted() {
    let trace = loaded(&data("hello"));
    let (_temp, report) = reported(&trace, &ReportOptions::default());
    assert!(report.out.join("raw.log").is_file());
    let landing = ReportOptions { layout: Layout::LandingPage, ..ReportOptions::default() };
    let (_temp, report) = reported(&trace, &landing);
    assert!(!report.out.join("raw.log").exists());
    assert_eq!(folders_of(&report.out), ["process_17918"]);
    check_report(&report.out).unwrap();
}

#[test]
fn code_can_be_plain_text() {
    let trace = loaded(&data("hello"));
    let code = |style| {
        let (_temp, report) = reported(&trace, &ReportOptions { code: style, ..ReportOptions::default() });
        check_report(&report.out).unwrap();
        let found = contents(&report.out).into_iter().filter(|(path, _)| path.contains("/inductor_output_code_"));
        found.collect::<Vec<_>>()
    };
    let (pages, plain) = (code(CodeStyle::Page), code(CodeStyle::PlainText));
    assert_eq!((pages.len(), plain.len()), (1, 1));
    assert_eq!(pages[0].0.strip_suffix(".html"), plain[0].0.strip_suffix(".txt"));
    let index = &trace.logs[0].index;
    let record = index.records.iter().find(|r| r.kind.is(Kind::InductorOutputCode)).unwrap();
    assert_eq!(trace.payload(0, record.offset).unwrap(), plain[0].1);
    assert!(parse(std::str::from_utf8(&pages[0].1).unwrap()).is_ok());
}

#[test]
fn the_trusted_header_and_the_command_stand_on_the_first_page() {
    let trace = loaded(&data("hello"));
    let options = ReportOptions {
        header_html: "<p id=\"mine\">ours</p>".to_owned(),
        command: "fasttl <logs>".to_owned(),
        ..ReportOptions::default()
    };
    let (_temp, report) = reported(&trace, &options);
    let text = fs::read_to_string(&report.index).unwrap();
    assert!(text.contains("<p id=\"mine\">ours</p>") && text.contains("fasttl &lt;logs&gt;"));
    check_report(&report.out).unwrap();
}

#[test]
fn only_pages_with_the_trusted_header_allow_its_styles_and_scripts() {
    let trace = loaded(&data("hello"));
    let header = "<STYLE>#mine { color: red }</STYLE><script>mine()</script>";
    let options = ReportOptions { header_html: header.to_owned(), ..ReportOptions::default() };
    let (_temp, report) = reported(&trace, &options);
    let (_plain_temp, plain) = reported(&trace, &ReportOptions::default());
    let policy = |text: &str| {
        let (_, rest) = text.split_once("Content-Security-Policy\" content=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let fixed = policy(&fs::read_to_string(&plain.index).unwrap());
    assert!(!fixed.contains("sha256"), "{fixed}");
    for (path, file) in files_below(&report.out).into_iter().filter(|(path, _)| is_page(path)) {
        let text = fs::read_to_string(file).unwrap();
        if text.contains(header) {
            assert_eq!(path, "index.html");
            assert_eq!(policy(&text).matches("&#39;sha256-").count(), 2, "{path}");
        } else {
            assert_eq!(policy(&text), fixed, "{path}");
        }
    }
}

#[test]
fn what_parsers_made_of_records_that_are_not_there_is_left_out() {
    let trace = loaded(&data("hello"));
    let first = trace.logs[0].index.records[0].offset;
    let mut extras = Extras::default();
    for place in [(0, first), (0, first + 1), (7, first)] {
        extras.add_file(place, "mine", "made.txt", b"text", Form::Data).unwrap();
        extras.add_link(place, "mine", &"n".repeat(5000), "https://example.org/made");
    }
    let options = ReportOptions { extras: extras.into(), ..ReportOptions::default() };
    let (_temp, report) = reported(&trace, &options);
    let made: Vec<String> = files_below(&report.out).into_keys().filter(|path| path.contains("made_x")).collect();
    assert_eq!(made.len(), 1, "{made:?}");
    let text = fs::read_to_string(&report.index).unwrap();
    assert_eq!(text.matches("href=\"https://example.org/made\"").count(), 1);
    assert!(!text.contains(&"n".repeat(201)) && text.contains(&format!("{}…", "n".repeat(200))));
    check_report(&report.out).unwrap();
}

#[test]
fn nothing_of_a_log_becomes_markup_or_leaves_the_report() {
    let evil = "</title></script><script>alert(1)</script><img src=x onerror=alert(1)>\\\" onclick=\\\"alert(1)";
    let ids = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";
    let of = |members: String, payload: Option<&str>| record(&format!("{members}, {ids}"), payload.map(str::as_bytes));
    let guards = format!(
        "[{{\"code\": \"{evil}\", \"stack\": [], \"user_stack\": [{{\"line\": 1, \"name\": \"{evil}\", \"filename\": 0, \"loc\": \"{evil}\"}}]}}]"
    );
    let metrics = format!(
        "\"compilation_metrics\": {{\"co_name\": \"{evil}\", \"co_filename\": \"{evil}\", \"fail_type\": \"{evil}\", \
         \"fail_reason\": \"{evil}\", \"fail_user_frame_filename\": \"{evil}\", \"restart_reasons\": [\"{evil}\"], \
         \"recompile_reason\": \"{evil}\", \"{evil}\": \"{evil}\", \"graph_op_count\": 1}}"
    );
    let log = [
        record(&format!("\"str\": [\"{evil}\", 0]"), None),
        of(format!("\"dynamo_start\": {{\"stack\": [{{\"line\": 1, \"name\": \"{evil}\", \"filename\": 0}}]}}"), None),
        of(format!("\"artifact\": {{\"name\": \"{evil}\", \"encoding\": \"string\"}}"), Some(evil)),
        of("\"artifact\": {\"name\": \"/../../../../../../tmp/x\", \"encoding\": \"json\"}".to_owned(), Some("[1]")),
        of(format!("\"dump_file\": {{\"name\": \"{evil}\"}}"), Some(evil)),
        of(format!("\"inductor_output_code\": {{\"filename\": \"{evil}\"}}"), Some(evil)),
        of("\"dynamo_guards\": {}".to_owned(), Some(&guards)),
        of(format!("\"link\": {{\"name\": \"{evil}\", \"url\": \"javascript:alert(1)\"}}"), None),
        of(format!("\"link\": {{\"name\": \"{evil}\", \"url\": \"https://example.org/{evil}\"}}"), None),
        of(format!("\"{evil}\": {{}}"), Some(evil)),
        of(metrics, None),
    ]
    .concat();
    let temp = folder(&[("dedicated_log_torch_trace_<b>.log", &log), ("dedicated_log_torch_trace_2.log", &log)]);
    let trace = loaded(temp.path());
    let out = tempfile::tempdir().unwrap();
    let deep = out.path().join("a/b/c/d/e/f/g/h/out");
    let options = ReportOptions { out: deep.clone(), overwrite: Overwrite::Refuse, ..ReportOptions::default() };
    fasttl_core::report::write_report(&trace, &options, &fasttl_core::job::Job::default()).unwrap();
    let pages = check_report(&deep).unwrap();
    assert!(pages.len() > 10, "{pages:?}");
    assert_eq!(files_below(out.path()).len(), files_below(&deep).len(), "a file outside of the report");
    for (path, file) in files_below(&deep).into_iter().filter(|(path, _)| is_page(path)) {
        let text = fs::read_to_string(file).unwrap();
        let tags = parse(&text).unwrap();
        assert!(tags.iter().all(|tag| tag.name != "img"), "{path}");
        assert_eq!(tags.iter().filter(|tag| tag.name == "script").count(), 1, "{path}");
    }
}

#[test]
fn the_report_of_a_small_log_stays_small() {
    // Many metrics of one compile, each of which could repeat its stack, its files and its guards.
    let ids = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";
    let frame = "{\"line\": 1, \"name\": \"f\", \"filename\": 0, \"loc\": \"x\"}";
    let stack = vec![frame; 400].join(", ");
    let mut log = record(&format!("\"dynamo_start\": {{\"stack\": [{stack}]}}, {ids}"), None);
    for _ in 0..400 {
        log.extend(record(&format!("\"compilation_metrics\": {{\"co_name\": \"f\"}}, {ids}"), None));
    }
    let temp = folder(&[("a.log", &log)]);
    let (_out, report) = reported(&loaded(temp.path()), &ReportOptions::default());
    let bytes: u64 = files_below(&report.out).values().map(|f| fs::metadata(f).unwrap().len()).sum();
    assert!(bytes < 200 * log.len() as u64, "{bytes} bytes from {}", log.len());
}

#[test]
fn every_log_of_a_job_has_a_process_of_its_own_in_the_merged_events() {
    let copy = dated_copy(&data("dist_restart"));
    let trace = loaded(copy.path());
    let (_out, report) = reported(&trace, &ReportOptions::default());
    let events = json(&report.out.join("chromium_events.json"));
    let pids: BTreeSet<i64> = events.as_array().unwrap().iter().map(|e| e["pid"].as_i64().unwrap()).collect();
    assert_eq!(pids.len(), 4, "{pids:?}");
    assert!(pids.contains(&0) && pids.contains(&1));
}

#[test]
fn a_log_that_could_not_be_read_has_a_page_without_dead_links() {
    let good = record("\"artifact\": {\"name\": \"a\", \"encoding\": \"string\"}", Some(b"text"));
    let cut = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0];
    let temp =
        folder(&[("dedicated_log_torch_trace_rank_0.log", &good), ("dedicated_log_torch_trace_rank_1.log.gz", &cut)]);
    let (_out, report) = reported(&loaded(temp.path()), &ReportOptions::default());
    assert!(report.out.join("rank_1/index.html").is_file() && !report.out.join("rank_1/raw.log").exists());
    check_report(&report.out).unwrap();
    assert_eq!(report.messages.len(), 1, "{:?}", report.messages);
}

#[test]
fn inductor_compiles_of_one_id_are_told_apart() {
    // Forward and backward in spans, and what a cache gives back without any.
    let id = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";
    let span = |ph: &str, more: &str| {
        let event = format!(
            "{{\n\"name\": \"inductor_compile\",\n\"ph\": \"{ph}\",\n\"args\": {{\"compile_id\": \"0/0\"{more}}}\n}}"
        );
        record(&format!("\"chromium_event\": {{}}, {id}"), Some(event.as_bytes()))
    };
    let artifact = |name: &str, text: &str| {
        record(
            &format!("\"artifact\": {{\"name\": \"{name}\", \"encoding\": \"string\"}}, {id}"),
            Some(text.as_bytes()),
        )
    };
    let code = record(&format!("\"inductor_output_code\": {{}}, {id}"), Some(b"def call(args):\n    pass"));
    let compiled = |back: bool| {
        [
            span("B", ""),
            artifact("fx_graph_runnable", "x"),
            code.clone(),
            span("E", &format!(", \"is_backward\": {back}")),
        ]
    };
    let cached = |input: &str| {
        let graph = format!("def forward(self, {input}):\n    return ({input},)");
        [artifact("inductor_post_grad_graph", &graph), code.clone(), artifact("fx_graph_cache_hit", "{}")]
    };
    let spans = [compiled(false).concat(), compiled(true).concat()].concat();
    let replay = [cached("primals_1").concat(), cached("tangents_1").concat()].concat();
    for log in [spans, replay] {
        let dir = folder(&[("a.log", &log)]);
        let (_temp, report) = reported(&loaded(dir.path()), &ReportOptions::default());
        let page = fs::read_to_string(&report.index).unwrap();
        let (_, files) = page.split_once("class=\"directory\"").unwrap();
        let (first, second) = (files.find("part 1, forward").unwrap(), files.find("part 2, backward").unwrap());
        assert!(first < second);
        assert!(!files[second..].contains("part 1"));
    }
    // One compile needs no such word.
    let dir = folder(&[("a.log", &compiled(false).concat())]);
    let (_temp, report) = reported(&loaded(dir.path()), &ReportOptions::default());
    assert!(!fs::read_to_string(&report.index).unwrap().contains("part 1"));
}

#[test]
fn a_long_file_name_in_many_stacks_is_cut_on_pages_of_guards_and_metrics() {
    let frame = |n: usize| format!("{{\"filename\": 1, \"line\": {n}, \"name\": \"f\"}}");
    let stack = format!("[{}]", (0..900).map(frame).collect::<Vec<_>>().join(", "));
    let ids = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";
    let name = format!("\"str\": [\"/{}/end_of_name.py\", 1]", "a".repeat(300_000));
    let guard = format!("{{\"code\": \"x\", \"user_stack\": {stack}, \"stack\": {stack}}}");
    let guards = format!("[{}]", vec![guard; 25].join(", "));
    let symbol = format!("\"create_symbol\": {{\"symbol\": \"s0\", \"stack\": {stack}}}, {ids}");
    let mut log = vec![record(&name, None), record(&format!("\"dynamo_start\": {{\"stack\": {stack}}}, {ids}"), None)];
    log.extend((0..20).map(|_| record(&symbol, None)));
    log.push(record(&format!("\"dynamo_guards\": {{}}, {ids}"), Some(guards.as_bytes())));
    log.push(record(&format!("\"compilation_metrics\": {{\"co_name\": \"f\"}}, {ids}"), None));
    let temp = folder(&[("in.log", &log.concat())]);
    let (_temp, report) = reported(&loaded(&temp.path().join("in.log")), &ReportOptions::default());
    let pages: Vec<String> = files_below(&report.out).into_keys().filter(|path| path.starts_with("-_0_0_0/")).collect();
    assert_eq!(pages.len(), 2, "{pages:?}");
    for path in pages {
        let page = fs::read_to_string(report.out.join(&path)).unwrap();
        assert!(
            page.contains("end_of_name.py") && page.contains("this page has no room, raw.jsonl has all)"),
            "{path}"
        );
        assert!(page.len() < 45 << 20, "{path}: {}", page.len());
    }
}
