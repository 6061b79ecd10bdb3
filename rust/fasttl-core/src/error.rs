//! What stops a run. A bad record never does: it is a row of the table `problems`.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong; each kind is one exception class in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A path does not exist, or holds no log.
    NotFound,
    /// A file is no trace.
    NotATrace,
    /// An option is wrong, or the output folder is not one that may be replaced.
    Option,
    /// A log is not what it was when it was read first.
    Changed,
    /// Unpacking would take more than was allowed.
    TooLarge,
    /// The operating system refused to read.
    Read,
    /// The output could not be written.
    Output,
    /// The caller asked to stop.
    Cancelled,
    /// A fault of fasttl.
    Internal,
}

impl ErrorKind {
    /// Every kind, so that tests can walk them.
    pub const ALL: [Self; 9] = [
        Self::NotFound,
        Self::NotATrace,
        Self::Option,
        Self::Changed,
        Self::TooLarge,
        Self::Read,
        Self::Output,
        Self::Cancelled,
        Self::Internal,
    ];
}

/// An error: what, where, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.text())]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    message: String,
    path: Option<PathBuf>,
    #[source]
    source: Option<io::Error>,
}

/// Result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error that concerns no single file.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), path: None, source: None }
    }

    /// An error about `path`.
    pub fn at(kind: ErrorKind, path: &Path, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), path: Some(path.to_owned()), source: None }
    }

    /// An error of the operating system about `path`.
    pub fn io(kind: ErrorKind, path: &Path, message: impl Into<String>, source: io::Error) -> Self {
        Self { kind, message: message.into(), path: Some(path.to_owned()), source: Some(source) }
    }

    /// What is wrong, without the file's name.
    pub fn message(&self) -> &str {
        &self.message
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(path) = &self.path {
            text += &format!("{}: ", path.display());
        }
        text += &self.message;
        if let Some(source) = &self.source {
            text += &format!(": {source}");
        }
        text
    }
}
