//! Sweeps that the theorem allows beside those it takes (paper §5), for one
//! spectral radius after the other.

use std::ops::ControlFlow;

use ndarray::{Array2, s};
use stepwell::config::{ModelConfig, Precision, Recurrence, Solver};
use stepwell::features::FeatureMap;
use stepwell::reservoir::{Prepared, Weights, embed};
use stepwell::theory::{RecurrentSize, stability, sweeps_bound};
use stepwell_data::Dataset;

use super::figures::PaperFigure;
use crate::error::Result;
use crate::picture::Picture;
use crate::picture::figures::{Line, LinePanel, lines};

/// Spectral radii that are tried.
pub const RADII: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// Means over graphs, at one spectral radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweeps {
    /// What the theorem allows; nothing where it says nothing of some graph.
    pub bound: Option<f64>,
    /// What Jacobi's iteration takes, which the theorem is about.
    pub jacobi: f64,
    /// What Gauss and Seidel's takes.
    pub gauss_seidel: f64,
}

/// Counts the sweeps of one block on all graphs.
pub fn sweeps(dataset: &Dataset, recurrence: Recurrence, radius: f64) -> Result<Sweeps> {
    let config = ModelConfig {
        blocks: 1,
        recurrence,
        spectral_radius: radius.into(),
        precision: Precision::F64,
        max_iter: 2000,
        ..ModelConfig::default()
    };
    let map = FeatureMap::fit(&dataset.graphs, &config.features())?;
    let inputs = map.apply(&dataset.graphs)?;
    let weights = Weights::random(&config, inputs.width())?;
    let count = dataset.len().max(1) as f64;
    let taken = |solver: Solver| -> Result<f64> {
        let config = ModelConfig { solver, ..config.clone() };
        let prepared = Prepared::new(&dataset.graphs, &inputs, &config)?;
        let runs = embed(&weights, &prepared, &config, |_| ControlFlow::Continue(()))?.runs;
        Ok(runs.iter().map(|run| f64::from(run.sweeps)).sum::<f64>() / count)
    };
    let block = &weights.stacks()[0][0][0];
    let size = RecurrentSize::of(block.recurrent.view())?;
    let vertices = dataset.graphs.num_vertices();
    let mut rows = Vec::with_capacity(vertices * inputs.width());
    (0..vertices).for_each(|vertex| inputs.extend_with_row(vertex, &mut rows));
    let rows = Array2::from_shape_vec((vertices, inputs.width()), rows).expect("a row per vertex");
    let first = rows.dot(&block.input).mapv(f64::tanh);
    let mut bounds = Some(0.0);
    for graph in dataset.graphs.iter() {
        let offsets = &dataset.graphs.vertex_offsets()[graph.index()..];
        let norm = first.slice(s![offsets[0]..offsets[1], ..]).iter().map(|x| x * x).sum::<f64>().sqrt();
        let contraction = stability(graph, config.normalize, size)?.contraction;
        let bound = sweeps_bound(contraction, config.tol, norm);
        bounds = bounds.zip(bound).map(|(sum, bound)| sum + bound as f64);
    }
    Ok(Sweeps {
        bound: bounds.map(|sum| sum / count),
        jacobi: taken(Solver::Jacobi)?,
        gauss_seidel: taken(Solver::GaussSeidel)?,
    })
}

/// The figure: dense weights, whose norm soon exceeds 1, and orthogonal ones,
/// whose norm is their radius.
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
