//! Graphs in, vectors out, nothing trained but a linear readout.
//!
//! Stepwell implements the Pyramidal Reservoir Graph Neural Network of
//! Bianchi, Gallicchio and Micheli. Vertices carry states;
//! `H <- tanh(Ã H W + X V)` with fixed random `W` and `V` is iterated to its
//! fixed point. This crate does the computing: it reads no file, prints
//! nothing, looks at no environment variable, and never panics on user data.
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
//! Start at [`model`]: graphs in, vectors or classes out,
//! with everything a model can be in one [`config::ModelConfig`]. Underneath,
//! in the order in which data flows: the graphs everything is built on
//! ([`graph`]), the map from what vertices carry to the input `X`
//! ([`features`]), coarsenings ([`pool`]) and the pyramids made of them
//! ([`pyramid`]), the classes of vertices that must have equal states
//! ([`lift`]), the fixed points themselves ([`reservoir`]), what is to be
//! predicted ([`targets`]), the regression that learns it ([`readout`]), the planes they are looked at in ([`projection`]),
//! and what can be proved ([`theory`]). Every random number comes from a named
//! stream ([`rng`]).

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
/// The matrices in signatures are of this version.
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
