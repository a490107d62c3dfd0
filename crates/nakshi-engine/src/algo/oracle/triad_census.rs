//! Triads by looking at all sets of three vertices.

use super::triangles::matrix;

/// Names of the triads, in the order of Batagelj and Mrvar.
const NAMES: [&str; 16] = [
    "003", "012", "102", "021D", "021U", "021C", "111D", "111U", "030T", "030C", "201", "120D",
    "120U", "120C", "210", "300",
];
/// Places of the names, from 1, by the code of the six arcs: the table of their paper.
const CODES: [usize; 64] = [
    1, 2, 2, 3, 2, 4, 6, 8, 2, 6, 5, 7, 3, 8, 7, 11, 2, 6, 4, 8, 5, 9, 9, 13, 6, 10, 9, 14, 7, 14,
    12, 15, 2, 5, 6, 7, 6, 9, 10, 14, 4, 9, 9, 12, 8, 13, 14, 15, 3, 7, 8, 11, 7, 12, 14, 15, 8,
    14, 13, 15, 11, 15, 15, 16,
];

/// Names and numbers of the triads. O(n^3): for tests.
pub fn triads(adjacency: &[Vec<u32>]) -> Vec<(&'static str, u128)> {
    let arcs = matrix(adjacency);
    let mut counts = [0; 16];
    for v in 0..arcs.len() {
        for u in 0..v {
            for w in 0..u {
                let pairs = [(v, u), (u, v), (v, w), (w, v), (u, w), (w, u)];
                let bits =
                    pairs.iter().enumerate().map(|(at, &(a, b))| usize::from(arcs[a][b]) << at);
                counts[CODES[bits.sum::<usize>()] - 1] += 1;
            }
        }
    }
    NAMES.into_iter().zip(counts).collect()
}
