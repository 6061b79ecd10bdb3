//! Indexes that are kept beside their logs, so that a log is read once and loaded often.
//!
//! Each log has a file of its own in the folder [`FOLDER`] beside it: one that changed costs only itself. It begins with a
//! stamp of the log (size, times, number of the file, a hash of both ends) and is used only while all of it holds; what is
//! odd in any way is passed over, and the log is read. The time of the last change of the file's entry is part of the
//! stamp since nothing can set it at will: an index that somebody sends with a log never holds, whatever is in it.

mod file;
mod stamp;

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::error::Result;
use crate::index::{self, Index, IndexOptions, Verify};
use crate::input::{InputOptions, LogFile, Source, find_logs};
use crate::job::Job;
use stamp::{Stamp, sha256};

pub use crate::input::INDEX_FOLDER as FOLDER;

/// Longer names are replaced by their hash: the ending must fit behind.
const LONGEST_NAME: usize = 200;

/// Whether indexes beside the logs are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sidecars {
    /// Where they hold.
    #[default]
    Use,
    /// Never: each log is read.
    Ignore,
}

/// What [`write_sidecars`] does with an index that holds, and with one that does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writing {
    /// Writes those that do not hold.
    #[default]
    WhereStale,
    /// Writes all.
    Always,
    /// Writes none, and only says how they are.
    Never,
}

/// How a log's index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SidecarState {
    /// It was written.
    Written,
    /// It holds.
    Fresh,
    /// There is one that does not hold.
    Stale,
    /// There is none.
    Missing,
    /// The log gets none.
    Skipped,
}

impl SidecarState {
    /// Its name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::Missing => "missing",
            Self::Skipped => "skipped",
        }
    }
}

/// A log and its index.
#[derive(Clone, Debug)]
pub struct Sidecar {
    /// The log.
    pub log: PathBuf,
    /// Where its index is, or would be.
    pub path: PathBuf,
    /// How the index is.
    pub state: SidecarState,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Bytes of the index; 0 without one.
    pub bytes: u64,
    /// Why it was skipped, or does not hold.
    pub detail: String,
}

/// Writes an index beside each log that `paths` name. To be called on the pool that shall do the work.
///
/// # Errors
/// Nothing to read, an interrupt, and an index that cannot be written: then those before it are there.
pub fn write_sidecars(paths: &[PathBuf], verify: Verify, writing: Writing, job: &Job) -> Result<Vec<Sidecar>> {
    let found = find_logs(paths, &InputOptions { max_unpacked: None })?;
    for log in &found.logs {
        job.expect(log.source.as_ref().map_or(0, Source::len));
    }
    found.logs.par_iter().map(|log| write_sidecar(log, verify, writing, job)).collect()
}

/// The index of a log: the one beside it where that holds, else made from its bytes.
pub(crate) fn index(log: &LogFile, bytes: &[u8], how: IndexOptions, sidecars: Sidecars, job: &Job) -> Result<Index> {
    if sidecars == Sidecars::Use
        && let Some(index) = fresh(log, bytes, how.verify)
    {
        job.advance(index.len)?;
        return Ok(index);
    }
    index::index(bytes, log.modified_us, how, job)
}

/// The index beside a log, if there is one that holds for these bytes.
pub(crate) fn fresh(log: &LogFile, bytes: &[u8], verify: Verify) -> Option<Index> {
    // A look at what is not there costs least.
    let path = path_of(&log.path)?;
    fs::symlink_metadata(&path).ok()?;
    file::read(&path, &Stamp::of(log, bytes).ok()?, verify).ok()
}

fn write_sidecar(log: &LogFile, verify: Verify, writing: Writing, job: &Job) -> Result<Sidecar> {
    let path = path_of(&log.path).unwrap_or_default();
    let log_bytes = log.source.as_ref().map_or(log.disk_bytes, Source::len);
    let said = |state, detail: String| {
        let bytes = fs::symlink_metadata(&path).map_or(0, |meta| meta.len());
        Ok(Sidecar { log: log.path.clone(), path: path.clone(), state, log_bytes, bytes, detail })
    };
    let view = match log.source.as_ref().map_err(Clone::clone).and_then(|s| s.view().map_err(|e| e.to_string())) {
        Ok(view) => view,
        Err(why) => return said(SidecarState::Skipped, why),
    };
    let stamp = match Stamp::of(log, &view) {
        Ok(stamp) => stamp,
        Err(why) => return said(SidecarState::Skipped, why),
    };
    let (state, detail) = match (fs::symlink_metadata(&path), file::read(&path, &stamp, verify)) {
        (Err(_), _) => (SidecarState::Missing, String::new()),
        (Ok(_), Ok(_)) => (SidecarState::Fresh, String::new()),
        (Ok(_), Err(why)) => (SidecarState::Stale, why.message().to_owned()),
    };
    let wanted = match writing {
        Writing::Never => false,
        Writing::WhereStale => state != SidecarState::Fresh,
        Writing::Always => true,
    };
    if !wanted {
        job.advance(log_bytes)?;
        return said(state, detail);
    }
    let how = IndexOptions { verify, ..IndexOptions::default() };
    let index = index::index(&view, log.modified_us, how, job)?;
    if Stamp::of(log, &view).as_ref() != Ok(&stamp) {
        return said(SidecarState::Skipped, "it changed while it was read".to_owned());
    }
    file::write(&path, &stamp, verify, &index)?;
    said(SidecarState::Written, String::new())
}

/// Where the index of a log is.
fn path_of(log: &Path) -> Option<PathBuf> {
    let name = log.file_name()?;
    let bytes = name.as_encoded_bytes();
    let mut file = if bytes.len() > LONGEST_NAME { sha256(&[bytes]).into() } else { name.to_owned() };
    file.push(".arrow");
    Some(log.parent()?.join(FOLDER).join(file))
}
