//! Readouts trained on some graphs: a model's own readout or, in a search, one readout
//! per penalty from a single decomposition.

use ndarray::{Array2, ArrayView2, Axis};
use stepwell::model::{Model, TrainedModel};
use stepwell::readout::{ClassWeight, Coefficients, DualRidge, LeaveOneOut, Moments, RidgePath, Sample};
use stepwell::targets::{Encoded, Task};

use crate::baselines::{Counts, Rows, Vectors};
use crate::error::Result;
use crate::protocol::Protocol;

/// The rows of graphs or, if rows are too long to store, all pairwise inner products.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Design {
    /// One row per graph.
    Vectors(Vectors),
    /// Pairwise products, and the rows themselves for products with other graphs.
    Products(Array2<f64>, Counts),
}

impl Design {
    /// A design from the rows of all graphs.
    pub fn new(rows: Rows) -> Result<Self> {
        Ok(match rows {
            Rows::Vectors(vectors) => Self::Vectors(vectors),
            Rows::Counts(counts) => Self::Products(counts.products(&counts)?, counts),
        })
    }

    /// The part of the design from which a readout trained on `trained_on` predicts
    /// `graphs`.
    pub fn of(&self, graphs: &[usize], trained_on: &[usize]) -> Shown {
        match self {
            Self::Vectors(vectors) => Shown::Vectors(vectors.select(graphs)),
            Self::Products(products, _) => {
                let shape = (graphs.len(), trained_on.len());
                let product = |(i, j): (usize, usize)| products[(graphs[i], trained_on[j])];
                Shown::Products(Array2::from_shape_fn(shape, product))
            }
        }
    }

    /// The part from which a readout trained on all graphs predicts new ones.
    pub fn of_new(&self, rows: Rows) -> Result<Shown> {
        Ok(match (self, rows) {
            (Self::Products(_, counts), Rows::Counts(new)) => Shown::Products(new.products(counts)?),
            (_, Rows::Vectors(vectors)) => Shown::Vectors(vectors),
            (Self::Vectors(_), Rows::Counts(_)) => unreachable!("a baseline's rows are of one kind"),
        })
    }
}

/// The weights of the rows for one target. `None` if all rows weigh the same.
fn class_weights(
    class_weight: &ClassWeight,
    targets: &Encoded,
    target: usize,
    rows: &[usize],
) -> Result<Option<Vec<f64>>> {
    let codes: Vec<usize> = match (targets.codes(), targets.values(), targets.task()) {
        (Some(codes), ..) => rows.iter().map(|&row| codes[row]).collect(),
        (None, Some(values), Task::Binary { .. }) => {
            rows.iter().map(|&row| usize::from(values[(row, target)] > 0.0)).collect()
        }
        _ => return Ok(None),
    };
    Ok(class_weight.per_row(&codes, targets.task().num_classes(), None)?)
}

/// Readouts for all candidate penalties.
pub(crate) enum Readouts {
    /// Readouts of vectors, for each of these penalties.
    Linear(Box<RidgePath>, Vec<f64>),
    /// Readouts of inner products, for each of these penalties.
    Dual(DualRidge, Vec<f64>),
    /// The model's own readout, trained as `stepwell train` does.
    Own(Box<TrainedModel>),
    /// Several targets: targets known for the same graphs share a readout. The number counts all
    /// columns; the columns of targets that are known for no graph have no readout.
    Several(Vec<Part<Self>>, usize),
}

/// A readout trained on the graphs for which some targets are known.
pub(crate) struct Part<T> {
    /// The columns of these targets.
    columns: Vec<usize>,
    /// The products with training graphs that it reads. `None` for vectors, which it
    /// reads completely.
    rows: Option<Vec<usize>>,
    trained: T,
}

impl Readouts {
    /// Trains a model's own readout on the vectors of some graphs.
    pub fn own(model: Model, vectors: &Vectors, targets: &Encoded, keys: &[u64]) -> Result<Self> {
        let (known, count) = (targets.known(), targets.task().num_targets());
        if !known.is_empty() && known.len() < count {
            let trained = Self::own(model, vectors, &targets.of_targets(&known), keys)?;
            return Ok(Self::Several(vec![Part { columns: known, rows: None, trained }], count));
        }
        let sample = Sample::with_keys(keys);
        Ok(Self::Own(Box::new(TrainedModel::fit_encoded(model, vectors.rows(), targets, sample)?)))
    }

    /// Trains linear readouts with the penalties of a search on graphs with these
    /// targets. Graphs may be weighted by class; vectors may be standardised.
    pub fn searched(
        shown: Shown,
        targets: &Encoded,
        class_weight: &ClassWeight,
        standardize: bool,
        protocol: &Protocol,
    ) -> Result<Self> {
        let (task, y) = (targets.task(), targets.matrix());
        let weighs = !matches!(class_weight, ClassWeight::None | ClassWeight::Auto);
        let mut groups: Vec<Vec<usize>> = match task {
            // Each target has its own class weights, so each needs its own regression.
            Task::Binary { targets } if weighs => (0..targets).map(|target| vec![target]).collect(),
            _ => targets.census().groups(),
        };
        let known = targets.known();
        if !known.is_empty() {
            groups.retain(|group| known.contains(&group[0]));
        }
        if groups.len() == 1 && !y.iter().any(|value| value.is_nan()) {
            let rows: Vec<usize> = (0..targets.len()).collect();
            let weights = class_weights(class_weight, targets, 0, &rows)?;
            return shown.train(y, weights.as_deref(), standardize, protocol);
        }
        let part = |group: Vec<usize>| {
            let columns: Vec<usize> = group.iter().flat_map(|&target| task.columns_of(target)).collect();
            let rows: Vec<usize> = (0..y.nrows()).filter(|&row| !y[(row, columns[0])].is_nan()).collect();
            let weights = if weighs { class_weights(class_weight, targets, group[0], &rows)? } else { None };
            let y = y.select(Axis(0), &rows).select(Axis(1), &columns);
            let (shown, rows) = match &shown {
                Shown::Vectors(x) => (Shown::Vectors(x.select(&rows)), None),
                Shown::Products(x) => {
                    (Shown::Products(x.select(Axis(0), &rows).select(Axis(1), &rows)), Some(rows))
                }
            };
            Ok(Part { columns, rows, trained: shown.train(y, weights.as_deref(), standardize, protocol)? })
        };
        Ok(Self::Several(groups.into_iter().map(part).collect::<Result<_>>()?, task.num_columns()))
    }

    /// Number of candidate penalties.
    pub fn len(&self) -> usize {
        match self {
            Self::Linear(_, alphas) | Self::Dual(_, alphas) => alphas.len(),
            Self::Own(_) => 1,
            Self::Several(parts, _) => parts.first().map_or(0, |part| part.trained.len()),
        }
    }

    /// Solves for one of the penalties.
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
            Self::Several(parts, columns) => {
                let mut solved = Vec::with_capacity(parts.len());
                for Part { columns, rows, trained } in parts {
                    let (columns, rows) = (columns.clone(), rows.clone());
                    solved.push(Part { columns, rows, trained: trained.solve(index)? });
                }
                Solved::Several(solved, *columns)
            }
        })
    }
}

/// The input of a readout.
pub(crate) enum Shown {
    /// One row per graph.
    Vectors(Vectors),
    /// The inner product of each graph with each training graph.
    Products(Array2<f64>),
}

impl Shown {
    fn train(
        self,
        y: Array2<f64>,
        weights: Option<&[f64]>,
        standardize: bool,
        protocol: &Protocol,
    ) -> Result<Readouts> {
        let mut alphas = protocol.alphas.clone();
        match self {
            Self::Vectors(Vectors { numbers: x, .. }) => {
                let mut moments = Moments::new(x.ncols(), y.ncols())?;
                moments.observe(x.view(), y.view(), weights)?;
                let path = RidgePath::new(&moments, standardize)?;
                if protocol.leave_one_out {
                    let mut errors = LeaveOneOut::new(&path, &alphas)?;
                    errors.observe(x.view(), y.view(), weights)?;
                    alphas = vec![errors.finish().best()];
                }
                Ok(Readouts::Linear(Box::new(path), alphas))
            }
            Self::Products(products) => {
                let ridge = DualRidge::new(products, y)?;
                if protocol.leave_one_out {
                    alphas = vec![ridge.leave_one_out(&alphas)?.best()];
                }
                Ok(Readouts::Dual(ridge, alphas))
            }
        }
    }
}

/// A trained readout.
pub(crate) enum Solved<'a> {
    Linear { alpha: f64, weights: Array2<f64>, intercept: ndarray::Array1<f64> },
    Own(&'a TrainedModel),
    Several(Vec<Part<Self>>, usize),
}

impl Solved<'_> {
    /// Its penalty; for several targets, that of the first.
    pub fn alpha(&self) -> f64 {
        match self {
            Self::Linear { alpha, .. } => *alpha,
            Self::Own(trained) => trained.readout.alphas()[0],
            Self::Several(parts, _) => parts.first().map_or(0.0, |part| part.trained.alpha()),
        }
    }

    /// Decision values or predicted numbers for the part of a [`Design`] that `shown`
    /// holds; NaN for targets without a readout.
    pub fn decisions(&self, shown: &Shown) -> Result<Array2<f64>> {
        let numbers = match shown {
            Shown::Vectors(Vectors { numbers, .. }) => numbers.view(),
            Shown::Products(products) => products.view(),
        };
        Ok(match (self, shown) {
            (Self::Linear { weights, intercept, .. }, _) => numbers.dot(weights) + intercept,
            (Self::Own(trained), Shown::Vectors(vectors)) => trained.decide(vectors.rows())?,
            (Self::Own(trained), Shown::Products(_)) => trained.readout.predict(numbers)?,
            (Self::Several(parts, columns), _) => {
                let mut all = Array2::from_elem((numbers.nrows(), *columns), f64::NAN);
                for Part { columns, rows, trained } in parts {
                    let found = match rows {
                        Some(rows) => trained.decisions(&Shown::Products(numbers.select(Axis(1), rows)))?,
                        None => trained.decisions(shown)?,
                    };
                    for (&column, found) in columns.iter().zip(found.columns()) {
                        all.column_mut(column).assign(&found);
                    }
                }
                all
            }
        })
    }

    /// The probabilities for some decisions. Only a model's own readout of classes has
    /// them.
    pub fn probabilities(&self, decisions: ArrayView2<'_, f64>) -> Result<Option<Array2<f64>>> {
        match self {
            Self::Linear { .. } => Ok(None),
            Self::Own(trained) => {
                let assessed = trained.readout.assessments().unwrap_or_default();
                let known = !assessed.is_empty() && assessed.iter().all(|found| found.calibration.is_some());
                Ok(if known { Some(trained.probabilities(decisions)?) } else { None })
            }
            // Several targets of 0 and 1: a column each.
            Self::Several(parts, columns) => {
                let mut all = Array2::from_elem((decisions.nrows(), *columns), f64::NAN);
                for Part { columns, trained, .. } in parts {
                    let Some(found) = trained.probabilities(decisions.select(Axis(1), columns).view())?
                    else {
                        return Ok(None);
                    };
                    for (&column, found) in columns.iter().zip(found.columns()) {
                        all.column_mut(column).assign(&found);
                    }
                }
                Ok(Some(all))
            }
        }
    }
}
