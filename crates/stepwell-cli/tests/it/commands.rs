use std::fs;

use serde_json::Value;

use super::{failure, output, stepwell};

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&output(arguments)).unwrap()
}

#[test]
fn demo_compares_four_architectures() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let text = output(&["demo", "--out", out.to_str().unwrap()]);
    for part in ["b-easy: 1800 graphs", "none", "graclus", "nmf", "ndp", "█"] {
        assert!(text.contains(part), "{text}");
    }
    let report: Value = serde_json::from_slice(&fs::read(out.join("demo.json")).unwrap()).unwrap();
    let architectures = report["architectures"].as_array().unwrap();
    assert_eq!(architectures.len(), 4);
    for (index, found) in architectures.iter().enumerate() {
        assert!(found["accuracy_mean"].as_f64().unwrap() > 0.8, "chance is a third: {found}");
        assert_eq!(found["levels"].as_array().unwrap().len(), if index == 0 { 1 } else { 3 });
    }
    assert_eq!(fs::read_to_string(out.join("demo.csv")).unwrap().lines().count(), 5);
    let page = fs::read_to_string(out.join("demo.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("stepwell demo --out") && page.matches("<svg ").count() == 3);
}

#[test]
fn stats_has_the_promised_names() {
    let stats = json(&["stats", "ring:6", "--json"]);
    assert_eq!((stats["graphs"].as_u64(), stats["avg_edges"].as_f64()), (Some(1), Some(6.0)));
    assert_eq!((stats["avg_nnz"].as_f64(), stats["self_loops"].as_u64()), (Some(12.0), Some(0)));
    assert_eq!((stats["node_labels"].as_u64(), stats["attributes"].as_u64()), (Some(0), Some(0)));
    assert_eq!(stats["dataset"], "ring:6");
    let level = &stats["levels"][0];
    assert_eq!((level["level"].as_u64(), level["avg_vertices"].as_f64()), (Some(0), Some(6.0)));
    assert_eq!((level["rho"].as_f64(), level["bipartite"].as_f64()), (Some(1.0), Some(1.0)));
    assert!(output(&["stats", "ring:6"]).contains("avg vertices"));
}

#[test]
fn stats_tells_what_edges_carry() {
    let stats = |rows: &str, arguments: &[&str]| {
        let done = stepwell().args(["stats", "-"]).args(arguments).write_stdin(rows).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    let rows = "{\"num_nodes\":3,\"src\":[0,1],\"dst\":[1,2],\"weight\":[2,3],\"edge_label\":[[1,0],[2,0]],\"edge_attr\":[0.5,1.5],\"edge_attr_dim\":1,\"node_label\":[[1,4],[1,5],[2,6]]}\n{\"num_nodes\":1,\"src\":[],\"dst\":[],\"node_label\":[[1,4]]}\n";
    let told = stats(rows, &[]);
    assert!(told.contains("  edges carry  3 labels in 2 columns, 1 attribute, weights\n"), "{told}");
    assert!(told.contains("  node labels  5 in 2 columns\n"), "{told}");
    let found: Value = serde_json::from_str(&stats(rows, &["--json"])).unwrap();
    let names = ["node_labels", "node_label_columns", "edge_labels", "edge_label_columns", "edge_attributes"];
    assert_eq!(names.map(|name| found[name].as_u64().unwrap()), [5, 2, 3, 2, 1]);
    assert_eq!(found["weighted"], true);
    let single = "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"edge_label\":[7]}\n";
    assert!(stats(single, &[]).contains("  edges carry  1 label\n"));
    assert!(output(&["stats", "ring:6"]).contains("  edges carry  nothing\n"));
}

#[test]
fn stats_reads_standard_input() {
    let rows = "{\"num_nodes\":2,\"src\":[0],\"dst\":[1],\"y\":0}\n{\"num_nodes\":1,\"src\":[],\"dst\":[],\"y\":1}\n";
    let done = stepwell().args(["stats", "-", "--json"]).write_stdin(rows).assert().success();
    let stats: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!((stats["graphs"].as_u64(), stats["classes"].as_u64()), (Some(2), Some(2)));
}

#[test]
fn converting_goes_from_any_format_to_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let original = json(&["stats", "b-hard-small", "--json"]);
    let mut from = "b-hard-small".to_owned();
    for name in ["a.jsonl", "b.parquet", "c", "d.zip"] {
        let to = at(name);
        stepwell().args(["convert", &from, &to, "--lossy"]).assert().success();
        let mut stats = json(&["stats", &to, "--json"]);
        stats["dataset"] = original["dataset"].clone();
        if !name.contains('.') || name.ends_with("zip") {
            assert!(stats["split"].take().is_null(), "text files have no place for a split");
            stats["split"] = original["split"].clone();
        }
        assert_eq!(stats, original, "{name}");
        from = to;
    }
}

#[test]
fn converting_to_standard_output_gives_rows() {
    let text = output(&["convert", "path:3", "-"]);
    let row: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(row["num_nodes"], 3);
}

#[test]
fn a_failed_conversion_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.zip");
    let said = failure(&["convert", "b-easy-small", out.to_str().unwrap()], 1);
    assert!(said.contains("has no place for") && said.contains("--lossy"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn datasets_lists_what_is_generated_found_and_known() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("MINE")).unwrap();
    fs::write(folder.path().join("MINE/MINE_A.txt"), "").unwrap();
    let text = output(&["datasets", "--data-dir", folder.path().to_str().unwrap()]);
    for part in ["b-hard-small", "generated", "MINE", "MUTAG", "download"] {
        assert!(text.contains(part), "{text}");
    }
    let listing = json(&["datasets", "--json"]);
    assert!(listing["datasets"].as_array().unwrap().iter().any(|entry| entry["name"] == "ENZYMES"));
}

#[test]
fn fetching_says_what_went_wrong() {
    let said = failure(&["fetch", "MUTAG"], 1);
    assert!(said.contains("http://127.0.0.1:1/MUTAG.zip"), "{said}");
    assert!(failure(&["fetch", "b-easy"], 1).contains("is not the name of a dataset to download"));
    let offline = failure(&["stats", "MUTAG", "--offline"], 1);
    assert!(offline.contains("MUTAG is not on this machine"), "{offline}");
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(output(&["completions", shell]).contains("convert"));
    }
}

#[test]
fn embedding_writes_rows_in_any_format() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let csv = output(&["embed", "b-hard-small", "--units", "3"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines.len(), lines[0]), (301, "id,e0,e1,e2"));
    stepwell().args(["embed", "b-hard-small", "--units", "3", "-o", &at("v.csv")]).assert().success();
    assert_eq!(fs::read_to_string(at("v.csv")).unwrap(), csv);
    stepwell().args(["embed", "b-hard-small", "--units", "3", "-o", &at("v.npy")]).assert().success();
    let bytes = fs::read(at("v.npy")).unwrap();
    assert_eq!(bytes.len(), 128 + 300 * 3 * 4);
    let first = f32::from_le_bytes(bytes[128..132].try_into().unwrap());
    assert_eq!(first.to_string(), lines[1].split(',').nth(1).unwrap());
    stepwell().args(["embed", "b-hard-small", "-o", &at("v.parquet")]).assert().success();
    assert_eq!(&fs::read(at("v.parquet")).unwrap()[..4], b"PAR1");
    assert!(failure(&["embed", "b-hard-small", "-o", &at("v.txt")], 2).contains(".npy, .csv or .parquet"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left of what failed");
}

#[test]
fn pieces_of_a_stream_embed_as_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.jsonl").display().to_string();
    let table = folder.path().join("rows.parquet").display().to_string();
    // More vertices than a piece holds.
    stepwell().args(["convert", "b-easy", &rows]).assert().success();
    stepwell().args(["convert", &rows, &table]).assert().success();
    let whole = output(&["embed", "b-easy", "--units", "2"]);
    assert_eq!(output(&["embed", &rows, "--units", "2"]), whole);
    assert_eq!(output(&["embed", &table, "--units", "2", "--threads", "1"]), whole);
}

#[test]
fn embedding_reports_and_takes_options_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("model.toml").display().to_string();
    fs::write(&config, "units = [4, 6]\nblocks = 2\naggregate = [\"sum\", \"max\"]\n").unwrap();
    let report = json(&["embed", "ring:9", "--config", &config, "--json"]);
    assert_eq!(
        (report["graphs"].as_u64(), report["units"].as_u64(), report["columns"].as_u64()),
        (Some(1), Some(6), Some(12))
    );
    assert_eq!(report["sweeps_mean"].as_array().unwrap().len(), 2);
    assert_eq!(
        json(&["embed", "ring:9", "--config", &config, "--units", "3", "--json"])["columns"].as_u64(),
        Some(6)
    );
    fs::write(&config, "unitz = 4\n").unwrap();
    assert!(failure(&["embed", "ring:9", "--config", &config], 2).contains("unitz"));
    assert!(failure(&["embed", "ring:9", "--leak", "0"], 2).contains("--leak"));
    let together = failure(&["embed", "ring:9", "--blocks", "3", "--units", "4,5"], 2);
    assert!(together.contains("--units: expected one value, or a list of 3, one per block"), "{together}");
    fs::write(&config, "units = [4, 6]\n").unwrap();
    let together = failure(&["embed", "ring:9", "--config", &config, "--blocks", "3"], 2);
    assert!(
        together.contains("model.toml: units: expected one value, or a list of 3, one per block"),
        "{together}"
    );
    // Options of the readout are no exception: a file and flags give the same model.
    fs::write(&config, "landmarks = 9\n").unwrap();
    let model = folder.path().join("model.safetensors").display().to_string();
    let train = ["train", "b-easy-small", "-m", &model, "--config", &config, "--random-features", "5"];
    let together = failure(&train, 2);
    assert!(together.contains("model.toml: landmarks: expected 0 if random_features is given"), "{together}");
    failure(&["embed", "ring:9", "--solver", "newton"], 2);
}

#[test]
fn options_come_from_a_pipe_and_flags_turn_off_what_a_preset_has() {
    // 'evaluate' uses the options twice: for the search space and for the model.
    let evaluate = ["evaluate", "b-easy-small", "--configs", "1", "--inits", "1", "--folds", "2", "--json"];
    let done = stepwell()
        .args(evaluate)
        .args(["--config", "/dev/stdin"])
        .write_stdin("units = 4\nspectral_radius = 0.25\nalpha = 7.0\n")
        .assert()
        .success();
    let report: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!(report["folds"][0]["config"]["spectral_radius"].as_f64(), Some(0.25), "{report}");
    assert_eq!(report["folds"][0]["alpha"].as_f64(), Some(7.0), "{report}");
    let columns = |flags: &[&str]| {
        let embed = ["embed", "ring:9", "--preset", "accurate", "--units", "2", "--json"];
        json(&[&embed[..], flags].concat())["columns"].as_u64().unwrap()
    };
    assert_eq!(columns(&[]), 3 * columns(&["--no-concat"]));
}

#[test]
fn states_of_vertices_have_names() {
    let text = output(&["embed", "path:3", "--nodes", "--units", "2", "--concat"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "graph,block,vertex,s0,s1");
    let keys: Vec<String> =
        lines[1..].iter().map(|line| line.split(',').take(3).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(keys, ["0,0,0", "0,0,1", "0,0,2", "0,1,0", "0,1,1", "0,1,2"]);
}

#[test]
fn convergence_is_certified_where_it_can_be() {
    let report = json(&[
        "converge",
        "ring:12",
        "--recurrence",
        "orthogonal",
        "--spectral-radius",
        "0.5",
        "--solver",
        "jacobi",
        "--json",
    ]);
    let block = &report["blocks"][0];
    assert_eq!((block["certified"].as_f64(), block["converged"].as_f64()), (Some(1.0), Some(1.0)));
    assert!(block["sweeps_max"].as_u64() <= block["bound_max"].as_u64().map(|bound| bound + 1));
    let report =
        json(&["converge", "ring:12", "--recurrence", "orthogonal", "--spectral-radius", "1", "--json"]);
    assert_eq!(
        (report["blocks"][0]["certified"].as_f64(), &report["blocks"][0]["bound_max"]),
        (Some(0.0), &Value::Null)
    );
    assert!(output(&["converge", "b-hard-small"]).contains("K max"));
}
