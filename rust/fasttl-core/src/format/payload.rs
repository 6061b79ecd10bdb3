//! The payload of a record: the lines after its head, each with a TAB in front.
//!
//! The text is the lines without their TABs, joined by line feeds. Only LF ends a line: CR, form feed,
//! U+2028 and NUL are part of the text. A blank line inside a payload is noise of the transport (an empty
//! line of the text is a lone TAB) and belongs to no line.

use md5::{Digest, Md5};

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
    let mut out = [0_u8; 16];
    if hex.len() != 32 {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(hex.chunks_exact(2)) {
        let digits = std::str::from_utf8(pair).ok().filter(|p| p.bytes().all(|b| b.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(out)
}

/// 32 lower-case hexadecimal digits.
pub fn md5_hex(md5: [u8; 16]) -> String {
    use std::fmt::Write as _;
    md5.iter().fold(String::with_capacity(32), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
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
    fn md5_of_nothing() {
        assert_eq!(md5_hex(md5(b"")), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(parse_md5(b"D41D8CD98F00B204E9800998ECF8427E"), Some(md5(b"")));
        assert_eq!(parse_md5(b"../../../../../../../../../../etc"), None);
    }
}
