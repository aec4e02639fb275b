mod figures;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use stepwell::config::{Metric, ModelConfig, Pool, Preset};
use stepwell::reservoir::Device;
use stepwell_data::cache::PyramidCache;
use stepwell_data::{Dataset, LevelSummary, Summary, Untargeted};
use stepwell_lab::baselines::Baseline;
use stepwell_lab::evaluate::on_one_thread;
use stepwell_lab::metrics::mean_and_std;
use stepwell_lab::paper::growth::{BLOCKS, SIDES, depth_seconds, grid_seconds};
use stepwell_lab::paper::{self, Experiment, PaperRecord, Statistics};
use stepwell_lab::protocol::Protocol;
use stepwell_lab::run::{CellKey, FoldResult, Known, Making, Run, Sweeps};
use stepwell_lab::subject::Subject;

use crate::BadUsage;
use crate::args::{Input, Sources};
use crate::molecules::MoleculeArgs;
use crate::protocol::{EvaluationArgs, Evaluator};
use crate::terminal::Terminal;

/// Reproduce the paper's tables and show the paper's own numbers next to them
///
/// Evaluates every dataset, pooling and number of blocks with the paper's protocol, and simple
/// baselines too. Then measures the run time of the configurations chosen in the folds, one after
/// the other on one thread. The same command resumes an interrupted run; 'stepwell runs' shows
/// the progress. After every cell (one dataset with one pooling and number of blocks, or with one
/// baseline), writes tables to OUT/tables (Markdown, CSV, JSON) and all of them to
/// OUT/report.html. Draws the paper's charts last, in OUT/figures.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell reproduce --out runs/paper
  stepwell reproduce --datasets ENZYMES,PROTEINS --tables 2 --configs 20 --out runs/quick
  stepwell reproduce --out runs/paper --shard 0/3    # one of three processes or machines

One cell of the tables:
  stepwell evaluate ENZYMES --preset paper --pool ndp --configs 100 --folds 5 --out runs/cell",
    mut_arg("configs", |configs| configs.help("Configurations drawn at random [100]")),
    mut_arg("pool", |pool| pool.hide(true)),
    mut_arg("blocks", |blocks| blocks.hide(true)))]
pub struct Reproduce {
    /// The run's folder
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,

    /// Datasets to evaluate [all datasets of the paper that can be found]
    #[arg(long, value_delimiter = ',')]
    datasets: Vec<String>,

    /// Tables: 1 (datasets), 2 (two blocks), 3 (three blocks), 4 (pooled graphs)
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3, 4], value_parser = clap::value_parser!(u8).range(1..=4))]
    tables: Vec<u8>,

    /// Divide the passes into N parts, and run only part number I, from 0 to N-1 (a pass is one
    /// configuration with one draw of the weights). The processes share OUT; the one that finishes last scores the
    /// chosen configurations on test graphs. No process measures times or draws charts; a later run
    /// without --shard does both
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(usize, usize)>,

    /// Measure no times; a later run without this option measures them
    #[arg(long)]
    no_times: bool,

    #[command(flatten)]
    sources: Sources,

    #[command(flatten)]
    evaluated: EvaluationArgs,
}

const POOLS: [Pool; 4] = [Pool::None, Pool::Graclus, Pool::Nmf, Pool::Ndp];
/// The number of poolings in Table 4.
const LEVELS: usize = 2;

impl Reproduce {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        if self.evaluated.model.chooses_architecture() {
            let refusal = "--pool, --blocks: 'reproduce' runs all architectures of the paper; for one of them: \
                           stepwell evaluate NAME --preset paper --configs 100 --folds 5 --pool ndp --blocks 2";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        if self.evaluated.model.is(Preset::Accurate) {
            let refusal = "--preset accurate: 'reproduce' runs the paper's model; \
                           for the preset accurate: stepwell evaluate NAME --out FOLDER";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let usual = (Preset::Paper, Protocol::default().configurations);
        let (model, protocols) = self.evaluated.plan(usual).context(BadUsage)?;
        if !protocols.iter().all(Protocol::searches) {
            return Err(anyhow!("--configs: expected at least 1, found 0").context(BadUsage));
        }
        let work = Work {
            command: self,
            model,
            protocols,
            run: Run {
                folder: Some(self.out.clone()),
                shard: self.shard.unwrap_or((0, 1)),
                ..Run::default()
            },
            cache: self.evaluated.caching.pyramids(&self.sources),
            terminal,
        };
        let names = if self.datasets.is_empty() {
            paper::datasets().map(String::from).collect()
        } else {
            self.datasets.clone()
        };
        let mut found = Vec::new();
        for name in names {
            let Some(dataset) = work.load(&name)? else { continue };
            work.statistics(&dataset)?;
            work.cells(&dataset)?;
            found.push(name);
        }
        // Times come last and together, so that they are measured under the same conditions.
        if !self.no_times && self.shard.is_none() {
            for name in &found {
                if let Some(dataset) = work.load(name)? {
                    work.times(&dataset)?;
                }
            }
            if self.datasets.is_empty() {
                work.experiments()?;
            }
        }
        if self.shard.is_none() {
            work.figures(&found)?;
        }
        work.write_tables()?;
        let (tables, page) = (self.out.join("tables"), self.out.join("report.html"));
        terminal.note(&format!("wrote {} and {}", tables.display(), page.display()));
        Ok(())
    }
}

struct Work<'a> {
    command: &'a Reproduce,
    model: ModelConfig,
    protocols: Vec<Protocol>,
    run: Run,
    cache: Option<PyramidCache>,
    terminal: &'a Terminal,
}

impl Work<'_> {
    /// Loads a dataset; `None` if it was not requested by name and is unavailable.
    fn load(&self, name: &str) -> Result<Option<Dataset>> {
        let Sources { data_dir, offline } = &self.command.sources;
        let sources = Sources { data_dir: data_dir.clone(), offline: *offline };
        let (dataset, molecules) = (name.to_owned(), MoleculeArgs::default());
        let input = Input { dataset: dataset.into(), data_seed: 0, target: Vec::new(), sources, molecules };
        match self.terminal.load(&input, Untargeted::Refuse) {
            Err(error) if self.command.datasets.is_empty() => {
                self.terminal.note(&format!("note: skipping {name}: {error:#}"));
                Ok(None)
            }
            loaded => loaded.map(Some),
        }
    }

    fn known(&self) -> Result<Known> {
        Ok(Run::read(&self.command.out)?)
    }

    /// Writes the tables, and the page with all of them.
    fn write_tables(&self) -> Result<()> {
        let (out, known) = (&self.command.out, self.known()?);
        paper::write(out, &known)?;
        let page = paper::reproduction(&known, &crate::report::provenance(), &crate::report::drawn(out));
        crate::report::write(&out.join("report.html"), &page)
    }

    /// Records the sizes of the graphs, for Tables 1 and 4.
    fn statistics(&self, dataset: &Dataset) -> Result<()> {
        let wanted = |table: u8| self.command.tables.contains(&table);
        if !wanted(1) && !wanted(4) || self.command.shard.is_some_and(|(this, _)| this > 0) {
            return Ok(());
        }
        let known = self.known()?.paper.statistics;
        for pool in POOLS.into_iter().filter(|pool| *pool == Pool::None || wanted(4)) {
            let config = ModelConfig { pool, ..self.model.clone() };
            let pooling = config.pooling();
            let name = pool.name();
            if known.iter().any(|row| row.summary.dataset == dataset.name && row.pool == name) {
                continue;
            }
            let mut summary = Summary::of(dataset);
            if let Some(pooling) = pooling {
                let cache = self.cache.as_ref();
                let pyramid = self.terminal.coarsen(cache, &dataset.graphs, &pooling, LEVELS)?;
                let levels = pyramid.levels.iter().enumerate();
                summary
                    .levels
                    .extend(levels.map(|(level, coarse)| LevelSummary::of(level + 1, &coarse.graphs)));
            }
            let statistics = Statistics { pool: name.into(), summary };
            self.run.write_measurement(PaperRecord::Statistics(statistics))?;
        }
        self.write_tables()
    }

    fn evaluator<'b>(&'b self, dataset: &'b Dataset) -> Evaluator<'b> {
        Evaluator {
            dataset,
            protocols: &self.protocols,
            splits: None,
            cache: self.cache.as_ref(),
            run: &self.run,
            terminal: self.terminal,
            // The records name the processor they were measured on.
            device: Device::processor(),
        }
    }

    /// The subjects: four architectures for each table, and the baselines.
    fn subjects(&self) -> Vec<Subject> {
        let blocks = self.command.tables.iter().filter(|table| matches!(table, 2 | 3));
        let models = blocks.flat_map(|&blocks| {
            POOLS.map(|pool| ModelConfig { pool, blocks: usize::from(blocks), ..self.model.clone() })
        });
        let mut subjects: Vec<Subject> =
            models.map(|model| Subject::Model("reservoir".into(), Box::new(model))).collect();
        if !subjects.is_empty() {
            subjects.extend(Baseline::ALL.map(Subject::Baseline));
        }
        subjects
    }

    fn cells(&self, dataset: &Dataset) -> Result<()> {
        let evaluator = self.evaluator(dataset);
        let subjects = self.subjects();
        let all = subjects.len() * self.protocols.len();
        for (place, subject) in subjects.iter().enumerate() {
            let mut kept = None;
            for (index, protocol) in self.protocols.iter().enumerate() {
                let mut evaluation = evaluator.evaluation(subject, protocol)?;
                let state = evaluation.state(&self.run)?;
                if state.is_done() {
                    self.terminal.note(&line(evaluation.key(), state.folds.values()));
                    continue;
                }
                evaluation.prepare(evaluator.lend(subject, index, &mut kept)?)?;
                let place = format!("[{}/{all}] ", place * self.protocols.len() + index + 1);
                match evaluator.judge(&evaluation, &place, false)? {
                    Some(found) => {
                        let folds = found.folds.iter().map(|(fold, _)| fold);
                        self.terminal.note(&line(evaluation.key(), folds));
                        self.write_tables()?;
                    }
                    None => {
                        let words = "waiting for passes of other shards";
                        self.terminal.note(&format!("{}: {words}", evaluation.key()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Measures the times of all cells that have none yet.
    fn times(&self, dataset: &Dataset) -> Result<()> {
        let evaluator = self.evaluator(dataset);
        // One seed is enough for times.
        let Some(protocol) = self.protocols.first() else { return Ok(()) };
        let known = self.known()?.cells;
        for subject in self.subjects() {
            let key = CellKey::new(&dataset.name, &subject, protocol.seed);
            let sweeps: &[Sweeps] =
                if key.is_papers() { &[Sweeps::Own, Sweeps::Plain] } else { &[Sweeps::Own] };
            let Some(state) = known.get(&key).filter(|state| state.is_done()) else { continue };
            let timed = |&sweeps: &Sweeps| state.times.range((sweeps, 0)..=(sweeps, usize::MAX)).count();
            if state.making.is_some() && sweeps.iter().all(|sweeps| timed(sweeps) == state.folds.len()) {
                continue;
            }
            let units: Vec<_> = state.units.values().cloned().collect();
            self.terminal.busy(&format!("timing {key}"), || -> Result<()> {
                // Before another pyramid exists: large ones take gigabytes.
                let missing = state.making.is_none();
                let making = missing.then(|| self.making(&evaluator, &subject, protocol)).transpose()?;
                let pyramid = || evaluator.pyramid(&subject, self.cache.as_ref());
                let mut evaluation = evaluator.evaluation(&subject, protocol)?;
                evaluation.prepare(pyramid()?)?;
                making.map_or(Ok(()), |making| evaluation.made(&self.run, making))?;
                evaluation.time(&self.run, &units)?;
                if let Some(plain) = subject.with_plain_sweeps() {
                    evaluation.with_plain_sweeps(&plain, pyramid)?.time(&self.run, &units)?;
                }
                Ok(())
            })?;
        }
        self.write_tables()
    }

    /// Pools and prepares again, on one thread.
    fn making(&self, evaluator: &Evaluator<'_>, subject: &Subject, protocol: &Protocol) -> Result<Making> {
        on_one_thread(|| {
            let clock = Instant::now();
            let pyramid = evaluator.pyramid(subject, None)?;
            let coarsen_seconds = clock.elapsed().as_secs_f64();
            let clock = Instant::now();
            evaluator.evaluation(subject, protocol)?.prepare(pyramid)?;
            Ok(Making { coarsen_seconds, prepare_seconds: clock.elapsed().as_secs_f64() })
        })
    }

    fn measured(&self, experiment: Experiment, at: usize, seconds: f64) -> Result<()> {
        Ok(self.run.write_measurement(PaperRecord::Measured { experiment, at, seconds })?)
    }

    /// Measures how the cost grows.
    fn experiments(&self) -> Result<()> {
        let known = self.known()?.paper.measured;
        let missing = |experiment, at| !known.contains_key(&(experiment, at));
        for side in SIDES.into_iter().filter(|side| missing(Experiment::Vertices, side * side)) {
            let seconds =
                self.terminal.busy(&format!("a grid of {side} by {side}"), || grid_seconds(side))?;
            self.measured(Experiment::Vertices, side * side, seconds)?;
        }
        if BLOCKS.iter().any(|&blocks| missing(Experiment::Blocks, blocks))
            && let Some(dataset) = self.load("b-hard")?
        {
            for blocks in BLOCKS.into_iter().filter(|&blocks| missing(Experiment::Blocks, blocks)) {
                let words = format!("{blocks} blocks on {}", dataset.name);
                let seconds = self.terminal.busy(&words, || depth_seconds(&dataset, blocks))?;
                self.measured(Experiment::Blocks, blocks, seconds)?;
            }
        }
        Ok(())
    }
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let wrong = || "expected I/N with I below N, such as 0/3".to_owned();
    let (this, of) = text.split_once('/').ok_or_else(wrong)?;
    let (this, of): (usize, usize) = (this.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    if this < of { Ok((this, of)) } else { Err(wrong()) }
}

fn line<'f>(key: &CellKey, folds: impl Iterator<Item = &'f FoldResult>) -> String {
    let accuracies: Vec<f64> =
        folds.filter_map(|fold| fold.quality.get(Metric::Accuracy).map(|share| 100.0 * share)).collect();
    let (mean, std) = mean_and_std(&accuracies);
    let printed = paper::result(&key.dataset, &key.pool, key.blocks).filter(|_| key.is_papers());
    let printed = printed.and_then(|row| row.accuracy.zip(row.std));
    let beside = printed.map_or(String::new(), |(mean, std)| format!(", paper {mean} ± {std}"));
    format!("{key}: {mean:.1} ± {std:.1}{beside}")
}
