//! Degrees at the ends of edges, from the pairs of degrees themselves.

use std::collections::BTreeSet;

/// Degrees of sources and of targets; a self-loop of an undirected graph counts twice.
fn degrees(n: usize, arcs: &[(u32, u32)], directed: bool) -> (Vec<f64>, Vec<f64>) {
    let (mut out, mut incoming) = (vec![0.0; n], vec![0.0; n]);
    for &(u, v) in arcs {
        let weight = if !directed && u == v { 2.0 } else { 1.0 };
        out[u as usize] += weight;
        incoming[v as usize] += weight;
    }
    (out, incoming)
}

/// Degree assortativity by the deviations from the means (NaN without variance), and reciprocity.
pub fn mixing(n: usize, arcs: &[(u32, u32)], directed: bool) -> (f64, f64) {
    let (out, incoming) = degrees(n, arcs, directed);
    let pairs: Vec<(f64, f64)> =
        arcs.iter().map(|&(u, v)| (out[u as usize], incoming[v as usize])).collect();
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum()
    };
    let (xx, yy, xy) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
    let flat = xx < 1e-9 || yy < 1e-9 || pairs.is_empty();
    let set: BTreeSet<_> = arcs.iter().collect();
    let back = arcs.iter().filter(|&&(u, v)| u != v && set.contains(&(v, u))).count();
    (if flat { f64::NAN } else { xy / (xx * yy).sqrt() }, back as f64 / count)
}

/// Mean degree of the neighbours: of an out-neighbour its out-degree.
pub fn neighbor_degrees(n: usize, arcs: &[(u32, u32)], directed: bool) -> Vec<f64> {
    let (out, _) = degrees(n, arcs, directed);
    let sum = |w: usize| {
        arcs.iter().filter(|arc| arc.0 as usize == w).map(|arc| out[arc.1 as usize]).sum::<f64>()
    };
    (0..n).map(|v| if out[v] == 0.0 { 0.0 } else { sum(v) / out[v] }).collect()
}
