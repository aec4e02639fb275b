//! Charts: the same bytes as those that were looked at (see `pictures.rs`), and
//! what is computed for them.

use std::ops::ControlFlow::Continue;

use stepwell::config::{ModelConfig, Pool, Recurrence};
use stepwell::pyramid::Pyramid;
use stepwell::rng::Stream;
use stepwell::targets::Targets;
use stepwell_data::Dataset;
use stepwell_data::synthetic::{self, BenchmarkOptions};
use stepwell_lab::paper::bound::{RADII, sweeps};
use stepwell_lab::paper::embeddings::{self, cloud};
use stepwell_lab::picture::figures::{
    BarGroup, Cloud, CloudRow, Field, Line, LinePanel, RatioRow, Spot, bars, benchmark, clouds, frontier,
    lines, ratios,
};
use stepwell_lab::results::POOLS;

use super::pictures::check;

#[test]
fn bars_with_grey_ones_behind() {
    check("bars.svg", || {
        let group = |name: &str, bars: [Option<f64>; 4]| BarGroup {
            name: name.to_owned(),
            bars,
            behind: Some([Some(30.0), Some(20.0), None, Some(44.5)]),
        };
        let groups = [
            group("NCI1", [Some(10.0), Some(25.0), None, Some(70.0)]),
            group("nothing", [None; 4]),
            BarGroup { name: "alone".to_owned(), bars: [Some(0.0), Some(0.012), None, None], behind: None },
        ];
        bars("Accuracy per second", "Points per second", "3 blocks", "2 blocks", &groups)
    });
}

fn spots(seed: u64) -> Vec<Spot> {
    let mut stream = Stream::new(seed, "spots", [0, 0]);
    let mut spots = Vec::new();
    for pool in POOLS.iter().chain(&["kmis"]) {
        for blocks in [2, 3] {
            let (seconds, accuracy) = (stream.uniform_in(0.05, 0.4), stream.uniform_in(60.0, 75.0));
            spots.push(Spot { pool: (*pool).to_owned(), blocks, seconds, accuracy, is_papers: false });
            let (seconds, accuracy) = (stream.uniform_in(3.0, 9.0), stream.uniform_in(60.0, 75.0));
            spots.push(Spot { pool: (*pool).to_owned(), blocks, seconds, accuracy, is_papers: true });
        }
    }
    spots
}

#[test]
fn fields_with_their_fronts() {
    let field = |name: &str, seed| Field { name: name.to_owned(), spots: spots(seed) };
    check("front.svg", || frontier("NCI1: accuracy against time", &[field("NCI1", 1)], 1));
    check("fronts.svg", || {
        let fields: Vec<Field> = (0..5).map(|index| field(&format!("dataset {index}"), index)).collect();
        frontier("Accuracy against time", &fields, 4)
    });
}

#[test]
fn ratios_beside_the_papers() {
    check("ratios.svg", || {
        let row = |dataset: &str, pool: &str, blocks, ours, paper| RatioRow {
            dataset: dataset.to_owned(),
            pool: pool.to_owned(),
            blocks,
            ours,
            paper,
        };
        let rows = [
            row("NCI1", "graclus", 2, Some(1.2), Some(0.9)),
            row("NCI1", "ndp", 2, Some(2.0), Some(1.1)),
            row("REDDIT-BINARY", "nmf", 2, Some(0.4), None),
            row("REDDIT-BINARY", "ndp", 3, Some(4.1), Some(3.2)),
        ];
        ratios("Time without pooling over time with it", &rows)
    });
}

#[test]
fn lines_in_panels() {
    check("lines.svg", || {
        let line = |name: &str, factor: f64| Line {
            name: name.to_owned(),
            points: (1..6).map(|x| (f64::from(x) * 1000.0, factor * f64::from(x * x))).collect(),
        };
        let panel = |heading: &str, x_is_log| LinePanel {
            heading: heading.to_owned(),
            x_label: "vertices".to_owned(),
            x_is_log,
            y_label: "seconds".to_owned(),
            lines: vec![line("bound", 3.0), line("measured", 0.5)],
        };
        lines("How it grows", &[panel("as it is", false), panel("in powers", true)])
    });
}

#[test]
fn clouds_side_by_side() {
    let mut stream = Stream::new(1, "cloud tests", [0, 0]);
    let mut cloud = |name: &str| Cloud {
        name: name.to_owned(),
        points: (0..120)
            .map(|graph| [stream.normal() + 4.0 * f64::from(graph % 3), stream.normal()])
            .chain([[1e6, 0.0]])
            .collect(),
    };
    let row = |name: &str, clouds, names: [&str; 3]| CloudRow {
        name: name.to_owned(),
        classes: names.map(str::to_owned).to_vec(),
        of: (0..121).map(|graph| graph % 3).collect(),
        clouds,
    };
    let rows = [
        row("b-easy", vec![cloud("none"), cloud("ndp")], ["0", "1", "2"]),
        row("ENZYMES", vec![cloud("none"), cloud("ndp")], ["1", "1", "2"]),
    ];
    check("clouds.svg", || clouds("Embeddings", &rows));
    assert!(clouds("Embeddings", &rows).svg.contains("none (1 outside)"), "the one far off is told");
}

fn small(graphs_per_class: usize) -> Dataset {
    let options = BenchmarkOptions { graphs_per_class, ..BenchmarkOptions::named("b-easy-small").unwrap() };
    synthetic::generate(&options).unwrap()
}

#[test]
fn the_benchmark_as_points_and_graphs() {
    check("benchmark.svg", || benchmark("The benchmark", &[small(1)]));
    // Nothing is known of places and classes.
    let bare = Dataset { targets: Targets::None, coordinates: None, ..small(1) };
    assert!(benchmark("", &[bare]).svg.ends_with("</svg>\n"));
}

#[test]
fn sweeps_keep_to_the_theorem() {
    let dataset = small(3);
    for recurrence in [Recurrence::Dense, Recurrence::Orthogonal] {
        let found: Vec<_> =
            RADII.iter().map(|&radius| sweeps(&dataset, recurrence, radius).unwrap()).collect();
        for (radius, found) in RADII.iter().zip(&found) {
            // The rule stops on the change, which takes one sweep more at most.
            assert!(found.bound.is_none_or(|bound| found.jacobi <= bound + 1.0), "{radius}: {found:?}");
            assert!(found.gauss_seidel < found.jacobi + 1.0, "{radius}: {found:?}");
        }
        let bounds = found.iter().filter_map(|found| found.bound);
        assert!(bounds.is_sorted(), "slower contraction, more sweeps");
        let certain = found.iter().filter(|found| found.bound.is_some()).count();
        match recurrence {
            Recurrence::Orthogonal => assert_eq!(certain, RADII.len(), "norms are radii"),
            _ => assert!((3..7).contains(&certain), "norms of dense weights are nearly twice their radii"),
        }
    }
}

#[test]
fn graphs_become_points_by_every_architecture() {
    let dataset = small(10);
    for pool in [Pool::None, Pool::Ndp] {
        let config = ModelConfig { units: 12.into(), ..embeddings::config(pool) };
        let pyramid = match config.pooling() {
            Some(pooling) => pooling.coarsen(&dataset.graphs, config.levels(), |_| Continue(())).unwrap(),
            None => Pyramid::default(),
        };
        let found = cloud(&dataset, &pyramid, config, |_| Continue(())).unwrap();
        assert_eq!(found.points.len(), 30);
        // Within classes, points vary by 1 along discriminants.
        let (of, _) = dataset.targets.classes().unwrap();
        for axis in 0..2 {
            let within: f64 = (0..3)
                .map(|class| {
                    let values: Vec<f64> =
                        (0..30).filter(|&g| of[g] == class).map(|g| found.points[g][axis]).collect();
                    let mean = values.iter().sum::<f64>() / values.len() as f64;
                    values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>()
                })
                .sum();
            assert!((within / 30.0 - 1.0).abs() < 1e-6, "{within}");
        }
    }
    let bare = Dataset { targets: Targets::None, ..dataset };
    let refused = cloud(&bare, &Pyramid::default(), ModelConfig::default(), |_| Continue(())).unwrap_err();
    assert!(refused.to_string().contains("one with classes"), "{refused}");
}
