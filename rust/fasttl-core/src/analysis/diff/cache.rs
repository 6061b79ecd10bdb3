//! What the caches answered. Keys are left out: they differ with anything that went in.

use std::collections::BTreeMap;

use super::Aspect;
use super::sheet::Sheet;
use super::side::{Half, Pair};
use crate::analysis::cache::bypass_reason;
use crate::analysis::noise::plain;

/// A cache, the direction of the Inductor compile, and the n-th look-up of these.
type Key = (&'static str, Option<bool>, usize);

/// What it answered, and its record.
type Answer = (String, usize);

/// Compares the answers of the caches.
pub(super) fn cache(pair: &Pair<'_>, sheet: &mut Sheet) {
    if !sheet.wants(Aspect::Cache) {
        return;
    }
    let (of_a, of_b) = (answers(&pair.a), answers(&pair.b));
    let mut keys: Vec<&Key> = of_a.keys().chain(of_b.keys().filter(|key| !of_a.contains_key(*key))).collect();
    keys.sort();
    for key in keys {
        let (a, b) = (of_a.get(key), of_b.get(key));
        let words = |answer: Option<&Answer>| answer.map(|(text, _)| text.clone());
        if words(a).as_deref().map(plain) != words(b).as_deref().map(plain) {
            let spots = pair.spots(a.map(|(_, at)| *at), b.map(|(_, at)| *at));
            sheet.add(Aspect::Cache, spots, place(key), (words(a), words(b)));
        }
    }
}

fn answers(half: &Half<'_>) -> BTreeMap<Key, Answer> {
    let mut seen: BTreeMap<(&str, Option<bool>), usize> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for look_up in &half.records.look_ups {
        // What is not known to be a backward counts as forward: a hit has no span that says so.
        let is_backward = look_up.part.and_then(|part| part.is_backward).filter(|is| *is);
        let nth = seen.entry((look_up.layer, is_backward)).or_default();
        let mut text = look_up.state.clone();
        if look_up.state == "bypass"
            && let Some(reason) = half.side.text(look_up.record).and_then(|text| bypass_reason(&text))
        {
            text += &format!(": {reason}");
        }
        found.insert((look_up.layer, is_backward, *nth), (text, look_up.record));
        *nth += 1;
    }
    found
}

fn place((layer, is_backward, nth): &Key) -> String {
    let direction = if *is_backward == Some(true) { ", backward" } else { "" };
    let which = if *nth > 0 { format!(", look-up {}", nth + 1) } else { String::new() };
    format!("{layer}{direction}{which}")
}
