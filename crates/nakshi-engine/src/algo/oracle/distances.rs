//! Distances between all pairs by relaxing every edge over and over, and what follows from them.

/// `distances[u][v]` in edges; `None` without a path.
pub fn distances(lists: &[Vec<u32>]) -> Vec<Vec<Option<u32>>> {
    let n = lists.len();
    let search = |start: usize| {
        let mut found = vec![None; n];
        found[start] = Some(0);
        for _ in 0..n {
            for (u, list) in lists.iter().enumerate() {
                let Some(far) = found[u] else { continue };
                for &v in list {
                    let here = &mut found[v as usize];
                    if here.is_none_or(|known| known > far + 1) {
                        *here = Some(far + 1);
                    }
                }
            }
        }
        found
    };
    (0..n).map(search).collect()
}

/// The distances to a vertex from all others that have a path.
fn to(distances: &[Vec<Option<u32>>], v: usize) -> Vec<f64> {
    let from = distances.iter().enumerate().filter(|(u, _)| *u != v);
    from.filter_map(|(_, row)| row[v]).map(f64::from).collect()
}

/// Harmonic centrality.
pub fn harmonic(distances: &[Vec<Option<u32>>]) -> Vec<f64> {
    (0..distances.len()).map(|v| to(distances, v).iter().map(|d| 1.0 / d).sum()).collect()
}

/// Closeness centrality, `improved` by Wasserman and Faust.
pub fn closeness(distances: &[Vec<Option<u32>>], improved: bool) -> Vec<f64> {
    let n = distances.len();
    let score = |v| {
        let all = to(distances, v);
        let count = all.len() as f64;
        let share = if improved { count / (n as f64 - 1.0) } else { 1.0 };
        if all.is_empty() { 0.0 } else { count / all.iter().sum::<f64>() * share }
    };
    (0..n).map(score).collect()
}

/// Pairs within each distance.
pub fn function(distances: &[Vec<Option<u32>>]) -> Vec<f64> {
    let all = || distances.iter().flatten().flatten();
    let most = all().max().copied().unwrap_or(0);
    (0..=most).map(|far| all().filter(|distance| **distance <= far).count() as f64).collect()
}
