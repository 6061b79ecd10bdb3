//! What the pictures over ranks share: how a compile ended, and the mark that says so by its shape as well as by its
//! colour, which the style sheet gives.

use crate::analysis::Status;
use crate::report::html::Markup;

/// How a compile ended on a rank, or why there is none. The order says what is worth seeing where one mark stands for
/// several compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum State {
    /// It went through at once.
    Ok,
    /// Nothing was left to run.
    Empty,
    /// It was started over.
    Break,
    /// The rank lacks it.
    Absent,
    /// Whether the rank has it is not known.
    Unknown,
    /// The log has no result of it.
    Missing,
    /// It was at work when the log ends.
    Open,
    /// It failed.
    Error,
}

impl State {
    /// All, in the order of the legend.
    pub(crate) const ALL: [Self; 8] =
        [Self::Ok, Self::Empty, Self::Break, Self::Error, Self::Open, Self::Missing, Self::Absent, Self::Unknown];

    /// That of a compile.
    pub(crate) const fn of(status: Status, unfinished: bool) -> Self {
        match status {
            Status::Error => Self::Error,
            _ if unfinished => Self::Open,
            Status::Ok => Self::Ok,
            Status::Empty => Self::Empty,
            Status::Break => Self::Break,
            Status::Missing => Self::Missing,
        }
    }

    /// Its word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Empty => "empty",
            Self::Break => "break",
            Self::Absent => "not there",
            Self::Unknown => "not known",
            Self::Missing => "no result",
            Self::Open => "never finished",
            Self::Error => "error",
        }
    }

    /// What it means, for the legend.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Ok => "compiled in one piece: a bar alone",
            Self::Empty => "nothing to compile in it",
            Self::Break => "compiled after a restart or a graph break",
            Self::Absent => "this rank has no such compile, though its log is whole",
            Self::Unknown => "this rank's log does not say",
            Self::Missing => "no result in the log",
            Self::Open => "at work when the log ends",
            Self::Error => "gave up, runs uncompiled",
        }
    }

    /// The start of its bar, up to the numbers of the path.
    pub(super) const fn bar(self) -> &'static str {
        match self {
            Self::Ok | Self::Absent | Self::Unknown => "<path class=\"ok\" d=\"",
            Self::Empty => "<path class=\"empty\" d=\"",
            Self::Break => "<path class=\"break\" d=\"",
            Self::Missing | Self::Open => "<path class=\"missing\" d=\"",
            Self::Error => "<path class=\"error\" d=\"",
        }
    }

    /// The start of its mark; what is ok has none.
    pub(super) const fn mark(self) -> Option<&'static str> {
        match self {
            Self::Ok => None,
            Self::Empty => Some("<path class=\"empty line\" d=\""),
            Self::Break => Some("<path class=\"break\" d=\""),
            Self::Absent => Some("<path class=\"none line\" d=\""),
            Self::Unknown => Some("<path class=\"none\" d=\""),
            Self::Missing => Some("<path class=\"missing dashed line\" d=\""),
            Self::Open => Some("<path class=\"missing\" d=\""),
            Self::Error => Some("<path class=\"error line\" d=\""),
        }
    }

    /// The path of its mark in a field of 8 by 8, whose left upper corner is at `x`, 0.
    pub(super) fn shape(self, x: u32) -> String {
        match self {
            Self::Ok => String::new(),
            // A ring.
            Self::Empty => format!("M{} 4a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", x + 1),
            // A triangle.
            Self::Break => format!("M{x} 8h8l-4-8z"),
            // A dash.
            Self::Absent => format!("M{x} 4h8"),
            // Three dots.
            Self::Unknown => format!("M{x} 3h2v2h-2zm3 0h2v2h-2zm3 0h2v2h-2z"),
            // A square.
            Self::Missing => format!("M{} 1h6v6h-6z", x + 1),
            // An arrow that leads on.
            Self::Open => format!("M{x} 0l8 4l-8 4z"),
            // A cross.
            Self::Error => format!("M{} 1l6 6m0-6l-6 6", x + 1),
        }
    }
}

/// The legend of the marks.
pub(crate) fn legend() -> Markup {
    let mut out = Markup::default();
    out.tag("<ul class=\"legend\" aria-label=\"Meaning of the marks\">");
    for state in State::ALL {
        out.tag("<li><svg class=\"strip\" width=\"8\" height=\"8\" viewBox=\"0 0 8 8\" aria-hidden=\"true\">");
        match state.mark() {
            Some(mark) => out.tag(mark).text(&state.shape(0)),
            None => out.tag(state.bar()).text("M0 3h8v5h-8z"),
        };
        out.tag("\"/></svg> <b>").text(state.word()).tag("</b> ").text(state.about()).tag("</li>");
    }
    out.tag("</ul>");
    out
}

/// Appends the start of a picture, which words must say as well.
pub(super) fn open(out: &mut Markup, (class, width, height): (&'static str, u32, u32), label: &str) {
    let (width, height) = (width.to_string(), height.to_string());
    out.tag("<svg class=\"").tag(class).tag("\" width=\"").text(&width).tag("\" height=\"").text(&height);
    out.tag("\" viewBox=\"0 0 ").text(&width).tag(" ").text(&height);
    out.tag("\" role=\"img\" aria-label=\"").text(label).tag("\">");
}

/// A number of pixels.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped; NaN becomes 0")]
pub(super) fn pixels(value: f64) -> u32 {
    value.round().clamp(0.0, 100_000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_but_ok_has_a_shape_of_its_own() {
        let shapes: std::collections::BTreeSet<String> = State::ALL.iter().map(|s| s.shape(0)).collect();
        assert_eq!(shapes.len(), State::ALL.len());
        assert!(State::ALL.iter().all(|s| s.mark().is_none() == s.shape(0).is_empty()));
    }

    #[test]
    fn a_compile_that_failed_did_so_even_if_the_log_ends() {
        assert_eq!(State::of(Status::Error, true), State::Error);
        assert_eq!(State::of(Status::Missing, true), State::Open);
        assert_eq!(State::of(Status::Break, false), State::Break);
    }
}
