mod figures;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use stepwell::config::{ModelConfig, Pool, Preset};
use stepwell_data::cache::PyramidCache;
use stepwell_data::{Dataset, LevelSummary, Summary};
use stepwell_lab::baselines::Baseline;
use stepwell_lab::evaluate::on_one_thread;
use stepwell_lab::experiments::{BLOCKS, SIDES, depth_seconds, grid_seconds};
use stepwell_lab::outcome::FoldOutcome;
use stepwell_lab::paper;
use stepwell_lab::protocol::Protocol;
use stepwell_lab::report;
use stepwell_lab::run::{CellKey, Experiment, Known, Making, Run, Sweeps};
use stepwell_lab::tables::{self, Statistics, mean_and_std};

use crate::BadUsage;
use crate::args::{Caching, Input, Sources};
use crate::model::ModelArgs;
use crate::protocol::{Bench, ProtocolArgs, Subject};
use crate::terminal::Terminal;

/// Run the paper's tables, with the paper's figures beside ours
///
/// Every dataset, pooling and number of blocks goes through the paper's whole
/// protocol, and so do simple baselines. Then the winners' times are taken, one
/// after the other on one thread. The run can be ended at any time, by Ctrl-C or
/// a power cut, and goes on when the same command is given again; 'stepwell runs'
/// shows how far it is. Whenever a cell is done, tables are written to OUT/tables
/// as Markdown, CSV and JSON, with a page on the paper's claims, and all of it to
/// one page to look at, OUT/report.html. The paper's figures come last, to
/// OUT/figures.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell reproduce --out runs/paper
  stepwell reproduce --datasets ENZYMES,PROTEINS --tables 2 --configs 20 --out runs/quick
  stepwell reproduce --out runs/paper --shard 0/3    # one of three processes or machines

One cell of the tables:
  stepwell evaluate ENZYMES --preset paper --pool ndp --blocks 2 --out runs/cell",
    mut_arg("pool", |pool| pool.hide(true)),
    mut_arg("blocks", |blocks| blocks.hide(true)))]
pub struct Reproduce {
    /// The run's folder
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,

    /// Datasets [all of the paper's that can be found]
    #[arg(long, value_delimiter = ',')]
    datasets: Vec<String>,

    /// Tables: 1 (datasets), 2 (two blocks), 3 (three blocks), 4 (pooled graphs)
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3, 4], value_parser = clap::value_parser!(u8).range(1..=4))]
    tables: Vec<u8>,

    /// Do only part I of N of the passes; whoever finds all of them done judges the winners
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(usize, usize)>,

    /// Take no times: another run will, when nothing else keeps the machine busy
    #[arg(long)]
    no_times: bool,

    #[command(flatten)]
    sources: Sources,

    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    model: ModelArgs,
}

const POOLS: [Pool; 4] = [Pool::None, Pool::Graclus, Pool::Nmf, Pool::Ndp];
/// Poolings of Table 4.
const LEVELS: usize = 2;

impl Reproduce {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let model = self.model.config().context(BadUsage)?;
        if self.model.chooses_architecture() {
            let refusal = "--pool, --blocks: all architectures of the paper are run; for one of them: \
                           stepwell evaluate NAME --pool ndp --blocks 2 --out FOLDER";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        if self.model.is(Preset::Accurate) {
            let refusal = "--preset accurate: the paper's model is run, whose settings are searched; \
                           for this one: stepwell evaluate NAME --preset accurate --out FOLDER";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let protocols = self.protocol.protocols(&self.model, model.seed).context(BadUsage)?;
        let work = Work {
            command: self,
            model,
            protocols,
            run: Run { folder: Some(self.out.clone()), shard: self.shard.unwrap_or((0, 1)) },
            cache: self.caching.pyramids(&self.sources),
            terminal,
        };
        let names = match self.datasets.is_empty() {
            true => paper::datasets().map(String::from).collect(),
            false => self.datasets.clone(),
        };
        let mut found = Vec::new();
        for name in names {
            let Some(dataset) = work.load(&name)? else { continue };
            work.statistics(&dataset)?;
            work.cells(&dataset)?;
            found.push(name);
        }
        // Times come last and together, so that they are taken under the same circumstances.
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
        terminal.note(&format!("tables are in {}, all of it in {}", tables.display(), page.display()));
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
    /// A dataset; nothing where it was not asked for by name and cannot be had.
    fn load(&self, name: &str) -> Result<Option<Dataset>> {
        let Sources { data_dir, offline } = &self.command.sources;
        let sources = Sources { data_dir: data_dir.clone(), offline: *offline };
        match self.terminal.load(&Input { dataset: name.to_owned(), data_seed: 0, sources }) {
            Err(error) if self.command.datasets.is_empty() => {
                self.terminal.note(&format!("note: {name} is left out: {error:#}"));
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
        tables::write(out, &known)?;
        let page = report::reproduction(&known, &crate::report::facts(), &crate::report::drawn(out));
        crate::report::write(&out.join("report.html"), &page)
    }

    /// Sizes of the graphs, for Tables 1 and 4.
    fn statistics(&self, dataset: &Dataset) -> Result<()> {
        let wanted = |table: u8| self.command.tables.contains(&table);
        if !wanted(1) && !wanted(4) || self.command.shard.is_some_and(|(this, _)| this > 0) {
            return Ok(());
        }
        let known = self.known()?.statistics;
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
            self.run.write_statistics(Statistics { pool: name.into(), summary })?;
        }
        self.write_tables()
    }

    fn bench<'b>(&'b self, dataset: &'b Dataset) -> Bench<'b> {
        Bench {
            dataset,
            protocols: &self.protocols,
            splits: None,
            cache: self.cache.as_ref(),
            run: &self.run,
            terminal: self.terminal,
        }
    }

    /// What is put through the protocol: four architectures for each table, and the baselines.
    fn subjects(&self) -> Vec<Subject> {
        let blocks = self.command.tables.iter().filter(|table| matches!(table, 2 | 3));
        let models = blocks.flat_map(|&blocks| {
            POOLS.map(|pool| ModelConfig { pool, blocks: usize::from(blocks), ..self.model.clone() })
        });
        let mut subjects: Vec<Subject> = models.map(|model| Subject::Model(Box::new(model))).collect();
        if !subjects.is_empty() {
            subjects.extend(Baseline::ALL.map(Subject::Baseline));
        }
        subjects
    }

    fn cells(&self, dataset: &Dataset) -> Result<()> {
        let bench = self.bench(dataset);
        let subjects = self.subjects();
        let all = subjects.len() * self.protocols.len();
        let mut place = 0;
        for subject in &subjects {
            let mut pyramid = bench.pyramid(subject, self.cache.as_ref())?;
            for (seed, protocol) in self.protocols.iter().enumerate() {
                place += 1;
                let pyramid = bench.for_seed(seed, &mut pyramid);
                let evaluation = bench.evaluation(subject, pyramid, protocol)?;
                match bench.search(&evaluation, &format!("[{place}/{all}] "))? {
                    Some(found) => {
                        self.terminal.note(&line(evaluation.key(), &found.outcomes));
                        self.write_tables()?;
                    }
                    None => {
                        let words = "passes of other parts are missing: to be judged later";
                        self.terminal.note(&format!("{}: {words}", evaluation.key()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Times of all cells that have none yet.
    fn times(&self, dataset: &Dataset) -> Result<()> {
        let bench = self.bench(dataset);
        // One seed is enough for the clock.
        let Some(protocol) = self.protocols.first() else { return Ok(()) };
        let known = self.known()?.cells;
        for subject in self.subjects() {
            let key = subject.key(dataset, protocol);
            let sweeps: &[Sweeps] =
                if key.has_reservoirs() { &[Sweeps::Own, Sweeps::Plain] } else { &[Sweeps::Own] };
            let Some(state) = known.get(&key).filter(|state| state.is_done()) else { continue };
            let timed = |&sweeps: &Sweeps| state.times.range((sweeps, 0)..=(sweeps, usize::MAX)).count();
            if state.making.is_some() && sweeps.iter().all(|sweeps| timed(sweeps) == state.folds.len()) {
                continue;
            }
            let units: Vec<_> = state.units.values().cloned().collect();
            self.terminal.busy(&format!("taking times of {key}"), || -> Result<()> {
                // Before there is another pyramid: large ones take gigabytes.
                let missing = state.making.is_none();
                let making = missing.then(|| self.making(&bench, &subject, protocol)).transpose()?;
                let pyramid = || bench.pyramid(&subject, self.cache.as_ref());
                let evaluation = bench.evaluation(&subject, pyramid()?, protocol)?;
                making.map_or(Ok(()), |making| evaluation.made(&self.run, making))?;
                evaluation.time(&self.run, &units)?;
                if key.has_reservoirs() {
                    evaluation.plain(dataset, pyramid)?.time(&self.run, &units)?;
                }
                Ok(())
            })?;
        }
        self.write_tables()
    }

    /// Pools and prepares anew, on one thread.
    fn making(&self, bench: &Bench<'_>, subject: &Subject, protocol: &Protocol) -> Result<Making> {
        on_one_thread(|| {
            let clock = Instant::now();
            let pyramid = bench.pyramid(subject, None)?;
            let coarsen_seconds = clock.elapsed().as_secs_f64();
            let clock = Instant::now();
            bench.evaluation(subject, pyramid, protocol)?;
            Ok(Making { coarsen_seconds, prepare_seconds: clock.elapsed().as_secs_f64() })
        })
    }

    /// Times that show how the cost grows.
    fn experiments(&self) -> Result<()> {
        let known = self.known()?.measured;
        let missing = |experiment, at| !known.contains_key(&(experiment, at));
        for side in SIDES.into_iter().filter(|side| missing(Experiment::Vertices, side * side)) {
            let seconds =
                self.terminal.busy(&format!("a grid of {side} by {side}"), || grid_seconds(side))?;
            self.run.write_measured(Experiment::Vertices, side * side, seconds)?;
        }
        if BLOCKS.iter().any(|&blocks| missing(Experiment::Blocks, blocks))
            && let Some(dataset) = self.load("b-hard")?
        {
            for blocks in BLOCKS.into_iter().filter(|&blocks| missing(Experiment::Blocks, blocks)) {
                let words = format!("{blocks} blocks on {}", dataset.name);
                let seconds = self.terminal.busy(&words, || depth_seconds(&dataset, blocks))?;
                self.run.write_measured(Experiment::Blocks, blocks, seconds)?;
            }
        }
        Ok(())
    }
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let wrong = || "expected I/N with I below N, as 0/3".to_owned();
    let (this, of) = text.split_once('/').ok_or_else(wrong)?;
    let (this, of): (usize, usize) = (this.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    if this < of { Ok((this, of)) } else { Err(wrong()) }
}

fn line(key: &CellKey, outcomes: &[FoldOutcome]) -> String {
    let accuracies: Vec<f64> =
        outcomes.iter().filter_map(|outcome| outcome.quality.accuracy.map(|share| 100.0 * share)).collect();
    let (mean, std) = mean_and_std(&accuracies);
    let printed = paper::result(&key.dataset, &key.pool, key.blocks).filter(|_| key.has_reservoirs());
    let printed = printed.and_then(|row| row.accuracy.zip(row.std));
    let beside = printed.map_or(String::new(), |(mean, std)| format!(", paper {mean} ± {std}"));
    format!("{key}: {mean:.1} ± {std:.1}{beside}")
}
