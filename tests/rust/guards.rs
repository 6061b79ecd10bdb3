//! Tables `guards`, `guard_sets` and `symbols`: of real logs held against snapshots, and of odd ones made here.

use fasttl_core::analysis::table;
use fasttl_core::format::guards::comment;
use fasttl_core::format::guards::ids::without_ids;
use fasttl_core::format::guards::parse;
use fasttl_core::tables::Table;
use fasttl_core::trace::Trace;
use proptest::prelude::*;

use crate::common::cells::{cell, column};
use crate::common::logs::{data, dated_copy, folder, loaded, record};
use crate::properties::cases;
use crate::tables::{blocks, lines};

const IDS: &str = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";

/// The trace of a log of these records.
fn log_of(records: &[Vec<u8>]) -> Trace {
    let temp = folder(&[("in.log", &records.concat())]);
    loaded(&temp.path().join("in.log"))
}

/// A record with a tree of guards.
fn tree(text: &str) -> Vec<u8> {
    record(&format!("\"dynamo_cpp_guards_str\": {{}}, {IDS}"), Some(text.as_bytes()))
}

/// All cells of a column.
fn cells(table: &Table, name: &str) -> Vec<String> {
    (0..table.batch.num_rows()).map(|row| cell(column(table, name), row)).collect()
}

/// The hashes of the sets of guards that these texts have.
fn hashes(texts: &[&str]) -> Vec<String> {
    let records: Vec<Vec<u8>> = texts.iter().map(|text| tree(text)).collect();
    cells(&table(&log_of(&records), "guard_sets").unwrap(), "set_md5")
}

#[test]
fn real_logs() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for name in ["hello", "processes"] {
            let copy = dated_copy(&data(name));
            let trace = loaded(copy.path());
            let get = |name| table(&trace, name).unwrap();
            let text = [lines(&get("guard_sets"), &[], usize::MAX), lines(&get("guards"), &[], 40)].join("\n");
            insta::assert_snapshot!(format!("guards_{name}"), text);
        }
        for name in ["export_draft", "processes"] {
            let copy = dated_copy(&data(name));
            insta::assert_snapshot!(
                format!("symbols_{name}"),
                blocks(&table(&loaded(copy.path()), "symbols").unwrap())
            );
        }
    });
}

#[test]
fn guards_that_say_the_same_again_are_duplicates() {
    let text = "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['x']\n| | +- A: 1\n| | +- A: 1  # z\n\
                | | +- B: 1\n| | +- A: 2\n| | +- C\n| | +- C\n| +- GuardManager: source=L['y']\n| | +- A: 1\n+- A: 1";
    let trace = log_of(&[tree(text), tree(text)]);
    let guards = table(&trace, "guards").unwrap();
    let once = ["false", "true", "false", "false", "false", "false", "false", "false"];
    // Each record by itself.
    assert_eq!(cells(&guards, "duplicate"), [once, once].concat());
    let sets = table(&trace, "guard_sets").unwrap();
    assert_eq!(cells(&sets, "guards"), ["8", "8"]);
    assert_eq!(cells(&sets, "managers"), ["3", "3"]);
    assert_eq!(cells(&sets, "duplicates"), ["1", "1"]);
}

#[test]
fn sets_are_equal_up_to_order_and_ids() {
    let x = "| +- GuardManager: source=L['x'], accessed_by=A(1)\n| | +- ID_MATCH: ___check_obj_id(L['x'], 139813556720544)  # f()  # a.py:1 in f\n";
    let moved =
        "| +- GuardManager: source=L['x'], accessed_by=A(2)\n| | +- ID_MATCH: ___check_obj_id(L['x'], 94262915506)\n";
    let y = "| +- GuardManager: source=L['y']\n| | +- LENGTH_CHECK: len(L['y']) == 6\n";
    let longer = "| +- GuardManager: source=L['y']\n| | +- LENGTH_CHECK: len(L['y']) == 7\n";
    let same = [
        format!("+- RootGuardManager\n{x}{y}\nGuard latency = 1.00 us"),
        format!("+- RootGuardManager\n{y}{moved}{x}\nGuard latency = 2.00 us"),
    ];
    let other = [
        format!("{x}{longer}"),
        x.to_owned(),
        y.replace("LENGTH_CHECK", "DICT_LENGTH"),
        y.replace("=L['y']", "=L['z']"),
    ];
    let texts: Vec<&str> = same.iter().chain(&other).map(String::as_str).collect();
    let hashes = hashes(&texts);
    assert_eq!(hashes[0], hashes[1]);
    let mut different = hashes[1..].to_vec();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), 5);
}

#[test]
fn a_guard_on_several_values_stands_at_the_first_of_them() {
    let of = |first: &str, second: &str| {
        format!(
            "+- RootGuardManager\n| +- GuardManager: source={first}\n| | +- NO_ALIASING: check(a, b)\n\
             | +- GuardManager: source={second}\n| | +- NO_ALIASING\n"
        )
    };
    let hashes = hashes(&[&of("a", "b"), &of("b", "a")]);
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn a_list_of_guards_has_stacks() {
    let list = r#"[
{"code": "a is b", "stack": null, "user_stack": [{"line": 7, "name": "f", "filename": 3}, {"line": null, "filename": 9}]},
{"code": "a is b", "stack": [{"line": 1, "name": "g", "filename": 3}], "user_stack": []},
5
]"#;
    let named = record(&format!("\"dynamo_guards\": {{}}, {IDS}"), Some(list.as_bytes()));
    let trace = log_of(&[record("\"str\": [\"a.py\", 3]", None), named]);
    let guards = table(&trace, "guards").unwrap();
    assert_eq!(cells(&guards, "code"), ["a is b", "a is b", "5"]);
    assert_eq!(cells(&guards, "duplicate"), ["false", "true", "false"]);
    assert_eq!(cells(&guards, "user_stack"), ["[a.py:7 in f; (unknown):? in (unknown)]", "[]", "-"]);
    assert_eq!(cells(&guards, "framework_stack"), ["-", "[a.py:1 in g]", "-"]);
    assert_eq!(cells(&guards, "kind"), ["-", "-", "-"]);
    let sets = table(&trace, "guard_sets").unwrap();
    let row = |name| cells(&sets, name).join("");
    assert_eq!([row("guards"), row("managers"), row("duplicates"), row("latency_us")], ["3", "-", "1", "-"]);
}

#[test]
fn a_lost_payload_is_not_an_empty_one() {
    let head = format!("\"dynamo_cpp_guards_str\": {{}}, {IDS}, \"has_payload\": \"d41d8cd98f00b204e9800998ecf8427e\"");
    let trace = log_of(&[record(&head, None), tree(""), record(&format!("\"dynamo_guards\": {{}}, {IDS}"), None)]);
    let sets = table(&trace, "guard_sets").unwrap();
    assert_eq!(cells(&sets, "guards"), ["-", "0", "-"]);
    assert_eq!(cells(&sets, "managers"), ["-", "0", "-"]);
    assert_eq!(cells(&sets, "set_md5"), ["-", "d41d8cd98f00b204e9800998ecf8427e", "-"]);
    assert_eq!(table(&trace, "guards").unwrap().batch.num_rows(), 0);
}

#[test]
fn damaged_guards_are_kept() {
    let bytes = record(&format!("\"dynamo_cpp_guards_str\": {{}}, {IDS}"), Some(b"+- A: caf\xc3 == 1\nodd\n+- B: x"));
    let guards = table(&log_of(&[bytes]), "guards").unwrap();
    assert_eq!(cells(&guards, "code"), ["caf\u{fffd} == 1\\nodd", "x"]);
}

#[test]
fn symbols_of_odd_records() {
    let fact = |kind: &str, meta: &str| record(&format!("\"{kind}\": {meta}, {IDS}"), None);
    let frames = r#"[{"line": 1, "name": "f", "filename": 1, "loc": "x"}, {"line": 2, "name": "g", "filename": 2}]"#;
    let trace = log_of(&[
        record("\"str\": [\"/home/a.py\", 1]", None),
        record("\"str\": [\"/lib/site-packages/torch/b.py\", 2]", None),
        fact("create_symbol", &format!("{{\"symbol\": 3, \"val\": \"4\", \"vr\": \"\", \"stack\": {frames}}}")),
        fact(
            "guard_on_data_dependent_error",
            "{\"expr\": \"u0 > 2\", \"unhinted_expr\": \"u0 > s1\", \"expr_id\": null}",
        ),
        fact("propagate_real_tensors", "{\"expr\": \"u0 > 2\", \"result\": \"True\", \"user_stack\": null}"),
        fact("symbolic_shape_specialization", "7"),
        fact("expression_created", "{\"argument_ids\": [5, null], \"arguments\": {}, \"user_stack\": [3]}"),
    ]);
    let symbols = table(&trace, "symbols").unwrap();
    let all = |name| cells(&symbols, name);
    assert_eq!(all("fact"), ["created", "data dependent", "propagated", "specialized", "expression"]);
    assert_eq!(all("symbol"), ["-"; 5]);
    assert_eq!(all("value"), ["4", "-", "True", "-", "-"]);
    assert_eq!(all("unhinted"), ["-", "u0 > s1", "-", "-", "-"]);
    assert_eq!(all("range"), ["-"; 5]);
    assert_eq!(all("node_id"), ["-"; 5]);
    assert_eq!(all("argument_ids"), ["-", "-", "-", "-", "[5; -]"]);
    assert_eq!(all("user_file"), ["/home/a.py", "-", "-", "-", "-"]);
    assert_eq!(all("user_code"), ["x", "-", "-", "-", "-"]);
    assert_eq!(all("user_stack"), ["-", "-", "-", "-", "[(unknown):? in (unknown)]"]);
}

/// Pieces of the grammar, and what is near to it.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "\n",
        "| ",
        "+- ",
        "+-",
        "KIND",
        "RootGuardManager",
        "GuardManager: ",
        "KeyManager: ",
        "source=",
        "L['x']",
        ", accessed_by=",
        ", type=",
        ", tag_safe=(",
        ": ",
        ":",
        "  # ",
        "a.py:3 in f",
        ":7 in ",
        "<",
        " (",
        "(HINT: ",
        ")",
        " and ",
        "'",
        "\"",
        "\\",
        "é",
        "12345678901234",
        "___check_",
        "0x1f",
        "TREE_GUARD_MANAGER:",
        "Guard latency = ",
        "0.00",
        " us",
        " ",
        "\r",
        "\t",
    ])
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_text_is_read_and_none_is_lost(pieces in prop::collection::vec(piece(), 0..60)) {
        let text = pieces.concat();
        let tree = parse(&text);
        let begins = |line: &&str| line.trim_start_matches("| ").starts_with("+- ");
        let nodes = text.trim_end().split('\n').filter(|line| begins(line)).count() as u64;
        let leaves = tree.guards.iter().filter(|guard| guard.depth.is_some()).count() as u64;
        // A node whose text is blank at the end of all goes with it.
        prop_assert!(tree.managers + leaves == nodes, "{text:?}: {tree:?}");
        // The leaves stand in the text, in their order.
        let mut at = 0;
        for guard in &tree.guards {
            for part in [guard.kind, guard.code, guard.comment].into_iter().flatten() {
                let found = text[at..].find(part);
                prop_assert!(found.is_some(), "{part:?} is not in {:?}", &text[at..]);
                at += found.unwrap_or_default() + part.len();
            }
            if let Some(said) = guard.comment {
                let comment = comment::parse(said);
                for part in comment.user.map(|place| place.file).into_iter().chain(comment.framework).chain(comment.hint) {
                    prop_assert!(said.contains(part));
                }
            }
            let code = guard.code.unwrap_or_default();
            prop_assert!(without_ids(code).len() <= code.len());
        }
        // Each letter that is no grammar belongs to a guard or a manager.
        let kept: usize = tree.guards.iter().flat_map(|g| [g.code, g.comment]).flatten().map(|t| t.matches('é').count()).sum();
        let managers = text.split('\n').any(|line| line.contains("Manager"));
        prop_assert!(managers || kept == text.matches('é').count(), "{text:?}: {tree:?}");
    }
}
