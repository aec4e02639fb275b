//! The arguments that all commands share. Each command's own arguments are in its file.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};
use stepwell::model::Model;
use stepwell::reservoir::Device;
use stepwell_cuda::Choice;
use stepwell_data::cache::PyramidCache;
use stepwell_data::catalog::{Catalog, Location};
use stepwell_data::memory::Budget;
use stepwell_data::{Part, ReadOptions, Untargeted};

use crate::BadUsage;
use crate::commands::Command;
use crate::molecules::MoleculeArgs;
use crate::terminal::Terminal;

/// Graphs in, vectors out: pyramidal reservoir graph neural networks.
#[derive(Debug, Parser)]
#[command(
    name = "stepwell",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Examples:
  stepwell demo                         see it work
  stepwell stats MUTAG                  describe a dataset
  stepwell embed MUTAG -o mutag.npy     a vector for every graph
  stepwell convert MUTAG mutag.parquet  the same graphs in another format

'stepwell COMMAND --help' explains a command. In all help texts, 'the paper' is
Bianchi, Gallicchio and Micheli, \"Pyramidal Reservoir Graph Neural Network\",
Neurocomputing 470 (2022), https://doi.org/10.1016/j.neucom.2021.04.131."
)]
pub struct Arguments {
    /// Print only errors (serve: also warnings), no progress or notes
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// Use this many threads (default: one per core); results do not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Use at most this much memory, such as 4G or 512M; a step that needs more fails before it
    /// allocates (default: STEPWELL_MEMORY, or four fifths of the free memory)
    #[arg(long, global = true, value_name = "SIZE")]
    pub memory: Option<Budget>,

    #[command(subcommand)]
    pub command: Command,
}

/// Where datasets come from.
#[derive(Args, Debug)]
pub struct Sources {
    /// Look for datasets in this folder before STEPWELL_DATA and the cache
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,

    /// Never download
    #[arg(long)]
    pub offline: bool,
}

impl Sources {
    pub fn catalog(&self) -> Catalog {
        Catalog { online: !self.offline, ..Catalog::from_environment(self.data_dir.clone()) }
    }
}

/// What every command that reads a dataset takes.
#[derive(Args, Debug)]
pub struct Input {
    /// A path (.zip, a folder, .npz, .jsonl, .parquet, or with --smiles .csv or .tsv), '-' for JSON
    /// lines on standard input, or a name (see 'stepwell datasets')
    #[arg(value_name = "DATASET")]
    pub dataset: OsString,

    /// Seed of generated datasets
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub data_seed: u64,

    /// Columns of a .jsonl, .parquet, .csv or .tsv file to use as targets instead of y. A single
    /// column holds classes (integers or strings) or numbers. If several are named (a,b,c), each
    /// must be numeric (0/1 for no/yes). null, or an empty cell of a table, means that the value is
    /// unknown
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub target: Vec<String>,

    #[command(flatten)]
    pub sources: Sources,

    #[command(flatten)]
    pub molecules: MoleculeArgs,
}

impl Input {
    /// The options for reading rows, with this treatment of rows without a target.
    pub fn reading(&self, untargeted: Untargeted) -> ReadOptions {
        ReadOptions { targets: self.target.clone(), untargeted, ..ReadOptions::default() }
    }

    /// The dataset argument, for display.
    pub fn name(&self) -> Cow<'_, str> {
        self.dataset.to_string_lossy()
    }

    /// Refuses to write where the dataset is read from.
    pub fn is_not(&self, out: &Path) -> Result<()> {
        let found = match self.sources.catalog().locate(&self.dataset) {
            Ok(Location::Path(path)) => fs::canonicalize(path).ok(),
            _ => None,
        };
        let same = found.is_some() && found == fs::canonicalize(out).ok();
        if same {
            let refusal = format!("{}: this file is the dataset; write to another file", out.display());
            return Err(anyhow!(refusal).context(BadUsage));
        }
        Ok(())
    }
}

/// Where vectors are computed.
#[derive(Args, Debug)]
pub struct DeviceArg {
    /// Compute vectors on the CPU, on an NVIDIA GPU (cuda), or on a GPU if there is one (auto)
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = devices())]
    device: Choice,
}

fn devices() -> impl TypedValueParser<Value = Choice> {
    PossibleValuesParser::new(["cpu", "cuda", "auto"]).try_map(|name| name.parse::<Choice>())
}

impl DeviceArg {
    /// Opens the device, and prints a note if 'auto' finds no GPU. Compiled kernels are kept in the
    /// cache.
    pub fn open(&self, sources: &Sources, terminal: &Terminal) -> Result<Device> {
        let (device, note) = stepwell_cuda::device(self.device, sources.catalog().cache)?;
        note.into_iter().for_each(|note| terminal.note(&format!("note: {note}")));
        Ok(device)
    }
}

/// The model on a device; prints a note if it is computed on the CPU nevertheless.
pub fn on_device(model: Model, device: Device, terminal: &Terminal) -> Model {
    if let Some(why) = model.refused_by(&device) {
        terminal.note(&format!("note: computing on the CPU: {why}"));
    }
    model.on(device)
}

/// A part of a dataset with a fixed split.
#[derive(Args, Debug)]
pub struct PartArg {
    /// Use only this part of the dataset's split: train, validation or test
    #[arg(long, value_name = "PART", value_parser = part)]
    part: Option<Part>,
}

impl PartArg {
    pub fn get(&self) -> Option<Part> {
        self.part
    }
}

fn part(name: &str) -> std::result::Result<Part, String> {
    Part::from_name(name).ok_or_else(|| "expected train, validation or test".to_owned())
}

/// What every command that pools graphs takes.
#[derive(Args, Debug)]
pub struct Caching {
    /// Neither read nor write the cache of pooled graphs
    #[arg(long)]
    pub no_cache: bool,
}

impl Caching {
    /// The cache of pyramids: the same folder as for downloads.
    pub fn pyramids(&self, sources: &Sources) -> Option<PyramidCache> {
        let folder = sources.catalog().cache.filter(|_| !self.no_cache)?;
        Some(PyramidCache::new(folder.join("pyramids")))
    }
}
