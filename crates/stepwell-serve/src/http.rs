//! From an HTTP request to a response.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::{timeout, timeout_at};

use crate::answer::Answer;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::query::{Ask, Endpoint};
use crate::queue::{Job, Queue};
use crate::registry::Registry;
use crate::{Limits, Refusal, page};

/// State shared by all requests.
pub(crate) struct Shared {
    pub registry: RwLock<Arc<Registry>>,
    pub limits: Limits,
    pub queue: Queue,
    pub metrics: Metrics,
    pub log: Log,
    /// The hash of the token that clients must send.
    pub token: Option<[u8; 32]>,
    /// Whether the service is stopping.
    pub stopping: AtomicBool,
    /// Bytes of request bodies in memory.
    pub held: AtomicUsize,
}

/// The hash of a token. Comparing hashes leaks nothing about the token.
pub(crate) fn sum(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

impl Shared {
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// What the log and the metrics need to know about a request.
#[derive(Default)]
struct Story {
    bytes: usize,
    graphs: usize,
    skipped: usize,
    model: String,
    error: Option<String>,
}

/// Handles a request.
pub(crate) async fn handle(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let start = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut story = Story::default();
    let answered = answer(&shared, request, start, &mut story).await;
    let mut response = answered.unwrap_or_else(|refusal| {
        story.error = Some(refusal.reason.clone());
        refuse(refusal)
    });
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if shared.is_stopping() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let (status, time) = (response.status().as_u16(), start.elapsed());
    let known = PATHS.iter().find(|(known, _)| *known == path).map_or("other", |(known, _)| known);
    shared.metrics.answered(known, status, time);
    if story.graphs > 0 {
        shared.metrics.graphs(known, &story.model, story.graphs);
    }
    let mut fields = json!({
        "method": method.as_str(),
        "path": path,
        "status": status,
        "milliseconds": (time.as_secs_f64() * 1e6).round() / 1e3,
        "bytes_in": story.bytes,
        "bytes_out": response.body().size_hint().exact().unwrap_or(0),
    });
    if !story.model.is_empty() {
        fields["model"] = story.model.into();
        fields["graphs"] = story.graphs.into();
        fields["skipped"] = story.skipped.into();
    }
    match story.error {
        Some(reason) if status >= 500 => {
            fields["error"] = reason.into();
            shared.log.warning("request", fields);
        }
        Some(reason) => {
            fields["error"] = reason.into();
            shared.log.info("request", fields);
        }
        None => shared.log.info("request", fields),
    }
    Ok(response)
}

/// All paths, and whether they accept graphs.
const PATHS: [(&str, bool); 7] = [
    ("/", false),
    ("/health", false),
    ("/metrics", false),
    ("/models", false),
    ("/predict", true),
    ("/embed", true),
    ("/explain", true),
];

async fn answer(
    shared: &Shared,
    request: Request<Incoming>,
    start: Instant,
    story: &mut Story,
) -> Result<Response<Full<Bytes>>, Refusal> {
    let path = request.uri().path();
    let Some(&(path, takes_graphs)) = PATHS.iter().find(|(known, _)| *known == path) else {
        let known = PATHS.map(|(path, _)| path).join(", ");
        return Err(Refusal::new(StatusCode::NOT_FOUND, format!("unknown path; expected one of {known}")));
    };
    let allowed = match request.method() {
        &Method::POST => takes_graphs,
        &Method::GET | &Method::HEAD => !takes_graphs,
        _ => false,
    };
    if !allowed {
        let reason = format!("{path} accepts only {}", if takes_graphs { "POST" } else { "GET" });
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, reason));
    }
    if path != "/health" {
        authorise(shared, &request)?;
    }
    if let Some(endpoint) = Endpoint::of(path) {
        return graphs(shared, request, endpoint, start, story).await;
    }
    let registry = shared.registry();
    Ok(match path {
        "/health" if shared.is_stopping() => {
            let text = json!({ "status": "stopping" }).to_string();
            respond(StatusCode::SERVICE_UNAVAILABLE, "application/json", text.into())
        }
        "/health" => {
            respond(StatusCode::OK, "application/json", json!({ "status": "ok" }).to_string().into())
        }
        "/metrics" => {
            let text = shared.metrics.text(shared.queue.waiting());
            respond(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text.into())
        }
        "/models" => {
            let card = |entry: &Arc<crate::registry::Entry>| (entry.name.clone(), json!(entry.card));
            let cards: serde_json::Map<String, serde_json::Value> = registry.0.iter().map(card).collect();
            respond(StatusCode::OK, "application/json", json!(cards).to_string().into())
        }
        _ => respond(StatusCode::OK, "text/html; charset=utf-8", page::page(&registry).into()),
    })
}

fn authorise(shared: &Shared, request: &Request<Incoming>) -> Result<(), Refusal> {
    let Some(expected) = &shared.token else { return Ok(()) };
    let given = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let given = given.filter(|value| value.len() > 7 && value[..7].eq_ignore_ascii_case(b"bearer "));
    match given.map(|value| sum(value[7..].trim_ascii())) {
        Some(found) if found == *expected => Ok(()),
        Some(_) => Err(Refusal::new(StatusCode::UNAUTHORIZED, "wrong token")),
        None => {
            let reason = "missing token: send the header 'Authorization: Bearer TOKEN'";
            Err(Refusal::new(StatusCode::UNAUTHORIZED, reason))
        }
    }
}

/// Counts a request as in flight until it is answered.
struct InFlight<'a>(&'a Metrics);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn graphs(
    shared: &Shared,
    request: Request<Incoming>,
    endpoint: Endpoint,
    start: Instant,
    story: &mut Story,
) -> Result<Response<Full<Bytes>>, Refusal> {
    let deadline = (start + shared.limits.time).into();
    let seconds = shared.limits.time.as_secs_f64();
    let (parts, mut body) = request.into_parts();
    let ask = match Ask::new(endpoint, &parts, &shared.registry()) {
        Ok(ask) => ask,
        Err(refusal) => {
            discard(&mut body, shared.limits.body).await;
            return Err(refusal);
        }
    };
    story.model.clone_from(&ask.entry.name);
    let mut held = Held { shared, bytes: 0 };
    let body = timeout_at(deadline, collect(&mut body, &mut held)).await.unwrap_or_else(|_| {
        let reason = format!("the body did not arrive within {seconds} s");
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, reason))
    })?;
    story.bytes = body.len();
    shared.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
    let _in_flight = InFlight(&shared.metrics);
    let (job, mut pending) = Job::new(ask, body);
    shared.queue.push(job)?;
    let answer = match timeout_at(deadline, &mut pending.answer).await {
        Ok(Ok(answer)) => answer?,
        Ok(Err(_)) => {
            let reason = "the response was lost; this is a bug in Stepwell, not in the request";
            return Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason));
        }
        Err(_) if pending.has_started() => {
            let reason = format!("the request took longer than {seconds} s; send fewer or smaller graphs");
            return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, reason));
        }
        Err(_) => return Err(Refusal::busy("the request waited too long in the queue; try again later")),
    };
    let Answer { media_type, body, graphs, skipped, notes } = answer;
    (story.graphs, story.skipped) = (graphs, skipped);
    let mut response = respond(StatusCode::OK, media_type, body);
    if skipped > 0 {
        response.headers_mut().insert("stepwell-skipped", skipped.into());
    }
    let notes: String = notes.join("; ").chars().flat_map(in_header).take(1000).collect();
    if let Some(value) = HeaderValue::from_str(&notes).ok().filter(|_| !notes.is_empty()) {
        response.headers_mut().insert("stepwell-note", value);
    }
    Ok(response)
}

/// A character as a header can hold it: printable ASCII as such, others escaped.
fn in_header(character: char) -> impl Iterator<Item = char> {
    let plain = character == ' ' || character.is_ascii_graphic();
    let escaped = (!plain).then(|| character.escape_default());
    plain.then_some(character).into_iter().chain(escaped.into_iter().flatten())
}

/// Reserves bytes of a body from the budget of all bodies, until dropped.
struct Held<'a> {
    shared: &'a Shared,
    bytes: usize,
}

impl Held<'_> {
    fn more(&mut self, bytes: usize) -> Result<(), Refusal> {
        let Limits { body, .. } = self.shared.limits;
        if self.bytes + bytes > body {
            return Err(too_long(body));
        }
        let all = self.shared.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bytes += bytes;
        if all > 4 * body {
            return Err(Refusal::busy("too many large requests at once; try again later"));
        }
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.shared.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

fn too_long(limit: usize) -> Refusal {
    Refusal::too_large(format!(
        "request: the body is longer than {limit} bytes; send fewer graphs per request"
    ))
}

/// Receives a body, up to the limit.
async fn collect(body: &mut Incoming, held: &mut Held<'_>) -> Result<Bytes, Refusal> {
    let limit = held.shared.limits.body;
    if body.size_hint().lower() > limit as u64 {
        discard(body, 2 * limit).await;
        return Err(too_long(limit));
    }
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Refusal::bad(format!("cannot receive the request body: {error}")))?;
        if let Ok(data) = frame.into_data() {
            if let Err(refusal) = held.more(data.len()) {
                drop(all);
                discard(body, limit).await;
                return Err(refusal);
            }
            all.extend_from_slice(&data);
        }
    }
    Ok(all.freeze())
}

/// Reads some more of a rejected body. Otherwise a client that is still sending would
/// see a broken connection instead of the reason.
async fn discard(body: &mut Incoming, most: usize) {
    if body.size_hint().lower() > most as u64 {
        return;
    }
    let read = async {
        let mut seen = 0;
        while let Some(Ok(frame)) = body.frame().await {
            seen += frame.data_ref().map_or(0, Bytes::len);
            if seen > most {
                return;
            }
        }
    };
    let _ = timeout(Duration::from_secs(2), read).await;
}

fn respond(status: StatusCode, media_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn refuse(Refusal { status, reason }: Refusal) -> Response<Full<Bytes>> {
    let mut response =
        respond(status, "application/json", (json!({ "error": reason }).to_string() + "\n").into());
    let headers = response.headers_mut();
    match status {
        StatusCode::SERVICE_UNAVAILABLE => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        StatusCode::UNAUTHORIZED => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            let allow = if reason.ends_with("POST") { "POST" } else { "GET, HEAD" };
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        _ => {}
    }
    response
}

/// How long a client may take to send a request's head, or to start the next request.
pub(crate) const HEAD: Duration = Duration::from_secs(30);
