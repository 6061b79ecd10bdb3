//! Which files are read, and where their bytes come from.
//!
//! [`find_logs`] turns paths, folders and globs into [`LogFile`]s and names what it passed over;
//! [`Source`] hides whether a log is mapped, was copied because it may still change, or was unpacked.

mod find;
mod map;
mod name;
mod sniff;
mod source;
mod unpack;

pub use find::{Found, Passed, find_logs};
pub use name::rank_in_name;
pub use sniff::{Content, looks_like, sniff};
pub(crate) use source::is_at_rest;
pub use source::{Source, View};

use std::fs;
use std::path::{Path, PathBuf};

/// Folder beside logs that holds their indexes; see [`crate::sidecar`]. It is never input.
pub const INDEX_FOLDER: &str = ".fasttl-index";

/// How input is found and opened.
#[derive(Clone, Debug)]
pub struct InputOptions {
    /// Bytes that compressed logs may take when unpacked, all together; the default is 64 GiB
    /// and no log to more than 200 times its size.
    pub max_unpacked: Option<u64>,
}

/// A log that can be read.
#[derive(Clone, Debug)]
pub struct LogFile {
    /// Path as it was given or found.
    pub path: PathBuf,
    /// Rank in the file's name: a hint, since records say more.
    pub name_rank: Option<i32>,
    /// Size on disk in bytes.
    pub disk_bytes: u64,
    /// When the file was written last, in microseconds since 1970.
    pub modified_us: i64,
    /// The bytes; why they could not be had, where that is so.
    pub source: Result<Source, String>,
    /// What was wrong with the compressed data, when only a part could be unpacked.
    pub damage: Option<String>,
}

impl LogFile {
    /// What the file system says of a file, with the bytes that were got from it.
    fn new(path: &Path, meta: Option<&fs::Metadata>, source: Result<Source, String>) -> Self {
        Self {
            path: path.to_owned(),
            name_rank: rank_in_name(&find::file_name(path)),
            disk_bytes: meta.map_or(0, fs::Metadata::len),
            modified_us: meta.map_or(0, source::modified_us),
            source,
            damage: None,
        }
    }
}
