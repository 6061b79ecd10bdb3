//! A reader of the pages' tags, strict where the pages have to be: what it does not understand fails the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::logs::files_below;

/// The policy that stands in every page, written out here once more: a change of it must be a wanted one.
const POLICY: &str = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; \
    img-src 'self' file: data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
    trusted-types fasttl";

/// Elements without an end tag.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "param"];

/// An element: its name and its attributes, character references resolved.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
}

impl Tag {
    /// The value of an attribute.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// The elements of a page in order. Fails where the page is not well formed: an element that is not closed in its
/// order, an attribute without quotes or twice in an element, a `<` or `&` that starts nothing.
pub(crate) fn parse(page: &str) -> Result<Vec<Tag>, String> {
    let body = page.strip_prefix("<!DOCTYPE html>").ok_or("no document type at the very start")?;
    let (mut tags, mut open) = (Vec::<Tag>::new(), Vec::<String>::new());
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        text(&rest[..at])?;
        rest = &rest[at + 1..];
        if let Some(end_tag) = rest.strip_prefix('/') {
            let (name, after) = end_tag.split_once('>').ok_or("an end tag without its end")?;
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> closes something else, after {} elements", tags.len()));
            }
            rest = after;
            continue;
        }
        let (tag, after) = start_tag(rest)?;
        rest = after;
        if let (Some(after), true) = (rest.strip_prefix("/>"), open.iter().any(|name| name == "svg")) {
            // Only pictures know elements that close themselves.
            rest = after;
            tags.push(tag);
            continue;
        }
        rest = rest.strip_prefix('>').ok_or_else(|| format!("not the end of a tag: {}", shortened(rest)))?;
        if tag.name == "script" || tag.name == "style" {
            // Nothing may stand between these two.
            rest = rest.strip_prefix(&format!("</{}>", tag.name)).ok_or("a script or style with text in it")?;
        } else if !VOID.contains(&tag.name.as_str()) {
            open.push(tag.name.clone());
        }
        tags.push(tag);
    }
    text(rest)?;
    if open.is_empty() { Ok(tags) } else { Err(format!("never closed: {open:?}")) }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Reads a start tag behind its `<`; yields what follows its attributes.
fn start_tag(text: &str) -> Result<(Tag, &str), String> {
    let wrong = |why: &str| format!("{why}: <{}", shortened(text));
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).ok_or_else(|| wrong("a tag without its end"))?;
    let (name, mut rest) = text.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err(wrong("no tag"));
    }
    let mut tag = Tag { name: name.to_owned(), attributes: Vec::new() };
    loop {
        if rest.starts_with(['>', '/']) {
            return Ok((tag, rest));
        }
        rest = rest.strip_prefix(' ').ok_or_else(|| wrong("no blank before an attribute"))?;
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).ok_or_else(|| wrong("no attribute"))?;
        let (name, after) = rest.split_at(end);
        let (value, after) = match after.strip_prefix("=\"") {
            Some(after) => after.split_once('"').ok_or_else(|| wrong("a value without its end"))?,
            None => ("", after),
        };
        if name.is_empty() || tag.get(name).is_some() {
            return Err(wrong("an attribute without a name, or twice"));
        }
        tag.attributes.push((name.to_owned(), self::text(value)?));
        rest = after;
    }
}

/// Resolves the character references that pages use; any other is an error.
fn text(raw: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&#39;", '\''), ("&#x27;", '\'')];
        let (name, c) = known
            .into_iter()
            .find(|(name, _)| rest.starts_with(name))
            .ok_or_else(|| format!("a character reference that is none: {}", shortened(rest)))?;
        out.push(c);
        rest = &rest[name.len()..];
    }
    Ok(out + rest)
}

/// Decodes `%41`; fails where a `%` starts nothing.
fn percent_decoded(text: &str) -> Result<String, String> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
            out.push(hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).ok_or(format!("a bare % in {text}"))?);
            rest = &after[2..];
        } else {
            out.push(*first);
        }
    }
    String::from_utf8(out).map_err(|_| format!("{text} is not UTF-8 when decoded"))
}

/// Where a relative address on the page `page` (a path from the report's folder) leads: a path from there, and the
/// fragment.
fn resolve(page: &str, address: &str) -> Result<(String, Option<String>), String> {
    let (path, fragment) = address.split_once('#').map_or((address, None), |(path, f)| (path, Some(f)));
    let fragment = fragment.map(percent_decoded).transpose()?;
    if path.is_empty() {
        return Ok((page.to_owned(), fragment));
    }
    if path.starts_with(['/', '?', ' ']) || path.contains(['?', '\\']) || path.ends_with(' ') {
        return Err(format!("{page}: address {address:?} does not lead where it should"));
    }
    let mut parts: Vec<String> = page.split('/').map(str::to_owned).collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop().ok_or(format!("{page}: {address} leads out of the report"))?),
            "." => {}
            part => parts.push(percent_decoded(part)?),
        }
    }
    Ok((parts.join("/"), fragment))
}

/// Looks at one page of a report; yields the files of the report that it leads to.
pub(crate) fn check_page(path: &str, page: &str) -> Result<Vec<(String, Option<String>)>, String> {
    let tags = parse(page).map_err(|why| format!("{path}: {why}"))?;
    let names: Vec<&str> = tags.iter().take(4).map(|tag| tag.name.as_str()).collect();
    let policy = tags.get(3).and_then(|tag| Some((tag.get("http-equiv")?, tag.get("content")?)));
    if names != ["html", "head", "meta", "meta"]
        || tags[2].attributes != [("charset".to_owned(), "utf-8".to_owned())]
        || policy != Some(("Content-Security-Policy", POLICY))
    {
        return Err(format!("{path}: character set and policy are not first: {:?}", &tags[..4.min(tags.len())]));
    }
    let mut leads = Vec::new();
    for (nth, tag) in tags.iter().enumerate() {
        check_tag(tag, nth == 3).map_err(|why| format!("{path}: {why}: {tag:?}"))?;
        for name in ["href", "src"] {
            let Some(address) = tag.get(name) else { continue };
            if tag.name == "a" && (address.starts_with("http://") || address.starts_with("https://")) {
                continue;
            }
            if tag.name == "link" && tag.get("rel") == Some("icon") && address == "data:," {
                continue;
            }
            // What comes before a colon, without a slash before it, is a scheme.
            if address.split(['/', '#']).next().is_some_and(|first| first.contains(':')) {
                return Err(format!("{path}: an address with a scheme: {tag:?}"));
            }
            leads.push(resolve(path, address)?);
        }
    }
    Ok(leads)
}

/// What no element of a page may have.
fn check_tag(tag: &Tag, is_policy: bool) -> Result<(), &'static str> {
    let has = |name: &str| tag.get(name).is_some();
    if tag.attributes.iter().any(|(name, _)| name.starts_with("on")) {
        return Err("a handler of events");
    }
    if has("style") || tag.name == "style" {
        return Err("a style in the page");
    }
    if has("http-equiv") && !is_policy {
        return Err("a second http-equiv");
    }
    if ["srcset", "action", "formaction", "ping", "background", "poster", "data", "srcdoc"].iter().any(|n| has(n)) {
        return Err("an attribute that loads or sends");
    }
    if ["base", "iframe", "object", "embed", "form", "img", "video", "audio"].contains(&tag.name.as_str()) {
        return Err("an element that no page needs");
    }
    if tag.name == "script" && !has("src") {
        return Err("a script in the page");
    }
    Ok(())
}

/// Whether a file of a report is a page.
pub(crate) fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "html")
}

/// Looks at all pages of a report. Every relative address must lead to a file, and every fragment to an element
/// with that id. Yields the addresses by page.
pub(crate) fn check_report(out: &Path) -> Result<BTreeMap<String, Vec<String>>, String> {
    let files = files_below(out);
    let mut pages = BTreeMap::new();
    let mut ids = BTreeMap::new();
    for (path, file) in files.iter().filter(|(path, _)| is_page(path)) {
        let page = fs::read(file).map_err(|e| format!("{path}: {e}"))?;
        let page = String::from_utf8(page).map_err(|e| format!("{path}: {e}"))?;
        let tags = parse(&page).map_err(|why| format!("{path}: {why}"))?;
        let own: Vec<String> = tags.iter().filter_map(|tag| tag.get("id")).map(str::to_owned).collect();
        pages.insert(path.clone(), check_page(path, &page)?);
        ids.insert(path.clone(), own);
    }
    for (page, leads) in &pages {
        for (file, fragment) in leads {
            if !files.contains_key(file) {
                return Err(format!("{page}: {file} is not there"));
            }
            let there = fragment.as_ref().is_none_or(|f| ids.get(file).is_some_and(|ids| ids.contains(f)));
            if !there {
                return Err(format!("{page}: {file} has no element {fragment:?}"));
            }
        }
    }
    Ok(pages.into_iter().map(|(page, leads)| (page, leads.into_iter().map(|(file, _)| file).collect())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(body: &str) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n</head><body>{body}</body></html>"
        )
    }

    #[test]
    fn a_clean_page_passes_and_its_addresses_are_found() {
        let page = page("<a href=\"../b%23c.txt#x\">&lt;</a><a href=\"https://example.org/\">out</a><br>");
        let leads = check_page("d/a.html", &page).unwrap();
        assert_eq!(leads, [("b#c.txt".to_owned(), Some("x".to_owned()))]);
    }

    #[test]
    fn what_must_not_stand_in_a_page_is_seen() {
        for body in [
            "<p onclick=\"x\"></p>",
            "<p style=\"x\"></p>",
            "<script>x</script>",
            "<style>x</style>",
            "<img src=\"x.png\">",
            "<a href=\"javascript:x\">y</a>",
            "<a href=\"//example.org\">y</a>",
            "<a href=\"../../up\">y</a>",
            "<meta http-equiv=\"refresh\" content=\"0\">",
            "<p><b></p></b>",
            "a < b",
            "a & b",
            "<p title=x></p>",
            "<p/>",
            "<P></P>",
        ] {
            assert!(check_page("d/a.html", &page(body)).is_err(), "{body}");
        }
    }
}
