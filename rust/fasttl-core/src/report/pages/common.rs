//! What the pages share: their place in the report, stacks, and the way numbers are shown.

use std::borrow::Cow;

use serde::Serialize;

use super::records::UNKNOWN_KIND;
use crate::analysis::Compile;
use crate::analysis::compiles::Compiles;
use crate::analysis::parts::Parts;
use crate::format::catalogue;
use crate::format::compile_id::CompileId;
use crate::format::frame::{Frame, is_framework};
pub(crate) use crate::format::text::shorten;
use crate::format::time::iso;
use crate::index::{KindId, ParserProblem, Record};
use crate::report::html::Markup;
use crate::report::names::{RelPath, eval_with_key, href};
use crate::report::plan::Plan;
use crate::report::policy;
use crate::tables::MetricRecords;
use crate::trace::{Log, Trace};

/// Where the pages of one log stand, and what they link to.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    /// The job.
    pub(crate) trace: &'a Trace,
    /// The log.
    pub(crate) log: &'a Log,
    /// Its number in the job.
    pub(crate) number: usize,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
    /// The fields of its metrics records.
    pub(crate) metrics: &'a MetricRecords<'a>,
    /// Its compiles.
    pub(crate) compiles: &'a Compiles,
    /// Which Inductor compile each of its records belongs to.
    pub(crate) parts: &'a Parts,
    /// Its files.
    pub(crate) plan: &'a Plan,
    /// What a page in the log's own folder writes before `fasttl/app.css`: empty, or `../` in a job.
    pub(crate) up: &'a str,
    /// What the log is called: `rank 3`, or its file's name.
    pub(crate) heading: &'a str,
}

/// The part of a context that every page has.
#[derive(Serialize)]
pub(crate) struct Page {
    title: String,
    assets: String,
    policy: Cow<'static, str>,
    header_html: String,
}

impl Page {
    /// A page `depth` folders below the log's own.
    pub(crate) fn new(title: String, up: &str, depth: usize, header_html: &str) -> Self {
        Self {
            title,
            assets: format!("{}{up}fasttl/", "../".repeat(depth)),
            policy: policy::with_header(header_html),
            header_html: header_html.to_owned(),
        }
    }
}

/// So many frames of a stack are shown at each of its ends, where it has more than twice as many.
pub(crate) const STACK_END: usize = 500;
/// Characters of a frame's file, function or source line in a tree.
const FRAME_TEXT: usize = 400;
/// Bytes of the same elsewhere: one file's name may be long, and stand in every frame of a log.
const FRAME_BYTES: usize = 1000;

/// A link.
#[derive(Clone, Serialize)]
pub(crate) struct Link {
    pub(crate) href: String,
    pub(crate) label: String,
}

/// The link to another log of the job, from a page of this one.
pub(crate) fn sibling(folder: &str, label: &str) -> Link {
    Link { href: format!("../{folder}/index.html"), label: label.to_owned() }
}

/// A stack frame as pages show it.
#[derive(Clone, Serialize)]
pub(crate) struct FrameView {
    file: String,
    line: String,
    name: String,
    loc: String,
    pub(crate) framework: bool,
    href: Option<String>,
}

impl FrameView {
    /// A frame that is known by its parts.
    pub(crate) fn of(file: &str, line: Option<i64>, name: &str) -> Self {
        let (file, name) = (end_of(file, FRAME_BYTES), clipped(name, FRAME_BYTES));
        let framework = is_framework(&file);
        let line = line.map(|n| n.to_string()).unwrap_or_default();
        Self { file, line, name, loc: String::new(), framework, href: None }
    }

    /// The frame as the macro `frame` has it.
    pub(crate) fn write(&self, out: &mut Markup) {
        out.tag(if self.framework { "<span class=\"at fw\">" } else { "<span class=\"at\">" });
        if let Some(href) = &self.href {
            out.tag("<a href=\"").text(href).tag("\">");
        }
        out.tag("<span class=\"file\">").text(&self.file).tag("</span>");
        if !self.line.is_empty() {
            out.tag(":").text(&self.line);
        }
        if self.href.is_some() {
            out.tag("</a>");
        }
        if !self.name.is_empty() {
            out.tag(" in <span class=\"fn\">").text(&self.name).tag("</span>");
        }
        out.tag("</span>");
        if !self.loc.is_empty() {
            out.tag(" <code class=\"loc\">").text(&self.loc).tag("</code>");
        }
    }

    /// Stands for `n` frames that are not shown.
    pub(crate) fn gap(n: usize) -> Self {
        Self::of(&format!("({} left out)", plural(n, "frame")), None, "")
    }

    /// Stands for `n` frames that the page has no room for.
    fn without_room(n: usize) -> Self {
        let text = format!("({} left out: this page has no room, raw.jsonl has all)", plural(n, "frame"));
        Self::of(&text, None, "")
    }

    /// About how many bytes it has on a page.
    pub(crate) fn bytes(&self) -> usize {
        let href = self.href.as_ref().map_or(0, String::len);
        150 + self.file.len() + self.name.len() + self.loc.len() + href
    }

    /// With every text cut, for pages on which many frames stand.
    pub(crate) fn cut(self) -> Self {
        let [file, name, loc] = [&self.file, &self.name, &self.loc].map(|text| shorten(text, FRAME_TEXT));
        Self { file, name, loc, ..self }
    }
}

/// The frames of a stack that are shown, from both its ends, and how many there are between.
pub(crate) fn ends<T>(frames: &[T]) -> (&[T], Option<usize>, &[T]) {
    let gap = frames.len().saturating_sub(2 * STACK_END);
    if gap == 0 {
        return (frames, None, &[]);
    }
    let (first, rest) = frames.split_at(STACK_END);
    (first, Some(gap), rest.get(gap..).unwrap_or_default())
}

impl Site<'_> {
    /// A frame of the record at `offset`, for a page `depth` folders down.
    pub(crate) fn frame(&self, frame: &Frame, offset: u64, depth: usize) -> FrameView {
        let file = frame.filename.and_then(|id| self.trace.string(self.log, id, offset));
        let dump = file
            .filter(|file| file.len() <= FRAME_BYTES)
            .and_then(eval_with_key)
            .and_then(|key| self.plan.dumps.get(&key));
        let href = dump.map(|(path, lines)| {
            let line =
                frame.line.and_then(|line| usize::try_from(line).ok()).filter(|line| (1..=*lines).contains(line));
            let anchor = line.map(|line| format!("#L{line}")).unwrap_or_default();
            format!("{}{}{anchor}", "../".repeat(depth), path.href())
        });
        let file = end_of(file.unwrap_or("(unknown)"), FRAME_BYTES);
        let text = |text: &Option<String>| clipped(text.as_deref().unwrap_or_default(), FRAME_BYTES);
        FrameView {
            framework: is_framework(&file),
            file,
            line: frame.line.map(|n| n.to_string()).unwrap_or_default(),
            name: text(&frame.name),
            loc: text(&frame.loc),
            href,
        }
    }

    /// A stack of the record at `offset`; the middle of a very long one is left out, and the outer frames where
    /// the page has no room for them. `room` is the bytes that are left for the page's stacks.
    pub(crate) fn stack(&self, frames: &[Frame], offset: u64, depth: usize, room: &mut usize) -> Vec<FrameView> {
        let (first, gap, last) = ends(frames);
        let steps = first.iter().map(Ok).chain(gap.map(Err)).chain(last.iter().map(Ok));
        let (mut views, mut rest) = (Vec::new(), frames.len());
        for step in steps.rev() {
            let (view, frames) = match step {
                Ok(frame) => (self.frame(frame, offset, depth), 1),
                Err(gap) => (FrameView::gap(gap), gap),
            };
            let Some(left) = room.checked_sub(view.bytes()) else {
                views.push(FrameView::without_room(rest));
                break;
            };
            *room = left;
            rest -= frames;
            views.push(view);
        }
        views.reverse();
        views
    }

    /// What a record is, in a sentence: by its name where that is known, else by its kind.
    pub(crate) fn about(&self, record: &Record) -> &'static str {
        let KindId::Known(kind) = record.kind else { return UNKNOWN_KIND };
        let entry = self.log.index.names.name(record).and_then(|name| catalogue::about(kind, name));
        entry.map_or(kind.info().about, |entry| entry.about)
    }

    /// The link back to the log's own page.
    pub(crate) fn back(&self, path: &RelPath) -> Link {
        Link { href: format!("{}index.html", "../".repeat(path.depth())), label: self.heading.to_owned() }
    }

    /// The label under which a compile's files stand: that of its first try in the log.
    pub(crate) fn files_label(&self, compile: &Compile) -> String {
        let first = compile.id.collapsed();
        let tries = (0..=compile.last_attempt.min(1000)).map(|attempt| CompileId { attempt: Some(attempt), ..first });
        tries.into_iter().find(|id| self.plan.by_id.contains_key(id)).unwrap_or(first).label()
    }

    /// What custom parsers failed at in this log, or before any: they could not be loaded.
    pub(crate) fn parser_problems(&self) -> Vec<ParserProblem> {
        let mut problems = self.trace.parser_problems();
        problems.retain(|problem| problem.log.is_none_or(|number| number == self.number));
        problems
    }

    /// The compile of a record: generation and id without attempt.
    pub(crate) fn compile_of(&self, record: usize) -> Option<&Compile> {
        let record = self.log.index.records.get(record)?;
        self.compiles.get(record.generation, self.log.index.names.id(record))
    }
}

/// `file:line` of a compile's code.
pub(crate) fn place(compile: &Compile) -> String {
    let file = compile.file.as_deref().unwrap_or_default();
    match compile.line {
        Some(line) if !file.is_empty() => format!("{file}:{line}"),
        _ => file.to_owned(),
    }
}

/// Address of a path that stands below the page.
pub(crate) fn link_to(path: &RelPath, depth: usize) -> String {
    format!("{}{}", "../".repeat(depth), path.href())
}

/// A text of at most so many bytes, with its size where it goes on.
pub(crate) fn clipped(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = (0..=longest).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), count(text.len()))
}

/// The end of a text, of at most so many bytes: of a path it says the most.
fn end_of(text: &str, longest: usize) -> String {
    let Some(from) = text.len().checked_sub(longest).filter(|from| *from > 0) else { return text.to_owned() };
    let from = (from..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    format!("({} bytes) …{}", count(text.len()), text.get(from..).unwrap_or_default())
}

/// The anchor of a compile id on its log's page.
pub(crate) fn anchor(label: &str, depth: usize) -> String {
    let page = if depth == 0 { String::new() } else { format!("{}index.html", "../".repeat(depth)) };
    format!("{page}#{}", href(label))
}

/// `260 ms`, `2.49 s`, `12.3 min`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 0.000_001 => format!("{:.0} ns", seconds * 1e9),
        s if s < 0.001 => format!("{:.0} µs", seconds * 1e6),
        s if s < 1.0 => format!("{:.0} ms", seconds * 1e3),
        s if s < 100.0 => format!("{seconds:.2} s"),
        s if s < 6000.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// `12 B`, `3.4 kB`, `1.2 MB`, `5.6 GB`.
pub(crate) fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let value = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

/// `1,234,567`.
pub(crate) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `2026-11-30 00:17:05` with the zone where it is known.
pub(crate) fn moment(us: Option<i64>, log: &Log) -> String {
    let zone = if log.index.utc_offset_s.is_some() { " UTC" } else { "" };
    us.map(|us| format!("{}{zone}", iso(us).get(..19).unwrap_or_default().replace('T', " "))).unwrap_or_default()
}

/// `n thing` or `n things`.
pub(crate) fn plural(n: usize, thing: &str) -> String {
    format!("{} {thing}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_characters() {
        assert_eq!((clipped("abc", 3), end_of("abc", 3)), ("abc".to_owned(), "abc".to_owned()));
        assert_eq!(clipped("aéé", 2), "a… (5 bytes)");
        assert_eq!(end_of("ééa", 2), "(5 bytes) …a");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            ["0 ns", "12 µs", "260 ms", "2.49 s", "12.3 min"].map(str::to_owned),
            [0.0, 12e-6, 0.26, 2.494, 738.0].map(duration)
        );
        assert_eq!((size(999), size(1_500), size(2_000_000)), ("999 B".into(), "1.5 kB".into(), "2.0 MB".into()));
        assert_eq!((count(7), count(1_234_567)), ("7".into(), "1,234,567".into()));
    }
}
