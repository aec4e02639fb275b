//! Parses a request's path, query and headers.

use std::sync::Arc;

use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use stepwell::readout::Wanted;
use stepwell_data::predictions::{Asked, class_of, thresholds};
use stepwell_data::quote;

use crate::Refusal;
use crate::registry::{Entry, Registry};

/// The paths that accept graphs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Endpoint {
    Predict,
    Embed,
    Explain,
}

impl Endpoint {
    pub fn of(path: &str) -> Option<Self> {
        [Self::Predict, Self::Embed, Self::Explain].into_iter().find(|endpoint| endpoint.path() == path)
    }

    pub fn path(self) -> &'static str {
        match self {
            Self::Predict => "/predict",
            Self::Embed => "/embed",
            Self::Explain => "/explain",
        }
    }

    /// The names of its parameters.
    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Predict => {
                &["model", "skip_bad", "proba", "coverage", "per_class", "precision", "recall", "class"]
            }
            Self::Embed => &["model", "skip_bad"],
            Self::Explain => &["model", "skip_bad", "class"],
        }
    }
}

/// The formats of requests and responses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    JsonLines,
    Arrow,
}

impl Format {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::JsonLines => "application/x-ndjson",
            Self::Arrow => ARROW,
        }
    }
}

const ARROW: &str = "application/vnd.apache.arrow.stream";

/// The media types for JSON lines. The last is the one that curl sends by default.
const JSON: [&str; 6] = [
    "application/x-ndjson",
    "application/jsonl",
    "application/json-lines",
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
];

/// A valid request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub endpoint: Endpoint,
    pub entry: Arc<Entry>,
    pub input: Format,
    pub output: Format,
    /// Whether bad rows are reported one by one. Otherwise a bad row fails the request.
    pub skip_bad: bool,
    /// The additions to predictions that the request asks for.
    pub asked: Asked,
    /// The position of the class to explain.
    pub class: Option<usize>,
}

impl Ask {
    pub fn new(endpoint: Endpoint, parts: &Parts, registry: &Registry) -> Result<Self, Refusal> {
        let input = input(&parts.headers)?;
        let output = output(&parts.headers, input, endpoint)?;
        let given: Vec<(String, String)> =
            form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        let known = endpoint.parameters();
        for (at, (name, _)) in given.iter().enumerate() {
            let shown = quote(name.as_bytes());
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return Err(Refusal::bad(format!(
                    "unknown parameter {shown}; {} accepts {known}",
                    endpoint.path()
                )));
            }
            if given[..at].iter().any(|(other, _)| other == name) {
                return Err(Refusal::bad(format!("parameter {shown} is given twice")));
            }
        }
        let value =
            |name: &str| given.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let entry = registry.find(value("model"))?.clone();
        let mut ask = Self {
            endpoint,
            input,
            output,
            skip_bad: flag("skip_bad", value("skip_bad"))?,
            asked: Asked { proba: flag("proba", value("proba"))?, ..Asked::default() },
            class: None,
            entry,
        };
        ask.asked.coverage = share("coverage", value("coverage"))?;
        ask.asked.per_class = flag("per_class", value("per_class"))?;
        if let (Some(_), Some(_)) = (value("precision"), value("recall")) {
            return Err(Refusal::bad("pass precision= or recall=, not both"));
        }
        let wanted = share("precision", value("precision"))?.map(Wanted::Precision);
        if let Some(wanted) = wanted.or(share("recall", value("recall"))?.map(Wanted::Recall)) {
            let model = ask.entry.trained()?;
            let class = value("class").map_or(Ok(1), |name| class_of(model, name));
            let found = class.and_then(|class| thresholds(model, class, wanted));
            ask.asked.thresholds = found.map_err(|error| Refusal::bad(error.to_string()))?;
        } else if let (Some(_), Endpoint::Predict) = (value("class"), endpoint) {
            return Err(Refusal::bad("class= names the class to find; pass precision= or recall= with it"));
        }
        if let (Some(name), Endpoint::Explain) = (value("class"), endpoint) {
            ask.class = Some(class(&ask.entry, name)?);
        }
        if endpoint != Endpoint::Embed {
            ask.entry.trained()?;
        }
        Ok(ask)
    }
}

fn flag(name: &str, value: Option<&str>) -> Result<bool, Refusal> {
    match value {
        Some("1" | "true" | "") => Ok(true),
        None | Some("0" | "false") => Ok(false),
        Some(other) => {
            Err(Refusal::bad(format!("{name}: expected 1 or 0, found {}", quote(other.as_bytes()))))
        }
    }
}

fn share(name: &str, value: Option<&str>) -> Result<Option<f64>, Refusal> {
    let Some(text) = value else { return Ok(None) };
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && *number < 1.0);
    let found = quote(text.as_bytes());
    let wrong = || format!("{name}: expected a number above 0 and below 1, found {found}");
    number.map(Some).ok_or_else(|| Refusal::bad(wrong()))
}

fn class(entry: &Entry, name: &str) -> Result<usize, Refusal> {
    let found = entry.trained()?.column(name);
    found.map_err(|error| Refusal::bad(format!("model '{}': {error}", entry.name)))
}

/// The media type of a header without its parameters, in lower case.
fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn input(headers: &HeaderMap) -> Result<Format, Refusal> {
    let wrong = |reason: String| Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason);
    if let Some(encoding) = headers.get(CONTENT_ENCODING).filter(|value| *value != "identity") {
        let found = quote(encoding.as_bytes());
        return Err(wrong(format!("Content-Encoding: expected none, found {found}")));
    }
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(Format::JsonLines) };
    let found = media_type(&String::from_utf8_lossy(value.as_bytes()));
    if found == ARROW {
        return Ok(Format::Arrow);
    }
    if JSON.contains(&found.as_str()) {
        return Ok(Format::JsonLines);
    }
    let expected = format!("Content-Type: expected {} or {ARROW}", JSON[0]);
    Err(wrong(format!("{expected}, found {}", quote(found.as_bytes()))))
}

/// The format of the response: the first one that the client accepts, or else the
/// format of the request.
fn output(headers: &HeaderMap, input: Format, endpoint: Endpoint) -> Result<Format, Refusal> {
    let unless = if endpoint == Endpoint::Explain { Format::JsonLines } else { input };
    let all = headers.get_all(ACCEPT).iter();
    let text = all.map(|value| String::from_utf8_lossy(value.as_bytes())).collect::<Vec<_>>().join(",");
    if text.trim().is_empty() {
        return Ok(unless);
    }
    for name in text.split(',').map(media_type) {
        match name.as_str() {
            "*/*" | "application/*" => return Ok(unless),
            ARROW if endpoint != Endpoint::Explain => return Ok(Format::Arrow),
            name if JSON[..5].contains(&name) || name == "text/*" => return Ok(Format::JsonLines),
            _ => {}
        }
    }
    let arrow = if endpoint == Endpoint::Explain { String::new() } else { format!(" or {ARROW}") };
    let expected = format!("Accept: expected {}{arrow}", JSON[0]);
    Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, expected))
}
