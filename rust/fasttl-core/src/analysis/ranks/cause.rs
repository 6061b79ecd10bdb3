//! What made ranks differ, as far as the logs show it: the earliest difference in the chain from inputs over guards,
//! breaks and graphs to collectives, caches and the order of runs.

use super::cells::{Difference, rank_list};
use super::compiles::{NOT_COMPILED, label};
use super::earlier::Earlier;
use super::facts::{CompileFact, Value};
use super::lineup::Lineup;
use super::row::ends;
use super::{Aspect, Member};
use crate::error::Result;
use crate::format::recompile_reason::{self, Reason};
use crate::format::text::shorten;
use crate::job::Job;
use crate::trace::Trace;

/// Recompiles whose reasons are read.
const READ: usize = 256;
/// Characters of a cause.
const LONGEST: usize = 500;

/// A cause in words, and the difference that it is, where it is one.
type Cause = (String, Option<usize>);

/// Differences with what their causes are looked for in.
struct Search<'a> {
    trace: &'a Trace,
    members: &'a [Member<'a>],
    lineup: &'a Lineup,
    /// The last row of each member.
    ends: Vec<Option<usize>>,
    job: &'a Job,
}

/// Finds the time and the cause of each difference.
pub(super) fn find(
    trace: &Trace,
    (members, lineup): (&[Member<'_>], &Lineup),
    differences: &mut [Difference],
    job: &Job,
) -> Result<()> {
    let search = Search { trace, members, lineup, ends: ends(lineup, members.len()), job };
    let mut earlier = Earlier::default();
    let mut read = 0;
    for at in 0..differences.len() {
        let (before, rest) = differences.split_at_mut(at);
        let Some(difference) = rest.first_mut() else { break };
        difference.time_us = search.time(difference);
        let cause = if difference.aspect == Aspect::Compiles {
            read += 1;
            search.of_missing(difference, (&earlier, before), read <= READ)?
        } else {
            let upstream = earlier.cause(difference, before).and_then(|at| Some((sentence(before.get(at)?), Some(at))));
            upstream.or_else(|| Some((search.first_filler(difference)?, None)))
        };
        earlier.add(at, difference);
        if let Some((words, follows)) = cause {
            difference.cause = Some(shorten(&words, LONGEST));
            difference.follows = follows;
        }
    }
    Ok(())
}

impl<'a> Search<'a> {
    fn member(&self, rank: i32) -> Option<(usize, &'a Member<'a>)> {
        // Members stand by rank.
        let at = self.members.binary_search_by_key(&rank, |member| member.rank).ok()?;
        Some((at, self.members.get(at)?))
    }

    /// The compile of a row on a rank.
    fn compile(&self, row: Option<usize>, rank: i32) -> Option<(&'a Member<'a>, &'a CompileFact)> {
        let (at, member) = self.member(rank)?;
        let number = self.lineup.rows.get(row?)?.of.get(at).copied().flatten()?;
        Some((member, member.facts.compiles.get(number as usize)?))
    }

    /// When the first of the odd ranks began the compile; of the others, where no odd rank has it.
    fn time(&self, difference: &Difference) -> Option<i64> {
        let start = |rank: &i32| self.compile(difference.row, *rank)?.1.time().start_us;
        let of = |ranks: &[i32]| ranks.iter().filter_map(start).min();
        of(&difference.odd_ranks()).or_else(|| difference.groups.first().and_then(|group| of(&group.ranks)))
    }

    /// Why some ranks have a compile that others lack.
    fn of_missing(
        &self,
        difference: &Difference,
        (earlier, before): (&Earlier, &[Difference]),
        read: bool,
    ) -> Result<Option<Cause>> {
        let lacks = difference.groups.iter().find(|group| group.value == NOT_COMPILED);
        let has = difference.groups.iter().find(|group| group.value != NOT_COMPILED);
        let (Some(lacks), Some(has)) = (lacks, has) else { return Ok(None) };
        if let Some((at, failed, group)) = earlier.failure(&lacks.ranks, before).filter(|(_, failed, _)| {
            // What came after it went well.
            lacks.ranks.iter().all(|rank| self.last_row(*rank) == failed.row)
        }) {
            let id = failed.key.map(label).unwrap_or_default();
            let why = group.value.trim_start_matches("failed: ");
            return Ok(Some((format!("{} failed to compile {id} before: {why}", rank_list(&lacks.ranks)), Some(at))));
        }
        let first = has.ranks.first().and_then(|rank| self.compile(difference.row, *rank));
        let Some((member, compile)) = first else { return Ok(None) };
        if read && let Some(reason) = self.recompile_reason(member, compile)? {
            let (alike, others) = self.with_profile_of(difference.row, &has.ranks);
            let others = if others > 0 {
                format!("; {others} more recompiled it, maybe for other reasons")
            } else {
                String::new()
            };
            return Ok(Some((format!("{} recompiled, since {reason}{others}", rank_list(&alike)), None)));
        }
        if let Some(words) = self.resumed(compile, &has.ranks, (earlier, before)) {
            return Ok(Some(words));
        }
        Ok(self.ended(difference, &lacks.ranks, &has.ranks).map(|words| (words, None)))
    }

    /// The first guard that failed, in words.
    fn recompile_reason(&self, member: &Member<'_>, compile: &CompileFact) -> Result<Option<String>> {
        let mut said = member.facts.said(compile);
        let Some((record, said)) = said.find(|(_, said)| said.aspect == Aspect::Recompiles) else { return Ok(None) };
        let Value::Known(_, shown) = &said.value else { return Ok(None) };
        let Some(log) = self.trace.at_hand(member.log, self.job)? else { return Ok(None) };
        let view = log.view()?;
        let text = log
            .index
            .records
            .get(record)
            .filter(|record| record.has_payload())
            .map(|record| recompile_reason::texts(&log.index.payload(record, &view).text()));
        let texts = text.unwrap_or_else(|| vec![shown.to_string()]);
        let first = texts.first().and_then(|text| recompile_reason::reasons(text).into_iter().next());
        Ok(first.map(|reason| reason_words(&reason)))
    }

    /// That the log of the ranks ends before the others came to it.
    fn ended(&self, difference: &Difference, lacks: &[i32], has: &[i32]) -> Option<String> {
        let row = difference.row?;
        let ended = |rank: &i32| {
            let (_, member) = self.member(*rank)?;
            (self.last_row(*rank) < Some(row)).then_some(member.facts.time.last_us)
        };
        let ends: Option<Vec<Option<i64>>> = lacks.iter().map(ended).collect();
        let last = ends?.into_iter().flatten().max();
        let start = has.iter().filter_map(|rank| self.compile(difference.row, *rank)?.1.time().start_us).min();
        let ends = if lacks.len() == 1 { "log ends" } else { "logs end" };
        match (last, start) {
            (Some(last), Some(start)) if last < start => {
                #[expect(clippy::cast_precision_loss, reason = "a difference of two times")]
                let seconds = (start - last) as f64 / 1e6;
                let began = if has.len() == 1 { "begins it" } else { "begin it" };
                let (lacks, has) = (rank_list(lacks), rank_list(has));
                Some(format!("of {lacks} the {ends} {seconds:.1} s before {has} {began}"))
            }
            _ => None,
        }
    }

    /// That a function is the rest of one whose graph broke, and where.
    fn resumed(
        &self,
        compile: &CompileFact,
        ranks: &[i32],
        (earlier, before): (&Earlier, &[Difference]),
    ) -> Option<Cause> {
        let name = compile.profile.name.as_deref()?;
        let rest = name.strip_prefix("torch_dynamo_resume_in_")?;
        let (function, line) = rest.rsplit_once("_at_").unwrap_or((rest, "?"));
        let first = *ranks.first()?;
        let is_it = |d: &Difference| {
            let broken = self.compile(d.row, first).and_then(|(_, compile)| compile.profile.name.as_deref());
            broken.is_some_and(|broken| broken == function || broken == name)
        };
        let broke = earlier.graph_break(ranks, before, is_it);
        let words = broke.map_or(String::new(), |(_, d, group)| {
            format!(" ({}: {})", d.key.map(label).unwrap_or_default(), group.value)
        });
        let ranks = rank_list(ranks);
        let text = format!("it is the rest of {function}, whose graph breaks at line {line} on {ranks}{words}");
        Some((text, broke.map(|(at, ..)| at)))
    }

    /// The last row that a rank has.
    fn last_row(&self, rank: i32) -> Option<usize> {
        let (at, _) = self.member(rank)?;
        self.ends.get(at).copied().flatten()
    }

    /// Of these ranks those whose compile says the same as that of the first, and how many others there are.
    fn with_profile_of(&self, row: Option<usize>, ranks: &[i32]) -> (Vec<i32>, usize) {
        let reasons = |rank: i32| {
            let (member, compile) = self.compile(row, rank)?;
            member.facts.said(compile).find(|(_, said)| said.aspect == Aspect::Recompiles).map(|(_, said)| &said.value)
        };
        let first = ranks.first().and_then(|rank| reasons(*rank));
        let alike: Vec<i32> = ranks.iter().copied().filter(|rank| reasons(*rank) == first).collect();
        let others = ranks.len() - alike.len();
        (alike, others)
    }

    /// Where the only difference is what a cache answered: which rank had filled it.
    fn first_filler(&self, difference: &Difference) -> Option<String> {
        if difference.aspect != Aspect::Cache {
            return None;
        }
        let of = |state: &str| difference.groups.iter().find(|group| group.value == state);
        let (miss, hit) = (of("miss")?, of("hit")?);
        let times = |ranks: &[i32]| -> Vec<_> {
            ranks.iter().filter_map(|rank| Some(self.compile(difference.row, *rank)?.1.time())).collect()
        };
        let filled = times(&miss.ranks).iter().filter_map(|time| time.first_end_us.or(time.end_us)).min()?;
        let found = times(&hit.ranks).iter().filter_map(|time| time.end_us).min()?;
        (filled <= found).then(|| {
            let others = if hit.ranks.len() == 1 { "the other" } else { "the others" };
            format!("{} compiled it first and filled the cache for {others}", rank_list(&miss.ranks))
        })
    }
}

/// Who has what at a difference, as the cause of another.
fn sentence(difference: &Difference) -> String {
    let side = |group: &super::Group| format!("{} on {}", group.value, rank_list(&group.ranks));
    let sides: Vec<String> = difference.groups.iter().take(3).map(side).collect();
    let more = if difference.groups.len() > 3 { "; …" } else { "" };
    format!("{}: {}{more}", words(difference.aspect), sides.join("; "))
}

/// What differs, at the begin of a cause.
const fn words(aspect: Aspect) -> &'static str {
    match aspect {
        Aspect::Versions => "the versions differ",
        Aspect::Configuration => "the settings differ",
        Aspect::Compiles => "not all ranks compiled it",
        Aspect::Order => "they were compiled in another order",
        Aspect::Code => "another function was compiled",
        Aspect::Inputs => "the inputs differ",
        Aspect::Symbols => "the symbolic sizes differ",
        Aspect::Guards => "the guards differ",
        Aspect::Recompiles => "it was recompiled for another reason",
        Aspect::Breaks => "the graph breaks elsewhere",
        Aspect::Outcome => "it ended otherwise",
        Aspect::Graph => "the graphs differ",
        Aspect::Cache => "the caches answered otherwise",
        Aspect::Collectives | Aspect::Parity => "the collectives differ",
        Aspect::Tensors => "the tensors differ",
        Aspect::Runtimes => "the estimates differ",
        Aspect::ExecOrder => "the graphs ran in another order",
    }
}

/// What failed, with the values where the log has them.
fn reason_words(reason: &Reason) -> String {
    let dimension = reason.dimension.map(|n| format!(" at index {n}")).unwrap_or_default();
    let of = reason.source.as_ref().map(|source| format!(" of {source}")).unwrap_or_default();
    match (&reason.expected, &reason.actual) {
        (Some(expected), Some(actual)) => {
            format!("the {}{of}{dimension} was {actual} where {expected} was expected", reason.cause.name())
        }
        _ => format!("a guard failed: {}", reason.guard),
    }
}
