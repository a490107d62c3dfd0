//! The largest density by trying every set of vertices.

/// Edges without self-loops; of an undirected graph, whose arcs go both ways, each once.
pub fn edges(arcs: &[(u32, u32)], directed: bool) -> Vec<(u32, u32)> {
    arcs.iter().copied().filter(|(u, v)| if directed { u != v } else { u < v }).collect()
}

/// Most edges per vertex inside a set of vertices. O(2^n m): for tests.
pub fn largest_density(n: usize, edges: &[(u32, u32)]) -> f64 {
    let density = |set: u32| {
        let inside = |v: u32| set >> v & 1 == 1;
        let count = edges.iter().filter(|(u, v)| inside(*u) && inside(*v)).count();
        count as f64 / f64::from(set.count_ones())
    };
    (1..1u32 << n).map(density).fold(0.0, f64::max)
}
