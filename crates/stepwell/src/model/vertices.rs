//! Tests of models of vertices: rows satisfy the equations, and predictions come from these rows.

use std::ops::ControlFlow::Continue;

use ndarray::{Array2, Axis, s};

use super::tests::graphs;
use super::*;
use crate::config::{Alpha, Kernel, Pool, Precision, Preset};
use crate::features::{FeatureOptions, Inputs, StructuralFeature};
use crate::graph::{BatchBuilder, EdgeList, SparseRows};
use crate::readout::Coefficients;
use crate::readout::Moments;
use crate::rng::Stream;
use crate::targets::{Labels, Targets};

fn config() -> ModelConfig {
    let precision = Precision::F64;
    ModelConfig {
        blocks: 2,
        units: 7.into(),
        fixed_sweeps: Some(3),
        concat: true,
        precision,
        ..ModelConfig::preset(Preset::Vertices)
    }
}

fn rows(config: &ModelConfig, graphs: &GraphBatch) -> Array2<f64> {
    Model::fit(config.clone(), graphs).unwrap().embed(graphs, |_| Continue(())).unwrap().vectors
}

/// A class for every vertex that depends on its neighbours.
fn classes(graphs: &GraphBatch) -> Vec<i64> {
    let labels = &graphs.vertex_labels().unwrap().values;
    let mut classes = Vec::new();
    for graph in graphs.iter() {
        let first = graphs.vertex_offsets()[graph.index()];
        let of = |v: &u32| i64::from(labels[first + *v as usize]);
        classes.extend(
            (0..graph.num_vertices()).map(|v| i64::from(graph.neighbours(v).iter().map(of).sum::<i64>() > 0)),
        );
    }
    classes
}

#[test]
fn rows_are_own_inputs_and_the_states_after_every_sweep() {
    let graphs = graphs();
    for lift in [true, false] {
        let config = ModelConfig { lift, ..config() };
        let model = Model::fit(config.clone(), &graphs).unwrap();
        let found = model.embed(&graphs, |_| Continue(())).unwrap();
        assert_eq!(found.vectors.dim(), (graphs.num_vertices(), model.width()));
        assert_eq!(found.runs.nrows(), graphs.len());
        assert!(found.runs.iter().all(|run| run.sweeps == 3));
        let inputs = model.features.apply(&graphs).unwrap();
        let mut x = Vec::new();
        (0..graphs.num_vertices()).for_each(|vertex| inputs.extend_with_row(vertex, &mut x));
        let x = Array2::from_shape_vec((graphs.num_vertices(), inputs.width()), x).unwrap();
        // The equation itself, graph by graph, with dense matrices.
        for graph in graphs.iter() {
            let (n, first) = (graph.num_vertices(), graphs.vertex_offsets()[graph.index()]);
            let mut operator = Array2::zeros((n, n));
            for ((row, column, _), weight) in graph.entries().zip(graph.normalized_weights()) {
                operator[(row, column)] = weight;
            }
            let own = x.slice(s![first..first + n, ..]).to_owned();
            let mut columns = vec![own.clone()];
            let mut below = own;
            for block in &model.weights.stacks()[0] {
                let (w, v) = (&block[0].recurrent, &block[0].input);
                let mut state: Array2<f64> = Array2::zeros((n, w.ncols()));
                for _ in 0..3 {
                    state = (operator.dot(&state).dot(w) + below.dot(v)).mapv(f64::tanh);
                    columns.push(state.clone());
                }
                below = state;
            }
            let views: Vec<_> = columns.iter().map(|part| part.view()).collect();
            let expected = ndarray::concatenate(Axis(1), &views).unwrap();
            let off = (&found.vectors.slice(s![first..first + n, ..]) - &expected).mapv(f64::abs);
            assert!(off.iter().all(|off| *off < 1e-12), "{off}");
        }
    }
}

#[test]
fn some_rows_are_those_of_all() {
    let graphs = graphs();
    let model = Model::fit(config(), &graphs).unwrap();
    let prepared = model.prepare(&graphs, Pyramid::default(), || Continue(())).unwrap();
    let all = model.embed_prepared(&prepared, None, |_| Continue(())).unwrap();
    let chosen: Vec<usize> = (0..graphs.num_vertices()).filter(|v| v % 7 == 3 && v / 40 != 2).collect();
    let some = model.embed_prepared(&prepared, Some(&chosen), |_| Continue(())).unwrap();
    assert_eq!(some.vectors, all.vectors.select(Axis(0), &chosen));
    let refused = |rows: &[usize]| {
        model.embed_prepared(&prepared, Some(rows), |_| Continue(())).unwrap_err().to_string()
    };
    assert!(refused(&[3, 3]).contains("vertices to embed"), "{}", refused(&[3, 3]));
    assert!(refused(&[1 << 20]).contains("vertex to embed"));
}

#[test]
fn a_readout_of_vertices_is_ridge_regression_on_their_rows() {
    let graphs = graphs();
    let plain = ModelConfig { landmarks: 0, alpha: Alpha::Fixed(0.3), ..config() };
    let known: Vec<usize> = (0..graphs.num_vertices()).filter(|v| v % 3 > 0).collect();
    let values: Vec<f64> = known.iter().map(|&v| (v as f64).sin()).collect();
    let targets = Targets::numbers(values.clone());
    let trained = TrainedModel::train_vertices(&plain, &graphs, &known, &targets, |_| Continue(())).unwrap();
    let found = trained.predict(&graphs, |_| Continue(())).unwrap();
    let all = rows(&plain, &graphs);
    let x = all.select(Axis(0), &known);
    let mut moments = Moments::new(x.ncols(), 1).unwrap();
    let y = Array2::from_shape_vec((known.len(), 1), values).unwrap();
    moments.observe(x.view(), y.view(), None).unwrap();
    let expected = Coefficients::of_moments(&moments, 0.3, false).unwrap();
    let expected = all.dot(&expected.weights) + &expected.intercept;
    assert!((&found.scores - &expected).iter().all(|off| off.abs() < 1e-9));
}

#[test]
fn vertices_in_another_order_are_predicted_alike() {
    let graphs = graphs();
    let classes = classes(&graphs);
    let config = ModelConfig { landmarks: 60, ..config() };
    // Every graph with its vertices in reverse order.
    let mut builder = BatchBuilder::default();
    let mut place = Vec::new();
    for graph in graphs.iter() {
        let (n, first) = (graph.num_vertices(), graphs.vertex_offsets()[graph.index()]);
        let turned = |v: usize| (n - 1 - v) as u32;
        let (from, to): (Vec<u32>, Vec<u32>) =
            graph.entries().map(|(a, b, _)| (turned(a), turned(b))).unzip();
        let backwards = |values: &[f64], width: usize| -> Vec<f64> {
            values.chunks(width).rev().flatten().copied().collect()
        };
        let (values, width) = graph.vertex_attributes().unwrap();
        let attributes = backwards(&values, width);
        let labels: Vec<i32> = graph.vertex_labels().unwrap().0.iter().rev().copied().collect();
        let edges = EdgeList {
            vertex_attributes: Some((&attributes, width)),
            vertex_labels: Some((&labels, 1)),
            ..EdgeList::new(n, &from, &to)
        };
        builder.push(&edges).unwrap();
        place.extend((0..n).map(|v| first + n - 1 - v));
    }
    let other = builder.finish();
    let (keys, turned) = (graphs.vertex_keys(), other.vertex_keys());
    assert!(place.iter().zip(&turned).all(|(&at, key)| keys[at] == *key), "keys go with vertices");
    let train = |graphs: &GraphBatch, classes: Vec<i64>| {
        let trained = TrainedModel::train(&config, graphs, &Targets::integers(classes), |_| Continue(()));
        trained.unwrap().predict(graphs, |_| Continue(())).unwrap().decisions
    };
    let here = train(&graphs, classes.clone());
    let there = train(&other, place.iter().map(|&at| classes[at]).collect());
    let off = (&here.select(Axis(0), &place) - &there).mapv(f64::abs);
    assert!(off.iter().all(|off| *off < 1e-4), "{:?}", off.iter().fold(0.0, |a: f64, b| a.max(*b)));
}

#[test]
fn models_of_vertices_learn_and_go_to_files_and_back() {
    let graphs = graphs();
    let classes = classes(&graphs);
    let known: Vec<usize> = (0..classes.len()).filter(|v| v % 2 == 0).collect();
    let names = |rows: &[usize]| Targets::Classes(Labels::Int(rows.iter().map(|&v| classes[v]).collect()));
    let config = ModelConfig { units: 20.into(), ..ModelConfig::preset(Preset::Vertices) };
    let train = || TrainedModel::train_vertices(&config, &graphs, &known, &names(&known), |_| Continue(()));
    let trained = train().unwrap();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    assert_eq!(pool(3).install(train).unwrap(), trained, "threads change no bit");
    let found = trained.predict(&graphs, |_| Continue(())).unwrap();
    let unseen: Vec<usize> = (0..classes.len()).filter(|v| v % 2 == 1).collect();
    let right = unseen.iter().filter(|&&v| found.classes[v] as i64 == classes[v]).count();
    assert!(right as f64 > 0.8 * unseen.len() as f64, "{right} of {}", unseen.len());
    let bytes = trained.to_bytes().unwrap();
    let again = TrainedModel::from_bytes(&bytes).unwrap();
    assert_eq!(again, trained);
    assert_eq!(again.predict(&graphs, |_| Continue(())).unwrap(), found);
    // A graph gives the same result alone and in a batch.
    let one = graphs.select(&[4]);
    let (first, end) = (graphs.vertex_offsets()[4], graphs.vertex_offsets()[5]);
    let alone = trained.predict(&one, |_| Continue(())).unwrap();
    assert_eq!(alone.decisions, found.decisions.slice(s![first..end, ..]));
}

#[test]
fn what_graphs_as_a_whole_need_is_refused() {
    let refused = |change: fn(&mut ModelConfig)| {
        let mut config = config();
        change(&mut config);
        config.validate().unwrap_err().to_string()
    };
    assert!(refused(|c| c.pool = Pool::Ndp).starts_with("pool: expected none at level vertex"));
    assert!(refused(|c| c.kernel = Kernel::Both).starts_with("kernel: expected states at level vertex"));
    assert!(refused(|c| c.fixed_sweeps = None).starts_with("fixed_sweeps: expected a number"));
    assert!(refused(|c| c.reservoirs = 2).starts_with("reservoirs: expected 1"));
    assert!(refused(|c| c.level = Level::Graph).starts_with("own_inputs: expected false"));
    assert!(refused(|c| c.raw = true).starts_with("by_length: expected false"));
    let graphs = graphs();
    let model = Model::fit(config(), &graphs).unwrap();
    let refusal = model.embed_possible(&graphs, |_| Continue(())).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "level: expected graph (a model of vertices cannot skip graphs one by one), found vertex"
    );
}

#[test]
fn attributes_are_divided_by_the_length_of_their_rows() {
    let mut stream = Stream::new(3, "by length", [0, 0]);
    let values: Vec<f64> = (0..60).map(|_| if stream.below(4) == 0 { 2.0 } else { 0.0 }).collect();
    let edges = EdgeList { vertex_attributes: Some((&values, 6)), ..EdgeList::new(10, &[0, 1], &[1, 2]) };
    let mut builder = BatchBuilder::default();
    builder.push(&edges).unwrap();
    let graphs = builder.finish();
    let x = FeatureMap::fit(&graphs, &config().features()).unwrap().apply(&graphs).unwrap();
    let length = (values.iter().map(|value| value * value).sum::<f64>() / 10.0).sqrt();
    for vertex in 0..10 {
        for (column, found) in x.dense_row(vertex).iter().enumerate() {
            assert!((found - values[vertex * 6 + column] / length).abs() < 1e-12);
        }
    }
}

/// A graph with 60 mostly zero attributes per vertex, stored dense or sparse.
fn wordy(sparse: bool) -> GraphBatch {
    let mut builder = BatchBuilder::default();
    for graph in 0..3 {
        let mut stream = Stream::new(graph, "sparse inputs", [0, 0]);
        let n = 40;
        let values: Vec<f64> =
            (0..60 * n).map(|_| if stream.below(20) == 0 { 1.0 + stream.uniform() } else { 0.0 }).collect();
        let mut ends = || (0..2 * n).map(|_| stream.below(n) as u32).collect::<Vec<_>>();
        let (from, to) = (ends(), ends());
        let rows = SparseRows::of_dense(60, &values);
        let list = EdgeList::new(n, &from, &to);
        let list = match sparse {
            true => EdgeList { sparse_attributes: Some(&rows), ..list },
            false => EdgeList { vertex_attributes: Some((&values, 60)), ..list },
        };
        builder.push(&list).unwrap();
    }
    builder.finish()
}

#[test]
fn sparse_inputs_are_the_same_inputs() {
    let (sparse, dense) = (wordy(true), wordy(false));
    assert_eq!(sparse, dense, "graphs are compared by what they carry");
    assert_eq!(sparse.keys(), dense.keys());
    assert_eq!(sparse.vertex_keys(), dense.vertex_keys());
    assert!(sparse.bytes() < dense.bytes() / 3);
    let mut mixed = dense.select(&[0]);
    mixed.append(&sparse.select(&[1, 2])).unwrap();
    assert_eq!(mixed, dense);
    for change in [
        FeatureOptions::default(),
        FeatureOptions { raw: true, ..Default::default() },
        FeatureOptions { by_length: true, ..Default::default() },
        FeatureOptions { structure: vec![StructuralFeature::LocalDegreeProfile], ..Default::default() },
    ] {
        let map = FeatureMap::fit(&sparse, &change).unwrap();
        assert_eq!(map, FeatureMap::fit(&dense, &change).unwrap());
        assert!(map.is_sparse());
        let inputs = map.apply(&sparse).unwrap();
        assert_eq!(inputs, map.apply(&dense).unwrap());
        assert_eq!(inputs, map.apply(&mixed).unwrap());
        // The documented rule, column by column.
        let attributes = dense.vertex_attributes().unwrap();
        let n = dense.num_vertices();
        let x = Array2::from_shape_fn((n, 60), |(v, c)| attributes.row(v)[c]);
        let expected = match (change.raw, change.by_length) {
            (true, _) => x,
            (_, true) => &x / (x.mapv(|x| x * x).sum() / n as f64).sqrt(),
            _ => (&x - &x.mean_axis(Axis(0)).unwrap()) / x.std_axis(Axis(0), 0.0),
        };
        for vertex in 0..n {
            let mut row = Vec::new();
            inputs.extend_with_row(vertex, &mut row);
            assert_eq!(row.len(), map.width());
            let off = row.iter().zip(expected.row(vertex)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12, "{off}");
        }
        let again: FeatureMap = serde_json::from_str(&serde_json::to_string(&map).unwrap()).unwrap();
        assert_eq!(again, map);
    }
}

#[test]
fn rows_of_sparse_inputs_are_those_of_dense_ones() {
    let graphs = wordy(true);
    for precision in [Precision::F32, Precision::F64] {
        for (by_length, lift) in [(true, true), (false, false)] {
            let config = ModelConfig { precision, by_length, lift, ..config() };
            let model = Model::fit(config.clone(), &graphs).unwrap();
            assert!(model.features.is_sparse());
            let found = model.embed(&graphs, |_| Continue(())).unwrap().vectors;
            // The same rows as dense inputs.
            let inputs = model.features.apply(&graphs).unwrap();
            let mut x = Vec::new();
            (0..graphs.num_vertices()).for_each(|vertex| inputs.extend_with_row(vertex, &mut x));
            let dense = Inputs::from_rows(60, x).unwrap();
            let prepared = Prepared::new(&graphs, &dense, &config).unwrap();
            let expected = model.embed_prepared(&prepared, None, |_| Continue(())).unwrap().vectors;
            let off = (&found - &expected).iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let most = if precision == Precision::F64 { 1e-12 } else { 2e-5 };
            assert!(off < most, "{off}");
            let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let threads = pool(3).install(|| model.embed(&graphs, |_| Continue(())).unwrap().vectors);
            assert_eq!(threads, found, "threads change no bit");
            let alone = model.embed(&graphs.select(&[1]), |_| Continue(())).unwrap().vectors;
            assert_eq!(alone, found.slice(s![40..80, ..]), "nor does company");
        }
    }
}

#[test]
fn one_hot_rows_that_come_sparse_are_labels() {
    let columns: Vec<u32> = (0..50).map(|v| v * 7 % 40).collect();
    let rows = SparseRows::new(40, (0..=50).collect(), columns.clone(), vec![1.0; 50]).unwrap();
    let edges = EdgeList { sparse_attributes: Some(&rows), ..EdgeList::new(50, &[0, 1, 5], &[1, 2, 6]) };
    let mut builder = BatchBuilder::default();
    builder.push(&edges).unwrap();
    let graphs = builder.finish();
    let inputs = FeatureMap::fit(&graphs, &FeatureOptions::default()).unwrap().apply(&graphs).unwrap();
    assert_eq!((inputs.one_hot(), inputs.sparse_width()), (&columns[..], 0));
}

#[test]
fn sparse_rows_are_checked() {
    let refused = |starts: &[usize], columns: &[u32], values: &[f64]| {
        let rows = SparseRows::new(4, starts.to_vec(), columns.to_vec(), values.to_vec());
        rows.unwrap_err().to_string()
    };
    assert!(refused(&[0, 2], &[1, 1], &[1.0, 1.0]).contains("must ascend"));
    assert!(
        refused(&[0, 1], &[4], &[1.0]).starts_with("column of sparse attributes: expected 0 to 3, found 4")
    );
    assert!(refused(&[0, 1], &[1], &[f64::NAN]).contains("expected a finite number"));
    assert!(refused(&[0, 1], &[1], &[]).starts_with("values of sparse attributes"));
    assert!(refused(&[0, 2], &[1], &[1.0]).starts_with("row offsets"));
    let rows = SparseRows::new(4, vec![0, 2, 2], vec![0, 3], vec![0.0, 2.0]).unwrap();
    assert_eq!(rows.row(0), (&[3][..], &[2.0][..]), "zeros are not kept");
    let both = EdgeList {
        vertex_attributes: Some((&[1.0, 2.0], 1)),
        sparse_attributes: Some(&rows),
        ..EdgeList::new(2, &[], &[])
    };
    assert!(BatchBuilder::default().push(&both).unwrap_err().to_string().contains("dense or sparse"));
    let wrong = EdgeList { sparse_attributes: Some(&rows), ..EdgeList::new(3, &[], &[]) };
    assert!(BatchBuilder::default().push(&wrong).is_err());
}
