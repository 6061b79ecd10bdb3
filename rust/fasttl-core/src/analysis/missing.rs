//! What a compile could have logged and did not, with the likely reason; table `missing`.
//!
//! That a record is not there proves little: an emitter may fail. So each row says only what else in the log makes it
//! likely, and where nothing does, that the log does not tell.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::compiles::{CacheState, Compile, Failure, FailureKind};
use super::frames::compile_key;
use super::of_logs::{OfLog, of_logs};
use super::versions::versions;
use crate::error::Result;
use crate::format::compile_id::CompileId;
use crate::format::kind::Kind;
use crate::index::KindId;
use crate::tables::{Table, TableBuilder, TableDef};
use crate::trace::{Log, LogState, Trace};

pub(super) const MISSING: TableDef =
    TableDef { name: "missing", about: "something that a compile could have logged and did not", build };

/// What is known of a compile when its records are looked for.
struct Known<'a> {
    compile: &'a Compile,
    names: &'a FxHashSet<&'a str>,
    log: &'a Log,
    /// Whether the log is about exports.
    exports: bool,
}

impl Known<'_> {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    fn failed(&self) -> bool {
        self.compile.failures.iter().any(|failure| failure.kind == FailureKind::Failure)
    }

    /// Why a compile that did not come to its end lacks what comes late.
    fn end(&self) -> Option<&'static str> {
        let compile = self.compile;
        if compile.limit_hit {
            Some("the call was refused at the recompile limit, so that nothing was compiled")
        } else if compile.unfinished && self.log.state == LogState::Truncated {
            Some("the log is cut before the compile had ended")
        } else if compile.unfinished {
            Some("the log ends before the compile did")
        } else if self.failed() {
            Some("the compile failed before")
        } else if compile.skipped {
            Some("the frame was skipped: it runs as it is")
        } else if self.exports && compile.metrics.is_empty() {
            Some("it was compiled for export: that ends with the graph, and its metrics are logged without an id")
        } else {
            None
        }
    }

    /// Whether its message has the reasons, since recompiles were declared to be errors.
    fn is_forbidden(&self) -> bool {
        let error = |failure: &Failure| failure.error.as_deref().is_some_and(|error| error.ends_with("RecompileError"));
        self.compile.failures.iter().any(error)
    }

    fn has_aot_graph(&self) -> bool {
        self.has_any(&AOT_GRAPHS)
    }

    fn is_inductor(&self) -> bool {
        self.has_any(&[
            "inductor_output_code",
            "fx_graph_runnable",
            "inductor_post_grad_graph",
            "before_post_grad_graph",
        ])
    }
}

const AOT_GRAPHS: [&str; 4] = ["aot_inference_graph", "aot_forward_graph", "aot_joint_graph", "aot_backward_graph"];

const UNKNOWN: &str = "the log does not tell";

/// What could be there: its name, the first PyTorch 2.x that writes it, and the likely reason why it is not; `None` where
/// it is not to be expected.
type Rule = (&'static str, u32, fn(&Known<'_>) -> Option<&'static str>);

/// The release that a log is taken for which does not name one, as releases up to 2.9 do not: nothing is called missing
/// that it may not write.
const OLDEST: u32 = 6;

const RULES: &[Rule] = &[
    ("dynamo_start", 3, |known| {
        Some(
            known
                .end()
                .filter(|_| known.compile.limit_hit)
                .unwrap_or("the record was lost, or it was compiled for export"),
        )
    }),
    ("recompile_reasons", 5, |known| {
        // Where the earlier compiles failed there is no entry that could turn a call away.
        (known.compile.is_recompile() && !known.is_forbidden()).then_some(
            "no earlier entry was there to turn the call away: earlier compiles of the frame failed, or were dropped",
        )
    }),
    ("dynamo_output_graph", 3, |known| {
        Some(known.end().unwrap_or(match known.compile.ops {
            Some(0) => "there is nothing to run: the graph is empty",
            _ => UNKNOWN,
        }))
    }),
    ("dynamo_cpp_guards_str", 4, |known| Some(known.end().unwrap_or(UNKNOWN))),
    ("compilation_metrics", 4, |known| {
        Some(known.end().unwrap_or("code that is loaded from a package or a precompile cache has none"))
    }),
    ("aot graphs", 3, |known| {
        let reason = known.end().unwrap_or("the backend does not use AOTAutograd (such as eager)");
        (known.has("dynamo_output_graph") && !known.has_aot_graph()).then_some(reason)
    }),
    ("inductor_output_code", 3, |known| {
        let reason = known.end().unwrap_or("the backend does not use Inductor (such as aot_eager)");
        known.has_aot_graph().then_some(reason)
    }),
    ("before_pre_grad_graph", 8, |known| {
        from_cache(known, known.compile.aot_cache, "the result came from the AOTAutograd cache")
    }),
    ("torch._functorch.config", 7, |known| {
        from_cache(known, known.compile.aot_cache, "the result came from the AOTAutograd cache")
    }),
    ("before_post_grad_graph", 8, |known| {
        from_cache(known, known.compile.fx_cache, "the code came from the FX graph cache")
    }),
    ("inductor_collective_schedule", 9, |known| {
        let from_cache = known.compile.fx_cache == Some(CacheState::Hit);
        let reason = if from_cache {
            "the code came from the FX graph cache, which keeps no schedule"
        } else {
            "the graph has no collective"
        };
        known.is_inductor().then(|| known.end().unwrap_or(reason))
    }),
    ("inductor_runtime_and_tensor_meta", 9, |known| {
        let from_cache = known.compile.fx_cache == Some(CacheState::Hit);
        let reason =
            if from_cache { "the code came from the FX graph cache" } else { "it is logged with LOG_TLPARSE=1 only" };
        known.is_inductor().then(|| known.end().unwrap_or(reason))
    }),
    ("inductor_provenance_tracking_node_mappings", 9, |known| {
        known
            .is_inductor()
            .then(|| known.end().unwrap_or("it is logged with INDUCTOR_PROVENANCE=1 or TORCH_COMPILE_DEBUG=1 only"))
    }),
    ("bwd_compilation_metrics", 6, |known| {
        known.has("aot_backward_graph").then_some(
            "the backward was compiled together with the forward, came from a cache, or was not called while the log was written",
        )
    }),
];

fn from_cache(known: &Known<'_>, state: Option<CacheState>, reason: &'static str) -> Option<&'static str> {
    known.is_inductor().then_some(if state == Some(CacheState::Hit) { reason } else { known.end().unwrap_or(UNKNOWN) })
}

struct MissingRow<'t> {
    file: u32,
    log: &'t Log,
    compile: &'t Compile,
    name: &'static str,
    reason: &'static str,
}

/// The names under which each compile logged something: kinds, and names of artifacts.
fn present(log: &Log) -> FxHashMap<(u32, CompileId), FxHashSet<&str>> {
    let names = &log.index.names;
    let mut present: FxHashMap<(u32, CompileId), FxHashSet<&str>> = FxHashMap::default();
    for record in log.index.records.iter().filter(|record| !record.kind.is(Kind::ChromiumEvent)) {
        let id = names.id(record).without_attempt();
        if id.frame_compile_id.is_none() {
            continue;
        }
        let name = match record.kind {
            KindId::Known(Kind::Artifact | Kind::GraphDump) => names.name(record),
            kind => Some(names.kind(kind)),
        };
        present.entry((record.generation, id)).or_default().extend(name);
    }
    present
}

/// What each compile of a log lacks: its number, the name, the reason.
type Lacks = Vec<(usize, &'static str, &'static str)>;

fn lacks(OfLog { log, bytes, .. }: OfLog<'_>, compiles: &[Compile]) -> Lacks {
    let present = present(log);
    let none = FxHashSet::default();
    let exports = log.index.records.iter().any(|r| r.kind.is(Kind::Export) || r.kind.is(Kind::ExportedProgram));
    let release = release(versions(log, bytes).pytorch.as_deref()).unwrap_or(OLDEST);
    let mut lacks = Vec::new();
    // What only ran was compiled elsewhere.
    for (at, compile) in compiles.iter().enumerate().filter(|(_, compile)| compile.was_compiled()) {
        let names = present.get(&(compile.generation, compile.id)).unwrap_or(&none);
        let known = Known { compile, names, log, exports };
        let missing = RULES.iter().filter(|(name, since, _)| *since <= release && !known.has(name));
        lacks.extend(missing.filter_map(|(name, _, rule)| Some((at, *name, rule(&known)?))));
    }
    lacks
}

/// The `n` of a version `2.n…`.
fn release(version: Option<&str>) -> Option<u32> {
    let version = version?;
    let Some(rest) = version.strip_prefix("2.") else {
        return version.starts_with(|c: char| ('3'..='9').contains(&c)).then_some(u32::MAX);
    };
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn build(trace: &Trace) -> Result<Table> {
    let found = of_logs(trace, |of, compiles| (lacks(of, &compiles), compiles))?;
    let rows: Vec<MissingRow<'_>> = found
        .iter()
        .flat_map(|(file, log, (lacks, compiles))| {
            let row = move |&(at, name, reason): &(usize, &'static str, &'static str)| {
                Some(MissingRow { file: *file, log, compile: compiles.get_at(at)?, name, reason })
            };
            lacks.iter().filter_map(row)
        })
        .collect();
    compile_key(TableBuilder::new(&rows), |r| (r.file, r.log, r.compile))
        .name("name", "Kind of record or name of artifact that is not there.", |r| Some(Cow::Borrowed(r.name)))
        .name("reason", "The likely reason, from what else the log has.", |r| Some(Cow::Borrowed(r.reason)))
        .finish("missing")
}
