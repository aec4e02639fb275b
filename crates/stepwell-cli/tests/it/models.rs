//! Training, saving and predicting.

use std::fs;

use super::{Folder, failure, json, output, stepwell};

#[test]
fn a_saved_model_predicts_what_it_learnt() {
    let folder = Folder::new();
    let model = folder.at("model.safetensors");
    for pool in ["none", "graclus", "ndp"] {
        let options = ["--spectral-radius", "0.5", "--pool", pool];
        let train = ["train", "b-easy-small", "--part", "train", "-m", &model, "--json"];
        let report = json(&[&train[..], &options].concat());
        assert_eq!(report["classes"].as_array().unwrap().len(), 3);
        assert!(report["training_accuracy"].as_f64().unwrap() > 0.8, "{report}");

        let test = ["b-easy-small", "--part", "test", "-m", &model];
        let summary = json(&[&["predict"], &test[..], &["--json"]].concat());
        assert!(summary["accuracy"].as_f64().unwrap() > 0.5, "three classes: {summary}");
        let table = output(&[&["predict"], &test[..]].concat());
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "id,prediction,score_0,score_1,score_2");
        assert_eq!(lines.len() as u64 - 1, summary["graphs"].as_u64().unwrap());
        for line in &lines[1..] {
            let fields: Vec<&str> = line.split(',').collect();
            let scores: Vec<f64> = fields[2..].iter().map(|score| score.parse().unwrap()).collect();
            let best = (0..3).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
            assert_eq!(fields[1], best.to_string(), "the highest score wins: {line}");
        }
        let again = output(&[&["predict"], &test[..], &["--threads", "1"]].concat());
        assert_eq!(again, table, "the same on any number of threads");
    }
}

#[test]
fn numbers_are_predicted_as_numbers() {
    let folder = Folder::new();
    let rows: Vec<String> = (3..30)
        .map(|n| {
            let (from, to): (Vec<u32>, Vec<u32>) = (0..n - 1).map(|v| (v, v + 1)).unzip();
            format!("{{\"id\":\"p{n}\",\"num_nodes\":{n},\"src\":{from:?},\"dst\":{to:?},\"y\":{n}}}")
        })
        .collect();
    let (data, model) = (folder.at("paths.jsonl"), folder.at("model.safetensors"));
    fs::write(&data, rows.join("\n")).unwrap();
    let deeper = folder.at("new/folder/model.safetensors");
    let made = stepwell().args(["train", &data, "-m", &deeper, "--regression"]).assert().success();
    let notes = String::from_utf8(made.get_output().stderr.clone()).unwrap();
    assert!(notes.contains(&format!("note: created the folder {}", folder.at("new/folder"))), "{notes}");
    let report = json(&["train", &data, "-m", &model, "--regression", "--json"]);
    assert!(report["converged"].is_null(), "the preset has fixed sweeps: {report}");
    assert!(report["training_r2"].as_f64().unwrap() > 0.99, "{report}");
    let table = output(&["predict", &data, "-m", &model]);
    assert_eq!(table.lines().next(), Some("id,prediction"));
    let last: Vec<&str> = table.lines().last().unwrap().split(',').collect();
    assert_eq!(last[0], "p29");
    assert!((last[1].parse::<f64>().unwrap() - 29.0).abs() < 1.0, "{last:?}");
}

#[test]
fn a_graph_that_does_not_fit_is_named_or_skipped() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name);
    let row = |x: &str, y: u8| {
        format!("{{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"x\":{x},\"x_dim\":1,\"y\":{y}}}\n")
    };
    let train: String = (0..8).map(|n| row(&format!("[{n},{}]", n + 1), u8::from(n > 3))).collect();
    fs::write(at("train.jsonl"), train).unwrap();
    stepwell().args(["train", &at("train.jsonl"), "-m", &at("m.safetensors")]).assert().success();
    let wide = "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"x\":[1,2,3,4],\"x_dim\":2,\"y\":1}\n";
    fs::write(at("new.jsonl"), format!("{}{wide}{}", row("[0,1]", 0), row("[7,8]", 1))).unwrap();

    let predict = ["predict", &at("new.jsonl"), "-m", &at("m.safetensors")];
    let refusal = failure(&predict, 1);
    assert!(refusal.contains("new.jsonl, line 2: expected 1 numbers per vertex in 'x'"), "{refusal}");
    let done = stepwell().args(predict).arg("--skip-bad").assert().success();
    let table = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    let ids: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(ids, ["0", "2"], "rows keep their place");
    let words = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(words.contains("skipped 1 row that is broken or does not fit"), "{words}");
    let summary = json(&[&predict[..], &["--skip-bad", "--json"]].concat());
    assert_eq!((summary["graphs"].as_u64(), summary["skipped"].as_u64()), (Some(2), Some(1)));
}

#[test]
fn a_graph_that_fails_later_is_named_or_skipped_too() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name);
    let row = |x: f64| {
        format!(
            "{{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"x\":[{x:e},1],\"x_dim\":1,\"y\":{}}}\n",
            u8::from(x > 3.0)
        )
    };
    fs::write(at("train.jsonl"), (0..8).map(|n| row(f64::from(n))).collect::<String>()).unwrap();
    stepwell().args(["train", &at("train.jsonl"), "-m", &at("m.safetensors")]).assert().success();
    // Too large for 32 bits, which only the embedding detects.
    fs::write(at("new.jsonl"), [1.0, 1e300, 2.0, 1e301, 5.0].map(row).concat()).unwrap();
    let predict = ["predict", &at("new.jsonl"), "-m", &at("m.safetensors")];
    let refusal = failure(&predict, 1);
    assert!(
        refusal.contains("graph '1' of new") && refusal.contains("too large for precision f32"),
        "{refusal}"
    );
    let table = output(&[&predict[..], &["--skip-bad"]].concat());
    let ids: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(ids, ["0", "2", "4"]);
}

#[test]
fn poolings_tell_what_happened_in_every_command() {
    let done = stepwell().args(["embed", "star:50", "--pool", "ndp", "--delta", "5"]).assert().success();
    let words = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(words.contains("note: 1 coarse graph lost all its edges"), "{words}");
    let refusal = failure(&["embed", "path:5", "--input-scaling", "1e300"], 1);
    assert!(refusal.contains("precision: expected f64 (f32 cannot hold the weights)"), "{refusal}");
}

#[test]
fn what_is_no_model_is_told() {
    let folder = Folder::new();
    let (model, other) = (folder.at("m.safetensors"), folder.at("other.safetensors"));
    stepwell().args(["train", "b-easy-small", "-m", &model, "--units", "5"]).assert().success();
    let bytes = fs::read(&model).unwrap();
    fs::write(&other, &bytes[..bytes.len() - 9]).unwrap();
    let refusal = failure(&["predict", "b-easy-small", "-m", &other], 1);
    assert!(refusal.contains("other.safetensors: not a safetensors file"), "{refusal}");
    let refusal = failure(&["train", "ring:6", "-m", &other], 1);
    assert!(refusal.contains("no graph has a target ('y') to learn from"), "{refusal}");
    assert_eq!(fs::read(&other).unwrap().len(), bytes.len() - 9, "a failure leaves files alone");
    let refusal = failure(&["train", "b-easy-small", "-m", &other, "--alpha=-1"], 2);
    assert!(refusal.contains("alpha"), "{refusal}");
}

#[test]
fn new_graphs_are_embedded_at_the_scale_of_a_saved_model() {
    let folder = Folder::new();
    let (all, model) = (folder.at("all.jsonl"), folder.at("m.safetensors"));
    stepwell().args(["convert", "b-easy-small", &all]).assert().success();
    let text: String = fs::read_to_string(&all)
        .unwrap()
        .lines()
        .map(|line| {
            // Without attributes, vertices get their degree, scaled as in the whole file.
            let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
            ["x", "x_dim", "pos"].iter().for_each(|key| drop(row.as_object_mut().unwrap().remove(*key)));
            format!("{row}\n")
        })
        .collect();
    fs::write(&all, &text).unwrap();
    let few = folder.at("few.jsonl");
    fs::write(&few, text.lines().take(3).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    stepwell().args(["train", &all, "-m", &model, "--units", "4"]).assert().success();
    let of = |file: &str| {
        output(&["embed", file, "-m", &model]).lines().take(4).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(of(&few), of(&all));
    let own = output(&["embed", &few, "--units", "4"]);
    assert_ne!(own.lines().nth(1), of(&all).get(1).map(String::as_str), "a scale of its own");
}
