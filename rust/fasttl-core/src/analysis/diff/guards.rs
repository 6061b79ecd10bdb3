//! Guards, as a set: their order differs from process to process.

use std::collections::BTreeMap;

use super::Aspect;
use super::compiles::count_row;
use super::sheet::Sheet;
use super::side::{Half, Pair};
use crate::analysis::lines::one_sided;
use crate::analysis::noise::plain_guard;
use crate::format::guards::{Guard, parse};

/// Characters of a source.
const LONGEST_SOURCE: usize = 500;

/// A leaf of the tree of guards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GuardLine {
    /// What the manager above it guards: `L['x']`.
    pub(super) source: String,
    /// Which guard: `TENSOR_MATCH`.
    pub(super) kind: String,
    /// What it checks, without addresses.
    pub(super) check: String,
}

/// Compares the guards of two compiles, and their counts.
pub(super) fn guards(pair: &Pair<'_>, sheet: &mut Sheet) {
    if !sheet.wants(Aspect::Guards) {
        return;
    }
    count_row(pair, Aspect::Guards, "guards", (pair.a.compile.guards, pair.b.compile.guards), sheet);
    let (at_a, at_b) = (pair.a.records.guards.last().copied(), pair.b.records.guards.last().copied());
    let (at_a, at_b) = match (at_a, at_b) {
        (Some(a), Some(b)) => (a, b),
        (None, None) => return,
        // A compile that failed has none. Mostly the counts say that already.
        (a, b) if pair.a.compile.guards == pair.b.compile.guards => {
            let text = |at: Option<usize>| at.map(|_| "a tree of guards".to_owned());
            sheet.add(Aspect::Guards, pair.spots(a, b), "tree", (text(a), text(b)));
            return;
        }
        _ => return,
    };
    if pair.same_bytes(at_a, at_b) {
        return;
    }
    let (Some(a), Some(b)) = (lines(&pair.a, at_a, sheet), lines(&pair.b, at_b, sheet)) else { return };
    let (only_a, only_b) = one_sided(a, b);
    // By place: what a source was guarded with on either side.
    let mut places: BTreeMap<(String, String), (Vec<String>, Vec<String>)> = BTreeMap::new();
    for line in only_a {
        places.entry((line.source, line.kind)).or_default().0.push(line.check);
    }
    for line in only_b {
        places.entry((line.source, line.kind)).or_default().1.push(line.check);
    }
    let spots = pair.spots(Some(at_a), Some(at_b));
    for ((source, kind), (a, b)) in places {
        let place = format!("{source} {kind}").trim_start().to_owned();
        let (count_a, count_b) = (a.len(), b.len());
        let (mut a, mut b) = (a.into_iter().map(Some), b.into_iter().map(Some));
        if count_a == 1 && count_b == 1 && !source.is_empty() {
            // The same guard with another value is one row.
            sheet.add(Aspect::Guards, spots, place, (a.next().flatten(), b.next().flatten()));
            continue;
        }
        a.for_each(|check| sheet.add(Aspect::Guards, spots, place.as_str(), (check, None)));
        b.for_each(|check| sheet.add(Aspect::Guards, spots, place.as_str(), (None, check)));
    }
}

/// The guards of a compile.
fn lines(half: &Half<'_>, at: usize, sheet: &mut Sheet) -> Option<Vec<GuardLine>> {
    let Some(text) = half.side.text(at) else {
        sheet.unknown(Aspect::Guards, format!("{}: its guards are damaged", half.label()));
        return None;
    };
    Some(guard_lines(&String::from_utf8_lossy(&text)))
}

/// The guards that a text prints with their conditions, in a form that two processes share.
fn guard_lines(text: &str) -> Vec<GuardLine> {
    let line = |guard: &Guard<'_>| {
        Some(GuardLine {
            source: short(guard.manager.source.unwrap_or_default()),
            kind: guard.kind?.to_owned(),
            check: plain_guard(guard.code?),
        })
    };
    parse(text).guards.iter().filter_map(line).collect()
}

/// A source that many guards may stand below: not more of it than tells it from others.
fn short(source: &str) -> String {
    let end = source.char_indices().nth(LONGEST_SOURCE).map_or(source.len(), |(at, _)| at);
    plain_guard(source.get(..end).unwrap_or(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None   # a.py:1 in f\n| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0), type=<class 'torch.Tensor'>, tag_safe=(False, False)\n| | +- TENSOR_MATCH: check_tensor(L['x'], size=[8, 4])  # return '#' + x  # a.py:2 in f\n| | +- GuardManager: source=L['x'].n, accessed_by=GetAttrGuardAccessor(n)\n| | | +- EQUALS_MATCH: L['x'].n == 'a  # b'\n| +- GuardManager: source=G['f'], accessed_by=X\n| | +- ID_MATCH: ___check_obj_id(G['f'], 140184674655888), type=<class 'module'>\n\nGuard latency = 60.97 us\n";

    fn line(source: &str, kind: &str, check: &str) -> GuardLine {
        GuardLine { source: source.to_owned(), kind: kind.to_owned(), check: check.to_owned() }
    }

    #[test]
    fn leaves_have_the_source_above_them() {
        assert_eq!(
            guard_lines(TREE),
            [
                line("", "DEFAULT_DEVICE", "utils_device.CURRENT_DEVICE == None"),
                line("L['x']", "TENSOR_MATCH", "check_tensor(L['x'], size=[8, 4])"),
                line("L['x'].n", "EQUALS_MATCH", "L['x'].n == 'a  # b'"),
                line("G['f']", "ID_MATCH", "___check_obj_id(G['f'], #), type=<class 'module'>"),
            ]
        );
    }

    #[test]
    fn odd_text_is_no_loss() {
        assert_eq!(guard_lines("no tree"), []);
        let several = "+- LAMBDA_GUARD: f('a\nb')  # x\n| +- X_Y: 1";
        assert_eq!(guard_lines(several), [line("", "LAMBDA_GUARD", "f('a\nb')"), line("", "X_Y", "1")]);
    }
}
