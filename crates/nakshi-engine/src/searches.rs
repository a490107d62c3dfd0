//! Sampled searches: in which step each list is asked for, and how many pages that takes.
//!
//! A traversal merges the requests of a step, so a page is read once for all lists that belong to
//! the same level. Levels do not depend on the order of the vertices, pages do: searches are run
//! once, and pages counted for any order ([`Searches::pages`]). In docs/results/norder.md this
//! number, and neither linear arrangement nor pages a neighbourhood, ranks orders as bytes read do.

use crate::algo::reach::reach;
use crate::context::Context;
use crate::error::Result;
use crate::estimate::Needs;
use crate::graph::Graph;
use crate::shared::zeroed;
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::codec::encode;
use nakshi_store::layout::mix;
use nakshi_store::{Direction, Permutation, VertexId};

/// Sampled searches.
pub(crate) const SAMPLES: usize = 16;
/// Sources of a sample: where one reaches little, the next begins.
const SOURCES: usize = 8;
/// Mark in place of a step: not reached.
pub(crate) const NEVER: u16 = u16::MAX;

/// For each sample the step in which the list of each vertex is asked for: 2 bytes each.
pub struct Searches {
    direction: Direction,
    pub(crate) steps: Vec<Vec<u16>>,
}

impl Searches {
    /// Memory that these searches and then the counting of pages need.
    pub fn needs() -> Needs {
        // Steps, the order of sources; the order and its inverse, sizes; visited, frontier, next.
        let state = 2.0 * SAMPLES as f64 + 4.0 + 12.0 + 1.0;
        Needs { gathers: true, ..Needs::new(state, &[Direction::Out, Direction::In]) }
    }

    /// Searches along the lists of `direction` from drawn sources that have a list; half of them,
    /// if edges have a direction, along both.
    ///
    /// # Errors
    /// Errors of reading; [`crate::Error::Cancelled`].
    pub fn run(graph: &Graph, direction: Direction, seed: u64, cx: &Context) -> Result<Self> {
        let has_list = |v: &VertexId| !graph.extent(direction, *v as usize).is_empty();
        // Lossless: vertices.
        let mut order: Vec<VertexId> =
            (0..graph.num_vertices() as VertexId).filter(has_list).collect();
        order.sort_unstable_by_key(|&v| mix(seed ^ mix(v.into())));
        let mut steps = Vec::with_capacity(SAMPLES);
        for sample in 0..SAMPLES.min(order.len()) {
            cx.progress().update("searches", sample as u64, SAMPLES as u64);
            let sources = order.iter().skip(sample).step_by(SAMPLES).copied();
            let both = [direction, direction.reverse()];
            let along = if graph.directed() && sample % 2 == 1 { &both[..] } else { &both[..1] };
            steps.push(search(graph, sources.take(SOURCES), along, cx)?);
        }
        Ok(Searches { direction, steps })
    }

    /// Pages that the steps of all searches read where lists lie in the order of `permutation` and are
    /// encoded anew.
    ///
    /// # Errors
    /// Errors of reading; [`crate::Error::Cancelled`].
    pub fn pages(&self, graph: &Graph, permutation: &Permutation, cx: &Context) -> Result<u64> {
        let page_size = graph.store().map_or(4096, |store| u64::from(store.manifest().page_size));
        let sizes = sizes(graph, self.direction, permutation, cx)?;
        let order = permutation.clone().inverse();
        let mut pages = 0;
        for steps in &self.steps {
            cx.check()?;
            // The last page that each step has read.
            let mut last = vec![u64::MAX; usize::from(NEVER)];
            let mut at = 0;
            for &v in order.as_slice() {
                let size = u64::from(sizes.get(v as usize).copied().unwrap_or(0));
                let step = steps.get(v as usize).copied().unwrap_or(NEVER);
                if let Some(last) = last.get_mut(usize::from(step))
                    && size > 0
                {
                    let (first, end) = (at / page_size, (at + size - 1) / page_size);
                    pages += end - first + u64::from(*last != first);
                    *last = end;
                }
                at += size;
            }
        }
        Ok(pages)
    }
}

/// The step in which each list is asked for, by searches from `sources` one after another.
fn search(
    graph: &Graph,
    sources: impl Iterator<Item = VertexId>,
    along: &[Direction],
    cx: &Context,
) -> Result<Vec<u16>> {
    let n = graph.num_vertices();
    let mut steps = zeroed::<u16>(n, "steps")?;
    steps.fill(NEVER);
    let mut visited = Bitmap::new(n);
    let mut step = 0;
    for source in sources {
        if visited.get(source as usize) {
            continue;
        }
        let mut frontier = VertexSet::new(n);
        frontier.insert(source);
        while !frontier.is_empty() && step < NEVER - 1 {
            for v in frontier.iter() {
                if let Some(slot) = steps.get_mut(v as usize) {
                    *slot = step;
                }
            }
            step += 1;
            visited.unite(frontier.bits());
            frontier = reach(graph, along, &frontier, &visited, cx)?;
        }
    }
    Ok(steps)
}

/// Bytes of the list of each vertex where ids are those of `permutation`; the longest count as 4 GiB.
fn sizes(
    graph: &Graph,
    direction: Direction,
    permutation: &Permutation,
    cx: &Context,
) -> Result<Vec<u32>> {
    let encoding = graph.store().map(|store| store.manifest().encoding).unwrap_or_default();
    let parts = graph.scan_fold(
        direction,
        cx,
        <(Vec<u32>, Vec<VertexId>, Vec<u8>)>::default,
        |(sizes, ids, bytes), _, list| {
            ids.clear();
            bytes.clear();
            list.for_each(|u| ids.push(permutation.new_of(u).unwrap_or(u)))?;
            ids.sort_unstable();
            encode(encoding, ids, bytes);
            sizes.push(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            Ok(())
        },
    )?;
    Ok(parts.into_iter().flat_map(|(sizes, ..)| sizes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::sample::{Sample, power_laws};
    use std::collections::BTreeSet;

    /// Pages of a graph that is built in the other order. Seen red with pages counted
    /// once a list, and with sizes of the lists as they are.
    #[test]
    fn counts_the_pages_of_a_graph_in_that_order() {
        let cx = Context::new().with_threads(2);
        for sample in power_laws(1_500, 12_000, 9) {
            let n = sample.n as u32;
            // 7 and 1500 have no divisor in common.
            let permutation: Vec<u32> = (0..n).map(|v| v * 7 % n).collect();
            let moved = |&(u, v): &(u32, u32)| (permutation[u as usize], permutation[v as usize]);
            let edges = sample.edges.iter().map(moved).collect();
            let other = Sample { edges, ..sample.clone() }.graph();
            for graph in [sample.graph(), sample.graph_on_ssd()] {
                let order = Permutation::from_new_of_old(permutation.clone()).unwrap();
                let searches = Searches::run(&graph, Direction::Out, 1, &cx).unwrap();
                let mut expected = 0;
                for steps in &searches.steps {
                    let mut pages = BTreeSet::new();
                    for (v, step) in steps.iter().enumerate().filter(|(_, step)| **step != NEVER) {
                        let extent = other.extent(Direction::Out, permutation[v] as usize);
                        pages.extend((extent.start..extent.end).map(|byte| (step, byte / 4096)));
                    }
                    expected += pages.len() as u64;
                }
                assert_eq!(searches.pages(&graph, &order, &cx).unwrap(), expected);
            }
        }
    }
}
