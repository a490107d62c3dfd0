//! Synthetic graphs of any size: seeded, streaming, the same for any number of threads.
//!
//! - [`Kronecker`]: the Graph500 generator
//! - [`PowerLaw`]: degrees with a chosen exponent
//! - [`LogNormal`]: the graphs of LFGraph, section 4.4
//! - [`Hyperbolic`]: clusters and locality, as real networks have them
//! - [`Grid`]: grids and paths, on which searches are deep
//! - [`write_tables`]: properties for their vertices and edges, with [`NodeTexts`] that repeat or not
//! - [`Generator`]: the interface of all generators; [`write()`] makes an edge list in text
//!
//! Every edge is computed from the seed and its number, that of a [`Hyperbolic`] graph from its points as well.
//! Nothing else has to be kept in memory, and any thread can make any piece. [`crate::import::Input::Generated`] feeds the importer.

mod attributes;
mod grid;
mod hyperbolic;
mod kronecker;
mod log_normal;
mod power_law;
mod random;
mod text;

pub use attributes::{NodeTexts, write_tables};
pub use grid::Grid;
pub use hyperbolic::Hyperbolic;
pub use kronecker::Kronecker;
pub use log_normal::LogNormal;
pub use power_law::PowerLaw;
pub use text::{affordable_threads, write};

/// Approximate number of edges in a piece.
const PIECE: u64 = 32 << 10;

/// A graph that is computed piece by piece.
pub trait Generator: Send + Sync {
    /// Returns the number of pieces.
    fn pieces(&self) -> u64;

    /// Appends the edges of a piece, counted from 0: `[source, target]`.
    fn piece(&self, number: u64, edges: &mut Vec<[u64; 2]>);

    /// Returns the approximate number of edges of all pieces.
    fn expected_edges(&self) -> u64;

    /// Returns the bytes that are kept while pieces are made.
    fn memory(&self) -> u64 {
        0
    }
}

/// Returns all edges of a generator, in order.
pub fn edges<G: Generator + ?Sized>(generator: &G) -> impl Iterator<Item = [u64; 2]> + '_ {
    (0..generator.pieces()).flat_map(|number| {
        let mut edges = Vec::new();
        generator.piece(number, &mut edges);
        edges
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn degrees(generator: &dyn Generator, end: usize) -> HashMap<u64, u64> {
        let mut degrees = HashMap::new();
        edges(generator).for_each(|edge| *degrees.entry(edge[end]).or_default() += 1);
        degrees
    }

    #[test]
    fn seeds_decide() {
        let of = |seed| edges(&Kronecker { seed, ..Kronecker::new(10) }).collect::<Vec<_>>();
        assert_eq!(of(1).len(), 16 << 10);
        assert!(of(1) == of(1) && of(1) != of(2));
    }

    #[test]
    fn kronecker_graphs_have_hubs() {
        let graph = Kronecker::new(14);
        let degrees = degrees(&graph, 0);
        let most = degrees.values().max().copied().unwrap_or(0);
        // 2^14 vertices with 16 edges each on average: the largest hub has hundreds, and many
        // vertices have none.
        assert!(most > 500 && degrees.len() < 13_000, "{most} {}", degrees.len());
        assert!(edges(&graph).all(|[s, t]| s < 1 << 14 && t < 1 << 14));
    }

    #[test]
    fn power_laws_have_their_exponent() {
        let graph = PowerLaw { vertices: 200_000, edges: 2_000_000, exponent: 2.5, seed: 3 };
        let degrees = degrees(&graph, 1);
        // The number of vertices above a degree falls with exponent 1 less.
        let above = |limit: u64| degrees.values().filter(|&&d| d >= limit).count() as f64;
        let slope = (above(40) / above(640)).ln() / 16_f64.ln();
        assert!((slope - 1.5).abs() < 0.15, "{slope}");
    }

    #[test]
    fn log_normal_graphs_follow_their_parameters() {
        let graph = LogNormal::new(4000);
        let into = degrees(&graph, 1);
        assert!(into.values().all(|&d| d <= 128));
        let mut out: Vec<u64> = degrees(&graph, 0).into_values().collect();
        out.sort_unstable();
        // The spread of the logarithm is sigma, by the quartiles.
        let quartile = |part: usize| (out[out.len() * part / 4] as f64).ln();
        let sigma = (quartile(3) - quartile(1)) / 1.349;
        assert!((sigma - 1.3).abs() < 0.15, "{sigma}");
    }

    #[test]
    fn grids_have_their_rows_and_columns() {
        for (vertices, width) in [(1, 1), (7, 7), (12, 4), (14, 4), (5, 1), (3, 9)] {
            let grid = Grid { vertices, width, shuffle: None };
            let near = |[a, b]: [u64; 2]| {
                (b == a + 1 && a / width == b / width) || (b == a + width && b < vertices)
            };
            let found: Vec<_> = edges(&grid).collect();
            assert!(found.iter().all(|edge| near(*edge)), "{found:?}");
            assert_eq!(found.len() as u64, grid.expected_edges(), "{vertices} by {width}");
            let shuffled = Grid { shuffle: Some(3), ..grid };
            let degrees = |grid: &Grid| {
                let mut all = [degrees(grid, 0), degrees(grid, 1)].map(HashMap::into_values);
                let mut counts: Vec<u64> = all.iter_mut().flatten().collect();
                counts.sort_unstable();
                counts
            };
            assert_eq!(degrees(&shuffled), degrees(&Grid { shuffle: None, ..shuffled.clone() }));
        }
        assert_eq!((Grid::square(10).width, Grid::square(9).width, Grid::path(9).width), (4, 3, 9));
    }
}
