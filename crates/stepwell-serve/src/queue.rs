//! The queue of requests.
//!
//! A worker takes small requests of the same kind together if they wait at the same
//! time: embedding and reading many graphs at once costs less than one by one. No
//! request waits for others to arrive. Workers take large requests alone, and never all
//! at once; and large and small requests compute on separate threads. So small requests
//! need not wait for large ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::Refusal;
use crate::answer::Answer;
use crate::query::{Ask, Endpoint};

/// Requests with more bytes in the body are large.
const LARGE: usize = 64 << 10;

/// Requests with more vertices are large, however short the body is: a row may declare a
/// million vertices without edges.
pub(crate) const LARGE_VERTICES: usize = 1 << 14;

/// A byte of a request for explanations counts this often. Explaining a molecule takes some
/// 30 ms, predicting it in a batch a third of a millisecond.
const EXPLAINING: usize = 64;

/// Maximum number of requests taken together.
const TOGETHER: usize = 64;

/// A request with all its graphs.
pub(crate) struct Job {
    pub ask: Ask,
    pub body: Bytes,
    large: bool,
    started: Arc<AtomicBool>,
    reply: oneshot::Sender<Result<Answer, Refusal>>,
}

/// The client's end of a job: where the response arrives.
pub(crate) struct Pending {
    pub answer: oneshot::Receiver<Result<Answer, Refusal>>,
    started: Arc<AtomicBool>,
}

impl Pending {
    /// Whether a worker has started it.
    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }
}

impl Job {
    pub fn new(ask: Ask, body: Bytes) -> (Self, Pending) {
        let (reply, answer) = oneshot::channel();
        let started = Arc::new(AtomicBool::new(false));
        let cost = if ask.endpoint == Endpoint::Explain { EXPLAINING } else { 1 };
        let large = body.len().saturating_mul(cost) > LARGE;
        (Self { ask, body, large, started: started.clone(), reply }, Pending { answer, started })
    }

    /// Whether nobody waits for the response any more.
    pub fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    pub fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    pub fn reply(self, answer: Result<Answer, Refusal>) {
        // The client may have disconnected.
        let _ = self.reply.send(answer);
    }

    /// Whether both can be processed together.
    fn goes_with(&self, other: &Self) -> bool {
        let (mine, other) = (&self.ask, &other.ask);
        mine.endpoint == other.endpoint
            && mine.endpoint != Endpoint::Explain
            && Arc::ptr_eq(&mine.entry, &other.entry)
    }
}

/// The next work of a worker.
pub(crate) struct Batch {
    pub jobs: Vec<Job>,
    pub large: bool,
}

/// See the [module](self).
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    most: usize,
    workers: usize,
}

#[derive(Default)]
struct State {
    small: VecDeque<Job>,
    large: VecDeque<Job>,
    /// Number of workers that process a large request.
    busy_with_large: usize,
    closed: bool,
}

impl Queue {
    /// A queue of at most `most` requests for `workers` workers, at least two.
    pub fn new(most: usize, workers: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), most, workers }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn waiting(&self) -> usize {
        let state = self.state();
        state.small.len() + state.large.len()
    }

    pub fn push(&self, job: Job) -> Result<(), Refusal> {
        let mut state = self.state();
        if state.small.len() + state.large.len() >= self.most {
            return Err(Refusal::busy("too many requests are waiting; try again later"));
        }
        let jobs = if job.large { &mut state.large } else { &mut state.small };
        jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Puts back a job that turned out to be large.
    pub fn push_as_large(&self, job: Job) {
        self.state().large.push_back(Job { large: true, ..job });
        self.changed.notify_one();
    }

    /// Waits for work. `None` once the queue is closed and empty.
    pub fn take(&self) -> Option<Batch> {
        let mut state = self.state();
        loop {
            if state.busy_with_large + 1 < self.workers
                && let Some(job) = state.large.pop_front()
            {
                state.busy_with_large += 1;
                return Some(Batch { jobs: vec![job], large: true });
            }
            if let Some(first) = state.small.pop_front() {
                let mut jobs = vec![first];
                while jobs.len() < TOGETHER && state.small.front().is_some_and(|next| jobs[0].goes_with(next))
                {
                    jobs.extend(state.small.pop_front());
                }
                return Some(Batch { jobs, large: false });
            }
            if state.closed && state.large.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Marks a batch as processed.
    pub fn done(&self, large: bool) {
        if large {
            self.state().busy_with_large -= 1;
            self.changed.notify_all();
        }
    }

    /// Closes the queue. Workers end once it is empty.
    pub fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }
}
