//! `dynamo_guards_<n>.html`: the guards of a `dynamo_guards` record.

use serde::Serialize;

use super::common::{Link, Page, Site};
use super::stack_view::StackView;
use crate::error::Result;
use crate::format::frame::parse_stack;
use crate::format::json;
use crate::report::html::Pages;
use crate::report::names::RelPath;

/// Bytes that the stacks of a page have together.
const STACK_BYTES: usize = 32 << 20;

#[derive(Serialize)]
struct Context {
    page: Page,
    heading: String,
    back: Link,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    code: String,
    user_stack: StackView,
    stack: StackView,
}

/// The page of the guards that the payload `text` of the record at `offset` lists.
pub(crate) fn guards_page(site: &Site<'_>, pages: &Pages, path: &RelPath, text: &[u8], offset: u64) -> Result<String> {
    // What is no list has no page; see the plan. An element that has no code is shown as it stands.
    let guards = json::elements(text).map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    let mut room = STACK_BYTES;
    let row = |guard: &[u8]| {
        let mut stack = |name: &[u8]| {
            let frames = json::member(guard, name).map(parse_stack).unwrap_or_default();
            site.stack(&frames, offset, path.depth(), &mut room).into()
        };
        Row {
            code: json::member(guard, b"code")
                .and_then(json::unescape)
                .unwrap_or_else(|| String::from_utf8_lossy(guard).into_owned()),
            user_stack: stack(b"user_stack"),
            stack: stack(b"stack"),
        }
    };
    let rows = guards.into_iter().map(row).collect();
    let heading = path.file_name().trim_end_matches(".html").to_owned();
    let page = Page::new(format!("{heading} · {}", site.heading), site.up, path.depth(), "");
    pages.render("guards.html", &Context { page, heading, back: site.back(path), rows })
}
