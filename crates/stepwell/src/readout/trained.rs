//! A trained readout: from vectors to classes or numbers.

use ndarray::{Array2, ArrayView2, Axis, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::classify::{check_num_classes, decode_classes, encode_classes, num_columns};
use super::columns::Columns;
use super::landmarks::{Landmarks, Picked};
use super::leave_one_out::LeaveOneOut;
use super::moments::Moments;
use super::options::ReadoutOptions;
use super::random_features::RandomFeatures;
use super::ridge::{Coefficients, RidgePath, check_alpha};
use super::rows;
use crate::error::{Error, Result};
use crate::linalg;
use crate::linalg::symmetric::dot;

/// What a readout is to predict.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// One of so many classes.
    Classification {
        /// How many, at least 2.
        #[serde(rename = "classes")]
        num_classes: usize,
    },
    /// Numbers.
    Regression {
        /// How many for a row, at least 1.
        targets: usize,
    },
}

impl Task {
    /// Columns of the targets, and of what comes out.
    pub fn num_columns(self) -> usize {
        match self {
            Self::Classification { num_classes } => num_columns(num_classes),
            Self::Regression { targets } => targets,
        }
    }
}

/// What is known about the rows to train on.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// The class of every row, counted from 0.
    Classes {
        /// One per row.
        classes: &'a [usize],
        /// How many classes there are.
        num_classes: usize,
    },
    /// Numbers, a row for each row of inputs.
    Values(ArrayView2<'a, f64>),
}

/// Takes some rows: inputs, encoded targets ([`encode_classes`]), and weights,
/// where rows do not all count alike.
pub type Piecewise<'a> =
    dyn FnMut(ArrayView2<'_, f64>, ArrayView2<'_, f64>, Option<&[f64]>) -> Result<()> + 'a;

/// What is put in place of the inputs before they are read.
#[derive(Clone, Debug, PartialEq)]
pub enum Expansion {
    /// Random tanh units.
    Random(RandomFeatures),
    /// Similarities to some of the rows.
    Landmarks(Landmarks),
}

impl Expansion {
    fn num_inputs(&self) -> usize {
        match self {
            Self::Random(random) => random.weights().nrows(),
            Self::Landmarks(landmarks) => landmarks.mean().len(),
        }
    }

    fn num_outputs(&self) -> usize {
        match self {
            Self::Random(random) => random.bias().len(),
            Self::Landmarks(landmarks) => landmarks.rows().nrows(),
        }
    }

    fn apply(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        match self {
            Self::Random(random) => random.apply(x),
            Self::Landmarks(landmarks) => landmarks.apply(x),
        }
    }
}

/// A linear map, possibly behind an [`Expansion`], that tells classes apart or
/// predicts numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Readout {
    task: Task,
    alpha: f64,
    expansion: Option<Expansion>,
    coefficients: Coefficients,
}

/// Rows that are expanded at a time: similarities are many numbers.
const PIECE: usize = 4096;

/// Rows as they go into the regression, their targets and weights.
type Expanded = (Array2<f64>, Array2<f64>, Option<Vec<f64>>);

/// Numbers in expanded rows that are kept in memory: half a gigabyte.
const MOST_KEPT: usize = 1 << 26;

impl Readout {
    /// Trains on rows at hand. `seed` is that of the random features.
    pub fn fit(
        x: ArrayView2<'_, f64>,
        targets: Targets<'_>,
        weights: Option<&[f64]>,
        options: &ReadoutOptions,
        seed: u64,
    ) -> Result<Self> {
        options.validate()?;
        let encoded;
        let combined;
        let (task, y, weights) = match targets {
            Targets::Values(y) => (Task::Regression { targets: y.ncols() }, y, weights),
            Targets::Classes { classes, num_classes } => {
                encoded = encode_classes(classes, num_classes)?;
                combined = options.class_weight.per_row(classes, num_classes, weights)?;
                (Task::Classification { num_classes }, encoded.view(), combined.as_deref())
            }
        };
        rows::check(x, y, weights, (x.ncols(), y.ncols()))?;
        Self::fit_pieces(x.ncols(), task, options, seed, |take| {
            (0..x.nrows()).step_by(PIECE).try_for_each(|first| {
                let rows = first..x.nrows().min(first + PIECE);
                let (x, y) = (x.slice(s![rows.clone(), ..]), y.slice(s![rows.clone(), ..]));
                take(x, y, weights.map(|weights| &weights[rows]))
            })
        })
    }

    /// Trains on rows that come in pieces and need not fit into memory. `pass`
    /// hands all of them, in the same order, to what it is given (inputs,
    /// encoded targets, weights); it is called up to three times: for the
    /// expansion, for the moments and, where there is a choice, for the
    /// penalty. How rows are cut into pieces changes no bit.
    pub fn fit_pieces<E: From<Error>>(
        num_inputs: usize,
        task: Task,
        options: &ReadoutOptions,
        seed: u64,
        mut pass: impl FnMut(&mut Piecewise<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        options.validate()?;
        let targets = task.num_columns();
        let expansion = Self::expand(num_inputs, options, seed, &mut pass)?;
        // Landmarks are trained on with the kernel's own inner products.
        let whitening = match &expansion {
            Some(Expansion::Landmarks(landmarks)) => Some(landmarks.whitening()?),
            _ => None,
        };
        // They are scaled already.
        let standardize = options.standardize && whitening.is_none();
        let width = expansion.as_ref().map_or(num_inputs, Expansion::num_outputs);
        let choosing = options.alpha.candidates().len() > 1;
        // Rows that are dear to expand are kept for the next pass, as long as they are not too many.
        let mut kept = Some(Vec::new());
        let mut pass = |take: &mut Piecewise<'_>| match (&expansion, kept.take()) {
            (None, _) => pass(take),
            (_, Some(rows)) if !rows.is_empty() => Ok(rows
                .iter()
                .try_for_each(|(x, y, weights): &Expanded| take(x.view(), y.view(), weights.as_deref()))?),
            (Some(expansion), _) => {
                let (mut keeping, mut numbers) = (Some(Vec::new()), 0);
                pass(&mut |x, y, weights| {
                    let mut expanded = expansion.apply(x)?;
                    if let Some(root) = &whitening {
                        expanded = linalg::multiply_rows(expanded.view(), root.view());
                    }
                    numbers += expanded.len();
                    take(expanded.view(), y, weights)?;
                    keeping = keeping.take().filter(|_| choosing && numbers <= MOST_KEPT);
                    if let Some(rows) = &mut keeping {
                        rows.push((expanded, y.to_owned(), weights.map(<[f64]>::to_vec)));
                    }
                    Ok(())
                })?;
                kept = keeping;
                Ok(())
            }
        };
        let mut moments = Moments::new(width, targets)?;
        // Fewer rows than columns are better decomposed themselves; they are few in any case.
        let (mut few, mut count) = (Some((Vec::new(), Vec::new(), Vec::new())), 0);
        pass(&mut |x, y, weights| {
            moments.observe(x, y, weights)?;
            count += x.nrows();
            few = few.take().filter(|_| count < width);
            if let Some((xs, ys, ws)) = &mut few {
                xs.extend(x.iter());
                ys.extend(y.iter());
                ws.extend((0..x.nrows()).map(|row| weights.map_or(1.0, |weights| weights[row])));
            }
            Ok(())
        })?;
        let alphas = options.alpha.candidates();
        let (alpha, coefficients) = match (few, alphas) {
            (None, &[alpha]) => (alpha, Coefficients::of_moments(&moments, alpha, standardize)?),
            (few, alphas) => {
                let path = match few {
                    None => RidgePath::new(&moments, standardize)?,
                    Some((xs, ys, ws)) => {
                        let x = rows::shaped(xs, (count, width))?;
                        let y = rows::shaped(ys, (count, targets))?;
                        RidgePath::from_rows(x.view(), y.view(), Some(&ws), standardize)?
                    }
                };
                let alpha = match *alphas {
                    [alpha] => alpha,
                    _ => {
                        let mut errors = LeaveOneOut::new(&path, alphas)?;
                        pass(&mut |x, y, weights| errors.observe(x, y, weights))?;
                        errors.finish().best()
                    }
                };
                (alpha, path.solve(alpha)?)
            }
        };
        let Coefficients { weights, intercept } = coefficients;
        let weights = match whitening {
            None => weights,
            Some(root) => linalg::multiply(root.view(), weights.view()),
        };
        Ok(Self::from_parts(task, alpha, expansion, Coefficients { weights, intercept })?)
    }

    /// What goes in front of the regression, drawn or picked in one pass.
    fn expand<E: From<Error>>(
        num_inputs: usize,
        options: &ReadoutOptions,
        seed: u64,
        pass: &mut impl FnMut(&mut Piecewise<'_>) -> Result<(), E>,
    ) -> Result<Option<Expansion>, E> {
        if options.random_features == 0 && options.landmarks == 0 {
            return Ok(None);
        }
        let mut columns = Columns::new(num_inputs);
        let mut picked = Picked::new(options.landmarks, seed);
        pass(&mut |x, _, weights| {
            if options.landmarks > 0 {
                picked.observe(x, weights);
            }
            columns.observe(x, weights)
        })?;
        Ok(Some(match options.landmarks {
            0 => Expansion::Random(RandomFeatures::draw(options.random_features, &columns, seed)),
            _ => Expansion::Landmarks(Landmarks::new(picked.rows(num_inputs)?.view(), &columns)?),
        }))
    }

    /// Puts a readout together: one trained elsewhere, or one that was saved.
    pub fn from_parts(
        task: Task,
        alpha: f64,
        expansion: Option<Expansion>,
        coefficients: Coefficients,
    ) -> Result<Self> {
        match task {
            Task::Classification { num_classes } => check_num_classes(num_classes)?,
            Task::Regression { targets } => rows::length("targets", targets.max(1), targets)?,
        }
        check_alpha(alpha, true)?;
        let Coefficients { weights, intercept } = &coefficients;
        rows::length("columns of the coefficients", task.num_columns(), weights.ncols())?;
        rows::length("intercepts", task.num_columns(), intercept.len())?;
        if let Some(expansion) = &expansion {
            rows::length("rows of the coefficients", expansion.num_outputs(), weights.nrows())?;
        }
        rows::finite("coefficient", weights.view())?;
        rows::finite("intercept", intercept.view().insert_axis(Axis(1)))?;
        Ok(Self { task, alpha, expansion, coefficients })
    }

    /// What it predicts.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The strength of the penalty it was trained with.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// What stands in front of the linear map, if anything does.
    pub fn expansion(&self) -> Option<&Expansion> {
        self.expansion.as_ref()
    }

    /// The linear map.
    pub fn coefficients(&self) -> &Coefficients {
        &self.coefficients
    }

    /// Columns of the inputs.
    pub fn num_inputs(&self) -> usize {
        self.expansion.as_ref().map_or(self.coefficients.weights.nrows(), Expansion::num_inputs)
    }

    /// What the linear map gives for every row: predicted numbers, or decision
    /// values of the classes (of two, one value, above 0 for the second).
    /// A row's bits do not depend on the other rows.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        rows::length("columns of the inputs", self.num_inputs(), x.ncols())?;
        rows::finite("input", x)?;
        let Coefficients { weights, intercept } = &self.coefficients;
        let columns: Vec<Vec<f64>> = weights.columns().into_iter().map(|column| column.to_vec()).collect();
        let row = |x: ndarray::ArrayView1<'_, f64>| {
            let x = x.as_standard_layout();
            let x = x.as_slice().unwrap_or(&[]);
            columns.iter().zip(intercept).map(|(column, b)| dot(x, column) + b).collect::<Vec<f64>>()
        };
        let mut values = Vec::with_capacity(x.nrows() * intercept.len());
        for piece in x.axis_chunks_iter(Axis(0), PIECE) {
            let expanded = self.expansion.as_ref().map(|expansion| expansion.apply(piece)).transpose()?;
            let piece = expanded.as_ref().map_or(piece, |expanded| expanded.view());
            let rows = (0..piece.nrows()).into_par_iter().with_min_len(256).map(|i| row(piece.row(i)));
            values.extend(rows.collect::<Vec<_>>().into_iter().flatten());
        }
        rows::shaped(values, (x.nrows(), intercept.len()))
    }

    /// The class of every row; an error for a regression.
    pub fn classify(&self, x: ArrayView2<'_, f64>) -> Result<Vec<usize>> {
        match self.task {
            Task::Classification { .. } => Ok(decode_classes(self.predict(x)?.view())),
            Task::Regression { .. } => Err(Error::BadOption {
                name: "task",
                expected: "classification".to_string(),
                found: "regression".to_string(),
            }),
        }
    }
}
