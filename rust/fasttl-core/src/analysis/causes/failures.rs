//! Failed compiles and restarts, with how far they came; and table `failures`.

use std::borrow::Cow;

use super::tracebacks::{Errors, own, untold};
use super::{Code, OfLog, advice, code_ref, frame_codes, of_logs};
use crate::analysis::compiles::{Compile, Compiles, FailureKind};
use crate::analysis::frames::code;
use crate::error::Result;
use crate::format::code_place::{CodePlace, Owner};
use crate::format::kind::Kind;
use crate::tables::{Row, Table, TableBuilder, TableDef, compile_columns};
use crate::trace::{Log, Trace};

pub(in crate::analysis) const FAILURES: TableDef =
    TableDef { name: "failures", about: "a failed compile, or a try that was started over", build };

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A try was started over.
    Restart,
    /// The compile ended with an error.
    Failure,
    /// The compile of its backward graph did.
    Backward,
    /// It was refused at the recompile limit.
    Limit,
}

impl Event {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Failure => "failure",
            Self::Backward => "backward failure",
            Self::Limit => "limit",
        }
    }
}

/// A failed compile or a restart.
#[derive(Clone, Debug)]
pub(crate) struct FailureFact {
    /// Number of its compile within the log.
    pub(crate) compile: usize,
    /// The record that tells of it.
    pub(crate) record: usize,
    /// What was compiled, from an earlier compile of the frame where this one does not say.
    pub(crate) code: Code,
    /// The record of the traceback.
    pub(crate) traceback: Option<usize>,
    /// What happened.
    pub(crate) event: Event,
    /// Class of the error.
    pub(crate) error: Option<String>,
    /// The message.
    pub(crate) reason: String,
    /// The line of the program.
    pub(crate) own: Option<CodePlace>,
    /// The line that the log names; it may be PyTorch's.
    pub(crate) place: Option<(String, Option<i64>)>,
    /// How far the compile had come.
    pub(crate) stage: Option<&'static str>,
    /// Seconds until then.
    pub(crate) lost_s: Option<f64>,
    /// Whether PyTorch went on without compiling the frame, as it was told to do with errors.
    pub(crate) suppressed: Option<bool>,
}

impl FailureFact {
    /// What to try; `None` for a restart, which is no fault.
    pub(crate) fn advice(&self, has_reproducer: bool) -> Option<String> {
        match self.event {
            Event::Restart => None,
            Event::Limit => Some(advice::LIMIT.to_owned()),
            Event::Failure | Event::Backward => Some(advice::of_failure(self.error.as_deref(), has_reproducer)),
        }
    }
}

/// The failures of a log, in the order of its compiles.
pub(crate) fn failures(of: OfLog<'_>, all: &Compiles) -> Vec<FailureFact> {
    let OfLog { log, metrics, .. } = of;
    let codes = frame_codes(all);
    let mut found = Vec::new();
    for (at, compile) in all.iter().enumerate() {
        let mut errors = Errors::new(compile);
        for failure in &compile.failures {
            let fields = metrics.fields(failure.record);
            let event = match failure.kind {
                FailureKind::Restart => Event::Restart,
                FailureKind::Failure if compile.limit_hit => Event::Limit,
                FailureKind::Failure => Event::Failure,
            };
            let ended = event != Event::Restart;
            let traceback = errors.first.filter(|_| ended);
            found.push(FailureFact {
                compile: at,
                record: failure.record,
                code: codes.of(compile),
                own: own(traceback.map(|_| errors.frames(of)), &failure.reason, failure.place.as_ref()),
                traceback,
                event,
                error: failure.error.clone(),
                reason: failure.reason.clone(),
                place: failure.place.clone(),
                stage: (event == Event::Failure).then(|| stage(log, compile)),
                lost_s: fields.float("dynamo_time_before_restart_s"),
                suppressed: fields.get("config_suppress_errors").filter(|_| ended).and_then(truth),
            });
        }
        backward(of, (at, compile), &mut found);
        untold(of, (at, compile), &codes, &mut found);
    }
    found
}

/// Failures of the compile of a backward graph: its metrics say so, or a traceback of its own.
fn backward(of: OfLog<'_>, (at, compile): (usize, &Compile), found: &mut Vec<FailureFact>) {
    for &record in &compile.backward {
        let fields = of.metrics.fields(record);
        let (error, reason) = (fields.shown("fail_type"), fields.shown("fail_reason").unwrap_or_default());
        if error.is_none() && reason.is_empty() {
            continue;
        }
        let place = fields.text("fail_user_frame_filename").map(|file| (file, fields.int("fail_user_frame_lineno")));
        let traceback = compile.errors().last().copied();
        found.push(FailureFact {
            compile: at,
            record,
            code: compile.code_owned(),
            own: own(None, &reason, place.as_ref()),
            traceback,
            event: Event::Backward,
            error,
            reason,
            place,
            stage: Some("backward"),
            lost_s: fields.float("duration_us").map(|us| us / 1e6),
            suppressed: fields.get("config_suppress_errors").and_then(truth),
        });
    }
}

fn truth(value: &[u8]) -> Option<bool> {
    match value {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

/// How far a compile came, as its graphs tell.
pub(super) fn stage(log: &Log, compile: &Compile) -> &'static str {
    let kinds = || compile.graphs().iter().filter_map(|&at| log.index.records.get(at)).map(|record| record.kind);
    if kinds().any(|kind| !kind.is(Kind::DynamoOutputGraph)) {
        "after aot"
    } else if kinds().next().is_some() {
        "backend"
    } else {
        "dynamo"
    }
}

struct FailureRow<'t> {
    row: Row<'t>,
    compile: &'t Compile,
    found: &'t FailureFact,
    traceback: Option<u64>,
}

fn build(trace: &Trace) -> Result<Table> {
    let all = of_logs(trace, |of, compiles| (failures(of, &compiles), compiles))?;
    let rows: Vec<FailureRow<'_>> = all.iter().flat_map(rows_of).collect();
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .time("time", "When it was logged.", |r| r.row.record.time_us());
    code(builder, |r| code_ref(&r.found.code))
        .name(
            "event",
            "restart (a try was started over), failure, backward failure, or limit (refused after too many recompiles).",
            |r| Some(Cow::Borrowed(r.found.event.name())),
        )
        .name("type", "Class of the error; null for a restart, and where the log has none.", |r| {
            r.found.error.as_deref().map(Cow::Borrowed)
        })
        .text("reason", "The message; null where the log has none.", |r| {
            Some(r.found.reason.as_str()).filter(|reason| !reason.is_empty()).map(Cow::Borrowed)
        })
        .name(
            "stage",
            "How far it came: dynamo (no graph yet), backend (a graph was handed over), after aot (AOTAutograd had made its graphs), or backward.",
            |r| r.found.stage.map(Cow::Borrowed),
        )
        .name("user_file", "File of the innermost line of the program's own code that led to it.", |r| {
            r.found.own.as_ref().map(|place| Cow::Borrowed(place.file.as_str()))
        })
        .i64("user_line", "That line.", |r| r.found.own.as_ref()?.line)
        .name("fail_file", "File of the line that failed or broke the graph, as the log names it; it may be PyTorch's.", |r| {
            r.found.place.as_ref().map(|(file, _)| Cow::Borrowed(file.as_str()))
        })
        .i64("fail_line", "That line.", |r| r.found.place.as_ref()?.1)
        .name("fail_owner", "Whose file that is: user, library, or framework.", |r| {
            r.found.place.as_ref().map(|(file, _)| Cow::Borrowed(Owner::of(file).name()))
        })
        .f64("lost_s", "Seconds of work that were lost.", |r| r.found.lost_s)
        .bool("suppressed", "Whether errors were suppressed, so that the program went on without this compile.", |r| {
            r.found.suppressed
        })
        .u64("traceback_offset", "Byte at which the record with the traceback starts; null where there is none.", |r| {
            r.traceback
        })
        .text("advice", "What to try; null for a restart, which is no fault.", |r| {
            r.found.advice(r.compile.has_reproducer).map(Cow::Owned)
        })
        .finish("failures")
}

type Found = (Vec<FailureFact>, Compiles);

fn rows_of<'t>((file, log, (failures, compiles)): &'t (u32, &'t Log, Found)) -> impl Iterator<Item = FailureRow<'t>> {
    failures.iter().filter_map(|found| {
        let at = |record: usize| log.index.records.get(record);
        let row = Row { file: *file, log, record: at(found.record)? };
        let traceback = found.traceback.and_then(at).map(|record| record.offset);
        Some(FailureRow { row, compile: compiles.get_at(found.compile)?, found, traceback })
    })
}
