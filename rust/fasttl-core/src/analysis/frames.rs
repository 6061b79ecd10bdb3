//! Table `frames`: a row for each compile.

use std::borrow::Cow;

use super::compiles::{CodeRef, Compile, Compiles, FailureKind};
use super::of_logs::{OfLog, of_logs};
use super::places::places;
use crate::error::Result;
use crate::tables::{Table, TableBuilder, TableDef};
use crate::trace::{Log, Trace};

pub(super) const FRAMES: TableDef =
    TableDef { name: "frames", about: "a compile: (file, generation, compile id without attempt)", build };

struct FrameRow<'t> {
    file: u32,
    log: &'t Log,
    compile: Compile,
    user_stack: Vec<String>,
}

fn build(trace: &Trace) -> Result<Table> {
    let with_stacks = |of: OfLog<'_>, compiles: Compiles| {
        let row = |compile: Compile| (user_stack(trace, of.log, &compile), compile);
        compiles.into_list().into_iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<FrameRow<'_>> = of_logs(trace, with_stacks)?
        .into_iter()
        .flat_map(|(file, log, compiles)| {
            compiles.into_iter().map(move |(user_stack, compile)| FrameRow { file, log, compile, user_stack })
        })
        .collect();
    let builder = compile_key(TableBuilder::new(&rows), |r| (r.file, r.log, &r.compile)).i64(
        "attempts",
        "Tries: 1 and one for each restart.",
        |r| Some(r.compile.last_attempt.saturating_add(1)),
    );
    let builder = code(builder, |r| r.compile.code()).texts(
        "user_stack",
        "Stack at its start, outermost first: `file:line in function`.",
        |r| Some(r.user_stack.clone()),
    );
    times(outcomes(builder)).finish("frames")
}

/// Adds the columns that name a compile, its attempts together.
pub(super) fn compile_key<'r, R: Sync>(
    builder: TableBuilder<'r, R>,
    of: impl Fn(&'r R) -> (u32, &'r Log, &'r Compile) + Copy + Send + 'r,
) -> TableBuilder<'r, R> {
    builder
        .i32(
            "rank",
            "Rank of the process: as its first record says, else as the file; null where the log has none.",
            move |r| {
                let (_, log, compile) = of(r);
                log.index.records.get(compile.first).and_then(|record| record.rank).or(log.rank)
            },
        )
        .u32("file", "Number of the log: row of `files`.", move |r| Some(of(r).0))
        .u32(
            "generation",
            "How often compile ids had started again in this file (`torch._dynamo.reset()`, or another rank's).",
            move |r| Some(of(r).2.generation),
        )
        .name("compile_id", "Compile id without attempt.", move |r| Some(Cow::Owned(of(r).2.id.to_string())))
        .i64("frame_id", "Number of the code frame, in order of first compile.", move |r| of(r).2.id.frame_id)
        .i64("frame_compile_id", "How often the frame had been compiled before.", move |r| of(r).2.id.frame_compile_id)
        .i64("compiled_autograd_id", "Number of the compiled-autograd capture.", move |r| {
            of(r).2.id.compiled_autograd_id
        })
}

/// Adds the columns that name the code of a compile.
pub(super) fn code<'r, R: Sync>(
    builder: TableBuilder<'r, R>,
    of: impl Fn(&'r R) -> CodeRef<'r> + Copy + Send + 'r,
) -> TableBuilder<'r, R> {
    builder
        .name("code_name", "Function.", move |r| of(r).0.map(Cow::Borrowed))
        .name("code_file", "File of the function.", move |r| of(r).1.map(Cow::Borrowed))
        .i64("code_line", "First line of the function.", move |r| of(r).2)
}

fn outcomes<'r>(builder: TableBuilder<'r, FrameRow<'r>>) -> TableBuilder<'r, FrameRow<'r>> {
    let failure = |r: &'r FrameRow<'r>| r.compile.failures.iter().find(|f| f.kind == FailureKind::Failure);
    builder
        .name("status", "error, empty (nothing to run), break (started over), ok, or missing (no metrics).", |r| {
            Some(Cow::Borrowed(r.compile.status.name()))
        })
        .bool("has_graph_break", "Whether a graph break was logged; null where the log cannot tell.", |r| {
            r.compile.has_graph_break
        })
        .bool("skipped", "Left to run as it is, without an error.", |r| Some(r.compile.skipped))
        .bool("limit_hit", "Refused because the frame had been compiled too often.", |r| Some(r.compile.limit_hit))
        .bool("unfinished", "The log ends before the compile did.", |r| Some(r.compile.unfinished))
        .texts("restart_reasons", "Why it was started over.", |r| {
            let restarts = r.compile.failures.iter().filter(|f| f.kind == FailureKind::Restart);
            Some(restarts.map(|f| f.reason.clone()).collect())
        })
        .name("fail_type", "Class of the error; null where the log has none.", move |r| {
            failure(r)?.error.as_deref().map(Cow::Borrowed)
        })
        .text("fail_reason", "Message of the error; null where the log has none.", move |r| {
            Some(failure(r)?.reason.as_str()).filter(|reason| !reason.is_empty()).map(Cow::Borrowed)
        })
        .text("fail_file", "File of the user's line that failed.", move |r| {
            failure(r)?.place.as_ref().map(|(file, _)| Cow::Borrowed(file.as_str()))
        })
        .i64("fail_line", "That line.", move |r| failure(r)?.place.as_ref().and_then(|(_, line)| *line))
        .text("recompile_reason", "First guard that failed, where this is a recompile.", |r| {
            r.compile.recompile_reason.as_deref().map(Cow::Borrowed)
        })
        .name("fx_cache", "FX graph cache: hit, miss, bypass, mixed; null where the log does not say.", |r| {
            r.compile.fx_cache.map(|c| Cow::Borrowed(c.name()))
        })
        .name("aot_cache", "AOTAutograd cache: hit, miss, bypass, mixed; null where the log does not say.", |r| {
            r.compile.aot_cache.map(|c| Cow::Borrowed(c.name()))
        })
}

fn times<'r>(builder: TableBuilder<'r, FrameRow<'r>>) -> TableBuilder<'r, FrameRow<'r>> {
    builder
        .time("start", "When it began.", |r| r.compile.start_us)
        .f64("entire_frame_s", "Seconds for the whole compile of the frame.", |r| r.compile.phases.frame_s)
        .f64("backend_s", "Seconds in the backend, with all that it calls.", |r| r.compile.phases.backend_s)
        .f64("inductor_s", "Seconds in Inductor.", |r| r.compile.phases.inductor_s)
        .f64("code_gen_s", "Seconds in code generation.", |r| r.compile.phases.code_gen_s)
        .f64("backward_s", "Seconds for compiling its backward graph, where that was logged apart.", |r| {
            r.compile.phases.backward_s
        })
        .i64("ops", "Operations in the graph.", |r| r.compile.ops)
        .i64("nodes", "Nodes in the graph.", |r| r.compile.nodes)
        .i64("inputs", "Inputs of the graph.", |r| r.compile.inputs)
        .i64("guards", "Guards.", |r| r.compile.guards)
        .u32("artifacts", "Stored payloads, timing events not counted.", |r| Some(r.compile.artifacts))
        .u64("artifact_bytes", "Bytes of these.", |r| Some(r.compile.artifact_bytes))
}

fn user_stack(trace: &Trace, log: &Log, compile: &Compile) -> Vec<String> {
    let offset = compile.start.and_then(|at| log.index.records.get(at)).map_or(0, |r| r.offset);
    places(trace, log, offset, &compile.stack)
}
