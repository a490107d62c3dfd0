//! Longest paths in a graph without cycles.
//!
//! R. Sedgewick, K. Wayne, "Algorithms", 4th edition (2011), section 4.4: vertices are taken in
//! topological order, and each has the longest way over one of its in-neighbours, which are done. Here a
//! whole generation of [`super::topological_sort`] is taken at once; each in-list is read once.
//!
//! State: the place and the generation of each vertex, the vertices by place, the length and the vertex
//! before, 24 bytes a vertex, and sets of vertices.

use super::topological_sort::{TopologicalOrder, TopologicalSort};
use super::{Algorithm, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::gather::ListReader;
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::shared::{SharedF64, share_f64, share_u32, zeroed};
use crate::source::weights::Weights;
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::{Direction, List, VertexId};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Vertices up to which a generation is read by one thread.
const SMALL: usize = 4096;
/// Lists that are requested at once.
const BATCH: usize = 256;

algorithm! {
    /// Longest path in a graph without cycles, by the sum of the weights, and the longest to each vertex.
    ///
    /// A path may begin at any vertex, so that no length is below 0. Of several that are as long, it is the
    /// one whose vertices come first in the topological order. An undirected graph is refused, and so is
    /// one with a cycle.
    pub struct DagLongestPath = "dag-longest-path" {
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    method: "dag_longest_path";
    citation: "R. Sedgewick, K. Wayne, \"Algorithms\", 4th edition (2011), section 4.4";
    outside: &[Parameter::UNIT];
    columns: &[
        Output::new("length", "float64", "the length of the longest path that ends at the vertex"),
        Output::new("before", "vertex", "the vertex before it on that path; missing where the path begins"),
        Output::new("on_path", "bool", "true if the vertex is on the longest path of the graph"),
    ];
    summary: &[
        Output::new("length", "float64", "the length of the longest path"),
        Output::new("edges", "uint64", "edges of that path"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
        Output::new("from", "vertex", "the vertex at which it begins"),
        Output::new("to", "vertex", "the vertex at which it ends"),
    ];
    raises: "a cycle, an undirected graph, a weight that is not finite, no such column.";
}

/// Longest paths in internal order.
#[derive(Debug, Clone, Default)]
pub struct LongestPaths {
    /// The length of the longest path that ends at each vertex.
    pub lengths: Vec<f64>,
    /// The vertex before each on that path; the vertex itself where the path begins.
    pub before: Vec<VertexId>,
    /// The vertices of the longest path, from its beginning.
    pub path: Vec<VertexId>,
    /// The column with the weights; `None` if every edge weighed 1.
    pub weight: Option<String>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<LongestPaths> for Outcome {
    fn from(found: LongestPaths) -> Self {
        let n = found.lengths.len();
        let (mut inner, mut on_path) = (Bitmap::new(n), Bitmap::new(n));
        let steps = (0..).zip(&found.before).filter(|(v, before)| v != *before);
        steps.for_each(|(v, _)| inner.set(v as usize));
        found.path.iter().for_each(|&v| on_path.set(v as usize));
        let last = found.path.last().and_then(|&v| found.lengths.get(v as usize));
        let length = last.copied().unwrap_or(0.0);
        let ends = [("from", found.path.first()), ("to", found.path.last())];
        let named = |(name, end): (&str, Option<&VertexId>)| Some((name.to_owned(), *end?));
        let columns = vec![
            Column::new("length", Values::F64(found.lengths)),
            Column::with_valid("before", Values::Vertex(found.before), inner),
            Column::new("on_path", Values::Bool(on_path)),
        ];
        let mut outcome = Outcome::of(columns, found.stats)
            .with_summary("length", length)
            .with_summary("edges", found.path.len().saturating_sub(1))
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"));
        outcome.summary_vertices = ends.into_iter().filter_map(named).collect();
        outcome
    }
}

impl Algorithm for DagLongestPath {
    type Output = LongestPaths;

    fn needs(&self, summary: &Summary) -> Needs {
        let mut needs = TopologicalSort {}.needs(summary);
        // The path may have all vertices.
        needs.state_bytes_per_vertex = needs.state_bytes_per_vertex.max(24.0 + 4.0 + 0.5);
        Needs { column: self.weight.clone(), ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<LongestPaths> {
        let TopologicalOrder { order, generations, mut stats } =
            TopologicalSort {}.run(graph, cx)?;
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let mut by_place = zeroed::<u32>(n, "vertices by place")?;
        for (v, &place) in (0..).zip(&order) {
            if let Some(slot) = by_place.get_mut(place as usize) {
                *slot = v;
            }
        }
        let mut lengths = zeroed::<f64>(n, "lengths")?;
        // Internal ids are 32 bits.
        let mut before: Vec<VertexId> = (0..n as u32).collect();
        let ways = Ways {
            order: &order,
            lengths: share_f64(&mut lengths),
            before: share_u32(&mut before),
        };
        let mut reader = graph.reader(Direction::In, cx)?;
        let of = |v: &u32| generations.get(*v as usize).copied().unwrap_or(0);
        let mut done = 0;
        for members in by_place.chunk_by(|a, b| of(a) == of(b)) {
            cx.check()?;
            if members.len() <= SMALL {
                ways.small(members, &mut reader)?;
            } else {
                ways.large(graph, members, cx)?;
            }
            done += members.len();
            log.end("generation", members.len() as u64);
            cx.progress().update("dag-longest-path", done as u64, n as u64);
        }
        let path = longest(&order, &lengths, &before);
        stats.append(log.finish());
        Ok(LongestPaths { lengths, before, path, weight: self.weight.clone(), stats })
    }
}

/// The longest way to each vertex that is done.
struct Ways<'a> {
    order: &'a [u32],
    lengths: &'a [SharedF64],
    before: &'a [AtomicU32],
}

impl Ways<'_> {
    fn place(&self, v: VertexId) -> u32 {
        self.order.get(v as usize).copied().unwrap_or(0)
    }

    /// Ends the ways to vertices of one generation, by one thread.
    fn small(&self, members: &[VertexId], reader: &mut ListReader<'_>) -> Result<()> {
        for batch in members.chunks(BATCH) {
            let requests: Vec<_> = batch.iter().map(|&v| (v, 0)).collect();
            reader
                .read_weighted(&requests, &mut |_, v, list, weights| self.end(v, list, weights))?;
        }
        Ok(())
    }

    /// As [`Ways::small`], by all workers.
    fn large(&self, graph: &Graph, members: &[VertexId], cx: &Context) -> Result<()> {
        let set = VertexSet::of(graph.num_vertices(), members);
        graph.gather_weighted(
            Direction::In,
            &set,
            cx,
            |_| (),
            |(), v, list, weights| self.end(v, list, weights),
        )?;
        Ok(())
    }

    /// Ends the way to a vertex with the best step from an in-neighbour, if that is not below 0.
    fn end(&self, v: VertexId, list: &List<'_>, weights: &Weights<'_>) -> Result<()> {
        let (mut best, mut at, mut fault) = ((0.0, v), 0, None);
        list.for_each(|u| {
            let weight = weights.get(at);
            at += 1;
            if !weight.is_finite() {
                fault = Some(weight);
            }
            let length = self.lengths.get(u as usize).map_or(0.0, SharedF64::get) + weight;
            let ties = length == best.0 && (best.1 == v || self.place(u) < self.place(best.1));
            if length > best.0 || ties {
                best = (length, u);
            }
        })?;
        if let Some(weight) = fault {
            return Err(Error::not_finite(weight));
        }
        if let (Some(length), Some(before)) =
            (self.lengths.get(v as usize), self.before.get(v as usize))
        {
            length.set(best.0);
            before.store(best.1, Relaxed);
        }
        Ok(())
    }
}

/// The longest of all paths, from its beginning; of several the one that ends first in the order.
fn longest(order: &[u32], lengths: &[f64], before: &[VertexId]) -> Vec<VertexId> {
    let mut last: Option<(f64, u32, VertexId)> = None;
    for ((v, &length), &place) in (0..).zip(lengths).zip(order) {
        if last.is_none_or(|last| length > last.0 || length == last.0 && place < last.1) {
            last = Some((length, place, v));
        }
    }
    let Some((_, _, mut v)) = last else { return Vec::new() };
    let mut path = vec![v];
    while let Some(&u) = before.get(v as usize).filter(|u| **u != v) {
        path.push(u);
        v = u;
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, topological_sort as oracle};
    use proptest::prelude::*;

    /// Checks lengths against the oracle's, and that the paths have them.
    fn check(found: &LongestPaths, arcs: &[(u32, u32, f64)]) {
        let n = found.lengths.len();
        assert_eq!(found.lengths, oracle::longest_paths(n, arcs));
        let step = |u: u32, v: u32| {
            let between = arcs.iter().filter(|arc| (arc.0, arc.1) == (u, v));
            between.map(|arc| arc.2).fold(f64::NEG_INFINITY, f64::max)
        };
        for (v, &u) in (0..).zip(&found.before).filter(|(v, u)| v != *u) {
            assert_eq!(found.lengths[v as usize], found.lengths[u as usize] + step(u, v));
        }
        let sum: f64 = found.path.windows(2).map(|pair| step(pair[0], pair[1])).sum();
        assert_eq!(sum, found.lengths.iter().copied().fold(0.0, f64::max));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_repeated_relaxation(
            pairs in sample::distinct_arcs(20),
            seed in proptest::collection::vec(-3i8..6, 400),
            weighted in any::<bool>(),
        ) {
            // Edges to larger ids cannot close a cycle.
            let edges: Vec<_> = pairs.into_iter().filter(|(u, v)| u < v).collect();
            let weights: Vec<f64> = edges.iter().zip(&seed).map(|(_, &w)| f64::from(w)).collect();
            let given = weighted.then_some(weights.as_slice());
            let weight = |at: usize| given.map_or(1.0, |weights| weights[at]);
            let arcs: Vec<_> =
                edges.iter().enumerate().map(|(at, &(u, v))| (u, v, weight(at))).collect();
            let config = DagLongestPath { weight: weighted.then(|| "weight".to_owned()) };
            let mut first = None;
            for cx in sample::contexts() {
                let on_ssd = Graph::from_edges_on_ssd(20, &edges, true, given, 16 << 10, &|b| b);
                let memory = || Graph::from_edges(20, &edges, true, given);
                for graph in [memory(), memory().and_then(Graph::decoded_lists), on_ssd] {
                    let found = config.run(&graph.unwrap(), &cx).unwrap();
                    check(&found, &arcs);
                    assert_eq!(first.get_or_insert_with(|| found.path.clone()), &found.path);
                }
            }
        }
    }

    /// Generations of more vertices than one thread takes.
    #[test]
    fn large_generations_are_the_same() {
        let sample = sample::power_law(30_000, 40_000, true, 7);
        let forward = |&(u, v): &(u32, u32)| (u != v).then(|| (u.min(v), u.max(v)));
        let edges = sample.edges.iter().filter_map(forward).collect();
        let sample = sample::Sample { edges, ..sample };
        let arcs: Vec<_> = sample.arcs().iter().map(|&(u, v)| (u, v, 1.0)).collect();
        for cx in sample::contexts() {
            check(&DagLongestPath::default().run(&sample.graph(), &cx).unwrap(), &arcs);
        }
    }

    #[test]
    fn cycles_and_nan_are_refused() {
        let run = |edges: &[(u32, u32)], weights: Option<&[f64]>| {
            let graph = Graph::from_edges(2, edges, true, weights).unwrap();
            DagLongestPath::default().run(&graph, &Context::new()).unwrap_err().to_string()
        };
        assert!(run(&[(0, 1), (1, 0)], None).contains("cycle"));
        assert!(run(&[(0, 1)], Some(&[f64::NAN])).contains("finite"));
    }
}
