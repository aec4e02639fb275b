//! Tests that cross modules. A new one goes into the file whose name says
//! what it is about.

#![allow(clippy::unwrap_used, clippy::panic)]

mod layers;
