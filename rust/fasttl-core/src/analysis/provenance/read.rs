//! Reads the logged names. Whatever is wrong in them loses only itself, and is said.

use std::collections::BTreeSet;

use crate::format::json::{self, Scanner, ValueKind};

/// Pairs of names that are read of one mapping.
const PAIRS: usize = 1_000_000;
/// Losses that are told in words.
const TOLD: usize = 40;
/// Characters of a name in such a sentence.
const SHOWN: usize = 120;

/// What could not be used, in sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// The first of them.
    pub(crate) told: Vec<String>,
    /// How many there are.
    pub(crate) total: usize,
}

impl Losses {
    /// Notes one; it is put in words only while the list is short.
    pub(crate) fn add(&mut self, words: impl FnOnce() -> String) {
        self.total += 1;
        if self.told.len() < TOLD {
            self.told.push(words());
        }
    }
}

/// A name in a sentence.
pub(super) fn quoted(name: &str) -> String {
    let mut short: String = name.chars().take(SHOWN).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    format!("“{short}”")
}

/// Names that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Nodes before and after the passes.
    pub(crate) nodes: BTreeSet<(String, String)>,
    /// Kernels and nodes after the passes.
    pub(crate) kernels: BTreeSet<(String, String)>,
    /// What could not be read.
    pub(crate) losses: Losses,
    read: usize,
}

#[derive(Clone, Copy)]
enum Into {
    PreToPost,
    PostToPre,
    KernelToPost,
    PostToKernel,
}

impl Mapping {
    /// Adds an `inductor_provenance_tracking_node_mappings`.
    pub(crate) fn add_mapping(&mut self, text: &[u8]) {
        let walked = json::each_member(text, |key, value| {
            match key {
                b"preToPost" => self.lists("preToPost", value, Into::PreToPost),
                b"postToPre" => self.lists("postToPre", value, Into::PostToPre),
                b"cppCodeToPost" | b"pyCodeToPost" => self.lists("cppCodeToPost", value, Into::KernelToPost),
                b"postToCppCode" | b"postToPyCode" => self.lists("postToCppCode", value, Into::PostToKernel),
                _ => {}
            }
            true
        });
        self.walked("The mapping", walked.err());
    }

    /// Adds an object of kernels, each with a list of nodes.
    pub(crate) fn add_kernel_nodes(&mut self, text: &[u8]) {
        self.lists("The list of nodes by kernel", text, Into::KernelToPost);
    }

    /// Adds an object of nodes, each with a list of what it was made of.
    pub(crate) fn add_node_origins(&mut self, text: &[u8]) {
        self.lists("The list of nodes by origin", text, Into::PostToPre);
    }

    fn walked(&mut self, what: &str, error: Option<json::JsonError>) {
        if let Some(error) = error {
            let words =
                || format!("{what} cannot be read further: {} was expected at byte {}.", error.expected, error.at);
            self.losses.add(words);
        }
    }

    /// `{name: [name]}`.
    fn lists(&mut self, what: &str, value: &[u8], into: Into) {
        if Scanner::new(value).kind() != Ok(ValueKind::Object) {
            return self.losses.add(|| format!("{what} is no object of names, and is passed over."));
        }
        let walked = json::each_member(value, |key, list| {
            let name = json::unescape_inner(key);
            self.list(what, &name, list, into);
            self.read < PAIRS
        });
        self.walked(what, walked.err());
        if self.read >= PAIRS {
            self.losses
                .add(|| format!("{what} has more names than a page can show; the first {PAIRS} pairs are used."));
        }
    }

    fn list(&mut self, what: &str, name: &str, list: &[u8], into: Into) {
        let mut scanner = Scanner::new(list);
        if scanner.expect(b'[', "a list").is_err() {
            return self.losses.add(|| format!("{what}: what stands for {} is no list.", quoted(name)));
        }
        scanner.skip_space();
        if scanner.eat(b']') {
            return;
        }
        while self.read < PAIRS {
            let Ok(range) = scanner.value() else { return };
            self.read += 1;
            if let Some(other) = name_of(scanner.slice(range)) {
                self.pair(name, other, into);
            } else {
                self.losses.add(|| format!("{what}: the list of {} has something that is no name.", quoted(name)));
            }
            scanner.skip_space();
            if !scanner.eat(b',') {
                return;
            }
        }
    }

    fn pair(&mut self, name: &str, other: String, into: Into) {
        let name = name.to_owned();
        match into {
            Into::PreToPost => self.nodes.insert((name, other)),
            Into::PostToPre => self.nodes.insert((other, name)),
            Into::KernelToPost => self.kernels.insert((name, other)),
            Into::PostToKernel => self.kernels.insert((other, name)),
        };
    }
}

/// A name, or an object that has one as `name`.
fn name_of(value: &[u8]) -> Option<String> {
    match Scanner::new(value).kind() {
        Ok(ValueKind::String) => json::unescape(value),
        Ok(ValueKind::Object) => json::member(value, b"name").and_then(json::unescape),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Mapping {
        let mut mapping = Mapping::default();
        mapping.add_mapping(text.as_bytes());
        mapping
    }

    #[test]
    fn both_directions_are_one_pair() {
        let mapping = read(
            r#"{"preToPost": {"a": ["b"]}, "postToPre": {"b": ["a"], "c": [{"name": "a", "from_node": []}]},
            "cppCodeToPost": {"k:1": ["b", "c"]}, "postToCppCode": {"b": ["k:1"]}, "version": 2.0}"#,
        );
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(mapping.nodes, BTreeSet::from([pair("a", "b"), pair("a", "c")]));
        assert_eq!(mapping.kernels, BTreeSet::from([pair("k:1", "b"), pair("k:1", "c")]));
        assert_eq!(mapping.losses.total, 0);
    }

    #[test]
    fn what_is_wrong_loses_only_itself() {
        let deep = format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000));
        let mapping = read(&format!(
            r#"{{"preToPost": [1, 2], "postToPre": {{"b": "a", "c": [NaN, "a", {deep}]}}, "x": {deep},
            "cppCodeToPost": {{"k": ["b"]}}, "postToCppCode": NaN}}"#
        ));
        assert_eq!((mapping.nodes.len(), mapping.kernels.len(), mapping.losses.total), (1, 1, 5), "{mapping:?}");
        let cut = read(r#"{"cppCodeToPost": {"k": ["b"]}, "preToPost": {"a": ["#);
        assert_eq!((cut.kernels.len(), cut.losses.total), (1, 1), "{cut:?}");
        assert_eq!(read("[]").losses.total, 1);
    }

    #[test]
    fn the_number_of_names_is_bounded() {
        let many = (0..PAIRS + 10).map(|n| format!("\"n{n}\"")).collect::<Vec<_>>().join(",");
        let mapping = read(&format!(r#"{{"preToPost": {{"a": [{many}]}}, "postToPre": {{"b": ["a"]}}}}"#));
        assert!(mapping.nodes.len() <= PAIRS + 1 && mapping.losses.total > 0);
    }
}
