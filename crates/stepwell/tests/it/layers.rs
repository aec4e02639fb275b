//! Checks the layers of ARCHITECTURE.md ("nothing knows what is to its right") against the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The library's modules. Each may use those before it.
const LIBRARY: &[&str] = &[
    "error",
    "memory",
    "rng",
    "kernel",
    "linalg",
    "graph",
    "features",
    "colours",
    "pool",
    "pyramid",
    "lift",
    "theory",
    "config",
    "reservoir",
    "targets",
    "metrics",
    "readout",
    "projection",
    "model",
];

const DATA: &[&str] = &[
    "error",
    "identity",
    "memory",
    "files",
    "models",
    "archive",
    "text",
    "download",
    "dataset",
    "summary",
    "synthetic",
    "vectors",
    "predictions",
    "cache",
    "rows",
    "jsonl",
    "parquet",
    "tud",
    "ogb",
    "npz",
    "catalog",
    "source",
];

const CRATES: &[&str] = &[
    "stepwell",
    "stepwell-data",
    "stepwell-cuda",
    "stepwell-lab",
    "stepwell-serve",
    "stepwell-cli",
    "stepwell-python",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn nothing_knows_what_is_to_its_right() {
    for (name, order) in [("stepwell", LIBRARY), ("stepwell-data", DATA)] {
        let source = root().join("crates").join(name).join("src");
        let mut modules = BTreeSet::new();
        let mut wrong = Vec::new();
        for file in rust_files(&source) {
            let place = file.strip_prefix(&source).unwrap();
            let module = place.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
            if module == "lib" {
                continue;
            }
            modules.insert(module.to_string());
            let used = uses(&fs::read_to_string(&file).unwrap(), names_the_root(place));
            let may = |used: &str| {
                let position = |name| order.iter().position(|each| *each == name);
                position(used).is_some_and(|used| Some(used) <= position(module))
            };
            wrong.extend(used.into_iter().filter(|used| !may(used)).map(|used| format!("{place:?}: {used}")));
        }
        assert!(modules.iter().eq(&order.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>()));
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
    for (at, name) in CRATES.iter().enumerate() {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let (_, after) = manifest.split_once("[dependencies]\n").unwrap();
        let dependencies = after.lines().take_while(|line| !line.starts_with('['));
        let names = dependencies.filter_map(|line| line.split(['.', ' ']).next());
        let wrong: Vec<&str> = names.filter(|name| CRATES[at..].contains(name)).collect();
        assert!(wrong.is_empty(), "{name} depends on {wrong:?}");
    }
}

#[test]
fn the_architecture_page_has_the_same_order() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for order in [LIBRARY, DATA, CRATES] {
        let line = format!("`{}`", order.join(" → "));
        assert!(page.contains(&line), "ARCHITECTURE.md should say {line}");
    }
}

#[test]
fn uses_are_found() {
    let found = |text: &str| uses(text, false).into_iter().collect::<Vec<_>>();
    assert_eq!(found("use crate::graph::{Graph, GraphRef};\nfn f() { crate::pool::f() }"), ["graph", "pool"]);
    assert_eq!(found("use crate::{\n    files,\n    tud::read,\n};"), ["files", "tud"]);
    assert_eq!(found("//! [a page](crate::model)\n/// crate::model\n// crate::model"), [""; 0]);
    assert_eq!(found("fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::model::Model;\n}"), [""; 0]);
    assert_eq!(uses("use super::graph::Graph;", true).into_iter().collect::<Vec<_>>(), ["graph"]);
}

/// All Rust files of a folder, except for those of tests.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() && stem != "tests" {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !["tests", "test_graphs", "oracle"].contains(&stem)
        {
            files.push(path);
        }
    }
    files
}

/// Whether `super` refers to the crate root in this file.
fn names_the_root(place: &Path) -> bool {
    let parts = place.iter().count();
    parts == 1 || parts == 2 && place.ends_with("mod.rs")
}

/// The modules named after `crate::`, outside comments and unit tests.
fn uses(text: &str, super_is_root: bool) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = text.lines().map(|line| line.split("//").next().unwrap());
    let mut code = lines.collect::<Vec<_>>().join(" ");
    if super_is_root {
        code = code.replace("super::", "crate::");
    }
    let mut found = BTreeSet::new();
    for path in code.split("crate::").skip(1) {
        // Nested lists give names that no module has, so they are rejected.
        let list = path.strip_prefix('{').and_then(|list| list.split('}').next()).unwrap_or(path);
        let names = list.split(',').take(if path.starts_with('{') { usize::MAX } else { 1 });
        let of_path = |path: &str| {
            path.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_string)
        };
        found.extend(names.filter_map(of_path).filter(|name| !name.is_empty()));
    }
    found
}
