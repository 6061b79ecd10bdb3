//! A lenient JSON scanner that finds the ends of values without building them.
//!
//! Python's `json.dumps` writes what strict readers refuse: bare `NaN` and `Infinity`, lone
//! surrogates, numbers of any size, nesting of any depth. The scanner accepts all of these, says that
//! it saw them ([`Oddities`]), and keeps its own stack so that nesting cannot exhaust the thread's.

use std::ops::Range;

use super::open::Open;
use super::vectors::{Bits, special};

/// Deviations from strict JSON that a scan met, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities(u8);

impl Oddities {
    /// A bare `NaN`, `Infinity` or `-Infinity`.
    pub const NON_FINITE: Self = Self(1);
    /// A `\ud800`-style escape without its other half.
    pub const LONE_SURROGATE: Self = Self(2);
    /// Bytes in a string that are not UTF-8.
    pub const NOT_UTF8: Self = Self(4);
    /// A raw control character in a string.
    pub const CONTROL: Self = Self(8);
    /// Nesting deeper than strict readers follow.
    pub const DEEP: Self = Self(16);

    /// Whether no oddity was met, so that a strict reader accepts the text.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `other` are in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds the oddities of `other`.
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Depth from which [`Oddities::DEEP`] is set; strict readers stop at 128.
pub const DEPTH_LIMIT: usize = 100;

/// Why and where a text is not JSON, even by the lenient rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Byte offset in the scanned text.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
    /// Whether the text simply ended.
    pub ended: bool,
}

/// What kind of value starts at the scanner's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A number, `NaN` or an infinity.
    Number,
    /// `true`, `false` or `null`
    Literal,
}

/// A place in a JSON text.
#[derive(Debug)]
pub struct Scanner<'a> {
    text: &'a [u8],
    pos: usize,
    /// Oddities met so far.
    pub oddities: Oddities,
}

impl<'a> Scanner<'a> {
    /// A scanner at the start of `text`.
    pub const fn new(text: &'a [u8]) -> Self {
        Self { text, pos: 0, oddities: Oddities(0) }
    }

    /// Byte offset of the next unread byte.
    pub const fn pos(&self) -> usize {
        self.pos
    }

    /// The scanned text between two offsets; empty when they are out of range.
    pub fn slice(&self, range: Range<usize>) -> &'a [u8] {
        self.text.get(range).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    fn error(&self, expected: &'static str) -> JsonError {
        JsonError { at: self.pos, expected, ended: self.pos >= self.text.len() }
    }

    /// Passes over white space.
    pub fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.pos += 1;
        }
    }

    /// Passes over `byte` if it is next.
    pub fn eat(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.pos += usize::from(next);
        next
    }

    /// Passes over `byte`, after white space.
    pub fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), JsonError> {
        self.skip_space();
        if self.eat(byte) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// The kind of the value that comes next, after white space.
    #[inline]
    pub fn kind(&mut self) -> Result<ValueKind, JsonError> {
        self.skip_space();
        Ok(match self.peek() {
            Some(b'{') => ValueKind::Object,
            Some(b'[') => ValueKind::Array,
            Some(b'"') => ValueKind::String,
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => ValueKind::Number,
            Some(b't' | b'f' | b'n') => ValueKind::Literal,
            _ => return Err(self.error("a value")),
        })
    }

    /// Scans a string and yields the range between its quotes, escapes as they stand.
    pub fn string(&mut self) -> Result<Range<usize>, JsonError> {
        if !self.eat(b'"') {
            return Err(self.error("a string"));
        }
        let start = self.pos;
        let mut ascii = true;
        loop {
            self.skip_plain();
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let before = self.pos;
                    self.skip_escaped();
                    if self.pos == before {
                        self.escape()?;
                    }
                }
                Some(byte) => {
                    if byte < 0x20 {
                        self.oddities.insert(Oddities::CONTROL);
                    }
                    ascii &= byte < 0x80;
                    self.pos += 1;
                }
                None => return Err(self.error("the end of a string")),
            }
        }
        let range = start..self.pos;
        self.pos += 1;
        if !ascii && std::str::from_utf8(self.slice(range.clone())).is_err() {
            self.oddities.insert(Oddities::NOT_UTF8);
        }
        Ok(range)
    }

    /// Passes over printable ASCII that is neither quote nor backslash, sixteen bytes at a time: most strings of a
    /// log are shorter, so that one step finds their end.
    fn skip_plain(&mut self) {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let (chunks, tail) = rest.as_chunks::<16>();
        for (nth, chunk) in chunks.iter().enumerate() {
            let mask = special(chunk);
            if mask != 0 {
                self.pos += nth * 16 + mask.trailing_zeros() as usize;
                return;
            }
        }
        let plain = |byte: &u8| matches!(byte, 0x20..0x80) && !matches!(byte, b'"' | b'\\');
        self.pos += chunks.len() * 16 + tail.iter().take_while(|byte| plain(byte)).count();
    }

    /// From a backslash on, passes over text in which quotes, backslashes and line feeds are escaped, 64 bytes at a
    /// time: a configuration is JSON inside a string, and has an escape every few bytes. Stops where the string
    /// ends, and at whatever else wants a closer look.
    fn skip_escaped(&mut self) {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        while let Some(block) = self.text.get(self.pos..).and_then(<[u8]>::first_chunk::<64>) {
            let Bits { backslashes, quotes, letters_n, unusual } = Bits::of(block);
            // A run that reaches the end of the block is looked at with what follows it.
            let usable = 64 - backslashes.leading_ones();
            // A byte is escaped behind a run of odd length. Adding its first bit to a run carries to the bit behind
            // it, so of runs that begin at even places those of odd length carry to an odd one, and the other way
            // round (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019, section 3.1.1).
            let starts = backslashes & !(backslashes << 1);
            let behind = |starts: u64| backslashes.wrapping_add(starts) & !backslashes;
            let escaped = (behind(starts & EVEN) & !EVEN) | (behind(starts & !EVEN) & EVEN);
            let stops = unusual | (quotes ^ escaped) & (quotes | !letters_n);
            let within = stops & u64::MAX.checked_shr(64 - usable).unwrap_or(0);
            if within != 0 {
                let at = within.trailing_zeros();
                // Of an escape that wants a closer look, the backslash is where it begins.
                self.pos += at as usize - usize::from(escaped >> at & 1 == 1);
                return;
            }
            if usable == 0 {
                return;
            }
            self.pos += usable as usize;
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        self.pos += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 1,
            Some(b'u') => {
                let first = self.hex4()?;
                if (0xD800..0xDC00).contains(&first) && self.slice(self.pos..self.pos + 2) == b"\\u" {
                    let back = self.pos;
                    self.pos += 1;
                    if !(0xDC00..0xE000).contains(&self.hex4()?) {
                        self.oddities.insert(Oddities::LONE_SURROGATE);
                        self.pos = back;
                    }
                } else if (0xD800..0xE000).contains(&first) {
                    self.oddities.insert(Oddities::LONE_SURROGATE);
                }
            }
            _ => return Err(self.error("an escape")),
        }
        Ok(())
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self.slice(self.pos + 1..self.pos + 5);
        let value = std::str::from_utf8(digits)
            .ok()
            .filter(|d| d.len() == 4 && d.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|d| u32::from_str_radix(d, 16).ok())
            .ok_or_else(|| self.error("four hexadecimal digits"))?;
        self.pos += 5;
        Ok(value)
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let rest = self.slice(self.pos..self.text.len());
        for word in [&b"NaN"[..], b"Infinity", b"-Infinity"] {
            if rest.starts_with(word) {
                self.oddities.insert(Oddities::NON_FINITE);
                self.pos += word.len();
                return Ok(());
            }
        }
        self.eat(b'-');
        // Nothing writes further digits after a leading zero, and no strict reader takes them.
        if !self.eat(b'0') {
            self.digits()?;
        } else if matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.error("no digit after a leading zero"));
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.pos;
        while let Some(b'0'..=b'9') = self.peek() {
            self.pos += 1;
        }
        if self.pos == start { Err(self.error("a digit")) } else { Ok(()) }
    }

    fn literal(&mut self) -> Result<(), JsonError> {
        let rest = self.slice(self.pos..self.text.len());
        for word in [&b"null"[..], b"true", b"false"] {
            if rest.starts_with(word) {
                self.pos += word.len();
                return Ok(());
            }
        }
        Err(self.error("a value"))
    }

    /// Passes over one value of any kind and yields its range.
    pub fn value(&mut self) -> Result<Range<usize>, JsonError> {
        self.skip_space();
        let start = self.pos;
        let mut open = Open::default();
        loop {
            match self.kind()? {
                kind @ (ValueKind::Object | ValueKind::Array) => {
                    self.pos += 1;
                    let is_object = kind == ValueKind::Object;
                    self.skip_space();
                    if !self.eat(if is_object { b'}' } else { b']' }) {
                        open.push(is_object);
                        if open.depth > DEPTH_LIMIT {
                            self.oddities.insert(Oddities::DEEP);
                        }
                        if is_object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                ValueKind::String => {
                    self.string()?;
                }
                ValueKind::Number => self.number()?,
                ValueKind::Literal => self.literal()?,
            }
            if self.close(&mut open)? {
                return Ok(start..self.pos);
            }
        }
    }

    /// After a value: passes over commas and closing brackets up to the next value.
    /// Yields true when the outermost value has ended.
    fn close(&mut self, open: &mut Open) -> Result<bool, JsonError> {
        loop {
            let Some(is_object) = open.last() else { return Ok(true) };
            self.skip_space();
            if self.eat(b',') {
                if is_object {
                    self.skip_space();
                    self.key()?;
                }
                return Ok(false);
            }
            if !self.eat(if is_object { b'}' } else { b']' }) {
                return Err(self.error("a comma or a closing bracket"));
            }
            open.pop();
        }
    }

    /// Passes over an object and gives the ranges of its members' keys and values, in order; stops early when
    /// `each` yields false.
    pub fn members(&mut self, mut each: impl FnMut(Range<usize>, Range<usize>) -> bool) -> Result<(), JsonError> {
        self.expect(b'{', "an object")?;
        self.skip_space();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            self.skip_space();
            let key = self.key()?;
            let value = self.value()?;
            if !each(key, value) {
                return Ok(());
            }
            self.skip_space();
            if self.eat(b'}') {
                return Ok(());
            }
            self.expect(b',', "a comma or a closing bracket")?;
        }
    }

    /// Scans `"key":` and yields the range of the key.
    pub fn key(&mut self) -> Result<Range<usize>, JsonError> {
        let key = self.string()?;
        self.expect(b':', "a colon")?;
        Ok(key)
    }
}

/// Walks the members of the object `text`, in order; stops early when `each` yields false.
///
/// Keys are given as they stand between their quotes, values as slices of `text`.
pub fn each_member<'a>(
    text: &'a [u8],
    mut each: impl FnMut(&'a [u8], &'a [u8]) -> bool,
) -> Result<Oddities, JsonError> {
    let mut scanner = Scanner::new(text);
    scanner.members(|key, value| each(text.get(key).unwrap_or_default(), text.get(value).unwrap_or_default()))?;
    Ok(scanner.oddities)
}

/// The one value that `text` is, without the white space around it.
pub fn only_value(text: &[u8]) -> Result<(Range<usize>, Oddities), JsonError> {
    let mut scanner = Scanner::new(text);
    let range = scanner.value()?;
    scanner.skip_space();
    if scanner.pos() == text.len() { Ok((range, scanner.oddities)) } else { Err(scanner.error("the end")) }
}

/// The elements of the array `text`, as they stand; `None` where it is no array. After a fault there are no more.
pub fn elements(text: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let mut scanner = Scanner::new(text);
    scanner.expect(b'[', "a list").ok()?;
    let mut more = true;
    Some(std::iter::from_fn(move || {
        let range = scanner.value().ok().filter(|_| more)?;
        scanner.skip_space();
        more = scanner.eat(b',');
        Some(scanner.slice(range))
    }))
}

/// The value of member `name` of the object `text`, as it stands.
pub fn member<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut found = None;
    let walked = each_member(text, |key, value| {
        if key == name {
            found = Some(value);
        }
        found.is_none()
    });
    walked.ok().and(found)
}

/// The text of a JSON string value (quotes included), with its escapes resolved; lone surrogates and
/// bytes that are not UTF-8 become U+FFFD. `None` when `value` is no string.
pub fn unescape(value: &[u8]) -> Option<String> {
    let mut scanner = Scanner::new(value);
    let inner = scanner.string().ok()?;
    Some(unescape_inner(scanner.slice(inner)))
}

/// Like [`unescape`], for what stands between the quotes.
pub fn unescape_inner(inner: &[u8]) -> String {
    if memchr::memchr(b'\\', inner).is_none() {
        return String::from_utf8_lossy(inner).into_owned();
    }
    let quoted = [b"\"", inner, b"\""].concat();
    let strict = super::strict::to_strict(&quoted);
    serde_json::from_slice(&strict).unwrap_or_else(|_| String::from_utf8_lossy(inner).into_owned())
}

/// An integer value, if `value` is one and fits.
pub fn integer(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Result<Oddities, JsonError> {
        let mut scanner = Scanner::new(text.as_bytes());
        let range = scanner.value()?;
        assert_eq!(range, 0..text.len(), "{text}");
        Ok(scanner.oddities)
    }

    #[test]
    fn accepts_what_python_writes() {
        for text in ["{}", "[]", "[1, -2.5e-7, \"a\\\"b\", null, true]", r#"{"a": {"b": [[], {}]}, "c": ""}"#] {
            assert!(scan(text).unwrap().is_empty(), "{text}");
        }
        assert!(scan("[NaN, Infinity, -Infinity]").unwrap().contains(Oddities::NON_FINITE));
        assert!(scan(r#""\udc80""#).unwrap().contains(Oddities::LONE_SURROGATE));
        assert!(scan(r#""\ud83d\ud83d\ude00""#).unwrap().contains(Oddities::LONE_SURROGATE));
        assert!(scan(r#""\ud83d\ude00""#).unwrap().is_empty());
    }

    #[test]
    fn strings_end_where_they_end() {
        // Every special byte at every place of a word, behind text of every length.
        for len in 0..20 {
            for special in ["\\\"", "\\\\", "\u{7f}", "é", "!", "#", "[", "]", "~"] {
                let text = format!("\"{}{special}xyz\"", "a".repeat(len));
                let oddities = scan(&text).unwrap();
                assert!(oddities.is_empty(), "{text}");
            }
            let text = format!("\"{}\tb\"", "a".repeat(len));
            assert!(scan(&text).unwrap().contains(Oddities::CONTROL));
            let bytes = [&b"\""[..], &vec![b'a'; len], b"\xFF\""].concat();
            let mut scanner = Scanner::new(&bytes);
            scanner.value().unwrap();
            assert!(scanner.oddities.contains(Oddities::NOT_UTF8));
        }
    }

    #[test]
    fn escapes_end_where_they_end() {
        // Every mix of runs of backslashes with what may follow them, at every place of a block.
        let after = ["\"", "n", "u0041", "ud83d", "/", "x", "\t", "é", " "];
        for lead in 0..140 {
            for run in 1..5 {
                for (first, second) in after.iter().flat_map(|a| after.iter().map(move |b| (a, b))) {
                    let backslashes = "\\".repeat(run);
                    let text = format!("\"\\\"{}{backslashes}{first}{backslashes}{second}\" \"", "a".repeat(lead));
                    let mut scanner = Scanner::new(text.as_bytes());
                    let found = scanner.value().map_err(|e| e.at);
                    assert_eq!((found, scanner.oddities), slowly(text.as_bytes()), "{text}");
                }
            }
        }
    }

    /// The first string of a text, byte by byte.
    fn slowly(text: &[u8]) -> (Result<Range<usize>, usize>, Oddities) {
        let mut scanner = Scanner::new(text);
        scanner.pos = 1;
        let mut ascii = true;
        loop {
            match text.get(scanner.pos) {
                Some(b'"') => break,
                Some(b'\\') => {
                    if let Err(error) = scanner.escape() {
                        return (Err(error.at), scanner.oddities);
                    }
                }
                Some(byte) => {
                    ascii &= byte.is_ascii();
                    if *byte < b' ' {
                        scanner.oddities.insert(Oddities::CONTROL);
                    }
                    scanner.pos += 1;
                }
                None => return (Err(text.len()), scanner.oddities),
            }
        }
        assert!(ascii || std::str::from_utf8(text).is_ok());
        (Ok(0..scanner.pos + 1), scanner.oddities)
    }

    #[test]
    fn depth_is_bounded_by_memory_only() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        assert!(scan(&deep).unwrap().contains(Oddities::DEEP));
        // Each bracket is closed by its own kind, at every depth around the words that hold them.
        for depth in [1, 63, 64, 65, 127, 128, 129, 200] {
            let kinds: Vec<bool> = (0..depth).map(|n| n * n % 7 < 3).collect();
            let opened: String = kinds.iter().map(|object| if *object { "{\"a\": " } else { "[" }).collect();
            let closed: String = kinds.iter().rev().map(|object| if *object { "}" } else { "]" }).collect();
            assert_eq!(scan(&(opened.clone() + "0" + &closed)).unwrap().contains(Oddities::DEEP), depth > DEPTH_LIMIT);
            for wrong in 0..depth {
                let mut closed = closed.clone().into_bytes();
                closed[wrong] = if closed[wrong] == b'}' { b']' } else { b'}' };
                let text = [opened.as_bytes(), b"0", &closed].concat();
                assert_eq!(Scanner::new(&text).value().unwrap_err().at, opened.len() + 1 + wrong);
            }
        }
    }

    #[test]
    fn refuses_what_is_cut() {
        for text in ["{\"a\": ", "[1, 2", "\"abc", "{\"a\"", "nul", "-", "1.", "\"\\u12\""] {
            let mut scanner = Scanner::new(text.as_bytes());
            assert!(scanner.value().is_err(), "{text}");
        }
    }

    #[test]
    fn members_keep_their_text() {
        let text = br#"{"name": "a\u0041", "n": 12 }"#;
        assert_eq!(unescape(member(text, b"name").unwrap()).unwrap(), "aA");
        assert_eq!(integer(member(text, b"n").unwrap()), Some(12));
        assert_eq!(member(text, b"none"), None);
    }
}
