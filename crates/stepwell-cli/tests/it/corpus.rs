//! Replays the corpus of the fuzz targets for runs, splits and options.

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/src/lab_targets.rs"]
mod targets;

#[test]
fn every_file_of_the_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for target in ["records", "splits", "config"] {
        let files: Vec<_> =
            fs::read_dir(corpus.join(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty(), "the corpus of {target} is empty");
        for file in files {
            targets::run(target, &fs::read(file).unwrap());
        }
    }
}
