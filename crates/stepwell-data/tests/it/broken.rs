//! Broken files of every format: each gives one clear error and no panic.

use std::fs;

use stepwell_data::catalog;

/// Writes a file of that name and expects an error message that contains these words.
#[track_caller]
fn check(name: &str, bytes: &[u8], words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let sentence = catalog::read(&path).unwrap_err().to_string();
    assert!(sentence.contains(name) && !sentence.contains('\n'), "{sentence}");
    for word in words {
        assert!(sentence.contains(word), "'{word}' is not in: {sentence}");
    }
}

#[test]
fn files_that_are_something_else() {
    for name in ["x.zip", "x.npz", "x.parquet"] {
        check(name, b"", &["expected"]);
        check(name, b"hello, world", &["expected"]);
        check(name, &[0xFF; 4096], &["expected"]);
    }
    check("x.jsonl", b"hello\n", &["line 1", "expected"]);
    check("x.jsonl", &[0xFF; 4096], &["line 1", "expected"]);
    check("x.jsonl", "[".repeat(100_000).as_bytes(), &["line 1", "expected"]);
}

#[test]
fn json_lines_name_the_line_and_the_key() {
    let good = r#"{"num_nodes":2,"src":[0],"dst":[1]}"#;
    for (bad, words) in [
        (r#"{"src":[0],"dst":[1]}"#, &["num_nodes"][..]),
        (r#"{"num_nodes":2,"src":[0],"dst":[2]}"#, &["vertex 2", "2 vertices"]),
        (r#"{"num_nodes":2,"src":[0,1],"dst":[1]}"#, &["expected 2", "found 1"]),
        (r#"{"num_nodes":-1,"src":[],"dst":[]}"#, &["-1"]),
        (r#"{"num_nodes":2,"src":[0],"dst":[99999999999999999999]}"#, &["1e+20"]),
        (r#"{"num_nodes":2,"src":[0],"dst":[1],"weight":[-1]}"#, &["weight", "-1"]),
        (r#"{"num_nodes":2,"src":[0],"dst":[1],"y":[1,"a"]}"#, &["'y'", "'a'"]),
        (r#"{"num_nodes":2,"src":[0],"dst":["#, &["expected"]),
    ] {
        check("x.jsonl", format!("{good}\n{bad}\n").as_bytes(), &[&["line 2"][..], words].concat());
    }
}

#[test]
fn an_ending_nobody_knows() {
    let folder = tempfile::tempdir().unwrap();
    for (name, words) in [
        ("x.txt", "unknown file extension; expected .zip"),
        ("x.csv", "with --smiles"),
        ("x.tsv.gz", "with --smiles"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, "a,b\n").unwrap();
        let sentence = catalog::read(&path).unwrap_err().to_string();
        assert!(sentence.contains(words), "{sentence}");
    }
}
