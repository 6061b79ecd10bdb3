//! Generated code, line by line.
//!
//! Names that Inductor gives (`buf3`, `arg0_1`, `tmp7`) are numbered through, so that one line more renames all that
//! follow. Lines are matched without these numbers; then it is looked at whether each name on one side stands for one
//! name on the other, from where it gets its value on.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::Aspect;
use super::graphs::is_from_cache;
use super::sheet::Sheet;
use super::side::{Half, Pair};
use crate::analysis::lines::{Budget, Refused, Run, compare};
use crate::analysis::noise::plain;
use crate::format::payload::md5_hex;

/// Beginnings of names that Inductor numbers through.
const NUMBERED: &[&str] = &[
    "buf",
    "arg",
    "primals_",
    "tangents_",
    "tmp",
    "getitem_",
    "stream",
    "raw_stream",
    "in_ptr",
    "out_ptr",
    "in_out_ptr",
    "primals",
    "tangents",
    "fwd_rng_state_",
    "bwd_rng_state_",
    "kernel_call_",
];

/// What stands before the number of a device.
const DEVICES: &[&str] =
    &["cuda:", "xpu:", "hpu:", "npu:", "mtia:", "_DeviceGuard(", "set_device(", "get_raw_stream(", "index="];

/// A line of code.
struct Line {
    /// Without numbers of names.
    key: String,
    /// Its names, and whether the line gives them a value.
    names: Vec<(String, bool)>,
    /// As it was logged.
    text: String,
}

/// Compares the code that was generated for two compiles.
pub(super) fn output_code(pair: &Pair<'_>, budget: &Budget, sheet: &mut Sheet) {
    if !sheet.wants(Aspect::OutputCode) {
        return;
    }
    let (of_a, of_b) = (keyed(&pair.a), keyed(&pair.b));
    for (key, at_a) in &of_a {
        match of_b.get(key) {
            Some(at_b) => one(pair, &name(*key), (*at_a, *at_b), budget, sheet),
            None => missing(pair, *key, *at_a, true, sheet),
        }
    }
    for (key, at) in of_b.iter().filter(|(key, _)| !of_a.contains_key(key)) {
        missing(pair, *key, *at, false, sheet);
    }
}

/// The direction, and the n-th of it.
type Key = (bool, usize);

fn keyed(half: &Half<'_>) -> BTreeMap<Key, usize> {
    let mut counts = [0; 2];
    let mut found = BTreeMap::new();
    for &at in &half.records.code {
        let is_backward = half.side.parts.of(at).and_then(|part| part.is_backward) == Some(true);
        if let Some(count) = counts.get_mut(usize::from(is_backward)) {
            found.insert((is_backward, *count), at);
            *count += 1;
        }
    }
    found
}

fn name((is_backward, nth): Key) -> String {
    let which = if nth > 0 { format!(" {}", nth + 1) } else { String::new() };
    format!("code{which}{}", if is_backward { ", backward" } else { "" })
}

fn missing(pair: &Pair<'_>, key: Key, at: usize, in_a: bool, sheet: &mut Sheet) {
    let (has, lacks, side) = if in_a { (&pair.a, &pair.b, "b") } else { (&pair.b, &pair.a, "a") };
    if is_from_cache(lacks) && !is_from_cache(has) {
        let text = format!("{}: no {} in {side}, whose result came from a cache", has.label(), name(key));
        sheet.unknown(Aspect::OutputCode, text);
        return;
    }
    let lines = has.side.text(at).map(|text| format!("{} lines", text.split(|b| *b == b'\n').count()));
    let text = Some(lines.unwrap_or_else(|| "damaged code".to_owned()));
    if in_a {
        sheet.add(Aspect::OutputCode, pair.spots(Some(at), None), name(key), (text, None));
    } else {
        sheet.add(Aspect::OutputCode, pair.spots(None, Some(at)), name(key), (None, text));
    }
}

/// Compares two programs.
fn one(pair: &Pair<'_>, name: &str, (at_a, at_b): (usize, usize), budget: &Budget, sheet: &mut Sheet) {
    if pair.same_bytes(at_a, at_b) {
        return;
    }
    let (Some(text_a), Some(text_b)) = (pair.a.side.text(at_a), pair.b.side.text(at_b)) else {
        sheet.unknown(Aspect::OutputCode, format!("{}: its {name} is damaged", pair.a.label()));
        return;
    };
    if text_a == text_b {
        return;
    }
    let (a, b) = (lines(&text_a), lines(&text_b));
    let spots = pair.spots(Some(at_a), Some(at_b));
    let hunks = match hunks(&a, &b, budget) {
        Ok(hunks) => hunks,
        Err(why) => {
            let text = format!("{}: {} and {} lines; the md5s differ", why.words("line by line"), a.len(), b.len());
            let md5 = |text: &[u8]| Some(md5_hex(crate::format::payload::md5(text)));
            sheet.add(Aspect::OutputCode, spots, format!("{name}, {text}"), (md5(&text_a), md5(&text_b)));
            return;
        }
    };
    for (of_a, of_b) in hunks {
        sheet.add_made(Aspect::OutputCode, spots, || {
            let place = format!("{name}, @@ -{} +{} @@", numbers(&of_a), numbers(&of_b));
            (place, (joined(&a, of_a), joined(&b, of_b)))
        });
    }
}

/// Lines as they were logged; `None` without one.
fn joined(lines: &[Line], range: Range<usize>) -> Option<String> {
    let texts: Vec<&str> = lines.get(range).unwrap_or_default().iter().map(|line| line.text.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Lines as a unified diff counts them: those that are compared, without comments.
fn numbers(range: &Range<usize>) -> String {
    let first = if range.is_empty() { range.start } else { range.start + 1 };
    if range.len() == 1 { first.to_string() } else { format!("{first},{}", range.len()) }
}

/// The lines that are compared: comments and blank lines are not.
fn lines(text: &[u8]) -> Vec<Line> {
    let text = String::from_utf8_lossy(text);
    let code = |line: &str| {
        let bare = line.trim();
        let comment = bare.starts_with("# ") || bare == "#";
        !bare.is_empty() && !comment
    };
    text.split('\n').filter(|line| code(line)).map(read_line).collect()
}

/// Takes comments, paths, hashes and the numbers of names out of a line.
fn read_line(text: &str) -> Line {
    let bare = text.split_once("  # ").map_or(text, |(code, _)| code).trim_end();
    let plain = plain(bare);
    // Bytes in front of a `=` in which names are given a value: elements and attributes are changed, not named.
    let targets = plain.split_once(" = ").map(|(targets, _)| targets).filter(|text| !text.contains(['(', '[', '.']));
    let targets = targets.map_or(0, str::len);
    let mut key = String::with_capacity(plain.len());
    let mut names = Vec::new();
    let mut rest = plain.as_str();
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() && DEVICES.iter().any(|mark| key.ends_with(mark)) {
            let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
            names.push((format!("device {number}"), false));
            rest = after;
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if let Some(stem) = stem(word) {
                key.push_str(stem);
                // What is left of the text shows how far the name is from the start.
                let gets_value = plain.len() - rest.len() < targets;
                names.push((word.to_owned(), gets_value));
            } else {
                key.push_str(word);
            }
            rest = after;
        } else {
            key.push(first);
            rest = rest.split_at(first.len_utf8()).1;
        }
    }
    Line { key, names, text: text.to_owned() }
}

/// The name without its numbers, where it is one that Inductor gives.
fn stem(word: &str) -> Option<&'static str> {
    let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    NUMBERED.iter().copied().find(|stem| word.strip_prefix(stem).is_some_and(number))
}

/// Lines of both sides that stand in each other's place; one of both may be empty.
type Hunk = (Range<usize>, Range<usize>);

/// Stretches of lines that are not the same.
fn hunks(a: &[Line], b: &[Line], budget: &Budget) -> Result<Vec<Hunk>, Refused> {
    let keys = |lines: &[Line]| lines.iter().map(|line| line.key.clone()).collect::<Vec<_>>();
    let mut names = Names::default();
    let mut found: Vec<Hunk> = Vec::new();
    let mut add = |of_a: Range<usize>, of_b: Range<usize>| match found.last_mut() {
        Some((last_a, last_b)) if last_a.end == of_a.start && last_b.end == of_b.start => {
            last_a.end = of_a.end;
            last_b.end = of_b.end;
        }
        _ => found.push((of_a, of_b)),
    };
    for run in compare(&keys(a), &keys(b), budget)? {
        match run {
            Run::Other(of_a, of_b) => add(of_a, of_b),
            Run::Same(of_a, of_b) => {
                for (at_a, at_b) in of_a.zip(of_b) {
                    if !names.agree(a.get(at_a), b.get(at_b)) {
                        add(at_a..at_a + 1, at_b..at_b + 1);
                    }
                }
            }
        }
    }
    Ok(found)
}

/// Which name on one side stands for which on the other.
#[derive(Default)]
struct Names {
    to_b: FxHashMap<String, String>,
    to_a: FxHashMap<String, String>,
}

impl Names {
    /// Whether two lines have the same names, and what they say of further ones.
    fn agree(&mut self, a: Option<&Line>, b: Option<&Line>) -> bool {
        let (Some(a), Some(b)) = (a, b) else { return false };
        let mut agree = a.names.len() == b.names.len();
        // What is on the right of a `=` still means what it did before.
        let pairs: Vec<_> = a.names.iter().zip(&b.names).collect();
        for ((name_a, gets_a), (name_b, gets_b)) in pairs.iter().copied() {
            if !(*gets_a && *gets_b) {
                agree &= self.stands_for(name_a, name_b);
            }
        }
        for ((name_a, gets_a), (name_b, gets_b)) in pairs {
            if *gets_a && *gets_b {
                self.bind(name_a, name_b);
            }
        }
        agree
    }

    fn stands_for(&mut self, a: &str, b: &str) -> bool {
        match (self.to_b.get(a), self.to_a.get(b)) {
            (None, None) => {
                self.bind(a, b);
                true
            }
            (of_a, of_b) => of_a.is_some_and(|known| known == b) && of_b.is_some_and(|known| known == a),
        }
    }

    fn bind(&mut self, a: &str, b: &str) {
        if let Some(before) = self.to_b.insert(a.to_owned(), b.to_owned()) {
            self.to_a.remove(&before);
        }
        if let Some(before) = self.to_a.insert(b.to_owned(), a.to_owned()).filter(|before| before != a) {
            self.to_b.remove(&before);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of(a: &str, b: &str) -> Vec<(String, String)> {
        let (a, b) = (lines(a.as_bytes()), lines(b.as_bytes()));
        let text = |lines: &[Line], range: Range<usize>| {
            lines[range].iter().map(|line| line.text.trim()).collect::<Vec<_>>().join("|")
        };
        let found = hunks(&a, &b, &Budget::new(Duration::from_secs(20), 40_000)).unwrap();
        found.into_iter().map(|(of_a, of_b)| (text(&a, of_a), text(&b, of_b))).collect()
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (a.to_owned(), b.to_owned())
    }

    #[test]
    fn given_names_and_comments_do_not_count() {
        let a =
            "# AOT ID: ['0_inference']\nbuf0 = empty((4, 4))\nkernel(arg0_1, buf0)\nbuf3 = buf0; del buf0  # reuse\n";
        let b = "# AOT ID: ['7_inference']\n\nbuf5 = empty((4, 4))\nkernel(arg2_1, buf5)\nbuf9 = buf5; del buf5\n";
        assert_eq!(of(a, b), []);
        let on = |n: u32| {
            format!("with torch.cuda._DeviceGuard({n}):\n    stream{n} = get_raw_stream({n})\n    y = x.to('cuda:{n}')")
        };
        assert_eq!(of(&on(0), &on(3)), []);
        let path = |hash: &str| format!("# kernel path: /tmp/a/{hash}.py\nf = load('/tmp/{hash}/c{hash}.py')");
        let (one, two) = (
            "lmnjix3sv3iiqnvaa23fehch254mao2qtsokwcrhnzwhwtqgcq",
            "7zvvup2gz4t27gh3hj4ngxb6cvd5vfyurimryuvrmxzbxksjiu",
        );
        assert_eq!(of(&path(one), &path(two)), []);
    }

    #[test]
    fn a_line_more_renames_what_follows_and_is_one_hunk() {
        let a = "auto tmp0 = in_ptr0[x0];\nauto tmp1 = sin(tmp0);\nout_ptr0[x0] = tmp1;\n";
        let b = "auto tmp0 = in_ptr0[x0];\nauto tmp1 = cos(tmp0);\nauto tmp2 = sin(tmp0);\nout_ptr0[x0] = tmp2;\n";
        assert_eq!(of(a, b), [pair("", "auto tmp1 = cos(tmp0);")]);
    }

    #[test]
    fn other_buffers_and_numbers_count() {
        assert_eq!(of("f(buf0, buf1)\ng(buf0)", "f(buf0, buf1)\ng(buf1)"), [pair("g(buf0)", "g(buf1)")]);
        assert_eq!(of("x = f(4)", "x = f(5)"), [pair("x = f(4)", "x = f(5)")]);
        assert_eq!(of("f(buf0, buf1)", "f(buf0, buf0)"), [pair("f(buf0, buf1)", "f(buf0, buf0)")]);
    }

    #[test]
    fn preprocessor_lines_are_code() {
        assert_eq!(of("#pragma omp\nx", "x"), [pair("#pragma omp", "")]);
    }
}
