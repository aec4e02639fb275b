//! Tables of an invented run, compared with values worked out by hand.

use std::collections::BTreeMap;

use stepwell::config::Metric;
use stepwell_lab::metrics::Values;
use stepwell_lab::paper::{self, Experiment, PoolResult, TimeRow, Verdict};
use stepwell_lab::protocol::{Unit, UnitKey};
use stepwell_lab::results::POOLS;
use stepwell_lab::run::{CellKey, CellState, FoldResult, Known, Making, Sweeps, Times};

use super::report::statistics;

pub fn key(dataset: &str, pool: &str, blocks: usize) -> CellKey {
    CellKey { dataset: dataset.into(), model: "reservoir".into(), pool: pool.into(), blocks, seed: 0 }
}

/// A finished cell with these accuracies and times.
pub fn cell(accuracies: &[f64], own: f64, plain: f64, coarsen: f64) -> CellState {
    let unit_key = UnitKey { configuration: 0, initialisation: 0 };
    let scores = vec![vec![0.0]; accuracies.len()];
    let unit = Unit { key: unit_key, validation: scores.clone(), test: scores };
    let result = |&accuracy: &f64| FoldResult {
        quality: Values::from_iter([(Metric::Accuracy, accuracy)]).into(),
        ..Default::default()
    };
    let mut times = BTreeMap::new();
    for fold in 0..accuracies.len() {
        let taken = |seconds: f64| Times { train_seconds: 0.8 * seconds, test_seconds: 0.2 * seconds };
        times.insert((Sweeps::Own, fold), taken(own));
        times.insert((Sweeps::Plain, fold), taken(plain));
    }
    CellState {
        all_units: 1,
        units: [(unit_key, unit)].into(),
        folds: accuracies.iter().map(result).enumerate().collect(),
        times,
        making: Some(Making { coarsen_seconds: coarsen, prepare_seconds: 0.1 }),
        ..Default::default()
    }
}

pub fn known() -> Known {
    let mut known = Known::default();
    let mut put = |dataset: &str, pool: &str, state| known.cells.insert(key(dataset, pool, 2), state);
    put("NCI1", "none", cell(&[0.70, 0.72], 2.0, 8.0, 0.0));
    put("NCI1", "graclus", cell(&[0.68, 0.70], 1.5, 5.0, 3.0));
    put("NCI1", "nmf", cell(&[0.66, 0.68], 2.5, 6.0, 9.0));
    put("NCI1", "ndp", cell(&[0.60, 0.70], 1.0, 2.0, 4.0));
    known
}

fn tables(known: &Known) -> (Vec<PoolResult>, Vec<TimeRow>) {
    let results = paper::accuracies(&known.cells);
    let times = paper::times(&known.cells, &results);
    (results, times)
}

#[test]
fn accuracies_stand_beside_the_papers() {
    let (rows, _) = tables(&known());
    assert_eq!(rows.iter().map(|row| row.ours.pool.as_str()).collect::<Vec<_>>(), POOLS);
    let none = &rows[0];
    // The paper has 70.4 ± 0.8 there.
    assert!((none.ours.mean - 71.0).abs() < 1e-9 && (none.ours.std - 1.0).abs() < 1e-9);
    assert!((none.difference.unwrap() - 0.6).abs() < 1e-9);
    assert_eq!(none.is_reached(), Some(true));
    // 67.4 ± 1.2 with NDP: 65.0 is more than 1.5 below.
    assert_eq!(rows[3].is_reached(), Some(false));
    let wide = paper::wide(&rows, 2).markdown();
    assert!(wide.contains("| NCI1 | 71.0 ± 1.0 (70.4 ± 0.8) | 69.0 ± 1.0 (68.1 ± 0.8) |"), "{wide}");
}

#[test]
fn times_tell_what_pooling_saves() {
    let (_, times) = tables(&known());
    let row = |pool: &str| times.iter().find(|row| row.pool == pool).unwrap();
    assert!((row("ndp").speedup.unwrap() - 2.0).abs() < 1e-9);
    assert!((row("ndp").plain_speedup.unwrap() - 4.0).abs() < 1e-9);
    // 6.3 s without pooling, 5.6 s with NDP in the paper.
    assert!((row("ndp").paper_speedup.unwrap() - 6.3 / 5.6).abs() < 1e-9);
    assert!((row("ndp").passes_to_pay.unwrap() - 4.0).abs() < 1e-9, "4 s to save 1 s each");
    assert_eq!(row("nmf").passes_to_pay, None, "slower than no pooling");
    assert!((row("none").accuracy_per_second.unwrap() - 35.5).abs() < 1e-9);
    assert_eq!(row("none").speedup, None);
}

#[test]
fn pairs_are_tested_over_folds() {
    let comparisons = paper::comparisons(&tables(&known()).0);
    assert_eq!(comparisons.len(), 6);
    let ndp = comparisons.iter().find(|pair| pair.first == "none" && pair.second == "ndp").unwrap();
    // Differences 10 and 2: mean 6, variance 32; two folds, each tested for the other.
    assert!((ndp.test.mean - 6.0).abs() < 1e-9);
    assert!((ndp.test.t - 6.0 / (1.5f64 * 32.0).sqrt()).abs() < 1e-9);
}

#[test]
fn claims_are_judged_by_what_is_there() {
    let mut known = known();
    let judged = |known: &Known| {
        let (results, times) = tables(known);
        paper::claims(&results, &times, known)
    };
    let verdict = |known: &Known, words: &str| {
        judged(known).iter().find(|claim| claim.claim.contains(words)).map(|claim| claim.verdict)
    };
    assert_eq!(verdict(&known, "models without pooling are the most accurate"), Some(Verdict::Holds));
    assert_eq!(verdict(&known, "saves up to almost 60 %"), Some(Verdict::Holds), "75 % with NDP");
    assert_eq!(verdict(&known, "REDDIT-BINARY"), None, "nothing is known of it");
    assert_eq!(verdict(&known, "linearly"), None);
    for (vertices, seconds) in [(100, 1.0), (1000, 10.0), (10_000, 100.0)] {
        known.paper.measured.insert((Experiment::Vertices, vertices), seconds);
    }
    assert_eq!(verdict(&known, "linearly"), Some(Verdict::Holds));
    for (blocks, seconds) in [(1, 4.0), (2, 3.0), (4, 5.0)] {
        known.paper.measured.insert((Experiment::Blocks, blocks), seconds);
    }
    assert_eq!(verdict(&known, "deep model costs less"), Some(Verdict::Fails));
    let folder = tempfile::tempdir().unwrap();
    paper::write(folder.path(), &known).unwrap();
    let at = |name: &str| folder.path().join("tables").join(name);
    for name in ["table2.md", "table2.csv", "table2.json", "tests.csv", "times.json", "claims.md"] {
        assert!(at(name).is_file(), "{name}");
    }
    assert!(!at("table3.md").exists(), "nothing to say there");
    // Every digit: programs read these back.
    let csv = std::fs::read_to_string(at("table2.csv")).unwrap();
    let none: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(none[4].parse::<f64>().unwrap(), tables(&known).0[0].ours.mean, "{csv}");
}

#[test]
fn tables_1_and_4_are_two_tables() {
    let mut known = Known::default();
    known.paper.statistics = vec![statistics("NCI1", "none", 1), statistics("NCI1", "ndp", 3)];
    let folder = tempfile::tempdir().unwrap();
    paper::write(folder.path(), &known).unwrap();
    let read = |name: &str| -> serde_json::Value {
        let text = std::fs::read(folder.path().join("tables").join(name)).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let (datasets, levels) = (read("table1.json"), read("table4.json"));
    assert_eq!((datasets.as_array().unwrap().len(), levels.as_array().unwrap().len()), (1, 3));
    assert_eq!(datasets[0]["paper"]["graphs"], 4110);
    assert_eq!((&levels[1]["pool"], &levels[1]["level"]), (&"ndp".into(), &1.into()));
    assert_eq!(levels[1]["paper"]["vertices"], 15.2);
}
