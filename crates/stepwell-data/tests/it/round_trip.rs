//! Converts datasets from one format to another and back: nothing is lost.

use std::path::Path;

use proptest::prelude::*;
use stepwell::graph::{BatchBuilder, EdgeList};
use stepwell::targets::Targets;
use stepwell_data::{Dataset, catalog};

/// A graph that TU Dortmund text can hold, with every optional feature.
#[derive(Clone, Debug)]
struct Drawn {
    vertices: usize,
    edges: Vec<(u32, u32)>,
    numbers: Vec<i32>,
    reals: Vec<f64>,
}

fn graph() -> impl Strategy<Value = Drawn> {
    (0usize..7).prop_flat_map(|vertices| {
        let end = 0..vertices.max(1) as u32;
        // An edge listed twice would have to carry the same values both times.
        let edges = prop::collection::btree_set((end.clone(), end), 0..if vertices == 0 { 1 } else { 12 })
            .prop_map(|edges| {
                edges.iter().filter(|e| e.0 <= e.1 || !edges.contains(&(e.1, e.0))).copied().collect()
            });
        let reals = prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
        (Just(vertices), edges, prop::collection::vec(any::<i32>(), 60), prop::collection::vec(reals, 40))
            .prop_map(|(vertices, edges, numbers, reals)| Drawn { vertices, edges, numbers, reals })
    })
}

fn dataset() -> impl Strategy<Value = Dataset> {
    let flags = prop::array::uniform4(any::<bool>());
    let labels = (1usize..3, 1usize..4);
    (prop::collection::vec(graph(), 0..6), flags, prop::collection::vec(any::<i64>(), 8), 0..3, labels)
        .prop_map(
            |(
                mut graphs,
                [vertex_labels, vertex_attributes, edge_labels, edge_attributes],
                classes,
                kind,
                (of_vertex, of_edge),
            )| {
                // TU Dortmund text cannot end with a graph without vertices, and shows the width of edge
                // attributes only on an edge.
                graphs.push(Drawn {
                    vertices: 2,
                    edges: vec![(0, 1)],
                    numbers: vec![3; 60],
                    reals: vec![0.1; 40],
                });
                let mut builder = BatchBuilder::default();
                for drawn in &graphs {
                    let edges = if drawn.vertices == 0 { &[][..] } else { &drawn.edges[..] };
                    let sources: Vec<u32> = edges.iter().map(|e| e.0).collect();
                    let targets: Vec<u32> = edges.iter().map(|e| e.1).collect();
                    builder
                        .push(&EdgeList {
                            vertex_labels: vertex_labels
                                .then_some((&drawn.numbers[..of_vertex * drawn.vertices], of_vertex)),
                            vertex_attributes: vertex_attributes
                                .then_some((&drawn.reals[..3 * drawn.vertices], 3)),
                            edge_labels: edge_labels
                                .then_some((&drawn.numbers[20..20 + of_edge * edges.len()], of_edge)),
                            edge_attributes: edge_attributes
                                .then_some((&drawn.reals[10..10 + 2 * edges.len()], 2)),
                            ..EdgeList::new(drawn.vertices, &sources, &targets)
                        })
                        .unwrap();
                }
                let targets = match kind {
                    0 => Targets::None,
                    1 => Targets::integers(classes[..graphs.len()].to_vec()),
                    _ => Targets::numbers(graphs.iter().map(|g| g.reals[0]).collect()),
                };
                Dataset { name: "odd".into(), graphs: builder.finish(), targets, ..Dataset::default() }
            },
        )
}

fn through(dataset: &Dataset, folder: &Path, name: &str) -> Dataset {
    let path = folder.join(name);
    assert!(catalog::write(dataset, &path, false).unwrap().is_empty());
    catalog::read(&path).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tud_to_json_lines_to_parquet_to_tud(dataset in dataset()) {
        let folder = tempfile::tempdir().unwrap();
        let first = through(&dataset, folder.path(), "odd");
        prop_assert_eq!(&first.graphs, &dataset.graphs);
        prop_assert_eq!(&first.targets, &dataset.targets);
        let lines = through(&first, folder.path(), "odd.jsonl");
        let rows = through(&lines, folder.path(), "odd.parquet");
        let last = through(&rows, folder.path(), "odd.zip");
        for step in [&lines, &rows, &last] {
            prop_assert_eq!(&step.graphs, &first.graphs);
            prop_assert_eq!(&step.targets, &first.targets);
            prop_assert_eq!(&step.name, &first.name);
        }
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_unless_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = BatchBuilder::default();
    builder.push(&EdgeList { weights: Some(&[0.5]), ..EdgeList::new(2, &[0], &[1]) }).unwrap();
    let dataset = Dataset {
        graphs: builder.finish(),
        ids: Some(vec!["first".into()]),
        targets: Targets::Classes(["ring"].into_iter().collect()),
        ..Dataset::default()
    };
    let path = folder.path().join("out.zip");
    let error = catalog::write(&dataset, &path, false).unwrap_err().to_string();
    assert!(
        error.contains("edge weights") && error.contains("graph ids") && error.contains("--lossy"),
        "{error}"
    );
    assert!(!path.exists());
    assert_eq!(catalog::write(&dataset, &path, true).unwrap().len(), 3);
    assert_eq!(catalog::read(&path).unwrap().targets, Targets::integers(vec![0]));
    assert!(catalog::write(&dataset, &folder.path().join("out.npz"), false).is_err());
}
