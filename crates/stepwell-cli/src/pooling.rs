//! The poolings' options on the command line.

use anyhow::Result;
use clap::Args;
use stepwell::config::{ModelConfig, Pool};
use stepwell::pool::ndp::{Side, Sparsify};
use stepwell::pool::{Pooling, Reduce};

use crate::model::{named, set};

/// How graphs are made smaller.
#[derive(Args, Debug)]
#[command(next_help_heading = "Pooling")]
pub struct PoolFlags {
    /// Pooling: none, graclus, nmf, ndp, kmis [none]
    #[arg(long, value_parser = named::<Pool>)]
    pool: Option<Pool>,

    /// Seed of the poolings that draw lots [0]
    #[arg(long)]
    pool_seed: Option<u64>,

    /// ndp: drop links weaker than this [0.1]
    #[arg(long)]
    delta: Option<f64>,

    /// ndp: when to drop them: each-level, deferred [each-level]
    #[arg(long, value_parser = named::<Sparsify>)]
    sparsify: Option<Sparsify>,

    /// ndp: which side of the cut to keep: largest, smaller, larger [largest]
    #[arg(long, value_parser = named::<Side>)]
    side: Option<Side>,

    /// ndp: where joining the kept vertices would need too many links, drop small ones on the way
    #[arg(long)]
    approximate: bool,

    /// ndp: pairs of kept vertices that may be joined before it is too many [67108864]
    #[arg(long)]
    fill_budget: Option<u64>,

    /// graclus, kmis: how states of a cluster become one: mean, sum, max [mean]
    #[arg(long, value_parser = named::<Reduce>)]
    reduce: Option<Reduce>,
}

impl PoolFlags {
    /// Whether a pooling was asked for.
    pub fn is_given(&self) -> bool {
        self.pool.is_some()
    }

    /// Puts what was given in place of what is there.
    pub fn apply(&self, config: &mut ModelConfig) {
        set(&mut config.pool, &self.pool);
        set(&mut config.pool_seed, &self.pool_seed);
        set(&mut config.delta, &self.delta);
        set(&mut config.sparsify, &self.sparsify);
        set(&mut config.side, &self.side);
        set(&mut config.reduce, &self.reduce);
        set(&mut config.fill_budget, &self.fill_budget);
        config.approximate |= self.approximate;
    }
}

/// Poolings on top of each other, without a model.
#[derive(Args, Debug)]
pub struct PoolArgs {
    #[command(flatten)]
    flags: PoolFlags,

    /// How many poolings on top of each other
    #[arg(long, default_value_t = 2, help_heading = "Pooling")]
    pub levels: usize,
}

impl PoolArgs {
    /// The pooling asked for, if any.
    pub fn pooling(&self) -> Result<Option<Pooling>> {
        let mut config = ModelConfig::default();
        self.flags.apply(&mut config);
        config.validate()?;
        Ok(config.pooling())
    }
}
