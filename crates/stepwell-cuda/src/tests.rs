//! Compares the emulated kernels with the processor, and tests machines without a GPU.

use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stepwell::config::{Alpha, ModelConfig, Precision, Solver};
use stepwell::graph::{EdgeList, Graph};
use stepwell::model::{Model, TrainedModel};
use stepwell::readout::Sample;
use stepwell::reservoir::{Device, Engine};
use stepwell::rng::Stream;
use stepwell::targets::Targets;

use crate::cases::{Carries, batch, cases, compare};
use crate::emulated::{Emulated, possible};
use crate::engine::Cuda;
use crate::machine::{Launch, Limits, Machine, Trouble};
use crate::params::Params;
use crate::products::Kept;

fn emulated(shared: usize, large_rows: usize, backwards: bool) -> Device {
    let limits = Limits { processors: 2, shared, large_rows, shares: 8, fewest_products: 0 };
    Device::new(Arc::new(Cuda::new(Emulated::new(limits, backwards))))
}

/// Whether there is a C++ compiler; prints a note if not.
fn can() -> bool {
    let can = possible();
    if !can {
        eprintln!("no C++ compiler: kernels are not emulated");
    }
    can
}

const SIZES: [usize; 8] = [5, 1, 12, 33, 0, 2, 17, 60];
/// Enough shared memory for all graphs, and too little for most.
const ROOMY: usize = 64 << 10;
const TIGHT: usize = 4 << 10;

/// Checks one of every `every` cases, with few sweeps, because fibers are slow. `./test gpu` checks
/// all.
fn check(every: usize, sizes: &[usize], shared: usize, large_rows: usize) {
    for (name, mut config, carries, hubs) in cases(9).into_iter().step_by(every) {
        config.spectral_radius = 0.5.into();
        let graphs = batch(1, sizes, hubs, carries);
        let found = compare(&config, &graphs, &emulated(shared, large_rows, false)).unwrap();
        assert!(
            found.is_good(&config) && found.states < 2e-6,
            "{name}: sweeps differ by {}, {} runs converged on one of the two alone: {found:?}",
            found.sweeps,
            found.converged
        );
    }
}

#[test]
fn packs_in_shared_memory_agree_with_the_processor() {
    if can() {
        check(3, &SIZES, ROOMY, usize::MAX);
    }
}

#[test]
fn graphs_in_global_memory_agree_with_the_processor() {
    if can() {
        check(8, &SIZES, TIGHT, usize::MAX);
    }
}

#[test]
fn large_graphs_agree_with_the_processor() {
    if can() {
        check(12, &[20, 9, 0, 31], TIGHT, 0);
    }
}

#[test]
fn wide_rows_agree_with_the_processor_in_any_order_of_threads() {
    if !can() {
        return;
    }
    let graphs = batch(5, &[20, 7], false, Carries { labels: 1, ..Carries::default() });
    for solver in [Solver::GaussSeidel, Solver::Jacobi] {
        let config = ModelConfig {
            units: 76.into(),
            blocks: 1,
            solver,
            spectral_radius: 0.3.into(),
            ..ModelConfig::default()
        };
        let found = compare(&config, &graphs, &emulated(ROOMY, usize::MAX, false)).unwrap();
        assert!(found.is_good(&config) && found.states < 2e-6, "{found:?}");
        let model = Model::fit(config, &graphs).unwrap();
        let embed = |backwards| {
            let model = model.clone().on(emulated(ROOMY, usize::MAX, backwards));
            model.embed(&graphs, |_| Continue(())).unwrap()
        };
        assert_eq!(embed(false), embed(true));
    }
}

/// A missing barrier would make results depend on the order of threads.
#[test]
fn the_order_of_threads_and_the_company_of_a_graph_change_no_bit() {
    if !can() {
        return;
    }
    let graphs = batch(2, &[30, 21, 8, 40], false, Carries { labels: 1, ..Carries::default() });
    for solver in [Solver::GaussSeidel, Solver::Jacobi] {
        let config =
            ModelConfig { units: 12.into(), solver, spectral_radius: 0.5.into(), ..ModelConfig::default() };
        let model = Model::fit(config, &graphs).unwrap();
        let embed = |backwards, graphs| {
            let model = model.clone().on(emulated(ROOMY, usize::MAX, backwards));
            model.embed(graphs, |_| Continue(())).unwrap()
        };
        let all = embed(false, &graphs);
        assert_eq!(all, embed(true, &graphs));
        assert_eq!(all.select(&[2]), embed(false, &graphs.select(&[2])));
    }
}

#[test]
fn what_a_gpu_cannot_run_is_refused_and_runs_here() {
    let graphs = batch(3, &[4, 6], false, Carries::default());
    let device = emulated(ROOMY, usize::MAX, false);
    let double = ModelConfig { precision: Precision::F64, ..ModelConfig::default() };
    let wide = ModelConfig { units: 300.into(), blocks: 1, ..ModelConfig::default() };
    let hidden = |scaling: f64| ModelConfig { hidden_scaling: scaling.into(), ..ModelConfig::default() };
    let radius = |radius: f64| ModelConfig { spectral_radius: radius.into(), ..ModelConfig::default() };
    for (config, why) in [
        (double, "precision f64"),
        (wide, "more than 256 units"),
        (hidden(1e25), "weights as large as 1e25"),
        (hidden(1e-25), "weights as small as 1e-25"),
        (radius(1e12), "weights as large as "),
        (radius(1e-20), "weights as small as "),
    ] {
        let model = Model::fit(config, &graphs).unwrap();
        let refusal = device.refuses(&model.weights, &model.config).unwrap();
        assert!(refusal.starts_with(why), "{refusal}");
        let here = model.embed(&graphs, |_| Continue(())).unwrap();
        assert_eq!(model.on(device.clone()).embed(&graphs, |_| Continue(())).unwrap(), here);
    }
}

#[test]
fn weights_of_zero_and_very_large_inputs_are_not_refused() {
    let graphs = batch(3, &[4, 6], false, Carries::default());
    let device = emulated(ROOMY, usize::MAX, false);
    let base = ModelConfig { hidden_scaling: 0.0.into(), input_scaling: 1e30, ..ModelConfig::default() };
    let model = Model::fit(ModelConfig { spectral_radius: 0.0.into(), ..base }, &graphs).unwrap();
    assert_eq!(device.refuses(&model.weights, &model.config), None);
}

/// Sums of neighbours beyond the range of 16-bit floats, which saturate all units.
#[test]
fn very_large_weights_of_edges_agree_with_the_processor() {
    if !can() {
        return;
    }
    for weight in [1e24, 1e37] {
        let weights = [weight, 2.0 * weight, weight];
        let edges = EdgeList {
            weights: Some(&weights),
            vertex_labels: Some((&[0, 1, 2, 0], 1)),
            ..EdgeList::new(4, &[0, 1, 2], &[1, 2, 3])
        };
        let graph = Graph::new(&edges).unwrap();
        let config = ModelConfig {
            units: 12.into(),
            blocks: 1,
            normalize: false,
            solver: Solver::Jacobi,
            fixed_sweeps: Some(2),
            ..ModelConfig::default()
        };
        let model = Model::fit(config, graph.as_batch()).unwrap();
        let here = model.embed(graph.as_batch(), |_| Continue(())).unwrap().vectors;
        let model = model.on(emulated(ROOMY, usize::MAX, false));
        let there = model.embed(graph.as_batch(), |_| Continue(())).unwrap().vectors;
        let apart = (&here - &there).iter().fold(0.0f64, |most, apart| most.max(apart.abs()));
        assert!(apart < 1e-5, "{weight}: {apart}");
    }
}

#[test]
fn embedding_stops_when_asked() {
    let graphs = batch(4, &[4, 6], false, Carries::default());
    let model = Model::fit(ModelConfig::default(), &graphs).unwrap();
    let prepared = model.prepare(&graphs, stepwell::pyramid::Pyramid::default(), || Continue(())).unwrap();
    let model = model.on(emulated(ROOMY, usize::MAX, false));
    let stopped = model.embed_prepared(&prepared, None, |_| Break(()));
    assert_eq!(stopped.unwrap_err(), stepwell::Error::Cancelled);
}

/// A machine that fails after a number of requests.
#[derive(Debug)]
struct Failing {
    machine: Arc<Emulated>,
    left: AtomicUsize,
}

impl Failing {
    fn ask(&self) -> Result<&Emulated, Trouble> {
        let one_less = |left: usize| left.checked_sub(1);
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        left.map(|_| &*self.machine).map_err(|_| "the GPU was lost".into())
    }
}

impl Machine for Failing {
    fn name(&self) -> String {
        "a failing GPU".into()
    }

    fn limits(&self) -> Limits {
        self.machine.limits()
    }

    fn reserve(&self, bytes: usize) -> Result<u64, Trouble> {
        self.ask()?.reserve(bytes)
    }

    fn release(&self, address: u64, bytes: usize) {
        self.machine.release(address, bytes);
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Trouble> {
        self.ask()?.write(address, bytes)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Trouble> {
        self.ask()?.read(address, bytes)
    }

    fn clear(&self, address: u64, bytes: usize) -> Result<(), Trouble> {
        self.ask()?.clear(address, bytes)
    }

    fn launch(&self, launch: Launch, params: &Params) -> Result<(), Trouble> {
        self.ask()?.launch(launch, params)
    }

    fn finish(&self) -> Result<(), Trouble> {
        self.ask()?.finish()
    }
}

/// Out of memory or lost, at any request: returns an error with the reason and no vectors, and
/// frees all memory. The same graphs run afterwards.
#[test]
fn a_gpu_that_fails_at_any_request_is_an_error_and_leaves_nothing_behind() {
    if !can() {
        return;
    }
    let graphs = batch(6, &[5, 3], false, Carries { labels: 1, ..Carries::default() });
    let config =
        ModelConfig { units: 4.into(), blocks: 1, spectral_radius: 0.2.into(), ..ModelConfig::default() };
    let model = Model::fit(config, &graphs).unwrap();
    for large_rows in [usize::MAX, 0] {
        let shared = if large_rows == 0 { 64 } else { ROOMY };
        let limits = Limits { processors: 2, shared, large_rows, shares: 8, fewest_products: 0 };
        let mut asked = 0;
        loop {
            let machine = Arc::new(Emulated::new(limits, false));
            let failing = Failing { machine: machine.clone(), left: asked.into() };
            let model = model.clone().on(Device::new(Arc::new(Cuda::new(failing))));
            let result = model.embed(&graphs, |_| Continue(()));
            assert!(machine.is_empty(), "after {asked} requests");
            match result {
                Ok(_) => break,
                Err(error) => assert_eq!(
                    error,
                    stepwell::Error::Device {
                        device: "a failing GPU".into(),
                        problem: "the GPU was lost".into()
                    },
                    "after {asked} requests"
                ),
            }
            asked += 1;
        }
        assert!(asked > 20, "{asked}");
    }
}

/// Numbers of a size that rows of so many columns have after scaling.
fn numbers(count: usize, width: usize, seed: u64) -> Vec<f32> {
    let mut stream = Stream::new(seed, "products", [count as u64, width as u64]);
    (0..count * width).map(|_| (stream.normal() / (width as f64).sqrt()) as f32).collect()
}

const LIMITS: Limits =
    Limits { processors: 2, shared: ROOMY, large_rows: usize::MAX, shares: 8, fewest_products: 0 };

#[test]
fn products_with_landmarks_agree_with_the_processor_in_any_order_of_threads() {
    if !can() {
        return;
    }
    for (count, others, width) in [(1, 1, 1), (3, 5, 16), (130, 129, 37), (7, 140, 300)] {
        let (rows, landmarks) = (numbers(count, width, 1), numbers(others, width, 2));
        let multiply = |rows: &[f32], backwards| {
            let (machine, mut kept) = (Emulated::new(LIMITS, backwards), Kept::default());
            let found = kept.multiply(&machine, rows, &landmarks, width).unwrap();
            kept.clear(&machine);
            assert!(machine.is_empty());
            found
        };
        let found = multiply(&rows, false);
        assert_eq!(found, multiply(&rows, true));
        let last = (count - 1) * width;
        assert_eq!(found[(count - 1) * others..], multiply(&rows[last..], false), "a row alone");
        for (i, row) in rows.chunks(width).enumerate() {
            for (j, landmark) in landmarks.chunks(width).enumerate() {
                let pairs = row.iter().zip(landmark);
                let exact: f64 = pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                let apart = (f64::from(found[i * others + j]) - exact).abs();
                assert!(apart < 3e-7, "{count} {others} {width}: {apart}");
            }
        }
    }
}

#[test]
fn landmarks_stay_on_the_gpu_until_others_take_their_place() {
    if !can() {
        return;
    }
    let (machine, mut kept) = (Arc::new(Emulated::new(LIMITS, false)), Kept::default());
    let (rows, width) = (numbers(2, 4, 1), 4);
    for seed in 0..10 {
        let landmarks = numbers(3, width, seed);
        let first = kept.multiply(&*machine, &rows, &landmarks, width).unwrap();
        // Rows, products and a launch; landmarks are there.
        let failing = Failing { machine: machine.clone(), left: 5.into() };
        assert_eq!(kept.multiply(&failing, &rows, &landmarks, width).unwrap(), first);
        assert!(machine.reservations() <= 8);
    }
    kept.clear(&*machine);
    assert!(machine.is_empty());
}

/// Trains and predicts on both: the same classes, decisions as close as f32 allows.
#[test]
fn a_readout_with_landmarks_agrees_with_the_processor() {
    if !can() {
        return;
    }
    let sizes: Vec<usize> = (0..24).map(|graph| 5 + graph % 7).collect();
    let graphs = batch(7, &sizes, false, Carries { labels: 1, ..Carries::default() });
    let config = ModelConfig {
        units: 8.into(),
        spectral_radius: 0.3.into(),
        landmarks: 10,
        alpha: Alpha::Fixed(0.1),
        ..ModelConfig::default()
    };
    let labels = (0..graphs.len()).map(|graph| if graph % 7 > 3 { "large" } else { "small" });
    let targets = Targets::Classes(labels.collect());
    let model = Model::fit(config, &graphs).unwrap();
    // The same vectors: what differs is the readout.
    let embedding = model.embed(&graphs, |_| Continue(())).unwrap();
    let read = |device: Device| {
        let model = model.clone().on(device);
        let keys = graphs.keys();
        let trained = TrainedModel::fit(model, &embedding, &targets, Sample::with_keys(&keys)).unwrap();
        trained.decide(&embedding).unwrap()
    };
    let machine = Arc::new(Emulated::new(LIMITS, false));
    let device =
        Device::new(Arc::new(Cuda::new(Failing { machine: machine.clone(), left: usize::MAX.into() })));
    let (here, there) = (read(Device::processor()), read(device.clone()));
    assert!(machine.reservations() > 0, "the landmarks stay on the device");
    let apart = (&here - &there).iter().fold(0.0f64, |most, apart| most.max(apart.abs()));
    assert!(apart < 1e-4, "{apart}");
}

#[test]
fn a_gpu_that_fails_while_it_multiplies_is_an_error_and_leaves_nothing_behind() {
    if !can() {
        return;
    }
    let (rows, landmarks) = (numbers(2, 4, 1), numbers(3, 4, 2));
    for asked in 0.. {
        let machine = Arc::new(Emulated::new(LIMITS, false));
        let engine = Cuda::new(Failing { machine: machine.clone(), left: asked.into() });
        let found = engine.products(&rows, &landmarks, 4).unwrap();
        drop(engine);
        assert!(machine.is_empty(), "after {asked} requests");
        match found {
            Ok(_) => return assert!(asked > 4, "{asked}"),
            Err(error) => assert!(error.to_string().contains("the GPU was lost"), "{error}"),
        }
    }
}
