//! The built-in algorithms, one file each, and their registry.
//!
//! Each file holds the citation, the encoding of the state, the [`Declaration`] (parameters with their
//! defaults, help, outputs) and the kernel; `oracle/` verifies each by another method. [`REGISTRY`] lists
//! them; Python, the command line, estimates and clusters take everything else from the declarations.

mod algorithm;
pub mod apsp;
pub mod bc;
pub mod bfs;
pub mod cdlp;
pub mod coloring;
mod declaration;
#[cfg(test)]
mod deep;
pub mod degrees;
pub mod diameter;
pub mod lcc;
pub mod matching;
pub mod oracle;
pub mod pagerank;
mod pagerank_delta;
mod pulling;
pub(crate) mod reach;
mod registry;
pub mod scan_statistics;
mod shortest_parents;
mod sources;
pub mod sssp;
pub mod triangles;
pub mod wcc;

pub use algorithm::{Algorithm, DirectOrPull, Variant};
pub use declaration::{Choice, Declaration, Declared, Kind, Output, Parameter};
pub(crate) use declaration::{algorithm, choices};
pub use pulling::{PullVisitor, PulledResult, Pulls};
pub use registry::{Entry, REGISTRY, declarations, find, run_named, with_pull};
