//! The model on the command line: a preset, then a file, then flags.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stepwell::Unreadable;
use stepwell::config::{ModelConfig, Preset};
use stepwell::model::{Saved, TrainedModel};
use stepwell::reservoir::Weights;
use stepwell_data::{Error, models};
use stepwell_lab::protocol::Searched;

pub use crate::options::ReadoutArgs;
use crate::options::{ConfigFile, ModelFlags, PoolFlags, blamed, dashed};

/// The help text of `--preset` in commands that train a model.
pub const PRESETS: &str = "Start from a preset: 'accurate', 'paper', 'vertices' (for --level vertex) or 'reference' (the \
     paper's public code). The default is 'accurate', or 'vertices' with --level vertex. Square brackets below show the \
     defaults of the presets 'paper' and 'accurate', not of the others; 'stepwell model FILE --json' shows all options of \
     a saved model";

#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Start from a preset: 'paper', 'accurate' (several wide reservoirs, read in several ways),
    /// 'vertices' (for --level vertex) or 'reference' (the paper's public code). The default is
    /// 'paper', or 'vertices' with --level vertex. Square brackets below show the defaults of the
    /// presets 'paper' and 'accurate', not of the others; 'stepwell model FILE --json' shows all
    /// options of a saved model
    #[arg(long, value_name = "NAME", value_parser = named::<Preset>)]
    preset: Option<Preset>,

    /// Read model options from a TOML file; flags override the file. Keys are 'preset' and the names
    /// of the model options, with underscores (preset = "paper", units = 100,
    /// spectral_radius = [0.5, 0.9], lift = false, aggregate = ["sum", "max"])
    #[arg(long, value_name = "FILE", value_parser = ConfigFile::parser())]
    config: Option<ConfigFile>,

    #[command(flatten)]
    model: ModelFlags,

    #[command(flatten)]
    pool: PoolFlags,
}

impl ModelArgs {
    /// The options left to a search: those given neither by flags nor by a file.
    pub fn searched(&self) -> Searched {
        let given = self.given();
        Searched {
            spectral_radius: !given.contains_key("spectral_radius"),
            input_scaling: !given.contains_key("input_scaling"),
            hidden_scaling: !given.contains_key("hidden_scaling"),
        }
    }

    /// Whether a pooling or a number of blocks was given.
    pub fn chooses_architecture(&self) -> bool {
        let given = self.given();
        given.contains_key("pool") || given.contains_key("blocks")
    }

    /// Whether any option or a preset was given.
    pub fn gives_any(&self) -> bool {
        self.preset().is_some() || !self.given().is_empty()
    }

    /// The given preset: that of the flag, or else that of the file.
    pub fn preset(&self) -> Option<Preset> {
        self.preset.or_else(|| self.config.as_ref()?.preset)
    }

    /// Whether that preset was given.
    pub fn is(&self, preset: Preset) -> bool {
        self.preset() == Some(preset)
    }

    /// The checked configuration.
    pub fn config(&self) -> Result<ModelConfig> {
        self.config_or(Preset::Paper)
    }

    /// Like [`config`](Self::config), with another default preset.
    pub fn config_or(&self, preset: Preset) -> Result<ModelConfig> {
        self.config_with(preset, &ReadoutArgs::default())
    }

    /// Like [`config_or`](Self::config_or), with the options of the readout, which are flags like
    /// the others.
    pub fn config_with(&self, preset: Preset, readout: &ReadoutArgs) -> Result<ModelConfig> {
        let flags: Map<String, Value> = self.flags().into_iter().chain(readout.given.clone()).collect();
        let given: Map<String, Value> = self.given().into_iter().chain(flags.clone()).collect();
        let usual =
            if given.get("level").is_some_and(|level| level == "vertex") { Preset::Vertices } else { preset };
        let config = ModelConfig::preset(self.preset().unwrap_or(usual)).overlay(&given);
        let config = config.map_err(|error| blamed(error, &flags, self.config.as_ref()))?;
        // Checks the memory before anything is read; that of the inputs is checked once their
        // number is known.
        Weights::ask(&config, 0)?;
        Ok(config)
    }

    /// Notes about given options that have no effect.
    pub fn without_effect(&self, config: &ModelConfig, readout: &ReadoutArgs) -> Vec<String> {
        let given: Map<String, Value> = self.given().into_iter().chain(readout.given.clone()).collect();
        let note = |name: &String| {
            let (other, value) = config.lacks(name)?;
            Some(format!("--{} has no effect unless --{} is {value}", dashed(name), dashed(other)))
        };
        given.keys().filter_map(note).collect()
    }

    /// Whether the file gives an option.
    pub fn file_gives(&self, name: &str) -> bool {
        self.config.as_ref().is_some_and(|file| file.given.contains_key(name))
    }

    fn flags(&self) -> Map<String, Value> {
        self.model.given.clone().into_iter().chain(self.pool.given.clone()).collect()
    }

    /// The options of the file, overridden by flags.
    fn given(&self) -> Map<String, Value> {
        let file = self.config.iter().flat_map(|file| file.given.clone());
        file.chain(self.flags()).collect()
    }
}

/// Reads a trained model from its file.
pub fn read_model(path: &Path) -> Result<TrainedModel> {
    match models::read(path)? {
        Saved::Trained(model) => Ok(model),
        Saved::Untrained(_) => {
            Err(Error::Model { path: path.to_owned(), source: Unreadable::Untrained }.into())
        }
    }
}

/// Parses a value from its name in files.
pub fn named<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| {
        let told = error.to_string();
        // "unknown variant `x`, expected one of `a`, `b`"
        told.split_once(", ").map_or(told.clone(), |(_, expected)| expected.replace('`', ""))
    })
}
