//! The kernels, emulated, beside the processor; and machines without a GPU.

use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stepwell::config::{ModelConfig, Precision, Solver};
use stepwell::model::Model;
use stepwell::reservoir::Device;

use crate::cases::{Carries, batch, cases, compare};
use crate::emulated::{Emulated, possible};
use crate::engine::Cuda;
use crate::machine::{Launch, Limits, Machine, Trouble};
use crate::params::Params;

fn emulated(shared: usize, large_rows: usize, backwards: bool) -> Device {
    let limits = Limits { processors: 2, shared, large_rows, shares: 8 };
    Device::new(Arc::new(Cuda::new(Emulated::new(limits, backwards))))
}

/// Whether there is a C++ compiler; says so if not.
fn can() -> bool {
    let can = possible();
    if !can {
        eprintln!("no C++ compiler: kernels are not emulated");
    }
    can
}

const SIZES: [usize; 8] = [5, 1, 12, 33, 0, 2, 17, 60];
/// Enough that all graphs fit into it, and too little for most.
const ROOMY: usize = 64 << 10;
const TIGHT: usize = 4 << 10;

/// Every so many of the cases, with few sweeps: fibers take their time. `./test gpu` takes all.
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

/// A missing barrier would let the order of threads show.
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
    for (config, why) in [(double, "precision f64"), (wide, "more than 256 units")] {
        let model = Model::fit(config, &graphs).unwrap();
        let refusal = device.refuses(&model.weights, &model.config).unwrap();
        assert!(refusal.starts_with(why), "{refusal}");
        let here = model.embed(&graphs, |_| Continue(())).unwrap();
        assert_eq!(model.on(device.clone()).embed(&graphs, |_| Continue(())).unwrap(), here);
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

/// A machine that is lost after so many requests.
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

/// Out of memory or lost, at whatever request: an error with the reason, no vectors, and all
/// memory given back. The same graphs then run.
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
        let limits = Limits { processors: 2, shared, large_rows, shares: 8 };
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
