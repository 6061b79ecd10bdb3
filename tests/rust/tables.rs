//! Whole tables of small real logs, held against snapshots.
//!
//! Paths are cut down to file names; everything else is what the log says, so a difference is a change of meaning.
//! After a wanted one: `INSTA_UPDATE=always cargo test -p fasttl-core --test integration tables`, and read the diff.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use fasttl_core::analysis::{TABLES, describe, table};
use fasttl_core::error::ErrorKind;
use fasttl_core::tables::{SCHEMA_VERSION, Table};

use crate::common::cells::{cell, column};
use crate::common::logs::{data, dated_copy, example, loaded};

/// Columns of `metrics` that say what was compiled and how that went.
const METRICS: [&str; 12] = [
    "file",
    "compile_id",
    "kind",
    "co_name",
    "co_firstlineno",
    "entire_frame_compile_time_s",
    "backend_compile_time_s",
    "graph_op_count",
    "guard_count",
    "fail_type",
    "restart_reasons",
    "recompile_reason",
];

fn redacted(name: &str, text: String) -> String {
    if name == "path" { Path::new(&text).file_name().unwrap().to_string_lossy().into_owned() } else { text }
}

/// Some columns of all rows, a line for each row; all columns where none are named.
pub(crate) fn lines(table: &Table, columns: &[&str], most: usize) -> String {
    let all: Vec<String> = table.columns().into_iter().map(|c| c.name).collect();
    let names: Vec<&str> = if columns.is_empty() { all.iter().map(String::as_str).collect() } else { columns.to_vec() };
    let mut text = format!("## {}: {} rows\n{}\n", table.name, table.batch.num_rows(), names.join(" | "));
    for row in 0..table.batch.num_rows().min(most) {
        let cells: Vec<String> = names.iter().map(|name| redacted(name, cell(column(table, name), row))).collect();
        text += &format!("{}\n", cells.join(" | "));
    }
    text
}

/// All columns of all rows, a line for each cell: for wide tables.
pub(crate) fn blocks(table: &Table) -> String {
    let mut text = format!("## {}: {} rows\n", table.name, table.batch.num_rows());
    for row in 0..table.batch.num_rows() {
        text += &format!("row {row}\n");
        for field in table.columns() {
            text += &format!("  {}: {}\n", field.name, cell(column(table, &field.name), row));
        }
    }
    text
}

/// Records by file and kind.
fn counts(table: &Table) -> String {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for row in 0..table.batch.num_rows() {
        let key = |name| cell(column(table, name), row);
        *counts.entry((key("file"), key("kind"))).or_default() += 1;
    }
    let mut text = format!("## records: {} rows\n", table.batch.num_rows());
    for ((file, kind), count) in counts {
        text += &format!("{file} | {kind} | {count}\n");
    }
    text
}

/// What all tables say of a folder of logs.
fn tables_of(folder: &Path) -> String {
    let copy = dated_copy(folder);
    let trace = loaded(copy.path());
    let get = |name| table(&trace, name).unwrap();
    [
        lines(&get("files"), &[], usize::MAX),
        lines(&get("problems"), &[], usize::MAX),
        blocks(&get("frames")),
        counts(&get("records")),
        lines(&get("artifacts"), &["file", "compile_id", "name", "encoding", "bytes", "md5"], usize::MAX),
        lines(&get("metrics"), &METRICS, usize::MAX),
        lines(&get("strings"), &["file", "id", "text"], usize::MAX),
        lines(
            &get("stacks"),
            &["file", "compile_id", "kind", "stack", "position", "file_name", "line", "function", "source"],
            30,
        ),
    ]
    .join("\n")
}

#[test]
fn real_logs() {
    let logs = ["hello", "fail_backend", "killed", "killed_between", "processes", "dist_restart", "export_draft_guard"];
    let mut folders: Vec<(&str, PathBuf)> = logs.into_iter().map(|name| (name, data(name))).collect();
    folders.push(("crash_3_ranks", example()));
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, folder) in folders {
            insta::assert_snapshot!(name, tables_of(&folder));
        }
    });
}

#[test]
fn every_table_says_what_it_is() {
    let copy = dated_copy(&data("hello"));
    let trace = loaded(copy.path());
    for def in TABLES {
        let built = (def.build)(&trace).unwrap();
        assert_eq!(built.name, def.name);
        let schema = built.batch.schema();
        assert_eq!(schema.metadata().get("schema_version").map(String::as_str), Some(SCHEMA_VERSION));
        assert_eq!(schema.metadata().get("table").map(String::as_str), Some(def.name));
        // The columns do not depend on the rows.
        assert_eq!(built.columns(), describe(def.name).unwrap());
        for column in built.columns() {
            assert!(column.about.ends_with('.'), "{}.{} has no meaning: {:?}", def.name, column.name, column.about);
        }
        let mut names: Vec<String> = built.columns().into_iter().map(|c| c.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), built.columns().len(), "a column of {} stands twice", def.name);
    }
}

#[test]
fn a_wrong_name_lists_the_right_ones() {
    let error = describe("frame").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Option);
    assert!(error.to_string().contains("frames"), "{error}");
}

#[test]
fn payloads_are_those_that_the_artifacts_name() {
    let trace = loaded(&data("hello"));
    let artifacts = table(&trace, "artifacts").unwrap();
    for row in 0..artifacts.batch.num_rows() {
        let offset = column(&artifacts, "offset").as_primitive::<UInt64Type>().value(row);
        let text = trace.payload(0, offset).unwrap();
        assert_eq!(text.len().to_string(), cell(column(&artifacts, "bytes"), row));
        let md5 = cell(column(&artifacts, "md5"), row);
        assert_eq!(trace.payload_by_md5(&md5).unwrap().as_deref(), Some(&text[..]));
        assert!(trace.head(0, offset).unwrap().contains(&md5));
    }
    assert_eq!(trace.payload(0, 1).unwrap_err().kind, ErrorKind::Option);
    assert_eq!(trace.payload(9, 0).unwrap_err().kind, ErrorKind::Option);
    assert_eq!(trace.payload_by_md5("short").unwrap_err().kind, ErrorKind::Option);
    assert_eq!(trace.payload_by_md5(&"0".repeat(32)).unwrap(), None);
}
