//! Import and export against a reference model that holds everything in ordinary collections.

#![allow(clippy::unwrap_used)]

mod edge_cases;
mod formats;
mod hostile;
mod invariance;
mod memory;
mod model;
mod scratch;
mod webgraph;
