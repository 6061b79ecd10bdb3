//! The schedule of each graph against the code made from it, and collectives that nothing waits for: each log by
//! itself.

use rustc_hash::FxHashMap;

use super::cells::{Group, Unjudged};
use super::compiles::{INCOMPLETE, label};
use super::facts::{Facts, ParityFact, ScheduleFact, Wholeness};
use super::{Aspect, Diagnostic, Key, Verdict, rank_list};

/// A log, its rank if it has one, and what it is called.
pub(super) struct Subject<'a> {
    pub(super) log: usize,
    pub(super) rank: Option<i32>,
    pub(super) name: String,
    pub(super) facts: &'a Facts,
}

/// A place at which schedule and code do not agree, and on which ranks.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The compile, with the part of it.
    pub place: String,
    /// What does not agree, with the ranks and the code that shows it.
    pub groups: Vec<Group>,
}

/// Ranks with the same fault at the same place are one group.
#[derive(Default)]
struct Collected {
    faults: Vec<Fault>,
    unknown: Vec<Unjudged>,
    by_place: FxHashMap<(Option<Key>, String), usize>,
    by_reason: FxHashMap<(String, String), usize>,
    compared: usize,
}

/// Judges all graphs of the logs.
pub(super) fn parity(subjects: &[Subject<'_>]) -> (Diagnostic, Vec<Fault>) {
    let mut found = Collected::default();
    for subject in subjects {
        for (key, (record, fact)) in subject.facts.all_schedules() {
            let place = if key.1.is_none() { "no compile id".to_owned() } else { label(key) };
            found.judge(subject, key, &place, (record, fact));
        }
        if subject.facts.wholeness != Wholeness::Whole && !subject.facts.compiles.is_empty() {
            found.not_known(subject, String::new(), INCOMPLETE);
        }
    }
    let Collected { faults, unknown, compared, .. } = found;
    let (verdict, sentence) = match faults.first() {
        Some(first) => {
            let sides = first.groups.iter().take(4).map(|g| format!("{}{}", g.value, on(&g.ranks)));
            (Verdict::Differs, format!("{}: {}.", first.place, sides.collect::<Vec<_>>().join("; ")))
        }
        None if compared == 0 && unknown.iter().all(|u| u.why == INCOMPLETE) => {
            (Verdict::Unknown, "No log has a schedule of collectives to compare with code.".to_owned())
        }
        None if !unknown.is_empty() => {
            let why = unknown.first().map(|u| u.why.clone()).unwrap_or_default();
            (Verdict::Unknown, format!("Not every graph with collectives could be judged: {why}."))
        }
        None => (Verdict::Same, "All collectives of the schedules are in the code, each with a wait.".to_owned()),
    };
    (Diagnostic { aspect: Aspect::Parity, verdict, sentence, differences: faults.len(), unknown }, faults)
}

/// ` on ranks 0, 1`; nothing where the place names the log.
fn on(ranks: &[i32]) -> String {
    if ranks.is_empty() { String::new() } else { format!(" on {}", rank_list(ranks)) }
}

impl Collected {
    fn judge(&mut self, subject: &Subject<'_>, key: Key, place: &str, (record, fact): (usize, &ScheduleFact)) {
        let part = fact.part.filter(|p| p.number > 0).map(|p| format!(", {}", p.label())).unwrap_or_default();
        let place = format!("{place}{part}");
        match &fact.parity {
            ParityFact::Nothing => {}
            ParityFact::Unknown(why) => self.not_known(subject, place, why),
            ParityFact::Compared { offset: 0, reordered: false, missing_waits: 0 } => self.compared += 1,
            ParityFact::Compared { offset, reordered, missing_waits } => {
                self.compared += 1;
                self.differs(subject, key, place, fault(*offset, *reordered, *missing_waits), record);
            }
        }
    }

    /// The place, with the name of a log that has no rank.
    fn named(subject: &Subject<'_>, place: String) -> String {
        match (subject.rank, place.is_empty()) {
            (Some(_), _) => place,
            (None, true) => subject.name.clone(),
            (None, false) => format!("{}, {place}", subject.name),
        }
    }

    fn differs(&mut self, subject: &Subject<'_>, key: Key, place: String, value: String, record: usize) {
        let place = Self::named(subject, place);
        let faults = &mut self.faults;
        let at = *self.by_place.entry((Some(key), place.clone())).or_insert_with(|| {
            faults.push(Fault { place, groups: Vec::new() });
            faults.len() - 1
        });
        let Some(fault) = faults.get_mut(at) else { return };
        if let Some(same) = fault.groups.iter_mut().find(|g| g.value == value) {
            same.ranks.extend(subject.rank);
        } else {
            let (ranks, evidence) = (subject.rank.into_iter().collect(), (subject.log, Some(record)));
            fault.groups.push(Group { ranks, value, evidence });
        }
    }

    fn not_known(&mut self, subject: &Subject<'_>, place: String, why: &str) {
        let place = Self::named(subject, place);
        let unknown = &mut self.unknown;
        let at = *self.by_reason.entry((place.clone(), why.to_owned())).or_insert_with(|| {
            unknown.push(Unjudged { ranks: Vec::new(), place, why: why.to_owned() });
            unknown.len() - 1
        });
        if let Some(known) = unknown.get_mut(at) {
            known.ranks.extend(subject.rank);
        }
    }
}

fn fault(offset: u32, reordered: bool, missing_waits: u32) -> String {
    let plural = |n: u32, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let mut faults = Vec::new();
    if offset > 0 {
        faults.push(format!("schedule and code differ by {}", plural(offset, "collective")));
    }
    if reordered {
        faults.push("schedule and code have the same collectives in another order".to_owned());
    }
    if missing_waits > 0 {
        faults.push(format!("{} that nothing waits for", plural(missing_waits, "collective")));
    }
    faults.join(", ")
}
