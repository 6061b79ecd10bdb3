//! Which graph of a compile is which on other ranks: forward with forward and backward with backward, whichever a
//! rank compiled first and whether or not it logged anything of one of them.

use std::collections::BTreeMap;

use crate::analysis::parts::Part;

/// The place of a graph within its compile: direction, n-th of it, and n-th record about that.
pub(super) type Spot = (Option<bool>, u32, usize);

/// A fact of one side: the number of the side, the record, and the fact.
pub(super) type OfSide<'a, F> = (usize, usize, &'a F);

/// What the sides have of one compile, spot by spot. `all` are the facts of each side about its graphs, in order.
pub(super) fn by_spot<'a, F>(
    all: &[(usize, Vec<(usize, &'a F)>)],
    part: impl Fn(&F) -> Option<Part>,
) -> BTreeMap<Spot, Vec<OfSide<'a, F>>> {
    // Where one log does not tell directions, parts are joined by their number.
    let mut facts = all.iter().flat_map(|(_, facts)| facts);
    let directed = facts.all(|(_, fact)| part(fact).is_none_or(|part| part.is_backward.is_some()));
    let mut spots: BTreeMap<Spot, Vec<OfSide<'a, F>>> = BTreeMap::new();
    for (side, facts) in all {
        let mut before: BTreeMap<(Option<bool>, u32), usize> = BTreeMap::new();
        let mut without = 0;
        for (record, fact) in facts {
            let (direction, nth) = match part(fact) {
                Some(part) if directed => (part.is_backward, part.nth),
                Some(part) => (None, part.number),
                None => {
                    without += 1;
                    (None, without - 1)
                }
            };
            let several = before.entry((direction, nth)).or_default();
            spots.entry((direction, nth, *several)).or_default().push((*side, *record, fact));
            *several += 1;
        }
    }
    spots
}

/// What a spot is called: its part where all ranks number it alike, else its direction.
pub(super) fn name(spot: Spot, spots: usize, parts: impl Iterator<Item = Option<Part>>) -> String {
    if spots <= 1 {
        return String::new();
    }
    let parts: Vec<Part> = parts.flatten().collect();
    let (direction, nth, several) = spot;
    let part = match (parts.first(), direction) {
        (Some(first), _) if parts.iter().all(|part| part == first) => format!(", {}", first.label()),
        (_, Some(true)) => format!(", backward {}", nth + 1),
        (_, Some(false)) => format!(", forward {}", nth + 1),
        (_, None) => format!(", graph {}", nth + 1),
    };
    if several > 0 { format!("{part}, record {}", several + 1) } else { part }
}
