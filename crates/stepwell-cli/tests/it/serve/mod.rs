//! A service over real HTTP on this machine.

#![cfg(unix)]

mod answers;
mod hostile;
mod life;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;
use stepwell_data::{Dataset, Place, jsonl, parquet};

use super::{Folder, output, stepwell};

/// A running service, which is stopped at the end.
struct Service {
    child: Child,
    address: String,
    /// Lines of its log.
    log: Arc<Mutex<Vec<Value>>>,
    agent: ureq::Agent,
}

/// A response.
struct Reply {
    status: u16,
    headers: ureq::http::HeaderMap,
    body: Vec<u8>,
}

impl Reply {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Lines of JSON.
    fn lines(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.text());
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The reason for a rejection.
    fn error(&self) -> String {
        let found: Value = serde_json::from_slice(&self.body).unwrap();
        found["error"].as_str().unwrap().to_owned()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Service {
    fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("stepwell"));
        command.arg("serve").args(arguments).args(["--threads", "2"]).env_remove("STEPWELL_TOKEN");
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.envs(environment.iter().copied());
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let (sender, address) = mpsc::channel();
        let lines = log.clone();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                if line["event"] == "listening" {
                    let port = line["address"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
                    let _ = sender.send(format!("127.0.0.1:{port}"));
                }
                lines.lock().unwrap().push(line);
            }
        });
        let address = address.recv_timeout(Duration::from_secs(60)).expect("the service starts");
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(120)))
            .build()
            .into();
        Self { child, address, log, agent }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn get(&self, path: &str) -> Reply {
        reply(self.agent.get(self.url(path)).call().unwrap())
    }

    fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.post_as(path, "application/x-ndjson", "*/*", body)
    }

    fn post_as(&self, path: &str, kind: &str, accept: &str, body: impl AsRef<[u8]>) -> Reply {
        let request = self.agent.post(self.url(path)).header("content-type", kind).header("accept", accept);
        reply(request.send(body.as_ref()).unwrap())
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for an event in the log.
    fn wait_for(&self, event: &str) -> Value {
        let start = Instant::now();
        loop {
            let found = self.log.lock().unwrap().iter().rev().find(|line| line["event"] == event).cloned();
            if let Some(found) = found {
                return found;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no '{event}' in the log");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Tells it to stop, and waits until it has.
    fn stop(mut self) {
        self.signal("TERM");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reply(mut response: ureq::http::Response<ureq::Body>) -> Reply {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
    Reply { status, headers, body }
}

/// A trained model, and the graphs it was trained on as JSON lines.
fn trained(folder: &Folder, options: &[&str]) -> (String, String) {
    let model = folder.at("model.safetensors");
    stepwell().args(["train", "b-easy-small", "-q", "-m", &model]).args(options).assert().success();
    (model, output(&["convert", "b-easy-small", "-"]))
}

/// A small model of the default kind.
const SMALL: [&str; 4] = ["--units", "8", "--landmarks", "50"];

/// Graphs in JSON lines as an Arrow stream.
fn arrow_stream(graphs: &str) -> Vec<u8> {
    arrow_stream_with(graphs, |batch| batch)
}

fn arrow_stream_with(
    graphs: &str,
    change: impl FnOnce(arrow_array::RecordBatch) -> arrow_array::RecordBatch,
) -> Vec<u8> {
    let place = Place::file("graphs");
    let dataset = Dataset::collect(jsonl::Reader::new(graphs.as_bytes(), place.clone()), &place).unwrap();
    let batch = change(parquet::to_record_batch(&dataset).unwrap());
    let mut body = Vec::new();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut body, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    body
}
