//! Graphs with log-normal degrees.

use super::Generator;
use super::random::{SplitMix64, normal_cdf, pick};
use crate::random::Shuffle;

/// Number of vertices in a piece.
const VERTICES: u64 = 512;

/// The synthetic graphs of LFGraph, section 4.4 (after Pregel).
///
/// In-degrees are log-normal and capped. The source of an edge is drawn in proportion to log-normal
/// weights, so that out-degrees are log-normal too. The weights are the quantiles of the
/// distribution, by a shuffled rank. A draw in proportion to a log-normal weight is a draw of the
/// rank's normal quantile with its mean shifted by sigma.
#[derive(Clone, Debug)]
pub struct LogNormal {
    /// Number of vertices.
    pub vertices: u64,
    /// Mean of the logarithm of a degree. Default 4.
    pub mu: f64,
    /// Standard deviation of the logarithm of a degree. Default 1.3.
    pub sigma: f64,
    /// Largest in-degree. Default 128.
    pub cap: u32,
    /// Seed. Default 1.
    pub seed: u64,
}

impl LogNormal {
    /// Makes a graph with the paper's parameters.
    pub fn new(vertices: u64) -> Self {
        Self { vertices, mu: 4.0, sigma: 1.3, cap: 128, seed: 1 }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn in_degree(&self, random: &mut SplitMix64) -> u32 {
        (self.mu + self.sigma * random.normal()).exp().min(f64::from(self.cap)) as u32
    }
}

impl Generator for LogNormal {
    fn pieces(&self) -> u64 {
        self.vertices.div_ceil(VERTICES)
    }

    fn piece(&self, number: u64, edges: &mut Vec<[u64; 2]>) {
        let shuffle = Shuffle::new(self.vertices, self.seed);
        for vertex in number * VERTICES..((number + 1) * VERTICES).min(self.vertices) {
            let mut random = SplitMix64::new(self.seed, vertex);
            for _ in 0..self.in_degree(&mut random) {
                let rank = pick(self.vertices, normal_cdf(random.normal() + self.sigma));
                edges.push([shuffle.apply(rank), vertex]);
            }
        }
    }

    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn expected_edges(&self) -> u64 {
        // The mean of a log-normal capped at c: the part of the mean below c, and c for the rest.
        let (mu, sigma, cap) = (self.mu, self.sigma, f64::from(self.cap).max(1.0));
        let at = (cap.ln() - mu) / sigma;
        let mean = (mu + sigma * sigma / 2.0).exp() * normal_cdf(at - sigma)
            + cap * (1.0 - normal_cdf(at));
        (mean * self.vertices as f64) as u64
    }
}
