//! Two texts beside each other, for pages that show both: which lines are the same but for noise, and which words of
//! two lines differ.

use std::time::Duration;

pub(crate) use crate::analysis::lines::Run;
use crate::analysis::lines::{Budget, compare};
use crate::analysis::noise::{is_word, plain_guard};

/// Lines between the equal ends of two texts up to which they are compared one by one.
const MOST_LINES: usize = 8_000;
/// Words of a line up to which two lines are compared one by one.
const MOST_WORDS: usize = 400;
/// Time for one pair of texts.
const TIME: Duration = Duration::from_secs(5);

/// A stretch of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words<'t> {
    /// Its text.
    pub(crate) text: &'t str,
    /// Whether the other line has something else there.
    pub(crate) changed: bool,
}

/// Compares two texts line by line. Addresses, folders and ids of objects are no difference.
///
/// # Errors
/// Why they were not compared.
pub(crate) fn aligned(a: &[&str], b: &[&str]) -> Result<Vec<Run>, String> {
    let plain = |lines: &[&str]| lines.iter().map(|line| plain_guard(line)).collect::<Vec<_>>();
    compare(&plain(a), &plain(b), &budget(MOST_LINES)).map_err(|refused| refused.words("line by line"))
}

/// Compares two lines word by word; where they are too long for that, all of both is changed.
pub(crate) fn words<'t>(a: &'t str, b: &'t str) -> (Vec<Words<'t>>, Vec<Words<'t>>) {
    let (parts_a, parts_b) = (split(a), split(b));
    let plain = |parts: &[&str]| parts.iter().map(|part| plain_guard(part)).collect::<Vec<_>>();
    let Ok(runs) = compare(&plain(&parts_a), &plain(&parts_b), &budget(2 * MOST_WORDS)) else {
        return (whole(a), whole(b));
    };
    let (mut of_a, mut of_b) = (Joined::of(a), Joined::of(b));
    for run in runs {
        let (changed, in_a, in_b) = match run {
            Run::Same(in_a, in_b) => (false, in_a, in_b),
            Run::Other(in_a, in_b) => (true, in_a, in_b),
        };
        let bytes = |parts: &[&str]| parts.iter().map(|part| part.len()).sum::<usize>();
        of_a.push(bytes(parts_a.get(in_a).unwrap_or_default()), changed);
        of_b.push(bytes(parts_b.get(in_b).unwrap_or_default()), changed);
    }
    (of_a.words, of_b.words)
}

fn budget(most: usize) -> Budget {
    Budget::new(TIME, most)
}

fn whole(line: &str) -> Vec<Words<'_>> {
    vec![Words { text: line, changed: true }]
}

/// Stretches of a line that follow each other.
struct Joined<'t> {
    words: Vec<Words<'t>>,
    rest: &'t str,
}

impl<'t> Joined<'t> {
    const fn of(line: &'t str) -> Self {
        Self { words: Vec::new(), rest: line }
    }

    /// The next `bytes` of the line.
    fn push(&mut self, bytes: usize, changed: bool) {
        if let (Some((text, rest)), true) = (self.rest.split_at_checked(bytes), bytes > 0) {
            self.words.push(Words { text, changed });
            self.rest = rest;
        }
    }
}

/// The words of a line, and the signs between them.
fn split(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words with `[` and `]` around what changed.
    fn marked(words: &[Words<'_>]) -> String {
        words.iter().map(|w| if w.changed { format!("[{}]", w.text) } else { w.text.to_owned() }).collect()
    }

    fn both(a: &str, b: &str) -> (String, String) {
        let (a, b) = words(a, b);
        (marked(&a), marked(&b))
    }

    #[test]
    fn what_differs_in_a_line_is_told_word_by_word() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(both("x: \"f32[8, 4]\"", "x: \"f32[s77, 4]\""), pair("x: \"f32[[8], 4]\"", "x: \"f32[[s77], 4]\""));
        assert_eq!(both("", "a"), pair("", "[a]"));
        assert_eq!(both("same", "same"), pair("same", "same"));
        assert_eq!(both("é = ü(1)", "é = ü(2)"), pair("é = ü([1])", "é = ü([2])"));
        // Addresses are no difference.
        assert_eq!(
            both("f at 0x7fdefc5d4410 a", "f at 0x7fdefc5d9999 b"),
            pair("f at 0x7fdefc5d4410 [a]", "f at 0x7fdefc5d9999 [b]")
        );
    }

    #[test]
    fn a_line_that_is_too_long_differs_as_a_whole() {
        let (a, b) = ("a b ".repeat(500), "c d ".repeat(500));
        assert_eq!(both(&a, &b), (format!("[{a}]"), format!("[{b}]")));
    }

    #[test]
    fn lines_are_matched_without_noise() {
        let a = ["def f(x):", "  y = g(x)  # /home/me/job/a.py:3", "  return y"];
        let b = ["def f(x):", "  y = g(x)  # /srv/other/a.py:3", "  z = h(y)", "  return z"];
        assert_eq!(aligned(&a, &b), Ok(vec![Run::Same(0..2, 0..2), Run::Other(2..3, 2..4)]));
        let ids = ["___check_obj_id(G['f'], 94539398)"];
        let others = ["___check_obj_id(G['f'], 94539999)"];
        assert_eq!(aligned(&ids, &others), Ok(vec![Run::Same(0..1, 0..1)]));
    }

    #[test]
    fn too_much_is_not_compared() {
        let (a, b): (Vec<String>, Vec<String>) = ((0..9000).map(|n| format!("a{n}")).collect(), vec!["b".to_owned()]);
        let (a, b): (Vec<&str>, Vec<&str>) =
            (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
        assert_eq!(aligned(&a, &b), Err("too large to compare line by line".to_owned()));
    }
}
