//! The Content-Security-Policy of pages: the report's own, and what a user's header or a custom parser changes
//! in it.

use std::borrow::Cow;
use std::iter;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};
use sha2::{Digest, Sha256};

use super::html::POLICY;

/// Where files of the report's own may come from.
const OWN_FILES: &str = "'self' file:";

/// The policy of a page with the user's own header: its inline styles and scripts may run, each by its hash, and
/// nothing else may.
pub(super) fn with_header(header_html: &str) -> Cow<'static, str> {
    let Inline { scripts, styles } = Inline::of(header_html);
    if scripts.is_empty() && styles.is_empty() {
        return Cow::Borrowed(POLICY);
    }
    let allow = |policy: &str, directive: &str, texts: &[Vec<u8>]| {
        let own = format!("{directive} {OWN_FILES}");
        let allowed: Vec<String> = iter::once(own.clone()).chain(texts.iter().map(|text| hash(text))).collect();
        policy.replace(&own, &allowed.join(" "))
    };
    Cow::Owned(allow(&allow(POLICY, "script-src", &scripts), "style-src", &styles))
}

/// The policy of a page that a custom parser wrote: no script at all. What a log holds may have got into it, and a
/// file of the report that holds a payload is a script as soon as a page says so.
pub(super) fn without_scripts() -> String {
    POLICY.replace(&format!("script-src {OWN_FILES}"), "script-src 'none'")
}

fn hash(text: &[u8]) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Texts of inline elements.
#[derive(Debug, Default, PartialEq, Eq)]
struct Inline {
    scripts: Vec<Vec<u8>>,
    styles: Vec<Vec<u8>>,
}

impl Inline {
    /// Finds them as a browser does: by the tokens of the standard, in which line ends are LF and a NUL of a script
    /// is U+FFFD. Comments, text areas and attributes hold none.
    fn of(html: &str) -> Self {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        let mut found = Self::default();
        // The element that is open: its name, and its text so far.
        let mut open: Option<(&str, Vec<u8>)> = None;
        for token in Tokenizer::new_with_emitter(html, emitter) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) => {
                    open = match tag.name.as_slice() {
                        b"script" if !tag.attributes.contains_key(&b"src"[..]) => Some(("script", Vec::new())),
                        b"style" => Some(("style", Vec::new())),
                        _ => None,
                    };
                }
                Token::String(text) => {
                    if let Some((_, so_far)) = &mut open {
                        so_far.extend_from_slice(&text);
                    }
                }
                Token::EndTag(_) => match open.take() {
                    Some(("script", text)) => found.scripts.push(text),
                    Some((_, text)) => found.styles.push(text),
                    None => {}
                },
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(html: &str) -> Vec<String> {
        Inline::of(html).scripts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect()
    }

    #[test]
    fn the_policy_gains_the_hashes_of_the_header_and_nothing_else() {
        let policy = with_header("<style>p { color: red }</style><SCRIPT>go()</SCRIPT >");
        let go = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(b"go()")));
        let style = hash(b"p { color: red }");
        assert!(policy.contains(&format!("script-src 'self' file: {go};")), "{policy}");
        assert!(policy.contains(&format!("style-src 'self' file: {style};")), "{policy}");
        let back = policy.replace(&format!(" {go}"), "").replace(&format!(" {style}"), "");
        assert_eq!(back, POLICY);
        assert_eq!(hash(b""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }

    #[test]
    fn most_headers_change_nothing() {
        for header in [
            "",
            "<b>ours</b>",
            "<script src=\"x.js\"></script>",
            "<script SRC></script>",
            "<!-- <script>a()</script> -->",
            "<textarea><style>p {}</style></textarea>",
            "<title><script>a()</script></title>",
            "<p title=\"<script>a()</script>\">",
            "<script>never closed",
            "<p style=\"color: red\" onclick=\"a()\">",
        ] {
            assert_eq!(with_header(header), POLICY, "{header}");
        }
    }

    #[test]
    fn texts_are_those_that_a_browser_hashes() {
        assert_eq!(scripts("<script>a\r\nb\rc</script>"), ["a\nb\nc"]);
        assert_eq!(scripts("<script>a\0b</script>"), ["a\u{FFFD}b"]);
        assert_eq!(scripts("<script>\n'&lt;' < \"</b>\"</script>"), ["\n'&lt;' < \"</b>\""]);
        assert_eq!(scripts("<script><!-- <script></script> --></script>"), ["<!-- <script></script> -->"]);
        assert_eq!(scripts("<script>a</script><p><script></script><script type=module>é</script>"), ["a", "", "é"]);
    }

    #[test]
    fn a_parsers_page_runs_nothing() {
        let policy = without_scripts();
        assert!(policy.contains("script-src 'none';") && policy.contains("style-src 'self' file:;"), "{policy}");
    }
}
