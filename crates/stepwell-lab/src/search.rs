//! Passes over all graphs, each of which serves every fold and every alpha.

use std::ops::ControlFlow;

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use stepwell::config::ModelConfig;
use stepwell::readout::{Coefficients, LeaveOneOut, Moments, RidgePath, decode_classes, encode_classes};
use stepwell::reservoir::{Embedding, Prepared, Weights, embed};

use crate::error::Result;
use crate::protocol::{Protocol, Unit, UnitKey};
use crate::splits::Fold;

/// What is to be predicted of every graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// Classes, counted from 0, and their names.
    Classes(Vec<usize>, Vec<String>),
    /// Numbers.
    Values(Vec<f64>),
}

impl Targets {
    /// One class per graph to stratify by; numbers are one class.
    pub fn strata(&self) -> Vec<usize> {
        match self {
            Self::Classes(classes, _) => classes.clone(),
            Self::Values(values) => vec![0; values.len()],
        }
    }

    /// The columns the readout is trained on.
    pub fn encoded(&self) -> Result<Array2<f64>> {
        Ok(match self {
            Self::Classes(classes, names) => encode_classes(classes, names.len())?,
            Self::Values(values) => Array2::from_shape_fn((values.len(), 1), |(row, _)| values[row]),
        })
    }

    /// The score of predictions for some graphs; see [`Unit`].
    pub fn score(&self, graphs: &[usize], decisions: ArrayView2<'_, f64>) -> f64 {
        match self {
            Self::Classes(classes, _) => {
                let found = decode_classes(decisions);
                found.iter().zip(graphs).filter(|&(&found, &graph)| found == classes[graph]).count() as f64
            }
            Self::Values(values) => {
                let errors = decisions.column(0).into_iter().zip(graphs);
                -errors.map(|(found, &graph)| (found - values[graph]).powi(2)).sum::<f64>()
            }
        }
    }
}

/// One architecture on one dataset, made ready once.
pub struct Cell<'a> {
    /// The model; what is searched is drawn anew for every configuration.
    pub model: &'a ModelConfig,
    /// Graphs and pyramid, made ready.
    pub prepared: &'a Prepared,
    /// What is to be predicted.
    pub targets: &'a Targets,
    /// The splits.
    pub folds: &'a [Fold],
}

impl Cell<'_> {
    /// The vectors of all graphs under one configuration and initialisation.
    pub fn embed(
        &self,
        protocol: &Protocol,
        key: UnitKey,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Embedding> {
        let config = protocol.configure(self.model, key.configuration, key.initialisation);
        let weights = Weights::random(&config, self.prepared.features())?;
        Ok(embed(&weights, self.prepared, &config, progress)?)
    }

    /// One unit of work.
    pub fn unit(
        &self,
        protocol: &Protocol,
        key: UnitKey,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Unit> {
        let vectors = self.embed(protocol, key, progress)?.vectors;
        let y = self.targets.encoded()?;
        let (validation, test) = self
            .folds
            .par_iter()
            .map(|fold| -> Result<_> {
                let read = |learnt: &[usize], judged: &[usize]| {
                    scores(&vectors, &y, self.targets, learnt, judged, protocol)
                };
                Ok((read(&fold.train, &fold.validation)?, read(&fold.learnt(), &fold.test)?))
            })
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .unzip();
        Ok(Unit { key, validation, test })
    }
}

/// Trains on some rows and scores on others, once for each alpha.
fn scores(
    vectors: &Array2<f64>,
    y: &Array2<f64>,
    targets: &Targets,
    learnt: &[usize],
    judged: &[usize],
    protocol: &Protocol,
) -> Result<Vec<f64>> {
    let rows = |table: &Array2<f64>, graphs: &[usize]| table.select(Axis(0), graphs);
    let judged_rows = rows(vectors, judged);
    let path = AlphaPath::new(rows(vectors, learnt), rows(y, learnt), protocol)?;
    (0..path.alphas.len())
        .map(|index| {
            let found = path.solve(index)?;
            let decisions = judged_rows.dot(&found.weights) + &found.intercept;
            Ok(targets.score(judged, decisions.view()))
        })
        .collect()
}

/// A readout for each alpha of the protocol, or for the best by leave-one-out.
pub struct AlphaPath {
    path: RidgePath,
    /// The alphas there are readouts for.
    pub alphas: Vec<f64>,
}

impl AlphaPath {
    /// Trains on rows.
    pub fn new(x: Array2<f64>, y: Array2<f64>, protocol: &Protocol) -> Result<Self> {
        let mut moments = Moments::new(x.ncols(), y.ncols())?;
        moments.observe(x.view(), y.view(), None)?;
        let path = RidgePath::new(&moments, false)?;
        let alphas = match protocol.leave_one_out {
            false => protocol.alphas.clone(),
            true => {
                let mut errors = LeaveOneOut::new(&path, &protocol.alphas)?;
                errors.observe(x.view(), y.view(), None)?;
                vec![errors.finish().best()]
            }
        };
        Ok(Self { path, alphas })
    }

    /// The readout for one of the alphas.
    pub fn solve(&self, index: usize) -> Result<Coefficients> {
        Ok(self.path.solve(self.alphas[index])?)
    }
}
