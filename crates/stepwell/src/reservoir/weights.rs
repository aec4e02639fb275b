//! The fixed random matrices of a model: `W` connects the units of a block, `V` connects its inputs
//! to the units.
//!
//! States are rows, so a sweep is `tanh(Ã H W + X V)`: `W` is H x H, and `V` has one row per input.
//! If edges have labels or attributes, [`GateWeights`] define the gates between a vertex and its
//! neighbours. Each matrix is drawn from its own stream, which the seed, the stack and the block
//! identify. [`Weights::from_stacks`] accepts weights from elsewhere.

use ndarray::{Array1, Array2};
use rayon::prelude::*;

use crate::config::{EdgeGate, InputPattern, Level, ModelConfig, Recurrence, Scaling};
use crate::error::{Error, Result, same_length};
use crate::features::InputShape;
use crate::linalg;
use crate::memory;
use crate::rng::Stream;

/// The matrices of one reservoir.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockWeights {
    /// `W`, units x units.
    pub recurrent: Array2<f64>,
    /// `V`, inputs x units.
    pub input: Array2<f64>,
    /// The weights of the gates.
    pub gate: GateWeights,
}

/// The weights of one reservoir's gates. The gate of an edge multiplies the states that pass along
/// it, unit by unit: by the row of each of its labels, and by `cos(a·U + b)` if it has attributes
/// `a`.
#[derive(Clone, Debug, PartialEq)]
pub struct GateWeights {
    /// One row per label; no entry exceeds 1 in modulus.
    pub labels: Array2<f64>,
    /// `U`, attributes x units.
    pub frequencies: Array2<f64>,
    /// `b`; empty without attributes.
    pub phases: Array1<f64>,
}

impl GateWeights {
    /// No gates: edges have neither labels nor attributes.
    pub fn none(units: usize) -> Self {
        Self {
            labels: Array2::zeros((0, units)),
            frequencies: Array2::zeros((0, units)),
            phases: Array1::zeros(0),
        }
    }

    /// The gate of an edge, given the row numbers of its labels and its attributes.
    pub fn gate(&self, labels: &[u32], attributes: &[f64], units: usize) -> Array1<f64> {
        let mut gate = Array1::ones(units);
        for row in labels.iter().filter_map(|&label| self.labels.outer_iter().nth(label as usize)) {
            gate *= &row;
        }
        if !attributes.is_empty() {
            let mut angles = self.phases.clone();
            attributes.iter().zip(self.frequencies.rows()).for_each(|(&a, row)| angles.scaled_add(a, &row));
            gate *= &angles.mapv(f64::cos);
        }
        gate
    }

    fn check(&self, units: usize, [stack, block]: [usize; 2]) -> Result<()> {
        let shape = |what, expected, found| {
            if expected == found { Ok(()) } else { Err(Error::Shape { what, stack, block, expected, found }) }
        };
        let columns = |matrix: &Array2<f64>| if matrix.nrows() == 0 { units } else { matrix.ncols() };
        let rows = (self.labels.nrows(), self.frequencies.nrows());
        shape("gates of labels", (rows.0, units), (rows.0, columns(&self.labels)))?;
        shape("frequencies of gates", (rows.1, units), (rows.1, columns(&self.frequencies)))?;
        let phases = if rows.1 == 0 { 0 } else { units };
        shape("phases of gates", (1, phases), (1, self.phases.len()))?;
        let too_large = |value: &f64| value.is_nan() || value.abs() > 1.0;
        if let Some((index, &value)) = self.labels.iter().enumerate().find(|(_, value)| too_large(value)) {
            let expected = "-1 to 1".into();
            let found = format!("{value} in entry {index}");
            return Err(Error::BadOption { name: "gates of labels", expected, found });
        }
        finite("frequency of a gate", self.frequencies.iter())?;
        finite("phase of a gate", self.phases.iter())
    }

    fn shape(&self) -> (usize, usize) {
        (self.labels.nrows(), self.frequencies.nrows())
    }
}

/// The weights of a complete model, by stack and block.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    stacks: Vec<Stack>,
}

/// One stack: its blocks from first to last, each a list of reservoirs whose states are added (a
/// single one, except in an ARMA model).
pub type Stack = Vec<Vec<BlockWeights>>;

impl Weights {
    /// Draws the weights of a model for inputs with these numbers of columns.
    pub fn random(options: &ModelConfig, inputs: impl Into<InputShape>) -> Result<Self> {
        options.validate()?;
        let inputs = inputs.into();
        Self::ask(options, inputs)?;
        let (blocks, reservoirs) = (drawn_blocks(options), options.reservoirs);
        let drawn = (0..options.stacks * blocks * reservoirs).into_par_iter().map(|index| {
            let (stack, block) = (index / reservoirs / blocks, index / reservoirs % blocks);
            draw_reservoir(options, inputs, [stack, block, index % reservoirs])
        });
        // Of several errors, report the first.
        let drawn = drawn.collect::<Vec<_>>().into_iter().collect::<Result<Vec<_>>>()?;
        let stacks = drawn.chunks(blocks * reservoirs).map(|stack| {
            let mut stack: Stack = stack.chunks(reservoirs).map(<[_]>::to_vec).collect();
            while stack.len() < options.blocks {
                stack.push(stack[1].clone());
            }
            stack
        });
        Ok(Self { stacks: stacks.collect() })
    }

    /// Requests the memory for the weights of a model, including that for creating them and for
    /// computing with them.
    pub fn ask(options: &ModelConfig, inputs: impl Into<InputShape>) -> Result<()> {
        let InputShape { features, edge_labels, edge_attributes } = inputs.into();
        let units = |block: usize| options.units.get(block).unwrap_or(0) as f64;
        let (mut all, mut largest) = (0.0, 0.0f64);
        for block in 0..options.blocks {
            let below = if block == 0 { features as f64 } else { units(block - 1) };
            let gates = (edge_labels + edge_attributes) as f64;
            all += units(block) * (units(block) + below + gates);
            largest = largest.max(units(block).powi(2));
        }
        let drawn = options.stacks * drawn_blocks(options) * options.reservoirs;
        let at_once = rayon::current_num_threads().min(drawn) as f64;
        // The kernel holds copies of half the size; scaling needs W several times.
        let numbers = 1.5 * all * (options.stacks * options.reservoirs) as f64 + 3.0 * largest * at_once;
        memory::ask("the weights of the reservoirs", (8.0 * numbers) as u64)
    }

    /// Uses given weights: for every stack its blocks from first to last, and for every block its
    /// reservoirs.
    pub fn from_stacks(stacks: Vec<Stack>) -> Result<Self> {
        let blocks = stacks.first().map_or(0, Vec::len);
        if blocks == 0 {
            return Err(Error::Length { what: "blocks of the first stack", expected: 1, found: 0 });
        }
        let reservoirs = stacks[0][0].len();
        if reservoirs == 0 {
            return Err(Error::Length { what: "reservoirs of the first block", expected: 1, found: 0 });
        }
        let features = stacks[0][0][0].input.nrows();
        let gates = stacks[0][0][0].gate.shape();
        for (stack, list) in stacks.iter().enumerate() {
            same_length("blocks of a stack", blocks, list.len())?;
            let mut inputs = features;
            for (block, list) in list.iter().enumerate() {
                same_length("reservoirs of a block", reservoirs, list.len())?;
                let units = list[0].recurrent.ncols();
                for BlockWeights { recurrent, input, gate } in list {
                    let shape = |what, expected, found| {
                        if expected == found && units > 0 {
                            Ok(())
                        } else {
                            Err(Error::Shape { what, stack, block, expected, found })
                        }
                    };
                    shape("recurrent weights", (units.max(1), units.max(1)), recurrent.dim())?;
                    shape("input weights", (inputs, units), input.dim())?;
                    finite("recurrent weight", recurrent.iter())?;
                    finite("input weight", input.iter())?;
                    gate.check(units, [stack, block])?;
                    let found = gate.shape();
                    if found != gates {
                        let what = "labels and attributes of edges";
                        return Err(Error::Shape { what, stack, block, expected: gates, found });
                    }
                }
                inputs = units;
            }
        }
        Ok(Self { stacks })
    }

    /// The same from one list, by stack, block and reservoir. The list must have the length of
    /// [`iter`](Self::iter) for a model with this configuration.
    pub fn from_list(list: Vec<BlockWeights>, config: &ModelConfig) -> Result<Self> {
        config.validate()?;
        let (blocks, reservoirs) = (config.blocks, config.reservoirs);
        let expected = config.stacks * blocks * reservoirs;
        if list.len() != expected {
            let what = "pairs of weights, one per stack, block and reservoir";
            return Err(Error::Length { what, expected, found: list.len() });
        }
        let mut list = list.into_iter();
        let mut block = || list.by_ref().take(reservoirs).collect();
        let mut stack = || (0..blocks).map(|_| block()).collect();
        Self::from_stacks((0..config.stacks).map(|_| stack()).collect())
    }

    /// All reservoirs, by stack, block and position in the block.
    pub fn iter(&self) -> impl Iterator<Item = &BlockWeights> {
        self.stacks.iter().flatten().flatten()
    }

    /// The numbers of input columns that they expect.
    pub fn inputs(&self) -> InputShape {
        let first = &self.stacks[0][0][0];
        let (edge_labels, edge_attributes) = first.gate.shape();
        InputShape { features: first.input.nrows(), edge_labels, edge_attributes }
    }

    /// The stacks.
    pub fn stacks(&self) -> &[Stack] {
        &self.stacks
    }

    /// Number of blocks per stack.
    pub fn num_blocks(&self) -> usize {
        self.stacks[0].len()
    }

    /// Number of reservoirs per block.
    pub fn num_reservoirs(&self) -> usize {
        self.stacks[0][0].len()
    }

    /// Number of units of one block, H.
    pub fn units(&self, stack: usize, block: usize) -> usize {
        self.stacks[stack][block][0].recurrent.ncols()
    }

    /// Checks that there are as many stacks, blocks and reservoirs as the options require.
    pub(crate) fn check(&self, options: &ModelConfig) -> Result<()> {
        options.validate()?;
        same_length("stacks of the weights", options.stacks, self.stacks.len())?;
        same_length("blocks of the weights", options.blocks, self.num_blocks())?;
        same_length("reservoirs in a block of the weights", options.reservoirs, self.num_reservoirs())
    }

    /// The length of the vector of a graph or vertex under these options.
    pub fn embedding_width(&self, options: &ModelConfig) -> usize {
        let units =
            |stack: &Stack, block: usize| stack.get(block).map_or(0, |block| block[0].recurrent.ncols());
        let blocks =
            |stack: usize| options.embedded_blocks().map(move |block| units(&self.stacks[stack], block));
        let units = (0..self.stacks.len()).flat_map(blocks).sum::<usize>();
        match options.level {
            Level::Graph => units * options.aggregate.len(),
            Level::Vertex => {
                let own = if options.own_inputs { self.inputs().features } else { 0 };
                own + units * options.sweeps_read()
            }
        }
    }
}

fn finite<'a>(what: &'static str, values: impl Iterator<Item = &'a f64>) -> Result<()> {
    match values.enumerate().find(|(_, x)| !x.is_finite()) {
        Some((index, &value)) => Err(Error::BadValue { what, item: "entry", index, value }),
        None => Ok(()),
    }
}

/// Blocks of a stack with weights of their own: in a tied model, all after the second share its
/// weights.
fn drawn_blocks(options: &ModelConfig) -> usize {
    if options.tied { options.blocks.min(2) } else { options.blocks }
}

fn draw_reservoir(
    options: &ModelConfig,
    shape: InputShape,
    [stack, block, reservoir]: [usize; 3],
) -> Result<BlockWeights> {
    let missing = |name| Error::BadOption { name, expected: "a value".into(), found: "none".into() };
    // A stream has only two indices, so pack reservoir and block into one; there are fewer than 2³²
    // blocks.
    let indices = [stack as u64, (reservoir as u64) << 32 | block as u64];
    let units = options.units.get(block).ok_or(missing("units"))?;
    let radius = options.spectral_radius.get(block).ok_or(missing("spectral_radius"))?;
    let (inputs, scale) = match block.checked_sub(1) {
        None => (shape.features, options.input_scaling),
        Some(below) => (
            options.units.get(below).ok_or(missing("units"))?,
            options.hidden_scaling.get(block).ok_or(missing("hidden_scaling"))?,
        ),
    };
    let recurrent = draw_recurrent(
        &mut Stream::new(options.seed, "recurrent weights", indices),
        units,
        radius,
        options.recurrence,
        options.scaling,
        options.density,
    )?;
    let mut stream = Stream::new(options.seed, "input weights", indices);
    let mut input = draw_input(&mut stream, inputs, units, options.input_pattern, options.density);
    input *= scale;
    let gate = draw_gate(options, shape, units, indices);
    Ok(BlockWeights { recurrent, input, gate })
}

/// Half of the units, drawn at random, have gates; the others do not distinguish edges. Attributes
/// have deviation 1, so the angles of two edges differ by about a radian and a half, for any number
/// of attributes.
fn draw_gate(options: &ModelConfig, shape: InputShape, units: usize, indices: [u64; 2]) -> GateWeights {
    let InputShape { edge_labels, edge_attributes, .. } = shape;
    let mut stream = Stream::new(options.seed, "units with gates", indices);
    let any = options.edge_gate != EdgeGate::None;
    let gated: Vec<bool> = (0..units).map(|_| any && stream.bits() >> 63 == 0).collect();
    let mut stream = Stream::new(options.seed, "gates of edge labels", indices);
    let labels = Array2::from_shape_fn((edge_labels, units), |(_, unit)| {
        let drawn = stream.uniform_in(-1.0, 1.0);
        match options.edge_gate {
            EdgeGate::Signs if gated[unit] => 1f64.copysign(drawn),
            EdgeGate::Uniform if gated[unit] => drawn,
            _ => 1.0,
        }
    });
    let mut stream = Stream::new(options.seed, "gates of edge attributes", indices);
    let scale = 1.0 / (edge_attributes.max(1) as f64).sqrt();
    let frequencies = Array2::from_shape_fn((edge_attributes, units), |(_, unit)| {
        let drawn = stream.normal() * scale;
        if gated[unit] { drawn } else { 0.0 }
    });
    let phases = if edge_attributes == 0 { 0 } else { units };
    let phases = Array1::from_shape_fn(phases, |unit| {
        let drawn = stream.uniform_in(0.0, std::f64::consts::TAU);
        if gated[unit] { drawn } else { 0.0 }
    });
    GateWeights { labels, frequencies, phases }
}

/// Draws `W` with the configured pattern and size.
fn draw_recurrent(
    stream: &mut Stream,
    units: usize,
    radius: f64,
    pattern: Recurrence,
    scaling: Scaling,
    density: f64,
) -> Result<Array2<f64>> {
    let mut weights = match pattern {
        Recurrence::Dense => Array2::from_shape_simple_fn((units, units), || stream.uniform_in(-1.0, 1.0)),
        Recurrence::Sparse => draw_sparse_with_cycle(stream, units, density)?,
        Recurrence::Diagonal => {
            Array2::from_diag(&Array1::from_shape_simple_fn(units, || stream.uniform_in(-1.0, 1.0)))
        }
        // Equal weights make the norm equal to the radius. The signs of V can absorb those of the
        // ring.
        Recurrence::Ring => {
            let mut ring = Array2::zeros((units, units));
            (0..units).for_each(|k| ring[(k, (k + 1) % units)] = radius);
            return Ok(ring);
        }
        Recurrence::Orthogonal => return Ok(draw_orthogonal(stream, units) * radius),
    };
    let size = match scaling {
        Scaling::Radius => linalg::spectral_radius(weights.view())?,
        Scaling::Norm => linalg::spectral_norm(weights.view())?,
    };
    weights *= radius / size;
    Ok(weights)
}

/// Draws until the connections between units contain a cycle. Without a cycle, `W` is nilpotent:
/// its radius is 0 and cannot be scaled.
fn draw_sparse_with_cycle(stream: &mut Stream, units: usize, density: f64) -> Result<Array2<f64>> {
    for _ in 0..1000 {
        let weights = draw_sparse(stream, units, units, density);
        if has_cycle(&weights) {
            return Ok(weights);
        }
    }
    Err(Error::BadOption {
        name: "density",
        expected: format!("enough to connect some of {units} units in a cycle"),
        found: density.to_string(),
    })
}

fn draw_sparse(stream: &mut Stream, rows: usize, columns: usize, density: f64) -> Array2<f64> {
    Array2::from_shape_simple_fn((rows, columns), || {
        let value = stream.uniform_in(-1.0, 1.0);
        if stream.uniform() < density { value } else { 0.0 }
    })
}

/// Whether following nonzero entries leads back to some unit. (A solver's eigenvalues of a
/// nilpotent matrix may be far from 0.)
fn has_cycle(weights: &Array2<f64>) -> bool {
    let units = weights.nrows();
    let mut incoming: Vec<usize> =
        weights.columns().into_iter().map(|c| c.iter().filter(|&&w| w != 0.0).count()).collect();
    let mut sources: Vec<usize> = (0..units).filter(|&k| incoming[k] == 0).collect();
    let mut removed = 0;
    while let Some(source) = sources.pop() {
        removed += 1;
        for (target, _) in weights.row(source).iter().enumerate().filter(|(_, w)| **w != 0.0) {
            incoming[target] -= 1;
            if incoming[target] == 0 {
                sources.push(target);
            }
        }
    }
    removed < units
}

/// A uniformly distributed orthogonal matrix: normal vectors, orthonormalised one after the other
/// (Gram–Schmidt, twice, for orthogonality up to rounding).
fn draw_orthogonal(stream: &mut Stream, units: usize) -> Array2<f64> {
    let mut basis = Array2::<f64>::zeros((units, units));
    for done in 0..units {
        loop {
            let mut vector = Array1::from_shape_simple_fn(units, || stream.normal());
            let drawn = vector.dot(&vector).sqrt();
            for _ in 0..2 {
                for earlier in basis.rows().into_iter().take(done) {
                    let overlap = earlier.dot(&vector);
                    vector.scaled_add(-overlap, &earlier);
                }
            }
            let left = vector.dot(&vector).sqrt();
            // If almost nothing is left, rounding would choose the direction. Draw again.
            if left > 1e-8 * drawn {
                basis.row_mut(done).assign(&(vector / left));
                break;
            }
        }
    }
    basis
}

fn draw_input(
    stream: &mut Stream,
    inputs: usize,
    units: usize,
    pattern: InputPattern,
    density: f64,
) -> Array2<f64> {
    let shape = (inputs, units);
    match pattern {
        InputPattern::Uniform => Array2::from_shape_simple_fn(shape, || stream.uniform_in(-1.0, 1.0)),
        InputPattern::Signs => {
            Array2::from_shape_simple_fn(shape, || if stream.bits() >> 63 == 0 { 1.0 } else { -1.0 })
        }
        InputPattern::Sparse => draw_sparse(stream, inputs, units, density),
        InputPattern::OnePerUnit => {
            let mut weights = Array2::zeros(shape);
            for unit in 0..if inputs == 0 { 0 } else { units } {
                weights[(stream.below(inputs), unit)] = stream.uniform_in(-1.0, 1.0);
            }
            weights
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn options(recurrence: Recurrence) -> ModelConfig {
        ModelConfig { recurrence, units: 12.into(), ..Default::default() }
    }

    fn first(options: &ModelConfig) -> BlockWeights {
        Weights::random(options, 3).unwrap().stacks()[0][0][0].clone()
    }

    /// The growth rate of a long product, computed without eigenvalues.
    fn growth(w: &Array2<f64>) -> f64 {
        let mut power = w.clone();
        let mut log = 0.0;
        for _ in 0..12 {
            power = power.dot(&power);
            let size = power.iter().fold(0.0f64, |a, x| a.max(x.abs()));
            power /= size;
            log = 2.0 * log + size.ln();
        }
        (log / 4096.0).exp()
    }

    #[test]
    fn every_pattern_has_the_radius_asked_for() {
        use Recurrence::*;
        for pattern in [Dense, Sparse, Ring, Orthogonal, Diagonal] {
            let w = first(&options(pattern)).recurrent;
            assert!((growth(&w) - 0.9).abs() < 2e-3, "{pattern:?} {}", growth(&w));
            assert!((linalg::spectral_radius(w.view()).unwrap() - 0.9).abs() < 1e-9, "{pattern:?}");
            let norm = linalg::spectral_norm(w.view()).unwrap();
            let tight = matches!(pattern, Ring | Orthogonal | Diagonal);
            assert_eq!((norm - 0.9).abs() < 1e-9, tight, "{pattern:?} {norm}");
        }
        let by_norm = ModelConfig { scaling: Scaling::Norm, ..options(Dense) };
        let norm = linalg::spectral_norm(first(&by_norm).recurrent.view()).unwrap();
        assert!((norm - 0.9).abs() < 1e-12);
    }

    #[test]
    fn nilpotent_draws_are_repeated_and_hopeless_ones_are_an_error() {
        let tiny = ModelConfig { units: 2.into(), density: 0.2, ..options(Recurrence::Sparse) };
        for seed in 0..50 {
            let w = first(&ModelConfig { seed, ..tiny.clone() }).recurrent;
            assert!((linalg::spectral_radius(w.view()).unwrap() - 0.9).abs() < 1e-9, "{w}");
        }
        assert!(!has_cycle(&array![[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]));
        assert!(has_cycle(&array![[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]));
        let hopeless = ModelConfig { density: 1e-12, ..tiny };
        assert!(Weights::random(&hopeless, 1).unwrap_err().to_string().starts_with("density"));
    }

    /// QR iteration did not terminate for the first of these.
    #[test]
    fn very_sparse_weights_are_scaled_whatever_the_seed() {
        for (units, density) in [(100, 0.01), (30, 0.03)] {
            for seed in 0..100 {
                let sparse = options(Recurrence::Sparse);
                let w = first(&ModelConfig { units: units.into(), density, seed, ..sparse }).recurrent;
                let radius = linalg::spectral_radius(w.view()).unwrap();
                assert!((radius - 0.9).abs() < 1e-9, "{units} units, seed {seed}: {radius}");
            }
        }
    }

    #[test]
    fn inputs_follow_their_pattern() {
        let with = |input_pattern| ModelConfig { input_pattern, ..options(Recurrence::Ring) };
        assert!(first(&with(InputPattern::Signs)).input.iter().all(|v| v.abs() == 0.5));
        let single = first(&with(InputPattern::OnePerUnit)).input;
        assert!(single.columns().into_iter().all(|c| c.iter().filter(|&&v| v != 0.0).count() == 1));
        let uniform = first(&with(InputPattern::Uniform)).input;
        assert!(uniform.iter().all(|v| v.abs() <= 0.5) && uniform.iter().any(|v| v.abs() > 0.25));
    }

    #[test]
    fn streams_do_not_shift_each_other() {
        let base = ModelConfig { stacks: 2, blocks: 3, ..options(Recurrence::Dense) };
        let all = Weights::random(&base, 3).unwrap();
        assert_ne!(all.stacks()[0][1], all.stacks()[0][2]);
        assert_ne!(all.stacks()[0], all.stacks()[1]);
        let fewer = Weights::random(&ModelConfig { stacks: 1, blocks: 2, ..base.clone() }, 3).unwrap();
        assert_eq!(fewer.stacks()[0][..], all.stacks()[0][..2]);
        let tied = Weights::random(&ModelConfig { tied: true, ..base }, 3).unwrap();
        assert_eq!(tied.stacks()[1][1], tied.stacks()[1][2]);
        assert_eq!(tied.stacks()[1][..2], all.stacks()[1][..2]);
    }

    #[test]
    fn imported_weights_are_checked() {
        let good = Weights::random(&options(Recurrence::Dense), 3).unwrap().stacks().to_vec();
        assert_eq!(Weights::from_stacks(good.clone()).unwrap().inputs(), 3.into());
        let mut wide = good.clone();
        wide[0][1][0].input = Array2::zeros((5, 12));
        let error = Weights::from_stacks(wide).unwrap_err().to_string();
        assert_eq!(error, "input weights of stack 0, block 1: expected 12 x 12, found 5 x 12");
        let mut broken = good;
        broken[0][0][0].recurrent[(1, 2)] = f64::NAN;
        assert!(Weights::from_stacks(broken).is_err());
        assert!(Weights::from_stacks(vec![]).is_err());
        let (recurrent, input) = (Array2::zeros((0, 0)), Array2::zeros((3, 0)));
        let nothing = BlockWeights { recurrent, input, gate: GateWeights::none(0) };
        assert!(Weights::from_stacks(vec![vec![vec![nothing]]]).is_err());
    }
}
