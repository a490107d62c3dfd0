//! Source vertices that are given or sampled, the same for every layout.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use nakshi_store::VertexId;
use std::collections::BTreeSet;

/// SplitMix64 (Steele, Lea and Flood 2014): a seeded stream of 64-bit numbers.
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Evenly from 0 to 1, without 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly from `0..bound`; `bound` must not be 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        // Multiply and shift: the bias is below 2^-32 for bounds of 32 bits.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// `count` different vertices (all, if there are no more), drawn from the users' ids in
/// ascending order, so that a seed gives the same users' ids in every layout.
///
/// # Errors
/// Errors of reading the ids.
pub(crate) fn sample(
    graph: &Graph,
    count: usize,
    seed: u64,
    cx: &Context,
) -> Result<Vec<VertexId>> {
    let n = graph.num_vertices() as u64;
    let count = (count as u64).min(n);
    // Floyd's method: each subset is equally likely, with one draw per member.
    let mut random = SplitMix(seed);
    let mut drawn = BTreeSet::new();
    for last in n - count..n {
        let pick = random.below(last + 1);
        if !drawn.insert(pick) {
            drawn.insert(last);
        }
    }
    let Some(ranks) = graph.id_ranks(cx)? else {
        return Ok(drawn.into_iter().map(|r| r as VertexId).collect());
    };
    let mut found: Vec<(u32, VertexId)> = ranks
        .iter()
        .enumerate()
        .filter(|(_, rank)| drawn.contains(&u64::from(**rank)))
        .map(|(v, &rank)| (rank, v as VertexId))
        .collect();
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, v)| v).collect())
}
