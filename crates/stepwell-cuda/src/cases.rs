//! Graphs and options on which a GPU must agree with the processor: for tests on a real or an
//! emulated GPU.

use std::collections::HashSet;
use std::ops::ControlFlow::Continue;

use stepwell::config::{Aggregate, EdgeGate, InputPattern, ModelConfig, Pool, Precision, Recurrence, Solver};
use stepwell::graph::{EdgeList, Graph, GraphBatch};
use stepwell::model::Model;
use stepwell::pool::Reduce;
use stepwell::reservoir::{Convergence, Device, Embedding, Run};
use stepwell::rng::Stream;

/// The features of the graphs of a case.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carries {
    pub labels: usize,
    pub attributes: usize,
    pub edge_labels: bool,
    pub edge_attributes: usize,
    pub weights: bool,
    pub directed: bool,
}

/// A connected random graph: a tree, whose vertices prefer early ones if `hubs`, and additional
/// edges.
pub fn random_graph(
    stream: &mut Stream,
    vertices: usize,
    more: usize,
    hubs: bool,
    carries: Carries,
) -> Graph {
    let (mut sources, mut targets, mut known) = (Vec::new(), Vec::new(), HashSet::new());
    for vertex in 1..vertices {
        let near = vertex.saturating_sub(4);
        let other =
            if hubs { stream.below(1 + vertex.isqrt() / 2) } else { near + stream.below(vertex - near) };
        known.insert((other, vertex));
        sources.push(vertex as u32);
        targets.push(other as u32);
    }
    for _ in 0..if vertices > 2 { more } else { 0 } {
        let (a, b) = (stream.below(vertices), stream.below(vertices));
        if a != b && known.insert((a.min(b), a.max(b))) {
            sources.push(a as u32);
            targets.push(b as u32);
        }
    }
    let edges = sources.len();
    let weights: Vec<f64> = (0..edges).map(|_| 0.5 + stream.uniform()).collect();
    let edge_labels: Vec<i32> = (0..edges).map(|_| stream.below(3) as i32).collect();
    let edge_attributes: Vec<f64> = (0..edges * carries.edge_attributes).map(|_| stream.normal()).collect();
    let labels: Vec<i32> = (0..vertices * carries.labels).map(|_| stream.below(4) as i32).collect();
    let attributes: Vec<f64> = (0..vertices * carries.attributes).map(|_| stream.normal()).collect();
    Graph::new(&EdgeList {
        weights: carries.weights.then_some(&weights),
        edge_labels: carries.edge_labels.then_some((&edge_labels, 1)),
        edge_attributes: (carries.edge_attributes > 0).then_some((&edge_attributes, carries.edge_attributes)),
        vertex_labels: (carries.labels > 0).then_some((&labels, carries.labels)),
        vertex_attributes: (carries.attributes > 0).then_some((&attributes, carries.attributes)),
        directed: carries.directed,
        ..EdgeList::new(vertices, &sources, &targets)
    })
    .expect("a graph")
}

/// Random graphs of these sizes.
pub fn batch(seed: u64, sizes: &[usize], hubs: bool, carries: Carries) -> GraphBatch {
    let mut stream = Stream::new(seed, "graphs of cases", [0, 0]);
    let mut batch = GraphBatch::default();
    for &vertices in sizes {
        let graph = random_graph(&mut stream, vertices, vertices / 3, hubs, carries);
        batch.append(graph.as_batch()).expect("graphs with the same features");
    }
    batch
}

/// The name of each case, its options, the features of its graphs, and whether they have hubs.
pub fn cases(units: usize) -> Vec<(&'static str, ModelConfig, Carries, bool)> {
    let base = ModelConfig { units: units.into(), max_iter: 400, ..ModelConfig::default() };
    let one = Carries { labels: 1, ..Carries::default() };
    let dense = Carries { attributes: 3, ..Carries::default() };
    let all = vec![Aggregate::Sum, Aggregate::Mean, Aggregate::Max, Aggregate::Std];
    let pyramid = |pool| ModelConfig { pool, blocks: 3, concat: true, ..base.clone() };
    let gated = ModelConfig { edge_gate: EdgeGate::Signs, ..base.clone() };
    let labelled = Carries { edge_labels: true, ..one };
    let attributed = Carries { edge_attributes: 2, ..one };
    vec![
        ("one label", base.clone(), one, false),
        ("hubs", base.clone(), one, true),
        ("degrees", base.clone(), Carries::default(), false),
        ("attributes", base.clone(), dense, false),
        ("labels and attributes", base.clone(), Carries { labels: 2, ..dense }, false),
        ("not lifted", ModelConfig { lift: false, ..base.clone() }, one, true),
        ("Jacobi", ModelConfig { solver: Solver::Jacobi, ..base.clone() }, one, false),
        ("weights", base.clone(), Carries { weights: true, ..one }, false),
        ("directed", base.clone(), Carries { directed: true, ..one }, false),
        ("leak", ModelConfig { leak: 0.7, ..base.clone() }, dense, false),
        (
            "all aggregates",
            ModelConfig { aggregate: all.clone(), concat: true, ..base.clone() },
            dense,
            false,
        ),
        ("three stacks", ModelConfig { stacks: 3, aggregate: all.clone(), ..base.clone() }, dense, false),
        ("ARMA", ModelConfig { reservoirs: 2, concat: true, ..base.clone() }, dense, false),
        ("ring", ModelConfig { recurrence: Recurrence::Ring, ..base.clone() }, one, false),
        (
            "sparse",
            ModelConfig {
                recurrence: Recurrence::Sparse,
                input_pattern: InputPattern::Sparse,
                density: 0.3,
                ..base.clone()
            },
            dense,
            false,
        ),
        (
            "four sweeps",
            ModelConfig { fixed_sweeps: Some(4), solver: Solver::Jacobi, ..base.clone() },
            one,
            false,
        ),
        (
            "accurate",
            ModelConfig {
                solver: Solver::Jacobi,
                fixed_sweeps: Some(3),
                stacks: 2,
                blocks: 3,
                aggregate: all,
                concat: true,
                ..gated.clone()
            },
            labelled,
            false,
        ),
        ("edge labels", gated.clone(), labelled, false),
        (
            "edge labels, uniform",
            ModelConfig { edge_gate: EdgeGate::Uniform, ..gated.clone() },
            labelled,
            true,
        ),
        ("edge attributes", gated.clone(), attributed, false),
        ("edge labels and attributes", gated.clone(), Carries { edge_labels: true, ..attributed }, false),
        ("Graclus", pyramid(Pool::Graclus), one, false),
        ("Graclus, largest", ModelConfig { reduce: Reduce::Max, ..pyramid(Pool::Graclus) }, dense, false),
        ("NDP, pooled last", ModelConfig { pool_last: true, ..pyramid(Pool::Ndp) }, dense, false),
        ("gates and a pyramid", ModelConfig { pool: Pool::KMis, ..gated.clone() }, labelled, false),
        (
            "units that differ",
            ModelConfig { units: vec![units, units + 3].into(), concat: true, ..base },
            dense,
            false,
        ),
    ]
}

/// The differences between a device and the processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Difference {
    /// The largest difference of a vector element at the fixed point; sums are divided by the
    /// number of vertices.
    pub states: f64,
    /// The same difference between single and double precision on the processor: the effect of
    /// rounding on this model.
    pub rounding: f64,
    /// The largest difference in the number of sweeps of a run, except for runs that converged on
    /// the device alone: there, rounding kept the processor sweeping.
    pub sweeps: u32,
    /// All sweeps of these runs on the device, divided by those on the processor.
    pub ratio: f64,
    /// The number of runs that converged on only one of them.
    pub converged: usize,
    /// Whether the device returns the same bits again.
    pub same_again: bool,
}

/// Embeds on both and compares: sweeps at the given tolerance, states as close to the fixed point
/// as rounding allows.
pub fn compare(config: &ModelConfig, graphs: &GraphBatch, device: &Device) -> stepwell::Result<Difference> {
    let embed = |config: &ModelConfig, device: &Device| {
        let model = Model::fit(config.clone(), graphs)?.on(device.clone());
        model.embed(graphs, |_| Continue(()))
    };
    let here = Device::processor();
    let runs = (embed(config, &here)?.runs, embed(config, device)?.runs);
    let exact = ModelConfig { tol: 0.0, ..config.clone() };
    let double = ModelConfig { precision: Precision::F64, tol: 1e-12, ..config.clone() };
    let (single, double, there) = (embed(&exact, &here)?, embed(&double, &here)?, embed(&exact, device)?);
    let settled = |run: &Run| run.converged != Convergence::No;
    let pairs = || runs.0.iter().zip(&runs.1);
    let compared = || pairs().filter(|(a, b)| settled(a) || !settled(b));
    let on_processor: f64 = compared().map(|(a, _)| f64::from(a.sweeps)).sum();
    let on_device: f64 = compared().map(|(_, b)| f64::from(b.sweeps)).sum();
    Ok(Difference {
        states: difference(config, graphs, &single, &there),
        rounding: difference(config, graphs, &double, &single),
        sweeps: compared().map(|(a, b)| a.sweeps.abs_diff(b.sweeps)).max().unwrap_or(0),
        ratio: if on_processor == on_device { 1.0 } else { on_device / on_processor.max(1.0) },
        converged: pairs().filter(|(a, b)| settled(a) != settled(b)).count(),
        same_again: embed(&exact, device)? == there,
    })
}

/// The largest difference of an element; sums are divided by the number of vertices.
pub fn difference(config: &ModelConfig, graphs: &GraphBatch, one: &Embedding, other: &Embedding) -> f64 {
    let mut largest = 0.0f64;
    let sums = config.aggregate.contains(&Aggregate::Sum);
    for (graph, (a, b)) in one.vectors.outer_iter().zip(other.vectors.outer_iter()).enumerate() {
        let vertices = graphs.graph(graph).num_vertices() as f64;
        for (a, b) in a.iter().zip(b) {
            let error = (a - b).abs() / if sums { vertices.max(1.0) } else { 1.0 };
            largest = if error.is_nan() { f64::INFINITY } else { largest.max(error) };
        }
    }
    largest
}

impl Difference {
    /// Whether the differences are acceptable: states differ by at most 2e-6 or, if the model
    /// amplifies rounding, by four times the effect of rounding on the processor. With
    /// Gauss–Seidel, the two update rows in different orders and need different numbers of sweeps.
    pub fn is_good(&self, config: &ModelConfig) -> bool {
        let sweeps = match config.solver {
            // If changes end in rounding, the number of final sweeps is random.
            Solver::Jacobi => self.ratio > 0.85 && self.ratio < 1.15,
            Solver::GaussSeidel => self.ratio < 1.4,
        };
        self.same_again && sweeps && self.states <= (4.0 * self.rounding).max(2e-6)
    }
}
