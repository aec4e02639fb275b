//! Tests that cross modules. Add a new test to the file named after its topic.

#![allow(clippy::unwrap_used, clippy::panic)]

mod broken;
mod corpus;
mod real_data;
mod round_trip;
