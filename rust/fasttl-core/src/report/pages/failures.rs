//! `failures_and_restarts.html`: why compiles were started over or given up.

use serde::Serialize;

use super::common::{Link, Page, Site, link_to};
use crate::analysis::FailureKind;
use crate::error::Result;
use crate::report::html::Pages;
use crate::report::names::RelPath;
use crate::report::plan::Content;

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: &'static str,
    back: Link,
    rows: Vec<Row>,
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
    let context = Context {
        page: Page::new(format!("Restarts and failures · {}", site.heading), site.up, 0, ""),
        heading: "Restarts and failures",
        back: Link { href: "index.html".to_owned(), label: site.heading.to_owned() },
        rows: rows.into_iter().map(|(_, row)| row).collect(),
    };
    pages.render("failures.html", &context)
}
