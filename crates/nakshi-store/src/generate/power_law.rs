//! Graphs whose degrees follow a power law with a chosen exponent.

use super::random::{SplitMix64, pick};
use super::{Generator, PIECE};
use crate::random::Shuffle;

/// A random graph whose expected in- and out-degrees follow the same power law.
///
/// Source: Chung and Lu, "The average distances in random graphs with given expected degrees",
/// PNAS 99 (2002). The weight of rank `i` is proportional to `i^(-1 / (exponent - 1))`; both ends
/// of every edge are drawn in proportion to the weights.
#[derive(Clone, Debug)]
pub struct PowerLaw {
    /// Number of vertices; vertices that no edge draws do not occur.
    pub vertices: u64,
    /// Number of edges, duplicates and self-loops included.
    pub edges: u64,
    /// Exponent of the density of degrees, above 2; at 2 and below one vertex would have all edges.
    /// Social networks have 2.1 to 3.
    pub exponent: f64,
    /// Seed.
    pub seed: u64,
}

impl Generator for PowerLaw {
    fn pieces(&self) -> u64 {
        if self.vertices == 0 { 0 } else { self.edges.div_ceil(PIECE) }
    }

    fn piece(&self, number: u64, edges: &mut Vec<[u64; 2]>) {
        // The sum of weights up to rank x grows with x^(1 - 1/(exponent - 1)); this inverts it.
        let exponent = self.exponent.max(2.0 + 1e-9);
        let power = 1.0 / (1.0 - 1.0 / (exponent - 1.0));
        let shuffle = Shuffle::new(self.vertices, self.seed);
        for edge in number * PIECE..((number + 1) * PIECE).min(self.edges) {
            let mut random = SplitMix64::new(self.seed, edge);
            let mut end = || shuffle.apply(pick(self.vertices, random.unit().powf(power)));
            edges.push([end(), end()]);
        }
    }

    fn expected_edges(&self) -> u64 {
        self.edges
    }
}
