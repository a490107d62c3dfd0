//! What a server keeps of the graph (2.3.2).

use std::ops::Range;

use nakshi_engine::VertexId;
use nakshi_engine::program::pull::Origin;

use crate::exchange::{Batch, Session};
use crate::{Error, Partition, Result};

/// The vertices of one server, the links to them, and who wants their values.
///
/// Links do not name vertices but *slots*: the places of values, first those of this server's own
/// vertices, then those of every other server's that are in-neighbours here, by server and id. A value
/// that arrives goes straight to its slot, and a list is read without looking anything up.
#[derive(Debug, Default)]
pub struct Shard {
    pub(crate) server: usize,
    /// Vertices of the whole graph.
    pub(crate) vertices: u64,
    /// By slot; the first `own` are this server's, ascending.
    pub(crate) ids: Vec<VertexId>,
    pub(crate) own: usize,
    pub(crate) ranks: Vec<u32>,
    pub(crate) degrees: Vec<u32>,
    /// Where the links of each own vertex begin, and the end of the last.
    pub(crate) offsets: Vec<u64>,
    /// Slots.
    pub(crate) links: Vec<u32>,
    /// By link, where the program reads weights.
    pub(crate) weights: Vec<f64>,
    /// Slots of each server's values.
    pub(crate) remote: Vec<Range<usize>>,
    /// Own slots whose values each server has asked for, in the order of its slots.
    pub(crate) publish: Vec<Vec<u32>>,
}

/// A list of links as it came.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) vertex: VertexId,
    pub(crate) rank: u32,
    pub(crate) degree: u32,
    pub(crate) neighbours: Vec<VertexId>,
    pub(crate) weights: Vec<f64>,
}

impl Shard {
    /// Makes a shard of the lists of a server's vertices. Lists of one vertex that come several times
    /// count together, in their order. Nobody knows yet which values are wanted here.
    pub(crate) fn build(
        mut lines: Vec<Line>,
        vertices: u64,
        partition: &Partition,
        server: usize,
    ) -> Self {
        // Stable: an out-list comes before an in-list.
        lines.sort_by_key(|line| line.vertex);
        let mut shard = Shard { server, vertices, ..Shard::default() };
        let all = lines.iter().map(|line| line.neighbours.len()).sum();
        shard.links.reserve_exact(all);
        shard.offsets.push(0);
        for line in lines {
            if shard.ids.last() == Some(&line.vertex) {
                shard.offsets.pop();
            } else {
                shard.ids.push(line.vertex);
                shard.ranks.push(line.rank);
                shard.degrees.push(line.degree);
            }
            shard.links.extend_from_slice(&line.neighbours);
            shard.weights.extend_from_slice(&line.weights);
            shard.offsets.push(shard.links.len() as u64);
        }
        shard.own = shard.ids.len();
        shard.subscribe(partition);
        shard.publish = vec![Vec::new(); partition.servers()];
        shard
    }

    /// Gives every in-neighbour a slot, and puts slots in the place of vertices.
    fn subscribe(&mut self, partition: &Partition) {
        let mut wanted = vec![0u64; (self.vertices as usize).div_ceil(64)];
        for &v in &self.links {
            if let Some(word) = wanted.get_mut(v as usize / 64) {
                *word |= 1 << (v % 64);
            }
        }
        let mut by_server = vec![Vec::new(); partition.servers()];
        for (k, mut word) in wanted.into_iter().enumerate() {
            while word != 0 {
                // Below the number of vertices, which fits.
                let v = (k * 64) as VertexId + word.trailing_zeros();
                word &= word - 1;
                let owner = partition.owner(v);
                if let Some(list) = by_server.get_mut(owner).filter(|_| owner != self.server) {
                    list.push(v);
                }
            }
        }
        for list in by_server {
            let from = self.ids.len();
            self.ids.extend(list);
            self.remote.push(from..self.ids.len());
        }
        let mut slots = vec![0u32; self.vertices as usize];
        for (slot, &v) in (0..).zip(&self.ids) {
            if let Some(place) = slots.get_mut(v as usize) {
                *place = slot;
            }
        }
        for link in &mut self.links {
            *link = slots.get(*link as usize).copied().unwrap_or_default();
        }
    }

    /// Tells other servers which of their values are wanted here: all of them, or those that are `new`
    /// to the run. They make publish lists of it; subscribe lists are not kept.
    pub(crate) fn exchange(&mut self, new: Option<&[usize]>, session: &mut Session) -> Result<()> {
        let mut next = 0;
        let (ids, remote) = (&self.ids, &self.remote);
        let mut produce = || {
            let to = next;
            next += 1;
            let asked = new.is_none_or(|new| new.contains(&to));
            let slots = remote.get(to).filter(|slots| asked && !slots.is_empty());
            let list = slots.and_then(|slots| ids.get(slots.clone())).unwrap_or_default();
            let mut frame = Session::frame(4 * list.len());
            list.iter().for_each(|v| frame.extend_from_slice(&v.to_le_bytes()));
            let frames = if list.is_empty() { Vec::new() } else { vec![(to, frame)] };
            Ok(Batch { frames, more: next < remote.len() })
        };
        let own = self.ids.get(..self.own).unwrap_or_default();
        let publish = &mut self.publish;
        session.exchange(&mut produce, &mut |from, body| {
            for bytes in body.as_chunks().0 {
                let vertex = VertexId::from_le_bytes(*bytes);
                let slot = own.binary_search(&vertex);
                let slot = slot.map_err(|_| Error::damaged(from, "it wants what is not here"))?;
                if let Some(list) = publish.get_mut(from) {
                    list.push(slot as u32);
                }
            }
            Ok(())
        })
    }

    /// Where the links of an own vertex are.
    #[inline]
    pub(crate) fn range(&self, slot: usize) -> Range<usize> {
        let at = |slot: usize| self.offsets.get(slot).map_or(0, |at| *at as usize);
        at(slot)..at(slot + 1)
    }

    /// What an own vertex is.
    #[inline]
    pub(crate) fn origin(&self, slot: usize) -> Origin {
        let at = |numbers: &[u32]| numbers.get(slot).copied().unwrap_or_default();
        Origin {
            vertex: at(&self.ids),
            rank: at(&self.ranks),
            degree: at(&self.degrees),
            vertices: self.vertices,
        }
    }

    /// Its vertices, ascending.
    pub fn vertices(&self) -> &[VertexId] {
        self.ids.get(..self.own).unwrap_or_default()
    }

    /// In-neighbours of other servers' vertices: values that arrive here when all change.
    pub fn subscribed(&self) -> usize {
        self.ids.len() - self.own
    }

    /// Values that leave when all change.
    pub fn published(&self) -> usize {
        self.publish.iter().map(Vec::len).sum()
    }

    /// Links to its vertices.
    pub fn links(&self) -> usize {
        self.links.len()
    }
}
