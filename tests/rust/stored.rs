//! Indexes that are stored and read again: whole, damaged, and beside their logs.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fasttl_core::analysis::{TABLES, table};
use fasttl_core::error::ErrorKind;
use fasttl_core::index::{Index, IndexOptions, Verify, index, read_index, write_index};
use fasttl_core::job::{Job, on_pool};
use fasttl_core::sidecar::{FOLDER, Sidecar, SidecarState, Sidecars, Writing, write_sidecars};
use fasttl_core::trace::LoadOptions;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index as At;

use crate::common::generate::damaged_log;
use crate::common::logs::{REAL, data, dated_copy, example, folder, load_paths, set_modified, small_log};

fn made(bytes: &[u8], verify: Verify) -> Index {
    index(bytes, 0, IndexOptions { verify, ..IndexOptions::default() }, &Job::default()).unwrap()
}

fn stored(index: &Index) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_index(index, &mut bytes).unwrap();
    bytes
}

/// All of an index.
fn text(index: &Index) -> String {
    format!("{index:#?}")
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn an_index_is_read_as_it_was_written(bytes in damaged_log(), skip: bool) {
        let index = made(&bytes, if skip { Verify::Skip } else { Verify::Md5 });
        let read = read_index(stored(&index).as_slice(), bytes.len() as u64).unwrap();
        prop_assert_eq!(text(&read), text(&index));
    }

    #[test]
    fn a_damaged_index_is_refused_or_harmless(
        bytes in damaged_log(), flips in vec((any::<At>(), 1..=255_u8), 1..4), cut: Option<At>
    ) {
        let mut found = stored(&made(&bytes, Verify::Md5));
        for (at, bits) in flips {
            let at = at.index(found.len());
            found[at] ^= bits;
        }
        if let Some(at) = cut {
            found.truncate(at.index(found.len()));
        }
        if let Ok(index) = read_index(found.as_slice(), bytes.len() as u64) {
            for record in &index.records {
                let _ = (index.payload(record, &bytes).text(), index.metadata(record, &bytes), index.names.id(record));
            }
        }
    }

    #[test]
    fn any_bytes_are_no_index(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(read_index(bytes.as_slice(), 100).is_err());
    }
}

#[test]
fn every_byte_of_a_stored_index_may_be_hostile() {
    let log = &small_log(Some(1), "1129 23:59:59.000001");
    let bytes = stored(&made(log, Verify::Md5));
    for at in 0..bytes.len() {
        for value in [0, 0xFF, bytes[at] ^ 0x80, bytes[at].wrapping_add(1)] {
            let mut forged = bytes.clone();
            forged[at] = value;
            // What counts is that it comes back.
            let _ = read_index(forged.as_slice(), log.len() as u64);
        }
    }
}

#[test]
fn an_index_of_another_log_is_refused() {
    let log = small_log(Some(1), "1129 23:59:59.000001");
    let bytes = stored(&made(&log, Verify::Md5));
    assert!(read_index(bytes.as_slice(), log.len() as u64).is_ok());
    assert!(read_index(bytes.as_slice(), log.len() as u64 - 1).is_err());
    assert!(read_index([bytes.as_slice(), b"x"].concat().as_slice(), log.len() as u64).is_err());
}

fn written(path: &Path, verify: Verify, writing: Writing) -> Vec<Sidecar> {
    on_pool(NonZeroUsize::new(2), || write_sidecars(&[path.to_owned()], verify, writing, &Job::default())).unwrap()
}

fn states(path: &Path, verify: Verify, writing: Writing) -> Vec<SidecarState> {
    written(path, verify, writing).into_iter().map(|sidecar| sidecar.state).collect()
}

/// All tables of what `path` names, as text.
fn tables(path: &Path, verify: Verify, sidecars: Sidecars) -> Vec<String> {
    let options = LoadOptions { verify, sidecars, ..LoadOptions::default() };
    match load_paths(&[path.to_owned()], &options) {
        Ok(trace) => TABLES.iter().map(|def| format!("{:?}", table(&trace, def.name).unwrap().batch)).collect(),
        Err(error) => vec![error.to_string()],
    }
}

fn probes() -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(data("probes")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

#[test]
fn all_tables_are_the_same_with_and_without_indexes() {
    let mut held = 0;
    for logs in REAL.iter().map(|name| data(name)).chain([example()]).chain(probes()) {
        let copy = dated_copy(&logs);
        for made_with in [Verify::Skip, Verify::Md5] {
            let wanted =
                || on_pool(None, || write_sidecars(&[copy.path().into()], made_with, Writing::Always, &Job::default()));
            // A folder without a log is refused with and without.
            let Ok(sidecars) = wanted() else { continue };
            held += sidecars.iter().filter(|sidecar| sidecar.state == SidecarState::Written).count();
            for verify in [Verify::Skip, Verify::Md5] {
                let without = tables(copy.path(), verify, Sidecars::Ignore);
                assert_eq!(tables(copy.path(), verify, Sidecars::Use), without, "{}", logs.display());
            }
        }
    }
    assert!(held > 150, "only {held} indexes were written");
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn a_damaged_log_has_the_same_tables_with_an_index(bytes in damaged_log(), made_with_skip: bool, skip: bool) {
        let verify = |skip| if skip { Verify::Skip } else { Verify::Md5 };
        let logs = folder(&[("dedicated_log_torch_trace_rank_3_abcdefgh.log", &bytes)]);
        let log = logs.path().join("dedicated_log_torch_trace_rank_3_abcdefgh.log");
        set_modified(&log, SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_000_000));
        let _ = on_pool(None, || write_sidecars(&[logs.path().into()], verify(made_with_skip), Writing::Always, &Job::default()));
        let without = tables(logs.path(), verify(skip), Sidecars::Ignore);
        prop_assert_eq!(tables(logs.path(), verify(skip), Sidecars::Use), without);
    }
}

#[test]
fn one_changed_log_costs_only_itself() {
    let copy = dated_copy(&example());
    assert_eq!(states(copy.path(), Verify::Md5, Writing::Never), [SidecarState::Missing; 3]);
    assert!(!copy.path().join(FOLDER).exists());
    assert_eq!(states(copy.path(), Verify::Md5, Writing::WhereStale), [SidecarState::Written; 3]);
    assert_eq!(states(copy.path(), Verify::Md5, Writing::WhereStale), [SidecarState::Fresh; 3]);
    assert_eq!(states(copy.path(), Verify::Md5, Writing::Always), [SidecarState::Written; 3]);
    let logs: Vec<_> = written(copy.path(), Verify::Md5, Writing::Never).into_iter().map(|s| s.log).collect();
    let mut bytes = fs::read(&logs[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&logs[1], bytes).unwrap();
    // Size, time of writing and both ends are what they were.
    set_modified(&logs[1], SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_000_000));
    let states = states(copy.path(), Verify::Md5, Writing::Never);
    assert_eq!(states, [SidecarState::Fresh, SidecarState::Stale, SidecarState::Fresh]);
    let without = tables(copy.path(), Verify::Md5, Sidecars::Ignore);
    assert_eq!(tables(copy.path(), Verify::Md5, Sidecars::Use), without);
}

#[test]
fn payloads_that_were_not_verified_do_not_serve_who_verifies() {
    let copy = dated_copy(&example());
    assert_eq!(states(copy.path(), Verify::Skip, Writing::WhereStale), [SidecarState::Written; 3]);
    assert_eq!(states(copy.path(), Verify::Skip, Writing::Never), [SidecarState::Fresh; 3]);
    let first = written(copy.path(), Verify::Md5, Writing::Never).remove(0);
    assert_eq!(first.state, SidecarState::Stale);
    assert!(first.detail.contains("not verified"), "{}", first.detail);
    assert_eq!(states(copy.path(), Verify::Md5, Writing::WhereStale), [SidecarState::Written; 3]);
    assert_eq!(states(copy.path(), Verify::Skip, Writing::Never), [SidecarState::Fresh; 3]);
}

#[test]
fn indexes_are_no_input() {
    let copy = dated_copy(&example());
    written(copy.path(), Verify::Md5, Writing::WhereStale);
    let trace = load_paths(&[copy.path().to_owned()], &LoadOptions::default()).unwrap();
    assert!(trace.passed.is_empty(), "{:?}", trace.passed);
    let trace = load_paths(&[copy.path().join("*")], &LoadOptions::default()).unwrap();
    assert!(trace.passed.is_empty(), "{:?}", trace.passed);
}

#[test]
fn logs_that_may_change_get_no_index() {
    let new = folder(&[("a.log", &small_log(None, "1129 23:59:59.000001"))]);
    let sidecar = written(new.path(), Verify::Md5, Writing::Always).remove(0);
    assert_eq!(sidecar.state, SidecarState::Skipped);
    assert!(sidecar.detail.contains("written to"), "{}", sidecar.detail);
    assert!(!new.path().join(FOLDER).exists());
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_folder_is_refused() {
    let (copy, elsewhere) = (dated_copy(&example()), folder(&[]));
    std::os::unix::fs::symlink(elsewhere.path(), copy.path().join(FOLDER)).unwrap();
    let write = || write_sidecars(&[copy.path().into()], Verify::Md5, Writing::Always, &Job::default());
    assert_eq!(on_pool(None, write).unwrap_err().kind, ErrorKind::Output);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
