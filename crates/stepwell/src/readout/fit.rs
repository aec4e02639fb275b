//! Training a readout, one pass over the rows after the other.
//!
//! There are up to three: for what stands in front of the regression (scales,
//! landmarks), for the moments and, where there is a choice, for the penalty.
//! Between passes stands a small [`ReadoutFit`], which can be sent to wherever
//! rows are; what is [`Gathered`] of them in one pass comes back and is merged.

use std::sync::OnceLock;

use ndarray::{Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::columns::Columns;
use super::landmarks::{Landmarks, Picked};
use super::leave_one_out::{AlphaErrors, LeaveOneOut};
use super::moments::Moments;
use super::random_features::RandomFeatures;
use super::ridge::{Coefficients, RidgePath};
use super::rows::{self, Pending, Sample};
use super::trained::{Expansion, PIECE, Readout};
use crate::config::ClassWeight;
use crate::config::ReadoutOptions;
use crate::error::{Error, Result, same_length};
use crate::linalg;
use crate::targets::{Encoded, Task};

/// Takes some rows: inputs, encoded targets ([`Encoded::columns`]), and what else
/// is known of them.
pub type Piecewise<'a> = dyn FnMut(ArrayView2<'_, f64>, ArrayView2<'_, f64>, Sample<'_>) -> Result<()> + 'a;

/// A readout in the making.
///
/// ```
/// use ndarray::array;
/// use stepwell::readout::{ReadoutFit, ReadoutOptions, Sample};
/// use stepwell::targets::Task;
///
/// let (x, y) = (array![[0.0], [1.0], [2.0], [3.0]], array![[1.0], [3.0], [5.0], [7.0]]);
/// let mut fit = ReadoutFit::new(1, Task::Regression { targets: 1 }, &ReadoutOptions::default(), 0)?;
/// let readout = loop {
///     // Two halves of the rows, perhaps on two machines.
///     let half = |rows: std::ops::Range<usize>| {
///         let rows = ndarray::Slice::from(rows);
///         let of = |all: &ndarray::Array2<f64>| all.slice_axis(ndarray::Axis(0), rows).to_owned();
///         fit.gather(|take| take(of(&x).view(), of(&y).view(), Sample::default()))
///     };
///     let mut all = half(0..2)?;
///     all.merge(half(2..4)?)?;
///     if let Some(readout) = fit.advance(all)? {
///         break readout;
///     }
/// };
/// assert!((readout.predict(array![[4.0]].view())?[(0, 0)] - 9.0).abs() < 1e-3);
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ReadoutFit {
    task: Task,
    options: ReadoutOptions,
    seed: u64,
    num_inputs: usize,
    blind: bool,
    step: Step,
}

/// What the next pass is for.
#[derive(Clone, Debug, Deserialize, Serialize)]
enum Step {
    /// What stands in front of the regression.
    Inputs,
    Moments(Front),
    Penalty(Front, Box<Sums>),
}

/// What stands in front of the regression, if anything does.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Front {
    expansion: Option<Expansion>,
    /// Landmarks are trained on with the kernel's own inner products: `L` with
    /// `L Lᵀ = k(C, C)`.
    root: Option<Array2<f64>>,
}

/// What one pass over some rows has gathered; what others have gathered of other
/// rows is added by [`merge`](Self::merge).
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Gathered(Kind);

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Kind {
    Inputs(Columns, Picked, Alike),
    Moments(Box<Sums>, Alike),
    Errors(AlphaErrors),
}

/// Whether all rows so far were equal, and to what.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Alike {
    first: Option<Vec<f64>>,
    differ: bool,
}

impl Alike {
    fn observe(&mut self, x: ArrayView2<'_, f64>) {
        for row in x.outer_iter().take(if self.differ { 0 } else { usize::MAX }) {
            let first = self.first.get_or_insert_with(|| row.to_vec());
            self.differ |= row.iter().zip(first).any(|(a, b)| a != b);
        }
    }

    fn merge(&mut self, other: Self) {
        self.differ |= other.differ;
        match (&self.first, other.first) {
            (Some(mine), Some(theirs)) => self.differ |= *mine != theirs,
            (None, theirs) => self.first = theirs,
            _ => {}
        }
    }
}

/// Moments, and the rows themselves while they are fewer than their columns:
/// then they are better decomposed themselves, and few in any case.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Sums {
    moments: Moments,
    few: Option<Few>,
    /// Made of them when it is first asked for.
    #[serde(skip)]
    path: OnceLock<RidgePath>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Few {
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
}

impl Sums {
    fn new(inputs: usize, targets: usize) -> Result<Self> {
        Ok(Self { moments: Moments::new(inputs, targets)?, few: Some(Few::default()), path: OnceLock::new() })
    }

    fn observe(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
    ) -> Result<()> {
        self.moments.observe(x, y, weights)?;
        self.keep_few();
        if let Some(few) = &mut self.few {
            few.x.extend(x.iter());
            few.y.extend(y.iter());
            few.weights.extend((0..x.nrows()).map(|row| weights.map_or(1.0, |weights| weights[row])));
        }
        Ok(())
    }

    fn keep_few(&mut self) {
        let fewer = self.moments.num_rows() < self.moments.num_inputs() as u64;
        self.few = self.few.take().filter(|_| fewer);
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        self.moments.merge(&other.moments)?;
        self.few = match (self.few.take(), other.few) {
            (Some(mut mine), Some(theirs)) => {
                mine.x.extend(theirs.x);
                mine.y.extend(theirs.y);
                mine.weights.extend(theirs.weights);
                Some(mine)
            }
            _ => None,
        };
        self.keep_few();
        Ok(())
    }

    /// The path of rows that are few.
    fn path(&self, few: &Few, standardize: bool) -> Result<&RidgePath> {
        if let Some(path) = self.path.get() {
            return Ok(path);
        }
        let Few { x, y, weights } = few;
        let x = rows::shaped(x.clone(), (weights.len(), self.moments.num_inputs()))?;
        let y = rows::shaped(y.clone(), (weights.len(), self.moments.num_targets()))?;
        let path = RidgePath::from_rows(x.view(), y.view(), Some(weights), standardize)?;
        Ok(self.path.get_or_init(|| path))
    }

    fn leave_one_out(&self, alphas: &[f64], standardize: bool) -> Result<LeaveOneOut<'_>> {
        match &self.few {
            Some(few) => LeaveOneOut::new(self.path(few, standardize)?, alphas),
            None => LeaveOneOut::of_moments(&self.moments, alphas, standardize),
        }
    }

    fn solve(&self, alpha: f64, standardize: bool) -> Result<Coefficients> {
        match &self.few {
            Some(few) => self.path(few, standardize)?.solve(alpha),
            None => Coefficients::of_moments(&self.moments, alpha, standardize),
        }
    }
}

impl Gathered {
    /// The leave-one-out errors of all alphas, if that is what was gathered.
    pub fn errors(&self) -> Option<&AlphaErrors> {
        match &self.0 {
            Kind::Errors(errors) => Some(errors),
            _ => None,
        }
    }

    /// Adds what the same pass has gathered of other rows.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        match (&mut self.0, other.0) {
            (Kind::Inputs(columns, picked, alike), Kind::Inputs(others, more, theirs)) => {
                picked.merge(more);
                alike.merge(theirs);
                columns.merge(&others)
            }
            (Kind::Moments(sums, alike), Kind::Moments(others, theirs)) => {
                alike.merge(theirs);
                sums.merge(*others)
            }
            (Kind::Errors(errors), Kind::Errors(others)) => errors.merge(&others),
            _ => Err(another_pass()),
        }
    }
}

fn another_pass() -> Error {
    let (expected, found) = ("what this pass is for".into(), "something of another pass".into());
    Error::BadOption { name: "gathered", expected, found }
}

impl Front {
    /// Hands rows on as they go into the regression. Rows in front of which
    /// landmarks stand are gathered into blocks of one size first.
    fn pass<E: From<Error>>(
        &self,
        pass: impl FnOnce(&mut Piecewise<'_>) -> Result<(), E>,
        take: &mut Piecewise<'_>,
    ) -> Result<(), E> {
        let Some(expansion) = &self.expansion else { return pass(take) };
        let Some(root) = &self.root else {
            return pass(&mut |x, y, sample| take(expansion.apply(x)?.view(), y, sample));
        };
        let (mut pending, width) = (Pending::default(), root.nrows());
        let mut whiten = |block: &mut Pending| {
            let Pending { rows, weights } = block;
            let count = weights.len();
            let stride = rows.len() / count.max(1);
            linalg::solve_rows(rows, stride, root.view());
            let rows = ArrayView2::from_shape((count, stride), rows).expect("a block's rows have one length");
            let (x, y) = rows.split_at(Axis(1), width);
            take(x, y, Sample { weights: Some(weights), keys: None })
        };
        let mut failed = Ok(());
        pass(&mut |x, y, sample| {
            same_length("rows of the targets", x.nrows(), y.nrows())?;
            sample.check(x.nrows())?;
            pending.extend(expansion.apply(x)?.view(), y, sample.weights, |block| {
                if failed.is_ok() {
                    failed = whiten(block);
                }
            });
            std::mem::replace(&mut failed, Ok(()))
        })?;
        if pending.is_empty() { Ok(()) } else { Ok(whiten(&mut pending)?) }
    }
}

impl ReadoutFit {
    /// Before the first pass. `seed` is that of random features and landmarks.
    pub fn new(num_inputs: usize, task: Task, options: &ReadoutOptions, seed: u64) -> Result<Self> {
        options.validate()?;
        let plain = options.random_features == 0 && options.landmarks == 0;
        let step = if plain { Step::Moments(Front::default()) } else { Step::Inputs };
        Ok(Self { task, options: options.clone(), seed, num_inputs, blind: false, step })
    }

    /// Takes some rows in, as the next pass needs them. How `pass` cuts them into
    /// pieces changes no bit.
    pub fn gather<E: From<Error>>(
        &self,
        pass: impl FnOnce(&mut Piecewise<'_>) -> Result<(), E>,
    ) -> Result<Gathered, E> {
        self.gather_expanded(|take| self.front().pass(pass, take))
    }

    /// The same for rows that went through the front already.
    fn gather_expanded<E: From<Error>>(
        &self,
        pass: impl FnOnce(&mut Piecewise<'_>) -> Result<(), E>,
    ) -> Result<Gathered, E> {
        Ok(Gathered(match &self.step {
            Step::Inputs => {
                let mut columns = Columns::new(self.num_inputs);
                let mut picked = Picked::new(self.options.landmarks, self.seed);
                let mut alike = Alike::default();
                pass(&mut |x, _, sample| {
                    if self.options.landmarks > 0 {
                        picked.observe(x, sample);
                    }
                    alike.observe(x);
                    columns.observe(x, sample.weights)
                })?;
                Kind::Inputs(columns, picked, alike)
            }
            Step::Moments(front) => {
                let width = front.expansion.as_ref().map_or(self.num_inputs, Expansion::num_outputs);
                let mut sums = Sums::new(width, self.task.num_columns())?;
                let mut alike = Alike::default();
                pass(&mut |x, y, sample| {
                    alike.observe(x);
                    sums.observe(x, y, sample.weights)
                })?;
                Kind::Moments(Box::new(sums), alike)
            }
            Step::Penalty(_, sums) => {
                let mut errors = sums.leave_one_out(self.options.alpha.candidates(), self.standardize())?;
                pass(&mut |x, y, sample| errors.observe(x, y, sample.weights))?;
                Kind::Errors(errors.finish())
            }
        }))
    }

    /// Goes on with what a pass over all rows has gathered: the readout, or
    /// nothing if one more pass is needed.
    pub fn advance(&mut self, gathered: Gathered) -> Result<Option<Readout>> {
        Ok(self.advanced(gathered)?.map(|(readout, _)| readout))
    }

    /// The same, and the coefficients for rows as they go into the regression.
    fn advanced(&mut self, gathered: Gathered) -> Result<Option<(Readout, Coefficients)>> {
        let found = match (std::mem::replace(&mut self.step, Step::Inputs), gathered.0) {
            (Step::Inputs, Kind::Inputs(columns, picked, alike)) => {
                self.blind = !alike.differ;
                let expansion = if self.options.landmarks > 0 {
                    Expansion::Landmarks(Landmarks::new(picked.rows(self.num_inputs)?.view(), &columns)?)
                } else {
                    Expansion::Random(RandomFeatures::draw(self.options.random_features, &columns, self.seed))
                };
                let root = match &expansion {
                    Expansion::Landmarks(landmarks) => Some(landmarks.root()?),
                    Expansion::Random(_) => None,
                };
                self.step = Step::Moments(Front { expansion: Some(expansion), root });
                return Ok(None);
            }
            (Step::Moments(front), Kind::Moments(mut sums, alike)) => {
                sums.moments.settle();
                self.blind |= !alike.differ;
                match *self.options.alpha.candidates() {
                    [alpha] => {
                        (alpha, sums.solve(alpha, self.options.standardize && front.root.is_none())?, front)
                    }
                    _ => {
                        self.step = Step::Penalty(front, sums);
                        return Ok(None);
                    }
                }
            }
            (Step::Penalty(front, sums), Kind::Errors(errors)) => {
                let (alpha, standardize) = (errors.best(), self.options.standardize && front.root.is_none());
                (alpha, sums.solve(alpha, standardize)?, front)
            }
            (step, _) => {
                self.step = step;
                return Err(another_pass());
            }
        };
        let (alpha, inner, Front { expansion, root }) = found;
        let mut outer = inner.clone();
        if let Some(root) = root {
            outer.weights = linalg::solve_transposed(root.view(), outer.weights);
        }
        let mut readout = Readout::from_parts(self.task, alpha, expansion, outer)?;
        readout.blind = self.blind;
        Ok(Some((readout, inner)))
    }

    fn front(&self) -> &Front {
        const NOTHING: &Front = &Front { expansion: None, root: None };
        match &self.step {
            Step::Inputs => NOTHING,
            Step::Moments(front) | Step::Penalty(front, _) => front,
        }
    }

    /// Landmarks are scaled already.
    fn standardize(&self) -> bool {
        self.options.standardize && self.front().root.is_none()
    }
}

/// Rows as they go into the regression, their targets and weights.
type Expanded = (Array2<f64>, Array2<f64>, Option<Vec<f64>>);

/// Numbers in expanded rows that are kept in memory: half a gigabyte.
const MOST_KEPT: usize = 1 << 26;

/// A readout, and what it says of the rows it was trained on.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The readout.
    pub readout: Readout,
    /// A row of [`predict`](Readout::predict) for every row, up to rounding.
    pub values: Array2<f64>,
}

impl Readout {
    /// Trains on rows at hand. `sample` says how much each row counts, beside the
    /// class weights of the options, and what landmarks are drawn by; `seed` is
    /// that of random features and landmarks.
    pub fn fit(
        x: ArrayView2<'_, f64>,
        targets: &Encoded,
        sample: Sample<'_>,
        options: &ReadoutOptions,
        seed: u64,
    ) -> Result<Self> {
        same_length("rows of the targets", x.nrows(), targets.len())?;
        let fitted = Self::fit_pieces(x.ncols(), targets, sample, options, seed, |take| {
            (0..x.nrows())
                .step_by(PIECE)
                .try_for_each(|first| take(x.slice(s![first..x.nrows().min(first + PIECE), ..])))
        });
        fitted.map(|fitted: Fitted| fitted.readout)
    }

    /// Trains on rows that come in pieces and need not fit into memory. `pass`
    /// hands all of them, in the same order, to what it is given; it is called up
    /// to three times. How rows are cut into pieces changes no bit.
    pub fn fit_pieces<E: From<Error>>(
        num_inputs: usize,
        targets: &Encoded,
        sample: Sample<'_>,
        options: &ReadoutOptions,
        seed: u64,
        mut pass: impl FnMut(&mut dyn FnMut(ArrayView2<'_, f64>) -> Result<()>) -> Result<(), E>,
    ) -> Result<Fitted, E> {
        let mut fit = ReadoutFit::new(num_inputs, targets.task(), options, seed)?;
        sample.check(targets.len())?;
        let weights = match targets.codes() {
            Some(codes) => options.class_weight.per_row(codes, targets.classes().len(), sample.weights)?,
            None if options.class_weight != ClassWeight::None => {
                let (expected, found) = ("none, since numbers are predicted".into(), "class weights".into());
                return Err(Error::BadOption { name: "class_weight", expected, found }.into());
            }
            None => sample.weights.map(<[f64]>::to_vec),
        };
        let sample = Sample { weights: weights.as_deref(), ..sample };
        let mut pass = |take: &mut Piecewise<'_>| {
            let mut seen = 0;
            pass(&mut |x| {
                let rows = seen..seen + x.nrows();
                seen = rows.end;
                if seen > targets.len() {
                    return same_length("rows of the targets", seen, targets.len());
                }
                take(x, targets.columns(rows.clone()).view(), sample.of(rows))
            })?;
            Ok::<(), E>(same_length("rows of the inputs", targets.len(), seen)?)
        };
        // Rows that are dear to expand are kept for the next pass, as long as they are not too many.
        let mut kept: Option<Vec<Expanded>> = None;
        loop {
            let gathered = match &kept {
                Some(rows) => fit.gather_expanded(|take| {
                    rows.iter().try_for_each(|(x, y, weights)| {
                        take(x.view(), y.view(), Sample { weights: weights.as_deref(), keys: None })
                    })
                })?,
                None if fit.front().expansion.is_none() => fit.gather(&mut pass)?,
                None => {
                    let (mut keeping, mut numbers) = (Some(Vec::new()), 0);
                    let gathered = fit.gather_expanded(|take| {
                        fit.front().pass(&mut pass, &mut |x, y, sample| {
                            take(x, y, sample)?;
                            numbers += x.len();
                            keeping = keeping.take().filter(|_| numbers <= MOST_KEPT);
                            if let Some(rows) = &mut keeping {
                                rows.push((x.to_owned(), y.to_owned(), sample.weights.map(<[f64]>::to_vec)));
                            }
                            Ok(())
                        })
                    })?;
                    kept = keeping;
                    gathered
                }
            };
            let Some((readout, inner)) = fit.advanced(gathered)? else { continue };
            let mut values = Array2::zeros((0, targets.task().num_columns()));
            let mut add =
                |more: Array2<f64>| values.append(Axis(0), more.view()).expect("one column per target");
            match kept {
                Some(rows) => rows.iter().for_each(|(x, _, _)| {
                    add(linalg::multiply(x.view(), inner.weights.view()) + &inner.intercept);
                }),
                None => pass(&mut |x, _, _| {
                    add(readout.predict(x)?);
                    Ok(())
                })?,
            }
            return Ok(Fitted { readout, values });
        }
    }
}
