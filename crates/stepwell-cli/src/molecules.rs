//! Tables of molecules as SMILES. The Python package turns them into graphs with RDKit.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Result, anyhow, ensure};
use clap::{Args, ValueEnum};
use stepwell::model::Model;
use stepwell_data::{Dataset, ReadOptions};

use crate::BadUsage;
use crate::args::Input;

/// A CSV file of molecules, and how to read it.
#[derive(Debug)]
pub struct MoleculeTable {
    /// The path.
    pub path: PathBuf,
    /// The column of SMILES.
    pub smiles: String,
    /// The target columns.
    pub targets: Vec<String>,
    /// "scaffold", or the column of groups.
    pub groups: Option<String>,
    /// "scaffold", or the column of parts.
    pub split: Option<String>,
    /// The column of ids.
    pub ids: Option<String>,
    /// The name of the feature set of atoms and bonds.
    pub features: String,
    /// The treatment of SMILES that cannot be parsed: raise, skip or keep.
    pub errors: String,
    /// The only row to convert, from 0; `None` for all rows.
    pub only: Option<usize>,
    /// The number of processes for parsing.
    pub processes: usize,
    /// Whether to report progress.
    pub verbose: bool,
}

/// The functions that need RDKit.
pub trait Chemistry: Send + Sync {
    /// Reads such a table as graphs, or returns the reason why it cannot.
    fn read(&self, table: &MoleculeTable) -> Result<Dataset, String>;

    /// The positions at which chemists would draw the atoms of molecules, if RDKit can compute
    /// them.
    fn places(&self, molecules: &Dataset) -> Option<Vec<[f64; 2]>>;
}

/// A program without RDKit.
pub(crate) struct NoChemistry;

impl Chemistry for NoChemistry {
    fn read(&self, _: &MoleculeTable) -> Result<Dataset, String> {
        Err("--smiles needs RDKit, which this program does not include; use the command installed by \
             'pip install stepwell[molecules]'"
            .to_owned())
    }

    fn places(&self, _: &Dataset) -> Option<Vec<[f64; 2]>> {
        None
    }
}

/// How a table of molecules is read.
#[derive(Args, Debug, Default)]
pub struct MoleculeArgs {
    /// Column of SMILES; DATASET is then a .csv or .tsv table of molecules, gzipped or not
    #[arg(long, value_name = "COLUMN", help_heading = "Molecules")]
    smiles: Option<String>,

    /// Feature set of atoms and bonds. If omitted: the set the model was trained on, or the set
    /// 'default' if there is no model or it was not trained on SMILES
    #[arg(long, value_name = "SET", help_heading = "Molecules", requires = "smiles")]
    smiles_features: Option<FeatureSet>,

    /// What to do with SMILES that RDKit rejects: raise (fail and list them), skip, or keep (with
    /// the atoms and bonds that can be parsed)
    #[arg(
        long,
        value_name = "WAY",
        help_heading = "Molecules",
        requires = "smiles",
        default_value = "raise"
    )]
    smiles_errors: Errors,

    /// Split by scaffold (80 : 10 : 10 for training, validation and test), or by a column that holds
    /// train, validation or test
    #[arg(long, value_name = "scaffold|COLUMN", help_heading = "Molecules", requires = "smiles")]
    smiles_split: Option<String>,

    /// Column with the ids of the molecules (default: the number of the row, from 0)
    #[arg(long, value_name = "COLUMN", help_heading = "Molecules", requires = "smiles")]
    smiles_id: Option<String>,

    /// The feature set of the model that reads the molecules.
    #[arg(skip)]
    of_model: OnceLock<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FeatureSet {
    Default,
    Ogb,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Errors {
    #[default]
    Raise,
    Skip,
    Keep,
}

fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

impl MoleculeArgs {
    /// Whether the dataset is a table of molecules.
    pub fn are_given(&self) -> bool {
        self.smiles.is_some()
    }

    /// Whether the molecules have ids.
    pub fn have_ids(&self) -> bool {
        self.smiles_id.is_some()
    }

    /// Whether a split of the molecules was requested.
    pub fn splits(&self) -> bool {
        self.smiles_split.is_some()
    }

    /// The feature set for reading molecules; `None` if the dataset has no molecules.
    pub fn feature_set(&self) -> Option<String> {
        self.smiles.as_ref()?;
        let chosen = self.smiles_features.map(name).or_else(|| self.of_model.get().cloned());
        Some(chosen.unwrap_or_else(|| name(FeatureSet::Default)))
    }

    /// Uses the feature set of a model, and refuses a different one.
    pub fn fit(&self, model: &Model) -> Result<()> {
        let Some(expected) = &model.molecules else { return Ok(()) };
        if let Some(found) = self.smiles_features.map(name).filter(|found| found != expected) {
            let refusal = format!(
                "--smiles-features {found}: the model was trained on '{expected}'; remove the option"
            );
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let _ = self.of_model.set(expected.clone());
        Ok(())
    }

    /// The table to read, for the file given to a command.
    pub fn table(&self, input: &Input, options: &ReadOptions, quiet: bool) -> Result<Option<MoleculeTable>> {
        let (Some(smiles), Some(features)) = (self.smiles.clone(), self.feature_set()) else {
            return Ok(None);
        };
        let path = Path::new(&input.dataset);
        ensure!(path.is_file(), "{}: no such file", path.display());
        Ok(Some(MoleculeTable {
            path: path.to_owned(),
            smiles,
            targets: options.targets.clone(),
            groups: options.groups.clone(),
            split: self.smiles_split.clone(),
            ids: self.smiles_id.clone(),
            features,
            errors: name(self.smiles_errors),
            only: None,
            processes: rayon::current_num_threads(),
            verbose: !quiet && io::stderr().is_terminal(),
        }))
    }
}
