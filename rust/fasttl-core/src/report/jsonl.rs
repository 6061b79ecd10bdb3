//! `raw.jsonl`: the heads of all records but strings and timing events, one a line, with the fields of their
//! prefixes and the file that holds their payload.
//!
//! A head is copied as it stands, with the fields added before its closing brace. One that is not plain is
//! made strict JSON first, and a field whose name it has already gets another one.

use std::borrow::Cow;
use std::io::{self, Write};

use rustc_hash::FxHashSet;

use super::names::RelPath;
use crate::format::json;
use crate::format::kind::Kind;
use crate::format::strict::to_strict;
use crate::format::time::iso;
use crate::index::{Index, NONE, Record};
use crate::trace::Log;

/// Ids up to this many times the number of strings (and a thousand) stand in the array of strings.
const SPARSE: usize = 4;

/// Writes the file.
pub(super) fn write(
    out: &mut dyn Write,
    log: &Log,
    bytes: &[u8],
    payload_files: &[(usize, RelPath)],
) -> io::Result<()> {
    write_strings(out, &log.index)?;
    let sources: Vec<String> = log.index.names.sources.iter().map(|s| quoted(s)).collect();
    let mut files = payload_files.iter().peekable();
    let mut line = Vec::new();
    for (at, record) in log.index.records.iter().enumerate() {
        while files.peek().is_some_and(|(n, _)| *n < at) {
            files.next();
        }
        if !has_line(record) {
            continue;
        }
        let file = files.peek().filter(|(n, _)| *n == at).map(|(_, path)| path.as_str());
        let fields = Fields { log, record, sources: &sources, file };
        let head = log.index.json(record, bytes);
        let strict = if record.plain { Cow::Borrowed(head) } else { to_strict(head) };
        let open = strict.strip_suffix(b"}").unwrap_or(&strict);
        line.clear();
        line.extend_from_slice(open);
        line.extend_from_slice(if open.trim_ascii_end() == b"{" { b"" } else { b", " });
        fields.write(&mut line, &taken_names(log, record, &strict));
        line.extend_from_slice(b"}\n");
        out.write_all(&line)?;
    }
    Ok(())
}

/// The fields that are added to a head.
const ADDED: [&str; 5] = ["timestamp", "thread", "pathname", "lineno", "payload_filename"];

/// Those of their names that the head has as keys of its own; a plain one has them only as its kind.
fn taken_names(log: &Log, record: &Record, head: &[u8]) -> Vec<&'static str> {
    if record.plain && !ADDED.contains(&log.index.names.kind(record.kind)) {
        return Vec::new();
    }
    let mut taken = Vec::new();
    // A head whose JSON is broken is no record, so the walk reaches the end.
    let _ = json::each_member(head, |key, _| {
        let key = json::unescape_inner(key);
        taken.extend(ADDED.iter().filter(|name| **name == key));
        true
    });
    taken
}

/// A JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What a line has beside the head of its record.
struct Fields<'a> {
    log: &'a Log,
    record: &'a Record,
    /// Names of source files, as JSON.
    sources: &'a [String],
    file: Option<&'a str>,
}

impl Fields<'_> {
    /// Adds the members of a JSON object to a line. The log's own keys keep their names: `taken` ones are not given again.
    fn write(&self, line: &mut Vec<u8>, taken: &[&str]) {
        let record = self.record;
        let mut comma: &[u8] = b"";
        let mut member = |name: &str, value: &[&[u8]]| {
            let own: &[u8] = if taken.contains(&name) { b"header_" } else { b"" };
            for part in [std::mem::replace(&mut comma, b", "), b"\"", own, name.as_bytes(), b"\": "].iter().chain(value)
            {
                line.extend_from_slice(part);
            }
        };
        let mut number = itoa::Buffer::new();
        match record.time_us() {
            Some(us) => {
                let zone: &[u8] = if self.log.index.utc_offset_s.is_some() { b"Z\"" } else { b"\"" };
                member("timestamp", &[b"\"", iso(us).as_bytes(), zone]);
            }
            None => member("timestamp", &[b"null"]),
        }
        match record.thread {
            Some(thread) => member("thread", &[number.format(thread).as_bytes()]),
            None => member("thread", &[b"null"]),
        }
        let source = self.sources.get(record.source as usize).map_or("\"\"", String::as_str);
        member("pathname", &[source.as_bytes()]);
        match record.source_line {
            NONE => member("lineno", &[b"null"]),
            at => member("lineno", &[number.format(at).as_bytes()]),
        }
        if let Some(file) = self.file {
            member("payload_filename", &[quoted(file).as_bytes()]);
        }
    }
}

/// The strings by id. Where ids are far apart, those beyond the dense part stand in an object. Of an id that was
/// given several texts these have the last, as in the standard report, and a further object has all of them.
fn write_strings(out: &mut dyn Write, index: &Index) -> io::Result<()> {
    let defs = index.strings.defs();
    let limit = defs.len() * SPARSE + 1000;
    let mut dense: Vec<Option<&str>> = Vec::new();
    let mut sparse = serde_json::Map::new();
    for def in defs {
        match usize::try_from(def.id).ok().filter(|id| *id < limit) {
            Some(id) => {
                dense.resize(dense.len().max(id + 1), None);
                if let Some(slot) = dense.get_mut(id) {
                    *slot = Some(&def.text);
                }
            }
            None => {
                sparse.insert(def.id.to_string(), def.text.as_str().into());
            }
        }
    }
    let mut line = serde_json::json!({ "string_table": dense });
    for (name, object) in [("sparse_strings", sparse), ("redefined_strings", redefined(index))] {
        if let (false, Some(line)) = (object.is_empty(), line.as_object_mut()) {
            line.insert(name.to_owned(), object.into());
        }
    }
    writeln!(out, "{line}")
}

/// All texts of the ids that have several, each with the line of the file from which on it holds.
fn redefined(index: &Index) -> serde_json::Map<String, serde_json::Value> {
    let ids: FxHashSet<i64> = index.strings.redefined().map(|(_, id)| id).collect();
    // The file begins with the strings, so that the first record stands on line 2.
    let lines: Vec<u64> = index.records.iter().filter(|r| has_line(r)).map(|r| r.offset).collect();
    let mut texts = serde_json::Map::new();
    for def in index.strings.defs().iter().filter(|def| ids.contains(&def.id)) {
        let from = lines.partition_point(|offset| *offset < def.offset) + 2;
        let all = texts.entry(def.id.to_string()).or_insert_with(|| serde_json::json!([]));
        if let Some(all) = all.as_array_mut() {
            all.push(serde_json::json!({ "from_line": from, "text": def.text }));
        }
    }
    texts
}

/// Whether a record has a line here.
fn has_line(record: &Record) -> bool {
    !record.kind.is(Kind::Str) && !record.kind.is(Kind::ChromiumEvent)
}
