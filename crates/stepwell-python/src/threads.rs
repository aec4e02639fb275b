//! Threads that survive a fork.
//!
//! A forked child has the parent's thread pool in memory but none of its
//! threads, and would wait for them forever. So the pool is kept by process id:
//! a child that needs one makes its own.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs `work` on this process's threads, without the interpreter's lock.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = pool().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok(py.detach(|| pool.install(work)))
}

fn pool() -> Result<Arc<ThreadPool>, rayon::ThreadPoolBuildError> {
    let process = std::process::id();
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, pool)) = kept.as_ref()
        && *owner == process
    {
        return Ok(pool.clone());
    }
    let pool = Arc::new(ThreadPoolBuilder::new().build()?);
    // The parent's pool is not dropped in the child: dropping waits for its threads.
    std::mem::forget(kept.replace((process, pool.clone())));
    Ok(pool)
}
