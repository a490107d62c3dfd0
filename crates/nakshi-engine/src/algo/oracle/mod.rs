//! Oracles: each algorithm again, by another method, on plain adjacency vectors.

pub mod apsp;
pub mod bc;
pub mod bfs;
pub mod biconnectivity;
pub mod cdlp;
pub mod coloring;
pub mod degrees;
pub mod densest_subgraph;
pub mod distances;
pub mod gee;
pub mod k_core;
pub mod k_truss;
pub mod label_propagation;
pub mod matching;
pub mod mis;
pub mod mixing;
pub mod modularity;
pub mod pagerank;
pub mod power_law;
pub mod projection;
pub mod rich_club;
pub mod scc;
pub mod similar;
pub mod spectral;
pub mod sssp;
pub mod topological_sort;
pub mod triad_census;
pub mod triangles;
pub mod wcc;

#[cfg(test)]
pub(crate) mod sample;
