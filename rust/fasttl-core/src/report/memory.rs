//! How much memory a report may take, and what it is for.

/// What a report may take where nothing else is said.
const USUAL: u64 = 200 << 20;
/// What the program takes with its buffers, and with what is kept of each log.
const BASE: u64 = 64 << 20;
/// What the report of a small log takes while it is written.
const SMALL_LOG: u64 = 4 << 20;

/// Bytes of anonymous memory: maps of logs do not count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// For the indexes of logs that wait for their turn.
    pub(super) indexes: u64,
    /// For logs that are being written.
    pub(super) at_work: u64,
}

impl Memory {
    /// Shares out what the whole program may take.
    pub(super) fn of(most: Option<u64>) -> Self {
        let free = most.unwrap_or(USUAL).saturating_sub(BASE);
        Self { indexes: free / 2, at_work: free / 2 }
    }
}

/// About what the report of a log of `len` bytes takes while it is written, its index among it.
pub(super) fn needed(len: u64) -> u64 {
    SMALL_LOG.max(len / 8)
}
