//! The prefix of a record: `V1129 23:51:41.631000 10447 torch/x.py:303] {`.
//!
//! Written by `TorchLogsFormatter` in `torch/_logging/_internal.py`. The third field is the process id
//! since PyTorch 2.5, a thread id before.

use super::time::WallTime;

/// A parsed prefix. Numbers that do not fit are `None`; the record is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix<'a> {
    /// Level letter, `V` in a trace.
    pub level: u8,
    /// Wall time; `None` when it names no real day or time.
    pub time: Option<WallTime>,
    /// Process id (thread id in PyTorch 2.3 and 2.4).
    pub thread: Option<u64>,
    /// Path of the emitting source file, as written.
    pub path: &'a [u8],
    /// Line in that file.
    pub lineno: Option<u32>,
    /// Offset of the record's JSON, counted from the start of the prefix.
    pub json_at: usize,
}

/// No path is longer (`PATH_MAX` is 4,096); the search for its end stops there.
const LONGEST_PATH: usize = 8192;

/// Bytes of level, date and time up to the blank before the id.
const FIXED: usize = "V1129 23:51:41.631000".len();

/// Reads the prefix at the very start of `line`.
pub fn parse(line: &[u8]) -> Option<Prefix<'_>> {
    let fixed = line.get(..FIXED)?;
    let &[level, m1, m2, d1, d2, b' ', h1, h2, b':', n1, n2, b':', s1, s2, b'.', u1, u2, u3, u4, u5, u6] = fixed else {
        return None;
    };
    if !matches!(level, b'V' | b'I' | b'W' | b'E' | b'C') {
        return None;
    }
    let two = |a: u8, b: u8| Some(digit(a)? * 10 + digit(b)?);
    let (month, day) = (two(m1, m2)?, two(d1, d2)?);
    let (hour, minute, second) = (two(h1, h2)?, two(n1, n2)?, two(s1, s2)?);
    let mut micro = 0;
    for byte in [u1, u2, u3, u4, u5, u6] {
        micro = micro * 10 + u32::from(digit(byte)?);
    }
    let after = line.get(FIXED..)?.strip_prefix(b" ")?;
    let id_len = number_len(after);
    let (id, rest) = after.split_at_checked(id_len).filter(|(id, _)| !id.is_empty())?;
    let path_and_line = rest.strip_prefix(b" ")?;
    let (path, lineno, end) = place(path_and_line)?;
    Some(Prefix {
        level,
        time: WallTime::new(month, day, hour, minute, second, micro),
        thread: number(id),
        path,
        lineno: number(lineno),
        json_at: FIXED + 1 + id_len + 1 + end,
    })
}

/// Bytes of the whole number at the start of `text`; 0 where there is none. A sign makes it a number that does not
/// fit, and no other record.
fn number_len(text: &[u8]) -> usize {
    let sign = usize::from(text.first() == Some(&b'-'));
    let digits = text.iter().skip(sign).take_while(|b| b.is_ascii_digit()).count();
    if digits > 0 { sign + digits } else { 0 }
}

/// Splits `torch/x.py:303] {…` at the first `:<number>] {`; the offset is that of the brace.
fn place(text: &[u8]) -> Option<(&[u8], &[u8], usize)> {
    for colon in memchr::memchr_iter(b':', text.get(..LONGEST_PATH.min(text.len()))?) {
        let after = text.get(colon + 1..)?;
        let digits = number_len(after);
        if digits > 0 && colon > 0 && after.get(digits..digits + 3) == Some(b"] {") {
            return Some((text.get(..colon)?, after.get(..digits)?, colon + 1 + digits + 2));
        }
    }
    None
}

/// Whether `text`, which ends where the log does, may be the beginning of a prefix: as far as it goes it has a
/// prefix's shape, and what follows its path and line has not begun.
pub fn may_begin(text: &[u8]) -> bool {
    const SHAPE: &[u8] = b"V0000 00:00:00.000000 0";
    let fits = |(byte, shape): (&u8, &u8)| match shape {
        b'V' => matches!(byte, b'V' | b'I' | b'W' | b'E' | b'C'),
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    let after = text.get(SHAPE.len()..).unwrap_or_default();
    let open = !text.ends_with(b"\n");
    open && text.iter().zip(SHAPE).all(fits)
        && memchr::memmem::find(after, b"] ").is_none_or(|at| at + 2 == after.len())
}

fn digit(byte: u8) -> Option<u8> {
    byte.is_ascii_digit().then(|| byte - b'0')
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Finds the first prefix at `from` or later in `line`; yields its offset.
///
/// Used where a record does not start its line: text from a log pipeline, or a torn record.
pub fn find(line: &[u8], from: usize) -> Option<usize> {
    let tail = line.get(from..)?;
    // A prefix has a blank after five bytes; look only there.
    memchr::memchr_iter(b' ', tail)
        .filter_map(|blank| blank.checked_sub(5))
        .find(|&start| tail.get(start..).and_then(parse).is_some())
        .map(|start| from + start)
}

/// How many bytes of known harmless text (`[rank0]:`, a byte order mark) stand before the record in `line`.
pub fn harmless_lead(line: &[u8]) -> usize {
    let bom = if line.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let rest = line.get(bom..).unwrap_or_default();
    let Some(ranked) = rest.strip_prefix(b"[rank") else { return bom };
    let digits = ranked.iter().take_while(|b| b.is_ascii_digit()).count();
    match ranked.get(digits..digits + 2) {
        Some(b"]:") if digits > 0 => {
            let blank = usize::from(ranked.get(digits + 2) == Some(&b' '));
            bom + b"[rank".len() + digits + 2 + blank
        }
        _ => bom,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b"V1129 23:51:41.631000 10447 torch/_dynamo/convert_frame.py:303] {\"a\": {}}";

    #[test]
    fn reads_a_real_prefix() {
        let prefix = parse(LINE).unwrap();
        assert_eq!(prefix.thread, Some(10447));
        assert_eq!(prefix.path, b"torch/_dynamo/convert_frame.py");
        assert_eq!(prefix.lineno, Some(303));
        assert_eq!(LINE[prefix.json_at], b'{');
    }

    #[test]
    fn odd_paths_and_numbers_lose_only_themselves() {
        let prefix = parse(b"V1129 23:51:41.631000 1 C:\\a b\\x.py:12] {}").unwrap();
        assert_eq!(prefix.path, b"C:\\a b\\x.py");
        let prefix = parse(b"V1399 23:51:41.631000 99999999999999999999999 x.py:99999999999999] {}").unwrap();
        assert_eq!((prefix.time, prefix.thread, prefix.lineno), (None, None, None));
        let prefix = parse(b"V1129 23:99:41.631000 -1 x.py:-12] {}").unwrap();
        assert_eq!((prefix.time, prefix.thread, prefix.lineno), (None, None, None));
    }

    #[test]
    fn ordinary_log_lines_are_no_records() {
        for line in [
            &b"V1129 23:51:41.631000 1 torch/x.py:3] [0/0] text"[..],
            b"",
            b"V1129",
            b"Traceback",
            b"V1129 23:51:41.631000 - x.py:3] {}",
            b"V1129 23:51:41.631000 1 x.py:-] {}",
            b"\tV1129 23:51:41.631000 1 x.py:3] {}",
        ] {
            assert_eq!(parse(line), None);
        }
    }

    #[test]
    fn prefixes_inside_a_line_are_found() {
        let torn = [&b"V1129 23:51:41.631000 1 x.py:3] {\"a\": "[..], LINE].concat();
        assert_eq!(find(&torn, 1), Some(torn.len() - LINE.len()));
        assert_eq!(harmless_lead(b"\xEF\xBB\xBF[rank12]: V1"), 3 + 10);
        assert_eq!(harmless_lead(b"[rank]:"), 0);
    }
}
