//! Graph loaders (2.3.1): every server reads a share of a store and sends lists to their owners.

use std::sync::{Mutex, PoisonError};

use nakshi_engine::program::pull::{Links, Origin, Origins};
use nakshi_engine::{Context, Direction, Graph, VertexId, VertexSet};

use crate::exchange::{Batch, Session};
use crate::shard::Line;
use crate::{Error, Partition, Result, Shard};

/// Encoded bytes of lists that a loader reads at a time.
const SHARE: u64 = 8 << 20;
/// Bytes of a frame, about.
const FRAME: usize = 256 << 10;

/// Which links a program wants, and whether with weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which edges.
    pub links: Links,
    /// Whether weights come along.
    pub weighted: bool,
}

impl Wanted {
    fn directions(&self, graph: &Graph) -> &'static [Direction] {
        match self.links {
            Links::Both if graph.directed() => &[Direction::Out, Direction::In],
            _ => &[Direction::In],
        }
    }
}

/// Loads this server's part of a graph that all servers can read: each reads its share of the lists and
/// sends them to the owners of their vertices.
///
/// # Errors
/// Those of reading and of sending.
pub fn load(graph: &Graph, wanted: Wanted, session: &mut Session, cx: &Context) -> Result<Shard> {
    let partition = Partition::new(session.servers())?;
    let origins = Origins::of(graph, wanted.links, cx)?;
    let loader = Loader { graph, wanted, origins, cx };
    let n = graph.num_vertices();
    let servers = session.servers();
    let share = |server: usize| n * server / servers;
    let mut lines = Vec::new();
    for &direction in wanted.directions(graph) {
        let mut next = share(session.server());
        let end = share(session.server() + 1);
        let mut produce = || {
            let from = next;
            next = graph.until(direction, from, end, SHARE);
            let frames = loader.read(direction, from..next, &partition)?;
            Ok(Batch { frames, more: next < end })
        };
        session.exchange(&mut produce, &mut |from, mut body| {
            while !body.is_empty() {
                let line = Line::decode(&mut body, n, wanted.weighted);
                lines.push(line.ok_or_else(|| Error::damaged(from, "a list in it is cut off"))?);
            }
            Ok(())
        })?;
    }
    let mut shard = Shard::build(lines, n as u64, &partition, session.server());
    shard.exchange(None, session)?;
    Ok(shard)
}

/// Loads a server's part by itself, for one that takes the place of another in a run: the others have
/// theirs. Tells nobody what is wanted.
///
/// # Errors
/// Those of reading.
pub(crate) fn load_alone(
    graph: &Graph,
    wanted: Wanted,
    partition: &Partition,
    server: usize,
    cx: &Context,
) -> Result<Shard> {
    let origins = Origins::of(graph, wanted.links, cx)?;
    let loader = Loader { graph, wanted, origins, cx };
    let n = graph.num_vertices();
    let mut lines = Vec::new();
    for &direction in wanted.directions(graph) {
        let mut next = 0;
        while next < n {
            let from = next;
            next = graph.until(direction, from, n, SHARE);
            // Ids are 32 bits wide.
            let own = (from..next).filter(|v| partition.owner(*v as VertexId) == server);
            for (_, frame) in loader.read(direction, own, partition)? {
                let mut body = frame.get(Session::HEADER..).unwrap_or_default();
                while !body.is_empty() {
                    let line = Line::decode(&mut body, n, wanted.weighted);
                    lines.push(line.ok_or_else(|| Error::damaged(server, "a list is cut off"))?);
                }
            }
        }
    }
    Ok(Shard::build(lines, n as u64, partition, server))
}

/// What a loader knows of the graph.
struct Loader<'g> {
    graph: &'g Graph,
    wanted: Wanted,
    origins: Origins,
    cx: &'g Context,
}

impl Loader<'_> {
    /// Frames with the lists of some vertices.
    fn read(
        &self,
        direction: Direction,
        vertices: impl Iterator<Item = usize>,
        partition: &Partition,
    ) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut set = VertexSet::new(self.graph.num_vertices());
        // Ids are 32 bits wide.
        vertices.for_each(|v| {
            set.insert(v as VertexId);
        });
        let done = Mutex::new(Vec::new());
        let packer = |_: usize| Packer { frames: Vec::new(), done: &done };
        let put = |packer: &mut Packer<'_>, line: &Line| {
            packer.put(partition.owner(line.vertex), line);
            Ok(())
        };
        if self.wanted.weighted {
            self.graph.gather_weighted(
                direction,
                &set,
                self.cx,
                packer,
                |packer, v, list, weights| {
                    let mut line = self.line(v);
                    list.decode_into(&mut line.neighbours)?;
                    line.weights = (0..line.neighbours.len()).map(|i| weights.get(i)).collect();
                    put(packer, &line)
                },
            )?;
        } else {
            self.graph.gather(direction, &set, self.cx, packer, |packer, v, list| {
                let mut line = self.line(v);
                list.decode_into(&mut line.neighbours)?;
                put(packer, &line)
            })?;
        }
        Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn line(&self, vertex: VertexId) -> Line {
        let Origin { rank, degree, .. } = self.origins.get(vertex);
        Line { vertex, rank, degree, neighbours: Vec::new(), weights: Vec::new() }
    }
}

/// Collects lists for each server, by one thread.
struct Packer<'d> {
    frames: Vec<Vec<u8>>,
    done: &'d Mutex<Vec<(usize, Vec<u8>)>>,
}

impl Packer<'_> {
    fn put(&mut self, owner: usize, line: &Line) {
        if self.frames.len() <= owner {
            self.frames.resize_with(owner + 1, Vec::new);
        }
        let Some(frame) = self.frames.get_mut(owner) else { return };
        if frame.is_empty() {
            *frame = Session::frame(FRAME);
        }
        line.encode(frame);
        if frame.len() >= FRAME {
            let full = std::mem::take(frame);
            self.done.lock().unwrap_or_else(PoisonError::into_inner).push((owner, full));
        }
    }
}

impl Drop for Packer<'_> {
    fn drop(&mut self) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = self.frames.drain(..).enumerate();
        done.extend(rest.filter(|(_, frame)| !frame.is_empty()));
    }
}

impl Line {
    fn encode(&self, out: &mut Vec<u8>) {
        // A list has fewer entries than there are vertices, below 2^32.
        for number in [self.vertex, self.rank, self.degree, self.neighbours.len() as u32] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        self.neighbours.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
        self.weights.iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
    }

    fn decode(bytes: &mut &[u8], vertices: usize, weighted: bool) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<16>()?;
        let [vertex, rank, degree, len] = head.as_chunks().0 else { return None };
        let len = u32::from_le_bytes(*len) as usize;
        let (neighbours, rest) = rest.split_at_checked(4 * len)?;
        let (weights, rest) = rest.split_at_checked(if weighted { 8 * len } else { 0 })?;
        let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let line = Line {
            vertex: number(vertex),
            rank: number(rank),
            degree: number(degree),
            neighbours: neighbours.as_chunks().0.iter().map(number).collect(),
            weights: weights.as_chunks().0.iter().map(|w| f64::from_le_bytes(*w)).collect(),
        };
        *bytes = rest;
        let known = |v: &VertexId| (*v as usize) < vertices;
        (known(&line.vertex) && line.neighbours.iter().all(known)).then_some(line)
    }
}
