//! What differs between any two processes, taken out of texts before they are compared.

use crate::format::guards::ids::without_ids;

/// Digits from which a decimal number is taken for an address.
const ADDRESS_DIGITS: usize = 13;

/// Letters from which a word with digits in it is a hash.
const HASH_LETTERS: usize = 40;

/// The text with addresses and hashes as `…`, and absolute paths as names of files.
pub(in crate::analysis) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        // Not a division, nor what follows the colon of an address of a page.
        let begins = rest.chars().nth(1).is_some_and(|second| is_word(second) || matches!(second, '.' | '~'));
        if first == '/' && begins && !is_word(before) && before != '/' {
            let path = rest.find(|c: char| !is_in_path(c)).unwrap_or(rest.len());
            let (path, after) = rest.split_at(path);
            // One slash is a division, or the root.
            let name = path.rsplit('/').next().filter(|_| path.matches('/').count() > 1).unwrap_or(path);
            word_of(name, &mut out);
            rest = after;
            before = 'x';
            continue;
        }
        if is_word(first) {
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            out.push_str(if is_noise(word) { "…" } else { without_count(word) });
            rest = after;
        } else {
            out.push(first);
            rest = rest.split_at(first.len_utf8()).1;
        }
        before = first;
    }
    out
}

/// The same for a guard, with `#` for each id of an object: those may be short.
pub(in crate::analysis) fn plain_guard(text: &str) -> String {
    plain(&without_ids(text))
}

/// Appends the name of a file, whose parts may be hashes.
fn word_of(name: &str, out: &mut String) {
    let parts: Vec<&str> = name.split('.').map(|part| if is_noise(part) { "…" } else { part }).collect();
    out.push_str(&parts.join("."));
}

pub(in crate::analysis) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_in_path(c: char) -> bool {
    is_word(c) || matches!(c, '/' | '.' | '-' | '+' | '~' | '@')
}

/// A word without the number at its end, where that counts what the process made or is an address.
fn without_count(word: &str) -> &str {
    match word.rsplit_once('_') {
        Some((stem, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            let counted = stem.starts_with("__builtins_dict__") || number.len() >= ADDRESS_DIGITS;
            if counted { stem } else { word }
        }
        _ => word,
    }
}

/// Whether a word is an address or a hash.
fn is_noise(word: &str) -> bool {
    if let Some(hex) = word.strip_prefix("0x") {
        return hex.len() > 5 && hex.bytes().all(|b| b.is_ascii_hexdigit());
    }
    if word.bytes().all(|b| b.is_ascii_digit()) {
        return word.len() >= ADDRESS_DIGITS;
    }
    word.len() >= HASH_LETTERS
        && word.bytes().all(|b| b.is_ascii_alphanumeric())
        && word.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_paths_and_hashes_do_not_count() {
        for (text, expected) in [
            ("object at 0x7fdefc5d4410>", "object at …>"),
            ("x == 123456789012", "x == 123456789012"),
            ("id 140184674655888", "id …"),
            ("File /tmp/a b/x.py:15", "File a b/x.py:15"),
            ("'/home/me/job/x.py:15'", "'x.py:15'"),
            ("a/b / c //d x/y/z", "a/b / c //d x/y/z"),
            ("/tmp/cache/il/cilmnjix3sv3iiqnvaa23fehch254mao2qtsokwcrhnzwhwtqgcq.py", "….py"),
            ("G['__builtins_dict___3'] __fn_140184674655888 a_12", "G['__builtins_dict__'] __fn a_12"),
            ("é/tmp/x 0x12 0xzzzzzzzz", "é/tmp/x 0x12 0xzzzzzzzz"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn only_guards_on_identity_have_short_addresses() {
        assert_eq!(plain_guard("___check_obj_id(G['f'], 94539398)"), "___check_obj_id(G['f'], #)");
        assert_eq!(plain_guard("L['n'] == 94539398"), "L['n'] == 94539398");
        assert_eq!(plain_guard("___check_obj_id(L['n'], 9453)"), "___check_obj_id(L['n'], 9453)");
    }
}
