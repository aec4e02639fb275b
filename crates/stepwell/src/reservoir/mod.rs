//! Reservoirs on graphs: `H <- tanh(Ã H W + X V)`, iterated to its fixed point. If edges have
//! labels or attributes, gates multiply the states that pass along them.
//!
//! [`Weights`] are random or supplied by the caller, graphs are [`Prepared`] once, and [`embed`]
//! combines the two any number of times. One struct, [`ModelConfig`](crate::config::ModelConfig),
//! holds the options of all three. If graphs are pooled between blocks, preparing them also takes
//! their pyramid.
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

pub use crate::pool::Progress;
pub(crate) use embed::states_read;
pub use embed::{Embedding, embed, embed_on, level_read, states};
pub use engine::{Device, Embedded, Engine, Work};
pub use pieces::{Attributed, Carried, Driven, Matrix, Piece};
pub use prepared::Prepared;
pub use solver::{Convergence, Run};
pub use weights::{BlockWeights, GateWeights, Stack, Weights};

#[cfg(test)]
mod tests;
