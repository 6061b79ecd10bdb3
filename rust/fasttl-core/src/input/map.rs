//! The one place that maps files into memory.
#![expect(unsafe_code, reason = "a map is only as stable as its file; the contract is stated here, once")]

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

/// Maps the first `len` bytes of `file` for reading.
///
/// The map must not live longer than one call of the library, and the caller must have made sure that
/// nobody is likely to truncate the file meanwhile: reading past the end of a file that shrank is a SIGBUS,
/// for which there is no cure at run time. [`super::Source`] therefore maps only files that were not
/// written to lately and that lie on a local file system, and copies the others first.
pub(super) fn map(file: &File, len: usize) -> io::Result<Mmap> {
    // SAFETY: the map is read-only and private to the call that holds it. Memory safety asks that the
    // bytes do not change under us; a log is only ever appended to, `len` is the size it had when it was
    // opened, and files that are being written or that lie on a network are never mapped (see above).
    let map = unsafe { MmapOptions::new().len(len).map(file)? };
    #[cfg(unix)]
    // Advice only: a kernel that does not take it reads ahead less.
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}
