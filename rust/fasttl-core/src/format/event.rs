//! A timing event: the payload of a `chromium_event`, in the form that `chrome://tracing` reads.
//!
//! PyTorch writes the begin and the end of a span as two records, and what happens at one moment as a third kind.
//! All threads of a process have the same `tid`, so an event does not say which thread it is of.

use std::borrow::Cow;

use super::compile_id::CompileId;
use super::json;
use super::strict::compact;

/// Members of `args` with more bytes than this are left out of tables: parts of cache keys and configurations.
pub const MOST_ARG: usize = 4096;

/// Times beyond this many microseconds from 1970 are none: 64 bits of a float no longer tell one from the next.
const MOST_US: f64 = 9e15;

/// What an event marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The begin of a span: `B`.
    Begin,
    /// The end of a span: `E`.
    End,
    /// Something that takes no time: `i`.
    Instant,
    /// Anything else, or nothing.
    Unknown,
}

/// One event, as far as spans are made of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event<'a> {
    /// Its name as it stands between its quotes.
    pub name: Option<&'a [u8]>,
    /// What it marks.
    pub moment: Moment,
    /// Microseconds since 1970; `None` where that is no number, or none that a date has.
    pub ts_us: Option<f64>,
    /// The compile that its arguments name. PyTorch never writes the attempt there.
    pub id: CompileId,
}

/// Reads the payload of a timing event; `None` where it is no object. Lines of a log may still have their TABs.
pub fn parse(text: &[u8]) -> Option<Event<'_>> {
    let (mut name, mut ph, mut ts, mut args) = (None, None, None, None);
    json::each_member(text, |key, value| {
        let member = match key {
            b"name" => &mut name,
            b"ph" => &mut ph,
            b"ts" => &mut ts,
            b"args" => &mut args,
            _ => return true,
        };
        member.get_or_insert(value);
        true
    })
    .ok()?;
    let moment = match ph {
        Some(b"\"B\"") => Moment::Begin,
        Some(b"\"E\"") => Moment::End,
        Some(b"\"i\"") => Moment::Instant,
        _ => Moment::Unknown,
    };
    let id = args.and_then(|args| json::member(args, b"compile_id")).and_then(json::unescape);
    Some(Event {
        name: name.and_then(|name| name.strip_prefix(b"\"")?.strip_suffix(b"\"")),
        moment,
        ts_us: ts.and_then(micros),
        id: id.and_then(|id| CompileId::parse(&id)).unwrap_or_default(),
    })
}

fn micros(number: &[u8]) -> Option<f64> {
    // Rust reads words such as `nan` and `inf` too, which the range rules out.
    std::str::from_utf8(number).ok()?.parse().ok().filter(|us: &f64| us.abs() < MOST_US)
}

/// The arguments of an event as one line of strict JSON, and the names of the members that are too large for it.
///
/// `text` is the payload. Without arguments there is no line; arguments that are no object are kept whole or, under the
/// name `args`, left out.
pub fn args(text: &[u8]) -> (Option<String>, Vec<String>) {
    let Some(args) = json::member(text, b"args").filter(|args| *args != b"null") else { return (None, Vec::new()) };
    let mut kept = vec![b'{'];
    let mut left_out = Vec::new();
    let walked = json::each_member(args, |key, value| {
        if value.len() > MOST_ARG {
            left_out.push(json::unescape_inner(key));
        } else {
            let comma: &[u8] = if kept.len() > 1 { b"," } else { b"" };
            for piece in [comma, b"\"", key, b"\":", value] {
                kept.extend_from_slice(piece);
            }
        }
        true
    });
    if walked.is_ok() {
        kept.push(b'}');
        return (compact(&kept), left_out);
    }
    if args.len() > MOST_ARG { (None, vec!["args".to_owned()]) } else { (compact(args), Vec::new()) }
}

/// The name of an event, given as it stands between its quotes.
pub fn name(inner: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(inner) {
        Ok(name) if !name.contains('\\') => Cow::Borrowed(name),
        _ => Cow::Owned(json::unescape_inner(inner)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pytorch_writes() {
        let text = b"\t{\n\t\"name\": \"dynamo\",\n\t\"ts\": 1795996588050555.2,\n\t\"args\": {\n\t\"compile_id\": \"0/1\"\n\t},\n\t\
                     \"ph\": \"B\",\n\t\"cat\": \"dynamo_timed\",\n\t\"tid\": 0,\n\t\"pid\": 0\n\t}\n";
        let event = parse(text).unwrap();
        assert_eq!((event.name, event.moment), (Some(&b"dynamo"[..]), Moment::Begin));
        assert_eq!((event.ts_us, event.id.to_string().as_str()), (Some(1_795_996_588_050_555.2), "0/1"));
    }

    #[test]
    fn what_is_not_said_is_not_there() {
        let nothing = Event { name: None, moment: Moment::Unknown, ts_us: None, id: CompileId::NONE };
        for text in [
            "{}",
            r#"{"name": 1, "ph": "X", "ts": "5", "args": null}"#,
            r#"{"name": null, "ph": 3, "ts": NaN, "args": [1]}"#,
            r#"{"ts": -Infinity, "args": {"compile_id": "None"}}"#,
            r#"{"ts": 1e300, "args": {"compile_id": 7}}"#,
        ] {
            assert_eq!(parse(text.as_bytes()), Some(nothing), "{text}");
        }
        for text in ["", "[1]", "{\"name\": \"a\"", "7"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn large_arguments_are_named_and_left_out() {
        let large = "x".repeat(MOST_ARG);
        let text = format!("{{\"args\": {{\"a\": [1,\n2.50],\"key\\u0041\": \"{large}\", \"b\": NaN, \"b\": \"\"}}}}");
        let (kept, left_out) = args(text.as_bytes());
        assert_eq!(kept.unwrap(), r#"{"a":[1,2.50],"b":null,"b":""}"#);
        assert_eq!(left_out, ["keyA"]);
        assert_eq!(args(b"{\"args\": {}}"), (Some("{}".to_owned()), vec![]));
        assert_eq!(args(b"{\"args\": [ 1 ]}"), (Some("[1]".to_owned()), vec![]));
        assert_eq!(args(format!("{{\"args\": \"{large}\"}}").as_bytes()), (None, vec!["args".to_owned()]));
        for none in ["{\"args\": null}", "{}", "7"] {
            assert_eq!(args(none.as_bytes()), (None, vec![]), "{none}");
        }
    }

    #[test]
    fn names_lose_their_escapes() {
        assert_eq!(name(b"a\\u0041\\n"), "aA\n");
        assert!(matches!(name(b"compile_attempt_0"), Cow::Borrowed(_)));
    }
}
