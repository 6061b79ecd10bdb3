//! Logs of the repository, logs made on the spot, and short ways to load them and to write their reports.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fasttl_core::error::Result;
use fasttl_core::format::payload::{md5, md5_hex};
use fasttl_core::job::{Job, on_pool};
use fasttl_core::report::{Report, ReportOptions, write_report};
use fasttl_core::trace::{LoadOptions, Trace, load};
use tempfile::TempDir;

/// Real logs of `tests/data` that all tests of tables and reports go over.
pub(crate) const REAL: [&str; 11] = [
    "hello",
    "unusual",
    "fail_backend",
    "killed",
    "killed_between",
    "processes",
    "dist_many_rank_0",
    "dist_restart",
    "export_draft",
    "export_draft_guard",
    "provenance",
];

/// A folder of the repository, from its root.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A folder of `tests/data`.
pub(crate) fn data(name: &str) -> PathBuf {
    repository("tests/data").join(name)
}

/// The job of three ranks in `examples`.
pub(crate) fn example() -> PathBuf {
    repository("examples/crash_3_ranks")
}

/// A record as PyTorch writes it. `members` is the head without its braces; the md5 of a payload is added.
pub(crate) fn record(members: &str, payload: Option<&[u8]>) -> Vec<u8> {
    record_at("1129 23:59:59.000001", members, payload)
}

/// The same, at a wall time.
pub(crate) fn record_at(time: &str, members: &str, payload: Option<&[u8]>) -> Vec<u8> {
    let mut out = format!("V{time} 4242 torch/_dynamo/utils.py:7] {{{members}").into_bytes();
    if let Some(text) = payload {
        let comma = if members.is_empty() { "" } else { ", " };
        out.extend_from_slice(format!("{comma}\"has_payload\": \"{}\"", md5_hex(md5(text))).as_bytes());
    }
    out.extend_from_slice(b"}\n");
    if let Some(text) = payload {
        for line in text.split(|&b| b == b'\n') {
            out.push(b'\t');
            out.extend_from_slice(line);
            out.push(b'\n');
        }
    }
    out
}

/// A log of two records that belong to `rank`.
pub(crate) fn small_log(rank: Option<i32>, time: &str) -> Vec<u8> {
    let rank = rank.map_or(String::new(), |rank| format!(", \"rank\": {rank}"));
    let ids = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";
    let artifact = format!("\"artifact\": {{\"name\": \"a\", \"encoding\": \"string\"}}{rank}, {ids}");
    let start = format!("\"dynamo_start\": {{\"stack\": []}}{rank}, {ids}");
    [record_at(time, &start, None), record_at(time, &artifact, Some(b"text"))].concat()
}

/// A folder of its own, with files in it.
pub(crate) fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// A copy of a folder of logs in which all files were written last at one moment of November 30, 2026: the year
/// of a log that does not tell it is that of its file.
pub(crate) fn dated_copy(from: &Path) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    for path in files_below(from).into_keys() {
        let copy = to.path().join(&path);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::write(&copy, fs::read(from.join(&path)).unwrap()).unwrap();
        set_modified(&copy, SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_000_000));
    }
    to
}

/// Sets when a file was written last.
pub(crate) fn set_modified(path: &Path, time: SystemTime) {
    File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Loads as the command does, on two threads.
pub(crate) fn load_paths(paths: &[PathBuf], options: &LoadOptions) -> Result<Trace> {
    on_pool(NonZeroUsize::new(2), || load(paths, options, &Job::default()))
}

/// Loads one path that must load.
pub(crate) fn loaded(path: &Path) -> Trace {
    load_paths(&[path.to_owned()], &LoadOptions::default()).unwrap()
}

/// Writes a report that must be written, to a folder `out` in a new one.
pub(crate) fn reported(trace: &Trace, options: &ReportOptions) -> (TempDir, Report) {
    let temp = tempfile::tempdir().unwrap();
    let options = ReportOptions { out: temp.path().join("out"), ..options.clone() };
    let report = on_pool(NonZeroUsize::new(2), || write_report(trace, &options, &Job::default())).unwrap();
    (temp, report)
}

/// All files below a folder, by their paths from there with `/` between the parts. Links are not followed.
pub(crate) fn files_below(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                folders.push(path);
            } else {
                let parts: Vec<_> = path.strip_prefix(folder).unwrap().iter().map(|p| p.to_string_lossy()).collect();
                found.insert(parts.join("/"), path);
            }
        }
    }
    found
}

/// A trace of one log with these bytes, and the folder that holds it.
pub(crate) fn log_of(bytes: &[u8]) -> (TempDir, Trace) {
    let folder = folder(&[("dedicated_log_torch_trace_aaaaaaaa.log", bytes)]);
    let trace = loaded(folder.path());
    (folder, trace)
}
