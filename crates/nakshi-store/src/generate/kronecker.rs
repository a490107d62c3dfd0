//! The Kronecker generator of Graph500.

use super::random::SplitMix64;
use super::{Generator, PIECE};
use crate::random::Shuffle;

/// A stochastic Kronecker graph.
///
/// Source: Leskovec, Chakrabarti, Kleinberg, Faloutsos, "Realistic, Mathematically Tractable
/// Graph Generation and Evolution, Using Kronecker Multiplication", PKDD 2005; parameters of
/// Graph500 (specification 3.0): initiator 0.57, 0.19, 0.19, 0.05 and 16 edges a vertex.
#[derive(Clone, Debug)]
pub struct Kronecker {
    /// Logarithm of the number of vertices, at most 48.
    pub scale: u32,
    /// Edges per vertex. Default 16.
    pub edge_factor: u64,
    /// Probabilities of the upper left, upper right and lower left quadrant.
    pub initiator: [f64; 3],
    /// Shuffles vertices, as Graph500 asks for. Default `true`.
    pub shuffled: bool,
    /// Seed. Default 1.
    pub seed: u64,
}

impl Kronecker {
    /// Makes Graph500's graph of a scale.
    pub fn new(scale: u32) -> Self {
        Self {
            scale: scale.min(48),
            edge_factor: 16,
            initiator: [0.57, 0.19, 0.19],
            shuffled: true,
            seed: 1,
        }
    }

    fn edges(&self) -> u64 {
        self.edge_factor << self.scale.min(48)
    }
}

/// Returns a probability as a threshold for 32 random bits.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn threshold(probability: f64) -> u64 {
    (probability.clamp(0.0, 1.0) * 4_294_967_296.0) as u64
}

impl Generator for Kronecker {
    fn pieces(&self) -> u64 {
        self.edges().div_ceil(PIECE)
    }

    fn piece(&self, number: u64, edges: &mut Vec<[u64; 2]>) {
        let [a, b, c] = self.initiator;
        let (a, ab, abc) = (threshold(a), threshold(a + b), threshold(a + b + c));
        let scale = self.scale.min(48);
        let shuffle = Shuffle::new(1 << scale, self.seed);
        for edge in number * PIECE..((number + 1) * PIECE).min(self.edges()) {
            let mut random = SplitMix64::new(self.seed, edge);
            let (mut source, mut target, mut bits) = (0_u64, 0_u64, 0_u64);
            for level in 0..scale {
                bits = if level % 2 == 0 { random.next() } else { bits >> 32 };
                let draw = bits & 0xffff_ffff;
                source = source << 1 | u64::from(draw >= ab);
                target = target << 1 | u64::from((draw >= a && draw < ab) || draw >= abc);
            }
            edges.push(if self.shuffled {
                [shuffle.apply(source), shuffle.apply(target)]
            } else {
                [source, target]
            });
        }
    }

    fn expected_edges(&self) -> u64 {
        self.edges()
    }
}
