//! The fuzz targets for runs, splits and options. `./test` includes this file and replays the
//! corpus through the same functions.

use sha2::{Digest, Sha256};
use stepwell_lab::run::Run;
use stepwell_lab::splits;

/// Runs the target with that name.
pub fn run(target: &str, data: &[u8]) {
    match target {
        "records" => read_records(data),
        "splits" => read_splits(data),
        "config" => drop(stepwell_cli::parse_config(&String::from_utf8_lossy(data))),
        other => panic!("no fuzz target is called {other}"),
    }
}

/// Reads a run's folder of one file. Data that begin with 0xFF are used unchanged; otherwise every
/// line gets a valid checksum, so that mutations reach the parser.
fn read_records(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let records = folder.path().join("records");
    std::fs::create_dir(&records).expect("a folder");
    let mut bytes = Vec::new();
    match data.strip_prefix(&[0xFF]) {
        Some(rest) => bytes.extend(rest),
        None => {
            for line in data.split(|&byte| byte == b'\n') {
                let sum: String =
                    Sha256::digest(line).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                bytes.extend(sum.as_bytes());
                bytes.push(b' ');
                bytes.extend(line);
                bytes.push(b'\n');
            }
        }
    }
    std::fs::write(records.join("run.jsonl"), bytes).expect("a file");
    drop(Run::read(folder.path()));
}

/// Reads splits of as many graphs as the first byte says.
fn read_splits(data: &[u8]) {
    let Some((&graphs, text)) = data.split_first() else { return };
    if let Ok(folds) = splits::parse(&String::from_utf8_lossy(text), usize::from(graphs)) {
        for fold in folds {
            let all = fold.train.len() + fold.validation.len() + fold.test.len();
            assert!(all <= usize::from(graphs), "a graph is in a fold once");
        }
    }
}
