//! The guards of a compile, and what the log says of its symbolic sizes: as texts that two ranks share.

use super::noise::{names_a_rank, plain_condition, plain_text};
use crate::analysis::symbols;
use crate::format::guards::{Guard, parse};
use crate::trace::Log;

/// The guards that a text prints, sorted: kind, what is guarded, and condition.
pub(in crate::analysis::ranks) fn guards(text: &str, rank: Option<i32>) -> Vec<String> {
    let line = |guard: &Guard<'_>| {
        let code = plain_condition(guard.code?, rank);
        // The condition names what it is about; where it does not, the manager above it does.
        let source = guard.manager.source.filter(|source| !code.contains(*source));
        let source = source.map(|source| plain_condition(source, rank));
        let of = source.map(|source| format!(" of {source}")).unwrap_or_default();
        Some(format!("{}{of}: {code}", guard.kind.unwrap_or("guard")))
    };
    let mut lines: Vec<String> = parse(text).guards.iter().filter_map(line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// The guards with `#` for the number of the rank where something is called so: `L['self'].tp_rank == 3`. `None` where
/// there is none.
pub(super) fn guards_of_any_rank(text: &str, rank: i32) -> Option<Vec<String>> {
    names_a_rank(text.as_bytes()).then_some(())?;
    let values = [format!(" == {rank}"), format!(" == '{rank}'"), format!(" == b'{rank}'")];
    let mut lines = guards(text, Some(rank));
    let mut any = false;
    for line in &mut lines {
        let rest = values.iter().find_map(|value| line.strip_suffix(value.as_str()));
        if let Some(rest) = rest.filter(|rest| names_a_rank(rest.as_bytes())) {
            *line = format!("{rest} == #");
            any = true;
        }
    }
    lines.sort_unstable();
    any.then_some(lines)
}

/// What the records say of symbolic sizes, in the log's order.
pub(in crate::analysis::ranks) fn symbols(log: &Log, bytes: &[u8], records: &[usize]) -> Vec<String> {
    let line = |&at: &usize| {
        let record = log.index.records.get(at)?;
        symbols::sentence(log.index.metadata(record, bytes), record.kind).map(|text| plain_text(&text, log.rank))
    };
    records.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_rank_may_be_any() {
        let tree = |n: i32| {
            format!(
                "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['n'], accessed_by=X\n| | +- EQUALS_MATCH: L['self'].rank == {n}\n| | +- EQUALS_MATCH: L['n'] == 33\n"
            )
        };
        assert_eq!(guards_of_any_rank(&tree(3), 3), guards_of_any_rank(&tree(4), 4));
        assert_eq!(guards_of_any_rank(&tree(3), 4), None);
        assert_ne!(guards(&tree(3), Some(3)), guards(&tree(4), Some(4)));
    }

    #[test]
    fn guards_are_a_set_without_ids() {
        let tree = |id: &str, device: u32| {
            format!(
                "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['x'], accessed_by=X\n| | +- TENSOR_MATCH: check_tensor(L['x'], device={device}, size=[8, 4])\n| +- GuardManager: source=G['f'], accessed_by=X\n| | +- ID_MATCH: ___check_obj_id(G['f'], {id})\n"
            )
        };
        assert_eq!(guards(&tree("140184674655888", 0), None), guards(&tree("94539398123123", 3), None));
        assert_eq!(
            guards(&tree("140184674655888", 0), None),
            ["ID_MATCH: ___check_obj_id(G['f'], #)", "TENSOR_MATCH: check_tensor(L['x'], device=#, size=[8, 4])",]
        );
        // Text that is no guard counts as it stands.
        assert_eq!(guards("no tree", None), ["guard: no tree"]);
    }
}
