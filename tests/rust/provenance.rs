//! Pages that tie graphs to generated code: which there are, what belongs together on them, and that no mapping
//! breaks them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use fasttl_core::report::{Provenance, ReportOptions};

use crate::common::html::{check_report, parse};
use crate::common::logs::{data, folder, loaded, record, reported};

const PAGE: &str = "provenance_tracking_-_0_0_0.html";

fn standard() -> ReportOptions {
    ReportOptions { provenance: Provenance::Standard, ..ReportOptions::default() }
}

fn pages_of(out: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("provenance_tracking_")).collect()
}

/// The lines of a page that belong to others: id, and the ids of these.
fn ties(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let tags = parse(page).unwrap();
    let tied = tags.iter().filter_map(|tag| Some((tag.get("id")?, tag.get("data-to")?)));
    tied.map(|(id, to)| (id.to_owned(), to.split(' ').map(str::to_owned).collect())).collect()
}

/// The text of a line, by its id.
fn line<'p>(page: &'p str, id: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("id=\"{id}\"")).unwrap();
    rest.split_once('\n').unwrap().0.rsplit_once('>').unwrap().1.trim()
}

#[test]
fn forward_and_backward_are_kept_apart() {
    let (_temp, report) = reported(&loaded(&data("provenance")), &ReportOptions::default());
    assert_eq!(pages_of(&report.out), BTreeSet::from([PAGE.to_owned()]));
    let page = fs::read_to_string(report.out.join(PAGE)).unwrap();
    assert!(page.contains("Part 1 of 2, forward") && page.contains("Part 2 of 2, backward"));
    assert!(page.contains("4 kernels."));
    let ties = ties(&page);
    // The backward's mapping is empty: none of its lines may have the forward's.
    assert!(ties.iter().all(|(from, to)| from.starts_with("p1") && to.iter().all(|id| id.starts_with("p1"))));
    let (sigmoid, to) = ties.iter().find(|(id, _)| line(&page, id).starts_with("sigmoid: ")).unwrap();
    let texts: BTreeSet<&str> = to.iter().map(|id| line(&page, id)).collect();
    assert!(texts.contains("cpp_fused_sigmoid_0(buf1)"), "{sigmoid}: {texts:?}");
    assert!(texts.iter().any(|t| t.starts_with("h: ")) && texts.len() == 3, "{sigmoid}: {texts:?}");
    let addmm: Vec<&str> =
        ties.keys().map(|id| line(&page, id)).filter(|t| t.starts_with("extern_kernels.addmm(")).collect();
    assert_eq!(addmm.len(), 2);
    for (from, to) in &ties {
        for id in to {
            assert!(ties[id].contains(from), "{from} names {id}, which does not name it");
            assert_ne!(from.split_once('L').unwrap().0, id.split_once('L').unwrap().0, "a tie within one text");
        }
    }
    check_report(&report.out).unwrap();
}

#[test]
fn the_standard_report_has_a_page_for_each_id() {
    let (_temp, report) = reported(&loaded(&data("provenance")), &standard());
    assert_eq!(pages_of(&report.out), BTreeSet::from([PAGE.to_owned(), "provenance_tracking_-_-_-_-.html".to_owned()]));
    check_report(&report.out).unwrap();
    // Without a mapping there are the texts alone, and only where they are asked for.
    let hello = loaded(&data("hello"));
    let (_temp, report) = reported(&hello, &standard());
    let page = fs::read_to_string(report.out.join(PAGE)).unwrap();
    assert!(page.contains("The log does not say how the lines of these texts belong together."));
    assert!(ties(&page).is_empty());
    let (_temp, report) = reported(&hello, &ReportOptions::default());
    assert!(pages_of(&report.out).is_empty());
}

const IDS: &str = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";

fn artifact(name: &str, encoding: &str, text: &str) -> Vec<u8> {
    let members = format!("\"artifact\": {{\"name\": \"{name}\", \"encoding\": \"{encoding}\"}}, {IDS}");
    record(&members, Some(text.as_bytes()))
}

/// A log of one Inductor compile with a mapping of one's own.
fn log(post: &str, code: &str, mapping: &str) -> Vec<u8> {
    [
        artifact(
            "before_pre_grad_graph",
            "string",
            "def forward(self, x):\n    h = sin(x)  # </pre><img src=x onerror=alert(1)>\n",
        ),
        artifact("inductor_post_grad_graph", "string", post),
        record(&format!("\"inductor_output_code\": {{\"filename\": \"/c/k.py\"}}, {IDS}"), Some(code.as_bytes())),
        artifact("inductor_provenance_tracking_node_mappings", "json", mapping),
    ]
    .concat()
}

const POST: &str = "def forward(self, x):\n    sin: \"f32[8]\" = aten.sin(x)  # </script>\n";
const CODE: &str = "# AOT ID: ['0_inference']\n# [Provenance debug handles] k_0:1\nk_0(x)  # <b>\n";

fn page_of(log: &[u8]) -> String {
    let folder = folder(&[("in.log", log)]);
    let (_temp, report) = reported(&loaded(folder.path()), &ReportOptions::default());
    check_report(&report.out).unwrap();
    fs::read_to_string(report.out.join(PAGE)).unwrap()
}

#[test]
fn a_wrong_mapping_loses_only_itself() {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let good = "\"cppCodeToPost\": {\"k_0:1\": [\"sin\"]}";
    for (mapping, words) in [
        (format!("{{{good}, \"preToPost\": [1]}}"), "preToPost is no object of names"),
        (format!("{{\"preToPost\": {{\"h\": NaN}}, {good}}}"), "is no list"),
        (format!("{{\"postToPre\": {{\"sin\": [{deep}]}}, {good}}}"), "something that is no name"),
        (
            format!("{{{good}, \"postToPre\": {{\"sin\": [\"</script>\"]}}}}"),
            "“&lt;/script&gt;”, which the pre-grad graph lacks",
        ),
        (format!("{{{good}, \"preToPost\": {{\"h\": [\"sin\""), "cannot be read further"),
    ] {
        let page = page_of(&log(POST, CODE, &mapping));
        assert!(page.contains(words), "{words}: {page}");
        let ties = ties(&page);
        assert!(ties["p1t2L2"].contains("p1t3L3") && ties["p1t3L3"].contains("p1t2L2"), "{words}: {ties:?}");
    }
    let page = page_of(&log(POST, CODE, "{\"cppCodeToPost\": {\"k_0:1\": [\"gone\"], \"k_7\": [\"sin\"]}}"));
    assert!(page.contains("Kernel “k_0:1” names a node that the graph lacks: “gone”."), "{page}");
    assert!(page.contains("Kernel “k_7” does not occur in the code."), "{page}");
    for mapping in ["", "[]", "null", "{\"version\": 2.0}", "no JSON"] {
        let folder = folder(&[("in.log", &log(POST, CODE, mapping))]);
        let (_temp, report) = reported(&loaded(folder.path()), &standard());
        check_report(&report.out).unwrap();
        let page = fs::read_to_string(report.out.join(PAGE)).unwrap();
        assert!(ties(&page).is_empty() && page.contains("k_0(x)"), "{mapping}");
    }
}

#[test]
fn releases_before_the_mapping_have_its_halves() {
    let mut log = log(POST, "k_0(x)\n", "");
    log.extend(artifact("inductor_triton_kernel_to_post_grad_nodes", "json", "{\"k_0\": [\"sin\"]}"));
    let origins = "{\"sin\": [{\"name\": \"h\", \"from_node\": [], \"graph_id\": 7}]}";
    log.extend(artifact("inductor_post_to_pre_grad_nodes", "json", origins));
    let ties = ties(&page_of(&log));
    assert_eq!(ties["p1t3L1"], BTreeSet::from(["p1t1L2".to_owned(), "p1t2L2".to_owned()]));
}

#[test]
fn a_huge_graph_makes_a_bounded_page() {
    let lines: Vec<String> = (0..100_000).map(|n| format!("    n{n} = aten.sin(x)\n")).collect();
    let lines = lines.concat();
    let names: Vec<String> = (0..100_000).map(|n| format!("\"n{n}\"")).collect();
    let few = page_of(&log(&lines, CODE, "{\"cppCodeToPost\": {\"k_0:1\": [\"n50000\"]}}"));
    assert!(few.len() < 100_000 && few.contains("lines left out"), "{}", few.len());
    assert!(ties(&few)["p1t3L3"].contains("p1t2L50001"));
    let all = page_of(&log(&lines, CODE, &format!("{{\"cppCodeToPost\": {{\"k_0:1\": [{}]}}}}", names.join(","))));
    assert!(all.len() < 4_000_000 && all.contains("lines are shown; the file has all"), "{}", all.len());
}
