//! Collectives of compiled graphs in their order, and table `collectives`.
//!
//! PyTorch logs a schedule for an Inductor compile that generates code and has a collective in it. What comes from
//! a cache has none; there the generated code, which is logged all the same, says the same. A compile that
//! Inductor takes no part in has graphs only: they have the collectives in the order of the program.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::parts::{Part, Parts, part_columns, parts};
use super::read_graphs::ReadGraphs;
use crate::error::Result;
use crate::format::compared;
use crate::format::compile_id::CompileId;
use crate::format::kind::Kind;
use crate::format::output_code::{self, is_wait};
use crate::index::{KindId, Record};
use crate::tables::{Row, Table, TableBuilder, TableDef, compile_columns};
use crate::trace::{Log, Trace};

pub(super) const COLLECTIVES: TableDef =
    TableDef { name: "collectives", about: "a collective, or the wait for one, in the order of a graph", build };

/// Where the order of collectives is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScheduleSource {
    /// The artifact `inductor_collective_schedule`.
    Schedule,
    /// The generated code.
    Code,
    /// A graph that no code was generated from: the order of the program.
    Graph,
}

impl ScheduleSource {
    /// Name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Code => "code",
            Self::Graph => "graph",
        }
    }
}

/// The collectives of one graph.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The record that has them.
    pub record: usize,
    /// What kind of record that is.
    pub source: ScheduleSource,
    /// The Inductor compile.
    pub part: Option<Part>,
    /// Operators in order, waits among them; why they could not be read.
    pub ops: Ops,
    /// How the schedule agrees with the code, where both are logged.
    pub parity: Parity,
}

/// How a schedule agrees with the code that was generated from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parity {
    /// Schedule and code were compared.
    Compared {
        /// Number of collectives in one and not in the other.
        offset: u32,
        /// Whether the same ones stand in another order.
        reordered: bool,
        /// Collectives in the code whose result nothing in it waits for.
        missing_waits: u32,
        /// The record of the code.
        code: usize,
    },
    /// It cannot be told, for this reason.
    Unknown(String),
    /// There is nothing to compare: no schedule was logged and the code has no collective.
    Nothing,
}

/// Operators in order; why they could not be read.
pub type Ops = std::result::Result<Vec<String>, String>;

/// The collectives of generated code; why they could not be read.
type Calls = std::result::Result<output_code::Collectives, String>;

/// Stands for an operator that the log has null for.
pub const NO_NAME: &str = "(no name)";

/// Records of one part.
#[derive(Default)]
struct Found {
    part: Option<Part>,
    schedules: Vec<usize>,
    code: Option<usize>,
    other_code: Option<usize>,
}

/// The schedules of a log by try of a compile: generation and id with attempt, each in the order of its graphs. `read`
/// keeps its graphs.
pub(crate) fn schedules(
    log: &Log,
    bytes: &[u8],
    parts: &Parts,
    read: &ReadGraphs,
) -> BTreeMap<(u32, CompileId), Vec<Schedule>> {
    let mut by_part: BTreeMap<(u32, CompileId), BTreeMap<u32, Found>> = BTreeMap::new();
    let mut graphs: BTreeMap<(u32, CompileId), Vec<usize>> = BTreeMap::new();
    for (at, record) in log.index.records.iter().enumerate() {
        let key = (record.generation, log.index.names.id(record).collapsed());
        if let Some(part) = parts.of(at) {
            let found = by_part.entry(key).or_default().entry(part.number).or_default();
            found.part = Some(part);
            match (record.kind, log.index.names.name(record)) {
                (KindId::Known(Kind::Artifact), Some("inductor_collective_schedule")) => found.schedules.push(at),
                (KindId::Known(Kind::InductorOutputCode), _) => found.code = Some(at),
                (KindId::Known(Kind::GraphDump), _) => found.other_code = Some(at),
                _ => {}
            }
        } else if is_final_graph(record.kind) {
            graphs.entry(key).or_default().push(at);
        }
    }
    let mut all: BTreeMap<_, Vec<Schedule>> = BTreeMap::new();
    for (key, found) in by_part {
        // What has no id at all has no place to be compared at.
        all.insert(key, found.into_values().flat_map(|found| of_part(log, bytes, &found)).collect());
    }
    for (key, records) in graphs {
        all.entry(key).or_insert_with(|| of_graphs(log, bytes, &records, read));
    }
    all
}

/// Graphs as the backend gets them; Dynamo's own stand in where there are none.
fn is_final_graph(kind: KindId) -> bool {
    matches!(
        kind,
        KindId::Known(
            Kind::DynamoOutputGraph | Kind::AotForwardGraph | Kind::AotBackwardGraph | Kind::AotInferenceGraph
        )
    )
}

fn of_part(log: &Log, bytes: &[u8], found: &Found) -> Vec<Schedule> {
    let record = |at: usize| log.index.records.get(at);
    let code = found.code.and_then(|at| Some((at, in_code(log, record(at)?, bytes))));
    if found.schedules.is_empty() {
        return without_schedule(found, code).into_iter().collect();
    }
    let parity = |ops: &Ops| match (ops, &code) {
        (Err(why), _) => Parity::Unknown(why.clone()),
        _ if found.schedules.len() > 1 => Parity::Unknown("one compile has several schedules".to_owned()),
        (Ok(_), Some((_, Ok(calls)))) if calls.coalesced => {
            Parity::Unknown("a collective has several results, and waits for each are not told apart".to_owned())
        }
        (Ok(ops), Some((code, Ok(calls)))) => {
            let (offset, reordered) = difference(ops, &calls.calls);
            Parity::Compared { offset, reordered, missing_waits: calls.without_wait, code: *code }
        }
        (_, Some((_, Err(why)))) => Parity::Unknown(why.clone()),
        (_, None) => Parity::Unknown("its code is not in the log".to_owned()),
    };
    let schedule = |&at: &usize| {
        let ops = in_schedule(log, record(at)?, bytes);
        let parity = parity(&ops);
        Some(Schedule { record: at, source: ScheduleSource::Schedule, part: found.part, ops, parity })
    };
    found.schedules.iter().filter_map(schedule).collect()
}

/// How many collectives stand in one list and not in the other, and whether the same ones stand in another order.
fn difference(schedule: &[String], code: &[String]) -> (u32, bool) {
    let collectives = |ops: &'_ [String]| -> Vec<String> { ops.iter().filter(|op| !is_wait(op)).cloned().collect() };
    let (a, b) = (collectives(schedule), collectives(code));
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for op in &a {
        *counts.entry(op).or_default() += 1;
    }
    for op in &b {
        *counts.entry(op).or_default() -= 1;
    }
    let offset: u64 = counts.values().map(|n| n.unsigned_abs()).sum();
    (u32::try_from(offset).unwrap_or(u32::MAX), offset == 0 && a != b)
}

/// What the code of a part says where no schedule was logged.
fn without_schedule(found: &Found, code: Option<(usize, Calls)>) -> Option<Schedule> {
    let (record, ops, parity) = match code {
        None => {
            let why = "no schedule was logged, and its code is not Python";
            (found.other_code?, Err(why.to_owned()), Parity::Unknown(why.to_owned()))
        }
        Some((at, Err(why))) => (at, Err(why.clone()), Parity::Unknown(why)),
        Some((at, Ok(calls))) if calls.calls.is_empty() => (at, Ok(Vec::new()), Parity::Nothing),
        Some((at, Ok(calls))) => {
            let why = "no schedule was logged; PyTorch writes none for what comes from a cache";
            (at, Ok(calls.calls), Parity::Unknown(why.to_owned()))
        }
    };
    Some(Schedule { record, source: ScheduleSource::Code, part: found.part, ops, parity })
}

fn in_schedule(log: &Log, record: &Record, bytes: &[u8]) -> Ops {
    if !record.payload.is_readable() {
        return Err(format!("its schedule is damaged: {}", record.payload.name()));
    }
    let text = log.index.payload(record, bytes).text();
    let ops = compared::operators(&text).ok_or_else(|| "its schedule is no list of operators".to_owned())?;
    Ok(ops.into_iter().map(|op| op.unwrap_or_else(|| NO_NAME.to_owned())).collect())
}

fn in_code(log: &Log, record: &Record, bytes: &[u8]) -> Calls {
    if !record.payload.is_readable() {
        return Err(format!("its code is damaged: {}", record.payload.name()));
    }
    output_code::collectives(&log.index.payload(record, bytes).text())
        .ok_or_else(|| "its code is not Python of Inductor's".to_owned())
}

fn of_graphs(log: &Log, bytes: &[u8], records: &[usize], read: &ReadGraphs) -> Vec<Schedule> {
    let kind = |at: usize| log.index.records.get(at).map(|r| r.kind);
    let has_aot = records.iter().any(|at| kind(*at) != Some(KindId::Known(Kind::DynamoOutputGraph)));
    let wanted = records.iter().copied();
    let wanted = wanted.filter(|at| !has_aot || kind(*at) != Some(KindId::Known(Kind::DynamoOutputGraph)));
    let schedule = |at: usize| {
        let record = log.index.records.get(at)?;
        let graph = read.of(log, record, bytes);
        let ops = graph.map(|graph| graph.collectives.clone());
        let ops: Ops = ops.ok_or_else(|| "its graph could not be read".to_owned());
        let parity = match &ops {
            Ok(ops) if ops.is_empty() => Parity::Nothing,
            Ok(_) => Parity::Unknown("Inductor made no code of this graph".to_owned()),
            Err(why) => Parity::Unknown(why.clone()),
        };
        Some(Schedule { record: at, source: ScheduleSource::Graph, part: None, ops, parity })
    };
    wanted.filter_map(schedule).collect()
}

struct OpRow<'t> {
    row: Row<'t>,
    schedule: &'t Schedule,
    position: u32,
    op: &'t str,
}

fn build(trace: &Trace) -> Result<Table> {
    let mut all: Vec<(Row<'_>, Schedule)> = Vec::new();
    let read = ReadGraphs::default();
    for (file, log) in (0..).zip(&trace.logs) {
        let view = log.view()?;
        for schedule in schedules(log, &view, &parts(log, &view), &read).into_values().flatten() {
            if let Some(record) = log.index.records.get(schedule.record) {
                all.push((Row { file, log, record }, schedule));
            }
        }
    }
    let mut rows = Vec::new();
    for (row, schedule) in &all {
        let ops = schedule.ops.as_deref().unwrap_or_default();
        rows.extend((0..).zip(ops).map(|(position, op)| OpRow { row: *row, schedule, position, op }));
    }
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row);
    part_columns(builder, |r: &OpRow<'_>| r.schedule.part)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .name("source", "schedule, code (what came from a cache has no schedule) or graph (no code was made).", |r| {
            Some(Cow::Borrowed(r.schedule.source.name()))
        })
        .u32("position", "Place in the graph, waits counted, from 0.", |r| Some(r.position))
        .name("op", "Operator, as the generated code calls it.", |r| Some(Cow::Borrowed(r.op)))
        .bool("is_wait", "Whether it waits for a collective.", |r| Some(is_wait(r.op)))
        .finish("collectives")
}
