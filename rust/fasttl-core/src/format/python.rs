//! Where strings of Python begin and end in an expression that PyTorch prints.

/// Whether the quote at `at` begins a string: an apostrophe within a word does not.
pub(crate) fn opens_string(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let letters = before.iter().rev().take(3).take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let word = before.get(before.len() - letters..).unwrap_or_default();
    // `b'…'`, `rb"…"`
    letters == 0 || (letters < 3 && word.iter().all(|b| matches!(b.to_ascii_lowercase(), b'b' | b'r' | b'f' | b'u')))
}

/// A string that does not end.
pub(crate) struct Unclosed;

/// The first place outside of strings where `fits` holds for the text from there on.
pub(crate) fn outside_of_strings(text: &[u8], fits: impl Fn(usize, &[u8]) -> bool) -> Result<Option<usize>, Unclosed> {
    let mut quote = None;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match (byte, quote) {
            (b'\\', Some(_)) => at += 1,
            (byte, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => {}
            (b'\'' | b'"', None) if opens_string(text, at) => quote = Some(byte),
            _ if text.get(at..).is_some_and(|rest| fits(at, rest)) => return Ok(Some(at)),
            _ => {}
        }
        at += 1;
    }
    if quote.is_some() { Err(Unclosed) } else { Ok(None) }
}

/// The expression of names, dots and brackets that ends at `end`: `L['x'].y` in `2*L['x'].y.size()`.
pub(crate) fn expression_before(text: &str, end: usize) -> &str {
    let bytes = text.as_bytes();
    let mut at = end;
    let mut depth = 0_u32;
    while let Some(&byte) = at.checked_sub(1).and_then(|at| bytes.get(at)) {
        match byte {
            b')' | b']' => depth += 1,
            b'(' | b'[' if depth == 0 => break,
            b'(' | b'[' => depth -= 1,
            _ if depth > 0 || byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || !byte.is_ascii() => {}
            _ => break,
        }
        at -= 1;
    }
    text.get(at..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> Option<usize> {
        outside_of_strings(text.as_bytes(), |_, rest| rest.starts_with(b"#")).ok().flatten()
    }

    #[test]
    fn signs_within_strings_are_passed_over() {
        assert_eq!(hash("a == 'x # y'  # c"), Some(14));
        assert_eq!(hash(r#"a == "it's #" # c"#), Some(14));
        assert_eq!(hash(r"a == 'it\'s #' # c"), Some(15));
        assert_eq!(hash("a == b'#' # c"), Some(10));
        assert_eq!(hash("it doesn't hold # c"), Some(16));
        assert_eq!(hash("a == 'x"), None);
        assert!(outside_of_strings(b"a == 'x # ", |_, rest| rest.starts_with(b"#")).is_err());
    }

    #[test]
    fn an_expression_is_found_from_its_end() {
        let before = |text: &str| expression_before(text, text.find(".size").unwrap()).to_owned();
        assert_eq!(before("((x.size()[0] % 8)) == 0"), "x");
        assert_eq!(before("Mod(L['x'].size()[0], 8) == 0"), "L['x']");
        assert_eq!(before("2*y.a[f(1)].size()[1]"), "y.a[f(1)]");
        assert_eq!(before("größe.size()"), "größe");
        assert_eq!(before("].size()"), "]");
    }
}
