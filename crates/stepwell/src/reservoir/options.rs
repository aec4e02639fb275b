//! What a reservoir model can be asked for.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// One value for all blocks, or one for each.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PerBlock<T> {
    /// The same everywhere.
    All(T),
    /// As many values as there are blocks.
    Each(Vec<T>),
}

impl<T: Copy> PerBlock<T> {
    /// The value of one block; past the end of a list, its last value.
    pub fn get(&self, block: usize) -> Option<T> {
        match self {
            Self::All(value) => Some(*value),
            Self::Each(values) => values.get(block).or(values.last()).copied(),
        }
    }

    fn as_slice(&self) -> &[T] {
        match self {
            Self::All(value) => std::slice::from_ref(value),
            Self::Each(values) => values,
        }
    }
}

impl<T> From<T> for PerBlock<T> {
    fn from(value: T) -> Self {
        Self::All(value)
    }
}

/// How the units of a block feed each other, the pattern of `W`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recurrence {
    /// All entries uniform in (-1, 1).
    #[default]
    Dense,
    /// A share of the entries, `density`, uniform in (-1, 1); the rest zero.
    Sparse,
    /// Unit k feeds unit k+1, the last one the first, all equally.
    Ring,
    /// A random rotation or reflection.
    Orthogonal,
    /// Every unit feeds itself alone, uniform in (-1, 1).
    Diagonal,
}

/// How inputs reach the units of a block, the pattern of `V`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputPattern {
    /// All entries uniform in (-1, 1).
    #[default]
    Uniform,
    /// All entries -1 or 1.
    Signs,
    /// A share of the entries, `density`, uniform in (-1, 1); the rest zero.
    Sparse,
    /// Every unit sees one input, with a weight uniform in (-1, 1).
    OnePerUnit,
}

/// What `spectral_radius` is the size of.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// The largest modulus among the eigenvalues of `W`.
    #[default]
    Radius,
    /// The 2-norm of `W`.
    Norm,
}

/// The order in which vertices take their new states.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// Colour after colour of a greedy colouring, each seeing the states
    /// already renewed: about half the sweeps.
    #[default]
    GaussSeidel,
    /// All at once from the states of the sweep before: the paper's iteration.
    Jacobi,
}

/// The numbers the states are computed in.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// 32 bits.
    #[default]
    F32,
    /// 64 bits.
    F64,
}

/// What makes one vector of the states of all vertices.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregate {
    /// Their sum, as in the paper.
    Sum,
    /// Their mean.
    Mean,
    /// The largest value of each unit.
    Max,
    /// The standard deviation of each unit (ddof 0).
    Std,
}

/// Everything that defines a stack of reservoirs and how its fixed points are
/// found. Graphs without vertices embed as zeros.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReservoirOptions {
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
    /// What makes one vector of all states; several are joined.
    pub aggregate: Vec<Aggregate>,
    /// Whether all blocks go into the vector, not the last one alone.
    pub concat: bool,
}

impl Default for ReservoirOptions {
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
            aggregate: vec![Aggregate::Sum],
            concat: false,
        }
    }
}

/// More units than any machine has use for; keeps `H²` and index sums in range.
const MAX_UNITS: usize = 1 << 15;
const MAX_BLOCKS: usize = 1 << 10;

impl ReservoirOptions {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        between("blocks", self.blocks, 1, MAX_BLOCKS)?;
        between("stacks", self.stacks, 1, MAX_BLOCKS)?;
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

    fn refused(change: impl FnOnce(&mut ReservoirOptions)) -> String {
        let mut options = ReservoirOptions::default();
        change(&mut options);
        options.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_valid_and_bad_values_are_named() {
        ReservoirOptions::default().validate().unwrap();
        assert_eq!(refused(|o| o.units = 0.into()), "units: expected 1 to 32768, found 0");
        assert_eq!(refused(|o| o.leak = 0.0), "leak: expected more than 0 and at most 1, found 0");
        assert!(refused(|o| o.tol = f64::NAN).starts_with("tol: expected a finite number"));
        assert!(refused(|o| o.spectral_radius = (-0.5).into()).contains("found -0.5"));
        assert!(refused(|o| o.blocks = 0).starts_with("blocks"));
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
