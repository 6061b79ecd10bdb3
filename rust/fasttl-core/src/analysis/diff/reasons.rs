//! Why compiles were recompiled, and where graphs broke.

use rustc_hash::FxHashSet;

use super::Aspect;
use super::compiles::{Shown, sets};
use super::sheet::Sheet;
use super::side::{Half, Pair};
use crate::analysis::compiles::FailureKind;
use crate::analysis::noise::{plain, plain_guard};
use crate::format::code_place::file_name;
use crate::format::graph_break::{self, GraphBreak};
use crate::format::recompile_reason;

/// Compares why they were recompiled.
pub(super) fn recompile_reasons(pair: &Pair<'_>, sheet: &mut Sheet) {
    let (Some(a), Some(b)) = (reasons(&pair.a, sheet), reasons(&pair.b, sheet)) else { return };
    sets(pair, Aspect::RecompileReasons, "reason", a, b, sheet);
}

/// The reasons of a compile: all that were logged, else the first, which its metrics have.
fn reasons(half: &Half<'_>, sheet: &mut Sheet) -> Option<Vec<Shown>> {
    let compile = half.compile;
    let Some(at) = compile.reasons() else {
        let record = compile.metrics.last().copied().unwrap_or(compile.first);
        return Some(compile.recompile_reason.iter().map(|text| shown(text, record)).collect());
    };
    let Some(text) = half.side.text(at) else {
        sheet.unknown(Aspect::RecompileReasons, format!("{}: its reasons are damaged", half.label()));
        return None;
    };
    Some(recompile_reason::texts(&text).iter().map(|text| shown(text, at)).collect())
}

/// The guards that a text names. The entry that did not fit does not count, since ids are shifted where a frame is more;
/// nor does the user's line behind a guard, whose number is another where something above was edited.
fn shown(text: &str, record: usize) -> Shown {
    let guards: Vec<String> = recompile_reason::reasons(text).iter().map(|reason| plain_guard(&reason.guard)).collect();
    (guards.join("; "), text.to_owned(), record)
}

/// Compares where and why the graph broke, and what else was started over.
pub(super) fn graph_breaks(pair: &Pair<'_>, sheet: &mut Sheet) {
    let (Some(a), Some(b)) = (breaks(&pair.a, sheet), breaks(&pair.b, sheet)) else { return };
    let (restarts_a, restarts_b) = (restarts(&pair.a, &a), restarts(&pair.b, &b));
    let shown = |all: Vec<Break>| all.into_iter().map(|found| found.shown).collect();
    sets(pair, Aspect::GraphBreaks, "break", shown(a), shown(b), sheet);
    sets(pair, Aspect::GraphBreaks, "restart", restarts_a, restarts_b, sheet);
}

/// A graph break.
struct Break {
    /// The reason in a line, as restarts repeat it.
    headline: String,
    shown: Shown,
}

fn breaks(half: &Half<'_>, sheet: &mut Sheet) -> Option<Vec<Break>> {
    let mut found = Vec::new();
    for &at in half.compile.graph_breaks() {
        let Some(text) = half.side.text(at) else {
            sheet.unknown(Aspect::GraphBreaks, format!("{}: a graph break is damaged", half.label()));
            return None;
        };
        found.push(read_break(&String::from_utf8_lossy(&text), at));
    }
    Some(found)
}

/// What is compared of a break, and what is shown: its place, its reason, and all that stands with that but the stack.
fn read_break(text: &str, record: usize) -> Break {
    let said = graph_break::parse(text);
    let reason = words(&said);
    let (file, place) = match &said.place {
        // The line moves when something above is edited.
        Some(place) => {
            let file = file_name(&place.file);
            let line = place.line.map_or(String::new(), |line| format!(":{line}"));
            (format!("{file} "), format!("{file}{line}: "))
        }
        None => (String::new(), String::new()),
    };
    Break { headline: said.reason, shown: (plain(&format!("{file}{reason}")), format!("{place}{reason}"), record) }
}

/// A reason with its explanation, its hints and its context, as PyTorch prints them.
fn words(said: &GraphBreak) -> String {
    let mut text = said.reason.clone();
    if said.skips_frame {
        text += " (skips the function)";
    }
    let hints = said.hints.iter().map(|hint| ("Hint", hint));
    let all = said.explanation.iter().map(|text| ("Explanation", text)).chain(hints);
    for (label, said) in all.chain(said.context.iter().map(|text| ("Developer debug context", text))) {
        text += &format!("\n  {label}: {said}");
    }
    text
}

/// Restarts that are no graph break.
fn restarts(half: &Half<'_>, breaks: &[Break]) -> Vec<Shown> {
    let headlines: FxHashSet<&str> = breaks.iter().map(|found| found.headline.as_str()).collect();
    let restarts = half.compile.failures.iter().filter(|f| f.kind == FailureKind::Restart && f.place.is_none());
    let other = restarts.filter(|f| !headlines.contains(graph_break::parse(&f.reason).reason.as_str()));
    other.map(|f| (plain(&f.reason), f.reason.clone(), f.record)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_is_its_file_and_its_reason() {
        let text = "Graph break in user code at /x/y.py:19\nGraph Break Reason: Encountered graph break when attempting to trace CALL: a call:\n\nFailed to trace print\n  Explanation: No print\n    here\n  Hint: none\n\n  Developer debug context: f(x)\n\nUser code traceback:\n  File \"/x/y.py\", line 19, in f\n";
        let found = read_break(text, 7);
        assert_eq!(found.headline, "Failed to trace print");
        let words =
            "Failed to trace print\n  Explanation: No print\n    here\n  Hint: none\n  Developer debug context: f(x)";
        assert_eq!(found.shown, (format!("y.py {words}"), format!("y.py:19: {words}"), 7));
        let old = read_break("Graph break in user code at y.py:3\nGraph Break Reason: call print\n", 7);
        assert_eq!(old.shown.1, "y.py:3: call print");
        assert_eq!(read_break("odd", 7).shown.1, "odd");
    }

    #[test]
    fn a_function_that_is_skipped_has_the_reason_of_its_break() {
        let text = "Graph break in user code at a.py:3\nGraph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:\n\nFirst\n  Hint: h\n";
        let found = read_break(text, 7);
        assert_eq!(
            (found.headline.as_str(), found.shown.1.as_str()),
            ("First", "a.py:3: First (skips the function)\n  Hint: h")
        );
    }

    #[test]
    fn a_reason_is_its_guards() {
        let key = |text: &str| shown(text, 7).0;
        assert_eq!(key("0/0: x == 3  # return x * 2  # a.py:5 in f"), "x == 3");
        assert_eq!(key("0/0: x == 3  # return x  # a.py:5 in f; y == 4"), "x == 3; y == 4");
        assert_eq!(key("12/3: size 4\nUser stack trace:\n  File \"a.py\", line 1, in f\n    f(x)"), "size 4");
        assert_eq!(key("no entry: at all"), "no entry: at all");
        assert_eq!(shown("0/0: x == 3  # z  # a.py:5 in f", 7).1, "0/0: x == 3  # z  # a.py:5 in f");
    }
}
