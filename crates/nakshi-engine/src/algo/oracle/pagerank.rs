//! PageRank by pushing along out-edges, all in f64.

/// Ranks after `iterations` steps from the uniform distribution.
pub fn ranks(lists: &[Vec<u32>], damping: f64, iterations: u32) -> Vec<f64> {
    let n = lists.len() as f64;
    let mut ranks = vec![1.0 / n; lists.len()];
    for _ in 0..iterations {
        let dangling: f64 =
            ranks.iter().zip(lists).filter(|(_, list)| list.is_empty()).map(|(rank, _)| rank).sum();
        let mut next = vec![(1.0 - damping + damping * dangling) / n; lists.len()];
        for (rank, list) in ranks.iter().zip(lists) {
            for &u in list {
                if let Some(slot) = next.get_mut(u as usize) {
                    *slot += damping * rank / list.len() as f64;
                }
            }
        }
        ranks = next;
    }
    ranks
}
