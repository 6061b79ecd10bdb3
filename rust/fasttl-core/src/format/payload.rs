//! The payload of a record: the lines after its head, each with a TAB in front.
//!
//! The text is the lines without their TABs, joined by line feeds. Only LF ends a line: CR, form feed,
//! U+2028 and NUL are part of the text. A blank line inside a payload is noise of the transport (an empty
//! line of the text is a lone TAB) and belongs to no line.

use md5::{Digest, Md5};
use wide::i8x16;

use super::vectors::equal;

/// Bytes that are gathered before they are hashed.
const HASHED_AT_ONCE: usize = 64 << 10;

/// How lines of the file end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// Line feed: what PyTorch writes.
    #[default]
    Lf,
    /// Carriage return and line feed on every line, heads included (Windows, some transports).
    CrLf,
}

impl LineEnd {
    /// `line` (without its LF) without the CR that belongs to the line end.
    pub fn strip(self, line: &[u8]) -> &[u8] {
        match self {
            Self::Lf => line,
            Self::CrLf => line.strip_suffix(b"\r").unwrap_or(line),
        }
    }
}

/// Cuts `bytes` after the first LF: the line without its LF, and the length with it.
pub fn next_line(bytes: &[u8]) -> (&[u8], usize) {
    match memchr::memchr(b'\n', bytes) {
        Some(at) => (bytes.get(..at).unwrap_or(bytes), at + 1),
        None => (bytes, bytes.len()),
    }
}

/// Passes over lines that begin with a TAB, from the start of one on. Yields their bytes and how many line feeds
/// these have. What ends the lines may be a blank one, behind which there are more.
pub fn tabbed_lines(bytes: &[u8]) -> (usize, u64) {
    let (mut at, mut line_feeds) = lines_without_end(bytes);
    let rest = bytes.get(at..).unwrap_or_default();
    let next = rest.get(1..).unwrap_or_default();
    // Each byte beside the one after it: lines end at a line feed that no TAB follows.
    for (here, after) in rest.as_chunks().0.iter().zip(next.as_chunks().0) {
        let ends = equal(here, b'\n').to_bitmask();
        let last = ends & !equal(after, b'\t').to_bitmask();
        if last != 0 {
            let len = last.trailing_zeros();
            let passed = ends & ((2_u32 << len) - 1);
            return (at + len as usize + 1, line_feeds + u64::from(passed.count_ones()));
        }
        line_feeds += u64::from(ends.count_ones());
        at += here.len();
    }
    for end in memchr::memchr_iter(b'\n', bytes.get(at..).unwrap_or_default()) {
        line_feeds += 1;
        if bytes.get(at + end + 1) != Some(&b'\t') {
            return (at + end + 1, line_feeds);
        }
    }
    (bytes.len(), line_feeds)
}

/// The quick part of [`tabbed_lines`]: blocks of 64 bytes in which the lines do not end, as far as there are such.
/// Line feeds are counted in the vectors, since a look at each block with one would be a branch that nobody foresees.
fn lines_without_end(bytes: &[u8]) -> (usize, u64) {
    // A lane counts no further than this.
    const BLOCKS: usize = i8::MAX as usize / 4;
    let (mut at, mut line_feeds) = (0, 0);
    let mut count = i8x16::splat(0);
    let sum = |count: i8x16| count.to_array().iter().map(|n| u64::from(n.cast_unsigned())).sum::<u64>();
    let blocks = bytes.as_chunks::<64>().0.iter().zip(bytes.get(1..).unwrap_or_default().as_chunks::<64>().0);
    for (nth, (here, after)) in blocks.enumerate() {
        let (mut ends, mut feeds) = (i8x16::splat(0), i8x16::splat(0));
        for (here, after) in here.as_chunks().0.iter().zip(after.as_chunks().0) {
            let feed = equal(here, b'\n');
            ends |= feed & !equal(after, b'\t');
            feeds -= feed;
        }
        if ends.to_bitmask() != 0 {
            break;
        }
        count += feeds;
        at += here.len();
        if nth % BLOCKS == BLOCKS - 1 {
            line_feeds += sum(count);
            count = i8x16::splat(0);
        }
    }
    (at, line_feeds + sum(count))
}

/// A payload as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    raw: &'a [u8],
    line_end: LineEnd,
}

impl<'a> Payload<'a> {
    /// The payload whose lines, TABs included, are `raw`.
    pub const fn new(raw: &'a [u8], line_end: LineEnd) -> Self {
        Self { raw, line_end }
    }

    /// The lines as they stand in the file, TABs included.
    pub const fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Calls `each` with the pieces of the text, in order; joined they are the text.
    pub fn pieces(&self, mut each: impl FnMut(&'a [u8])) {
        let (mut rest, mut first) = (self.raw, true);
        while !rest.is_empty() {
            let (line, len) = next_line(rest);
            rest = rest.get(len..).unwrap_or_default();
            if let Some(text) = self.line_end.strip(line).strip_prefix(b"\t") {
                if !first {
                    each(b"\n");
                }
                first = false;
                each(text);
            }
        }
    }

    /// Writes the text to `out`, however large it is, without holding it.
    pub fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        let mut written = Ok(());
        self.pieces(|piece| {
            if written.is_ok() {
                written = out.write_all(piece);
            }
        });
        written
    }

    /// Appends the text to `out`.
    pub fn read_into(&self, out: &mut Vec<u8>) {
        out.reserve(self.raw.len());
        self.pieces(|piece| out.extend_from_slice(piece));
    }

    /// MD5 of the text, however large it is, without holding it.
    pub fn md5(&self) -> [u8; 16] {
        let mut hash = Md5::new();
        // The lines are short: gathered, they reach the hash in blocks.
        let mut block = Vec::with_capacity(HASHED_AT_ONCE);
        self.pieces(|piece| {
            if block.len() + piece.len() > HASHED_AT_ONCE {
                hash.update(&block);
                block.clear();
            }
            if piece.len() > HASHED_AT_ONCE { hash.update(piece) } else { block.extend_from_slice(piece) }
        });
        hash.update(&block);
        hash.finalize().into()
    }

    /// Bytes of the text.
    pub fn text_len(&self) -> usize {
        let mut len = 0;
        self.pieces(|piece| len += piece.len());
        len
    }

    /// The text.
    pub fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.read_into(&mut out);
        out
    }
}

/// MD5 of a payload's text, as `has_payload` gives it.
pub fn md5(text: &[u8]) -> [u8; 16] {
    Md5::digest(text).into()
}

/// Reads 32 hexadecimal digits of either case.
pub fn parse_md5(hex: &[u8]) -> Option<[u8; 16]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    };
    let mut out = [0_u8; 16];
    let (pairs, rest) = hex.as_chunks::<2>();
    if pairs.len() != out.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in out.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(out)
}

/// 32 lower-case hexadecimal digits.
pub fn md5_hex(md5: [u8; 16]) -> String {
    String::from_utf8_lossy(&md5_digits(md5)).into_owned()
}

/// The same, as bytes.
pub fn md5_digits(md5: [u8; 16]) -> [u8; 32] {
    let digit = |half: u8| if half < 10 { b'0' + half } else { b'a' + half - 10 };
    let mut digits = [0; 32];
    for ([high, low], byte) in digits.as_chunks_mut().0.iter_mut().zip(md5) {
        (*high, *low) = (digit(byte >> 4), digit(byte & 15));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_and_last_line_feed_go() {
        assert_eq!(Payload::new(b"\ta\n\t\n\tb\r\n", LineEnd::Lf).text(), b"a\n\nb\r");
        assert_eq!(Payload::new(b"\ta\r\n\r\n\tb\r\n", LineEnd::CrLf).text(), b"a\nb");
        assert_eq!(Payload::new(b"\t\n", LineEnd::Lf).text(), b"");
        assert_eq!(Payload::new(b"\tcut", LineEnd::Lf).text(), b"cut");
    }

    #[test]
    fn lines_end_where_no_tab_follows() {
        for last in 0..50 {
            for first in 0..20 {
                let lines = format!("\t{}\n\t{}", "a".repeat(first), "b".repeat(last));
                let more = "\n\tx".repeat(9);
                for (after, len, line_feeds) in [("", 0, 1), ("\nV1\n\tz", 1, 2), ("\n\n\tz", 1, 2), (&more, 27, 10)] {
                    let text = lines.clone() + after;
                    assert_eq!(tabbed_lines(text.as_bytes()), (lines.len() + len, line_feeds), "{text:?}");
                }
            }
        }
        // More line feeds than a lane counts, and lines that end at any place behind them.
        for more in 0..70 {
            let text = "\t\n".repeat(20_000) + &"\tx\n".repeat(more) + "V";
            assert_eq!(tabbed_lines(text.as_bytes()), (text.len() - 1, 20_000 + more as u64));
        }
        assert_eq!(tabbed_lines(b"\t\n"), (2, 1));
        assert_eq!(tabbed_lines(b"\t"), (1, 0));
    }

    #[test]
    fn a_text_is_hashed_and_counted_in_pieces() {
        for lines in [0, 1, 2, 700, 70_000] {
            let long = [b"\t".as_slice(), &vec![b'y'; 2 * HASHED_AT_ONCE], b"\n"].concat();
            let raw = [b"\tx\n\n".repeat(lines), long, b"\t\xFF\n".repeat(lines)].concat();
            let payload = Payload::new(&raw, LineEnd::Lf);
            assert_eq!(payload.md5(), md5(&payload.text()));
            assert_eq!(payload.text_len(), payload.text().len());
        }
    }

    #[test]
    fn md5_of_nothing() {
        assert_eq!(md5_hex(md5(b"")), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(parse_md5(b"D41D8CD98F00B204E9800998ECF8427E"), Some(md5(b"")));
        assert_eq!(parse_md5(b"../../../../../../../../../../etc"), None);
    }
}
