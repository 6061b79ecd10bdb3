//! Settings and versions.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;
use serde_json::Value;

use super::Aspect;
use super::sheet::{Sheet, Values};
use super::side::LogSide;
use crate::analysis::align::Matched;
use crate::analysis::compiles::Compile;
use crate::analysis::settings::{FIELDS, is_path, settings};
use crate::analysis::versions::{Versions, versions as read_versions};
use crate::format::payload::md5;
use crate::tables::Fields;

/// Compares the versions that two logs name.
pub(super) fn versions(a: &LogSide<'_>, b: &LogSide<'_>, sheet: &mut Sheet) {
    if !sheet.wants(Aspect::Versions) {
        return;
    }
    let (of_a, of_b) = (read_versions(a.log, &a.view), read_versions(b.log, &b.view));
    for ((name, a_has), (_, b_has)) in named(of_a).into_iter().zip(named(of_b)) {
        match (a_has, b_has) {
            (Some(of_a), Some(of_b)) if of_a != of_b => {
                let spots = (Some(a.spot(None)), Some(b.spot(None)));
                sheet.add(Aspect::Versions, spots, name, (Some(of_a), Some(of_b)));
            }
            (Some(_), None) => sheet.unknown(Aspect::Versions, format!("the log of b names no {name}")),
            (None, Some(_)) => sheet.unknown(Aspect::Versions, format!("the log of a names no {name}")),
            _ => {}
        }
    }
}

fn named(of: Versions) -> [(&'static str, Option<String>); 4] {
    [("PyTorch", of.pytorch), ("Python", of.python), ("CUDA", of.cuda), ("Triton", of.triton)]
}

/// Compares the settings of all pairs; a difference is told at the first that has it.
pub(super) fn configuration(a: &LogSide<'_>, b: &LogSide<'_>, pairs: &[Matched], sheet: &mut Sheet) {
    if !sheet.wants(Aspect::Configuration) {
        return;
    }
    // Most compiles of a process have the same settings: each pair of texts is compared once.
    let mut compared: FxHashSet<(&str, [u8; 16], [u8; 16])> = FxHashSet::default();
    let mut told: BTreeSet<(String, Option<String>, Option<String>)> = BTreeSet::new();
    let (metrics_a, metrics_b) = (a.metrics(), b.metrics());
    for (of_a, of_b) in pairs {
        let (Some(half_a), Some(half_b)) = (of_a.and_then(|at| a.half(at)), of_b.and_then(|at| b.half(at))) else {
            continue;
        };
        let last = |compile: &Compile| compile.metrics.last().copied();
        let (Some(at_a), Some(at_b)) = (last(half_a.compile), last(half_b.compile)) else { continue };
        let (fields_a, fields_b) = (metrics_a.fields(at_a), metrics_b.fields(at_b));
        for (field, short) in FIELDS {
            let (Some(text_a), Some(text_b)) = (fields_a.get(field), fields_b.get(field)) else {
                one_says_nothing(field, &fields_a, &fields_b, sheet);
                continue;
            };
            if text_a == text_b || !compared.insert((field, md5(text_a), md5(text_b))) {
                continue;
            }
            let (Some(settings_a), Some(settings_b)) = (settings(text_a), settings(text_b)) else {
                sheet.unknown(Aspect::Configuration, format!("{}: {field} is no JSON object", half_a.label()));
                continue;
            };
            let spots = (Some(half_a.spot(Some(at_a))), Some(half_b.spot(Some(at_b))));
            for (key, values) in differing(&settings_a, &settings_b) {
                let place = format!("{short}.{key}");
                if told.insert((place.clone(), values.0.clone(), values.1.clone())) {
                    sheet.add(Aspect::Configuration, spots, place, values);
                }
            }
        }
    }
}

/// A release that does not log a field yet says nothing of it.
fn one_says_nothing(field: &str, a: &Fields<'_>, b: &Fields<'_>, sheet: &mut Sheet) {
    let side = match (a.get(field), b.get(field)) {
        (Some(_), None) => "b",
        (None, Some(_)) => "a",
        _ => return,
    };
    sheet.unknown(Aspect::Configuration, format!("the log of {side} has no {field}"));
}

/// Settings that are not the same, with both values as JSON.
fn differing(a: &BTreeMap<String, Value>, b: &BTreeMap<String, Value>) -> Vec<(String, Values)> {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let mut found = Vec::new();
    for key in keys {
        let (of_a, of_b) = (a.get(key), b.get(key));
        if of_a != of_b && !both_paths(of_a, of_b) {
            let text = |value: Option<&Value>| value.map(Value::to_string);
            found.push((key.clone(), (text(of_a), text(of_b))));
        }
    }
    found
}

/// Folders differ from machine to machine and from run to run.
fn both_paths(a: Option<&Value>, b: Option<&Value>) -> bool {
    a.is_some_and(is_path) && b.is_some_and(is_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_compared_one_by_one() {
        let of = |text: &str| settings(text.as_bytes()).unwrap();
        let a = of(r#""{\"a\": 1, \"b\": [1, 2], \"dir\": \"/x\", \"gone\": null}""#);
        let b = of(r#"{"b": [1, 3], "a": 1, "dir": "/y/z", "new": NaN}"#);
        let found = differing(&a, &b);
        let text = |text: &str| Some(text.to_owned());
        let expected = [("b".to_owned(), (text("[1,2]"), text("[1,3]"))), ("gone".to_owned(), (text("null"), None))];
        assert_eq!(found[..2], expected);
        assert_eq!(found.last().unwrap().0, "new");
        assert!(settings(b"\"Failed to get config\"").is_none());
    }
}
