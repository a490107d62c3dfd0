//! Similar vertices by comparing all pairs.

use std::collections::BTreeSet;

/// Smallest hashes of each list; `None` for an empty one.
pub fn signatures(
    lists: &[Vec<u32>],
    count: u32,
    hash: impl Fn(u32, u32) -> u32,
) -> Vec<Option<Vec<u32>>> {
    let least = |list: &Vec<u32>, at: u32| list.iter().map(|&u| hash(at, u)).min();
    lists.iter().map(|list| (0..count).map(|at| least(list, at)).collect()).collect()
}

/// For each vertex the `k` that agree with it most, among those that agree in all hashes of a band of so
/// many rows, with the share of hashes in which they agree.
pub fn similar(
    signatures: &[Option<Vec<u32>>],
    rows: usize,
    k: usize,
    least: f64,
) -> Vec<Vec<(u32, f64)>> {
    let of = |v: usize| {
        let mut found = Vec::new();
        let Some(own) = &signatures[v] else { return found };
        for (u, other) in signatures.iter().enumerate().filter(|(u, _)| *u != v) {
            let Some(other) = other else { continue };
            let bands = own.chunks_exact(rows).zip(other.chunks_exact(rows));
            let share =
                own.iter().zip(other).filter(|(a, b)| a == b).count() as f64 / own.len() as f64;
            if bands.into_iter().any(|(a, b)| a == b) && share >= least {
                found.push((u as u32, share));
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(k);
        found
    };
    (0..signatures.len()).map(of).collect()
}

/// Elements of both lists over elements of any.
pub fn jaccard(a: &[u32], b: &[u32]) -> f64 {
    let (a, b): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}
