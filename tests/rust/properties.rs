//! What holds for every input: generated logs, damaged ones, and bytes of any kind.
//!
//! `PROPTEST_CASES=5000 cargo test -p fasttl-core --test integration properties` tries more.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use fasttl_core::analysis::TABLES;
use fasttl_core::error::{ErrorKind, Result};
use fasttl_core::format::json::{Oddities, Scanner};
use fasttl_core::format::strict::{pretty, to_strict};
use fasttl_core::index::{Index, IndexOptions, Mark, PayloadState, Verify, index};
use fasttl_core::job::{Job, on_pool};
use fasttl_core::report::{Layout, ReportOptions};
use fasttl_core::trace::{LoadOptions, LogState};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index as At, select};

use crate::common::generate::{Bytes, Damage, damaged_log, log, log_bytes};
use crate::common::html::check_report;
use crate::common::logs::{files_below, folder, load_paths, record, reported};

/// Cases of one property; the environment's number, where one is given, for all.
pub(crate) fn cases(default: u32) -> ProptestConfig {
    let told = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    // A case that failed belongs into a test of its own, not into a file of seeds.
    ProptestConfig { cases: told.unwrap_or(default), failure_persistence: None, ..ProptestConfig::default() }
}

const MODIFIED_US: i64 = 1_796_000_000_000_000;

fn read(bytes: &[u8], chunk_len: usize, verify: Verify) -> Result<Index> {
    index(bytes, MODIFIED_US, IndexOptions { verify, chunk_len }, &Job::default())
}

fn whole(bytes: &[u8]) -> Index {
    read(bytes, usize::MAX >> 1, Verify::Md5).unwrap()
}

/// Whether every byte belongs to exactly one record or one problem that owns bytes, and places are true.
fn covers(index: &Index, bytes: &[u8]) -> Result<(), TestCaseError> {
    let records = index.records.iter().map(|r| (r.offset, r.len));
    let problems = index.problems.iter().filter(|p| p.owns_bytes).map(|p| (p.offset, p.len));
    let mut ranges: Vec<(u64, u64)> = records.chain(problems).collect();
    ranges.sort_unstable();
    let mut end = 0;
    for (offset, len) in ranges {
        prop_assert_eq!(offset, end, "a gap or an overlap");
        prop_assert!(len > 0, "nothing at {}", offset);
        end = offset + len;
    }
    prop_assert_eq!(end, bytes.len() as u64);
    prop_assert_eq!(index.len, bytes.len() as u64);
    prop_assert!(index.records.is_sorted_by_key(|r| r.offset));
    prop_assert!(index.problems.is_sorted_by_key(|p| p.offset));
    let line = |offset: u64| {
        let before = &bytes[..usize::try_from(offset).unwrap()];
        before.split(|&b| b == b'\n').count() as u64
    };
    for record in &index.records {
        prop_assert_eq!(record.line, line(record.offset));
        let (_, json_end) = record.json_range();
        let (meta_start, meta_end) = record.meta_range();
        prop_assert!(record.offset + record.head_len <= record.offset + record.len);
        prop_assert!(meta_start >= record.offset && meta_end <= json_end && json_end <= record.payload_range().0);
    }
    for problem in &index.problems {
        prop_assert!(problem.offset + problem.len <= bytes.len() as u64, "{:?}", problem);
        prop_assert_eq!(problem.line, line(problem.offset), "{:?}", problem);
    }
    Ok(())
}

/// Whether cutting into chunks and threads changes nothing.
fn same_for_all_chunks(bytes: &[u8], verify: Verify) -> Result<(), TestCaseError> {
    let expected = format!("{:?}", read(bytes, usize::MAX >> 1, verify).unwrap());
    for (threads, chunk_len) in [(1, 1), (2, 7), (4, 64), (1, 4096), (4, 1), (2, 300)] {
        let found = on_pool(NonZeroUsize::new(threads), || read(bytes, chunk_len, verify)).unwrap();
        prop_assert_eq!(format!("{found:?}"), expected.clone(), "{} threads, chunks of {}", threads, chunk_len);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn every_byte_has_one_owner(bytes in damaged_log()) {
        covers(&whole(&bytes), &bytes)?;
        covers(&read(&bytes, 64, Verify::Skip).unwrap(), &bytes)?;
    }

    #[test]
    fn any_bytes_at_all_have_owners(bytes in vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\t')], 0..300).prop_map(Bytes)) {
        covers(&whole(&bytes), &bytes)?;
        same_for_all_chunks(&bytes, Verify::Md5)?;
    }

    #[test]
    fn a_whole_log_is_read_as_it_was_written(records in log(), crlf: bool, unterminated: bool) {
        let mut bytes = log_bytes(&records);
        if crlf {
            bytes = Damage::Crlf.apply(bytes);
        }
        if unterminated {
            bytes.pop();
        }
        let index = whole(&bytes);
        prop_assert_eq!(&index.problems, &[]);
        prop_assert_eq!(index.records.len(), records.len());
        for (record, made) in index.records.iter().zip(&records) {
            prop_assert_eq!(index.names.kind(record.kind), &made.kind);
            prop_assert_eq!(index.names.id(record).to_string(), made.id.clone());
            let state = if made.payload.is_some() { PayloadState::Verified } else { PayloadState::None };
            prop_assert_eq!(record.payload, state);
            let payload = index.payload(record, &bytes).text();
            prop_assert_eq!(payload.len() as u64, record.text_len);
            prop_assert_eq!(payload, made.text());
        }
    }

    #[test]
    fn a_cut_log_keeps_all_before_the_cut(records in log(), at: At) {
        let all = log_bytes(&records);
        let bytes = &all[..at.index(all.len())];
        let index = whole(bytes);
        covers(&index, bytes)?;
        let mut end = 0;
        for (nth, made) in records.iter().enumerate() {
            end += made.bytes().len();
            // Without its last line feed a record is whole as well.
            if end - 1 > bytes.len() {
                break;
            }
            let record = &index.records[nth];
            prop_assert_eq!(index.names.kind(record.kind), &made.kind);
            prop_assert_eq!(index.payload(record, bytes).text(), made.text());
        }
    }

    #[test]
    fn chunks_and_threads_change_nothing(bytes in damaged_log()) {
        same_for_all_chunks(&bytes, Verify::Md5)?;
        same_for_all_chunks(&bytes, Verify::Skip)?;
    }
}

/// Text that the lenient scanner takes as one value, from end to end.
fn is_lenient_json(text: &[u8]) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.value().is_ok() && {
        scanner.skip_space();
        scanner.pos() == text.len()
    }
}

/// Pieces of strings: escapes, halves of characters, bytes that are none, and what looks like more than a string.
const PIECES: [&[u8]; 15] = [
    b"\\ud83d\\ude00",
    b"\\udc80",
    b"\\ud83d",
    b"\\ud83d\\n",
    b"\\\\",
    b"\\\"",
    b"\\/",
    b"\xFF",
    b"\xE2\x82",
    b"\t",
    b"\x01",
    b"\x7F",
    "é\u{2028}".as_bytes(),
    b"NaN",
    b"\\u0000",
];

/// Numbers and words, those included that only Python writes.
const WORDS: [&[u8]; 14] = [
    b"0",
    b"-0",
    b"1.50",
    b"1e5",
    b"1E+5",
    b"-2.5e-7",
    b"12345678901234567890123",
    b"1e999",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"true",
    b"false",
    b"null",
];

const SPACES: [&[u8]; 4] = [b"", b" ", b"\n", b"\r\n\t"];

/// JSON with all that Python writes and strict readers refuse.
fn lenient_json() -> impl Strategy<Value = Bytes> {
    let plain = "[a-z ,:{}\\[\\]]{0,6}".prop_map(String::into_bytes);
    let piece = prop_oneof![4 => plain, 1 => select(&PIECES[..]).prop_map(<[u8]>::to_vec)];
    let string = vec(piece, 0..4).prop_map(|pieces| [&b"\""[..], &pieces.concat(), b"\""].concat());
    let leaf = prop_oneof![string.clone(), select(&WORDS[..]).prop_map(<[u8]>::to_vec)];
    let value = leaf.prop_recursive(6, 40, 5, move |inner| {
        let items = (vec(inner.clone(), 0..5), select(&SPACES[..])).prop_map(|(items, space)| {
            let comma = [b",", space].concat();
            [&b"["[..], space, &items.join(&comma[..]), space, b"]"].concat()
        });
        let members = (vec((string.clone(), inner), 0..4), select(&SPACES[..])).prop_map(|(members, space)| {
            let member = |(key, value): (Vec<u8>, Vec<u8>)| [&key[..], space, b":", space, &value].concat();
            let members: Vec<Vec<u8>> = members.into_iter().map(member).collect();
            [&b"{"[..], space, &members.join(&b","[..]), space, b"}"].concat()
        });
        prop_oneof![items, members]
    });
    let deep = (95..110_usize, any::<bool>(), value.clone()).prop_map(|(depth, empty, inner)| {
        let inner = if empty { Vec::new() } else { inner };
        [vec![b'['; depth], inner, vec![b']'; depth]].concat()
    });
    prop_oneof![12 => value, 1 => deep].prop_map(Bytes)
}

/// The value of strict JSON; numbers keep their digits.
fn value(text: &[u8]) -> Result<serde_json::Value, TestCaseError> {
    serde_json::from_slice(text).map_err(|e| TestCaseError::fail(format!("{e} in {:?}", String::from_utf8_lossy(text))))
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn lenient_json_becomes_strict(text in lenient_json()) {
        prop_assert!(is_lenient_json(&text));
        let strict = to_strict(&text);
        let plain = value(&strict)?;
        let mut scanner = Scanner::new(&text);
        scanner.value().unwrap();
        let mut out = Vec::new();
        if pretty(&text, &mut out).is_ok() {
            prop_assert_eq!(&value(&out)?, &plain);
        } else {
            prop_assert!(scanner.oddities.contains(Oddities::DEEP));
        }
        prop_assert_eq!(value(&to_strict(&strict))?, plain);
        if scanner.oddities.is_empty() {
            prop_assert_eq!(&*strict, &*text, "what is strict already must not change");
        }
    }

    #[test]
    fn what_the_scanner_takes_becomes_strict(text in "[-0-9.eE+\\[\\]{}\",:\\\\u aNIflnrst\t]{0,10}") {
        if is_lenient_json(text.as_bytes()) {
            value(&to_strict(text.as_bytes()))?;
            let mut out = Vec::new();
            pretty(text.as_bytes(), &mut out).unwrap();
            value(&out)?;
        }
    }
}

/// Whether the JSON files of a log's tree are what strict readers take.
fn check_json(tree: &Path) -> Result<(), TestCaseError> {
    let jsonl = fs::read(tree.join("raw.jsonl")).unwrap();
    for line in jsonl.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        value(line)?;
    }
    for name in ["chromium_events.json", "compile_directory.json"] {
        value(&fs::read(tree.join(name)).unwrap())?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_cut_log_says_that_it_is_cut(records in log(), at: At) {
        let all = log_bytes(&records);
        let cut = at.index(all.len());
        let mut starts = vec![0];
        starts.extend(records.iter().scan(0, |end, made| {
            *end += made.bytes().len();
            Some(*end)
        }));
        let temp = folder(&[("dedicated_log_torch_trace_abcdefgh.log", &all[..cut])]);
        let Ok(trace) = load_paths(&[temp.path().to_owned()], &LoadOptions::default()) else {
            prop_assert!(cut < starts[1], "a whole record stands before the cut");
            return Ok(());
        };
        let inside = records.iter().zip(&starts).rfind(|(_, start)| **start < cut).map(|(made, _)| made);
        if inside.is_some_and(|made| made.text().windows(6).any(|w| w == b"V1129 ")) {
            // A damaged payload with a head in it might as well be two records that were torn into one.
            return Ok(());
        }
        let whole = starts.contains(&cut) || starts.contains(&(cut + 1));
        let state = if whole { LogState::Complete } else { LogState::Truncated };
        prop_assert_eq!(trace.logs[0].state, state, "cut at {} of {:?}", cut, starts);
    }
}

/// What a property once failed on, by itself.
#[test]
fn a_record_without_payload_is_not_judged_by_the_one_before() {
    let event = br#"{"name": "dynamo", "ts": 1, "ph": "B"}"#;
    let ids = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";
    let head = format!("\"chromium_event\": {{}}, {ids}");
    let bytes = [record(&head, Some(event)), record(&head, None)].concat();
    for chunk_len in [1, 1 << 20] {
        let index = read(&bytes, chunk_len, Verify::Md5).unwrap();
        // Taken for a second begin, it would start a new generation of ids.
        assert_eq!(index.records[1].generation, 0, "chunks of {chunk_len}");
        assert_eq!((index.records[0].mark, index.records[1].mark), (Mark::Begin, Mark::Broken));
    }
}

#[test]
fn json_files_stay_json_whatever_the_log_holds() {
    let of = |members: &str, payload: Option<&[u8]>| record(members, payload);
    let log = [
        of("\"chromium_event\": {}", Some(b"{\"name\": \"a\", \"ph\": \"B\"}")),
        of("\"chromium_event\": {}", Some(b"{\"name\": \"a\"} and more")),
        of("\"chromium_event\": {}", Some(b"{\"name\": \"raw\ttab\n\"}")),
        of("\"chromium_event\": {}", Some(b"{\"n\": 007}")),
        of(" ", None),
        of("\"new\": {}, \"attempt\": 07", None),
    ]
    .concat();
    let temp = folder(&[("a.log", &log)]);
    let trace = load_paths(&[temp.path().to_owned()], &LoadOptions::default()).unwrap();
    for layout in [Layout::ByCount, Layout::LandingPage] {
        let (_temp, report) = reported(&trace, &ReportOptions { layout, ..ReportOptions::default() });
        for jsonl in files_below(&report.out).into_values().filter(|f| f.ends_with("raw.jsonl")) {
            check_json(jsonl.parent().unwrap()).unwrap();
        }
        let events = value(&fs::read(report.out.join("chromium_events.json")).unwrap()).unwrap();
        let names: Vec<_> = events.as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "raw\ttab\n"], "what is no JSON is left out, what is odd JSON is mended");
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn any_damaged_job_gives_tables_and_a_report(first in damaged_log(), second in damaged_log()) {
        let (one, two) = ("dedicated_log_torch_trace_rank_0_abcdefgh.log", "dedicated_log_torch_trace_abcdefgh.log");
        let logs = folder(&[(one, &first), (two, &second)]);
        let trace = match load_paths(&[logs.path().to_owned()], &LoadOptions::default()) {
            Ok(trace) => trace,
            Err(error) => {
                // Only where both are broken beyond reading.
                prop_assert_eq!(error.kind, ErrorKind::NotFound);
                prop_assert!(whole(&first).records.is_empty() && whole(&second).records.is_empty());
                return Ok(());
            }
        };
        for def in TABLES {
            let table = (def.build)(&trace);
            prop_assert!(table.is_ok(), "{}: {:?}", def.name, table.err());
        }
        let (temp, report) = reported(&trace, &ReportOptions::default());
        let out = temp.path().join("out");
        prop_assert_eq!(report.records, trace.logs.iter().map(|log| log.index.records.len()).sum::<usize>());
        let beside: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        prop_assert_eq!(beside, ["out"], "a file outside of the report");
        prop_assert_eq!(files_below(logs.path()).len(), 2, "a file among the logs");
        if let Err(why) = check_report(&out) {
            return Err(TestCaseError::fail(why));
        }
        let trees: Vec<_> = files_below(&out).into_values().filter(|f| f.ends_with("raw.jsonl")).collect();
        prop_assert_eq!(trees.len(), trace.logs.len(), "each log has a tree, one that cannot be read an empty one");
        for jsonl in trees {
            check_json(jsonl.parent().unwrap())?;
        }
    }
}
