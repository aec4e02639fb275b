//! Models behind HTTP: graphs in, predictions, vectors and explanations out.
//!
//! One thread (`server`) speaks with clients and never computes. It collects a
//! request's body within its limits, and puts it into a queue. Workers take requests
//! from the queue, small ones together: reading, embedding and writing happen there,
//! on a pool of threads. Nothing of a request is believed before it is checked: bodies
//! are read by the readers of files, and a request that is refused is told why.
//!
//! A request holds the model that was there when it came; reloading replaces models
//! for those that come later, so none is dropped.

mod answer;
mod http;
mod log;
mod metrics;
mod page;
mod query;
mod queue;
mod registry;
mod rows;
mod server;
mod work;

pub use server::run;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use hyper::StatusCode;

/// What to serve, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address and port to listen at.
    pub listen: String,
    /// Models by name.
    pub models: Vec<(String, PathBuf)>,
    /// What clients must send as `Authorization: Bearer …`; anyone may ask without.
    pub token: Option<String>,
    /// What a request may ask for.
    pub limits: Limits,
    /// Threads that compute.
    pub threads: usize,
    /// Leaves all out of the log but warnings and errors.
    pub quiet: bool,
}

/// What a request may ask for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Bytes of a body. All bodies in memory together may be four times as large.
    pub body: usize,
    /// Graphs.
    pub rows: usize,
    /// Vertices of all its graphs together.
    pub vertices: usize,
    /// From its first byte to its answer.
    pub time: Duration,
    /// Connections at a time; others wait.
    pub connections: usize,
    /// Requests that wait to be worked on; others are refused.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            rows: 10_000,
            vertices: 1_000_000,
            time: Duration::from_secs(30),
            connections: 512,
            waiting: 1024,
        }
    }
}

/// Why there is no service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A model cannot be read.
    #[error(transparent)]
    Model(#[from] stepwell_data::Error),
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The operating system refused something else.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No threads to compute on.
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// A request that is not answered as it wished, and why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub reason: String,
}

impl Refusal {
    pub fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    /// The request itself is wrong.
    pub fn bad(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason)
    }

    /// The request asks for more than one may.
    pub fn too_large(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
    }

    /// There is too much to do.
    pub fn busy(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, reason)
    }
}
