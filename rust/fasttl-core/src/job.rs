//! A call's progress and its cancel flag, shared by the threads of the call's own pool.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// Counters that the caller may watch while a call runs. Nothing outlives the call.
#[derive(Debug, Default)]
pub struct Job {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Job {
    /// Asks the running call to stop with [`ErrorKind::Cancelled`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Units of work done and known so far; bytes read count once, bytes written once more.
    pub fn progress(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    pub(crate) fn expect(&self, units: u64) {
        self.total.fetch_add(units, Ordering::Relaxed);
    }

    /// Counts work as done; fails once the caller asked to stop.
    pub(crate) fn advance(&self, units: u64) -> Result<()> {
        self.done.fetch_add(units, Ordering::Relaxed);
        self.check()
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "interrupted"));
        }
        Ok(())
    }
}

/// More threads than this only cost time.
const MOST_THREADS: usize = 256;

/// Runs `work` on a pool of `threads` (all cores when `None`) that ends with the call, so that a process
/// that forks afterwards has no half-dead pool.
pub fn on_pool<T: Send>(threads: Option<NonZeroUsize>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    // Scoped: all threads have ended when the call returns.
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, |n| n.get().min(MOST_THREADS)))
        .thread_name(|n| format!("fasttl-{n}"))
        .build_scoped(rayon::ThreadBuilder::run, |pool| pool.install(work))
        .map_err(|e| Error::new(ErrorKind::Internal, format!("no threads could be started: {e}")))?
}
