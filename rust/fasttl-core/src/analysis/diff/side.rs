//! One side of a comparison: which logs, and what of a log is compared.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Side, Spot, Who};
use crate::analysis::cache::{LookUp, look_ups};
use crate::analysis::compiles::{Compile, compiles};
use crate::analysis::graphs::stage;
use crate::analysis::parts::{Parts, parts};
use crate::error::{Error, ErrorKind, Result};
use crate::format::compile_id::CompileId;
use crate::format::kind::Kind;
use crate::index::Record;
use crate::input::View;
use crate::tables::MetricRecords;
use crate::trace::{Log, Trace};

/// Records of one compile, by their numbers in the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// Graphs of its last try, of all stages.
    pub(super) graphs: Vec<usize>,
    /// Its guards, of all tries.
    pub(super) guards: Vec<usize>,
    /// Code that was generated in its last try.
    pub(super) code: Vec<usize>,
    /// What caches answered.
    pub(super) look_ups: Vec<LookUp>,
}

/// Number and rank of a log.
pub(super) type Numbered = (u32, Option<i32>);

/// A log of a side.
pub(super) struct LogSide<'t> {
    pub(super) log: &'t Log,
    pub(super) file: u32,
    pub(super) view: View,
    pub(super) compiles: Vec<Compile>,
    pub(super) parts: Parts,
    records: FxHashMap<(u32, CompileId), Records>,
    none: Records,
}

/// A compile of a side.
pub(super) struct Half<'x> {
    pub(super) side: &'x LogSide<'x>,
    pub(super) compile: &'x Compile,
    pub(super) records: &'x Records,
}

/// Two compiles that are compared.
pub(super) struct Pair<'x> {
    pub(super) a: Half<'x>,
    pub(super) b: Half<'x>,
}

/// The logs that a side selects, with their ranks.
pub(super) fn logs(side: Side<'_>) -> Result<Vec<Numbered>> {
    let wanted = |log: &Log| match side.selector.who {
        Who::All => true,
        Who::Rank { rank, .. } => log.rank == rank,
        Who::Process(pid) => log.pid == Some(pid),
    };
    let mut logs: Vec<Numbered> =
        (0..).zip(&side.trace.logs).filter(|(_, log)| wanted(log)).map(|(file, log)| (file, log.rank)).collect();
    if let Who::Rank { start: Some(nth), .. } = side.selector.who {
        // Logs of a rank stand by time.
        logs = logs.into_iter().skip(nth as usize).take(1).collect();
    }
    if logs.is_empty() {
        let ranks: Vec<String> = side.trace.logs.iter().take(20).map(who).collect();
        let text = format!("no log is of {}; there are {}", asked(side.selector.who), ranks.join(", "));
        return Err(Error::new(ErrorKind::Option, text));
    }
    Ok(logs)
}

fn asked(who: Who) -> String {
    match who {
        Who::All => "any rank".to_owned(),
        Who::Rank { rank, start } => {
            let rank = rank.map_or("no rank".to_owned(), |rank| format!("rank {rank}"));
            start.map_or(rank.clone(), |start| format!("{rank}, start {start}"))
        }
        Who::Process(pid) => format!("process {pid}"),
    }
}

fn who(log: &Log) -> String {
    match (log.rank, log.pid) {
        (Some(rank), _) => format!("r{rank}"),
        (None, Some(pid)) => format!("p{pid}"),
        (None, None) => "rnone".to_owned(),
    }
}

/// Which log of the second side belongs to which of the first: those of the same rank, the n-th to the n-th. Where
/// each side has one rank, or one log, the rank does not matter.
pub(super) fn pair_logs(a: &[Numbered], b: &[Numbered]) -> Vec<(Option<u32>, Option<u32>)> {
    let one_rank = |logs: &[Numbered]| logs.windows(2).all(|two| matches!(two, [(_, one), (_, other)] if one == other));
    let any = one_rank(a) && one_rank(b);
    let mut open: FxHashMap<Option<i32>, VecDeque<u32>> = FxHashMap::default();
    let key = |rank: Option<i32>| if any { None } else { rank };
    for (file, rank) in b {
        open.entry(key(*rank)).or_default().push_back(*file);
    }
    let mut pairs: Vec<(Option<u32>, Option<u32>)> =
        a.iter().map(|(file, rank)| (Some(*file), open.get_mut(&key(*rank)).and_then(VecDeque::pop_front))).collect();
    let taken: FxHashSet<u32> = pairs.iter().filter_map(|(_, of_b)| *of_b).collect();
    pairs.extend(b.iter().filter(|(file, _)| !taken.contains(file)).map(|(file, _)| (None, Some(*file))));
    pairs
}

/// The log of a side that has the compile that it names, with this compile only.
pub(super) fn one_compile(side: Side<'_>) -> Result<LogSide<'_>> {
    let Some((generation, id)) = side.selector.compile else {
        return Err(Error::new(ErrorKind::Internal, "no compile is named"));
    };
    let trace = side.trace;
    // Of a log the first generation that has it.
    let first = |(file, _): Numbered| {
        let index = &trace.logs.get(file as usize)?.index;
        let is_it = |r: &&Record| {
            index.names.id(r).without_attempt() == id && generation.is_none_or(|wanted| r.generation == wanted)
        };
        index.records.iter().find(is_it).map(|r| (file, r.generation))
    };
    let found: Vec<(u32, u32)> = logs(side)?.into_iter().filter_map(first).collect();
    let of = |file: u32| trace.logs.get(file as usize);
    let Some((file, generation)) = found.last().copied() else {
        let generation = generation.map_or(String::new(), |n| format!("@{n}"));
        return Err(Error::new(ErrorKind::Option, format!("there is no compile {id}{generation} in {}", place(side))));
    };
    let mut others = found.iter().filter_map(|(file, _)| of(*file)).map(who);
    let last = of(file).map(who).unwrap_or_default();
    if let Some(other) = others.find(|other| *other != last) {
        let text = format!("several logs have a compile {id}: name one, such as {other}/{id} or {last}/{id}");
        return Err(Error::new(ErrorKind::Option, text));
    }
    let mut read = read(trace, file)?;
    read.compiles.retain(|compile| (compile.generation, compile.id) == (generation, id));
    Ok(read)
}

fn place(side: Side<'_>) -> String {
    match side.selector.who {
        Who::All => side.trace.inputs.first().map_or("the trace".to_owned(), |path| path.display().to_string()),
        who => asked(who),
    }
}

/// Reads what is compared of a log.
pub(super) fn read(trace: &Trace, file: u32) -> Result<LogSide<'_>> {
    let log = trace.logs.get(file as usize).ok_or_else(|| Error::new(ErrorKind::Internal, "no such log"))?;
    let view = log.view()?;
    let parts = parts(log, &view);
    let found = compiles(trace, log, &view, &MetricRecords::new(&log.index, &view)).into_list();
    let tries: FxHashMap<(u32, CompileId), i64> =
        found.iter().map(|compile| ((compile.generation, compile.id), compile.last_attempt)).collect();
    let mut records: FxHashMap<(u32, CompileId), Records> = FxHashMap::default();
    for (at, record) in log.index.records.iter().enumerate() {
        let is_graph = stage(log, record).is_some();
        let is_code = record.kind.is(Kind::InductorOutputCode);
        let is_guards = record.kind.is(Kind::DynamoCppGuardsStr);
        if !(is_graph || is_code || is_guards) {
            continue;
        }
        let id = log.index.names.id(record);
        let key = (record.generation, id.without_attempt());
        let Some(last) = tries.get(&key) else { continue };
        let of_compile = records.entry(key).or_default();
        if is_guards {
            of_compile.guards.push(at);
        } else if id.attempt.is_none_or(|attempt| attempt == *last) {
            // What was begun and started over is not what ran.
            if is_graph { of_compile.graphs.push(at) } else { of_compile.code.push(at) }
        }
    }
    for found in look_ups(log, &view, &parts) {
        records.entry(found.key).or_default().look_ups.push(found);
    }
    Ok(LogSide { log, file, view, compiles: found, parts, records, none: Records::default() })
}

impl LogSide<'_> {
    /// Its compile number `at`.
    pub(super) fn half(&self, at: usize) -> Option<Half<'_>> {
        let compile = self.compiles.get(at)?;
        let records = self.records.get(&(compile.generation, compile.id)).unwrap_or(&self.none);
        Some(Half { side: self, compile, records })
    }

    /// Its metrics records.
    pub(super) fn metrics(&self) -> MetricRecords<'_> {
        MetricRecords::new(&self.log.index, &self.view)
    }

    /// The log as a place, with the record that says something.
    pub(super) fn spot(&self, record: Option<usize>) -> Spot {
        let offset = record.and_then(|at| self.log.index.records.get(at)).map(|r| r.offset);
        Spot { file: self.file, rank: self.log.rank, compile: None, offset }
    }

    /// The text of a record's payload; `None` where it is damaged.
    pub(super) fn text(&self, record: usize) -> Option<Vec<u8>> {
        let record = self.log.index.records.get(record).filter(|r| r.payload.is_whole())?;
        Some(self.log.index.payload(record, &self.view).text())
    }

    /// The MD5 of a record's payload, where it was checked.
    pub(super) fn md5(&self, record: usize) -> Option<[u8; 16]> {
        let record = self.log.index.records.get(record)?;
        (record.payload == crate::index::PayloadState::Verified).then_some(record.md5)
    }
}

impl Half<'_> {
    /// The compile as a place, with the record that says something.
    pub(super) fn spot(&self, record: Option<usize>) -> Spot {
        Spot { compile: Some((self.compile.generation, self.compile.id)), ..self.side.spot(record) }
    }

    /// `0/1`, for a person.
    pub(super) fn label(&self) -> String {
        label(Some((self.compile.generation, self.compile.id)))
    }
}

impl Pair<'_> {
    /// Both places, with the records that say something.
    pub(super) fn spots(&self, a: Option<usize>, b: Option<usize>) -> (Option<Spot>, Option<Spot>) {
        (Some(self.a.spot(a)), Some(self.b.spot(b)))
    }

    /// Whether both payloads are known to be the same to the byte.
    pub(super) fn same_bytes(&self, a: usize, b: usize) -> bool {
        self.a.side.md5(a).is_some_and(|md5| Some(md5) == self.b.side.md5(b))
    }
}

/// A compile for a person: `0/1`, of a later generation `0/1@1`; empty without one.
pub(super) fn label(compile: Option<(u32, CompileId)>) -> String {
    match compile {
        Some((0, id)) => id.to_string(),
        Some((generation, id)) => format!("{id}@{generation}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_belong_together_by_rank_and_order() {
        let pair = |a: &[Numbered], b: &[Numbered]| pair_logs(a, b);
        let (one, two) = (Some(1), Some(2));
        assert_eq!(pair(&[(0, one)], &[(4, two)]), [(Some(0), Some(4))]);
        assert_eq!(pair(&[(0, one)], &[(0, None)]), [(Some(0), Some(0))]);
        assert_eq!(
            pair(&[(0, one), (1, two)], &[(5, two), (6, two)]),
            [(Some(0), None), (Some(1), Some(5)), (None, Some(6))]
        );
        assert_eq!(pair(&[(0, one), (1, one)], &[(2, two), (3, two)]), [(Some(0), Some(2)), (Some(1), Some(3))]);
    }
}
