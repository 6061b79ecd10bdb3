//! Groups what ranks have at one place by its value, and tells differences from what is not known.

use std::collections::BTreeMap;

use super::{Aspect, Diagnostic, Key, Member, Verdict};

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
    /// Generation and compile id; `None` for what belongs to no compile.
    pub key: Option<Key>,
    /// What is looked at: the compile id, with the part of it and the position where there are any.
    pub place: String,
    /// Who has what, the largest group first.
    pub groups: Vec<Group>,
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

/// What one rank has at one place.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// A value: what is compared, what a person reads, and the record that shows it, if it is one.
    Known(String, String, Option<usize>),
    /// Not known, for this reason.
    Unknown(String),
}

impl Cell {
    /// A value that reads as it compares.
    pub(super) fn plain(value: impl Into<String>, record: usize) -> Self {
        let value = value.into();
        Self::Known(value.clone(), value, Some(record))
    }

    /// The value of a rank that lacks what others have.
    pub(super) fn absent(value: &str) -> Self {
        Self::Known(value.to_owned(), value.to_owned(), None)
    }
}

/// Differences of one comparison that are kept; the others are counted.
const DIFFERENCES: usize = 10_000;

/// Characters of a value that are shown.
const LONGEST: usize = 200;

/// What was found at all places that were compared.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) differences: Vec<Difference>,
    /// Places that differ and are not kept.
    more: usize,
    pub(super) unknown: Vec<Unjudged>,
    /// Places that at least two ranks know and agree on.
    pub(super) agreed: usize,
}

impl Findings {
    /// Whether no further difference is kept.
    pub(super) fn is_full(&self) -> bool {
        self.differences.len() >= DIFFERENCES
    }

    /// Counts a place that is not put into words, since no further difference is kept.
    pub(super) fn count(&mut self, differs: bool) {
        self.more += usize::from(differs);
    }

    /// Compares the cells of one place.
    pub(super) fn place(&mut self, key: Option<Key>, place: &str, cells: Vec<(&Member<'_>, Cell)>) {
        let mut groups: Vec<(String, Group)> = Vec::new();
        let mut unknown: BTreeMap<String, Vec<i32>> = BTreeMap::new();
        for (member, cell) in cells {
            match cell {
                Cell::Unknown(why) => unknown.entry(why).or_default().push(member.rank),
                Cell::Known(value, shown, record) => {
                    if let Some((_, group)) = groups.iter_mut().find(|(v, _)| *v == value) {
                        group.ranks.push(member.rank);
                    } else {
                        let evidence = (member.log, record);
                        groups.push((value, Group { ranks: vec![member.rank], value: shorten(shown), evidence }));
                    }
                }
            }
        }
        for (why, ranks) in unknown {
            self.not_known(ranks, place, why);
        }
        let known: usize = groups.iter().map(|(_, group)| group.ranks.len()).sum();
        match groups.len() {
            0 => {}
            1 => self.agreed += usize::from(known > 1),
            _ if self.is_full() => self.count(true),
            _ => {
                let mut groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
                groups.sort_by(|a, b| b.ranks.len().cmp(&a.ranks.len()).then_with(|| a.ranks.cmp(&b.ranks)));
                self.differences.push(Difference { key, place: place.to_owned(), groups });
            }
        }
    }

    /// Notes what could not be judged; places with the same reason for the same ranks are one.
    fn not_known(&mut self, ranks: Vec<i32>, place: &str, why: String) {
        match self.unknown.iter_mut().find(|u| u.ranks == ranks && u.why == why) {
            Some(known) if known.place.len() < 60 => known.place = format!("{}, {place}", known.place),
            Some(known) if known.place.ends_with('…') => {}
            Some(known) => known.place += " …",
            None => self.unknown.push(Unjudged { ranks, place: place.to_owned(), why }),
        }
    }

    /// The diagnostic. `same` is said where all agree, `nothing` where no two ranks could be compared.
    pub(super) fn diagnostic(self, aspect: Aspect, same: &str, nothing: &str) -> Diagnostic {
        let Self { differences, more, unknown, agreed } = self;
        let (verdict, sentence) = match differences.first() {
            Some(first) => (Verdict::Differs, first_difference(first, differences.len() + more)),
            None if agreed == 0 => (Verdict::Unknown, nothing.to_owned()),
            None if unknown.is_empty() => (Verdict::Same, same.to_owned()),
            None => {
                (Verdict::Unknown, format!("What could be compared is the same, but not all could: {}.", why(&unknown)))
            }
        };
        Diagnostic { aspect, verdict, sentence, differences, more, unknown }
    }
}

/// Texts of a log may be of any length; what is compared is the whole.
fn shorten(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn why(unknown: &[Unjudged]) -> String {
    let first = unknown.first();
    let text = first.map(|u| format!("{}: {}", rank_list(&u.ranks), u.why)).unwrap_or_default();
    if unknown.len() > 1 { format!("{text}, and {} more", unknown.len() - 1) } else { text }
}

/// `0/1 is on rank 2 and not on ranks 0, 1, 3` for the first of several.
fn first_difference(first: &Difference, count: usize) -> String {
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
}
