//! Loader of a file of edges or of parts: edges become lists of their owners.

use nakshi_engine::program::pull::{Links, Origin};
use nakshi_engine::{Context, VertexId};

use super::file::Pieces;
use super::lists::{Owned, SortedLists};
use super::source::{EdgeSource, Places};
use crate::exchange::{BATCH, Batch, Session};
use crate::shard::{Building, Line, MemoryBudget, Own, WantedLinks};
use crate::{Error, Partition, Result, Shard};

/// Pieces of a file that a server parses before it sends their edges: of half a mebibyte of text each.
const PIECES: usize = 8;

/// Which of a vertex's lists an edge is in: the first byte of a frame.
const INCOMING: u8 = 0;
const OUTGOING: u8 = 1;

/// Converts edges into list entries for their owners.
pub(super) struct Loader<'l> {
    source: &'l EdgeSource<'l>,
    places: Places<'l>,
    vertices: usize,
    servers: usize,
    /// The owner of each vertex.
    pub(super) owners: Vec<u16>,
    /// With weights only if the edges have some.
    wanted: WantedLinks,
    /// True if lists of out-neighbours are wanted too.
    out: bool,
    /// The server whose lists only are wanted.
    alone: Option<usize>,
}

impl<'l> Loader<'l> {
    pub(super) fn new(
        source: &'l EdgeSource<'l>,
        wanted: WantedLinks,
        (places, vertices): (Places<'l>, usize),
        partition: &Partition,
        alone: Option<usize>,
    ) -> Self {
        // Numbers of vertices have 32 bits, those of servers 16.
        let owners = (0..vertices as VertexId).map(|v| partition.owner(v) as u16).collect();
        let weighted = wanted.weighted && source.weighted();
        let wanted = WantedLinks { weighted, ..wanted };
        // Whoever is alone has nobody to ask how many out-neighbours a vertex has.
        let out = source.directed() && (wanted.links == Links::Both || alone.is_some());
        let servers = partition.servers();
        Loader { source, places, vertices, servers, owners, wanted, out, alone }
    }

    /// Returns true if edges have weights that are wanted.
    pub(super) fn weighted(&self) -> bool {
        self.wanted.weighted
    }

    fn owner(&self, v: VertexId) -> usize {
        // Every number has an owner.
        self.owners.get(v as usize).copied().map_or(0, usize::from)
    }

    /// The entries of lists of a server's vertices.
    pub(super) fn gather(
        &self,
        server: usize,
        budget: &MemoryBudget,
        session: Option<&mut Session>,
        cx: &Context,
    ) -> Result<Gathered> {
        let mut pieces = self.source.edges(self.wanted.weighted, session.as_deref(), cx)?;
        let (weighted, load) = (self.weighted(), self.source.load_name());
        let mut gathered =
            Gathered { weighted, load, budget: budget.memory, ..Gathered::default() };
        match session {
            None => {
                while !pieces.ended {
                    for (_, frame) in self.read(&mut pieces, cx)? {
                        gathered.take(server, frame.get(Session::HEADER..).unwrap_or_default())?;
                    }
                }
            }
            Some(session) => {
                let mut produce = || {
                    let frames = self.read(&mut pieces, cx)?;
                    Ok(Batch { frames, more: !pieces.ended })
                };
                session.exchange(&mut produce, &mut |from, body| gathered.take(from, body))?;
            }
        }
        Ok(gathered)
    }

    /// Frames with the edges of the next pieces.
    fn read(&self, pieces: &mut Pieces<'_>, cx: &Context) -> Result<Vec<(usize, Vec<u8>)>> {
        let new = || vec![Vec::new(); 2 * self.servers];
        let frames = pieces.parse(PIECES, cx, new, |edges, frames| {
            let mut put = |kind: u8, vertex: VertexId, neighbour: VertexId, weight: f64| {
                let owner = self.owner(vertex);
                if self.alone.is_some_and(|alone| alone != owner) {
                    return;
                }
                // There are two for each server, and owners are servers.
                let Some(frame) = frames.get_mut(2 * owner + usize::from(kind)) else { return };
                if frame.is_empty() {
                    *frame = Session::frame(0);
                    frame.push(kind);
                }
                frame.extend_from_slice(&vertex.to_le_bytes());
                frame.extend_from_slice(&neighbour.to_le_bytes());
                if self.weighted() && kind == INCOMING {
                    frame.extend_from_slice(&weight.to_le_bytes());
                }
            };
            edges.each_edge(|source, target, weight| {
                let (u, v) = (self.number(source)?, self.number(target)?);
                put(INCOMING, v, u, weight);
                if !self.source.directed() && u != v {
                    put(INCOMING, u, v, weight);
                }
                if self.out {
                    put(OUTGOING, u, v, weight);
                }
                Ok(())
            })
        })?;
        let frames = frames.into_iter().flat_map(|frames| frames.into_iter().enumerate());
        let full = frames.filter(|(_, frame)| !frame.is_empty());
        Ok(full.map(|(k, frame)| (k / 2, frame)).collect())
    }

    fn number(&self, id: u64) -> nakshi_engine::Result<VertexId> {
        self.places.number(id).ok_or_else(|| {
            let what = format!("{} has changed while it was read", self.source.name());
            nakshi_store::Error::Invalid(what).into()
        })
    }

    /// The shard of own vertices with their degrees and lists.
    pub(super) fn build(
        &self,
        (own, degrees): (&Owned, &[u32]),
        lists: &[SortedLists],
        partition: &Partition,
        (server, budget): (usize, &MemoryBudget),
    ) -> Result<Shard> {
        let vertices = self.vertices;
        let owned =
            own.vertices.iter().zip(degrees).enumerate().map(|(k, (&vertex, &degree))| Own {
                origin: Origin { vertex, rank: vertex, degree, vertices: vertices as u64 },
                links: lists.iter().map(|lists| lists.range(k).len() as u64).sum(),
            });
        let mut building = Building::new(server, partition, vertices, owned, self.wanted, budget)?;
        let mut line = Vec::new();
        for lists in lists {
            for (k, &vertex) in own.vertices.iter().enumerate() {
                let (list, weights) = lists.get(k);
                line.clear();
                Line::encode(vertex, list, weights.iter().copied(), &mut line);
                let damaged = || Error::damaged(server, "its lists are not those of its vertices");
                building.take(&line)?.ok_or_else(damaged)?;
            }
        }
        building.finish(partition)
    }

    /// Out-neighbours of own vertices, whose edges are in other servers' lists: servers tell each other how
    /// often their vertices occur.
    pub(super) fn out_degrees(
        &self,
        incoming: &SortedLists,
        own: &Owned,
        session: &mut Session,
    ) -> Result<Vec<u32>> {
        let vertices = self.vertices;
        let mut counts = vec![0u32; vertices];
        for &link in &incoming.links {
            if let Some(count) = counts.get_mut(link as usize) {
                *count += 1;
            }
        }
        let mut degrees = vec![0u32; own.vertices.len()];
        let servers = session.servers();
        let mut next = 0;
        let mut produce = || {
            let (from, to) = (next, vertices.min(next + BATCH / 8));
            next = to;
            let mut frames = vec![Session::frame(0); servers];
            let counted = counts.get(from..to).unwrap_or_default().iter();
            for ((v, count), &owner) in (from..).zip(counted).zip(self.owners.iter().skip(from)) {
                if let Some(frame) = frames.get_mut(usize::from(owner)).filter(|_| *count > 0) {
                    // Numbers of vertices have 32 bits.
                    frame.extend_from_slice(&(v as VertexId).to_le_bytes());
                    frame.extend_from_slice(&count.to_le_bytes());
                }
            }
            let frames = frames.into_iter().enumerate();
            let full = frames.filter(|(_, frame)| frame.len() > Session::HEADER).collect();
            Ok(Batch { frames: full, more: to < vertices })
        };
        session.exchange(&mut produce, &mut |from, body| {
            for [vertex, count] in body.as_chunks::<4>().0.as_chunks::<2>().0 {
                let foreign = || Error::damaged(from, "it counts what is not here");
                let place = own.place(*vertex).and_then(|k| degrees.get_mut(k));
                let degree = place.ok_or_else(foreign)?;
                *degree = degree.saturating_add(u32::from_le_bytes(*count));
            }
            Ok(())
        })?;
        Ok(degrees)
    }
}

/// Entries of lists as they have come.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) incoming: Vec<Vec<u8>>,
    pub(super) outgoing: Vec<Vec<u8>>,
    pub(super) weighted: bool,
    bytes: u64,
    /// Memory budget for the entries, in bytes.
    budget: Option<u64>,
    /// The load, in messages.
    load: &'static str,
}

impl Gathered {
    fn take(&mut self, from: usize, body: &[u8]) -> Result<()> {
        let empty = || Error::damaged(from, "it is empty");
        let (kind, entries) = body.split_first().ok_or_else(empty)?;
        let (size, to) = match *kind {
            INCOMING => (if self.weighted { 16 } else { 8 }, &mut self.incoming),
            OUTGOING => (8, &mut self.outgoing),
            _ => return Err(Error::damaged(from, "it has no edges")),
        };
        if entries.len() % size != 0 {
            return Err(Error::damaged(from, "an edge in it is cut off"));
        }
        to.push(entries.to_vec());
        // Half as much again for the lists that are made of them.
        self.bytes += entries.len() as u64 * 3 / 2;
        match self.budget {
            Some(given) if self.bytes > given => {
                let what = self.load.into();
                Err(nakshi_engine::Error::Budget { what, needed: self.bytes, given }.into())
            }
            _ => Ok(()),
        }
    }
}
