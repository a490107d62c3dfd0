//! A spanning forest of breadth-first trees.
//!
//! The components are found first ([`super::wcc`]), so that one search starts in all of them at
//! once; E. Moore, "The shortest path through a maze", 1959. State: the level and the parent, 4
//! bytes a vertex each, three sets of vertices, and what the components need before.

use super::bfs::parents;
use super::reach::search;
use super::wcc::Wcc;
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::VertexId;

algorithm! {
    /// Spanning forest: a tree for each connected component, by the parent of each vertex.
    ///
    /// The direction of edges is ignored. The root of a tree is the smallest vertex id of its
    /// component, and paths to it are shortest paths.
    #[derive(Eq)]
    pub struct SpanningForest = "spanning-forest" {}
    method: "spanning_forest";
    citation: "E. Moore, \"The shortest path through a maze\", Proc. Int. Symp. Switching Theory 1957 (1959)";
    columns: &[
        Output::new("parent", "vertex", "the other end of the edge towards the root, the one with the \
            smallest id if there are several; missing at roots"),
    ];
    summary: &[
        Output::new("trees", "uint64", "number of trees, isolated vertices included"),
        Output::new("edges", "uint64", "edges in the forest"),
    ];
}

/// A rooted forest, in internal order.
#[derive(Debug, Clone, Default)]
pub struct Forest {
    /// Parent of each vertex; a root is its own.
    pub parents: Vec<VertexId>,
    /// Edges between each vertex and its root.
    pub levels: Vec<u32>,
    /// Number of trees.
    pub trees: usize,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Forest> for Outcome {
    fn from(found: Forest) -> Self {
        let (n, trees) = (found.parents.len(), found.trees);
        let mut valid = Bitmap::new(n);
        let children = found.levels.iter().enumerate().filter(|(_, level)| **level > 0);
        children.for_each(|(v, _)| valid.set(v));
        let column = Column::with_valid("parent", Values::Vertex(found.parents), valid);
        Outcome::of(vec![column], found.stats)
            .with_summary("trees", trees)
            .with_summary("edges", n - trees)
    }
}

impl Algorithm for SpanningForest {
    type Output = Forest;

    fn needs(&self, summary: &Summary) -> Needs {
        // Ranks of the ids beside levels and parents, and what the allocator keeps of the components.
        let mut needs = Wcc::default().needs(summary);
        needs.state_bytes_per_vertex += 4.0;
        needs
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Forest> {
        let n = graph.num_vertices();
        let components = Wcc::default().run(graph, cx)?;
        let mut stats = components.stats;
        let mut log = IterationLog::new(graph);
        let mut levels = components.components;
        let mut roots = VertexSet::new(n);
        // Internal ids are 32 bits.
        for (v, level) in (0..).zip(&mut levels) {
            if *level == v {
                roots.insert(v);
            }
            *level = 0;
        }
        let directions = graph.all_lists();
        search(graph, (directions, directions), roots, cx, |depth, reached| {
            for v in reached.iter() {
                if let Some(level) = levels.get_mut(v as usize) {
                    *level = depth;
                }
            }
            log.end("search", reached.count() as u64);
            cx.progress().update("forest", depth.into(), 0);
            Ok(())
        })?;
        let parents = parents(graph, cx, &levels, directions)?;
        log.end("parents", n as u64);
        stats.append(log.finish());
        Ok(Forest { parents, levels, trees: components.count, stats })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{apsp, sample, wcc};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn is_the_nearest_neighbours_to_the_root(sample in sample::graphs(50, 90)) {
            let lists = sample.undirected();
            let roots = wcc::components(&lists);
            let distance = apsp::all_pairs(&lists);
            let level = |v: usize| distance[roots[v] as usize][v].unwrap();
            let parent = |v: usize| {
                let above = lists[v].iter().copied().filter(|&u| level(u as usize) < level(v)).min();
                above.unwrap_or(v as u32)
            };
            let expected: Vec<u32> = (0..sample.n).map(parent).collect();
            let trees = (0..sample.n).filter(|&v| roots[v] as usize == v).count();
            sample.compare(&(expected, trees), |graph, cx| {
                let found = SpanningForest {}.run(graph, cx).unwrap();
                (found.parents, found.trees)
            })?;
        }
    }
}
