//! `other_records.html`: records that no other page shows, and fields that fasttl does not know.
//!
//! A log can have millions of these, so the page has the first of each kind, each cut to a bounded length;
//! `raw.jsonl` has them whole.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::common::{Link, Page, Site, anchor, count, link_to, plural, shorten, size};
use super::records::UNKNOWN_KIND;
use crate::error::Result;
use crate::format::json;
use crate::index::{KindId, Record};
use crate::report::census::{Census, Others, UnknownField};
use crate::report::html::Pages;
use crate::report::names::RelPath;
use crate::report::plan::{Content, Target};

/// Bytes that the texts of all records have together, as they are written.
const BYTES: usize = 500_000;
/// Characters of one value.
const VALUE: usize = 200;
/// Characters of one record.
const RECORD: usize = 1000;
/// Characters of a name that the log gives.
const NAME: usize = 200;

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: &'static str,
    back: Link,
    groups: Vec<Group>,
    left_out: String,
    fields: Vec<Field>,
    fields_note: String,
}

#[derive(Serialize)]
struct Group {
    anchor: String,
    kind: String,
    phase: &'static str,
    about: &'static str,
    total: String,
    note: String,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    line: u64,
    compile: Option<Link>,
    text: String,
    payload: Option<Link>,
}

#[derive(Serialize)]
struct Field {
    kind: &'static str,
    key: String,
    total: String,
    lines: String,
    example: String,
    compile: Option<Link>,
}

/// The page.
pub(crate) fn other_records_page(site: &Site<'_>, pages: &Pages, census: &Census) -> Result<String> {
    let payloads = payloads(site, census);
    let share = BYTES / census.others.len().max(1);
    let groups = census.others.iter().enumerate().map(|(at, others)| group(site, at, others, share, &payloads));
    let plain = |n: usize, what: &str| if n == 0 { String::new() } else { format!("{} more.", plural(n, what)) };
    let context = Context {
        page: Page::new(format!("Other records · {}", site.heading), site.up, 0, ""),
        heading: "Other records",
        back: Link { href: "index.html".to_owned(), label: site.heading.to_owned() },
        groups: groups.collect(),
        left_out: plain(census.left_out, "unknown kind"),
        fields: census.fields.iter().map(|found| field(site, found)).collect(),
        fields_note: plain(census.fields_left_out, "unknown field"),
    };
    pages.render("other_records.html", &context)
}

/// Where the payloads of the records on the page stand. A page that is made of a record does not hold its payload.
fn payloads<'a>(site: &Site<'a>, census: &Census) -> FxHashMap<usize, &'a RelPath> {
    let wanted: FxHashSet<usize> = census.others.iter().flat_map(|group| group.first.iter().copied()).collect();
    let holds = |content| matches!(content, Content::Payload | Content::Json);
    let made = site.plan.files.iter().filter(|file| wanted.contains(&file.record) && !holds(file.content));
    let made: FxHashSet<&RelPath> = made.map(|file| &file.path).collect();
    let listed = site.plan.directory.iter().flat_map(|(_, entries)| entries).filter_map(|entry| match &entry.target {
        Target::File(path) if entry.bytes > 0 && entry.parser.is_none() => Some((entry.record, path)),
        _ => None,
    });
    let named = site.plan.payload_files.iter().map(|(record, path)| (*record, path));
    listed.chain(named).filter(|(record, path)| wanted.contains(record) && !made.contains(path)).collect()
}

fn group(site: &Site<'_>, at: usize, others: &Others, share: usize, payloads: &FxHashMap<usize, &RelPath>) -> Group {
    let mut rows = Vec::new();
    let mut written = 0;
    for (at, record) in others.first.iter().filter_map(|at| Some((*at, site.log.index.records.get(*at)?))) {
        let row = row(site, record, payloads.get(&at).copied());
        written += escaped_len(&row.text) + 300;
        // The first one always stands there: it is bounded by itself.
        if written > share && !rows.is_empty() {
            break;
        }
        rows.push(row);
    }
    let (phase, about) = match others.kind {
        KindId::Known(kind) => (kind.info().phase.name(), kind.info().about),
        KindId::Other(_) => ("", UNKNOWN_KIND),
    };
    let note = if rows.len() < others.total {
        format!("The first {} are here, all are in raw.jsonl.", count(rows.len()))
    } else {
        String::new()
    };
    Group {
        anchor: format!("k{at}"),
        kind: shorten(site.log.index.names.kind(others.kind), NAME),
        phase,
        about,
        total: plural(others.total, "record"),
        note,
        rows,
    }
}

fn row(site: &Site<'_>, record: &Record, payload: Option<&RelPath>) -> Row {
    let label = format!("Payload, {}", size(record.text_len));
    Row {
        line: record.line,
        compile: compile(site, record),
        text: members(site.log.index.metadata(record, site.bytes)),
        payload: payload.map(|path| Link { href: link_to(path, 0), label }),
    }
}

/// The link to the files of a record's compile.
fn compile(site: &Site<'_>, record: &Record) -> Option<Link> {
    let id = site.log.index.names.id(record);
    let label = id.collapsed().label();
    (!id.is_none()).then(|| Link { href: format!("index.html{}", anchor(&label, 0)), label })
}

/// The metadata as it was logged, with each long value cut by itself, so that every key can be seen.
fn members(meta: &[u8]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut len = 0;
    let walked = json::each_member(meta, |key, value| {
        let part = format!("\"{}\": {}", cut(key, NAME), cut(value, VALUE));
        len += part.len() + 2;
        parts.push(part);
        len < RECORD
    });
    match walked {
        Ok(_) if len < RECORD => format!("{{{}}}", parts.join(", ")),
        Ok(_) => shorten(&format!("{{{}, …", parts.join(", ")), RECORD),
        Err(_) => cut(meta, RECORD),
    }
}

/// The first characters of a text that may be very long and need not be UTF-8.
fn cut(bytes: &[u8], most: usize) -> String {
    // A character has at most four bytes.
    let text = String::from_utf8_lossy(bytes.get(..bytes.len().min(most * 4 + 4)).unwrap_or_default());
    shorten(&text, most)
}

fn field(site: &Site<'_>, found: &UnknownField) -> Field {
    let records = || found.first.iter().filter_map(|at| site.log.index.records.get(*at));
    let first = records().next();
    let value = first.and_then(|record| {
        let mut value = None;
        let _ = json::each_member(site.log.index.metadata(record, site.bytes), |key, text| {
            if json::unescape_inner(key) == found.key {
                value = Some(cut(text, VALUE));
            }
            value.is_none()
        });
        value
    });
    let mut lines = records().map(|record| record.line.to_string()).collect::<Vec<_>>().join(", ");
    if found.total > found.first.len() {
        lines += ", …";
    }
    Field {
        kind: found.kind.info().name,
        key: shorten(&found.key, NAME),
        total: count(found.total),
        lines,
        example: value.unwrap_or_default(),
        compile: first.and_then(|record| compile(site, record)),
    }
}

/// Bytes of a text on a page.
fn escaped_len(text: &str) -> usize {
    let more = |c: char| match c {
        '&' | '"' | '\'' => 5,
        '<' | '>' => 3,
        _ => 0,
    };
    text.len() + text.chars().map(more).sum::<usize>()
}
