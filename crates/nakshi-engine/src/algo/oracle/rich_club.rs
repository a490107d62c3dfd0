//! Rich-club coefficients by counting the pairs of the vertices of larger degree.

use super::triangles::matrix;

/// Degree of each vertex, and the share of the pairs of vertices of larger degree that an edge joins; `None`
/// without pairs. The direction of edges is ignored. O(n^3): for tests.
pub fn coefficients(adjacency: &[Vec<u32>]) -> Vec<(u32, Option<f64>)> {
    let arcs = matrix(adjacency);
    let n = arcs.len();
    let edge = |u: usize, v: usize| arcs[u][v] || arcs[v][u];
    let degrees: Vec<usize> = (0..n).map(|u| (0..n).filter(|&v| edge(u, v)).count()).collect();
    let of = |&degree: &usize| {
        let club: Vec<usize> = (0..n).filter(|&v| degrees[v] > degree).collect();
        let pairs =
            || club.iter().enumerate().flat_map(|(at, &u)| club[..at].iter().map(move |&v| (u, v)));
        let joined = pairs().filter(|&(u, v)| edge(u, v)).count();
        (degree as u32, (club.len() > 1).then(|| joined as f64 / pairs().count() as f64))
    };
    degrees.iter().map(of).collect()
}
