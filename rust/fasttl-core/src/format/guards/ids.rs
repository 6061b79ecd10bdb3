//! Conditions without what differs from process to process: addresses, and ids of objects, which are addresses too.

use std::borrow::Cow;

/// What stands for an id that was left out.
const BLANK: char = '#';

/// Behind one of these, numbers are ids: `___check_obj_id(G['torch'], 139813556720544)`, `… ids == [139…, 139…]`.
const BEFORE_IDS: [&[u8]; 3] = [b"___check_", b"ids == ", b"id("];

/// Fewest digits of an id behind one of these. No object lies lower.
const SHORT: usize = 6;

/// Fewest digits of an id within a name, such as `___check_metadata_140433249317504_c13/0`.
const IN_NAME: usize = 9;

/// The text with `#` in the place of each address and of each id of an object. Other numbers stay, however large:
/// they are sizes and constants of the program.
///
/// ```
/// use fasttl_core::format::guards::ids::without_ids;
///
/// assert_eq!(without_ids("___check_obj_id(L['f'], 139813556720544), type=<class 'X'>"), "___check_obj_id(L['f'], #), type=<class 'X'>");
/// assert_eq!(without_ids("L['n'] == 139813556720544"), "L['n'] == 139813556720544");
/// ```
pub fn without_ids(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied, mut expected) = (0, 0, false);
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        if !byte.is_ascii_digit() {
            let name_goes_on = before.is_some_and(|b| b.is_ascii_alphanumeric());
            expected |= !name_goes_on && BEFORE_IDS.iter().any(|mark| rest.starts_with(mark));
            at += 1;
            continue;
        }
        let len = address(rest, before).or_else(|| id(rest, before, expected));
        if let Some(len) = len {
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push(BLANK);
            copied = at + len;
        }
        at += len.unwrap_or_else(|| digits(rest));
    }
    if out.is_empty() && copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Length of an address as `repr` writes it: `0x7f2c5a3d1e50`.
fn address(rest: &[u8], before: Option<u8>) -> Option<usize> {
    let hex = rest.strip_prefix(b"0x").filter(|_| !before.is_some_and(|b| b.is_ascii_alphanumeric()))?;
    let len = hex.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    (len > 0).then_some(len + 2)
}

/// Length of the id that a text begins with.
fn id(rest: &[u8], before: Option<u8>, expected: bool) -> Option<usize> {
    let len = digits(rest);
    let in_name = before.is_some_and(|b| b == b'_' || b.is_ascii_alphabetic());
    let in_fraction = before == Some(b'.') || rest.get(len) == Some(&b'.');
    let is_id = !in_fraction && (in_name && len >= IN_NAME || expected && len >= SHORT);
    is_id.then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_addresses_are_left_out() {
        for (text, blank) in [
            (
                "___check_type_id(L['x'], 94262915506896), type=<class 'torch.Tensor'>",
                "___check_type_id(L['x'], #), type=<class 'torch.Tensor'>",
            ),
            ("___check_metadata_140433249317504_c13/0", "___check_metadata_#_c13/0"),
            ("top_saved_tensors_hooks ids == [139813556720544, 9412345]", "top_saved_tensors_hooks ids == [#, #]"),
            ("id(L['x']) == 7628576", "id(L['x']) == #"),
            ("G['__closure_139813556720544_c0']", "G['__closure_#_c0']"),
            ("___dict_contains(<function f at 0x7f2c5a3d1e50>, L['d'])", "___dict_contains(<function f at #>, L['d'])"),
            ("0x7f 0x7f", "# #"),
        ] {
            assert_eq!(without_ids(text), blank);
        }
    }

    #[test]
    fn numbers_of_the_program_stay() {
        for text in [
            "",
            "L['n'] == 139813556720544",
            "check_tensor(L['x'], size=[1000000, 3], stride=[3, 1])",
            "L['f'] == 0.333333333333333",
            "valid(L['x']) == 1234567",
            "___check_x(0.1234567, 123456.5)",
            "L['x_20240101'] == 0xg",
            "L['size0x10']",
        ] {
            assert!(matches!(without_ids(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
