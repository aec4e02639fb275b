//! Evaluations and reproductions that are interrupted, shared, killed or refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use stepwell::rng::Stream;

use super::{Folder, failure, json, output, stepwell};

const SMALL: [&str; 10] =
    ["--preset", "paper", "--configs", "2", "--inits", "1", "--folds", "3", "--units", "6"];

#[test]
fn an_evaluation_goes_on_where_it_was() {
    let folder = Folder::new();
    let out = folder.at("run");
    let small = ["--configs", "3", "--inits", "2", "--folds", "3", "--units", "8"];
    let evaluate = [&["evaluate", "b-easy-small", "--preset", "paper"][..], &small].concat();
    let fresh = json(&[&evaluate[..], &["--json"]].concat());
    assert_eq!(fresh["folds"].as_array().unwrap().len(), 3);
    assert!(fresh["accuracy_mean"].as_f64().unwrap() > 0.6, "{fresh}");
    assert!(fresh["folds"][0]["train_seconds"].as_f64().unwrap() > 0.0);
    let with_records = [&evaluate[..], &["--json", "--out", &out]].concat();
    let first = json(&with_records);
    assert_eq!(first["accuracy_mean"], fresh["accuracy_mean"]);
    let page = fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(page.contains("Evaluation on b-easy-small") && page.contains("stepwell evaluate b-easy-small"));
    // Two lost passes are computed again.
    let path = format!("{out}/records/run.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text.lines().take(5).collect();
    fs::write(&path, kept.join("\n") + "\n").unwrap();
    assert_eq!(json(&with_records)["accuracy_mean"], fresh["accuracy_mean"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let other = failure(&[&with_records[..], &["--blocks", "2", "--leak", "0.5"]].concat(), 1);
    assert!(
        other.contains("b-easy-small none L=2: this run was started with leak = 1.0, not 0.5; use"),
        "{other}"
    );
    // The error names a changed record, and nothing is overwritten.
    let changed = text.replacen("\"configuration\":1", "\"configuration\":2", 1);
    fs::write(&path, &changed).unwrap();
    let refused = failure(&with_records, 1);
    assert!(refused.contains("run.jsonl, line") && refused.contains("its checksum differs"), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), changed);
}

#[test]
fn baselines_and_seeds_stand_beside_the_model() {
    let evaluate = ["evaluate", "b-hard-small", "--json", "--repeats", "2", "--baselines"];
    let found = json(&[&evaluate[..], &SMALL].concat());
    assert_eq!(found["folds"].as_array().unwrap().len(), 6, "three folds for each of two repeats");
    assert_eq!((&found["metric"], &found["value_mean"]), (&"accuracy".into(), &found["accuracy_mean"]));
    assert_eq!(found["metrics"]["accuracy"]["std"], found["accuracy_std"]);
    let baselines = found["baselines"].as_array().unwrap();
    let accuracy = |index: usize| baselines[index]["accuracy_mean"].as_f64().unwrap();
    let names: Vec<&str> = baselines.iter().map(|report| report["model"].as_str().unwrap()).collect();
    assert_eq!(names, ["majority", "features", "degree-profile", "wl", "wl-oa"]);
    // Three classes of 100: by design of the benchmark, only guessing is possible without the
    // structure.
    assert!((accuracy(0) - 1.0 / 3.0).abs() < 0.01, "{}", accuracy(0));
    assert!(accuracy(3) > accuracy(0) + 0.1, "labels and structure together tell the classes");
    let one = json(&["evaluate", "b-hard-small", "--json", "--baseline", "features", "--folds", "3"]);
    assert_eq!(one["model"], "features");
    assert!(failure(&["evaluate", "b-hard-small", "--baseline", "deep"], 2).contains("majority"));
}

/// The records and tables of a run, except those with times.
fn kept(out: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in ["records", "tables"] {
        for entry in fs::read_dir(Path::new(out).join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            // A file that was being written when the program was killed still has a temporary name.
            if !["times", "claims", "."].iter().any(|other| name.starts_with(other)) {
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_model_is_evaluated_as_train_makes_it() {
    let folder = Folder::new();
    let out = folder.at("run");
    let small = ["--folds", "3", "--inits", "2", "--units", "6"];
    let evaluate = [&["evaluate", "b-easy-small", "--json"][..], &small].concat();
    let found = json(&evaluate);
    assert_eq!(
        (&found["model"], &found["pool"], &found["blocks"]),
        (&"accurate".into(), &"none".into(), &3.into())
    );
    assert_eq!(found["features_fitted_on"], "training and validation graphs of each fold");
    let graphs = json(&["stats", "b-easy-small", "--json"])["graphs"].as_u64().unwrap();
    assert_eq!(found["options"], serde_json::json!({ "units": 6 }));
    assert_eq!((&found["initialisations"], &found["on_validation"]), (&2.into(), &false.into()));
    assert_eq!(found["searched"], serde_json::json!([]));
    for sizes in found["sizes"].as_array().unwrap() {
        assert_eq!(sizes.as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).sum::<u64>(), graphs);
    }
    let folds = found["folds"].as_array().unwrap();
    assert_eq!(folds.len(), 3);
    assert!(folds.iter().all(|fold| fold["train_seconds"].as_f64().unwrap() > 0.0));
    assert!(found["accuracy_mean"].as_f64().unwrap() > 0.6, "{found}");

    let kept = json(&[&evaluate[..], &["--out", &out]].concat());
    assert_eq!(kept["accuracy_mean"], found["accuracy_mean"]);
    let again = json(&[&evaluate[..], &["--out", &out]].concat());
    assert_eq!(again["folds"], kept["folds"], "times too: nothing is done twice");
    assert!(output(&["runs", &out]).contains("accurate none"));
    let page = fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(page.contains("b-easy"));

    let accuracies = |found: &serde_json::Value| -> Vec<f64> {
        found["folds"].as_array().unwrap().iter().map(|fold| fold["accuracy"].as_f64().unwrap()).collect()
    };
    for options in
        [&["--on-validation"][..], &["--preset", "paper"], &["--landmarks", "5"], &["--alpha", "1e6"]]
    {
        let other = json(&[&evaluate[..], options].concat());
        assert_ne!(accuracies(&other), accuracies(&found), "{options:?}");
        let fitted_on = match options {
            ["--on-validation"] => "training graphs of each fold",
            _ => "training and validation graphs of each fold",
        };
        assert_eq!(other["features_fitted_on"], fitted_on);
    }
    // Any preset can be searched.
    let searched = json(&[&evaluate[..], &["--configs", "2"]].concat());
    assert_eq!((&searched["model"], &searched["configurations"]), (&"accurate".into(), &2.into()));
    assert_eq!(searched["features_fitted_on"], "all graphs, without labels");
    assert_eq!(
        searched["searched"],
        serde_json::json!(["spectral_radius", "input_scaling", "hidden_scaling"])
    );
    let text = output(&[&["evaluate", "b-easy-small"][..], &small].concat());
    assert!(
        text.contains("b-easy-small, accurate with units 6, pooling none, 3 blocks: accuracy "),
        "{text}"
    );
    assert!(text.contains("Protocol: 3 folds with "), "{text}");
    assert!(text.contains("; 2 draws of the weights; scored on the test graphs."), "{text}");
    let searching = ["evaluate", "b-easy-small", "--on-validation", "--configs", "2"];
    assert!(failure(&searching, 2).contains("--on-validation cannot be combined with --configs"));
}

/// Paths and rings, one per line, with the parts of a split if given.
fn rows(path: &str, classes: &[&str], parts: Option<&[&str]>) {
    let mut text = String::new();
    for (index, class) in classes.iter().enumerate() {
        let (n, is_ring) = (4 + index / 2, index % 2);
        let src: Vec<usize> = (0..n - 1 + is_ring).collect();
        let dst: Vec<usize> = src.iter().map(|v| (v + 1) % n).collect();
        let split = parts.map_or(String::new(), |parts| format!(", \"split\": \"{}\"", parts[index]));
        text += &format!(
            "{{\"num_nodes\": {n}, \"src\": {src:?}, \"dst\": {dst:?}, \"y\": \"{class}\"{split}}}\n"
        );
    }
    fs::write(path, text).unwrap();
}

#[test]
fn a_split_that_data_come_with_is_used_and_told() {
    let folder = Folder::new();
    let path = folder.at("split.jsonl");
    let classes: Vec<&str> = (0..40).map(|index| ["path", "ring"][index % 2]).collect();
    let part = |index: usize| ["train", "train", "train", "test"][index / 2 % 4];
    rows(&path, &classes, Some(&(0..40).map(part).collect::<Vec<_>>()));
    let evaluate = |more: &[&str]| {
        let fixed = ["evaluate", &path, "--json", "--units", "5", "--inits", "1"];
        let done = stepwell().args(fixed).args(more).assert().success().get_output().clone();
        let found: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        (found["folds"].as_array().unwrap().len(), String::from_utf8(done.stderr).unwrap())
    };
    let (folds, told) = evaluate(&[]);
    assert_eq!(folds, 1);
    assert_eq!(
        told.matches("using the dataset's split: 30 train, 10 test (pass --folds").count(),
        1,
        "{told}"
    );
    let (folds, told) = evaluate(&["--folds", "2"]);
    assert!(folds == 2 && !told.contains("the dataset's split"), "{told}");
    // Baselines and searches hold out a validation part of their own.
    assert_eq!(evaluate(&["--configs", "2", "--baselines"]).0, 1);
    let refused = failure(&["evaluate", &path, "--on-validation"], 1);
    assert!(refused.contains("expected validation graphs in every fold"), "{refused}");
}

#[test]
fn folds_need_not_hold_every_class() {
    let folder = Folder::new();
    let path = folder.at("rare.jsonl");
    let classes: Vec<String> = (0..24).map(|index| format!("class {}", index % 9)).collect();
    let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
    rows(&path, &classes, None);
    for more in [&[][..], &["--class-weight", "balanced"], &["--configs", "2"]] {
        let fixed = ["evaluate", &path, "--json", "--units", "5", "--inits", "1"];
        let done = stepwell().args(fixed).args(more).assert().success().get_output().clone();
        let told = String::from_utf8(done.stderr).unwrap();
        assert_eq!(told.matches("9 of 9 classes have fewer than 5 graphs").count(), 1, "{told}");
        let found: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(found["folds"].as_array().unwrap().len(), 5);
        assert!(found["accuracy_mean"].is_number() && found["accuracy_std"].is_number());
    }
}

#[test]
fn threads_and_shards_change_no_byte() {
    let folder = Folder::new();
    let data = folder.at("b-hard.jsonl");
    stepwell().args(["convert", "b-hard-small", &data]).assert().success();
    let reproduce = |out: &str, more: &[&str]| {
        let fixed = ["reproduce", "--datasets", &data, "--tables", "2", "--out", out];
        stepwell().args(fixed).args(SMALL).args(more).assert().success();
    };
    let [one, two, shared] = ["one", "two", "shared"].map(|name| folder.at(name));
    reproduce(&one, &["--threads", "1"]);
    reproduce(&two, &["--threads", "2"]);
    let expected = kept(&one);
    assert_eq!(expected, kept(&two));
    let table = &expected["table2.csv"];
    assert_eq!(table.lines().count(), 5, "{table}");
    assert_eq!(expected["baselines.csv"].lines().count(), 6);
    let times = fs::read_to_string(format!("{one}/tables/times.csv")).unwrap();
    assert_eq!(times.lines().count(), 5, "{times}");
    let page = fs::read_to_string(format!("{one}/report.html")).unwrap();
    assert!(page.contains("<h2 id=\"table2\">") && !page.contains("<h2 id=\"table3\">"));
    assert!(Path::new(&one).join("figures/accuracy-time.svg").is_file());
    assert!(!Path::new(&one).join("figures/embeddings.svg").exists(), "not one of that figure's datasets");

    reproduce(&shared, &["--shard", "0/3"]);
    let cells = json(&["runs", &shared, "--json"]);
    let of_reservoirs = |cell: &&serde_json::Value| cell["model"] == "reservoir";
    let mut some = cells.as_array().unwrap().iter().filter(of_reservoirs);
    assert!(some.all(|cell| cell["done"] == 1 && cell["folds"].as_array().unwrap().is_empty()), "{cells}");
    // The process that finds all passes finished evaluates the winners.
    reproduce(&shared, &["--shard", "1/3"]);
    reproduce(&shared, &["--shard", "2/3"]);
    reproduce(&shared, &[]);
    let found = kept(&shared);
    let tables = |kept: &BTreeMap<String, String>| {
        kept.iter()
            .filter(|(name, _)| !name.starts_with("run"))
            .map(|(n, t)| (n.clone(), t.clone()))
            .collect()
    };
    let (found_tables, expected_tables): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (tables(&found), tables(&expected));
    assert_eq!(found_tables, expected_tables);
    let lines = |kept: &BTreeMap<String, String>| {
        let files = kept.iter().filter(|(name, _)| name.starts_with("run"));
        let mut lines: Vec<String> = files.flat_map(|(_, text)| text.lines().map(String::from)).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&found), lines(&expected));
    assert!(failure(&["reproduce", "--out", &shared, "--shard", "3/2"], 2).contains("I/N with I below N"));
}

#[test]
fn figures_are_drawn_once() {
    let folder = Folder::new();
    let out = folder.at("run");
    let draw = ["reproduce", "--datasets", "b-easy-small", "--tables", "1", "--out", &out];
    stepwell().args(draw).assert().success();
    let figure = |name: &str| Path::new(&out).join("figures").join(name);
    for name in ["benchmark.svg", "embeddings.svg", "bound.svg"] {
        let text = fs::read_to_string(figure(name)).unwrap();
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{name}");
    }
    // An existing figure is kept; an incomplete one is drawn again.
    let bound = fs::read_to_string(figure("bound.svg")).unwrap();
    let mine = fs::read_to_string(figure("embeddings.svg")).unwrap().replacen("</desc>", ", mine</desc>", 1);
    fs::write(figure("embeddings.svg"), &mine).unwrap();
    fs::write(figure("bound.svg"), "<svg ").unwrap();
    stepwell().args(draw).assert().success();
    assert_eq!(fs::read_to_string(figure("embeddings.svg")).unwrap(), mine);
    assert_eq!(fs::read_to_string(figure("bound.svg")).unwrap(), bound);
    assert!(fs::read_to_string(format!("{out}/report.html")).unwrap().contains(", mine</desc>"));
}

#[test]
fn killed_at_any_moment_a_run_loses_nothing() {
    let folder = Folder::new();
    let data = folder.at("b-easy.jsonl");
    stepwell().args(["convert", "b-easy-small", &data]).assert().success();
    let [whole, killed] = ["whole", "killed"].map(|name| folder.at(name));
    let arguments = |out: &str| {
        let fixed = ["reproduce", "--datasets", &data, "--tables", "1,2", "--no-times", "--out", out];
        let small = ["--configs", "12", "--inits", "2", "--folds", "3", "--units", "16"];
        fixed.iter().chain(&small).map(|text| (*text).to_owned()).collect::<Vec<_>>()
    };
    stepwell().args(arguments(&whole)).assert().success();
    let mut stream = Stream::new(1, "moments of death", [0, 0]);
    let mut ended_alive = 0;
    for _ in 0..20 {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("stepwell"));
        command.env_remove("STEPWELL_DATA").env("STEPWELL_URL", "http://127.0.0.1:1");
        command.env("STEPWELL_CACHE", folder.at("cache"));
        let mut child = command.args(arguments(&killed)).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(stream.uniform_in(10.0, 250.0) as u64));
        ended_alive += usize::from(child.try_wait().unwrap().is_some());
        // SIGKILL: the program cannot prepare for it.
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(ended_alive < 10, "most were killed while they worked");
    stepwell().args(arguments(&killed)).assert().success();
    assert_eq!(kept(&killed), kept(&whole));
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let file = folder.at("occupied");
    fs::write(&file, "not a folder").unwrap();
    let refused = failure(&[&["evaluate", "b-easy-small", "--out", &file][..], &SMALL].concat(), 1);
    assert!(refused.contains("occupied"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a folder");
}
