//! Logs as PyTorch might write them, and what may happen to a log afterwards.

use std::fmt;
use std::ops::Deref;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index as At, select};

use super::logs::record;

/// Bytes that a failed test prints as text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// One record: its head without braces, and its payload.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// The kind's name.
    pub(crate) kind: String,
    /// The head's members.
    pub(crate) members: String,
    /// Compile id as PyTorch prints it, empty without one.
    pub(crate) id: String,
    /// The payload's text.
    pub(crate) payload: Option<Bytes>,
}

impl Made {
    /// The payload's text, empty without one.
    pub(crate) fn text(&self) -> Vec<u8> {
        self.payload.as_ref().map(|text| text.to_vec()).unwrap_or_default()
    }

    /// The record's bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        record(&self.members, self.payload.as_deref())
    }
}

/// The bytes of a log.
pub(crate) fn log_bytes(records: &[Made]) -> Vec<u8> {
    records.iter().flat_map(Made::bytes).collect()
}

/// Names of artifacts, files and links that have caused trouble somewhere.
const NAMES: [&str; 20] = [
    "fx_graph_cache_hit",
    "recompile_reasons",
    "dynamo_graph_break_reason",
    "<eval_with_key>.3",
    "",
    ".",
    "..",
    "../../../etc/x",
    "/abs/olute",
    "a/b/c",
    "a\\b",
    "a#b?c%20d",
    "<img src=x onerror=alert(1)>",
    "\"quoted\" & 'so'",
    "nul\0byte",
    "line\nfeed\ttab",
    "CON",
    "計算 🔥",
    "\u{202E}gpj.exe",
    " blank ",
];

/// Texts that a payload may have and that a careless reader takes for something else.
const TEXTS: [&str; 16] = [
    "",
    "\n",
    "\n\n\n",
    "x",
    "a\nb\n",
    "\ttab at the start\n\t\ttwo",
    "ends in CR\r",
    "CR\rin the middle\r\nand CRLF",
    "V1129 23:59:59.000001 1 torch/x.py:3] {\"str\": [\"look-alike\", 1]}",
    "text\nV1129 23:59:59.000001 1 torch/x.py:3] {\"artifact\": {\"name\": \"n\"}, \"has_payload\": \"\"}\nmore",
    "\0\0 NUL \0",
    "\u{2028}line\u{2029}separators\u{85}\u{B}\u{C}",
    "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[8, 16]\"):\n        return (x,)\n",
    "<script>alert(1)</script> & <b>",
    "[rank0]:V1129 23:59:59.000001 1 x.py:3] {}",
    "\u{FEFF}bom",
];

/// JSON documents that payloads hold.
const DOCUMENTS: [&str; 8] = [
    "{}",
    "[]",
    "[\"L['x'].size(0) == 8\"]",
    "[{\"code\": \"L['x'] is <b>\", \"stack\": [], \"user_stack\": [{\"line\": 1, \"name\": \"f\", \"filename\": 0}]}]",
    "{\"a\": 12345678901234567890123, \"b\": \"\\ud83d\\ude00\", \"a2\": [1, 2.5e-7, null]}",
    "{\n  \"indented\": true\n}",
    "\"0/0: reason\"",
    "{\"deep\": [[[[[[[[[[1]]]]]]]]]]}",
];

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(&NAMES[..]).prop_map(str::to_owned),
        1 => Just("x".repeat(300)),
        1 => "[a-z_./<>&\"%#? ]{0,12}",
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => select(&TEXTS[..]).prop_map(|text| text.as_bytes().to_vec()),
        1 => select(&DOCUMENTS[..]).prop_map(|text| text.as_bytes().to_vec()),
        2 => "[a-z\t\r\n{}:\"]{0,40}".prop_map(String::into_bytes),
    ]
}

fn document() -> impl Strategy<Value = Vec<u8>> {
    select(&DOCUMENTS[..]).prop_map(|text| text.as_bytes().to_vec())
}

/// Ids as the end of a head has them, and as PyTorch prints them.
fn ids() -> impl Strategy<Value = (String, String)> {
    let frame = (0..3_u8, 0..3_u8, 0..2_u8).prop_map(|(frame, compile, attempt)| {
        let members = format!(", \"frame_id\": {frame}, \"frame_compile_id\": {compile}, \"attempt\": {attempt}");
        let tail = if attempt == 0 { String::new() } else { format!("_{attempt}") };
        (members, format!("{frame}/{compile}{tail}"))
    });
    prop_oneof![
        6 => frame,
        1 => Just((String::new(), String::new())),
        1 => Just((", \"frame_id\": null, \"frame_compile_id\": null, \"attempt\": null".to_owned(), String::new())),
        1 => Just((
            ", \"compiled_autograd_id\": 2, \"frame_id\": 1, \"frame_compile_id\": 0, \"attempt\": 0".to_owned(),
            "!2/1/0".to_owned()
        )),
        1 => Just((", \"compiled_autograd_id\": 7".to_owned(), "!7".to_owned())),
    ]
}

/// A kind, the value of its key, and a payload.
type Body = (String, String, Option<Vec<u8>>);

fn body() -> impl Strategy<Value = Body> {
    let of = |kind: &'static str| move |(value, payload)| (kind.to_owned(), value, payload);
    let artifact = (name(), text(), document(), select(&["string", "json", "base64"][..])).prop_map(
        |(name, text, document, encoding)| {
            let payload = if encoding == "json" { document } else { text };
            (format!("{{\"name\": {}, \"encoding\": \"{encoding}\"}}", quoted(&name)), Some(payload))
        },
    );
    let event = (select(&["dynamo", "inductor_compile", "<b>"][..]), select(&["B", "E", "i"][..]), any::<u32>())
        .prop_map(|(name, phase, ts)| {
            let ts = 1_795_996_000_000_000_u64 + u64::from(ts);
            let event =
                format!("{{\"name\": \"{name}\", \"ts\": {ts}.5, \"ph\": \"{phase}\", \"pid\": 0, \"args\": {{}}}}");
            ("{}".to_owned(), Some(event.into_bytes()))
        });
    let metrics = (name(), 0..9_u8, any::<bool>()).prop_map(|(function, ops, fails)| {
        let failure = if fails { "\"<E>\"" } else { "null" };
        let value = format!(
            "{{\"co_name\": {}, \"co_filename\": \"f.py\", \"co_firstlineno\": 3, \"graph_op_count\": {ops}, \
             \"restart_reasons\": [\"<lambda>\"], \"entire_frame_compile_time_s\": 0.25, \"fail_type\": {failure}, \
             \"fail_reason\": {failure}, \"newer_field\": {{\"a\": [1]}}}}",
            quoted(&function)
        );
        (value, None)
    });
    let named = |key: &'static str| {
        (name(), text()).prop_map(move |(name, text)| (format!("{{\"{key}\": {}}}", quoted(&name)), Some(text)))
    };
    let plain = text().prop_map(|text| ("{}".to_owned(), Some(text)));
    let stack = "{\"stack\": [{\"line\": 7, \"name\": \"f\", \"filename\": 0, \"loc\": \"<i>\"}, {\"line\": -1}]}";
    let url = select(&["https://example.org/a?b=c&d", "javascript:alert(1)", "//x", ""][..]);
    let link =
        (name(), url).prop_map(|(name, url)| (format!("{{\"name\": {}, \"url\": \"{url}\"}}", quoted(&name)), None));
    prop_oneof![
        5 => artifact.prop_map(of("artifact")),
        3 => event.prop_map(of("chromium_event")),
        2 => metrics.prop_map(of("compilation_metrics")),
        1 => Just((stack.to_owned(), None)).prop_map(of("dynamo_start")),
        1 => document().prop_map(|d| ("{}".to_owned(), Some(d))).prop_map(of("dynamo_guards")),
        1 => named("filename").prop_map(of("inductor_output_code")),
        1 => named("name").prop_map(of("dump_file")),
        1 => named("name").prop_map(of("graph_dump")),
        1 => link.prop_map(of("link")),
        1 => plain.prop_map(of("dynamo_output_graph")),
        1 => text().prop_map(|text| ("{\"new\": true}".to_owned(), Some(text))).prop_map(of("brand_new_kind")),
        1 => Just(("true".to_owned(), None)).prop_map(of("brand_new_flag")),
        1 => name().prop_map(|n| (format!("[{}, 0]", quoted(&n)), None)).prop_map(of("str")),
    ]
}

/// An undamaged log, as one process of a job or of none writes it.
pub(crate) fn log() -> impl Strategy<Value = Vec<Made>> {
    (vec((body(), ids()), 1..16), proptest::option::of(0..3_u8)).prop_map(|(records, rank)| {
        let rank = rank.map_or(String::new(), |rank| format!(", \"rank\": {rank}"));
        let mut strings = 0;
        let make = |(body, (ids, id)): (Body, (String, String))| {
            let (kind, mut value, payload) = body;
            let payload = payload.map(Bytes);
            if kind == "str" {
                // Every string has a number of its own, and no compile.
                value = value.replace(", 0]", &format!(", {strings}]"));
                strings += 1;
                return Made { members: format!("\"str\": {value}"), kind, id: String::new(), payload };
            }
            Made { members: format!("\"{kind}\": {value}{rank}{ids}"), kind, id, payload }
        };
        records.into_iter().map(make).collect()
    })
}

/// Something that happens to the bytes of a log.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    /// The end is lost.
    Cut(At),
    /// A byte changes.
    Flip(At, u8),
    /// A line is lost.
    Drop(At),
    /// A line comes twice.
    Again(At),
    /// A piece moves elsewhere: two writers at once.
    Move(At, At, At),
    /// Something else is written between or into lines.
    Foreign(At, Vec<u8>),
    /// All line ends become CRLF.
    Crlf,
    /// The last line feed is lost.
    Unterminated,
}

/// Text that gets into logs, heads that are odd, and pieces of heads.
const FOREIGN: [&[u8]; 15] = [
    b"Traceback (most recent call last):\n  File \"x.py\"\n",
    b"\n\n",
    b"\r\n",
    b"\t\n",
    b"\torphan\n",
    b"\0\0\0\n",
    b"\xFF\xFE latin \xE9\n",
    b"V1129 23:59:59.000001 1 x.py:3] {\"artifact\": {\"name\": \"cut",
    b"V1129 23:59:59.000001 1 x.py:3] {}\n",
    b"V1129 23:59:59.000001 1 x.py:3] { }\n",
    b"V9999 99:99:99.000001 99999999999999999999999 x.py:99999999999] {\"link\": null, \"rank\": -7, \"attempt\": 07}\n",
    b"V1129 23:59:59.000001 1 x.py:3] {\"compilation_metrics\": {\"a\": NaN, \"b\": -Infinity, \"graph_op_count\": 01}, \"frame_id\": 9223372036854775807, \"frame_compile_id\": -1, \"attempt\": 9223372036854775807}\n",
    b"V1129 23:59:59.000001 1 x.py:3] {\"chromium_event\": {}, \"has_payload\": \"no md5\"}\n\t{\"name\": \"a\tb\"} rest\n",
    b"V1129 23:59:59.000001 1 x.py:3] {\"artifact\": {\"name\": \"\\ud800\", \"encoding\": \"json\"}, \"rank\": 5, \"thread\": 1, \"has_payload\": \"\"}\n\t[NaN, 1\n",
    b"[rank1]: V1129 23:59:59.000001 1 x.py:3] {\"str\": [\"again\", 0]} trailing\n",
];

/// One damage.
pub(crate) fn damage() -> impl Strategy<Value = Damage> {
    let foreign = prop_oneof![
        4 => select(&FOREIGN[..]).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..20),
    ];
    prop_oneof![
        2 => any::<At>().prop_map(Damage::Cut),
        3 => (any::<At>(), 1..=255_u8).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        2 => any::<At>().prop_map(Damage::Drop),
        2 => any::<At>().prop_map(Damage::Again),
        2 => any::<[At; 3]>().prop_map(|[a, b, c]| Damage::Move(a, b, c)),
        5 => (any::<At>(), foreign).prop_map(|(at, text)| Damage::Foreign(at, text)),
        1 => Just(Damage::Crlf),
        1 => Just(Damage::Unterminated),
    ]
}

/// A log to which a few of these happened.
pub(crate) fn damaged_log() -> impl Strategy<Value = Bytes> {
    (log(), vec(damage(), 0..6)).prop_map(|(records, damages)| {
        Bytes(damages.iter().fold(log_bytes(&records), |bytes, damage| damage.apply(bytes)))
    })
}

impl Damage {
    /// What becomes of a log.
    pub(crate) fn apply(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let lines: Vec<usize> = bytes.split_inclusive(|&b| b == b'\n').map(<[u8]>::len).collect();
        let line = |at: &At| {
            let nth = at.index(lines.len());
            let start: usize = lines[..nth].iter().sum();
            start..start + lines[nth]
        };
        if bytes.is_empty() {
            return bytes;
        }
        match self {
            Self::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Self::Flip(at, bits) => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Self::Drop(at) => drop(bytes.drain(line(at))),
            Self::Again(at) => {
                let range = line(at);
                let copy = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, copy);
            }
            Self::Move(from, to, place) => {
                let (a, b) = (from.index(bytes.len()), to.index(bytes.len()));
                let piece: Vec<u8> = bytes.drain(a.min(b)..a.max(b)).collect();
                let place = place.index(bytes.len());
                bytes.splice(place..place, piece);
            }
            Self::Foreign(at, text) => {
                // Between lines as often as inside them.
                let place = if text.len().is_multiple_of(2) { at.index(bytes.len()) } else { line(at).start };
                bytes.splice(place..place, text.iter().copied());
            }
            Self::Crlf => {
                bytes = bytes.split_inclusive(|&b| b == b'\n').flat_map(with_cr).collect();
            }
            Self::Unterminated => drop(bytes.pop_if(|last| *last == b'\n')),
        }
        bytes
    }
}

fn with_cr(line: &[u8]) -> Vec<u8> {
    match line.split_last() {
        Some((b'\n', text)) => [text, b"\r\n"].concat(),
        _ => line.to_vec(),
    }
}
