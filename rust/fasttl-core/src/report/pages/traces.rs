//! The readable form of `inductor_provenance_tracking_kernel_stack_traces`: stacks by kernel.

use serde::Serialize;

use super::common::{Link, Page, Site};
use crate::error::Result;
use crate::format::strict::to_strict;
use crate::report::html::Pages;
use crate::report::names::RelPath;

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: String,
    back: Link,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    texts: Vec<String>,
}

/// The page of a payload that maps kernels to lists of stacks.
pub(crate) fn traces_page(site: &Site<'_>, pages: &Pages, path: &RelPath, text: &[u8]) -> Result<String> {
    let kernels: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&to_strict(text)).unwrap_or_default();
    let stack = |value: &serde_json::Value| match value.as_str() {
        // Line feeds are written as a backslash and an n.
        Some(text) => text.replace("\\n", "\n"),
        None => value.to_string(),
    };
    let row = |(name, value): (String, serde_json::Value)| Row {
        name,
        texts: value.as_array().map_or_else(|| vec![value.to_string()], |stacks| stacks.iter().map(stack).collect()),
    };
    let heading = path.file_name().trim_end_matches(".html").to_owned();
    let page = Page::new(format!("{heading} · {}", site.heading), site.up, path.depth(), "");
    let rows = kernels.into_iter().map(row).collect();
    pages.render("traces.html", &Context { page, heading, back: site.back(path), rows })
}
