//! Which files are read, how they are unpacked, and how logs are put in order.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fasttl_core::error::{Error, ErrorKind};
use fasttl_core::index::ProblemKind;
use fasttl_core::input::Source;
use fasttl_core::trace::{LoadOptions, LogState, Runs, Trace};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::common::logs::{data, dated_copy, folder, load_paths, loaded, record, record_at, set_modified, small_log};

const TIME: &str = "1129 12:00:00.000000";

fn names(trace: &Trace) -> Vec<String> {
    trace.logs.iter().map(fasttl_core::trace::Log::name).collect()
}

fn load_one(path: &Path) -> Result<Trace, Error> {
    load_paths(&[path.to_owned()], &LoadOptions::default())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A log that does not pack well, and of several blocks when packed: what comes before a cut can be unpacked.
fn large_log() -> Vec<u8> {
    let mut state = 1_u64;
    let mut records = small_log(None, TIME);
    for n in 0..300 {
        let noise = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b"0123456789abcdef"[usize::try_from(state >> 60).unwrap()]
        };
        let text: Vec<u8> = (0..2000).map(noise).collect();
        records.extend(record(&format!("\"graph_dump\": {{\"name\": \"g{n}\"}}, \"frame_id\": 0"), Some(&text)));
    }
    records
}

#[test]
fn compressed_logs_are_told_by_what_they_hold() {
    let plain = data("hello/dedicated_log_torch_trace_mjqec33r.log");
    let bytes = fs::read(&plain).unwrap();
    let packed = [gzip(&bytes), zstd::encode_all(&bytes[..], 3).unwrap()];
    let members = [gzip(&bytes[..1000]), gzip(&bytes[1000..])].concat();
    let expected = format!("{:?}", loaded(&plain).logs[0].index);
    for packed in packed.iter().chain([&members]) {
        for name in ["a.log.gz", "a.log.zst", "dedicated_log_torch_trace_x.log", "a.png"] {
            let temp = folder(&[(name, packed)]);
            for path in [temp.path().to_owned(), temp.path().join(name)] {
                let trace = loaded(&path);
                assert_eq!(names(&trace), [name]);
                assert_eq!(format!("{:?}", trace.logs[0].index), expected, "{name}");
                assert_eq!(trace.logs[0].file.disk_bytes, packed.len() as u64);
                assert_eq!(trace.logs[0].state, LogState::Complete);
            }
        }
    }
}

#[test]
fn of_cut_compressed_data_the_rest_is_read() {
    let bytes = large_log();
    for packed in [gzip(&bytes), zstd::encode_all(&bytes[..], 3).unwrap()] {
        let temp = folder(&[("dedicated_log_torch_trace_x.log", &packed[..packed.len() / 2])]);
        let trace = loaded(temp.path());
        let log = &trace.logs[0];
        assert_eq!(log.state, LogState::Truncated);
        assert!(log.index.records.len() > 2 && log.index.records.len() < 302, "{}", log.index.records.len());
        assert!(bytes.starts_with(&log.view().unwrap()));
        let damage: Vec<_> = log.index.problems.iter().filter(|p| p.kind == ProblemKind::BadCompression).collect();
        assert_eq!(damage.len(), 1);
        assert_eq!((damage[0].offset, damage[0].len), (log.index.len, 0));
        assert_eq!(log.file.damage.as_ref(), Some(&damage[0].detail));
    }
}

#[test]
fn unpacking_has_limits() {
    let bytes = large_log();
    let temp = folder(&[("a.log", &gzip(&bytes)[..])]);
    let limit = |bytes: usize| LoadOptions { max_unpacked: Some(bytes as u64), ..LoadOptions::default() };
    let error = load_paths(&[temp.path().join("a.log")], &limit(bytes.len() - 1)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge);
    assert!(error.to_string().contains("a.log") && error.to_string().contains("--max-unpacked"), "{error}");
    assert_eq!(load_paths(&[temp.path().to_owned()], &limit(bytes.len())).unwrap().logs.len(), 1);
    // The limit is for all logs of a call together.
    fs::write(temp.path().join("b.log"), gzip(&bytes)).unwrap();
    let both = [temp.path().join("a.log"), temp.path().join("b.log")];
    assert_eq!(load_paths(&both, &limit(bytes.len() + 1)).unwrap_err().kind, ErrorKind::TooLarge);
    // One that is too large in a folder does not stop the others.
    let one = load_paths(&[temp.path().to_owned()], &limit(bytes.len() + 1)).unwrap();
    let states: Vec<_> = one.logs.iter().map(|log| log.state).collect();
    assert!(states.contains(&LogState::Complete) && states.contains(&LogState::Unreadable), "{states:?}");
    assert_eq!(load_paths(&[temp.path().to_owned()], &limit(2 * bytes.len())).unwrap().logs.len(), 2);
}

#[test]
fn a_bomb_is_refused_unless_told_otherwise() {
    let mut bytes = small_log(None, TIME);
    bytes.resize(20 << 20, b'\n');
    let packed = gzip(&bytes);
    assert!(bytes.len() / packed.len() > 200);
    let temp = folder(&[("a.log", &packed[..])]);
    let error = load_one(&temp.path().join("a.log")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge);
    assert!(error.to_string().contains("200 times"), "{error}");
    let told = LoadOptions { max_unpacked: Some(1 << 30), ..LoadOptions::default() };
    assert_eq!(load_paths(&[temp.path().to_owned()], &told).unwrap().logs[0].index.len, 20 << 20);
}

#[test]
fn globs_several_paths_and_the_same_file_twice() {
    let log = small_log(None, TIME);
    let temp = folder(&[("a1.log", &log), ("a2.log", &log), ("b.log", &log), ("a3.txt", b"no log")]);
    let at = |name: &str| temp.path().join(name);
    let load = |paths: &[PathBuf]| load_paths(paths, &LoadOptions::default());
    let glob = load(&[at("a*")]).unwrap();
    assert_eq!(names(&glob), ["a1.log", "a2.log"]);
    assert_eq!(glob.passed.len(), 1);
    assert_eq!(glob.folder, None);
    assert_eq!(load(&[at("[b-c].log")]).unwrap().logs.len(), 1);
    assert_eq!(names(&load(&[at("b.log"), at("a1.log")]).unwrap()), ["a1.log", "b.log"]);
    let twice = load(&[at("b.log"), at("./b.log"), temp.path().to_owned(), at("b*")]).unwrap();
    assert_eq!(names(&twice), ["a1.log", "a2.log", "b.log"]);
    for missing in ["c*", "c.log", "[z"] {
        let error = load(&[at(missing)]).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::NotFound | ErrorKind::Option), "{error}");
        assert!(error.to_string().contains(missing), "{error}");
    }
    // A name with the letters of a pattern is a name where such a file is there.
    fs::write(at("[x].log"), &log).unwrap();
    assert_eq!(names(&load(&[at("[x].log")]).unwrap()), ["[x].log"]);
}

#[cfg(unix)]
#[test]
fn links_to_logs_are_followed() {
    use std::os::unix::fs::symlink;
    let log = small_log(None, TIME);
    let elsewhere = folder(&[("real.log", &log), ("other.log", &log)]);
    let temp = folder(&[("own.log", &log)]);
    symlink(elsewhere.path().join("real.log"), temp.path().join("link.log")).unwrap();
    symlink(temp.path().join("own.log"), temp.path().join("same.log")).unwrap();
    symlink(elsewhere.path(), temp.path().join("folder")).unwrap();
    symlink("nowhere", temp.path().join("dangling.log")).unwrap();
    let trace = loaded(temp.path());
    assert_eq!(names(&trace), ["link.log", "own.log"], "a link beside its target is the same log");
    let passed: Vec<_> =
        trace.passed.iter().map(|p| (p.path.file_name().unwrap().to_str().unwrap(), p.reason.as_str())).collect();
    assert_eq!(passed[0].0, "dangling.log");
    assert!(passed[0].1.starts_with("could not be looked at"), "{}", passed[0].1);
    assert_eq!(passed[1], ("folder", "a folder; only the files of the named folder are read"));
    assert_eq!(names(&loaded(&temp.path().join("folder"))), ["other.log", "real.log"]);
    assert_eq!(load_one(&temp.path().join("dangling.log")).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn a_folder_without_logs_says_what_is_in_it() {
    let temp = folder(&[("page.html", b"<!doctype html><p>"), ("core", b"\x7FELF\x02"), ("empty", b"")]);
    fs::create_dir(temp.path().join("report")).unwrap();
    fs::write(temp.path().join("report/compile_directory.json"), "{}").unwrap();
    let error = load_one(temp.path()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    let text = error.to_string();
    for words in ["page.html: looks like an HTML page", "core: looks like a program", "report: a folder with a report"]
    {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    let empty = folder(&[]);
    let error = load_one(empty.path()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.to_string().contains("TORCH_TRACE"), "{error}");
}

#[test]
fn text_before_the_first_record_is_no_matter_in_a_log_of_that_name() {
    let late = [b"Traceback (most recent call last):\n", &small_log(None, TIME)[..]].concat();
    let temp = folder(&[("dedicated_log_torch_trace_x.log", &late), ("console.txt", &late)]);
    let trace = loaded(temp.path());
    assert_eq!(names(&trace), ["dedicated_log_torch_trace_x.log"]);
    assert_eq!(trace.passed.len(), 1);
    // Who names a file means it.
    assert_eq!(loaded(&temp.path().join("console.txt")).logs[0].index.records.len(), 2);
}

#[test]
fn what_has_the_name_of_a_ranks_log_and_is_none_says_that_the_rank_was_there() {
    let name = |rank: i32, random: &str| format!("dedicated_log_torch_trace_rank_{rank}_{random}.log");
    let log = |rank| small_log(Some(rank), TIME);
    let temp = folder(&[
        (&name(0, "aaaaaaaa"), &log(0)),
        (&name(1, "aaaaaaaa"), b"\x7FELF\x02"),
        (&name(2, "aaaaaaaa"), b"rsync: connection lost\n"),
        // Rank 0 has a log, so that this is one file more.
        (&name(0, "bbbbbbbb"), b"<!doctype html>"),
        ("dedicated_log_torch_trace_cccccccc.log", b"\x7FELF\x02"),
    ]);
    fs::create_dir(temp.path().join(name(3, "aaaaaaaa"))).unwrap();
    let trace = loaded(temp.path());
    let found: Vec<_> = trace.logs.iter().map(|log| (log.rank, log.state)).collect();
    let unreadable = |rank| (Some(rank), LogState::Unreadable);
    assert_eq!(found, [(Some(0), LogState::Complete), unreadable(1), unreadable(2), unreadable(3)]);
    let why: Vec<_> = trace.logs.iter().filter_map(|log| log.file.source.as_ref().err()).collect();
    assert!(why[0].contains("ELF") && why[1].contains("rsync") && why[2].starts_with("a folder"), "{why:?}");
    assert_eq!(trace.passed.len(), 2);
    // Without any log there is nothing to read, and the reasons are told.
    fs::remove_file(temp.path().join(name(0, "aaaaaaaa"))).unwrap();
    let error = load_one(temp.path()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.to_string().contains("rsync"), "{error}");
}

#[test]
fn a_rank_without_records_and_one_that_cannot_be_read_stand_among_the_others() {
    let broken = &gzip(&small_log(Some(2), TIME))[..8];
    let temp = folder(&[
        ("dedicated_log_torch_trace_rank_0_a.log", &small_log(Some(0), TIME)),
        ("dedicated_log_torch_trace_rank_1_a.log", b""),
        ("dedicated_log_torch_trace_rank_2_a.log", broken),
    ]);
    let trace = loaded(temp.path());
    let states: Vec<_> = trace.logs.iter().map(|log| (log.rank, log.state)).collect();
    assert_eq!(states, [(Some(0), LogState::Complete), (Some(1), LogState::Empty), (Some(2), LogState::Unreadable)]);
    assert!(trace.logs[2].file.source.as_ref().unwrap_err().contains("could not be read"));
    // Alone, or named by the user, it is an error.
    let named = load_one(&temp.path().join("dedicated_log_torch_trace_rank_2_a.log")).unwrap_err();
    assert_eq!(named.kind, ErrorKind::Read);
    fs::remove_file(temp.path().join("dedicated_log_torch_trace_rank_0_a.log")).unwrap();
    let error = load_one(temp.path()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.to_string().contains("no record could be read"), "{error}");
}

#[test]
fn runs_and_restarts_are_told_by_time() {
    let copy = dated_copy(&data("dist_restart"));
    let all = loaded(copy.path());
    let keys: Vec<_> = all.logs.iter().map(|log| (log.rank, log.run, log.restart)).collect();
    assert_eq!(keys, [(Some(0), 0, 0), (Some(0), 1, 0), (Some(1), 0, 0), (Some(1), 1, 0)]);
    let options = LoadOptions { runs: Runs::Latest, ..LoadOptions::default() };
    let latest = load_paths(&[copy.path().to_owned()], &options).unwrap();
    assert_eq!(
        names(&latest),
        ["dedicated_log_torch_trace_rank_0_rz2asgmy.log", "dedicated_log_torch_trace_rank_1_4afh0n49.log"]
    );
    // A second start of one rank while another goes on is no new run.
    let log = |rank, time| small_log(Some(rank), time);
    let throughout = [log(1, "1129 12:00:00.000000"), log(1, "1129 12:10:00.000000")].concat();
    let temp = folder(&[
        ("dedicated_log_torch_trace_rank_0_b.log", &log(0, "1129 12:05:00.000000")),
        ("dedicated_log_torch_trace_rank_0_a.log", &log(0, "1129 12:00:00.000000")),
        ("dedicated_log_torch_trace_rank_1_a.log", &throughout),
    ]);
    let keys: Vec<_> = loaded(temp.path()).logs.iter().map(|log| (log.name(), log.run, log.restart)).collect();
    assert_eq!(
        keys,
        [
            ("dedicated_log_torch_trace_rank_0_a.log".to_owned(), 0, 0),
            ("dedicated_log_torch_trace_rank_0_b.log".to_owned(), 0, 1),
            ("dedicated_log_torch_trace_rank_1_a.log".to_owned(), 0, 0),
        ]
    );
}

#[test]
fn ranks_are_filtered_by_what_the_records_say() {
    let path = data("probes/rank_name_vs_content");
    let of = |ranks: Vec<Option<i32>>| {
        load_paths(std::slice::from_ref(&path), &LoadOptions { ranks: Some(ranks), ..LoadOptions::default() })
    };
    let trace = of(vec![Some(5), Some(77)]).unwrap();
    assert_eq!(names(&trace), ["dedicated_log_torch_trace_rank_0_a.log"]);
    let named: Vec<_> = trace.logs[0].index.problems.iter().filter(|p| p.kind == ProblemKind::RankName).collect();
    assert_eq!(named.len(), 1);
    let error = of(vec![Some(0)]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Option);
    assert!(error.to_string().ends_with("there are logs of rank 1, 5"), "{error}");
    let mixed = [data("probes/mixed_dir")];
    let options = LoadOptions { ranks: Some(vec![None, Some(2)]), ..LoadOptions::default() };
    let ranks: Vec<_> = load_paths(&mixed, &options).unwrap().logs.iter().map(|log| log.rank).collect();
    assert_eq!(ranks, [Some(2), None, None]);
}

#[test]
fn a_forked_child_has_the_strings_of_its_parent() {
    let copy = dated_copy(&data("processes"));
    let trace = loaded(copy.path());
    let log = |pid| trace.logs.iter().find(|log| log.pid == Some(pid)).unwrap();
    let (parent, spawned, forked) = (log(5888), log(6013), log(6273));
    assert!(forked.index.strings.defs().iter().all(|d| d.id > 1), "the log is no longer what this test is about");
    assert_eq!(trace.string(forked, 1, 0), Some("/tmp/job/processes/processes.py"));
    assert_eq!(trace.string(forked, 1, 0), parent.string(1, 0));
    // What the child defined itself is its own, and what nobody defined before it is nothing.
    assert_eq!(trace.string(forked, 2, 0), Some("/opt/python/lib/python3.11/multiprocessing/process.py"));
    assert_eq!((trace.string(forked, 14, 0), trace.string(forked, -1, 0)), (None, None));
    assert_eq!(trace.string(spawned, 1, 0), Some("<string>"));
    assert_eq!(trace.string(spawned, 9, 0), None);
}

#[test]
fn a_second_file_of_a_process_goes_on_with_its_strings_and_its_run() {
    let copy = dated_copy(&data("export_draft_guard"));
    let trace = loaded(copy.path());
    let keys: Vec<_> = trace.logs.iter().map(|log| (log.pid, log.run, log.restart)).collect();
    assert_eq!(keys, [(Some(29329), 0, 0), (Some(29329), 0, 1)]);
    assert_eq!(trace.string(&trace.logs[1], 1, 0), Some("/tmp/job/export_draft_guard/export_draft_guard.py"));
}

#[test]
fn a_log_at_rest_is_mapped_and_one_that_grows_is_copied() {
    let bytes = small_log(None, TIME);
    let temp = folder(&[("a.log", &bytes)]);
    let path = temp.path().join("a.log");
    let fresh = loaded(&path);
    assert!(matches!(fresh.logs[0].file.source, Ok(Source::Buffer(_))), "it was written just now");
    set_modified(&path, SystemTime::now() - Duration::from_secs(3600));
    let old = loaded(&path);
    assert_eq!(format!("{:?}", old.logs[0].index.records), format!("{:?}", fresh.logs[0].index.records));
    // The copy outlives the file; a map must not pretend to.
    let offset = old.logs[0].index.records[1].offset;
    assert_eq!(old.payload(0, offset).unwrap(), b"text");
    // On a network file system nothing is mapped.
    let mapped = matches!(old.logs[0].file.source, Ok(Source::Map { .. }));
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(fresh.payload(0, offset).unwrap(), b"text");
    if mapped {
        assert_eq!(old.payload(0, offset).unwrap_err().kind, ErrorKind::Changed);
        assert_eq!(old.logs[0].view().unwrap_err().kind, ErrorKind::Changed);
        fs::remove_file(&path).unwrap();
        assert_eq!(old.payload(0, offset).unwrap_err().kind, ErrorKind::Changed);
    }
}

/// Rank, run and restart of each log of a folder.
fn runs_of(files: &[(&str, &[u8])]) -> Vec<(String, u32, u32)> {
    let temp = folder(files);
    loaded(temp.path()).logs.iter().map(|log| (log.name(), log.run, log.restart)).collect()
}

#[test]
fn a_job_that_grew_is_another_run_whichever_rank_logs_first() {
    let log = |rank, time| small_log(Some(rank), time);
    let runs = runs_of(&[
        ("a0.log", &log(0, "1129 10:00:00.000000")),
        ("a1.log", &log(1, "1129 10:00:00.000000")),
        ("b0.log", &log(0, "1129 10:05:00.000000")),
        ("b1.log", &log(1, "1129 10:05:00.000000")),
        ("b3.log", &log(3, "1129 10:04:59.000000")),
    ]);
    let run = |name: &str| runs.iter().find(|(n, ..)| n == name).unwrap().1;
    assert_eq!(["a0.log", "a1.log", "b0.log", "b1.log", "b3.log"].map(run), [0, 0, 1, 1, 1]);
    // Hours later it is another run even for a rank that the first had not.
    let runs = runs_of(&[("a.log", &log(0, "1129 10:00:00.000000")), ("b.log", &log(1, "1129 15:00:00.000000"))]);
    assert_eq!(runs.iter().map(|r| r.1).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_log_without_times_of_its_own_takes_the_zone_of_its_siblings() {
    // 19:00 local is 10:00 UTC: the event says so.
    let event = br#"{"name": "dynamo", "ts": 1795946400000000.0, "args": {}, "ph": "B", "pid": 0}"#;
    let ids = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";
    let head = format!("\"chromium_event\": {{}}, {ids}");
    let told =
        [record_at("1129 19:00:00.000000", &head, Some(event)), small_log(None, "1129 19:30:00.000000")].concat();
    let temp = folder(&[("a.log", &told), ("b.log", &small_log(None, "1129 19:10:00.000000"))]);
    let trace = loaded(temp.path());
    let times: Vec<_> = trace.logs.iter().map(|log| (log.run, log.index.utc_offset_s, log.first_us)).collect();
    let minute = 60_000_000;
    let ten = 1_795_946_400_000_000;
    assert_eq!(times, [(0, Some(32400), Some(ten)), (0, Some(32400), Some(ten + 10 * minute))]);
}

#[test]
fn a_payload_is_found_by_its_md5_only_where_it_is_whole() {
    let good = record("\"artifact\": {\"name\": \"a\", \"encoding\": \"string\"}", Some(b"hello"));
    let bad = String::from_utf8(good.clone()).unwrap().replace("\thello", "\tTAMPERED");
    let missing = String::from_utf8(good.clone()).unwrap().replace("\thello\n", "");
    let temp = folder(&[("a.log", &[bad.as_bytes(), missing.as_bytes(), &good].concat())]);
    let trace = loaded(temp.path());
    assert_eq!(trace.payload_by_md5("5d41402abc4b2a76b9719d911017c592").unwrap().unwrap(), b"hello");
    assert_eq!(trace.payload_by_md5(&"0".repeat(32)).unwrap(), None);
    assert!(trace.payload_by_md5("../../etc").is_err());
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_once() {
    let temp = tempfile::tempdir().unwrap();
    let pipe = temp.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, small_log(None, TIME)).unwrap()
    });
    assert_eq!(loaded(&pipe).logs[0].index.records.len(), 2);
    writer.join().unwrap();
}

/// Three logs whose records all say rank 0, named otherwise, and one that is what its name says.
fn told_apart_by_name() -> tempfile::TempDir {
    let name = |rank: i32| format!("dedicated_log_torch_trace_rank_{rank}_abc.log");
    let (same, other) = (small_log(Some(0), "1129 23:59:58.000000"), small_log(Some(7), "1129 23:59:59.000000"));
    folder(&[(&name(0), &same), (&name(3), &same), (&name(5), &same), (&name(7), &other)])
}

#[test]
fn a_log_that_was_asked_for_is_the_same_as_among_all() {
    let named = told_apart_by_name();
    let copies = [data("dist_restart"), data("processes")].map(|path| dated_copy(&path));
    let inputs = [named.path(), copies[0].path(), copies[1].path(), &data("probes/mixed_dir")];
    let mut found = 0;
    for input in inputs {
        let all = loaded(input);
        for wanted in [None, Some(0), Some(1), Some(3), Some(7)] {
            let options = LoadOptions { ranks: Some(vec![wanted]), ..LoadOptions::default() };
            let Ok(some) = load_paths(&[input.to_owned()], &options) else { continue };
            let text = |log: &fasttl_core::trace::Log| {
                format!("{:?} {:?} {:#?}", log.file.path, (log.state, log.rank, log.run, log.restart), log.index)
            };
            let before: Vec<String> = all.logs.iter().filter(|log| log.rank == wanted).map(text).collect();
            assert_eq!(some.logs.iter().map(text).collect::<Vec<_>>(), before, "{} {wanted:?}", input.display());
            found += before.len();
        }
    }
    assert!(found > 8, "{found}");
}
