//! The poolings' options on the command line.

use anyhow::Result;
use clap::Args;
use stepwell::pool::ndp::{NdpOptions, Side, Sparsify};
use stepwell::pool::{Pooling, Reduce};

use crate::model::named;

/// How graphs are made smaller.
#[derive(Args, Debug)]
#[command(next_help_heading = "Pooling")]
pub struct PoolArgs {
    /// Pooling: graclus, nmf, ndp, kmis
    #[arg(long, value_parser = Pooling::NAMES)]
    pub pool: Option<String>,

    /// How many poolings on top of each other
    #[arg(long, default_value_t = 2)]
    pub levels: usize,

    /// Seed of the poolings that draw lots
    #[arg(long, default_value_t = 0)]
    pool_seed: u64,

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

    /// graclus, kmis: how states of a cluster become one: mean, sum, max [mean]
    #[arg(long, value_parser = named::<Reduce>)]
    reduce: Option<Reduce>,
}

impl PoolArgs {
    /// The pooling asked for, if any.
    pub fn pooling(&self) -> Result<Option<Pooling>> {
        let Some(mut pooling) = self.pool.as_deref().and_then(Pooling::named) else { return Ok(None) };
        match &mut pooling {
            Pooling::Graclus(options) => {
                options.seed = self.pool_seed;
                options.reduce = self.reduce.unwrap_or_default();
            }
            Pooling::Nmf(options) => options.seed = self.pool_seed,
            Pooling::KMis(options) => options.reduce = self.reduce.unwrap_or_default(),
            Pooling::Ndp(options) => {
                let usual = NdpOptions::default();
                *options = NdpOptions {
                    delta: self.delta.unwrap_or(usual.delta),
                    sparsify: self.sparsify.unwrap_or(usual.sparsify),
                    side: self.side.unwrap_or(usual.side),
                    approximate: self.approximate,
                    pool_seed: self.pool_seed,
                    ..usual
                };
                options.validate()?;
            }
        }
        Ok(Some(pooling))
    }
}
