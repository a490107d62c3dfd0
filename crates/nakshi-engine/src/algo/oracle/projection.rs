//! Random projection with dense powers of the transition matrix.

/// The sum, over the iterations, of the weight times the rows of the power of the transition matrix times
/// the first vectors, each row scaled to length 1.
pub fn embedding(lists: &[Vec<u32>], first: &[Vec<f64>], weights: &[f64]) -> Vec<Vec<f64>> {
    let (n, width) = (lists.len(), first.first().map_or(0, Vec::len));
    let step = |u: usize, v: usize| {
        let edges = lists[u].iter().filter(|&&w| w as usize == v).count();
        edges as f64 / lists[u].len().max(1) as f64
    };
    let mut power: Vec<Vec<f64>> =
        (0..n).map(|u| (0..n).map(|v| f64::from(u8::from(u == v))).collect()).collect();
    let mut sums = vec![vec![0.0; width]; n];
    for weight in weights {
        let row = |u: usize, v: usize| (0..n).map(|w| step(u, w) * power[w][v]).sum();
        power = (0..n).map(|u| (0..n).map(|v| row(u, v)).collect()).collect();
        for u in 0..n {
            let entry = |at: usize| (0..n).map(|v| power[u][v] * first[v][at]).sum::<f64>();
            let vector: Vec<f64> = (0..width).map(entry).collect();
            let length = vector.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
            if length > 1e-6 {
                sums[u]
                    .iter_mut()
                    .zip(&vector)
                    .for_each(|(sum, entry)| *sum += weight * entry / length);
            }
        }
    }
    sums
}
