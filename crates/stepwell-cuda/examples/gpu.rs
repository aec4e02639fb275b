//! Compares a GPU with the processor: results and speed. Used by `./test gpu` and
//! `benchmarks/gpu.py`.
//!
//! ```sh
//! cargo run --release -p stepwell-cuda --example gpu -- check
//! cargo run --release -p stepwell-cuda --example gpu -- time nci1 100000 50 /tmp/graphs
//! ```
//!
//! `check` compares every option and exits with 1 if one differs. `products [ROWS LANDMARKS WIDTH]` compares
//! and times products with landmarks. `time` generates graphs of a kind
//! (b-hard, nci1, reddit, or one: a single graph with that many vertices) and embeds them. If a
//! folder is given, it writes them there, so that other programs can embed the same graphs.

#[path = "../src/cases.rs"]
#[allow(dead_code)]
mod cases;

use std::fs;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use cases::{batch, cases, compare, difference};
use stepwell::config::{ModelConfig, Solver};
use stepwell::graph::{BatchBuilder, EdgeList, GraphBatch};
use stepwell::model::Model;
use stepwell::reservoir::Device;
use stepwell::rng::Stream;
use stepwell_cuda::{Choice, device, times};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let cache = std::env::var_os("STEPWELL_CACHE").map(Into::into);
    let gpu = match device(Choice::Cuda, cache) {
        Ok((gpu, _)) => gpu,
        Err(error) => {
            println!("skipped: {error}");
            return ExitCode::SUCCESS;
        }
    };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["check"] => check(&gpu, &[9, 50, 100, 128, 200]),
        ["check", units] => check(&gpu, &[number(units)]),
        ["products"] => products(&gpu, &[(1, 2000, 2700), (300, 1001, 333), (8192, 2000, 2700)]),
        ["products", rows, landmarks, width] => {
            products(&gpu, &[(number(rows), number(landmarks), number(width))])
        }
        ["time", kind, count, units] => time(&gpu, kind, number(count), number(units), None),
        ["time", kind, count, units, folder] => {
            time(&gpu, kind, number(count), number(units), Some(Path::new(folder)))
        }
        _ => {
            eprintln!(
                "expected: check [UNITS], products [ROWS LANDMARKS WIDTH], or time KIND COUNT UNITS [FOLDER]"
            );
            ExitCode::from(2)
        }
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

/// Checks sizes of every class: packs, one graph per thread block, global memory, the whole GPU.
fn check(gpu: &Device, units: &[usize]) -> ExitCode {
    let small: Vec<usize> = (0..300).map(|i| (i * 7919) % 60).collect();
    let large = [150, 333, 700, 1500, 5000, 40_000];
    let mut failed = 0;
    for &units in units {
        for (name, config, carries, hubs) in cases(units) {
            for (which, sizes) in [("small", &small[..]), ("large", &large[..])] {
                if which == "large" && (units > 100 || name.contains("NDP")) {
                    continue;
                }
                let graphs = batch(units as u64, sizes, hubs, carries);
                let found = match compare(&config, &graphs, gpu) {
                    Ok(found) => found,
                    Err(error) => {
                        println!("FAILED {units} {which} {name}: {error}");
                        failed += 1;
                        continue;
                    }
                };
                let good = found.is_good(&config);
                failed += usize::from(!good);
                println!("{} {units} {which} {name}: {found:?}", if good { "ok" } else { "FAILED" });
            }
        }
    }
    println!("{failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Compares products of rows with landmarks with sums in f64, and prints their times.
fn products(gpu: &Device, sizes: &[(usize, usize, usize)]) -> ExitCode {
    let random = |count: usize, width: usize, seed: u64| -> Vec<f32> {
        let mut stream = Stream::new(seed, "products", [count as u64, width as u64]);
        (0..count * width).map(|_| (stream.normal() / (width as f64).sqrt()) as f32).collect()
    };
    let mut failed = false;
    for &(count, others, width) in sizes {
        let (rows, landmarks) = (random(count, width, 1), random(others, width, 2));
        let multiply = || {
            let start = Instant::now();
            let found = gpu.products(&rows, &landmarks, width).expect("enough landmarks").expect("products");
            (found, start.elapsed().as_secs_f64())
        };
        let (found, first) = multiply();
        let (again, second) = multiply();
        let mut largest = 0.0f64;
        for pair in (0..count * others).step_by(1 + count * others / 10_000) {
            let (row, landmark) = (pair / others * width, pair % others * width);
            let pairs = rows[row..][..width].iter().zip(&landmarks[landmark..][..width]);
            let exact: f64 = pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            let apart = (f64::from(found[pair]) - exact).abs();
            largest = if apart.is_nan() { f64::INFINITY } else { largest.max(apart) };
        }
        let good = largest < 3e-7 && found == again;
        failed |= !good;
        println!(
            "{} products of {count} rows and {others} landmarks of {width}: differ by {largest:.1e}; \
             {:.2} ms, again {:.2} ms",
            if good { "ok" } else { "FAILED" },
            1e3 * first,
            1e3 * second
        );
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Graphs that resemble those of a dataset.
fn graphs(kind: &str, count: usize) -> GraphBatch {
    let mut stream = Stream::new(0, "graphs to time", [0, 0]);
    let mut builder = BatchBuilder::default();
    let count_of_graphs = if kind == "one" { 1 } else { count };
    for _ in 0..count_of_graphs {
        let (vertices, more, labels) = match kind {
            "b-hard" => (100 + stream.below(97), 424, 5),
            "nci1" => (20 + stream.below(21), 3, 37),
            "reddit" => (100 + stream.below(660), 70, 1),
            _ => (count, count, 50),
        };
        let mut edges = Vec::with_capacity(vertices + more);
        for vertex in 1..vertices {
            let other = match kind {
                "reddit" => stream.below(1 + vertex.isqrt() / 4),
                "one" => stream.below(vertex),
                _ => vertex.saturating_sub(1 + stream.below(4)),
            };
            edges.push((other as u32, vertex as u32));
        }
        for _ in 0..more {
            let (a, b) = (stream.below(vertices) as u32, stream.below(vertices) as u32);
            if a != b {
                edges.push((a.min(b), a.max(b)));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let (sources, targets): (Vec<u32>, Vec<u32>) = edges.into_iter().unzip();
        let labels: Vec<i32> = (0..vertices).map(|_| stream.below(labels) as i32).collect();
        let list =
            EdgeList { vertex_labels: Some((&labels, 1)), ..EdgeList::new(vertices, &sources, &targets) };
        builder.push(&list).expect("a graph");
    }
    builder.finish()
}

fn time(gpu: &Device, kind: &str, count: usize, units: usize, folder: Option<&Path>) -> ExitCode {
    if !["b-hard", "nci1", "reddit", "one"].contains(&kind) {
        println!("expected b-hard, nci1, reddit or one, found {kind}");
        return ExitCode::FAILURE;
    }
    let graphs = graphs(kind, count);
    let vertices = graphs.num_vertices();
    let config = ModelConfig { units: units.into(), lift: kind != "one", ..ModelConfig::default() };
    let start = Instant::now();
    let model = Model::fit(config.clone(), &graphs).expect("a model");
    let prepared =
        model.prepare(&graphs, stepwell::pyramid::Pyramid::default(), || Continue(())).expect("prepared");
    println!(
        "{kind}: {} graphs, {vertices} vertices, {} rows, {} entries, H = {units}; prepared in {:.1} s",
        graphs.len(),
        prepared.num_rows(0),
        prepared.num_entries(0),
        start.elapsed().as_secs_f64()
    );
    let model = model.on(gpu.clone());
    let mut best = (f64::INFINITY, times());
    let mut sweeps = 0.0;
    let mut found = None;
    for _ in 0..4 {
        let (before, start) = (times(), Instant::now());
        let embedding = model.embed_prepared(&prepared, None, |_| Continue(())).expect("vectors");
        let seconds = start.elapsed().as_secs_f64();
        let after = times();
        if after.computing - before.computing < best.0 {
            best = (after.computing - before.computing, after);
            println!(
                "  whole call {:.1} ms: packing {:.1}, copying {:.1}, computing {:.2}",
                1e3 * seconds,
                1e3 * (after.packing - before.packing),
                1e3 * (after.copying - before.copying),
                1e3 * (after.computing - before.computing)
            );
        }
        // Vertices times sweeps, both blocks.
        let offsets = prepared.vertex_offsets(0);
        sweeps = embedding
            .runs
            .outer_iter()
            .enumerate()
            .map(|(graph, runs)| {
                let sweeps: u32 = runs.iter().map(|run| run.sweeps).sum();
                (offsets[graph + 1] - offsets[graph]) as f64 * f64::from(sweeps)
            })
            .sum();
        found = Some(embedding);
    }
    let found = found.expect("four of them");
    println!(
        "  gpu computing {:.2} ms, {:.0} ps per vertex and sweep ({:.1} sweeps of a vertex)",
        1e3 * best.0,
        1e12 * best.0 / sweeps,
        sweeps / vertices as f64
    );
    // One core, on a part of the graphs; it has the caches of the whole machine.
    let some: Vec<usize> = (0..graphs.len()).step_by((vertices / 50_000).max(1)).collect();
    let on_cpu = model.clone().on(Device::processor());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    if kind != "one" || count <= 1_000_000 {
        let start = Instant::now();
        let here = pool
            .install(|| on_cpu.embed_prepared(&prepared, Some(&some), |_| Continue(())))
            .expect("vectors");
        let seconds = start.elapsed().as_secs_f64();
        let offsets = prepared.vertex_offsets(0);
        let share: usize = some.iter().map(|&graph| offsets[graph + 1] - offsets[graph]).sum();
        let core = seconds * vertices as f64 / share as f64;
        let differ = difference(&config, &graphs.select(&some), &here, &found.select(&some));
        println!(
            "  one core {:.0} ms ({:.0} x the gpu's computing); means of states differ by {differ:.1e}",
            1e3 * core,
            core / best.0
        );
    }
    if let Some(folder) = folder {
        // The paper's iteration, which updates all vertices at once, needs more sweeps.
        let jacobi = ModelConfig { solver: Solver::Jacobi, ..config };
        let mut other = model.clone();
        other.config = jacobi.clone();
        let prepared =
            other.prepare(&graphs, stepwell::pyramid::Pyramid::default(), || Continue(())).expect("prepared");
        let embedding = other.embed_prepared(&prepared, None, |_| Continue(())).expect("vectors");
        let most: Vec<u32> = embedding
            .runs
            .columns()
            .into_iter()
            .map(|runs| runs.iter().map(|run| run.sweeps).max().unwrap_or(0))
            .collect();
        write(folder, &graphs, &model, &most, best.0, &found.vectors);
    }
    ExitCode::SUCCESS
}

/// Writes graphs and weights as plain arrays, and the resulting vectors.
fn write(
    folder: &Path,
    graphs: &GraphBatch,
    model: &Model,
    sweeps: &[u32],
    seconds: f64,
    vectors: &ndarray::Array2<f64>,
) {
    fs::create_dir_all(folder).expect("a folder");
    let put = |name: &str, bytes: Vec<u8>| fs::write(folder.join(name), bytes).expect("written");
    let mut values = Vec::new();
    let mut columns: Vec<i32> = Vec::new();
    let mut starts: Vec<i32> = vec![0];
    let mut labels: Vec<i32> = Vec::new();
    for graph in graphs.iter() {
        let first = graphs.vertex_offsets()[graph.index()] as i32;
        values.extend(graph.normalized_weights().into_iter().map(|value| value as f32));
        columns.extend(graph.all_neighbours().iter().map(|&column| first + column as i32));
        let before = starts[starts.len() - 1];
        starts.extend(graph.row_starts().skip(1).map(|start| before + start as i32));
        labels.extend(graph.vertex_labels().expect("labels").0);
    }
    put("values.f32", bytemuck::cast_slice(&values).to_vec());
    put("columns.i32", bytemuck::cast_slice(&columns).to_vec());
    put("starts.i32", bytemuck::cast_slice(&starts).to_vec());
    put("labels.i32", bytemuck::cast_slice(&labels).to_vec());
    let offsets: Vec<i64> = graphs.vertex_offsets().iter().map(|&offset| offset as i64).collect();
    put("offsets.i64", bytemuck::cast_slice(&offsets).to_vec());
    for (block, reservoirs) in model.weights.stacks()[0].iter().enumerate() {
        for (name, matrix) in [("w", &reservoirs[0].recurrent), ("v", &reservoirs[0].input)] {
            let numbers: Vec<f32> = matrix.iter().map(|&value| value as f32).collect();
            put(&format!("{name}{block}.f32"), bytemuck::cast_slice(&numbers).to_vec());
        }
    }
    let numbers: Vec<f64> = vectors.iter().copied().collect();
    put("vectors.f64", bytemuck::cast_slice(&numbers).to_vec());
    put("times.txt", format!("{} {} {seconds}\n", sweeps[0], sweeps[1]).into_bytes());
}
