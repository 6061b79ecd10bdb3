//! Equal payloads of several logs: the first is written, the others are further names of the same file.
//!
//! The ranks of a job compile the same things, so that most of their payloads are equal. Equal are payloads of the
//! same length whose MD5 was found to be what their head gives, which is how PyTorch itself tells them apart.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::plan::Content;
use crate::index::{PayloadState, Record};

/// So many files are remembered, in some ten megabytes.
const MOST: usize = 1 << 16;

/// MD5, length, and what the file makes of it.
type Key = ([u8; 16], u64, Content);

/// The files that later logs may share.
#[derive(Debug, Default)]
pub(super) struct Twins(Mutex<FxHashMap<Key, PathBuf>>);

/// What a payload is found by; `None` where it is not certain what it is, or the file has more in it.
pub(super) fn key(record: &Record, content: Content) -> Option<Key> {
    let copied = matches!(content, Content::Payload | Content::Json) && record.payload == PayloadState::Verified;
    copied.then_some((record.md5, record.text_len, content))
}

impl Twins {
    /// The file that holds the same.
    pub(super) fn find(&self, key: &Key) -> Option<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Remembers a file that is whole.
    pub(super) fn add(&self, key: Key, path: &Path) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() < MOST {
            files.entry(key).or_insert_with(|| path.to_owned());
        }
    }
}
