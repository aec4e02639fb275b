//! Reservoirs on graphs: `H <- tanh(Ã H W + X V)`, iterated to its fixed point. Where
//! edges carry something, a neighbour's states pass through a gate on their way.
//!
//! [`Weights`] are drawn (or brought along), graphs are [`Prepared`] once, and
//! [`embed`] runs one with the other as often as one likes. The options that
//! define all three are one struct, [`ModelConfig`](crate::config::ModelConfig).
//! Where graphs are pooled between blocks, preparing takes their pyramid too.
//!
//! ```
//! use std::ops::ControlFlow::Continue;
//! use stepwell::features::{FeatureMap, FeatureOptions};
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::config::ModelConfig;
//! use stepwell::reservoir::{Prepared, Weights, embed};
//!
//! let path = Graph::new(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3]))?;
//! let inputs = FeatureMap::fit(path.as_batch(), &FeatureOptions::default())?.apply(path.as_batch())?;
//! let options = ModelConfig::default();
//! let weights = Weights::random(&options, inputs.width())?;
//! let prepared = Prepared::new(path.as_batch(), &inputs, &options)?;
//! let embedding = embed(&weights, &prepared, &options, |_| Continue(()))?;
//! assert_eq!(embedding.vectors.dim(), (1, 50));
//! # Ok::<(), stepwell::Error>(())
//! ```

mod aggregate;
mod carry;
mod embed;
mod engine;
mod pieces;
mod prepared;
mod solver;
mod weights;

pub(crate) use embed::states_read;
pub use embed::{Embedding, embed, embed_on, level_read, states};
pub use engine::{Device, Embedded, Engine, Progress, Work};
pub use pieces::{Attributed, Carried, Driven, Matrix, Piece};
pub use prepared::Prepared;
pub use solver::{Convergence, Run};
pub use weights::{BlockWeights, GateWeights, Stack, Weights};

#[cfg(test)]
mod tests;
