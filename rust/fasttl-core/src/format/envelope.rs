//! The JSON head of a record: its kind, its ids and the md5 of its payload.
//!
//! The first key names the kind; `rank`, the ids and `has_payload` follow. The head is scanned once, in
//! full, and nothing of it is built: the metadata stays a range of the text.

use std::ops::Range;

use super::compile_id::CompileId;
use super::json::{self, JsonError, Oddities, Scanner};

/// Real metrics have some 120 members.
pub const MOST_MEMBERS: usize = 1024;

/// A head, borrowed from the text.
#[derive(Clone, Debug, Default)]
pub struct Envelope<'a> {
    /// Name of the record's kind, as it stands between its quotes; empty when there is none.
    pub kind: &'a [u8],
    /// Where the metadata stands in the text.
    pub metadata: Range<usize>,
    /// Keys and values of the metadata of metrics, where they stand in the text; of other kinds they are not kept,
    /// and never more than one beyond [`MOST_MEMBERS`].
    pub members: Vec<(Range<usize>, Range<usize>)>,
    /// Rank of the process, where a process group was initialised.
    pub rank: Option<i32>,
    /// The ids.
    pub id: CompileId,
    /// Value of `has_payload`, as it stands between its quotes.
    pub has_payload: Option<&'a [u8]>,
    /// Where the envelope's own `stack` stands in the text.
    pub stack: Option<Range<usize>>,
    /// Sub-graph of a regional compile.
    pub subgraph: Option<&'a [u8]>,
    /// Bytes of the object, from brace to brace.
    pub len: usize,
    /// Deviations from strict JSON.
    pub oddities: Oddities,
    /// Fields that could not be taken as they stand, with the reason.
    pub faults: Vec<(FieldFault, &'a [u8])>,
}

/// What is wrong with one field of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFault {
    /// The value has another type or does not fit; the field counts as missing.
    BadValue,
    /// The key stands twice; the last one holds.
    Twice,
    /// A key that is neither the kind nor one of the known ones.
    UnknownKey,
}

/// Reads the head that starts at the beginning of `text`; what follows the object is not looked at.
pub fn parse(text: &[u8]) -> Result<Envelope<'_>, JsonError> {
    let mut envelope = Envelope::default();
    let mut scanner = Scanner::new(text);
    scanner.expect(b'{', "an object")?;
    scanner.skip_space();
    if !scanner.eat(b'}') {
        loop {
            scanner.skip_space();
            let key = scanner.key()?;
            scanner.skip_space();
            let start = scanner.pos();
            let of_metrics = envelope.kind.is_empty() && is_metrics(scanner.slice(key.clone()));
            if of_metrics && text.get(start) == Some(&b'{') {
                envelope.members.reserve(128);
                scanner.members(|key, value| {
                    if envelope.members.len() <= MOST_MEMBERS {
                        envelope.members.push((key, value));
                    }
                    true
                })?;
            } else {
                scanner.value()?;
            }
            envelope.take(&scanner, key, start..scanner.pos());
            scanner.skip_space();
            if scanner.eat(b'}') {
                break;
            }
            scanner.expect(b',', "a comma or a closing bracket")?;
        }
    }
    envelope.len = scanner.pos();
    envelope.oddities = scanner.oddities;
    Ok(envelope)
}

impl<'a> Envelope<'a> {
    fn take(&mut self, scanner: &Scanner<'a>, key: Range<usize>, range: Range<usize>) {
        let key = scanner.slice(key);
        let value = scanner.slice(range.clone());
        match key {
            b"rank" => self.number(key, value, |e| &mut e.rank, rank),
            b"compiled_autograd_id" => self.number(key, value, |e| &mut e.id.compiled_autograd_id, json::integer),
            b"frame_id" => self.number(key, value, |e| &mut e.id.frame_id, json::integer),
            b"frame_compile_id" => self.number(key, value, |e| &mut e.id.frame_compile_id, json::integer),
            b"attempt" => self.number(key, value, |e| &mut e.id.attempt, json::integer),
            b"has_payload" => match value {
                [b'"', inner @ .., b'"'] => self.has_payload = Some(inner),
                b"null" => {}
                _ => self.faults.push((FieldFault::BadValue, key)),
            },
            b"subgraph_name" => match value {
                [b'"', inner @ .., b'"'] => self.subgraph = Some(inner),
                b"null" => {}
                _ => self.faults.push((FieldFault::BadValue, key)),
            },
            // A record whose kind is `stack` does not exist; the key is the envelope's.
            b"stack" if value.starts_with(b"[") => self.stack = Some(range),
            b"stack" => self.faults.push((FieldFault::BadValue, key)),
            _ if self.kind.is_empty() => {
                self.kind = key;
                self.metadata = range;
            }
            _ => self.faults.push((FieldFault::UnknownKey, key)),
        }
    }

    fn number<N>(
        &mut self,
        key: &'a [u8],
        value: &[u8],
        field: impl Fn(&mut Self) -> &mut Option<N>,
        read: impl Fn(&[u8]) -> Option<N>,
    ) {
        if value == b"null" {
            return;
        }
        let number = read(value);
        if field(self).is_some() {
            self.faults.push((FieldFault::Twice, key));
        }
        if number.is_none() {
            self.faults.push((FieldFault::BadValue, key));
        }
        *field(self) = number;
    }
}

/// Whether a kind is one of metrics, whose members many ask for.
fn is_metrics(kind: &[u8]) -> bool {
    kind.strip_suffix(b"_runtime").unwrap_or(kind).ends_with(b"compilation_metrics")
}

/// A rank; PyTorch gives -1 to a process outside of the group, which is none.
fn rank(value: &[u8]) -> Option<i32> {
    json::integer(value).and_then(|rank| i32::try_from(rank).ok()).filter(|rank| *rank >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kind_ids_and_payload() {
        let text = br#"{"artifact": {"name": "x", "rank": 9}, "rank": 3, "compiled_autograd_id": null, "frame_id": 1, "frame_compile_id": 2, "attempt": 0, "subgraph_name": "g", "has_payload": "ab"} tail"#;
        let envelope = parse(text).unwrap();
        assert_eq!(envelope.kind, b"artifact");
        assert_eq!(&text[envelope.metadata.clone()], br#"{"name": "x", "rank": 9}"#);
        assert_eq!((envelope.rank, envelope.id.to_string().as_str()), (Some(3), "1/2"));
        assert_eq!((envelope.has_payload, envelope.subgraph), (Some(&b"ab"[..]), Some(&b"g"[..])));
        assert_eq!(envelope.len, text.len() - 5);
        assert!(envelope.faults.is_empty());
    }

    #[test]
    fn a_bad_field_is_lost_alone() {
        let envelope = parse(
            br#"{"frame_id": 4294967296, "frame_compile_id": "0", "attempt": 1e3, "x": {}, "y": 1, "stack": null}"#,
        )
        .unwrap();
        assert_eq!(envelope.id.frame_id, Some(4_294_967_296));
        assert_eq!((envelope.id.frame_compile_id, envelope.id.attempt), (None, None));
        assert_eq!(envelope.kind, b"x");
        let keys: Vec<_> = envelope.faults.iter().map(|(fault, key)| (*fault, *key)).collect();
        assert_eq!(
            keys,
            [
                (FieldFault::BadValue, &b"frame_compile_id"[..]),
                (FieldFault::BadValue, b"attempt"),
                (FieldFault::UnknownKey, b"y"),
                (FieldFault::BadValue, b"stack")
            ]
        );
    }

    #[test]
    fn a_rank_is_a_number_that_counts_processes() {
        for (value, rank) in [("0", Some(0)), ("2147483647", Some(i32::MAX)), ("null", None)] {
            let text = format!(r#"{{"x": {{}}, "rank": {value}}}"#);
            let envelope = parse(text.as_bytes()).unwrap();
            assert_eq!((envelope.rank, envelope.faults.len()), (rank, 0), "{value}");
        }
        for value in ["-1", "2147483648", "\"0\"", "1.0", "[0]", "true", "NaN"] {
            let text = format!(r#"{{"x": {{}}, "rank": {value}, "frame_id": 7}}"#);
            let envelope = parse(text.as_bytes()).unwrap();
            assert_eq!((envelope.rank, envelope.id.frame_id), (None, Some(7)), "{value}");
            assert_eq!(envelope.faults, [(FieldFault::BadValue, &b"rank"[..])], "{value}");
        }
    }

    #[test]
    fn a_cut_head_is_an_error() {
        assert!(parse(br#"{"artifact": {"name": "x"}, "ra"#).unwrap_err().ended);
        assert!(parse(b"{}").unwrap().kind.is_empty());
    }
}
