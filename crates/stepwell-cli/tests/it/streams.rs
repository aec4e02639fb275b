//! Files larger than memory, standard input, and interrupted work.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use stepwell::rng::Stream;

use super::{Folder, failure, output, stepwell};

/// Many graphs in a file: a small dataset, repeated.
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
fn what_cannot_be_resumed_is_refused() {
    let folder = Folder::new();
    let (data, out) = (many(&folder, 1), folder.at("v.csv"));
    fs::write(format!("{out}.partial"), "0123\nanything").unwrap();
    let said = failure(&["embed", &data, "-o", &out, "--resume"], 1);
    assert!(said.contains("another version of Stepwell") && said.contains("--restart"), "{said}");
    stepwell().args(["embed", &data, "-o", &out, "--resume", "--restart"]).assert().success();
    assert!(failure(&["embed", &data, "--resume"], 2).contains("--out"));
    let refused = failure(&["embed", &data, "--nodes", "--resume", "-o", &out], 2);
    assert!(refused.contains("--resume cannot be combined with --nodes"), "{refused}");
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
    // A bad row is named, or skipped.
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

#[test]
fn a_slow_producer_gets_each_answer_at_once() {
    let folder = Folder::new();
    let (data, model) = (many(&folder, 1), folder.at("m.safetensors"));
    stepwell().args(["train", "b-easy-small", "-m", &model, "--units", "6"]).assert().success();
    let text = fs::read_to_string(&data).unwrap();
    for command in ["predict", "embed"] {
        let expected = output(&[command, &data, "-m", &model]);
        let mut expected = expected.lines();
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("stepwell"))
            .args([command, "-", "-m", &model])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        // Each line is written only after the response to the previous one; one line comes in two
        // parts.
        for (index, line) in text.lines().take(20).enumerate() {
            let (first, second) = line.split_at(if index % 2 == 0 { line.len() } else { line.len() / 2 });
            input.write_all(first.as_bytes()).unwrap();
            input.flush().unwrap();
            std::thread::sleep(Duration::from_millis(if second.is_empty() { 0 } else { 20 }));
            input.write_all(format!("{second}\n").as_bytes()).unwrap();
            if index == 0 {
                assert_eq!(answers.next().as_deref(), expected.next(), "the names of the columns");
            }
            assert_eq!(answers.next().as_deref(), expected.next(), "{command}, line {index}");
        }
        drop(input);
        assert_eq!(answers.next(), None);
        assert!(child.wait().unwrap().success());
    }
}

/// Paths and rings as JSON lines, each with the keys that `more` returns.
fn lines(folder: &Folder, name: &str, count: usize, more: impl Fn(usize) -> String) -> String {
    let line = |at: usize| {
        let n = 4 + at % 5;
        let ends = if at.is_multiple_of(2) { n } else { n - 1 };
        let src: Vec<usize> = (0..ends).collect();
        let dst: Vec<usize> = (0..ends).map(|v| (v + 1) % n).collect();
        format!("{{\"num_nodes\": {n}, \"src\": {src:?}, \"dst\": {dst:?}{}}}\n", more(at))
    };
    let path = folder.at(name);
    fs::write(&path, (0..count).map(line).collect::<String>()).unwrap();
    path
}

#[test]
fn graphs_without_a_target_are_embedded_and_predicted() {
    let folder = Folder::new();
    let class = |at: usize| if at.is_multiple_of(2) { "ring" } else { "path" };
    let known = lines(&folder, "known.jsonl", 30, |at| format!(", \"y\": \"{}\"", class(at)));
    let some = lines(&folder, "some.jsonl", 30, |at| match at {
        7 | 8 => String::new(),
        _ => format!(", \"y\": \"{}\"", class(at)),
    });
    let model = folder.at("m.safetensors");
    stepwell().args(["train", &known, "-m", &model, "--units", "9"]).assert().success();
    let told = |arguments: &[&str]| {
        let done = stepwell().args(arguments).assert().success();
        let (out, notes) = (done.get_output().stdout.clone(), done.get_output().stderr.clone());
        (String::from_utf8(out).unwrap(), String::from_utf8(notes).unwrap())
    };
    let (all, judged) = told(&["predict", &known, "-m", &model]);
    assert!(judged.contains("accuracy 100.0 %"), "{judged}");
    let (same, unjudged) = told(&["predict", &some, "-m", &model]);
    assert_eq!(same, all);
    assert!(unjudged.contains("metrics cover 28 graphs; 2 have no target"), "{unjudged}");
    assert_eq!(told(&["embed", &some]).0, told(&["embed", &known]).0);
    let (a, b) = (folder.at("a.parquet"), folder.at("b.parquet"));
    let (_, unwritten) = told(&["embed", &some, "-o", &a]);
    assert!(unwritten.contains("targets not written: some graphs have no target"), "{unwritten}");
    told(&["embed", &known, "-o", &b]);
    assert!(fs::metadata(&a).unwrap().len() < fs::metadata(&b).unwrap().len(), "there is no column y");
    // A row that cannot be used does not count as one without a target.
    let bad = folder.at("bad.jsonl");
    let text = fs::read_to_string(&known).unwrap();
    let (first, rest) = text.split_at(text.match_indices('\n').nth(4).unwrap().0 + 1);
    let broken = "{\"num_nodes\": 2, \"src\": [0], \"dst\": [9]}\n";
    fs::write(&bad, [first, broken, rest].concat()).unwrap();
    let (_, judged_too) = told(&["predict", &bad, "-m", &model, "--skip-bad"]);
    // Notes name a few of the rows, JSON names all.
    let rows = [first, &broken.repeat(5), rest].concat();
    fs::write(&bad, &rows).unwrap();
    let predict = ["predict", &bad, "-m", &model, "--skip-bad"];
    let (_, notes) = told(&predict);
    assert_eq!(notes.matches("skipped: ").count(), 3, "{notes}");
    assert!(
        notes.contains("skipped 5 rows that are broken or do not fit the model; --json lists them"),
        "{notes}"
    );
    let summary = super::json(&[&predict[..], &["--json"]].concat());
    let listed: Vec<&str> =
        summary["skipped_rows"].as_array().unwrap().iter().map(|row| row.as_str().unwrap()).collect();
    assert_eq!((summary["skipped"].as_u64(), listed.len()), (Some(5), 5));
    assert!(listed[4].contains("line 10: edge 0 joins vertex 9"), "{listed:?}");
    let share = |notes: &str| notes.lines().find(|line| line.contains("accuracy")).map(str::to_owned);
    assert_eq!(share(&judged_too), share(&judged), "{judged_too}");
    let (_, trained) = told(&["train", &some, "-m", &model, "--units", "9"]);
    assert_eq!(trained.matches("note: skipping 2 graphs without a target").count(), 1, "{trained}");
    assert!(trained.contains("28 graphs, "), "{trained}");
    let (_, evaluated) = told(&["evaluate", &some, "--folds", "2", "--units", "3", "--preset", "paper"]);
    assert_eq!(evaluated.matches("skipping 2 graphs without a target").count(), 1, "{evaluated}");
    stepwell().args(["convert", &some, &a]).assert().success();
    let refused = failure(&["coarsen", &some, "--pool", "graclus", "-o", &a], 1);
    assert!(refused.contains("line 8: expected a string in 'y'"), "{refused}");
    assert!(refused.contains("give every row a class"), "{refused}");
    let summary = super::json(&["stats", &some, "--json"]);
    assert_eq!((&summary["graphs"], &summary["classes"]), (&30.into(), &2.into()));
    assert_eq!(summary["untargeted"], 2);
    assert!(told(&["stats", &some]).0.contains("no target    2 graphs"));
    let none = lines(&folder, "none.jsonl", 4, |_| String::new());
    assert!(failure(&["train", &none, "-m", &model], 1).contains("no graph has a target ('y')"));
    assert!(failure(&["evaluate", &none], 1).contains("no graph has a target ('y')"));

    // Rows with a part but no target, and a part without rows.
    let parts = lines(&folder, "parts.jsonl", 4, |_| ",\"split\":\"train\"".into());
    let refused = failure(&["train", &parts, "--part", "train", "-m", &model], 1);
    assert!(refused.contains("no graph has a target ('y')"), "{refused}");
    let trained = lines(&folder, "trained.jsonl", 4, |at| format!(",\"split\":\"train\",\"y\":{}", at % 2));
    for data in [&parts, &trained] {
        let refused = failure(&["train", data, "--part", "validation", "-m", &model], 1);
        assert!(refused.contains("no row is in part validation"), "{refused}");
    }
    let refused = failure(&["train", &some, "--part", "train", "-m", &model], 1);
    assert!(refused.contains("the dataset has no split"), "{refused}");
}

#[test]
fn real_numbers_that_look_like_classes_are_told_of() {
    let folder = Folder::new();
    let model = folder.at("m.safetensors");
    let notes = |data: &str, more: &[&str]| {
        let done = stepwell().args(["train", data, "-m", &model]).args(more).assert().success();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let whole = lines(&folder, "whole.jsonl", 30, |at| format!(", \"y\": {}.0", at % 3));
    assert!(notes(&whole, &[]).contains("'y' has 3 distinct integer values stored as floats"));
    assert!(!notes(&whole, &["--regression"]).contains("all whole"));
    let real = lines(&folder, "real.jsonl", 30, |at| format!(", \"y\": {}.5", at % 3));
    assert!(!notes(&real, &[]).contains("all whole"));
}

#[test]
fn a_split_that_is_not_used_is_told_of() {
    let folder = Folder::new();
    let model = folder.at("m.safetensors");
    let notes = |more: &[&str]| {
        let train = ["train", "b-easy-small", "-m", &model, "--preset", "paper", "--units", "5"];
        let done = stepwell().args(train).args(more).assert().success();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    assert!(notes(&[]).contains("trained on all parts of the dataset's split"));
    assert!(!notes(&["--part", "train"]).contains("all parts"));
}

#[test]
fn a_dataset_is_never_written_over_by_what_is_made_of_it() {
    let folder = Folder::new();
    let data = folder.at("d.parquet");
    stepwell().args(["convert", "b-easy-small", &data]).assert().success();
    let before = fs::read(&data).unwrap();
    let model = folder.at("m.safetensors");
    stepwell().args(["train", &data, "-m", &model, "--units", "5"]).assert().success();
    let around = folder.at("./d.parquet");
    for command in [
        vec!["embed", &data, "-o", &around],
        vec!["predict", &data, "-m", &model, "-o", &around],
        vec!["convert", &data, &around],
    ] {
        assert!(failure(&command, 2).contains("this file is the dataset"), "{command:?}");
    }
    assert_eq!(fs::read(&data).unwrap(), before);
}

#[test]
fn graphs_may_be_called_by_numbers_and_have_no_vertices() {
    let folder = Folder::new();
    let data = folder.at("d.jsonl");
    let graph = |id: i64, n: usize, x: &str, dim: usize| {
        format!(
            "{{\"id\": {id}, \"num_nodes\": {n}, \"src\": [], \"dst\": [], \"x\": {x}, \"x_dim\": {dim}}}\n"
        )
    };
    let text = [graph(7, 0, "[]", 0), graph(-3, 2, "[1, 2, 3, 4]", 2), graph(9, 0, "[]", 5)].concat();
    fs::write(&data, &text).unwrap();
    let rows = output(&["embed", &data, "--units", "2"]);
    let ids: Vec<&str> = rows.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(ids, ["7", "-3", "9"]);
    assert!(rows.contains("\n9,0,0\n") || rows.ends_with("9,0,0\n"), "{rows}");
    let summary = super::json(&["stats", &data, "--json"]);
    assert_eq!((&summary["empty"], &summary["attributes"]), (&2.into(), &2.into()));
    // The same in Parquet, where all must have one width.
    let parquet = folder.at("d.parquet");
    stepwell().args(["convert", &data, &parquet]).assert().success();
    assert_eq!(output(&["embed", &parquet, "--units", "2"]), rows);
    let wider = text + &graph(10, 1, "[1]", 1);
    fs::write(&data, wider).unwrap();
    assert!(failure(&["stats", &data], 1).contains("line 4: expected 2 numbers per vertex in 'x'"));
}

#[test]
fn a_mistyped_file_is_not_looked_for_elsewhere() {
    let told = failure(&["stats", "mine.pq"], 1);
    assert!(told.contains("mine.pq: no such file, and not the name of a dataset"), "{told}");
}
