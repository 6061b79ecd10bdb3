//! The order in which graphs ran: by what was run, since one id can be different functions on two ranks.

use super::cells::{Cell, Findings};
use super::{Aspect, Diagnostic, Member};
use crate::format::compile_id::CompileId;
use crate::format::payload::md5_hex;

const NONE_HAS: &str = "No two ranks recorded it. To have it recorded, run the steps inside torch._inductor.debug.record_and_log_graph_execution_order().";
const NO_ID: &str = "graphs that came from a cache, or were compiled before the recording, are in it without an id";

/// Compares recordings, n-th with n-th, position by position.
pub(super) fn exec_order(members: &[Member<'_>]) -> Diagnostic {
    let mut findings = Findings::default();
    let recordings = members.iter().map(|m| m.facts.recordings.len()).max().unwrap_or(0);
    for nth in 0..recordings {
        let order =
            |m: &Member<'_>| m.facts.recordings.get(nth).and_then(|r| r.order.as_ref().ok()).map_or(0, Vec::len);
        let longest = members.iter().map(order).max().unwrap_or(0);
        let of = if recordings > 1 { format!("recording {}, ", nth + 1) } else { String::new() };
        // Where no rank has an order to go through, the reasons are still to be told.
        for position in 0..longest.max(1) {
            let place = format!("{of}position {}", position + 1);
            findings.place(None, &place, members.iter().map(|m| (m, cell(m, nth, position))).collect());
        }
    }
    let same = "All ranks ran the same graphs in the same order.";
    findings.diagnostic(Aspect::ExecOrder, same, NONE_HAS)
}

fn cell(member: &Member<'_>, nth: usize, position: usize) -> Cell {
    let Some(recording) = member.facts.recordings.get(nth) else {
        return Cell::Unknown("its log has no such recording".to_owned());
    };
    let record = recording.record;
    match &recording.order {
        Err(why) => Cell::Unknown(why.clone()),
        Ok(order) => match order.get(position) {
            None => Cell::plain("nothing", record),
            Some(None) => Cell::Unknown(NO_ID.to_owned()),
            Some(Some(id)) => what_ran(member, *id, record),
        },
    }
}

/// The function and the graph behind an id: of the newest generation, since the recording does not name one.
fn what_ran(member: &Member<'_>, id: CompileId, record: usize) -> Cell {
    let id = id.without_attempt();
    let newest = member.facts.compiles.iter().rev().find(|((_, other), _)| *other == id);
    let Some((_, compile)) = newest else {
        return Cell::Unknown("it ran a graph whose compile is not in its log".to_owned());
    };
    let Some(code) = &compile.code else {
        return Cell::Unknown("its log does not name the function of a graph that ran".to_owned());
    };
    let graph = compile.graphs.first().map(|g| md5_hex(g.shape)).unwrap_or_default();
    Cell::Known(format!("{code} {graph}"), format!("{id} {code}"), Some(record))
}
