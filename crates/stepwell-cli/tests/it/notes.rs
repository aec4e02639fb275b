//! Notes about results and options that surprise, and counts of folds beside means.

use std::fs;

use serde_json::Value;

use super::{Folder, failure, output, stepwell};

/// The JSON output of a command, and its notes.
fn noted(arguments: &[&str]) -> (Value, String) {
    let done = stepwell().args(arguments).assert().success().get_output().clone();
    (serde_json::from_slice(&done.stdout).unwrap_or_default(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn an_evaluation_says_that_graphs_did_not_converge() {
    let small = ["--preset", "paper", "--units", "6", "--folds", "2", "--inits", "1", "--json"];
    let evaluate = |more: &[&str]| noted(&[&["evaluate", "b-easy-small"][..], &small, more].concat());
    for more in [&["--spectral-radius", "5"][..], &["--spectral-radius", "5", "--configs", "2"]] {
        let (found, notes) = evaluate(more);
        let share = found["converged"].as_f64().unwrap();
        assert!(share < 1.0, "{found}");
        let folds = found["folds"].as_array().unwrap();
        let mean = folds.iter().map(|fold| fold["converged"].as_f64().unwrap()).sum::<f64>() / 2.0;
        assert!((mean - share).abs() < 1e-12);
        let told = format!(
            "note: {:.1} % of the graphs did not converge in 50 sweeps; raise",
            100.0 * (1.0 - share)
        );
        assert!(notes.contains(&told), "{notes}");
    }
    let (found, notes) = evaluate(&["--spectral-radius", "0.3"]);
    assert_eq!(found["converged"].as_f64(), Some(1.0));
    assert!(!notes.contains("did not converge"), "{notes}");
    let (found, _) = evaluate(&["--fixed-sweeps", "3"]);
    assert!(found["converged"].is_null() && found["folds"][0].get("converged").is_none(), "{found}");
}

#[test]
fn an_evaluation_shows_what_leave_one_out_chose() {
    let folder = Folder::new();
    let out = folder.at("run");
    let small = ["evaluate", "b-easy-small", "--units", "6", "--folds", "3", "--inits", "1"];
    let found = super::json(&[&small[..], &["--json", "--out", &out]].concat());
    for fold in found["folds"].as_array().unwrap() {
        let chosen = fold["chosen"].as_object().unwrap();
        assert!(!chosen.is_empty());
        for (option, value) in chosen {
            // Records omit some defaults.
            assert!(fold["config"].get(option).is_none_or(|found| found == value), "{option}");
        }
    }
    let told = "Chosen by leave-one-out: ";
    let text = output(&[&small[..], &["--out", &out]].concat());
    assert!(text.contains(told) && text.contains("folds)"), "{text}");
    let page = fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(page.contains("accurate, none, 3 blocks: chosen by leave-one-out: "), "{page}");
    let text = output(&[&small[..], &["--choose", "none"]].concat());
    assert!(!text.contains(told), "{text}");

    // Records of older versions have neither choices nor convergence, and are read and resumed.
    let path = format!("{out}/records/run.jsonl");
    let records = fs::read_to_string(&path).unwrap();
    let old = records.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line.split_once(' ').unwrap().1).unwrap();
        let fields = record.as_object_mut().unwrap();
        fields.retain(|name, _| name != "chosen" && name != "converged");
        record.to_string()
    });
    let old: Vec<String> = old.collect();
    let sealed = |text: &String| {
        use sha2::Digest as _;
        let sum: String =
            sha2::Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("{sum} {text}\n")
    };
    fs::write(&path, old[..old.len() - 1].iter().map(sealed).collect::<String>()).unwrap();
    let resumed = super::json(&[&small[..], &["--json", "--out", &out]].concat());
    let mean = |found: &Value| found["value_mean"].as_f64().unwrap();
    assert!((mean(&resumed) - mean(&found)).abs() < 1e-12);
    let with_choices =
        resumed["folds"].as_array().unwrap().iter().filter(|fold| fold.get("chosen").is_some());
    assert_eq!(with_choices.count(), 1, "only the fold that was evaluated again");
}

#[test]
fn a_pooling_without_effect_is_noted() {
    let told = "note: --pool has no effect unless --blocks is 2 or more";
    let folder = Folder::new();
    let model = folder.at("m.safetensors");
    let pooled = ["--preset", "paper", "--pool", "ndp", "--units", "4"];
    for command in [
        &["evaluate", "b-easy-small", "--folds", "2", "--inits", "1"][..],
        &["train", "b-easy-small", "-m", &model],
        &["embed", "ring:9"],
    ] {
        let (_, notes) = noted(&[command, &pooled, &["--blocks", "1"]].concat());
        assert_eq!(notes.matches(told).count(), 1, "{command:?}: {notes}");
        let (_, notes) = noted(&[command, &pooled, &["--blocks", "2"]].concat());
        assert!(!notes.contains("has no effect"), "{command:?}: {notes}");
    }
    let text = output(
        &[&["evaluate", "b-easy-small", "--folds", "2", "--inits", "1", "--blocks", "1"][..], &pooled]
            .concat(),
    );
    assert!(text.contains("pooling ndp, 1 block:"), "{text}");
}

#[test]
fn options_without_effect_are_noted() {
    let folder = Folder::new();
    let model = folder.at("m.safetensors");
    let train = ["train", "b-easy-small", "-m", &model, "--units", "4"];
    let (_, notes) =
        noted(&[&train[..], &["--tol", "1e-3", "--landmarks", "0", "--kernel", "both"]].concat());
    assert!(notes.contains("note: --tol has no effect unless --fixed-sweeps is none"), "{notes}");
    assert!(notes.contains("note: --kernel has no effect unless --landmarks is above 0"), "{notes}");
    let (_, notes) = noted(&["embed", "ring:9", "--pool", "graclus", "--delta", "0.5", "--density", "0.5"]);
    assert!(notes.contains("note: --delta has no effect unless --pool is ndp"), "{notes}");
    assert!(notes.contains("note: --density has no effect unless --recurrence is sparse"), "{notes}");
    let (_, notes) = noted(&["embed", "ring:9", "--pool", "ndp", "--delta", "0.5", "--tol", "1e-3"]);
    assert!(!notes.contains("has no effect"), "{notes}");
}

#[test]
fn a_file_of_options_may_name_the_preset() {
    let folder = Folder::new();
    let config = folder.at("model.toml");
    let evaluate = |more: &[&str]| {
        let fixed =
            ["evaluate", "b-easy-small", "--folds", "2", "--inits", "1", "--json", "--config", &config];
        super::json(&[&fixed[..], more].concat())
    };
    fs::write(&config, "preset = \"paper\"\nunits = 5\n").unwrap();
    let found = evaluate(&[]);
    assert_eq!((&found["model"], &found["options"]), (&"paper".into(), &serde_json::json!({ "units": 5 })));
    assert_eq!(evaluate(&["--preset", "reference"])["model"], "reference", "the flag wins");
    for (text, told) in [
        ("preset = \"papre\"", "line 1: preset: expected one of "),
        ("preset = 3", "line 1: preset: expected a name, found 3"),
        (
            "units = 5\nconfigs = 3",
            "line 2: unknown option 'configs'; a configuration file holds model options only: pass --configs on the command line",
        ),
        ("no_lift = true", "line 1: unknown option 'no_lift'; write lift = false"),
        ("data_dir = \"x\"", "a configuration file holds model options only: pass --data-dir"),
        ("memory = \"4G\"", "model options only"),
    ] {
        fs::write(&config, text).unwrap();
        let refused = failure(&["embed", "ring:9", "--config", &config], 2);
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn flags_of_the_protocol_are_named() {
    let refused = failure(&["evaluate", "b-easy-small", "--inits", "0"], 2);
    assert!(refused.contains("--inits: expected at least 1, found 0"), "{refused}");
    let refused = failure(&["evaluate", "b-easy-small", "--configs", "99999999", "--inits", "9999"], 2);
    assert!(refused.contains("--configs x --inits: expected at most 1073741824 passes"), "{refused}");
    let refused = failure(&["stats", "complete:40", "--pool", "ndp", "--fill-budget", "3"], 1);
    assert!(
        refused.contains("raise --fill-budget or add --approximate (in Python: fill_budget="),
        "{refused}"
    );
}

#[test]
fn a_mean_over_some_folds_says_so() {
    let folder = Folder::new();
    let path = folder.at("rare.jsonl");
    // One fold of two has only one class among its test graphs.
    let line = |index: usize| {
        let n = 4 + index % 7;
        let (src, dst): (Vec<usize>, Vec<usize>) = (0..n - 1).map(|v| (v, v + 1)).unzip();
        let (class, group) = (if index == 3 { "rare" } else { "common" }, if index < 12 { "a" } else { "b" });
        format!(
            "{{\"num_nodes\": {n}, \"src\": {src:?}, \"dst\": {dst:?}, \"y\": \"{class}\", \"of\": \"{group}\"}}\n"
        )
    };
    fs::write(&path, (0..24).map(line).collect::<String>()).unwrap();
    let fixed = ["evaluate", &path, "--groups", "of", "--folds", "2", "--inits", "1", "--metric", "roc-auc"];
    let fixed = [&fixed[..], &["--preset", "paper", "--units", "4"]].concat();
    let text = output(&fixed);
    assert!(
        text.lines().any(|line| line.contains(": ROC-AUC ") && line.ends_with("% (1 of 2 folds)")),
        "{text}"
    );
    let found = super::json(&[&fixed[..], &["--json"]].concat());
    assert_eq!(found["metrics"]["roc_auc"]["folds"], 1);
    assert!(found["metrics"]["accuracy"].get("folds").is_none(), "both folds have an accuracy");
}

#[test]
fn a_group_larger_than_a_fold_is_noted() {
    let folder = Folder::new();
    let path = folder.at("groups.jsonl");
    let write = |of: fn(usize) -> usize| {
        let line = |index: usize| {
            let (n, ring, group) = (4 + index / 2, index % 2, of(index));
            let (src, dst): (Vec<usize>, Vec<usize>) = (0..n - 1 + ring).map(|v| (v, (v + 1) % n)).unzip();
            format!(
                "{{\"num_nodes\": {n}, \"src\": {src:?}, \"dst\": {dst:?}, \"y\": {ring}, \"of\": \"g{group}\"}}\n"
            )
        };
        fs::write(&path, (0..24).map(line).collect::<String>()).unwrap();
    };
    // Names of values may have underscores, as in Python.
    let run = ["evaluate", &path, "--groups", "of", "--folds", "3", "--inits", "1", "--metric", "roc_auc"];
    let run = [&run[..], &["--preset", "paper", "--units", "4"]].concat();
    write(|index| if index < 14 { 0 } else { index });
    let (_, notes) = noted(&run);
    assert!(output(&run).contains("ROC-AUC"));
    assert!(
        notes.contains("the largest group ('g0') has 14 of 24 graphs, and all of them are in one of 3 folds"),
        "{notes}"
    );
    write(|index| index / 2 % 6);
    let (_, notes) = noted(&run);
    assert!(!notes.contains("largest group"), "{notes}");
}

#[test]
fn a_baseline_within_the_noise_is_not_called_better() {
    // Labels alone tell the classes of b-hard apart no better than chance, so a reservoir that
    // ignores the structure loses to Weisfeiler-Lehman counts by far.
    let weak = ["--preset", "paper", "--units", "1", "--blocks", "1", "--folds", "5", "--inits", "1"];
    let (_, notes) = noted(&[&["evaluate", "b-hard-small", "--baselines"][..], &weak].concat());
    assert!(notes.contains("is better here, by more than two standard errors (accuracy "), "{notes}");
    assert!(notes.contains("; try --structure log-degree,clustering or --preset accurate"), "{notes}");
    // One fold has no standard error.
    let data = Folder::new();
    let path = data.at("one.jsonl");
    let line = |index: usize| {
        let (n, ring) = (4 + index / 2, index % 2);
        let (src, dst): (Vec<usize>, Vec<usize>) = (0..n - 1 + ring).map(|v| (v, (v + 1) % n)).unzip();
        let split = ["train", "train", "test"][index / 2 % 3];
        format!(
            "{{\"num_nodes\": {n}, \"src\": {src:?}, \"dst\": {dst:?}, \"y\": {ring}, \"split\": \"{split}\"}}\n"
        )
    };
    fs::write(&path, (0..36).map(line).collect::<String>()).unwrap();
    let weak = ["--preset", "paper", "--units", "1", "--inits", "1", "--baselines"];
    let (_, notes) = noted(&[&["evaluate", &path][..], &weak].concat());
    assert!(!notes.contains("is better here"), "{notes}");
}

#[test]
fn names_find_files_of_vertices() {
    let folder = Folder::new();
    fs::create_dir(folder.at("nodes")).unwrap();
    fs::write(folder.at("nodes/wisconsin.npz"), "").unwrap();
    let data = folder.at("");
    let listed = output(&["datasets", "--data-dir", &data]);
    let line = listed.lines().find(|line| line.contains("wisconsin")).unwrap();
    assert!(line.ends_with("nodes/wisconsin.npz"), "{line}");
    let refused = failure(&["stats", "wisconsin", "--data-dir", &data, "--offline"], 1);
    assert!(refused.contains("nodes/wisconsin.npz"), "found, but it is no dataset: {refused}");
}
