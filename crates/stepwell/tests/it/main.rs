//! Tests that cross modules. Add a new test to the file that is named after its subject.

#![allow(clippy::unwrap_used, clippy::panic)]

mod layers;
