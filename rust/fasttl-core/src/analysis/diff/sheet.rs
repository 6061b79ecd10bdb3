//! Where differences are collected, and the verdict on each aspect.

use std::collections::BTreeMap;

use super::side::label;
use super::{Aspect, Diff, DiffOptions};
use crate::analysis::ranks::Verdict;
use crate::format::compile_id::CompileId;

/// Bytes of a text in a row; the record has all of it.
const LONGEST: usize = 10_000;

/// Reasons that a finding lists of what could not be compared.
const MOST_UNKNOWN: usize = 100;

/// On which side something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// On the first side only.
    OnlyA,
    /// On the second side only.
    OnlyB,
    /// On both, and not the same.
    Changed,
}

impl Change {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnlyA => "only a",
            Self::OnlyB => "only b",
            Self::Changed => "changed",
        }
    }
}

/// Where on a side something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Number of the log.
    pub file: u32,
    /// Its rank.
    pub rank: Option<i32>,
    /// Generation and id of the compile, without attempt; none for what belongs to the log.
    pub compile: Option<(u32, CompileId)>,
    /// The byte at which the record starts that says so.
    pub offset: Option<u64>,
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What differs.
    pub aspect: Aspect,
    /// On which side it is.
    pub change: Change,
    /// Where on the first side; none where the compile or the log is missing there.
    pub spot_a: Option<Spot>,
    /// Where on the second side.
    pub spot_b: Option<Spot>,
    /// Which part of the aspect: a stage and a position, a field.
    pub place: String,
    /// What the first side has.
    pub a: Option<String>,
    /// What the second side has.
    pub b: Option<String>,
    /// The second number less the first, for times and counts.
    pub delta: Option<f64>,
}

/// The result of comparing one aspect.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What was compared.
    pub aspect: Aspect,
    /// How it ended.
    pub verdict: Verdict,
    /// How many differences there are, those beyond the limit of rows among them.
    pub differences: usize,
    /// The result for a person.
    pub sentence: String,
    /// What could not be compared, and why.
    pub unknown: Vec<String>,
}

/// What the two sides have, as texts.
pub(super) type Values = (Option<String>, Option<String>);

/// Both places.
pub(super) type Spots = (Option<Spot>, Option<Spot>);

/// Differences in the making.
pub(super) struct Sheet {
    rows: Vec<Difference>,
    /// Differences of each aspect, those without a row among them.
    counts: BTreeMap<Aspect, usize>,
    unknown: BTreeMap<Aspect, (usize, Vec<String>)>,
    wanted: Vec<Aspect>,
    most_rows: usize,
    /// Compiles that have a partner.
    pub(super) pairs: usize,
    /// Pairs whose compiles are of different functions.
    pub(super) other_code: usize,
    /// What has no partner on the first side, and on the second.
    pub(super) alone: (Alone, Alone),
}

/// What one side has alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alone {
    /// Compiles of logs that have a partner.
    pub(super) compiles: usize,
    /// Logs.
    pub(super) logs: usize,
    /// The compiles of these logs.
    pub(super) of_logs: usize,
}

impl Alone {
    fn plus(self, other: Self) -> Self {
        Self {
            compiles: self.compiles + other.compiles,
            logs: self.logs + other.logs,
            of_logs: self.of_logs + other.of_logs,
        }
    }

    /// `1 only in b`, `2 logs with 6 compiles only in b`.
    fn words(self, side: &str) -> impl Iterator<Item = String> {
        let compiles = (self.compiles > 0).then(|| format!("{} only in {side}", self.compiles));
        let logs = (self.logs > 0).then(|| {
            let of_logs = counted(self.of_logs, "compile", "compiles");
            format!("{} with {of_logs} only in {side}", counted(self.logs, "log", "logs"))
        });
        compiles.into_iter().chain(logs)
    }
}

impl Sheet {
    pub(super) fn new(options: &DiffOptions) -> Self {
        Self {
            rows: Vec::new(),
            counts: BTreeMap::new(),
            unknown: BTreeMap::new(),
            wanted: options.aspects.clone(),
            most_rows: options.most_rows,
            pairs: 0,
            other_code: 0,
            alone: (Alone::default(), Alone::default()),
        }
    }

    /// Whether an aspect was asked for.
    pub(super) fn wants(&self, aspect: Aspect) -> bool {
        self.wanted.contains(&aspect)
    }

    /// Adds a difference.
    pub(super) fn add(&mut self, aspect: Aspect, (spot_a, spot_b): Spots, place: impl Into<String>, values: Values) {
        self.add_number(aspect, (spot_a, spot_b), place, values, None);
    }

    /// Adds a difference between two numbers.
    pub(super) fn add_number(
        &mut self,
        aspect: Aspect,
        (spot_a, spot_b): Spots,
        place: impl Into<String>,
        values: Values,
        delta: Option<f64>,
    ) {
        if self.count(aspect) {
            self.push(aspect, (spot_a, spot_b), place.into(), values, delta);
        }
    }

    /// Adds a difference whose place and values take work: they are not made where it is only counted.
    pub(super) fn add_made(&mut self, aspect: Aspect, spots: Spots, make: impl FnOnce() -> (String, Values)) {
        if self.count(aspect) {
            let (place, values) = make();
            self.push(aspect, spots, place, values, None);
        }
    }

    /// Counts a difference. Whether it shall have a row.
    fn count(&mut self, aspect: Aspect) -> bool {
        if !self.wants(aspect) {
            return false;
        }
        let count = self.counts.entry(aspect).or_default();
        *count += 1;
        *count <= self.most_rows
    }

    fn push(&mut self, aspect: Aspect, (spot_a, spot_b): Spots, place: String, (a, b): Values, delta: Option<f64>) {
        let change = match (&a, &b) {
            (Some(_), None) => Change::OnlyA,
            (None, Some(_)) => Change::OnlyB,
            _ => Change::Changed,
        };
        let (a, b) = (a.map(cut), b.map(cut));
        self.rows.push(Difference { aspect, change, spot_a, spot_b, place: cut(place), a, b, delta });
    }

    /// Notes what could not be compared.
    pub(super) fn unknown(&mut self, aspect: Aspect, why: String) {
        if !self.wants(aspect) {
            return;
        }
        let (count, list) = self.unknown.entry(aspect).or_default();
        *count += 1;
        if list.len() < MOST_UNKNOWN {
            list.push(cut(why));
        }
    }

    /// Adds what was found elsewhere.
    pub(super) fn take(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.pairs += other.pairs;
        self.other_code += other.other_code;
        self.alone = (self.alone.0.plus(other.alone.0), self.alone.1.plus(other.alone.1));
        for (aspect, count) in other.counts {
            *self.counts.entry(aspect).or_default() += count;
        }
        for (aspect, (count, list)) in other.unknown {
            let own = self.unknown.entry(aspect).or_default();
            own.0 += count;
            let room = MOST_UNKNOWN.saturating_sub(own.1.len());
            own.1.extend(list.into_iter().take(room));
        }
    }

    /// The result.
    pub(super) fn finish(mut self) -> Diff {
        // Stable: within an aspect the order of the compiles stays.
        self.rows.sort_by_key(|row| row.aspect);
        let wanted = Aspect::ALL.into_iter().filter(|aspect| self.wants(*aspect));
        let findings = wanted.map(|aspect| self.finding(aspect)).collect();
        Diff { differences: self.rows, findings }
    }

    fn finding(&self, aspect: Aspect) -> Finding {
        let differences = self.counts.get(&aspect).copied().unwrap_or(0);
        let (not_known, mut unknown) = self.unknown.get(&aspect).cloned().unwrap_or_default();
        let of_log = matches!(aspect, Aspect::Compiles | Aspect::Configuration | Aspect::Versions);
        let nothing = !matches!(aspect, Aspect::Compiles | Aspect::Versions) && self.pairs == 0;
        let mut sentence = match (aspect, differences) {
            (Aspect::Compiles, _) => self.compiles(),
            _ if nothing => "No compile of one side has a partner on the other.".to_owned(),
            (_, 0) if of_log => "No difference.".to_owned(),
            (_, 0) => format!("No difference in {}.", counted(self.pairs, "pair of compiles", "pairs of compiles")),
            (_, n) => self.first(aspect, n),
        };
        if not_known > 0 {
            let first = unknown.first().map_or("", String::as_str);
            let more = if not_known > 1 { format!(", and {} more", not_known - 1) } else { String::new() };
            sentence += &format!(" Not compared: {first}{more}.");
        }
        if not_known > unknown.len() {
            unknown.push(format!("{} more", not_known - unknown.len()));
        }
        let verdict = match differences {
            0 if nothing || not_known > 0 => Verdict::Unknown,
            0 => Verdict::Same,
            _ => Verdict::Differs,
        };
        Finding { aspect, verdict, differences, sentence, unknown }
    }

    /// How many differences, and where the first is.
    fn first(&self, aspect: Aspect, differences: usize) -> String {
        let mut text = counted(differences, "difference", "differences");
        if let Some(row) = self.rows.iter().find(|row| row.aspect == aspect) {
            let places = match (&row.spot_a, &row.spot_b) {
                (Some(a), Some(b)) if a.compile == b.compile => vec![label(a.compile)],
                (Some(a), Some(b)) => vec![label(a.compile), label(b.compile)],
                (Some(one), None) | (None, Some(one)) => vec![label(one.compile)],
                (None, None) => Vec::new(),
            };
            let named = places.iter().any(|place| !place.is_empty());
            let at = if named { format!("{}, {}", places.join(" and "), row.place) } else { row.place.clone() };
            text += &format!("{} at {at}", if differences > 1 { ", the first" } else { "" });
        }
        text + "."
    }

    fn compiles(&self) -> String {
        let mut parts = vec![counted(self.pairs, "pair of compiles", "pairs of compiles")];
        parts.extend(self.alone.0.words("a"));
        parts.extend(self.alone.1.words("b"));
        if self.other_code > 0 {
            parts.push(format!("{} of different functions", self.other_code));
        }
        parts.join(", ") + "."
    }
}

/// `1 pair`, `2 pairs`.
pub(super) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let rest = text.len() - end;
        text.truncate(end);
        text += &format!("… ({rest} more bytes)");
    }
    text
}
