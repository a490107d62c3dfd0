//! Lists of a server's vertices, from entries that have come in any order.

use std::sync::{Mutex, PoisonError};

use nakshi_engine::parallel::run_workers;
use nakshi_engine::{Context, VertexId};

use crate::{Error, Result};

/// Lists of own vertices, ascending.
#[derive(Debug, Default)]
pub(super) struct SortedLists {
    /// Offset at which the list of each vertex begins, and the end of the last.
    offsets: Vec<usize>,
    pub(super) links: Vec<VertexId>,
    weights: Vec<f64>,
}

/// The vertices of a server.
pub(super) struct Owned {
    /// Ascending.
    pub(super) vertices: Vec<VertexId>,
    /// For each vertex of the graph, its index in `vertices`.
    positions: Vec<u32>,
}

impl Owned {
    pub(super) fn new(owners: &[u16], server: usize) -> Self {
        let mut own = Owned { vertices: Vec::new(), positions: vec![u32::MAX; owners.len()] };
        let owners = owners.iter().zip(&mut own.positions).zip(0..);
        for ((_, place), v) in owners.filter(|((owner, _), _)| usize::from(**owner) == server) {
            *place = own.vertices.len() as u32;
            own.vertices.push(v);
        }
        own
    }

    pub(super) fn place(&self, vertex: [u8; 4]) -> Option<usize> {
        let place = *self.positions.get(VertexId::from_le_bytes(vertex) as usize)?;
        (place != u32::MAX).then_some(place as usize)
    }

    /// Lists of entries that have come in any order, with weights if they are `weighted`; entries that come twice
    /// stay if `each` counts.
    pub(super) fn lists(
        &self,
        bodies: Vec<Vec<u8>>,
        (weighted, each): (bool, bool),
        cx: &Context,
    ) -> Result<SortedLists> {
        let what = "an edge in it is not of a vertex here";
        let foreign = || Error::Damaged { server: None, what: what.into() };
        let size = if weighted { 16 } else { 8 };
        let mut next = vec![0usize; self.vertices.len() + 1];
        for entry in bodies.iter().flat_map(|body| body.chunks_exact(size)) {
            let vertex = entry.first_chunk().and_then(|v| self.place(*v)).ok_or_else(foreign)?;
            *next.get_mut(vertex + 1).ok_or_else(foreign)? += 1;
        }
        let mut end = 0;
        for count in &mut next {
            end += *count;
            *count = end;
        }
        let mut lists = SortedLists {
            offsets: next.clone(),
            links: vec![0; end],
            weights: vec![0.0; if weighted { end } else { 0 }],
        };
        for body in bodies {
            for entry in body.chunks_exact(size) {
                let (vertex, rest) = entry.split_first_chunk().ok_or_else(foreign)?;
                let (neighbour, weight) = rest.split_first_chunk().ok_or_else(foreign)?;
                let at = self.place(*vertex).and_then(|k| next.get_mut(k)).ok_or_else(foreign)?;
                if let Some(link) = lists.links.get_mut(*at) {
                    *link = VertexId::from_le_bytes(*neighbour);
                }
                if let (Some(to), Some(weight)) = (lists.weights.get_mut(*at), weight.first_chunk())
                {
                    *to = f64::from_le_bytes(*weight);
                }
                *at += 1;
            }
        }
        lists.sort(cx)?;
        if !each {
            lists.dedup();
        }
        Ok(lists)
    }
}

impl SortedLists {
    /// Sorts every list, by several threads; of equal entries the one with the least weight is first.
    fn sort(&mut self, cx: &Context) -> Result<()> {
        let threads = cx.threads().max(1);
        let (mut links, mut weights) = (self.links.as_mut_slice(), self.weights.as_mut_slice());
        let mut parts = Vec::new();
        let (total, mut first, mut begin) = (links.len(), 0, 0);
        for part in 1..=threads {
            let last = self.offsets.partition_point(|at| *at < total * part / threads);
            let last = last.min(self.offsets.len().saturating_sub(1)).max(first);
            let end = self.offsets.get(last).copied().unwrap_or(total);
            let (mine, rest) = links.split_at_mut(end - begin);
            let weighed = if weights.is_empty() { 0 } else { end - begin };
            let (my_weights, other_weights) = weights.split_at_mut(weighed);
            let offsets = self.offsets.get(first..=last).unwrap_or_default();
            parts.push(Mutex::new(Some((offsets, mine, my_weights))));
            (links, weights, first, begin) = (rest, other_weights, last, end);
        }
        run_workers(threads, |worker| {
            let part = parts
                .get(worker)
                .and_then(|part| part.lock().unwrap_or_else(PoisonError::into_inner).take());
            let Some((offsets, links, weights)) = part else { return Ok(()) };
            let begin = offsets.first().copied().unwrap_or_default();
            let mut pairs: Vec<(VertexId, f64)> = Vec::new();
            for pair in offsets.windows(2) {
                let &[from, to] = pair else { continue };
                let range = from - begin..to - begin;
                let list = links.get_mut(range.clone()).unwrap_or_default();
                if weights.is_empty() {
                    list.sort_unstable();
                    continue;
                }
                let weights = weights.get_mut(range).unwrap_or_default();
                pairs.clear();
                pairs.extend(list.iter().copied().zip(weights.iter().copied()));
                pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                for ((link, weight), pair) in list.iter_mut().zip(weights).zip(&pairs) {
                    (*link, *weight) = *pair;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    fn dedup(&mut self) {
        let (mut kept, mut begin) = (0usize, 0);
        for k in 1..self.offsets.len() {
            let end = self.offsets.get(k).copied().unwrap_or(begin);
            let first = kept;
            for at in begin..end {
                let link = self.links.get(at).copied().unwrap_or_default();
                let before = kept.checked_sub(1).filter(|_| kept > first);
                if before.and_then(|before| self.links.get(before)) == Some(&link) {
                    continue;
                }
                if let Some(place) = self.links.get_mut(kept) {
                    *place = link;
                }
                if at < self.weights.len() {
                    self.weights.copy_within(at..=at, kept);
                }
                kept += 1;
            }
            begin = end;
            if let Some(offset) = self.offsets.get_mut(k) {
                *offset = kept;
            }
        }
        self.links.truncate(kept);
        self.weights.truncate(kept);
    }

    pub(super) fn range(&self, k: usize) -> std::ops::Range<usize> {
        let at = |k: usize| self.offsets.get(k).copied().unwrap_or_default();
        at(k)..at(k + 1)
    }

    pub(super) fn get(&self, k: usize) -> (&[VertexId], &[f64]) {
        let range = self.range(k);
        let weights = self.weights.get(range.clone()).unwrap_or_default();
        (self.links.get(range).unwrap_or_default(), weights)
    }

    /// Lengths of all lists.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u32> {
        // A list has no more entries than there are vertices.
        self.offsets.iter().zip(self.offsets.iter().skip(1)).map(|(from, to)| (to - from) as u32)
    }
}
