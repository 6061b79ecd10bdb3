//! What differs between the ranks of any job, taken out of texts before they are compared: addresses, folders, hashes
//! (as between any two processes), the number of the device that a rank has, and the name of its process group.

use crate::analysis::noise::{plain, plain_guard};

/// What stands before the number of a device.
const DEVICES: [&str; 7] = ["device=", "index=", "cuda:", "xpu:", "hpu:", "npu:", "mtia:"];

/// A text without what differs between processes.
pub(super) fn plain_text(text: &str) -> String {
    without_devices(plain(text))
}

/// The same for a guard.
pub(super) fn plain_condition(text: &str) -> String {
    without_group(without_devices(plain_guard(text)))
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
            plain_condition("___check_obj_id(G['f'], 140184674655888), cuda:7"),
            "___check_obj_id(G['f'], #), cuda:#"
        );
        assert_eq!(plain_condition("G['mesh'].group_name == '12'"), "G['mesh'].group_name == #");
    }
}
