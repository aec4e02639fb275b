//! A model with a readout behind it.

use std::ops::ControlFlow;

use ndarray::Array2;

use super::{Choice, Model};
use crate::config::{ClassWeight, Level, ModelConfig, option};
use crate::error::{Error, Result, same_length};
use crate::graph::GraphBatch;
use crate::pyramid::Pyramid;
use crate::readout::{Fitted, Readout, Rows, Sample};
use crate::reservoir::Embedding;
use crate::targets::{Encoded, Labels, Targets, Task, decode_classes};

/// A model whose readout was trained: graphs in, classes or numbers of graphs, or of
/// their vertices, out. It
/// goes to a file and back by [`to_bytes`](Self::to_bytes) and
/// [`from_bytes`](Self::from_bytes).
///
/// ```
/// use std::ops::ControlFlow::Continue;
/// use stepwell::config::ModelConfig;
/// use stepwell::graph::{BatchBuilder, EdgeList};
/// use stepwell::model::TrainedModel;
/// use stepwell::targets::{Labels, Targets};
///
/// // Paths and rings of 4 to 9 vertices.
/// let mut builder = BatchBuilder::default();
/// for n in 4..10 {
///     let (from, to): (Vec<u32>, Vec<u32>) = (0..n).map(|v| (v, (v + 1) % n)).unzip();
///     builder.push(&EdgeList::new(n as usize, &from[..n as usize - 1], &to[..n as usize - 1]))?;
///     builder.push(&EdgeList::new(n as usize, &from, &to))?;
/// }
/// let graphs = builder.finish();
/// let labels: Labels = (0..graphs.len()).map(|graph| ["path", "ring"][graph % 2]).collect();
///
/// let targets = Targets::Classes(labels.clone());
/// let trained = TrainedModel::train(&ModelConfig::default(), &graphs, &targets, |_| Continue(()))?;
///
/// let again = TrainedModel::from_bytes(&trained.to_bytes()?)?;
/// let predictions = again.predict(&graphs, |_| Continue(()))?;
/// assert_eq!(again.classes.select(&predictions.classes), labels);
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedModel {
    /// From graphs to vectors.
    pub model: Model,
    /// From vectors to decisions.
    pub readout: Readout,
    /// What the classes are called, ascending; none where numbers, or several
    /// targets, are predicted.
    pub classes: Labels,
    /// What the targets are called, where they have names.
    pub targets: Vec<String>,
    /// The options that were [chosen](super::choose), and from what.
    pub choices: Vec<Choice>,
}

/// What a trained model says of some graphs, or of their vertices.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// A row per graph, or per vertex. For classification a column per class, the highest
    /// wins (two classes: the decision value and its negative); else a column per
    /// target: predicted numbers, or decision values, which are above 0 for 1.
    pub scores: Array2<f64>,
    /// What the readout itself says: see [`Readout::predict`].
    pub decisions: Array2<f64>,
    /// The class of each; empty where there are no classes.
    pub classes: Vec<usize>,
    /// The vectors that were read and how they converged.
    pub embedding: Embedding,
}

impl TrainedModel {
    /// Trains a model from graphs alone: [chooses](super::choose) the options that are left to
    /// choose, fits the inputs, embeds the graphs and trains the readout.
    pub fn train(
        config: &ModelConfig,
        graphs: &GraphBatch,
        targets: &Targets,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Self> {
        if config.level == Level::Vertex {
            let all: Vec<usize> = (0..graphs.num_vertices()).collect();
            return Self::train_vertices(config, graphs, &all, targets, progress);
        }
        let (keys, targets) = (graphs.keys(), Encoded::new(targets)?);
        let sample = Sample::with_keys(&keys);
        let (config, choices) = super::choose(config, graphs, &targets, sample, || progress(0))?;
        let model = Model::fit(config, graphs)?;
        let embedding = model.embed(graphs, progress)?;
        Ok(Self { choices, ..Self::fit_encoded(model, &embedding, &targets, sample)? })
    }

    /// Trains a model of vertices on those whose targets are known: their positions among
    /// the vertices of all graphs ascend, and each has a row of `targets`. The other vertices
    /// are seen, since states pass through them.
    ///
    /// ```
    /// use std::ops::ControlFlow::Continue;
    /// use stepwell::config::{ModelConfig, Preset};
    /// use stepwell::graph::{EdgeList, Graph};
    /// use stepwell::model::TrainedModel;
    /// use stepwell::targets::{Labels, Targets};
    ///
    /// // Two stars, joined at a leaf: which vertices are centres?
    /// let ends = ([0, 0, 0, 0, 5, 5, 5, 5, 4], [1, 2, 3, 4, 6, 7, 8, 9, 9]);
    /// let stars = Graph::new(&EdgeList::new(10, &ends.0, &ends.1))?;
    /// let known = Targets::Classes(["centre", "leaf", "leaf", "leaf"].into_iter().collect());
    /// let config = ModelConfig::preset(Preset::Vertices);
    /// let graphs = stars.as_batch();
    /// let trained = TrainedModel::train_vertices(&config, graphs, &[0, 1, 2, 3], &known, |_| Continue(()))?;
    /// let predicted = trained.predict(graphs, |_| Continue(()))?;
    /// assert_eq!(predicted.classes[5], 0, "the other centre");
    /// assert_eq!(predicted.classes[6..9], [1, 1, 1]);
    /// # Ok::<(), stepwell::Error>(())
    /// ```
    pub fn train_vertices(
        config: &ModelConfig,
        graphs: &GraphBatch,
        vertices: &[usize],
        targets: &Targets,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Self> {
        if config.level != Level::Vertex {
            let (expected, found) = ("vertex, to train on vertices".into(), "graph".into());
            return Err(Error::BadOption { name: "level", expected, found });
        }
        same_length("targets of vertices", vertices.len(), targets.len())?;
        let model = Model::fit(config.clone(), graphs)?;
        let prepared = model.prepare(graphs, Pyramid::default(), || progress(0))?;
        let embedding = model.embed_prepared(&prepared, Some(vertices), progress)?;
        let all = graphs.vertex_keys();
        let keys: Vec<u64> = vertices.iter().map(|&vertex| all[vertex]).collect();
        Self::fit(model, &embedding, targets, Sample::with_keys(&keys))
    }

    /// Trains the readout on the vectors the model gave. `sample` says how much
    /// each graph counts, beside the class weights of the configuration, and what
    /// landmarks are drawn by.
    pub fn fit<'a>(
        model: Model,
        rows: impl Into<Rows<'a>>,
        targets: &Targets,
        sample: Sample<'_>,
    ) -> Result<Self> {
        Self::fit_encoded(model, rows, &Encoded::new(targets)?, sample)
    }

    /// The same for targets that are encoded already, some of whose classes may
    /// have no graph here.
    pub fn fit_encoded<'a>(
        model: Model,
        rows: impl Into<Rows<'a>>,
        targets: &Encoded,
        sample: Sample<'_>,
    ) -> Result<Self> {
        let readout = Readout::fit(rows, targets, sample, &model.config.readout(), model.config.seed)?;
        Self::from_parts(model, readout, targets.classes().clone())?.named(targets)
    }

    fn named(self, targets: &Encoded) -> Result<Self> {
        let trained = Self { targets: targets.names().to_vec(), ..self };
        trained.check()?;
        Ok(trained)
    }

    /// The same for vectors that come in pieces: see [`Readout::fit_pieces`]. The
    /// second answer is what the readout says of them.
    pub fn fit_pieces<E: From<Error>>(
        model: Model,
        targets: &Encoded,
        sample: Sample<'_>,
        pass: impl FnMut(&mut dyn FnMut(Rows<'_>) -> Result<()>) -> Result<(), E>,
    ) -> Result<(Self, Array2<f64>), E> {
        let (width, seed, options) = (model.width(), model.config.seed, model.config.readout());
        let Fitted { readout, values } = Readout::fit_pieces(width, targets, sample, &options, seed, pass)?;
        let trained = Self::from_parts(model, readout, targets.classes().clone())?;
        Ok((trained.named(targets)?, values))
    }

    /// Puts parts together that fit each other. Targets have no names at first. Class
    /// weights, which mean nothing for numbers, are not kept for them.
    pub fn from_parts(mut model: Model, readout: Readout, classes: Labels) -> Result<Self> {
        if let Task::Regression { .. } = readout.task() {
            model.config.class_weight = ClassWeight::None;
        }
        let trained = Self { model, readout, classes, targets: Vec::new(), choices: Vec::new() };
        trained.check()?;
        Ok(trained)
    }

    /// Whether the parts fit each other.
    pub(super) fn check(&self) -> Result<()> {
        let Self { model, readout, classes, targets, choices } = self;
        model.check()?;
        if !targets.is_empty() {
            same_length("names of targets", readout.task().num_targets(), targets.len())?;
        }
        same_length("columns the readout reads", model.width(), readout.num_inputs())?;
        let expected = match readout.task() {
            Task::Classification { num_classes } => num_classes,
            Task::Regression { .. } | Task::Binary { .. } => 0,
        };
        same_length("names of classes", expected, classes.len())?;
        for Choice { candidates, chosen, .. } in choices {
            if *chosen >= candidates.len() {
                let (limit, found) = ((candidates.len() as u64).saturating_sub(1), *chosen as u64);
                return Err(Error::TooLarge { what: "candidate chosen", limit, found });
            }
        }
        self.asked()?.validate()?;
        if classes.are_classes() {
            return Ok(());
        }
        Err(Error::NotAscending { what: "names of classes", position: 0 })
    }

    /// Embeds graphs and reads the vectors.
    pub fn predict(
        &self,
        graphs: &GraphBatch,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Predictions> {
        self.read(self.model.embed(graphs, progress)?)
    }

    /// The configuration as it was before options were chosen.
    pub fn asked(&self) -> Result<ModelConfig> {
        let mut config = self.model.config.clone();
        for choice in &self.choices {
            let first = choice.candidates.first().map(|first| first.value.clone());
            option(choice.option.option())?.set(&mut config, first.unwrap_or_default())?;
            config.choose.push(choice.option);
        }
        Ok(config)
    }

    /// What a target is called: its name, or its position from 0.
    pub fn target(&self, target: usize) -> String {
        self.targets.get(target).cloned().unwrap_or_else(|| target.to_string())
    }

    /// The column of [scores](Predictions::scores), and of an explanation, that has a name: that
    /// of a class or, of several targets, of a target or its position from 0.
    pub fn column(&self, name: &str) -> Result<usize> {
        let targets = self.readout.task().num_targets();
        let names = match self.classes.len() {
            0 => (0..targets).map(|target| self.target(target)).collect(),
            _ => self.classes.names(),
        };
        if self.classes.is_empty() && targets == 1 && self.targets.is_empty() {
            let (expected, found) =
                ("none: this model predicts one number and has no classes".into(), name.into());
            return Err(Error::BadOption { name: "class", expected, found });
        }
        let place = names.iter().position(|known| known == name);
        let position = || name.parse().ok().filter(|&at: &usize| self.classes.is_empty() && at < targets);
        place.or_else(position).ok_or_else(|| {
            let expected = format!("one of {}", names.join(", "));
            Error::BadOption { name: "class", expected, found: format!("'{}'", name.escape_debug()) }
        })
    }

    /// Reads vectors the model gave.
    pub fn read(&self, embedding: Embedding) -> Result<Predictions> {
        let decisions = self.readout.predict(&embedding)?;
        let (mut scores, mut classes) = (decisions.clone(), Vec::new());
        if let Task::Classification { num_classes: count } = self.readout.task() {
            classes = decode_classes(scores.view());
            if count == 2 {
                let columns = |(row, column): (usize, usize)| match column {
                    0 => -scores[(row, 0)],
                    _ => scores[(row, 0)],
                };
                scores = Array2::from_shape_fn((scores.nrows(), 2), columns);
            }
        }
        Ok(Predictions { scores, decisions, classes, embedding })
    }
}
