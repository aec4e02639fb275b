//! Graphs in, vectors out, nothing trained but a linear readout.
//!
//! Stepwell implements the Pyramidal Reservoir Graph Neural Network of
//! Bianchi, Gallicchio and Micheli. Vertices carry states;
//! `H <- tanh(Ã H W + X V)` with fixed random `W` and `V` is iterated to its
//! fixed point. This crate does the computing: it reads no file, prints
//! nothing, looks at no environment variable, and never panics on user data.
//!
//! Today it holds the graphs everything else is built on ([`graph`]), the maps
//! from what vertices carry to the model's input `X` ([`features`]), and the
//! streams of random numbers ([`rng`]).

mod error;
pub mod features;
pub mod graph;
pub mod lift;
mod linalg;
pub mod pool;
pub mod rng;

pub use error::{Error, Result};
