//! PyTorch's names of log files: `dedicated_log_torch_trace_[rank_<N>_]<R>.log`.
//!
//! `<R>` has eight characters of `[a-z0-9_]` and may start with `_`, so its length tells where it begins.
//! Collected logs may have lost it, or have gained a suffix such as `.gz`.

const STEM: &str = "dedicated_log_torch_trace_";

/// Whether a file is named as PyTorch names its trace logs.
pub(super) fn is_trace_name(name: &str) -> bool {
    name.starts_with(STEM)
}

/// The rank in a file's name, if it has one.
pub fn rank_in_name(name: &str) -> Option<i32> {
    let rest = name.strip_prefix(STEM)?.strip_prefix("rank_")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, tail) = rest.split_at_checked(digits)?;
    // An eight-character random part may itself begin with `rank_7`; then no `_` or `.` follows the digits.
    if number.is_empty() || !(tail.is_empty() || tail.starts_with('_') || tail.starts_with('.')) {
        return None;
    }
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        let rank = |name: &str| rank_in_name(&format!("{STEM}{name}"));
        assert_eq!(rank("rank_0__v9phrtf.log"), Some(0));
        assert_eq!(rank("rank_12_abcdefgh.log"), Some(12));
        assert_eq!(rank("rank_3.log"), Some(3));
        assert_eq!(rank("rank_3_x.log.gz"), Some(3));
        assert_eq!(rank("_su5jyhc.log"), None);
        assert_eq!(rank("rank_7ab.log"), None);
        assert_eq!(rank("rank_99999999999_abcdefgh.log"), None);
        assert_eq!(rank_in_name("rank_3.log"), None);
    }
}
