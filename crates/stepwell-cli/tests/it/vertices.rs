//! Predictions for vertices.

use std::fs;

use super::{Folder, failure, json, output, stepwell};

/// Wheels of growing size with hubs, rims and handles as classes; every fifth vertex has an unknown
/// class.
fn wheels(folder: &Folder, name: &str, graphs: usize, split: bool) -> String {
    let mut text = String::new();
    for graph in 0..graphs {
        let rim = 6 + graph % 5;
        let n = 2 * rim + 1;
        let (mut src, mut dst) = (Vec::new(), Vec::new());
        for v in 1..=rim {
            src.extend([0, v, v]);
            dst.extend([v, 1 + v % rim, v + rim]);
        }
        let class = |v: usize| {
            if v == 0 {
                "hub"
            } else if v <= rim {
                "rim"
            } else {
                "handle"
            }
        };
        let y = |v: usize| if v % 5 == 4 { "null".to_owned() } else { format!("\"{}\"", class(v)) };
        let list = |what: &dyn Fn(usize) -> String| (0..n).map(what).collect::<Vec<_>>().join(",");
        let part = |v: usize| format!("\"{}\"", ["train", "train", "test"][(v + graph) % 3]);
        let more = if split { format!(",\"node_split\":[{}]", list(&part)) } else { String::new() };
        text += &format!(
            "{{\"id\":\"w{graph}\",\"num_nodes\":{n},\"src\":{src:?},\"dst\":{dst:?},\"node_y\":[{}]{more}}}\n",
            list(&y)
        );
    }
    let path = folder.at(name);
    fs::write(&path, text).unwrap();
    path
}

const SMALL: [&str; 4] = ["--level", "vertex", "--units", "20"];

#[test]
fn vertices_are_trained_and_predicted() {
    let folder = Folder::new();
    let data = wheels(&folder, "w.jsonl", 12, true);
    let model = folder.at("m.safetensors");
    let mut train = vec!["train", &data, "-m", &model, "--part", "train", "--json"];
    train.extend(SMALL);
    let report = json(&train);
    assert_eq!(report["classes"], serde_json::json!(["handle", "hub", "rim"]));
    assert!(report["vertices"].as_u64().unwrap() > 80 && report["leave_one_out"].as_f64().unwrap() > 0.9);
    let table = output(&["predict", &data, "-m", &model, "--proba"]);
    let mut lines = table.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("graph,vertex,prediction,probability_handle,probability_hub"), "{header}");
    assert!(header.ends_with("score_handle,score_hub,score_rim"), "{header}");
    let first = lines.next().unwrap();
    assert!(first.starts_with("w0,0,hub,"), "{first}");
    // --part selects vertices only, and they are scored.
    let tested = json(&["predict", &data, "-m", &model, "--part", "test", "--json"]);
    let all = json(&["predict", &data, "-m", &model, "--json"]);
    assert!(tested["vertices"].as_u64().unwrap() * 2 < all["vertices"].as_u64().unwrap());
    assert!(tested["accuracy"].as_f64().unwrap() > 0.9, "{tested}");
    // The same from a Parquet file, to the last digit.
    let (rows, written) = (folder.at("w.parquet"), folder.at("p.parquet"));
    stepwell().args(["convert", &data, &rows]).assert().success();
    assert_eq!(output(&["predict", &rows, "-m", &model, "--proba"]), table);
    stepwell().args(["predict", &rows, "-m", &model, "-o", &written]).assert().success();
    let refused = failure(&["embed", &data, "-m", &model], 2);
    assert!(refused.contains("this model embeds vertices, not graphs"), "{refused}");
    assert!(output(&["embed", &data, "-m", &model, "--nodes"]).starts_with("graph,block,vertex"));
    let refused = failure(&["convert", &data, &folder.at("w.zip")], 1);
    assert!(refused.contains("targets and parts of vertices"), "{refused}");
}

#[test]
fn vertices_are_evaluated_by_masks_and_folds() {
    let folder = Folder::new();
    let evaluate = |data: &str, more: &[&str]| {
        let mut arguments = vec!["evaluate", data, "--inits", "1", "--json"];
        arguments.extend(SMALL);
        arguments.extend(more);
        json(&arguments)
    };
    let masks = evaluate(&wheels(&folder, "m.jsonl", 12, true), &[]);
    assert_eq!((masks["folds"].as_array().unwrap().len(), &masks["model"]), (1, &"vertices".into()));
    assert!(masks["accuracy_mean"].as_f64().unwrap() > 0.9, "{masks}");
    // Folds divide graphs if there are several, and vertices if there is one.
    let bare = wheels(&folder, "b.jsonl", 12, false);
    assert_eq!(evaluate(&bare, &["--folds", "3"])["folds"].as_array().unwrap().len(), 3);
    let one = wheels(&folder, "o.jsonl", 1, false);
    assert_eq!(evaluate(&one, &["--folds", "2"])["folds"].as_array().unwrap().len(), 2);
    let refused = failure(&["evaluate", &bare], 1);
    assert!(refused.contains("--level vertex"), "{refused}");
    let refused = failure(&["train", &bare, "-m", &folder.at("x")], 1);
    assert!(refused.contains("no graph has a target ('y') to learn from; targets of vertices"), "{refused}");
    let refused = failure(&["train", &bare, "-m", &folder.at("x"), "--level", "vertex", "--pool", "ndp"], 2);
    assert!(refused.contains("--pool: expected none at level vertex"), "{refused}");
    let stats = json(&["stats", &bare, "--json"]);
    assert_eq!(stats["node_targets"]["classes"], 3);
    assert!(output(&["stats", &bare]).contains("node targets"));
}

#[test]
fn vertices_are_explained_and_their_predictions_drawn() {
    let folder = Folder::new();
    let data = wheels(&folder, "w.jsonl", 6, true);
    let model = folder.at("m.safetensors");
    let mut train = vec!["train", &data, "-m", &model, "--quiet"];
    train.extend(SMALL);
    stepwell().args(&train).assert().success();
    // Contributions and intercept add up to the decision value, which is the predicted score.
    let why = json(&["explain", &data, "-m", &model, "--graph", "w3", "--vertex", "2", "--json"]);
    assert_eq!((&why["graph"], &why["vertex"], &why["prediction"]), (&"w3".into(), &2.into(), &"rim".into()));
    let added: f64 = why["vertices"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).sum();
    let decision = why["decision"].as_f64().unwrap();
    assert!((why["intercept"].as_f64().unwrap() + added - decision).abs() < 1e-9);
    let table = output(&["predict", &data, "-m", &model]);
    let row = table.lines().find(|line| line.starts_with("w3,2,")).unwrap();
    let score: f64 = row.rsplit(',').next().unwrap().parse().unwrap();
    assert!((score - decision).abs() < 1e-4, "{row} {decision}");
    let other = json(&["explain", &data, "-m", &model, "--vertex", "2", "--class", "hub", "--json"]);
    assert_eq!(other["class"], "hub");
    let told = output(&["explain", &data, "-m", &model, "--vertex", "0"]);
    assert!(told.starts_with("vertex 0 of graph w0 of w: predicted hub, known to be hub"), "{told}");
    let unknown = output(&["explain", &data, "-m", &model, "--vertex", "4"]);
    assert!(!unknown.contains("known to be"), "{unknown}");
    let picture = folder.at("why.svg");
    stepwell().args(["explain", &data, "-m", &model, "--vertex", "2", "-o", &picture]).assert().success();
    assert!(fs::read_to_string(&picture).unwrap().contains("which is explained"));
    for (arguments, refusal) in [
        (
            &["--vertex", "99"][..],
            "--vertex: the model predicts vertices; expected a vertex from 0 to 12, found 99",
        ),
        (&[], "--vertex: the model predicts vertices; expected a vertex from 0 to 12, found none"),
    ] {
        let refused = failure(&[&["explain", &data, "-m", &model][..], arguments].concat(), 2);
        assert!(refused.contains(refusal), "{refused}");
    }

    let page = folder.at("said.html");
    let drawn = json(&["draw", &data, "-m", &model, "--graph", "w1", "-o", &page, "--json"]);
    assert_eq!((&drawn["vertices"], &drawn["known"]), (&15.into(), &12.into()));
    assert!(drawn["accuracy"].as_f64().unwrap() > 0.9, "{drawn}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("predicted: hub") && page.contains("target unknown"));
    let refused = failure(&["draw", &data, "-m", &model, "--pool", "ndp"], 2);
    assert!(refused.contains("--pool: a model's predictions are drawn on the graph itself"), "{refused}");
}

#[test]
fn models_of_graphs_explain_no_vertex() {
    let folder = Folder::new();
    let model = folder.at("m.safetensors");
    let mut train = vec!["train", "b-easy-small", "-m", &model, "--quiet"];
    train.extend(["--preset", "paper", "--spectral-radius", "0.5", "--units", "5"]);
    stepwell().args(&train).assert().success();
    let refused = failure(&["explain", "b-easy-small", "-m", &model, "--vertex", "2"], 2);
    assert!(refused.contains("--vertex: the model predicts graphs, not vertices"), "{refused}");
    let refused = failure(&["draw", "b-easy-small", "-m", &model], 2);
    assert!(refused.contains("--model: expected a model of vertices, found one of graphs"), "{refused}");
}
