//! Guards as a list in JSON: `dynamo_guards`, which PyTorch hardly writes since 2.6.

use std::borrow::Cow;

use crate::format::frame::{Frame, parse_stack};
use crate::format::json::{self, Scanner};

/// A guard of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed<'t> {
    /// The condition; text that is no guard as it stands.
    pub code: Cow<'t, str>,
    /// Where the framework added it, outermost first.
    pub stack: Option<Vec<Frame>>,
    /// Where the program was at that time, outermost first.
    pub user_stack: Option<Vec<Frame>>,
}

/// Reads the list. Any text is read: an element without a condition, and what is no list or comes behind a fault,
/// are conditions as they stand.
pub fn parse(text: &[u8]) -> Vec<Listed<'_>> {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(text);
    let mut rest = 0;
    if scanner.expect(b'[', "a list").is_ok() {
        loop {
            scanner.skip_space();
            rest = scanner.pos();
            if scanner.eat(b']') {
                rest = scanner.pos();
                break;
            }
            let Ok(range) = scanner.value() else { break };
            found.push(guard(scanner.slice(range)));
            scanner.skip_space();
            rest = scanner.pos();
            if !scanner.eat(b',') {
                if scanner.eat(b']') {
                    rest = scanner.pos();
                }
                break;
            }
        }
    }
    let rest = text.get(rest..).unwrap_or_default().trim_ascii();
    if !rest.is_empty() {
        found.push(Listed { code: String::from_utf8_lossy(rest), ..Listed::default() });
    }
    found
}

fn guard(element: &[u8]) -> Listed<'_> {
    let code = json::member(element, b"code").and_then(json::unescape);
    let stack = |name| json::member(element, name).filter(|stack| stack.starts_with(b"[")).map(parse_stack);
    Listed {
        code: code.map_or_else(|| String::from_utf8_lossy(element), Cow::Owned),
        stack: stack(b"stack"),
        user_stack: stack(b"user_stack"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_stacks() {
        let text = br#"[
{"code": "a is \"b\"", "stack": [{"line": 1}, 3], "user_stack": null},
{"code": "c", "stack": [], "user_stack": [{"line": 2, "name": "f"}]}
]"#;
        let found = parse(text);
        assert_eq!((found[0].code.as_ref(), found[1].code.as_ref(), found.len()), ("a is \"b\"", "c", 2));
        assert_eq!((found[0].stack.as_ref().unwrap().len(), found[0].user_stack.as_ref()), (2, None));
        assert_eq!(found[1].stack, Some(Vec::new()));
        assert_eq!(found[1].user_stack.as_ref().unwrap()[0].line, Some(2));
    }

    #[test]
    fn nothing_of_a_broken_list_is_lost() {
        let codes = |text: &str| parse(text.as_bytes()).into_iter().map(|g| g.code.into_owned()).collect::<Vec<_>>();
        assert_eq!(codes("[\n\n]"), [] as [&str; 0]);
        assert_eq!(codes(""), [] as [&str; 0]);
        assert_eq!(codes("no list"), ["no list"]);
        assert_eq!(codes(r#"[{"code": 3}, 7, {"code": "x"}, {"co"#), [r#"{"code": 3}"#, "7", "x", r#"{"co"#]);
        assert_eq!(codes("[1] 2"), ["1", "2"]);
        assert_eq!(codes("[1 2"), ["1", "2"]);
        assert_eq!(codes("[1, "), ["1"]);
        assert_eq!(parse(b"[\"\xff\"").len(), 1);
    }
}
