//! The lists of a level: of the graph itself, range by range, or of a graph of communities in memory.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::source::weights::Weights;
use crate::vertex_set::VertexSet;
use nakshi_store::{Direction, List, VertexId};
use std::ops::Range;

/// Encoded bytes of lists that are decoded at a time.
const RANGE_BYTES: u64 = 4 << 20;
/// Vertices whose lists are decoded at a time.
const RANGE_VERTICES: usize = 1 << 18;

/// Lists of neighbours with weights, in memory.
pub(in crate::algo) trait Neighbors: Sync {
    /// Number of neighbours of a vertex.
    fn degree(&self, v: VertexId) -> usize;

    /// Calls `f(neighbour, weight)` for each neighbour, always in the same order.
    fn each(&self, v: VertexId, f: impl FnMut(VertexId, f64));
}

/// A graph whose communities are looked for; edges have no direction.
pub(in crate::algo) trait Level {
    /// Lists of a range of vertices.
    type Part: Neighbors;

    /// Number of vertices.
    fn vertices(&self) -> usize;

    /// Number of list entries.
    fn arcs(&self) -> u64;

    /// Hands out the lists of the vertices of `set`, in ranges of ascending vertices.
    fn parts(
        &self,
        set: &VertexSet,
        cx: &Context,
        visit: impl FnMut(Range<usize>, &Self::Part) -> Result<()>,
    ) -> Result<()>;
}

/// A graph of communities: compressed rows, without the weights inside communities.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The list of `v` is `targets[offsets[v]..offsets[v + 1]]`.
    pub(super) offsets: Vec<usize>,
    pub(super) targets: Vec<VertexId>,
    pub(super) weights: Vec<f64>,
}

/// Bytes of a list entry of [`Rows`].
pub(super) const ROW_ENTRY: u64 = 12;

impl Rows {
    fn range(&self, v: VertexId) -> Range<usize> {
        let v = v as usize;
        let at = |v| self.offsets.get(v).copied().unwrap_or(0);
        at(v)..at(v + 1)
    }
}

impl Neighbors for Rows {
    fn degree(&self, v: VertexId) -> usize {
        self.range(v).len()
    }

    fn each(&self, v: VertexId, mut f: impl FnMut(VertexId, f64)) {
        let range = self.range(v);
        let targets = self.targets.get(range.clone()).unwrap_or_default();
        let weights = self.weights.get(range).unwrap_or_default();
        targets.iter().zip(weights).for_each(|(&u, &weight)| f(u, weight));
    }
}

impl Level for Rows {
    type Part = Rows;

    fn vertices(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn arcs(&self) -> u64 {
        self.targets.len() as u64
    }

    fn parts(
        &self,
        _set: &VertexSet,
        _cx: &Context,
        mut visit: impl FnMut(Range<usize>, &Rows) -> Result<()>,
    ) -> Result<()> {
        visit(0..self.vertices(), self)
    }
}

/// Lists that one worker has decoded.
#[derive(Default)]
struct Decoded {
    targets: Vec<VertexId>,
    /// Empty if every edge weighs 1.
    weights: Vec<f64>,
    /// Vertex, first entry, end.
    spans: Vec<(VertexId, usize, usize)>,
    scratch: Vec<VertexId>,
}

impl Decoded {
    fn keep(&mut self, v: VertexId, list: &List<'_>, weights: Option<&Weights<'_>>) -> Result<()> {
        list.decode_into(&mut self.scratch)?;
        let from = self.targets.len();
        self.targets.extend_from_slice(&self.scratch);
        if let Some(weights) = weights {
            for at in 0..weights.len() {
                self.weights.push(checked(weights.get(at))?);
            }
        }
        self.spans.push((v, from, self.targets.len()));
        Ok(())
    }
}

/// A weight, if it is finite and not negative.
pub(in crate::algo) fn checked(weight: f64) -> Result<f64> {
    if weight < 0.0 {
        return Err(Error::NegativeWeight { weight });
    }
    if weight.is_finite() { Ok(weight) } else { Err(Error::not_finite(weight)) }
}

/// The lists of one direction for a range of vertices.
#[derive(Default)]
struct Side {
    parts: Vec<Decoded>,
    /// Part and span, by vertex.
    place: Vec<(u32, u32)>,
}

impl Side {
    fn read(
        graph: &Graph,
        direction: Direction,
        range: &Range<usize>,
        members: &VertexSet,
        cx: &Context,
    ) -> Result<Side> {
        let init = |_| Decoded::default();
        let parts = if graph.weighted() {
            graph.gather_weighted(direction, members, cx, init, |part, v, list, weights| {
                part.keep(v, list, Some(weights))
            })?
        } else {
            graph.gather(direction, members, cx, init, |part, v, list| part.keep(v, list, None))?
        };
        let mut place = vec![(u32::MAX, 0); range.len()];
        for (p, part) in parts.iter().enumerate() {
            for (s, span) in part.spans.iter().enumerate() {
                if let Some(slot) = place.get_mut(span.0 as usize - range.start) {
                    *slot = (p as u32, s as u32);
                }
            }
        }
        Ok(Side { parts, place })
    }

    fn span(&self, at: usize) -> Option<(&Decoded, Range<usize>)> {
        let &(p, s) = self.place.get(at)?;
        let part = self.parts.get(p as usize)?;
        let &(_, from, to) = part.spans.get(s as usize)?;
        Some((part, from..to))
    }
}

/// The lists of a range of vertices of the graph.
#[derive(Default)]
pub(in crate::algo) struct GraphPart {
    first: usize,
    /// Out-lists and, in a directed graph, in-lists.
    sides: Vec<Side>,
}

impl Neighbors for GraphPart {
    fn degree(&self, v: VertexId) -> usize {
        let at = v as usize - self.first;
        self.sides.iter().filter_map(|side| side.span(at)).map(|(_, span)| span.len()).sum()
    }

    fn each(&self, v: VertexId, mut f: impl FnMut(VertexId, f64)) {
        let at = v as usize - self.first;
        for (part, span) in self.sides.iter().filter_map(|side| side.span(at)) {
            let targets = part.targets.get(span.clone()).unwrap_or_default();
            match part.weights.get(span) {
                Some(weights) if !part.weights.is_empty() => {
                    targets.iter().zip(weights).for_each(|(&u, &weight)| f(u, weight));
                }
                _ => targets.iter().for_each(|&u| f(u, 1.0)),
            }
        }
    }
}

/// The graph itself; its lists are read, and decoded a range at a time.
pub(in crate::algo) struct GraphLevel<'g>(pub(in crate::algo) &'g Graph);

impl GraphLevel<'_> {
    /// Memory of the lists of a range, if the longest has so many encoded bytes.
    pub(in crate::algo) fn state_bytes(longest: u64, weighted: bool, directed: bool) -> u64 {
        // A byte of a list may hold two entries.
        let entry = if weighted { 2 * 12 } else { 2 * 4 };
        let side = entry * (RANGE_BYTES + longest) + 32 * RANGE_VERTICES as u64;
        if directed { 2 * side } else { side }
    }
}

impl Level for GraphLevel<'_> {
    type Part = GraphPart;

    fn vertices(&self) -> usize {
        self.0.num_vertices()
    }

    fn arcs(&self) -> u64 {
        if self.0.directed() { 2 * self.0.num_arcs() } else { self.0.num_arcs() }
    }

    fn parts(
        &self,
        set: &VertexSet,
        cx: &Context,
        mut visit: impl FnMut(Range<usize>, &GraphPart) -> Result<()>,
    ) -> Result<()> {
        let (graph, n) = (self.0, self.0.num_vertices());
        let directions: &[Direction] =
            if graph.directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        let mut first = 0;
        while first < n {
            cx.check()?;
            let most = n.min(first + RANGE_VERTICES);
            let end = graph.until(Direction::Out, first, most, RANGE_BYTES);
            let mut members = VertexSet::new(n);
            for v in set.bits().iter_in(first, end) {
                members.insert(v as VertexId);
            }
            if !members.is_empty() {
                let range = first..end;
                let read = |&direction| Side::read(graph, direction, &range, &members, cx);
                let sides = directions.iter().map(read).collect::<Result<Vec<Side>>>()?;
                visit(range, &GraphPart { first, sides })?;
            }
            first = end;
        }
        Ok(())
    }
}
