//! Things that several compiles and logs have in common, brought together log by log.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::format::compile_id::CompileId;

/// Most records of a group that are kept as evidence.
const EVIDENCE: usize = 100;
/// Most compile ids of a group that are kept.
const IDS: usize = 100;

/// A record that shows something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Number of its log.
    pub(crate) file: u32,
    /// Byte at which it starts, or the byte of a problem; `None` for a whole log.
    pub(crate) offset: Option<u64>,
    /// Its number within the log; `None` where it is no record.
    pub(crate) record: Option<usize>,
}

/// Groups, each with its key, in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Groups<K, G> {
    list: Vec<G>,
    by_key: FxHashMap<K, usize>,
    key: fn(&G) -> K,
    join: fn(&mut G, G),
    most: usize,
    left_out: u64,
}

impl<K: Eq + Hash, G> Groups<K, G> {
    /// None yet. `key` tells which belong together, `join` brings two of a key together, the earlier first.
    pub(crate) fn new(key: fn(&G) -> K, join: fn(&mut G, G)) -> Self {
        Self { list: Vec::new(), by_key: FxHashMap::default(), key, join, most: usize::MAX, left_out: 0 }
    }

    /// The same, with room for so many; what comes after that and belongs to none of them is only counted.
    pub(crate) fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Adds a group to that of its key.
    pub(crate) fn add(&mut self, group: G) {
        let Self { list, by_key, key, join, most, left_out } = self;
        let key = key(&group);
        let next = list.len();
        if let Some(known) = by_key.get(&key).and_then(|at| list.get_mut(*at)) {
            join(known, group);
        } else if next >= *most {
            *left_out += 1;
        } else {
            by_key.insert(key, next);
            list.push(group);
        }
    }

    /// These and then `other`'s.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.left_out += other.left_out;
        other.list.into_iter().for_each(|group| self.add(group));
        self
    }

    /// The groups.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, G> {
        self.list.iter()
    }

    /// How many there was no room for: of one key, each is counted.
    pub(crate) const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The groups.
    pub(crate) fn into_list(self) -> Vec<G> {
        self.list
    }
}

/// The ranks, logs and compile ids of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Compile ids without attempt, each once, in the order of the logs; a hundred at most.
    pub(crate) compile_ids: Vec<String>,
    /// Ranks, each once, in order. Logs without a rank are not among them.
    pub(crate) ranks: Vec<i32>,
    /// Numbers of the logs, each once, in order.
    pub(crate) files: Vec<i32>,
}

impl Spread {
    /// One place.
    pub(crate) fn of(file: u32, rank: Option<i32>, id: Option<CompileId>) -> Self {
        Self {
            compile_ids: id.map(|id| id.to_string()).into_iter().collect(),
            ranks: rank.into_iter().collect(),
            files: vec![i32::try_from(file).unwrap_or(i32::MAX)],
        }
    }

    /// These and then `other`'s.
    pub(crate) fn merge(&mut self, other: Self) {
        for id in other.compile_ids {
            if self.compile_ids.len() < IDS && !self.compile_ids.contains(&id) {
                self.compile_ids.push(id);
            }
        }
        other.ranks.into_iter().for_each(|rank| insert(&mut self.ranks, rank));
        other.files.into_iter().for_each(|file| insert(&mut self.files, file));
    }
}

/// Puts a number into its place in a list without doubles.
pub(super) fn insert(list: &mut Vec<i32>, value: i32) {
    if let Err(at) = list.binary_search(&value) {
        list.insert(at, value);
    }
}

/// Adds further evidence, as far as there is room.
pub(crate) fn append(evidence: &mut Vec<Shown>, more: Vec<Shown>) {
    evidence.extend(more.into_iter().take(EVIDENCE.saturating_sub(evidence.len())));
}

/// The sum of what is known.
pub(crate) fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(most: usize) -> Groups<char, (String, u32)> {
        let key = |word: &(String, u32)| word.0.chars().next().unwrap_or_default();
        Groups::new(key, |known: &mut (String, u32), other| known.1 += other.1).at_most(most)
    }

    #[test]
    fn what_has_one_key_is_one_group_and_what_has_no_room_is_counted() {
        let mut groups = words(2);
        for word in ["ab", "ac", "b", "c", "a"] {
            groups.add((word.to_owned(), 1));
        }
        let mut other = words(2);
        other.add(("b2".to_owned(), 1));
        other.add(("d".to_owned(), 1));
        let groups = groups.merge(other);
        assert_eq!(groups.left_out(), 2);
        assert_eq!(groups.into_list(), [("ab".to_owned(), 3), ("b".to_owned(), 2)]);
    }
}
