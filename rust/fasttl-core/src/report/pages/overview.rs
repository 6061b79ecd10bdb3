//! The first screen of a log: what failed, what ran, the figures, and where the time went.

use serde::Serialize;

use super::common::{Site, anchor, count, duration, moment, plural, shorten, size};
use crate::analysis::export::{Exports, export_records};
use crate::analysis::findings::first_words;
use crate::analysis::versions::versions;
use crate::analysis::{Compile, FailureKind, Status};
use crate::trace::LogState;

/// Characters of a text of the log in a finding.
const TEXT: usize = 600;

/// Counts over the compiles of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) compiles: usize,
    pub(crate) recompiles: usize,
    pub(crate) breaks: usize,
    pub(crate) failed: usize,
    pub(crate) restarts: usize,
    pub(crate) unfinished: usize,
    pub(crate) limit_hit: usize,
    pub(crate) compile_s: f64,
    pub(crate) first_failure: Option<String>,
    /// Where the report is about exports: what the log says of them.
    pub(crate) exports: Option<Exports>,
}

impl Summary {
    /// Compiles that failed, and failures of exports where the report is about these.
    pub(crate) fn failures(&self) -> usize {
        self.failed + self.exports.as_ref().map_or(0, |exports| exports.failures().count())
    }
}

/// Counts them.
pub(crate) fn summary(compiles: &[Compile]) -> Summary {
    let mut sum = Summary { compiles: compiles.len(), ..Summary::default() };
    for compile in compiles {
        sum.recompiles += usize::from(compile.is_recompile());
        sum.breaks += usize::from(compile.has_graph_break == Some(true));
        sum.failed += usize::from(compile.status == Status::Error);
        sum.restarts += compile.failures.iter().filter(|f| f.kind == FailureKind::Restart).count();
        sum.unfinished += usize::from(compile.unfinished);
        sum.limit_hit += usize::from(compile.limit_hit);
        sum.compile_s += compile.phases.frame_s.unwrap_or(0.0) + compile.phases.backward_s.unwrap_or(0.0);
        let failure = compile.failures.iter().find(|f| f.kind == FailureKind::Failure);
        if let (None, Some(failure)) = (&sum.first_failure, failure) {
            let reason = first_words(&failure.reason);
            let kind = failure.error.as_deref().unwrap_or("error");
            let text = format!("{} {}: {kind}: {reason}", compile.id, compile.name.as_deref().unwrap_or(""));
            sum.first_failure = Some(shorten(&text, TEXT));
        }
    }
    sum
}

/// A line of "What ran".
#[derive(Serialize)]
pub(crate) struct Fact {
    label: &'static str,
    value: String,
    title: String,
    mono: bool,
}

impl Fact {
    /// A line in words.
    pub(crate) fn new(label: &'static str, value: impl Into<String>) -> Self {
        Self { label, value: value.into(), title: String::new(), mono: false }
    }

    /// A line of code or a path.
    pub(crate) fn mono(label: &'static str, value: impl Into<String>) -> Self {
        Self { mono: true, ..Self::new(label, value) }
    }
}

/// Something to look at.
#[derive(Serialize)]
pub(crate) struct Note {
    pub(crate) level: &'static str,
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) href: Option<String>,
    pub(crate) link: Option<&'static str>,
}

/// A figure.
#[derive(Serialize)]
pub(crate) struct Tile {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    pub(crate) note: String,
    pub(crate) href: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct Phase {
    name: &'static str,
    class: &'static str,
    label: String,
    x: u32,
    width: u32,
}

pub(super) fn facts(site: &Site<'_>, command: &str) -> Vec<Fact> {
    let log = site.log;
    let versions = versions(log, site.bytes);
    let mut facts = vec![
        Fact::mono("Log", log.file.path.display().to_string()),
        Fact::new("Size", format!("{}, {}", size(log.index.len), plural(log.index.records.len(), "record"))),
        Fact::new("State", log.state.name()),
    ];
    if let Some(rank) = log.rank {
        facts.push(Fact::new("Rank", rank.to_string()));
    }
    if let Some(pid) = log.pid {
        facts.push(Fact::new("Process", pid.to_string()));
    }
    let known = [
        ("PyTorch", versions.pytorch),
        ("Python", versions.python),
        ("CUDA", versions.cuda),
        ("Triton", versions.triton),
    ];
    facts.extend(known.into_iter().filter_map(|(label, value)| Some(Fact::new(label, value?))));
    facts.push(Fact::new("Started", moment(log.first_us, log)));
    if let (Some(first), Some(last)) = (log.first_us, log.last_us) {
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        facts.push(Fact::new("Lasted", duration((last - first) as f64 / 1e6)));
    }
    facts.push(Fact::mono("Made by", command));
    facts.push(Fact::new("fasttl", env!("CARGO_PKG_VERSION")));
    facts
}

pub(super) fn notes(site: &Site<'_>, sum: &Summary) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |level, title: String, text: String, href: Option<&str>, link| {
        notes.push(Note { level, title, text, href: href.map(str::to_owned), link });
    };
    if sum.failed > 0 {
        let title = format!("{} failed.", plural(sum.failed, "compile"));
        let text = format!("The first: {}", sum.first_failure.as_deref().unwrap_or("the log gives no reason"));
        add("error", title, text, Some("failures_and_restarts.html"), Some("All failures"));
    }
    if let Some(compile) = site.compiles.iter().find(|c| c.unfinished) {
        let title = format!("{} never finished.", plural(sum.unfinished, "compile"));
        let name = compile.name.as_deref().unwrap_or_default();
        let text = format!("{} {name} was still compiling when the log ends.", compile.id);
        add("error", title, text, Some(&anchor(&site.files_label(compile), 0)), Some("What it had written"));
    }
    if site.log.state == LogState::Truncated {
        let text = "The process was killed or the disk was full; all before the cut is here.";
        add("warn", "The log ends inside a record.".to_owned(), text.to_owned(), Some("#problems"), Some("Where"));
    }
    if sum.limit_hit > 0 {
        let title =
            format!("Refused, since the frame had been compiled too often: {}.", plural(sum.limit_hit, "recompile"));
        add("warn", title, "Such a frame runs without compiled code from then on.".to_owned(), None, None);
    }
    if let Some((name, times)) = most_recompiled(site.compiles) {
        let title = format!("{}.", plural(sum.recompiles, "recompile"));
        add(
            "info",
            title,
            format!("Most of them of {name}: {times}."),
            Some("#compiles"),
            Some("Why they compiled again"),
        );
    }
    let skipped = || site.compiles.iter().filter_map(|c| Some((c, c.cudagraph_skip.as_deref()?)));
    if let Some((compile, reason)) = skipped().next() {
        let title = format!("CUDA graphs were not used in {}.", plural(skipped().count(), "compile"));
        let name = compile.name.as_deref().unwrap_or_default();
        let text = format!("The first, {} {name}: {reason}", compile.id);
        let href = anchor(&site.files_label(compile), 0);
        add("info", title, shorten(&text, TEXT), Some(&href), Some("Its files"));
    }
    let errors = site.log.index.errors().count();
    if errors > 0 && site.log.state != LogState::Truncated {
        let title = format!("{} in the log.", plural(errors, "damaged place"));
        add("warn", title, "Everything else was read.".to_owned(), Some("#problems"), Some("Where"));
    }
    let by_parsers = site.parser_problems();
    if let Some(first) = by_parsers.first() {
        let title = format!("{} of custom parsers.", plural(by_parsers.len(), "failure"));
        add("warn", title, first.problem.detail.clone(), Some("#problems"), Some("All of them"));
    }
    notes
}

/// Says that there is another report of the same log, where it holds an export.
pub(super) fn export_note(site: &Site<'_>) -> Option<Note> {
    let records = export_records(&site.log.index);
    (records > 0).then(|| Note {
        level: "info",
        title: format!("This log holds {} of an export.", plural(records, "record")),
        text: "With --export, the report says what failed in it and why.".to_owned(),
        href: None,
        link: None,
    })
}

/// The function that was recompiled most, and how often.
fn most_recompiled(compiles: &[Compile]) -> Option<(String, usize)> {
    let mut counts: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for compile in compiles.iter().filter(|c| c.is_recompile()) {
        let name = compile.name.clone().unwrap_or_else(|| format!("frame {}", compile.id.frame_id.unwrap_or_default()));
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, n)| *n)
}

pub(super) fn tiles(site: &Site<'_>, sum: &Summary) -> Vec<Tile> {
    let slowest = site.compiles.iter().filter_map(|c| c.phases.frame_s).fold(0.0, f64::max);
    let breaks = if sum.breaks > 0 { "failures_and_restarts.html#breaks" } else { "failures_and_restarts.html" };
    let tile = |label, value: String, note: String, href| Tile { label, value, note, href };
    vec![
        tile("Compiles", count(sum.compiles), format!("longest {}", duration(slowest)), Some("#compiles")),
        tile("Recompiles", count(sum.recompiles), format!("of {}", plural(sum.compiles, "compile")), Some("#compiles")),
        tile("Graph breaks", count(sum.breaks), "compiles with one".to_owned(), Some(breaks)),
        tile("Failures", count(sum.failed), plural(sum.restarts, "restart"), Some("failures_and_restarts.html")),
        tile("Compile time", duration(sum.compile_s), "all compiles together".to_owned(), Some("#time")),
    ]
}

/// Seconds by phase over all compiles, as widths of a bar of 1000.
pub(super) fn phases(compiles: &[Compile]) -> Vec<Phase> {
    let total = |get: fn(&Compile) -> Option<f64>| compiles.iter().filter_map(get).sum::<f64>();
    let frame = total(|c| c.phases.frame_s);
    let backend = total(|c| c.phases.backend_s);
    let inductor = total(|c| c.phases.inductor_s);
    let backward = total(|c| c.phases.backward_s);
    let parts = [
        ("Dynamo", "dynamo", frame - backend),
        ("AOTAutograd", "aot", backend - inductor),
        ("Inductor", "inductor", inductor),
        ("Backward", "other", backward),
    ];
    let all: f64 = parts.iter().map(|p| p.2.max(0.0)).sum();
    let mut x = 0;
    let mut phases = Vec::new();
    for (name, class, seconds) in parts {
        if seconds <= 0.0 {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of 1000")]
        let width = (seconds / all * 1000.0).round() as u32;
        phases.push(Phase { name, class, label: duration(seconds), x, width });
        x += width;
    }
    phases
}
