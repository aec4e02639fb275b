//! Runs the service from start to shutdown.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_io_timeout::TimeoutStream;

use crate::http::{HEAD, Shared, handle, sum};
use crate::log::Log;
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::registry::Registry;
use crate::work::{Pools, work};
use crate::{Error, Options};

/// How long the service still accepts requests after the signal to stop. Responses tell
/// clients that the connection closes, and `/health` tells a load balancer.
const FAREWELL: Duration = Duration::from_millis(500);

/// Serves until the process receives SIGTERM or SIGINT, and then until every accepted
/// request is answered. Reloads the models on SIGHUP. Calls `ready` with the address
/// once it accepts connections.
pub fn run(options: &Options, ready: impl FnOnce(SocketAddr)) -> Result<(), Error> {
    let registry = Registry::read(&options.models)?;
    let pool = |name: &'static str| {
        let pool = rayon::ThreadPoolBuilder::new().thread_name(move |at| format!("{name} {at}"));
        pool.num_threads(options.threads).build()
    };
    let pools = Pools { large: pool("large")?, small: pool("small")? };
    let workers = pools.large.current_num_threads() + 1;
    let shared = Arc::new(Shared {
        registry: RwLock::new(Arc::new(registry)),
        limits: options.limits,
        queue: Queue::new(options.limits.waiting, workers),
        metrics: Metrics::default(),
        log: Log::new(options.quiet)?,
        token: options.token.as_ref().map(|token| sum(token.as_bytes())),
        stopping: AtomicBool::new(false),
        held: AtomicUsize::new(0),
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = thread::scope(|scope| {
        for at in 0..workers {
            let (shared, pools) = (&shared, &pools);
            thread::Builder::new()
                .name(format!("worker {at}"))
                .spawn_scoped(scope, move || work(shared, pools))?;
        }
        let served = runtime.block_on(serve(options, &shared, ready));
        shared.queue.close();
        served
    });
    shared.log.flush();
    served
}

async fn serve(options: &Options, shared: &Arc<Shared>, ready: impl FnOnce(SocketAddr)) -> Result<(), Error> {
    let address = &options.listen;
    let refused = |source| Error::Listen { address: address.clone(), source };
    if !address.contains(':') {
        let port: u16 = address.parse().unwrap_or(8080);
        let reason = format!("expected HOST:PORT, such as 127.0.0.1:{port}");
        return Err(refused(io::Error::new(io::ErrorKind::InvalidInput, reason)));
    }
    let mut signals = Signals::new()?;
    let listener = TcpListener::bind(&options.listen).await.map_err(refused)?;
    let address = listener.local_addr()?;
    let names: Vec<&str> = options.models.iter().map(|(name, _)| name.as_str()).collect();
    shared.log.info("listening", json!({ "address": address.to_string(), "models": names }));
    if !address.ip().is_loopback() && shared.token.is_none() {
        let reason =
            "anyone who can reach this address can use the models; set a token or listen on 127.0.0.1";
        shared.log.warning("no token", json!({ "address": address.to_string(), "reason": reason }));
    }
    ready(address);
    let wanted = Arc::new(Notify::new());
    tokio::spawn(reload(options.models.clone(), shared.clone(), wanted.clone()));
    let connections = Arc::new(Semaphore::new(options.limits.connections));
    let graceful = GracefulShutdown::new();
    loop {
        tokio::select! {
            (permit, stream) = accept(&listener, &connections, shared) => spawn(stream, permit, shared, &graceful),
            signal = signals.next() => match signal {
                Signal::Reload => wanted.notify_one(),
                Signal::Stop => break,
            },
        }
    }
    shared.log.info("stopping", json!({ "connections": graceful.count() }));
    shared.stopping.store(true, Ordering::Relaxed);
    let end = Instant::now() + FAREWELL;
    loop {
        tokio::select! {
            (permit, stream) = accept(&listener, &connections, shared) => spawn(stream, permit, shared, &graceful),
            () = sleep_until(end) => break,
        }
    }
    drop(listener);
    let mut all = pin!(timeout(options.limits.time + Duration::from_secs(5), graceful.shutdown()));
    loop {
        tokio::select! {
            ended = &mut all => {
                match ended {
                    Ok(()) => shared.log.info("stopped", json!({})),
                    Err(_) => shared.log.warning("stopped", json!({ "reason": "some connections did not close in time" })),
                }
                return Ok(());
            }
            signal = signals.next() => if signal == Signal::Stop {
                shared.log.warning("stopped", json!({ "reason": "received a second signal to stop" }));
                return Ok(());
            },
        }
    }
}

/// Accepts the next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
    shared: &Shared,
) -> (OwnedSemaphorePermit, TcpStream) {
    let permit = connections.clone().acquire_owned().await.expect("never closed");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (permit, stream),
            Err(error) => {
                // Too many open files, or a client that has disconnected: the next attempt may
                // succeed.
                shared.log.warning("accept", json!({ "error": error.to_string() }));
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Handles the requests of a connection, one after the other.
fn spawn(stream: TcpStream, permit: OwnedSemaphorePermit, shared: &Arc<Shared>, graceful: &GracefulShutdown) {
    // A response is a single write, so it need not wait for more data.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(shared.limits.time));
    let service = {
        let shared = shared.clone();
        service_fn(move |request| handle(shared.clone(), request))
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD.min(shared.limits.time))
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    let connection = graceful.watch(connection);
    let shared = shared.clone();
    tokio::spawn(async move {
        shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
        // A client that disconnects or sends no valid HTTP harms only itself.
        let _ = connection.await;
        shared.metrics.connections.fetch_sub(1, Ordering::Relaxed);
        drop(permit);
    });
}

/// Reloads all models whenever that is `wanted`, one reload after the other: the last one starts
/// after the last signal, so it reads the newest files. Signals that arrive during a reload cause
/// one more.
async fn reload(models: Vec<(String, PathBuf)>, shared: Arc<Shared>, wanted: Arc<Notify>) {
    loop {
        wanted.notified().await;
        let (models, shared) = (models.clone(), shared.clone());
        // A reload that panics leaves the models as they are, and the next one still runs.
        let _ = tokio::task::spawn_blocking(move || reload_now(&models, &shared)).await;
    }
}

/// Reloads all models. If one cannot be read, all stay as they are.
fn reload_now(models: &[(String, PathBuf)], shared: &Shared) {
    let read = Registry::read(models);
    shared.metrics.reloaded(read.is_ok());
    match read {
        Ok(registry) => {
            let sums = registry.0.iter().map(|entry| (entry.name.clone(), json!(entry.card.sha256)));
            let sums: serde_json::Map<String, serde_json::Value> = sums.collect();
            *shared.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
            shared.log.info("reloaded", json!({ "sha256": sums }));
        }
        Err(error) => {
            let reason = format!("{error}; the previous models stay in use");
            shared.log.error("reload failed", json!({ "error": reason }));
        }
    }
}

/// A signal to the process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Signal {
    Stop,
    #[cfg_attr(not(unix), allow(dead_code))]
    Reload,
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.hangup.recv() => Signal::Reload,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Stop,
            Err(_) => std::future::pending().await,
        }
    }
}
