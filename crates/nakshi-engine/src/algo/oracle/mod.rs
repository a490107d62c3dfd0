//! Oracles: each algorithm again, by another method, on plain adjacency vectors.
