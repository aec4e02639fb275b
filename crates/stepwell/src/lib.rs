//! Graphs in, vectors out, nothing trained but a linear readout.
//!
//! Stepwell implements the Pyramidal Reservoir Graph Neural Network of
//! Bianchi, Gallicchio and Micheli. Vertices carry states;
//! `H <- tanh(Ã H W + X V)` with fixed random `W` and `V` is iterated to its
//! fixed point. This crate does the computing: it reads no file, prints
//! nothing, looks at no environment variable, and never panics on user data.
//!
//! A [`config::ModelConfig`] says what a model is. The crate holds the graphs everything else is built on ([`graph`]), the maps from
//! what vertices carry to the model's input `X` ([`features`]), the streams of
//! random numbers ([`rng`]), the classes of vertices that must have equal states
//! ([`lift`]), the fixed points themselves ([`reservoir`]) and what can be proved
//! about them ([`theory`]).

pub mod config;
mod error;
pub mod features;
pub mod graph;
pub mod lift;
mod linalg;
pub mod model;
pub mod pool;
pub mod pyramid;
pub mod readout;
pub mod reservoir;
pub mod rng;
pub mod theory;

pub use error::{Error, Result};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
