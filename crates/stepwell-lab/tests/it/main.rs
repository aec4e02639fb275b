//! Whole experiments.

#![allow(clippy::unwrap_used)]

mod figures;
mod pictures;
mod protocol;
mod report;
mod several;
mod tables;
