//! The part of the graph that a server keeps (2.3.2).

use std::ops::Range;
use std::path::{Path, PathBuf};

use nakshi_engine::VertexId;
use nakshi_engine::program::pull::{Links, Origin, PullProgram};

use crate::exchange::{Batch, Session};
use crate::link_store::{LinkBuilder, LinkStore};
use crate::{Error, Partition, Result, plan};

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
    /// Vertex of each slot; the first `own` slots are this server's vertices, ascending.
    pub(crate) ids: Vec<VertexId>,
    pub(crate) own: usize,
    pub(crate) ranks: Vec<u32>,
    pub(crate) degrees: Vec<u32>,
    /// Offset at which the links of each own vertex begin, and the end of the last.
    pub(crate) offsets: Vec<u64>,
    /// Slots, or vertices if the program wants those; and weights where it reads them.
    pub(crate) lists: LinkStore,
    /// Slots of each server's values.
    pub(crate) remote: Vec<Range<usize>>,
    /// Own slots whose values each server has asked for, in the order of its slots.
    pub(crate) publish: Vec<Vec<u32>>,
}

/// Links that a program reads, with or without weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedLinks {
    /// Which edges.
    pub links: Links,
    /// True if links have weights.
    pub weighted: bool,
    /// True if weights below zero are refused.
    pub lengths: bool,
    /// True if links name vertices, and not the slots of their values.
    pub named: bool,
}

impl WantedLinks {
    /// Links to slots, for a program that is called for each vertex.
    pub fn of<P: PullProgram>() -> Self {
        WantedLinks { links: P::LINKS, weighted: P::WEIGHTED, lengths: P::LENGTHS, named: false }
    }
}

/// A shard while its lists arrive.
#[derive(Debug)]
pub(crate) struct Building {
    shard: Shard,
    links: WantedLinks,
    lists: LinkBuilder,
    /// Offset of the next list of each own vertex.
    next: Vec<u64>,
    /// Vertices that are in a list, a bit each.
    wanted: Vec<u64>,
}

/// A vertex of a server before its list has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub(crate) origin: Origin,
    /// Length of its list.
    pub(crate) links: u64,
}

impl Building {
    /// Begins the shard of a server's own vertices, ascending, of a graph of `vertices`. Lists go to
    /// files of a folder
    /// where `budget` is too small for them.
    pub(crate) fn new(
        server: usize,
        partition: &Partition,
        vertices: usize,
        own: impl Iterator<Item = Own>,
        links: WantedLinks,
        budget: &MemoryBudget,
    ) -> Result<Self> {
        let mut shard = Shard { server, vertices: vertices as u64, ..Shard::default() };
        let mut end = 0;
        for Own { origin, links } in own {
            shard.ids.push(origin.vertex);
            shard.ranks.push(origin.rank);
            shard.degrees.push(origin.degree);
            shard.offsets.push(end);
            end += links;
        }
        shard.own = shard.ids.len();
        shard.publish = vec![Vec::new(); partition.servers()];
        shard.offsets.push(end);
        let next = shard.offsets.clone();
        let folder = budget.folder(&shard, end, links.weighted, partition);
        let lists = LinkBuilder::new(end as usize, links.weighted, folder)?;
        Ok(Building { shard, links, lists, next, wanted: vec![0; vertices.div_ceil(64)] })
    }

    /// Takes lists of own vertices: vertex, length, neighbours, and weights. Lists of one vertex that
    /// come several times count together, in their order. None if they are not such.
    pub(crate) fn take(&mut self, mut body: &[u8]) -> Result<Option<()>> {
        while !body.is_empty() {
            let Some(line) = Line::decode(&mut body, self.links.weighted) else { return Ok(None) };
            self.refuse_negative(line.weights)?;
            let own = self.shard.ids.binary_search(&line.vertex).ok();
            let place = own.and_then(|own| {
                let end = *self.shard.offsets.get(own + 1)?;
                let next = self.next.get_mut(own)?;
                let at = *next;
                *next += line.neighbours.len() as u64;
                (*next <= end).then_some(at)
            });
            let Some(place) = place else { return Ok(None) };
            for v in line.neighbours {
                let v = VertexId::from_le_bytes(*v);
                let Some(word) = self.wanted.get_mut(v as usize / 64) else { return Ok(None) };
                *word |= 1 << (v % 64);
            }
            if !self.lists.put(place, line.neighbours, line.weights)? {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    /// Refuses weights below zero where they are lengths.
    fn refuse_negative(&self, weights: &[[u8; 8]]) -> Result<()> {
        let mut weights = weights.iter().map(|weight| f64::from_le_bytes(*weight));
        match weights.find(|weight| self.links.lengths && *weight < 0.0) {
            Some(weight) => Err(nakshi_engine::Error::NegativeWeight { weight }.into()),
            None => Ok(()),
        }
    }

    /// The shard, once all lists are there. Nobody knows yet which values are wanted here.
    pub(crate) fn finish(mut self, partition: &Partition) -> Result<Shard> {
        let server = self.shard.server;
        let ends = self.shard.offsets.iter().skip(1);
        if !self.next.iter().take(self.shard.own).eq(ends) {
            return Err(Error::damaged(server, "lists of its vertices are missing"));
        }
        self.next = Vec::new();
        self.subscribe(partition);
        // Vertices are below 2^32.
        let mut slots: Vec<u32> = (0..self.shard.vertices as u32).collect();
        for (slot, &v) in (0..).zip(&self.shard.ids).filter(|_| !self.links.named) {
            if let Some(place) = slots.get_mut(v as usize) {
                *place = slot;
            }
        }
        let len = self.shard.offsets.last().copied().unwrap_or_default();
        self.shard.lists = self.lists.finish(len, &slots)?;
        Ok(self.shard)
    }

    /// Gives every in-neighbour a slot.
    fn subscribe(&mut self, partition: &Partition) {
        let shard = &mut self.shard;
        let mut by_server = vec![Vec::new(); partition.servers()];
        for (k, mut word) in std::mem::take(&mut self.wanted).into_iter().enumerate() {
            while word != 0 {
                // Below the number of vertices, which fits.
                let v = (k * 64) as VertexId + word.trailing_zeros();
                word &= word - 1;
                let owner = partition.owner(v);
                if let Some(list) = by_server.get_mut(owner).filter(|_| owner != shard.server) {
                    list.push(v);
                }
            }
        }
        shard.ids.reserve_exact(by_server.iter().map(Vec::len).sum());
        for list in by_server {
            let from = shard.ids.len();
            shard.ids.extend(list);
            shard.remote.push(from..shard.ids.len());
        }
    }
}

/// Memory for a shard and its values, and the folder of lists that do not fit.
#[derive(Clone, Debug, Default)]
pub struct MemoryBudget {
    /// Bytes; as much as it takes, without.
    pub memory: Option<u64>,
    /// A folder for lists, on an SSD.
    pub folder: PathBuf,
    /// Bytes of a value.
    pub value: u64,
    /// Computation workers.
    pub threads: usize,
}

impl MemoryBudget {
    fn folder(
        &self,
        shard: &Shard,
        links: u64,
        weighted: bool,
        partition: &Partition,
    ) -> Option<&Path> {
        let memory = self.memory?;
        let (vertices, own) = (shard.vertices, shard.own as u64);
        let servers = partition.servers() as u64;
        // As many values as can be: which are wanted is not known yet.
        let subscribed = links.min(vertices - own);
        let published = own * (servers - 1);
        let part = plan::Part { servers, vertices, own, links, subscribed, published };
        let weights = if weighted { 8 * links } else { 0 };
        let need = plan::memory(part, self.value) + weights;
        (need > memory).then_some(&self.folder)
    }

    /// # Errors
    /// [`nakshi_engine::Error::Budget`] if a shard with its values does not fit, lists on the SSD or not.
    pub(crate) fn check(&self, shard: &Shard) -> Result<()> {
        let Some(given) = self.memory.filter(|_| shard.lists.reading_memory() > 0) else {
            return Ok(());
        };
        let part = plan::Part {
            servers: shard.publish.len() as u64,
            vertices: shard.vertices,
            own: shard.own as u64,
            links: 0,
            subscribed: shard.subscribed() as u64,
            published: shard.published() as u64,
        };
        let reading = self.threads as u64 * shard.lists.reading_memory();
        let needed = plan::memory(part, self.value) + reading;
        if needed <= given {
            return Ok(());
        }
        let what = format!("server {}, with its lists on disk,", shard.server);
        Err(nakshi_engine::Error::Budget { what, needed, given }.into())
    }
}

impl Shard {
    /// Tells other servers which of their values are wanted here: all of them, or those that are `new`
    /// to the run. They make publish lists of it; subscribe lists are not kept.
    pub(crate) fn exchange(&mut self, new: Option<&[usize]>, session: &mut Session) -> Result<()> {
        if new.is_none_or(|new| new.contains(&self.server)) {
            // All say it now; some may have said it before, in a round that was cut short.
            self.publish.iter_mut().for_each(Vec::clear);
        }
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
                let stranger = || Error::damaged(from, "there is no such server");
                publish.get_mut(from).ok_or_else(stranger)?.push(slot as u32);
            }
            Ok(())
        })
    }

    /// Range of the links of an own vertex.
    #[inline]
    pub(crate) fn range(&self, slot: usize) -> Range<usize> {
        let at = |slot: usize| self.offsets.get(slot).map_or(0, |at| *at as usize);
        at(slot)..at(slot + 1)
    }

    /// Constant properties of an own vertex.
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

    /// Vertices of this server, ascending.
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
        self.offsets.last().map_or(0, |end| *end as usize)
    }
}

/// A list of links on the wire.
pub(crate) struct Line<'b> {
    vertex: VertexId,
    neighbours: &'b [[u8; 4]],
    weights: &'b [[u8; 8]],
}

impl<'b> Line<'b> {
    pub(crate) fn encode(
        vertex: VertexId,
        neighbours: &[VertexId],
        weights: impl Iterator<Item = f64>,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(&vertex.to_le_bytes());
        // A list has fewer entries than there are vertices, below 2^32.
        out.extend_from_slice(&(neighbours.len() as u32).to_le_bytes());
        neighbours.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
        weights.for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
    }

    fn decode(bytes: &mut &'b [u8], weighted: bool) -> Option<Self> {
        let (vertex, rest) = bytes.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let len = u32::from_le_bytes(*len) as usize;
        let (neighbours, rest) = rest.split_at_checked(4 * len)?;
        let (weights, rest) = rest.split_at_checked(if weighted { 8 * len } else { 0 })?;
        *bytes = rest;
        Some(Line {
            vertex: VertexId::from_le_bytes(*vertex),
            neighbours: neighbours.as_chunks().0,
            weights: weights.as_chunks().0,
        })
    }
}
