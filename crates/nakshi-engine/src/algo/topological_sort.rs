//! A topological order of a graph without cycles.
//!
//! A. Kahn, "Topological sorting of large networks", Commun. ACM 5 (1962): vertices without
//! in-edges come first; they are taken away, and so on. All that go at once are a *generation*;
//! inside it the users' ids give the order. If a cycle is left, an in-neighbour is noted for each
//! vertex that is left, and a walk along these ends on a cycle.
//!
//! State: in-edges that are left, then the generation, 4 bytes a vertex; the vertices that go, 4
//! bytes; at the end the order, 4 bytes, the vertices by their ids, 4 bytes, and where a generation
//! begins, at most 4 bytes.

use super::rounds::{ROUND_BYTES, Rounds};
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::BLOCK;
use crate::shared::{share_u32, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

algorithm! {
    /// Topological order: every edge leads to a later vertex.
    ///
    /// A generation has the vertices at the end of whose longest path so many edges lie; inside it
    /// the order is that of the ids. An undirected graph is refused, and so is one with a cycle, of
    /// which the error names a vertex.
    #[derive(Eq)]
    pub struct TopologicalSort = "topological-sort" {}
    method: "topological_sort";
    citation: "A. Kahn, \"Topological sorting of large networks\", Commun. ACM 5 (1962)";
    columns: &[
        Output::new("order", "uint32", "place in the order, from 0"),
        Output::new("generation", "uint32", "edges of the longest path that ends at the vertex"),
    ];
    summary: &[Output::new("generations", "uint64", "number of generations")];
}

/// A topological order, in internal order of the vertices.
#[derive(Debug, Clone, Default)]
pub struct TopologicalOrder {
    /// Place of each vertex in the order, from 0.
    pub order: Vec<u32>,
    /// Edges of the longest path that ends at each vertex.
    pub generations: Vec<u32>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<TopologicalOrder> for Outcome {
    fn from(found: TopologicalOrder) -> Self {
        let count = found.generations.iter().max().map_or(0, |last| u64::from(*last) + 1);
        let order = Column::new("order", Values::U32(found.order));
        let generation = Column::new("generation", Values::U32(found.generations));
        Outcome::of(vec![order, generation], found.stats).with_summary("generations", count)
    }
}

impl Algorithm for TopologicalSort {
    type Output = TopologicalOrder;

    fn needs(&self, _summary: &Summary) -> Needs {
        let bytes = 12.0 + ROUND_BYTES;
        Needs { gathers: true, ..Needs::new(bytes, &[Direction::Out, Direction::In]) }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<TopologicalOrder> {
        if !graph.directed() {
            let what = "a topological order of an undirected graph; import its edges as directed";
            return Err(Error::Unsupported { what: what.into() });
        }
        let mut log = IterationLog::new(graph);
        let generations = generations(graph, &mut log, cx)?;
        let order = order(graph, &generations, cx)?;
        log.end("order", order.len() as u64);
        Ok(TopologicalOrder { order, generations, stats: log.finish() })
    }
}

/// The generation of each vertex.
fn generations(graph: &Graph, log: &mut IterationLog<'_>, cx: &Context) -> Result<Vec<u32>> {
    let n = graph.num_vertices();
    let mut generations = graph.degrees(Direction::In, cx)?;
    let count = generations.iter().filter(|left| **left == 0).count();
    let mut going: Vec<VertexId> = Vec::with_capacity(count);
    // Internal ids are 32 bits.
    going.extend((0..).zip(&generations).filter(|(_, left)| **left == 0).map(|(v, _)| v));
    let edges = share_u32(&mut generations);
    let mut open = Bitmap::full(n);
    let mut rounds = Rounds::new(graph, &[Direction::Out], cx)?;
    let (mut done, mut generation) = (0, 0);
    let slot = |v: VertexId| edges.get(v as usize);
    while !going.is_empty() {
        for &v in &going {
            open.clear(v as usize);
            // Without in-edges that are left it is never counted down again.
            if let Some(slot) = slot(v) {
                slot.store(generation, Relaxed);
            }
        }
        done += going.len();
        let follows = |_, u: VertexId| slot(u).is_some_and(|left| left.fetch_sub(1, Relaxed) == 1);
        let size = going.len() as u64;
        going = rounds.visit(&going, &follows)?;
        log.end("generation", size);
        cx.progress().update("generations", done as u64, n as u64);
        generation += 1;
    }
    if done < n {
        let vertex = on_a_cycle(graph, open.into(), edges, cx)?;
        let name = graph.name_of(vertex, cx)?;
        let what = format!(
            "a topological order of a graph with a cycle, which runs through vertex {name}; \
            scc finds the vertices of all cycles"
        );
        return Err(Error::Unsupported { what });
    }
    Ok(generations)
}

/// A vertex on a cycle, if each vertex of `open` has an in-neighbour there; `before` is
/// overwritten.
fn on_a_cycle(
    graph: &Graph,
    open: VertexSet,
    before: &[AtomicU32],
    cx: &Context,
) -> Result<VertexId> {
    graph.gather(
        Direction::In,
        &open,
        cx,
        |_| (),
        |(), v, list| {
            list.blocks(|block| {
                let Some(&u) = block.iter().find(|&&u| open.contains(u)) else {
                    return ControlFlow::Continue(());
                };
                if let Some(slot) = before.get(v as usize) {
                    slot.store(u, Relaxed);
                }
                ControlFlow::Break(())
            })?;
            Ok(())
        },
    )?;
    let mut seen = Bitmap::new(before.len());
    let mut vertex = open.iter().next().unwrap_or(0);
    while !seen.get(vertex as usize) {
        seen.set(vertex as usize);
        vertex = before.get(vertex as usize).map_or(vertex, |slot| slot.load(Relaxed));
    }
    Ok(vertex)
}

/// Places by generation, then by the users' ids.
fn order(graph: &Graph, generations: &[u32], cx: &Context) -> Result<Vec<u32>> {
    let n = generations.len();
    let generation = |v: usize| generations.get(v).map_or(0, |&generation| generation as usize);
    let count = generations.iter().max().map_or(0, |last| *last as usize + 1);
    let mut next = zeroed::<u32>(count, "generations")?;
    for v in 0..n {
        if let Some(slot) = next.get_mut(generation(v) + 1) {
            *slot += 1;
        }
    }
    for k in 1..count {
        let before = next.get(k - 1).copied().unwrap_or(0);
        if let Some(slot) = next.get_mut(k) {
            *slot += before;
        }
    }
    let by_id = graph.vertices_by_id(cx)?;
    let mut order = zeroed::<u32>(n, "order")?;
    for rank in 0..n {
        if rank.is_multiple_of(BLOCK) {
            cx.check()?;
        }
        let v = match &by_id {
            Some(vertices) => vertices.get(rank).map_or(rank, |&v| v as usize),
            None => rank,
        };
        if let (Some(place), Some(next)) = (order.get_mut(v), next.get_mut(generation(v))) {
            *place = *next;
            *next += 1;
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, topological_sort as oracle};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_the_longest_paths(sample in sample::graphs(50, 120)) {
            // Edges to larger ids cannot close a cycle.
            let forward = |&(u, v): &(u32, u32)| (u != v).then(|| (u.min(v), u.max(v)));
            let edges = sample.edges.iter().filter_map(forward).collect();
            let sample = sample::Sample { edges, directed: true, ..sample };
            let longest = oracle::generations(&sample.adjacency()).unwrap();
            let mut by_place: Vec<usize> = (0..sample.n).collect();
            by_place.sort_by_key(|&v| (longest[v], v));
            let mut order = vec![0; sample.n];
            (0..).zip(&by_place).for_each(|(place, &v)| order[v] = place);
            sample.compare(&(order, longest), |graph, cx| {
                let found = TopologicalSort {}.run(graph, cx).unwrap();
                (found.order, found.generations)
            })?;
        }

        #[test]
        fn a_cycle_is_refused(sample in sample::graphs(30, 50)) {
            let sample = sample::Sample { directed: true, ..sample };
            let lists = sample.adjacency();
            let acyclic = oracle::generations(&lists).is_some();
            for (graph, cx) in sample.settings() {
                let found = TopologicalSort {}.run(&graph, &cx);
                prop_assert_eq!(found.is_ok(), acyclic);
                let Err(error) = found else { continue };
                let text = error.to_string();
                let vertex = text.split("through vertex ").nth(1).unwrap();
                let vertex: u32 = vertex.split(';').next().unwrap().parse().unwrap();
                prop_assert!(oracle::is_on_a_cycle(&lists, vertex));
            }
        }
    }

    #[test]
    fn an_undirected_graph_is_refused() {
        let graph = Graph::from_edges(2, &[(0, 1)], false, None).unwrap();
        let error = TopologicalSort {}.run(&graph, &Context::new()).unwrap_err();
        assert!(error.to_string().contains("undirected"), "{error}");
    }
}
