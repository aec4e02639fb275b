use proptest::prelude::*;
use stepwell::graph::{BatchBuilder, EdgeList};
use stepwell::rng::Stream;
use stepwell::targets::{Labels, Targets};

use super::*;
use crate::dataset::{Dataset, Known, Part, Vertices};
use crate::{Result, jsonl};

/// A file that `testdata/rows/make.py` wrote.
pub(crate) fn fixture(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rows").join(name)
}

/// The fixture graphs from their formulas: graph g is a path of `sizes[g]` vertices.
pub(crate) fn fixture_dataset(sizes: &[usize]) -> Dataset {
    let mut dataset = Dataset::default();
    let mut builder = BatchBuilder::default();
    for (g, &n) in sizes.iter().enumerate() {
        let edges = n.saturating_sub(1);
        let vertices = 0..n;
        let weights: Vec<f64> = (0..edges).map(|e| (e + 1) as f64 / 4.0).collect();
        let edge_labels: Vec<i32> = (0..edges).map(|e| e as i32 % 3).collect();
        let edge_attributes: Vec<f64> = (0..edges).flat_map(|e| [e as f64 / 2.0, g as f64]).collect();
        let labels: Vec<i32> = vertices.clone().map(|v| (7 * v + g) as i32 % 5).collect();
        let attributes: Vec<f64> = vertices.clone().flat_map(|v| [v as f64, 2.0 * g as f64, 1.0]).collect();
        let sources: Vec<u32> = (0..edges as u32).collect();
        let targets: Vec<u32> = (0..edges as u32).map(|e| e + 1).collect();
        let list = EdgeList {
            weights: Some(&weights),
            edge_labels: Some((&edge_labels, 1)),
            edge_attributes: Some((&edge_attributes, 2)),
            vertex_labels: Some((&labels, 1)),
            vertex_attributes: Some((&attributes, 3)),
            directed: g % 2 == 1,
            ..EdgeList::new(n, &sources, &targets)
        };
        builder.push(&list).unwrap();
        dataset.ids.get_or_insert_default().push(format!("g{g} \"é\\"));
        dataset.parts.get_or_insert_default().push(Part::NAMES[g % 3].0);
        dataset.coordinates.get_or_insert_default().extend(vertices.map(|v| [v as f64, v as f64 / 2.0]));
    }
    Dataset { graphs: builder.finish(), ..dataset }
}

/// A random dataset with every unusual but valid feature.
pub(crate) fn odd_dataset(seed: u64) -> Dataset {
    let mut draw = Stream::new(seed, "odd dataset", [0, 0]);
    let flag = |purpose| Stream::new(seed, purpose, [1, 0]).below(2) == 1;
    let (weighted, labelled, mirrored) = (flag("weights"), flag("labels"), flag("mirrored"));
    let (edge_labelled, placed, named, split) = (flag("edges"), flag("pos"), flag("ids"), flag("split"));
    let exact = flag("exact in 32 bits");
    let width = draw.below(4).checked_sub(1);
    let edge_width = draw.below(4).checked_sub(1);
    let (label_width, edge_label_width) = (1 + draw.below(3), 1 + draw.below(3));
    let kind = draw.below(7);
    let graphs = draw.below(6);

    fn real(draw: &mut Stream, exact: bool) -> f64 {
        let odd = [0.0, -0.0, 0.1, 1e300, -5e-324, 3.0, f64::MAX, 1.0 / 3.0, 9007199254740993.0];
        match draw.below(3) {
            0 if exact => [0.0, -0.0, 0.5, -3.0, f64::from(0.1f32), f64::from(f32::MAX)][draw.below(6)],
            0 => odd[draw.below(odd.len())],
            _ if exact => f64::from(draw.normal() as f32),
            _ => draw.normal(),
        }
    }
    fn label(draw: &mut Stream) -> i32 {
        [0, 1, -1, i32::MIN, i32::MAX, 7][draw.below(6)]
    }
    const TEXTS: [&str; 8] = ["", "a", "\"quoted\"", "back\\slash", "line\nend\u{0}", "Ünï ☃ 𝔤", "null", "3"];

    let mut dataset = Dataset { name: TEXTS[draw.below(8)].into(), ..Dataset::default() };
    let mut builder = BatchBuilder::default();
    for _ in 0..graphs {
        let n = draw.below(6);
        let directed = draw.below(3) == 0;
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        // The edge of each list item: both directions carry the same labels and attributes.
        let (mut edge_of, mut edges) = (Vec::new(), 0);
        for a in 0..n as u32 {
            for b in 0..n as u32 {
                let listed = draw.below(3) == 0 && (directed || a <= b);
                if listed {
                    let weight = real(&mut draw, exact).abs().min(1e150);
                    let both = !directed && a != b && !mirrored;
                    for (s, t) in [(a, b), (b, a)].into_iter().take(1 + usize::from(both)) {
                        sources.push(s);
                        targets.push(t);
                        edge_of.push(edges);
                        // The two directions may differ by rounding, and must both survive a round
                        // trip.
                        weights.push(if s > t { weight * (1.0 + 2.0 * f64::EPSILON) } else { weight });
                    }
                    edges += 1;
                }
            }
        }
        let mut labels = |count: usize| -> Vec<i32> { (0..count).map(|_| label(&mut draw)).collect() };
        let edge_labels = listed(&labels(edges * edge_label_width), edge_label_width, &edge_of);
        let labels = labels(n * label_width);
        let mut reals = |count: usize| -> Vec<f64> { (0..count).map(|_| real(&mut draw, exact)).collect() };
        let attributes = width.map(|width| (reals(n * width), width));
        let edge_attributes = edge_width.map(|width| (listed(&reals(edges * width), width, &edge_of), width));
        let list = EdgeList {
            weights: weighted.then_some(&weights),
            edge_labels: edge_labelled.then_some((&edge_labels, edge_label_width)),
            edge_attributes: edge_attributes.as_ref().map(|(values, width)| (&values[..], *width)),
            vertex_labels: labelled.then_some((&labels, label_width)),
            vertex_attributes: attributes.as_ref().map(|(values, width)| (&values[..], *width)),
            directed,
            ..EdgeList::new(n, &sources, &targets)
        };
        builder.push(&list).unwrap();
        if placed {
            let places = dataset.coordinates.get_or_insert_default();
            places.extend((0..n).map(|_| [real(&mut draw, false), real(&mut draw, exact)]));
        }
        if named {
            dataset.ids.get_or_insert_default().push(TEXTS[draw.below(8)].into());
        }
        if split {
            dataset.parts.get_or_insert_default().push(Part::NAMES[draw.below(3)].0);
        }
    }
    dataset.graphs = builder.finish();
    // The first item with labels determines how many labels each item has.
    if label_width > 1 && labelled && dataset.graphs.num_vertices() == 0
        || edge_label_width > 1 && edge_labelled && dataset.graphs.num_entries() == 0
    {
        dataset.graphs = dataset.graphs.bare();
    }
    dataset.targets = match kind {
        _ if graphs == 0 => Targets::None,
        0 => Targets::None,
        1 => Targets::integers((0..graphs).map(|_| [0, -1, i64::MIN, i64::MAX][draw.below(4)]).collect()),
        4 => Targets::Classes(Labels::Bool((0..graphs).map(|_| draw.below(2) == 0).collect())),
        5 | 6 => {
            // Numbers that are all 0 or 1 are read as binary targets.
            let (width, binary) = (2 + draw.below(3), kind == 5);
            let mut target = |at: usize| match draw.below(3) {
                _ if at < width => {
                    if binary {
                        1.0
                    } else {
                        0.5
                    }
                }
                _ if binary => draw.below(2) as f64,
                _ => real(&mut draw, exact),
            };
            let values = (0..graphs * width).map(&mut target).collect();
            let values = ndarray::Array2::from_shape_vec((graphs, width), values).unwrap();
            dataset.target_names = (0..width).map(|column| format!("t{column}")).collect();
            if binary { Targets::Binary(values) } else { Targets::Numbers(values) }
        }
        2 => Targets::Classes(Labels::Text((0..graphs).map(|_| TEXTS[draw.below(8)].into()).collect())),
        _ => Targets::numbers((0..graphs).map(|_| real(&mut draw, exact)).collect()),
    };
    dataset
}

/// The rows of a table in the order of a list, which may name them repeatedly.
fn listed<T: Copy>(values: &[T], width: usize, rows: &[usize]) -> Vec<T> {
    rows.iter().flat_map(|row| &values[row * width..(row + 1) * width]).copied().collect()
}

pub(crate) fn to_jsonl(dataset: &Dataset) -> Vec<u8> {
    let mut writer = jsonl::Writer::new(Vec::new(), Place::file("out.jsonl"));
    writer.write(dataset).unwrap();
    writer.finish().unwrap()
}

pub(crate) fn from_jsonl(bytes: &[u8]) -> Result<Dataset> {
    let place = Place::file("in.jsonl");
    Dataset::collect(jsonl::Reader::new(bytes, place.clone()), &place)
}

/// Checks that two datasets hold the same graphs and metadata.
pub(crate) fn assert_same(found: &Dataset, expected: &Dataset) {
    assert_eq!(found.graphs, expected.graphs);
    assert_eq!(found.targets, expected.targets);
    assert_eq!(found.ids, expected.ids);
    assert_eq!(found.parts, expected.parts);
    assert_eq!(found.coordinates, expected.coordinates);
}

/// Bytes with a few of them changed, removed, repeated or truncated.
pub(crate) fn mutate(valid: &[u8], draw: &mut Stream) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for _ in 0..1 + draw.below(3) {
        let at = draw.below(bytes.len().max(1));
        let end = (at + 1 + draw.below(16)).min(bytes.len());
        match draw.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at.min(end)..end)),
            2 => {
                let copy = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << draw.below(8)),
            4 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xff),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = draw.bits() as u8),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn json_lines_bring_back_what_was_written(seed: u64) {
        let dataset = odd_dataset(seed);
        assert_same(&from_jsonl(&to_jsonl(&dataset)).unwrap(), &dataset);
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn json_lines_and_parquet_bring_back_what_was_written(seed: u64) {
        use crate::parquet;
        let dataset = odd_dataset(seed);
        let again = from_jsonl(&to_jsonl(&dataset)).unwrap();
        let (name, target_names) = (dataset.name.clone(), dataset.target_names.clone());
        let again = Dataset { name, target_names, ..again };
        let place = Place::file("in.parquet");
        let bytes = parquet::write(Vec::new(), &again, &place).unwrap();
        let reader = parquet::Reader::new(bytes::Bytes::from(bytes), place.clone()).unwrap();
        let again = Dataset::collect(reader, &place).unwrap();
        assert_same(&again, &dataset);
        prop_assert_eq!(&again.target_names, &dataset.target_names);
        if !dataset.is_empty() {
            prop_assert_eq!(&again.name, &dataset.name);
        }
        let batch = parquet::to_record_batch(&dataset).unwrap();
        let again = parquet::Batches::new([Ok(batch.clone())], batch.schema_ref()).unwrap().whole().unwrap();
        prop_assert_eq!(&again, &dataset);
    }
}

#[test]
fn an_undirected_edge_is_listed_once_when_that_says_all() {
    let lines = |list: EdgeList<'_>| {
        let graphs = stepwell::graph::Graph::new(&list).unwrap().into_batch();
        String::from_utf8(to_jsonl(&Dataset { graphs, ..Dataset::default() })).unwrap()
    };
    let edges = EdgeList::new(2, &[0, 1, 1], &[1, 0, 1]);
    assert_eq!(
        lines(EdgeList { edge_labels: Some((&[5, 5, 6], 1)), ..edges }),
        "{\"num_nodes\":2,\"src\":[0,1],\"dst\":[1,1],\"edge_label\":[5,6]}\n"
    );
    assert_eq!(
        lines(EdgeList { edge_labels: Some((&[5, 0, 5, 0, 6, 1], 2)), ..edges }),
        "{\"num_nodes\":2,\"src\":[0,1],\"dst\":[1,1],\"edge_label\":[[5,0],[6,1]]}\n"
    );
    let rounded = 1.0 + 2.0 * f64::EPSILON;
    assert_eq!(
        lines(EdgeList { weights: Some(&[1.0, rounded, 2.0]), ..edges }),
        format!("{{\"num_nodes\":2,\"src\":[0,1,1],\"dst\":[1,0,1],\"weight\":[1.0,{rounded},2.0]}}\n")
    );
}

#[test]
fn what_rows_cannot_hold_is_refused_before_anything_is_written() {
    let whole = fixture_dataset(&[2, 3]);
    let check = |dataset: Dataset, expected: &str| {
        let error = check_writable(&dataset, &Place::file("out")).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(Dataset { ids: Some(vec![]), ..whole.clone() }, "out: expected 2 ids, one per graph, found 0");
    check(
        Dataset { targets: Targets::numbers(vec![1.0]), ..whole.clone() },
        "out: expected 2 targets, one per graph, found 1",
    );
    check(
        Dataset { coordinates: Some(vec![]), ..whole.clone() },
        "out: expected 5 coordinates, one per vertex, found 0",
    );
    check(
        Dataset { targets: Targets::numbers(vec![1.0, f64::INFINITY]), ..whole.clone() },
        "out: the target of graph 1 is inf; expected finite numbers",
    );
    let some = Known { rows: vec![1], targets: Targets::integers(vec![7, 8]) };
    check(
        Dataset { some_classes: Some(some), ..whole.clone() },
        "out: expected 1 targets, one per graph with a class, found 2",
    );
    check(
        Dataset { groups: Some(vec!["a".into()]), ..whole.clone() },
        "out: expected 2 groups, one per graph, found 1",
    );
    check(
        Dataset { groups: Some(vec!["a".into(); 2]), group_name: "src".into(), ..whole.clone() },
        "out: expected another name for the column of groups, found 'src', which describes the graph",
    );
    let bare = stepwell::graph::Graph::new(&EdgeList::new((1 << 20) + 1, &[], &[])).unwrap();
    check(
        Dataset { graphs: bare.into_batch(), ..Dataset::default() },
        "out, row 0: 'num_nodes', for the few numbers that the row lists, is 1048577, more than the limit of 1048576",
    );
    assert!(check_writable(&whole, &Place::file("out")).is_ok());
}

/// Graphs of one, two and three vertices with some vertex targets.
fn with_vertices(rows: Vec<usize>, targets: Targets, splits: Vec<Vec<Option<Part>>>) -> Dataset {
    let dataset = fixture_dataset(&[1, 2, 3]);
    Dataset { vertices: Some(Vertices { known: Known { rows, targets }, splits }), ..dataset }
}

/// Checks that vertex targets and splits are equal; NaN equals NaN.
fn assert_same_vertices(one: &Dataset, other: &Dataset) {
    let [one, other] = [one, other].map(|dataset| dataset.vertices.as_ref().unwrap());
    assert_eq!((&one.known.rows, &one.splits), (&other.known.rows, &other.splits));
    let bits = |targets: &Targets| match targets {
        Targets::Numbers(values) => ("numbers", values.dim(), values.iter().map(|x| x.to_bits()).collect()),
        Targets::Binary(values) => ("binary", values.dim(), values.iter().map(|x| x.to_bits()).collect()),
        _ => ("classes", (0, 0), Vec::new()),
    };
    let (mine, theirs) = (&one.known.targets, &other.known.targets);
    assert_eq!((bits(mine), mine.labels()), (bits(theirs), theirs.labels()));
}

#[test]
fn what_is_known_of_vertices_goes_through_formats() {
    let parts = [Some(Part::Train), None, Some(Part::Test), Some(Part::Validation), None, Some(Part::Train)];
    let nan = f64::NAN;
    let several = ndarray::array![[0.0, nan], [1.0, 1.0]];
    for (rows, targets) in [
        (vec![0, 3, 5], Targets::integers(vec![7, -1, 7])),
        (vec![1, 4], Targets::Classes(Labels::Bool(vec![true, false]))),
        (vec![2, 3], Targets::Classes(["a", "é"].into_iter().collect())),
        ((0..6).collect(), Targets::numbers(vec![0.5, -1.0, 2.0, 1e-9, 3.0, 4.5])),
        (vec![0, 5], Targets::Binary(several.clone())),
        (vec![0, 5], Targets::Numbers(several * 0.5)),
        (vec![], Targets::None),
    ] {
        for splits in [vec![], vec![parts.to_vec()], vec![parts.to_vec(), vec![None; 6], parts.to_vec()]] {
            if rows.is_empty() && splits.is_empty() {
                continue;
            }
            let dataset = with_vertices(rows.clone(), targets.clone(), splits);
            let text = to_jsonl(&dataset);
            let place = Place::file("in");
            let again = Dataset::collect(jsonl::Reader::new(&text[..], place.clone()), &place).unwrap();
            assert_same_vertices(&again, &dataset);
            #[cfg(feature = "parquet")]
            {
                let bytes = crate::parquet::write(Vec::new(), &dataset, &place).unwrap();
                let bytes = bytes::Bytes::from(bytes);
                let reader = crate::parquet::Reader::new(bytes, place.clone()).unwrap();
                let again = Dataset::collect(reader, &place).unwrap();
                assert_same_vertices(&again, &dataset);
            }
            // Graphs keep the targets and parts of their vertices.
            let turned = dataset.select(&[2, 0]).vertices.unwrap();
            let (offset, mine) = ([3, 4, 5, 0], dataset.vertices.as_ref().unwrap());
            let expected: Vec<usize> = (0..4).filter(|&v| mine.known.rows.contains(&offset[v])).collect();
            assert_eq!(turned.known.rows, expected);
            for (split, whole) in turned.splits.iter().zip(&mine.splits) {
                assert_eq!(*split, offset.map(|v| whole[v]));
            }
        }
    }
}

#[test]
fn what_is_wrong_with_vertices_is_said() {
    let check = |more: &str, expected: &str| {
        let text = format!("{{\"num_nodes\":2,\"src\":[0],\"dst\":[1],{more}}}\n");
        let place = Place::file("in");
        let read = Dataset::collect(jsonl::Reader::new(text.as_bytes(), place.clone()), &place);
        let error = read.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("\"node_y\":[1]", "expected 2 values in 'node_y', one per vertex, found 1");
    check(
        "\"node_y\":[1,\"a\"]",
        "expected a number for every vertex in 'node_y', as for those before, found a string",
    );
    check("\"node_y\":[[1],[1,2]]", "a list of one target for every vertex");
    check("\"node_y\":[[1],[\"x\"]]", "expected numbers in the lists of 'node_y'");
    check("\"node_y\":7", "'node_y'");
    check(
        "\"node_split\":[\"dev\",null]",
        "expected one of 'train', 'validation', 'test' or null in 'node_split', found 'dev'",
    );
    check(
        "\"node_split\":[[\"train\"],[]]",
        "expected 1 names in every list of 'node_split', found 0 for vertex 1",
    );
    check("\"node_split\":[\"train\"]", "expected 2 values in 'node_split'");
    let place = Place::file("in");
    let rows = "{\"num_nodes\":1,\"src\":[],\"dst\":[],\"node_y\":[1]}\n{\"num_nodes\":1,\"src\":[],\"dst\":[],\"node_y\":[\"a\"]}\n";
    let error = Dataset::collect(jsonl::Reader::new(rows.as_bytes(), place.clone()), &place).unwrap_err();
    assert!(error.to_string().contains("targets"), "{error}");
}
