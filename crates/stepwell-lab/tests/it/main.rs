//! Experiments as a whole.

#![allow(clippy::unwrap_used)]

mod pictures;
mod protocol;
mod tables;
