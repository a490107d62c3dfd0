//! Centralities that are solutions of linear equations or eigenvectors, with dense matrices: by
//! elimination, and by squaring.

/// A dense matrix by rows; row `v` has a 1 for each in-neighbour of `v`.
pub fn matrix(arcs: &[(u32, u32)], n: usize) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![0.0; n]; n];
    arcs.iter().for_each(|&(u, v)| rows[v as usize][u as usize] = 1.0);
    rows
}

/// The solution of a system of linear equations, by elimination with the largest pivot.
fn solve(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let n = right.len();
    for k in 0..n {
        let size = |i: &usize| rows[*i][k].abs();
        let pivot = (k..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(k);
        rows.swap(k, pivot);
        right.swap(k, pivot);
        let (chosen, value) = (rows[k].clone(), right[k]);
        for (i, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k] / chosen[k];
            row.iter_mut().zip(&chosen).skip(k).for_each(|(a, b)| *a -= factor * b);
            right[i] -= factor * value;
        }
    }
    (0..n).map(|k| right[k] / rows[k][k]).collect()
}

fn euclid(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Katz centrality: the solution of (I - alpha A) x = beta.
pub fn katz(matrix: &[Vec<f64>], alpha: f64, beta: f64, normalized: bool) -> Vec<f64> {
    let mut rows: Vec<Vec<f64>> =
        matrix.iter().map(|row| row.iter().map(|a| -alpha * a).collect()).collect();
    (0..rows.len()).for_each(|v| rows[v][v] += 1.0);
    let scores = solve(rows, vec![beta; matrix.len()]);
    let scale = if normalized { euclid(&scores) } else { 1.0 };
    scores.iter().map(|score| score / scale).collect()
}

/// Personalised PageRank: x = damping (M x + the dangling part at the sources) + the restarts.
pub fn personalized_pagerank(lists: &[Vec<u32>], sources: &[u32], damping: f64) -> Vec<f64> {
    let n = lists.len();
    let mut restart = vec![0.0; n];
    sources.iter().for_each(|&s| restart[s as usize] = 1.0);
    let count: f64 = restart.iter().sum();
    restart.iter_mut().for_each(|part| *part /= count);
    let mut rows = vec![vec![0.0; n]; n];
    for (u, list) in lists.iter().enumerate() {
        for &v in list {
            rows[v as usize][u] -= damping / list.len() as f64;
        }
        if list.is_empty() {
            (0..n).for_each(|v| rows[v][u] -= damping * restart[v]);
        }
        rows[u][u] += 1.0;
    }
    solve(rows, restart.iter().map(|part| (1.0 - damping) * part).collect())
}

/// ArticleRank over `(from, to, weight)` arcs: x = (1 - damping) + damping M x, where M divides by the sum
/// of the weights of a vertex and the mean of these sums.
pub fn article_rank(arcs: &[(u32, u32, f64)], n: usize, damping: f64) -> Vec<f64> {
    let mut given = vec![0.0; n];
    arcs.iter().for_each(|&(u, _, weight)| given[u as usize] += weight);
    let mean = given.iter().sum::<f64>() / n as f64;
    let mut rows = vec![vec![0.0; n]; n];
    (0..n).for_each(|v| rows[v][v] = 1.0);
    for &(u, v, weight) in arcs {
        rows[v as usize][u as usize] -= damping * weight / (given[u as usize] + mean);
    }
    solve(rows, vec![1.0 - damping; n])
}

/// The first column of a high power of a matrix, each squaring scaled to entries of at most 1, applied
/// to a vector of ones.
fn power(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
    let n = matrix.len();
    for _ in 0..40 {
        let mut square = vec![vec![0.0; n]; n];
        for (row, sums) in matrix.iter().zip(&mut square) {
            for (a, other) in row.iter().zip(&matrix) {
                sums.iter_mut().zip(other).for_each(|(sum, b)| *sum += a * b);
            }
        }
        let most = square.iter().flatten().fold(0.0, |most: f64, &a| most.max(a));
        if most > 0.0 {
            square.iter_mut().flatten().for_each(|a| *a /= most);
        }
        matrix = square;
    }
    matrix.iter().map(|row| row.iter().sum()).collect()
}

/// The eigenvector of the largest eigenvalue of A + I, 2-norm 1.
pub fn eigenvector(matrix: &[Vec<f64>]) -> Vec<f64> {
    let mut shifted = matrix.to_vec();
    (0..shifted.len()).for_each(|v| shifted[v][v] += 1.0);
    let scores = power(shifted);
    let scale = euclid(&scores);
    scores.iter().map(|score| score / scale).collect()
}

/// Hubs and authorities: the eigenvectors of A^T A and A A^T, each with sum 1.
pub fn hubs_and_authorities(matrix: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    let n = matrix.len();
    let (mut hubs, mut authorities) = (vec![vec![0.0; n]; n], vec![vec![0.0; n]; n]);
    for i in 0..n {
        for j in 0..n {
            hubs[i][j] = (0..n).map(|k| matrix[k][i] * matrix[k][j]).sum();
            authorities[i][j] = (0..n).map(|k| matrix[i][k] * matrix[j][k]).sum();
        }
    }
    let whole = |scores: Vec<f64>| {
        let sum: f64 = scores.iter().sum();
        scores.iter().map(|score| score / sum).collect::<Vec<_>>()
    };
    (whole(power(hubs)), whole(power(authorities)))
}
