//! Turns the lenient JSON of a log into strict JSON that any reader accepts.
//!
//! Bare `NaN` and infinities become `null`, lone surrogates U+FFFD, bytes that are not UTF-8 U+FFFD,
//! raw control characters escapes, and what is nested too deep `null`; everything else stands as it was,
//! numbers digit by digit and keys in their order.

use std::borrow::Cow;

use super::json::{DEPTH_LIMIT, JsonError, Oddities, Scanner, only_value};

/// Strict JSON for `text`, which is borrowed where nothing has to change.
///
/// A text that is not JSON at all comes back with the same replacements inside its strings; the strict
/// reader then says what is wrong with it.
pub fn to_strict(text: &[u8]) -> Cow<'_, [u8]> {
    let mut scanner = Scanner::new(text);
    if scanner.value().is_ok() && scanner.oddities.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    rewrite(text, &mut out, Layout::Keep);
    Cow::Owned(out)
}

/// Appends `text` as strict JSON with two blanks of indent a level. Yields whether a `NaN` or an
/// infinity became `null`. When `text` is not JSON, or is nested too deep, nothing is appended.
pub fn pretty(text: &[u8], out: &mut Vec<u8>) -> Result<bool, JsonError> {
    let (value, oddities) = only_value(text)?;
    if oddities.contains(Oddities::DEEP) {
        return Err(JsonError { at: 0, expected: "less nesting", ended: false });
    }
    out.reserve(text.len() + text.len() / 4);
    Ok(rewrite(text.get(value).unwrap_or(text), out, Layout::Pretty))
}

/// `text` as strict JSON on one line, without white space between its tokens; nothing when it is not JSON.
pub fn compact(text: &[u8]) -> Option<String> {
    let (value, _) = only_value(text).ok()?;
    let mut out = Vec::with_capacity(text.len());
    rewrite(text.get(value)?, &mut out, Layout::Compact);
    // The rewriting mends what is no UTF-8.
    Some(String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Keep,
    Pretty,
    Compact,
}

/// The one walk behind both: copies runs of bytes, replacing what strict JSON has no word for.
fn rewrite(text: &[u8], out: &mut Vec<u8>, layout: Layout) -> bool {
    let pretty = layout == Layout::Pretty;
    let (mut at, mut depth, mut replaced) = (0, 0_usize, false);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string(text, at, out);
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                let next = next_token(text, at + 1);
                if depth > DEPTH_LIMIT && !matches!(next, Some(b'}' | b']')) {
                    let mut inner = Scanner::new(text.get(at..).unwrap_or_default());
                    if let Ok(range) = inner.value() {
                        out.extend_from_slice(b"null");
                        at += range.end;
                        depth -= 1;
                        continue;
                    }
                }
                out.push(byte);
                if pretty && !matches!(next, Some(b'}' | b']')) {
                    newline(out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if pretty && !matches!(out.last(), Some(b'{' | b'[')) {
                    newline(out, depth);
                }
                out.push(byte);
            }
            b',' if pretty => {
                out.push(b',');
                newline(out, depth);
            }
            b':' if pretty => out.extend_from_slice(b": "),
            b' ' | b'\t' | b'\r' | b'\n' if layout != Layout::Keep => {}
            b'N' | b'I' | b'-' if non_finite(text, at).is_some() => {
                out.extend_from_slice(b"null");
                replaced = true;
                at += non_finite(text, at).unwrap_or(1);
                continue;
            }
            _ => out.push(byte),
        }
        at += 1;
    }
    replaced
}

fn next_token(text: &[u8], from: usize) -> Option<u8> {
    text.get(from..)?.iter().copied().find(|b| !b.is_ascii_whitespace())
}

fn newline(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

fn non_finite(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    [&b"NaN"[..], b"Infinity", b"-Infinity"].iter().find(|word| rest.starts_with(word)).map(|word| word.len())
}

/// Copies the string that starts at `at`; yields the offset after it.
fn string(text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let mut scanner = Scanner::new(rest);
    let Ok(inner) = scanner.string() else {
        out.extend_from_slice(String::from_utf8_lossy(rest).as_bytes());
        return text.len();
    };
    if scanner.oddities.is_empty() {
        out.extend_from_slice(rest.get(..inner.end + 1).unwrap_or(rest));
    } else {
        out.push(b'"');
        mend(&String::from_utf8_lossy(scanner.slice(inner.clone())), out);
        out.push(b'"');
    }
    at + inner.end + 1
}

/// Copies the inside of a string, replacing lone surrogates and raw control characters.
fn mend(inner: &str, out: &mut Vec<u8>) {
    let mut rest = inner;
    while let Some(index) = rest.find(|c: char| c == '\\' || c < ' ') {
        let (before, after) = rest.split_at(index);
        out.extend_from_slice(before.as_bytes());
        let (text, used) = mended(after);
        out.extend_from_slice(text.as_bytes());
        rest = after.get(used..).unwrap_or_default();
    }
    out.extend_from_slice(rest.as_bytes());
}

/// What the escape or control character at the start of `text` becomes, and how many bytes it took.
fn mended(text: &str) -> (Cow<'_, str>, usize) {
    let unit =
        |s: &str| s.strip_prefix("\\u").and_then(|hex| hex.get(..4)).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    match text.as_bytes() {
        [b'\\', b'u', ..] => {
            let high = unit(text).unwrap_or(0xFFFD);
            let low = text.get(6..).and_then(unit).unwrap_or(0);
            if (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low) {
                (Cow::Borrowed(text.get(..12).unwrap_or(text)), 12)
            } else if (0xD800..0xE000).contains(&high) {
                (Cow::Borrowed("\\ufffd"), 6)
            } else {
                (Cow::Borrowed(text.get(..6).unwrap_or(text)), 6)
            }
        }
        [b'\\', ..] => (Cow::Borrowed(text.get(..2).unwrap_or("\\\\")), 2),
        [control, ..] => (Cow::Owned(format!("\\u{control:04x}")), 1),
        [] => (Cow::Borrowed(""), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict(text: &str) -> String {
        String::from_utf8(to_strict(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn replaces_only_what_strict_json_lacks() {
        assert_eq!(
            strict(r#"{"b": NaN, "a": [-Infinity, 12345678901234567890123]}"#),
            r#"{"b": null, "a": [null, 12345678901234567890123]}"#
        );
        assert_eq!(strict(r#""x\udc80\ud83d\ude00NaN""#), r#""x\ufffd\ud83d\ude00NaN""#);
        assert_eq!(strict("\"a\u{1}b\""), r#""a\u0001b""#);
        assert!(matches!(to_strict(b"{\"a\": 1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn deep_nesting_becomes_null() {
        let deep = "[".repeat(300) + &"]".repeat(300);
        let strict = strict(&deep);
        assert!(serde_json::from_str::<serde_json::Value>(&strict).is_ok());
    }

    #[test]
    fn compact_is_strict_and_stands_on_one_line() {
        let text = b" {\n\"b \\n\": [1.50,\n\tNaN ],\r\n\"a\": \"x: \\udc80\"\n} ";
        assert_eq!(compact(text).unwrap(), r#"{"b \n":[1.50,null],"a":"x: \ufffd"}"#.replace("\\\\", "\\"));
        assert_eq!(compact(b"[1, 2"), None);
        assert_eq!(compact(b"\"\xFF\"").unwrap(), "\"\u{FFFD}\"");
    }

    #[test]
    fn pretty_keeps_values_and_order() {
        let mut out = Vec::new();
        assert!(!pretty(br#"{"b":[1,{}],"a":"x,{}"}"#, &mut out).unwrap());
        assert_eq!(String::from_utf8(out).unwrap(), "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": \"x,{}\"\n}");
        assert!(pretty(b"[1, 2", &mut Vec::new()).is_err());
        assert!(pretty(b"0/0: reason", &mut Vec::new()).is_err());
        let deep = "[".repeat(300) + &"]".repeat(300);
        assert!(pretty(deep.as_bytes(), &mut Vec::new()).is_err());
    }
}
