//! Structured logs: one JSON object per line on standard error.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use chrono::{SecondsFormat, Utc};
use serde::Serialize;
use serde_json::Value;

/// Lines that wait to be written. If the reader is slower than the requests, lines are
/// dropped and their number is logged.
const WAITING: usize = 4096;

/// Writes lines in a thread of its own, so that a slow reader cannot delay requests.
pub(crate) struct Log {
    lines: SyncSender<Message>,
    lost: AtomicU64,
    quiet: bool,
}

/// A log line. The fields people look for first come first.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    level: &'a str,
    event: &'a str,
    #[serde(flatten)]
    fields: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines_lost: Option<u64>,
}

enum Message {
    Line(String),
    /// Answered once everything before it is written.
    Flush(SyncSender<()>),
}

impl Log {
    pub fn new(quiet: bool) -> io::Result<Self> {
        let (lines, receiver) = mpsc::sync_channel(WAITING);
        thread::Builder::new().name("log".into()).spawn(move || write(&receiver))?;
        Ok(Self { lines, lost: AtomicU64::new(0), quiet })
    }

    pub fn info(&self, event: &str, fields: Value) {
        if !self.quiet {
            self.say("info", event, fields);
        }
    }

    pub fn warning(&self, event: &str, fields: Value) {
        self.say("warning", event, fields);
    }

    pub fn error(&self, event: &str, fields: Value) {
        self.say("error", event, fields);
    }

    fn say(&self, level: &str, event: &str, fields: Value) {
        let time = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let line = Line { time, level, event, fields, lines_lost: (lost > 0).then_some(lost) };
        let text = serde_json::to_string(&line).expect("a line is strings and JSON");
        if self.lines.try_send(Message::Line(text)).is_err() {
            self.lost.fetch_add(lost + 1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written.
    pub fn flush(&self) {
        let (done, receiver) = mpsc::sync_channel(1);
        if self.lines.send(Message::Flush(done)).is_ok() {
            let _ = receiver.recv();
        }
    }
}

fn write(messages: &Receiver<Message>) {
    for message in messages {
        match message {
            // Standard error may be closed; requests must be answered all the same.
            Message::Line(line) => drop(writeln!(io::stderr(), "{line}")),
            Message::Flush(done) => drop(done.send(())),
        }
    }
}
