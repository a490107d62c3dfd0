//! Charges by the levels of sampled searches.
//!
//! The paper charges what is asked for with one neighbourhood. An engine that merges the requests
//! of a whole step reads a page once for all of them, so a page is wasted where few of its lists
//! belong to a level. Searches from sampled sources tell which do: a list is charged `1 / t` for
//! each, where `t` bytes of its page belong to the same level, and more if it fills pages alone.
//!
//! State: two bytes a sample and a rate a vertex. A search reads the lists once; charges are
//! counted from the samples.

use super::charges::{Charges, ListExtents};
use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::searches::{NEVER, Searches};
use crate::shared::zeroed;
use crate::vertex_set::Bitmap;
use nakshi_store::{Direction, VertexId};
use std::ops::Range;

/// The charge of every list.
pub(super) struct Sampled<'g> {
    at: ListExtents<'g>,
    cx: &'g Context,
    /// For each sample the step in which each list was asked for.
    steps: Vec<Vec<u16>>,
    rate: Vec<f64>,
    /// Bytes of a page by step; zeros between its uses.
    used: Vec<u64>,
}

impl<'g> Sampled<'g> {
    pub(super) fn new(
        graph: &'g Graph,
        direction: Direction,
        seed: u64,
        cx: &'g Context,
    ) -> Result<Self> {
        Ok(Sampled {
            at: ListExtents::new(graph, direction),
            cx,
            steps: Searches::run(graph, direction, seed, cx)?.steps,
            rate: zeroed(graph.num_vertices(), "charges")?,
            used: vec![0; usize::from(NEVER)],
        })
    }

    /// Charges the lists of `vertices`, all that begin in one page, outside `chosen`.
    fn charge(&mut self, vertices: Range<VertexId>, chosen: &Bitmap) {
        let open: Vec<(VertexId, u64)> = vertices
            .filter(|&v| !chosen.get(v as usize))
            .map(|v| (v, self.at.bytes(v)))
            .filter(|&(_, bytes)| bytes > 0)
            .collect();
        for &(v, bytes) in &open {
            let extent = self.at.extent(v);
            let alone = (extent.end / self.at.page_size)
                .saturating_sub(extent.start.div_ceil(self.at.page_size));
            let asked = self.steps.iter().filter(|s| s.get(v as usize) != Some(&NEVER)).count();
            if let Some(rate) = self.rate.get_mut(v as usize) {
                *rate = (alone * asked as u64) as f64 / bytes as f64;
            }
        }
        for steps in &self.steps {
            let step = |v: VertexId| usize::from(steps.get(v as usize).copied().unwrap_or(NEVER));
            for &(v, bytes) in &open {
                if let Some(used) = self.used.get_mut(step(v)) {
                    *used += bytes;
                }
            }
            for &(v, _) in &open {
                if let (Some(rate), Some(&used)) =
                    (self.rate.get_mut(v as usize), self.used.get(step(v)))
                {
                    *rate += 1.0 / used as f64;
                }
            }
            for &(v, _) in &open {
                if let Some(used) = self.used.get_mut(step(v)) {
                    *used = 0;
                }
            }
        }
    }

    /// The first vertex from `v` on whose list begins behind `page`.
    fn end_of(&self, v: VertexId, page: u64) -> VertexId {
        let (mut low, mut high) = (u64::from(v), self.at.graph.num_vertices() as u64);
        while low < high {
            let middle = low + (high - low) / 2;
            // Lossless: vertices.
            if self.at.page(middle as VertexId) <= page { low = middle + 1 } else { high = middle }
        }
        low as VertexId
    }
}

impl Charges for Sampled<'_> {
    fn all(&mut self, chosen: &Bitmap) -> Result<()> {
        let n = self.at.graph.num_vertices() as VertexId;
        let mut v = 0;
        while v < n {
            self.cx.check()?;
            let end = self.end_of(v, self.at.page(v));
            self.charge(v..end, chosen);
            v = end;
        }
        Ok(())
    }

    fn update(&mut self, chosen: &Bitmap, news: &[VertexId]) -> Result<()> {
        let mut pages: Vec<u64> = news.iter().map(|&v| self.at.page(v)).collect();
        pages.sort_unstable();
        pages.dedup();
        for page in pages {
            self.cx.check()?;
            let from = if page == 0 { 0 } else { self.end_of(0, page - 1) };
            let end = self.end_of(from, page);
            self.charge(from..end, chosen);
        }
        Ok(())
    }

    fn rate(&self, v: VertexId) -> f64 {
        self.rate.get(v as usize).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::bfs;
    use crate::algo::oracle::sample::power_laws;
    use nakshi_store::layout::mix;

    /// Levels from an oracle, sums by plain loops. Seen red with bytes of the whole page, and with
    /// searches that all go both ways.
    #[test]
    fn charges_what_a_level_uses_of_a_page() {
        for sample in power_laws(1_500, 12_000, 9) {
            let graph = sample.graph();
            let cx = Context::new().with_threads(2);
            let mut sampled = Sampled::new(&graph, Direction::Out, 1, &cx).unwrap();
            let n = sample.n as u32;
            let mut order: Vec<u32> = (0..n).filter(|&v| sampled.at.bytes(v) > 0).collect();
            order.sort_unstable_by_key(|&v| mix(1 ^ mix(v.into())));
            let chosen = (0..n).step_by(3).fold(Bitmap::new(sample.n), |mut set, v| {
                set.set(v as usize);
                set
            });
            sampled.all(&chosen).unwrap();
            let along = sample.adjacency();
            let mut both = along.clone();
            sample.arcs().iter().for_each(|&(u, v)| both[v as usize].push(u));
            let mut expected = vec![0.0; sample.n];
            for (k, steps) in sampled.steps.iter().enumerate() {
                let lists = if sample.directed && k % 2 == 1 { &both } else { &along };
                let first = bfs::levels(lists, order[k]);
                let reached = |v: u32| first[v as usize].is_some();
                for v in (0..n).filter(|&v| reached(v)) {
                    assert_eq!(Some(steps[v as usize].into()), first[v as usize]);
                }
                let open = |v: &u32| !chosen.get(*v as usize) && sampled.at.bytes(*v) > 0;
                for v in (0..n).filter(open).filter(|&v| steps[v as usize] != NEVER) {
                    let same = |u: &u32| {
                        steps[*u as usize] == steps[v as usize]
                            && sampled.at.page(*u) == sampled.at.page(v)
                    };
                    let used: u64 =
                        (0..n).filter(open).filter(same).map(|u| sampled.at.bytes(u)).sum();
                    expected[v as usize] += 1.0 / used as f64;
                }
            }
            let longest = (0..n).map(|v| sampled.at.bytes(v)).max().unwrap();
            assert!(longest < sampled.at.page_size, "no list has a page for itself");
            for v in (0..n).filter(|&v| !chosen.get(v as usize) && sampled.at.bytes(v) > 0) {
                let (found, expected) = (sampled.rate(v), expected[v as usize]);
                assert!((found - expected).abs() <= 1e-12 * expected, "{v}: {found}, {expected}");
            }
        }
    }
}
