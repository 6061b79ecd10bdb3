//! Caches that were cold, or bypassed.

use super::gathered::{CacheKey, Group};
use super::words::{count, on_ranks, seconds};
use super::{Evidence, Finding, FindingKind, Seen, Severity};

pub(super) const KIND: FindingKind =
    FindingKind { name: "caches", about: "A cache of the compiler was cold, or was bypassed.", find };

fn find(Seen { gathered, .. }: &Seen<'_>) -> Vec<Finding> {
    let all = || gathered.caches.iter();
    let hits = |layer: &str| {
        let hit = |group: &&Group<CacheKey>| group.key.0 == layer && group.key.1 == "hit";
        all().filter(hit).map(|group| group.count).sum::<u64>()
    };
    all().filter_map(|group| finding(group, hits(group.key.0))).collect()
}

fn finding(group: &Group<CacheKey>, hits: u64) -> Option<Finding> {
    let (layer, state, reason) = &group.key;
    let name = match *layer {
        "fx_graph" => "FX graph cache",
        "aotautograd" => "AOTAutograd cache",
        "precompile" => "precompile cache",
        "dynamo" => "Dynamo cache",
        other => other,
    };
    let on = on_ranks(&group.spread.ranks);
    let (severity, mut sentence, advice) = match state.as_str() {
        "bypass" => {
            let reason =
                reason.as_deref().map(|reason| format!(": {}", reason.trim_end_matches('.'))).unwrap_or_default();
            (
                Severity::Warning,
                format!("The {name} was bypassed {}{on}{reason}.", super::words::times(group.count)),
                "Give the reason in the log to whoever wrote the part that it names: a custom pass, for instance, is \
                 cached only where it has a uuid.",
            )
        }
        "miss" if hits == 0 => (
            Severity::Info,
            format!(
                "The {name} was cold: {} and no hit{on}.",
                count(group.count, "look-up").replace("look-up", "missed look-up")
            ),
            "A second run with the same cache folder (TORCHINDUCTOR_CACHE_DIR) finds the code there; a remote cache \
             shares it between machines. Where this was such a second run, compare the keys: fasttl diff.",
        ),
        "miss" => (
            Severity::Info,
            format!("The {name} missed {} of {} look-ups{on}.", group.count, group.count + hits),
            "Whoever compiles a graph first fills the cache for the others, so that some misses are normal. Where the same \
             program had run with this cache before, something in the keys differs from run to run.",
        ),
        _ => return None,
    };
    if let Some(cost) = group.cost_s.filter(|cost| *cost > 0.0) {
        sentence += &format!(" Inductor took {} for these compiles.", seconds(cost));
    }
    Some(Finding {
        kind: KIND.name,
        severity,
        cost_s: group.cost_s,
        sentence,
        advice: advice.to_owned(),
        spread: group.spread.clone(),
        evidence: Evidence { table: "cache", rows: group.evidence.clone() },
    })
}
