//! Questions that need more than one record: the life of a compile, its outcome, its failures.
//!
//! Results are tables too, made here once; pages, Python and the shell only arrange them. Nothing here
//! knows HTML.

mod align;
pub mod cache;
mod cache_others;
pub(crate) mod causes;
pub(crate) mod compiles;
pub mod diff;
mod events;
pub mod exec_order;
pub(crate) mod export;
pub(crate) mod expressions;
pub mod findings;
mod frames;
pub mod graphs;
mod guards;
mod lines;
mod missing;
mod noise;
mod of_logs;
pub mod parts;
mod phases;
mod places;
pub(crate) mod provenance;
pub mod ranks;
pub(crate) mod read_graphs;
pub mod runtimes;
pub mod schedules;
mod settings;
pub mod spans;
mod symbols;
mod tensors;
pub(crate) mod versions;

pub use compiles::{CacheState, Compile, Failure, FailureKind, Phases, Status};

use crate::error::{Error, ErrorKind, Result};
use crate::tables::{self, Table, TableDef};
use crate::trace::Trace;

/// All tables: those made from records and those made here. A new table is one line.
pub const TABLES: &[TableDef] = &{
    let [files, records, problems, metrics, artifacts, strings, stacks] = tables::TABLES;
    [
        files,
        records,
        problems,
        frames::FRAMES,
        metrics,
        artifacts,
        graphs::GRAPHS,
        causes::RECOMPILES,
        causes::RECOMPILE_GROUPS,
        causes::GRAPH_BREAKS,
        causes::BREAK_GROUPS,
        causes::FAILURES,
        cache::CACHE,
        missing::MISSING,
        events::EVENTS,
        phases::PHASES,
        schedules::COLLECTIVES,
        runtimes::RUNTIMES,
        exec_order::EXEC_ORDER,
        tensors::TENSORS,
        findings::FINDINGS,
        guards::GUARDS,
        guards::GUARD_SETS,
        symbols::SYMBOLS,
        ranks::DIAGNOSTICS,
        ranks::DIVERGENCE,
        ranks::SKEW,
        ranks::RANKS,
        strings,
        stacks,
    ]
};

/// Builds the table `name`.
///
/// # Errors
/// A name that no table has; a log that changed since it was read.
pub fn table(trace: &Trace, name: &str) -> Result<Table> {
    let Some(def) = TABLES.iter().find(|def| def.name == name) else {
        let names = TABLES.iter().map(|def| def.name).collect::<Vec<_>>().join(", ");
        return Err(Error::new(ErrorKind::Option, format!("no table {name:?}; the tables are {names}")));
    };
    (def.build)(trace)
}

/// Builds the table `name`, and with it those that come of the same work.
///
/// # Errors
/// As for [`table`].
pub fn table_and_others(trace: &Trace, name: &str) -> Result<(Table, Vec<Table>)> {
    let mut others = ranks::along_with(trace, name).transpose()?.unwrap_or_default();
    match others.iter().position(|table| table.name == name) {
        Some(at) => Ok((others.swap_remove(at), others)),
        None => Ok((table(trace, name)?, others)),
    }
}

/// Columns of the table `name`: names, types and meanings.
///
/// # Errors
/// A name that no table has.
pub fn describe(name: &str) -> Result<Vec<tables::Column>> {
    let none = Trace::default();
    Ok(table(&none, name)?.columns())
}
