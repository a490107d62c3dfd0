//! Label propagation as the Graphalytics text states it, with ordered maps.

use std::collections::BTreeMap;

/// Labels after `iterations` rounds. `arcs` are as imported; an undirected graph's edges
/// are there in both directions, a directed graph counts each arc at both of its ends.
/// `ids` are the users' ids, which are the first labels.
pub fn labels(ids: &[u64], arcs: &[(u32, u32)], directed: bool, iterations: u32) -> Vec<u64> {
    let mut labels = ids.to_vec();
    for _ in 0..iterations {
        let mut votes: Vec<BTreeMap<u64, u64>> = vec![BTreeMap::new(); ids.len()];
        for &(u, v) in arcs {
            *votes[u as usize].entry(labels[v as usize]).or_default() += 1;
            if directed {
                *votes[v as usize].entry(labels[u as usize]).or_default() += 1;
            }
        }
        for (label, votes) in labels.iter_mut().zip(&votes) {
            // The map is ascending, so the first of the most frequent is the smallest.
            let most = votes.values().max().copied();
            if let Some((&winner, _)) = votes.iter().find(|(_, count)| Some(**count) == most) {
                *label = winner;
            }
        }
    }
    labels
}
