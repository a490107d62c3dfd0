//! Weakly connected components.
//!
//! M. Sutton, T. Ben-Nun, A. Barak, "Optimizing parallel graph connectivity computation via
//! subgraph sampling" (Afforest), IPDPS 2018. The neighbours that are linked first are the
//! heads, which are in memory; then only vertices outside the largest component found so
//! far need their lists, which in a power-law graph are few. State: the parent in a forest,
//! 4 bytes a vertex; a parent is never larger than its child, so that the root of a
//! component is its smallest internal id whatever the schedule.
//!
//! The result is the smallest of the users' ids in the component. The variant in program
//! form propagates labels until none changes (12 bytes a vertex).

use super::pulling::{self, PulledResult, Pulls};
use super::{Algorithm, Output, Parameter, Variant, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::{for_each_block_mut, map_blocks, parallel_for};
use crate::program::block::programs::FrontierComponents;
use crate::program::block::{PerVertex, frontier_needs, run_frontier};
use crate::program::pull::programs::PullComponents;
use crate::program::{ProgramConfig, programs::Components, run_program};
use crate::shared::{share_u32, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

algorithm! {
    /// Weakly connected components: the direction of edges is ignored.
    #[derive(Eq)]
    pub struct Wcc = "wcc" {
        /// Method that finds the components; the results are the same.
        pub variant: Variant = Variant::Direct => Parameter::choice(Variant::CHOICES);
    }
    citation: "M. Sutton, T. Ben-Nun, A. Barak, \"Optimizing parallel graph connectivity computation via \
        subgraph sampling\" (Afforest), IPDPS 2018";
    columns: &[Output::new("component", "vertex", "the smallest vertex id of the component")];
    summary: &[
        Output::new("components", "uint64", "number of components"),
        Output::new("largest", "uint64", "vertices in the largest"),
    ];
}

/// Components in internal order.
#[derive(Debug, Clone)]
pub struct WccOutput {
    /// For each vertex the vertex of its component whose user id is smallest.
    pub components: Vec<VertexId>,
    /// Number of components, isolated vertices included.
    pub count: usize,
    /// Number of vertices in the largest component.
    pub largest: usize,
    /// Statistics of the run.
    pub stats: RunStats,
}

/// Vertices looked at to find the largest component so far.
const SAMPLES: usize = 1024;

impl Algorithm for Wcc {
    type Output = WccOutput;

    fn needs(&self, summary: &Summary) -> Needs {
        if self.variant == Variant::Vertex {
            let mut needs = ProgramConfig::default().needs(&Components);
            // Labels are taken out of the states; after that there is less.
            needs.state_bytes_per_vertex += 4.0;
            return needs;
        }
        if self.variant == Variant::PullProgram {
            // Ranks of ids as vertices, and how many vertices a component has.
            return pulling::needs(self, summary, 12.0);
        }
        if self.variant == Variant::Block {
            let mut needs = frontier_needs(&PerVertex(&FrontierComponents), None, summary);
            // Ranks of the ids, and the smallest of them; messages are gone by then.
            needs.state_bytes_per_vertex += 1.0;
            return needs;
        }
        // The forest, and at the end the ranks of the ids and the smallest of them.
        let needs = Needs::new(13.0, &[Direction::Out, Direction::In]);
        Needs { heads: Some(Direction::Out), gathers: true, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<WccOutput> {
        let (mut roots, mut stats) = match self.variant {
            Variant::Direct => forest(graph, cx)?,
            Variant::PullProgram => return pulling::run(self, graph, cx),
            Variant::Block => {
                let found = run_frontier(graph, &PerVertex(&FrontierComponents), None, cx)?;
                (found.values, found.stats)
            }
            Variant::Vertex => {
                let (states, stats) =
                    run_program(graph, &Components, &ProgramConfig::default(), cx)?;
                (states.iter().map(|state| state.label).collect(), stats)
            }
        };
        let mut log = IterationLog::new(graph);
        let parents = share_u32(&mut roots);
        cx.progress().update("wcc", 2, 3);
        let giant = largest_in_sample(parents);
        let (count, largest) = measure(cx, parents, giant)?;
        log.end("sizes", count as u64);
        if let Some(ranks) = graph.id_ranks(cx)? {
            rename(cx, parents, giant, &ranks)?;
        }
        log.end("names", graph.num_vertices() as u64);
        cx.progress().update("wcc", 3, 3);
        stats.append(log.finish());
        Ok(WccOutput { components: roots, count, largest, stats })
    }
}

impl Pulls for Wcc {
    type Program = PullComponents;

    fn program(&self) -> PullComponents {
        PullComponents
    }

    fn assemble(&self, mut found: PulledResult<'_, u32>) -> Result<WccOutput> {
        let ranks = std::mem::take(&mut found.values);
        let mut sizes = vec![0u32; ranks.len()];
        for &rank in &ranks {
            if let Some(size) = sizes.get_mut(rank as usize) {
                *size += 1;
            }
        }
        let count = sizes.iter().filter(|size| **size > 0).count();
        let largest = sizes.iter().max().map_or(0, |size| *size as usize);
        drop(sizes);
        Ok(WccOutput { components: found.vertices(ranks)?, count, largest, stats: found.stats })
    }
}

/// For each vertex the smallest internal id of its component, and statistics.
fn forest(graph: &Graph, cx: &Context) -> Result<(Vec<VertexId>, RunStats)> {
    let n = graph.num_vertices();
    let mut log = IterationLog::new(graph);
    let mut forest = zeroed::<u32>(n, "components")?;
    for_each_block_mut(cx, &mut forest, |start, block| {
        // Internal ids are 32 bits.
        block.iter_mut().zip(start as u32..).for_each(|(parent, v)| *parent = v);
        Ok(())
    })?;
    let parents = share_u32(&mut forest);
    cx.progress().update("wcc", 0, 3);
    link_heads(graph, cx, parents)?;
    compress(cx, parents)?;
    log.end("heads", n as u64);
    cx.progress().update("wcc", 1, 3);
    let giant = largest_in_sample(parents);
    let rest = outside(cx, parents, giant)?;
    if !rest.is_empty() {
        let directions: &[Direction] =
            if graph.directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        for &direction in directions {
            graph.gather(
                direction,
                &rest,
                cx,
                |_| (),
                |(), v, list| {
                    list.for_each(|u| link(parents, v, u))?;
                    Ok(())
                },
            )?;
        }
        compress(cx, parents)?;
    }
    log.end("rest", rest.count() as u64);
    Ok((forest, log.finish()))
}

#[inline]
fn parent(parents: &[AtomicU32], v: u32) -> u32 {
    parents.get(v as usize).map_or(v, |p| p.load(Relaxed))
}

/// Joins the trees of `u` and `v` by hooking the larger root under the smaller.
#[inline]
fn link(parents: &[AtomicU32], u: u32, v: u32) {
    let mut p = parent(parents, u);
    let mut q = parent(parents, v);
    while p != q {
        let (low, high) = if p < q { (p, q) } else { (q, p) };
        let above = parent(parents, high);
        if above == low {
            return;
        }
        if above == high
            && let Some(slot) = parents.get(high as usize)
            && slot.compare_exchange(high, low, Relaxed, Relaxed).is_ok()
        {
            return;
        }
        p = parent(parents, parent(parents, high));
        q = parent(parents, low);
    }
}

/// Makes every vertex a child of its root.
fn compress(cx: &Context, parents: &[AtomicU32]) -> Result<()> {
    parallel_for(cx, parents.len(), |range| {
        for slot in parents.get(range).unwrap_or_default() {
            let mut p = slot.load(Relaxed);
            let mut above = parent(parents, p);
            if above == p {
                continue;
            }
            while above != p {
                p = above;
                above = parent(parents, p);
            }
            slot.store(p, Relaxed);
        }
        Ok(())
    })
}

fn link_heads(graph: &Graph, cx: &Context, parents: &[AtomicU32]) -> Result<()> {
    let heads = graph.heads(Direction::Out, cx)?;
    for k in 0..2 {
        parallel_for(cx, parents.len(), |range| {
            let start = range.start as u32;
            for (v, pair) in (start..).zip(heads.pairs.get(range).unwrap_or_default()) {
                link(parents, v, pair[k]);
            }
            Ok(())
        })?;
        if k == 0 {
            compress(cx, parents)?;
        }
    }
    Ok(())
}

/// The root that occurs most often among evenly spread vertices; the smallest of these.
fn largest_in_sample(parents: &[AtomicU32]) -> u32 {
    let step = (parents.len() / SAMPLES).max(1);
    let mut roots: Vec<u32> = parents.iter().step_by(step).map(|p| p.load(Relaxed)).collect();
    roots.sort_unstable();
    let most = roots.chunk_by(|a, b| a == b).rev().max_by_key(|same| same.len());
    most.and_then(|same| same.first()).copied().unwrap_or(0)
}

/// Vertices that are not under the root `giant`.
fn outside(cx: &Context, parents: &[AtomicU32], giant: u32) -> Result<VertexSet> {
    let rest = AtomicBitmap::new(parents.len());
    parallel_for(cx, parents.len(), |range| {
        for start in range.clone().step_by(64) {
            let word = parents.get(start..range.end.min(start + 64)).unwrap_or_default();
            let bits = word
                .iter()
                .enumerate()
                .fold(0u64, |bits, (i, p)| bits | u64::from(p.load(Relaxed) != giant) << i);
            rest.store_word(start / 64, bits);
        }
        Ok(())
    })?;
    Ok(rest.into())
}

/// Number of components and of vertices in the largest.
fn measure(cx: &Context, parents: &[AtomicU32], giant: u32) -> Result<(usize, usize)> {
    let n = parents.len();
    let blocks = map_blocks(cx, n, |range| {
        let (mut roots, mut in_giant) = (0usize, 0usize);
        let start = range.start as u32;
        for (v, slot) in (start..).zip(parents.get(range).unwrap_or_default()) {
            let root = slot.load(Relaxed);
            roots += usize::from(root == v);
            in_giant += usize::from(root == giant);
        }
        Ok((roots, in_giant))
    })?;
    let (count, in_giant) = blocks.iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    // Each other component has a vertex at least, which bounds the largest of them.
    if (n - in_giant).saturating_sub(count.saturating_sub(2)) <= in_giant {
        return Ok((count, in_giant));
    }
    let mut sizes = zeroed::<u32>(n, "sizes of components")?;
    let sizes = share_u32(&mut sizes);
    parallel_for(cx, n, |range| {
        for slot in parents.get(range).unwrap_or_default() {
            if let Some(size) = sizes.get(slot.load(Relaxed) as usize) {
                size.fetch_add(1, Relaxed);
            }
        }
        Ok(())
    })?;
    let largest = sizes.iter().map(|s| s.load(Relaxed)).max().unwrap_or(0);
    Ok((count, largest as usize))
}

/// Replaces each root by the vertex of its component with the smallest of `ranks`.
///
/// `best` holds complements, so that untouched memory stands for "none yet": a vertex that is
/// alone keeps its name and touches nothing.
fn rename(cx: &Context, parents: &[AtomicU32], giant: u32, ranks: &[u32]) -> Result<()> {
    let n = parents.len();
    let mut best = zeroed::<u32>(n, "names of components")?;
    let best = share_u32(&mut best);
    let alone = singles(cx, parents)?;
    let known = |v: usize| {
        let root = parents.get(v).map_or(0, |p| p.load(Relaxed));
        (root, ranks.get(v).copied().unwrap_or(u32::MAX))
    };
    parallel_for(cx, n, |range| {
        let mut in_giant = 0;
        for v in range {
            let (root, rank) = known(v);
            if root == giant {
                in_giant = in_giant.max(!rank);
            } else if !alone.get(v)
                && let Some(slot) = best.get(root as usize)
            {
                slot.fetch_max(!rank, Relaxed);
            }
        }
        if let Some(slot) = best.get(giant as usize) {
            slot.fetch_max(in_giant, Relaxed);
        }
        Ok(())
    })?;
    let winners = AtomicBitmap::new(n);
    parallel_for(cx, n, |range| {
        for v in range.filter(|&v| !alone.get(v)) {
            let (root, rank) = known(v);
            if parent(best, root) == !rank {
                winners.set(v);
            }
        }
        Ok(())
    })?;
    let winners = winners.into_bitmap();
    parallel_for(cx, n, |range| {
        for v in winners.iter_in(range.start, range.end) {
            if let Some(slot) = best.get(known(v).0 as usize) {
                slot.store(v as u32, Relaxed);
            }
        }
        Ok(())
    })?;
    parallel_for(cx, n, |range| {
        for v in range.filter(|&v| !alone.get(v)) {
            if let Some(slot) = parents.get(v) {
                slot.store(parent(best, slot.load(Relaxed)), Relaxed);
            }
        }
        Ok(())
    })
}

/// Roots without children.
fn singles(cx: &Context, parents: &[AtomicU32]) -> Result<Bitmap> {
    let shared = AtomicBitmap::new(parents.len());
    parallel_for(cx, parents.len(), |range| {
        let start = range.start as u32;
        for (v, slot) in (start..).zip(parents.get(range).unwrap_or_default()) {
            let root = slot.load(Relaxed);
            if root != v {
                shared.set(root as usize);
            }
        }
        Ok(())
    })?;
    let mut alone = Bitmap::new(parents.len());
    let words = alone.words_mut().iter_mut().enumerate();
    words.for_each(|(k, word)| {
        let members = parents.get(k * 64..parents.len().min(k * 64 + 64)).unwrap_or_default();
        let roots = members.iter().zip(k as u32 * 64..).enumerate();
        let roots =
            roots.fold(0u64, |bits, (i, (p, v))| bits | u64::from(p.load(Relaxed) == v) << i);
        *word = roots & !shared.word(k);
    });
    Ok(alone)
}

impl From<WccOutput> for Outcome {
    fn from(output: WccOutput) -> Outcome {
        let components = Column::new("component", Values::Vertex(output.components));
        Outcome::of(vec![components], output.stats)
            .with_summary("components", output.count)
            .with_summary("largest", output.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, wcc as oracle};
    use proptest::prelude::*;

    fn check(sample: &sample::Sample) {
        let expected = oracle::components(&sample.adjacency());
        for graph in [sample.graph(), sample.graph_on_ssd()] {
            for cx in sample::contexts() {
                for variant in [Variant::Direct, Variant::Vertex, Variant::Block] {
                    let output = Wcc { variant }.run(&graph, &cx).unwrap();
                    assert_eq!(output.components, expected);
                    let count = |v: usize| expected.iter().filter(|&&c| c as usize == v).count();
                    let roots = (0..sample.n).filter(|&v| expected[v] as usize == v).count();
                    assert_eq!(output.count, roots);
                    if sample.n < 100 {
                        assert_eq!(output.largest, (0..sample.n).map(count).max().unwrap());
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(100)))]
        #[test]
        fn agrees_with_label_propagation(sample in sample::graphs(60, 60)) {
            check(&sample);
        }

        #[test]
        fn names_are_the_smallest_by_rank(sample in sample::graphs(40, 30), seed: u64) {
            let mut ranks: Vec<u32> = (0..sample.n as u32).collect();
            ranks.sort_by_key(|&v| u64::from(v).wrapping_mul(seed | 1));
            let internal = oracle::components(&sample.adjacency());
            let mut named = internal.clone();
            let giant = internal[0];
            rename(&Context::new().with_threads(2), share_u32(&mut named), giant, &ranks).unwrap();
            for v in 0..sample.n {
                let same = (0..sample.n).filter(|&u| internal[u] == internal[v]);
                let best = same.min_by_key(|&u| ranks[u]).unwrap();
                prop_assert_eq!(named[v] as usize, best);
            }
        }
    }

    #[test]
    fn agrees_on_a_power_law_graph() {
        for sample in sample::power_laws(20_000, 30_000, 5) {
            check(&sample);
        }
    }
}
