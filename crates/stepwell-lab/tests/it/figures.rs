//! Charts: bit-identical to the reviewed ones (see `pictures.rs`), and the values computed for
//! them.

use std::ops::ControlFlow::Continue;

use stepwell::config::{ModelConfig, Pool, Recurrence};
use stepwell::pyramid::Pyramid;
use stepwell::rng::Stream;
use stepwell::targets::Targets;
use stepwell_data::Dataset;
use stepwell_data::synthetic::{self, BenchmarkOptions};
use stepwell_lab::paper::bound::{RADII, sweeps};
use stepwell_lab::paper::embeddings::{self, cloud};
use stepwell_lab::picture::Picture;
use stepwell_lab::picture::figures::{
    Against, BarGroup, Cloud, CloudRow, Confusion, Curve, Field, Line, LinePanel, RatioRow, Spot, against,
    bars, benchmark, calibration, clouds, confusion, frontier, lines, precision_recall, ratios, roc,
};
use stepwell_lab::results::POOLS;

use super::pictures::{check, hostile};

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
    // Without coordinates and classes.
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
            // The iteration stops on the change, which takes at most one more sweep.
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
        // Within classes, points have standard deviation 1 along discriminants.
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

/// Scores that are positive more often if higher; `sharp` sets how much more often.
fn scored(seed: u64, count: usize, sharp: f64) -> (Vec<f64>, Vec<bool>) {
    let mut stream = Stream::new(seed, "scored", [0, 0]);
    let draw = |_| {
        let logit = stream.normal() * sharp - 1.0;
        let probability = 1.0 / (1.0 + (-logit).exp());
        (probability, stream.uniform() < probability)
    };
    (0..count).map(draw).unzip()
}

/// Checks that a picture contains all these parts and its key, and leaves no element open.
fn says(picture: &Picture, parts: &[&str]) {
    for part in parts.iter().chain(&["<title>", "<desc>", "class=\"legend\""]) {
        assert!(picture.svg.contains(part), "{part}");
    }
    assert!(
        picture.svg.ends_with("</svg>\n") && !picture.svg.contains("NaN") && !picture.svg.contains("inf ")
    );
}

#[test]
fn curves_of_several_targets() {
    let data: Vec<(Vec<f64>, Vec<bool>)> =
        (0..3).map(|seed| scored(seed, 150, 0.5 + 1.5 * seed as f64)).collect();
    let names = ["NR-AhR", "a target with a rather long name", "SR-p53"];
    let curves: Vec<Curve<'_>> =
        data.iter().zip(names).map(|((scores, positive), name)| Curve { name, scores, positive }).collect();
    check("roc.svg", || roc("ROC curves", &curves));
    check("precision_recall.svg", || precision_recall("Precision and recall", &curves));
    says(&roc("", &curves), &["mean area under the curve 0.", "SR-p53: 0.", " positive</text>", "chance"]);
    says(&precision_recall("", &curves), &["mean average precision 0.", "SR-p53: 0.", "base rate 0."]);
    let alone = Curve { name: "", scores: &[0.9, 0.5, 0.1], positive: &[true, false, false] };
    says(&roc("", &[alone]), &[">area under the curve 1.000</text>", ">1.000, 1 positive</text>"]);
    says(&precision_recall("", &[alone]), &[">1.000, base rate 0.333</text>"]);
}

#[test]
fn long_curves_stay_small() {
    let (scores, positive) = scored(5, 200_000, 1.0);
    let curve = Curve { name: "all", scores: &scores, positive: &positive };
    for picture in [roc("", &[curve]), precision_recall("", &[curve]), calibration("", &curve)] {
        assert!(picture.svg.len() < 16_000, "{}", picture.svg.len());
    }
    let found: Vec<f64> = scores.iter().map(|score| score * 1.1).collect();
    let intervals = Some((scores.as_slice(), found.as_slice()));
    let picture = against("", &Against { expected: &scores, found: &found, intervals });
    assert!(picture.svg.len() < 60_000, "{}", picture.svg.len());
}

#[test]
fn probabilities_against_what_came_of_them() {
    let (scores, positive) = scored(7, 600, 1.6);
    let curve = Curve { name: "", scores: &scores, positive: &positive };
    check("calibration.svg", || calibration("Calibration", &curve));
    says(&calibration("", &curve), &["expected calibration error 0.0", "600 probabilities", "95 % interval"]);
    assert_eq!(calibration("", &curve).svg.matches("\nobserved ").count(), 10, "a mark for each bin");
}

#[test]
fn classes_taken_for_others() {
    let drawn = |classes: usize, count: usize| {
        let mut stream = Stream::new(classes as u64, "confusion", [0, 0]);
        let names: Vec<String> = (0..classes).map(|class| format!("class {class}")).collect();
        let expected: Vec<usize> =
            (0..count).map(|_| stream.below(classes).min(stream.below(classes))).collect();
        let found: Vec<usize> = expected
            .iter()
            .map(|&class| if stream.uniform() < 0.7 { class } else { stream.below(classes) })
            .collect();
        confusion("Confusion matrix", &Confusion { names: &names, expected: &expected, found: &found })
    };
    check("confusion.svg", || drawn(3, 90));
    check("confusions.svg", || drawn(30, 4000));
    says(&drawn(2, 40), &[" of 40 right (", "true class 0\npredicted class 1\n"]);
    says(&drawn(30, 4000), &["others", "the 12 largest classes"]);
    assert_eq!(drawn(30, 4000).svg.matches("\npredicted ").count(), 13 * 13);
}

#[test]
fn numbers_against_predicted_ones() {
    let mut stream = Stream::new(3, "against", [0, 0]);
    let expected: Vec<f64> = (0..2500).map(|_| 1e4 * stream.normal()).collect();
    let found: Vec<f64> = expected.iter().map(|value| value + 3e3 * stream.normal()).collect();
    let lower: Vec<f64> = found.iter().map(|value| value - 5e3).collect();
    let upper: Vec<f64> = found.iter().map(|value| value + 5e3).collect();
    let some = |count: usize| Against {
        expected: &expected[..count],
        found: &found[..count],
        intervals: Some((&lower[..count], &upper[..count])),
    };
    check("against.svg", || against("Predicted against true", &some(60)));
    check("against_many.svg", || {
        against("Predicted against true", &Against { intervals: None, ..some(2500) })
    });
    says(&against("", &some(60)), &["% hold the true value", "60 predictions"]);
    // Errors of 0.3 standard deviations leave 0.09 of the variance.
    says(&against("", &some(2500)), &[">RMSE 3", ", R² 0.9", "2500 predictions"]);
    let far = Against { expected: &[1.0, 2.0, 3.0], found: &[1.0, 2.0, 1e12], intervals: None };
    says(&against("", &far), &["1 outside the plot"]);
}

#[test]
fn nothing_to_draw_is_said() {
    let curve = |scores: &'static [f64], positive: &'static [bool]| Curve { name: "x", scores, positive };
    for curves in [vec![], vec![Curve::default()], vec![curve(&[0.5], &[false]); 2]] {
        says(&roc("", &curves), &["no curve without positives and negatives"]);
        says(&precision_recall("", &curves), &["no curve without positives"]);
    }
    says(&roc("", &[curve(&[0.5; 3], &[true, false, true])]), &["x: 0.500, 2 positive"]);
    says(&roc("", &[curve(&[0.1, 0.2], &[true; 2])]), &["x: none, 2 of 2 positive"]);
    says(&calibration("", &Curve::default()), &["no predictions"]);
    says(&calibration("", &curve(&[0.25], &[true])), &["expected calibration error 0.750"]);
    says(&calibration("", &curve(&[1.0, 0.0, 1.0], &[true; 3])), &["expected calibration error 0.333"]);
    says(&confusion("", &Confusion::default()), &["no predictions"]);
    says(&against("", &Against::default()), &["no predictions"]);
    let far = [f64::INFINITY, 1.0];
    for (expected, found, words) in
        [([2.0, 2.0], [2.0, 2.0], "RMSE"), ([0.0, 1.0], far, "1 outside the plot")]
    {
        says(&against("", &Against { expected: &expected, found: &found, intervals: None }), &[words]);
    }
    // Lists of different lengths: items without a counterpart are ignored.
    says(&roc("", &[curve(&[0.5, 0.6, 0.7], &[true, false])]), &["x: 0.000, 1 positive"]);
    says(&against("", &Against { expected: &[1.0], found: &[], intervals: None }), &["no predictions"]);
    says(&confusion("", &Confusion { names: &[], expected: &[0, 1], found: &[0] }), &["1 of 1 right"]);
}

#[test]
fn hostile_names_of_targets_and_classes_stay_names() {
    let names: Vec<String> = (0..4).map(hostile).collect();
    let (scores, positive) = scored(1, 30, 1.0);
    let curves: Vec<Curve<'_>> =
        names.iter().map(|name| Curve { name, scores: &scores, positive: &positive }).collect();
    let classes: Vec<usize> = (0..40).map(|graph| graph % 4).collect();
    let matrix = Confusion { names: &names, expected: &classes, found: &classes };
    let pictures =
        [roc(&names[0], &curves), precision_recall(&names[1], &curves), confusion(&names[2], &matrix)];
    for picture in pictures {
        assert!(!picture.svg.contains("<script") && !picture.svg.contains("<!--"));
        assert!(picture.svg.matches(&"x".repeat(100)).count() * 100 < 20_000);
    }
}
