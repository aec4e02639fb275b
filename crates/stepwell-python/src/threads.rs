//! Threads that survive a fork, and work that Ctrl-C can end.
//!
//! A forked child has the parent's thread pool in memory but none of its
//! threads, and would wait for them forever. So pools are kept by process id:
//! a child that needs one makes its own.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Pools by process id and number of threads.
type Pools = Vec<((u32, usize), Arc<ThreadPool>)>;

static POOLS: Mutex<Pools> = Mutex::new(Vec::new());

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Says to work in progress whether to go on.
pub type GoOn<'a> = &'a (dyn Fn() -> ControlFlow<()> + Sync);

/// Runs `work` on `threads` threads (0: one per core) of this process, without
/// the interpreter's lock, and watches for Ctrl-C meanwhile.
pub fn run<T: Send>(py: Python<'_>, threads: usize, work: impl FnOnce(GoOn<'_>) -> T + Send) -> PyResult<T> {
    let failed = |text: String| PyRuntimeError::new_err(text);
    let pool = pool(threads).map_err(|error| failed(error.to_string()))?;
    let stop = AtomicBool::new(false);
    let go_on = || match stop.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            let go_on = &go_on;
            let worker = scope.spawn(move || {
                // Nobody listens any more only if the other end has failed.
                let _ = sender.send(pool.install(|| work(go_on)));
            });
            let mut interrupted = None;
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(result) => return interrupted.map_or(Ok(result), Err),
                    Err(RecvTimeoutError::Disconnected) => {
                        // A panic, which must not travel on as one: no `except Exception` would catch it.
                        let _ = worker.join();
                        return Err(failed("an error inside Stepwell; please report it".into()));
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            stop.store(true, Ordering::Relaxed);
                            interrupted = Some(error);
                        }
                    }
                }
            }
        })
    })
}

fn pool(threads: usize) -> Result<Arc<ThreadPool>, rayon::ThreadPoolBuildError> {
    let key = (std::process::id(), threads);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if pools.iter().any(|((process, _), _)| *process != key.0) {
        // The parent's pools are forgotten, not dropped: dropping waits for their threads.
        std::mem::forget(std::mem::take(&mut *pools));
    }
    if let Some((_, pool)) = pools.iter().find(|(known, _)| *known == key) {
        return Ok(pool.clone());
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?);
    pools.push((key, pool.clone()));
    Ok(pool)
}
