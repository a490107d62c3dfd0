//! Label propagation in which every round looks at all vertices, with ordered maps.

use std::collections::BTreeMap;

/// Neighbours of each vertex with the weights of the edges.
pub type WeightedLists = Vec<Vec<(u32, f64)>>;

/// The choices that are made by chance.
pub struct Hashes {
    /// True if a vertex may change its label in a round.
    pub turn: Box<dyn Fn(u32, u32) -> bool>,
    /// Place of a label among those that weigh the same at a vertex; above 0.
    pub order: Box<dyn Fn(u32, u32) -> u64>,
}

/// The lists of `(from, to, weight)` arcs without direction; those of an undirected graph go both ways.
/// Self-loops are left out.
pub fn both_ways(n: usize, arcs: &[(u32, u32, f64)], directed: bool) -> WeightedLists {
    let mut lists = vec![Vec::new(); n];
    for &(u, v, weight) in arcs.iter().filter(|(u, v, _)| u != v) {
        lists[u as usize].push((v, weight));
        if directed {
            lists[v as usize].push((u, weight));
        }
    }
    lists
}

/// Weights of the labels around a vertex.
fn around(list: &[(u32, f64)], labels: &[Option<u32>]) -> BTreeMap<u32, f64> {
    let mut sums = BTreeMap::new();
    for &(u, weight) in list {
        if let (Some(label), true) = (labels[u as usize], weight > 0.0) {
            *sums.entry(label).or_insert(0.0) += weight;
        }
    }
    sums
}

/// Labels after so many rounds.
pub fn labels(
    lists: &WeightedLists,
    fixed: &[u32],
    hashes: &Hashes,
    rounds: u32,
) -> Vec<Option<u32>> {
    let first = |v: u32| (fixed.is_empty() || fixed.contains(&v)).then_some(v);
    let mut labels: Vec<_> = (0..lists.len() as u32).map(first).collect();
    for round in 0..rounds {
        let before = labels.clone();
        for (v, list) in (0u32..).zip(lists) {
            if fixed.contains(&v) || !(hashes.turn)(round, v) {
                continue;
            }
            let sums = around(list, &before);
            let most = sums.values().copied().fold(0.0, f64::max);
            let own = before[v as usize];
            let order = |label: u32| if Some(label) == own { 0 } else { (hashes.order)(v, label) };
            let best = sums.iter().filter(|(_, sum)| **sum == most).map(|(label, _)| *label);
            if let Some(label) = best.min_by_key(|&label| (order(label), label)) {
                labels[v as usize] = Some(label);
            }
        }
    }
    labels
}

/// Returns true if every vertex that is not fixed has a label that weighs most around it.
pub fn is_stable(lists: &WeightedLists, fixed: &[u32], labels: &[Option<u32>]) -> bool {
    (0u32..).zip(lists).filter(|(v, _)| !fixed.contains(v)).all(|(v, list)| {
        let sums = around(list, labels);
        let most = sums.values().copied().fold(0.0, f64::max);
        let own = labels[v as usize].and_then(|label| sums.get(&label)).copied();
        sums.is_empty() || own == Some(most)
    })
}
