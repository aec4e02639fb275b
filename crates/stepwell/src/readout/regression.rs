//! The ridge regressions that a readout consists of.

use ndarray::{ArrayView1, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::rows::Sample;
use crate::config::{ClassWeight, Metric};
use crate::error::{Error, Result};
use crate::targets::{Census, Task};

/// One ridge regression: some targets that are known for the same rows, and the weights of the
/// classes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Regression {
    pub targets: Vec<usize>,
    /// 1 for balanced class weights, otherwise 0.
    pub balance: f64,
    /// The weight of the rows of each class; `None` if all weigh the same.
    class_weights: Option<Vec<f64>>,
    /// Number of rows with known targets.
    pub known: u64,
}

/// The readouts that `auto` class weights blend: without and with balanced weights.
const BALANCES: [f64; 2] = [0.0, 1.0];

/// With more targets, `auto` uses no class weights. Every target would need its own regressions,
/// whereas targets that are known for the same rows can share one.
const MOST_BALANCED: usize = 3;

impl Regression {
    /// All regressions that are needed. Those of one target are adjacent; of equally good ones, the
    /// first is preferred.
    pub fn all(task: Task, census: &Census, class_weight: &ClassWeight, metric: Metric) -> Result<Vec<Self>> {
        let known = |target: usize| census.counts(target).iter().sum();
        let alike = |balance| {
            census.groups().into_iter().map(move |targets| {
                let known = targets.first().map_or(0, |&target| known(target));
                Self { targets, balance, class_weights: None, known }
            })
        };
        if task.num_classes() == 0 {
            return match class_weight {
                ClassWeight::None | ClassWeight::Auto => Ok(alike(0.0).collect()),
                _ => {
                    let (expected, found) = ("none for a regression".into(), "weights".into());
                    Err(Error::BadOption { name: "class_weight", expected, found })
                }
            };
        }
        let balances: &[f64] = match class_weight {
            ClassWeight::None => return Ok(alike(0.0).collect()),
            ClassWeight::Auto if metric == Metric::Accuracy || task.num_targets() > MOST_BALANCED => {
                return Ok(alike(0.0).collect());
            }
            ClassWeight::Auto => &BALANCES,
            ClassWeight::Balanced => &[1.0],
            ClassWeight::Given(_) => &[0.0],
        };
        let mut all = Vec::new();
        for target in 0..task.num_targets() {
            let counts = census.counts(target);
            for &balance in balances {
                let class_weights = match class_weight {
                    ClassWeight::Given(_) => class_weight.per_class(counts)?,
                    _ if balance == 0.0 => vec![1.0; counts.len()],
                    _ => ClassWeight::Balanced.per_class(counts)?,
                };
                let (targets, class_weights) = (vec![target], Some(class_weights));
                all.push(Self { targets, balance, class_weights, known: known(target) });
            }
        }
        Ok(all)
    }

    /// The number of leading regressions with the same targets, which differ only in class weights.
    pub fn run(all: &[Self]) -> usize {
        all.iter().take_while(|other| other.targets == all[0].targets).count()
    }

    /// The weight of the rows of a class.
    pub fn class_weight(&self, class: usize) -> f64 {
        self.class_weights.as_ref().map_or(1.0, |weights| weights[class])
    }

    /// The same regression on the rows of one class only, with equal weights.
    pub fn of_class(&self, class: usize, num_classes: usize) -> Self {
        let weights = (0..num_classes).map(|other| f64::from(u8::from(other == class))).collect();
        let (targets, class_weights) = (self.targets.clone(), Some(weights));
        Self { targets, balance: 0.0, class_weights, known: self.known }
    }

    /// The columns of its targets.
    pub fn columns(&self, task: Task) -> Vec<usize> {
        self.targets.iter().flat_map(|&target| task.columns_of(target)).collect()
    }

    /// Passes the rows with known targets on to `take`, with the columns of its targets and the
    /// weights.
    pub fn select(
        &self,
        task: Task,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        sample: Sample<'_>,
        take: impl FnOnce(ArrayView2<'_, f64>, ArrayView2<'_, f64>, Option<&[f64]>) -> Result<()>,
    ) -> Result<()> {
        let columns = self.columns(task);
        sample.check(x.nrows())?;
        // Targets of a regression are known for the same rows.
        let first = columns.first().copied().unwrap_or(0);
        let chosen = |row: usize| match &self.class_weights {
            _ if y[(row, first)].is_nan() => false,
            None => true,
            // Skip classes of weight 0 to save time.
            Some(weights) => {
                weights[task.class_of(y.row(row).slice(s![columns[0]..=columns[columns.len() - 1]]))] > 0.0
            }
        };
        let known: Vec<usize> = (0..y.nrows()).filter(|&row| chosen(row)).collect();
        let all = known.len() == y.nrows();
        if all && columns.len() == y.ncols() && self.class_weights.is_none() {
            return take(x, y, sample.weights);
        }
        let y = y.select(Axis(1), &columns);
        let y = if all { y } else { y.select(Axis(0), &known) };
        let weights: Option<Vec<f64>> =
            (sample.weights.is_some() || self.class_weights.is_some()).then(|| {
                let weight = |(&row, y): (&usize, ArrayView1<'_, f64>)| {
                    let own = sample.weights.map_or(1.0, |weights| weights[row]);
                    own * self.class_weights.as_ref().map_or(1.0, |weights| weights[task.class_of(y)])
                };
                known.iter().zip(y.outer_iter()).map(weight).collect()
            });
        if all {
            take(x, y.view(), weights.as_deref())
        } else {
            take(x.select(Axis(0), &known).view(), y.view(), weights.as_deref())
        }
    }

    /// The factor that removes the class weight from a row's weight.
    pub fn own_share(&self, task: Task, truth: ArrayView1<'_, f64>) -> f64 {
        match &self.class_weights {
            Some(weights) if weights[task.class_of(truth)] > 0.0 => 1.0 / weights[task.class_of(truth)],
            _ => 1.0,
        }
    }
}
