//! One-hot graph encoder embedding as a product of dense matrices.

/// The product of the adjacency matrix without direction and the matrix of classes, each column of which is
/// divided by the number of its vertices. Arcs of an undirected graph go both ways. O(n^2 k): for tests.
pub fn embedding(
    n: usize,
    arcs: &[(u32, u32, f64)],
    directed: bool,
    classes: &[Option<usize>],
    laplacian: bool,
) -> Vec<Vec<f64>> {
    let mut matrix = vec![vec![0.0; n]; n];
    for &(u, v, weight) in arcs {
        matrix[u as usize][v as usize] += weight;
        if directed && u != v {
            matrix[v as usize][u as usize] += weight;
        }
    }
    if laplacian {
        let sums: Vec<f64> = matrix.iter().map(|row| row.iter().sum()).collect();
        for (row, own) in matrix.iter_mut().zip(&sums) {
            for (entry, other) in row.iter_mut().zip(&sums) {
                *entry = if own * other > 0.0 { *entry / (own * other).sqrt() } else { 0.0 };
            }
        }
    }
    let width = classes.iter().flatten().max().map_or(0, |most| most + 1);
    let size = |class: usize| classes.iter().filter(|other| **other == Some(class)).count();
    let entry = |row: &[f64], class: usize| -> f64 {
        let inside = row.iter().zip(classes).filter(|(_, other)| **other == Some(class));
        inside.map(|(weight, _)| weight / size(class) as f64).sum()
    };
    matrix.iter().map(|row| (0..width).map(|class| entry(row, class)).collect()).collect()
}
