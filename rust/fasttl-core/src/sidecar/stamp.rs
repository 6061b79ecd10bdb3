//! What tells one state of a log from all others.

use std::fs::{self, Metadata};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::input::{LogFile, is_at_rest};

/// Bytes of each end of the log that are hashed.
const END: usize = 64 << 10;

/// A log's size, times, number and ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Bytes of the log.
    pub(super) len: u64,
    /// When it was written last.
    pub(super) modified_ns: i64,
    /// When its entry in the file system changed last.
    pub(super) changed_ns: i64,
    /// Its number there.
    pub(super) inode: u64,
    /// Hash of both ends.
    pub(super) ends: String,
}

impl Stamp {
    /// Of a log and its bytes; why it has none, where it can get no index.
    pub(super) fn of(log: &LogFile, bytes: &[u8]) -> Result<Self, String> {
        let meta = fs::metadata(&log.path).map_err(|e| format!("it cannot be looked at: {e}"))?;
        if !meta.is_file() {
            return Err("it is no file".to_owned());
        }
        if !is_at_rest(&meta) {
            return Err("it was written to within the last seconds".to_owned());
        }
        if log.disk_bytes != bytes.len() as u64 {
            return Err("it is compressed".to_owned());
        }
        if meta.len() != log.disk_bytes {
            return Err("it changed since it was opened".to_owned());
        }
        let head = bytes.get(..END).unwrap_or(bytes);
        let tail = bytes.get(bytes.len().saturating_sub(END)..).unwrap_or_default();
        let (changed_ns, inode) = entry(&meta);
        let modified_ns = meta.modified().map_or(0, nanoseconds);
        Ok(Self { len: meta.len(), modified_ns, changed_ns, inode, ends: sha256(&[head, tail]) })
    }
}

#[cfg(unix)]
fn entry(meta: &Metadata) -> (i64, u64) {
    use std::os::unix::fs::MetadataExt;
    (meta.ctime().wrapping_mul(1_000_000_000).wrapping_add(meta.ctime_nsec()), meta.ino())
}

#[cfg(not(unix))]
fn entry(meta: &Metadata) -> (i64, u64) {
    (meta.created().map_or(0, nanoseconds), 0)
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The SHA-256 of parts one after another, in hexadecimal digits.
pub(super) fn sha256(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
