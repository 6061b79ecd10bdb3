//! A call's progress and its cancel flag, shared by the threads of the call's own pool.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::Scope;

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

/// Does `work` for each item, the largest first, with at most as many at once as the pool has threads, and as `room`
/// has bytes for; one that is larger than the room has it to itself. Results stand in the order of the items. To be
/// called on the pool.
///
/// # Errors
/// The first that `work` yields; what was not begun by then is left.
pub(crate) fn few_at_once<R: Send>(
    sizes: &[u64],
    room: u64,
    work: impl Fn(usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let room = room.max(1);
    let mut order: Vec<(u64, usize)> = sizes.iter().map(|size| (*size).min(room)).zip(0..).collect();
    order.sort_by_key(|(size, at)| (std::cmp::Reverse(*size), *at));
    let results = sizes.iter().map(|_| None).collect();
    let progress = Progress { waiting: order.into_iter(), at_work: 0, free: room, results, failed: None };
    let few = Few { most: rayon::current_num_threads(), work, progress: Mutex::new(progress) };
    rayon::scope(|scope| few.begin(scope));
    let progress = few.progress.into_inner().unwrap_or_else(PoisonError::into_inner);
    progress.failed.map_or(Ok(()), Err)?;
    // None is missing where none failed.
    Ok(progress.results.into_iter().flatten().collect())
}

struct Few<R, W> {
    most: usize,
    work: W,
    progress: Mutex<Progress<R>>,
}

struct Progress<R> {
    waiting: std::vec::IntoIter<(u64, usize)>,
    at_work: usize,
    free: u64,
    results: Vec<Option<R>>,
    failed: Option<Error>,
}

impl<R> Progress<R> {
    fn next(&mut self, most: usize) -> Option<(u64, usize)> {
        let (size, _) = *self.waiting.as_slice().first()?;
        let fits = self.at_work == 0 || self.at_work < most && size <= self.free;
        if !fits || self.failed.is_some() {
            return None;
        }
        self.at_work += 1;
        self.free = self.free.saturating_sub(size);
        self.waiting.next()
    }
}

impl<R: Send, W: Fn(usize) -> Result<R> + Sync> Few<R, W> {
    fn lock(&self) -> MutexGuard<'_, Progress<R>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with all items that there is room for.
    fn begin<'s>(&'s self, scope: &Scope<'s>) {
        loop {
            let Some((size, at)) = self.lock().next(self.most) else { return };
            scope.spawn(move |scope| {
                let result = (self.work)(at);
                let mut progress = self.lock();
                progress.at_work -= 1;
                progress.free += size;
                match (result, progress.results.get_mut(at)) {
                    (Ok(result), Some(slot)) => *slot = Some(result),
                    (Ok(_), None) => {}
                    (Err(error), _) => progress.failed = progress.failed.take().or(Some(error)),
                }
                drop(progress);
                self.begin(scope);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few(sizes: &[u64], room: u64, threads: usize) -> (Vec<usize>, u64, usize) {
        let (now, most) = (Mutex::new((0, 0)), Mutex::new((0, 0)));
        let results = on_pool(NonZeroUsize::new(threads), || {
            few_at_once(sizes, room, |at| {
                let (bytes, number) = {
                    let mut now = now.lock().unwrap();
                    *now = (now.0 + sizes[at].min(room), now.1 + 1);
                    *now
                };
                {
                    let mut most = most.lock().unwrap();
                    *most = (bytes.max(most.0), number.max(most.1));
                }
                // Others get the processor while this one waits, as they would in real work.
                rayon::join(std::thread::yield_now, std::thread::yield_now);
                let mut now = now.lock().unwrap();
                *now = (now.0 - sizes[at].min(room), now.1 - 1);
                Ok(at)
            })
        });
        let (bytes, number) = most.into_inner().unwrap();
        (results.unwrap(), bytes, number)
    }

    #[test]
    fn never_more_at_once_than_fit() {
        let sizes: Vec<u64> = (0..200).map(|n| n * 37 % 101).collect();
        for (room, threads) in [(0, 4), (1, 4), (100, 4), (250, 3), (10_000, 2), (10_000, 1)] {
            let (results, bytes, number) = few(&sizes, room, threads);
            assert_eq!(results, (0..200).collect::<Vec<_>>());
            assert!(bytes <= room.max(1) && number <= threads, "{bytes} of {room}, {number} of {threads}");
        }
        assert!(few(&[], 5, 2).0.is_empty());
    }

    #[test]
    fn the_first_error_ends_it() {
        let begun = AtomicU64::new(0);
        let failed = on_pool(NonZeroUsize::new(2), || {
            few_at_once(&[1; 100], 10, |_| {
                begun.fetch_add(1, Ordering::Relaxed);
                Err::<(), _>(Error::new(ErrorKind::Internal, "no"))
            })
        });
        assert_eq!(failed.unwrap_err().kind, ErrorKind::Internal);
        assert!(begun.into_inner() <= 2);
    }
}
