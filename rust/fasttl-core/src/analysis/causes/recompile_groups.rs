//! Recompiles of one function for one reason brought together, over all logs; and table `recompile_groups`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::groups::{Groups, Spread, append, sum};
use super::recompiles::{Recompile, recompiles};
use super::{Code, GROUPS, OfLog, Shown, Texts, advice, of_logs};
use crate::analysis::compiles::Compiles;
use crate::error::Result;
use crate::format::code_place::CodePlace;
use crate::format::recompile_reason::Cause;
use crate::tables::{Table, TableBuilder, TableDef};
use crate::trace::Trace;

pub(in crate::analysis) const RECOMPILE_GROUPS: TableDef = TableDef {
    name: "recompile_groups",
    about: "a function and a kind of reason for which it was compiled again",
    build,
};

/// Recompiles from which on splitting the function is worth a thought.
const MANY: u64 = 4;
/// Most values of a group.
const VALUES: usize = 100;

/// Recompiles that have the function and the pattern of the reason in common.
#[derive(Clone, Debug)]
pub(crate) struct RecompileGroup {
    /// Function, file, first line.
    pub(crate) code: Code,
    /// What was other.
    pub(crate) cause: Cause,
    /// The guard, blanked.
    pub(crate) pattern: Option<String>,
    /// How user code reaches what was other.
    pub(crate) source: Option<String>,
    /// How many recompiles.
    pub(crate) count: u64,
    /// How many of them were refused.
    pub(crate) refused: u64,
    /// How many were errors, as recompiles were declared to be.
    pub(crate) forbidden: u64,
    /// Seconds for all of them.
    pub(crate) cost_s: Option<f64>,
    /// The values seen, for each dimension concerned, in order.
    pub(crate) values: BTreeMap<Option<u32>, Vec<String>>,
    /// Where they were.
    pub(crate) spread: Spread,
    /// The user's line of the first.
    pub(crate) place: Option<CodePlace>,
    /// The guard of the first, as logged.
    pub(crate) example: Option<String>,
    /// The record of each, up to a hundred.
    pub(crate) evidence: Vec<Shown>,
}

/// What the recompiles of a group have in common: function, file, line, cause, pattern.
pub(crate) type GroupKey = (Option<String>, Option<String>, Option<i64>, Cause, Option<String>);

impl RecompileGroup {
    /// A group of one.
    fn of(found: &Recompile, spread: Spread, at: Shown) -> Self {
        let reason = found.first();
        Self {
            code: found.code.clone(),
            cause: found.cause(),
            pattern: reason.map(|reason| reason.pattern.clone()),
            source: reason.and_then(|reason| reason.source.clone()),
            count: 1,
            refused: u64::from(found.refused),
            forbidden: u64::from(found.forbidden),
            cost_s: found.cost_s,
            values: found.values.iter().map(|(dimension, values)| (*dimension, values.to_vec())).collect(),
            spread,
            place: reason.and_then(|reason| reason.place.clone()),
            example: reason.map(|reason| reason.guard.clone()),
            evidence: vec![at],
        }
    }

    fn key(&self) -> GroupKey {
        let (name, file, line) = self.code.clone();
        (name, file, line, self.cause, self.pattern.clone())
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.refused += other.refused;
        self.forbidden += other.forbidden;
        self.cost_s = sum(self.cost_s, other.cost_s);
        for (dimension, values) in other.values {
            let seen = self.values.entry(dimension).or_default();
            for value in values {
                if seen.len() < VALUES && !seen.contains(&value) {
                    seen.push(value);
                }
            }
        }
        append(&mut self.evidence, other.evidence);
        self.spread.merge(other.spread);
    }

    /// The dimensions concerned.
    pub(crate) fn dimensions(&self) -> Vec<u32> {
        self.values.keys().flatten().copied().collect()
    }

    /// What to try.
    pub(crate) fn advice(&self) -> String {
        let dimensions = self.dimensions();
        let mut text = match (dimensions.as_slice(), &self.source) {
            ([_, _, ..], Some(source)) if self.cause == Cause::Size => {
                let all: Vec<String> = dimensions.iter().map(ToString::to_string).collect();
                format!(
                    "Mark the dimensions {} of `{source}` as dynamic before the call with torch._dynamo.mark_dynamic, or \
                     compile with dynamic=True.",
                    all.join(", ")
                )
            }
            (one, source) => advice::of_cause(self.cause, source.as_deref(), one.first().copied()),
        };
        if self.refused > 0 || self.count >= MANY {
            text += " Where a large function is compiled again for a small part of it, break the graph on purpose around \
                that part, so that only the small part is compiled again.";
        }
        if self.refused > 0 {
            text = format!("{text} {}", advice::LIMIT);
        }
        text
    }
}

impl Default for Groups<GroupKey, RecompileGroup> {
    fn default() -> Self {
        Self::new(RecompileGroup::key, RecompileGroup::merge).at_most(GROUPS)
    }
}

/// The groups of one log.
pub(crate) fn recompile_groups(of: OfLog<'_>, all: &Compiles, texts: Texts) -> Groups<GroupKey, RecompileGroup> {
    let mut groups = texts.room(Groups::default());
    for found in recompiles(of, all, texts) {
        let Some(compile) = all.get_at(found.compile) else { continue };
        let Some((spread, at)) = of.place(compile, found.record) else { continue };
        groups.add(RecompileGroup::of(&found, spread, at));
    }
    groups
}

/// Those with refused calls first, then the most expensive.
pub(crate) fn by_cost(a: &RecompileGroup, b: &RecompileGroup) -> std::cmp::Ordering {
    let cost = |group: &RecompileGroup| group.cost_s.unwrap_or(0.0);
    (b.refused > 0).cmp(&(a.refused > 0)).then(cost(b).total_cmp(&cost(a))).then(b.count.cmp(&a.count))
}

/// The values as texts, with their dimension where there are several.
fn labelled(values: &BTreeMap<Option<u32>, Vec<String>>) -> Vec<String> {
    let label =
        |dimension: &Option<u32>| dimension.filter(|_| values.len() > 1).map(|n| format!("{n}: ")).unwrap_or_default();
    values.iter().flat_map(|(of, values)| values.iter().map(move |value| format!("{}{value}", label(of)))).collect()
}

fn build(trace: &Trace) -> Result<Table> {
    let groups = of_logs(trace, |of, compiles| recompile_groups(of, &compiles, Texts::Whole))?;
    let mut rows = groups
        .into_iter()
        .map(|(_, _, groups)| groups)
        .reduce(Groups::merge)
        .map(Groups::into_list)
        .unwrap_or_default();
    rows.sort_by(by_cost);
    TableBuilder::new(&rows)
        .name("code_name", "Function.", |r| r.code.0.as_deref().map(Cow::Borrowed))
        .name("code_file", "File of the function.", |r| r.code.1.as_deref().map(Cow::Borrowed))
        .i64("code_line", "First line of the function.", |r| r.code.2)
        .name("cause", "What was other; see `recompiles`.", |r| Some(Cow::Borrowed(r.cause.name())))
        .text("pattern", "The guard that failed, with ids, numbers and compared constants blanked.", |r| {
            r.pattern.as_deref().map(Cow::Borrowed)
        })
        .text("source", "How user code reaches what was other.", |r| r.source.as_deref().map(Cow::Borrowed))
        .ints("dimensions", "Dimensions concerned, from 0.", |r| {
            Some(r.dimensions().into_iter().filter_map(|n| i32::try_from(n).ok()).collect())
        })
        .u64("count", "Recompiles, the refused ones among them.", |r| Some(r.count))
        .u64("refused", "How many of them were refused at the recompile limit.", |r| Some(r.refused))
        .u64("forbidden", "How many of them were errors, as `error_on_recompile` demands.", |r| Some(r.forbidden))
        .f64("cost_s", "Seconds for all of them; null where the log does not say.", |r| r.cost_s)
        .texts(
            "values",
            "Values that were seen, in order, 100 at most of a dimension; of several dimensions as `0: 3`.",
            |r| Some(labelled(&r.values)),
        )
        .texts("compile_ids", "Their compile ids, each once; 100 at most.", |r| Some(r.spread.compile_ids.clone()))
        .ints("ranks", "Ranks on which they were; logs without a rank are not among them.", |r| {
            Some(r.spread.ranks.clone())
        })
        .ints("files", "Logs in which they were: rows of `files`.", |r| Some(r.spread.files.clone()))
        .text("example", "The guard of the first of them, as logged.", |r| r.example.as_deref().map(Cow::Borrowed))
        .name("user_file", "File of the user's line that the guard is for.", |r| {
            r.place.as_ref().map(|place| Cow::Borrowed(place.file.as_str()))
        })
        .i64("user_line", "That line.", |r| r.place.as_ref()?.line)
        .u32("file", "Log of the first of them.", |r| r.evidence.first().map(|shown| shown.file))
        .u64("offset", "Byte at which its record starts in that log.", |r| r.evidence.first()?.offset)
        .text("advice", "What to try.", |r| Some(Cow::Owned(r.advice())))
        .finish("recompile_groups")
}
