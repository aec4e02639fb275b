//! How fast the fused sweep is, as a share of what the core could do at most.
//!
//! `cargo run --release -p stepwell --example kernel_speed [-- UNITS…]`
//!
//! Useful work of a sweep is `2·N·H² + 2·nnz·H` operations; the peak is a loop
//! of nothing but fused multiply-adds, measured right before and after each
//! line. Both are the best of several runs, on one thread.

use std::ops::ControlFlow::Continue;
use std::time::Instant;

use stepwell::config::{ModelConfig, Precision, Solver};
use stepwell::features::{FeatureMap, FeatureOptions};
use stepwell::graph::{BatchBuilder, EdgeList, GraphBatch};
use stepwell::reservoir::{Prepared, Weights, embed};
use stepwell::rng::Stream;

/// Graphs like those of the benchmark sets: 150 vertices, 6 neighbours each.
fn graphs() -> GraphBatch {
    let mut stream = Stream::new(0, "kernel speed", [0, 0]);
    let mut builder = BatchBuilder::default();
    for _ in 0..20 {
        let n = 150u32;
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for v in 0..n {
            for _ in 0..3 {
                sources.push(v);
                targets.push(stream.below(n as usize) as u32);
            }
        }
        let labels: Vec<i32> = (0..n).map(|_| stream.below(5) as i32).collect();
        let edges =
            EdgeList { vertex_labels: Some(&labels), ..EdgeList::new(n as usize, &sources, &targets) };
        builder.push(&edges).expect("a valid graph");
    }
    builder.finish()
}

/// The shortest of several runs, in seconds.
fn best(runs: usize, mut run: impl FnMut()) -> f64 {
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(|_| time(&mut run)).fold(f64::INFINITY, f64::min)
}

/// Operations per second of the fastest loop there is.
fn peak(lanes: usize) -> f64 {
    const ROUNDS: usize = 1_000_000;
    let chains = 12;
    2.0 * (lanes * chains * ROUNDS) as f64 / best(20, || multiply_add(ROUNDS))
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn multiply_add(rounds: usize) {
    use std::arch::x86_64::*;
    #[target_feature(enable = "avx2,fma")]
    fn chains(rounds: usize) -> f32 {
        let factor = _mm256_set1_ps(std::hint::black_box(0.5));
        let mut sums = [_mm256_set1_ps(std::hint::black_box(0.25)); 12];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, factor);
            }
        }
        sums.iter().map(|sum| _mm256_cvtss_f32(*sum)).sum()
    }
    assert!(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"), "no FMA to compare with");
    // SAFETY: just checked.
    std::hint::black_box(unsafe { chains(std::hint::black_box(rounds)) });
}

#[cfg(not(target_arch = "x86_64"))]
fn multiply_add(rounds: usize) {
    let factor = std::hint::black_box(0.5f32);
    let mut sums = [std::hint::black_box(0.25); 96];
    for _ in 0..rounds {
        sums.iter_mut().for_each(|sum| *sum = sum.mul_add(factor, factor));
    }
    std::hint::black_box(sums);
}

fn main() {
    let mut chosen: Vec<usize> = std::env::args().skip(1).filter_map(|units| units.parse().ok()).collect();
    if chosen.is_empty() {
        chosen = vec![32, 50, 64, 100, 256];
    }
    let batch = graphs();
    let inputs = FeatureMap::fit(&batch, &FeatureOptions::default()).and_then(|map| map.apply(&batch));
    let inputs = inputs.expect("labels");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    println!("precision  solver        units  ns/vertex-sweep  GFLOP/s   peak  share  preparation/sweep");
    for precision in [Precision::F32, Precision::F64] {
        for solver in [Solver::GaussSeidel, Solver::Jacobi] {
            for &units in &chosen {
                // Runs of a few milliseconds find the quiet moments of a busy machine.
                let sweeps = 50_000 / (units * units) + 4;
                let options = ModelConfig {
                    blocks: 1,
                    units: units.into(),
                    spectral_radius: 0.5.into(),
                    fixed_sweeps: Some(sweeps),
                    lift: false,
                    precision,
                    solver,
                    ..Default::default()
                };
                let weights = Weights::random(&options, inputs.width()).expect("valid options");
                let prepare = || Prepared::new(&batch, &inputs, &options).expect("valid graphs");
                let prepared = prepare();
                let lanes = if precision == Precision::F32 { 8 } else { 4 };
                let before = peak(lanes);
                let seconds = pool.install(|| {
                    best(60, || {
                        embed(&weights, &prepared, &options, |_| Continue(())).expect("embeds");
                    })
                });
                let peak = peak(lanes).max(before);
                let preparing = pool.install(|| best(20, || drop(prepare())));
                let work =
                    2.0 * (prepared.num_rows(0) * units * units + prepared.num_entries(0) * units) as f64;
                let rate = work * sweeps as f64 / seconds;
                let sweep = seconds / sweeps as f64;
                println!(
                    "{:<9}  {:<12}  {units:>5}  {:>15.1}  {:>7.1}  {:>5.1}  {:>4.0}%  {:>17.2}",
                    format!("{precision:?}"),
                    format!("{solver:?}"),
                    1e9 * sweep / prepared.num_rows(0) as f64,
                    rate / 1e9,
                    peak / 1e9,
                    100.0 * rate / peak,
                    preparing / sweep,
                );
            }
        }
    }
}
