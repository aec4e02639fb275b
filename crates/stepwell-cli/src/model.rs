//! The model's options on the command line: a preset, then a file, then flags.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::Args;
use serde::de::DeserializeOwned;
use stepwell::Unreadable;
use stepwell::config::{
    Aggregate, InputPattern, ModelConfig, PerBlock, Precision, Preset, Recurrence, Scaling, Solver,
};
use stepwell::features::StructuralFeature;
use stepwell::model::{Saved, TrainedModel};
use stepwell::readout::{Alpha, ClassWeight};
use stepwell_data::{Error, models};
use stepwell_lab::protocol::Searched;

use crate::pooling::PoolFlags;

#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Start from a named set of options: paper, accurate (reads more of more reservoirs),
    /// reference (as the paper's public code) [paper]; in brackets below is what paper has, and what
    /// accurate has where that differs
    #[arg(long, value_parser = named::<Preset>)]
    preset: Option<Preset>,

    /// Then take options from a TOML file: keys as the flags, with underscores
    /// (units = 100, spectral_radius = [0.5, 0.9], lift = false, aggregate = ["sum", "max"])
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Reservoirs on top of each other [2; accurate: 3]
    #[arg(long)]
    blocks: Option<usize>,

    /// Units of a reservoir: one number, or one per block (50,30) [50; accurate: 100]
    #[arg(long, value_parser = per_block::<usize>)]
    units: Option<PerBlock<usize>>,

    /// Size of W: one number, or one per block [0.9]
    #[arg(long, value_parser = per_block::<f64>)]
    spectral_radius: Option<PerBlock<f64>>,

    /// What --spectral-radius measures: radius, norm [radius]
    #[arg(long, value_parser = named::<Scaling>)]
    scaling: Option<Scaling>,

    /// Scale of the first block's V [0.5; accurate: 1]
    #[arg(long)]
    input_scaling: Option<f64>,

    /// Scale of the other blocks' V: one number, or one per block [0.8]
    #[arg(long, value_parser = per_block::<f64>)]
    hidden_scaling: Option<PerBlock<f64>>,

    /// Pattern of W: dense, sparse, ring, orthogonal, diagonal [dense]
    #[arg(long, value_parser = named::<Recurrence>)]
    recurrence: Option<Recurrence>,

    /// Pattern of V: uniform, signs, sparse, one-per-unit [uniform]
    #[arg(long, value_parser = named::<InputPattern>)]
    input_pattern: Option<InputPattern>,

    /// Share of entries that are not zero in sparse W and V [0.1]
    #[arg(long)]
    density: Option<f64>,

    /// Let all blocks but the first share one W and one V
    #[arg(long)]
    tied: bool,

    /// Reservoirs side by side in every block, their states added up (ARMA) [1]
    #[arg(long)]
    reservoirs: Option<usize>,

    /// Models side by side, their vectors joined [1; accurate: 3]
    #[arg(long)]
    stacks: Option<usize>,

    /// Seed of the weights [0]
    #[arg(long)]
    seed: Option<u64>,

    /// Spread states by the adjacency itself, not the normalised one
    #[arg(long)]
    no_normalize: bool,

    /// Compute every vertex, also those that must have equal states
    #[arg(long)]
    no_lift: bool,

    /// Numbers the states are computed in: f32, f64 [f32]
    #[arg(long, value_parser = named::<Precision>)]
    precision: Option<Precision>,

    /// Order of updates: gauss-seidel, jacobi (the paper's) [gauss-seidel; accurate: jacobi]
    #[arg(long, value_parser = named::<Solver>)]
    solver: Option<Solver>,

    /// Share of the new state in a step, in (0, 1] [1]
    #[arg(long)]
    leak: Option<f64>,

    /// Stop once a sweep changes a graph's states by less than this [1e-5]
    #[arg(long)]
    tol: Option<f64>,

    /// Stop after this many sweeps in any case [50]
    #[arg(long)]
    max_iter: Option<usize>,

    /// Make exactly this many sweeps, whatever --tol and --max-iter say [none; accurate: 3]
    #[arg(long)]
    fixed_sweeps: Option<usize>,

    /// What makes one vector of all states: sum, mean, max, std, or several (sum,max) [sum; accurate:
    /// sum,mean,std]
    #[arg(long, value_delimiter = ',', value_parser = named::<Aggregate>)]
    aggregate: Vec<Aggregate>,

    /// Put all blocks into the vector, not the last one alone [no; accurate: yes]
    #[arg(long)]
    concat: bool,

    /// Blocks that run on the graphs themselves, before the first pooling [1]
    #[arg(long)]
    pool_after: Option<usize>,

    /// Pool the states of the last block once more before they become one vector
    #[arg(long)]
    pool_last: bool,

    /// Take attributes as they are, not z-scored
    #[arg(long)]
    raw: bool,

    /// Inputs read off the structure: degree, log-degree, clustering, local-degree-profile
    #[arg(long, value_delimiter = ',', value_parser = named::<StructuralFeature>)]
    structure: Vec<StructuralFeature>,

    /// The same, where vertices carry neither attributes nor labels [degree; accurate:
    /// log-degree,clustering]
    #[arg(long, value_delimiter = ',', value_parser = named::<StructuralFeature>)]
    bare_structure: Vec<StructuralFeature>,

    #[command(flatten)]
    pool: PoolFlags,
}

/// How the readout is trained.
#[derive(Args, Debug)]
#[command(next_help_heading = "Readout")]
pub struct ReadoutArgs {
    /// Strength of the penalty: a number, several to choose from (0.1,1,10), or loo for
    /// the best of 1e-6 to 1e6 by leave-one-out [loo]
    #[arg(long)]
    alpha: Option<Alpha>,

    /// How much the graphs of a class count: none (all alike), balanced (rare classes more) [none]
    #[arg(long, value_parser = named::<ClassWeight>)]
    class_weight: Option<ClassWeight>,

    /// Divide columns by their standard deviations first; landmarks do so in any case
    #[arg(long)]
    standardize: bool,

    /// Random tanh units between vectors and regression [0]
    #[arg(long)]
    random_features: Option<usize>,

    /// Read similarities to at most so many training graphs in place of vectors
    /// (kernel ridge regression; linear and Gaussian kernel) [0; accurate: 2000]
    #[arg(long)]
    landmarks: Option<usize>,
}

impl ReadoutArgs {
    /// Puts what was given in place of what is there.
    pub fn apply(&self, config: &mut ModelConfig) -> Result<()> {
        set(&mut config.alpha, &self.alpha);
        set(&mut config.class_weight, &self.class_weight);
        if let Some(units) = self.random_features {
            // One of the two is enough: these take the place of a preset's landmarks.
            (config.random_features, config.landmarks) =
                (units, if units > 0 { 0 } else { config.landmarks });
        }
        set(&mut config.landmarks, &self.landmarks);
        config.standardize |= self.standardize;
        Ok(config.validate()?)
    }
}

impl ModelArgs {
    /// What is left to a search: all that neither flags nor a file say.
    pub fn searched(&self) -> Result<Searched> {
        let table = match &self.config {
            Some(path) => fs::read_to_string(path)?.parse::<toml::Table>()?,
            None => toml::Table::new(),
        };
        Ok(Searched {
            spectral_radius: self.spectral_radius.is_none() && !table.contains_key("spectral_radius"),
            input_scaling: self.input_scaling.is_none() && !table.contains_key("input_scaling"),
            hidden_scaling: self.hidden_scaling.is_none() && !table.contains_key("hidden_scaling"),
        })
    }

    /// Whether a pooling or a number of blocks was asked for.
    pub fn chooses_architecture(&self) -> bool {
        self.pool.is_given() || self.blocks.is_some()
    }

    /// The preset that was asked for.
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// Whether that preset was asked for.
    pub fn is(&self, preset: Preset) -> bool {
        self.preset == Some(preset)
    }

    /// The configuration asked for, checked.
    pub fn config(&self) -> Result<ModelConfig> {
        self.config_or(Preset::Paper)
    }

    /// The same, with another preset to start from unless one is given.
    pub fn config_or(&self, preset: Preset) -> Result<ModelConfig> {
        let mut options = ModelConfig::preset(self.preset.unwrap_or(preset));
        if let Some(path) = &self.config {
            let named = || format!("--config {}, a TOML file of options", path.display());
            let text = fs::read_to_string(path).with_context(named)?;
            options = overlaid(&options, &text).with_context(|| path.display().to_string())?;
        }
        set(&mut options.blocks, &self.blocks);
        set(&mut options.units, &self.units);
        set(&mut options.spectral_radius, &self.spectral_radius);
        set(&mut options.scaling, &self.scaling);
        set(&mut options.input_scaling, &self.input_scaling);
        set(&mut options.hidden_scaling, &self.hidden_scaling);
        set(&mut options.recurrence, &self.recurrence);
        set(&mut options.input_pattern, &self.input_pattern);
        set(&mut options.density, &self.density);
        set(&mut options.reservoirs, &self.reservoirs);
        set(&mut options.stacks, &self.stacks);
        set(&mut options.seed, &self.seed);
        set(&mut options.precision, &self.precision);
        set(&mut options.solver, &self.solver);
        set(&mut options.leak, &self.leak);
        set(&mut options.tol, &self.tol);
        set(&mut options.max_iter, &self.max_iter);
        if self.fixed_sweeps.is_some() {
            options.fixed_sweeps = self.fixed_sweeps;
        }
        if !self.aggregate.is_empty() {
            options.aggregate.clone_from(&self.aggregate);
        }
        options.tied |= self.tied;
        options.concat |= self.concat;
        options.normalize &= !self.no_normalize;
        options.lift &= !self.no_lift;
        set(&mut options.pool_after, &self.pool_after);
        options.pool_last |= self.pool_last;
        options.raw |= self.raw;
        if !self.structure.is_empty() {
            options.structure.clone_from(&self.structure);
        }
        if !self.bare_structure.is_empty() {
            options.bare_structure.clone_from(&self.bare_structure);
        }
        self.pool.apply(&mut options);
        options.validate()?;
        Ok(options)
    }
}

/// The configuration with the keys of a TOML file in place of its own.
fn overlaid(config: &ModelConfig, text: &str) -> Result<ModelConfig> {
    // Read by itself first: errors then name the line.
    let _: ModelConfig = toml::from_str(text)?;
    let mut all = toml::Table::try_from(config)?;
    all.extend(text.parse::<toml::Table>()?);
    Ok(all.try_into()?)
}

/// Replaces an option by what was given, if anything was.
pub fn set<T: Clone>(option: &mut T, given: &Option<T>) {
    if let Some(value) = given {
        option.clone_from(value);
    }
}

/// A trained model from its file.
pub fn read_model(path: &Path) -> Result<TrainedModel> {
    match models::read(path)? {
        Saved::Trained(model) => Ok(model),
        Saved::Untrained(_) => {
            Err(Error::Model { path: path.to_owned(), source: Unreadable::Untrained }.into())
        }
    }
}

/// A value by the name it has in files.
pub fn named<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| {
        let told = error.to_string();
        // "unknown variant `x`, expected one of `a`, `b`"
        told.split_once(", ").map_or(told.clone(), |(_, expected)| expected.replace('`', ""))
    })
}

/// One value, or several separated by commas.
fn per_block<T: FromStr>(text: &str) -> Result<PerBlock<T>, String> {
    let one = |part: &str| {
        let expected = |_| "expected a number, or one for each block separated by commas".to_owned();
        part.trim().parse::<T>().map_err(expected)
    };
    match text.contains(',') {
        true => text.split(',').map(one).collect::<Result<_, _>>().map(PerBlock::Each),
        false => one(text).map(PerBlock::All),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[derive(Args, Debug)]
    struct All {
        #[command(flatten)]
        model: ModelArgs,
        #[command(flatten)]
        readout: ReadoutArgs,
    }

    /// What a preset has for an option, as people type it.
    fn typed(preset: Preset, option: &str) -> String {
        match &serde_json::to_value(ModelConfig::preset(preset)).unwrap()[option] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Bool(flag) => if *flag { "yes" } else { "no" }.into(),
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
            other => other.to_string(),
        }
    }

    #[test]
    fn help_tells_the_presets_as_they_are() {
        let command = All::augment_args(clap::Command::new("all"));
        let mut told = 0;
        for argument in command.get_arguments() {
            let (option, help) = (argument.get_id().as_str(), argument.get_help().unwrap().to_string());
            let (paper, accurate) = (typed(Preset::Paper, option), typed(Preset::Accurate, option));
            let Some((_, brackets)) = help.rsplit_once('[').filter(|_| help.ends_with(']')) else {
                assert_eq!(paper, accurate, "{option} is another in accurate: say so in its help");
                continue;
            };
            let brackets = brackets.trim_end_matches(']').replace('\n', " ");
            let (usual, other) = brackets.split_once("; accurate: ").unwrap_or((&brackets, &brackets));
            let same = |told: &str, is: &str| match (told.parse::<f64>(), is.parse::<f64>()) {
                (Ok(told), Ok(is)) => told == is,
                // What is left out has a default of its own, told in words.
                _ => told == is || is.is_empty(),
            };
            assert!(same(usual, &paper), "{option}: help tells {usual}, paper has {paper}");
            assert!(same(other, &accurate), "{option}: help tells {other}, accurate has {accurate}");
            told += 1;
        }
        assert!(told > 25, "{told}");
    }
}
