//! `raw.log`: the log itself beside its pages, as a copy, as a second name of the file, or not at all.

use std::fs;

use super::names::RelPath;
use super::tree::Tree;
use crate::error::{Error, ErrorKind, Result};
use crate::trace::Log;

/// How the logs get into the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RawLog {
    /// As copies, which share their bytes with the logs where the file system can do that.
    #[default]
    Copy,
    /// As further names of the logs. Whoever changes the one changes the other, which is why it is to be asked for.
    Link,
    /// Not at all.
    Skip,
}

impl RawLog {
    /// All of them by name.
    pub const ALL: [(&'static str, Self); 3] = [("copy", Self::Copy), ("link", Self::Link), ("skip", Self::Skip)];

    /// Whether the report of a log has the file.
    pub(super) fn is_there(self, log: &Log) -> bool {
        // There is nothing to copy of a log that could not be read.
        self != Self::Skip && log.file.source.is_ok()
    }
}

/// Writes the file; says so where it is a copy in place of a link.
pub(super) fn write(tree: &Tree, log: &Log, bytes: &[u8], how: RawLog) -> Result<Option<String>> {
    let rel = RelPath::fixed("raw.log");
    let Ok(source) = &log.file.source else { return Ok(None) };
    match (how, source.path()) {
        (RawLog::Skip, _) => Ok(None),
        (RawLog::Copy, _) => tree.copy(&rel, source, bytes).map(|()| None),
        (RawLog::Link, None) => {
            tree.copy(&rel, source, bytes)?;
            let path = log.file.path.display();
            let why = "it was written to lately, is compressed, or lies on a network";
            Ok(Some(format!("{path}: raw.log is a copy and no link, since {why}")))
        }
        (RawLog::Link, Some(path)) => {
            let to = tree.path(&rel);
            // Of a name that is a link itself, the file behind it is meant.
            let linked = fs::canonicalize(path).and_then(|from| fs::hard_link(from, &to));
            let refused = |e| Error::io(ErrorKind::Output, &to, "cannot be a link of the log; copy or skip it", e);
            linked.map_err(refused)?;
            source.check(&to).inspect_err(|_| {
                // Best effort: the error that is reported is the first one.
                let _ = fs::remove_file(&to);
            })?;
            tree.count();
            Ok(None)
        }
    }
}
