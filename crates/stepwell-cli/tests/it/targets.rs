//! Several targets, named columns, and unknown values.

use std::fs;

use super::{Folder, failure, json, output, stepwell};

/// Rings of growing size, each with additional keys.
fn rings(folder: &Folder, name: &str, more: &[&str]) -> String {
    let line = |(at, more): (usize, &&str)| {
        let n = at + 3;
        let src: Vec<usize> = (0..n).collect();
        let dst: Vec<usize> = (0..n).map(|v| (v + 1) % n).collect();
        format!("{{\"num_nodes\":{n},\"src\":{src:?},\"dst\":{dst:?},{more}}}\n")
    };
    let path = folder.at(name);
    fs::write(&path, more.iter().enumerate().map(line).collect::<String>()).unwrap();
    path
}

#[test]
fn lists_of_targets_go_through_formats() {
    let folder = Folder::new();
    let data = rings(&folder, "d.jsonl", &["\"y\":[0,null]", "\"y\":[1,1]", "\"y\":null"]);
    let stats = json(&["stats", &data, "--json"]);
    assert_eq!((&stats["graphs"], &stats["untargeted"]), (&3.into(), &1.into()));
    assert_eq!(stats["targets"][0], serde_json::json!({"name": "0", "known": 2, "positives": 1}));
    assert_eq!(stats["targets"][1], serde_json::json!({"name": "1", "known": 1, "positives": 1}));
    let text = output(&["stats", &data]);
    assert!(text.contains("positives") && text.contains("no target    1 graph\n"), "{text}");
    let (table, again) = (folder.at("d.parquet"), folder.at("again.jsonl"));
    stepwell().args(["convert", &data, &table]).assert().success();
    stepwell().args(["convert", &table, &again]).assert().success();
    let found = fs::read_to_string(&again).unwrap();
    let written: Vec<&str> = found.lines().map(|line| &line[line.find("\"y\"").unwrap()..]).collect();
    assert_eq!(written, ["\"y\":[0,null]}", "\"y\":[1,1]}", "\"y\":[null,null]}"]);
    let refused = failure(&["convert", &data, &folder.at("d.zip")], 1);
    assert!(
        refused.contains("2 targets per graph; the TU Dortmund layout holds one known target"),
        "{refused}"
    );
    // All graphs are embedded, and a Parquet file holds their targets.
    assert_eq!(output(&["embed", &data, "--units", "2"]).lines().count(), 4);
    let vectors = folder.at("v.parquet");
    stepwell().args(["embed", &data, "--units", "2", "-o", &vectors]).assert().success();
    stepwell().args(["embed", &data, "--units", "2", "--resume", "-o", &vectors]).assert().success();
}

#[test]
fn columns_are_named_on_the_command_line() {
    let folder = Folder::new();
    let more = [
        "\"toxic\":true,\"logP\":1.5,\"kind\":\"a\"",
        "\"toxic\":null,\"logP\":2.5,\"kind\":\"b\"",
        "\"toxic\":false,\"logP\":null,\"kind\":\"a\"",
    ];
    let data = rings(&folder, "d.jsonl", &more);
    let table = folder.at("d.parquet");
    let told = |arguments: &[&str]| {
        let done = stepwell().args(arguments).assert().success();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    told(&["convert", &data, &table, "--target", "toxic,logP"]);
    // The names are in the file.
    for arguments in
        [vec!["stats", &data, "--target", "toxic,logP", "--json"], vec!["stats", &table, "--json"]]
    {
        let targets = &json(&arguments)["targets"];
        assert_eq!((&targets[0]["name"], &targets[0]["known"]), (&"toxic".into(), &2.into()));
        assert_eq!((&targets[1]["name"], &targets[1]["mean"]), (&"logP".into(), &2.0.into()));
        assert_eq!((&targets[1]["std"], &targets[1]["min"]), (&0.5.into(), &1.5.into()));
    }
    let lost = told(&["convert", &table, &folder.at("again.jsonl")]);
    assert!(lost.contains("note: not written: the names of the targets"), "{lost}");
    assert_eq!(json(&["stats", &data, "--target", "kind", "--json"])["classes"], 2);
    let refused = failure(&["stats", &data, "--target", "logp"], 1);
    assert!(refused.contains("expected a key 'logp', found 'logP', 'toxic', 'kind'"), "{refused}");
    let refused = failure(&["stats", &data, "--target", "logP,kind"], 1);
    assert!(
        refused.contains("several targets must be numbers or 0/1, but 'kind' holds 'a'; pass one target"),
        "{refused}"
    );
    let refused = failure(&["stats", "ring:5", "--target", "a"], 1);
    assert!(refused.contains("ring:5: a generated dataset has no named columns"), "{refused}");
    let zip = folder.at("d.zip");
    told(&["convert", "b-easy-small", &zip, "--lossy"]);
    let refused = failure(&["stats", &zip, "--target", "a"], 1);
    assert!(
        refused.contains("targets and groups can be chosen in .jsonl and .parquet files only"),
        "{refused}"
    );
}

#[test]
fn what_is_left_out_is_counted_in_streams_and_parts() {
    let folder = Folder::new();
    let more: Vec<String> = (0..40)
        .map(|at| {
            let split = if at % 4 == 3 { "test" } else { "train" };
            let kind = if at % 5 == 0 { "null".to_owned() } else { format!("\"{}\"", at % 2) };
            format!("\"kind\":{kind},\"split\":\"{split}\"")
        })
        .collect();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let data = rings(&folder, "d.jsonl", &more);
    let table = folder.at("d.parquet");
    let model = folder.at("m.safetensors");
    let notes = |data: &str, more: &[&str], text: &str| {
        let train = ["train", data, "-m", &model, "--target", "kind", "--preset", "paper", "--units", "3"];
        let done = stepwell().args(train).args(more).write_stdin(text.to_owned()).assert().success();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let text = fs::read_to_string(&data).unwrap();
    for (data, text) in [(&*data, ""), ("-", &*text)] {
        let all = notes(data, &[], text);
        assert!(all.contains("note: skipping 8 graphs without a target"), "{all}");
        assert!(all.contains("32 graphs, "), "{all}");
    }
    let part = notes(&data, &["--part", "train"], "");
    assert!(part.contains("note: skipping 6 graphs without a target"), "{part}");
    assert!(part.contains("24 graphs, "), "{part}");
    stepwell().args(["convert", &data, &table, "--target", "kind"]).assert().success();
    let zip = folder.at("d.zip");
    let refused = failure(&["convert", &data, &zip, "--target", "kind", "--lossy"], 1);
    assert!(refused.contains("graphs have no target; the TU Dortmund layout holds one"), "{refused}");
}

/// Rings and paths. The targets: whether a graph is a ring, whether it is large, and its size.
fn shapes(folder: &Folder, name: &str, target: impl Fn(usize, bool) -> String) -> String {
    let line = |at: usize| {
        let (n, ring) = (4 + at % 11, at.is_multiple_of(3));
        let edges = if ring { n } else { n - 1 };
        let src: Vec<usize> = (0..edges).collect();
        let dst: Vec<usize> = (0..edges).map(|v| (v + 1) % n).collect();
        format!("{{\"num_nodes\":{n},\"src\":{src:?},\"dst\":{dst:?},{}}}\n", target(n, ring))
    };
    let path = folder.at(name);
    fs::write(&path, (0..66).map(line).collect::<String>()).unwrap();
    path
}

#[test]
fn several_targets_are_trained_and_predicted_by_name() {
    let folder = Folder::new();
    let bit = |is: bool| u8::from(is);
    let data = shapes(&folder, "d.jsonl", |n, ring| {
        let large = if n == 5 { "null".to_owned() } else { bit(n > 8).to_string() };
        format!("\"ring\":{},\"large\":{large}", bit(ring))
    });
    let model = folder.at("m.safetensors");
    let trained = json(&["train", &data, "--target", "ring,large", "-m", &model, "--units", "8", "--json"]);
    assert_eq!((&trained["metric"], &trained["targets"][1]["name"]), (&"roc-auc".into(), &"large".into()));
    assert_eq!((&trained["targets"][0]["known"], &trained["targets"][1]["known"]), (&66.into(), &60.into()));
    let table =
        output(&["predict", &data, "-m", &model, "--target", "ring,large", "--proba", "--coverage", "0.8"]);
    let header = table.lines().next().unwrap();
    assert_eq!(
        header,
        "id,prediction_ring,score_ring,prediction_large,score_large,probability_ring,probability_large,set_ring,set_large"
    );
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<f64>().unwrap();
        assert_eq!(number(1) == 1.0, number(2) > 0.0, "{line}");
        assert!((0.0..=1.0).contains(&number(5)), "{line}");
    }
    let quality = json(&["predict", &data, "-m", &model, "--target", "ring,large", "--json"]);
    assert!(quality["targets"]["large"]["roc_auc"].as_f64().unwrap() > 0.9, "{quality}");
    let mean = (quality["targets"]["ring"]["roc_auc"].as_f64().unwrap()
        + quality["targets"]["large"]["roc_auc"].as_f64().unwrap())
        / 2.0;
    assert_eq!(quality["metrics"]["roc_auc"].as_f64().unwrap(), mean);
    // A requested recall: at least that share of the rings is found among the training graphs.
    let done = stepwell().args(["predict", &data, "-m", &model, "--recall", "0.9"]).assert().success();
    let notes = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(
        notes.contains("ring: class 1 if decision value ≥ ")
            && notes.contains("large: class 1 if decision value ≥ "),
        "{notes}"
    );
    // Numbers instead of 0 and 1, with intervals.
    let numbers = folder.at("n.safetensors");
    stepwell()
        .args(["train", &data, "--target", "ring,large", "--regression", "-m", &numbers, "--units", "8"])
        .assert()
        .success();
    let table = output(&["predict", &data, "-m", &numbers, "--coverage", "0.8"]);
    assert!(
        table.starts_with(
            "id,prediction_ring,prediction_large,lower_ring,upper_ring,lower_large,upper_large\n"
        ),
        "{table}"
    );
    let refused = failure(&["predict", &data, "-m", &numbers, "--proba"], 2);
    assert!(
        refused.contains("probabilities: expected a classifier, found a regression; use intervals instead"),
        "{refused}"
    );
}

#[test]
fn targets_that_nothing_can_be_learnt_of_are_named() {
    let folder = Folder::new();
    let model = folder.at("m.safetensors");
    let refused = |target: &str, names: &str| {
        let data =
            shapes(&folder, "bad.jsonl", |_, ring| target.replace("RING", &u8::from(ring).to_string()));
        failure(&["train", &data, "--target", names, "-m", &model, "--units", "4"], 1)
    };
    let found = refused("\"a\":RING,\"b\":null", "a,b");
    assert!(found.contains("target 'b': expected values to learn from, found none"), "{found}");
    let found = refused("\"a\":RING,\"b\":1", "a,b");
    assert!(found.contains("target 'b': expected both 0 and 1 among its values, found only 1"), "{found}");
    let found = refused("\"a\":1", "a");
    assert!(found.contains("classes: expected at least 2, found 1"), "{found}");
    let found = refused("\"a\":1e999,\"b\":1", "a,b");
    assert!(found.contains("bad.jsonl"), "{found}");
    assert!(!std::path::Path::new(&model).exists());
    // Three graphs or constant numbers still give a model.
    let few = rings(&folder, "few.jsonl", &["\"y\":0", "\"y\":1", "\"y\":1"]);
    stepwell().args(["train", &few, "-m", &model, "--units", "4"]).assert().success();
    stepwell().args(["predict", &few, "-m", &model, "--proba", "--coverage", "0.5"]).assert().success();
    let flat = rings(&folder, "flat.jsonl", &["\"y\":2.5", "\"y\":2.5", "\"y\":2.5"]);
    stepwell().args(["train", &flat, "-m", &model, "--units", "4"]).assert().success();
    let table = output(&["predict", &flat, "-m", &model]);
    assert!(table.lines().skip(1).all(|line| line.ends_with(",2.5")), "{table}");
}

/// Paths and rings in groups of four; the targets say which is which, and some are unknown.
fn paths_and_rings(folder: &Folder) -> String {
    let line = |at: usize| {
        let (n, is_ring) = (4 + at / 2 % 9, at % 2);
        let src: Vec<usize> = (0..n - 1 + is_ring).collect();
        let dst: Vec<usize> = src.iter().map(|v| (v + 1) % n).collect();
        let known = |value: usize, by: usize| if at % by == 1 { "null".into() } else { value.to_string() };
        let (ring, path, size) = (known(is_ring, 5), known(1 - is_ring, 7), known(n, 6));
        format!(
            "{{\"num_nodes\":{n},\"src\":{src:?},\"dst\":{dst:?},\"ring\":{ring},\"path\":{path},\"size\":{size},\"plate\":{}}}\n",
            at / 4
        )
    };
    let path = folder.at("plates.jsonl");
    fs::write(&path, (0..72).map(line).collect::<String>()).unwrap();
    path
}

#[test]
fn several_targets_are_evaluated() {
    let folder = Folder::new();
    let (data, out) = (paths_and_rings(&folder), folder.at("run"));
    let small = ["--folds", "3", "--inits", "2", "--units", "6", "--groups", "plate"];
    let evaluate = [&["evaluate", &data, "--target", "ring,path", "--baselines"][..], &small].concat();
    let kept = [&evaluate[..], &["--out", &out]].concat();
    let found = json(&[&kept[..], &["--json"]].concat());
    assert_eq!((&found["metric"], &found["std_over"]), (&"roc-auc".into(), &"folds".into()));
    assert_eq!(found["value_mean"], found["metrics"]["roc_auc"]["mean"]);
    let area = |target: &str| found["targets"][target]["roc_auc"]["mean"].as_f64().unwrap();
    assert!(area("ring") > 0.9 && area("path") > 0.9, "an edge more tells them: {found}");
    assert!(found["metrics"]["log_loss"]["mean"].is_number());
    let baselines = found["baselines"].as_array().unwrap();
    assert_eq!(baselines[0]["value_mean"], 0.5, "the majority ranks nothing");
    assert!(baselines.iter().all(|simple| simple["metrics"].get("log_loss").is_none()));
    assert_eq!(found["folds"][0]["per_target"].as_array().unwrap().len(), 2);
    let text = output(&kept);
    assert!(text.contains("ROC-AUC (%)") && text.contains("ring") && text.contains("majority"), "{text}");
    let page = fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(page.contains(">ROC</h3>") && page.contains(">Calibration</h3>"));
    assert!(output(&["runs", &out]).contains("ROC-AUC (%)"));
    let many = ["evaluate", &data, "--target", "ring,path", "--groups", "plate", "--folds", "19"];
    let refused = failure(&many, 1);
    assert!(refused.contains("expected 2 to 18 folds for 18 groups, found 19"), "{refused}");
}

#[test]
fn the_headline_is_named() {
    let folder = Folder::new();
    let data = paths_and_rings(&folder);
    let evaluate = |more: &[&str]| {
        let fixed = ["evaluate", &data, "--folds", "3", "--inits", "1", "--units", "6"];
        [&fixed[..], more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |more: &[&str]| {
        let arguments = evaluate(more);
        output(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let text = run(&["--target", "ring", "--metric", "brier"]);
    assert!(text.lines().next().unwrap().trim_start().starts_with("fold  Brier score"), "{text}");
    let text = run(&["--target", "size", "--regression", "--metric", "mae"]);
    assert!(text.contains(": MAE "), "{text}");
    let arguments = evaluate(&["--target", "size", "--regression", "--metric", "roc-auc"]);
    let refused = failure(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    assert!(refused.contains("expected one of rmse, mae, r2, found roc-auc"), "{refused}");
    // A single split has no folds to spread over.
    let one =
        json(&["evaluate", "b-easy-small", "--preset", "paper", "--units", "5", "--inits", "2", "--json"]);
    assert_eq!((&one["std_over"], one["folds"].as_array().unwrap().len()), (&"draws".into(), 1));
    assert_eq!(one["value_std"], one["folds"][0]["std"]["accuracy"]);
}

#[test]
fn predictions_are_scored_by_the_names_of_targets() {
    let folder = Folder::new();
    let bit = |is: bool| u8::from(is);
    let data = shapes(&folder, "d.jsonl", |n, ring| {
        format!("\"ring\":{},\"large\":{},\"other\":{}", bit(ring), bit(n > 8), bit(n % 2 == 0))
    });
    let model = folder.at("m.safetensors");
    json(&["train", &data, "--target", "ring,large", "-m", &model, "--units", "8", "--json"]);
    let scored = |target: &str| json(&["predict", &data, "-m", &model, "--target", target, "--json"]);
    let (straight, swapped) = (scored("ring,large"), scored("large,ring"));
    assert_eq!(straight["metrics"], swapped["metrics"]);
    assert_eq!(straight["targets"], swapped["targets"]);
    let asked = ["predict", &data, "-m", &model, "--target", "other,large", "--json"];
    let done = stepwell().args(asked).assert().success();
    let told = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(told.contains("note: d has no target named ring: metrics do not cover it"), "{told}");
    let some: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!(some["targets"]["large"], straight["targets"]["large"]);
    assert_eq!(some["targets"]["ring"], serde_json::json!({}));
}

/// One graph alone has the rare target. For some graphs, the sample does not contain it.
#[test]
fn a_target_of_one_graph_hides_no_choice() {
    let folder = Folder::new();
    let path = folder.at("rare.jsonl");
    let line = |at: usize, rare: usize| {
        let n = 5 + at % 9;
        let (mut src, mut dst): (Vec<usize>, Vec<usize>) = (0..n).map(|v| (v, (v + 1) % n)).unzip();
        src.push(at % n);
        dst.push((at + 2 + at % 2) % n);
        // The digits of the number: no two graphs are equal.
        let labels: Vec<usize> = (0..n).map(|v| (at >> (2 * v)) % 4).collect();
        format!(
            "{{\"num_nodes\":{n},\"src\":{src:?},\"dst\":{dst:?},\"node_label\":{labels:?},\"common\":{},\"rare\":{}}}\n",
            at % 2,
            u8::from(at == rare)
        )
    };
    let model = folder.at("m.safetensors");
    let train =
        ["train", &path, "--target", "common,rare", "-m", &model, "--units", "5", "--landmarks", "60"];
    let mut without = 0;
    for rare in 0..8 {
        fs::write(&path, (0..1500).map(|at| line(at, rare)).collect::<String>()).unwrap();
        let done = stepwell().args(train).args(["--choose", "wl-weight", "--json"]).assert().success();
        let trained: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
        assert_eq!(trained["choices"][0]["option"], "wl_weight", "{trained}");
        let candidates = trained["choices"][0]["candidates"].as_array().unwrap();
        assert!(candidates.len() > 1 && candidates[1]["explained"].is_f64(), "{trained}");
        let told = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        without += usize::from(told.contains("options are chosen without target 'rare'"));
    }
    assert!((1..8).contains(&without), "{without}");
}

#[test]
fn every_one_of_several_targets_is_explained() {
    let folder = Folder::new();
    for numbers in [false, true] {
        let data = shapes(&folder, "d.jsonl", |n, ring| {
            let large = if numbers { n as f64 / 4.0 } else { f64::from(u8::from(n > 8)) };
            format!("\"ring\":{},\"large\":{large}", u8::from(ring))
        });
        let model = folder.at("m.safetensors");
        json(&["train", &data, "--target", "ring,large", "-m", &model, "--units", "8", "--json"]);
        let explain = ["explain", &data, "--target", "large,ring", "--graph", "2", "-m", &model];
        let predicted = json(&["predict", &data, "--target", "ring,large", "-m", &model, "--json"]);
        assert_eq!(predicted["graphs"], 66);
        let of = |class: &str| json(&[&explain[..], &["--class", class, "--json"]].concat());
        let (ring, large) = (of("ring"), of("large"));
        assert_eq!((&ring["target"], &large["target"]), (&"ring".into(), &"large".into()));
        assert_ne!(ring["decision"], large["decision"]);
        assert_eq!(of("1"), large, "by position");
        let told = stepwell().args(explain).assert().success();
        let (out, notes) = (told.get_output().stdout.clone(), told.get_output().stderr.clone());
        let (out, notes) = (String::from_utf8(out).unwrap(), String::from_utf8(notes).unwrap());
        assert!(notes.contains("explaining target ring, the first of 2; --class names another"), "{notes}");
        // Graph 2 is a path of six vertices.
        assert!(out.contains("target ring: predicted") && out.contains("known to be 0\n"), "{out}");
        let refused = failure(&[&explain[..], &["--class", "c"]].concat(), 2);
        assert!(refused.contains("--class: expected one of ring, large, found 'c'"), "{refused}");
    }
}

#[test]
fn a_search_says_that_it_chooses_nothing_else() {
    let search =
        ["evaluate", "b-easy-small", "--configs", "1", "--inits", "1", "--folds", "2", "--units", "3"];
    let done =
        stepwell().args(search).args(["--landmarks", "20", "--stacks", "1", "--json"]).assert().success();
    let told = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(told.contains("with --configs, leave-one-out chooses no options: structure"), "{told}");
    let found: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let config = found["folds"][0]["config"].as_object().unwrap();
    assert!(config.contains_key("structure") && !config.contains_key("choose"), "{config:?}");
}

/// Standard error of a command that succeeds.
fn told(arguments: &[&str]) -> String {
    let done = stepwell().args(arguments).assert().success();
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

/// Names of the targets in a list, from the metadata of a Parquet file, are as good as columns.
#[test]
fn named_targets_of_a_converted_file_can_be_chosen() {
    let folder = Folder::new();
    let bit = |is: bool| u8::from(is);
    let data = shapes(&folder, "d.jsonl", |n, ring| {
        let large = if n == 5 { "null".to_owned() } else { bit(n > 8).to_string() };
        format!("\"ring\":{},\"large\":{large},\"size\":{n},\"plate\":\"p{}\"", bit(ring), n % 3)
    });
    let table = folder.at("d.parquet");
    let names = "ring,large,size";
    stepwell().args(["convert", &data, &table, "--target", names, "--groups", "plate"]).assert().success();
    let model = folder.at("m.safetensors");
    // One target: the same model as from its own column.
    let train = |path: &str, target: &str| {
        let trained = told(&["train", path, "--target", target, "-m", &model, "--units", "8"]);
        (fs::read(&model).unwrap(), trained)
    };
    for target in ["ring", "large"] {
        let ((one, said), (other, _)) = (train(&table, target), train(&data, target));
        assert_eq!(one, other, "{target}");
        assert_eq!(said.contains("skipping 6 graphs without a target"), target == "large", "{said}");
        assert!(!said.contains("ignored"), "the column of groups is known: {said}");
    }
    assert_eq!(train(&table, "large,ring").0, train(&data, "large,ring").0, "in another order");
    let predicted = json(&["predict", &table, "-m", &model, "--target", "large,ring", "--json"]);
    assert!(predicted["targets"]["large"]["roc_auc"].as_f64().unwrap() > 0.9, "{predicted}");
    let refused = failure(&["train", &table, "--target", "large,rings", "-m", &model], 1);
    assert!(refused.contains("expected a column 'rings', found 'ring'"), "{refused}");
    assert!(refused.contains("'large', 'size'"), "{refused}");
    // Groups are a column.
    let run = ["evaluate", &table, "--target", "ring", "--units", "4", "--folds", "3", "--groups", "plate"];
    stepwell().args(run).assert().success();
    let again = folder.at("again.jsonl");
    stepwell().args(["convert", &table, &again, "--groups", "plate"]).assert().success();
    assert!(fs::read_to_string(&again).unwrap().lines().next().unwrap().contains(",\"plate\":\"p"));
    let refused =
        failure(&["convert", &table, &folder.at("d.zip"), "--groups", "plate", "--target", "ring"], 1);
    assert!(refused.contains("groups"), "{refused}");
}

#[test]
fn classes_with_gaps_can_be_converted() {
    let folder = Folder::new();
    let more = ["\"y\":\"a\"", "\"y\":null", "\"y\":\"b\"", "\"y\":\"a\""];
    let data = rings(&folder, "d.jsonl", &more);
    let (table, again) = (folder.at("d.parquet"), folder.at("again.jsonl"));
    stepwell().args(["convert", &data, &table]).assert().success();
    stepwell().args(["convert", &table, &again]).assert().success();
    let found = fs::read_to_string(&again).unwrap();
    let written: Vec<&str> = found.lines().map(|line| &line[line.find("\"y\"").unwrap()..]).collect();
    assert_eq!(written, more.map(|more| format!("{more}}}")));
    let model = folder.at("m.safetensors");
    let said = told(&["train", &table, "-m", &model, "--units", "4"]);
    assert!(said.contains("skipping one graph without a target"), "{said}");
}

/// A single target has the columns of two classes, also if it is stored as a list with gaps.
#[test]
fn one_target_has_the_same_columns_with_and_without_gaps() {
    let folder = Folder::new();
    let model = folder.at("m.safetensors");
    let header = |target: &dyn Fn(usize, bool) -> String| {
        let data = shapes(&folder, "d.jsonl", target);
        stepwell().args(["train", &data, "-m", &model, "--units", "8"]).assert().success();
        let table = output(&["predict", &data, "-m", &model, "--proba", "--coverage", "0.9"]);
        table.lines().next().unwrap().to_owned()
    };
    let whole = header(&|_, ring| format!("\"y\":{}", u8::from(ring)));
    assert_eq!(whole, "id,prediction,probability_0,probability_1,set,score_0,score_1");
    let gap = |n: usize, ring: bool| if n == 5 { "null".to_owned() } else { u8::from(ring).to_string() };
    assert_eq!(header(&|n, ring| format!("\"y\":{}", gap(n, ring))), whole);
    assert_eq!(header(&|n, ring| format!("\"y\":[{}]", gap(n, ring))), whole);
}

#[test]
fn a_graph_without_vertices_has_no_prediction() {
    let folder = Folder::new();
    let model = folder.at("m.safetensors");
    let new = folder.at("new.jsonl");
    let ring = "{\"id\":\"ring\",\"num_nodes\":3,\"src\":[0,1,2],\"dst\":[1,2,0]}\n";
    fs::write(&new, format!("{{\"id\":\"none\",\"num_nodes\":0,\"src\":[],\"dst\":[]}}\n{ring}")).unwrap();
    for (y, cells) in [("\"y\":RING", ",,,,,,"), ("\"y\":[RING,RING]", ",,,,,,,,"), ("\"y\":SIZE.5", ",,,")] {
        let data = shapes(&folder, "d.jsonl", |n, ring| {
            y.replace("RING", &u8::from(ring).to_string()).replace("SIZE", &n.to_string())
        });
        stepwell().args(["train", &data, "-m", &model, "--units", "8"]).assert().success();
        let proba: &[&str] = if y.contains("SIZE") { &[] } else { &["--proba"] };
        let arguments = [&["predict", &new, "-m", &model, "--coverage", "0.9"], proba].concat();
        let table = output(&arguments);
        let rows: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(rows[0], format!("none{cells}"), "{table}");
        assert!(!rows[1].contains(",,"), "{table}");
        let said = told(&arguments);
        assert!(said.contains("note: one graph has no vertices: its prediction is blank"), "{said}");
        let out = folder.at("out.parquet");
        stepwell().args([&arguments[..], &["-o", &out]].concat()).assert().success();
        stepwell().args([&arguments[..], &["-o", &out, "--resume"]].concat()).assert().success();
    }
}

/// Accuracy, balanced accuracy and macro F1 by their definitions, over all classes that occur.
fn of_predicted(pairs: &[(String, String)]) -> [f64; 3] {
    let count = |is: &dyn Fn(&(String, String)) -> bool| pairs.iter().filter(|pair| is(pair)).count() as f64;
    let mut classes: Vec<&String> = pairs.iter().flat_map(|(truth, said)| [truth, said]).collect();
    classes.sort();
    classes.dedup();
    let (mut recalls, mut f1) = (Vec::new(), Vec::new());
    for class in classes {
        let right = count(&|(truth, said)| truth == class && said == class);
        let (actual, predicted) = (count(&|pair| pair.0 == *class), count(&|pair| pair.1 == *class));
        if actual > 0.0 {
            recalls.push(right / actual);
        }
        f1.push(2.0 * right / (actual + predicted));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    [count(&|(truth, said)| truth == said) / pairs.len() as f64, mean(&recalls), mean(&f1)]
}

#[test]
fn graphs_of_unknown_classes_are_wrong_predictions() {
    let folder = Folder::new();
    for names in [&["path", "ring"][..], &["path", "ring", "small"]] {
        let class = |n: usize, ring: bool| match n {
            5 if names.len() > 2 => "small",
            _ => names[usize::from(ring)],
        };
        let data = shapes(&folder, "d.jsonl", |n, ring| format!("\"y\":\"{}\"", class(n, ring)));
        let model = folder.at("m.safetensors");
        stepwell().args(["train", &data, "-m", &model, "--units", "8"]).assert().success();
        let known = json(&["predict", &data, "-m", &model, "--json"]);

        // The same graphs, some of two other classes, and one without vertices.
        let lines = fs::read_to_string(&data).unwrap();
        let other = |(at, line): (usize, &str)| match at % 7 {
            3 => line.replace(&format!("\"y\":\"{}", names[0]), "\"y\":\"star"),
            5 => line.replace("\"y\":\"ring", "\"y\":\"tree"),
            _ => line.to_owned(),
        };
        let mut lines: Vec<String> = lines.lines().enumerate().map(other).collect();
        let some = folder.at("some.jsonl");
        let write = |lines: &[String]| fs::write(&some, lines.join("\n") + "\n").unwrap();
        write(&lines);
        let asked = ["predict", &some, "-m", &model, "--json"];
        let table = output(&asked[..4]);
        let truth = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap()["y"].clone();
        let said = table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned());
        let pairs: Vec<(String, String)> =
            lines.iter().map(|line| truth(line).as_str().unwrap().to_owned()).zip(said).collect();
        let found = json(&asked);
        let strange = pairs.iter().filter(|(truth, _)| ["star", "tree"].contains(&truth.as_str())).count();
        assert!(strange > 3 && strange < pairs.len() / 2, "{pairs:?}");
        for (name, expected) in
            ["accuracy", "balanced_accuracy", "macro_f1"].into_iter().zip(of_predicted(&pairs))
        {
            let found = found["metrics"][name].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-12, "{name}: {found}, not {expected}");
        }
        assert!(found["metrics"]["roc_auc"].is_number() && known["metrics"]["roc_auc"].is_number());
        let note = format!(
            "note: {strange} graphs have a class unknown to the model (known: {}): accuracy, balanced accuracy and macro F1 count them as wrong; the other metrics ignore them",
            names.join(", ")
        );
        assert!(told(&asked).contains(&note), "{}", told(&asked));

        // All of them: there is an accuracy nevertheless. A graph without vertices does not count.
        lines.iter_mut().for_each(|line| *line = line.replace("\"y\":\"", "\"y\":\"new "));
        lines.push("{\"num_nodes\":0,\"src\":[],\"dst\":[],\"y\":\"none\"}".to_owned());
        write(&lines);
        let found = json(&asked);
        for name in ["accuracy", "balanced_accuracy", "macro_f1"] {
            assert_eq!(found["metrics"][name], 0.0, "{found}");
        }
        assert_eq!(
            (&found["accuracy"], &found["metrics"]["roc_auc"]),
            (&0.0.into(), &serde_json::Value::Null)
        );
        let said = told(&asked);
        assert!(said.contains(&format!("note: {} graphs have a class unknown", lines.len() - 1)), "{said}");
        assert!(said.contains("accuracy 0.0 %, balanced accuracy 0.0 %"), "{said}");
    }
}

#[test]
fn either_class_can_be_found() {
    let folder = Folder::new();
    let data =
        shapes(&folder, "d.jsonl", |_, ring| format!("\"y\":\"{}\"", ["path", "ring"][usize::from(ring)]));
    let model = folder.at("m.safetensors");
    stepwell().args(["train", &data, "-m", &model, "--units", "8"]).assert().success();
    for (class, sign) in [("path", "≤"), ("ring", "≥")] {
        let arguments = ["predict", &data, "-m", &model, "--recall", "1", "--class", class];
        let said = told(&arguments);
        assert!(said.contains(&format!("class {class} if decision value {sign} ")), "{said}");
        // Trained on the same graphs, the model finds all of the class.
        let truth = |row: usize| if row.is_multiple_of(3) { "ring" } else { "path" };
        let table = output(&arguments);
        for (row, line) in table.lines().skip(1).enumerate().filter(|(row, _)| truth(*row) == class) {
            assert_eq!(line.split(',').nth(1), Some(class), "{row}: {line}");
        }
    }
    let refused = failure(&["predict", &data, "-m", &model, "--recall", "1", "--class", "star"], 2);
    assert!(refused.contains("class: expected one of path, ring, found 'star'"), "{refused}");
    let refused = failure(&["predict", &data, "-m", &model, "--class", "ring"], 2);
    assert!(refused.contains("--precision or --recall"), "{refused}");
}

#[test]
fn many_classes_of_integers_may_be_numbers() {
    let folder = Folder::new();
    let model = folder.at("m.safetensors");
    let note = "if these integers are numbers, pass --regression";
    let data = rings(
        &folder,
        "d.jsonl",
        &(0..12)
            .map(|y| format!("\"y\":{y}"))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
    let said = told(&["train", &data, "-m", &model, "--units", "4"]);
    assert!(
        said.contains(&format!("targets are 12 classes with 1.0 graphs each on average; {note}")),
        "{said}"
    );
    assert!(!told(&["train", &data, "-m", &model, "--units", "4", "--regression"]).contains(note));
    let two = shapes(&folder, "two.jsonl", |_, ring| format!("\"y\":{}", u8::from(ring)));
    assert!(!told(&["train", &two, "-m", &model, "--units", "4"]).contains(note));
}

/// A rare class: sets that cover all graphs on average miss it, and a note says so.
#[test]
fn sets_can_cover_every_class() {
    let folder = Folder::new();
    let at = std::cell::Cell::new(0);
    // One graph in twelve is active, whatever its shape.
    let data = shapes(&folder, "d.jsonl", |_, _| {
        at.set(at.get() + 1);
        format!("\"y\":\"{}\"", if at.get() % 12 == 0 { "active" } else { "inactive" })
    });
    let model = folder.at("m.safetensors");
    stepwell().args(["train", &data, "-m", &model, "--units", "8"]).assert().success();
    let arguments = ["predict", &data, "-m", &model, "--coverage", "0.8"];
    let said = told(&arguments);
    assert!(
        said.contains("but for only 0 % of the graphs of class active (leave-one-out); --per-class"),
        "{said}"
    );
    let every = output(&[&arguments[..], &["--per-class"]].concat());
    let active = every.lines().skip(1).filter(|line| line.contains("\"\"active\"\""));
    assert!(active.count() > 10, "sets of 80 % contain the class:\n{every}");
    assert!(!told(&[&arguments[..], &["--per-class"]].concat()).contains("note: sets"));
    // Five graphs are too few for 90 %: every set contains the class.
    let all = output(&["predict", &data, "-m", &model, "--coverage", "0.9", "--per-class"]);
    assert!(all.lines().skip(1).all(|line| line.contains("\"\"active\"\"")), "{all}");
    failure(&["predict", &data, "-m", &model, "--per-class"], 2);
}
