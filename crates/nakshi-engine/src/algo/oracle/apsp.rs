//! Floyd and Warshall's distances between all pairs: no traversal.

/// `distance[u][v]` in hops, `None` if `v` cannot be reached from `u`. O(n^3): for tests.
pub fn all_pairs(adjacency: &[Vec<u32>]) -> Vec<Vec<Option<u32>>> {
    let n = adjacency.len();
    let mut distance = vec![vec![None; n]; n];
    for (u, list) in adjacency.iter().enumerate() {
        for &v in list {
            distance[u][v as usize] = Some(1);
        }
        distance[u][u] = Some(0);
    }
    for k in 0..n {
        for u in 0..n {
            for v in 0..n {
                if let (Some(a), Some(b)) = (distance[u][k], distance[k][v])
                    && distance[u][v].is_none_or(|d| a + b < d)
                {
                    distance[u][v] = Some(a + b);
                }
            }
        }
    }
    distance
}

/// The largest finite distance.
pub fn diameter(distance: &[Vec<Option<u32>>]) -> u32 {
    distance.iter().flatten().flatten().copied().max().unwrap_or(0)
}
