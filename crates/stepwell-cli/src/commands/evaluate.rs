use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use flate2::read::MultiGzDecoder;
use serde_json::Map;
use stepwell::config::{Choose, EdgeGate, Level, Metric, ModelConfig, Preset, typed};
use stepwell::features::FeatureMap;
use stepwell_data::{Dataset, ReadOptions, Untargeted, counted, files, quote};
use stepwell_lab::baselines::Baseline;
use stepwell_lab::metrics::{Values, cell, heading, mean_cell, spread_cell};
use stepwell_lab::report::{FoldRow, evaluation, fold_table};
use stepwell_lab::results::chosen;
use stepwell_lab::run::Run;
use stepwell_lab::splits::{self, Fold, rare_classes};
use stepwell_lab::subject::Subject;
use stepwell_lab::targets::graphs_of;

use super::train::{many_classes, real_classes};
use crate::BadUsage;
use crate::args::{DeviceArg, Input};
use crate::embedding::{note_ignored, unconverged};
use crate::model::{PRESETS, named};
use crate::protocol::{EvaluationArgs, EvaluationResult, Evaluator, FoldOfSeed, Spread, Spreads};
use crate::terminal::{Terminal, shown, table};

/// Score a model on held-out graphs
///
/// Evaluates the model that 'stepwell train' makes with the same options. In every fold, fits
/// features and trains a readout on the training and validation graphs, and scores the model
/// on the test graphs. If the dataset has a split, that split is the only fold, unless
/// --folds, --groups or --splits is given.
///
/// With --level vertex, vertices take the place of graphs. Every split in the column 'node_split'
/// is a fold. --folds divides the vertices of a single graph into folds; if there are several
/// graphs, it divides the graphs.
///
/// Reports every metric the targets allow, with its spread over folds. --metric comes first.
/// By default, --metric is accuracy for classes, ROC-AUC for two classes of very different sizes and
/// for several targets of 0 and 1, and RMSE for numbers.
///
/// With --configs, searches hyperparameters as in the paper: compares random configurations
/// on the validation graphs of each fold, and scores the best one on the test graphs.
/// Such a search computes means and scales of the inputs on all graphs, test graphs included; it
/// does not use their targets for this. The paper's protocol is
/// '--preset paper --configs 100 --inits 3 --folds 5'.
///
/// With --out, an interrupted run is resumed by the same command, and the folder holds a
/// report to open in a browser, report.html.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell evaluate MUTAG --folds 10 --baselines
  stepwell evaluate graphs.parquet --class-weight balanced --out runs/mine
  stepwell evaluate tox21.parquet --target NR-AR,NR-ER,SR-p53 --groups scaffold --folds 5
  stepwell evaluate mols.csv --smiles smiles --target logS --groups scaffold --folds 5
  stepwell evaluate ENZYMES --splits ENZYMES_splits.json.gz --repeats 3 --json
  stepwell evaluate NCI1 --preset paper --pool ndp --configs 100 --folds 5   # a cell of the paper's Table 2
  stepwell evaluate cora.npz --level vertex --inits 1
  stepwell evaluate NCI1 --baseline wl",
    mut_arg("preset", |preset| preset.help(PRESETS)))]
pub struct Evaluate {
    #[command(flatten)]
    input: Input,

    /// Read splits from a .json or .json.gz file in the format of Errica et al., 'A Fair Comparison
    /// of Graph Neural Networks for Graph Classification'
    #[arg(long, value_name = "FILE", conflicts_with = "folds")]
    splits: Option<PathBuf>,

    /// Column of a .jsonl, .parquet, .csv or .tsv file with groups (scaffolds, patients); a group is
    /// never split between folds, or between training and validation graphs. With --smiles,
    /// 'scaffold' groups molecules by their scaffold
    #[arg(long, value_name = "COLUMN", conflicts_with = "splits")]
    groups: Option<String>,

    /// Save records and a report in this folder, and resume from them
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Predict integer targets as numbers, not as classes
    #[arg(long)]
    regression: bool,

    /// Train on the training graphs and score on the validation graphs, to compare models
    /// without using the test graphs
    #[arg(long, conflicts_with_all = ["baselines", "baseline"])]
    on_validation: bool,

    /// Also evaluate simple models: 'majority' (the most frequent class, or the mean), 'features'
    /// (of vertices, without edges), 'degree-profile', 'wl' (Weisfeiler–Lehman subtrees) and 'wl-oa'
    /// (the optimal assignment kernel of the same subtrees)
    #[arg(long)]
    baselines: bool,

    /// Instead of the model, evaluate this one of the simple models that --baselines lists
    #[arg(long, value_name = "NAME", conflicts_with = "baselines", value_parser = named::<Baseline>)]
    baseline: Option<Baseline>,

    #[command(flatten)]
    device: DeviceArg,

    #[command(flatten)]
    evaluated: EvaluationArgs,
}

impl Evaluate {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let (mut config, mut protocols) = self.evaluated.plan((Preset::Accurate, 0)).context(BadUsage)?;
        let searches = protocols.iter().any(|protocol| protocol.searches());
        if self.on_validation && searches {
            let refusal = "--on-validation cannot be combined with --configs, which chooses configurations on the validation graphs";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        protocols.iter_mut().for_each(|protocol| protocol.on_validation = self.on_validation);
        if searches && self.baseline.is_none() && !config.choose.is_empty() {
            let kept: Vec<&str> = config.choose.iter().map(|choose| choose.option()).collect();
            terminal.note(&format!(
                "note: with --configs, leave-one-out chooses no options: {} stay as they are, as with --choose none",
                kept.join(", ")
            ));
            config.choose.clear();
        }
        if self.baseline.is_none() {
            let EvaluationArgs { model, readout, .. } = &self.evaluated;
            terminal.notes("note", &model.without_effect(&config, readout));
        }
        let other = [
            (self.groups.is_some(), "--groups"),
            (self.evaluated.protocol.folds.is_some(), "--folds"),
            (self.splits.is_some(), "--splits"),
        ];
        if let Some((_, other)) = other.iter().find(|(given, _)| *given && self.input.molecules.splits()) {
            let refusal = format!(
                "--smiles-split cannot be combined with {other}, which makes other folds; remove one of them"
            );
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let device = self.device.open(&self.input.sources, terminal)?;
        let level = config.level;
        if level == Level::Vertex && (self.baselines || self.baseline.is_some() || self.splits.is_some()) {
            let refusal = "--level vertex cannot be combined with --baselines, --baseline or --splits";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let untargeted = if level == Level::Vertex { Untargeted::Keep } else { Untargeted::Skip };
        let reading = ReadOptions { groups: self.groups.clone(), ..self.input.reading(untargeted) };
        let mut dataset = terminal.load_with(&self.input, &reading)?;
        let known = dataset.vertices.as_ref().map_or(0, |all| all.known.rows.len());
        if level == Level::Vertex {
            ensure!(known > 0, "{}: no vertex has a target ('node_y') to learn from", dataset.name);
        } else if known > 0 {
            ensure!(
                !dataset.targets.is_empty(),
                "{}: no graph has a target ('y') to learn from; targets of vertices ('node_y') need --level vertex",
                dataset.name
            );
        }
        if self.regression {
            let all = match dataset.vertices.as_mut().filter(|_| level == Level::Vertex) {
                Some(all) => &mut all.known.targets,
                None => &mut dataset.targets,
            };
            *all =
                std::mem::take(all).into_numbers().with_context(|| dataset.name.clone()).context(BadUsage)?;
        }
        // A feature map that ignores edges reports everything that the edges carry.
        let carried = FeatureMap::default().ignored_of_edges(&dataset.graphs);
        if let Some(carried) =
            carried.filter(|_| self.baseline.is_none() && config.edge_gate == EdgeGate::None)
        {
            note_ignored(carried, &config, "", terminal);
        }
        if (self.baselines || self.baseline.is_some()) && dataset.graphs.edge_attributes().is_some() {
            terminal.note("note: edges carry attributes, which the baselines ignore");
        }
        let folds = self.folds(&dataset, level, protocols[0].folds, terminal)?;
        let usual = if level == Level::Vertex { Preset::Vertices } else { Preset::Accurate };
        let preset = self.evaluated.model.preset().unwrap_or(usual);
        let changed = match self.baseline {
            Some(_) => Map::new(),
            None => config.differences(&ModelConfig::preset(preset)),
        };
        let subject = match (self.baseline, preset) {
            (Some(baseline), _) => Subject::Baseline(baseline),
            // The name in the paper's tables.
            (None, Preset::Paper) if searches => Subject::Model("reservoir".into(), Box::new(config)),
            (None, preset) => {
                let name = serde_json::to_value(preset)?.as_str().unwrap_or("model").to_owned();
                Subject::Model(name, Box::new(config))
            }
        };
        let run = Run { folder: self.out.clone(), keeps_predictions: true, ..Run::default() };
        let cache = self.evaluated.caching.pyramids(&self.input.sources);
        let evaluator = Evaluator {
            dataset: &dataset,
            protocols: &protocols,
            splits: folds.as_deref(),
            cache: cache.as_ref(),
            run: &run,
            terminal,
            device,
        };
        let mut found = EvaluationResult { options: changed, ..evaluator.evaluate(&subject)? };
        if self.baselines {
            let run = Run { keeps_predictions: false, ..run.clone() };
            let evaluator = Evaluator { run: &run, ..evaluator };
            let simple = Baseline::ALL.map(|baseline| evaluator.evaluate(&Subject::Baseline(baseline)));
            found.baselines = simple.into_iter().collect::<Result<_>>()?;
        }
        if let Some(folder) = &self.out {
            let path = folder.join("report.html");
            crate::report::write(&path, &evaluation(&Run::read(folder)?, &crate::report::provenance()))?;
            terminal.note(&format!("wrote {}", path.display()));
        }
        terminal.notes("note", &self.remarks(&found, &dataset, &subject));
        if self.json { terminal.json(&found) } else { terminal.print(&describe(&found, level)) }
    }

    /// The given folds, from a file or from the dataset itself. Prints notes about surprising
    /// properties.
    fn folds(
        &self,
        dataset: &Dataset,
        level: Level,
        folds: usize,
        terminal: &Terminal,
    ) -> Result<Option<Vec<Fold>>> {
        if let Some(path) = &self.splits {
            // Splits refer to graphs by their position among all graphs.
            ensure!(
                dataset.left_out == 0,
                "{}: {} without a target, so the positions in {} do not match; give every graph a target, or remove --splits",
                dataset.name,
                counted(dataset.left_out, "graph"),
                path.display()
            );
            return read_splits(path, dataset.len()).map(Some);
        }
        let draws = self.evaluated.protocol.folds.is_some() || self.groups.is_some();
        if level == Level::Vertex {
            return Ok(if draws { None } else { folds_of_vertices(dataset, terminal) });
        }
        if let Some(parts) = dataset.parts.as_ref().filter(|_| !draws) {
            let fold = Fold::of_parts(parts);
            let sizes = [(&fold.train, "train"), (&fold.validation, "validation"), (&fold.test, "test")];
            let sizes: Vec<String> = sizes
                .iter()
                .filter(|(graphs, _)| !graphs.is_empty())
                .map(|(graphs, name)| format!("{} {name}", graphs.len()))
                .collect();
            let instead = if self.input.molecules.splits() {
                "pass --folds in place of --smiles-split"
            } else {
                "pass --folds"
            };
            terminal.note(&format!(
                "using the dataset's split: {} ({instead} to cross-validate)",
                sizes.join(", ")
            ));
            return Ok(Some(vec![fold]));
        }
        if let Some(note) = self.groups.as_ref().and_then(|_| uneven_groups(dataset, folds)) {
            terminal.note(&note);
        }
        if let Some((classes, names)) = dataset.targets.classes().filter(|_| self.groups.is_none()) {
            match rare_classes(&classes, folds) {
                0 => {}
                1 => terminal.note(&format!(
                    "note: 1 of {} classes has fewer than {folds} graphs: some folds have no graph of this class",
                    names.len()
                )),
                rare => terminal.note(&format!(
                    "note: {rare} of {} classes have fewer than {folds} graphs each: some folds have no graph of these classes",
                    names.len()
                )),
            }
        }
        Ok(None)
    }

    /// Remarks about surprising results, and suggestions.
    fn remarks(&self, found: &EvaluationResult, dataset: &Dataset, subject: &Subject) -> Vec<String> {
        let mut remarks = Vec::new();
        let config = match subject {
            Subject::Model(_, config) => Some(&**config),
            Subject::Baseline(_) => None,
        };
        let level = config.map_or(Level::Graph, |config| config.level);
        if let Some((share, config)) = found.converged.filter(|&share| share < 1.0).zip(config) {
            remarks.push(unconverged(share, config));
        }
        let targets = match dataset.vertices.as_ref().filter(|_| level == Level::Vertex) {
            Some(all) => &all.known.targets,
            None => &dataset.targets,
        };
        if let Some(values) = targets.look_like_classes().filter(|_| !self.regression) {
            remarks.push(real_classes(values, level));
        }
        remarks.extend(many_classes(targets, level).filter(|_| !self.regression));
        match found.folds_without_value() {
            0 => {}
            folds => remarks.push(format!(
                "{} has no value in {folds} of {} folds: their test {} have only one class, or the model has no probabilities",
                found.metric.title(),
                found.folds.len(),
                level.items()
            )),
        }
        for (target, name) in found.target_names.iter().enumerate() {
            let without =
                |fold: &&FoldOfSeed| fold.result.quality.per_target.get(target).is_some_and(Values::is_empty);
            let count = found.folds.iter().filter(without).count();
            if count > 0 {
                remarks.push(format!(
                    "target '{name}' has no value in {count} of {} folds: it is unknown for all of their training {items}, or for all of their test {items}",
                    found.folds.len(),
                    items = level.items()
                ));
            }
        }
        let ahead = |simple: &&EvaluationResult| {
            simple.standard_errors_better(found).is_some_and(|errors| errors > 2.0)
        };
        let better = found.baselines.iter().filter(ahead);
        if let Some(best) = better.reduce(|best, next| if next.is_better(best) { next } else { best }) {
            remarks.push(format!(
                "the baseline '{}' is better here, by more than two standard errors ({}){}",
                best.model,
                figure(best),
                config.map_or_else(String::new, |config| advice(config, found.title()))
            ));
        }
        remarks
    }
}

/// A note if a group is so large that its fold is much larger than the others.
fn uneven_groups(dataset: &Dataset, folds: usize) -> Option<String> {
    let mut sizes = BTreeMap::new();
    dataset.groups.iter().flatten().for_each(|group| *sizes.entry(group.as_str()).or_insert(0) += 1);
    let (name, largest) = sizes.into_iter().max_by_key(|&(_, size)| size)?;
    let graphs = dataset.len();
    let name = match name {
        "" if dataset.molecules.is_some() => "molecules without rings".to_owned(),
        name => quote(name.as_bytes()),
    };
    (5 * largest * folds > 6 * graphs).then(|| {
        format!("note: the largest group ({name}) has {largest} of {graphs} graphs, and all of them are in one of {folds} folds")
    })
}

/// Suggestions for a model that a baseline beats: options that it does not use yet, and that
/// leave-one-out does not compare.
fn advice(config: &ModelConfig, preset: &str) -> String {
    let mut all = Vec::new();
    if config.structure.is_empty() && !config.choose.contains(&Choose::Structure) {
        all.push("--structure log-degree,clustering");
    }
    if preset != "accurate" {
        all.push("--preset accurate");
    }
    if all.is_empty() { String::new() } else { format!("; try {}", all.join(" or ")) }
}

/// The vertex splits of a dataset, or the split of its graphs; `None` without a split.
fn folds_of_vertices(dataset: &Dataset, terminal: &Terminal) -> Option<Vec<Fold>> {
    let all = dataset.vertices.as_ref()?;
    let known = &all.known.rows;
    let folds: Vec<Fold> = match (&all.splits[..], &dataset.parts) {
        ([], None) => return None,
        ([], Some(parts)) => {
            let graphs = graphs_of(dataset, known);
            vec![Fold::of_parts(&graphs.iter().map(|&graph| parts[graph]).collect::<Vec<_>>())]
        }
        (splits, _) => splits.iter().map(|split| Fold::of_vertices(split, known)).collect(),
    };
    let count = if folds.len() == 1 { "split".to_owned() } else { format!("{} splits", folds.len()) };
    let Fold { train, validation, test } = &folds[0];
    terminal.note(&format!(
        "using the dataset's {count} of vertices: {} train, {} validation, {} test (pass --folds to cross-validate)",
        train.len(),
        validation.len(),
        test.len()
    ));
    Some(folds)
}

fn read_splits(path: &Path, graphs: usize) -> Result<Vec<Fold>> {
    /// Far more than the splits of any dataset.
    const MOST: u64 = 1 << 27;
    /// Memory per byte of text: a number of eight bytes takes two bytes of text.
    const MADE_OF_BYTE: u64 = 9;
    let named = || path.display().to_string();
    let file = File::open(path).with_context(named)?;
    let zipped = path.extension().is_some_and(|ending| ending == "gz");
    let reader: Box<dyn Read> = if zipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let bytes = files::read_all(reader, path, MADE_OF_BYTE, MOST)?;
    let text = std::str::from_utf8(&bytes).context("expected splits as JSON in UTF-8").with_context(named)?;
    splits::parse(text, graphs).with_context(named)
}

fn describe(found: &EvaluationResult, level: Level) -> String {
    // Folds are numbered per seed.
    let each_seed = found.folds.iter().filter(|fold| fold.seed == found.seed).count().max(1);
    let rows: Vec<FoldRow<'_>> = found
        .folds
        .iter()
        .enumerate()
        .map(|(index, fold)| FoldRow {
            model: None,
            seed: fold.seed,
            fold: index % each_seed,
            result: &fold.result,
            times: fold.times,
        })
        .collect();
    let subject = match (found.model.as_str(), found.blocks) {
        (baseline, 0) => format!("baseline {baseline}"),
        (_, blocks) => {
            let blocks = counted(blocks, "block");
            format!("{}{}, pooling {}, {blocks}", found.title(), changes(found), found.pool)
        }
    };
    let folds = shown(&fold_table(&rows, found.metric));
    let mut text = format!(
        "{folds}\n\n{}, {subject}: {}\n{}",
        found.dataset,
        figure(found),
        protocol(found, level.items())
    );
    if let Some(words) = chosen(found.folds.iter().map(|fold| &fold.result)) {
        text += &format!("\nChosen by leave-one-out: {words}.");
    }
    let simple = found.baselines.iter().map(|simple| (simple.model.as_str(), &simple.metrics));
    let all: Vec<(&str, &Spreads)> = std::iter::once((found.title(), &found.metrics)).chain(simple).collect();
    text += &format!("\n\n{}", by_metric("model", found.metric, &all));
    if !found.targets.is_empty() {
        let all: Vec<(&str, &Spreads)> =
            found.target_names.iter().map(|name| (name.as_str(), &found.targets[name])).collect();
        text += &format!("\n\n{}", by_metric("target", found.metric, &all));
    }
    text += &format!("\n\nFeatures fitted on {}", found.features_fitted_on);
    match found.baselines.first().filter(|simple| simple.features_fitted_on != found.features_fitted_on) {
        Some(simple) => text + &format!("; those of the baselines on {}.", simple.features_fitted_on),
        None => text + ".",
    }
}

/// The options that differ from the preset, without those already in the subject's line.
fn changes(found: &EvaluationResult) -> String {
    let others =
        found.options.iter().filter(|(name, _)| !matches!(name.as_str(), "pool" | "blocks" | "level"));
    let all: Vec<String> = others.map(|(name, value)| format!("{name} {}", typed(value))).collect();
    if all.is_empty() { String::new() } else { format!(" with {}", all.join(", ")) }
}

/// Describes the protocol: folds and their sizes, draws, the search.
fn protocol(found: &EvaluationResult, items: &str) -> String {
    let size = |part: usize| {
        let sizes = || found.sizes.iter().map(|sizes| sizes[part]);
        match (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0)) {
            (least, most) if least == most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        }
    };
    let scored = if found.on_validation { "validation" } else { "test" };
    let mut words = vec![
        format!(
            "{} with {} training, {} validation and {} test {items}",
            counted(found.sizes.len(), "fold"),
            size(0),
            size(1),
            size(2)
        ),
        format!("{} of the weights", counted(found.initialisations, "draw")),
    ];
    if found.configurations > 0 {
        let searched = found.searched.join(", ");
        words.push(format!("{} of {searched}", counted(found.configurations, "configuration")));
    }
    words.push(format!("scored on the {scored} {items}"));
    let mut seeds: Vec<u64> = found.folds.iter().map(|fold| fold.seed).collect();
    seeds.dedup();
    if seeds.len() > 1 {
        words.push(counted(seeds.len(), "repeat"));
    }
    format!("Protocol: {}.", words.join("; "))
}

/// A line for each name and a column for each metric, the headline first.
fn by_metric(what: &str, headline: Metric, all: &[(&str, &Spreads)]) -> String {
    let mut metrics: Vec<Metric> = all.iter().flat_map(|(_, found)| found.0.keys().copied()).collect();
    metrics.sort_by_key(|&metric| (metric != headline, metric));
    metrics.dedup();
    let headings: Vec<String> = metrics.iter().map(|&metric| heading(metric)).collect();
    let header: Vec<&str> = std::iter::once(what).chain(headings.iter().map(String::as_str)).collect();
    let rows = all.iter().map(|(name, found)| {
        let cells = metrics
            .iter()
            .map(|metric| found.0.get(metric).map_or("-".to_owned(), |spread| mean_and_std(*metric, spread)));
        std::iter::once((*name).to_owned()).chain(cells).collect()
    });
    table(&header, rows)
}

fn mean_and_std(metric: Metric, spread: &Spread) -> String {
    let folds = spread.folds.unwrap_or(spread.all);
    mean_cell(metric, spread.mean, spread.std, (folds, spread.all)).text
}

fn figure(found: &EvaluationResult) -> String {
    let Some(headline) = found.metrics.0.get(&found.metric) else { return "no score".to_owned() };
    let unit = if found.metric.is_share() { " %" } else { "" };
    let over =
        if found.folds.len() == 1 && headline.std.is_some() { " over draws of the weights" } else { "" };
    let folds =
        headline.folds.map_or_else(String::new, |folds| format!(" ({folds} of {} folds)", headline.all));
    let value = match headline.std.filter(|_| headline.folds != Some(1)) {
        Some(std) => spread_cell(found.metric, headline.mean, std).text,
        None => cell(found.metric, headline.mean).text,
    };
    format!("{} {value}{unit}{over}{folds}", found.metric.title())
}
