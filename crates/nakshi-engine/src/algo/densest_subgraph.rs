//! A dense part of a graph, and a bound on how dense any part can be.
//!
//! M. Charikar, "Greedy approximation algorithms for finding dense components in a graph", APPROX 2000:
//! of the parts that a peeling by degrees leaves, the densest has at least half of the largest density.
//! The k-cores are among these parts, and keep the guarantee: the densest part lies in the core of its
//! density, so that the innermost core, which has half its number in edges a vertex, is dense enough.
//!
//! M. Danisch, T.-H. H. Chan, M. Sozio, "Large scale density-friendly graph decomposition via convex
//! programming", WWW 2017: each edge gives its weight of 1 to its ends; a pass moves a share of it to
//! the end with the smaller load (Frank and Wolfe). The largest load is never below the largest
//! density, and vertices with large loads make a dense part.
//!
//! State: core numbers and their peeling, then two loads, 16 bytes a vertex, and a bit. The allocator may
//! keep up to 8 bytes a vertex of the peeling.

use super::k_core::{Cores, KCore};
use super::rounds::ROUND_BYTES;
use super::{Algorithm, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::map_blocks;
use crate::shared::{share_f64, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::Bitmap;
use nakshi_store::Direction;
use std::ops::ControlFlow;

/// Levels of loads among which the densest part is looked for.
const LEVELS: usize = 1 << 14;

algorithm! {
    /// Dense part of the graph: its edges per vertex are at least half of the most that any part has.
    ///
    /// The density of a part is the number of edges inside it over the number of its vertices. Edges of
    /// both directions count, each; self-loops do not. The summary has a bound that no part exceeds.
    #[derive(Eq)]
    pub struct DensestSubgraph = "densest-subgraph" {
        /// Passes over all edges that look for a denser part than the densest k-core, and lower the
        /// bound.
        pub passes: u32 = 16 => Parameter::INTEGER;
    }
    method: "densest_subgraph";
    citation: "M. Charikar, \"Greedy approximation algorithms for finding dense components in a graph\", \
        APPROX 2000; M. Danisch, T.-H. H. Chan, M. Sozio, \"Large scale density-friendly graph \
        decomposition via convex programming\", WWW 2017";
    columns: &[Output::new("dense", "bool", "true if the vertex is in the dense part")];
    summary: &[
        Output::new("density", "float64", "edges inside the part, over its vertices; at least half of \
            the largest density"),
        Output::new("bound", "float64", "a number that the density of no part exceeds"),
        Output::new("vertices", "uint64", "vertices of the part"),
        Output::new("edges", "uint64", "edges inside the part"),
    ];
}

/// A dense part, in internal order.
#[derive(Debug, Clone, Default)]
pub struct DensePart {
    /// The vertices of the part.
    pub members: Bitmap,
    /// Number of these vertices.
    pub vertices: u64,
    /// Number of edges between them.
    pub edges: u64,
    /// A number that the density of no part exceeds.
    pub bound: f64,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl DensePart {
    /// Edges over vertices; 0 without vertices.
    pub fn density(&self) -> f64 {
        self.edges as f64 / self.vertices.max(1) as f64
    }
}

impl From<DensePart> for Outcome {
    fn from(found: DensePart) -> Self {
        let density = found.density();
        Outcome::of(vec![Column::new("dense", Values::Bool(found.members))], found.stats)
            .with_summary("density", density)
            .with_summary("bound", found.bound)
            .with_summary("vertices", found.vertices)
            .with_summary("edges", found.edges)
    }
}

impl Algorithm for DensestSubgraph {
    type Output = DensePart;

    fn needs(&self, summary: &Summary) -> Needs {
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        // The allocator may keep what the peeling took, beside two loads.
        let passes = if self.passes > 0 { 8.0 + 16.0 + 0.25 } else { 0.0 };
        let mut needs = Needs::new(f64::max(8.0 + ROUND_BYTES, passes), directions);
        // A worker counts edges by level, of which there are at most as many as the root of all ends.
        let levels = (LEVELS as u64).max((4 * summary.arcs).isqrt());
        needs.state_bytes_fixed = 8 * 8 * levels;
        Needs { gathers: true, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<DensePart> {
        let Cores { cores, mut stats } = KCore {}.run(graph, cx)?;
        let mut log = IterationLog::new(graph);
        let degeneracy = cores.iter().max().copied().unwrap_or(0);
        let core = |v: usize| cores.get(v).copied().unwrap_or(0);
        let mut best = densest(graph, degeneracy as usize + 1, &core, cx)?;
        let mut members = best.members(graph, &core);
        log.end("densest core", graph.num_vertices() as u64);
        drop(cores);
        let mut bound = f64::from(degeneracy);
        if self.passes > 0 && degeneracy > 0 {
            let (loads, most) = self.loads(graph, &mut log, cx)?;
            bound = bound.min(most.least);
            let scale = (LEVELS - 1) as f64 / most.last;
            // At most LEVELS - 1, as a load is at most the last maximum.
            let level = |v: usize| (loads.get(v).copied().unwrap_or(0.0) * scale) as u32;
            let found = densest(graph, LEVELS, &level, cx)?;
            if found.is_denser_than(&best) {
                members = found.members(graph, &level);
                best = found;
            }
            log.end("densest level", graph.num_vertices() as u64);
        }
        stats.append(log.finish());
        let Part { vertices, edges, .. } = best;
        Ok(DensePart { members, vertices, edges, bound, stats })
    }
}

/// Largest loads: the least after any pass, and the one after the last.
struct Most {
    least: f64,
    last: f64,
}

impl DensestSubgraph {
    /// The loads of the vertices after all passes.
    fn loads(
        &self,
        graph: &Graph,
        log: &mut IterationLog<'_>,
        cx: &Context,
    ) -> Result<(Vec<f64>, Most)> {
        let n = graph.num_vertices();
        let mut loads = zeroed::<f64>(n, "loads")?;
        let mut next = zeroed::<f64>(n, "loads")?;
        let mut most = Most { least: f64::INFINITY, last: 0.0 };
        // Where all loads are equal, each edge gives half to each end.
        for pass in 0..=self.passes {
            move_loads(graph, &loads, &mut next, 2.0 / (f64::from(pass) + 2.0), cx)?;
            std::mem::swap(&mut loads, &mut next);
            most.last = largest(&loads, cx)?;
            most.least = most.least.min(most.last);
            log.end("pass", n as u64);
            cx.progress().update("densest-subgraph", pass.into(), self.passes.into());
        }
        Ok((loads, most))
    }
}

fn largest(loads: &[f64], cx: &Context) -> Result<f64> {
    let of = |block: &[f64]| block.iter().copied().fold(0.0, f64::max);
    let blocks = map_blocks(cx, loads.len(), |range| Ok(of(loads.get(range).unwrap_or_default())))?;
    Ok(of(&blocks))
}

/// Puts into `next` the loads if every edge gives the share `step` anew, to the end with the smaller load.
fn move_loads(
    graph: &Graph,
    loads: &[f64],
    next: &mut [f64],
    step: f64,
    cx: &Context,
) -> Result<()> {
    let shared = share_f64(next);
    let load = |v: u32| loads.get(v as usize).copied().unwrap_or(0.0);
    for (turn, &direction) in graph.all_lists().iter().enumerate() {
        graph.scan(
            direction,
            cx,
            |_| (),
            |(), v, list| {
                let own = load(v);
                let mut halves = 0u64;
                list.for_each(|u| {
                    let other = load(u);
                    if u != v {
                        halves += u64::from(own <= other) + u64::from(own < other);
                    }
                })?;
                if let Some(slot) = shared.get(v as usize) {
                    let before = if turn == 0 { (1.0 - step) * own } else { slot.get() };
                    slot.set(before + step * (halves as f64 / 2.0));
                }
                Ok(())
            },
        )?;
    }
    Ok(())
}

/// The vertices from a level on, and the edges between them.
struct Part {
    level: usize,
    vertices: u64,
    edges: u64,
}

impl Part {
    fn is_denser_than(&self, other: &Part) -> bool {
        let product = |edges: u64, vertices: u64| u128::from(edges) * u128::from(vertices);
        product(self.edges, other.vertices) > product(other.edges, self.vertices)
    }

    fn members(&self, graph: &Graph, level: &impl Fn(usize) -> u32) -> Bitmap {
        let mut members = Bitmap::new(graph.num_vertices());
        let inside = |v: &usize| level(*v) as usize >= self.level;
        (0..graph.num_vertices()).filter(inside).for_each(|v| members.set(v));
        members
    }
}

/// The densest of the sets of vertices from a level on; if several are, the largest of them.
fn densest(
    graph: &Graph,
    levels: usize,
    level: &(impl Fn(usize) -> u32 + Sync),
    cx: &Context,
) -> Result<Part> {
    let directed = graph.directed();
    let counts = graph.scan(
        Direction::Out,
        cx,
        |_| vec![0u64; levels],
        |counts, v, list| {
            let own = level(v as usize);
            list.blocks(|block| {
                for &u in block.iter().filter(|&&u| u != v) {
                    if !directed && u > v {
                        return ControlFlow::Break(());
                    }
                    if let Some(count) = counts.get_mut(own.min(level(u as usize)) as usize) {
                        *count += 1;
                    }
                }
                ControlFlow::Continue(())
            })?;
            Ok(())
        },
    )?;
    let mut vertices = vec![0u64; levels];
    for v in 0..graph.num_vertices() {
        if let Some(count) = vertices.get_mut(level(v) as usize) {
            *count += 1;
        }
    }
    let mut best = Part { level: levels, vertices: 1, edges: 0 };
    let mut part = Part { level: levels, vertices: 0, edges: 0 };
    for (at, count) in vertices.iter().enumerate().rev() {
        let edges = counts.iter().filter_map(|counts| counts.get(at)).sum::<u64>();
        part = Part { level: at, vertices: part.vertices + count, edges: part.edges + edges };
        if part.vertices > 0 && !best.is_denser_than(&part) {
            best = Part { ..part };
        }
    }
    if graph.num_vertices() == 0 { Ok(part) } else { Ok(best) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{densest_subgraph as oracle, k_core, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn is_half_as_dense_as_the_densest(sample in sample::graphs(9, 40), passes in 0u32..20) {
            let edges = oracle::edges(&sample.arcs(), sample.directed);
            let most = oracle::largest_density(sample.n, &edges);
            let mut first = None;
            for (graph, cx) in sample.settings() {
                let found = DensestSubgraph { passes }.run(&graph, &cx).unwrap();
                let inside = |v: u32| found.members.get(v as usize);
                let count = edges.iter().filter(|(u, v)| inside(*u) && inside(*v)).count() as u64;
                prop_assert_eq!(found.edges, count);
                prop_assert_eq!(found.vertices, found.members.count() as u64);
                prop_assert!(2.0 * found.density() >= most - 1e-9, "{:?} {}", found, most);
                prop_assert!(found.density() <= most + 1e-9 && found.bound >= most - 1e-9);
                let same = (found.members, found.bound);
                prop_assert_eq!(first.get_or_insert_with(|| same.clone()), &same);
            }
        }

        #[test]
        fn without_passes_it_is_the_densest_core(sample in sample::graphs(40, 300)) {
            let edges = oracle::edges(&sample.arcs(), sample.directed);
            let cores = k_core::cores(&sample.adjacency(), sample.directed);
            let density = |core: u32| {
                let inside = |v: u32| cores[v as usize] >= core;
                let count = edges.iter().filter(|(u, v)| inside(*u) && inside(*v)).count();
                count as f64 / cores.iter().filter(|other| **other >= core).count() as f64
            };
            let most = cores.iter().map(|&core| density(core)).fold(0.0, f64::max);
            sample.compare(&most, |graph, cx| {
                DensestSubgraph { passes: 0 }.run(graph, cx).unwrap().density()
            })?;
        }
    }

    /// A clique in a sparse graph: the bound comes close to the density that is found.
    #[test]
    fn finds_a_clique_and_proves_it() {
        for mut sample in sample::power_laws(3000, 6000, 9) {
            sample.edges.retain(|(u, v)| u % 10 != v % 10 || u / 10 > 290);
            let clique = (0..40u32).flat_map(|a| (0..a).map(move |b| (2900 + a, 2900 + b)));
            sample.edges.extend(clique);
            let found =
                DensestSubgraph { passes: 200 }.run(&sample.graph(), &Context::new()).unwrap();
            assert!((2900..2940).all(|v| found.members.get(v)), "{found:?}");
            assert!(
                found.density() >= 19.5 && found.bound < 1.05 * found.density(),
                "{}",
                found.bound
            );
        }
    }
}
