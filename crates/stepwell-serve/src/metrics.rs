//! The response of `/metrics`: counts and times in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the time buckets, in seconds.
const BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// Counters of a service.
#[derive(Default)]
pub(crate) struct Metrics {
    counts: Mutex<Counts>,
    /// Number of open connections.
    pub connections: AtomicU64,
    /// Number of requests whose body has arrived and that are not answered yet.
    pub in_flight: AtomicU64,
    /// Number of batches processed.
    pub batches: AtomicU64,
    /// Number of requests in them.
    pub batched: AtomicU64,
}

#[derive(Default)]
struct Counts {
    /// By path and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    /// By path.
    times: BTreeMap<&'static str, Times>,
    /// By path and model.
    graphs: BTreeMap<(&'static str, String), u64>,
    /// By result.
    reloads: BTreeMap<&'static str, u64>,
}

#[derive(Default)]
struct Times {
    buckets: [u64; BUCKETS.len()],
    sum: f64,
    count: u64,
}

impl Metrics {
    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an answered request.
    pub fn answered(&self, path: &'static str, status: u16, time: Duration) {
        let mut counts = self.counts();
        *counts.requests.entry((path, status)).or_default() += 1;
        let (times, seconds) = (counts.times.entry(path).or_default(), time.as_secs_f64());
        for (count, end) in times.buckets.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= end);
        }
        times.sum += seconds;
        times.count += 1;
    }

    /// Counts graphs in responses.
    pub fn graphs(&self, path: &'static str, model: &str, graphs: usize) {
        *self.counts().graphs.entry((path, model.to_owned())).or_default() += graphs as u64;
    }

    /// Counts a reload of the models, successful or not.
    pub fn reloaded(&self, done: bool) {
        *self.counts().reloads.entry(if done { "done" } else { "failed" }).or_default() += 1;
    }

    /// All metrics as text.
    pub fn text(&self, waiting: usize) -> String {
        let counts = self.counts();
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, lines: &dyn Fn(&mut String)| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            lines(&mut text);
        };
        family("stepwell_requests_total", "counter", "Requests answered.", &|text| {
            for ((path, status), count) in &counts.requests {
                let _ =
                    writeln!(text, "stepwell_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}");
            }
        });
        let help = "Seconds from a request's head to its response.";
        family("stepwell_request_seconds", "histogram", help, &|text| {
            for (path, Times { buckets, sum, count }) in &counts.times {
                for (bucket, end) in buckets.iter().zip(BUCKETS) {
                    let _ = writeln!(
                        text,
                        "stepwell_request_seconds_bucket{{path=\"{path}\",le=\"{end}\"}} {bucket}"
                    );
                }
                let _ = writeln!(
                    text,
                    "stepwell_request_seconds_bucket{{path=\"{path}\",le=\"+Inf\"}} {count}\n\
                     stepwell_request_seconds_sum{{path=\"{path}\"}} {sum}\n\
                     stepwell_request_seconds_count{{path=\"{path}\"}} {count}"
                );
            }
        });
        family("stepwell_graphs_total", "counter", "Graphs answered.", &|text| {
            for ((path, model), count) in &counts.graphs {
                let _ = writeln!(text, "stepwell_graphs_total{{path=\"{path}\",model=\"{model}\"}} {count}");
            }
        });
        family("stepwell_reloads_total", "counter", "Reloads of the models.", &|text| {
            for (result, count) in &counts.reloads {
                let _ = writeln!(text, "stepwell_reloads_total{{result=\"{result}\"}} {count}");
            }
        });
        let numbers: [(&str, &str, &str, u64); 5] = [
            ("stepwell_connections", "gauge", "Open connections.", load(&self.connections)),
            ("stepwell_requests_in_flight", "gauge", "Requests being answered.", load(&self.in_flight)),
            ("stepwell_requests_waiting", "gauge", "Requests in the queue.", waiting as u64),
            ("stepwell_batches_total", "counter", "Batches processed.", load(&self.batches)),
            (
                "stepwell_batched_requests_total",
                "counter",
                "Requests processed in batches.",
                load(&self.batched),
            ),
        ];
        for (name, kind, help, number) in numbers {
            family(name, kind, help, &|text| {
                let _ = writeln!(text, "{name} {number}");
            });
        }
        text
    }
}

fn load(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}
