//! Measures the speed of the fused sweep with each instruction set of the processor.
//!
//! `cargo run --release -p stepwell --example kernel_speed [-- UNITS…]`
//!
//! Runs alternate between instruction sets, on one thread. `ratio` is the median, over the rounds,
//! of the time of the AVX2 (or portable) path divided by the time of this path. The useful work of
//! a sweep is `2·N·H² + 2·nnz·H` operations. The peak is the rate of a loop of fused multiply-adds
//! with the widest vectors: the best of the runs before and after each line. Rates are those of
//! each path's best run. The first sweep starts from zero and multiplies little, so it counts in
//! the times but not in the work.

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
            EdgeList { vertex_labels: Some((&labels, 1)), ..EdgeList::new(n as usize, &sources, &targets) };
        builder.push(&edges).expect("a valid graph");
    }
    builder.finish()
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn best(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The peak rate: operations per second of a loop of fused multiply-adds, in f32.
fn peak() -> f64 {
    const ROUNDS: usize = 200_000;
    let runs: Vec<f64> = (0..20)
        .map(|_| {
            let start = Instant::now();
            let operations = peak::multiply_add(ROUNDS);
            operations as f64 / start.elapsed().as_secs_f64()
        })
        .collect();
    runs.into_iter().fold(0.0, f64::max)
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod peak {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    /// Independent sums: enough to hide the latency of a multiply-add.
    const CHAINS: usize = 12;

    macro_rules! chains {
        ($name:ident, $features:literal, $set1:ident $fmadd:ident $first:ident) => {
            #[target_feature(enable = $features)]
            fn $name(rounds: usize) -> f32 {
                let factor = $set1(black_box(0.5));
                let mut sums = [$set1(black_box(0.25)); CHAINS];
                for _ in 0..rounds {
                    for sum in &mut sums {
                        *sum = $fmadd(*sum, factor, factor);
                    }
                }
                sums.iter().map(|sum| $first(*sum)).sum()
            }
        };
    }
    chains!(avx512, "avx512f", _mm512_set1_ps _mm512_fmadd_ps _mm512_cvtss_f32);
    chains!(avx2, "avx2,fma", _mm256_set1_ps _mm256_fmadd_ps _mm256_cvtss_f32);

    /// Returns the number of operations performed.
    pub fn multiply_add(rounds: usize) -> usize {
        // SAFETY: each call follows a check that the processor has its instructions.
        let (result, lanes) = unsafe {
            if is_x86_feature_detected!("avx512f") {
                (avx512(black_box(rounds)), 16)
            } else {
                assert!(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"), "no FMA");
                (avx2(black_box(rounds)), 8)
            }
        };
        black_box(result);
        2 * lanes * CHAINS * rounds
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod peak {
    use std::hint::black_box;

    /// Returns the number of operations performed.
    pub fn multiply_add(rounds: usize) -> usize {
        let factor = black_box(0.5f32);
        let mut sums = [black_box(0.25); 96];
        for _ in 0..rounds {
            sums.iter_mut().for_each(|sum| *sum = sum.mul_add(factor, factor));
        }
        black_box(sums);
        2 * 96 * rounds
    }
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
    let sets: Vec<&str> = stepwell::instruction_sets().into_iter().filter(|set| *set != "portable").collect();
    let sets = if sets.is_empty() { vec!["portable"] } else { sets };
    println!("precision  solver       units  instructions  ns/vertex-sweep  GFLOP/s   peak  share  ratio");
    for precision in [Precision::F32, Precision::F64] {
        for solver in [Solver::GaussSeidel, Solver::Jacobi] {
            for &units in &chosen {
                // Short runs of a few milliseconds are more likely to hit quiet moments of a busy
                // machine.
                let sweeps = 50_000 / (units * units) + 5;
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
                let prepared = Prepared::new(&batch, &inputs, &options).expect("valid graphs");
                let before = peak();
                let mut times = vec![Vec::new(); sets.len()];
                pool.install(|| {
                    for _ in 0..61 {
                        for (set, times) in sets.iter().zip(&mut times) {
                            stepwell::use_instruction_set(set).expect("one of this processor");
                            times.push(seconds(|| {
                                embed(&weights, &prepared, &options, |_| Continue(())).expect("embeds");
                            }));
                        }
                    }
                });
                let peak = before.max(peak()) / if precision == Precision::F32 { 1.0 } else { 2.0 };
                let (rows, entries) = (prepared.num_rows(0), prepared.num_entries(0));
                let work = 2.0 * ((sweeps - 1) * (rows * units + entries) * units) as f64;
                for (set, own) in sets.iter().zip(&times) {
                    let rate = work / best(own);
                    let last = times[sets.len() - 1].iter();
                    println!(
                        "{:<9}  {:<11}  {units:>5}  {set:<12}  {:>15.1}  {:>7.1}  {:>5.1}  {:>4.0}%  {:>5.2}",
                        format!("{precision:?}"),
                        format!("{solver:?}"),
                        1e9 * best(own) / (sweeps * rows) as f64,
                        rate / 1e9,
                        peak / 1e9,
                        100.0 * rate / peak,
                        median(last.zip(own).map(|(last, own)| last / own).collect()),
                    );
                }
            }
        }
    }
}
