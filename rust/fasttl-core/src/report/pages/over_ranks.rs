//! What pictures and tables over ranks are made of: the ranks that are compared, which of them are alike in all but
//! time, and what each has of each compile.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::RankRow;
use super::picture::State;
use super::rank_times::label;
use super::strip::{Cell, Column};
use super::timeline::{Lane, Span};
use crate::analysis::ranks::{Aspect, Comparison, CompileFact, Facts, LineupRow, Wholeness};
use crate::trace::LogState;

/// A rank that is compared.
pub(crate) struct OfRank<'a> {
    /// Its number.
    pub(crate) rank: i32,
    /// Its page.
    pub(crate) href: String,
    /// What is known of its log.
    pub(crate) facts: &'a Facts,
    /// When it compiled.
    pub(crate) lane: Lane,
    /// The group that it is of.
    pub(crate) group: usize,
    /// Whether it is not with most ranks at some place.
    pub(crate) is_odd: bool,
    /// The last compile of the job that it has.
    end: Option<usize>,
}

/// Ranks that are alike in all but time.
#[derive(Debug)]
pub(crate) struct RankGroup {
    /// Numbers of its members.
    pub(crate) members: Vec<usize>,
    /// The first difference for which it is not with most ranks.
    pub(crate) first: Option<usize>,
}

/// All ranks that are compared.
pub(crate) struct OverRanks<'a> {
    pub(crate) comparison: &'a Comparison,
    /// In the order of the comparison.
    pub(crate) members: Vec<OfRank<'a>>,
    /// The largest group first, then by what is odd in them first.
    pub(crate) groups: Vec<RankGroup>,
}

impl<'a> OverRanks<'a> {
    pub(crate) fn new(comparison: &'a Comparison, rows: &[RankRow<'_>], facts: &'a [Facts]) -> Self {
        let mut members: Vec<OfRank<'a>> = Vec::new();
        for (rank, log) in comparison.ranks.iter().zip(&comparison.logs) {
            // They stand in the order of the lineup, so that none may be passed over.
            let (Some(row), Some(facts)) = (rows.get(*log), facts.get(*log)) else { continue };
            let lane = lane(facts, row);
            members.push(OfRank {
                rank: *rank,
                href: super::job::link(row),
                facts,
                lane,
                group: 0,
                is_odd: false,
                end: None,
            });
        }
        for (number, row) in comparison.lineup.rows.iter().enumerate() {
            for (member, compile) in members.iter_mut().zip(&row.of) {
                if compile.is_some() {
                    member.end = Some(number);
                }
            }
        }
        let mut all = Self { comparison, members, groups: Vec::new() };
        all.group();
        all
    }

    /// Whether there is something to compare.
    pub(crate) fn is_several(&self) -> bool {
        self.members.len() > 1
    }

    /// Whether there is a timeline.
    pub(crate) fn has_clock(&self) -> bool {
        self.is_several() && self.members.iter().any(|member| !member.lane.is_empty())
    }

    /// The compiles of the job.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let column = |row: &LineupRow| {
            let compile = self.members.iter().zip(&row.of).find_map(|(member, at)| compile(member.facts, *at));
            Column {
                id: label(row.key),
                name: compile.and_then(|c| c.profile.name.as_deref()).unwrap_or_default().to_owned(),
            }
        };
        self.comparison.lineup.rows.iter().map(column).collect()
    }

    /// What a member has of all compiles, in order.
    pub(crate) fn cells(&self, member: usize) -> impl Iterator<Item = Cell> + '_ {
        let of = self.members.get(member);
        let rows = self.comparison.lineup.rows.iter().enumerate();
        rows.map(move |(number, row)| match of {
            Some(of) => of.cell(number, row.of.get(member).copied().flatten()),
            None => Cell { state: State::Unknown, time: None },
        })
    }

    /// What ranks that are alike have.
    pub(crate) fn cells_of(&self, group: &RankGroup) -> Vec<Cell> {
        let mut members = group.members.iter();
        let mut cells: Vec<Cell> = members.next().map(|first| self.cells(*first).collect()).unwrap_or_default();
        for member in members {
            for (cell, other) in cells.iter_mut().zip(self.cells(*member)) {
                cell.state = cell.state.max(other.state);
                cell.time = match (cell.time, other.time) {
                    (Some(one), Some(two)) => {
                        let slower = if two.1 > one.1 { two } else { one };
                        Some((one.0.min(two.0), slower.1, slower.2))
                    }
                    (one, two) => one.or(two),
                };
            }
        }
        cells
    }

    /// Seconds of all compiles of a member.
    pub(crate) fn seconds(&self, member: usize) -> f64 {
        let compiles = self.members.get(member).map(|member| member.facts.compiles.as_slice()).unwrap_or_default();
        compiles.iter().filter_map(|compile| compile.time().seconds).map(f64::from).sum()
    }

    /// Ranks of a group.
    pub(crate) fn ranks(&self, group: &RankGroup) -> Vec<i32> {
        group.members.iter().filter_map(|at| self.members.get(*at)).map(|member| member.rank).collect()
    }

    fn group(&mut self) {
        let mut marks: Vec<DefaultHasher> = (0..self.members.len())
            .map(|member| {
                let mut mark = DefaultHasher::new();
                self.cells(member).for_each(|cell| cell.state.hash(&mut mark));
                mark
            })
            .collect();
        let numbers: BTreeMap<i32, usize> =
            self.members.iter().zip(0..).map(|(member, at)| (member.rank, at)).collect();
        let mut first: Vec<Option<usize>> = vec![None; self.members.len()];
        for (nth, difference) in self.comparison.differences.iter().enumerate() {
            // Estimates are no more than that.
            if difference.aspect == Aspect::Runtimes {
                continue;
            }
            for (side, group) in difference.groups.iter().enumerate().skip(1) {
                for at in group.ranks.iter().filter_map(|rank| numbers.get(rank)) {
                    if let (Some(mark), Some(first)) = (marks.get_mut(*at), first.get_mut(*at)) {
                        (nth, side).hash(mark);
                        first.get_or_insert(nth);
                    }
                }
            }
        }
        let mut groups: BTreeMap<u64, RankGroup> = BTreeMap::new();
        for (at, (mark, first)) in marks.iter().zip(first).enumerate() {
            let group = groups.entry(mark.finish()).or_insert(RankGroup { members: Vec::new(), first });
            group.members.push(at);
        }
        let mut groups: Vec<RankGroup> = groups.into_values().collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.members.len()), group.members.first().copied()));
        if let Some((_, odd)) = groups.split_first_mut() {
            odd.sort_by_key(|group| (group.first.is_none(), group.first, group.members.first().copied()));
        }
        for (number, group) in groups.iter().enumerate() {
            for at in &group.members {
                if let Some(member) = self.members.get_mut(*at) {
                    (member.group, member.is_odd) = (number, group.first.is_some());
                }
            }
        }
        self.groups = groups;
    }
}

impl OfRank<'_> {
    fn cell(&self, number: usize, at: Option<u32>) -> Cell {
        let Some(compile) = compile(self.facts, at) else {
            let ended = self.end.is_none_or(|end| number > end);
            let state = match self.facts.wholeness {
                Wholeness::Damaged => State::Unknown,
                Wholeness::Cut if ended => State::Unknown,
                Wholeness::Cut | Wholeness::Whole => State::Absent,
            };
            return Cell { state, time: None };
        };
        Cell { state: state(compile), time: compile.time().seconds.map(|s| (s, s, self.rank)) }
    }

    /// What a compile of its lane is.
    pub(crate) fn title(&self, nth: usize) -> String {
        let Some(compile) = self.facts.compiles.get(nth) else { return String::new() };
        let profile = &compile.profile;
        let name = super::common::shorten(profile.name.as_deref().unwrap_or_default(), 40);
        let time = compile.time().seconds.map(|s| format!(", {}", super::common::duration(f64::from(s))));
        let words = format!("{} {name}: {}", label(profile.key), state(compile).word());
        words + &time.unwrap_or_default()
    }
}

fn compile(facts: &Facts, at: Option<u32>) -> Option<&CompileFact> {
    facts.compiles.get(at? as usize)
}

fn state(compile: &CompileFact) -> State {
    State::of(compile.profile.status, compile.profile.unfinished)
}

fn lane(facts: &Facts, row: &RankRow<'_>) -> Lane {
    let end_us = facts.time.last_us.or(row.log.last_us);
    // A compile whose times the log does not tell has no place on the clock.
    let span = |(number, compile): (usize, &CompileFact)| {
        let start_us = compile.time().start_us.or(compile.time().end_us)?;
        Some(Span { number, start_us, end_us: compile.time().end_us, state: state(compile) })
    };
    let spans = facts.compiles.iter().enumerate().filter_map(span).collect();
    Lane { spans, busy: facts.time.busy.clone(), end_us, cut: row.log.state == LogState::Truncated }
}
