//! The paper's tables, claims and figures next to ours, as `stepwell reproduce` writes
//! them. Evaluating a model needs nothing from here.
//!
//! [`printed`] holds the paper's own figures. The other modules are pure functions of a
//! run's records, except [`growth`], [`bound`] and [`embeddings`], which measure.

mod accuracies;
pub mod bound;
mod charts;
mod claims;
mod comparisons;
pub mod embeddings;
mod figures;
pub mod growth;
mod measurements;
mod page;
pub mod printed;
mod sections;
mod statistics;
mod tables;
mod times;

pub use accuracies::{PoolResult, find, rows as accuracies, wide};
pub use charts::charts;
pub use claims::{Claim, Verdict, claims};
pub use comparisons::{Comparison, comparisons};
pub use figures::PaperFigure;
pub use measurements::{Experiment, PaperMeasurements, PaperRecord};
pub use page::reproduction;
pub use printed::{datasets, result, table1, table4};
pub use statistics::Statistics;
pub use tables::write;
pub use times::{TimeRow, rows as times};

pub(crate) use printed::order;
