//! Oracles: each algorithm again, by another method, on plain adjacency vectors.

pub mod apsp;
pub mod bc;
pub mod bfs;
pub mod cdlp;
pub mod coloring;
pub mod degrees;
pub mod matching;
pub mod pagerank;
pub mod sssp;
pub mod triangles;
pub mod wcc;

#[cfg(test)]
pub(crate) mod sample;
