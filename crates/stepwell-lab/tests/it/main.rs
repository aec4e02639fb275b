//! Experiments as a whole.

#![allow(clippy::unwrap_used)]

mod protocol;
mod tables;
