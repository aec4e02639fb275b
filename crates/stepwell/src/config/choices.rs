//! Values an option of a model can have.

use serde::{Deserialize, Serialize};

/// One value for all blocks, or one for each.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged, expecting = "expected one number, or a list with one per block")]
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

    pub(super) fn as_slice(&self) -> &[T] {
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

impl<T> From<Vec<T>> for PerBlock<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Each(values)
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

/// How labels of edges change the states that pass along them, in half of the units,
/// which are drawn at random. Attributes of edges have gates `cos(a·U + b)` with random
/// `U` and `b`; where edges carry both, gates are multiplied.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeGate {
    /// Not at all: what edges carry is ignored, attributes included.
    #[default]
    None,
    /// A random sign for each label and unit.
    Signs,
    /// A number uniform in (-1, 1) for each label and unit.
    Uniform,
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

impl Precision {
    /// What people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
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

/// What a model gives vectors and predictions of.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Graphs: the states of their vertices are aggregated.
    #[default]
    Graph,
    /// Vertices: each is read off its own states.
    Vertex,
}

impl Level {
    /// What there is a row of, in words: graphs or vertices.
    pub fn items(self) -> &'static str {
        match self {
            Self::Graph => "graphs",
            Self::Vertex => "vertices",
        }
    }
}

/// What landmarks are compared by.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// The vectors: a linear and a Gaussian kernel.
    #[default]
    States,
    /// Weisfeiler–Lehman colours: the optimal assignment kernel.
    WlOa,
    /// The sum of both.
    Both,
}

impl Kernel {
    /// Whether vectors are compared.
    pub fn has_states(self) -> bool {
        self != Self::WlOa
    }

    /// Whether colours are compared.
    pub fn has_colours(self) -> bool {
        self != Self::States
    }
}

/// An option that leave-one-out chooses on some of the training graphs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choose {
    /// Whether structural columns are added to what vertices carry.
    Structure,
    /// Whether the adjacency matrix is normalised.
    Normalize,
    /// How much Weisfeiler–Lehman colours count in the kernel.
    WlWeight,
    /// How wide the Gaussian kernel is.
    GaussianWidth,
}

impl Choose {
    /// All of them, in the order in which they are decided.
    pub const ALL: [Self; 4] = [Self::Structure, Self::Normalize, Self::WlWeight, Self::GaussianWidth];

    /// The option that is chosen.
    pub fn option(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Normalize => "normalize",
            Self::WlWeight => "wl_weight",
            Self::GaussianWidth => "gaussian_width",
        }
    }
}

/// A named configuration to start from.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The paper's equations, found by Gauss–Seidel: the default.
    #[default]
    Paper,
    /// The best reading of untrained reservoirs: three stacks of three wide
    /// blocks, a few sweeps each, all of them read by sum, mean and standard
    /// deviation, gates for what edges carry, degree and clustering coefficient
    /// where vertices carry nothing, and a kernel in front of the regression.
    Accurate,
    /// For vertices in place of graphs: one wide block, a few sweeps beyond contraction, all of
    /// them read beside the vertex's own inputs, and a kernel in front of the regression.
    Vertices,
    /// What the paper's public code does where that is a setting: Jacobi
    /// sweeps, `W` scaled by its norm, later blocks tied, one more pooling
    /// behind the last block, weak links dropped below 0.01 after the next
    /// level is made, attributes as they are with degree and clustering
    /// coefficient beside them.
    Reference,
}

/// How good predictions are, in one number.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// What suits the targets: accuracy of classes; ROC-AUC if there are two and
    /// less than a fifth of the graphs are of the rarer one, or if there are several
    /// targets of 0 and 1; RMSE of numbers.
    #[default]
    Auto,
    /// The share of graphs whose class is predicted correctly.
    Accuracy,
    /// The mean over classes of the share of their graphs that is predicted correctly.
    BalancedAccuracy,
    /// The mean over classes of F1, the harmonic mean of precision and recall.
    MacroF1,
    /// The area under the ROC curve; of several classes, the mean of each against the rest.
    RocAuc,
    /// The mean of precision over recall; of several classes, the mean of each against the rest.
    AveragePrecision,
    /// Minus the mean logarithm of the probability given to what is true.
    LogLoss,
    /// The mean squared distance between probabilities and what is true.
    Brier,
    /// The root of the mean squared error.
    Rmse,
    /// The mean absolute error.
    Mae,
    /// The share of the variance that is explained.
    R2,
}
