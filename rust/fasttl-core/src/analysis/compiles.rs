//! Compiles: the records of one compile id brought together, and what became of it.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::causes::sum;
use crate::format::code_place::CodePlace;
use crate::format::compile_id::CompileId;
use crate::format::frame::{Frame, parse_stack};
use crate::format::graph_break;
use crate::format::kind::Kind;
use crate::format::{json, recompile_reason};
use crate::index::{KindId, Mark, Record};
use crate::tables::{Fields, MetricRecords};
use crate::trace::{Log, Trace};

/// How a compile ended, as the standard report colours it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// It failed.
    Error,
    /// Nothing was left to run.
    Empty,
    /// It was started over, mostly because of a graph break.
    Break,
    /// It went through at once.
    Ok,
    /// The log has no metrics of it.
    Missing,
}

impl Status {
    /// Name in the tables and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Empty => "empty",
            Self::Break => "break",
            Self::Ok => "ok",
            Self::Missing => "missing",
        }
    }
}

/// What a cache layer answered over the graphs of one compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// Always found.
    Hit,
    /// Never found.
    Miss,
    /// Not asked, for a reason that the log has.
    Bypass,
    /// Different answers for different graphs.
    Mixed,
}

impl CacheState {
    /// Name in the tables and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Bypass => "bypass",
            Self::Mixed => "mixed",
        }
    }

    /// The answer of that name, as the log writes it.
    fn named(name: &str) -> Option<Self> {
        [Self::Hit, Self::Miss, Self::Bypass].into_iter().find(|state| state.name() == name)
    }

    fn with(before: Option<Self>, now: Self) -> Self {
        match before {
            Some(before) if before != now => Self::Mixed,
            _ => now,
        }
    }
}

/// Seconds by phase, each with all that it calls; `None` where the log does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phases {
    /// The whole compile of the frame.
    pub frame_s: Option<f64>,
    /// The backend.
    pub backend_s: Option<f64>,
    /// Inductor.
    pub inductor_s: Option<f64>,
    /// Code generation.
    pub code_gen_s: Option<f64>,
    /// Compiles of its backward graph, together.
    pub backward_s: Option<f64>,
}

/// Why a compile was started over or given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which of both.
    pub kind: FailureKind,
    /// Class of the error; none for a restart, and where the log does not say.
    pub error: Option<String>,
    /// The message; empty where the log has none.
    pub reason: String,
    /// File and line of the user's code, as far as the log says.
    pub place: Option<(String, Option<i64>)>,
    /// The record that says so.
    pub record: usize,
}

/// Started over or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Dynamo started its analysis over.
    Restart,
    /// The compile ended with an error.
    Failure,
}

/// One compile: all records of (generation, compile id without attempt).
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of `frames`, and they are independent")]
pub struct Compile {
    /// How often ids had started again.
    pub generation: u32,
    /// The id, without attempt.
    pub id: CompileId,
    /// Its first record.
    pub first: usize,
    /// Its `dynamo_start`.
    pub start: Option<usize>,
    /// Its `compilation_metrics` records.
    pub metrics: Vec<usize>,
    /// Its backward metrics.
    pub backward: Vec<usize>,
    /// Highest attempt seen.
    pub last_attempt: i64,
    /// How it ended.
    pub status: Status,
    /// Whether a graph break was logged; `None` where such logs do not tell.
    pub has_graph_break: Option<bool>,
    /// Whether the frame was left to run as it is, without an error.
    pub skipped: bool,
    /// Whether it was refused because the frame had been compiled too often.
    pub limit_hit: bool,
    /// Whether the log ends before it did.
    pub unfinished: bool,
    /// Function name.
    pub name: Option<String>,
    /// File of the code.
    pub file: Option<String>,
    /// Line of the code.
    pub line: Option<i64>,
    /// Stack at its start, outermost first, the compiled frame last.
    pub stack: Vec<Frame>,
    /// When it began, microseconds since 1970.
    pub start_us: Option<i64>,
    /// Seconds by phase.
    pub phases: Phases,
    /// Operations of the graph.
    pub ops: Option<i64>,
    /// Nodes of the graph.
    pub nodes: Option<i64>,
    /// Inputs of the graph.
    pub inputs: Option<i64>,
    /// Guards.
    pub guards: Option<i64>,
    /// Restarts and failures, in order.
    pub failures: Vec<Failure>,
    /// First guard that failed, where this is a recompile.
    pub recompile_reason: Option<String>,
    /// Why CUDA graphs were not used, where the metrics say so.
    pub cudagraph_skip: Option<String>,
    /// FX graph cache.
    pub fx_cache: Option<CacheState>,
    /// AOTAutograd cache.
    pub aot_cache: Option<CacheState>,
    /// Stored payloads, timing events not counted.
    pub artifacts: u32,
    /// Their bytes.
    pub artifact_bytes: u64,
    /// Whether the log holds a program that runs its graph alone.
    pub has_reproducer: bool,
    breaks: Vec<usize>,
    reasons: Option<usize>,
    graphs: Vec<usize>,
    guard_texts: Vec<usize>,
    hashes: Vec<(usize, bool)>,
    errors: Vec<usize>,
    ended: bool,
}

/// The compiles of a log, in order of their first record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiles {
    list: Vec<Compile>,
    by_key: FxHashMap<(u32, CompileId), usize>,
    newest: FxHashMap<CompileId, usize>,
}

impl std::ops::Deref for Compiles {
    type Target = [Compile];

    fn deref(&self) -> &[Compile] {
        &self.list
    }
}

impl Compiles {
    /// The compile of a generation; `id` with or without attempt.
    pub(crate) fn get(&self, generation: u32, id: CompileId) -> Option<&Compile> {
        self.list.get(*self.by_key.get(&(generation, id.without_attempt()))?)
    }

    /// The compile of the latest generation that has this id.
    pub(crate) fn newest(&self, id: CompileId) -> Option<&Compile> {
        self.list.get(*self.newest.get(&id.without_attempt())?)
    }

    /// The compile of this number.
    pub(crate) fn get_at(&self, number: usize) -> Option<&Compile> {
        self.list.get(number)
    }

    pub(super) fn into_list(self) -> Vec<Compile> {
        self.list
    }
}

/// Finds the compiles of a log and what became of them. `bytes` are the log's.
pub(crate) fn compiles(trace: &Trace, log: &Log, bytes: &[u8], metrics: &MetricRecords<'_>) -> Compiles {
    let mut compiles = gather(log);
    // Releases before 2.6 logged no graph breaks of their own.
    let tells_breaks = log.index.names.names.iter().any(|n| n == "torch_version" || n == "dynamo_graph_break_reason");
    compiles.list.par_iter_mut().for_each(|compile| fill(compile, (trace, log), (bytes, metrics), tells_breaks));
    compiles
}

/// One pass over the records: which belong to which compile.
fn gather(log: &Log) -> Compiles {
    let names = &log.index.names;
    let ids: Vec<CompileId> = names.ids.iter().map(|id| id.without_attempt()).collect();
    let mut compiles = Compiles::default();
    for (at, record) in log.index.records.iter().enumerate() {
        let Some(id) = ids.get(record.id as usize).copied().filter(|id| id.frame_compile_id.is_some()) else {
            continue;
        };
        let Compiles { list, by_key, newest } = &mut compiles;
        let index = *by_key.entry((record.generation, id)).or_insert_with(|| {
            newest.insert(id, list.len());
            list.push(Compile::new(record, id, at));
            list.len() - 1
        });
        if let Some(compile) = list.get_mut(index) {
            compile.take(log, record, at);
        }
    }
    compiles
}

impl Compile {
    fn new(record: &Record, id: CompileId, first: usize) -> Self {
        Self {
            generation: record.generation,
            id,
            first,
            start: None,
            metrics: Vec::new(),
            backward: Vec::new(),
            last_attempt: 0,
            status: Status::Missing,
            has_graph_break: None,
            skipped: false,
            limit_hit: false,
            unfinished: false,
            name: None,
            file: None,
            line: None,
            stack: Vec::new(),
            start_us: record.time_us(),
            phases: Phases::default(),
            ops: None,
            nodes: None,
            inputs: None,
            guards: None,
            failures: Vec::new(),
            recompile_reason: None,
            cudagraph_skip: None,
            fx_cache: None,
            aot_cache: None,
            artifacts: 0,
            artifact_bytes: 0,
            has_reproducer: false,
            breaks: Vec::new(),
            reasons: None,
            graphs: Vec::new(),
            guard_texts: Vec::new(),
            hashes: Vec::new(),
            errors: Vec::new(),
            ended: false,
        }
    }

    fn take(&mut self, log: &Log, record: &Record, at: usize) {
        let attempt = log.index.names.id(record).attempt.unwrap_or(0);
        self.last_attempt = self.last_attempt.max(attempt);
        self.ended |= record.mark == Mark::End;
        if record.has_payload() && !record.kind.is(Kind::ChromiumEvent) {
            self.artifacts += 1;
            self.artifact_bytes += record.text_len;
        }
        match record.kind {
            KindId::Known(Kind::DynamoStart) => {
                self.start.get_or_insert(at);
            }
            KindId::Known(
                Kind::DynamoOutputGraph | Kind::AotForwardGraph | Kind::AotBackwardGraph | Kind::AotInferenceGraph,
            ) => self.graphs.push(at),
            KindId::Known(Kind::DynamoCppGuardsStr) => self.guard_texts.push(at),
            KindId::Known(Kind::CompilationMetrics) => self.metrics.push(at),
            KindId::Known(Kind::BwdCompilationMetrics | Kind::AotBwdCompilationMetrics) => self.backward.push(at),
            KindId::Known(Kind::Artifact) => self.artifact(log.index.names.name(record).unwrap_or_default(), at),
            _ => {}
        }
    }

    fn artifact(&mut self, name: &str, at: usize) {
        let state = name.rsplit_once("_cache_").and_then(|(_, state)| CacheState::named(state));
        match (name, state) {
            ("dynamo_graph_break_reason", _) => self.breaks.push(at),
            ("recompile_reasons", _) => self.reasons = Some(at),
            // Early releases had one name for all answers.
            ("fx_graph_cache_hash" | "aotautograd_cache_hash", _) => self.hashes.push((at, name.starts_with("fx"))),
            ("fx_graph_runnable", _) => self.has_reproducer = true,
            ("dynamo_error" | "eager_compile_backwards_failure", _) => self.errors.push(at),
            ("fx_graph_cache_hit" | "fx_graph_cache_miss" | "fx_graph_cache_bypass", Some(state)) => {
                self.fx_cache = Some(CacheState::with(self.fx_cache, state));
            }
            ("aotautograd_cache_hit" | "aotautograd_cache_miss" | "aotautograd_cache_bypass", Some(state)) => {
                self.aot_cache = Some(CacheState::with(self.aot_cache, state));
            }
            _ => {}
        }
    }
}

/// Reads the metadata and payloads that say how the compile went.
fn fill(
    compile: &mut Compile,
    (trace, log): (&Trace, &Log),
    (bytes, metrics): (&[u8], &MetricRecords<'_>),
    tells_breaks: bool,
) {
    let record = |at: usize| log.index.records.get(at);
    if let Some(start) = compile.start.and_then(record) {
        let meta = log.index.metadata(start, bytes);
        compile.stack = json::member(meta, b"stack").map(parse_stack).unwrap_or_default();
        if let Some(frame) = compile.stack.last() {
            compile.name.clone_from(&frame.name);
            compile.line = frame.line;
            compile.file = frame.filename.and_then(|id| trace.string(log, id, start.offset)).map(str::to_owned);
        }
    }
    let all: Vec<(usize, Fields<'_>)> = compile.metrics.iter().map(|&at| (at, metrics.fields(at))).collect();
    let broke = |&at: &usize| {
        let text = log.index.payload(record(at)?, bytes).text();
        // The rest of the text is long, and of no use here.
        let said = graph_break::parse(&String::from_utf8_lossy(&text));
        Some((said.reason, said.place))
    };
    let breaks: Vec<BreakPlace> = compile.breaks.iter().filter_map(broke).collect();
    for (at, fields) in &all {
        take_metrics(compile, *at, fields, &breaks);
    }
    for at in compile.backward.clone() {
        let fields = metrics.fields(at);
        let took = fields.float("duration_us").map(|us| us / 1e6).or_else(|| fields.float("inductor_compile_time_s"));
        compile.phases.backward_s = sum(compile.phases.backward_s, took);
        compile.cudagraph_skip = compile.cudagraph_skip.take().or(fields.text("cudagraph_skip_reason"));
    }
    if compile.recompile_reason.is_none()
        && let Some(reasons) = compile.reasons.and_then(record)
    {
        compile.recompile_reason =
            recompile_reason::texts(&log.index.payload(reasons, bytes).text()).into_iter().next();
    }
    for (at, is_fx) in compile.hashes.clone() {
        let Some(record) = record(at) else { continue };
        let payload = log.index.payload(record, bytes).text();
        let state = json::member(&payload, b"cache_state").and_then(json::unescape);
        let Some(state) = state.and_then(|state| CacheState::named(&state)) else { continue };
        let cache = if is_fx { &mut compile.fx_cache } else { &mut compile.aot_cache };
        *cache = Some(CacheState::with(*cache, state));
    }
    outcome(compile, &all, tells_breaks);
}

/// Reason and place of a graph break, as its artifact says.
type BreakPlace = (String, Option<CodePlace>);

fn take_metrics(compile: &mut Compile, at: usize, fields: &Fields<'_>, breaks: &[BreakPlace]) {
    compile.name = fields.text("co_name").or(compile.name.take());
    compile.file = fields.text("co_filename").or(compile.file.take());
    compile.line = fields.int("co_firstlineno").or(compile.line);
    let phases = &mut compile.phases;
    phases.frame_s = sum(phases.frame_s, fields.float("entire_frame_compile_time_s"));
    phases.backend_s = sum(phases.backend_s, fields.float("backend_compile_time_s"));
    phases.inductor_s = sum(phases.inductor_s, fields.float("inductor_compile_time_s"));
    phases.code_gen_s = sum(phases.code_gen_s, fields.float("code_gen_time_s"));
    compile.ops = fields.int("graph_op_count").or(compile.ops);
    compile.nodes = fields.int("graph_node_count").or(compile.nodes);
    compile.inputs = fields.int("graph_input_count").or(compile.inputs);
    compile.guards = fields.int("guard_count").or(compile.guards);
    compile.recompile_reason = fields.text("recompile_reason").or(compile.recompile_reason.take());
    compile.cudagraph_skip = fields.text("cudagraph_skip_reason").or(compile.cudagraph_skip.take());
    if let Some(start) = fields.int("start_time_us") {
        compile.start_us = Some(start);
    }
    for reason in fields.texts("restart_reasons").unwrap_or_default() {
        let kind = FailureKind::Restart;
        let place = breaks.iter().find(|(broke, _)| !broke.is_empty() && reason.starts_with(broke));
        let place = place.and_then(|(_, place)| place.as_ref()).map(|place| (place.file.clone(), place.line));
        compile.failures.push(Failure { kind, error: None, reason, place, record: at });
    }
    // PyTorch writes both or none. Either of them says that it failed, whatever became of the other.
    let (error, reason) = (fields.shown("fail_type"), fields.shown("fail_reason").unwrap_or_default());
    if error.is_some() || !reason.is_empty() {
        let file = fields.text("fail_user_frame_filename");
        compile.failures.push(Failure {
            kind: FailureKind::Failure,
            error,
            reason,
            place: file.map(|file| (file, fields.int("fail_user_frame_lineno"))),
            record: at,
        });
    }
}

fn outcome(compile: &mut Compile, all: &[(usize, Fields<'_>)], tells_breaks: bool) {
    let any = |test: &dyn Fn(&Fields<'_>) -> bool| all.iter().any(|(_, fields)| test(fields));
    let restarted = compile.failures.iter().any(|f| f.kind == FailureKind::Restart);
    let broke = !compile.breaks.is_empty();
    compile.has_graph_break = if broke || tells_breaks || !restarted { Some(broke) } else { None };
    let failed = compile.failures.iter().any(|f| f.kind == FailureKind::Failure);
    compile.status = if all.is_empty() {
        Status::Missing
    } else if failed {
        Status::Error
    } else if any(&has_no_ops) {
        Status::Empty
    } else if restarted || broke {
        Status::Break
    } else {
        Status::Ok
    };
    compile.skipped = compile.start.is_some()
        && !failed
        && any(&|f| f.get("graph_op_count").is_none() && f.get("guard_count").is_none());
    // A refused recompile has reasons and an error, but never began.
    compile.limit_hit = compile.start.is_none()
        && compile.reasons.is_some()
        && any(&|f| {
            f.get("co_name").is_none()
                && f.text("fail_type")
                    .is_some_and(|t| t.ends_with("Unsupported") || t.ends_with("FailOnRecompileLimitHit"))
        });
    // Where the metrics are lost, the traceback still tells that it ended.
    let failed = !compile.errors.is_empty();
    compile.unfinished = compile.start.is_some() && all.is_empty() && !compile.ended && !failed;
}

/// Whether metrics tell of a graph with nothing in it, or of none. A count of another type tells neither.
fn has_no_ops(fields: &Fields<'_>) -> bool {
    fields.get("graph_op_count").is_none() || fields.int("graph_op_count") == Some(0)
}

/// Code that is compiled: function, file, first line.
pub(crate) type CodeRef<'a> = (Option<&'a str>, Option<&'a str>, Option<i64>);

impl Compile {
    /// What was compiled.
    pub fn code(&self) -> CodeRef<'_> {
        (self.name.as_deref(), self.file.as_deref(), self.line)
    }

    /// The same, as texts of its own.
    pub(crate) fn code_owned(&self) -> (Option<String>, Option<String>, Option<i64>) {
        (self.name.clone(), self.file.clone(), self.line)
    }

    /// Records of its `dynamo_graph_break_reason` artifacts.
    pub fn graph_breaks(&self) -> &[usize] {
        &self.breaks
    }

    /// Records of its guards, a successful build each.
    pub fn guard_texts(&self) -> &[usize] {
        &self.guard_texts
    }

    /// Records of the tracebacks of what failed.
    pub fn errors(&self) -> &[usize] {
        &self.errors
    }

    /// The record of its `recompile_reasons` artifact.
    pub fn reasons(&self) -> Option<usize> {
        self.reasons
    }

    /// Records of its graphs: Dynamo's and those that AOTAutograd made of them, of all tries.
    pub fn graphs(&self) -> &[usize] {
        &self.graphs
    }

    /// Whether the log shows that it was compiled, or refused: metrics of what only ran are no sign of it.
    pub fn was_compiled(&self) -> bool {
        self.start.is_some() || !self.metrics.is_empty() || !self.graphs.is_empty() || self.reasons.is_some()
    }

    /// Whether the frame had been compiled before.
    pub fn is_recompile(&self) -> bool {
        self.id.frame_compile_id.is_some_and(|n| n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_another_type_is_no_empty_graph() {
        for (members, empty) in [
            (r#"{"graph_op_count": 0}"#, true),
            (r#"{"graph_op_count": null}"#, true),
            ("{}", true),
            (r#"{"graph_op_count": 5.0}"#, false),
            (r#"{"graph_op_count": "5"}"#, false),
            (r#"{"graph_op_count": NaN}"#, false),
        ] {
            assert_eq!(has_no_ops(&crate::tables::metrics_fields(members.as_bytes())), empty, "{members}");
        }
    }
}
