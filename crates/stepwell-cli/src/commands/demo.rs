use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use ndarray::{Array2, s};
use serde::Serialize;
use stepwell::config::{ModelConfig, Pool, Preset};
use stepwell::model::{Model, TrainedModel, choose};
use stepwell::projection::{ProjectionOptions, lda};
use stepwell::readout::Sample;
use stepwell::reservoir::Embedding;
use stepwell::targets::{Encoded, Targets, decode_classes};
use stepwell_data::synthetic::{self, BenchmarkOptions};
use stepwell_data::{Dataset, LevelSummary, Part, counted};
use stepwell_lab::metrics::mean_and_std;
use stepwell_lab::picture::figures::{Cloud, CloudRow};
use stepwell_lab::report::{self as page, Architecture};
use stepwell_lab::table::{Cell, Column, Table};

use crate::embedding::Embedder;
use crate::terminal::{Terminal, table};

/// See it work: classify the paper's B-easy benchmark with four architectures
///
/// Generates 1800 graphs of three classes and turns them into vectors with the preset
/// 'accurate': without pooling, and with each of the paper's three poolings between blocks.
/// Trains a readout on the training part and reports its accuracy on the test part.
/// "Accuracy per second" divides the accuracy by the time to prepare, embed and train; the
/// time to pool does not count. Also writes demo.html, demo.json and demo.csv to a folder.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  stepwell demo --seed 7 --out results")]
pub struct Demo {
    /// The folder to write, replacing an earlier demo's files
    #[arg(long, value_name = "FOLDER", default_value = "stepwell-demo")]
    out: PathBuf,

    /// Seed of the benchmark and of the weights
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// The number of draws of the weights; accuracies are means over them.
const DRAWS: u64 = 3;

/// The pooling of each architecture, and its name.
const ARCHITECTURES: [(Pool, &str); 4] =
    [(Pool::None, "none"), (Pool::Graclus, "graclus"), (Pool::Nmf, "nmf"), (Pool::Ndp, "ndp")];

/// The contents of demo.json.
#[derive(Serialize)]
struct DemoResult {
    dataset: String,
    seed: u64,
    graphs: usize,
    blocks: usize,
    units: usize,
    spectral_radius: f64,
    draws: u64,
    threads: usize,
    version: &'static str,
    architectures: Vec<Architecture>,
}

impl Demo {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let options = BenchmarkOptions::named("b-easy").context("b-easy")?;
        let dataset = terminal.busy("generating b-easy", || {
            synthetic::generate(&BenchmarkOptions { seed: self.seed, ..options })
        })?;
        let config = ModelConfig { seed: self.seed, ..ModelConfig::preset(Preset::Accurate) };
        let split = Split::of(&dataset)?;
        let mut architectures = Vec::new();
        let mut embeddings = CloudRow {
            name: dataset.name.clone(),
            classes: split.targets.labels().map(|labels| labels.distinct().names()).unwrap_or_default(),
            of: split.classes.clone(),
            clouds: Vec::new(),
        };
        for (pool, name) in ARCHITECTURES {
            let config = ModelConfig { pool, ..config.clone() };
            let (found, points) = measure(&dataset, &split, &config, name, terminal)?;
            architectures.push(found);
            embeddings.clouds.push(Cloud { name: name.to_owned(), points });
        }
        let result = DemoResult {
            dataset: dataset.name.clone(),
            seed: self.seed,
            graphs: dataset.len(),
            blocks: config.blocks,
            units: config.units.get(0).context("units of the first block")?,
            spectral_radius: config.spectral_radius.get(0).context("radius of the first block")?,
            draws: DRAWS,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
            architectures,
        };
        let page = page::Demo {
            dataset: &dataset,
            words: summary(&result),
            blocks: result.blocks,
            architectures: &result.architectures,
            embeddings,
        };
        for (name, text) in [
            ("demo.html", page.html(&crate::report::provenance())),
            ("demo.json", serde_json::to_string_pretty(&result)? + "\n"),
            ("demo.csv", csv(&result)),
        ] {
            crate::report::write(&self.out.join(name), &text)?;
        }
        terminal.print(&describe(&result))?;
        let out = self.out.display();
        terminal
            .note(&format!("\nwrote {out}/demo.html (open in a browser), {out}/demo.json, {out}/demo.csv"));
        Ok(())
    }
}

/// Training and test graphs.
struct Split {
    train: Vec<usize>,
    test: Vec<usize>,
    targets: Targets,
    classes: Vec<usize>,
}

impl Split {
    fn of(dataset: &Dataset) -> Result<Self> {
        let part = |part| dataset.part(part).context("the benchmark has a split");
        let (classes, _) = dataset.targets.classes().context("the benchmark has classes")?;
        let targets = dataset.targets.clone();
        Ok(Self { train: part(Part::Train)?, test: part(Part::Test)?, targets, classes })
    }

    /// Trains on one part, and returns the accuracy on the other.
    fn accuracy(&self, model: Model, embedding: &Embedding) -> Result<f64> {
        let (train, targets) = (embedding.select(&self.train), self.targets.select(&self.train));
        let trained = TrainedModel::fit(model, &train, &targets, Default::default())?;
        let decisions = trained.readout.predict(&embedding.select(&self.test))?;
        let found = decode_classes(decisions.view());
        let right = found.iter().zip(&self.test).filter(|&(&class, &graph)| class == self.classes[graph]);
        Ok(right.count() as f64 / self.test.len().max(1) as f64)
    }

    /// All graphs as points in the plane that separates the classes best. Uses only the sums of one
    /// stack's last states: with more columns than graphs, some plane separates any classes.
    fn points(&self, vectors: &Array2<f64>, config: &ModelConfig) -> Result<Vec<[f64; 2]>> {
        let units = config.units.get(config.blocks - 1).context("units of the last block")?;
        let first = (config.blocks - 1) * config.aggregate.len() * units;
        let sums = vectors.slice(s![.., first..first + units]);
        let projection = lda(sums, &self.classes, &ProjectionOptions::default())?;
        let points = projection.apply(sums)?;
        Ok(points.rows().into_iter().map(|point| [point[0], point[1]]).collect())
    }
}

fn measure(
    dataset: &Dataset,
    split: &Split,
    config: &ModelConfig,
    name: &'static str,
    terminal: &Terminal,
) -> Result<(Architecture, Vec<[f64; 2]>)> {
    // Pooling and preparing do not depend on the weights, so once is enough.
    let training = dataset.graphs.select(&split.train);
    let targets = Encoded::new(&split.targets.select(&split.train))?;
    let (config, _) = terminal.busy(&format!("{name}, choosing options"), || {
        choose(config, &training, &targets, Sample::default(), || ControlFlow::Continue(()))
    })?;
    let model = |draw| {
        let seed = config.seed.wrapping_add(draw);
        Model::fit(ModelConfig { seed, ..config.clone() }, &training)
    };
    let first = model(0)?;
    let mut embedder = Embedder::new(&first, None, terminal);
    let (pyramid, prepared) = terminal.counting(&format!("{name}, pooling"), |progress| {
        let pyramid = embedder.coarsen(&dataset.graphs, progress)?;
        let prepared = embedder.prepare(&dataset.graphs, &pyramid, progress)?;
        Ok::<_, anyhow::Error>((pyramid, prepared))
    })?;
    let mut tally = embedder.tally;
    let mut accuracies = Vec::new();
    let mut train_seconds = 0.0;
    let mut points = Vec::new();
    for draw in 0..DRAWS {
        let model = model(draw)?;
        let mut embedder = Embedder { tally, ..Embedder::new(&model, None, terminal) };
        let what = format!("{name}, draw {} of {DRAWS}", draw + 1);
        let embedding =
            terminal.counting(&what, |progress| embedder.embed_prepared(&prepared, None, progress))?;
        tally = embedder.tally;
        let start = Instant::now();
        accuracies.push(split.accuracy(model, &embedding)?);
        train_seconds += start.elapsed().as_secs_f64() / DRAWS as f64;
        if draw == 0 {
            points = split.points(&embedding.vectors, &config)?;
        }
    }
    let (accuracy_mean, accuracy_std) = mean_and_std(&accuracies);
    let all = std::iter::once(&dataset.graphs).chain(pyramid.levels.iter().map(|level| &level.graphs));
    let mut found = Architecture {
        pool: name.to_owned(),
        accuracy_mean,
        accuracy_std,
        coarsen_seconds: tally.coarsen_seconds,
        prepare_seconds: tally.prepare_seconds,
        embed_seconds: tally.embed_seconds / DRAWS as f64,
        train_seconds,
        accuracy_per_second: 0.0,
        sweeps_mean: tally.sweeps_mean,
        converged: tally.converged,
        levels: all.enumerate().map(|(level, graphs)| LevelSummary::of(level, graphs)).collect(),
    };
    found.accuracy_per_second = accuracy_mean / found.seconds();
    Ok((found, points))
}

fn csv(result: &DemoResult) -> String {
    fn last(found: &Architecture, value: fn(&LevelSummary) -> f64) -> Cell {
        Cell::optional(found.levels.last().map(value), 1)
    }
    let columns: [Column<Architecture>; 10] = [
        ("pool", |found| Cell::text(&found.pool)),
        ("accuracy_mean", |found| Cell::number(found.accuracy_mean, 3)),
        ("accuracy_std", |found| Cell::number(found.accuracy_std, 3)),
        ("coarsen_seconds", |found| Cell::number(found.coarsen_seconds, 3)),
        ("prepare_seconds", |found| Cell::number(found.prepare_seconds, 3)),
        ("embed_seconds", |found| Cell::number(found.embed_seconds, 3)),
        ("train_seconds", |found| Cell::number(found.train_seconds, 3)),
        ("accuracy_per_second", |found| Cell::number(found.accuracy_per_second, 3)),
        ("vertices_last_level", |found| last(found, |level| level.avg_vertices)),
        ("edges_last_level", |found| last(found, |level| level.avg_edges)),
    ];
    Table::of("", &result.architectures, &columns).csv()
}

fn describe(result: &DemoResult) -> String {
    let most = |value: fn(&Architecture) -> f64| result.architectures.iter().map(value).fold(0.0, f64::max);
    let slowest = most(|found| found.embed_seconds);
    let best = most(|found| found.accuracy_per_second);
    let rows = result.architectures.iter().map(|found| {
        vec![
            found.pool.clone(),
            format!("{:.1} ±{:.1}", 100.0 * found.accuracy_mean, 100.0 * found.accuracy_std),
            bar(found.accuracy_mean),
            format!("{:.2}", found.embed_seconds),
            bar(found.embed_seconds / slowest),
            format!("{:.2}", found.coarsen_seconds),
            bar(found.accuracy_per_second / best),
            found.by_level(|level| level.avg_vertices, " > "),
            found.by_level(|level| level.avg_edges, " > "),
        ]
    });
    let header =
        ["pooling", "accuracy %", "", "embed s", "", "pool s", "accuracy per second", "vertices", "edges"];
    format!("{}\n\n{}", summary(result), table(&header, rows))
}

fn summary(result: &DemoResult) -> String {
    let DemoResult { dataset, graphs, blocks, units, threads, draws, .. } = result;
    format!(
        "{dataset}: {}, {} of {units} units, {}, {} of the weights",
        counted(*graphs, "graph"),
        counted(*blocks, "block"),
        counted(*threads, "thread"),
        counted(*draws as usize, "draw")
    )
}

/// A bar of up to twelve characters, in steps of an eighth of a character.
fn bar(share: f64) -> String {
    let eighths = (96.0 * share.clamp(0.0, 1.0)).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}
