//! Measures one graph of growing size, and compares two threads with two processes.
//!
//! `cargo run --release -p stepwell --example scale [-- LARGEST]`
//!
//! A grid with random labels, 10³ to LARGEST (10⁷) vertices and H = 32: the time per vertex and
//! sweep on one thread, the preparation time, and the peak memory of the process. Then a batch of
//! small graphs on two threads, compared with two concurrent processes of one thread each.

use std::ops::ControlFlow::Continue;
use std::process::Command;
use std::time::Instant;

use stepwell::config::ModelConfig;
use stepwell::features::{FeatureMap, FeatureOptions, Inputs};
use stepwell::graph::{BatchBuilder, EdgeList, GraphBatch};
use stepwell::reservoir::{Prepared, Weights, embed};
use stepwell::rng::Stream;

fn grids(count: usize, vertices: usize) -> GraphBatch {
    let width = (vertices as f64).sqrt() as usize;
    let height = vertices / width;
    let mut stream = Stream::new(0, "scale", [vertices as u64, 0]);
    let mut builder = BatchBuilder::default();
    for _ in 0..count {
        let n = width * height;
        let (mut sources, mut targets) = (Vec::with_capacity(2 * n), Vec::with_capacity(2 * n));
        for v in 0..n {
            if v % width + 1 < width {
                sources.push(v as u32);
                targets.push(v as u32 + 1);
            }
            if v + width < n {
                sources.push(v as u32);
                targets.push((v + width) as u32);
            }
        }
        let labels: Vec<i32> = (0..n).map(|_| stream.below(5) as i32).collect();
        let edges = EdgeList { vertex_labels: Some((&labels, 1)), ..EdgeList::new(n, &sources, &targets) };
        builder.push(&edges).expect("a valid graph");
    }
    builder.finish()
}

fn inputs(batch: &GraphBatch) -> Inputs {
    FeatureMap::fit(batch, &FeatureOptions::default()).and_then(|map| map.apply(batch)).expect("labels")
}

/// The seconds a piece of work takes, and its result.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let made = work();
    (start.elapsed().as_secs_f64(), made)
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

/// The peak memory in MiB, if the system reports it.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib >> 10)
}

fn one_graph(largest: usize) {
    println!("vertices  ns/vertex-sweep  against 10^3  preparation/sweep  peak MiB");
    let options = ModelConfig {
        blocks: 1,
        units: 32.into(),
        spectral_radius: 0.5.into(),
        fixed_sweeps: Some(10),
        ..Default::default()
    };
    let mut first = None;
    let mut vertices = 1000;
    while vertices <= largest {
        let batch = grids((100_000 / vertices).max(1), vertices);
        let x = inputs(&batch);
        let weights = Weights::random(&options, x.width()).expect("valid options");
        let (preparing, prepared) =
            on_threads(1, || timed(|| Prepared::new(&batch, &x, &options).expect("valid graphs")));
        let total = batch.num_vertices() as f64;
        drop((batch, x));
        let run = || timed(|| embed(&weights, &prepared, &options, |_| Continue(())).expect("embeds")).0;
        let seconds = on_threads(1, || (0..3).map(|_| run()).fold(f64::INFINITY, f64::min));
        let sweep = seconds / 10.0;
        let each = 1e9 * sweep / total;
        println!(
            "{vertices:>8}  {each:>15.1}  {:>12.2}  {:>17.2}  {:>8}",
            each / *first.get_or_insert(each),
            preparing / sweep,
            peak_memory().map_or("?".into(), |mib| mib.to_string()),
        );
        vertices *= 10;
    }
}

/// The number of small graphs per second with `threads` threads.
fn rate(threads: usize) -> f64 {
    let batch = grids(4000, 150);
    let options = ModelConfig { spectral_radius: 0.5.into(), ..Default::default() };
    let x = inputs(&batch);
    let weights = Weights::random(&options, x.width()).expect("valid options");
    let prepared = Prepared::new(&batch, &x, &options).expect("valid graphs");
    let run = || timed(|| embed(&weights, &prepared, &options, |_| Continue(())).expect("embeds")).0;
    let mut seconds: Vec<f64> = on_threads(threads, || (0..9).map(|_| run()).collect());
    seconds.sort_by(f64::total_cmp);
    batch.len() as f64 / seconds[4]
}

fn main() {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("rate") {
        return println!("{}", rate(1));
    }
    one_graph(argument.and_then(|text| text.parse().ok()).unwrap_or(10_000_000));
    let this = std::env::current_exe().expect("a program");
    let start = || Command::new(&this).arg("rate").stdout(std::process::Stdio::piped()).spawn();
    let both = [start().expect("a process"), start().expect("a process")];
    let apart: f64 = both
        .into_iter()
        .map(|child| {
            let out = child.wait_with_output().expect("its output").stdout;
            String::from_utf8_lossy(&out).trim().parse::<f64>().expect("a rate")
        })
        .sum();
    let together = rate(2);
    println!("two threads {together:.0} graphs/s, two processes {apart:.0}: {:.2} of them", together / apart);
}
