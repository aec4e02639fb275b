//! Pages of invented runs: complete, explicit about missing results, and safe against hostile
//! names.

use std::collections::{BTreeMap, BTreeSet};

use stepwell::config::Metric;
use stepwell_data::synthetic::{self, BenchmarkOptions};
use stepwell_data::{LevelSummary, Summary};
use stepwell_lab::metrics::Values;
use stepwell_lab::paper::{self, Experiment, PaperFigure, Statistics, charts, reproduction};
use stepwell_lab::picture::figures::{
    Cloud, CloudRow, Confusion, Curve, calibration, clouds, confusion, roc,
};
use stepwell_lab::picture::page::Page;
use stepwell_lab::report::{Architecture, Demo, Machine, Provenance, evaluation, judged_section};
use stepwell_lab::results::POOLS;
use stepwell_lab::run::{CellKey, FoldResult, Known};

use super::pictures::hostile;
use super::tables::{cell, key, known};

fn provenance() -> Provenance {
    Provenance {
        command: "stepwell reproduce --out 'a <b>'".into(),
        version: "1.2.3".into(),
        date: "2001-02-03".into(),
        machine: Machine {
            processor: Some("A & B".into()),
            cores: 4,
            memory_bytes: Some(1 << 34),
            system: "x".into(),
        },
    }
}

/// Checks that all elements are closed in order, that no anchor occurs twice, that all links
/// resolve, and that nothing is loaded from outside.
pub fn check_html(html: &str) {
    assert!(html.starts_with("<!DOCTYPE html>\n"));
    let (mut open, mut ids, mut links) = (Vec::new(), BTreeSet::new(), Vec::new());
    let mut rest = &html["<!DOCTYPE html>\n".len()..];
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "before {}", &rest[..rest.len().min(80)]);
            continue;
        }
        let name = tag.split([' ', '\n', '/']).next().unwrap();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "<{tag}>");
        let mut attributes = tag[name.len()..].trim_end_matches('/').trim();
        let mut seen = BTreeSet::new();
        while !attributes.is_empty() {
            let Some((attribute, more)) = attributes.split_once("=\"") else {
                assert!(["hidden", "open"].contains(&attributes), "<{tag}>");
                break;
            };
            let (value, more) = more.split_once('"').expect("a value ends");
            assert!(seen.insert(attribute), "{attribute} twice in <{tag}>");
            match attribute {
                "id" => assert!(ids.insert(value.to_owned()), "{value} is there twice"),
                "href" if value.starts_with('#') => links.push(value[1..].to_owned()),
                "href" => assert_eq!(value, "data:,"),
                "src" | "srcset" | "onclick" | "style" => unreachable!("<{tag}>"),
                _ => {}
            }
            attributes = more.trim();
        }
        if name == "style" || name == "script" {
            let end = rest.find(&format!("</{name}>")).unwrap();
            assert!(!rest[..end].contains("url("));
            rest = &rest[end..];
        }
        if !["meta", "link"].contains(&name) && !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for link in links {
        assert!(ids.contains(&link), "{link} is nowhere");
    }
    assert_eq!(html.matches("<script").count(), 1);
}

pub fn statistics(dataset: &str, pool: &str, levels: usize) -> Statistics {
    let level = |level: usize| LevelSummary {
        level,
        avg_vertices: 30.0 / (level + 1) as f64,
        avg_padded_vertices: None,
        avg_edges: 32.0,
        avg_nnz: 64.0,
        rho: Some(1.0),
        bipartite: 0.5,
    };
    let summary = Summary {
        dataset: dataset.into(),
        graphs: 4110,
        classes: Some(2),
        avg_vertices: 30.0,
        avg_edges: 32.0,
        avg_nnz: 64.0,
        self_loops: 0,
        node_labels: 37,
        attributes: 0,
        carried: None,
        targets: Vec::new(),
        untargeted: 0,
        levels: (0..levels).map(level).collect(),
    };
    Statistics { pool: pool.into(), summary }
}

/// A run with everything finished, or started.
fn whole() -> Known {
    let mut known = known();
    for (index, pool) in POOLS.iter().enumerate() {
        let state = cell(&[0.6, 0.62 + 0.01 * index as f64], 1.0, 3.0, 2.0);
        known.cells.insert(key("NCI1", pool, 3), state);
    }
    for (model, accuracy) in [("majority", 0.5), ("wl", 0.8)] {
        let key = CellKey { model: model.into(), ..key("NCI1", "none", 0) };
        known.cells.insert(key, cell(&[accuracy, accuracy], 0.1, 0.1, 0.0));
    }
    // An unfinished cell: 1 of 300 passes.
    let mut begun = cell(&[], 0.0, 0.0, 0.0);
    begun.all_units = 300;
    known.cells.insert(key("COLLAB", "nmf", 3), begun);
    known.paper.statistics = vec![statistics("NCI1", "none", 1), statistics("NCI1", "ndp", 3)];
    known.paper.measured = [((Experiment::Vertices, 100), 0.1), ((Experiment::Vertices, 1000), 1.0)].into();
    known
}

fn drawn() -> BTreeMap<PaperFigure, String> {
    let row = CloudRow {
        name: "b-easy".into(),
        classes: vec!["0".into()],
        of: vec![0; 3],
        clouds: vec![Cloud { name: "none".into(), points: vec![[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]] }],
    };
    [(PaperFigure::Embeddings, clouds("Embeddings", &[row]).svg)].into()
}

#[test]
fn a_page_is_whole_and_always_the_same() {
    let page = reproduction(&whole(), &provenance(), &drawn());
    check_html(&page);
    assert_eq!(page, reproduction(&whole(), &provenance(), &drawn()));
    for part in [
        // 71.0 here, 70.4 ± 0.8 in the paper.
        "<td class=\"number\" data-value=\"71\">71.0 ± 1.0</td>",
        "70.4 ± 0.8",
        "▲ +0.6",
        // 65.0 with NDP, 67.4 ± 1.2 in the paper: below the tolerance.
        "<td class=\"number below\" data-value=\"-2.4",
        "▼ −2.4",
        // Missing results are reported.
        "1 of 300",
        ">missing</td>",
        "out of memory",
        "not in this run: b-easy",
        "stepwell reproduce --out &#39;a &lt;b&gt;&#39;",
        "A &amp; B",
        "16.0 GiB",
        "<dt>seeds</dt><dd>0</dd>",
        "id=\"dataset-nci1\"",
        "does not hold",
        "Weisfeiler",
        "Accuracy against time",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("Missing so far: COLLAB none L=2"), "what was not begun is missing too");
}

#[test]
fn nothing_known_is_a_page_too() {
    check_html(&reproduction(&Known::default(), &Provenance::default(), &BTreeMap::new()));
    check_html(&evaluation(&Known::default(), &Provenance::default()));
    assert!(charts(&Known::default()).is_empty());
}

#[test]
fn charts_are_files_of_their_own() {
    let names: Vec<String> = charts(&whole()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "accuracy-time.svg",
            "accuracy-per-second-2.svg",
            "accuracy-per-second-3.svg",
            "time-ratios.svg",
            "growth.svg"
        ]
    );
}

#[test]
fn hostile_names_stay_names() {
    let mut known = Known::default();
    for index in 0..9 {
        let name = hostile(index);
        known.paper.statistics.push(statistics(&name, "none", 1));
        for pool in POOLS {
            known.cells.insert(key(&name, pool, 2), cell(&[0.5, 0.6], 1.0, 2.0, 0.5));
        }
    }
    let model = CellKey { model: hostile(0), ..key(&hostile(0), &hostile(1), 7) };
    known.cells.insert(model, cell(&[0.1], 1.0, 1.0, 1.0));
    for page in [reproduction(&known, &provenance(), &BTreeMap::new()), evaluation(&known, &provenance())] {
        check_html(&page);
        assert!(page.contains("&lt;script&gt;"));
        assert!(!page.contains(&"x".repeat(700)), "names are cut");
    }
}

#[test]
fn numbers_that_are_predicted_have_errors() {
    let mut known = Known::default();
    let mut state = cell(&[0.0, 0.0], 1.0, 2.0, 0.0);
    for (fold, result) in state.folds.iter_mut() {
        let values: Values = [(Metric::Mae, 0.5 + *fold as f64), (Metric::R2, 0.25)].into_iter().collect();
        *result = FoldResult { quality: values.into(), ..Default::default() };
    }
    known.cells.insert(key("heights", "none", 2), state);
    let page = evaluation(&known, &provenance());
    check_html(&page);
    assert!(page.contains(">1.0000 ± 0.5000</td>") && page.contains(">0.250 ± 0.000</td>"), "of both folds");
}

#[test]
fn the_paper_s_whole_set_stays_small() {
    let mut known = Known::default();
    for dataset in paper::datasets() {
        for pool in POOLS {
            known.paper.statistics.push(statistics(dataset, pool, 3));
            for blocks in [2, 3] {
                known
                    .cells
                    .insert(key(dataset, pool, blocks), cell(&[0.5, 0.6, 0.55, 0.7, 0.5], 1.0, 2.0, 0.5));
            }
        }
    }
    let row = |classes: usize| CloudRow {
        name: "b-easy".into(),
        classes: (0..classes).map(|class| class.to_string()).collect(),
        of: (0..1800).map(|graph| graph % classes).collect(),
        clouds: POOLS
            .map(|pool| Cloud {
                name: pool.into(),
                points: (0..1800).map(|graph| [f64::from(graph).sin(), f64::from(graph).cos()]).collect(),
            })
            .to_vec(),
    };
    let rows = [row(3), row(3), row(6), row(3)];
    let drawn = [(PaperFigure::Embeddings, clouds("Embeddings", &rows).svg)].into();
    let page = reproduction(&known, &provenance(), &drawn);
    check_html(&page);
    assert!(page.len() < 2_500_000, "{}", page.len());
}

#[test]
fn a_demonstration_is_shown() {
    let options =
        BenchmarkOptions { graphs_per_class: 2, ..BenchmarkOptions::named("b-easy-small").unwrap() };
    let dataset = synthetic::generate(&options).unwrap();
    let architecture = |pool: &str| Architecture {
        pool: pool.into(),
        accuracy_mean: 0.925,
        accuracy_std: 0.01,
        coarsen_seconds: 0.5,
        embed_seconds: 0.25,
        accuracy_per_second: 3.7,
        levels: vec![LevelSummary::of(0, &dataset.graphs)],
        ..Architecture::default()
    };
    let (of, classes) = dataset.targets.classes().unwrap();
    let points = (0..6).map(|graph| [f64::from(graph), 0.0]).collect();
    let demo = Demo {
        dataset: &dataset,
        words: "six <graphs>".into(),
        blocks: 3,
        architectures: &POOLS.map(architecture),
        embeddings: CloudRow {
            name: dataset.name.clone(),
            classes,
            of,
            clouds: vec![Cloud { name: "none".into(), points }],
        },
    };
    let page = demo.html(&provenance());
    check_html(&page);
    // 92.5 points in a quarter of a second.
    assert!(page.contains("92.5 ± 1.0") && page.contains(">370</td>") && page.contains("six &lt;graphs&gt;"));
}

#[test]
fn pictures_of_predictions_are_a_section() {
    let curve = Curve { name: "<b>", scores: &[0.9, 0.2, 0.4], positive: &[true, false, true] };
    let figures = [
        (roc("ROC <curves>", &[curve]), "Pooled over <folds>.".to_owned()),
        (calibration("Calibration", &curve), String::new()),
        (confusion("Classes", &Confusion { names: &[], expected: &[0, 1], found: &[1, 1] }), String::new()),
    ];
    let mut page = Page::new("Evaluation");
    judged_section(&mut page, "predictions", "How good predictions are", &figures);
    judged_section(&mut page, "none", "Nothing", &[]);
    let page = page.finish();
    check_html(&page);
    for part in [
        "<h2 id=\"predictions\">How good predictions are</h2>",
        "<h3>ROC &lt;curves&gt;</h3>",
        "<figcaption>Pooled over &lt;folds&gt;.</figcaption>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<figure ").count(), 3);
    assert!(!page.contains("Nothing"));
}

#[test]
fn only_whole_drawings_are_taken_from_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let write =
        |figure: PaperFigure, text: &str| std::fs::write(folder.path().join(figure.file()), text).unwrap();
    assert!(PaperFigure::read(folder.path()).is_empty());
    write(PaperFigure::Bound, "<svg >half");
    write(PaperFigure::Benchmark, "<svg ><script>alert(1)</script></svg>\n");
    let [drawing] = drawn().into_values().collect::<Vec<_>>().try_into().unwrap();
    write(PaperFigure::Embeddings, &drawing);
    assert_eq!(PaperFigure::read(folder.path()), drawn());
}
