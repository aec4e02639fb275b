//! Commands that draw.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{failure, output, stepwell};

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&output(arguments)).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

#[test]
fn graphs_become_points() {
    let folder = tempfile::tempdir().unwrap();
    let (svg, html) = (path(folder.path(), "a.svg"), path(folder.path(), "a.html"));
    let plot = ["plot", "b-easy-small", "--units", "12", "--spectral-radius", "0.5"];
    let on = |threads: &str| output(&[&plot[..], &["--threads", threads]].concat());
    let drawn = on("1");
    assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n"));
    assert_eq!(drawn.matches("<use ").count(), 300 + 3, "a mark per graph and per class");
    assert_eq!(drawn, on("2"), "threads change no byte");
    stepwell().args([&plot[..], &["-o", &svg]].concat()).assert().success();
    stepwell().args([&plot[..], &["-o", &html, "--method", "pca"]].concat()).assert().success();
    assert_eq!(fs::read_to_string(&svg).unwrap(), drawn);
    assert!(fs::read_to_string(&html).unwrap().contains("principal components</h1>"));
    let figures = json(&[&plot[..], &["--json"]].concat());
    assert_eq!((figures["method"].as_str(), figures["graphs"].as_u64()), (Some("lda"), Some(300)));
    assert!(
        (numbers(&figures["explained"]).iter().sum::<f64>() - 1.0).abs() < 1e-9,
        "three classes, two axes"
    );
    assert_eq!(figures["points"].as_array().unwrap().len(), 300);
    // Without classes, only one of the planes is possible.
    assert!(failure(&["plot", "ring:5", "--method", "lda"], 1).contains("lda needs classes"));
    assert!(output(&["plot", "ring:5"]).contains("nothing else varies"));
}

#[test]
fn a_picture_of_another_kind_is_refused_before_any_work() {
    for command in [
        &["plot", "b-hard", "-o", "out.png"][..],
        &["draw", "b-hard", "-o", "out.pdf"],
        &["explain", "b-hard", "-m", "none.safetensors", "-o", "out"],
    ] {
        assert!(failure(command, 2).contains("expected a file that ends in .svg or .html"));
    }
}

#[test]
fn a_graph_and_its_levels_are_drawn() {
    // A grid is bipartite: all its edges lie between the two sides.
    let figures = json(&["draw", "grid:6x7", "--pool", "ndp", "--levels", "1", "--json"]);
    let levels = figures["levels"].as_array().unwrap();
    let of = |level: usize, name: &str| levels[level][name].as_f64();
    assert_eq!((of(0, "vertices"), of(0, "edges")), (Some(42.0), Some(71.0)));
    assert_eq!((of(0, "kept"), of(0, "cut"), of(1, "vertices")), (Some(21.0), Some(1.0), Some(21.0)));
    assert_eq!((of(0, "merged"), of(1, "kept")), (None, None));
    let drawn = output(&["draw", "grid:6x7", "--pool", "ndp", "--levels", "1"]);
    assert_eq!(drawn.matches("<circle ").count(), 42 + 21);
    assert_eq!(drawn, output(&["draw", "grid:6x7", "--pool", "ndp", "--levels", "1", "--threads", "2"]));
    let merged = json(&["draw", "path:8", "--pool", "graclus", "--levels", "1", "--json"]);
    assert!(merged["levels"][0]["merged"].as_f64().unwrap() > 0.0);
    assert_eq!(output(&["draw", "complete:5"]).matches("class=\"zoom\"").count(), 1, "no pooling, one panel");
    let known = output(&["draw", "b-easy-small", "--graph", "3"]);
    assert!(known.contains("attribute 4") && known.contains("graph 3 of b-easy-small"));
}

#[test]
fn a_graph_is_found_by_its_id_or_its_position() {
    let folder = tempfile::tempdir().unwrap();
    let rows = path(folder.path(), "rows.jsonl");
    let row = |id: &str, n: usize| format!(r#"{{"id": "{id}", "num_nodes": {n}, "src": [0], "dst": [1]}}"#);
    fs::write(&rows, [row("1", 5), row("b", 6), row("c", 7)].join("\n")).unwrap();
    let vertices =
        |graph: &str| json(&["draw", &rows, "-g", graph, "--json"])["levels"][0]["vertices"].clone();
    assert_eq!([vertices("1"), vertices("c"), vertices("2"), vertices("0")], [5, 7, 7, 5]);
    let said = failure(&["draw", &rows, "--graph", "d"], 1);
    assert!(said.contains("expected an id or a position from 0 to 2, found 'd'"), "{said}");
    assert!(failure(&["draw", "ring:5", "--graph", "1"], 1).contains("from 0 to 0, found '1'"));
}

#[test]
fn a_prediction_is_taken_apart() {
    let folder = tempfile::tempdir().unwrap();
    let model = path(folder.path(), "model.safetensors");
    let train = |more: &[&str]| {
        let fixed = ["train", "b-easy-small", "-q", "-m", &model, "--preset", "paper", "--units", "10"];
        stepwell().args([&fixed[..], &["--precision", "f64"], more].concat()).assert().success();
    };
    train(&["--pool", "ndp", "--concat", "--aggregate", "sum,max", "--max-iter", "300"]);
    let explain = ["explain", "b-easy-small", "--graph", "17", "-m", &model];
    let predictions = output(&["predict", "b-easy-small", "-q", "-m", &model]);
    let row: Vec<&str> = predictions.lines().nth(18).unwrap().split(',').collect();
    for class in 0..3usize {
        let told = json(&[&explain[..], &["--json", "--class", &class.to_string()]].concat());
        let levels = told["levels"].as_array().unwrap();
        assert_eq!(levels.len(), 2);
        let parts: f64 = levels.iter().flat_map(|level| numbers(&level["contributions"])).sum();
        let (decision, intercept) = (told["decision"].as_f64().unwrap(), told["intercept"].as_f64().unwrap());
        assert!((intercept + parts - decision).abs() < 1e-9);
        assert!((decision - row[2 + class].parse::<f64>().unwrap()).abs() < 1e-9, "as predict says");
        let vertices = numbers(&told["vertices"]);
        assert!((vertices.iter().sum::<f64>() - parts).abs() < 1e-9);
        assert_eq!(told["prediction"].as_i64(), row[1].parse().ok(), "an integer, as in training");
    }
    let text = output(&explain);
    assert!(text.contains("graph 17 of b-easy-small: predicted") && text.contains("intercept"), "{text}");
    let page = path(folder.path(), "why.html");
    stepwell().args([&explain[..], &["-o", &page]].concat()).assert().success();
    assert!(fs::read_to_string(&page).unwrap().contains("contributions of level 1"));
    let said = failure(&[&explain[..], &["--class", "7"]].concat(), 2);
    assert!(said.contains("--class: expected one of 0, 1, 2, found '7'"), "{said}");

    for more in [&["--aggregate", "std"], &["--random-features", "5"], &["--landmarks", "40"]] {
        train(more);
        let told = json(&[&explain[..], &["--json"]].concat());
        let sum: f64 = numbers(&told["vertices"]).iter().sum();
        let (decision, intercept) = (told["decision"].as_f64().unwrap(), told["intercept"].as_f64().unwrap());
        assert!((intercept + sum - decision).abs() < 1e-6, "{told}");
    }
    train(&["--regression"]);
    assert!(output(&explain).contains("prediction"));
    assert!(
        failure(&[&explain[..], &["--class", "1"]].concat(), 2)
            .contains("no class (this model predicts one number)")
    );
}
