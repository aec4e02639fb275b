//! Training a readout, one pass over the rows after the other.
//!
//! There are three: for what stands in front of the regression (scales,
//! landmarks), if anything does, for the moments, and for leave-one-out errors.
//! Between passes stands a small [`ReadoutFit`], which can be sent to wherever
//! rows are; what is [`Gathered`] of them in one pass comes back and is merged.
//!
//! Several targets are one regression where they are known for the same rows and
//! rows count alike for all of them, and regressions of their own where not; so are
//! class weights that are tried. If there are more of them than memory should
//! hold, the last two passes are made for some of them after the others.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::assessment::Assessment;
use super::binary;
use super::choice::Choice;
use super::columns::Columns;
use super::landmarks::{Landmarks, Lots, Picked};
use super::leave_one_out::AlphaErrors;
use super::left_out::{Held, LeftOut};
use super::moments::Moments;
use super::random_features::RandomFeatures;
use super::regression::Regression;
use super::ridge::Coefficients;
use super::rows::{Pending, Rows, Sample};
use super::sums::{Alike, Sums};
use super::trained::{Expansion, Readout};
use crate::config::{Metric, ReadoutOptions};
use crate::error::{Error, Result, same_length};
use crate::linalg;
use crate::memory;
use crate::targets::{Census, Task};

/// Takes some rows: inputs, encoded targets ([`Encoded::columns`](crate::targets::Encoded::columns)), and what else
/// is known of them.
pub type Piecewise<'a> = dyn FnMut(Rows<'_>, ArrayView2<'_, f64>, Sample<'_>) -> Result<()> + 'a;

/// A readout in the making.
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
    /// What is known of the lots of landmarks.
    limit: Option<u64>,
    blind: bool,
    front: Front,
    regressions: Vec<Regression>,
    /// Of every target the best so far.
    found: Vec<Option<Found>>,
    step: Step,
}

/// What the next pass is for.
#[derive(Clone, Debug, Deserialize, Serialize)]
enum Step {
    /// What stands in front of the regressions.
    Inputs,
    /// The moments of some of the regressions.
    Moments(Range<usize>),
    /// Their leave-one-out errors.
    Errors(Range<usize>, Vec<Sums>),
}

/// What stands in front of the regression, if anything does.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Front {
    expansion: Option<Expansion>,
    /// Landmarks are trained on with the kernel's own inner products: `L` with
    /// `L Lᵀ = k(C, C)`.
    #[serde(with = "binary::maybe_matrix")]
    root: Option<Array2<f64>>,
}

/// A regression with the best alpha for one of its targets.
struct Chosen {
    target: usize,
    alpha: f64,
    balance: f64,
    coefficients: Coefficients,
    /// What it predicts of rows left out, if that is known.
    held: Option<Held>,
}

/// What is found for one target.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Found {
    alpha: f64,
    weights: Array2<f64>,
    intercept: Vec<f64>,
    assessment: Assessment,
}

/// What one pass over some rows has gathered; what others have gathered of other
/// rows is added by [`merge`](Self::merge).
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Gathered(Kind);

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Kind {
    Inputs(Columns, Picked, Alike),
    Moments(Vec<Sums>, Alike),
    Errors(Vec<(AlphaErrors, LeftOut)>),
}

impl Gathered {
    /// The leave-one-out errors of all alphas, if that is what was gathered and there is
    /// one regression.
    pub fn errors(&self) -> Option<&AlphaErrors> {
        match &self.0 {
            Kind::Errors(errors) if errors.len() == 1 => Some(&errors[0].0),
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
        let (Some(root), Expansion::Landmarks(landmarks)) = (&self.root, expansion) else {
            return pass(&mut |rows, y, sample| take(expansion.apply(rows)?.view().into(), y, sample));
        };
        let (mut pending, mut alike, width) = (Pending::default(), Vec::new(), root.nrows());
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
            landmarks.apply_into(rows, &mut alike)?;
            same_length("similarities", rows.len() * width, alike.len())?;
            let alike = ArrayView2::from_shape((rows.len(), width), &alike).expect("the length was compared");
            pending.extend(alike, y, sample.weights, |block| {
                if failed.is_ok() {
                    failed = whiten(block);
                }
            });
            std::mem::replace(&mut failed, Ok(()))
        })?;
        if pending.is_empty() { Ok(()) } else { Ok(whiten(&mut pending)?) }
    }
}

/// Bytes of moments that are held at a time; a regression may have more.
const MOST_HELD: usize = 1 << 30;

/// Matrices that a regression needs: moments, a decomposition of them, and something to make
/// it with.
const HELD: usize = 3;

impl ReadoutFit {
    /// Before the first pass, of targets of which this much is known. `seed` is that
    /// of random features and landmarks.
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
            let names: Vec<&str> = Metric::of_task(task).iter().map(|metric| metric.title()).collect();
            let (expected, found) = (format!("one of {}", names.join(", ")), metric.title().to_owned());
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
            blind: false,
            front: Front::default(),
            regressions,
            found: vec![None; task.num_targets()],
            step: Step::Inputs,
        };
        if plain {
            fit.step = Step::Moments(0..fit.batch_from(0));
        }
        Ok(fit)
    }

    /// The same where the lots of all graphs are known: then no more vectors are
    /// gathered for landmarks than there will be landmarks. Should some of these graphs have no
    /// vector in the end, the first pass is made once more without this.
    pub fn with_lots(self, lots: &Lots) -> Self {
        Self { limit: lots.limit(), ..self }
    }

    /// Takes some rows in, as the next pass needs them: targets as
    /// [`Encoded::columns`](crate::targets::Encoded::columns) has them. How `pass` cuts rows into pieces changes no bit.
    pub fn gather<E: From<Error>>(
        &self,
        pass: impl FnOnce(&mut Piecewise<'_>) -> Result<(), E>,
    ) -> Result<Gathered, E> {
        self.gather_expanded(|take| self.pass(pass, take))
    }

    /// Hands rows on as they go into the regressions.
    pub(super) fn pass<E: From<Error>>(
        &self,
        pass: impl FnOnce(&mut Piecewise<'_>) -> Result<(), E>,
        take: &mut Piecewise<'_>,
    ) -> Result<(), E> {
        let mut weights = Vec::new();
        let mut take = |x: Rows<'_>, y: ArrayView2<'_, f64>, sample: Sample<'_>| {
            // Rows of which no target is known count for nothing.
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
        self.front.pass(pass, &mut take)
    }

    /// The same for rows that went through the front already.
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

    /// Goes on with what a pass over all rows has gathered: the readout, or
    /// nothing if one more pass is needed. After an error, nothing has changed.
    pub fn advance(&mut self, gathered: Gathered) -> Result<Option<Readout>> {
        Ok(self.advanced(gathered)?.map(|(readout, _)| readout))
    }

    /// The same, and the coefficients for rows as they go into the regressions.
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
                    let (vectors, colours) = picked.rows(self.num_inputs)?;
                    let colours = colours.as_ref().map(|colours| colours.view());
                    let rows = Rows { vectors: vectors.view(), colours };
                    Expansion::Landmarks(Landmarks::new(rows, &columns, &self.options)?)
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

    /// A regression with the best alpha for each of its targets.
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
        // Targets with the same alpha are solved for together.
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

    /// What is found for targets, given one regression for all of them, or two for one of them, of
    /// which a blend may be best.
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

    /// Puts together what was found for every target.
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
        let mut readout = Readout::from_parts(self.task, alphas, expansion, outer)?;
        readout.assessments = found.into_iter().map(|found| found.assessment).collect();
        readout.blind = self.blind;
        Ok((readout, inner))
    }

    /// Where the regressions end that are gathered together with the next one: those of a
    /// target are never parted.
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

    /// Whether moments are gathered class by class: then they serve all class weights that are tried.
    fn by_class(&self, run: usize) -> bool {
        run > 1 && self.task.num_classes() <= MOST_CLASSES
    }

    /// What moments are gathered of.
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

    /// The moments of every regression, given those that were gathered.
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

    /// Columns that regressions read.
    fn width(&self) -> usize {
        self.front.expansion.as_ref().map_or(self.num_inputs, Expansion::num_outputs)
    }

    /// The alphas to choose from. Without any penalty, the errors are those of one that is all
    /// but none.
    fn alphas(&self) -> Vec<f64> {
        self.options
            .alpha
            .candidates()
            .iter()
            .map(|&alpha| if alpha == 0.0 { NO_PENALTY } else { alpha })
            .collect()
    }

    /// Landmarks are scaled already.
    fn standardize(&self) -> bool {
        self.options.standardize && self.front.root.is_none()
    }
}

/// Classes whose moments are gathered one by one, at most.
const MOST_CLASSES: usize = 4;

/// Takes the place of alpha 0 where leave-one-out errors are wanted.
const NO_PENALTY: f64 = 1e-9;
