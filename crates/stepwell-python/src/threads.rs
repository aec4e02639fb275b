//! Threads that survive a fork, and work that Ctrl-C can interrupt.
//!
//! A forked child has the parent's thread pool in memory but none of its
//! threads, and would wait for them forever. So pools are kept by process id:
//! a child that needs one makes its own.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Pools by process id and number of threads; the one used last is the last.
type Pools = Vec<((u32, usize), Arc<ThreadPool>)>;

static POOLS: Mutex<Pools> = Mutex::new(Vec::new());

/// The number of pools to keep; others end when their work is done.
const KEPT: usize = 4;

/// The interval between checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// How long to wait for cancelled work.
const PATIENCE: Duration = Duration::from_millis(250);

/// The state shared by running work and the thread that waits for it.
#[derive(Default)]
pub struct Watch {
    stop: AtomicBool,
    done: AtomicUsize,
}

impl Watch {
    /// Records progress, and returns whether to continue.
    pub fn at(&self, done: usize) -> ControlFlow<()> {
        self.done.store(done, Ordering::Relaxed);
        self.go_on()
    }

    pub fn go_on(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs `work`, which owns all it needs, on `threads` threads (0: one per core) of this
/// process, without the interpreter's lock, and checks for Ctrl-C in the meantime. From time to
/// time it calls `report`, a Python function, with the progress. If the work cannot stop soon
/// after Ctrl-C, it is abandoned: it finishes on threads that nothing else waits for, and its
/// result is dropped.
pub fn run_owned<T: Send + 'static>(
    py: Python<'_>,
    threads: usize,
    report: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let failed = |text: String| PyRuntimeError::new_err(text);
    let pool = pool(threads).map_err(|error| failed(error.to_string()))?;
    let watch = Arc::new(Watch::default());
    let (sender, receiver) = channel();
    let watched = watch.clone();
    let busy = pool.clone();
    let worker = move || drop(sender.send(busy.install(|| work(&watched))));
    thread::Builder::new().spawn(worker).map_err(|error| failed(error.to_string()))?;
    py.detach(move || {
        let result = wait(receiver, &watch, report);
        if result.is_err() {
            give_up(&pool);
        }
        result
    })
}

/// Waits for the result; after Ctrl-C, only for a moment.
fn wait<T>(result: Receiver<T>, watch: &Watch, report: Option<&Py<PyAny>>) -> PyResult<T> {
    let mut interrupted: Option<(PyErr, Instant)> = None;
    let mut reported = 0;
    loop {
        match (result.recv_timeout(LOOK), interrupted.take()) {
            (Ok(result), None) => return Ok(result),
            (Ok(_), Some((error, _))) => return Err(error),
            (Err(RecvTimeoutError::Disconnected), _) => {
                return Err(PyRuntimeError::new_err("internal error in Stepwell; please report it"));
            }
            (Err(RecvTimeoutError::Timeout), Some((error, since))) => {
                if since.elapsed() >= PATIENCE {
                    return Err(error);
                }
                interrupted = Some((error, since));
            }
            (Err(RecvTimeoutError::Timeout), None) => {
                let done = watch.done.load(Ordering::Relaxed);
                let look = |py: Python<'_>| {
                    py.check_signals()?;
                    match report {
                        Some(report) if done != reported => report.call1(py, (done,)).map(drop),
                        _ => Ok(()),
                    }
                };
                if let Err(error) = Python::attach(look) {
                    watch.stop.store(true, Ordering::Relaxed);
                    interrupted = Some((error, Instant::now()));
                }
                reported = done;
            }
        }
    }
}

fn pool(threads: usize) -> Result<Arc<ThreadPool>, rayon::ThreadPoolBuildError> {
    let key = (std::process::id(), threads);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if pools.iter().any(|((process, _), _)| *process != key.0) {
        // The parent's pools are leaked, not dropped, because dropping waits for their threads.
        std::mem::forget(std::mem::take(&mut *pools));
    }
    let (_, pool) = match pools.iter().position(|(known, _)| *known == key) {
        Some(position) => pools.remove(position),
        None => (key, Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?)),
    };
    let too_many = (pools.len() + 1).saturating_sub(KEPT);
    drop(pools.drain(..too_many));
    pools.push((key, pool.clone()));
    Ok(pool)
}

/// Prevents reuse of a pool that may still be working.
fn give_up(pool: &Arc<ThreadPool>) {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.retain(|(_, known)| !Arc::ptr_eq(known, pool));
}
