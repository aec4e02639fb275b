use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use ndarray::{Array2, Axis, s};
use serde::Serialize;
use stepwell::config::{ModelConfig, Pool, Preset};
use stepwell::model::{Model, TrainedModel};
use stepwell::projection::{ProjectionOptions, lda};
use stepwell::targets::{Targets, decode_classes};
use stepwell_data::synthetic::{self, BenchmarkOptions};
use stepwell_data::{Dataset, LevelSummary, Part, files};
use stepwell_lab::picture::figures::{Cloud, CloudRow};
use stepwell_lab::report as page;

use crate::embedding::Embedder;
use crate::terminal::{Terminal, table};

/// See it work: classify the paper's B-easy benchmark with four architectures
///
/// Generates 1800 graphs of three classes, turns them into vectors with the
/// accurate preset, unpooled and with each of the paper's three poolings between
/// its blocks, trains a readout on the training part and counts what it gets right
/// on the test part. "Right per second" is that share divided by the time to
/// prepare, embed and train, pooling apart. Results are also written to a
/// folder, as demo.html, demo.json and demo.csv.
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

/// Weights are drawn this often; accuracies are means.
const DRAWS: u64 = 3;

/// The pooling of each architecture, and its name.
const ARCHITECTURES: [(Pool, &str); 4] =
    [(Pool::None, "none"), (Pool::Graclus, "graclus"), (Pool::Nmf, "nmf"), (Pool::Ndp, "ndp")];

#[derive(Serialize)]
struct Report {
    dataset: String,
    seed: u64,
    graphs: usize,
    blocks: usize,
    units: usize,
    spectral_radius: f64,
    draws: u64,
    threads: usize,
    version: &'static str,
    architectures: Vec<Outcome>,
}

/// What came of one architecture. Times are of all graphs, means over draws.
#[derive(Serialize)]
struct Outcome {
    pool: &'static str,
    accuracy_mean: f64,
    accuracy_std: f64,
    coarsen_seconds: f64,
    prepare_seconds: f64,
    embed_seconds: f64,
    train_seconds: f64,
    accuracy_per_second: f64,
    sweeps_mean: Vec<f64>,
    converged: f64,
    levels: Vec<LevelSummary>,
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
            let (outcome, points) = measure(&dataset, &split, &config, name, terminal)?;
            architectures.push(outcome);
            embeddings.clouds.push(Cloud { name: name.to_owned(), points });
        }
        let report = Report {
            dataset: dataset.name.clone(),
            seed: self.seed,
            graphs: dataset.len(),
            blocks: config.blocks,
            units: config.units.get(0).unwrap_or_default(),
            spectral_radius: config.spectral_radius.get(0).unwrap_or_default(),
            draws: DRAWS,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
            architectures,
        };
        write(&report, &self.out)?;
        let page = page(&report, &dataset, embeddings).html(&crate::report::facts());
        crate::report::write(&self.out.join("demo.html"), &page)?;
        terminal.print(&describe(&report))?;
        let out = self.out.display();
        terminal
            .note(&format!("\nalso written: {out}/demo.html (to look at), {out}/demo.json, {out}/demo.csv"));
        Ok(())
    }
}

/// The graphs to learn from and those to judge by.
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

    /// Trains on one part, and answers with the share of the other it gets right.
    fn accuracy(&self, model: Model, vectors: &Array2<f64>) -> Result<f64> {
        let rows = vectors.select(Axis(0), &self.train);
        let trained = TrainedModel::fit(model, rows.view(), &self.targets.select(&self.train), None)?;
        let decisions = trained.readout.predict(vectors.select(Axis(0), &self.test).view())?;
        let found = decode_classes(decisions.view());
        let right = found.iter().zip(&self.test).filter(|&(&class, &graph)| class == self.classes[graph]);
        Ok(right.count() as f64 / self.test.len().max(1) as f64)
    }

    /// All graphs as points of the plane in which classes lie farthest apart. Of
    /// their vectors only the sums of one stack's last states are looked at: with
    /// more columns than graphs there is a plane for any classes.
    fn points(&self, vectors: &Array2<f64>, config: &ModelConfig) -> Result<Vec<[f64; 2]>> {
        let units = config.units.get(config.blocks - 1).unwrap_or_default();
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
) -> Result<(Outcome, Vec<[f64; 2]>)> {
    // Pooling and preparing depend on nothing that is drawn: once is enough.
    let model = |draw| {
        let seed = config.seed.wrapping_add(draw);
        Model::fit(ModelConfig { seed, ..config.clone() }, &dataset.graphs)
    };
    let first = model(0)?;
    let mut embedder = Embedder::new(&first, None, terminal);
    let pyramid = terminal
        .counting(&format!("{name}, pooling"), |progress| embedder.coarsen(&dataset.graphs, progress))?;
    let prepared = embedder.prepare(&dataset.graphs, &pyramid)?;
    let mut tally = embedder.tally;
    let mut accuracies = Vec::new();
    let mut train_seconds = 0.0;
    let mut points = Vec::new();
    for draw in 0..DRAWS {
        let model = model(draw)?;
        let mut embedder = Embedder { tally, ..Embedder::new(&model, None, terminal) };
        let what = format!("{name}, draw {} of {DRAWS}", draw + 1);
        let embedding = terminal.counting(&what, |progress| embedder.embed_prepared(&prepared, progress))?;
        tally = embedder.tally;
        let start = Instant::now();
        accuracies.push(split.accuracy(model, &embedding.vectors)?);
        train_seconds += start.elapsed().as_secs_f64() / DRAWS as f64;
        if draw == 0 {
            points = split.points(&embedding.vectors, config)?;
        }
    }
    let embed_seconds = tally.embed_seconds / DRAWS as f64;
    let mean = accuracies.iter().sum::<f64>() / DRAWS as f64;
    let variance = accuracies.iter().map(|accuracy| (accuracy - mean).powi(2)).sum::<f64>() / DRAWS as f64;
    let all = std::iter::once(&dataset.graphs).chain(pyramid.levels.iter().map(|level| &level.graphs));
    let outcome = Outcome {
        pool: name,
        accuracy_mean: mean,
        accuracy_std: variance.sqrt(),
        coarsen_seconds: tally.coarsen_seconds,
        prepare_seconds: tally.prepare_seconds,
        embed_seconds,
        train_seconds,
        accuracy_per_second: mean / (tally.prepare_seconds + embed_seconds + train_seconds),
        sweeps_mean: tally.sweeps_mean,
        converged: tally.converged,
        levels: all.enumerate().map(|(level, graphs)| LevelSummary::of(level, graphs)).collect(),
    };
    Ok((outcome, points))
}

/// The same as a page to look at.
fn page<'a>(report: &Report, dataset: &'a Dataset, embeddings: CloudRow) -> page::Demo<'a> {
    let architecture = |outcome: &Outcome| page::Architecture {
        pool: outcome.pool.to_owned(),
        blocks: report.blocks,
        accuracy: outcome.accuracy_mean,
        std: outcome.accuracy_std,
        coarsen_seconds: outcome.coarsen_seconds,
        seconds: outcome.prepare_seconds + outcome.embed_seconds + outcome.train_seconds,
        levels: outcome.levels.clone(),
    };
    page::Demo {
        dataset,
        words: summary(report),
        architectures: report.architectures.iter().map(architecture).collect(),
        embeddings,
    }
}

fn write(report: &Report, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let create = |name: &str, text: String| {
        files::write_whole::<anyhow::Error>(&folder.join(name), |out: &mut BufWriter<&File>| {
            Ok(out.write_all(text.as_bytes())?)
        })
    };
    create("demo.json", serde_json::to_string_pretty(report)? + "\n")?;
    let mut csv = "pool,accuracy_mean,accuracy_std,coarsen_seconds,prepare_seconds,embed_seconds,\
                   train_seconds,accuracy_per_second,vertices_last_level,edges_last_level\n"
        .to_owned();
    for outcome in &report.architectures {
        let last = outcome.levels.last().map_or((0.0, 0.0), |level| (level.avg_vertices, level.avg_edges));
        let numbers = [
            outcome.accuracy_mean,
            outcome.accuracy_std,
            outcome.coarsen_seconds,
            outcome.prepare_seconds,
            outcome.embed_seconds,
            outcome.train_seconds,
            outcome.accuracy_per_second,
            last.0,
            last.1,
        ];
        let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
        csv += &format!("{},{}\n", outcome.pool, numbers.join(","));
    }
    create("demo.csv", csv)
}

fn describe(report: &Report) -> String {
    let most = |value: fn(&Outcome) -> f64| report.architectures.iter().map(value).fold(0.0, f64::max);
    let slowest = most(|outcome| outcome.embed_seconds);
    let best = most(|outcome| outcome.accuracy_per_second);
    let rows = report.architectures.iter().map(|outcome| {
        let kept = |value: fn(&LevelSummary) -> f64| -> String {
            let levels: Vec<String> = outcome.levels.iter().map(|l| format!("{:.0}", value(l))).collect();
            levels.join(" > ")
        };
        vec![
            outcome.pool.to_owned(),
            format!("{:.1} ±{:.1}", 100.0 * outcome.accuracy_mean, 100.0 * outcome.accuracy_std),
            bar(outcome.accuracy_mean),
            format!("{:.2}", outcome.embed_seconds),
            bar(outcome.embed_seconds / slowest),
            format!("{:.2}", outcome.coarsen_seconds),
            bar(outcome.accuracy_per_second / best),
            kept(|level| level.avg_vertices),
            kept(|level| level.avg_edges),
        ]
    });
    let header = ["pooling", "% right", "", "embed s", "", "pool s", "right per second", "vertices", "edges"];
    format!("{}\n\n{}", summary(report), table(&header, rows))
}

fn summary(report: &Report) -> String {
    let Report { dataset, graphs, blocks, units, threads, draws, .. } = report;
    format!(
        "{dataset}: {graphs} graphs, {blocks} blocks of {units} units, {threads} threads, {draws} draws of the weights"
    )
}

/// A bar of up to twelve characters, in eighths of one.
fn bar(share: f64) -> String {
    let eighths = (96.0 * share.clamp(0.0, 1.0)).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}
