//! Table `ranks`: how each rank of a job stands, those without a log included.

use std::borrow::Cow;

use super::standing::{Last, Standing};
use super::tally::Tally;
use crate::error::Result;
use crate::tables::{Table, TableBuilder};

/// The table.
pub(super) fn table(standings: &[Standing]) -> Result<Table> {
    let builder = TableBuilder::new(standings)
        .i32("rank", "The rank.", |r| Some(r.rank))
        .u32("file", "Log of its newest start: row of `files`; null for a rank without one.", |r| {
            r.log.and_then(|at| u32::try_from(at).ok())
        })
        .name("state", "compared, left out (it has a log that cannot be compared), or missing (it has none).", |r| {
            Some(Cow::Borrowed(r.state.name()))
        })
        .text("why", "Why it is not compared.", |r| r.why.as_deref().map(Cow::Borrowed))
        .u32(
            "group",
            "Ranks of one number differ from each other nowhere in `divergence`; 0 is the largest such group. Null for \
             what is not compared.",
            |r| r.group,
        )
        .name("log_state", "Whether its log is whole; see `files.state`.", |r| {
            r.log_state.map(|state| Cow::Borrowed(state.name()))
        });
    times(counts(builder))
        .name(
            "last_compile_id",
            "The compile that it worked on last: open steps first, then compiles without an end.",
            |r| last(r)?.key.map(|(_, id)| Cow::Owned(id.to_string())),
        )
        .name(
            "last_step",
            "The innermost step that is open, else the kind or name of the last record that is no timing event.",
            |r| last(r).map(|last| Cow::Borrowed(last.step.as_str())),
        )
        .name("last_state", "open (it has no end in the log), failed, done, or idle (nothing was compiled).", |r| {
            last(r).map(|last| Cow::Borrowed(last.state.name()))
        })
        .finish("ranks")
}

fn last(standing: &Standing) -> Option<&Last> {
    standing.last.as_ref()
}

fn counts<'r>(builder: TableBuilder<'r, Standing>) -> TableBuilder<'r, Standing> {
    let count = |of: fn(&Tally) -> u32| move |r: &'r Standing| r.tally.as_ref().map(of);
    builder
        .u32("compiles", "Its compiles, refused ones included; null for what is not compared.", count(|t| t.compiles))
        .u32("recompiles", "Those of a frame that had been compiled before.", count(|t| t.recompiles))
        .u32("breaks", "Those whose graph broke.", count(|t| t.breaks))
        .u32("failures", "Those that failed.", count(|t| t.failures))
        .f64("compile_s", "Seconds that they took; null where the log has no times.", |r| r.compile_s)
        .u32("cache_hits", "Look-ups in caches of the compiler that found something.", count(|t| t.cache_hits))
        .u32("cache_misses", "Look-ups that did not.", count(|t| t.cache_misses))
}

fn times(builder: TableBuilder<'_, Standing>) -> TableBuilder<'_, Standing> {
    builder
        .time("first_time", "When its first record was logged.", |r| r.first_us)
        .time("last_time", "When its last was.", |r| r.last_us)
        .f64("behind_s", "Seconds from there to the last record of any rank that is compared.", |r| r.behind_s)
        .f64(
            "waiting_s",
            "Seconds in which it compiled nothing while others did: it ran, waited for them, or had ended.",
            |r| r.waiting_s,
        )
}
