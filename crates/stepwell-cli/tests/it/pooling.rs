//! Commands that pool graphs, and the cache they share.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{failure, output, stepwell};

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&output(arguments)).unwrap()
}

#[test]
fn pooling_is_described_and_written() {
    let stats = json(&["stats", "path:9", "--pool", "graclus", "--levels", "3", "--json", "--no-cache"]);
    let sizes: Vec<f64> =
        stats["levels"].as_array().unwrap().iter().filter_map(|l| l["avg_vertices"].as_f64()).collect();
    assert_eq!(sizes.len(), 4);
    assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("coarse");
    let arguments = ["coarsen", "grid:4x4", "--pool", "ndp", "--no-cache", "-o", out.to_str().unwrap()];
    stepwell().args(arguments).assert().success();
    // The two-colouring of a grid is its cut, so half of the vertices stay.
    let coarse: Value = serde_json::from_str(&fs::read_to_string(out.join("level1.jsonl")).unwrap()).unwrap();
    assert_eq!(coarse["num_nodes"], 8);
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(out.join("assignment1.jsonl")).unwrap()).unwrap();
    assert_eq!((kept["num_fine"].as_u64(), kept["kept"].as_array().unwrap().len()), (Some(16), 8));
    assert!(out.join("level2.jsonl").is_file());
    failure(&["coarsen", "grid:4x4", "-o", "x"], 2);
}

#[test]
fn fake_vertices_of_the_paper_are_counted_but_not_made() {
    let levels = |depth: &str| {
        let stats =
            json(&["stats", "b-hard-small", "--pool", "graclus", "--levels", depth, "--json", "--no-cache"]);
        stats["levels"].as_array().unwrap().clone()
    };
    let (two, three) = (levels("2"), levels("3"));
    let clusters_left = three[3]["avg_vertices"].as_f64().unwrap();
    for (level, times) in [(1, 4.0), (2, 2.0)] {
        let padded = two[level]["avg_padded_vertices"].as_f64().unwrap();
        assert!(
            (padded - times * clusters_left).abs() < 1e-9,
            "level {level}: {padded}, {clusters_left} left"
        );
        assert!(padded >= two[level]["avg_vertices"].as_f64().unwrap());
    }
    assert!(two[0].get("avg_padded_vertices").is_none());
    let text = output(&["stats", "b-hard", "--pool", "graclus", "--no-cache"]);
    assert!(text.contains("with fakes") && text.contains("paper N"), "{text}");
    let text = output(&["stats", "b-hard-small", "--pool", "graclus", "--no-cache"]);
    assert!(text.contains("with fakes") && !text.contains("paper N"), "the paper has no such row: {text}");
}

#[test]
fn self_loops_are_added_on_request() {
    let stats = json(&["stats", "ring:6", "--self-loops", "--json"]);
    assert_eq!((stats["self_loops"].as_u64(), stats["avg_nnz"].as_f64()), (Some(6), Some(18.0)));
    assert_eq!(stats["avg_edges"].as_f64(), Some(6.0));
    // Every cluster then has a self loop, even clusters of one vertex.
    let stats = json(&["stats", "path:9", "--pool", "graclus", "--self-loops", "--json", "--no-cache"]);
    for level in stats["levels"].as_array().unwrap() {
        let number = |name: &str| level[name].as_f64().unwrap();
        assert_eq!(number("avg_nnz"), 2.0 * number("avg_edges") + number("avg_vertices"));
    }
}

/// Runs the program with its cache in that folder. Returns standard output and standard error.
fn with_cache(folder: &Path, arguments: &[&str]) -> (String, String) {
    let done = stepwell().env("STEPWELL_CACHE", folder).args(arguments).assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

fn pyramids(cache: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.join("pyramids")).into_iter().flatten();
    let files = entries.map(|entry| entry.unwrap().path());
    // The secret of their seals lies beside them.
    files.filter(|path| path.extension().is_some_and(|ending| ending == "pyramid")).collect()
}

#[test]
fn pooled_graphs_are_kept_and_a_broken_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let stats = ["stats", "b-hard-small", "--pool", "ndp", "--json"];
    let (first, said) = with_cache(&cache, &stats);
    assert_eq!((pyramids(&cache).len(), said.contains("warning")), (1, false), "{said}");
    let path = pyramids(&cache).remove(0);
    let whole = fs::read(&path).unwrap();
    assert_eq!(with_cache(&cache, &stats), (first.clone(), said.clone()));

    // Another command uses the same file; with another seed it creates its own.
    let coarsen = |out: &str, seed: &str| {
        let out = folder.path().join(out).display().to_string();
        let arguments =
            ["coarsen", "b-hard-small", "--pool", "ndp", "--pool-seed", seed, "--quiet", "-o", &out];
        with_cache(&cache, &arguments);
        fs::read(Path::new(&out).join("level2.jsonl")).unwrap()
    };
    let rows = coarsen("a", "0");
    assert_eq!(pyramids(&cache).len(), 1);
    coarsen("b", "1");
    assert_eq!(pyramids(&cache).len(), 2);

    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for broken in [&flipped[..], &whole[..whole.len() / 3], b"", b"something else"] {
        fs::write(&path, broken).unwrap();
        let (again, said) = with_cache(&cache, &stats);
        assert!(said.starts_with("warning: rebuilding a cached pyramid: "), "{said}");
        assert_eq!(again, first);
        assert_eq!(fs::read(&path).unwrap(), whole, "repaired");
    }
    fs::write(&path, "something else").unwrap();
    let uncached = [&stats[..], &["--no-cache"]].concat();
    assert_eq!(with_cache(&cache, &uncached), (first, said), "neither read");
    assert_eq!(fs::read(&path).unwrap(), b"something else", "nor written");
    assert_eq!(coarsen("c", "0"), rows);
}

#[test]
fn without_a_place_for_it_pooling_works_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("file");
    fs::write(&in_the_way, "").unwrap();
    let stats = ["stats", "grid:5x5", "--pool", "graclus", "--json"];
    let (found, said) = with_cache(&in_the_way, &stats);
    assert!(said.contains("warning: the pyramid could not be cached: "), "{said}");
    assert_eq!(found, with_cache(&folder.path().join("cache"), &stats).0);
    let quiet = [&stats[..], &["--quiet"]].concat();
    assert_eq!(with_cache(&in_the_way, &quiet), (found, String::new()));
}
