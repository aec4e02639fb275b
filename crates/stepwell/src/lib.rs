//! Embeds graphs as vectors with reservoir networks and trains only a ridge regression on them.
//!
//! Stepwell implements the Pyramidal Reservoir Graph Neural Network of Bianchi, Gallicchio and
//! Micheli. Every vertex has a state, and `H <- tanh(Ã H W + X V)` with fixed random `W` and `V` is
//! iterated to its fixed point. This crate only computes: it reads no files or environment
//! variables, prints nothing, and never panics on user data.
//!
//! ```
//! use std::ops::ControlFlow::Continue;
//! use stepwell::config::ModelConfig;
//! use stepwell::graph::{BatchBuilder, EdgeList};
//! use stepwell::model::Model;
//!
//! // A path and a ring, of five vertices each.
//! let mut builder = BatchBuilder::default();
//! builder.push(&EdgeList::new(5, &[0, 1, 2, 3], &[1, 2, 3, 4]))?;
//! builder.push(&EdgeList::new(5, &[0, 1, 2, 3, 4], &[1, 2, 3, 4, 0]))?;
//! let graphs = builder.finish();
//!
//! let model = Model::fit(ModelConfig { units: 20.into(), ..Default::default() }, &graphs)?;
//! let vectors = model.embed(&graphs, |_| Continue(()))?.vectors;
//! assert_eq!(vectors.dim(), (2, 20)); // a row per graph
//! # Ok::<(), stepwell::Error>(())
//! ```
//!
//! Start with [`model`], which turns graphs into vectors or predictions; one
//! [`config::ModelConfig`] holds all its options. The other modules, in the order in which data
//! flows: graphs ([`graph`]), the map from labels and attributes to the input `X` ([`features`]),
//! poolings ([`pool`]) and pyramids of pooled graphs ([`pyramid`]), classes of vertices that must
//! have equal states ([`lift`]), the fixed points ([`reservoir`]), the targets to predict
//! ([`targets`]), the regression that learns them ([`readout`]), projections for pictures
//! ([`projection`]), and proven bounds ([`theory`]). Every random number comes from a named stream
//! ([`rng`]).

pub mod colours;
pub mod config;
mod error;
pub mod features;
pub mod graph;
mod kernel;
pub mod lift;
mod linalg;
pub mod memory;
pub mod metrics;
pub mod model;
pub mod pool;
pub mod projection;
pub mod pyramid;
pub mod readout;
pub mod reservoir;
pub mod rng;
pub mod targets;
pub mod theory;

pub use error::{Error, Result, Unreadable};
pub use kernel::{instruction_set, instruction_sets, use_instruction_set};
/// The version of ndarray whose matrices appear in signatures.
pub use ndarray;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
mod in_a_service {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-a-pooling.md")]
mod adding_a_pooling {}
