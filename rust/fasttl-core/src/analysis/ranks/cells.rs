//! Groups what ranks have at one place by its value, and tells differences from what is not known.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Aspect, Diagnostic, Key, Member, Verdict};
use crate::format::text::shorten;

/// Ranks that have the same value at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The ranks, in order.
    pub ranks: Vec<i32>,
    /// What they have, for a person.
    pub value: String,
    /// A log that shows it, and the record; without one it is the list of compiles that lacks something.
    pub evidence: (usize, Option<usize>),
}

/// A place at which ranks differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What differs.
    pub aspect: Aspect,
    /// Generation and compile id on most of the ranks that have it; `None` for what belongs to no compile.
    pub key: Option<Key>,
    /// Place in a list, such as the collectives of a graph, from 1.
    pub position: Option<u64>,
    /// When a rank that is not of the largest group began the compile, in microseconds since 1970.
    pub time_us: Option<i64>,
    /// What is looked at: the compile id, with the part of it and the position where there are any.
    pub place: String,
    /// Who has what, the largest group first.
    pub groups: Vec<Group>,
    /// What made them part, as far as the logs show it.
    pub cause: Option<String>,
    /// Number of the difference that it follows from, in the list of all; `None` where it follows from none that the logs
    /// show.
    pub follows: Option<usize>,
    /// Whether it is a compile with collectives that some ranks lack.
    pub has_collectives: bool,
    /// Row of the lineup.
    pub(super) row: Option<usize>,
}

impl Difference {
    /// What is known of it before times and causes are looked for. Groups are put in order, the largest first.
    pub(super) fn new(aspect: Aspect, place: Place, mut groups: Vec<Group>) -> Self {
        for group in &mut groups {
            group.ranks.sort_unstable();
        }
        groups.sort_by(|a, b| b.ranks.len().cmp(&a.ranks.len()).then_with(|| a.ranks.cmp(&b.ranks)));
        let Place { key, row, position, words } = place;
        Self {
            aspect,
            key,
            position,
            time_us: None,
            place: words,
            groups,
            cause: None,
            follows: None,
            has_collectives: false,
            row,
        }
    }

    /// Ranks that are not of the largest group, in order.
    pub fn odd_ranks(&self) -> Vec<i32> {
        let mut odd: Vec<i32> = self.groups.iter().skip(1).flat_map(|group| group.ranks.iter().copied()).collect();
        odd.sort_unstable();
        odd
    }
}

/// Something that could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unjudged {
    /// Ranks of which it is not known.
    pub ranks: Vec<i32>,
    /// What is looked at; empty where it is all.
    pub place: String,
    /// Why.
    pub why: String,
}

/// What values are compared by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    /// A digest.
    Digest([u8; 16]),
    /// A text.
    Text(Arc<str>),
    /// A number.
    Number(u64),
}

/// What ranks have at one place.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// A value: what is compared, what a person reads, and the record that shows it, if it is one.
    Known(Mark, String, Option<usize>),
    /// The same where some of it may be lost: it can agree, and not differ.
    Doubtful(Mark),
    /// Not known, for this reason.
    Unknown(Arc<str>),
}

impl Cell {
    /// A value that reads as it compares.
    pub(super) fn plain(value: &str, record: Option<usize>) -> Self {
        Self::Known(Mark::Text(value.into()), value.to_owned(), record)
    }

    pub(super) fn unknown(why: &str) -> Self {
        Self::Unknown(why.into())
    }

    /// The same value, where some of it may be lost.
    pub(super) fn doubtful(self) -> Self {
        match self {
            Self::Known(mark, ..) => Self::Doubtful(mark),
            other => other,
        }
    }
}

/// Members that are alike, with the log that is evidence of it.
#[derive(Clone, Debug)]
pub(super) struct Alike {
    pub(super) ranks: Vec<i32>,
    pub(super) log: usize,
}

impl Alike {
    pub(super) fn one(member: &Member<'_>) -> Self {
        Self { ranks: vec![member.rank], log: member.log }
    }
}

/// Differences that are kept of one aspect; the others are counted.
pub(super) const DIFFERENCES: usize = 10_000;

/// Groups that are kept of one aspect.
const GROUPS: usize = 50_000;

/// Reasons that are kept of one aspect.
const REASONS: usize = 1_000;

/// Characters of a value that are shown.
const LONGEST: usize = 200;

/// Where cells stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) key: Option<Key>,
    pub(super) row: Option<usize>,
    pub(super) position: Option<u64>,
    pub(super) words: String,
}

/// What was found of one aspect.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) differences: Vec<Difference>,
    /// Their groups.
    groups: usize,
    /// Places that differ and are not kept.
    pub(super) more: usize,
    unknown: Vec<Unjudged>,
    reasons: FxHashMap<(Vec<i32>, String), usize>,
    /// Places that at least two ranks know and agree on.
    pub(super) agreed: usize,
}

impl Found {
    /// Whether no further difference is kept.
    pub(super) fn is_full(&self) -> bool {
        self.differences.len() >= DIFFERENCES || self.groups >= GROUPS
    }

    /// Keeps a difference where there is room, and counts it where there is none.
    pub(super) fn add(&mut self, difference: Difference) {
        if self.is_full() {
            self.count(true);
        } else {
            self.groups += difference.groups.len();
            self.differences.push(difference);
        }
    }

    /// Counts a place that is not put into words, since no further difference is kept.
    pub(super) fn count(&mut self, differs: bool) {
        self.more += usize::from(differs);
    }

    /// Compares the cells of one place. Yields whether they differ.
    pub(super) fn place(&mut self, aspect: Aspect, place: &Place, cells: Vec<(&Alike, Cell)>) -> bool {
        let mut groups: Vec<Group> = Vec::new();
        let mut numbers: FxHashMap<Mark, usize> = FxHashMap::default();
        let mut doubtful = Vec::new();
        for (alike, cell) in cells {
            match cell {
                Cell::Unknown(why) => self.not_known(alike.ranks.clone(), &place.words, &why),
                Cell::Doubtful(mark) => doubtful.push((alike, mark)),
                Cell::Known(mark, shown, record) => {
                    let next = groups.len();
                    let number = *numbers.entry(mark).or_insert(next);
                    match groups.get_mut(number) {
                        Some(group) => group.ranks.extend(&alike.ranks),
                        None => groups.push(Group {
                            ranks: alike.ranks.clone(),
                            value: shorten(&shown, LONGEST),
                            evidence: (alike.log, record),
                        }),
                    }
                }
            }
        }
        for (alike, mark) in doubtful {
            match numbers.get(&mark).and_then(|number| groups.get_mut(*number)) {
                Some(group) => group.ranks.extend(&alike.ranks),
                None => self.not_known(alike.ranks.clone(), &place.words, super::compiles::INCOMPLETE),
            }
        }
        let known: usize = groups.iter().map(|group| group.ranks.len()).sum();
        match groups.len() {
            0 => false,
            1 => {
                self.agreed += usize::from(known > 1);
                false
            }
            _ => {
                self.add(Difference::new(aspect, place.clone(), groups));
                true
            }
        }
    }

    /// Notes what could not be judged; places with the same reason for the same ranks are one.
    pub(super) fn not_known(&mut self, mut ranks: Vec<i32>, place: &str, why: &str) {
        ranks.sort_unstable();
        let key = (ranks, why.to_owned());
        if let Some(known) = self.reasons.get(&key).and_then(|at| self.unknown.get_mut(*at)) {
            also_at(&mut known.place, place);
        } else if self.unknown.len() < REASONS {
            self.unknown.push(Unjudged { ranks: key.0.clone(), place: place.to_owned(), why: key.1.clone() });
            self.reasons.insert(key, self.unknown.len() - 1);
        }
    }

    /// These and then those of later places.
    pub(super) fn take(&mut self, later: Self) {
        self.more += later.more;
        for difference in later.differences {
            self.add(difference);
        }
        for unknown in later.unknown {
            self.not_known(unknown.ranks, &unknown.place, &unknown.why);
        }
        self.agreed += later.agreed;
    }

    /// The result. `same` is what is said when all is the same, `nothing` when no two ranks have anything to compare.
    pub(super) fn diagnostic(self, aspect: Aspect, same: &str, nothing: &str) -> (Diagnostic, Vec<Difference>) {
        let Self { differences, more, mut unknown, agreed, .. } = self;
        unknown = joined(unknown);
        let (verdict, sentence) = match differences.first() {
            Some(first) => (Verdict::Differs, first_difference(first, differences.len() + more)),
            None if agreed == 0 => (Verdict::Unknown, nothing.to_owned()),
            None if unknown.is_empty() => (Verdict::Same, same.to_owned()),
            None => {
                (Verdict::Unknown, format!("What could be compared is the same, but not all could: {}.", why(&unknown)))
            }
        };
        (Diagnostic { aspect, verdict, sentence, differences: differences.len() + more, unknown }, differences)
    }
}

/// Reasons for the same place, of several ranks, are one.
fn joined(unknown: Vec<Unjudged>) -> Vec<Unjudged> {
    let mut joined: Vec<Unjudged> = Vec::new();
    let mut at: FxHashMap<(String, String), usize> = FxHashMap::default();
    for one in unknown {
        let key = (one.place.clone(), one.why.clone());
        if let Some(known) = at.get(&key).and_then(|at| joined.get_mut(*at)) {
            known.ranks.extend(one.ranks);
            known.ranks.sort_unstable();
            known.ranks.dedup();
        } else {
            at.insert(key, joined.len());
            joined.push(one);
        }
    }
    joined
}

fn also_at(known: &mut String, place: &str) {
    if known.len() < 60 {
        *known = format!("{known}, {place}");
    } else if !known.ends_with('…') {
        *known += " …";
    }
}

fn why(unknown: &[Unjudged]) -> String {
    let first = unknown.first();
    let text = first.map(|u| format!("{}: {}", rank_list(&u.ranks), u.why)).unwrap_or_default();
    if unknown.len() > 1 { format!("{text}, and {} more", unknown.len() - 1) } else { text }
}

/// `0/1 is on rank 2 and not on ranks 0, 1, 3` for the first of several.
pub(super) fn first_difference(first: &Difference, count: usize) -> String {
    let sides: Vec<String> =
        first.groups.iter().take(4).map(|g| format!("{} on {}", g.value, rank_list(&g.ranks))).collect();
    let more =
        if first.groups.len() > 4 { format!(", and {} more groups", first.groups.len() - 4) } else { String::new() };
    let places = if count == 1 { "One place differs".to_owned() } else { format!("{count} places differ, first") };
    format!("{places}: {}: {}{more}.", first.place, sides.join("; "))
}

/// `rank 3`, `ranks 0, 1, 3`, `ranks 0–3, 7`.
pub fn rank_list(ranks: &[i32]) -> String {
    let mut runs: Vec<(i32, i32)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(rank) => *end = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let run = |&(from, to): &(i32, i32)| match to - from {
        0 => from.to_string(),
        1 => format!("{from}, {to}"),
        _ => format!("{from}–{to}"),
    };
    let shown: Vec<String> = runs.iter().take(12).map(run).collect();
    let more = if runs.len() > 12 { format!(" and more, {} in all", ranks.len()) } else { String::new() };
    format!("rank{} {}{more}", if ranks.len() == 1 { "" } else { "s" }, shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_in_runs() {
        assert_eq!(rank_list(&[3]), "rank 3");
        assert_eq!(rank_list(&[0, 1, 3, 5, 6, 7, 8]), "ranks 0, 1, 3, 5–8");
        let odd: Vec<i32> = (0..100).map(|n| n * 2).collect();
        assert!(rank_list(&odd).ends_with("and more, 100 in all"));
        assert_eq!(rank_list(&[i32::MAX - 1, i32::MAX]), "ranks 2147483646, 2147483647");
    }

    #[test]
    fn what_may_be_lost_agrees_or_is_not_known() {
        let alike = |rank: i32| Alike { ranks: vec![rank], log: 0 };
        let (a, b, c) = (alike(0), alike(1), alike(2));
        let mut found = Found::default();
        let cells = vec![
            (&a, Cell::plain("x", None)),
            (&b, Cell::plain("x", None).doubtful()),
            (&c, Cell::plain("y", None).doubtful()),
        ];
        assert!(!found.place(Aspect::Breaks, &Place::default(), cells));
        assert_eq!((found.agreed, found.unknown.len()), (1, 1));
        assert_eq!(found.unknown[0].ranks, [2]);
    }
}
