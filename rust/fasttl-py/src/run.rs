//! Runs work of the core without the GIL, while the calling thread listens for Ctrl-C.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fasttl_core::error::{Error, ErrorKind, Result};
use fasttl_core::job::{Job, on_pool};
use pyo3::prelude::*;

use crate::errors::to_py;

/// How often the calling thread looks for signals and reports progress.
const TICK: Duration = Duration::from_millis(100);
/// How long interrupted work may take to clean up; work that waits for a pipe cannot be woken.
const GRACE: Duration = Duration::from_secs(5);

/// Runs `work` on a pool of its own. `progress(done, total)` is called on the calling thread.
///
/// # Errors
/// What the work fails with; what a signal handler or `progress` raises, after the work has stopped.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<NonZeroUsize>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Job) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let job = Arc::new(Job::default());
    let (sender, receiver) = channel();
    let shared = Arc::clone(&job);
    let worker = std::thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| on_pool(threads, || work(&shared))));
        // Nobody listens once the caller has given up.
        let _ = sender.send(result.unwrap_or_else(|_| Err(panicked())));
    });
    let mut receiver = receiver;
    loop {
        let (back, outcome) = py.detach(move || {
            let outcome = receiver.recv_timeout(TICK);
            (receiver, outcome)
        });
        receiver = back;
        match outcome {
            Ok(result) => {
                py.detach(|| worker.join().ok());
                let value = result.map_err(|error| to_py(&error))?;
                let (_, total) = job.progress();
                report(progress, (total, total))?;
                return Ok(value);
            }
            Err(RecvTimeoutError::Disconnected) => return Err(to_py(&panicked())),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals().and_then(|()| report(progress, job.progress())) {
            job.cancel();
            py.detach(move || wait_for(&receiver, worker));
            return Err(error);
        }
    }
}

fn wait_for<T>(receiver: &Receiver<Result<T>>, worker: JoinHandle<()>) {
    let until = Instant::now() + GRACE;
    while Instant::now() < until {
        match receiver.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                // A panic was caught inside the thread already.
                let _ = worker.join();
                return;
            }
        }
    }
}

fn report(progress: Option<&Bound<'_, PyAny>>, (done, total): (u64, u64)) -> PyResult<()> {
    match progress {
        Some(progress) if total > 0 => progress.call1((done.min(total), total)).map(drop),
        _ => Ok(()),
    }
}

fn panicked() -> Error {
    Error::new(ErrorKind::Internal, "a fault of fasttl; please report it, with the log if you can share it")
}
