//! The values that a model's options can have.

use serde::{Deserialize, Serialize};

/// One value for all blocks, or one per block.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged, expecting = "expected a number, or a list with one number per block")]
pub enum PerBlock<T> {
    /// The same value for all blocks.
    All(T),
    /// One value per block.
    Each(Vec<T>),
}

impl<T: Copy> PerBlock<T> {
    /// The value of one block. Beyond the end of a list, the last value.
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

/// Connections between the units of a block: the pattern of `W`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recurrence {
    /// All entries uniform in (-1, 1).
    #[default]
    Dense,
    /// A fraction `density` of the entries is uniform in (-1, 1); the rest is zero.
    Sparse,
    /// Unit k feeds unit k+1 and the last unit feeds the first, all with the same weight.
    Ring,
    /// A random rotation or reflection.
    Orthogonal,
    /// Every unit feeds only itself, with a weight uniform in (-1, 1).
    Diagonal,
}

/// Connections from the inputs to the units of a block: the pattern of `V`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputPattern {
    /// All entries uniform in (-1, 1).
    #[default]
    Uniform,
    /// All entries -1 or 1.
    Signs,
    /// A fraction `density` of the entries is uniform in (-1, 1); the rest is zero.
    Sparse,
    /// Every unit reads one input, with a weight uniform in (-1, 1).
    OnePerUnit,
}

/// How edge labels change the states that pass along the edges. Half of the units, drawn at random,
/// have gates. Edge attributes `a` have the gates `cos(a·U + b)` with random `U` and `b`. If edges
/// carry both, the gates are multiplied.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeGate {
    /// No gates: labels and attributes of edges are ignored.
    #[default]
    None,
    /// A random sign for each label and unit.
    Signs,
    /// A number uniform in (-1, 1) for each label and unit.
    Uniform,
}

/// The size of `W` that `spectral_radius` sets.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// The largest modulus among the eigenvalues of `W`.
    #[default]
    Radius,
    /// The 2-norm of `W`.
    Norm,
}

/// The order in which vertices are updated.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// Colour by colour of a greedy colouring. Each vertex reads the states already updated in this
    /// sweep, which takes about half as many sweeps.
    #[default]
    GaussSeidel,
    /// All vertices at once, from the states of the previous sweep: the paper's iteration.
    Jacobi,
}

/// The floating-point precision of the states.
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
    /// The name that users write.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Bytes per number.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// How the states of all vertices become one vector.
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

/// What a model embeds and predicts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Graphs: the states of all vertices are aggregated.
    #[default]
    Graph,
    /// Vertices: each is predicted from its own states.
    Vertex,
}

impl Level {
    /// The plural noun for messages: graphs or vertices.
    pub fn items(self) -> &'static str {
        match self {
            Self::Graph => "graphs",
            Self::Vertex => "vertices",
        }
    }
}

/// The kernel that compares graphs with landmarks.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// A linear and a Gaussian kernel of the vectors.
    #[default]
    States,
    /// The optimal assignment kernel of Weisfeiler–Lehman colours.
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

/// An option that training chooses by leave-one-out on a sample of the training graphs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choose {
    /// Whether structural columns are added to the vertex features.
    Structure,
    /// Whether the adjacency matrix is normalised.
    Normalize,
    /// The weight of the Weisfeiler–Lehman colours in the kernel.
    WlWeight,
    /// The width of the Gaussian kernel.
    GaussianWidth,
}

impl Choose {
    /// All of them, in the order in which training chooses them.
    pub const ALL: [Self; 4] = [Self::Structure, Self::Normalize, Self::WlWeight, Self::GaussianWidth];

    /// The name of the option.
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
    /// The paper's equations, solved by Gauss–Seidel: the default.
    #[default]
    Paper,
    /// The most accurate readout of untrained reservoirs: three stacks of three wide blocks with a
    /// few sweeps each, all blocks aggregated by sum, mean and standard deviation, gates for edge
    /// labels and attributes, degree and clustering coefficient for vertices without features, and
    /// a kernel in front of the regression.
    Accurate,
    /// For vertices instead of graphs: one wide block and a few sweeps beyond contraction. The
    /// readout is a kernel regression on the states after every sweep and the vertex's own inputs.
    Vertices,
    /// The behaviour of the paper's public code, as far as options cover it: Jacobi sweeps, `W`
    /// scaled by its norm, later blocks tied, one more pooling after the last block, links below
    /// 0.01 dropped after the next level is made, and raw attributes next to degree and clustering
    /// coefficient.
    Reference,
}

/// A metric: one number for the quality of predictions.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The metric that fits the targets. Classes: accuracy, or ROC-AUC if there are two classes and
    /// less than a fifth of the graphs belong to the rarer one. Several binary targets: ROC-AUC.
    /// Numbers: RMSE.
    #[default]
    Auto,
    /// The fraction of graphs whose class is predicted correctly.
    Accuracy,
    /// The mean over classes of the fraction of their graphs that is predicted correctly.
    BalancedAccuracy,
    /// The mean over classes of F1, the harmonic mean of precision and recall.
    MacroF1,
    /// The area under the ROC curve; for several classes, the mean of one against the rest.
    RocAuc,
    /// The mean of precision over recall; for several classes, the mean of one against the rest.
    AveragePrecision,
    /// Minus the mean logarithm of the probability of the true class.
    LogLoss,
    /// The mean squared distance between the probabilities and the true class.
    Brier,
    /// The root mean squared error.
    Rmse,
    /// The mean absolute error.
    Mae,
    /// The fraction of the variance that is explained.
    R2,
}
