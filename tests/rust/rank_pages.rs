//! The pages over ranks: what differs is named first, pictures are small and whole, texts stand side by side.

use std::fs;

use fasttl_core::report::ReportOptions;

use crate::common::html::{check_report, parse};
use crate::common::logs::{example, folder, loaded, record_at, reported};

/// A compile of a rank as PyTorch logs it: start, graph, guards, metrics.
fn compile(rank: usize, frame: usize, name: &str, graph: &str) -> Vec<u8> {
    let second = frame % 60;
    let time = |part: usize| format!("1129 10:00:{second:02}.{part:06}");
    let of = |part: usize, members: &str, payload: Option<&[u8]>| {
        let ids = format!("\"frame_id\": {frame}, \"frame_compile_id\": 0, \"attempt\": 0, \"rank\": {rank}");
        record_at(&time(part), &format!("{members}, {ids}"), payload)
    };
    let metrics = format!(
        "\"compilation_metrics\": {{\"co_name\": \"{name}\", \"co_filename\": \"/job/model.py\", \"co_firstlineno\": {frame}, \
         \"graph_op_count\": 2, \"graph_node_count\": 4, \"entire_frame_compile_time_s\": 0.5}}"
    );
    let sizes = "\"sizes\": {\"l_x_\": [8, 4]}";
    [
        of(1, "\"dynamo_start\": {\"stack\": []}", None),
        of(2, &format!("\"dynamo_output_graph\": {{{sizes}}}"), Some(graph.as_bytes())),
        of(3, &metrics, None),
    ]
    .concat()
}

/// A graph with `middle` between its first and its last lines.
fn graph(middle: &str) -> String {
    let op = |n: usize| format!("        v{n}: \"f32[8, 4]\" = torch.relu(l_x_);  l_x_ = None\n");
    let many: String = (0..20).map(op).collect();
    format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self, L_x_: \"f32[8, 4]\"):\n        l_x_ = L_x_\n{many}{middle}        return (v0,)\n"
    )
}

/// Ranks with the compiles that `of` gives each.
fn job(ranks: usize, of: impl Fn(usize) -> Vec<u8>) -> tempfile::TempDir {
    let logs: Vec<(String, Vec<u8>)> =
        (0..ranks).map(|rank| (format!("dedicated_log_torch_trace_rank_{rank}_abcdefgh.log"), of(rank))).collect();
    folder(&logs.iter().map(|(name, log)| (name.as_str(), log.as_slice())).collect::<Vec<_>>())
}

/// Four compiles; rank 200 has another operation in the third, rank 77 a fifth.
fn one_in_five_hundred(rank: usize) -> Vec<u8> {
    let same = graph("        w = torch.sin(v0)\n");
    let other = graph("        w = torch.cos(v0)\n");
    let text = |frame: usize| if (rank, frame) == (200, 2) { &other } else { &same };
    (0..4 + usize::from(rank == 77)).flat_map(|frame| compile(rank, frame, "layer", text(frame))).collect()
}

#[test]
fn the_pages_of_five_hundred_ranks_are_small_and_name_the_odd_ones() {
    let logs = job(512, one_in_five_hundred);
    let (_temp, report) = reported(&loaded(logs.path()), &ReportOptions::default());
    let pages = check_report(&report.out).unwrap();
    let landing = fs::read_to_string(&report.index).unwrap();
    assert!(landing.len() < 1_000_000, "{}", landing.len());
    let all = fs::read_to_string(report.out.join("ranks.html")).unwrap();
    assert!(all.len() < 2_000_000, "{}", all.len());
    // Ranks that are alike are one row, the others one each.
    assert!(landing.contains("ranks 0–76, 78–199, 201–511 (510 ranks)"), "{landing}");
    for (rank, text) in [(77, "compiles: 4/0"), (200, "graph: 2/0")] {
        assert!(
            landing.contains(&format!("rank {rank}</a><span class=\"n\">{text}")),
            "rank {rank} has no row of its own"
        );
    }
    let strips = |page: &str| page.matches("<svg class=\"strip\" width").count();
    // Three rows and eight marks in the legend; and here one for each rank.
    assert_eq!(strips(&landing), 3 + 8);
    assert_eq!(strips(&all), 3 + 8 + 512);
    for rank in 0..512 {
        assert!(pages["ranks.html"].contains(&format!("rank_{rank}/index.html")), "rank {rank} is not linked");
    }
    // The graphs of rank 200 and of the others stand side by side.
    let diff = fs::read_to_string(report.out.join("diff/1.html")).unwrap();
    assert!(diff.contains("torch.<mark>sin</mark>(v0)") && diff.contains("torch.<mark>cos</mark>(v0)"), "{diff}");
    assert!(diff.contains("<summary>20 equal lines</summary>"), "{diff}");
    assert!(pages["index.html"].contains(&"diff/1.html".to_owned()));
    for lead in ["index.html", "fasttl/app.css"] {
        assert!(pages["diff/1.html"].contains(&lead.to_owned()), "{lead}");
    }
    assert!(pages["diff/1.html"].iter().any(|to| to.starts_with("rank_200/")), "{:?}", pages["diff/1.html"]);
}

#[test]
fn no_text_of_a_log_becomes_markup_in_a_picture_or_beside_another() {
    let evil = "</title></svg></td><script>alert(1)</script><img src=x onerror=alert(1)>";
    let text = |rank: usize| graph(&format!("        {} {evil}\n", if rank == 2 { "x = 1" } else { "x = 2" }));
    let logs = job(3, |rank| compile(rank, 0, evil, &text(rank)));
    let (_temp, report) = reported(&loaded(logs.path()), &ReportOptions::default());
    let pages = check_report(&report.out).unwrap();
    assert!(pages.contains_key("ranks.html") && pages.contains_key("diff/1.html"), "{:?}", pages.keys());
    for page in ["index.html", "ranks.html", "diff/1.html"] {
        let page_text = fs::read_to_string(report.out.join(page)).unwrap();
        let tags = parse(&page_text).unwrap();
        assert_eq!(tags.iter().filter(|tag| tag.name == "script").count(), 1, "{page}");
        assert!(tags.iter().all(|tag| tag.name != "img"), "{page}");
    }
    let diff = fs::read_to_string(report.out.join("diff/1.html")).unwrap();
    assert!(diff.contains("x = <mark>2</mark>") && diff.contains("x = <mark>1</mark>"), "{diff}");
}

#[test]
fn findings_come_first_and_what_they_say_is_not_said_again() {
    let (_temp, report) = reported(&loaded(&example()), &ReportOptions::default());
    check_report(&report.out).unwrap();
    let page = fs::read_to_string(&report.index).unwrap();
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not on the page"));
    let order = [
        "id=\"findings\"",
        "id=\"ran\"",
        "id=\"divergence\"",
        "id=\"strip\"",
        "id=\"timeline\"",
        "id=\"agree\"",
        "id=\"ranks\"",
    ];
    let places: Vec<usize> = order.iter().map(|text| at(text)).collect();
    assert!(places.is_sorted(), "{places:?}");
    // The failure of rank 1 is a finding; a note would say it twice.
    assert!(at("out of memory on rank 1") < at("id=\"ran\""));
    assert!(!page.contains("Compiles failed on"), "the failure is said twice");
}

#[test]
fn ranks_that_agree_are_one_row_and_have_nothing_to_compare() {
    let logs = job(5, |rank| compile(rank, 0, "layer", &graph("")));
    let (_temp, report) = reported(&loaded(logs.path()), &ReportOptions::default());
    let pages = check_report(&report.out).unwrap();
    let page = fs::read_to_string(&report.index).unwrap();
    assert!(page.contains("ranks 0–4 (5 ranks)") && !page.contains("id=\"divergence\""));
    assert!(!pages.keys().any(|page| page.starts_with("diff/")), "{:?}", pages.keys());
    // One log alone has no page of ranks.
    let alone = job(1, |rank| compile(rank, 0, "layer", &graph("")));
    let (_temp, report) = reported(&loaded(alone.path()), &ReportOptions::default());
    assert!(!report.out.join("ranks.html").exists());
}
