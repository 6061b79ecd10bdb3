//! Compile ids that start again: `torch._dynamo.reset()` sets the counters of a process to zero.
//!
//! A compile begins with the begin of its `dynamo` span, or, in logs without timing events, with
//! `dynamo_start`. When an id begins that had begun before, a new generation starts for the file. A record
//! that comes later under an id of an older generation (a backward compile) stays with the generation in
//! which its id began last.

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

/// Fills in `generation` of all records.
pub(super) fn assign(index: &mut Index) {
    let ids: Vec<CompileId> = index.names.ids.iter().map(|id| id.without_attempt()).collect();
    // A later try of the same compile is no new one.
    let first_try: Vec<bool> = index.names.ids.iter().map(|id| id.attempt.unwrap_or(0) == 0).collect();
    let mut begun: FxHashMap<CompileId, Begun> = FxHashMap::default();
    let mut generation = 0;
    for record in &mut index.records {
        let Some(id) = ids.get(record.id as usize).copied().filter(|id| id.frame_compile_id.is_some()) else {
            record.generation = generation;
            continue;
        };
        let span = record.mark == Mark::Begin;
        let start = record.kind == KindId::Known(Kind::DynamoStart)
            && first_try.get(record.id as usize).copied().unwrap_or(true);
        let known = begun.get(&id).copied();
        if span || start {
            let again = known
                .is_some_and(|b| b.generation == generation && ((span && (b.span || b.start)) || (start && b.start)));
            generation += u32::from(again);
            let before = known.filter(|b| b.generation == generation).unwrap_or_default();
            begun.insert(id, Begun { generation, span: before.span || span, start: before.start || start });
            record.generation = generation;
        } else {
            record.generation = known.map_or(generation, |b| b.generation);
        }
    }
}
