//! Files over all logs of a job, made of a piece from each log: a log writes its piece while it is at hand, and the
//! pieces are put together at the end, side by side.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use rayon::prelude::*;

use super::names::RelPath;
use super::tree::{Tree, failed};
use crate::error::Result;

/// The pieces, in a folder of their own.
#[derive(Debug)]
pub(super) struct Pieces {
    folder: PathBuf,
    /// Number of logs.
    logs: usize,
}

/// Values of a JSON list, written one by one, each on a line.
pub(super) struct Values<'o> {
    out: &'o mut dyn Write,
    before: &'static [u8],
}

impl<'o> Values<'o> {
    /// Values of which the first stands after `before`.
    pub(super) fn after(before: &'static [u8], out: &'o mut dyn Write) -> Self {
        Self { out, before }
    }

    /// Writes one value, given by the parts of its text.
    pub(super) fn add(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.out.write_all(std::mem::replace(&mut self.before, b",\n"))?;
        parts.iter().try_for_each(|part| self.out.write_all(part))
    }
}

impl Pieces {
    /// Makes the folder.
    pub(super) fn new(folder: PathBuf, logs: usize) -> Result<Self> {
        fs::create_dir(&folder).map_err(|e| failed(&folder, e))?;
        Ok(Self { folder, logs })
    }

    fn path(&self, file: &'static str, log: usize) -> PathBuf {
        self.folder.join(format!("{log}_{file}"))
    }

    /// Writes the values that log number `log` adds to the list in `file`.
    pub(super) fn write(
        &self,
        file: &'static str,
        log: usize,
        values: impl FnOnce(&mut Values<'_>) -> io::Result<()>,
    ) -> Result<()> {
        let path = self.path(file, log);
        let write = || {
            let mut out = BufWriter::with_capacity(256 << 10, File::create(&path)?);
            values(&mut Values::after(b"", &mut out))?;
            out.flush()
        };
        write().map_err(|e| failed(&path, e))
    }

    /// Makes the list of the pieces that were written for `file`, in the order of the logs; the pieces go.
    pub(super) fn join(&self, root: &Tree, file: &'static str) -> Result<()> {
        let mut end: u64 = 1;
        let mut places = Vec::new();
        for log in 0..self.logs {
            let path = self.path(file, log);
            let len = match fs::metadata(&path) {
                Ok(meta) if meta.len() > 0 => meta.len(),
                _ => continue,
            };
            let before: &[u8] = if places.is_empty() { b"\n" } else { b",\n" };
            places.push((end, before, path));
            end += before.len() as u64 + len;
        }
        let rel = RelPath::fixed(file);
        root.write(&rel, b"[")?;
        places.par_iter().try_for_each(|(at, before, piece)| {
            root.fill(&rel, *at, |out| {
                out.write_all(before)?;
                io::copy(&mut File::open(piece)?, out)?;
                fs::remove_file(piece)
            })
        })?;
        root.fill(&rel, end, |out| out.write_all(b"\n]\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stand_in_the_order_of_the_logs() {
        let dir = tempfile::tempdir().unwrap();
        let root = Tree::new(dir.path().join("root")).unwrap();
        let pieces = Pieces::new(dir.path().join("pieces"), 5).unwrap();
        for (log, values) in [(3, &["30"][..]), (1, &["10", "11"]), (2, &[]), (0, &[])] {
            pieces.write("a.json", log, |out| values.iter().try_for_each(|v| out.add(&[v.as_bytes()]))).unwrap();
        }
        for (file, wanted) in [("a.json", "[\n10,\n11,\n30\n]\n"), ("none.json", "[\n]\n")] {
            pieces.join(&root, file).unwrap();
            assert_eq!(fs::read_to_string(dir.path().join("root").join(file)).unwrap(), wanted);
        }
        assert_eq!(root.written(), 2);
    }
}
