//! Tests the program from outside, as a user or a script runs it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod commands;
mod corpus;
mod devices;
#[cfg(unix)]
mod hardening;
mod manners;
mod models;
mod molecules;
mod notes;
mod pictures;
mod pooling;
mod readme;
mod runs;
mod serve;
mod streams;
mod targets;
mod vertices;

use std::path::PathBuf;
use std::sync::LazyLock;

use assert_cmd::Command;

/// The program, without access to datasets of this machine or the network.
fn stepwell() -> Command {
    let mut command = Command::cargo_bin("stepwell").unwrap();
    // A new cache for every test run, so that pyramids of an older program are not found.
    static CACHE: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cache");
        let _ = std::fs::remove_dir_all(&folder);
        folder
    });
    command.env_remove("STEPWELL_DATA").env("STEPWELL_CACHE", CACHE.as_path());
    command.env("STEPWELL_URL", "http://127.0.0.1:1");
    command
}

/// Its standard output; it must succeed.
fn output(arguments: &[&str]) -> String {
    let done = stepwell().args(arguments).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

/// Its standard error when it fails with this code.
fn failure(arguments: &[&str], code: i32) -> String {
    let done = stepwell().args(arguments).assert().code(code);
    assert!(done.get_output().stdout.is_empty(), "a failure prints no data");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

/// Its output as JSON.
fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&output(arguments)).unwrap()
}

/// A temporary folder for one test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}
