//! The text of a `dynamo_graph_break_reason` artifact: where the graph broke, why, and what PyTorch says to do.
//!
//! PyTorch writes it in `torch/_dynamo/symbolic_convert.py` and `exc.py` (2.6 and later; hints and links since 2.8).
//! The reasons of restarts and of skipped frames have the same shape without the place.

use super::code_place::{CodePlace, traceback};

/// What such a text says. What it does not have is empty or `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphBreak {
    /// The line that is named first, which may be a library's.
    pub place: Option<CodePlace>,
    /// What kind of break it is, in a few words.
    pub reason: String,
    /// What was being traced, where the text says.
    pub while_tracing: Option<String>,
    /// Why this breaks the graph.
    pub explanation: Option<String>,
    /// What PyTorch proposes.
    pub hints: Vec<String>,
    /// What developers of Dynamo look at.
    pub context: Option<String>,
    /// Page about this kind of break.
    pub url: Option<String>,
    /// Stable number of the kind, such as `gb0025`.
    pub id: Option<String>,
    /// Whether the whole function is left to run as it is.
    pub skips_frame: bool,
    /// The program's stack, outermost first, with the source lines.
    pub stack: Vec<(CodePlace, Option<String>)>,
}

const PLACE: &str = "Graph break in user code at ";
const REASON: &str = "Graph Break Reason: ";
const TRACING: &str = "Encountered graph break when attempting to trace ";
const SKIPPED: &str = "Failed to handle graph break gracefully. Skipping the function";
const SECOND: &str = "*** While handling this graph break, another graph break occurred: ***";
const LINK: &str = "For more details about this graph break, please visit: ";
const STACK: &str = "User code traceback:\n";

/// Reads the text of an artifact, or the reason that a restart gives.
pub fn parse(text: &str) -> GraphBreak {
    let mut found = GraphBreak::default();
    let (body, stack) = match text.split_once(STACK) {
        Some((body, stack)) => (body, traceback(stack)),
        None => (text, Vec::new()),
    };
    found.stack = stack;
    let mut body = body;
    if let Some(rest) = body.strip_prefix(PLACE) {
        let (place, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        found.place = CodePlace::parse(place);
        body = rest;
    }
    let mut body = body.strip_prefix(REASON).unwrap_or(body);
    if let Some(rest) = body.strip_prefix(TRACING) {
        let (what, rest) = rest.split_once("\n\n").unwrap_or((rest, ""));
        found.while_tracing = Some(what.trim_end_matches(':').trim().to_owned()).filter(|what| !what.is_empty());
        body = rest;
    } else if body.starts_with(SKIPPED) {
        found.skips_frame = true;
        body = body.split_once("\n\n").map_or("", |(_, rest)| rest);
    }
    // What happened while one break was handled follows from it.
    let first = body.split_once(SECOND).map_or(body, |(first, _)| first);
    sections(first, &mut found);
    found
}

/// Sorts the lines of a reason into its sections, which begin with two blanks and a label.
fn sections(text: &str, found: &mut GraphBreak) {
    enum In {
        Reason,
        Explanation,
        Hint,
        Context,
        Nothing,
    }
    let mut at = In::Reason;
    let mut context: Option<String> = None;
    let mut explanation: Option<String> = None;
    for line in text.split('\n') {
        if let Some(url) = line.trim_start().strip_prefix(LINK) {
            let url = url.trim();
            found.id = url.rsplit_once('/').and_then(|(_, page)| page.strip_suffix(".html")).map(str::to_owned);
            found.url = Some(url.to_owned());
            at = In::Nothing;
        } else if let Some(rest) = line.strip_prefix("  Explanation: ") {
            explanation = Some(rest.to_owned());
            at = In::Explanation;
        } else if let Some(rest) = line.strip_prefix("  Hint: ") {
            found.hints.push(rest.to_owned());
            at = In::Hint;
        } else if let Some(rest) = line.strip_prefix("  Developer debug context: ") {
            context = Some(rest.to_owned());
            at = In::Context;
        } else if line.starts_with("Stack variable source attribution:") {
            at = In::Nothing;
        } else {
            let open = match at {
                In::Reason => Some(&mut found.reason),
                In::Explanation => explanation.as_mut(),
                In::Hint => found.hints.last_mut(),
                In::Context => context.as_mut(),
                In::Nothing => None,
            };
            if let Some(open) = open {
                if !open.is_empty() {
                    open.push('\n');
                }
                open.push_str(line);
            }
        }
    }
    for text in found.hints.iter_mut().chain(&mut explanation).chain(&mut context) {
        text.truncate(text.trim_end().len());
    }
    let reason = found.reason.trim();
    found.reason = reason.split('\n').next().unwrap_or_default().trim_end().to_owned();
    found.explanation = explanation.filter(|text| !text.is_empty());
    found.context = context.filter(|text| !text.is_empty());
}

/// Whether the reason of a restart is no graph break: such restarts are an analysis that is done again with other
/// assumptions, and leave no mark in the compiled program.
pub fn is_other_restart(reason: &str) -> bool {
    reason.is_empty() || (reason.starts_with("<class '") && reason.ends_with("RestartAnalysis'>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "Graph break in user code at /job/a b.py:14\nGraph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n\nCall to `torch._dynamo.graph_break()`\n  Explanation: User-inserted graph break. Message: None\n    more\n  Hint: Remove the call.\n  Hint: Two\n    lines\n\n  Developer debug context: Called it\n\n For more details about this graph break, please visit: https://example.org/gb/gb0025.html\n\nUser code traceback:\n  File \"/job/a b.py\", line 33, in <module>\n    fn(x)\n  File \"/job/a b.py\", line 14, in message\n    torch._dynamo.graph_break()\n\nTraceback (most recent call last):\n  File \"/x/site-packages/torch/y.py\", line 1, in z\n";

    #[test]
    fn every_section_is_told_apart() {
        let found = parse(WHOLE);
        assert_eq!(found.place.unwrap().to_string(), "/job/a b.py:14");
        assert_eq!(found.reason, "Call to `torch._dynamo.graph_break()`");
        assert_eq!(found.while_tracing.as_deref(), Some("CALL: a function call, e.g. f(x, y)"));
        assert_eq!(found.explanation.as_deref(), Some("User-inserted graph break. Message: None\n    more"));
        assert_eq!(found.hints, ["Remove the call.", "Two\n    lines"]);
        assert_eq!(found.context.as_deref(), Some("Called it"));
        assert_eq!(found.id.as_deref(), Some("gb0025"));
        assert_eq!(found.stack.len(), 2);
        assert_eq!(found.stack[1].0.to_string(), "/job/a b.py:14 in message");
        assert!(!found.skips_frame);
    }

    #[test]
    fn a_skipped_frame_has_the_first_of_its_two_breaks() {
        let text = "Graph break in user code at a.py:3\nGraph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:\n\nFirst\n  Hint: h\n\n*** While handling this graph break, another graph break occurred: ***\n\nSecond\n  Hint: other\n";
        let found = parse(text);
        assert!(found.skips_frame);
        assert_eq!((found.reason.as_str(), found.hints.as_slice()), ("First", ["h".to_owned()].as_slice()));
    }

    #[test]
    fn old_and_odd_texts_are_kept_as_reasons() {
        assert_eq!(parse("builtin: print [<class 'x'>] False").reason, "builtin: print [<class 'x'>] False");
        assert_eq!(parse("").reason, "");
        assert_eq!(parse("Graph break in user code at nowhere").place, None);
        assert_eq!(parse("Graph Break Reason: \n\nx\n").reason, "x");
    }

    #[test]
    fn restarts_for_other_reasons_are_no_breaks() {
        assert!(is_other_restart("<class 'torch._dynamo.exc.TensorifyScalarRestartAnalysis'>"));
        // PyTorch 2.6 says so of a break whose reason it had not kept.
        assert!(!is_other_restart("Unknown fail_and_restart_analysis"));
        assert!(!is_other_restart("BEFORE_WITH UserDefinedObjectVariable(RLock)"));
    }
}
