//! Pages of code: generated programs and dumped sources. The browser colours them, so that writing costs
//! no time; the words of the code stand in the page.

use serde::Serialize;

use super::common::{Link, Page, Site, link_to};
use crate::error::Result;
use crate::report::html::{Pages, body, escape_into};
use crate::report::names::RelPath;

/// Whether other pages point at single lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineAnchors {
    /// Each line has an anchor `L<n>`.
    Each,
    /// The text stands as it is.
    None,
}

/// A page of code.
pub(crate) struct CodePage<'a> {
    /// Where it goes.
    pub(crate) path: &'a RelPath,
    /// What the text is, in a sentence.
    pub(crate) about: &'a str,
    /// The same text as a file.
    pub(crate) raw: Option<&'a RelPath>,
    /// Anchors.
    pub(crate) lines: LineAnchors,
}

#[derive(Serialize)]
struct Context<'a> {
    page: Page,
    heading: String,
    back: Link,
    about: &'a str,
    lang: &'static str,
    raw: Option<Link>,
    numbered: bool,
    body: &'static str,
}

impl CodePage<'_> {
    /// The page with `text` as its body.
    pub(crate) fn render(&self, site: &Site<'_>, pages: &Pages, text: &[u8]) -> Result<Vec<u8>> {
        let depth = self.path.depth();
        let name = self.path.file_name();
        let heading = name.strip_suffix(".html").unwrap_or(name).to_owned();
        let context = Context {
            page: Page::new(format!("{heading} · {}", site.heading), site.up, depth, ""),
            heading,
            back: site.back(self.path),
            about: self.about,
            lang: language(text),
            raw: self.raw.map(|path| Link { href: link_to(path, depth), label: "Plain text".to_owned() }),
            numbered: self.lines == LineAnchors::Each,
            body: body(),
        };
        let (before, after) = pages.around("code.html", &context)?;
        let mut out = before.into_bytes();
        match self.lines {
            LineAnchors::None => escape_into(text, &mut out),
            LineAnchors::Each => {
                for (n, line) in (1..).zip(text.split(|&b| b == b'\n')) {
                    out.extend_from_slice(format!("<span class=\"l\" id=\"L{n}\">").as_bytes());
                    escape_into(line, &mut out);
                    out.extend_from_slice(b"\n</span>");
                }
            }
        }
        out.extend_from_slice(after.as_bytes());
        Ok(out)
    }
}

/// Generated code is Python, or C++ from ahead-of-time compiles.
fn language(text: &[u8]) -> &'static str {
    let head = text.get(..4096.min(text.len())).unwrap_or_default();
    let cpp =
        [&b"#include <"[..], b"#pragma once", b"namespace "].iter().any(|w| memchr::memmem::find(head, w).is_some());
    let python = [&b"import "[..], b"def "].iter().any(|w| memchr::memmem::find(head, w).is_some());
    if cpp && !python { "cpp" } else { "python" }
}
