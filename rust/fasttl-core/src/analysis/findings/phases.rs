//! Where the compile time goes, where there is enough of it to care.

use super::words::{code, percent, seconds};
use super::{Evidence, Finding, FindingKind, Seen, Severity};
use crate::analysis::causes::Spread;

pub(super) const KIND: FindingKind = FindingKind {
    name: "slow phases",
    about: "Which phase, and which compiles, most of the compile time went to.",
    find,
};

/// Less compile time than this, over all ranks, needs no look.
const ENOUGH_S: f64 = 5.0;
const NO_PHASE: &str = "No phase stands out. Compile less: a repeated block once, and fewer variants of each function; \
    warm the caches.";

/// A phase with this share of the time is named.
const SHARE: f64 = 0.5;

fn find(seen: &Seen<'_>) -> Vec<Finding> {
    let gathered = seen.gathered;
    let phases = gathered.phases;
    if phases.total < ENOUGH_S {
        return Vec::new();
    }
    let named = [
        (
            phases.dynamo,
            "Dynamo (tracing Python)",
            "Compile less: regions that repeat once (torch.compile on the repeated block), and break the graph on purpose around what is large and changes.",
        ),
        (
            phases.aot,
            "the backend without Inductor (AOTAutograd, mostly)",
            "Compile smaller regions, or a repeated block once; warm the AOTAutograd cache.",
        ),
        (
            phases.inductor,
            "Inductor before code generation (lowering, fusing, scheduling)",
            "Compile a repeated block once; a warm FX graph cache skips this phase.",
        ),
        (
            phases.code_gen,
            "Inductor's code generation (with the compilers that it calls)",
            "A warm FX graph cache skips this phase; more compile threads (TORCHINDUCTOR_COMPILE_THREADS) help where many kernels are built; max-autotune tries many variants of each.",
        ),
        (
            phases.backward,
            "compiling backward graphs",
            "The backward is compiled at its first call; the same means as for the forward help.",
        ),
    ];
    let slowest = gathered.slowest.first();
    let Some((took, phase, advice)) = named.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { return Vec::new() };
    let mut spread = Spread::default();
    for slow in &gathered.slowest {
        spread.merge(slow.spread.clone());
    }
    let several = gathered.logs.files.len() > 1;
    spread.ranks.clone_from(&gathered.logs.ranks);
    spread.files.clone_from(&gathered.logs.files);
    let mut sentence =
        format!("{} of compile time{}", seconds(phases.total), if several { " over all logs" } else { "" });
    let stands_out = took >= SHARE * phases.total;
    if stands_out {
        sentence += &format!(", {} of it in {phase}", percent(took, phases.total));
    }
    sentence.push('.');
    if let Some(slow) = slowest {
        let (name, file, line) = &slow.code;
        let id = slow.spread.compile_ids.first().map(|id| format!(", compile id {id}")).unwrap_or_default();
        sentence += &format!(
            " The slowest compile is that of {}{id}: {}.",
            code(name.as_deref(), file.as_deref(), *line),
            seconds(slow.seconds)
        );
    }
    vec![Finding {
        kind: KIND.name,
        severity: Severity::Info,
        cost_s: Some(phases.total),
        sentence,
        advice: if stands_out { advice } else { NO_PHASE }.to_owned(),
        spread,
        evidence: Evidence { table: "metrics", rows: gathered.slowest.iter().map(|slow| slow.evidence).collect() },
    }]
}
