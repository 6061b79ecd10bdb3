//! What differs between the ranks of any job, taken out of texts before they are compared: addresses, folders, hashes
//! (as between any two processes), the number of the device that a rank has, the name of its process group, and its own
//! number in a name.

use crate::analysis::noise::{plain, plain_guard};
use crate::format::fx_numbers::is_index_of_device;

/// What stands before the number of a device.
const DEVICES: [&str; 6] = ["cuda:", "xpu:", "hpu:", "npu:", "mtia:", "device="];

/// A text of a rank without what differs between processes.
pub(in crate::analysis::ranks) fn plain_text(text: &str, rank: Option<i32>) -> String {
    without_own(plain(text), rank)
}

/// The same for a guard.
pub(in crate::analysis::ranks) fn plain_condition(text: &str, rank: Option<i32>) -> String {
    without_own(without_groups(plain_guard(text)), rank)
}

/// Whether a text may name a rank.
pub(super) fn names_a_rank(text: &[u8]) -> bool {
    [&b"rank"[..], b"RANK", b"Rank"].iter().any(|word| memchr::memmem::find(text, word).is_some())
}

/// The condition with `#` for the names of process groups.
fn without_groups(text: String) -> String {
    const MARK: &str = "group_name == ";
    if !text.contains(MARK) {
        return text;
    }
    let mut parts = text.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(MARK);
        let quote = part.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
        let after = quote.and_then(|quote| part.get(1..)?.split_once(quote));
        match after {
            Some((_, after)) => {
                out.push('#');
                out.push_str(after);
            }
            None => out.push_str(part),
        }
    }
    out
}

/// The text with `#` for numbers of devices, and for the number of the rank itself where it is called so: `rank_3`,
/// `rank 3`, `[rank3]`. Names that count frames, `#_c4/0` behind an address, lose the count.
pub(super) fn without_own(text: String, rank: Option<i32>) -> String {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(from) = bytes.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)) {
        at += from;
        let rest = bytes.get(at..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let before = bytes.get(..at).unwrap_or_default();
        let after = rest.get(digits..).unwrap_or_default();
        let (number, sign) = (rest.get(..digits).unwrap_or_default(), "#");
        let skipped = if is_device(before) || rank.is_some_and(|rank| is_own(before, number, after, rank)) {
            Some((at, digits, sign))
        } else {
            frame_count(before, after).map(|more| (at - 2, digits + more, ""))
        };
        if let Some((from, len, sign)) = skipped {
            out.push_str(text.get(copied..from).unwrap_or_default());
            out.push_str(sign);
            copied = at + len;
        }
        at += digits;
    }
    if copied == 0 {
        return text;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// Whether the number behind this is that of a device.
fn is_device(before: &[u8]) -> bool {
    // `my_device=3` is a name of the program.
    let own_word = |len: usize| {
        let start = before.len().checked_sub(len + 1).and_then(|at| before.get(at));
        !start.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    DEVICES.iter().any(|mark| before.ends_with(mark.as_bytes()) && own_word(mark.len())) || is_index_of_device(before)
}

/// Whether the number behind `before` is that of the rank, said to be one.
fn is_own(before: &[u8], number: &[u8], after: &[u8], rank: i32) -> bool {
    let separator = before.iter().rev().take(2).take_while(|b| matches!(b, b'_' | b' ' | b'-' | b'=' | b':')).count();
    let word = before.get(..before.len() - separator).unwrap_or_default();
    let is_rank = word.len() >= 4 && word.get(word.len() - 4..).is_some_and(|w| w.eq_ignore_ascii_case(b"rank"));
    // `rank 2.5` is no rank.
    let is_whole = !(after.first() == Some(&b'.') && after.get(1).is_some_and(u8::is_ascii_digit));
    is_rank && is_whole && std::str::from_utf8(number).ok().and_then(|n| n.parse::<i32>().ok()) == Some(rank)
}

/// Bytes behind the first number of `#_c4/0`, the name of a frame behind an address.
fn frame_count(before: &[u8], after: &[u8]) -> Option<usize> {
    let digits = after.strip_prefix(b"/")?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (before.ends_with(b"#_c") && digits > 0).then_some(digits + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_rank_in_its_own_names_does_not_count() {
        let of = |text: &str, rank| plain_text(text, Some(rank));
        for (a, b) in [
            ("out of memory on rank 1", "out of memory on rank 2"),
            ("[rank1]: shard_RANK-1", "[rank2]: shard_RANK-2"),
            ("rank=1, rank_1", "rank=2, rank_2"),
        ] {
            assert_eq!(of(a, 1), of(b, 2));
        }
        // The number of another rank, and a value that is one, are what the text is about.
        for text in ["rank 1", "rank 12", "G['rank'] == 2", "rank 2.5", "rank"] {
            assert_eq!(of(text, 2), text);
        }
        assert_eq!(plain_text("rank 1", None), "rank 1");
    }

    #[test]
    fn the_device_of_a_rank_does_not_count() {
        for (text, expected) in [
            (
                "check_tensor(L['x'], torch.float32, device=3, size=[8])",
                "check_tensor(L['x'], torch.float32, device=#, size=[8])",
            ),
            ("device(type='cuda', index=12), cuda:0", "device(type='cuda', index=#), cuda:#"),
            ("device=None, my_index=3, index=3, size=[3]", "device=None, my_index=3, index=3, size=[3]"),
            ("G['__optimizer_#_c4/0']", "G['__optimizer_#']"),
            ("a_c4/0 my_device=3", "a_c4/0 my_device=3"),
            ("cuda:", "cuda:"),
        ] {
            assert_eq!(without_own(text.to_owned(), None), expected);
        }
        assert_eq!(
            plain_condition("___check_obj_id(G['f'], 140184674655888), cuda:7", None),
            "___check_obj_id(G['f'], #), cuda:#"
        );
        assert_eq!(
            plain_condition("G['mesh'].group_name == '12' and L['x'] == 1", None),
            "G['mesh'].group_name == # and L['x'] == 1"
        );
    }
}
