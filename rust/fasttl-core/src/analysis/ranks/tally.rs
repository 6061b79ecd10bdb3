//! What a log is counted for: its compiles, what became of them, what the caches answered, and how many ranks the job has.

use super::timing::is_own;
use crate::analysis::cache::LookUp;
use crate::analysis::compiles::{Compiles, Status};
use crate::format::kind::Kind;
use crate::index::Record;
use crate::trace::Log;

/// Counts of one log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Compiles, those that were refused included.
    pub compiles: u32,
    /// Those of a frame that had been compiled before.
    pub recompiles: u32,
    /// Those whose graph broke.
    pub breaks: u32,
    /// Those that failed.
    pub failures: u32,
    /// Look-ups in caches that found something.
    pub cache_hits: u32,
    /// Look-ups that did not.
    pub cache_misses: u32,
    /// Ranks of the job, where the log says so.
    pub world_size: Option<u32>,
}

/// Counts. `bytes` are the log's; compiles and look-ups are those that were found in it.
pub(super) fn tally(log: &Log, bytes: &[u8], compiles: &Compiles, look_ups: &[LookUp]) -> Tally {
    let mut tally = Tally { world_size: world_size(log, bytes), ..Tally::default() };
    let own = |at: usize| log.index.records.get(at).is_some_and(|record| is_own(log, record));
    for compile in compiles.iter().filter(|compile| compile.was_compiled() && own(compile.first)) {
        tally.compiles += 1;
        tally.recompiles += u32::from(compile.is_recompile());
        tally.breaks += u32::from(compile.has_graph_break == Some(true));
        tally.failures += u32::from(compile.status == Status::Error);
    }
    for look_up in look_ups.iter().filter(|look_up| own(look_up.record)) {
        tally.cache_hits += u32::from(look_up.state == "hit");
        tally.cache_misses += u32::from(look_up.state == "miss");
    }
    tally
}

/// What the first line of an estimate of collectives says; of several the largest.
fn world_size(log: &Log, bytes: &[u8]) -> Option<u32> {
    let names = &log.index.names;
    if !names.names.iter().any(|name| name.starts_with("fx_collectives_")) {
        return None;
    }
    let tells = |record: &&Record| {
        record.kind.is(Kind::Artifact)
            && record.payload.is_readable()
            && is_own(log, record)
            && names.name(record).is_some_and(|name| name.starts_with("fx_collectives_"))
    };
    let of = |record: &Record| size_in(&log.index.payload(record, bytes).text());
    log.index.records.iter().filter(tells).filter_map(of).max()
}

fn size_in(text: &[u8]) -> Option<u32> {
    let line = text.split(|&byte| byte == b'\n').next()?;
    let number = std::str::from_utf8(line).ok()?.trim().strip_prefix("# World size:")?;
    number.trim().parse().ok().filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_world_size() {
        assert_eq!(size_in(b"# World size: 16\nNode,Est\n"), Some(16));
        assert_eq!(size_in(b"# World size: 16\r\n"), Some(16));
        for none in
            [&b""[..], b"# World size: \n", b"# World size: -1", b"# World size: 0", b"x\n# World size: 4", b"\xff"]
        {
            assert_eq!(size_in(none), None, "{none:?}");
        }
    }
}
