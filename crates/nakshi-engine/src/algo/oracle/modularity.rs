//! Modularity by its definition, and connected communities by search.

/// The dense matrix of an undirected graph from its arcs with weights. An undirected edge is there in both
/// directions, a self-loop once; both then count twice, as each arc of a directed graph does.
pub fn matrix(n: usize, arcs: &[(u32, u32, f64)], directed: bool) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![0.0; n]; n];
    for &(u, v, weight) in arcs {
        rows[u as usize][v as usize] += weight;
        if directed || u == v {
            rows[v as usize][u as usize] += weight;
        }
    }
    rows
}

/// Modularity of communities: over all pairs in the same one, the weight between them less the weight
/// expected, over all weight. 0 without edges.
pub fn modularity(matrix: &[Vec<f64>], communities: &[u32], resolution: f64) -> f64 {
    let strengths: Vec<f64> = matrix.iter().map(|row| row.iter().sum()).collect();
    let all: f64 = strengths.iter().sum();
    if all == 0.0 {
        return 0.0;
    }
    let mut sum = 0.0;
    for (i, row) in matrix.iter().enumerate() {
        for (j, weight) in row.iter().enumerate() {
            if communities[i] == communities[j] {
                sum += weight - resolution * strengths[i] * strengths[j] / all;
            }
        }
    }
    sum / all
}

/// True if every community is connected by edges inside it.
pub fn connected(matrix: &[Vec<f64>], communities: &[u32]) -> bool {
    let n = matrix.len();
    let mut seen = vec![false; n];
    let mut starts = std::collections::BTreeSet::new();
    for start in 0..n {
        if seen[start] {
            continue;
        }
        if !starts.insert(communities[start]) {
            return false;
        }
        let mut waiting = vec![start];
        while let Some(v) = waiting.pop() {
            if std::mem::replace(&mut seen[v], true) {
                continue;
            }
            let near = |&u: &usize| matrix[v][u] > 0.0 && communities[u] == communities[v];
            waiting.extend((0..n).filter(near));
        }
    }
    true
}
