//! Frames of stacks as text.

use crate::format::frame::Frame;
use crate::trace::{Log, Trace};

/// Frames as the record at `offset` means them, each as `file:line in function`.
pub(super) fn places(trace: &Trace, log: &Log, offset: u64, frames: &[Frame]) -> Vec<String> {
    let place = |frame: &Frame| {
        let file = frame.filename.and_then(|id| trace.string(log, id, offset)).unwrap_or("(unknown)");
        let line = frame.line.map_or("?".to_owned(), |line| line.to_string());
        format!("{file}:{line} in {}", frame.name.as_deref().unwrap_or("(unknown)"))
    };
    frames.iter().map(place).collect()
}
