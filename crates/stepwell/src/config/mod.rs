//! What a model can be asked for: one flat [`ModelConfig`].
//!
//! ```
//! use stepwell::config::{ModelConfig, Pool};
//! let config = ModelConfig { pool: Pool::Ndp, blocks: 3, units: 100.into(), ..Default::default() };
//! config.validate()?;
//! assert_eq!(config.levels(), 2); // pooled between the blocks
//! # Ok::<(), stepwell::Error>(())
//! ```

mod choices;

use serde::{Deserialize, Serialize};

pub use choices::{Aggregate, InputPattern, PerBlock, Pool, Precision, Preset, Recurrence, Scaling, Solver};

use crate::error::{Error, Result};
use crate::features::{FeatureOptions, StructuralFeature};
use crate::pool::ndp::{NdpOptions, Side, Sparsify};
use crate::pool::{GraclusOptions, KMisOptions, NmfOptions, Pooling, Reduce};
use crate::readout::{Alpha, ClassWeight, ReadoutOptions};

/// Everything that defines a model: reservoirs, the pooling between them, how
/// fixed points are found, and what is read off. Graphs without vertices embed
/// as zeros.
///
/// Field names are the same everywhere: keys of a configuration file, flags of
/// the command line (with dashes), parameters in Python.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Reservoirs on top of each other, L.
    pub blocks: usize,
    /// Units of a reservoir, H.
    pub units: PerBlock<usize>,
    /// Size of `W`, rho: see [`scaling`](Self::scaling). Below 1 unless
    /// states that never settle are wanted.
    pub spectral_radius: PerBlock<f64>,
    /// What `spectral_radius` measures.
    pub scaling: Scaling,
    /// Scale of the first block's `V`, omega_in.
    pub input_scaling: f64,
    /// Scale of the other blocks' `V`, omega_hid; in a list, the first entry is not used.
    pub hidden_scaling: PerBlock<f64>,
    /// Pattern of `W`.
    pub recurrence: Recurrence,
    /// Pattern of `V`.
    pub input_pattern: InputPattern,
    /// Share of entries that are not zero in sparse `W` and `V`.
    pub density: f64,
    /// Whether the second and all later blocks share one `W` and one `V`.
    pub tied: bool,
    /// Reservoirs side by side in every block, their states added up (ARMA).
    pub reservoirs: usize,
    /// Models side by side, their vectors joined.
    pub stacks: usize,
    /// Seed of all weights.
    pub seed: u64,
    /// Whether states spread by `Ã` (or, if not, by `A` itself).
    pub normalize: bool,
    /// Whether vertices that must have equal states are computed once.
    pub lift: bool,
    /// The numbers the states are computed in.
    pub precision: Precision,
    /// The order in which vertices take their new states.
    pub solver: Solver,
    /// Share of the new state in `(1-leak)·h + leak·tanh(…)`, in (0, 1].
    pub leak: f64,
    /// Stop once a sweep changes the states by less than this (Frobenius norm).
    pub tol: f64,
    /// Stop after this many sweeps in any case.
    pub max_iter: usize,
    /// Make exactly this many sweeps, whatever the change.
    pub fixed_sweeps: Option<usize>,
    /// What makes graphs smaller between blocks.
    pub pool: Pool,
    /// Blocks that run on the graphs themselves, before the first pooling.
    #[serde(skip_serializing_if = "is_one")]
    pub pool_after: usize,
    /// Whether the states of the last block are pooled once more before they
    /// are aggregated, where there is a pooling.
    pub pool_last: bool,
    /// Seed of the poolings that draw lots.
    pub pool_seed: u64,
    /// Graclus, k-MIS: how the states of a cluster become one.
    pub reduce: Reduce,
    /// NDP: links with a smaller weight are dropped.
    pub delta: f64,
    /// NDP: when they are dropped.
    pub sparsify: Sparsify,
    /// NDP: which side of the cut is kept.
    pub side: Side,
    /// NDP: where joining the kept vertices would take too many links, drop
    /// small ones on the way instead of refusing.
    pub approximate: bool,
    /// NDP: pairs of vertices that may be joined before it is too many.
    pub fill_budget: u64,
    /// What makes one vector of all states; several are joined.
    pub aggregate: Vec<Aggregate>,
    /// Whether all blocks go into the vector, not the last one alone.
    pub concat: bool,
    /// Whether attributes are taken as they are instead of z-scored.
    #[serde(with = "raw")]
    pub raw: bool,
    /// Columns read off the structure, beside what vertices carry.
    pub structure: Vec<StructuralFeature>,
    /// Columns read off the structure where vertices carry nothing; the degree
    /// unless said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bare_structure: Vec<StructuralFeature>,
    /// Readout: strength of the penalty.
    pub alpha: Alpha,
    /// Readout: how much the graphs of a class count.
    pub class_weight: ClassWeight,
    /// Readout: whether columns are divided by their standard deviations, as
    /// far as the penalty is concerned.
    pub standardize: bool,
    /// Readout: random tanh units between the vectors and the regression.
    pub random_features: usize,
    /// Readout: at most so many training graphs as landmarks, similarities to
    /// which are read in place of the vectors; 0 for none.
    #[serde(skip_serializing_if = "is_zero")]
    pub landmarks: usize,
}

/// Options that came later are written only where they are used, so that what
/// was said of a model before still is.
fn is_zero(value: &usize) -> bool {
    *value == 0
}

fn is_one(value: &usize) -> bool {
    *value == 1
}

/// Not raw is written as no value: so it was when datasets had an opinion on it,
/// and what was said of a model then still is.
mod raw {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(raw: &bool, serializer: S) -> Result<S::Ok, S::Error> {
        raw.then_some(true).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(false))
    }
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            blocks: 2,
            units: 50.into(),
            spectral_radius: 0.9.into(),
            scaling: Scaling::Radius,
            input_scaling: 0.5,
            hidden_scaling: 0.8.into(),
            recurrence: Recurrence::Dense,
            input_pattern: InputPattern::Uniform,
            density: 0.1,
            tied: false,
            reservoirs: 1,
            stacks: 1,
            seed: 0,
            normalize: true,
            lift: true,
            precision: Precision::F32,
            solver: Solver::GaussSeidel,
            leak: 1.0,
            tol: 1e-5,
            max_iter: 50,
            fixed_sweeps: None,
            pool: Pool::None,
            pool_after: 1,
            pool_last: false,
            pool_seed: 0,
            reduce: Reduce::Mean,
            delta: NdpOptions::default().delta,
            sparsify: Sparsify::EachLevel,
            side: Side::Largest,
            approximate: false,
            fill_budget: NdpOptions::default().fill_budget,
            aggregate: vec![Aggregate::Sum],
            concat: false,
            raw: false,
            structure: Vec::new(),
            bare_structure: Vec::new(),
            alpha: Alpha::Loo,
            class_weight: ClassWeight::None,
            standardize: false,
            random_features: 0,
            landmarks: 0,
        }
    }
}

/// More units than any machine has use for; keeps `H²` and index sums in range.
const MAX_UNITS: usize = 1 << 15;
const MAX_BLOCKS: usize = 1 << 10;

impl ModelConfig {
    /// The configuration of that name.
    pub fn preset(preset: Preset) -> Self {
        match preset {
            Preset::Paper => Self::default(),
            Preset::Accurate => Self {
                blocks: 3,
                units: 100.into(),
                input_scaling: 1.0,
                stacks: 3,
                // The first sweep sees no neighbour, the others one step further each:
                // six steps in three blocks. States that have settled cost more and say less.
                solver: Solver::Jacobi,
                fixed_sweeps: Some(3),
                aggregate: vec![Aggregate::Sum, Aggregate::Mean, Aggregate::Std],
                concat: true,
                // Beside inputs that say something, such columns drown it.
                bare_structure: vec![StructuralFeature::LogDegree, StructuralFeature::Clustering],
                landmarks: 2000,
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

    /// The pooling asked for, with its settings.
    pub fn pooling(&self) -> Option<Pooling> {
        let (reduce, seed) = (self.reduce, self.pool_seed);
        Some(match self.pool {
            Pool::None => return None,
            Pool::Graclus => Pooling::Graclus(GraclusOptions { reduce, seed }),
            Pool::Nmf => Pooling::Nmf(NmfOptions { seed, ..Default::default() }),
            Pool::KMis => Pooling::KMis(KMisOptions { reduce, ..Default::default() }),
            Pool::Ndp => Pooling::Ndp(NdpOptions {
                delta: self.delta,
                sparsify: self.sparsify,
                side: self.side,
                approximate: self.approximate,
                fill_budget: self.fill_budget,
                seed,
            }),
        })
    }

    /// How often graphs are pooled: between blocks, and perhaps behind the last.
    pub fn levels(&self) -> usize {
        match self.pool {
            Pool::None => 0,
            _ => self.levels_between() + usize::from(self.pool_last),
        }
    }

    /// Levels of a pyramid that blocks run on, those of the graphs themselves aside.
    pub(crate) fn levels_between(&self) -> usize {
        self.blocks.saturating_sub(self.pool_after)
    }

    /// The level a block runs on, where graphs have a pyramid of so many.
    pub fn level_of(&self, block: usize, levels: usize) -> usize {
        (block + 1).saturating_sub(self.pool_after).min(levels)
    }

    /// What goes into the inputs.
    pub fn features(&self) -> FeatureOptions {
        FeatureOptions {
            raw: self.raw,
            structure: self.structure.clone(),
            bare_structure: self.bare_structure.clone(),
        }
    }

    /// How the readout is trained.
    pub fn readout(&self) -> ReadoutOptions {
        ReadoutOptions {
            alpha: self.alpha.clone(),
            class_weight: self.class_weight.clone(),
            standardize: self.standardize,
            random_features: self.random_features,
            landmarks: self.landmarks,
        }
    }

    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        self.readout().validate()?;
        between("blocks", self.blocks, 1, MAX_BLOCKS)?;
        between("pool after", self.pool_after, 1, self.blocks)?;
        if self.pool != Pool::None && self.pool_after > 1 && self.levels() == 0 {
            let expected = format!("1 to {}, since nothing would be pooled", self.blocks - 1);
            let found = self.pool_after.to_string();
            return Err(Error::BadOption { name: "pool after", expected, found });
        }
        between("stacks", self.stacks, 1, MAX_BLOCKS)?;
        between("reservoirs", self.reservoirs, 1, MAX_BLOCKS)?;
        lengths("units", &self.units, self.blocks)?;
        lengths("spectral radius", &self.spectral_radius, self.blocks)?;
        lengths("hidden scaling", &self.hidden_scaling, self.blocks)?;
        for &units in self.units.as_slice() {
            between("units", units, 1, MAX_UNITS)?;
        }
        for &radius in self.spectral_radius.as_slice() {
            finite("spectral radius", radius)?;
        }
        for &scale in self.hidden_scaling.as_slice() {
            finite("hidden scaling", scale)?;
        }
        finite("input scaling", self.input_scaling)?;
        finite("tol", self.tol)?;
        finite("delta", self.delta)?;
        share("density", self.density)?;
        share("leak", self.leak)?;
        between("max iter", self.max_iter, 1, u32::MAX as usize)?;
        if let Some(sweeps) = self.fixed_sweeps {
            between("fixed sweeps", sweeps, 1, u32::MAX as usize)?;
        }
        between("number of aggregates", self.aggregate.len(), 1, 4)?;
        let units = |block| self.units.get(block);
        if self.tied && (2..self.blocks).any(|block| units(block) != units(1) || units(0) != units(1)) {
            return Err(bad("units", "one value, since blocks are tied", "several"));
        }
        Ok(())
    }

    /// Blocks that go into the embedding.
    pub(crate) fn embedded_blocks(&self) -> std::ops::Range<usize> {
        if self.concat { 0..self.blocks } else { self.blocks - 1..self.blocks }
    }
}

fn bad(name: &'static str, expected: impl Into<String>, found: impl ToString) -> Error {
    Error::BadOption { name, expected: expected.into(), found: found.to_string() }
}

fn between(name: &'static str, found: usize, low: usize, high: usize) -> Result<()> {
    match (low..=high).contains(&found) {
        true => Ok(()),
        false => Err(bad(name, format!("{low} to {high}"), found)),
    }
}

fn finite(name: &'static str, found: f64) -> Result<()> {
    match found.is_finite() && found >= 0.0 {
        true => Ok(()),
        false => Err(bad(name, "a finite number that is not negative", found)),
    }
}

fn share(name: &'static str, found: f64) -> Result<()> {
    match found > 0.0 && found <= 1.0 {
        true => Ok(()),
        false => Err(bad(name, "more than 0 and at most 1", found)),
    }
}

fn lengths<T: Copy>(name: &'static str, values: &PerBlock<T>, blocks: usize) -> Result<()> {
    match values {
        PerBlock::Each(values) if values.len() != blocks => {
            let expected = format!("one value, or {blocks} of them, one per block");
            Err(bad(name, expected, format!("{} values", values.len())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut ModelConfig)) -> String {
        let mut options = ModelConfig::default();
        change(&mut options);
        options.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_valid_and_bad_values_are_named() {
        for preset in [Preset::Paper, Preset::Accurate, Preset::Reference] {
            ModelConfig::preset(preset).validate().unwrap();
        }
        assert_eq!(refused(|o| o.units = 0.into()), "units: expected 1 to 32768, found 0");
        assert_eq!(refused(|o| o.leak = 0.0), "leak: expected more than 0 and at most 1, found 0");
        assert!(refused(|o| o.tol = f64::NAN).starts_with("tol: expected a finite number"));
        assert!(refused(|o| o.spectral_radius = (-0.5).into()).contains("found -0.5"));
        assert!(refused(|o| o.blocks = 0).starts_with("blocks"));
        assert_eq!(refused(|o| o.pool_after = 3), "pool after: expected 1 to 2, found 3");
        let never = |o: &mut ModelConfig| (o.pool, o.pool_after) = (Pool::Ndp, 2);
        assert_eq!(refused(never), "pool after: expected 1 to 1, since nothing would be pooled, found 2");
        let last = ModelConfig { pool: Pool::Ndp, pool_after: 2, pool_last: true, ..Default::default() };
        assert!(last.validate().is_ok());
        assert!(refused(|o| o.aggregate.clear()).starts_with("number of aggregates"));
        let found = refused(|o| o.units = PerBlock::Each(vec![3, 4, 5]));
        assert_eq!(found, "units: expected one value, or 2 of them, one per block, found 3 values");
        let tied = refused(|o| {
            (o.blocks, o.tied) = (3, true);
            o.units = PerBlock::Each(vec![5, 5, 6]);
        });
        assert!(tied.contains("tied"));
    }
}
