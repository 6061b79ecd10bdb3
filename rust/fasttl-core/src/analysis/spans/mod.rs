//! The timed steps of the compiler: begin and end of each made one span (`pairs.rs`), and spans put into each other
//! (`lanes.rs`).

mod lanes;
mod pairs;
pub(crate) mod phase;

use crate::format::compile_id::CompileId;
use crate::index::NONE;
use crate::trace::Log;

/// What is known of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its begin and its end.
    Whole,
    /// It is no span: it marks one moment.
    Instant,
    /// Its begin only: the process was killed, or the end is lost.
    Unfinished,
    /// Its end only.
    NoBegin,
    /// It is an event of another sort.
    Unknown,
}

impl State {
    /// Name in the tables; `None` where the log does not tell.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Whole => Some("span"),
            Self::Instant => Some("instant"),
            Self::Unfinished => Some("unfinished"),
            Self::NoBegin => Some("no_begin"),
            Self::Unknown => None,
        }
    }

    /// Whether it has, or had, a begin and an end.
    pub const fn is_span(self) -> bool {
        matches!(self, Self::Whole | Self::Unfinished | Self::NoBegin)
    }
}

/// A span, or an event that is none.
#[derive(Clone, Debug)]
pub struct Span {
    /// Number of the record in its log: the begin, or the end where only that is there.
    pub record: usize,
    /// Number of the record that ends it.
    pub end: Option<usize>,
    /// What is known of it.
    pub state: State,
    /// Number of its name in [`Spans::names`]; [`NONE`] where it has none.
    pub name: u32,
    /// The compile that it belongs to, with the try of the first record.
    pub id: CompileId,
    /// Microseconds since 1970 at which it begins.
    pub start_us: Option<f64>,
    /// Microseconds since 1970 at which it ends.
    pub end_us: Option<f64>,
    /// The process that logged it, numbered within the log.
    process: u32,
    /// Its compile (process and generation told apart), numbered within the log; `None` without one.
    compile: Option<u32>,
    /// What it is summed up with: spans of one name, compile and generation have the same number.
    pub group: u32,
    /// Which of the threads that the log may be of; they are not in it, so these are the fewest that can be.
    pub lane: u32,
    /// How many spans of its lane it lies in.
    pub depth: u32,
    /// The innermost of these.
    pub parent: Option<usize>,
    /// Microseconds of it in which none of the spans within it ran.
    pub self_us: Option<f64>,
    /// Whether it lies in another span of its group that has a duration, so that its time is part of that one's.
    pub is_within_own: bool,
}

impl Span {
    /// How long it took, in microseconds; `None` where an end is not known, or where the clock went back.
    pub fn duration_us(&self) -> Option<f64> {
        let took = self.end_us? - self.start_us?;
        (self.state == State::Whole && took >= 0.0).then_some(took)
    }
}

/// All spans of a log.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// In the order of their first records.
    pub list: Vec<Span>,
    /// Names that they have, each once.
    pub names: Vec<String>,
}

impl Spans {
    /// The name of a span.
    pub fn name(&self, span: &Span) -> Option<&str> {
        (span.name != NONE).then(|| self.names.get(span.name as usize)).flatten().map(String::as_str)
    }
}

/// Finds the spans of a log. `bytes` are the log's.
pub fn spans(log: &Log, bytes: &[u8]) -> Spans {
    let mut spans = pairs::paired(log, bytes);
    lanes::arrange(&mut spans.list);
    spans
}
