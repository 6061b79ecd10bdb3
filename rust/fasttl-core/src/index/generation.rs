//! Compile ids that start again: `torch._dynamo.reset()` sets the counters of a process to zero.
//!
//! A compile begins with the begin of its `dynamo` span, or, in logs without timing events, with
//! `dynamo_start`. When an id begins that had begun before, a new generation starts for the file. A record
//! that comes later under an id of an older generation (a backward compile) stays with the generation in
//! which its id began last.
//!
//! Ranks that share a log count apart: each generation belongs to one rank, so that compiles of two ranks are
//! never taken for one.

use rustc_hash::FxHashMap;

use super::{Index, KindId, Mark};
use crate::format::compile_id::CompileId;
use crate::format::kind::Kind;

#[derive(Clone, Copy, Default)]
struct Begun {
    generation: u32,
    span: bool,
    start: bool,
}

/// What is known of one rank of the log.
#[derive(Default)]
struct Counters {
    generation: u32,
    /// By the number of the id without attempt.
    begun: FxHashMap<u32, Begun>,
}

/// Fills in `generation` of all records.
pub(super) fn assign(index: &mut Index) {
    let ids = without_attempt(&index.names.ids);
    // A later try of the same compile is no new one.
    let first_try: Vec<bool> = index.names.ids.iter().map(|id| id.attempt.unwrap_or(0) == 0).collect();
    // A record that tells no rank is one of the log's own.
    let own = index.records.iter().find_map(|r| r.rank);
    let mut ranks: FxHashMap<Option<i32>, usize> = FxHashMap::default();
    let mut counters: Vec<Counters> = Vec::new();
    let mut free = 0;
    // Mostly all records are of one rank.
    let mut latest = (None, usize::MAX);
    for record in &mut index.records {
        let rank = record.rank.or(own);
        if latest.1 == usize::MAX || latest.0 != rank {
            latest = (rank, *ranks.entry(rank).or_insert(counters.len()));
        }
        if latest.1 == counters.len() {
            counters.push(Counters { generation: free, ..Counters::default() });
            free += 1;
        }
        let Some(Counters { generation, begun }) = counters.get_mut(latest.1) else { continue };
        let Some(id) = ids.get(record.id as usize).copied().flatten() else {
            record.generation = *generation;
            continue;
        };
        let span = record.mark == Mark::Begin;
        let start = record.kind == KindId::Known(Kind::DynamoStart)
            && first_try.get(record.id as usize).copied().unwrap_or(true);
        let known = begun.get(&id).copied();
        if span || start {
            let again = known
                .is_some_and(|b| b.generation == *generation && ((span && (b.span || b.start)) || (start && b.start)));
            if again {
                *generation = free;
                free += 1;
            }
            let generation = *generation;
            let before = known.filter(|b| b.generation == generation).unwrap_or_default();
            begun.insert(id, Begun { generation, span: before.span || span, start: before.start || start });
            record.generation = generation;
        } else {
            record.generation = known.map_or(*generation, |b| b.generation);
        }
    }
}

/// For each id the number of it without its attempt; none for those that no compile of a frame has.
fn without_attempt(ids: &[CompileId]) -> Vec<Option<u32>> {
    let mut numbers: FxHashMap<CompileId, u32> = FxHashMap::default();
    let number = |id: &CompileId| {
        id.frame_compile_id?;
        let next = u32::try_from(numbers.len()).ok()?;
        Some(*numbers.entry(id.without_attempt()).or_insert(next))
    };
    ids.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use crate::index::{IndexOptions, index};
    use crate::job::Job;

    #[test]
    fn each_generation_is_of_one_rank() {
        let head = |kind: &str, rank: &str| {
            let ids = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0";
            format!("V1129 23:59:59.000001 1 x.py:1] {{\"{kind}\": {{}}{rank}, {ids}}}\n")
        };
        let (none, zero, one) = ("", ", \"rank\": 0", ", \"rank\": 1");
        let log = [
            head("dynamo_start", zero),
            head("dynamo_start", one),
            head("compilation_metrics", zero),
            head("compilation_metrics", one),
            head("dynamo_start", zero),
            head("compilation_metrics", one),
            head("dynamo_start", one),
            head("compilation_metrics", none),
        ];
        let index = index(log.concat().as_bytes(), 0, IndexOptions::default(), &Job::default()).unwrap();
        let generations: Vec<u32> = index.records.iter().map(|r| r.generation).collect();
        assert_eq!(generations, [0, 1, 0, 1, 2, 1, 3, 2]);
    }
}
