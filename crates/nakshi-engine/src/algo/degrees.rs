//! Degrees of all vertices, from the index: no edge list is read.
//!
//! Definition: P. Erdős, T. Gallai, "Graphs with prescribed degrees of vertices", Mat. Lapok 11 (1960).
//! State: 8 bytes a vertex for the result and 4 for the degrees of one direction.

use super::{Algorithm, Output, Parameter, algorithm, choices};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::BLOCK;
use crate::stats::{IterationLog, RunStats};
use nakshi_store::Direction;
use std::collections::BTreeMap;

algorithm! {
    /// Number of edges at each vertex; a self-loop of an undirected graph counts once.
    #[derive(Eq)]
    pub struct Degrees = "degrees" {
        /// Edges that count; of no meaning in an undirected graph.
        pub direction: Counted = Counted::Both => Parameter::choice(Counted::CHOICES);
    }
    citation: "P. Erdős, T. Gallai, \"Graphs with prescribed degrees of vertices\", Mat. Lapok 11 (1960)";
    columns: &[Output::new("degree", "uint64", "number of edges at the vertex")];
    summary: &[
        Output::new("max_degree", "uint64", "the largest degree"),
        Output::new("mean_degree", "float64", "mean over all vertices"),
        Output::new("isolated", "uint64", "vertices of degree 0"),
    ];
}

choices! {
    /// Edges that count for a degree.
    pub enum Counted {
        /// edges from and to the vertex
        Both = "both",
        /// edges from the vertex
        Out = "out",
        /// edges to the vertex
        In = "in",
    }
}

/// Result of [`Degrees`].
#[derive(Debug, Clone, Default)]
pub struct VertexDegrees {
    /// Degree of each vertex, in internal order.
    pub degrees: Vec<u64>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<VertexDegrees> for Outcome {
    fn from(found: VertexDegrees) -> Self {
        let most = found.degrees.iter().max().copied().unwrap_or(0);
        let isolated = found.degrees.iter().filter(|degree| **degree == 0).count() as u64;
        let sum: u64 = found.degrees.iter().sum();
        // Sums of degrees are far below 2^53.
        let mean = sum as f64 / found.degrees.len().max(1) as f64;
        Outcome::of(vec![Column::new("degree", Values::U64(found.degrees))], found.stats)
            .with_summary("max_degree", most)
            .with_summary("mean_degree", mean)
            .with_summary("isolated", isolated)
    }
}

impl Algorithm for Degrees {
    type Output = VertexDegrees;

    fn needs(&self, _summary: &Summary) -> Needs {
        Needs::new(12.0, &[])
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<VertexDegrees> {
        let mut log = IterationLog::new(graph);
        let directions: &[Direction] = match self.direction {
            _ if !graph.directed() => &[Direction::Out],
            Counted::Out => &[Direction::Out],
            Counted::In => &[Direction::In],
            Counted::Both => &[Direction::Out, Direction::In],
        };
        let mut degrees = vec![0_u64; graph.num_vertices()];
        for direction in directions {
            let of = graph.degrees(*direction, cx)?;
            degrees.iter_mut().zip(of).for_each(|(sum, degree)| *sum += u64::from(degree));
        }
        log.end("degrees", degrees.len() as u64);
        Ok(VertexDegrees { degrees, stats: log.finish() })
    }
}

/// The different degrees, ascending, with the vertices that have them.
pub(super) fn counted<T: Copy + Into<u64>>(degrees: &[T], cx: &Context) -> Result<Vec<(u64, u64)>> {
    let mut counts = BTreeMap::new();
    // Small degrees are counted without a search.
    let mut small = vec![0u64; 1 << 12];
    for block in degrees.chunks(BLOCK) {
        cx.check()?;
        for &degree in block {
            let degree = degree.into();
            match usize::try_from(degree).ok().and_then(|at| small.get_mut(at)) {
                Some(count) => *count += 1,
                None => *counts.entry(degree).or_insert(0) += 1,
            }
        }
    }
    Ok((0..).zip(small).filter(|(_, count)| *count > 0).chain(counts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{degrees as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn equals_the_count_of_list_entries(sample in sample::graphs(40, 200)) {
            for (graph, cx) in sample.settings() {
                for direction in [Counted::Both, Counted::Out, Counted::In] {
                    let found = Degrees { direction }.run(&graph, &cx).unwrap();
                    let (out, into) = match direction {
                        _ if !sample.directed => (true, false),
                        Counted::Both => (true, true),
                        Counted::Out => (true, false),
                        Counted::In => (false, true),
                    };
                    prop_assert_eq!(found.degrees, oracle::degrees(&sample.adjacency(), out, into));
                }
            }
        }
    }
}
