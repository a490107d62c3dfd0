//! Rich-club coefficients: how densely vertices of large degree are joined to each other.
//!
//! S. Zhou, R. Mondragón, "The rich-club phenomenon in the Internet topology", IEEE Communications Letters 8
//! (2004).
//!
//! An edge counts at its end of smaller degree; sums over degrees, from the largest down, then have the edges
//! inside each club. State: the degree, its place among the different degrees, and the coefficient, 16 bytes
//! a vertex, and 32 bytes for each different degree.

use super::degrees::counted;
use super::{Algorithm, Output, algorithm};
use crate::both::{self, both_lists, each_neighbor};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::shared::{share_u32, share_u64, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::Direction;
use std::sync::atomic::Ordering::Relaxed;

algorithm! {
    /// Rich-club coefficients: of the pairs of vertices with more than k neighbours, the share that is joined.
    ///
    /// The direction of edges is ignored, edges between the same vertices are one, and self-loops never
    /// count. The coefficients are not normalised by those of random graphs.
    #[derive(Eq)]
    pub struct RichClub = "rich-club" {}
    method: "rich_club";
    citation: "S. Zhou, R. Mondragón, \"The rich-club phenomenon in the Internet topology\", IEEE \
        Communications Letters 8 (2004)";
    columns: &[
        Output::new("degree", "uint32", "number of neighbours"),
        Output::new("rich_club", "float64", "the coefficient for k = degree; missing if fewer than two \
            vertices have more neighbours"),
    ];
    summary: &[
        Output::new("density", "float64", "share of all pairs of vertices that is joined, which is the \
            coefficient for every k below the smallest degree; missing without pairs"),
    ];
}

/// Coefficients in internal order.
#[derive(Debug, Clone, Default)]
pub struct RichClubs {
    /// Number of neighbours of each vertex.
    pub degrees: Vec<u32>,
    /// The coefficient for the degree of each vertex; meaningful where `there`.
    pub coefficients: Vec<f64>,
    /// Vertices of a smaller degree than two others have.
    pub there: Bitmap,
    /// Share of all pairs of vertices that is joined; `None` without pairs.
    pub density: Option<f64>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<RichClubs> for Outcome {
    fn from(found: RichClubs) -> Self {
        let RichClubs { degrees, coefficients, there, density, stats } = found;
        let columns = vec![
            Column::new("degree", Values::U32(degrees)),
            Column::with_valid("rich_club", Values::F64(coefficients), there),
        ];
        Outcome::of(columns, stats).with_summary("density", density)
    }
}

impl Algorithm for RichClub {
    type Output = RichClubs;

    fn needs(&self, summary: &Summary) -> Needs {
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        let mut needs = Needs::new(16.0 + 0.25, directions);
        let both = if summary.directed { both::state_bytes(summary.longest_list) } else { 0 };
        // Different degrees are at most as many as the root of the sum of all of them.
        let degrees = 64 * (4 * summary.arcs).isqrt();
        needs.state_bytes_fixed = 8 * summary.longest_list + both + degrees;
        needs
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<RichClubs> {
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let degrees = degrees(graph, cx)?;
        log.end("degrees", n as u64);
        let counts = counted(&degrees, cx)?;
        let mut levels = zeroed::<u32>(n, "degrees")?;
        for (level, &degree) in levels.iter_mut().zip(&degrees) {
            let place = counts.partition_point(|(other, _)| *other < u64::from(degree));
            // There are at most as many different degrees as vertices, of which there are 2^32.
            *level = place as u32;
        }
        let edges = edges(graph, &levels, counts.len(), cx)?;
        log.end("edges", n as u64);
        let mut by_level = vec![None; counts.len()];
        let (mut members, mut inside) = (0, 0);
        for ((slot, (_, vertices)), edges) in by_level.iter_mut().zip(&counts).zip(&edges).rev() {
            *slot = share(inside, members);
            members += vertices;
            inside += edges;
        }
        let mut coefficients = zeroed::<f64>(n, "coefficients")?;
        let mut there = Bitmap::new(n);
        for (v, (slot, &level)) in coefficients.iter_mut().zip(&levels).enumerate() {
            if let Some(Some(value)) = by_level.get(level as usize) {
                *slot = *value;
                there.set(v);
            }
        }
        let density = share(inside, members);
        Ok(RichClubs { degrees, coefficients, there, density, stats: log.finish() })
    }
}

/// Edges over the pairs of so many vertices.
fn share(edges: u64, vertices: u64) -> Option<f64> {
    // There are at most 2^32 vertices.
    let pairs = vertices.saturating_mul(vertices.saturating_sub(1));
    (pairs > 0).then(|| 2.0 * edges as f64 / pairs as f64)
}

/// Neighbours of each vertex, in any direction.
fn degrees(graph: &Graph, cx: &Context) -> Result<Vec<u32>> {
    let mut degrees = zeroed::<u32>(graph.num_vertices(), "degrees")?;
    let shared = share_u32(&mut degrees);
    let all = VertexSet::full(graph.num_vertices());
    both_lists(
        graph,
        &all,
        cx,
        |_| (),
        |(), v, out, incoming| {
            let mut degree = 0;
            each_neighbor(v, out, incoming, |_, _, _| degree += 1);
            if let Some(slot) = shared.get(v as usize) {
                slot.store(degree, Relaxed);
            }
            Ok(())
        },
    )?;
    Ok(degrees)
}

/// Edges by the smaller level of their ends.
fn edges(graph: &Graph, levels: &[u32], count: usize, cx: &Context) -> Result<Vec<u64>> {
    let mut edges = zeroed::<u64>(count, "edges by degree")?;
    let shared = share_u64(&mut edges);
    let level = |v: u32| levels.get(v as usize).copied().unwrap_or(0);
    let all = VertexSet::full(graph.num_vertices());
    both_lists(
        graph,
        &all,
        cx,
        |_| (),
        |(), v, out, incoming| {
            let (own, mut larger) = (level(v), 0);
            each_neighbor(v, out, incoming, |u, _, _| {
                larger += u64::from((level(u), u) > (own, v));
            });
            if let Some(slot) = shared.get(own as usize) {
                slot.fetch_add(larger, Relaxed);
            }
            Ok(())
        },
    )?;
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{rich_club as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_the_count_of_pairs(sample in sample::graphs(30, 200)) {
            let expected = oracle::coefficients(&sample.adjacency());
            sample.compare(&expected, |graph, cx| {
                let found = RichClub {}.run(graph, cx).unwrap();
                let of = |v: usize| found.there.get(v).then(|| found.coefficients[v]);
                found.degrees.iter().enumerate().map(|(v, &degree)| (degree, of(v))).collect()
            })?;
        }
    }

    #[test]
    fn small_graphs() {
        let run = |n: usize, edges: &[(u32, u32)]| {
            let graph = Graph::from_edges(n, edges, false, None).unwrap();
            RichClub {}.run(&graph, &Context::new()).unwrap()
        };
        assert_eq!((run(0, &[]).density, run(1, &[(0, 0)]).density), (None, None));
        let star = run(4, &[(0, 1), (0, 2), (0, 3), (1, 2)]);
        assert_eq!(star.density, Some(4.0 / 6.0));
        assert_eq!((star.degrees, star.coefficients[3]), (vec![3, 2, 2, 1], 1.0));
        assert!(!star.there.get(0) && !star.there.get(1) && star.there.get(3));
    }
}
