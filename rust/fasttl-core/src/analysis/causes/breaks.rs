//! Graph breaks: where, why, and what PyTorch proposes; and table `graph_breaks`.

use std::borrow::Cow;

use super::{OfLog, advice, of_logs, short_place};
use crate::analysis::compiles::{Compile, Compiles, FailureKind};
use crate::analysis::frames::code;
use crate::error::Result;
use crate::format::code_place::{CodePlace, Owner, innermost_own};
use crate::format::graph_break::{GraphBreak, is_other_restart, parse};
use crate::format::recompile_reason::blank;
use crate::format::text::shorten;
use crate::tables::{Row, Table, TableBuilder, TableDef, compile_columns};
use crate::trace::{Log, Trace};

pub(in crate::analysis) const GRAPH_BREAKS: TableDef =
    TableDef { name: "graph_breaks", about: "a graph break as it was logged", build };

/// One graph break, as one record tells of it. Dynamo logs a break in an inlined function for the caller and again for
/// the function itself.
#[derive(Clone, Debug)]
pub(crate) struct Break {
    /// Number of its compile within the log.
    pub(crate) compile: usize,
    /// The record that tells of it.
    pub(crate) record: usize,
    /// Whether that is an artifact of its own, with the place; else the reason of a restart.
    pub(crate) has_artifact: bool,
    /// What it says.
    pub(crate) said: GraphBreak,
    /// The program's own line, and its text.
    pub(crate) own: Option<(CodePlace, Option<String>)>,
    /// Seconds that the compile lost to tries that were started over.
    pub(crate) lost_s: Option<f64>,
}

/// What makes two records tell of one break: what, where, from which line of the program, and whether the frame then
/// runs as it is.
pub(crate) type BreakKey = (String, Option<CodePlace>, Option<CodePlace>, bool);

impl Break {
    /// Its key; numbers in the reason, such as addresses, do not count.
    pub(crate) fn key(&self) -> BreakKey {
        let own = self.own.as_ref().map(|(place, _)| place.clone());
        (blank(&self.said.reason), self.said.place.clone(), own, self.said.skips_frame)
    }

    /// Whose code breaks the graph; `None` where the log has no place.
    pub(crate) fn owner(&self) -> Option<Owner> {
        self.said.place.as_ref().map(|place| Owner::of(&place.file))
    }

    /// Leaves what a sentence shows of its texts.
    pub(super) fn shorten(&mut self) {
        const WORDS: usize = 300;
        const HINTS: usize = 1000;
        let said = &mut self.said;
        said.reason = shorten(&said.reason, WORDS);
        let mut room = HINTS;
        for hint in &mut said.hints {
            *hint = shorten(hint, room);
            room = room.saturating_sub(hint.chars().count());
        }
        said.hints.retain(|hint| hint.chars().count() > 1);
        (said.explanation, said.context, said.while_tracing, said.url) = (None, None, None, None);
        said.stack = Vec::new();
        said.place = said.place.as_ref().map(short_place);
        self.own = self.own.take().map(|(place, code)| (short_place(&place), code.map(|code| shorten(&code, WORDS))));
    }

    /// What to try.
    pub(crate) fn advice(&self) -> String {
        advice::of_break(&self.said.hints, self.owner())
    }
}

/// Hands over the graph breaks of a log, in the order of its compiles, one after the other: their texts are long.
pub(crate) fn each_break(of: OfLog<'_>, all: &Compiles, mut each: impl FnMut(Break)) {
    let OfLog { log, bytes, metrics, .. } = of;
    for (at, compile) in all.iter().enumerate() {
        let lost = |&at: &usize| metrics.fields(at).float("dynamo_time_before_restart_s");
        let lost_s = compile.metrics.iter().filter_map(lost).reduce(|a, b| a + b);
        for &record in compile.graph_breaks() {
            let Some(logged) = log.index.records.get(record) else { continue };
            let text = log.index.payload(logged, bytes).text();
            let said = parse(&String::from_utf8_lossy(&text));
            each(Break { compile: at, record, has_artifact: true, own: own(&said), said, lost_s });
        }
        // Early releases logged breaks as reasons of restarts only.
        if compile.has_graph_break.is_some() {
            continue;
        }
        let restarts = compile.failures.iter().filter(|failure| failure.kind == FailureKind::Restart);
        for restart in restarts.filter(|restart| !is_other_restart(&restart.reason)) {
            let said = parse(&restart.reason);
            each(Break { compile: at, record: restart.record, has_artifact: false, own: None, said, lost_s });
        }
    }
}

/// The program's own line that led to a break.
fn own(said: &GraphBreak) -> Option<(CodePlace, Option<String>)> {
    let place = innermost_own(&said.stack).or(said.place.as_ref())?;
    let line = said.stack.iter().rev().find(|(of, _)| of == place);
    Some((place.clone(), line.and_then(|(_, text)| text.clone())))
}

/// A stack for a person: `file:line in function`, what is not the program's own marked.
pub(crate) fn marked(stack: &[(CodePlace, Option<String>)]) -> Vec<String> {
    let line = |(place, _): &(CodePlace, Option<String>)| match Owner::of(&place.file) {
        Owner::User => place.to_string(),
        other => format!("{place} [{}]", other.name()),
    };
    stack.iter().map(line).collect()
}

struct BreakRow<'t> {
    row: Row<'t>,
    compile: &'t Compile,
    found: &'t Break,
}

fn build(trace: &Trace) -> Result<Table> {
    let all = of_logs(trace, |of, compiles| {
        let mut found = Vec::new();
        each_break(of, &compiles, |one| found.push(one));
        (compiles, found)
    })?;
    let rows: Vec<BreakRow<'_>> = all.iter().flat_map(rows_of).collect();
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .time("time", "When it was logged.", |r| r.row.record.time_us());
    columns(code(builder, |r| r.compile.code())).finish("graph_breaks")
}

type Found = (Compiles, Vec<Break>);

fn rows_of<'t>((file, log, (compiles, breaks)): &'t (u32, &'t Log, Found)) -> impl Iterator<Item = BreakRow<'t>> {
    breaks.iter().filter_map(|found| {
        let row = Row { file: *file, log, record: log.index.records.get(found.record)? };
        Some(BreakRow { row, compile: compiles.get_at(found.compile)?, found })
    })
}

fn columns<'r>(builder: TableBuilder<'r, BreakRow<'r>>) -> TableBuilder<'r, BreakRow<'r>> {
    let said = |r: &'r BreakRow<'r>| &r.found.said;
    let own = |r: &'r BreakRow<'r>| r.found.own.as_ref().map(|(place, _)| place);
    builder
        .name("reason", "What kind of break it is, in PyTorch's words.", move |r| Some(Cow::Borrowed(said(r).reason.as_str())))
        .name("break_id", "Stable number of the kind, such as `gb0025`.", move |r| said(r).id.as_deref().map(Cow::Borrowed))
        .name("evidence", "artifact, or restart reason: early releases log no more than that, and no place.", |r| {
            Some(Cow::Borrowed(if r.found.has_artifact { "artifact" } else { "restart reason" }))
        })
        .name("break_file", "File that the log names first; it may be a library's.", move |r| {
            said(r).place.as_ref().map(|place| Cow::Borrowed(place.file.as_str()))
        })
        .i64("break_line", "Line in that file.", move |r| said(r).place.as_ref()?.line)
        .name("break_owner", "Whose file that is: user, library, or framework (PyTorch, the standard library).", |r| {
            r.found.owner().map(|owner| Cow::Borrowed(owner.name()))
        })
        .name("user_file", "File of the innermost line of the program's own code.", move |r| {
            own(r).map(|place| Cow::Borrowed(place.file.as_str()))
        })
        .i64("user_line", "That line.", move |r| own(r)?.line)
        .name("user_function", "Function of that line.", move |r| own(r)?.function.as_deref().map(Cow::Borrowed))
        .text("user_code", "Text of that line.", |r| r.found.own.as_ref()?.1.as_deref().map(Cow::Borrowed))
        .texts(
            "stack",
            "Stack of the program, outermost first: `file:line in function`, with `[library]` or `[framework]` behind what is not its own.",
            move |r| Some(marked(&said(r).stack)),
        )
        .text("while_tracing", "What was being traced, where the log says.", move |r| {
            said(r).while_tracing.as_deref().map(Cow::Borrowed)
        })
        .text("explanation", "Why this breaks the graph.", move |r| said(r).explanation.as_deref().map(Cow::Borrowed))
        .texts("hints", "What PyTorch proposes.", move |r| Some(said(r).hints.clone()))
        .text("context", "What developers of Dynamo look at.", move |r| said(r).context.as_deref().map(Cow::Borrowed))
        .text("url", "Page about this kind of break.", move |r| said(r).url.as_deref().map(Cow::Borrowed))
        .bool("skips_frame", "Whether the whole function is left to run without being compiled.", move |r| {
            Some(said(r).skips_frame)
        })
        .f64(
            "lost_s",
            "Seconds that its compile lost to tries that were started over; the same for all breaks of one compile.",
            |r| r.found.lost_s,
        )
        .text("advice", "What to try.", |r| Some(Cow::Owned(r.found.advice())))
}
