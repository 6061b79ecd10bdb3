//! One compile on all ranks: who is alike in it, and who lacks it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cells::{Alike, Place};
use super::compiles::label;
use super::facts::{CompileFact, Facts, Profile, Wholeness};
use super::lineup::{Lineup, LineupRow};
use super::{Key, Member};

/// What members that are alike have of a compile.
#[derive(Clone, Copy, Debug)]
pub(super) enum Has<'a> {
    /// They compiled it; the facts of the first of them.
    Compile(&'a Facts, &'a CompileFact),
    /// They did not compile it.
    Absent,
    /// Their logs are not whole, so that it is not known.
    Lost,
}

impl<'a> Has<'a> {
    pub(super) const fn compile(&self) -> Option<(&'a Facts, &'a CompileFact)> {
        match self {
            Self::Compile(facts, compile) => Some((facts, compile)),
            Self::Absent | Self::Lost => None,
        }
    }
}

/// Members that are alike in a compile.
#[derive(Clone, Debug)]
pub(super) struct Side<'a> {
    pub(super) alike: Alike,
    pub(super) has: Has<'a>,
    /// Whether some of what they have may be lost.
    pub(super) doubtful: bool,
    /// Numbers of the members.
    pub(super) members: Vec<usize>,
}

/// A compile on all ranks.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    /// Its number in the lineup.
    pub(super) number: usize,
    pub(super) key: Key,
    pub(super) sides: Vec<Side<'a>>,
}

impl<'a> Row<'a> {
    /// Who has what of row number `number`. `ends` is the last row of each member.
    pub(super) fn new(number: usize, of: &LineupRow, members: &[Member<'a>], ends: &[Option<usize>]) -> Self {
        let mut sides: Vec<Side<'a>> = Vec::new();
        let mut numbers: FxHashMap<(usize, bool, Wholeness), usize> = FxHashMap::default();
        for (at, (member, compile)) in members.iter().zip(&of.of).enumerate() {
            let compile = compile.and_then(|at| member.facts.compiles.get(at as usize));
            let wholeness = member.facts.wholeness;
            let ended = ends.get(at).copied().flatten().is_none_or(|end| number > end);
            let has = match (compile, wholeness) {
                (Some(compile), _) => Has::Compile(member.facts, compile),
                (None, Wholeness::Damaged) => Has::Lost,
                (None, Wholeness::Cut) if ended => Has::Lost,
                (None, _) => Has::Absent,
            };
            let doubtful = wholeness == Wholeness::Damaged || compile.is_some_and(|c| c.profile.unfinished);
            let next = sides.len();
            let number = *numbers.entry((has.address(), doubtful, wholeness)).or_insert(next);
            match sides.get_mut(number) {
                Some(side) => {
                    side.alike.ranks.push(member.rank);
                    side.members.push(at);
                }
                None => sides.push(Side { alike: Alike::one(member), has, doubtful, members: vec![at] }),
            }
        }
        Self { number, key: of.key, sides }
    }

    /// The place that is called as the compile, with more words behind it.
    pub(super) fn place(&self, more: &str) -> Place {
        Place { key: Some(self.key), row: Some(self.number), position: None, words: label(self.key) + more }
    }

    /// The sides that have the compile.
    pub(super) fn compiled(&self) -> impl Iterator<Item = (&Side<'a>, &'a Facts, &'a CompileFact)> + '_ {
        self.sides.iter().filter_map(|side| side.has.compile().map(|(facts, compile)| (side, facts, compile)))
    }

    /// The profiles of the sides.
    pub(super) fn profiles(&self) -> impl Iterator<Item = &'a Arc<Profile>> + '_ {
        self.compiled().map(|(_, _, compile)| &compile.profile)
    }
}

impl Has<'_> {
    /// The same for those that have the same: where their profile lies.
    fn address(&self) -> usize {
        match self {
            Has::Compile(_, compile) => Arc::as_ptr(&compile.profile).addr(),
            Has::Absent => 0,
            Has::Lost => 1,
        }
    }
}

/// The last row that each member has.
pub(super) fn ends(lineup: &Lineup, members: usize) -> Vec<Option<usize>> {
    let mut ends = vec![None; members];
    for (number, row) in lineup.rows.iter().enumerate() {
        for (end, compile) in ends.iter_mut().zip(&row.of) {
            if compile.is_some() {
                *end = Some(number);
            }
        }
    }
    ends
}
