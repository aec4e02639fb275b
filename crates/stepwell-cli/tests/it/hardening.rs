//! Failures that must not happen: mixed outputs, silently lost work, files left behind.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Folder, failure, output, stepwell};

/// Starts the program as a process that can receive signals.
fn started(folder: &Folder, arguments: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("stepwell"));
    command.env_remove("STEPWELL_DATA").env("STEPWELL_CACHE", folder.at("cache"));
    command.args(arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until a file has more than `bytes` bytes. Returns whether that happened before the program
/// ended.
fn grows_beyond(child: &mut Child, path: &str, bytes: u64) -> bool {
    let clock = Instant::now();
    while clock.elapsed() < Duration::from_secs(60) {
        if fs::metadata(path).is_ok_and(|known| known.len() > bytes) {
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Repeated graphs with a split: several seconds of work.
fn with_split(folder: &Folder) -> String {
    let text = output(&["convert", "b-easy-small", "-"]);
    let path = folder.at("split.jsonl");
    fs::write(&path, text.repeat(20)).unwrap();
    path
}

/// Names that begin with the program's temporary prefix.
fn left_over(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.at("")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| name.starts_with(".stepwell-") || name.ends_with(".partial")).collect()
}

#[test]
fn what_was_interrupted_is_resumed_with_the_same_data_and_options_only() {
    let folder = Folder::new();
    let (data, model) = (with_split(&folder), folder.at("m.safetensors"));
    let train = ["train", "b-easy-small", "--preset", "paper", "--units", "6", "-m", &model];
    stepwell().args(train).assert().success();
    let other = folder.at("other.safetensors");
    stepwell()
        .args(["train", "b-easy-small", "--preset", "paper", "--units", "7", "-m", &other])
        .assert()
        .success();
    let (out, whole) = (folder.at("p.csv"), folder.at("whole.csv"));
    let partial = format!("{out}.partial");
    let begun = ["predict", &data, "-m", &model, "--part", "train", "-o", &out, "--resume", "--threads", "1"];
    let mut child = started(&folder, &begun);
    assert!(grows_beyond(&mut child, &partial, 20_000), "it was killed while it worked");
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = fs::read(&partial).unwrap();
    let copy = folder.at("copy.jsonl");
    fs::write(&copy, fs::read_to_string(&data).unwrap().replacen("\"num_nodes\"", " \"num_nodes\"", 1))
        .unwrap();
    for (changed, told) in [
        (vec!["predict", &data, "-m", &model, "--part", "test"], r#"part = "train", not "test""#),
        (vec!["predict", &data, "-m", &model], r#"part = "train", not none"#),
        (vec!["predict", &data, "-m", &model, "--part", "train", "--proba"], "proba = false, not true"),
        (vec!["predict", &data, "-m", &model, "--part", "train", "--skip-bad"], "skip bad = false, not true"),
        (vec!["predict", &data, "-m", &other, "--part", "train"], "units = 6, not 7"),
        (vec!["predict", &copy, "-m", &model, "--part", "train"], "another dataset"),
        (vec!["predict", "b-easy-small", "-m", &model, "--part", "train"], "another dataset"),
        (vec!["embed", &data, "-m", &model], r#"command = "predict", not "embed""#),
    ] {
        let changed = [&changed[..], &["-o", &out, "--resume"]].concat();
        let said = failure(&changed, 1);
        assert!(said.contains(told) && said.contains("--restart"), "{changed:?}: {said}");
        assert_eq!(fs::read(&partial).unwrap(), kept, "nothing is lost");
        assert!(!fs::exists(&out).unwrap());
    }
    stepwell().args(begun).assert().success();
    stepwell().args(["predict", &data, "-m", &model, "--part", "train", "-o", &whole]).assert().success();
    assert_eq!(fs::read(&out).unwrap(), fs::read(&whole).unwrap());
    // With --restart, a different command starts over.
    fs::write(&partial, &kept).unwrap();
    stepwell().args(["predict", &data, "-m", &other, "-o", &out, "--resume", "--restart"]).assert().success();
    stepwell().args(["predict", &data, "-m", &other, "-o", &whole]).assert().success();
    assert_eq!(fs::read(&out).unwrap(), fs::read(&whole).unwrap());
    assert_eq!(left_over(&folder), Vec::<String>::new());
}

/// The same for datasets that are generated or unpacked, and held in memory.
#[test]
fn datasets_that_are_no_files_of_rows_are_told_apart() {
    let folder = Folder::new();
    let (out, partial) = (folder.at("v.csv"), folder.at("v.csv.partial"));
    let begun = ["embed", "b-easy", "-o", &out, "--resume", "--units", "60", "--threads", "1"];
    let mut child = started(&folder, &begun);
    assert!(grows_beyond(&mut child, &partial, 0));
    child.kill().unwrap();
    child.wait().unwrap();
    let changed = [&begun[..], &["--data-seed", "1"]].concat();
    assert!(failure(&changed, 1).contains("another dataset"));
    let changed = [&begun[..], &["--leak", "0.5"]].concat();
    assert!(failure(&changed, 1).contains("leak = 1.0, not 0.5"));
}

#[test]
fn standard_input_is_not_resumed_and_one_process_at_a_time_writes_an_output() {
    let folder = Folder::new();
    let (data, out) = (with_split(&folder), folder.at("v.npy"));
    let said = failure(&["embed", "-", "-o", &out, "--resume"], 2);
    assert!(said.contains("standard input cannot be resumed"), "{said}");
    let arguments = ["embed", &data, "-o", &out, "--resume", "--units", "30", "--threads", "1"];
    let mut first = started(&folder, &arguments);
    assert!(grows_beyond(&mut first, &format!("{out}.partial"), 0));
    let said = failure(&arguments, 1);
    assert!(said.contains("another process is writing this"), "{said}");
    assert!(first.wait().unwrap().success(), "the first was not disturbed");
}

#[test]
fn what_killed_runs_leave_is_gone_after_the_next() {
    let folder = Folder::new();
    let (data, out) = (with_split(&folder), folder.at("v.parquet"));
    for _ in 0..5 {
        let mut child = started(&folder, &["embed", &data, "-o", &out, "--units", "40", "--threads", "1"]);
        while child.try_wait().unwrap().is_none() && left_over(&folder).is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill();
        child.wait().unwrap();
        assert!(!left_over(&folder).is_empty(), "killed while it worked");
    }
    stepwell().args(["embed", &data, "-o", &out, "--units", "4"]).assert().success();
    assert_eq!(left_over(&folder), Vec::<String>::new());
}

#[test]
fn a_limit_on_files_is_an_error_and_leaves_nothing() {
    let folder = Folder::new();
    let (data, out) = (with_split(&folder), folder.at("v.csv"));
    let program = assert_cmd::cargo::cargo_bin("stepwell");
    let script = format!("ulimit -f 64; exec '{}' embed '{data}' -o '{out}' --units 40", program.display());
    let done = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), done.status.signal()), (Some(1), None), "{said}");
    assert!(said.contains("File too large"), "{said}");
    assert_eq!(left_over(&folder), Vec::<String>::new());
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let folder = Folder::new();
    let (data, out) = (with_split(&folder), folder.at("v.csv"));
    let arguments = ["embed", &data, "-o", &out, "--resume", "--units", "30", "--threads", "1"];
    let partial = format!("{out}.partial");
    let program = assert_cmd::cargo::cargo_bin("stepwell");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(program).args(arguments);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    assert!(grows_beyond(&mut child, &partial, 0));
    signal(&child, "HUP");
    assert!(child.wait().unwrap().success(), "as with nohup");
    for name in ["HUP", "INT", "TERM"] {
        let mut child = started(&folder, &arguments);
        assert!(grows_beyond(&mut child, &partial, 0));
        let clock = Instant::now();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
        assert!(clock.elapsed() < Duration::from_millis(500), "{name}: {:?}", clock.elapsed());
        fs::remove_file(&partial).unwrap();
        assert_eq!(left_over(&folder), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_target_that_cannot_be_written_is_noticed_before_the_work() {
    let folder = Folder::new();
    let data = with_split(&folder);
    for target in ["/proc/none/m.safetensors", &folder.at("")] {
        let clock = Instant::now();
        assert!(failure(&["train", &data, "-m", target], 1).starts_with("error: "));
        assert!(clock.elapsed() < Duration::from_secs(2), "{:?}", clock.elapsed());
    }
}

#[test]
fn counts_whose_product_nobody_can_wait_for_are_refused() {
    let said = failure(&["evaluate", "b-easy-small", "--configs", "6148914691236517206", "--inits", "3"], 2);
    assert!(said.contains("6148914691236517206 x 3"), "{said}");
    failure(&["evaluate", "b-easy-small", "--seeds", "18446744073709551615"], 2);
    failure(&["evaluate", "b-easy-small", "--inits", "18446744073709551615"], 2);
    failure(&["evaluate", "b-easy-small", "--folds", "18446744073709551615"], 1);
}

#[test]
fn a_configuration_may_come_through_a_pipe() {
    let program = assert_cmd::cargo::cargo_bin("stepwell");
    let script = format!(
        "'{}' evaluate b-easy-small --preset paper --folds 2 --json --config <(echo 'blocks = 3')",
        program.display()
    );
    let done = Command::new("bash").args(["-c", &script]).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(found["blocks"], 3);
}

#[test]
fn names_do_not_reach_the_terminal_as_commands() {
    let folder = Folder::new();
    let data = folder.at("d.jsonl");
    let line = r#"{"id": "\u001b]0;owned\u0007", "num_nodes": 2, "src": [0], "dst": [1], "weight": [3e38]}"#;
    fs::write(&data, format!("{line}\n{line}\n")).unwrap();
    let model = folder.at("m.safetensors");
    stepwell()
        .args(["train", "b-easy-small", "--preset", "paper", "--units", "6", "-m", &model])
        .assert()
        .success();
    let done = stepwell().args(["predict", &data, "-m", &model, "--skip-bad"]).assert().failure();
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(!said.contains('\u{1b}'), "{said:?}");
}

/// A dataset gives the same vectors in every format it can be converted to.
#[test]
fn vectors_do_not_depend_on_the_format() {
    let folder = Folder::new();
    let first = folder.at("first.jsonl");
    let line = |at: usize| {
        let (a, b) = (at as f64 * 0.37 - 2.0, (at * at) as f64 * 11.0);
        let labels = [at % 3, (at + 1) % 3, 2];
        format!(
            "{{\"num_nodes\": 3, \"src\": [0, 1], \"dst\": [1, 2], \"x\": [{a}, {b}, 1.5, {b}, 0.25, {a}], \"x_dim\": 2, \"node_label\": {labels:?}, \"y\": {}}}\n",
            at % 2
        )
    };
    fs::write(&first, (0..12).map(line).collect::<String>()).unwrap();
    // Ids are positions in every format; a folder and an archive are named after themselves.
    let expected = output(&["embed", &first, "--units", "5", "--precision", "f64"]);
    let mut from = first;
    for name in ["second.parquet", "third.zip", "fourth.jsonl", "fifth", "sixth.parquet"] {
        let to = folder.at(name);
        stepwell().args(["convert", &from, &to]).assert().success();
        assert_eq!(output(&["embed", &to, "--units", "5", "--precision", "f64"]), expected, "{name}");
        from = to;
    }
}

#[test]
fn what_never_ends_and_what_memory_cannot_hold_is_refused() {
    let said = failure(&["predict", "b-easy-small", "-m", "/dev/zero"], 1);
    assert!(said.contains("/dev/zero: its size in bytes"), "{said}");
    let said = failure(&["embed", "b-easy-small", "--config", "/dev/zero"], 2);
    assert!(said.contains("more than 1048576 bytes, too large for a file of options"), "{said}");
    let program = assert_cmd::cargo::cargo_bin("stepwell");
    let script = format!("ulimit -v 6000000; exec '{}' embed b-easy-small --units 32768", program.display());
    let done = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(
        said.contains("the weights of the reservoirs: needs ") && said.contains(" GB of memory"),
        "{said}"
    );
}

#[test]
fn one_memory_budget_governs_readers_and_models() {
    let folder = Folder::new();
    let line = folder.at("line.jsonl");
    let zeros = ",0".repeat(4 << 20);
    let row = format!("{{\"num_nodes\":2,\"src\":[0{zeros}],\"dst\":[1{zeros}]}}\n");
    fs::write(&line, row).unwrap();
    let model = folder.at("sparse.safetensors");
    fs::File::create(&model).unwrap().set_len(1 << 40).unwrap();
    for (arguments, code) in [
        (&["embed", "b-easy-small", "--units", "8192", "--memory", "256M"][..], 2),
        (&["predict", "b-easy-small", "-m", "/dev/zero", "--memory", "64M"], 1),
        (&["predict", "b-easy-small", "-m", &model], 1),
        (&["evaluate", "b-easy-small", "--splits", "/dev/zero", "--memory", "64M"], 1),
        (&["stats", &line, "--memory", "64M"], 1),
        (&["embed", "ring:900000", "--nodes", "--memory", "256M", "-o", &folder.at("s.csv")], 1),
    ] {
        let said = failure(arguments, code);
        assert!(
            said.contains(" of memory, but only ")
                && said.contains(" are left; raise the budget with --memory"),
            "{said}"
        );
    }
    stepwell().args(["stats", &line, "--memory", "1G"]).assert().success();
    // A flag takes precedence over the environment variable.
    let stats = |memory: &str, more: &[&str]| {
        let done =
            stepwell().args(["stats", &line]).args(more).env("STEPWELL_MEMORY", memory).output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    assert_eq!(stats("64M", &[]).0, Some(1));
    assert_eq!(stats("64M", &["--memory", "1G"]).0, Some(0));
    let (code, said) = stats("a lot", &[]);
    assert!(code == Some(1) && said.contains("STEPWELL_MEMORY: expected a size such as 4G"), "{said}");
    let said = failure(&["stats", &line, "--memory", "4X"], 2);
    assert!(said.contains("expected a size such as 4G, 512M or 1.5GB, found '4X'"), "{said}");
}

/// File names are bytes, and not always UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn paths_that_are_no_text_work_everywhere() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;

    let folder = Folder::new();
    let at = |name: &[u8]| -> OsString { Path::new(&folder.at("")).join(OsStr::from_bytes(name)).into() };
    fs::create_dir(at(b"d\xff")).unwrap();
    let plain = folder.at("plain.jsonl");
    let line = |at: usize| {
        let label = [at % 3, (at + 1) % 3, 2];
        format!("{{\"num_nodes\":3,\"src\":[0,1],\"dst\":[1,2],\"node_label\":{label:?},\"y\":{}}}\n", at % 2)
    };
    fs::write(&plain, (0..40).map(line).collect::<String>()).unwrap();
    let run = |arguments: &[&OsStr]| {
        let done = stepwell().args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    };
    let os = OsStr::new;
    fs::write(at(b"d\xff/c\xfe.toml"), "units = 7\n").unwrap();
    let config = at(b"d\xff/c\xfe.toml");
    let expected = run(&[os("embed"), os(&plain), os("--units"), os("7")]);
    for name in [
        &b"d\xff/gr\xfephs.jsonl"[..],
        b"d\xff/gr\xfephs.parquet",
        b"d\xff/gr\xfephs.zip",
        b"d\xff/gr\xfephs",
    ] {
        let data = at(name);
        run(&[os("convert"), os(&plain), &data]);
        assert_eq!(run(&[os("embed"), &data, os("--config"), &config]), expected, "{name:?}");
    }
    let (data, model) = (at(b"d\xff/gr\xfephs.jsonl"), at(b"d\xff/m\xfd.safetensors"));
    let (out, page) = (at(b"d\xff/v\xfc.npy"), at(b"d\xff/run\xfb"));
    run(&[os("embed"), &data, os("--config"), &config, os("-o"), &out, os("--resume")]);
    assert!(fs::metadata(&out).unwrap().len() > 0);
    run(&[os("train"), &data, os("--config"), &config, os("--preset"), os("paper"), os("-m"), &model]);
    let table = at(b"d\xff/p\xfc.csv");
    run(&[os("predict"), &data, os("-m"), &model, os("-o"), &table]);
    assert_eq!(fs::read(&table).unwrap(), run(&[os("predict"), os(&plain), os("-m"), &model]));
    let splits = at(b"d\xff/s\xfa.json");
    fs::write(&splits, r#"[{"test":[0,1,2,3,4,5],"model_selection":[{"train":[6,7,8,9,10,11,12,13,14,15],"validation":[16,17,18,19]}]}]"#).unwrap();
    let mut evaluate = vec![os("evaluate"), data.as_os_str(), os("--config"), config.as_os_str()];
    evaluate.extend([os("--preset"), os("paper"), os("--splits"), splits.as_os_str()]);
    evaluate.extend([os("--out"), page.as_os_str()]);
    run(&evaluate);
    run(&[os("runs"), &page]);
    let said = failure_of(stepwell().arg("embed").arg(at(b"d\xff/n\xf9ne.jsonl")));
    assert!(said.contains("no such file or folder"), "{said}");
}

#[cfg(target_os = "linux")]
fn failure_of(command: &mut assert_cmd::Command) -> String {
    String::from_utf8_lossy(&command.assert().failure().get_output().stderr).into_owned()
}
