//! Recompiles: which guard turned a call away, what was other, what it cost; and table `recompiles`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{
    Code, FrameKey, OfLog, Texts, advice, code_ref, frame_codes, frame_key, of_logs, short_code, short_place, sum,
};
use crate::analysis::compiles::{Compile, Compiles};
use crate::analysis::frames::{code, compile_key};
use crate::error::Result;
use crate::format::guards::{Guard, parse};
use crate::format::recompile_reason::{Cause, Reason, plain, reasons, texts};
use crate::format::text::shorten;
use crate::tables::{MetricRecords, Table, TableBuilder, TableDef};
use crate::trace::{Log, Trace};

pub(in crate::analysis) const RECOMPILES: TableDef =
    TableDef { name: "recompiles", about: "a compile id with a recompile reason", build };

/// Entries of a frame whose reasons are looked into, the newest.
const ENTRIES: usize = 100;
/// Dimensions of one recompile that are told.
const DIMENSIONS: usize = 16;
/// Most values of one source that are kept.
const VALUES: usize = 100;

/// One recompile, or one that was refused at the limit.
#[derive(Clone, Debug)]
pub(crate) struct Recompile {
    /// Number of its compile within the log.
    pub(crate) compile: usize,
    /// The record that names the reasons.
    pub(crate) record: usize,
    /// Whether it was refused because there had been too many.
    pub(crate) refused: bool,
    /// Whether it was an error, as recompiles were declared to be.
    pub(crate) forbidden: bool,
    /// The reasons as logged, newest entry first.
    pub(crate) texts: Vec<String>,
    /// The guards that the newest of them name.
    pub(crate) reasons: Vec<Reason>,
    /// What the source of the first reason had over all compiles of the frame, in the order in which it came: for each
    /// dimension that did not fit an entry, that of the first reason first.
    pub(crate) values: Vec<(Option<u32>, Arc<[String]>)>,
    /// Seconds for this compile, its backward included.
    pub(crate) cost_s: Option<f64>,
    /// What was compiled, from an earlier compile of the frame where this one does not say.
    pub(crate) code: Code,
}

impl Recompile {
    /// The guard of the newest entry: the one that PyTorch names first.
    pub(crate) fn first(&self) -> Option<&Reason> {
        self.reasons.first()
    }

    /// The dimensions of the reasons that are about the same as the first, each once; one `None` where none is about a
    /// dimension.
    fn alike(&self) -> impl Iterator<Item = Option<u32>> + use<> {
        let first = self.first();
        let alike = |reason: &&Reason| first.is_some_and(|f| f.cause == reason.cause && f.source == reason.source);
        let mut dimensions: Vec<Option<u32>> = Vec::new();
        for reason in self.reasons.iter().filter(alike) {
            if dimensions.len() < DIMENSIONS && !dimensions.contains(&reason.dimension) {
                dimensions.push(reason.dimension);
            }
        }
        dimensions.into_iter()
    }

    /// Why, in a word.
    pub(crate) fn cause(&self) -> Cause {
        self.first().map_or(if self.refused { Cause::Limit } else { Cause::Other }, |reason| reason.cause)
    }
}

/// What a guard is about, and which dimension of it.
type Subject = (FrameKey, Option<String>, Option<u32>);

/// The recompiles of a log, in its order.
pub(crate) fn recompiles(of: OfLog<'_>, all: &Compiles, texts: Texts) -> Vec<Recompile> {
    let OfLog { log, bytes, .. } = of;
    let mut found: Vec<Recompile> =
        all.iter().enumerate().filter_map(|(at, compile)| one(of, (at, compile), texts)).collect();
    let codes = frame_codes(all);
    let values: BTreeMap<Subject, Arc<[String]>> =
        values(log, bytes, all, &found).into_iter().map(|(subject, values)| (subject, values.into())).collect();
    for recompile in &mut found {
        let Some(compile) = all.get_at(recompile.compile) else { continue };
        recompile.code = codes.of(compile);
        if texts == Texts::Short {
            recompile.code = short_code(std::mem::take(&mut recompile.code));
        }
        recompile.values = recompile
            .alike()
            .map(|dimension| {
                let source = recompile.first().and_then(|reason| reason.source.clone());
                (dimension, values.get(&(frame_key(compile), source, dimension)).cloned().unwrap_or_default())
            })
            .collect();
    }
    found
}

fn subject(compile: &Compile, reason: &Reason) -> Subject {
    (frame_key(compile), reason.source.clone(), reason.dimension)
}

fn one(of: OfLog<'_>, (at, compile): (usize, &Compile), keep: Texts) -> Option<Recompile> {
    let OfLog { log, bytes, metrics, .. } = of;
    let artifact = compile.reasons().and_then(|record| Some((record, log.index.records.get(record)?)));
    let mut forbids = false;
    let (record, mut texts) = match artifact {
        Some((at, record)) => (at, texts(&log.index.payload(record, bytes).text())),
        // Where a recompile is an error, its message has the reasons.
        None => compile
            .metrics
            .iter()
            .find_map(|&at| Some((at, forbidden(metrics, at)?)))
            .inspect(|_| forbids = true)
            .or_else(|| Some((*compile.metrics.first()?, vec![compile.recompile_reason.clone()?])))?,
    };
    let mut found: Vec<Reason> = texts.iter().take(ENTRIES).flat_map(|text| reasons(text)).collect();
    if keep == Texts::Short {
        texts = Vec::new();
        found.iter_mut().for_each(shorten_reason);
    }
    let cost_s = sum(compile.phases.frame_s, compile.phases.backward_s);
    let refused = compile.limit_hit;
    let (values, code) = (Vec::new(), (None, None, None));
    Some(Recompile { compile: at, record, refused, forbidden: forbids, texts, reasons: found, values, cost_s, code })
}

/// Leaves what a sentence shows of the texts of a reason.
fn shorten_reason(reason: &mut Reason) {
    const WORDS: usize = 300;
    reason.guard = shorten(&reason.guard, WORDS);
    reason.pattern = shorten(&reason.pattern, WORDS);
    for text in [&mut reason.source, &mut reason.expected, &mut reason.actual, &mut reason.code, &mut reason.hint] {
        *text = text.as_ref().map(|text| shorten(text, WORDS));
    }
    reason.place = reason.place.as_ref().map(short_place);
}

/// The reasons in the message of a `RecompileError`: a line each, `- 0/0: …`.
fn forbidden(metrics: &MetricRecords<'_>, at: usize) -> Option<Vec<String>> {
    let fields = metrics.fields(at);
    fields.text("fail_type").filter(|error| error.ends_with("RecompileError"))?;
    let message = fields.text("fail_reason")?;
    let lines: Vec<String> =
        message.lines().filter_map(|line| line.trim_start().strip_prefix("- ")).map(str::to_owned).collect();
    Some(lines).filter(|lines| !lines.is_empty())
}

/// The values that each guarded thing had: what entries wanted and what calls had, as the reasons tell, and what the
/// guards of the frame's compiles compare with.
fn values(log: &Log, bytes: &[u8], all: &Compiles, found: &[Recompile]) -> BTreeMap<Subject, Vec<String>> {
    let mut compared: BTreeMap<FrameKey, FxHashSet<&String>> = BTreeMap::new();
    for (compile, reason) in each_reason(all, found) {
        let source = reason.source.as_ref().filter(|_| reason.actual.is_none() && reason.guard.contains(" == "));
        compared.entry(frame_key(compile)).or_default().extend(source);
    }
    let mut values: BTreeMap<Subject, Vec<String>> = BTreeMap::new();
    for compile in all.iter() {
        let Some(sources) = compared.get(&frame_key(compile)).filter(|sources| !sources.is_empty()) else { continue };
        for (source, value) in own_constants(log, bytes, compile) {
            if sources.contains(&source) {
                keep(values.entry((frame_key(compile), Some(source), None)).or_default(), &value);
            }
        }
    }
    for (compile, reason) in each_reason(all, found) {
        let seen = values.entry(subject(compile, reason)).or_default();
        [&reason.expected, &reason.actual].into_iter().flatten().for_each(|value| keep(seen, value));
    }
    values
}

/// Each reason with its compile; of one recompile that of the oldest entry first, since its value came first.
fn each_reason<'a>(all: &'a Compiles, found: &'a [Recompile]) -> impl Iterator<Item = (&'a Compile, &'a Reason)> {
    found.iter().flat_map(|recompile| {
        let compile = all.get_at(recompile.compile);
        recompile.reasons.iter().rev().filter_map(move |reason| Some((compile?, reason)))
    })
}

fn keep(seen: &mut Vec<String>, value: &str) {
    if seen.len() < VALUES && !seen.iter().any(|known| known == value) {
        seen.push(value.to_owned());
    }
}

/// What a compile's own guards compare for equality: source and value.
fn own_constants(log: &Log, bytes: &[u8], compile: &Compile) -> Vec<(String, String)> {
    let guards = compile.guard_texts().iter().filter_map(|&at| log.index.records.get(at));
    let mut found = Vec::new();
    for record in guards {
        let text = log.index.payload(record, bytes).text();
        let text = String::from_utf8_lossy(&text);
        // Sizes and numbers that became symbols are compared by lambdas.
        let equal = |guard: &Guard<'_>| matches!(guard.kind, Some("EQUALS_MATCH" | "LAMBDA_GUARD"));
        for condition in parse(&text).guards.iter().filter(|guard| equal(guard)).filter_map(|guard| guard.code) {
            for reason in reasons(condition) {
                if let (Some(source), Some(value)) = (reason.source, reason.expected) {
                    found.push((plain(&source), value));
                }
            }
        }
    }
    found
}

struct RecompileRow<'t> {
    file: u32,
    log: &'t Log,
    compile: &'t Compile,
    found: &'t Recompile,
}

fn build(trace: &Trace) -> Result<Table> {
    let all = of_logs(trace, |of, compiles| (recompiles(of, &compiles, Texts::Whole), compiles))?;
    let rows: Vec<RecompileRow<'_>> = all.iter().flat_map(rows_of).collect();
    let builder = compile_key(TableBuilder::new(&rows), |r| (r.file, r.log, r.compile))
        .u64("offset", "Byte at which the record with the reasons starts.", |r| {
            r.log.index.records.get(r.found.record).map(|record| record.offset)
        })
        .time("time", "When that was logged.", |r| r.log.index.records.get(r.found.record)?.time_us());
    columns(code(builder, |r| code_ref(&r.found.code))).finish("recompiles")
}

type Found = (Vec<Recompile>, Compiles);

/// A row for each recompile of a log.
fn rows_of<'t>((file, log, (found, compiles)): &'t (u32, &'t Log, Found)) -> impl Iterator<Item = RecompileRow<'t>> {
    found
        .iter()
        .filter_map(|found| Some(RecompileRow { file: *file, log, compile: compiles.get_at(found.compile)?, found }))
}

fn columns<'r>(builder: TableBuilder<'r, RecompileRow<'r>>) -> TableBuilder<'r, RecompileRow<'r>> {
    let first = |r: &'r RecompileRow<'r>| r.found.first();
    let builder = builder
        .bool("refused", "Whether it was refused at the recompile limit: the frame runs without being compiled from then on.", |r| {
            Some(r.found.refused)
        })
        .bool("forbidden", "Whether it was an error and not made, as `error_on_recompile` demands.", |r| {
            Some(r.found.forbidden)
        })
        .texts("reasons", "The reasons as logged, one for each earlier entry of the frame, newest first.", |r| {
            Some(r.found.texts.clone())
        })
        .name("entry", "Compile id of the entry that turned the call away: the newest one.", move |r| {
            Some(Cow::Owned(first(r)?.entry?.to_string()))
        })
        .text("guard", "The guard of that entry that failed first.", move |r| Some(Cow::Borrowed(first(r)?.guard.as_str())))
        .name("pattern", "The guard with ids, numbers and compared constants blanked.", move |r| {
            Some(Cow::Borrowed(first(r)?.pattern.as_str()))
        })
        .name(
            "cause",
            "What was other: size, stride, dimensions, dtype, device, requires grad, tensor kind, float, integer, constant, global, object id, type, container, attribute, aliasing, grad mode, global state, backend, limit or other.",
            |r| Some(Cow::Borrowed(r.found.cause().name())),
        )
        .texts("causes", "The causes of all entries, each once; of more than 100 entries those of the newest.", |r| {
            let mut causes: Vec<String> = Vec::new();
            for reason in &r.found.reasons {
                keep(&mut causes, reason.cause.name());
            }
            Some(causes)
        })
        .text("source", "How user code reaches what was other, such as `x` or `self.depth`.", move |r| {
            first(r)?.source.as_deref().map(Cow::Borrowed)
        })
        .u32("dimension", "Which dimension of the tensor, from 0.", move |r| first(r)?.dimension)
        .text("expected", "What the entry wants.", move |r| first(r)?.expected.as_deref().map(Cow::Borrowed))
        .text("actual", "What the call had; null where the log does not say.", move |r| {
            first(r)?.actual.as_deref().map(Cow::Borrowed)
        });
    builder
        .texts(
            "values",
            "Values that this source had in this dimension over the compiles of the frame, in order, as reasons and guards tell; 100 at most.",
            |r| Some(r.found.values.first().map(|(_, values)| values.to_vec()).unwrap_or_default()),
        )
        .text("user_code", "The user's source line that the guard is for.", move |r| {
            first(r)?.code.as_deref().map(Cow::Borrowed)
        })
        .name("user_file", "File of that line; PyTorch cuts long names from the left.", move |r| {
            first(r)?.place.as_ref().map(|place| Cow::Borrowed(place.file.as_str()))
        })
        .i64("user_line", "That line.", move |r| first(r)?.place.as_ref()?.line)
        .name("user_function", "Function of that line.", move |r| {
            first(r)?.place.as_ref()?.function.as_deref().map(Cow::Borrowed)
        })
        .text("hint", "What PyTorch adds for the user.", move |r| first(r)?.hint.as_deref().map(Cow::Borrowed))
        .f64("cost_s", "Seconds for this compile, its backward included; null where the log does not say.", |r| {
            r.found.cost_s
        })
        .text("advice", "What to try.", |r| Some(Cow::Owned(advice::of_recompile(r.found))))
}
