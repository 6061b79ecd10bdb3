//! Templates and the escaping of text.
//!
//! Templates are files, embedded at build; they escape what they print, and an undefined name in one is an
//! error. Text that is too large for a template is escaped here and put where the page has its body.

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Output, State, UndefinedBehavior};
use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};

const TEMPLATES: [(&str, &str); 29] = [
    ("_agreement.html", include_str!("templates/_agreement.html")),
    ("_divergence.html", include_str!("templates/_divergence.html")),
    ("_findings.html", include_str!("templates/_findings.html")),
    ("_compiles.html", include_str!("templates/_compiles.html")),
    ("_directory.html", include_str!("templates/_directory.html")),
    ("_help.html", include_str!("templates/_help.html")),
    ("_macros.html", include_str!("templates/_macros.html")),
    ("_names.html", include_str!("templates/_names.html")),
    ("_phases.html", include_str!("templates/_phases.html")),
    ("_problems.html", include_str!("templates/_problems.html")),
    ("_rank_pictures.html", include_str!("templates/_rank_pictures.html")),
    ("_records.html", include_str!("templates/_records.html")),
    ("_shapes.html", include_str!("templates/_shapes.html")),
    ("_strip.html", include_str!("templates/_strip.html")),
    ("_tree.html", include_str!("templates/_tree.html")),
    ("base.html", include_str!("templates/base.html")),
    ("code.html", include_str!("templates/code.html")),
    ("diff.html", include_str!("templates/diff.html")),
    ("export.html", include_str!("templates/export.html")),
    ("failures.html", include_str!("templates/failures.html")),
    ("guards.html", include_str!("templates/guards.html")),
    ("job.html", include_str!("templates/job.html")),
    ("metrics.html", include_str!("templates/metrics.html")),
    ("other_records.html", include_str!("templates/other_records.html")),
    ("provenance.html", include_str!("templates/provenance.html")),
    ("rank.html", include_str!("templates/rank.html")),
    ("ranks.html", include_str!("templates/ranks.html")),
    ("symbolic_guard.html", include_str!("templates/symbolic_guard.html")),
    ("traces.html", include_str!("templates/traces.html")),
];

/// Files that pages need beside them: in the folder `fasttl/`, once for a report.
pub(super) const ASSETS: [(&str, &[u8]); 3] = [
    ("fasttl/app.css", include_bytes!("static/app.css")),
    ("fasttl/app.js", include_bytes!("static/app.js")),
    ("fasttl/LICENSES.txt", include_bytes!("static/LICENSES.txt")),
];

/// The policy of every page: nothing from the network, no script or style but the report's own files.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; \
    img-src 'self' file: data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
    trusted-types fasttl";

/// Stands for the body of a page until it is written.
const BODY: &str = "\u{E000}fasttl-body\u{E000}";

/// The compiled templates, for one call.
pub(super) struct Pages {
    environment: Environment<'static>,
}

impl Pages {
    /// Compiles the templates.
    pub(super) fn new() -> Result<Self> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.set_formatter(format);
        for (name, source) in TEMPLATES {
            environment.add_template(name, source).map_err(|e| internal(name, &e))?;
        }
        Ok(Self { environment })
    }

    /// Renders a page.
    pub(super) fn render(&self, name: &str, context: &impl Serialize) -> Result<String> {
        let template = self.environment.get_template(name).map_err(|e| internal(name, &e))?;
        template.render(Value::from(Serde(context))).map_err(|e| internal(name, &e))
    }

    /// Renders a part of a page.
    pub(super) fn part(&self, name: &str, context: &impl Serialize) -> Result<Markup> {
        self.render(name, context).map(Markup)
    }

    /// Renders a page with `slots` slots, each of which the template prints once, in their order.
    pub(super) fn form(&self, name: &str, slots: usize, context: &impl Serialize) -> Result<Form> {
        let page = self.render(name, context)?;
        let mut parts = Vec::new();
        let mut rest = page.as_str();
        for nth in 0..slots {
            let (before, after) = rest
                .split_once(&slot(nth))
                .ok_or_else(|| Error::new(ErrorKind::Internal, format!("page {name} has no slot {nth}")))?;
            parts.push(before.to_owned());
            rest = after;
        }
        parts.push(rest.to_owned());
        Ok(Form(parts))
    }

    /// Renders a text of a test with the macros of the templates.
    #[cfg(test)]
    pub(super) fn render_text(&self, template: &str, context: Value) -> String {
        self.environment.render_named_str("test.html", template, context).unwrap()
    }

    /// Renders the page around a large text: what stands before and after it.
    pub(super) fn around(&self, name: &str, context: &impl Serialize) -> Result<(String, String)> {
        let page = self.render(name, context)?;
        let (before, after) =
            page.split_once(BODY).ok_or_else(|| Error::new(ErrorKind::Internal, format!("page {name} has no body")))?;
        Ok((before.to_owned(), after.to_owned()))
    }
}

/// A page of which thousands differ in a few places only: rendered once, and filled in there.
#[derive(Debug)]
pub(super) struct Form(Vec<String>);

/// Stands for what fills slot number `nth` of a form, in the context that it is rendered with.
pub(super) fn slot(nth: usize) -> String {
    format!("\u{E000}fasttl-slot-{nth}\u{E000}")
}

impl Form {
    /// The page with `contents`, in the order of the slots.
    pub(super) fn fill(&self, contents: &[Markup]) -> String {
        let len = self.0.iter().map(String::len).sum::<usize>() + contents.iter().map(|c| c.0.len()).sum::<usize>();
        let mut page = String::with_capacity(len);
        let mut contents = contents.iter();
        for part in &self.0 {
            page.push_str(part);
            page.push_str(contents.next().map_or("", |content| &content.0));
        }
        page
    }
}

/// What a context gives as `body` for [`Pages::around`].
pub(super) const fn body() -> &'static str {
    BODY
}

fn internal(name: &str, error: &minijinja::Error) -> Error {
    let mut text = format!("page {name}: {error:#}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    Error::new(ErrorKind::Internal, text)
}

/// Markup that is put together where a template would be too slow. A tag is a literal of the source, and
/// whatever else comes in is escaped, so that no text can become markup.
#[derive(Clone, Debug, Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Appends markup.
    pub(super) fn tag(&mut self, tag: &'static str) -> &mut Self {
        self.0.push_str(tag);
        self
    }

    /// Appends text, in an element or a quoted attribute.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| escape_of(byte).is_some()) {
            let (plain, special) = rest.split_at(at);
            self.0.push_str(plain);
            self.0.push_str(special.bytes().next().and_then(escape_of).unwrap_or_default());
            rest = special.get(1..).unwrap_or_default();
        }
        self.0.push_str(rest);
        self
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends other markup.
    pub(super) fn markup(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// The markup for a template, which prints it as it is.
    pub(super) fn into_value(self) -> Value {
        Value::from_safe_string(self.0)
    }
}

/// Prints a value. Like minijinja's own, but `/` stays as it is: links are long enough.
fn format(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> std::result::Result<(), minijinja::Error> {
    match value.as_str() {
        Some(text) if !value.is_safe() => {
            let mut rest = text;
            let mut written = Ok(());
            while let (Some(at), true) = (rest.find(['&', '<', '>', '"', '\'']), written.is_ok()) {
                let (plain, special) = rest.split_at(at);
                let escape = special.bytes().next().and_then(escape_of).unwrap_or_default();
                written = out.write_str(plain).and_then(|()| out.write_str(escape));
                rest = special.get(1..).unwrap_or_default();
            }
            written.and_then(|()| out.write_str(rest)).map_err(minijinja::Error::from)
        }
        _ => minijinja::escape_formatter(out, state, value),
    }
}

const fn escape_of(byte: u8) -> Option<&'static str> {
    match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'"' => Some("&quot;"),
        b'\'' => Some("&#39;"),
        _ => None,
    }
}

/// Appends `text` so that a browser shows it and takes nothing of it as markup. Bytes that are not UTF-8
/// show as U+FFFD.
pub(super) fn escape_into(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + text.len() / 16);
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid().as_bytes();
        while let Some(at) = memchr::memchr3(b'&', b'<', b'>', rest) {
            out.extend_from_slice(rest.get(..at).unwrap_or_default());
            let special = rest.get(at).copied().and_then(escape_of).unwrap_or_default();
            out.extend_from_slice(special.as_bytes());
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        out.extend_from_slice(rest);
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{FFFD}".as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let mut out = Vec::new();
        escape_into(b"<a>&\"\xFFb", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "&lt;a&gt;&amp;\"\u{FFFD}b");
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.set_formatter(format);
        let page =
            environment.render_str("<a title=\"{{ x }}\">{{ n }}", minijinja::context! { x => "</a>'\"&/", n => 3 });
        assert_eq!(page.unwrap(), "<a title=\"&lt;/a&gt;&#39;&quot;&amp;/\">3");
        let mut markup = Markup::default();
        markup.tag("<a title=\"").text("</a>'\"&/\u{e9}").tag("\">");
        let page = environment.render_str("{{ x }}", minijinja::context! { x => markup.into_value() });
        assert_eq!(page.unwrap(), "<a title=\"&lt;/a&gt;&#39;&quot;&amp;/\u{e9}\">");
    }

    #[test]
    fn templates_compile() {
        assert!(Pages::new().is_ok());
    }
}
