//! Explains the decisions of a model: the contribution of every vertex to a decision value.
//!
//! Sums and means of states are linear in the states. So the decision value of a linear readout is
//! its intercept plus one number per vertex of every level that is read, exactly:
//!
//! `y = b + Σ_v h_v·c` for sums, `b + Σ_v h_v·c / N` for means,
//!
//! where `c` are the coefficients of those columns. For a maximum, each unit's contribution belongs
//! to the vertex that attains it (of several, the first). A standard deviation `d` is the sum of
//! `(h_v - mean)² / (N d)` over the vertices.
//!
//! A readout with landmarks or random features is not linear. There, `c` is the mean of its
//! gradient between a reference and the graph ([`Local`]), and `b` is the decision value of the
//! reference. Every vertex is charged an equal share of the reference's vector. So values are
//! relative to the reference; with landmarks, that is a graph with the mean vector of the training
//! graphs. The contribution of colours is exact: each vertex gets its share of what each of its
//! colours adds.

mod vertex;

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};
use rayon::prelude::*;

use super::TrainedModel;
use crate::colours::Colours;
use crate::config::Aggregate;
use crate::error::{Error, Result, out_of_range, same_length};
use crate::graph::GraphBatch;
use crate::pyramid::Pyramid;
use crate::readout::{Local, Rows};
use crate::reservoir::{Prepared, level_read, states_read};
use crate::targets::Task;

/// The decision values of one graph, split into contributions. Columns are those of
/// [`Predictions::scores`](super::Predictions::scores): one per class or target.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The part that all graphs share.
    pub intercept: Array1<f64>,
    /// The contributions of vertices, for each level that is read, from fine to coarse.
    pub levels: Vec<Contributions>,
}

/// The contributions of the vertices of one level to the decision values.
#[derive(Clone, Debug, PartialEq)]
pub struct Contributions {
    /// The number of poolings that lead to this level; 0 is the graph itself.
    pub level: usize,
    /// One row per vertex, one column per class or target.
    pub values: Array2<f64>,
}

impl Explanation {
    /// The decision values: the sum of the intercept and all contributions.
    pub fn decision(&self) -> Array1<f64> {
        let mut decision = self.intercept.clone();
        self.levels.iter().for_each(|level| decision += &level.values.sum_axis(ndarray::Axis(0)));
        decision
    }

    /// The contributions of each level, distributed over the vertices of the graph itself. A coarse
    /// vertex's contribution is divided among the vertices it stands for, in proportion to the
    /// moduli of their entries of `S`. The contribution of a coarse vertex that stands for none is
    /// dropped.
    ///
    /// `pyramid` is the one that was explained, and `graph` the position of this graph in it. The
    /// graph has `num_vertices` vertices.
    pub fn on_vertices(
        &self,
        pyramid: &Pyramid,
        graph: usize,
        num_vertices: usize,
    ) -> Result<Vec<Array2<f64>>> {
        let on_vertices = |of_level: &Contributions| {
            let mut values = of_level.values.clone();
            let below = pyramid.levels.get(..of_level.level).ok_or(Error::Length {
                what: "levels of the pyramid",
                expected: of_level.level,
                found: pyramid.levels.len(),
            })?;
            for level in below.iter().rev() {
                if graph >= level.assignments.len() {
                    return Err(out_of_range("graph of the pyramid", level.assignments.len(), graph));
                }
                let assignment = level.assignments.graph(graph);
                same_length("rows of a level's contributions", assignment.num_coarse(), values.nrows())?;
                let mut totals = vec![0.0; assignment.num_coarse()];
                let entries = || assignment.columns().iter().zip(assignment.values());
                entries().for_each(|(&coarse, weight)| totals[coarse as usize] += weight.abs());
                let mut fine = Array2::zeros((assignment.num_fine(), values.ncols()));
                for (vertex, mut row) in fine.rows_mut().into_iter().enumerate() {
                    let (columns, weights) = assignment.row(vertex);
                    for (&coarse, weight) in columns.iter().zip(weights) {
                        let total = totals[coarse as usize];
                        if total > 0.0 {
                            row.scaled_add(weight.abs() / total, &values.row(coarse as usize));
                        }
                    }
                }
                values = fine;
            }
            same_length("rows of a level's contributions", num_vertices, values.nrows())?;
            Ok(values)
        };
        self.levels.iter().map(on_vertices).collect()
    }
}

impl TrainedModel {
    /// Splits the decision values of graphs into contributions. `pyramid` is the result of
    /// [`Model::coarsen`](super::Model::coarsen) for these graphs.
    ///
    /// ```
    /// use std::ops::ControlFlow::Continue;
    /// # use stepwell::config::ModelConfig;
    /// # use stepwell::graph::{BatchBuilder, EdgeList};
    /// # use stepwell::model::{Model, TrainedModel};
    /// # use stepwell::targets::Targets;
    /// # let mut builder = BatchBuilder::default();
    /// # builder.push(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3]))?;
    /// # builder.push(&EdgeList::new(4, &[0, 1, 2, 3], &[1, 2, 3, 0]))?;
    /// # let graphs = builder.finish();
    /// # let model = Model::fit(ModelConfig::default(), &graphs)?;
    /// # let embedding = model.embed(&graphs, |_| Continue(()))?;
    /// # let targets = Targets::Classes(["path", "ring"].into_iter().collect());
    /// # let trained = TrainedModel::fit(model, &embedding, &targets, Default::default())?;
    /// let pyramid = trained.model.coarsen(&graphs, |_| Continue(()))?;
    /// let explanations = trained.explain(&graphs, &pyramid, |_| Continue(()))?;
    /// let scores = trained.predict(&graphs, |_| Continue(()))?.scores;
    /// for (explanation, scores) in explanations.iter().zip(scores.rows()) {
    ///     assert!((explanation.decision() - scores).iter().all(|difference| difference.abs() < 1e-9));
    /// }
    /// # Ok::<(), stepwell::Error>(())
    /// ```
    pub fn explain(
        &self,
        graphs: &GraphBatch,
        pyramid: &Pyramid,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Vec<Explanation>> {
        let Self { model, readout, .. } = self;
        model.expect_graphs("explain a graph")?;
        let (config, weights) = (&model.config, &model.weights);
        let inputs = model.features.apply(graphs)?;
        let prepared = Prepared::with_pyramid(graphs, &inputs, pyramid, config, || progress(0))?;
        let embedding = model.embed_prepared(&prepared, None, |_| progress(0))?;
        let decisions = readout.predict(&embedding)?;
        let tables = states_read(weights, &prepared, config, progress)?;
        let read = config.embedded_blocks();
        let level_of = |block| level_read(block, prepared.levels(), config);
        // Colours belong to the vertices of the graph itself, level 0.
        let mut levels: Vec<usize> = config.colour_rounds().map(|_| 0).into_iter().collect();
        levels.extend(read.clone().map(level_of));
        levels.sort_unstable();
        levels.dedup();
        let offsets: Vec<Vec<usize>> = levels.iter().map(|&level| prepared.vertex_offsets(level)).collect();

        let explained = |graph: usize| {
            let range = |place: usize| offsets[place][graph]..offsets[place][graph + 1];
            let rows = Rows::from(&embedding);
            let Local { reference, mut intercept, coefficients, of_colours } =
                readout.local(rows.of(graph..graph + 1))?;
            let mut of_levels: Vec<Contributions> = levels
                .iter()
                .enumerate()
                .map(|(place, &level)| Contributions {
                    level,
                    values: Array2::zeros((range(place).len(), intercept.len())),
                })
                .collect();
            let mut first = 0;
            for (index, table) in tables.iter().enumerate() {
                let level = level_of(read.start + index % read.len());
                let place = levels.partition_point(|&known| known < level);
                let states = table.slice(s![range(place), ..]);
                for &aggregate in &config.aggregate {
                    let columns = s![first..first + table.ncols()];
                    let coefficients = coefficients.slice(s![first..first + table.ncols(), ..]);
                    let values = &mut of_levels[place].values;
                    add(aggregate, states, coefficients, values);
                    // Each vertex is charged an equal share of the reference.
                    let reference = reference.slice(columns).dot(&coefficients);
                    match states.nrows() {
                        0 => intercept -= &reference,
                        vertices => *values -= &(reference / vertices as f64),
                    }
                    first += table.ncols();
                }
            }
            if let (Some(rounds), Some(colours)) = (config.colour_rounds(), rows.colours) {
                let known = colours.colours(graph);
                let vertices = graphs.graph(graph).num_vertices();
                let met = Colours::of_vertices(graphs, graph, &inputs, rounds);
                for (at, colour) in met.into_iter().enumerate() {
                    let place = known.binary_search(&colour).expect("counted before");
                    let mut values = of_levels[0].values.row_mut(at % vertices);
                    values += &of_colours.row(place);
                }
            }
            let mut explanation = Explanation { intercept, levels: of_levels };
            explanation.absorb_rounding(decisions.row(graph));
            Ok(explanation.mirrored(readout.task()))
        };
        (0..prepared.len()).into_par_iter().map(explained).collect()
    }
}

/// Predictions and sums of contributions may differ by rounding, by up to this much relative to the
/// [scale](Explanation::scale), because predictions compute similarities in f32.
const ROUNDING: f64 = 1e-5;

impl Explanation {
    /// Distributes the difference between the predicted decision values and the sum of the
    /// contributions over the vertices, if it is no more than rounding.
    fn absorb_rounding(&mut self, decisions: ArrayView1<'_, f64>) {
        let Some(vertices) = self.levels.first().map(|level| level.values.nrows()).filter(|&rows| rows > 0)
        else {
            return;
        };
        let missing = &decisions - &self.decision();
        let scale = self.scale(decisions);
        for (column, (missing, scale)) in missing.iter().zip(scale).enumerate() {
            if missing.abs() <= ROUNDING * scale {
                let mut values = self.levels[0].values.column_mut(column);
                values += missing / vertices as f64;
            }
        }
    }

    /// The scale of rounding errors, for each column: the maximum of 1 and the moduli of the
    /// intercept, of the decision value, and of the contributions, summed over vertices.
    fn scale(&self, decisions: ArrayView1<'_, f64>) -> Array1<f64> {
        let mut added = Array1::zeros(decisions.len());
        for level in &self.levels {
            added += &level.values.mapv(f64::abs).sum_axis(ndarray::Axis(0));
        }
        for ((added, intercept), decision) in added.iter_mut().zip(&self.intercept).zip(decisions) {
            *added = f64::max(1.0, *added).max(intercept.abs()).max(decision.abs());
        }
        added
    }

    /// Expands the single column of a two-class problem to one column per class.
    fn mirrored(mut self, task: Task) -> Self {
        if task == (Task::Classification { num_classes: 2 }) {
            let sign = |class: usize| if class == 0 { -1.0 } else { 1.0 };
            self.intercept = Array1::from_shape_fn(2, |class| sign(class) * self.intercept[0]);
            for Contributions { values, .. } in &mut self.levels {
                let shape = (values.nrows(), 2);
                *values = Array2::from_shape_fn(shape, |(row, class)| sign(class) * values[(row, 0)]);
            }
        }
        self
    }
}

/// Adds the contributions of the vertices' states to `values`, given the coefficients of the
/// columns.
fn add(
    aggregate: Aggregate,
    states: ArrayView2<'_, f64>,
    coefficients: ArrayView2<'_, f64>,
    values: &mut Array2<f64>,
) {
    let count = states.nrows().max(1) as f64;
    match aggregate {
        Aggregate::Sum => *values += &states.dot(&coefficients),
        Aggregate::Mean => *values += &(states.dot(&coefficients) / count),
        Aggregate::Max => {
            for (column, coefficients) in states.columns().into_iter().zip(coefficients.rows()) {
                let mut largest: Option<(usize, f64)> = None;
                for (vertex, &state) in column.iter().enumerate() {
                    if largest.is_none_or(|(_, known)| state > known) {
                        largest = Some((vertex, state));
                    }
                }
                if let Some((vertex, state)) = largest {
                    values.row_mut(vertex).scaled_add(state, &coefficients);
                }
            }
        }
        Aggregate::Std => {
            let mut shares = states.to_owned();
            for mut column in shares.columns_mut() {
                let mean = column.sum() / count;
                column.mapv_inplace(|state| (state - mean).powi(2));
                let deviation = (column.sum() / count).sqrt();
                column
                    .mapv_inplace(|square| if deviation > 0.0 { square / (count * deviation) } else { 0.0 });
            }
            *values += &shares.dot(&coefficients);
        }
    }
}

#[cfg(test)]
mod tests;
