//! `raw.jsonl`: the heads of all records but strings and timing events, one a line, with the fields of their
//! prefixes and the file that holds their payload.
//!
//! A head is copied as it stands, with the fields added before its closing brace. One that is not plain is
//! made strict JSON first.

use std::io::{self, Write};

use super::names::RelPath;
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
    for (at, record) in log.index.records.iter().enumerate() {
        while files.peek().is_some_and(|(n, _)| *n < at) {
            files.next();
        }
        if record.kind.is(Kind::Str) || record.kind.is(Kind::ChromiumEvent) {
            continue;
        }
        let file = files.peek().filter(|(n, _)| *n == at).map(|(_, path)| path.as_str());
        let fields = Fields { log, record, sources: &sources, file };
        let head = log.index.json(record, bytes);
        let open = head.strip_suffix(b"}").filter(|_| record.plain);
        match open {
            // A single-line head with no key of these names: the fields can follow.
            Some(open) if !has_own(log, record) => {
                out.write_all(open)?;
                out.write_all(if open.trim_ascii_end() == b"{" { b"" } else { b", " })?;
                fields.write(out)?;
                out.write_all(b"}\n")?;
            }
            _ => {
                let mut object: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_slice(&to_strict(head)).unwrap_or_default();
                let mut added = b"{".to_vec();
                fields.write(&mut added)?;
                added.push(b'}');
                let added: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&added)?;
                for (key, value) in added {
                    // The log's own key keeps its name.
                    let key = if object.contains_key(&key) { format!("header_{key}") } else { key };
                    object.insert(key, value);
                }
                writeln!(out, "{}", serde_json::Value::Object(object))?;
            }
        }
    }
    Ok(())
}

/// Whether a plain head may have a key that is added here: only as its kind.
fn has_own(log: &Log, record: &Record) -> bool {
    let kind = log.index.names.kind(record.kind);
    ["timestamp", "thread", "pathname", "lineno", "payload_filename"].contains(&kind)
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
    /// Writes the members of a JSON object.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let record = self.record;
        match record.time_us {
            Some(us) => {
                let zone = if self.log.index.utc_offset_s.is_some() { "Z" } else { "" };
                write!(out, "\"timestamp\": \"{}{zone}\"", iso(us))?;
            }
            None => out.write_all(b"\"timestamp\": null")?,
        }
        match record.thread {
            Some(thread) => write!(out, ", \"thread\": {thread}")?,
            None => out.write_all(b", \"thread\": null")?,
        }
        let source = self.sources.get(record.source as usize).map_or("\"\"", String::as_str);
        write!(out, ", \"pathname\": {source}")?;
        match record.source_line {
            NONE => out.write_all(b", \"lineno\": null")?,
            line => write!(out, ", \"lineno\": {line}")?,
        }
        match self.file {
            Some(file) => write!(out, ", \"payload_filename\": {}", quoted(file)),
            None => Ok(()),
        }
    }
}

/// The strings by id. Where ids are far apart, those beyond the dense part stand in an object.
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
    if let (false, Some(object)) = (sparse.is_empty(), line.as_object_mut()) {
        object.insert("sparse_strings".to_owned(), sparse.into());
    }
    writeln!(out, "{line}")
}
