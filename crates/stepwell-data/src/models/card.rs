//! The card of a model: its description for people and programs.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use stepwell::config::{Metric, ModelConfig, Preset};
use stepwell::features::StructuralFeature;
use stepwell::model::{Choice, Model, Saved, TrainedModel, Version};
use stepwell::readout::{Assessment, Expansion};
use stepwell::targets::{Labels, Task};

/// A model's card: the inputs it expects, its predictions, its scores and its training.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// The SHA-256 of the whole file, as `sha256sum` prints it.
    pub sha256: String,
    /// The length of the file, in bytes.
    pub bytes: u64,
    /// The version of Stepwell that wrote the file.
    #[serde(flatten)]
    pub written: Version,
    /// The task: classification, regression, or binary (several targets of 0 and 1); `None` without
    /// a readout.
    pub task: Option<&'static str>,
    /// The names of the classes, in the order of scores.
    pub classes: Labels,
    /// The predicted targets.
    pub targets: Vec<TargetCard>,
    /// Training graphs with a known target, or vertices for a model of vertices; with several
    /// targets, those with any. `None` if the file does not record it.
    pub graphs: Option<u64>,
    /// Options chosen by leave-one-out, and their candidates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// The metric that selected alpha and the class weights.
    pub metric: Option<Metric>,
    /// The leave-one-out value of the metric, averaged over targets.
    pub leave_one_out: Option<f64>,
    /// The length of a graph's vector.
    pub columns: usize,
    /// The feature expansion before the linear readout: landmarks or random-features.
    pub expansion: Option<&'static str>,
    /// The number of expanded features.
    pub expansion_columns: usize,
    /// The inputs that graphs must have.
    pub inputs: InputCard,
    /// The preset closest to the options.
    pub preset: Preset,
    /// Options that differ from the preset.
    pub changed: Map<String, Value>,
    /// All options.
    pub options: ModelConfig,
}

/// One target of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetCard {
    /// The name of the target, or its position.
    pub name: String,
    /// Training graphs with a known target.
    pub graphs: Option<u64>,
    /// The chosen penalty.
    pub alpha: f64,
    /// The chosen share of balanced class weights: 0 for none.
    pub balance: Option<f64>,
    /// The leave-one-out value of the metric.
    pub leave_one_out: Option<f64>,
}

/// The inputs that a model expects of graphs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputCard {
    /// Attributes per vertex (`x`).
    pub attributes: usize,
    /// The names of the attributes, if they have names.
    pub attribute_names: Vec<String>,
    /// For each label column of a vertex (`node_label`), the labels seen in training.
    pub labels: Vec<Vec<i32>>,
    /// Columns computed from the structure.
    pub structure: Vec<StructuralFeature>,
    /// Edge labels that have gates.
    pub edge_labels: usize,
    /// Edge attributes that feed gates.
    pub edge_attributes: usize,
}

impl InputCard {
    /// The inputs that a row needs besides `num_nodes`, `src` and `dst`, in words.
    pub fn words(&self) -> String {
        let mut needs = Vec::new();
        match self.attributes {
            0 => {}
            1 => needs.push("'x' with 1 number per vertex".to_owned()),
            many => needs.push(format!("'x' with {many} numbers per vertex")),
        }
        match &self.labels[..] {
            [] => {}
            [known] => needs.push(format!("'node_label' ({} labels known)", known.len())),
            several => needs.push(format!("'node_label' with {} labels per vertex", several.len())),
        }
        if self.edge_labels > 0 {
            needs.push(format!("'edge_label' ({} labels known)", self.edge_labels));
        }
        match self.edge_attributes {
            0 => {}
            1 => needs.push("'edge_attr' with 1 number per edge".to_owned()),
            many => needs.push(format!("'edge_attr' with {many} numbers per edge")),
        }
        if needs.is_empty() { "structure only".to_owned() } else { needs.join(", ") }
    }
}

impl Card {
    /// Creates the card of a model read from these bytes.
    pub fn new(saved: &Saved, written: Version, bytes: &[u8]) -> Self {
        let (model, trained) = match saved {
            Saved::Untrained(model) => (model, None),
            Saved::Trained(trained) => (&trained.model, Some(trained)),
        };
        let targets: Vec<TargetCard> = trained.map_or(Vec::new(), targets);
        let estimate = trained.and_then(|trained| trained.readout.estimate());
        let choices = trained.map_or(Vec::new(), |trained| trained.choices.clone());
        let asked = trained.and_then(|trained| trained.asked().ok());
        let (preset, changed) = nearest(asked.as_ref().unwrap_or(&model.config));
        let expansion = trained.and_then(|trained| trained.readout.expansion());
        Self {
            sha256: Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect(),
            bytes: bytes.len() as u64,
            written,
            task: trained.map(|trained| match trained.readout.task() {
                Task::Classification { .. } => "classification",
                Task::Regression { .. } => "regression",
                Task::Binary { .. } => "binary",
            }),
            classes: trained.map_or(Labels::NONE, |trained| trained.classes.clone()),
            graphs: trained
                .and_then(|trained| trained.readout.rows())
                .or_else(|| targets.iter().filter_map(|target| target.graphs).max()),
            targets,
            choices,
            metric: estimate.map(|(metric, _)| metric),
            leave_one_out: estimate.map(|(_, value)| value),
            columns: model.width(),
            expansion: expansion.map(|expansion| match expansion {
                Expansion::Landmarks(_) => "landmarks",
                Expansion::Random(_) => "random-features",
            }),
            expansion_columns: expansion
                .and(trained)
                .map_or(0, |trained| trained.readout.coefficients().weights.nrows()),
            inputs: inputs(model),
            preset,
            changed,
            options: model.config.clone(),
        }
    }
}

impl Card {
    /// The facts to show first, as names and values.
    pub fn facts(&self) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
        fact("predicts", self.predicts());
        fact("needs", self.inputs.words());
        if !self.inputs.structure.is_empty() {
            fact("reads off structure", names(&self.inputs.structure));
        }
        if let Some(graphs) = self.graphs {
            fact(&format!("training {}", self.options.level.items()), graphs.to_string());
        }
        if let Some((metric, value)) = self.metric.zip(self.leave_one_out) {
            let mean = if self.targets.len() > 1 { " (mean over targets)" } else { "" };
            fact("leave-one-out", format!("{} {}{mean}", metric.title(), metric.shown(value)));
        }
        fact("vector", format!("{} numbers", self.columns));
        match self.expansion {
            Some("landmarks") => fact("readout", format!("{} landmarks", self.expansion_columns)),
            Some(_) => fact("readout", format!("{} random features", self.expansion_columns)),
            None if self.task.is_some() => fact("readout", "linear".to_owned()),
            None => {}
        }
        if let [TargetCard { alpha, balance, .. }] = &self.targets[..] {
            let balance = balance.filter(|balance| *balance > 0.0);
            let balance =
                balance.map_or(String::new(), |balance| format!(", balanced class weights {balance}"));
            fact("chosen", format!("alpha {alpha}{balance}"));
        }
        for choice in &self.choices {
            let value = match choice.value() {
                Value::Array(names) if names.is_empty() => "none".to_owned(),
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
                value => value.to_string(),
            };
            fact("chosen", format!("{} {value}", choice.option.option()));
        }
        let changed = match self.changed.len() {
            0 => String::new(),
            1 => ", 1 option changed".to_owned(),
            many => format!(", {many} options changed"),
        };
        fact("preset", format!("{}{changed}", names(&[self.preset])));
        fact("written by", format!("stepwell {} (format {})", self.written.version, self.written.format));
        fact("sha256", self.sha256.clone());
        facts
    }

    fn predicts(&self) -> String {
        let classes = self.classes.names();
        let more = if classes.len() > 8 { ", …" } else { "" };
        match self.task {
            None => "nothing: it has no readout and only embeds".to_owned(),
            Some("classification") => {
                format!("{} classes: {}{more}", classes.len(), classes[..classes.len().min(8)].join(", "))
            }
            Some("regression") if self.targets.len() == 1 => "a number".to_owned(),
            Some("regression") => format!("{} numbers", self.targets.len()),
            Some(_) => format!("{} targets of 0 and 1", self.targets.len()),
        }
    }
}

/// The names of values as they are spelled in files.
fn names<T: Serialize>(values: &[T]) -> String {
    let name = |value: &T| serde_json::to_value(value).ok()?.as_str().map(str::to_owned);
    values.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

fn targets(trained: &TrainedModel) -> Vec<TargetCard> {
    let readout = &trained.readout;
    let found = |target: usize| readout.assessments().and_then(|found| found.get(target));
    let card = |target: usize| TargetCard {
        name: trained.target(target),
        graphs: found(target).map(|Assessment { rows, .. }| *rows),
        alpha: readout.alphas()[target],
        balance: found(target).map(|found| found.balance),
        leave_one_out: found(target).and_then(|found| found.value),
    };
    (0..readout.task().num_targets()).map(card).collect()
}

fn inputs(model: &Model) -> InputCard {
    let features = &model.features;
    InputCard {
        attributes: features.attributes(),
        attribute_names: features.attribute_names().to_vec(),
        labels: features.labels().to_vec(),
        structure: features.structure().to_vec(),
        edge_labels: features.edges().num_labels(),
        edge_attributes: features.edges().num_attributes(),
    }
}

/// The preset with the fewest differing options, and those options.
fn nearest(config: &ModelConfig) -> (Preset, Map<String, Value>) {
    let all = [Preset::Accurate, Preset::Paper, Preset::Vertices, Preset::Reference]
        .map(|preset| (preset, config.differences(&ModelConfig::preset(preset))));
    let best = all.into_iter().min_by_key(|(_, changed)| changed.len());
    best.unwrap_or_default()
}
