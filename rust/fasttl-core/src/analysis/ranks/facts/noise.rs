//! What differs between the ranks of any job, taken out of texts before they are compared: addresses, folders, hashes
//! (as between any two processes), the number of the device that a rank has, the name of its process group, and its own
//! number in a name.

use crate::analysis::noise::{plain, plain_guard};

/// What stands before the number of a device.
const DEVICES: [&str; 7] = ["device=", "index=", "cuda:", "xpu:", "hpu:", "npu:", "mtia:"];

/// A text of a rank without what differs between processes.
pub(in crate::analysis::ranks) fn plain_text(text: &str, rank: Option<i32>) -> String {
    without_own_number(without_devices(plain(text)), rank)
}

/// The same for a guard.
pub(in crate::analysis::ranks) fn plain_condition(text: &str, rank: Option<i32>) -> String {
    without_own_number(without_group(without_devices(plain_guard(text))), rank)
}

/// Whether a text may name a rank.
pub(super) fn names_a_rank(text: &[u8]) -> bool {
    [&b"rank"[..], b"RANK", b"Rank"].iter().any(|word| memchr::memmem::find(text, word).is_some())
}

/// The text with `#` for the number of the rank itself where it is called so: `rank_3`, `rank 3`, `[rank3]`.
fn without_own_number(text: String, rank: Option<i32>) -> String {
    let Some(rank) = rank.filter(|_| names_a_rank(text.as_bytes())) else { return text };
    let number = rank.to_string();
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.as_bytes().windows(4).position(|word| word.eq_ignore_ascii_case(b"rank")) {
        let (before, after) = rest.split_at(at + 4);
        out.push_str(before);
        let separator =
            after.bytes().take(2).take_while(|byte| matches!(byte, b'_' | b' ' | b'-' | b'=' | b':')).count();
        let (separator, after) = after.split_at(separator);
        out.push_str(separator);
        let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        rest = match after.strip_prefix(number.as_str()).filter(|rest| !goes_on(rest)) {
            Some(rest) => {
                out.push('#');
                rest
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}

/// The condition with `#` for the name of a process group.
fn without_group(text: String) -> String {
    const MARK: &str = "group_name == ";
    match text.find(MARK) {
        Some(at) => format!("{}{MARK}#", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// The text with `#` for numbers of devices.
pub(super) fn without_devices(text: String) -> String {
    if !DEVICES.iter().any(|mark| text.contains(mark)) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let found = DEVICES.iter().filter_map(|mark| Some((rest.find(mark)? + mark.len(), *mark)));
        let Some((end, mark)) = found.min() else { break };
        let (before, after) = rest.split_at(end);
        out.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        // `my_index=3` is a name of the program.
        let start = before.len() - mark.len();
        let is_word = before.get(..start).and_then(|text| text.chars().next_back());
        let is_word = is_word.is_some_and(|c| c.is_alphanumeric() || c == '_');
        rest = if digits > 0 && !is_word {
            out.push('#');
            after.get(digits..).unwrap_or_default()
        } else {
            after
        };
    }
    out.push_str(rest);
    out
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
            ("device=None, my_index=3, size=[3]", "device=None, my_index=3, size=[3]"),
            ("cuda:", "cuda:"),
        ] {
            assert_eq!(without_devices(text.to_owned()), expected);
        }
        assert_eq!(
            plain_condition("___check_obj_id(G['f'], 140184674655888), cuda:7", None),
            "___check_obj_id(G['f'], #), cuda:#"
        );
        assert_eq!(plain_condition("G['mesh'].group_name == '12'", None), "G['mesh'].group_name == #");
    }
}
