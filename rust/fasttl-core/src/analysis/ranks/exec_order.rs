//! The order in which graphs ran: by what was run, since one id can be different functions on two ranks.
//!
//! Ranks with the same order are one sequence, and most are. Each other one is held against that of most ranks
//! (`run_stretches.rs`); a stretch that differs is one difference.

use std::ops::Range;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cells::{Alike, Cell, Found, Mark, Place};
use super::runs::{Graphs, Recordings};
use super::run_stretches::{Cursor, Ran, Stretch, fill, fit, places, stretches};
use super::{Aspect, Member};
use crate::analysis::exec_order::Recording;
use crate::analysis::lines::Budget;

/// What is said where no two ranks recorded it.
pub(super) const NONE_HAS: &str = "No two ranks recorded it. To have it recorded, run the steps inside torch._inductor.debug.record_and_log_graph_execution_order().";

/// Time for all orders that are not those of most ranks.
const TIME: Duration = Duration::from_secs(5);
/// Runs that two orders are compared by where they are not the same at the same positions.
const MOST: usize = 1_000_000;
/// Different orders of one length that one with gaps is held against; of more, it may be any.
const FEW: usize = 16;

/// Compares recordings, n-th with n-th.
pub(super) fn exec_order(members: &[Member<'_>]) -> Found {
    let mut found = Found::default();
    let budget = Budget::new(TIME, MOST);
    let mut graphs = Graphs::default();
    let mut recordings: Vec<Recordings> = Vec::new();
    recordings.resize_with(members.iter().map(|m| m.facts.recordings.len()).max().unwrap_or(0), Recordings::default);
    for (at, member) in members.iter().enumerate() {
        graphs.read(at, member, &mut recordings);
    }
    let several = recordings.len() > 1;
    for (nth, recording) in recordings.into_iter().enumerate() {
        let name = if several { format!("recording {}", nth + 1) } else { String::new() };
        recording.tell_unknown(&name, &mut found);
        let one = OneRecording { members, graphs: &graphs, nth, name };
        one.compare(&sequences(recording.orders), &budget, &mut found);
    }
    found
}

/// Ranks that ran the same in the same order.
struct Sequence {
    members: Vec<usize>,
    runs: Vec<Ran>,
}

impl Sequence {
    fn at(&self, range: &Range<usize>) -> &[Ran] {
        self.runs.get(range.clone()).unwrap_or_default()
    }
}

/// The different orders, that of most ranks first.
fn sequences(orders: FxHashMap<Vec<Ran>, Vec<usize>>) -> Vec<Sequence> {
    let mut all: Vec<Sequence> = orders.into_iter().map(|(runs, members)| Sequence { members, runs }).collect();
    // Of two that as many have, the longer one: what the other lacks is then a run less.
    all.sort_by_key(|sequence| {
        let (ranks, runs) = (sequence.members.len(), sequence.runs.len());
        (std::cmp::Reverse((ranks, runs)), sequence.members.first().copied())
    });
    all
}

/// One recording while its orders are compared.
struct OneRecording<'a> {
    members: &'a [Member<'a>],
    graphs: &'a Graphs,
    nth: usize,
    /// Empty where there is one.
    name: String,
}

impl OneRecording<'_> {
    fn compare(&self, sequences: &[Sequence], budget: &Budget, found: &mut Found) {
        let Some(first) = sequences.first() else { return };
        let is_shared = |s: &Sequence| s.members.len() > 1 && s.runs.iter().any(|ran| ran.is_known());
        let mut agree = sequences.iter().any(is_shared);
        let mut most = first.runs.clone();
        let mut all: Vec<Vec<Stretch>> = vec![Vec::new()];
        for sequence in sequences.iter().skip(1) {
            let others = stretches(&most, &sequence.runs, budget);
            agree |= fill(&mut most, &sequence.runs, &others);
            all.push(others);
        }
        found.agreed += usize::from(agree);
        let alike: Vec<Alike> = sequences.iter().filter_map(|sequence| self.alike(sequence)).collect();
        let mut cursors: Vec<Cursor<'_>> = all.iter().map(|stretches| Cursor::new(stretches)).collect();
        for place in places(&all) {
            if found.is_full() {
                found.count(true);
                continue;
            }
            let ranges: Vec<Range<usize>> = cursors.iter_mut().map(|cursor| cursor.at(&place)).collect();
            self.place(place.start, (sequences, &alike), ranges, found);
        }
    }

    fn alike(&self, sequence: &Sequence) -> Option<Alike> {
        let of = |at: &usize| self.members.get(*at);
        let ranks = sequence.members.iter().filter_map(of).map(|member| member.rank).collect();
        Some(Alike { ranks, log: sequence.members.first().and_then(of)?.log })
    }

    /// Compares what the sequences have at one place: `ranges` of their runs.
    fn place(
        &self,
        start: usize,
        (sequences, alike): (&[Sequence], &[Alike]),
        mut ranges: Vec<Range<usize>>,
        found: &mut Found,
    ) {
        let same = common(sequences, &ranges);
        for range in &mut ranges {
            range.start += same;
        }
        let all: Vec<&[Ran]> = sequences.iter().zip(&ranges).map(|(sequence, range)| sequence.at(range)).collect();
        // The different ones of which all is known, by length.
        let mut whole: FxHashMap<usize, Vec<&[Ran]>> = FxHashMap::default();
        let mut numbers: FxHashMap<&[Ran], u64> = FxHashMap::default();
        for runs in all.iter().copied().filter(|runs| runs.iter().all(|ran| ran.is_known())) {
            let next = numbers.len() as u64;
            if *numbers.entry(runs).or_insert(next) == next {
                whole.entry(runs.len()).or_default().push(runs);
            }
        }
        let may_be_another = |runs: &[Ran]| {
            let whole = whole.get(&runs.len()).map(Vec::as_slice).unwrap_or_default();
            whole.len() > FEW || whole.iter().any(|other| fit(runs, other))
        };
        let mut cells = Vec::new();
        let mut told: FxHashSet<u64> = FxHashSet::default();
        for ((runs, range), (sequence, alike)) in all.into_iter().zip(&ranges).zip(sequences.iter().zip(alike)) {
            let next = numbers.len() as u64;
            let number = match numbers.get(runs) {
                Some(number) => *number,
                // It may be what others ran. What is not known was told.
                None if may_be_another(runs) => continue,
                None => *numbers.entry(runs).or_insert(next),
            };
            // Only the first of a group is put into words.
            let words = if told.insert(number) { self.words(sequence, range) } else { String::new() };
            let record = sequence.members.first().and_then(|at| self.recording(*at)).map(|recording| recording.record);
            cells.push((alike, Cell::Known(Mark::Number(number), words, record)));
        }
        let at = (start + same) as u64 + 1;
        let of = if self.name.is_empty() { String::new() } else { format!("{}, ", self.name) };
        let place = Place { position: Some(at), words: format!("{of}position {at}"), ..Place::default() };
        found.place(Aspect::ExecOrder, &place, cells);
    }

    fn recording(&self, member: usize) -> Option<&Recording> {
        self.members.get(member)?.facts.recordings.get(self.nth)
    }

    /// What the ranks of a sequence ran: `1/0 f at a.py:3 (00112233)`, `3 runs, first …`, `nothing`.
    fn words(&self, sequence: &Sequence, range: &Range<usize>) -> String {
        let Some(ran) = sequence.at(range).first() else { return "nothing".to_owned() };
        let order = sequence.members.first().and_then(|at| self.recording(*at)?.order.as_ref().ok());
        let id = order.and_then(|order| order.get(range.start)).flatten();
        let code = self.graphs.code(*ran);
        let first = match (id, code) {
            (Some(id), Some(code)) => format!("{id} {code}"),
            (Some(id), None) => id.to_string(),
            (None, _) => "a graph without an id".to_owned(),
        };
        if range.len() == 1 { first } else { format!("{} runs, first {first}", range.len()) }
    }
}

/// How many runs all have in common at the begin of their ranges.
fn common(sequences: &[Sequence], ranges: &[Range<usize>]) -> usize {
    let run = |nth: usize, at: usize| sequences.get(nth)?.at(ranges.get(nth)?).get(at).copied();
    let all_have = |at: &usize| {
        let first = run(0, *at);
        first.is_some_and(Ran::is_known) && (1..sequences.len()).all(|nth| run(nth, *at) == first)
    };
    let shortest = ranges.iter().map(ExactSizeIterator::len).min().unwrap_or(0);
    (0..shortest).take_while(all_have).count()
}
