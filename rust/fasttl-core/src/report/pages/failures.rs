//! `failures_and_restarts.html`: why compiles were started over or given up, and where graphs broke.

use serde::Serialize;

use super::common::{Link, Page, Site, link_to, shorten};
use crate::analysis::{Compile, FailureKind};
use crate::error::Result;
use crate::report::html::Pages;
use crate::report::names::RelPath;
use crate::report::plan::{Content, Target};

/// Graph breaks on the page; the others are files of their compiles.
const BREAKS: usize = 300;
/// Characters of the reason of a graph break; its file has all.
const REASON: usize = 1000;

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: &'static str,
    back: Link,
    rows: Vec<Row>,
    breaks: Vec<Break>,
    all_breaks: usize,
}

#[derive(Serialize)]
struct Row {
    label: String,
    href: Option<String>,
    kind: &'static str,
    r#type: String,
    reason: String,
    place: String,
}

/// A graph break, as its artifact tells it.
#[derive(Serialize)]
struct Break {
    label: String,
    href: Option<String>,
    function: String,
    place: String,
    reason: String,
}

/// The page.
pub(crate) fn failures_page(site: &Site<'_>, pages: &Pages) -> Result<String> {
    let metrics: rustc_hash::FxHashMap<usize, &RelPath> =
        site.plan.files.iter().filter(|f| f.content == Content::Metrics).map(|f| (f.record, &f.path)).collect();
    let mut rows: Vec<(usize, Row)> = Vec::new();
    for compile in site.compiles.iter() {
        for failure in &compile.failures {
            let id = site.log.index.records.get(failure.record).map(|r| site.log.index.names.id(r)).unwrap_or_default();
            let place = failure.place.as_ref().map(|(file, line)| match line {
                Some(line) => format!("{file}:{line}"),
                None => file.clone(),
            });
            let kind = match failure.kind {
                FailureKind::Restart => "restart",
                FailureKind::Failure => "failure",
            };
            let row = Row {
                label: id.label(),
                href: metrics.get(&failure.record).map(|path| link_to(path, 0)),
                kind,
                r#type: failure.error.clone().unwrap_or_default(),
                reason: failure.reason.clone(),
                place: place.unwrap_or_default(),
            };
            rows.push((failure.record, row));
        }
    }
    rows.sort_by_key(|(record, _)| *record);
    let breaks = breaks(site);
    let context = Context {
        page: Page::new(format!("Restarts and failures · {}", site.heading), site.up, 0, ""),
        heading: "Restarts and failures",
        back: Link { href: "index.html".to_owned(), label: site.heading.to_owned() },
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        all_breaks: breaks.len(),
        breaks: breaks.into_iter().take(BREAKS).map(|(at, compile)| break_row(site, at, compile)).collect(),
    };
    pages.render("failures.html", &context)
}

/// The records of graph breaks in the order of the log, with their compiles.
fn breaks<'a>(site: &Site<'a>) -> Vec<(usize, &'a Compile)> {
    let of = |compile: &'a Compile| compile.graph_breaks().iter().map(move |at| (*at, compile));
    let mut breaks: Vec<(usize, &Compile)> = site.compiles.iter().flat_map(of).collect();
    breaks.sort_by_key(|(at, _)| *at);
    breaks
}

fn break_row(site: &Site<'_>, at: usize, compile: &Compile) -> Break {
    let index = &site.log.index;
    let record = index.records.get(at);
    let id = record.map(|record| index.names.id(record)).unwrap_or_default();
    let text = record.map(|record| index.payload(record, site.bytes).text()).unwrap_or_default();
    let (place, reason) = break_words(&String::from_utf8_lossy(&text));
    Break {
        label: id.label(),
        href: file_of(site, at).map(|path| link_to(path, 0)),
        function: shorten(compile.name.as_deref().unwrap_or_default(), REASON),
        place: shorten(&place, REASON),
        reason: shorten(&reason, REASON),
    }
}

/// The file of a record, as its compile lists it.
fn file_of<'a>(site: &Site<'a>, at: usize) -> Option<&'a RelPath> {
    let record = site.log.index.records.get(at)?;
    let slot = *site.plan.by_id.get(&site.log.index.names.id(record).collapsed())?;
    let (_, entries) = site.plan.directory.get(slot)?;
    // Entries stand in the order of the log.
    let entry = entries.get(entries.binary_search_by_key(&at, |entry| entry.record).ok()?)?;
    match &entry.target {
        Target::File(path) => Some(path),
        Target::Link(_) => None,
    }
}

/// Place and reason in the text of a graph break: up to the stacks, without the words that lead up to them.
fn break_words(text: &str) -> (String, String) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let Some(place) = first.strip_prefix("Graph break in user code at ") else {
        return (String::new(), without_stacks(text));
    };
    (place.to_owned(), without_stacks(rest.strip_prefix("Graph Break Reason: ").unwrap_or(rest)))
}

/// A message up to the first stack in it.
fn without_stacks(text: &str) -> String {
    let stack = |line: &&str| line.starts_with("User code traceback:") || line.starts_with("Traceback (most recent");
    let lines: Vec<&str> = text.lines().take_while(|line| !stack(line)).collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_has_its_place_and_reason() {
        let text =
            "Graph break in user code at a:b/x.py:7\nGraph Break Reason: call\n  Hint: no\n\nUser code traceback:\n";
        assert_eq!(break_words(text), ("a:b/x.py:7".to_owned(), "call\n  Hint: no".to_owned()));
        assert_eq!(break_words("skipped\nTraceback (most recent call last):\n x"), (String::new(), "skipped".into()));
        assert_eq!(break_words(""), (String::new(), String::new()));
    }
}
