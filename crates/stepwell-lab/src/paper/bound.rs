//! Compares the sweeps that the theorem permits (paper §5) with the sweeps that
//! converging takes, for several spectral radii.

use std::ops::ControlFlow;

use stepwell::config::{ModelConfig, Precision, Recurrence, Solver};
use stepwell::model::Model;
use stepwell_data::Dataset;

use super::figures::PaperFigure;
use crate::convergence::{BlockConvergence, ConvergenceStudy};
use crate::error::Result;
use crate::picture::Picture;
use crate::picture::figures::{Line, LinePanel, lines};

/// The spectral radii to compare.
pub const RADII: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// Means over graphs, at one spectral radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweeps {
    /// The theorem's bound. `None` if some graph has no certificate.
    pub bound: Option<f64>,
    /// The sweeps of Jacobi's iteration, which the theorem covers.
    pub jacobi: f64,
    /// The sweeps of the Gauss–Seidel iteration.
    pub gauss_seidel: f64,
}

/// Counts the sweeps of one block on all graphs.
pub fn sweeps(dataset: &Dataset, recurrence: Recurrence, radius: f64) -> Result<Sweeps> {
    let block = |solver: Solver| -> Result<BlockConvergence> {
        let config = ModelConfig {
            blocks: 1,
            recurrence,
            spectral_radius: radius.into(),
            precision: Precision::F64,
            max_iter: 2000,
            solver,
            ..ModelConfig::default()
        };
        let model = Model::fit(config, &dataset.graphs)?;
        let mut study = ConvergenceStudy::new(&model);
        study.add(&dataset.graphs, |_| ControlFlow::Continue(()))?;
        Ok(study.blocks().remove(0))
    };
    let (jacobi, gauss_seidel) = (block(Solver::Jacobi)?, block(Solver::GaussSeidel)?);
    Ok(Sweeps {
        bound: jacobi.bound_mean.filter(|_| jacobi.certified == 1.0),
        jacobi: jacobi.sweeps_mean,
        gauss_seidel: gauss_seidel.sweeps_mean,
    })
}

/// Draws the figure: dense weights, whose norm soon exceeds 1, and orthogonal weights,
/// whose norm equals their radius.
pub fn figure(dataset: &Dataset) -> Result<Picture> {
    let panel = |recurrence: Recurrence, words: &str| -> Result<LinePanel> {
        let mut found = [const { Vec::new() }; 3];
        for radius in RADII {
            let sweeps = sweeps(dataset, recurrence, radius)?;
            found[0].extend(sweeps.bound.map(|bound| (radius, bound)));
            found[1].push((radius, sweeps.jacobi));
            found[2].push((radius, sweeps.gauss_seidel));
        }
        let names = ["the theorem's bound", "measured, Jacobi", "measured, Gauss–Seidel"];
        let line = |(name, points): (&str, Vec<(f64, f64)>)| Line { name: name.to_owned(), points };
        Ok(LinePanel {
            heading: format!("{words} weights, {}", dataset.name),
            x_label: "spectral radius".to_owned(),
            x_is_log: false,
            y_label: "sweeps, mean over graphs".to_owned(),
            lines: names.into_iter().zip(found).map(line).collect(),
        })
    };
    let panels = [panel(Recurrence::Dense, "dense")?, panel(Recurrence::Orthogonal, "orthogonal")?];
    Ok(lines(PaperFigure::Bound.title(), &panels))
}
