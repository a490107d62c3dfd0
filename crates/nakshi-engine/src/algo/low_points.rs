//! Numbers of the vertices of a rooted forest, and how far the edges of a subtree lead.
//!
//! R. Tarjan, U. Vishkin, "An efficient parallel biconnectivity algorithm", SIAM J. Comput. 14
//! (1985). The vertices of a subtree have consecutive numbers. The smallest and the largest number
//! that an edge of the subtree leads to say whether one leads out of it; any spanning forest will
//! do, one of breadth-first trees too.

use super::spanning_forest::Forest;
use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::parallel::BLOCK;
use crate::shared::{share_u32, zeroed};
use nakshi_store::{List, VertexId};
use std::sync::atomic::Ordering::Relaxed;

/// State of [`LowPoints`] in bytes a vertex: six numbers, and two that the allocator keeps of what
/// finding the forest took. It mostly keeps one; of thirty runs, two kept more.
pub(super) const BYTES: f64 = 32.0;

/// A numbered forest, in internal order.
pub(super) struct LowPoints {
    /// Parent of each vertex; a root is its own.
    parents: Vec<VertexId>,
    /// All vertices, parents before their children.
    order: Vec<VertexId>,
    /// Numbers: `number[v]..number[v] + size[v]` are those of the subtree of `v`.
    number: Vec<u32>,
    size: Vec<u32>,
    /// The smallest and the largest number of the subtree and of the ends of its edges, the edge to
    /// the parent of its root left out.
    low: Vec<u32>,
    high: Vec<u32>,
}

fn of(values: &[u32], v: VertexId) -> u32 {
    values.get(v as usize).copied().unwrap_or(0)
}

impl LowPoints {
    /// Numbers `forest` and reads all lists once.
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub(super) fn new(graph: &Graph, forest: Forest, cx: &Context) -> Result<Self> {
        let n = forest.parents.len();
        let order = by_level(forest.levels)?;
        let numbers = |what| zeroed::<u32>(n, what);
        let mut points = LowPoints {
            parents: forest.parents,
            order,
            number: numbers("numbers of vertices")?,
            size: numbers("sizes of subtrees")?,
            low: numbers("low points")?,
            high: numbers("high points")?,
        };
        points.number_subtrees(cx)?;
        points.read_ends(graph, cx)?;
        points.gather_up(cx)?;
        Ok(points)
    }

    fn number_subtrees(&mut self, cx: &Context) -> Result<()> {
        self.size.fill(1);
        for (place, &v) in self.order.iter().enumerate().rev() {
            if place.is_multiple_of(BLOCK) {
                cx.check()?;
            }
            let (parent, size) = (of(&self.parents, v), of(&self.size, v));
            if let Some(above) = self.size.get_mut(parent as usize).filter(|_| parent != v) {
                *above += size;
            }
        }
        // `low` has the number of the next child for now.
        let mut next_root = 0;
        for (place, &v) in self.order.iter().enumerate() {
            if place.is_multiple_of(BLOCK) {
                cx.check()?;
            }
            let (parent, size) = (of(&self.parents, v), of(&self.size, v));
            let next = match self.low.get_mut(parent as usize) {
                Some(next) if parent != v => next,
                _ => &mut next_root,
            };
            let number = *next;
            *next += size;
            if let (Some(slot), Some(child)) =
                (self.number.get_mut(v as usize), self.low.get_mut(v as usize))
            {
                (*slot, *child) = (number, number + 1);
            }
        }
        Ok(())
    }

    /// The smallest and largest number among each vertex and its neighbours.
    fn read_ends(&mut self, graph: &Graph, cx: &Context) -> Result<()> {
        self.low.copy_from_slice(&self.number);
        self.high.copy_from_slice(&self.number);
        let (parents, number) = (&self.parents, &self.number);
        let (low, high) = (share_u32(&mut self.low), share_u32(&mut self.high));
        let visit = |(): &mut (), v: VertexId, list: &List<'_>| {
            let (Some(low), Some(high)) = (low.get(v as usize), high.get(v as usize)) else {
                return Ok(());
            };
            let parent = of(parents, v);
            let (mut least, mut most) = (low.load(Relaxed), high.load(Relaxed));
            let mut at_parent = false;
            list.for_each(|u| {
                // The first is the edge of the tree; others are parallel to it.
                if u == parent && !at_parent {
                    at_parent = true;
                    return;
                }
                let end = of(number, u);
                (least, most) = (least.min(end), most.max(end));
            })?;
            low.store(least, Relaxed);
            high.store(most, Relaxed);
            Ok(())
        };
        for &direction in graph.all_lists() {
            graph.scan(direction, cx, |_| (), visit)?;
        }
        Ok(())
    }

    /// Takes over what the children have.
    fn gather_up(&mut self, cx: &Context) -> Result<()> {
        for (place, &v) in self.order.iter().enumerate().rev() {
            if place.is_multiple_of(BLOCK) {
                cx.check()?;
            }
            let parent = of(&self.parents, v);
            let (low, high) = (of(&self.low, v), of(&self.high, v));
            if let Some(slot) = self.low.get_mut(parent as usize) {
                *slot = low.min(*slot);
            }
            if let Some(slot) = self.high.get_mut(parent as usize) {
                *slot = high.max(*slot);
            }
        }
        Ok(())
    }

    /// The parents alone.
    pub(super) fn into_parents(self) -> Vec<VertexId> {
        self.parents
    }

    /// The parent of `v`; of a root it is `v` itself.
    pub(super) fn parent(&self, v: VertexId) -> VertexId {
        of(&self.parents, v)
    }

    /// True if `v` has no parent.
    pub(super) fn is_root(&self, v: VertexId) -> bool {
        of(&self.parents, v) == v
    }

    /// True if an edge leads from the subtree of `v` to a vertex outside the subtree of `above`,
    /// the edge from `v` to its parent left out.
    pub(super) fn leads_out(&self, v: VertexId, above: VertexId) -> bool {
        let first = of(&self.number, above);
        of(&self.low, v) < first || of(&self.high, v) >= first + of(&self.size, above)
    }
}

/// All vertices in ascending order of their levels.
fn by_level(levels: Vec<u32>) -> Result<Vec<VertexId>> {
    let depth = levels.iter().max().map_or(0, |level| *level as usize);
    let mut next = zeroed::<u32>(depth + 2, "levels")?;
    for &level in &levels {
        if let Some(slot) = next.get_mut(level as usize + 1) {
            *slot += 1;
        }
    }
    let mut sum = 0;
    for slot in &mut next {
        sum += *slot;
        *slot = sum;
    }
    let mut order = zeroed::<u32>(levels.len(), "vertices by level")?;
    // Internal ids are 32 bits.
    for (v, &level) in (0..).zip(&levels) {
        let Some(next) = next.get_mut(level as usize) else { continue };
        if let Some(slot) = order.get_mut(*next as usize) {
            *slot = v;
        }
        *next += 1;
    }
    Ok(order)
}
