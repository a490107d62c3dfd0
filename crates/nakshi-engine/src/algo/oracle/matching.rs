//! Matching by one sorted list of edges, instead of by proposals.

use crate::program::pull::mixed;

/// The partner of each vertex if edges are taken greedily, the heaviest first; weights are by chance.
pub fn partners(lists: &[Vec<u32>]) -> Vec<Option<u32>> {
    let pairs = (0u32..).zip(lists).flat_map(|(u, list)| list.iter().map(move |&v| (u, v)));
    let apart = pairs.filter(|(u, v)| u != v).map(|(u, v)| (u.min(v), u.max(v)));
    let mut edges: Vec<_> =
        apart.map(|(u, v)| (mixed(u64::from(u) << 32 | u64::from(v)), u, v)).collect();
    edges.sort_unstable();
    let mut partners = vec![None; lists.len()];
    for (_, u, v) in edges.into_iter().rev() {
        if partners[u as usize].is_none() && partners[v as usize].is_none() {
            partners[u as usize] = Some(v);
            partners[v as usize] = Some(u);
        }
    }
    partners
}

/// The partner of each vertex, and the weight of all pairs, if the edges above 0 are taken by their weights
/// and, of equal ones, by `order`, the largest first.
pub fn heaviest_first(
    n: usize,
    edges: &[(u32, u32, f64)],
    order: impl Fn(u32, u32) -> u64,
) -> (Vec<Option<u32>>, f64) {
    let mut edges: Vec<_> = edges.iter().filter(|(u, v, w)| u != v && *w > 0.0).collect();
    edges.sort_by(|a, b| b.2.total_cmp(&a.2).then(order(b.0, b.1).cmp(&order(a.0, a.1))));
    let (mut partners, mut sum) = (vec![None; n], 0.0);
    for &&(u, v, weight) in &edges {
        if partners[u as usize].is_none() && partners[v as usize].is_none() {
            partners[u as usize] = Some(v);
            partners[v as usize] = Some(u);
            sum += weight;
        }
    }
    (partners, sum)
}

/// The largest weight of a matching, by trying all of them. For tests.
pub fn largest_weight(n: usize, edges: &[(u32, u32, f64)]) -> f64 {
    fn most(taken: &mut [bool], edges: &[(u32, u32, f64)]) -> f64 {
        let Some((&(u, v, weight), rest)) = edges.split_first() else { return 0.0 };
        let without = most(taken, rest);
        if u == v || taken[u as usize] || taken[v as usize] {
            return without;
        }
        (taken[u as usize], taken[v as usize]) = (true, true);
        let with = weight + most(taken, rest);
        (taken[u as usize], taken[v as usize]) = (false, false);
        with.max(without)
    }
    most(&mut vec![false; n], edges)
}
