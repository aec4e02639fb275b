//! Readouts trained on some graphs: of a model as it is, or, in a search, one
//! for every penalty from a single decomposition.

use ndarray::{Array2, ArrayView2, Axis};
use stepwell::model::{Model, TrainedModel};
use stepwell::readout::{ClassWeight, Coefficients, DualRidge, LeaveOneOut, Moments, RidgePath, Sample};
use stepwell::targets::Encoded;

use crate::baselines::{Counts, Rows};
use crate::error::Result;
use crate::protocol::Protocol;

/// What is known of graphs: a row each, or, where rows would be too long to
/// write down, the inner product of each with each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Design {
    /// A row for every graph.
    Vectors(Array2<f64>),
    /// Row times row, and the rows themselves for products with other graphs'.
    Products(Array2<f64>, Counts),
}

impl Design {
    /// Of the rows of all graphs.
    pub fn new(rows: Rows) -> Self {
        match rows {
            Rows::Vectors(vectors) => Self::Vectors(vectors),
            Rows::Counts(counts) => Self::Products(counts.products(&counts), counts),
        }
    }

    /// What a readout trained on some of the graphs is shown of others.
    pub fn of(&self, graphs: &[usize], trained_on: &[usize]) -> Array2<f64> {
        match self {
            Self::Vectors(vectors) => vectors.select(Axis(0), graphs),
            Self::Products(products, _) => {
                let shape = (graphs.len(), trained_on.len());
                Array2::from_shape_fn(shape, |(i, j)| products[(graphs[i], trained_on[j])])
            }
        }
    }

    /// What a readout trained on all of the graphs is shown of new ones.
    pub fn of_new(&self, rows: Rows) -> Array2<f64> {
        match (self, rows) {
            (Self::Products(_, counts), Rows::Counts(new)) => new.products(counts),
            (_, Rows::Vectors(vectors)) => vectors,
            (Self::Vectors(_), Rows::Counts(_)) => unreachable!("a baseline's rows are of one kind"),
        }
    }
}

/// The weight of each of some graphs; none where all count alike.
pub(crate) fn class_weights(
    class_weight: &ClassWeight,
    targets: &Encoded,
    graphs: &[usize],
) -> Result<Option<Vec<f64>>> {
    let Some(codes) = targets.codes() else { return Ok(None) };
    let codes: Vec<usize> = graphs.iter().map(|&graph| codes[graph]).collect();
    Ok(class_weight.per_row(&codes, targets.classes().len(), None)?)
}

/// Readouts for all penalties that are left to choose from.
pub(crate) enum Readouts {
    /// Of vectors, for each of these penalties.
    Linear(Box<RidgePath>, Vec<f64>),
    /// Of inner products, for each of these penalties.
    Dual(DualRidge, Vec<f64>),
    /// The model's own, trained as `stepwell train` does.
    Own(Box<TrainedModel>),
}

impl Readouts {
    /// Trains a model's own readout on the vectors of some graphs.
    pub fn own(model: Model, x: ArrayView2<'_, f64>, targets: &Encoded, keys: &[u64]) -> Result<Self> {
        Ok(Self::Own(Box::new(TrainedModel::fit_encoded(model, x, targets, Sample::with_keys(keys))?)))
    }

    /// Trains linear readouts with the penalties of a search. Vectors may be
    /// weighted and standardised.
    pub fn searched(
        x: Array2<f64>,
        y: Array2<f64>,
        weights: Option<&[f64]>,
        standardize: bool,
        protocol: &Protocol,
    ) -> Result<Self> {
        let mut moments = Moments::new(x.ncols(), y.ncols())?;
        moments.observe(x.view(), y.view(), weights)?;
        let path = RidgePath::new(&moments, standardize)?;
        let mut alphas = protocol.alphas.clone();
        if protocol.leave_one_out {
            let mut errors = LeaveOneOut::new(&path, &alphas)?;
            errors.observe(x.view(), y.view(), weights)?;
            alphas = vec![errors.finish().best()];
        }
        Ok(Self::Linear(Box::new(path), alphas))
    }

    /// The same for graphs known by their inner products.
    pub fn dual(products: Array2<f64>, y: Array2<f64>, protocol: &Protocol) -> Result<Self> {
        let ridge = DualRidge::new(products, y)?;
        let mut alphas = protocol.alphas.clone();
        if protocol.leave_one_out {
            alphas = vec![ridge.leave_one_out(&alphas)?.best()];
        }
        Ok(Self::Dual(ridge, alphas))
    }

    /// How many penalties there are to choose from.
    pub fn len(&self) -> usize {
        match self {
            Self::Linear(_, alphas) | Self::Dual(_, alphas) => alphas.len(),
            Self::Own(_) => 1,
        }
    }

    /// The readout with one of the penalties.
    pub fn solve(&self, index: usize) -> Result<Solved<'_>> {
        Ok(match self {
            Self::Linear(path, alphas) => {
                let Coefficients { weights, intercept } = path.solve(alphas[index])?;
                Solved::Linear { alpha: alphas[index], weights, intercept }
            }
            Self::Dual(ridge, alphas) => {
                let found = ridge.solve(alphas[index])?;
                let (weights, intercept) = (found.weights, found.intercept);
                Solved::Linear { alpha: alphas[index], weights, intercept }
            }
            Self::Own(trained) => Solved::Own(trained),
        })
    }
}

/// A trained readout.
pub(crate) enum Solved<'a> {
    Linear { alpha: f64, weights: Array2<f64>, intercept: ndarray::Array1<f64> },
    Own(&'a TrainedModel),
}

impl Solved<'_> {
    /// Its penalty.
    pub fn alpha(&self) -> f64 {
        match self {
            Self::Linear { alpha, .. } => *alpha,
            Self::Own(trained) => trained.readout.alpha(),
        }
    }

    /// Decision values or predicted numbers for what a [`Design`] shows of graphs.
    pub fn decisions(&self, shown: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        Ok(match self {
            Self::Linear { weights, intercept, .. } => shown.dot(weights) + intercept,
            Self::Own(trained) => trained.readout.predict(shown)?,
        })
    }
}
