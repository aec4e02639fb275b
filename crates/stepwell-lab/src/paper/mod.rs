//! The paper's tables, claims and figures, ours beside them: what `stepwell
//! reproduce` writes. Nothing of it is needed to evaluate a model.
//!
//! [`printed`] holds the paper's own figures; the other modules are pure
//! functions of a run's records, but for what is measured here: [`growth`],
//! [`bound`] and [`embeddings`].

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
