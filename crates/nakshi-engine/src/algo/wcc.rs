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

use super::components::{self, compress, largest_in_sample, link};
use super::pulling::{self, PulledResult, Pulls};
use super::{Algorithm, Output, Parameter, Variant, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::{for_each_block_mut, parallel_for};
use crate::program::block::programs::FrontierComponents;
use crate::program::block::{PerVertex, frontier_needs, run_frontier};
use crate::program::pull::programs::PullComponents;
use crate::program::{ProgramConfig, programs::Components, run_program};
use crate::shared::{share_u32, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, VertexSet};
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
        cx.progress().update("wcc", 2, 3);
        let (count, largest) = components::finish(graph, cx, share_u32(&mut roots), &mut log)?;
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
        for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
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
    }

    #[test]
    fn agrees_on_a_power_law_graph() {
        for sample in sample::power_laws(20_000, 30_000, 5) {
            check(&sample);
        }
    }
}
