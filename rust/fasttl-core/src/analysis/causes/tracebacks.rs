//! Tracebacks of failed compiles: the program's line, and what was raised, where no metrics record tells.

use super::failures::{Event, FailureFact, stage};
use super::{FrameCodes, OfLog};
use crate::analysis::compiles::Compile;
use crate::format::code_place::{CodePlace, innermost_own, user_frames};

type Frames = Vec<(CodePlace, Option<String>)>;

/// The first traceback of a compile, read when it is asked for, and once.
pub(super) struct Errors {
    /// Its record.
    pub(super) first: Option<usize>,
    frames: Option<Frames>,
}

impl Errors {
    pub(super) fn new(compile: &Compile) -> Self {
        Self { first: compile.errors().first().copied(), frames: None }
    }

    /// The program's frames in it.
    pub(super) fn frames(&mut self, of: OfLog<'_>) -> &Frames {
        let first = self.first;
        self.frames.get_or_insert_with(|| user_frames(&text_of(of, first)))
    }
}

fn text_of(of: OfLog<'_>, record: Option<usize>) -> String {
    let record = record.and_then(|at| of.log.index.records.get(at));
    let text = record.map(|record| of.log.index.payload(record, of.bytes).text()).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

/// The innermost line of the program's own, from a traceback, from the message, or from what the metrics name.
pub(super) fn own(
    traceback: Option<&Frames>,
    reason: &str,
    place: Option<&(String, Option<i64>)>,
) -> Option<CodePlace> {
    let of_traceback = traceback.and_then(|frames| innermost_own(frames)).cloned();
    let named = || place.map(|(file, line)| CodePlace { file: file.clone(), line: *line, function: None });
    of_traceback.or_else(|| innermost_own(&user_frames(reason)).cloned()).or_else(named)
}

/// Adds the failures that only a traceback tells of: a backward that is compiled at run time may have no metrics, and a
/// log may have lost them.
pub(super) fn untold(
    of: OfLog<'_>,
    (at, compile): (usize, &Compile),
    codes: &FrameCodes<'_>,
    found: &mut Vec<FailureFact>,
) {
    let has = |event: Event| found.iter().rev().take_while(|fact| fact.compile == at).any(|fact| fact.event == event);
    let (forward_told, backward_told) = (has(Event::Failure) || has(Event::Limit), has(Event::Backward));
    for &record in compile.errors() {
        let Some(logged) = of.log.index.records.get(record) else { continue };
        let is_backward = of.log.index.names.name(logged) == Some("eager_compile_backwards_failure");
        let told = if is_backward { backward_told } else { forward_told };
        if told {
            continue;
        }
        let text = text_of(of, Some(record));
        let (error, reason) = raised(&text);
        found.push(FailureFact {
            compile: at,
            record,
            code: codes.of(compile),
            own: innermost_own(&user_frames(&text)).cloned(),
            traceback: Some(record),
            event: if is_backward { Event::Backward } else { Event::Failure },
            error,
            reason,
            place: None,
            stage: Some(if is_backward { "backward" } else { stage(of.log, compile) }),
            lost_s: None,
            suppressed: None,
        });
    }
}

/// What a traceback ends with: class and message of the error. Of a chain of errors the last is what came through.
fn raised(text: &str) -> (Option<String>, String) {
    let text = text.split("\nfrom user code:").next().unwrap_or_default();
    let is_class = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let begins = lines.windows(2).rposition(|pair| match pair {
        [before, line] => before.starts_with("    ") && is_class(line.split(':').next().unwrap_or_default()),
        _ => false,
    });
    let rest = lines.split_off(begins.map_or(0, |at| at + 1)).join("\n");
    match rest.split_once(": ") {
        Some((class, message)) if is_class(class) => (Some(class.to_owned()), message.trim_end().to_owned()),
        _ => (None, rest.trim_end().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceback_ends_with_what_was_raised() {
        let text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nKeyError: 'x'\n\nDuring it:\n\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\n    h()\n    ^^^\ntorch._dynamo.exc.InternalTorchDynamoError: KeyError: 'x'\nmore\n\nfrom user code:\n   File \"m.py\", line 2, in m\n";
        let (class, message) = raised(text);
        assert_eq!(class.as_deref(), Some("torch._dynamo.exc.InternalTorchDynamoError"));
        assert_eq!(message, "KeyError: 'x'\nmore");
        assert_eq!(raised("no traceback at all"), (None, "no traceback at all".to_owned()));
        assert_eq!(raised(""), (None, String::new()));
    }
}
