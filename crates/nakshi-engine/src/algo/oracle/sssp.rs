//! Bellman and Ford's relaxation over a plain list of arcs: no buckets, no order.

/// Distances from `source` over `(from, to, weight)` arcs; infinite if unreachable.
/// O(n m): for tests.
pub fn distances(n: usize, arcs: &[(u32, u32, f64)], source: u32) -> Vec<f64> {
    let mut distance = vec![f64::INFINITY; n];
    if let Some(d) = distance.get_mut(source as usize) {
        *d = 0.0;
    }
    for _ in 0..n {
        let mut changed = false;
        for &(u, v, w) in arcs {
            let over = distance.get(u as usize).map_or(f64::INFINITY, |d| d + w);
            if let Some(d) = distance.get_mut(v as usize)
                && over < *d
            {
                *d = over;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    distance
}
