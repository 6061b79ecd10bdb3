//! The order of runs on the ranks of a job: a run more or less is one difference, and shifts nothing.

use std::time::{Duration, Instant};

use crate::common::rank_logs::{RankLog, differences, job, said, verdict, written};

const ASPECT: &str = "execution order";
/// Ids of three functions: `f`, `g`, `h`.
const STEP: [Option<&str>; 3] = [Some("0/0"), Some("1/0"), Some("2/0")];

/// Three functions, and many steps in which they run.
fn steps(rank: i32, change: impl FnOnce(&mut Vec<Option<&'static str>>)) -> RankLog {
    let mut runs: Vec<Option<&str>> = STEP.iter().copied().cycle().take(600).collect();
    change(&mut runs);
    RankLog::new(rank).compile(0, "f").compile(1, "g").compile(2, "h").order(&runs)
}

#[test]
fn a_run_more_is_one_difference() {
    let (_dir, trace) = written((0..3).map(|rank| {
        steps(rank, |runs| {
            if rank == 2 {
                runs.insert(3, Some("2/0"));
            }
        })
    }));
    assert_eq!(differences(&trace, ASPECT), ["position 4: [nothing; 2/0 h at b.py:3] [[0; 1]; [2]]"]);
    assert!(said(&trace, ASPECT).starts_with("differs: One place differs: position 4: "), "{}", said(&trace, ASPECT));
    // In front of all others and behind them, on two ranks.
    let (_dir, trace) = written((0..4).map(|rank| {
        steps(rank, |runs| match rank {
            1 => runs.insert(0, Some("1/0")),
            3 => runs.extend([Some("1/0"), Some("0/0")]),
            _ => {}
        })
    }));
    assert_eq!(
        differences(&trace, ASPECT),
        [
            "position 1: [nothing; 1/0 g at b.py:3] [[0; 2; 3]; [1]]",
            "position 601: [nothing; 2 runs, first 1/0 g at b.py:3] [[0; 1; 2]; [3]]"
        ]
    );
}

#[test]
fn a_rank_that_stops_is_one_difference() {
    let (_dir, trace) = written((0..3).map(|rank| {
        steps(rank, |runs| {
            if rank == 1 {
                runs.truncate(550);
            }
        })
    }));
    assert_eq!(differences(&trace, ASPECT), ["position 551: [50 runs, first 1/0 g at b.py:3; nothing] [[0; 2]; [1]]"]);
    // Of one that recorded and ran nothing, all is missing.
    let (_dir, trace) = job(3, |log| if log.rank == 0 { log.order(&[]) } else { log.order(&[Some("0/0")]) });
    assert_eq!(differences(&trace, ASPECT), ["position 1: [0/0 f at b.py:3; nothing] [[1; 2]; [0]]"]);
}

#[test]
fn runs_without_an_id_shift_nothing() {
    // Every third run of one rank came from a cache.
    let gaps = |rank: i32, more: bool| {
        steps(rank, |runs| {
            if rank == 1 {
                runs.iter_mut().skip(1).step_by(3).for_each(|run| *run = None);
            }
            if rank == 1 && more {
                runs.insert(301, None);
            }
        })
    };
    let (_dir, trace) = written((0..3).map(|rank| gaps(rank, false)));
    let said_of = said(&trace, ASPECT);
    assert!(said_of.starts_with("unknown: What could be compared is the same") && said_of.contains("rank 1: "));
    assert_eq!(differences(&trace, ASPECT), Vec::<String>::new());
    // One more is one run more, whatever it was.
    let (_dir, trace) = written((0..3).map(|rank| gaps(rank, true)));
    let found = differences(&trace, ASPECT);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains(": [nothing; ") && found[0].ends_with("[[0; 2]; [1]]"), "{found:?}");
    // A gap on most ranks hides no difference between others.
    let second = |rank: i32| match rank {
        3 => Some("1/0"),
        4 => Some("0/0"),
        _ => None,
    };
    let (_dir, trace) = written((0..5).map(|rank| {
        let log = RankLog::new(rank).compile(0, "f").compile(1, "g");
        log.order(&[Some("0/0"), second(rank), Some("1/0")])
    }));
    assert_eq!(differences(&trace, ASPECT), ["position 2: [1/0 g at b.py:3; 0/0 f at b.py:3] [[3]; [4]]"]);
}

#[test]
fn recordings_are_compared_one_by_one() {
    let (_dir, trace) = job(2, |log| {
        let log = log.compile(1, "g").order(&[Some("0/0")]).order(&[Some("0/0"), Some("1/0")]);
        if log.rank == 0 { log.order(&[Some("0/0")]) } else { log }
    });
    assert_eq!(verdict(&trace, ASPECT), "unknown");
    assert!(said(&trace, ASPECT).contains("rank 1: its log has no such recording"), "{}", said(&trace, ASPECT));
    let (_dir, trace) = job(2, |log| {
        let second = if log.rank == 0 { "0/0" } else { "1/0" };
        log.compile(1, "g").order(&[Some("0/0")]).order(&[Some("0/0"), Some(second)])
    });
    assert_eq!(differences(&trace, ASPECT), ["recording 2, position 2: [0/0 f at b.py:3; 1/0 g at b.py:3] [[0]; [1]]"]);
}

#[test]
fn long_orders_that_are_shifted_take_no_time() {
    let runs: Vec<Option<&str>> = STEP.iter().copied().cycle().take(200_000).collect();
    let (_dir, trace) = written((0..8).zip((0..).step_by(10_000)).map(|(rank, lacks)| {
        let mut runs = runs.clone();
        if rank > 0 {
            // Shifted by a run in front, and as long: no position is the same.
            runs.insert(0, Some("2/0"));
            runs.remove(lacks);
        }
        RankLog::new(rank).compile(0, "f").compile(1, "g").compile(2, "h").order(&runs)
    }));
    let begun = Instant::now();
    let found = differences(&trace, ASPECT);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!((2..=14).contains(&found.len()), "{found:?}");
    assert_eq!(found[0], "position 1: [2/0 h at b.py:3; nothing] [[1; 2; 3; 4; 5; 6; 7]; [0]]");
}
