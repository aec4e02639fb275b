use std::collections::BTreeMap;

use stepwell::graph::GraphRef;

use super::*;
use stepwell::targets::Labels;

fn named(name: &str, seed: u64) -> Dataset {
    generate(&BenchmarkOptions { seed, ..BenchmarkOptions::named(name).unwrap() }).unwrap()
}

fn classes(dataset: &Dataset) -> &[i64] {
    let Targets::Classes(Labels::Int(classes)) = &dataset.targets else {
        unreachable!("{:?}", dataset.targets)
    };
    classes
}

fn colours(graph: GraphRef<'_>) -> Vec<usize> {
    let (values, width) = graph.vertex_attributes().unwrap();
    assert_eq!(width, 5);
    let colour = |row: &[f64]| {
        assert_eq!((row.iter().sum::<f64>(), row.iter().fold(0.0, |a, &b| f64::max(a, b))), (1.0, 1.0));
        row.iter().position(|&x| x == 1.0).unwrap()
    };
    values.chunks_exact(width).map(colour).collect()
}

#[test]
fn full_versions_have_the_sizes_of_the_paper() {
    for (name, entries) in [("b-easy", 922.7), ("b-hard", 572.3)] {
        for seed in 0..3 {
            let dataset = named(name, seed);
            assert_eq!((dataset.name.as_str(), dataset.len()), (name, 1800));
            for class in 0..3 {
                assert_eq!(classes(&dataset).iter().filter(|&&c| c == class).count(), 600);
            }
            let per_graph = |total: usize| total as f64 / 1800.0;
            let vertices = per_graph(dataset.graphs.num_vertices());
            assert!((147.0..150.0).contains(&vertices), "{name} {seed}: {vertices} vertices");
            let found = per_graph(dataset.graphs.num_entries());
            assert!((found / entries - 1.0).abs() < 0.02, "{name} {seed}: {found} entries");
        }
    }
}

#[test]
fn small_versions_have_the_sizes_of_the_published_files() {
    // The published values are one sample too. Sizes spread by 11.5 of 58.5, so a mean over 300
    // graphs has an error of 1.1 %.
    for (name, entries) in [("b-easy-small", 358.8), ("b-hard-small", 224.94)] {
        let dataset = named(name, 0);
        assert_eq!((dataset.name.as_str(), dataset.len()), (name, 300));
        let found = dataset.graphs.num_entries() as f64 / 300.0;
        assert!((found / entries - 1.0).abs() < 0.06, "{name}: {found} entries");
        for graph in dataset.graphs.iter() {
            let vertices = graph.num_vertices();
            assert!((39..=78).contains(&vertices) && vertices % 3 == 0, "{vertices}");
        }
    }
}

#[test]
fn colours_say_nothing_about_the_class() {
    let dataset = named("b-hard", 0);
    for graph in dataset.graphs.iter() {
        let found = colours(graph);
        let third = graph.num_vertices() / 3;
        let half = third / 2;
        let counts = [0, 1, 2, 3, 4].map(|colour| found.iter().filter(|&&c| c == colour).count());
        assert_eq!(counts, [half, third - half, half, third - half, third], "given by the size alone");
    }
    // All classes draw sizes from the same distribution: 148.5 on average, standard error
    // 28.9/√600.
    for class in 0..3 {
        let sizes = dataset.graphs.iter().zip(classes(&dataset)).filter(|(_, c)| **c == class);
        let mean = sizes.map(|(graph, _)| graph.num_vertices() as f64).sum::<f64>() / 600.0;
        assert!((mean - 148.5).abs() < 5.0 * 28.9 / 600f64.sqrt(), "class {class}: {mean}");
    }
}

#[test]
fn parts_follow_each_other_and_are_drawn_one_by_one() {
    let dataset = named("b-easy", 1);
    let parts = dataset.parts.as_deref().unwrap();
    let runs: Vec<_> = parts.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    let [(Part::Train, _), (Part::Validation, validation), (Part::Test, test)] = runs[..] else {
        unreachable!("{runs:?}");
    };
    for (found, share) in [(validation, 0.09), (test, 0.1)] {
        let sigma = f64::sqrt(1800.0 * share * (1.0 - share));
        assert!((found as f64 - 1800.0 * share).abs() < 5.0 * sigma, "{found}");
    }
    let classes = classes(&dataset);
    for run in parts.chunk_by(|a, b| a == b).scan(0, |end, run| {
        *end += run.len();
        Some(*end - run.len()..*end)
    }) {
        assert!(classes[run.clone()].is_sorted(), "{run:?}");
    }
}

#[test]
fn vertices_are_joined_to_their_nearest_and_to_those_they_are_nearest_to() {
    let dataset = named("b-hard-small", 2);
    let places = dataset.coordinates.as_deref().unwrap();
    for (graph, offset) in dataset.graphs.iter().zip(dataset.graphs.vertex_offsets()).take(20) {
        let places = &places[*offset..offset + graph.num_vertices()];
        let distance = |u: usize, v: usize| (places[u][0] - places[v][0]).hypot(places[u][1] - places[v][1]);
        let among_nearest = |u: usize, v: usize| {
            (0..places.len()).filter(|&w| w != u && distance(u, w) < distance(u, v)).count() < 3
        };
        for u in 0..places.len() {
            let expected: Vec<u32> = (0..places.len())
                .filter(|&v| v != u && (among_nearest(u, v) || among_nearest(v, u)))
                .map(|v| v as u32)
                .collect();
            assert_eq!(graph.neighbours(u), expected);
        }
        for axis in 0..2 {
            let maximum = places.iter().map(|p| p[axis]).fold(f64::NEG_INFINITY, f64::max);
            assert!((maximum - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn bytes_depend_on_the_seed_and_nothing_else() {
    let on = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| named("b-easy-small", seed))
    };
    assert_eq!(on(1, 7), on(2, 7));
    assert_ne!(on(1, 7), on(1, 8));
    // A graph depends on its class and index only: fewer graphs are a prefix of more.
    let few = BenchmarkOptions { graphs_per_class: 10, ..BenchmarkOptions::named("b-easy-small").unwrap() };
    let (few, many) = (generate(&few).unwrap(), named("b-easy-small", 0));
    assert_eq!(few.graphs.graph(0).to_graph(), many.graphs.graph(0).to_graph());
}

#[test]
fn options_that_cannot_be_drawn_are_refused() {
    let good = BenchmarkOptions::named("b-easy").unwrap();
    for vertices in [5..10, 10..10, 0..0, 100..100_000, 6..usize::MAX] {
        let error = generate(&BenchmarkOptions { vertices, ..good.clone() }).unwrap_err();
        assert!(
            error.to_string().starts_with("b-easy: expected a range of vertices within 6..10001"),
            "{error}"
        );
    }
    for graphs_per_class in [0, 1 << 40, usize::MAX] {
        assert!(generate(&BenchmarkOptions { graphs_per_class, ..good.clone() }).is_err());
    }
    let tiny = BenchmarkOptions { vertices: 6..7, graphs_per_class: 3, ..good };
    assert_eq!(generate(&tiny).unwrap().graphs.num_vertices(), 9 * 6);
    assert!(BenchmarkOptions::named("b-medium").is_none());
    for name in BenchmarkOptions::NAMES {
        assert_eq!(BenchmarkOptions::named(name).unwrap().name(), name);
    }
}

/// The statistics that `testdata/synthetic/benchmark_statistics.py` counts in one graph.
fn statistics(graph: GraphRef<'_>) -> BTreeMap<String, f64> {
    let colours = colours(graph);
    let degrees = graph.degrees();
    let mut values = BTreeMap::from([
        ("entries".to_string(), graph.num_entries() as f64),
        ("squared_degrees".to_string(), degrees.iter().map(|d| d * d).sum()),
        ("components".to_string(), graph.components().count() as f64),
    ]);
    let mut closed = 0;
    for (u, v, _) in graph.entries() {
        closed += graph.neighbours(u).iter().filter(|w| graph.neighbours(v).contains(w)).count();
    }
    values.insert("triangles".to_string(), closed as f64 / 6.0);
    for i in 0..5 {
        for j in i..5 {
            let joins = |(u, v, _): &(usize, usize, f64)| (colours[*u], colours[*v]) == (i, j);
            values.insert(format!("entries_{i}_{j}"), graph.entries().filter(joins).count() as f64);
        }
    }
    values
}

#[test]
fn statistics_are_those_of_graphs_drawn_with_scikit_learn() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/synthetic/benchmark_statistics.json");
    let text = std::fs::read_to_string(path).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (points, reference) = (expected["points"].as_u64().unwrap(), expected["graphs"].as_f64().unwrap());
    for (difficulty, name) in [(Difficulty::Easy, "easy"), (Difficulty::Hard, "hard")] {
        let vertices = points as usize..points as usize + 1;
        let graphs_per_class = 1500;
        let dataset =
            generate(&BenchmarkOptions { difficulty, graphs_per_class, vertices, seed: 0 }).unwrap();
        for class in 0..3 {
            let of_class = dataset.graphs.iter().zip(classes(&dataset)).filter(|(_, c)| **c == class);
            let rows: Vec<_> = of_class.map(|(graph, _)| statistics(graph)).collect();
            let table = expected[name][class as usize].as_object().unwrap();
            assert_eq!(table.len(), rows[0].len());
            for (key, value) in table {
                let [mean, error] = [0, 1].map(|i| value[i].as_f64().unwrap());
                let n = rows.len() as f64;
                let found = rows.iter().map(|row| row[key]).sum::<f64>() / n;
                let squares = rows.iter().map(|row| (row[key] - found).powi(2)).sum::<f64>();
                // Events too rare for a standard error may occur a few times in one sample only.
                let sigma = (squares / (n * n) + error * error + 4.0 / (n * reference)).sqrt();
                assert!(
                    (found - mean).abs() < 5.0 * sigma,
                    "{name} {class} {key}: {found}, not {mean} ({sigma})"
                );
            }
        }
    }
}
