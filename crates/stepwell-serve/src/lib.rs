//! Serves models over HTTP: graphs in; predictions, vectors and explanations out.
//!
//! One thread (`server`) talks to the clients and never computes. It receives a
//! request's body within the limits and puts it into a queue. Workers take requests
//! from the queue, small ones together; they parse, embed and write. Small and large
//! requests compute on two thread pools, so that large ones do not delay small ones.
//! The service checks everything in a request before it uses it: the file readers parse
//! the bodies, and a rejected request gets the reason.
//!
//! A request keeps the model that was loaded when it arrived. Reloading replaces models
//! only for later requests, so no request is dropped.

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
    /// Address and port to listen on.
    pub listen: String,
    /// Models by name.
    pub models: Vec<(String, PathBuf)>,
    /// The token that clients must send as `Authorization: Bearer …`. Without one,
    /// anyone may send requests.
    pub token: Option<String>,
    /// The limits of a request.
    pub limits: Limits,
    /// Number of threads that compute small requests, and of those that compute large ones.
    pub threads: usize,
    /// Logs only warnings and errors.
    pub quiet: bool,
}

/// The limits of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Bytes of a body. All bodies in memory together may be four times as large.
    pub body: usize,
    /// Number of graphs.
    pub rows: usize,
    /// Total number of vertices of its graphs.
    pub vertices: usize,
    /// Time from its first byte to its response.
    pub time: Duration,
    /// Concurrent connections. Others wait.
    pub connections: usize,
    /// Requests in the queue. Others are rejected.
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

/// Why the service could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A model cannot be read.
    #[error(transparent)]
    Model(#[from] stepwell_data::Error),
    /// The service cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// Another error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Why a request is rejected, with its HTTP status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub reason: String,
}

impl Refusal {
    pub fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    /// The request itself is invalid.
    pub fn bad(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason)
    }

    /// The request exceeds a limit.
    pub fn too_large(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
    }

    /// The service is overloaded.
    pub fn busy(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, reason)
    }
}
