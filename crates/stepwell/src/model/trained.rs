//! Models with a trained readout.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ndarray::Array2;

use super::{Choice, Model};
use crate::config::{ClassWeight, Level, ModelConfig, option};
use crate::error::{Error, Result, out_of_range, same_length};
use crate::graph::GraphBatch;
use crate::pyramid::Pyramid;
use crate::readout::{Fitted, Readout, Rows, Sample};
use crate::reservoir::Embedding;
use crate::targets::{Encoded, Labels, Targets, Task, decode_classes};

/// A model with a trained readout. It predicts classes or numbers of graphs, or of their vertices.
/// [`to_bytes`](Self::to_bytes) and [`from_bytes`](Self::from_bytes) convert it to and from the
/// content of a file.
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
    /// The part from graphs to vectors.
    pub model: Model,
    /// The part from vectors to decisions.
    pub readout: Readout,
    /// The names of the classes, ascending; empty for numbers and for several targets.
    pub classes: Labels,
    /// The names of the targets, if they have names.
    pub targets: Vec<String>,
    /// The options that were [chosen](super::choose), with their candidates.
    pub choices: Vec<Choice>,
}

/// The predictions of a trained model for graphs or vertices.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// One row per graph or vertex. For classification, one column per class, of which the highest
    /// wins (for two classes: minus the decision value, and the decision value). Otherwise one
    /// column per target: predicted numbers, or decision values, where above 0 means 1.
    pub scores: Array2<f64>,
    /// The output of the readout; see [`Readout::predict`].
    pub decisions: Array2<f64>,
    /// The class of each row; empty if there are no classes.
    pub classes: Vec<usize>,
    /// The vectors that were read, and their convergence.
    pub embedding: Embedding,
}

impl Predictions {
    /// Blanks the predictions for graphs without vertices, of which nothing is known: scores and
    /// decision values become NaN, and the class has no meaning. Returns the number of such graphs.
    pub fn blank_empty(&mut self, graphs: &GraphBatch) -> usize {
        let empty: Vec<bool> = graphs.iter().map(|graph| graph.num_vertices() == 0).collect();
        self.blank(&empty)
    }

    /// Blanks the predictions of the rows that are marked, and returns their number.
    pub fn blank(&mut self, marked: &[bool]) -> usize {
        for rows in [&mut self.scores, &mut self.decisions] {
            let rows = rows.outer_iter_mut().zip(marked).filter(|(_, marked)| **marked);
            rows.for_each(|(mut row, _)| row.fill(f64::NAN));
        }
        marked.iter().filter(|marked| **marked).count()
    }
}

/// Rejects a configuration that leaves options to choose: vectors belong to one choice.
fn nothing_to_choose(config: &ModelConfig) -> Result<()> {
    if config.choose.is_empty() {
        return Ok(());
    }
    let expected = "nothing left to choose (call TrainedModel::train, or model::choose before Model::fit)";
    let found: Vec<&str> = config.choose.iter().map(|choose| choose.option()).collect();
    Err(Error::BadOption { name: "choose", expected: expected.into(), found: found.join(", ") })
}

impl TrainedModel {
    /// Trains a model on graphs: [chooses](super::choose) the options left to choose, fits the
    /// feature map, embeds the graphs and trains the readout.
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
        Self::train_encoded(config, graphs, &Encoded::new(targets)?, progress)
    }

    /// The same for a model of graphs and [encoded](Encoded::named) targets, whose names the model
    /// keeps.
    ///
    /// ```
    /// use std::ops::ControlFlow::Continue;
    /// use stepwell::config::ModelConfig;
    /// use stepwell::graph::{BatchBuilder, EdgeList};
    /// use stepwell::model::TrainedModel;
    /// use stepwell::ndarray::array;
    /// use stepwell::targets::{Encoded, Targets};
    ///
    /// let mut builder = BatchBuilder::default();
    /// for edges in 0..4 {
    ///     builder.push(&EdgeList::new(4, &[0, 1, 2][..edges], &[1, 2, 3][..edges]))?;
    /// }
    /// let values = Targets::Binary(array![[0.0, 1.0], [f64::NAN, 1.0], [1.0, f64::NAN], [1.0, 0.0]]);
    /// let targets = Encoded::named(&values, vec!["toxic".into(), "soluble".into()])?;
    /// let config = ModelConfig::default();
    /// let trained = TrainedModel::train_encoded(&config, &builder.finish(), &targets, |_| Continue(()))?;
    /// assert_eq!(trained.targets, ["toxic", "soluble"]);
    /// # Ok::<(), stepwell::Error>(())
    /// ```
    pub fn train_encoded(
        config: &ModelConfig,
        graphs: &GraphBatch,
        targets: &Encoded,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Self> {
        let keys = graphs.keys();
        let sample = Sample::with_keys(&keys);
        let (config, choices) = super::choose(config, graphs, targets, sample, || progress(0))?;
        let model = Model::fit(config, graphs)?;
        let embedding = model.embed(graphs, progress)?;
        Ok(Self { choices, ..Self::fit_encoded(model, &embedding, targets, sample)? })
    }

    /// Trains a model of vertices on the vertices with known targets. `vertices` are their
    /// positions among the vertices of all graphs, ascending, with one row of `targets` each.
    /// States still pass through the other vertices.
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
            let (expected, found) =
                ("vertex (a model of graphs cannot train on vertices)".into(), "graph".into());
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

    /// Trains the readout on vectors of the model. `sample` holds the weights of the graphs, which
    /// multiply the class weights of the configuration, and the keys that landmarks are sampled by.
    ///
    /// Vectors alone cannot decide what the configuration leaves to [`choose`](super::choose): if
    /// `choose` is not empty, the result is an error.
    pub fn fit<'a>(
        model: Model,
        rows: impl Into<Rows<'a>>,
        targets: &Targets,
        sample: Sample<'_>,
    ) -> Result<Self> {
        Self::fit_encoded(model, rows, &Encoded::new(targets)?, sample)
    }

    /// The same for encoded targets. Some of their classes may have no graph here.
    pub fn fit_encoded<'a>(
        model: Model,
        rows: impl Into<Rows<'a>>,
        targets: &Encoded,
        sample: Sample<'_>,
    ) -> Result<Self> {
        nothing_to_choose(&model.config)?;
        let (options, seed, device) = (model.config.readout(), model.config.seed, model.reads_on());
        let readout = Readout::fit_on(rows, targets, sample, &options, seed, &device)?;
        Self::from_parts(model, readout, targets.classes().clone())?.named(targets)
    }

    fn named(self, targets: &Encoded) -> Result<Self> {
        let trained = Self { targets: targets.names().to_vec(), ..self };
        trained.check()?;
        Ok(trained)
    }

    /// The same for vectors that arrive in pieces; see [`Readout::fit_pieces`]. Also returns the
    /// readout's predictions for them.
    pub fn fit_pieces<E: From<Error>>(
        model: Model,
        targets: &Encoded,
        sample: Sample<'_>,
        pass: impl FnMut(&mut dyn FnMut(Rows<'_>) -> Result<()>) -> Result<(), E>,
    ) -> Result<(Self, Array2<f64>), E> {
        nothing_to_choose(&model.config)?;
        let (width, seed, options) = (model.width(), model.config.seed, model.config.readout());
        let device = model.reads_on();
        let fitted = Readout::fit_pieces_on(width, targets, sample, &options, seed, &device, pass)?;
        let Fitted { readout, values } = fitted;
        let trained = Self::from_parts(model, readout, targets.classes().clone())?;
        Ok((trained.named(targets)?, values))
    }

    /// Assembles a trained model and checks that its parts fit each other. Targets have no names
    /// yet. For regression, class weights have no meaning and are reset to none.
    pub fn from_parts(mut model: Model, readout: Readout, classes: Labels) -> Result<Self> {
        if let Task::Regression { .. } = readout.task() {
            model.config.class_weight = ClassWeight::None;
        }
        let trained = Self { model, readout, classes, targets: Vec::new(), choices: Vec::new() };
        trained.check()?;
        Ok(trained)
    }

    /// Checks that the parts fit each other.
    pub(super) fn check(&self) -> Result<()> {
        let Self { model, readout, classes, targets, choices } = self;
        model.check()?;
        if !targets.is_empty() {
            same_length("names of targets", readout.task().num_targets(), targets.len())?;
        }
        let mut seen = HashSet::new();
        if let Some(name) = targets.iter().find(|name| !seen.insert(*name)) {
            let found = format!("'{name}' twice");
            return Err(Error::BadOption { name: "targets", expected: "distinct names".into(), found });
        }
        same_length("columns the readout reads", model.width(), readout.num_inputs())?;
        let expected = match readout.task() {
            Task::Classification { num_classes } => num_classes,
            Task::Regression { .. } | Task::Binary { .. } => 0,
        };
        same_length("names of classes", expected, classes.len())?;
        for Choice { candidates, chosen, .. } in choices {
            if *chosen >= candidates.len() {
                return Err(out_of_range("index of the chosen candidate", candidates.len(), *chosen));
            }
        }
        self.asked()?.validate()?;
        if classes.are_classes() {
            return Ok(());
        }
        let expected = "distinct names in ascending order".into();
        Err(Error::BadOption { name: "names of classes", expected, found: classes.names().join(", ") })
    }

    /// Embeds graphs and predicts their targets. A graph without vertices has [no
    /// prediction](Predictions::blank_empty).
    pub fn predict(
        &self,
        graphs: &GraphBatch,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Predictions> {
        let mut predictions = self.read(self.model.embed(graphs, progress)?)?;
        predictions.blank_empty(graphs);
        Ok(predictions)
    }

    /// The configuration before options were chosen.
    pub fn asked(&self) -> Result<ModelConfig> {
        let mut config = self.model.config.clone();
        for choice in &self.choices {
            let first = choice.candidates.first().map(|first| first.value.clone());
            option(choice.option.option())?.set(&mut config, first.unwrap_or_default())?;
            config.choose.push(choice.option);
        }
        Ok(config)
    }

    /// The name of a target, or its position from 0 if it has none.
    pub fn target(&self, target: usize) -> String {
        self.targets.get(target).cloned().unwrap_or_else(|| target.to_string())
    }

    /// Finds a column of [scores](Predictions::scores), or of an explanation, by the name of its
    /// class or, without classes, by the name or position (from 0) of its target.
    pub fn column(&self, name: &str) -> Result<usize> {
        let targets = self.readout.task().num_targets();
        let names = match self.classes.len() {
            0 => (0..targets).map(|target| self.target(target)).collect(),
            _ => self.classes.names(),
        };
        if self.classes.is_empty() && targets == 1 && self.targets.is_empty() {
            let (expected, found) = ("no class (this model predicts one number)".into(), name.into());
            return Err(Error::BadOption { name: "class", expected, found });
        }
        let place = names.iter().position(|known| known == name);
        let position = || name.parse().ok().filter(|&at: &usize| self.classes.is_empty() && at < targets);
        place.or_else(position).ok_or_else(|| {
            let expected = format!("one of {}", names.join(", "));
            Error::BadOption { name: "class", expected, found: format!("'{}'", name.escape_debug()) }
        })
    }

    /// The column to explain by default: of two classes the second, so that contributions have the
    /// same sign for all graphs; of more classes the predicted one; otherwise the first target.
    pub fn column_to_explain(&self, predicted: Option<usize>) -> usize {
        if self.classes.len() == 2 { 1 } else { predicted.unwrap_or(0) }
    }

    /// What the readout says of vectors of the model: see [`Readout::predict`]. The model's device
    /// may compare them with landmarks.
    pub fn decide<'a>(&self, vectors: impl Into<Rows<'a>>) -> Result<Array2<f64>> {
        self.readout.predict_on(vectors, &self.model.reads_on())
    }

    /// Predicts from vectors of the model.
    pub fn read(&self, embedding: Embedding) -> Result<Predictions> {
        let decisions = self.decide(&embedding)?;
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
