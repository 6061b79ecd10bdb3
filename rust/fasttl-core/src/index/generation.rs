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
    begun: FxHashMap<CompileId, Begun>,
}

/// Fills in `generation` of all records.
pub(super) fn assign(index: &mut Index) {
    let ids: Vec<CompileId> = index.names.ids.iter().map(|id| id.without_attempt()).collect();
    // A later try of the same compile is no new one.
    let first_try: Vec<bool> = index.names.ids.iter().map(|id| id.attempt.unwrap_or(0) == 0).collect();
    // A record that tells no rank is one of the log's own.
    let own = index.records.iter().find_map(|r| r.rank);
    let mut ranks: FxHashMap<Option<i32>, Counters> = FxHashMap::default();
    let mut free = 0;
    for record in &mut index.records {
        let Counters { generation, begun } = ranks.entry(record.rank.or(own)).or_insert_with(|| {
            free += 1;
            Counters { generation: free - 1, ..Counters::default() }
        });
        let Some(id) = ids.get(record.id as usize).copied().filter(|id| id.frame_compile_id.is_some()) else {
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
