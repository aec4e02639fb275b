//! Poolings on the command line, without a model.

use anyhow::Result;
use clap::Args;
use stepwell::config::ModelConfig;
use stepwell::pool::Pooling;

use crate::options::PoolFlags;

/// Poolings on top of each other.
#[derive(Args, Debug)]
pub struct PoolArgs {
    #[command(flatten)]
    flags: PoolFlags,

    /// Number of times to pool
    #[arg(long, default_value_t = 2, help_heading = "Pooling")]
    pub levels: usize,
}

impl PoolArgs {
    /// The requested pooling, if any.
    pub fn pooling(&self) -> Result<Option<Pooling>> {
        let mut config = ModelConfig::default();
        self.flags.apply(&mut config)?;
        Ok(config.pooling())
    }
}
