//! Where the bytes of a log come from.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use memmap2::Mmap;

use super::map::map;
use crate::error::{Error, ErrorKind, Result};

/// A file written to within this time may still be written to.
const SETTLED: Duration = Duration::from_secs(5);
/// What the copies of one call may take in memory together; the others go to unlinked files.
const IN_MEMORY: u64 = 64 << 20;

/// Copies are read in blocks of this size.
const BLOCK: u64 = 256 << 10;

/// The memory that is left for copies, shared by the threads of a call.
#[derive(Debug)]
pub(super) struct Memory(AtomicU64);

impl Default for Memory {
    fn default() -> Self {
        Self(AtomicU64::new(IN_MEMORY))
    }
}

impl Memory {
    /// Takes `bytes`, if there are as many.
    fn take(&self, bytes: u64) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

/// Whether a log may have become longer since it was opened. Work in progress does not look at what was
/// appended; a text that is asked for later might be one of another log of the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    Allowed,
    Refused,
}

/// Bytes of one log, fixed when it was opened.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file at rest: mapped for the time of a call.
    Map {
        /// Where it is.
        path: PathBuf,
        /// Size when it was opened.
        len: u64,
        /// Time of its last change when it was opened.
        modified: SystemTime,
    },
    /// A private copy that no name points to: of a log that may still change, of a pipe, of a compressed log.
    Blocks {
        /// The unlinked file.
        file: Arc<File>,
        /// Its size.
        len: u64,
    },
    /// Bytes in memory.
    Buffer(Arc<[u8]>),
}

/// The bytes while a call looks at them.
#[derive(Debug)]
pub enum View {
    /// A map.
    Map(Mmap),
    /// Bytes in memory.
    Buffer(Arc<[u8]>),
}

impl Deref for View {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Buffer(bytes) => bytes,
        }
    }
}

impl Source {
    /// Opens a plain file: mapped where it is at rest, else copied as far as it goes now.
    pub(super) fn open(path: &Path, memory: &Memory) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let meta = file.metadata()?;
        let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if meta.is_file() && is_at_rest(&meta) && !on_network(&file) {
            // The process may move to another folder before the text is asked for.
            let path = std::path::absolute(path)?;
            return Ok(Self::Map { path, len: meta.len(), modified });
        }
        let len = if meta.is_file() { meta.len() } else { u64::MAX };
        Self::copy(&mut (&mut file).take(len), memory)
    }

    /// Copies all that `from` gives, to memory or to an unlinked file.
    pub(super) fn copy(from: &mut impl Read, memory: &Memory) -> io::Result<Self> {
        let mut bytes = Vec::new();
        while memory.take(BLOCK) {
            let read = from.take(BLOCK).read_to_end(&mut bytes)?;
            if (read as u64) < BLOCK {
                return Ok(Self::Buffer(bytes.into()));
            }
        }
        let mut file = tempfile::tempfile()?;
        io::Write::write_all(&mut file, &bytes)?;
        let len = bytes.len() as u64;
        drop(bytes);
        let len = len + io::copy(from, &mut file)?;
        Ok(Self::Blocks { file: Arc::new(file), len })
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Map { len, .. } | Self::Blocks { len, .. } => *len,
            Self::Buffer(bytes) => bytes.len() as u64,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The path of the log, where its bytes stand in a file that has one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Map { path, .. } => Some(path),
            Self::Blocks { .. } | Self::Buffer(_) => None,
        }
    }

    /// The bytes, for the time of a call.
    pub fn view(&self) -> Result<View> {
        match self {
            Self::Buffer(bytes) => Ok(View::Buffer(Arc::clone(bytes))),
            _ if self.is_empty() => Ok(View::Buffer(Arc::new([]))),
            Self::Map { path, len, .. } => {
                let file = self.reopen(path, Growth::Allowed)?;
                map_all(&file, *len, path)
            }
            Self::Blocks { file, len } => map_all(file, *len, Path::new("(unpacked copy)")),
        }
    }

    /// `len` bytes at `offset`, read when they are asked for and not through a map.
    pub fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let out_of_range = || Error::new(ErrorKind::Option, format!("no {len} bytes at offset {offset}"));
        if offset.checked_add(len as u64).is_none_or(|end| end > self.len()) {
            return Err(out_of_range());
        }
        let read = |mut file: &File, path: &Path| {
            let mut bytes = vec![0; len];
            file.seek(SeekFrom::Start(offset))
                .and_then(|_| file.read_exact(&mut bytes))
                .map_err(|e| Error::io(ErrorKind::Read, path, "could not be read", e))?;
            Ok(bytes)
        };
        match self {
            Self::Map { path, .. } => read(&self.reopen(path, Growth::Refused)?, path),
            Self::Blocks { file, .. } => {
                // A second handle of the same file would share its place; a map has none.
                let view = map_all(file, self.len(), Path::new("(unpacked copy)"))?;
                let start = usize::try_from(offset).map_err(|_| out_of_range())?;
                view.get(start..start + len).map(<[u8]>::to_vec).ok_or_else(out_of_range)
            }
            Self::Buffer(bytes) => {
                let start = usize::try_from(offset).map_err(|_| out_of_range())?;
                bytes.get(start..start + len).map(<[u8]>::to_vec).ok_or_else(out_of_range)
            }
        }
    }

    /// Makes sure that what stands at `path` is the file that was opened.
    pub(crate) fn check(&self, path: &Path) -> Result<()> {
        self.reopen(path, Growth::Refused).map(drop)
    }

    /// Opens the file again and makes sure that it is what it was.
    fn reopen(&self, path: &Path, growth: Growth) -> Result<File> {
        let file = File::open(path).map_err(|e| Error::io(ErrorKind::Changed, path, "is gone", e))?;
        let meta = file.metadata().map_err(|e| Error::io(ErrorKind::Read, path, "could not be read", e))?;
        if let Self::Map { len, modified, .. } = self {
            let same_time = meta.modified().is_ok_and(|m| m == *modified);
            let grown = meta.len() > *len && growth == Growth::Allowed;
            if !grown && (meta.len() != *len || !same_time) {
                return Err(Error::at(ErrorKind::Changed, path, "has changed since it was read; load it again"));
            }
        }
        Ok(file)
    }
}

fn map_all(file: &File, len: u64, path: &Path) -> Result<View> {
    let len =
        usize::try_from(len).map_err(|_| Error::at(ErrorKind::TooLarge, path, "is too large for the address space"))?;
    map(file, len).map(View::Map).map_err(|e| Error::io(ErrorKind::Read, path, "could not be mapped", e))
}

/// Whether `file` lies on a file system whose other clients may change it under a map.
#[cfg(target_os = "linux")]
fn on_network(file: &File) -> bool {
    // Magic numbers of linux/magic.h and of the file systems themselves:
    // NFS, SMB, SMB2, CIFS, 9P, FUSE, Lustre, Ceph, AFS, CODA, GPFS, BeeGFS.
    const NETWORK: [u32; 12] = [
        0x6969,
        0x517B,
        0xFE53_4D42,
        0xFF53_4D42,
        0x0102_1997,
        0x6573_5546,
        0x0BD0_0BD0,
        0x00C3_6400,
        0x5346_414F,
        0x7375_7245,
        0x4750_4653,
        0x1983_0326,
    ];
    // The numbers are 32-bit patterns; the field is wider, and signed on some targets.
    let bits = |number: i64| u32::try_from(number & 0xFFFF_FFFF).unwrap_or(0);
    #[cfg_attr(target_pointer_width = "64", expect(clippy::useless_conversion, reason = "narrower on other targets"))]
    rustix::fs::fstatfs(file).is_ok_and(|fs| NETWORK.contains(&bits(i64::from(fs.f_type))))
}

#[cfg(not(target_os = "linux"))]
fn on_network(_file: &File) -> bool {
    false
}

/// Whether a file was not written to lately. A time in the future is that of another clock, and says as little about now.
pub(crate) fn is_at_rest(meta: &fs::Metadata) -> bool {
    let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    SystemTime::now().duration_since(modified).unwrap_or_else(|ahead| ahead.duration()) > SETTLED
}

/// When a file was written last, in microseconds since 1970.
pub(super) fn modified_us(meta: &fs::Metadata) -> i64 {
    let since = meta.modified().ok().and_then(|m| m.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.and_then(|d| i64::try_from(d.as_micros()).ok()).unwrap_or_default()
}
