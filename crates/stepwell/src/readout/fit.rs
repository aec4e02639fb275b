//! Trains a readout in several passes over the rows.
//!
//! There are up to three kinds of passes: one for the expansion (scales, landmarks), if there is
//! one, one for the moments, and one for leave-one-out errors. Between passes, the state is a small
//! [`ReadoutFit`], which can be sent to the machines that hold the rows. Each machine returns what
//! it [`Gathered`], and the results are merged.
//!
//! Several targets share one regression if they are known for the same rows and rows have the same
//! weights for all of them. Otherwise each target has its own regression, and so has each class
//! weight that is tried. If there are more regressions than fit into memory, the last two passes
//! are repeated for one batch of them after the other.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::assessment::Assessment;
use super::binary;
use super::choice::Choice;
use super::columns::Columns;
use super::landmarks::{Lots, Picked};
use super::leave_one_out::AlphaErrors;
use super::left_out::{Held, LeftOut};
use super::moments::Moments;
use super::random_features::RandomFeatures;
use super::regression::Regression;
use super::ridge::Coefficients;
use super::rows::{Pending, Rows, Sample};
use super::sums::{Alike, Sums};
use super::trained::{Expansion, Readout, piece_on};
use crate::config::{Metric, ReadoutOptions};
use crate::error::{Error, Result, no_rows, same_length};
use crate::linalg;
use crate::memory;
use crate::reservoir::Device;
use crate::targets::{Census, Task};

/// Takes some rows: inputs, encoded targets
/// ([`Encoded::columns`](crate::targets::Encoded::columns)), and weights and keys.
pub type Piecewise<'a> = dyn FnMut(Rows<'_>, ArrayView2<'_, f64>, Sample<'_>) -> Result<()> + 'a;

/// A readout during training.
///
/// ```
/// use ndarray::array;
/// use stepwell::readout::{ReadoutFit, ReadoutOptions, Sample};
/// use stepwell::targets::{Census, Task};
///
/// let (x, y) = (array![[0.0], [1.0], [2.0], [3.0]], array![[1.0], [3.0], [5.0], [7.0]]);
/// let mut fit = ReadoutFit::new(1, Task::Regression { targets: 1 }, &Census::of_classes(vec![4]), &ReadoutOptions::default(), 0)?;
/// let readout = loop {
///     // Two halves of the rows, perhaps on two machines.
///     let half = |rows: std::ops::Range<usize>| {
///         let rows = ndarray::Slice::from(rows);
///         let of = |all: &ndarray::Array2<f64>| all.slice_axis(ndarray::Axis(0), rows).to_owned();
///         fit.gather(|take| take(of(&x).view().into(), of(&y).view(), Sample::default()))
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
    metric: Metric,
    seed: u64,
    num_inputs: usize,
    /// The largest random key that a landmark can have, if known.
    limit: Option<u64>,
    /// The number of rows with a known target.
    rows: u64,
    blind: bool,
    front: Front,
    regressions: Vec<Regression>,
    /// The best result so far for every target.
    found: Vec<Option<Found>>,
    step: Step,
    /// Where rows are compared with landmarks. It does not travel.
    #[serde(skip)]
    device: Device,
}

/// The purpose of the next pass.
#[derive(Clone, Debug, Deserialize, Serialize)]
enum Step {
    /// Scales and landmarks of the expansion.
    Inputs,
    /// The moments of a batch of regressions.
    Moments(Range<usize>),
    /// The leave-one-out errors of that batch.
    Errors(Range<usize>, Vec<Sums>),
}

/// The expansion of rows before the regression, if there is one.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Front {
    expansion: Option<Expansion>,
    /// For landmarks, `L` with `L Lᵀ = k(C, C)`: training uses coordinates whose inner products are
    /// those of the kernel.
    #[serde(with = "binary::maybe_matrix")]
    root: Option<Array2<f64>>,
}

/// A regression with the best alpha for one of its targets.
struct Chosen {
    target: usize,
    alpha: f64,
    balance: f64,
    coefficients: Coefficients,
    /// Leave-one-out predictions, if they are known.
    held: Option<Held>,
}

/// The result for one target.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Found {
    alpha: f64,
    weights: Array2<f64>,
    intercept: Vec<f64>,
    assessment: Assessment,
}

/// The result of one pass over some rows. [`merge`](Self::merge) adds the results for other rows.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Gathered(Kind);

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Kind {
    Inputs(Columns, Picked, Alike),
    Moments(Vec<Sums>, Alike),
    Errors(Vec<(AlphaErrors, LeftOut)>),
}

impl Gathered {
    /// The leave-one-out errors of all alphas, if this was the pass for errors and there is one
    /// regression.
    pub fn errors(&self) -> Option<&AlphaErrors> {
        match &self.0 {
            Kind::Errors(errors) if errors.len() == 1 => Some(&errors[0].0),
            _ => None,
        }
    }

    /// Adds the result of the same pass over other rows.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        match (&mut self.0, other.0) {
            (Kind::Inputs(columns, picked, alike), Kind::Inputs(others, more, theirs)) => {
                picked.merge(more);
                alike.merge(theirs);
                columns.merge(&others)
            }
            (Kind::Moments(sums, alike), Kind::Moments(others, theirs)) if sums.len() == others.len() => {
                alike.merge(theirs);
                sums.iter_mut().zip(others).try_for_each(|(mine, theirs)| mine.merge(theirs))
            }
            (Kind::Errors(mine), Kind::Errors(others)) if mine.len() == others.len() => {
                mine.iter_mut().zip(others).try_for_each(|((errors, kept), (theirs, more))| {
                    kept.merge(more)?;
                    errors.merge(&theirs)
                })
            }
            _ => Err(another_pass()),
        }
    }
}

fn another_pass() -> Error {
    let (expected, found) = ("the result of the current pass".into(), "that of another pass".into());
    Error::BadOption { name: "gathered", expected, found }
}

impl Front {
    /// Passes expanded rows on to `take`. Similarities to landmarks are first collected into blocks
    /// of a fixed size, which are solved for the coordinates together.
    fn pass<E: From<Error>>(
        &self,
        device: &Device,
        pass: impl FnOnce(&mut Piecewise<'_>) -> Result<(), E>,
        take: &mut Piecewise<'_>,
    ) -> Result<(), E> {
        let Some(expansion) = &self.expansion else { return pass(take) };
        let (Some(root), Expansion::Landmarks(landmarks)) = (&self.root, expansion) else {
            return pass(&mut |rows, y, sample| {
                take(expansion.apply(rows, device)?.view().into(), y, sample)
            });
        };
        let (mut pending, mut alike, width) = (Pending::default(), Vec::new(), root.nrows());
        let piece = piece_on(device) * rayon::current_num_threads();
        let mut whiten = |block: &mut Pending| {
            let Pending { rows, weights } = block;
            let count = weights.len();
            let stride = rows.len() / count.max(1);
            linalg::solve_rows(rows, stride, root.view());
            let rows = ArrayView2::from_shape((count, stride), rows).expect("a block's rows have one length");
            let (x, y) = rows.split_at(Axis(1), width);
            take(x.into(), y, Sample { weights: Some(weights), keys: None })
        };
        let mut failed = Ok(());
        pass(&mut |rows, y, sample| {
            same_length("rows of the targets", rows.len(), y.nrows())?;
            sample.check(rows.len())?;
            let mut first = 0;
            // Few rows at a time, so that their similarities stay in the cache.
            rows.pieces(piece).try_for_each(|rows| {
                landmarks.apply_into(rows, device, &mut alike)?;
                same_length("similarities", rows.len() * width, alike.len())?;
                let alike =
                    ArrayView2::from_shape((rows.len(), width), &alike).expect("the length was compared");
                let own = first..first + rows.len();
                first = own.end;
                pending.extend(alike, y.slice(s![own.clone(), ..]), sample.of(own).weights, |block| {
                    if failed.is_ok() {
                        failed = whiten(block);
                    }
                });
                std::mem::replace(&mut failed, Ok(()))
            })
        })?;
        if pending.is_empty() { Ok(()) } else { Ok(whiten(&mut pending)?) }
    }
}

/// Maximum bytes of moments in memory; a single regression may exceed it.
const MOST_HELD: usize = 1 << 30;

/// Number of matrices that a regression needs: the moments, their decomposition, and its workspace.
const HELD: usize = 3;

impl ReadoutFit {
    /// Starts a fit, given the census of the targets. `seed` is the seed of random features and
    /// landmarks.
    pub fn new(
        num_inputs: usize,
        task: Task,
        census: &Census,
        options: &ReadoutOptions,
        seed: u64,
    ) -> Result<Self> {
        options.validate()?;
        census.check_shape(task)?;
        let metric = options.metric.or_default(task, census.counts(0));
        if !Metric::of_task(task).contains(&metric) {
            let names: Vec<&str> = Metric::of_task(task).iter().map(|metric| metric.name()).collect();
            let (expected, found) = (format!("one of {}", names.join(", ")), metric.name().to_owned());
            return Err(Error::BadOption { name: "metric", expected, found });
        }
        let regressions = Regression::all(task, census, &options.class_weight, metric)?;
        let plain = options.random_features == 0 && options.landmarks == 0;
        let mut fit = Self {
            task,
            options: options.clone(),
            metric,
            seed,
            num_inputs,
            limit: None,
            rows: census.rows(),
            blind: false,
            front: Front::default(),
            regressions,
            found: vec![None; task.num_targets()],
            step: Step::Inputs,
            device: Device::processor(),
        };
        if plain {
            fit.step = Step::Moments(0..fit.batch_from(0));
        }
        Ok(fit)
    }

    /// Uses known random keys of all graphs, so that a pass keeps no more vectors than there will
    /// be landmarks. If some of these graphs turn out to have no vector, the first pass is repeated
    /// without this limit.
    pub fn with_lots(self, lots: &Lots) -> Self {
        Self { limit: lots.limit(), ..self }
    }

    /// The same on a device that may compare rows with landmarks.
    pub fn on(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// Makes the next pass over some rows, with targets as in
    /// [`Encoded::columns`](crate::targets::Encoded::columns). How `pass` splits rows into pieces
    /// does not change a bit.
    pub fn gather<E: From<Error>>(
        &self,
        pass: impl FnOnce(&mut Piecewise<'_>) -> Result<(), E>,
    ) -> Result<Gathered, E> {
        self.gather_expanded(|take| self.pass(pass, take))
    }

    /// Passes rows on to `take` in the form that the regressions read.
    pub(super) fn pass<E: From<Error>>(
        &self,
        pass: impl FnOnce(&mut Piecewise<'_>) -> Result<(), E>,
        take: &mut Piecewise<'_>,
    ) -> Result<(), E> {
        let mut weights = Vec::new();
        let mut take = |x: Rows<'_>, y: ArrayView2<'_, f64>, sample: Sample<'_>| {
            // Rows without any known target get weight 0.
            let unknown =
                |row: ArrayView1<'_, f64>| !row.is_empty() && row.iter().all(|value| value.is_nan());
            if !y.outer_iter().any(unknown) {
                return take(x, y, sample);
            }
            sample.check(y.nrows())?;
            weights.clear();
            weights.extend(y.outer_iter().enumerate().map(|(row, y)| {
                if unknown(y) { 0.0 } else { sample.weights.map_or(1.0, |weights| weights[row]) }
            }));
            take(x, y, Sample { weights: Some(&weights), ..sample })
        };
        self.front.pass(&self.device, pass, &mut take)
    }

    /// The same for rows that are already expanded.
    pub(super) fn gather_expanded<E: From<Error>>(
        &self,
        pass: impl FnOnce(&mut Piecewise<'_>) -> Result<(), E>,
    ) -> Result<Gathered, E> {
        Ok(Gathered(match &self.step {
            Step::Inputs => {
                let mut columns = Columns::new(self.num_inputs);
                let mut picked = Picked::new(self.options.landmarks, self.seed, self.limit);
                let mut alike = Alike::default();
                pass(&mut |rows, _, sample| {
                    rows.check()?;
                    if self.options.landmarks > 0 {
                        picked.observe(rows, sample);
                    }
                    alike.observe(rows.vectors);
                    columns.observe(rows.vectors, sample.weights)
                })?;
                Kind::Inputs(columns, picked, alike)
            }
            Step::Moments(batch) => {
                let regressions = self.gathered(batch.clone());
                let width = Moments::width(self.width(), self.task.num_columns())?;
                let all = [HELD * regressions.len(), width, width];
                memory::ask_array("the regression", &all, size_of::<f64>())?;
                let sums = regressions
                    .iter()
                    .map(|one| Sums::new(self.width(), one.columns(self.task).len(), one.known));
                let mut sums = sums.collect::<Result<Vec<Sums>>>()?;
                let mut alike = Alike::default();
                pass(&mut |rows, y, sample| {
                    let x = rows.vectors;
                    alike.observe(x);
                    same_length("columns of the targets", self.task.num_columns(), y.ncols())?;
                    regressions.par_iter().zip(&mut sums).try_for_each(|(regression, sums)| {
                        regression
                            .select(self.task, x, y, sample, |x, y, weights| sums.observe(x, y, weights))
                    })
                })?;
                Kind::Moments(sums, alike)
            }
            Step::Errors(batch, sums) => {
                let (regressions, count) = (&self.regressions[batch.clone()], batch.len());
                let alphas = self.alphas();
                let errors = sums
                    .par_iter()
                    .map(|sums| Ok(sums.leave_one_out(&alphas, self.standardize())?.keeping(count)));
                let mut errors = errors.collect::<Result<Vec<_>>>()?;
                pass(&mut |rows, y, sample| {
                    let x = rows.vectors;
                    regressions.par_iter().zip(&mut errors).try_for_each(|(regression, errors)| {
                        regression
                            .select(self.task, x, y, sample, |x, y, weights| errors.observe(x, y, weights))
                    })
                })?;
                let finished = errors.into_iter().map(|errors| {
                    let (errors, kept) = errors.finish_kept();
                    (errors, kept.expect("asked to keep them"))
                });
                Kind::Errors(finished.collect())
            }
        }))
    }

    /// Continues with the result of a pass over all rows. Returns the readout, or `None` if one
    /// more pass is needed. After an error, the fit is unchanged.
    pub fn advance(&mut self, gathered: Gathered) -> Result<Option<Readout>> {
        Ok(self.advanced(gathered)?.map(|(readout, _)| readout))
    }

    /// Also returns the coefficients of the expanded rows.
    pub(super) fn advanced(&mut self, gathered: Gathered) -> Result<Option<(Readout, Coefficients)>> {
        match (&self.step, gathered.0) {
            (Step::Inputs, Kind::Inputs(_, picked, _))
                if self.limit.is_some() && picked.len() < self.options.landmarks =>
            {
                self.limit = None;
                Ok(None)
            }
            (Step::Inputs, Kind::Inputs(columns, picked, alike)) => {
                let expansion = if self.options.landmarks > 0 {
                    if picked.len() == 0 {
                        return Err(no_rows("rows with a positive weight"));
                    }
                    Expansion::Landmarks(picked.landmarks(&columns, &self.options)?)
                } else {
                    Expansion::Random(RandomFeatures::draw(self.options.random_features, &columns, self.seed))
                };
                let root = match &expansion {
                    Expansion::Landmarks(landmarks) => Some(landmarks.root()?),
                    Expansion::Random(_) => None,
                };
                self.blind = !alike.differ;
                self.front = Front { expansion: Some(expansion), root };
                self.step = Step::Moments(0..self.batch_from(0));
                Ok(None)
            }
            (Step::Moments(batch), Kind::Moments(mut sums, alike)) => {
                sums.iter_mut().for_each(Sums::settle);
                let sums = self.combined(batch.clone(), sums)?;
                self.blind |= !alike.differ;
                self.step = Step::Errors(batch.clone(), sums);
                Ok(None)
            }
            (Step::Errors(batch, sums), Kind::Errors(errors)) => {
                let mut parts = self.regressions[batch.clone()].iter().zip(sums).zip(errors);
                let (mut runs, mut rest) = (Vec::new(), &self.regressions[batch.clone()]);
                while !rest.is_empty() {
                    let run = Regression::run(rest);
                    rest = &rest[run..];
                    runs.push(parts.by_ref().take(run).collect::<Vec<_>>());
                }
                let found = runs.into_par_iter().map(|tried| {
                    let tried = tried
                        .into_iter()
                        .map(|((one, sums), (errors, kept))| self.chosen(one, sums, &errors, kept));
                    self.blended(tried.collect::<Result<_>>()?)
                });
                let found: Vec<(usize, Found)> =
                    found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
                for (target, found) in found {
                    self.found[target] = Some(found);
                }
                let next = batch.end;
                if next < self.regressions.len() {
                    self.step = Step::Moments(next..self.batch_from(next));
                    return Ok(None);
                }
                self.finished().map(Some)
            }
            _ => Err(another_pass()),
        }
    }

    /// Chooses the best alpha for each target of a regression.
    fn chosen(
        &self,
        regression: &Regression,
        sums: &Sums,
        errors: &AlphaErrors,
        mut kept: LeftOut,
    ) -> Result<Vec<Chosen>> {
        kept.settle();
        let alphas = self.alphas();
        let choice = self.choice(&alphas);
        let mut chosen = Vec::new();
        for (at, &target) in regression.targets.iter().enumerate() {
            let columns = match self.task {
                Task::Classification { .. } => self.task.columns_of(0),
                _ => at..at + 1,
            };
            let (alpha, held) = choice.alpha(regression, errors, &kept, &columns)?;
            chosen.push((target, columns, alpha, held));
        }
        // Solve once for all targets with the same alpha.
        let mut used: Vec<usize> = chosen.iter().map(|(.., alpha, _)| *alpha).collect();
        used.sort_unstable();
        used.dedup();
        let solved = used.iter().map(|&alpha| {
            let alpha = self.options.alpha.candidates()[alpha];
            Ok((alpha, sums.solve(alpha, self.standardize())?))
        });
        let solved: Vec<(f64, Coefficients)> = solved.collect::<Result<_>>()?;
        let of = |(target, columns, alpha, held): (usize, Range<usize>, usize, Option<Held>)| {
            let at = used.binary_search(&alpha).expect("listed above");
            let (alpha, Coefficients { weights, intercept }) = &solved[at];
            let columns = ndarray::Slice::from(columns);
            let coefficients = Coefficients {
                weights: weights.slice_axis(Axis(1), columns).to_owned(),
                intercept: intercept.slice_axis(Axis(0), columns).to_owned(),
            };
            Chosen { target, alpha: *alpha, balance: regression.balance, coefficients, held }
        };
        Ok(chosen.into_iter().map(of).collect())
    }

    /// The results of targets, given one regression for all of them, or two for a single target,
    /// which may be blended.
    fn blended(&self, tried: Vec<Vec<Chosen>>) -> Result<Vec<(usize, Found)>> {
        let mut tried = tried.into_iter();
        let mut first = tried.next().unwrap_or_default();
        if let (Some(second), [first]) = (tried.next().and_then(|mut second| second.pop()), &mut first[..]) {
            let alphas = self.alphas();
            let share = match (&first.held, &second.held) {
                (Some(one), Some(other)) => self.choice(&alphas).share(one, other)?,
                (None, Some(_)) => 1.0,
                _ => 0.0,
            };
            let blend = |one: f64, other: f64| (1.0 - share) * one + share * other;
            let mix = &mut first.coefficients;
            mix.weights.zip_mut_with(&second.coefficients.weights, |one, other| *one = blend(*one, *other));
            mix.intercept
                .zip_mut_with(&second.coefficients.intercept, |one, other| *one = blend(*one, *other));
            first.held = match (&first.held, second.held) {
                (Some(one), Some(other)) => Some(one.blended(&other, share)),
                (one, other) => one.clone().or(other),
            };
            (first.alpha, first.balance) = (if share < 0.5 { first.alpha } else { second.alpha }, share);
        }
        let found = |chosen: Chosen| {
            let Chosen { target, alpha, balance, coefficients: Coefficients { weights, intercept }, held } =
                chosen;
            let assessment = match held {
                Some(held) => Assessment::new(&held, self.task, self.metric, balance)?,
                None => Assessment::unknown(self.metric, balance),
            };
            Ok((target, Found { alpha, weights, intercept: intercept.to_vec(), assessment }))
        };
        first.into_iter().map(found).collect()
    }

    fn choice<'a>(&self, alphas: &'a [f64]) -> Choice<'a> {
        Choice { task: self.task, metric: self.metric, alphas }
    }

    /// Combines the results of all targets into a readout.
    fn finished(&mut self) -> Result<(Readout, Coefficients)> {
        let found: Vec<Found> = self.found.iter().flatten().cloned().collect();
        same_length("targets with a regression", self.task.num_targets(), found.len())?;
        let views: Vec<ArrayView2<'_, f64>> = found.iter().map(|found| found.weights.view()).collect();
        let inner = Coefficients {
            weights: concatenate(Axis(1), &views).expect("all regressions read the same columns"),
            intercept: found.iter().flat_map(|found| found.intercept.iter().copied()).collect(),
        };
        let Front { expansion, root } = std::mem::take(&mut self.front);
        let mut outer = inner.clone();
        if let Some(root) = root {
            outer.weights = linalg::solve_transposed(root.view(), outer.weights);
        }
        let alphas = found.iter().map(|found| found.alpha).collect();
        let readout = Readout::from_parts(self.task, alphas, expansion, outer)?;
        let mut readout = readout.trained_on(Some(self.rows));
        readout.assessments = found.into_iter().map(|found| found.assessment).collect();
        readout.blind = self.blind;
        Ok((readout, inner))
    }

    /// The end of the batch of regressions that begins at `first`. Regressions of one target stay
    /// in one batch.
    fn batch_from(&self, first: usize) -> usize {
        let width = self.width() + self.task.num_columns();
        let most = MOST_HELD / (HELD * width * width * size_of::<f64>()).max(1);
        let mut end = first;
        while end < self.regressions.len() {
            let run = Regression::run(&self.regressions[end..]);
            if end > first && end + run - first > most {
                break;
            }
            end += run;
        }
        end
    }

    /// Whether moments are gathered by class, so that they can be combined for all class weights to
    /// try.
    fn by_class(&self, run: usize) -> bool {
        run > 1 && self.task.num_classes() <= MOST_CLASSES
    }

    /// The regressions whose moments are gathered.
    fn gathered(&self, batch: Range<usize>) -> Vec<Regression> {
        let (mut all, mut rest) = (Vec::new(), &self.regressions[batch]);
        while !rest.is_empty() {
            let run = Regression::run(rest);
            let (tried, others) = rest.split_at(run);
            if self.by_class(run) {
                let classes = self.task.num_classes();
                all.extend((0..classes).map(|class| tried[0].of_class(class, classes)));
            } else {
                all.extend_from_slice(tried);
            }
            rest = others;
        }
        all
    }

    /// Combines the gathered moments into those of every regression.
    fn combined(&self, batch: Range<usize>, sums: Vec<Sums>) -> Result<Vec<Sums>> {
        let (mut all, mut rest) = (Vec::new(), &self.regressions[batch]);
        let mut sums = sums.into_iter();
        while !rest.is_empty() {
            let run = Regression::run(rest);
            let (tried, others) = rest.split_at(run);
            if self.by_class(run) {
                let classes: Vec<Sums> = sums.by_ref().take(self.task.num_classes()).collect();
                for regression in tried {
                    let weighted = classes.iter().enumerate();
                    let mut weighted =
                        weighted.map(|(class, sums)| sums.scaled(regression.class_weight(class)));
                    let mut whole = weighted.next().ok_or_else(another_pass)?;
                    weighted.try_for_each(|sums| whole.merge(sums))?;
                    all.push(whole);
                }
            } else {
                all.extend(sums.by_ref().take(run));
            }
            rest = others;
        }
        same_length("moments", all.len(), all.len() + sums.count())?;
        Ok(all)
    }

    /// Whether rows are expanded before regressions read them.
    pub(super) fn expands(&self) -> bool {
        self.front.expansion.is_some()
    }

    /// Number of columns that regressions read.
    fn width(&self) -> usize {
        self.front.expansion.as_ref().map_or(self.num_inputs, Expansion::num_outputs)
    }

    /// The candidate alphas. A tiny alpha replaces 0, for which leave-one-out errors may be
    /// undefined.
    fn alphas(&self) -> Vec<f64> {
        self.options
            .alpha
            .candidates()
            .iter()
            .map(|&alpha| if alpha == 0.0 { NO_PENALTY } else { alpha })
            .collect()
    }

    /// Whether to standardise inputs. Coordinates from landmarks are scaled already.
    fn standardize(&self) -> bool {
        self.options.standardize && self.front.root.is_none()
    }
}

/// Maximum number of classes whose moments are gathered by class.
const MOST_CLASSES: usize = 4;

/// Replaces alpha 0 when leave-one-out errors are computed.
const NO_PENALTY: f64 = 1e-9;
