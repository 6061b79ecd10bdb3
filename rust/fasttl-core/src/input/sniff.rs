//! Tells a trace log from anything else by its first bytes.

use crate::format::prefix;

/// What the first bytes of a file say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The first line that is not blank is the head of a record.
    Log,
    /// Other lines come first, but a record follows within the bytes looked at.
    LogLater,
    /// Nothing, or blank lines only.
    Empty,
    /// Something else.
    Other,
}

/// Looks at the first bytes of a file. An archive is none of the logs in it, though their text may stand there as it is.
pub fn sniff(head: &[u8]) -> Content {
    if known_format(head).is_some() {
        return Content::Other;
    }
    let mut lines = head.split(|&b| b == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
    let Some(first) = lines.next() else { return Content::Empty };
    if is_record(first) {
        return Content::Log;
    }
    if lines.any(is_record) { Content::LogLater } else { Content::Other }
}

fn is_record(line: &[u8]) -> bool {
    line.get(prefix::harmless_lead(line)..).and_then(prefix::parse).is_some()
        || line.first() != Some(&b'\t') && prefix::find(line, 0).is_some()
}

/// The format that the first bytes of a file are the mark of.
fn known_format(head: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 10] = [
        (b"\x7FELF", "a program or shared library (ELF)"),
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (b"\x1F\x8B", "gzip data"),
        (b"\x28\xB5\x2F\xFD", "Zstandard data"),
        (b"BZh", "bzip2 data; unpack it first"),
        (b"\xFD7zXZ", "xz data; unpack it first"),
        (b"\x89PNG", "a picture (PNG)"),
        (b"%PDF", "a PDF document"),
        (b"SQLite format 3", "an SQLite data base"),
        (b"PAR1", "a Parquet file"),
    ];
    if head.get(257..262) == Some(b"ustar") {
        return Some("a tar archive; unpack it first");
    }
    MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, text)| *text)
}

/// What a file that is no trace looks like, in words that help to find the right one.
pub fn looks_like(head: &[u8]) -> String {
    if let Some(text) = known_format(head) {
        return text.to_owned();
    }
    let text = String::from_utf8_lossy(head.get(..4096.min(head.len())).unwrap_or_default());
    let Some(line) = text.lines().find(|line| !line.trim().is_empty()) else { return "an empty file".to_owned() };
    let trimmed = line.trim_start();
    if trimmed.contains('\0') {
        return "binary data".to_owned();
    }
    if line.starts_with(['V', 'I', 'W', 'E', 'C']) && line.contains(".py:") && line.contains("] ") {
        return "text of TORCH_LOGS, not a TORCH_TRACE log".to_owned();
    }
    let lower = trimmed.to_ascii_lowercase();
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        return "an HTML page".to_owned();
    }
    if trimmed.starts_with(['{', '[']) {
        return "JSON".to_owned();
    }
    let start: String = line.chars().filter(|c| !c.is_control()).take(60).collect();
    format!("text that begins with {start:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_logs_from_others() {
        let record = b"V1129 23:51:41.631000 1 x.py:3] {\"a\": {}}\n";
        assert_eq!(sniff(record), Content::Log);
        assert_eq!(sniff(&[b"\n\r\n\xEF\xBB\xBF", &record[..]].concat()), Content::Log);
        assert_eq!(sniff(&[b"noise\n", &record[..]].concat()), Content::LogLater);
        assert_eq!(sniff(b"\n\n"), Content::Empty);
        assert_eq!(sniff(&[b"PK\x03\x04 a.log\n", &record[..]].concat()), Content::Other);
        let mut tar = [b"a.log".as_slice(), &[0; 507], &record[..]].concat();
        assert_eq!(sniff(&tar), Content::Log);
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(sniff(&tar), Content::Other);
        assert_eq!(sniff(b"V1129 23:51:41.631000 1 x.py:3] [0/0] guards\n"), Content::Other);
    }

    #[test]
    fn says_what_it_looks_like() {
        assert!(looks_like(b"\x7FELF\x02").contains("program"));
        assert!(looks_like(b"V1129 23:51:41.631000 1 x.py:3] [0/0] guards\n").contains("TORCH_LOGS"));
        assert_eq!(looks_like(b"epoch 1\nepoch 2"), "text that begins with \"epoch 1\"");
    }
}
