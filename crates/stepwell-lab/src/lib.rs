//! Experiments: what the paper reports, and what we measure beside it.

pub mod paper;
