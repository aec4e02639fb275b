//! The options of a model: one flat [`ModelConfig`].
//!
//! ```
//! use stepwell::config::{ModelConfig, Pool};
//! let config = ModelConfig { pool: Pool::Ndp, blocks: 3, units: 100.into(), ..Default::default() };
//! config.validate()?;
//! assert_eq!(config.levels(), 2); // pooled between the blocks
//! # Ok::<(), stepwell::Error>(())
//! ```

mod choices;
#[macro_use]
mod options;
mod readout;

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

pub use choices::{
    Aggregate, Choose, EdgeGate, InputPattern, Kernel, Level, Metric, PerBlock, Precision, Preset,
    Recurrence, Scaling, Solver,
};
use options::OptionValue;
pub use options::{Group, Kind, OptionInfo, Range, option, typed, variants};
pub(crate) use readout::check_alpha;
pub use readout::{Alpha, ClassWeight, ReadoutOptions};

use crate::error::{Error, Result};
use crate::features::{FeatureOptions, StructuralFeature};
pub use crate::pool::Pool;
use crate::pool::ndp::{Side, Sparsify};
use crate::pool::{Pooling, Reduce};

/// No machine needs more units. The limit keeps `H²` and index sums in range.
const MAX_UNITS: usize = 1 << 15;
const MAX_BLOCKS: usize = 1 << 10;
const MAX_SWEEPS: usize = u32::MAX as usize;

define_options! {
/// All options of a model: the reservoirs, the pooling between them, the solver of the fixed
/// points, and the readout. Graphs without vertices embed as zeros.
///
/// Field names are the same everywhere: keys of a configuration file, flags of the command line
/// (with dashes), parameters in Python. [`options`] lists them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// What the model embeds and predicts: whole graphs ('graph') or every vertex of a graph
    /// ('vertex').
    #[serde(skip_serializing_if = "is_of_graphs")]
    Model level: Level = Level::Graph;
    /// Number of blocks, L: reservoirs stacked on top of each other.
    Model blocks: usize = 2, Range::Between(1, MAX_BLOCKS);
    /// Number of units of a reservoir, H.
    Model units: PerBlock<usize> = 50.into(), Range::Between(1, MAX_UNITS);
    /// Size rho of the recurrent matrix `W`, as measured by `scaling`. At 1 and above,
    /// states may not converge.
    Model spectral_radius: PerBlock<f64> = 0.9.into(), Range::NotNegative;
    /// What `spectral_radius` measures: the largest modulus of the eigenvalues of `W` ('radius') or
    /// the 2-norm of `W` ('norm').
    Model scaling: Scaling = Scaling::Radius;
    /// Scale of the first block's input matrix `V`, omega_in.
    Model input_scaling: f64 = 0.5, Range::NotNegative;
    /// Scale of the later blocks' input matrices `V`, omega_hid. In a list, the
    /// first entry is not used.
    Model hidden_scaling: PerBlock<f64> = 0.8.into(), Range::NotNegative;
    /// Pattern of the recurrent matrix `W`.
    Model recurrence: Recurrence = Recurrence::Dense;
    /// Pattern of the input matrix `V`.
    Model input_pattern: InputPattern = InputPattern::Uniform;
    /// How labels and attributes of edges change the states that pass along the edges. Every label
    /// multiplies half of the units by random signs ('signs') or by random numbers between -1 and 1
    /// ('uniform'). In both cases, attributes multiply the same units by cosines of random
    /// combinations of the attributes. 'none' ignores labels and attributes.
    #[serde(skip_serializing_if = "is_none")]
    Model edge_gate: EdgeGate = EdgeGate::None;
    /// Share of nonzero entries in sparse `W` and `V`.
    Model density: f64 = 0.1, Range::Share;
    /// Use one `W` and one `V` for all blocks after the first.
    Model tied: bool = false;
    /// Reservoirs side by side in each block; their states are added up (ARMA).
    Model reservoirs: usize = 1, Range::Between(1, MAX_BLOCKS);
    /// Models side by side; their vectors are concatenated.
    Model stacks: usize = 1, Range::Between(1, MAX_BLOCKS);
    /// Seed of the random weights.
    Model seed: u64 = 0;
    /// Normalise the adjacency matrix before states spread along its edges.
    Model normalize: bool = true;
    /// Share the computation of vertices that must have equal states.
    Model lift: bool = true;
    /// Floating-point precision of the states.
    Model precision: Precision = Precision::F32;
    /// Order of updates. 'gauss-seidel' colours the vertices and updates one colour after another,
    /// always from the newest states; 'jacobi' updates all vertices at once, as in the paper. States
    /// that converge are the same for both, and 'gauss-seidel' needs about half the sweeps, so the
    /// preset 'paper' uses it. After `fixed_sweeps`, the states differ.
    Model solver: Solver = Solver::GaussSeidel;
    /// Share of the new state in an update, above 0 and at most 1.
    Model leak: f64 = 1.0, Range::Share;
    /// Stop when a sweep changes a graph's states by less than this (Frobenius
    /// norm).
    Model tol: f64 = 1e-5, Range::NotNegative;
    /// Largest number of sweeps.
    Model max_iter: usize = 50, Range::Between(1, MAX_SWEEPS);
    /// Make exactly this many sweeps; `tol` and `max_iter` are ignored.
    Model fixed_sweeps: Option<usize> = None, Range::Between(1, MAX_SWEEPS);
    /// Pooling between blocks.
    Pooling pool: Pool = Pool::None;
    /// Number of blocks that run on the original graphs, before the first pooling.
    #[serde(skip_serializing_if = "is_one")]
    Model pool_after: usize = 1, Range::Between(1, MAX_BLOCKS);
    /// Pool the states of the last block once more, before they are aggregated.
    Model pool_last: bool = false;
    /// Seed of the poolings that use random numbers.
    Pooling pool_seed: u64 = 0;
    /// Graclus, k-MIS: how the states of merged vertices are combined.
    Pooling reduce: Reduce = Reduce::Mean;
    /// NDP: drop links of the coarse graph weaker than this.
    Pooling delta: f64 = Pooling::default().delta, Range::NotNegative;
    /// NDP: when to drop the weak links of a level: before the next level is made from it
    /// ('each-level') or after ('deferred').
    Pooling sparsify: Sparsify = Sparsify::EachLevel;
    /// NDP: side of the cut to keep: the side that contains the largest entry of the eigenvector
    /// that defines the cut ('largest'), the side with fewer vertices ('smaller') or the side with
    /// more ('larger').
    Pooling side: Side = Side::Largest;
    /// NDP: if the elimination of dropped vertices (Kron reduction) would link more pairs of
    /// vertices than `fill_budget`, drop small links instead of failing.
    Pooling approximate: bool = false;
    /// NDP: largest number of pairs of vertices that the elimination of dropped vertices (Kron
    /// reduction) may link. More is an error, unless `approximate` is set.
    Pooling fill_budget: u64 = Pooling::default().fill_budget;
    /// How the states of all vertices become one vector; several vectors are
    /// concatenated.
    #[serde(deserialize_with = "one_or_many")]
    Model aggregate: Vec<Aggregate> = vec![Aggregate::Sum], Range::Count(1, 4);
    /// Concatenate the vectors of all blocks instead of using the last block's.
    Model concat: bool = false;
    /// Level vertex: concatenate the states after every sweep instead of using those after the
    /// last. Needs `fixed_sweeps`.
    #[serde(skip_serializing_if = "is_false")]
    Model concat_sweeps: bool = false;
    /// Level vertex: concatenate a vertex's own inputs to its states.
    #[serde(skip_serializing_if = "is_false")]
    Model own_inputs: bool = false;
    /// Divide all vertex attributes by one number, the root mean square length of their rows,
    /// instead of z-scoring each column. Suits many sparse columns, such as words.
    #[serde(skip_serializing_if = "is_false")]
    Model by_length: bool = false;
    /// Use vertex attributes as they are instead of z-scoring them.
    #[serde(with = "null_for_false")]
    Model raw: bool = false;
    /// Structural columns to add to the features of vertices.
    #[serde(deserialize_with = "one_or_many")]
    Model structure: Vec<StructuralFeature> = Vec::new();
    /// Structural columns for vertices without features. If the list is empty (none), they get
    /// their degree.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    Model bare_structure: Vec<StructuralFeature> = Vec::new();
    /// Strength of the ridge penalty: a number, a list to choose from by
    /// leave-one-out, or 'loo' to choose from the powers of ten from 1e-6 to 1e6.
    Readout alpha: Alpha = Alpha::Loo, Range::NotNegative;
    /// Metric that is reported first, and by which training chooses `alpha` and `class_weight`.
    /// 'auto' is the metric that fits the targets.
    #[serde(skip_serializing_if = "is_auto")]
    Readout metric: Metric = Metric::Auto;
    /// Weight of the graphs of a class: 'none' (all graphs weigh the same), 'balanced' (all
    /// classes weigh the same), one number per class, or 'auto'. 'auto' chooses 'none', 'balanced'
    /// or a blend of both by the leave-one-out value of `metric`. If the metric is accuracy, or if
    /// there are more than three targets, 'auto' means 'none'.
    Readout class_weight: ClassWeight = ClassWeight::None, Range::NotNegative;
    /// Divide columns by their standard deviations before the regression.
    /// With landmarks, this is always done.
    Readout standardize: bool = false;
    /// Number of random tanh units between vectors and regression. They replace the landmarks of a
    /// preset, unless you set `landmarks`, too.
    Readout random_features: usize = 0, Range::Between(0, MAX_UNITS);
    /// Largest number of training graphs to use as landmarks: instead of vectors, the regression
    /// reads similarities between a graph and the landmarks, as `kernel` defines them. 0 for none.
    #[serde(skip_serializing_if = "is_zero")]
    Readout landmarks: usize = 0, Range::Between(0, MAX_UNITS);
    /// What to compare between a graph and a landmark: their vectors, by a linear and a Gaussian
    /// kernel ('states'), the Weisfeiler–Lehman colours of their vertices ('wl-oa'), or 'both'.
    #[serde(skip_serializing_if = "are_states")]
    Readout kernel: Kernel = Kernel::States;
    /// Rounds of Weisfeiler–Lehman colours, if `kernel` compares them.
    #[serde(skip_serializing_if = "is_four")]
    Readout wl_rounds: usize = 4, Range::Between(0, MAX_BLOCKS);
    /// Weight of Weisfeiler–Lehman colours in `kernel`, relative to the vectors.
    #[serde(skip_serializing_if = "is_two")]
    Readout wl_weight: f64 = 2.0, Range::NotNegative;
    /// Width of the Gaussian kernel, in standard deviations of the vectors.
    #[serde(skip_serializing_if = "is_unit")]
    Readout gaussian_width: f64 = 1.0, Range::NotNegative;
    /// Options whose values training chooses by leave-one-out on at most 1,000 of the training
    /// graphs. Training does not choose an option that you set yourself, unless you also set
    /// `choose`.
    #[serde(deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    Readout choose: Vec<Choose> = Vec::new();
}
}

/// All options of a model, in the order of the fields of [`ModelConfig`].
pub fn options() -> &'static [OptionInfo] {
    &OPTIONS
}

/// Options added after version 0.1.0 are written only if they differ from their defaults, so that
/// existing records stay valid.
fn is_zero(value: &usize) -> bool {
    *value == 0
}

fn is_one(value: &usize) -> bool {
    *value == 1
}

fn are_states(value: &Kernel) -> bool {
    *value == Kernel::States
}

fn is_four(value: &usize) -> bool {
    *value == 4
}

fn is_two(value: &f64) -> bool {
    *value == 2.0
}

fn is_unit(value: &f64) -> bool {
    *value == 1.0
}

fn is_auto(value: &Metric) -> bool {
    *value == Metric::Auto
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_of_graphs(value: &Level) -> bool {
    *value == Level::Graph
}

fn is_none(value: &EdgeGate) -> bool {
    *value == EdgeGate::None
}

/// Reads a name as a list of one.
fn one_or_many<'de, D: Deserializer<'de>, T: Deserialize<'de>>(source: D) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a name, or a list of names")]
    enum Written<T> {
        One(T),
        Many(Vec<T>),
    }
    Ok(match Written::deserialize(source)? {
        Written::One(value) => vec![value],
        Written::Many(values) => values,
    })
}

/// Writes `false` as null, as version 0.1.0 did.
mod null_for_false {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &bool, target: S) -> Result<S::Ok, S::Error> {
        value.then_some(true).serialize(target)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<bool, D::Error> {
        Option::deserialize(source).map(|value| value == Some(true))
    }
}

impl ModelConfig {
    /// The configuration of a preset.
    pub fn preset(preset: Preset) -> Self {
        match preset {
            Preset::Paper => Self::default(),
            Preset::Accurate => Self {
                blocks: 3,
                units: 100.into(),
                input_scaling: 1.0,
                stacks: 3,
                // The first sweep sees no neighbour, each further sweep one step more: six steps in
                // three blocks. Converged states cost more and are less informative.
                solver: Solver::Jacobi,
                fixed_sweeps: Some(3),
                aggregate: vec![Aggregate::Sum, Aggregate::Mean, Aggregate::Std],
                concat: true,
                edge_gate: EdgeGate::Signs,
                // Next to informative inputs, these columns would dominate.
                bare_structure: vec![StructuralFeature::LogDegree, StructuralFeature::Clustering],
                class_weight: ClassWeight::Auto,
                landmarks: 2000,
                kernel: Kernel::Both,
                choose: vec![Choose::Structure, Choose::WlWeight, Choose::GaussianWidth],
                ..Self::default()
            },
            Preset::Vertices => Self {
                level: Level::Vertex,
                blocks: 1,
                units: 600.into(),
                // Beyond contraction: inputs several steps away must not fade.
                spectral_radius: 2.0.into(),
                input_scaling: 0.1,
                // Each sweep reaches one step further. The first one sees only the vertex itself.
                solver: Solver::Jacobi,
                fixed_sweeps: Some(6),
                concat_sweeps: true,
                own_inputs: true,
                by_length: true,
                edge_gate: EdgeGate::Signs,
                bare_structure: vec![StructuralFeature::LogDegree, StructuralFeature::Clustering],
                class_weight: ClassWeight::Auto,
                landmarks: 2000,
                gaussian_width: 0.7,
                ..Self::default()
            },
            Preset::Reference => Self {
                scaling: Scaling::Norm,
                tied: true,
                solver: Solver::Jacobi,
                pool_last: true,
                delta: 0.01,
                sparsify: Sparsify::Deferred,
                raw: true,
                structure: vec![StructuralFeature::Degree, StructuralFeature::Clustering],
                ..Self::default()
            },
        }
    }

    /// The pooling with its options; `None` for [`Pool::None`].
    pub fn pooling(&self) -> Option<Pooling> {
        (self.pool != Pool::None).then_some(Pooling {
            method: self.pool,
            seed: self.pool_seed,
            reduce: self.reduce,
            delta: self.delta,
            sparsify: self.sparsify,
            side: self.side,
            approximate: self.approximate,
            fill_budget: self.fill_budget,
            ..Pooling::default()
        })
    }

    /// The number of poolings: those between blocks, and possibly one after the last block.
    pub fn levels(&self) -> usize {
        match self.pool {
            Pool::None => 0,
            _ => self.levels_between() + usize::from(self.pool_last),
        }
    }

    /// The number of pyramid levels that blocks run on, not counting the graphs themselves.
    pub(crate) fn levels_between(&self) -> usize {
        self.blocks.saturating_sub(self.pool_after)
    }

    /// The level a block runs on, for graphs with a pyramid of `levels` levels.
    pub fn level_of(&self, block: usize, levels: usize) -> usize {
        (block + 1).saturating_sub(self.pool_after).min(levels)
    }

    /// The options of the inputs.
    pub fn features(&self) -> FeatureOptions {
        FeatureOptions {
            raw: self.raw,
            by_length: self.by_length,
            structure: self.structure.clone(),
            bare_structure: self.bare_structure.clone(),
            edges: self.edge_gate != EdgeGate::None,
        }
    }

    /// The options of the readout.
    pub fn readout(&self) -> ReadoutOptions {
        ReadoutOptions {
            alpha: self.alpha.clone(),
            metric: self.metric,
            class_weight: self.class_weight.clone(),
            standardize: self.standardize,
            random_features: self.random_features,
            landmarks: self.landmarks,
            kernel: self.kernel,
            wl_weight: self.wl_weight,
            gaussian_width: self.gaussian_width,
        }
    }

    /// The rounds of Weisfeiler–Lehman colours that the readout compares; `None` if it compares
    /// none.
    pub(crate) fn colour_rounds(&self) -> Option<usize> {
        (self.landmarks > 0 && self.kernel.has_colours()).then_some(self.wl_rounds)
    }

    /// Returns this configuration with the given options replaced, and validates the result. Given
    /// random features replace landmarks unless landmarks are given, too. Training does not choose
    /// an option that is given, unless `choose` is given, too.
    pub fn overlay(&self, given: &Map<String, Value>) -> Result<Self> {
        let mut config = self.clone();
        for (name, value) in given {
            option(name)?.set(&mut config, value.clone())?;
        }
        if given.contains_key("random_features")
            && config.random_features > 0
            && !given.contains_key("landmarks")
        {
            config.landmarks = 0;
        }
        if !given.contains_key("choose") {
            config.choose.retain(|choose| !given.contains_key(choose.option()));
        }
        config.validate()?;
        Ok(config)
    }

    /// Why an option has no effect in this configuration: another option, and the value of it that
    /// would give it one. `None` if it has an effect.
    ///
    /// ```
    /// use stepwell::config::{ModelConfig, Pool};
    /// let config = ModelConfig { pool: Pool::Graclus, ..ModelConfig::default() };
    /// assert_eq!(config.lacks("delta"), Some(("pool", "ndp")));
    /// assert_eq!(config.lacks("reduce"), None);
    /// ```
    pub fn lacks(&self, option: &str) -> Option<(&'static str, &'static str)> {
        let lacks = |needs: bool, other, value| needs.then_some((other, value));
        let sparse = self.recurrence == Recurrence::Sparse || self.input_pattern == InputPattern::Sparse;
        match option {
            // With several blocks, `validate` ensures that something is pooled.
            "pool" => lacks(self.pool != Pool::None && self.levels() == 0, "blocks", "2 or more"),
            "pool_after" | "pool_last" => lacks(self.pool == Pool::None, "pool", "set"),
            "pool_seed" => lacks(matches!(self.pool, Pool::None | Pool::KMis), "pool", "graclus, nmf or ndp"),
            "reduce" => lacks(!matches!(self.pool, Pool::Graclus | Pool::KMis), "pool", "graclus or kmis"),
            "delta" | "sparsify" | "side" | "approximate" | "fill_budget" => {
                lacks(self.pool != Pool::Ndp, "pool", "ndp")
            }
            "hidden_scaling" => lacks(self.blocks == 1, "blocks", "2 or more"),
            "tied" => lacks(self.blocks < 3, "blocks", "3 or more"),
            "density" => lacks(!sparse, "recurrence", "sparse"),
            "tol" | "max_iter" => lacks(self.fixed_sweeps.is_some(), "fixed_sweeps", "none"),
            "kernel" | "wl_rounds" | "wl_weight" | "gaussian_width" if self.landmarks == 0 => {
                Some(("landmarks", "above 0"))
            }
            "wl_rounds" | "wl_weight" => lacks(self.kernel == Kernel::States, "kernel", "both"),
            "gaussian_width" => lacks(self.kernel == Kernel::WlOa, "kernel", "both"),
            _ => None,
        }
    }

    /// The options whose values differ from another configuration, with the values of this one.
    pub fn differences(&self, other: &Self) -> Map<String, Value> {
        let differing = options().iter().filter(|option| option.value(self) != option.value(other));
        differing.map(|option| (option.name.to_owned(), option.value(self))).collect()
    }

    /// Checks every value, and the conditions between options.
    pub fn validate(&self) -> Result<()> {
        options().iter().try_for_each(|option| option.check(self))?;
        options().iter().try_for_each(|option| option.check_blocks(self))?;
        self.alpha.validate()?;
        if self.pool_after > self.blocks {
            return Err(bad("pool_after", format!("1 to {}", self.blocks), self.pool_after));
        }
        if self.pool != Pool::None && self.pool_after > 1 && self.levels() == 0 {
            let expected = format!("1 to {} (otherwise nothing is pooled)", self.blocks - 1);
            return Err(bad("pool_after", expected, self.pool_after));
        }
        match self.level {
            Level::Vertex => self.validate_vertices()?,
            Level::Graph => {
                let given = [("own_inputs", self.own_inputs), ("concat_sweeps", self.concat_sweeps)];
                if let Some((name, _)) = given.into_iter().find(|(_, given)| *given) {
                    return Err(bad(name, "false at level graph", "true"));
                }
            }
        }
        if self.raw && self.by_length {
            return Err(bad("by_length", "false if raw is true", "true"));
        }
        let units = |block| self.units.get(block);
        if self.tied && (2..self.blocks).any(|block| units(block) != units(1) || units(0) != units(1)) {
            return Err(bad("units", "one value if blocks are tied", "several"));
        }
        // Outside this range, its square or the inverse of that overflows or underflows.
        if !(1e-6..=1e6).contains(&self.gaussian_width) {
            return Err(bad("gaussian_width", "1e-6 to 1e6", self.gaussian_width));
        }
        if self.wl_weight > 1e6 {
            return Err(bad("wl_weight", "at most 1e6", self.wl_weight));
        }
        if let Some(at) = (1..self.choose.len()).find(|&at| self.choose[..at].contains(&self.choose[at])) {
            let found = format!("{} twice", self.choose[at].option());
            return Err(bad("choose", "each option once", found));
        }
        if self.random_features > 0 && self.landmarks > 0 {
            let expected = "0 if random_features is given (some presets have landmarks)";
            return Err(bad("landmarks", expected, self.landmarks));
        }
        Ok(())
    }

    /// Rejects options that read graphs as a whole: they have no meaning for vertices.
    fn validate_vertices(&self) -> Result<()> {
        const WHY: &str = "at level vertex";
        if self.pool != Pool::None {
            return Err(bad(
                "pool",
                format!("none {WHY} (coarse graphs have other vertices)"),
                self.pool.name(),
            ));
        }
        if self.landmarks > 0 && self.kernel.has_colours() {
            let expected = format!("states {WHY} (colours compare whole graphs)");
            return Err(bad("kernel", expected, "colours; start from preset vertices"));
        }
        if self.concat_sweeps && self.fixed_sweeps.is_none() {
            return Err(bad("fixed_sweeps", "a number if concat_sweeps is true", "none"));
        }
        if self.concat_sweeps && self.reservoirs > 1 {
            return Err(bad("reservoirs", "1 if concat_sweeps is true", self.reservoirs));
        }
        if let Some(choose) = self.choose.first() {
            let found = format!("{}; start from preset vertices", choose.option());
            return Err(bad("choose", format!("nothing {WHY}"), found));
        }
        Ok(())
    }

    /// The number of states per block that are read: one after every sweep, or the last one.
    pub(crate) fn sweeps_read(&self) -> usize {
        if self.concat_sweeps { self.fixed_sweeps.unwrap_or(1) } else { 1 }
    }

    /// The blocks whose states enter the embedding.
    pub fn embedded_blocks(&self) -> std::ops::Range<usize> {
        if self.concat { 0..self.blocks } else { self.blocks - 1..self.blocks }
    }
}

fn bad(name: &'static str, expected: impl Into<String>, found: impl ToString) -> Error {
    Error::BadOption { name, expected: expected.into(), found: found.to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(change: impl FnOnce(&mut ModelConfig)) -> String {
        let mut options = ModelConfig::default();
        change(&mut options);
        options.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_valid_and_bad_values_are_named() {
        for preset in [Preset::Paper, Preset::Accurate, Preset::Reference, Preset::Vertices] {
            ModelConfig::preset(preset).validate().unwrap();
        }
        assert_eq!(refused(|o| o.units = 0.into()), "units: expected 1 to 32768, found 0");
        assert_eq!(refused(|o| o.gaussian_width = 0.0), "gaussian_width: expected 1e-6 to 1e6, found 0");
        assert_eq!(refused(|o| o.wl_weight = 1e9), "wl_weight: expected at most 1e6, found 1000000000");
        assert_eq!(refused(|o| o.leak = 0.0), "leak: expected more than 0 and at most 1, found 0");
        assert!(refused(|o| o.tol = f64::NAN).starts_with("tol: expected a finite number"));
        assert!(refused(|o| o.spectral_radius = (-0.5).into()).contains("found -0.5"));
        assert!(refused(|o| o.blocks = 0).starts_with("blocks"));
        assert_eq!(refused(|o| o.pool_after = 3), "pool_after: expected 1 to 2, found 3");
        let never = |o: &mut ModelConfig| (o.pool, o.pool_after) = (Pool::Ndp, 2);
        assert_eq!(refused(never), "pool_after: expected 1 to 1 (otherwise nothing is pooled), found 2");
        let last = ModelConfig { pool: Pool::Ndp, pool_after: 2, pool_last: true, ..Default::default() };
        assert!(last.validate().is_ok());
        assert!(refused(|o| o.aggregate.clear()).starts_with("aggregate: expected 1 to 4 values"));
        let found = refused(|o| o.units = PerBlock::Each(vec![3, 4, 5]));
        assert_eq!(found, "units: expected one value, or a list of 2, one per block, found 3 values");
        let tied = refused(|o| {
            (o.blocks, o.tied) = (3, true);
            o.units = PerBlock::Each(vec![5, 5, 6]);
        });
        assert!(tied.contains("tied"));
    }

    #[test]
    fn what_is_written_stays_what_it_was() {
        // Record fingerprints are hashes of this text, as version 0.1.0 wrote it.
        let paper = r#"{"blocks":2,"units":50,"spectral_radius":0.9,"scaling":"radius","input_scaling":0.5,"hidden_scaling":0.8,"recurrence":"dense","input_pattern":"uniform","density":0.1,"tied":false,"reservoirs":1,"stacks":1,"seed":0,"normalize":true,"lift":true,"precision":"f32","solver":"gauss-seidel","leak":1.0,"tol":0.00001,"max_iter":50,"fixed_sweeps":null,"pool":"none","pool_last":false,"pool_seed":0,"reduce":"mean","delta":0.1,"sparsify":"each-level","side":"largest","approximate":false,"fill_budget":67108864,"aggregate":["sum"],"concat":false,"raw":null,"structure":[],"alpha":"loo","class_weight":"none","standardize":false,"random_features":0}"#;
        assert_eq!(serde_json::to_string(&ModelConfig::default()).unwrap(), paper);
        let reference = ModelConfig::preset(Preset::Reference);
        assert!(serde_json::to_string(&reference).unwrap().contains(r#""raw":true,"structure":["degree""#));
        for (written, raw) in [("null", false), ("false", false), ("true", true)] {
            let read: ModelConfig = serde_json::from_str(&format!(r#"{{"raw":{written}}}"#)).unwrap();
            assert_eq!(read.raw, raw);
        }
    }

    #[test]
    fn the_table_names_every_field_once() {
        let unusual = ModelConfig {
            level: Level::Vertex,
            concat_sweeps: true,
            own_inputs: true,
            by_length: true,
            pool_after: 2,
            edge_gate: EdgeGate::Signs,
            bare_structure: vec![StructuralFeature::Degree],
            metric: Metric::Mae,
            landmarks: 1,
            kernel: Kernel::Both,
            wl_rounds: 3,
            wl_weight: 1.0,
            gaussian_width: 2.0,
            choose: vec![Choose::WlWeight],
            ..Default::default()
        };
        let Value::Object(fields) = serde_json::to_value(&unusual).unwrap() else { panic!("a struct") };
        let mut names: Vec<&str> = options().iter().map(|option| option.name).collect();
        names.sort_unstable();
        assert_eq!(names, fields.keys().collect::<Vec<_>>());
        for preset in [Preset::Paper, Preset::Accurate, Preset::Reference, Preset::Vertices] {
            let config = ModelConfig::preset(preset);
            let all =
                options().iter().map(|option| (option.name.to_owned(), option.value(&config))).collect();
            assert_eq!(ModelConfig::default().overlay(&all).unwrap(), config);
        }
    }

    #[test]
    fn options_out_of_range_are_refused_by_name() {
        for option in options() {
            let wrong = match option.range {
                Range::Any => continue,
                Range::Between(_, high) => Value::from(high + 1),
                Range::Count(..) => Value::Array(Vec::new()),
                Range::NotNegative if option.kind == Kind::ClassWeight => vec![-1.0].into(),
                Range::NotNegative => Value::from(-1.0),
                Range::Share => Value::from(1.5),
            };
            let refusal = option.set(&mut ModelConfig::default(), wrong).unwrap_err().to_string();
            assert!(refusal.starts_with(&format!("{}: expected {}", option.name, option.range)), "{refusal}");
        }
        assert!(option("unitz").unwrap_err().to_string().contains("'unitz'"));
    }

    #[test]
    fn names_of_values_may_have_underscores() {
        let given = json!({ "metric": "roc_auc", "structure": ["log_degree", "degree"] });
        let config = ModelConfig::default().overlay(given.as_object().unwrap()).unwrap();
        assert_eq!(config.metric, Metric::RocAuc);
        assert_eq!(config.structure, [StructuralFeature::LogDegree, StructuralFeature::Degree]);
        let refusal = option("metric").unwrap().set(&mut ModelConfig::default(), "auc_roc".into());
        assert!(refusal.unwrap_err().to_string().ends_with("found \"auc_roc\""));
    }

    #[test]
    fn given_options_replace_those_of_a_preset() {
        let given = |value: Value| value.as_object().unwrap().clone();
        let accurate = ModelConfig::preset(Preset::Accurate);
        let config = accurate.overlay(&given(json!({ "aggregate": "max", "random_features": 10 }))).unwrap();
        assert_eq!(
            (config.aggregate, config.random_features, config.landmarks),
            (vec![Aggregate::Max], 10, 0)
        );
        let both = accurate.overlay(&given(json!({ "landmarks": 9, "random_features": 10 })));
        assert!(both.unwrap_err().to_string().starts_with("landmarks: expected 0"));
        let wrong = accurate.overlay(&given(json!({ "blocks": 2, "units": [5, 6, 7] }))).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "units: expected one value, or a list of 2, one per block, found 3 values"
        );
    }

    #[test]
    fn types_are_written_as_python_has_them() {
        for (name, annotation) in [
            ("units", "int | Sequence[int]"),
            ("fixed_sweeps", "int | None"),
            ("scaling", r#"Literal["radius", "norm"]"#),
            ("pool", r#"Literal["none", "graclus", "nmf", "ndp", "kmis"]"#),
        ] {
            assert_eq!(option(name).unwrap().annotation(), annotation);
        }
    }
}
