//! How a report is written: with little memory, with shared files, with or without the logs. What it says is the same.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fasttl_core::error::{ErrorKind, Result};
use fasttl_core::job::{Job, on_pool};
use fasttl_core::report::{RawLog, Report, ReportOptions, read_and_write};
use fasttl_core::trace::LoadOptions;
use tempfile::TempDir;

use crate::common::logs::{
    REAL, data, dated_copy, example, files_below, folder, loaded, record_at, reported, set_modified, small_log,
};

/// Reads and writes in one go, as the command does, to a folder `out` in a new one.
fn written(input: &Path, options: &ReportOptions) -> Result<(TempDir, Report)> {
    let temp = tempfile::tempdir().unwrap();
    let options = ReportOptions { out: temp.path().join("out"), ..options.clone() };
    let load = LoadOptions::default();
    let write = || read_and_write(&[input.to_owned()], &load, &options, &Job::default());
    on_pool(NonZeroUsize::new(2), write).map(|report| (temp, report))
}

/// All files of a report and what they hold, and what was said of it.
fn contents(report: &Report) -> (Vec<(String, Vec<u8>)>, String) {
    let files = files_below(&report.out).into_iter().map(|(path, file)| (path, fs::read(file).unwrap())).collect();
    let counts = (report.logs, report.records, report.problems, report.unknown_compile_ids, report.files_written);
    (files, format!("{counts:?} {:?}", report.messages))
}

fn assert_same(one: &Report, two: &Report, about: &Path) {
    let ((one, said), (two, also)) = (contents(one), contents(two));
    assert_eq!(said, also, "{}", about.display());
    let paths = |all: &[(String, Vec<u8>)]| all.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&one), paths(&two), "{}", about.display());
    for ((path, a), (_, b)) in one.iter().zip(&two) {
        assert!(a == b, "{}: {path} differs", about.display());
    }
}

/// Logs that tell something of each other: a zone that one has to borrow, a rank that a name and the records do not
/// agree on, an end that is missing in a compressed one.
fn odd_job() -> TempDir {
    // 23:59:59 here was 21:59:59 in Greenwich, as the event says.
    let event = b"{\n\"name\": \"a\",\n\"ph\": \"i\",\n\"ts\": 1796075999000001,\n\"pid\": 0\n}";
    let start = |rank: i32| small_log(Some(rank), "1129 23:59:58.000000");
    let tells =
        [start(0), record_at("1129 23:59:59.000001", "\"chromium_event\": {}, \"rank\": 0", Some(event))].concat();
    let folder = folder(&[
        ("dedicated_log_torch_trace_rank_0_abc.log", &tells),
        ("dedicated_log_torch_trace_rank_1_abc.log", &start(1)),
        ("dedicated_log_torch_trace_rank_2_abc.log", &start(7)),
    ]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, &start(3)).unwrap();
    let packed = packed.finish().unwrap();
    fs::write(folder.path().join("dedicated_log_torch_trace_rank_3_abc.log.gz"), &packed[..packed.len() - 4]).unwrap();
    folder
}

#[test]
fn little_memory_changes_nothing_but_the_time() {
    let odd = odd_job();
    let copies: Vec<TempDir> =
        ["dist_restart", "processes", "export_draft_guard"].map(data).iter().map(|d| dated_copy(d)).collect();
    let mut inputs: Vec<PathBuf> = REAL.iter().map(|name| data(name)).collect();
    inputs.extend([example(), data("probes/mixed_dir"), odd.path().to_owned()]);
    inputs.extend(copies.iter().map(|copy| copy.path().to_owned()));
    for input in inputs {
        let (_first, usual) = reported(&loaded(&input), &ReportOptions::default());
        for max_memory in [None, Some(1)] {
            let (_second, small) = written(&input, &ReportOptions { max_memory, ..ReportOptions::default() }).unwrap();
            assert_same(&usual, &small, &input);
        }
    }
}

#[cfg(unix)]
#[test]
fn equal_payloads_of_several_ranks_are_one_file() {
    use std::os::unix::fs::MetadataExt;
    let log = |rank: i32, text: &str| {
        let head = format!(
            "\"artifact\": {{\"name\": \"a\", \"encoding\": \"string\"}}, \"rank\": {rank}, \"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0"
        );
        [
            record_at("1129 23:59:58.000000", &head, Some(b"the same")),
            record_at("1129 23:59:59.000000", &head, Some(text.as_bytes())),
        ]
        .concat()
    };
    let job = folder(&[("r0.log", &log(0, "nought")), ("r1.log", &log(1, "one")), ("r2.log", &log(2, "nought"))]);
    // One after the other, so that what the first has is there for the others.
    let temp = tempfile::tempdir().unwrap();
    let options = ReportOptions { out: temp.path().join("out"), ..ReportOptions::default() };
    let paths = [job.path().to_owned()];
    let write = || read_and_write(&paths, &LoadOptions::default(), &options, &Job::default());
    let report = on_pool(NonZeroUsize::new(1), write).unwrap();
    let file = |rank: u32, name: &str| report.out.join(format!("rank_{rank}/-_0_0_0/{name}"));
    let inode = |rank, name| fs::metadata(file(rank, name)).unwrap().ino();
    assert_eq!(inode(0, "a_0.txt"), inode(1, "a_0.txt"));
    assert_eq!(inode(0, "a_0.txt"), inode(2, "a_0.txt"));
    assert_eq!(inode(0, "a_1.txt"), inode(2, "a_1.txt"));
    assert_eq!(fs::read_to_string(file(1, "a_1.txt")).unwrap(), "one");
    assert_eq!(fs::read_to_string(file(2, "a_1.txt")).unwrap(), "nought");
}

#[cfg(unix)]
#[test]
fn the_log_is_copied_linked_or_left_out() {
    use std::os::unix::fs::MetadataExt;
    let options = |raw_log| ReportOptions { raw_log, ..ReportOptions::default() };
    // On the file system of the report, and not written to lately.
    let beside = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
    let log = beside.path().join("hello.log");
    fs::write(&log, fs::read(files_below(&data("hello")).into_values().next().unwrap()).unwrap()).unwrap();
    let before = SystemTime::now() - std::time::Duration::from_secs(60);
    set_modified(&log, before);
    let name = beside.path().join("another_name.log");
    std::os::unix::fs::symlink(&log, &name).unwrap();
    let inode = |path: &Path| fs::symlink_metadata(path).unwrap().ino();

    for input in [&log, &name] {
        let (_temp, report) = written(input, &options(RawLog::Link)).unwrap();
        assert_eq!(inode(&report.out.join("raw.log")), inode(&log));
        assert!(report.messages.is_empty(), "{:?}", report.messages);
    }
    let (_temp, copied) = written(&log, &options(RawLog::Copy)).unwrap();
    assert_ne!(inode(&copied.out.join("raw.log")), inode(&log));
    assert_eq!(fs::read(copied.out.join("raw.log")).unwrap(), fs::read(&log).unwrap());
    let (_temp, skipped) = written(&log, &options(RawLog::Skip)).unwrap();
    assert!(!skipped.out.join("raw.log").exists());
    assert_eq!(skipped.files_written + 1, copied.files_written);
    assert!(!fs::read_to_string(&skipped.index).unwrap().contains("raw.log"), "a link that leads nowhere");

    // A log that may still grow has a copy of its own, and the caller is told.
    set_modified(&log, SystemTime::now());
    let (_temp, report) = written(&log, &options(RawLog::Link)).unwrap();
    assert_ne!(inode(&report.out.join("raw.log")), inode(&log));
    assert!(report.messages[0].contains("raw.log is a copy"), "{:?}", report.messages);
    // One that was replaced since is not what was read.
    set_modified(&log, before);
    let trace = loaded(&log);
    set_modified(&log, before - std::time::Duration::from_secs(60));
    let temp = tempfile::tempdir().unwrap();
    let options = ReportOptions { out: temp.path().join("out"), ..options(RawLog::Link) };
    let write = || fasttl_core::report::write_report(&trace, &options, &Job::default());
    assert_eq!(on_pool(None, write).unwrap_err().kind, ErrorKind::Changed);
    assert!(!options.out.exists());
}
