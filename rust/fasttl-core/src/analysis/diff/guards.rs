//! Guards, as a set: their order differs from process to process.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Aspect;
use super::compiles::count_row;
use super::lines::one_sided;
use super::noise::plain_guard;
use super::sheet::Sheet;
use super::side::{Half, Pair};

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

/// The leaves of a tree of guards. A line is `| ` for each level, `+- `, then a manager with its source, or a guard.
pub(super) fn guard_lines(text: &str) -> Vec<GuardLine> {
    let mut found: Vec<GuardLine> = Vec::new();
    // The source of the manager at each level that is open, the level beside it: as long as the tree is deep.
    let mut open: Vec<(usize, Arc<str>)> = Vec::new();
    for line in text.lines() {
        let node = line.trim_start_matches("| ");
        let depth = (line.len() - node.len()) / 2;
        let Some(node) = node.strip_prefix("+- ") else {
            if node.starts_with("Guard latency") || node.starts_with("TREE_GUARD_MANAGER") || node.trim().is_empty() {
                continue;
            }
            // A value with line feeds goes on.
            if let Some(last) = found.last_mut() {
                last.check += "\n";
                last.check += node;
            }
            continue;
        };
        while open.last().is_some_and(|(level, _)| *level >= depth) {
            open.pop();
        }
        let above = open.last().map_or_else(|| "".into(), |(_, source)| Arc::clone(source));
        match node.split_once(": ") {
            Some((kind, check)) if is_kind(kind) => {
                found.push(GuardLine { source: above.to_string(), kind: kind.to_owned(), check: check.to_owned() });
            }
            _ => {
                let source = node.split_once("source=").map(|(_, rest)| rest);
                let source = source.map(|rest| rest.split_once(", accessed_by=").map_or(rest, |(source, _)| source));
                open.push((depth, source.map_or(above, |source| short(source).into())));
            }
        }
    }
    for line in &mut found {
        line.check = plain_guard(without_code(&line.check).trim_end());
    }
    found
}

/// A source that many guards may stand below: not more of it than tells it from others.
fn short(source: &str) -> String {
    let end = source.char_indices().nth(LONGEST_SOURCE).map_or(source.len(), |(at, _)| at);
    plain_guard(source.get(..end).unwrap_or(source))
}

fn is_kind(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// The check without the code behind it that it comes from; that says where, and moves when the code is edited.
fn without_code(check: &str) -> &str {
    let mut quote = None;
    for (at, c) in check.char_indices() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if open == c => quote = None,
            ('#', None) if check.get(..at).is_some_and(|before| before.ends_with("  ")) => {
                return check.get(..at).unwrap_or(check).trim_end();
            }
            _ => {}
        }
    }
    check
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
                line("G['f']", "ID_MATCH", "___check_obj_id(G['f'], …), type=<class 'module'>"),
            ]
        );
    }

    #[test]
    fn odd_text_is_no_loss() {
        assert_eq!(guard_lines("no tree"), []);
        let several = "+- LAMBDA_GUARD: f('a\nb')  # x\n| +- X_Y: 1";
        assert_eq!(guard_lines(several), [line("", "LAMBDA_GUARD", "f('a\nb')"), line("", "X_Y", "1")]);
        assert_eq!(guard_lines(&"| ".repeat(100_000)), []);
        let deep: String = (0..2000).map(|n| "| ".repeat(n) + "+- GuardManager: source=s\n").collect();
        assert_eq!(guard_lines(&deep), []);
    }
}
