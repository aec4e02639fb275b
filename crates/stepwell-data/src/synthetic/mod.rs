//! Graphs generated from a seed.
//!
//! [`generate`] draws the paper's benchmark (its section 6.1) in its easy, hard
//! and small versions. [`Family`] draws one graph of any size: grids, random
//! geometric, Barabási–Albert and Erdős–Rényi graphs, stars, rings, complete
//! graphs and paths. The same seed gives the same bytes on any number of
//! threads.
//!
//! ```
//! use stepwell_data::synthetic::{self, BenchmarkOptions, Family};
//! let options = BenchmarkOptions { graphs_per_class: 2, ..BenchmarkOptions::named("b-easy").unwrap() };
//! assert_eq!(synthetic::generate(&options)?.len(), 6);
//!
//! let grid = Family::parse("grid:3x2")?.generate(0)?;
//! assert_eq!(grid.graph.view().num_edges(), 7);
//! # Ok::<(), stepwell_data::Error>(())
//! ```

mod benchmark;
mod clusters;
mod families;
mod nearest;
mod random;

pub use benchmark::{BenchmarkOptions, Difficulty, generate};
pub use families::{Family, Generated};
