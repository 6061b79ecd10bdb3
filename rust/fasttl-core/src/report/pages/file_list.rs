//! The list of all files of a log, by compile. There may be 100,000 of them, so the items are put together here and
//! not by the template.

use minijinja::Value;
use serde::Serialize;

use super::common::{Link, Site, size};
use super::rank::{cache_mark, is_web};
use crate::analysis::parts::Part;
use crate::format::compile_id::CompileId;
use crate::format::kind::Kind;
use crate::report::html::Markup;
use crate::report::plan::{Entry, Target};

/// The files under one compile id.
#[derive(Serialize)]
pub(super) struct Section {
    label: String,
    anchor: String,
    c: String,
    function: String,
    status: &'static str,
    count: usize,
    files: Value,
    provenance: Option<Link>,
}

/// The list of a log.
pub(super) fn directory(site: &Site<'_>) -> Vec<Section> {
    site.plan.directory.iter().map(|(id, entries)| section(site, *id, entries)).collect()
}

fn section(site: &Site<'_>, id: CompileId, entries: &[Entry]) -> Section {
    let compile = site.compiles.newest(id);
    let label = id.label();
    // Forward and backward, or the pieces of a split graph: told apart where there is more than one.
    let several = entries.iter().filter_map(|entry| site.parts.of(entry.record)).any(|part| part.number > 0);
    let mut files = Markup::default();
    for entry in entries {
        item(&mut files, site, entry, several);
    }
    Section {
        anchor: label.clone(),
        c: format!("c={id}"),
        label,
        function: compile.and_then(|c| c.name.clone()).unwrap_or_default(),
        status: compile.map_or("", |c| c.status.name()),
        count: entries.len(),
        files: files.into_value(),
        provenance: site.plan.provenance.get(&id).map(|page| Link {
            href: page.path.href(),
            label: page.path.file_name().trim_end_matches(".html").to_owned(),
        }),
    }
}

fn item(out: &mut Markup, site: &Site<'_>, entry: &Entry, several_parts: bool) {
    let record = site.log.index.records.get(entry.record);
    let extra = entry.number.is_none();
    out.tag(if extra { "\n<li class=\"extra\">" } else { "\n<li>" });
    match &entry.target {
        Target::File(path) => {
            out.tag("<a href=\"").text(&path.href()).tag("\">").text(&entry.name).tag("</a>");
            let mark = cache_mark(path.as_str());
            if !mark.is_empty() {
                out.tag(" ").text(mark);
            }
        }
        Target::Link(url) => {
            if is_web(url) {
                out.tag("<a href=\"").text(url).tag("\" rel=\"noopener noreferrer\">").text(&entry.name).tag("</a>");
            } else {
                out.text(&entry.name);
            }
            if !url.is_empty() {
                out.tag(" <span class=\"n mono\">").text(url).tag("</span>");
            }
        }
    }
    if let Some(part) = site.parts.of(entry.record).filter(|_| several_parts) {
        out.tag(" <b class=\"part\">").text(&Part::label(part)).tag("</b>");
    }
    if let Some(readable) = &entry.readable {
        out.tag(" <a href=\"").text(&readable.href()).tag("\">(readable)</a>");
    }
    let is_link = entry.parser.is_none() && record.is_some_and(|r| r.kind.is(Kind::Link));
    out.tag(" <span class=\"n\">");
    if !is_link && entry.bytes > 0 {
        out.text(&size(entry.bytes));
    }
    out.tag("</span>");
    if extra {
        out.tag(" <i>extra</i>");
    }
    about(out, site, entry);
    out.tag("</li>");
}

/// What the file is, in a sentence.
fn about(out: &mut Markup, site: &Site<'_>, entry: &Entry) {
    let record = site.log.index.records.get(entry.record);
    match (&entry.parser, record.map(|record| site.about(record))) {
        (Some(parser), _) => {
            out.tag(" <span class=\"about\">Made by the custom parser ").text(parser).tag(".</span>");
        }
        (None, Some(about)) if !about.is_empty() => {
            out.tag(" <span class=\"about\">").text(about).tag("</span>");
        }
        _ => {}
    }
}
