//! Poolings on the command line, without a model.

use anyhow::Result;
use clap::Args;
use stepwell::config::ModelConfig;
use stepwell::pool::{Pool, Pooling};

use crate::options::PoolFlags;

fn help_of_pool() -> String {
    format!("Pooling to apply. Values: none, {} [none]", Pool::ALL.map(Pool::name).join(", "))
}

/// There are no states here.
const REDUCE: &str = "Graclus, k-MIS: how a model would combine the states of merged vertices. Changes the matrix S that \
     'stepwell coarsen' writes, but not the coarse graphs. Values: mean, sum, max [mean]";

/// Poolings on top of each other.
#[derive(Args, Debug)]
#[command(mut_arg("pool", |pool| pool.help(help_of_pool())), mut_arg("reduce", |reduce| reduce.help(REDUCE)))]
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
