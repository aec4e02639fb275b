use std::fs;

use serde_json::Value;

use super::{failure, output, stepwell};

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&output(arguments)).unwrap()
}

#[test]
fn demo_shows_the_benchmark() {
    let text = output(&["demo"]);
    for part in ["b-easy", "graphs       1800", "classes      3", "train", "validation"] {
        assert!(text.contains(part), "{text}");
    }
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
    assert!(failure(&["fetch", "b-easy"], 1).contains("nothing to download"));
    let offline = failure(&["stats", "MUTAG", "--offline"], 1);
    assert!(offline.contains("MUTAG is not on this machine"), "{offline}");
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(output(&["completions", shell]).contains("convert"));
    }
}
