//! The built-in algorithms, one file each, and their registry.
//!
//! Each file holds the citation, the encoding of the state, the [`Declaration`] (parameters with their
//! defaults, help, outputs) and the kernel; `oracle/` verifies each by another method. [`REGISTRY`] lists
//! them; Python, the command line, estimates and clusters take everything else from the declarations.

mod algorithm;
pub mod apsp;
pub mod article_rank;
pub mod articulation_points;
pub mod assortativity;
pub mod bc;
pub mod bfs;
pub mod bridges;
pub mod cdlp;
pub mod closeness;
pub mod coloring;
mod communities;
mod components;
pub mod dag_longest_path;
mod declaration;
#[cfg(test)]
mod deep;
pub mod degrees;
pub mod densest_subgraph;
pub mod diameter;
pub mod eccentricity;
pub mod eigenvector;
pub mod fastrp;
pub mod gee;
pub mod harmonic;
pub mod hits;
mod hyperball;
pub mod k_core;
pub mod k_truss;
pub mod katz;
pub mod label_propagation;
pub mod lcc;
pub mod leiden;
pub mod louvain;
mod low_points;
pub mod matching;
pub mod mis;
pub mod oracle;
pub mod pagerank;
mod pagerank_delta;
mod pagerank_pull;
pub mod personalized_pagerank;
mod power;
pub mod power_law;
mod pulling;
pub(crate) mod reach;
mod registry;
pub mod rich_club;
mod rounds;
pub mod scan_statistics;
pub mod scc;
mod shortest_parents;
pub mod similar;
mod sources;
pub mod spanning_forest;
pub mod sssp;
mod suitors;
pub mod topological_sort;
pub mod triad_census;
pub mod triangles;
pub mod wcc;
pub mod weighted_matching;

pub use algorithm::{Algorithm, DirectOrPull, Variant};
pub use declaration::{Choice, Declaration, Declared, Kind, Output, Parameter};
pub(crate) use declaration::{algorithm, choices};
pub use pulling::{PullVisitor, PulledResult, Pulls};
pub use registry::{Entry, REGISTRY, declarations, find, run_named, with_pull};
