//! Writes files below the report's folder.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::names::RelPath;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Source;

/// A folder that is being filled. Only a [`RelPath`] says where.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    written: AtomicU64,
}

impl Tree {
    /// A tree at `root`, which is made.
    pub(super) fn new(root: PathBuf) -> Result<Self> {
        fs::create_dir_all(&root).map_err(|e| failed(&root, e))?;
        Ok(Self { root, written: AtomicU64::new(0) })
    }

    /// Files written so far.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Counts a file that was written by other means.
    pub(super) fn count(&self) {
        self.written.fetch_add(1, Ordering::Relaxed);
    }

    /// Where a file is.
    pub(super) fn path(&self, rel: &RelPath) -> PathBuf {
        self.root.join(rel.as_str())
    }

    /// Makes the folders of all `paths`, each once.
    pub(super) fn make_folders<'p>(&self, paths: impl Iterator<Item = &'p RelPath>) -> Result<()> {
        let folders: BTreeSet<&str> = paths.map(RelPath::folder).filter(|f| !f.is_empty()).collect();
        for folder in folders {
            let path = self.root.join(folder);
            fs::create_dir_all(&path).map_err(|e| failed(&path, e))?;
        }
        Ok(())
    }

    /// Writes a whole file.
    pub(super) fn write(&self, rel: &RelPath, bytes: &[u8]) -> Result<()> {
        let path = self.path(rel);
        fs::write(&path, bytes).map_err(|e| failed(&path, e))?;
        self.count();
        Ok(())
    }

    /// Writes a file piece by piece.
    pub(super) fn stream(&self, rel: &RelPath, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let path = self.path(rel);
        let created = File::create(&path).map_err(|e| failed(&path, e))?;
        let mut out = BufWriter::with_capacity(256 << 10, created);
        fill(&mut out).and_then(|()| out.flush()).map_err(|e| failed(&path, e))?;
        self.count();
        Ok(())
    }

    /// Fills in a written file from byte `at` on; the parts of a file may be written side by side.
    pub(super) fn fill(&self, rel: &RelPath, at: u64, part: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        let path = self.path(rel);
        let write = || {
            let mut file = OpenOptions::new().write(true).open(&path)?;
            file.seek(SeekFrom::Start(at))?;
            part(&mut file)
        };
        write().map_err(|e| failed(&path, e))
    }

    /// Gives a written file of this tree a second name.
    pub(super) fn link(&self, of: &RelPath, rel: &RelPath) -> Result<()> {
        self.link_to(&self.path(of), rel)
    }

    /// Gives a file of the report a second name; a copy where the file system has no hard links, or no more of them.
    pub(super) fn link_to(&self, from: &Path, rel: &RelPath) -> Result<()> {
        let to = self.path(rel);
        fs::hard_link(from, &to).or_else(|_| fs::copy(from, &to).map(drop)).map_err(|e| failed(&to, e))?;
        self.count();
        Ok(())
    }

    /// Copies a log as it was when it was read: by the file system where that can be had.
    pub(super) fn copy(&self, rel: &RelPath, source: &Source, bytes: &[u8]) -> Result<()> {
        let Some(from) = source.path() else { return self.write(rel, bytes) };
        let path = self.path(rel);
        let copy = || {
            let mut from = io::Read::take(File::open(from)?, source.len());
            // `io::copy` uses `copy_file_range`, and with it shared extents, where there is such a thing.
            io::copy(&mut from, &mut File::create(&path)?)
        };
        copy().map_err(|e| failed(&path, e))?;
        self.count();
        Ok(())
    }
}

/// The error for a file that could not be written.
pub(super) fn failed(path: &Path, error: io::Error) -> Error {
    Error::io(ErrorKind::Output, path, "could not be written", error)
}
