use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use ndarray::ArrayView2;
use serde::Serialize;
use stepwell::config::{Level, Metric, ModelConfig, Preset, typed};
use stepwell::metrics::{Judged, Truth};
use stepwell::model::{Choice, Drawn, Model, TrainedModel, choose_on};
use stepwell::readout::{Assessment, Sample};
use stepwell::targets::{Encoded, Labels, Targets, Task};
use stepwell_data::vectors::Spilled;
use stepwell_data::{Dataset, Known, Part, Source, Survey, Untargeted, counted, files, models};

use crate::BadUsage;
use crate::args::{Caching, DeviceArg, Input, PartArg, on_device};
use crate::embedding::{Embedder, Tally};
use crate::model::{ModelArgs, PRESETS, ReadoutArgs};
use crate::pipeline::Piece;
use crate::terminal::Terminal;

/// Train a readout and save the whole model in one file
///
/// Reservoirs turn graphs into vectors without training; a ridge regression learns to
/// predict from the vectors. The default preset, 'accurate', combines several models side by
/// side, reads all of their blocks, and puts a kernel in front of the regression. Integer and
/// string targets are classes; floats are predicted as numbers. If there are several targets,
/// they are binary if all their values are 0 or 1, and numbers otherwise; values may be missing.
///
/// Training chooses alpha and class weights by leave-one-out. The criterion is the value of
/// --metric; if the metric is accuracy, rmse or r2, it is the squared error. With the preset
/// 'accurate', training also chooses three more options by leave-one-out, on at most 1,000 of the
/// graphs (see --choose). The saved model
/// file holds all that 'stepwell predict' needs. Files in .jsonl and .parquet format may be larger
/// than memory; they are read up to three times. If the vectors take more than a quarter of
/// --memory or more than 1 GB, the remaining vectors go to a temporary file.
///
/// With --level vertex, vertices take the place of graphs. Targets are read from the column
/// 'node_y' (null if unknown), and --part selects by the column 'node_split'.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell train MUTAG -m mutag.safetensors
  stepwell train graphs.parquet -m model.safetensors --pool graclus --units 75
  stepwell train cora.npz --level vertex --part train -m cora.safetensors
  stepwell train b-hard --part train -m model.safetensors --preset paper --alpha 0.1",
    mut_arg("preset", |preset| preset.help(PRESETS)))]
pub struct Train {
    #[command(flatten)]
    input: Input,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    model: PathBuf,

    /// Predict integer targets as numbers, not as classes
    #[arg(long)]
    regression: bool,

    /// Print a summary as one JSON object: classes, choices, leave-one-out score
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    part: PartArg,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    device: DeviceArg,

    #[command(flatten)]
    readout: ReadoutArgs,

    #[command(flatten)]
    options: ModelArgs,
}

#[derive(Serialize)]
struct TrainingSummary {
    dataset: String,
    /// The names of the classes; empty if numbers or several targets are predicted.
    classes: Vec<String>,
    columns: usize,
    /// The penalty of every target, or the one that all share.
    alpha: OneOrEach,
    /// The metric that selected alpha and the class weights.
    metric: Metric,
    /// Its leave-one-out value, averaged over targets.
    leave_one_out: Option<f64>,
    /// The chosen share of balanced class weights, if there is one target: 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    balance: Option<f64>,
    /// Whether leave-one-out predictions are impossible.
    #[serde(skip)]
    unknown: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<TargetSummary>,
    /// The chosen options, and their candidates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    choices: Vec<Choice>,
    /// Accuracy on the training graphs: no estimate for other graphs.
    #[serde(skip_serializing_if = "Option::is_none")]
    training_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    training_r2: Option<f64>,
    seconds: f64,
    #[serde(flatten)]
    tally: Tally,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OneOrEach {
    One(f64),
    Each(Vec<f64>),
}

/// One of several targets.
#[derive(Serialize)]
struct TargetSummary {
    name: String,
    /// The number of graphs with a known target.
    known: u64,
    alpha: f64,
    /// The chosen share of balanced class weights: 0 for none.
    balance: f64,
    leave_one_out: Option<f64>,
}

impl Train {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let config = self.options.config_with(Preset::Accurate, &self.readout).context(BadUsage)?;
        terminal.notes("note", &self.options.without_effect(&config, &self.readout));
        let start = Instant::now();
        let device = self.device.open(&self.input.sources, terminal)?;
        files::check_writable(&self.model)?;
        let level = config.level;
        let untargeted = if level == Level::Vertex { Untargeted::Keep } else { Untargeted::Skip };
        let mut source = terminal.open(&self.input, untargeted)?;
        (source.part, source.level) = (self.part.get(), level);
        let (config, choices) = self.chosen(&mut source, config, terminal)?;
        let survey = terminal.survey(&source, true, &config)?;
        check_targets(level, &survey, &source)?;
        let molecules = self.input.molecules.feature_set();
        let model = Model { molecules, ..Model::new(config, survey.features)? };
        let model = on_device(model, device, terminal);

        let cache = self.caching.pyramids(&self.input.sources).filter(|_| source.is_whole());
        let mut embedder = Embedder::new(&model, cache, terminal);
        let (mut vectors, mut targets, mut keys) = (Spilled::new(model.width()), Targets::None, Vec::new());
        terminal.counting("embedding", |progress| {
            let mut seen = 0;
            let pass = |push: &mut dyn FnMut(Piece<'_>) -> Result<()>| {
                let visit = |dataset: Cow<'_, Dataset>| {
                    let (before, rows) = (seen, vertices_learnt(&dataset, level, source.part));
                    if rows.as_ref().is_some_and(Vec::is_empty) {
                        return Ok(());
                    }
                    seen += dataset.len();
                    push(Piece { dataset, before, rows })
                };
                source.visit_pieces(visit, Err)
            };
            embedder.embed_pieces(progress, pass, |_, piece, embedding| {
                vectors.append(embedding?).context("keeping vectors")?;
                let Piece { dataset, .. } = piece;
                if level == Level::Graph {
                    keys.extend(dataset.graphs.keys());
                    return Ok(targets.append(dataset.targets.clone())?);
                }
                let Some(known) = learnt(&dataset, source.part) else { return Ok(()) };
                let all = dataset.graphs.vertex_keys();
                keys.extend(known.rows.iter().map(|&vertex| all[vertex]));
                Ok(targets.append(known.targets)?)
            })
        })?;
        embedder.note("");
        let splits = if level == Level::Vertex {
            survey.splits_vertices || survey.has_parts
        } else {
            survey.has_parts
        };
        if splits && source.part.is_none() {
            terminal.note("note: trained on all parts of the dataset's split; pass --part train to use only the training part");
        }
        let tally = embedder.tally;
        match level {
            Level::Graph => {
                ensure!(
                    tally.graphs == targets.len(),
                    "{}: some graphs have no target ('y'); remove them, or give them one",
                    source.name
                );
            }
            Level::Vertex => ensure!(
                !targets.is_empty(),
                "{}: no vertex of this part has a target ('node_y') to learn from",
                source.name
            ),
        }
        if self.regression {
            targets = targets.into_numbers().with_context(|| source.name.clone()).context(BadUsage)?;
        }
        if let Some(values) = targets.look_like_classes().filter(|_| !self.regression) {
            terminal.note(&format!("note: {}", real_classes(values, level)));
        }
        if let Some(note) = many_classes(&targets, level) {
            terminal.note(&format!("note: {note}"));
        }
        let (columns, ignored) = (model.width(), model.features.ignored());
        let targets = Encoded::named(&targets, survey.target_names).with_context(|| source.name.clone())?;
        let (mut trained, values) = terminal.busy("training", || {
            TrainedModel::fit_pieces::<anyhow::Error>(model, &targets, Sample::with_keys(&keys), |take| {
                vectors.pass(|x, _| Ok(take(x)?))
            })
        })?;
        trained.choices = choices;
        if ignored > 0 {
            terminal.note(&format!("note: ignoring the vertex attributes: all {ignored} are constant"));
        }
        if trained.readout.is_blind() {
            terminal.note(&format!(
                "warning: all training {} have the same vector, so every prediction is the same; give vertices attributes or labels, or add --structure",
                level.items()
            ));
        }
        let (training_accuracy, training_r2) = fitted(values.view(), &targets);
        let (metric, leave_one_out) = match trained.readout.estimate() {
            Some((metric, value)) => (metric, Some(value)),
            None => (trained.model.config.metric, None),
        };
        let alpha = match trained.readout.alphas() {
            [first, rest @ ..] if rest.iter().all(|alpha| alpha == first) => OneOrEach::One(*first),
            alphas => OneOrEach::Each(alphas.to_vec()),
        };
        let assessed = trained.readout.assessments().unwrap_or_default();
        let unknown = assessed.iter().all(|found| found.rows == 0);
        let balance = match assessed {
            [found] if targets.task().num_classes() > 0 => Some(found.balance),
            _ => None,
        };
        let report = TrainingSummary {
            dataset: source.name,
            classes: trained.classes.names(),
            columns,
            alpha,
            metric,
            leave_one_out,
            balance,
            unknown,
            targets: each_target(&trained, &targets),
            choices: trained.choices.clone(),
            training_accuracy,
            training_r2,
            seconds: start.elapsed().as_secs_f64(),
            tally,
        };
        let bytes = trained.to_bytes()?;
        terminal.creating(&self.model, || models::write(&self.model, &bytes))?;
        let compared = |choice: &&Choice| choice.candidates.len() > 1;
        let chosen: Vec<String> = report.choices.iter().filter(compared).map(chosen_value).collect();
        if !chosen.is_empty() {
            terminal.note(&format!("chosen by leave-one-out: {}", chosen.join("; ")));
        }
        terminal.note(&describe(&report, &self.model));
        if self.json { terminal.json(&report) } else { Ok(()) }
    }

    /// Chooses options by leave-one-out, on some of the graphs.
    fn chosen(
        &self,
        source: &mut Source,
        config: ModelConfig,
        terminal: &Terminal,
    ) -> Result<(ModelConfig, Vec<Choice>)> {
        if config.choose.is_empty() {
            return Ok((config, Vec::new()));
        }
        let (mut drawn, mut kinds, mut names) = (Drawn::default(), Targets::None, Vec::new());
        terminal.busy("reading", || {
            source.visit(|piece| {
                drawn.observe(&piece.graphs, &piece.targets);
                if names.is_empty() {
                    names.clone_from(&piece.target_names);
                }
                Ok::<(), anyhow::Error>(kinds.append(piece.targets.kinds())?)
            })
        })?;
        let (graphs, mut targets) = drawn.finish()?;
        if self.regression || matches!(kinds, Targets::Numbers(_)) {
            targets = targets.into_numbers().with_context(|| source.name.clone()).context(BadUsage)?;
        }
        // Errors in the targets are reported later, for all of them.
        let classes = kinds.labels().filter(|_| !self.regression).map_or(Labels::NONE, Labels::distinct);
        let Ok(targets) = Encoded::with_classes(&targets, classes) else {
            return Ok((ModelConfig { choose: Vec::new(), ..config }, Vec::new()));
        };
        let (count, varying) = (targets.task().num_targets(), targets.varying());
        if count > 1 && varying.len() < count {
            let fixed = (0..count).filter(|target| !varying.contains(target));
            let fixed: Vec<String> = fixed
                .map(|target| {
                    names.get(target).map_or_else(|| target.to_string(), |name| format!("'{name}'"))
                })
                .collect();
            let (target, it_does) =
                if fixed.len() == 1 { ("target", "it does") } else { ("targets", "they do") };
            terminal.note(&format!(
                "note: options are chosen without {target} {}: {it_does} not vary among the {} sampled graphs",
                fixed.join(", "),
                graphs.len()
            ));
        }
        terminal.busy("choosing options", || {
            Ok(choose_on(&config, &graphs, &targets, || ControlFlow::Continue(()))?)
        })
    }
}

/// Checks that there are targets to learn from.
fn check_targets(level: Level, survey: &Survey, Source { name, part, .. }: &Source) -> Result<()> {
    if let Some(part) = part.filter(|_| survey.graphs + survey.left_out == 0) {
        bail!("{name}: no row is in part {}", part.name());
    }
    match level {
        Level::Graph => ensure!(
            survey.has_targets,
            "{name}: no graph has a target ('y') to learn from; targets of vertices ('node_y') need --level vertex"
        ),
        Level::Vertex => {
            ensure!(survey.known_vertices > 0, "{name}: no vertex has a target ('node_y') to learn from");
        }
    }
    Ok(())
}

/// The training vertices of a piece, and their targets.
fn learnt(piece: &Dataset, part: Option<Part>) -> Option<Known> {
    let vertices = piece.vertices.as_ref()?;
    Some(part.map_or_else(|| vertices.known.clone(), |part| vertices.of_part(part).known))
}

/// Their positions, if the model is one of vertices.
fn vertices_learnt(piece: &Dataset, level: Level, part: Option<Part>) -> Option<Vec<usize>> {
    let rows = || learnt(piece, part).map_or_else(Vec::new, |known| known.rows);
    (level == Level::Vertex).then(rows)
}

/// The note about integers that look like numbers to predict: many classes, or few graphs of each.
pub fn many_classes(targets: &Targets, level: Level) -> Option<String> {
    let labels = targets.labels().filter(|labels| matches!(labels, Labels::Int(_)))?;
    let (rows, classes) = (targets.len(), labels.distinct().len());
    let many = classes > 20 || (classes > 5 && rows < 5 * classes);
    many.then(|| {
        let each = rows as f64 / classes as f64;
        let items = level.items();
        format!("targets are {classes} classes with {each:.1} {items} each on average; if these integers are numbers, pass --regression")
    })
}

/// The note about targets that look like classes but are stored as floats.
pub fn real_classes(values: usize, level: Level) -> String {
    let column = if level == Level::Vertex { "node_y" } else { "y" };
    format!(
        "'{column}' has {values} distinct integer values stored as floats: treated as regression; store integers or strings for classes"
    )
}

/// The results of each of several targets.
fn each_target(trained: &TrainedModel, targets: &Encoded) -> Vec<TargetSummary> {
    let census = targets.census();
    let Some(found) = trained.readout.assessments().filter(|found| found.len() > 1) else {
        return Vec::new();
    };
    let summary = |(target, found): (usize, &Assessment)| TargetSummary {
        name: trained.target(target),
        known: census.counts(target).iter().sum(),
        alpha: trained.readout.alphas()[target],
        balance: found.balance,
        leave_one_out: found.value,
    };
    found.iter().enumerate().map(summary).collect()
}

/// The quality of predictions on the training graphs, if there is one target: accuracy, or R².
fn fitted(values: ArrayView2<'_, f64>, targets: &Encoded) -> (Option<f64>, Option<f64>) {
    let judged = |truth| Judged { truth, decisions: values, probabilities: None, weights: None };
    match (targets.task(), targets.codes(), targets.values()) {
        (Task::Classification { num_classes }, Some(codes), _) => {
            (judged(Truth::Classes(codes, num_classes)).metric(Metric::Accuracy), None)
        }
        (Task::Regression { targets: 1 }, _, Some(numbers)) => {
            (None, judged(Truth::Numbers(&numbers.column(0).to_vec())).metric(Metric::R2))
        }
        _ => (None, None),
    }
}

fn chosen_value(choice: &Choice) -> String {
    format!("{} {}", choice.option.option(), typed(choice.value()))
}

fn describe(report: &TrainingSummary, path: &std::path::Path) -> String {
    let TrainingSummary { columns, alpha, seconds, tally: Tally { graphs, vertices, .. }, .. } = report;
    let learnt = match vertices {
        0 => counted(*graphs, "graph"),
        vertices => format!("{} of {}", counted(*vertices, "vertex"), counted(*graphs, "graph")),
    };
    let kind = match (report.targets.len(), report.classes.len()) {
        (0, 0) => String::new(),
        (0, classes) => format!(", {}", counted(classes, "class")),
        (targets, _) => format!(", {targets} targets"),
    };
    let alpha = match alpha {
        OneOrEach::One(alpha) => format!(", alpha {alpha}"),
        OneOrEach::Each(_) => String::new(),
    };
    let weights = match report.balance {
        Some(1.0) => ", balanced class weights".to_owned(),
        Some(share) if share > 0.0 => format!(", class weights {:.0} % balanced", 100.0 * share),
        _ => String::new(),
    };
    let fit = match report.leave_one_out {
        Some(value) => {
            let mean = if report.targets.is_empty() { "" } else { "mean " };
            format!("leave-one-out {mean}{} {}", report.metric.title(), report.metric.shown(value))
        }
        None if report.unknown => {
            "no leave-one-out value: some part of the readout depends on a single training graph".to_owned()
        }
        None => format!("leave-one-out {} has no value: targets do not vary", report.metric.title()),
    };
    format!(
        "{learnt}, {}{kind}{alpha}{weights}: {fit}; wrote {} after {seconds:.2} s",
        counted(*columns, "column"),
        path.display()
    )
}
