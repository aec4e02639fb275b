//! Files larger than memory, standard input, and work that is killed.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use stepwell::rng::Stream;

use super::{Folder, failure, output, stepwell};

/// Many graphs in a file: those of a small dataset again and again.
fn many(folder: &Folder, times: usize) -> String {
    let text = output(&["convert", "b-easy-small", "-"]);
    let path = folder.at("many.jsonl");
    fs::write(&path, text.repeat(times)).unwrap();
    path
}

/// Runs a command, killing it at 20 random moments before it may finish.
fn killed(folder: &Folder, arguments: &[&str]) {
    let mut stream = Stream::new(2, "moments of death", [0, 0]);
    let mut ended_alive = 0;
    for _ in 0..20 {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("stepwell"));
        command.env_remove("STEPWELL_DATA").env("STEPWELL_CACHE", folder.at("cache"));
        let mut child = command.args(arguments).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(stream.uniform_in(10.0, 400.0) as u64));
        ended_alive += usize::from(child.try_wait().unwrap().is_some());
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(ended_alive < 15, "it was killed while it worked");
}

#[test]
fn embedding_goes_on_after_being_killed() {
    let folder = Folder::new();
    let data = many(&folder, 60);
    let model = ["--units", "12", "--threads", "1"];
    for ending in ["parquet", "csv", "npy"] {
        let (whole, again) = (folder.at(&format!("whole.{ending}")), folder.at(&format!("again.{ending}")));
        stepwell().args(["embed", &data, "-o", &whole]).args(model).assert().success();
        let resuming = ["embed", &data, "-o", &again, "--resume", "--units", "12", "--threads", "1"];
        if ending == "parquet" {
            killed(&folder, &resuming);
        }
        stepwell().args(resuming).assert().success();
        assert_eq!(fs::read(&again).unwrap(), fs::read(&whole).unwrap(), "{ending}");
        assert!(!fs::exists(format!("{again}.partial")).unwrap());
    }
}

#[test]
fn what_was_kept_for_something_else_is_not_used() {
    let folder = Folder::new();
    let data = many(&folder, 1);
    let (out, expected) = (folder.at("v.csv"), folder.at("expected.csv"));
    let partial = format!("{out}.partial");
    let embed = |units: &str, more: &[&str]| {
        let fixed = ["embed", &data, "-o", &out, "--units", units];
        stepwell().args(fixed).args(more).assert().success();
    };
    embed("4", &["--resume"]);
    fs::copy(&out, &expected).unwrap();
    // What an ended run with other options has left.
    fs::write(&partial, "0123\nanything").unwrap();
    embed("4", &["--resume"]);
    assert_eq!(fs::read(&out).unwrap(), fs::read(&expected).unwrap());
    assert!(failure(&["embed", &data, "--resume"], 2).contains("--out"));
    let refused = failure(&["embed", &data, "--nodes", "--resume", "-o", &out], 2);
    assert!(refused.contains("--resume goes on with vectors"), "{refused}");
}

#[test]
fn predictions_of_a_stream_are_those_of_a_file() {
    let folder = Folder::new();
    let (data, model) = (many(&folder, 40), folder.at("m.safetensors"));
    stepwell().args(["train", "b-easy-small", "-m", &model, "--units", "6"]).assert().success();
    let text = fs::read_to_string(&data).unwrap();
    for command in [["predict", "-m"], ["embed", "-m"]] {
        let [command, flag] = command;
        let from_file = output(&[command, &data, flag, &model]);
        assert_eq!(from_file.lines().count(), 1 + 40 * 300);
        let piped =
            stepwell().args([command, "-", flag, &model]).write_stdin(text.clone()).assert().success();
        assert_eq!(String::from_utf8(piped.get_output().stdout.clone()).unwrap(), from_file);
    }
    // A bad row on the way is named, or left out.
    let broken = text.replacen("\"num_nodes\"", "\"nodes\"", 1);
    let refused =
        stepwell().args(["predict", "-", "-m", &model]).write_stdin(broken.clone()).assert().code(1);
    let words = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(words.contains("standard input") && words.contains("line 1"), "{words}");
    let skipped =
        stepwell().args(["predict", "-", "-m", &model, "--skip-bad"]).write_stdin(broken).assert().success();
    let lines = String::from_utf8(skipped.get_output().stdout.clone()).unwrap();
    assert_eq!(lines.lines().count(), 40 * 300);

    let out = folder.at("p.parquet");
    let resuming = ["predict", &data, "-m", &model, "-o", &out, "--resume", "--threads", "1"];
    killed(&folder, &resuming);
    stepwell().args(resuming).assert().success();
    let whole = folder.at("whole.parquet");
    stepwell().args(["predict", &data, "-m", &model, "-o", &whole]).assert().success();
    assert_eq!(fs::read(&out).unwrap(), fs::read(&whole).unwrap());
}
