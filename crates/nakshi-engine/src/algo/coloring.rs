//! A proper colouring, greedy by degree.
//!
//! M. Jones, P. Plassmann, "A parallel graph coloring heuristic", SIAM J. Sci. Comput. 14 (1993), with
//! the order of many edges first (W. Hasenplaugh, T. Kaler, T. Schardl, C. Leiserson, "Ordering
//! heuristics for parallel graph coloring", SPAA 2014). Each vertex counts its neighbours that come before
//! it. In a round those that wait for none take the least colour that no neighbour has, and those behind
//! them wait for one less. So each list is read twice in all, and the colours are those of taking the
//! vertices one after the other.
//!
//! State: degree, rank of the id, neighbours to wait for, colour, and the vertices of two rounds, 4 bytes
//! a vertex each; and the colours around some vertices of a round. On several servers it is the pull
//! program [`programs::PullColoring`].

use super::pulling::{PulledResult, Pulls};
use super::rounds::Rounds;
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::program::pull::programs;
use crate::shared::{share_u32, share_u64, zeroed};
use crate::stats::{IterationLog, RunStats};
use nakshi_store::{Direction, List, VertexId};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Words of colours that are marked at a time, unless one vertex needs more.
const WORDS: usize = if cfg!(test) { 8 } else { 1 << 17 };

algorithm! {
    /// Proper colouring: neighbours never share a colour; the direction of edges is ignored.
    #[derive(Eq)]
    pub struct Coloring = "coloring" {}
    citation: "M. Jones, P. Plassmann, \"A parallel graph coloring heuristic\", SIAM J. Sci. Comput. 14 (1993)";
    columns: &[Output::new("color", "uint32", "the colour, from 0")];
    summary: &[Output::new("colors", "uint64", "number of colours")];
}

/// Colours in internal order.
#[derive(Debug, Clone, Default)]
pub struct Colors {
    /// Colour of each vertex, from 0.
    pub colors: Vec<u32>,
    /// Number of colours.
    pub count: u64,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl Colors {
    fn new(colors: Vec<u32>, stats: RunStats) -> Self {
        let count = colors.iter().max().map_or(0, |most| u64::from(*most) + 1);
        Colors { colors, count, stats }
    }
}

impl From<Colors> for Outcome {
    fn from(found: Colors) -> Self {
        Outcome::of(vec![Column::new("color", Values::U32(found.colors))], found.stats)
            .with_summary("colors", found.count)
    }
}

impl Algorithm for Coloring {
    type Output = Colors;

    fn needs(&self, summary: &Summary) -> Needs {
        let mut needs = Needs::new(24.0 + 0.25, &[Direction::Out, Direction::In]);
        // A byte of a list may hold two neighbours, each of a colour of its own.
        needs.state_bytes_fixed = 8 * WORDS as u64 + summary.longest_list;
        Needs { gathers: true, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Colors> {
        let n = graph.num_vertices();
        let mut log = IterationLog::new(graph);
        let order = Order::of(graph, cx)?;
        let (mut waits, mut colors) = (zeroed(n, "neighbours to wait for")?, zeroed(n, "colours")?);
        let greedy = Greedy {
            order: &order,
            waits: share_u32(&mut waits),
            colors: share_u32(&mut colors),
            freed: Mutex::default(),
        };
        greedy.count(graph, cx)?;
        log.end("order", n as u64);
        // Internal ids are 32 bits.
        let is_free = |v: &VertexId| greedy.wait(*v) == 0;
        let mut free: Vec<VertexId> = (0..n as VertexId).filter(is_free).collect();
        let mut rounds = Rounds::new(graph, graph.all_lists(), cx)?;
        let mut done = 0;
        while !free.is_empty() {
            greedy.round(&free, &mut rounds)?;
            done += free.len() as u64;
            log.end("round", free.len() as u64);
            cx.progress().update("coloring", done, n as u64);
            free = greedy.take_freed();
        }
        colors.iter_mut().for_each(|color| *color = color.saturating_sub(1));
        Ok(Colors::new(colors, log.finish()))
    }
}

/// The order in which vertices take colours.
struct Order {
    degrees: Vec<u32>,
    ranks: Option<Vec<u32>>,
}

impl Order {
    fn of(graph: &Graph, cx: &Context) -> Result<Self> {
        let ranks = graph.id_ranks(cx)?;
        let mut degrees = graph.degrees(Direction::Out, cx)?;
        if graph.directed() {
            let incoming = graph.degrees(Direction::In, cx)?;
            degrees.iter_mut().zip(incoming).for_each(|(sum, one)| *sum = sum.saturating_add(one));
        }
        Ok(Order { degrees, ranks })
    }

    fn degree(&self, v: VertexId) -> u32 {
        self.degrees.get(v as usize).copied().unwrap_or(0)
    }

    /// True if `u` takes its colour before `v`.
    #[inline]
    fn is_before(&self, u: VertexId, v: VertexId) -> bool {
        let (more, less) = (self.degree(u), self.degree(v));
        if more != less {
            return more > less;
        }
        let rank = |v: VertexId| match &self.ranks {
            Some(ranks) => ranks.get(v as usize).copied().unwrap_or(v),
            None => v,
        };
        programs::color_order(more, rank(u)) > programs::color_order(less, rank(v))
    }
}

/// A colouring under way.
struct Greedy<'a> {
    order: &'a Order,
    /// Entries of the lists of each vertex that come before it and have no colour yet.
    waits: &'a [AtomicU32],
    /// Colours from 1; 0 is none yet.
    colors: &'a [AtomicU32],
    /// Vertices that wait for none any more.
    freed: Mutex<Vec<VertexId>>,
}

impl Greedy<'_> {
    fn wait(&self, v: VertexId) -> u32 {
        self.waits.get(v as usize).map_or(0, |wait| wait.load(Relaxed))
    }

    /// Counts for each vertex the entries of its lists that come before it.
    fn count(&self, graph: &Graph, cx: &Context) -> Result<()> {
        for &direction in graph.all_lists() {
            let visit = |(): &mut (), v: VertexId, list: &List<'_>| {
                let mut before = 0;
                list.for_each(|u| before += u32::from(self.order.is_before(u, v)))?;
                if let Some(wait) = self.waits.get(v as usize) {
                    wait.fetch_add(before, Relaxed);
                }
                Ok(())
            };
            graph.scan(direction, cx, |_| (), visit)?;
        }
        Ok(())
    }

    /// Colours vertices, none of which are neighbours.
    fn round(&self, free: &[VertexId], rounds: &mut Rounds<'_>) -> Result<()> {
        let mut rest = free;
        while !rest.is_empty() {
            // The first word of each member, and the end.
            let mut starts = vec![0];
            let mut words = 0;
            for &v in rest {
                // As many neighbours as entries, and a colour more.
                words += self.order.degree(v) as usize / 64 + 1;
                if words > WORDS && starts.len() > 1 {
                    break;
                }
                starts.push(words);
            }
            let (group, behind) = rest.split_at(starts.len() - 1);
            self.group(group, &starts, rounds)?;
            rest = behind;
        }
        Ok(())
    }

    fn group(&self, group: &[VertexId], starts: &[usize], rounds: &mut Rounds<'_>) -> Result<()> {
        let mut taken = vec![0; starts.last().copied().unwrap_or(0)];
        let shared = share_u64(&mut taken);
        rounds.lists(group, &|v, list| {
            let Ok(at) = group.binary_search(&v) else { return Ok(()) };
            let mine = words(shared, starts, at);
            Ok(list.for_each(|u| self.meet(v, u, mine))?)
        })?;
        for (at, v) in group.iter().enumerate() {
            let mine = words(&taken, starts, at).iter().enumerate();
            let free = mine.map(|(k, word)| (k, word.trailing_ones())).find(|free| free.1 < 64);
            let color = free.map_or(0, |(k, bit)| 64 * k as u32 + bit);
            if let Some(slot) = self.colors.get(*v as usize) {
                slot.store(color + 1, Relaxed);
            }
        }
        Ok(())
    }

    /// An entry `u` in a list of `v`, which takes a colour: either has one that is not free, or waits for
    /// one less.
    fn meet(&self, v: VertexId, u: VertexId, taken: &[AtomicU64]) {
        if u == v {
            return;
        }
        if self.order.is_before(u, v) {
            let color = self.colors.get(u as usize).map_or(0, |color| color.load(Relaxed));
            let Some(bit) = color.checked_sub(1) else { return };
            if let Some(word) = taken.get(bit as usize / 64) {
                word.fetch_or(1 << (bit % 64), Relaxed);
            }
        } else if self.waits.get(u as usize).is_some_and(|wait| wait.fetch_sub(1, Relaxed) == 1) {
            self.freed.lock().unwrap_or_else(PoisonError::into_inner).push(u);
        }
    }

    /// The vertices of the next round, ascending.
    fn take_freed(&self) -> Vec<VertexId> {
        let mut freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = std::mem::take(&mut *freed);
        found.sort_unstable();
        found
    }
}

/// The words of the member at a place of a group.
fn words<'a, T>(all: &'a [T], starts: &[usize], at: usize) -> &'a [T] {
    let bound = |at: usize| starts.get(at).copied().unwrap_or(0);
    all.get(bound(at)..bound(at + 1)).unwrap_or_default()
}

impl Pulls for Coloring {
    type Program = programs::PullColoring;

    fn program(&self) -> programs::PullColoring {
        programs::PullColoring
    }

    fn assemble(&self, found: PulledResult<'_, u32>) -> Result<Colors> {
        Ok(Colors::new(found.values, found.stats))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{coloring as oracle, sample};
    use crate::algo::pulling;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn equals_the_greedy_order(sample in sample::graphs(40, 200)) {
            let colors = oracle::colors(&sample.adjacency(), sample.directed);
            let most = colors.iter().max().map_or(0, |most| u64::from(*most) + 1);
            let expected = (colors, most);
            sample.compare(&expected, |graph, cx| {
                let found = Coloring {}.run(graph, cx).unwrap();
                (found.colors, found.count)
            })?;
            sample.compare(&expected, |graph, cx| {
                let found = pulling::run(&Coloring {}, graph, cx).unwrap();
                (found.colors, found.count)
            })?;
        }
    }
}
