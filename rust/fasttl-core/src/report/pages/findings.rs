//! "Findings" on the pages of a log and of a job: what a reader wants first, with what to try and the evidence.

use serde::Serialize;

use super::common::{Link, anchor, count};
use super::{Evidence, RankRow, Site};
use crate::analysis::causes::Shown;
use crate::analysis::findings::{Finding, Severity};
use crate::report::plan::Target;

/// Findings that are open, and those behind the fold.
const OPEN: usize = 12;
const MOST: usize = 200;
/// Records of a finding that are linked to.
const LINKS: usize = 5;

/// The section.
#[derive(Serialize)]
pub(crate) struct Findings {
    rows: Vec<Row>,
    folded: Vec<Row>,
    more: String,
}

#[derive(Serialize)]
struct Row {
    level: &'static str,
    kind: &'static str,
    sentence: Vec<Piece>,
    advice: Vec<Piece>,
    links: Vec<Link>,
    /// Where the page says more of it.
    more: Option<Link>,
}

/// A part of a sentence: words, or code.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Piece {
    text: String,
    code: bool,
}

/// The parts of a sentence: what stands between two backticks is code.
pub(super) fn pieces(sentence: &str) -> Vec<Piece> {
    let parts: Vec<&str> = sentence.split('`').collect();
    let last = parts.len() - 1;
    // A backtick without a second one is a sign like others.
    let open = last % 2 == 1;
    let piece = |(at, text): (usize, &&str)| Piece {
        text: if open && at == last { format!("`{text}") } else { (*text).to_owned() },
        code: at % 2 == 1 && !(open && at == last),
    };
    parts.iter().enumerate().map(piece).filter(|piece| !piece.text.is_empty()).collect()
}

/// The section, where `href` leads to a record, and `more` to what the page says of a finding beside it.
fn section(
    findings: &[Finding],
    href: impl Fn(&Shown) -> Option<String>,
    more: impl Fn(&Finding) -> Option<Link>,
) -> Findings {
    let row = |finding: &Finding| {
        let found = finding.evidence.rows.iter().take(LINKS).filter_map(&href);
        Row {
            level: match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warn",
                Severity::Info => "info",
            },
            kind: finding.kind,
            sentence: pieces(&finding.sentence),
            advice: pieces(&finding.advice),
            links: found.zip(1..).map(|(href, nth)| Link { href, label: nth.to_string() }).collect(),
            more: more(finding),
        }
    };
    let mut rows: Vec<Row> = findings.iter().take(MOST).map(row).collect();
    let folded = rows.split_off(OPEN.min(rows.len()));
    let more = findings.len().saturating_sub(MOST);
    let more = if more > 0 { format!("{} more are in the table `findings`.", count(more)) } else { String::new() };
    Findings { rows, folded, more }
}

/// Those of one log, on its own page.
pub(crate) fn log_findings(site: &Site<'_>, findings: &[Finding]) -> Findings {
    let entries = || site.plan.directory.iter().flat_map(|(_, entries)| entries);
    let href = |shown: &Shown| {
        let Some(at) = shown.record else { return Some("#problems".to_owned()) };
        let file = entries().find_map(|entry| match &entry.target {
            Target::File(path) if entry.record == at => Some(path.href()),
            _ => None,
        });
        let record = site.log.index.records.get(at)?;
        Some(file.unwrap_or_else(|| anchor(&site.log.index.names.id(record).collapsed().label(), 0)))
    };
    section(findings, href, |_| None)
}

/// Those of a job, whose evidence stands in the folders of its logs. `sections` are the parts of its page that tell more
/// of some kinds.
pub(crate) fn job_findings(
    findings: &[Finding],
    rows: &[RankRow<'_>],
    evidence: &Evidence,
    sections: &[(&'static str, &'static str)],
) -> Findings {
    let href = |shown: &Shown| {
        let folder = &rows.get(shown.file as usize)?.folder;
        match shown.record {
            None => Some(format!("{folder}/index.html#problems")),
            Some(at) => {
                Some(evidence.get(&(shown.file as usize, Some(at))).cloned().unwrap_or(format!("{folder}/index.html")))
            }
        }
    };
    let more = |finding: &Finding| {
        let (_, section) = sections.iter().find(|(kind, _)| *kind == finding.kind)?;
        Some(Link { href: format!("#{section}"), label: "Which ranks, where and when".to_owned() })
    };
    section(findings, href, more)
}

/// The records that a job's findings link to.
pub(crate) fn linked_records(findings: &[Finding]) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
    let shown = findings.iter().take(MOST).flat_map(|finding| finding.evidence.rows.iter().take(LINKS));
    shown.filter(|shown| shown.record.is_some()).map(|shown| (shown.file as usize, shown.record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code() {
        let shown =
            |text: &str| -> Vec<(String, bool)> { pieces(text).into_iter().map(|p| (p.text, p.code)).collect() };
        let piece = |text: &str, code| (text.to_owned(), code);
        assert_eq!(shown("a `b` c"), [piece("a ", false), piece("b", true), piece(" c", false)]);
        assert_eq!(shown("`b`"), [piece("b", true)]);
        assert_eq!(shown("a `b"), [piece("a ", false), piece("`b", false)]);
        assert_eq!(shown("no code"), [piece("no code", false)]);
        assert_eq!(shown(""), []);
    }
}
