//! Stack frames as records carry them, and interned strings.

use super::json::{self, Oddities};

/// A frame of a stack: `{"line": 7, "name": "f", "filename": 1, "loc": "x = f(y)"}`.
///
/// Each field that is missing or of another type is `None`; the frame stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Line in the file.
    pub line: Option<i64>,
    /// Function.
    pub name: Option<String>,
    /// Id of the interned file name; -1 means "no string".
    pub filename: Option<i64>,
    /// Source text of the line (PyTorch 2.7 and later).
    pub loc: Option<String>,
}

/// The frames of a JSON array, outermost first. Elements that are no objects are empty frames; what is no
/// array has no frames.
pub fn parse_stack(text: &[u8]) -> Vec<Frame> {
    json::elements(text).map(|all| all.map(parse_frame).collect()).unwrap_or_default()
}

fn parse_frame(text: &[u8]) -> Frame {
    let mut frame = Frame::default();
    // What can be read of a broken frame is kept.
    let _: Result<Oddities, json::JsonError> = json::each_member(text, |key, value| {
        match key {
            b"line" => frame.line = json::integer(value),
            b"name" => frame.name = json::unescape(value),
            b"filename" => frame.filename = json::integer(value),
            b"loc" => frame.loc = json::unescape(value),
            _ => {}
        }
        true
    });
    frame
}

/// Whether a file belongs to PyTorch rather than to the user.
pub fn is_framework(file: &str) -> bool {
    file.starts_with("torch/") || file.contains("-packages/torch/") || file.contains("/torch/_dynamo/")
}

/// Reads the value of a `str` record: `["<text>", <id>]`.
pub fn parse_interned(text: &[u8]) -> Option<(i64, String)> {
    let mut scanner = json::Scanner::new(text);
    scanner.expect(b'[', "an array").ok()?;
    let string = scanner.value().ok()?;
    scanner.expect(b',', "a comma").ok()?;
    let id = scanner.value().ok()?;
    scanner.expect(b']', "the end of the array").ok()?;
    Some((json::integer(scanner.slice(id))?, json::unescape(scanner.slice(string))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_fields_lose_only_themselves() {
        let frames =
            parse_stack(br#"[{"line": null, "name": "f", "filename": -1}, 3, {"line": -5, "name": 1, "loc": null}]"#);
        assert_eq!(frames.len(), 3);
        assert_eq!(frames[0], Frame { name: Some("f".into()), filename: Some(-1), ..Frame::default() });
        assert_eq!(frames[2], Frame { line: Some(-5), ..Frame::default() });
        assert!(parse_stack(b"null").is_empty());
    }

    #[test]
    fn interned_strings() {
        assert_eq!(parse_interned(br#"["/a/\u00e9.py", 7]"#), Some((7, "/a/é.py".into())));
        assert_eq!(parse_interned(br#"["x", "7"]"#), None);
    }
}
