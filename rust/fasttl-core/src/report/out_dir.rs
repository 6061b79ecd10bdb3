//! The output folder: what may be replaced, and how the report gets there only when it is whole.
//!
//! The report is written into a private folder with a random name beside its place (or inside it, where the
//! place cannot be renamed) and moved when it is whole. The old report goes only after the new one stands.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, ErrorKind, Result};

/// File that says "this folder is a report of fasttl".
pub(super) const MARKER: &str = ".fasttl";

/// What the peer writes beside the folders of ranks.
const PEERS_JOB_FILES: [&str; 5] = [
    "index.html",
    "chromium_events.json",
    "chromium_trace_with_runtime.json",
    "collective_schedules.json",
    "runtime_estimations.json",
];

/// What to do with a report that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// Leave it and say so.
    #[default]
    Refuse,
    /// Replace it; never anything that is no report.
    Replace,
}

/// A report in the making.
#[derive(Debug)]
pub(super) struct Staging {
    out: PathBuf,
    temp: TempDir,
    /// The folder to fill.
    pub(super) root: PathBuf,
    inside: bool,
}

impl Staging {
    /// Makes sure that `out` may be written, and makes the folder to fill.
    pub(super) fn new(out: &Path, overwrite: Overwrite, inputs: &[PathBuf]) -> Result<Self> {
        let out = std::path::absolute(out)
            .map_err(|e| Error::io(ErrorKind::Option, out, "is no usable path for the report", e))?;
        check(&out, overwrite, inputs)?;
        let parent = out.parent().ok_or_else(|| refuse(&out, "the report needs a folder of its own"))?;
        let failed = |e| Error::io(ErrorKind::Output, parent, "the folder for the report could not be made", e);
        fs::create_dir_all(parent).map_err(failed)?;
        let builder = |folder: &Path| tempfile::Builder::new().prefix(".fasttl-").tempdir_in(folder);
        let current = std::env::current_dir().is_ok_and(|dir| same(&dir, &out));
        // The current folder must stay the same folder for whoever stands in it.
        let (temp, inside) = match builder(parent) {
            Ok(temp) if !current => (temp, false),
            _ if out.is_dir() => (builder(&out).map_err(failed)?, true),
            beside => (beside.map_err(failed)?, false),
        };
        // The temporary folder is private; the report has the usual rights.
        let root = temp.path().join("report");
        fs::create_dir(&root).map_err(failed)?;
        Ok(Self { out, temp, root, inside })
    }

    /// A place for what is needed while the report is made.
    pub(super) fn beside(&self, name: &'static str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// Moves the finished report to its place; yields the place.
    pub(super) fn place(self) -> Result<PathBuf> {
        let failed = |e| Error::io(ErrorKind::Output, &self.out, "the report could not be moved to its place", e);
        if self.inside {
            self.fill_in().map_err(failed)?;
        } else if let Err(error) = self.swap() {
            // A mount point cannot be renamed, but it can be filled.
            if !self.out.is_dir() {
                return Err(failed(error));
            }
            self.fill_in().map_err(failed)?;
        }
        Ok(self.out)
    }

    fn swap(&self) -> io::Result<()> {
        let old = self.temp.path().join("old");
        let there = self.out.exists();
        if there {
            fs::rename(&self.out, &old)?;
        }
        fs::rename(&self.root, &self.out).inspect_err(|_| {
            if there {
                // Best effort: the error that is reported is the first one.
                let _ = fs::rename(&old, &self.out);
            }
        })
    }

    /// Moves entry by entry, the old ones out of the way first and back again if something fails.
    fn fill_in(&self) -> io::Result<()> {
        let old = self.temp.path().join("replaced");
        fs::create_dir(&old)?;
        self.move_out(&old).and_then(|()| move_all(&self.root, &self.out)).inspect_err(|_| {
            // Best effort: the error that is reported is the first one.
            let _ = move_all(&old, &self.out);
        })
    }

    fn move_out(&self, old: &Path) -> io::Result<()> {
        for entry in fs::read_dir(&self.out)? {
            let entry = entry?;
            if entry.path() != self.temp.path() {
                move_entry(&entry.path(), &old.join(entry.file_name()))?;
            }
        }
        Ok(())
    }
}

/// Moves all entries of a folder into another; what is there already is replaced.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if fs::symlink_metadata(&target).is_ok_and(|meta| meta.is_dir()) {
            fs::remove_dir_all(&target)?;
        }
        move_entry(&entry.path(), &target)?;
    }
    Ok(())
}

/// Renames, or copies and removes where both lie on different file systems.
fn move_entry(from: &Path, to: &Path) -> io::Result<()> {
    if fs::rename(from, to).is_ok() {
        return Ok(());
    }
    let meta = fs::symlink_metadata(from)?;
    if meta.is_symlink() {
        // A link in an old report is not followed; it goes.
        fs::remove_file(from)
    } else if meta.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            move_entry(&entry.path(), &to.join(entry.file_name()))?;
        }
        fs::remove_dir(from)
    } else {
        fs::copy(from, to)?;
        fs::remove_file(from)
    }
}

fn refuse(out: &Path, why: &str) -> Error {
    Error::at(ErrorKind::Option, out, why)
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// Fails unless `out` is free, empty, or a report that may be replaced.
fn check(out: &Path, overwrite: Overwrite, inputs: &[PathBuf]) -> Result<()> {
    let Ok(meta) = fs::symlink_metadata(out) else { return Ok(()) };
    if meta.is_symlink() {
        return Err(refuse(out, "is a link; name the folder itself with -o"));
    }
    if !meta.is_dir() {
        return Err(refuse(out, "is a file; name a folder with -o"));
    }
    let unreadable = |e| Error::io(ErrorKind::Output, out, "the folder could not be read", e);
    if fs::read_dir(out).map_err(unreadable)?.next().is_none() {
        return Ok(());
    }
    if !is_report(out) {
        return Err(refuse(
            out,
            "holds something that is no report, and is left as it is; name another folder with -o",
        ));
    }
    if overwrite == Overwrite::Refuse {
        return Err(refuse(out, "holds a report already; replace it with --overwrite or name another folder with -o"));
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let current = std::env::current_dir().ok();
    if out.parent().is_none() || [home, current].iter().flatten().any(|dir| same(dir, out)) {
        return Err(refuse(out, "is no folder to replace; name another one with -o"));
    }
    let out = fs::canonicalize(out).map_err(unreadable)?;
    let holds_input = inputs.iter().any(|i| fs::canonicalize(i).is_ok_and(|i| i.starts_with(&out)));
    if holds_input {
        return Err(refuse(&out, "holds the logs that are to be read; name another folder with -o"));
    }
    Ok(())
}

/// Whether a folder is a report: fasttl's by its marker, the peer's by the files that only it has. A folder
/// of the peer's ranks must hold nothing else: somebody may keep his work beside them.
fn is_report(folder: &Path) -> bool {
    let peer = |folder: &Path| folder.join("compile_directory.json").is_file() && folder.join("raw.log").is_file();
    if folder.join(MARKER).is_file() || peer(folder) {
        return true;
    }
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let mut ranks = 0;
    for entry in entries {
        let Ok(entry) = entry else { return false };
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("rank_").filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        if number.is_some() && peer(&entry.path()) {
            ranks += 1;
        } else if !PEERS_JOB_FILES.contains(&name.as_str()) {
            return false;
        }
    }
    ranks > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_renamed_is_filled() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        fill(&out, Overwrite::Refuse, &[]).unwrap();
        fs::write(out.join("old"), "").unwrap();
        let mut staging = Staging::new(&out, Overwrite::Replace, &[]).unwrap();
        staging.inside = true;
        fs::create_dir(staging.root.join("rank_0")).unwrap();
        fs::write(staging.root.join(MARKER), "new").unwrap();
        staging.place().unwrap();
        assert!(!out.join("old").exists() && out.join("rank_0").is_dir());
        // Where the new report cannot be moved in, the old one is as it was.
        let mut staging = Staging::new(&out, Overwrite::Replace, &[]).unwrap();
        staging.inside = true;
        fs::remove_dir_all(&staging.root).unwrap();
        assert!(staging.place().is_err());
        assert!(out.join("rank_0").is_dir() && out.join(MARKER).is_file());
    }

    fn fill(out: &Path, overwrite: Overwrite, inputs: &[PathBuf]) -> Result<PathBuf> {
        let staging = Staging::new(out, overwrite, inputs)?;
        fs::write(staging.root.join(MARKER), "new").unwrap();
        staging.place()
    }

    #[test]
    fn only_reports_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("a/out");
        fill(&out, Overwrite::Refuse, &[]).unwrap();
        assert_eq!(fill(&out, Overwrite::Refuse, &[]).unwrap_err().kind, ErrorKind::Option);
        fs::write(out.join("old"), "").unwrap();
        fill(&out, Overwrite::Replace, &[]).unwrap();
        assert!(!out.join("old").exists() && out.join(MARKER).exists());
        let other = dir.path().join("other");
        fs::create_dir(&other).unwrap();
        fill(&other, Overwrite::Refuse, &[]).unwrap();
        fs::remove_file(other.join(MARKER)).unwrap();
        fs::write(other.join("thesis.tex"), "").unwrap();
        assert!(fill(&other, Overwrite::Replace, &[]).is_err());
        assert!(other.join("thesis.tex").exists());
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert!(left.iter().all(|n| !n.to_string_lossy().starts_with(".fasttl-")), "{left:?}");
    }

    #[test]
    fn input_and_links_are_safe() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        fill(&out, Overwrite::Refuse, &[]).unwrap();
        let log = out.join("x.log");
        fs::write(&log, "").unwrap();
        assert!(fill(&out, Overwrite::Replace, std::slice::from_ref(&log)).is_err());
        assert!(log.exists());
        #[cfg(unix)]
        {
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(&out, &link).unwrap();
            assert!(fill(&link, Overwrite::Replace, &[]).is_err());
            let outside = dir.path().join("outside");
            fs::create_dir(&outside).unwrap();
            fs::write(outside.join("keep"), "").unwrap();
            std::os::unix::fs::symlink(&outside, out.join("inner")).unwrap();
            fs::remove_file(&log).unwrap();
            fill(&out, Overwrite::Replace, &[]).unwrap();
            assert!(outside.join("keep").exists());
        }
    }

    #[test]
    fn the_peers_report_is_recognised() {
        let dir = tempfile::tempdir().unwrap();
        let rank = dir.path().join("rank_0");
        fs::create_dir(&rank).unwrap();
        assert!(!is_report(dir.path()));
        for name in ["compile_directory.json", "raw.log"] {
            fs::write(rank.join(name), "").unwrap();
        }
        fs::write(dir.path().join("index.html"), "").unwrap();
        assert!(is_report(dir.path()) && is_report(&rank));
        fs::write(dir.path().join("thesis.tex"), "").unwrap();
        assert!(!is_report(dir.path()));
        fs::remove_file(dir.path().join("thesis.tex")).unwrap();
        fs::create_dir(dir.path().join("rank_")).unwrap();
        assert!(!is_report(dir.path()));
    }
}
