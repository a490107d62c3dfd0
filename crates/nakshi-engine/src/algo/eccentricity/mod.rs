//! Eccentricities.
//!
//! F. Takes, W. Kosters, "Computing the eccentricity distribution of large graphs", Algorithms 6
//! (2013): searches from few vertices bound the eccentricities of all ([`bounds`]), and a vertex is
//! searched from only while its bounds differ. Components are searched at the same time. State: 28
//! bytes a vertex, and sets of vertices; what the components need comes before.

pub(super) mod bounds;

use super::wcc::Wcc;
use super::{Algorithm, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{Bitmap, VertexSet};
use bounds::{Bounds, Goal};
use nakshi_store::{Direction, VertexId};

algorithm! {
    /// Eccentricity: edges between a vertex and the vertex of its component that is farthest away.
    #[derive(Eq)]
    pub struct Eccentricity = "eccentricity" {
        /// Vertices whose eccentricity is wanted. By default all are.
        pub sources: Vec<VertexId> = Vec::new() => Parameter::VERTICES;
        /// Follow edges both ways. Otherwise paths follow their direction, and the graph must be
        /// strongly connected.
        pub ignore_direction: bool = true => Parameter::FLAG.off_by("directed");
    }
    citation: "F. Takes, W. Kosters, \"Computing the eccentricity distribution of large graphs\", \
        Algorithms 6 (2013)";
    columns: &[
        Output::new("eccentricity", "uint32", "edges of the longest shortest path from the vertex; missing \
            at vertices other than the sources"),
    ];
    summary: &[
        Output::new("largest", "uint64", "the largest of them"),
        Output::new("smallest", "uint64", "the smallest of them"),
        Output::new("searches", "uint64", "searches that were run"),
    ];
}

/// Eccentricities in internal order.
#[derive(Debug, Clone, Default)]
pub struct Eccentricities {
    /// The eccentricity of each vertex; meaningful where `known`.
    pub values: Vec<u32>,
    /// Vertices that were asked for.
    pub known: Bitmap,
    /// Searches that were run.
    pub searches: u32,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Eccentricities> for Outcome {
    fn from(found: Eccentricities) -> Self {
        let values = || found.known.iter().filter_map(|v| found.values.get(v)).copied();
        let (largest, smallest) = (values().max().unwrap_or(0), values().min().unwrap_or(0));
        let column = Column::with_valid("eccentricity", Values::U32(found.values), found.known);
        Outcome::of(vec![column], found.stats)
            .with_summary("largest", largest)
            .with_summary("smallest", smallest)
            .with_summary("searches", found.searches)
    }
}

/// Memory and lists that [`Bounds`] need.
pub(super) fn needs(summary: &Summary) -> Needs {
    let components = Wcc::default().needs(summary);
    Needs {
        state_bytes_per_vertex: components.state_bytes_per_vertex.max(bounds::BYTES),
        directions: vec![Direction::Out, Direction::In],
        repeats: true,
        ..components
    }
}

impl Algorithm for Eccentricity {
    type Output = Eccentricities;

    fn needs(&self, summary: &Summary) -> Needs {
        needs(summary)
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Eccentricities> {
        let n = graph.num_vertices();
        let mut wanted = VertexSet::new(n);
        for &source in &self.sources {
            if source as usize >= n {
                return Err(Error::UnknownVertex { id: source.to_string() });
            }
            wanted.insert(source);
        }
        if self.sources.is_empty() {
            wanted = VertexSet::full(n);
        }
        let known = wanted.bits().clone();
        let both = self.ignore_direction || !graph.directed();
        let (mut bounds, mut stats) = Bounds::new(graph, wanted, both, cx)?;
        let mut log = IterationLog::new(graph);
        bounds.tighten(Goal::All, &mut log)?;
        stats.append(log.finish());
        let (values, searches) = (bounds.lower, bounds.searches);
        Ok(Eccentricities { values, known, searches, stats })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{apsp as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn equals_all_pairs(sample in sample::graphs(40, 80), some in 0usize..4) {
            let distance = oracle::all_pairs(&sample.undirected());
            let sources: Vec<u32> = (0..some as u32).map(|i| 7 * i % sample.n as u32).collect();
            let wanted = |v: usize| sources.is_empty() || sources.contains(&(v as u32));
            let far = |v: usize| wanted(v).then(|| distance[v].iter().flatten().max().copied()).flatten();
            let expected: Vec<Option<u32>> = (0..sample.n).map(far).collect();
            sample.compare(&expected, |graph, cx| {
                let config = Eccentricity { sources: sources.clone(), ignore_direction: true };
                let found = config.run(graph, cx).unwrap();
                (0..sample.n).map(|v| found.known.get(v).then(|| found.values[v])).collect()
            })?;
        }

        /// A cycle through all vertices makes the graph strongly connected.
        #[test]
        fn equals_all_directed_pairs(sample in sample::graphs(30, 60)) {
            let n = sample.n as u32;
            let mut edges = sample.edges.clone();
            edges.extend((0..n).map(|v| (v, (v + 1) % n)));
            let sample = sample::Sample { edges, directed: true, ..sample };
            let distance = oracle::all_pairs(&sample.adjacency());
            let expected: Vec<u32> =
                distance.iter().map(|row| row.iter().flatten().max().copied().unwrap()).collect();
            sample.compare(&expected, |graph, cx| {
                let config = Eccentricity { ignore_direction: false, ..Eccentricity::default() };
                config.run(graph, cx).unwrap().values
            })?;
        }
    }

    #[test]
    fn directed_paths_that_are_missing_are_told() {
        let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], true, None).unwrap();
        let config = Eccentricity { ignore_direction: false, ..Eccentricity::default() };
        let error = config.run(&graph, &Context::new()).unwrap_err();
        assert!(error.to_string().contains("3 strongly connected components"), "{error}");
    }
}
