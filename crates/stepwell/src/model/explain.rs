//! Why a model decides as it does: which vertices a decision value is made of.
//!
//! A readout is linear, and sums and means of states are linear in the states.
//! So a decision value is its intercept plus one number for every vertex of the
//! levels that are read, exactly:
//!
//! `y = b + Σ_v h_v·c` for sums, `b + Σ_v h_v·c / N` for means,
//!
//! where `c` are the coefficients of those columns. Of a maximum, each unit's
//! part belongs to the vertex that has it (of several, the first). A standard
//! deviation, or random tanh units before the readout, do not split.

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, ArrayView2, s};

use super::TrainedModel;
use crate::config::Aggregate;
use crate::error::{Error, Result, same_length};
use crate::graph::GraphBatch;
use crate::pyramid::Pyramid;
use crate::readout::{Coefficients, Expansion, Readout};
use crate::reservoir::{level_read, states_read};
use crate::targets::Task;

/// The decision values of one graph, taken apart. Columns are those of
/// [`Predictions::scores`](super::Predictions::scores): a class each, or a
/// target each.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What every graph gets.
    pub intercept: Array1<f64>,
    /// What vertices add, for each level that is read, from fine to coarse.
    pub levels: Vec<Contributions>,
}

/// What the vertices of one level add to the decision values.
#[derive(Clone, Debug, PartialEq)]
pub struct Contributions {
    /// How many poolings lead here; 0 is the graph itself.
    pub level: usize,
    /// A row per vertex, a column per class or target.
    pub values: Array2<f64>,
}

impl Explanation {
    /// The decision values: intercept and contributions together.
    pub fn decision(&self) -> Array1<f64> {
        let mut decision = self.intercept.clone();
        self.levels.iter().for_each(|level| decision += &level.values.sum_axis(ndarray::Axis(0)));
        decision
    }

    /// The contributions of all levels on the vertices of the graph itself: that
    /// of a coarse vertex is shared among those it stands for, in proportion to
    /// their entries of `S`. One that stands for none stays out.
    ///
    /// `pyramid` is the one that was explained, in which this is graph `graph`
    /// with so many vertices.
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
                    let (limit, found) = ((level.assignments.len() as u64).saturating_sub(1), graph as u64);
                    return Err(Error::TooLarge { what: "graph of the pyramid", limit, found });
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
    /// Takes the decision values of graphs apart; `pyramid` is what
    /// [`Model::coarsen`](super::Model::coarsen) makes of them.
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
    /// # let vectors = model.embed(&graphs, |_| Continue(()))?.vectors;
    /// # let targets = Targets::Classes(["path", "ring"].into_iter().collect());
    /// # let trained = TrainedModel::fit(model, vectors.view(), &targets, Default::default())?;
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
        let (config, weights) = (&model.config, &model.weights);
        if let Some(expansion) = readout.expansion() {
            let what = match expansion {
                Expansion::Random(_) => "random features",
                Expansion::Landmarks(_) => "similarities to training graphs (landmarks)",
            };
            return Err(Error::NotExplained { what });
        }
        if config.aggregate.contains(&Aggregate::Std) {
            return Err(Error::BadOption {
                name: "aggregate",
                expected:
                    "sum, mean or max, since a standard deviation does not split into parts of vertices"
                        .into(),
                found: "std".into(),
            });
        }
        let prepared = model.prepare(graphs, pyramid, || progress(0))?;
        let tables = states_read(weights, &prepared, config, progress)?;
        let read = config.embedded_blocks();
        let level_of = |block| level_read(block, prepared.levels(), config);
        let levels: Vec<usize> = {
            let mut levels: Vec<usize> = read.clone().map(level_of).collect();
            levels.dedup();
            levels
        };
        let offsets: Vec<Vec<usize>> = levels.iter().map(|&level| prepared.vertex_offsets(level)).collect();
        let Coefficients { weights: coefficients, intercept } = mirrored(readout);

        let explained = |graph: usize| {
            let range = |place: usize| offsets[place][graph]..offsets[place][graph + 1];
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
                    let columns = coefficients.slice(s![first..first + table.ncols(), ..]);
                    add(aggregate, states, columns, &mut of_levels[place].values);
                    first += table.ncols();
                }
            }
            Explanation { intercept: intercept.clone(), levels: of_levels }
        };
        Ok((0..prepared.len()).map(explained).collect())
    }
}

/// The linear map with a column for each class, also for the first of two.
fn mirrored(readout: &Readout) -> Coefficients {
    let Coefficients { weights, intercept } = readout.coefficients();
    if readout.task() != (Task::Classification { num_classes: 2 }) {
        return readout.coefficients().clone();
    }
    let sign = |class: usize| if class == 0 { -1.0 } else { 1.0 };
    Coefficients {
        weights: Array2::from_shape_fn((weights.nrows(), 2), |(i, class)| sign(class) * weights[(i, 0)]),
        intercept: Array1::from_shape_fn(2, |class| sign(class) * intercept[0]),
    }
}

/// Adds what the states of vertices become by their columns' coefficients.
fn add(
    aggregate: Aggregate,
    states: ArrayView2<'_, f64>,
    coefficients: ArrayView2<'_, f64>,
    values: &mut Array2<f64>,
) {
    match aggregate {
        Aggregate::Sum => *values += &states.dot(&coefficients),
        Aggregate::Mean => *values += &(states.dot(&coefficients) / states.nrows().max(1) as f64),
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
        // Refused before it comes here.
        Aggregate::Std => {}
    }
}

#[cfg(test)]
mod tests;
