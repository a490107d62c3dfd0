//! Loading from a store (2.3.1): every server reads a share of it and sends lists to their owners.

use std::sync::{Mutex, PoisonError};

use nakshi_engine::program::pull::{Links, Origins};
use nakshi_engine::{Context, Direction, Graph, VertexId, VertexSet};

use crate::exchange::{Batch, FRAME, Session};
use crate::plan::SHARE;
use crate::shard::{Building, Line, MemoryBudget, Own, WantedLinks};
use crate::{Error, Partition, Result, Shard};

/// The phase in which servers load, of their progress.
pub(crate) const LOADING: &str = "loading";

/// The directions of the lists that are loaded.
fn directions(wanted: WantedLinks, graph: &Graph) -> &'static [Direction] {
    match wanted.links {
        Links::Both if graph.directed() => &[Direction::Out, Direction::In],
        _ => &[Direction::In],
    }
}

/// Loads this server's part of a graph that all servers can read: each reads its share of the lists and
/// sends them to the owners of their vertices.
///
/// # Errors
/// Errors of reading and of sending; [`nakshi_engine::Error::Budget`].
pub fn load(
    graph: &Graph,
    wanted: WantedLinks,
    budget: &MemoryBudget,
    session: &mut Session,
    cx: &Context,
) -> Result<Shard> {
    let partition = Partition::new(session.servers())?;
    let loader = Loader { graph, wanted, partition: &partition, cx };
    let mut building = loader.begin(session.server(), budget)?;
    let (n, servers) = (graph.num_vertices(), session.servers());
    let share = |server: usize| n * server / servers;
    let directions = directions(wanted, graph);
    let (mut done, total) =
        (0, directions.len() * (share(session.server() + 1) - share(session.server())));
    for &direction in directions {
        let mut next = share(session.server());
        let end = share(session.server() + 1);
        let mut produce = || {
            let from = next;
            next = graph.until(direction, from, end, SHARE);
            let frames = loader.read(direction, from..next)?;
            done += next - from;
            cx.progress().update(LOADING, done as u64, total as u64);
            Ok(Batch { frames, more: next < end })
        };
        session.exchange(&mut produce, &mut |from, body| {
            let damaged = || Error::damaged(from, "lists in it are not those of vertices here");
            building.take(body)?.ok_or_else(damaged)
        })?;
    }
    let mut shard = building.finish(&partition)?;
    shard.exchange(None, session)?;
    budget.check(&shard)?;
    Ok(shard)
}

/// Loads a server's part by itself, for one that takes the place of another in a run: the others have
/// theirs. Tells nobody what is wanted.
///
/// # Errors
/// Errors of reading; [`nakshi_engine::Error::Budget`].
pub(crate) fn load_alone(
    graph: &Graph,
    wanted: WantedLinks,
    budget: &MemoryBudget,
    (server, servers): (usize, usize),
    cx: &Context,
) -> Result<Shard> {
    let partition = Partition::new(servers)?;
    let loader = Loader { graph, wanted, partition: &partition, cx };
    let mut building = loader.begin(server, budget)?;
    let n = graph.num_vertices();
    for &direction in directions(wanted, graph) {
        let mut next = 0;
        while next < n {
            let from = next;
            next = graph.until(direction, from, n, SHARE);
            // Ids are 32 bits wide.
            let own = (from..next).filter(|v| partition.owner(*v as VertexId) == server);
            for (_, frame) in loader.read(direction, own)? {
                let body = frame.get(Session::HEADER..).unwrap_or_default();
                let damaged = || Error::damaged(server, "its lists are not those of its vertices");
                building.take(body)?.ok_or_else(damaged)?;
            }
        }
    }
    building.finish(&partition)
}

/// Loads lists of the graph for their owners.
struct Loader<'g> {
    graph: &'g Graph,
    wanted: WantedLinks,
    partition: &'g Partition,
    cx: &'g Context,
}

impl Loader<'_> {
    fn begin(&self, server: usize, budget: &MemoryBudget) -> Result<Building> {
        let Loader { graph, wanted, partition, cx } = *self;
        let origins = Origins::of(graph, wanted.links, cx)?;
        let lengths = match directions(wanted, graph) {
            // Those in both directions are what vertices are told of.
            [Direction::Out, Direction::In] => None,
            _ => Some(graph.degrees(Direction::In, cx)?),
        };
        let length = |v: VertexId| match &lengths {
            Some(lengths) => lengths.get(v as usize).copied().unwrap_or_default().into(),
            None => origins.get(v).degree.into(),
        };
        // Ids are 32 bits wide.
        let own = (0..origins.len() as VertexId).filter(|v| partition.owner(*v) == server);
        let own = own.map(|v| Own { origin: origins.get(v), links: length(v) });
        Building::new(server, partition, origins.len(), own, wanted, budget)
    }

    /// Frames with the lists of some vertices.
    fn read(
        &self,
        direction: Direction,
        vertices: impl Iterator<Item = usize>,
    ) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut set = VertexSet::new(self.graph.num_vertices());
        // Ids are 32 bits wide.
        vertices.for_each(|v| {
            set.insert(v as VertexId);
        });
        let done = Mutex::new(Vec::new());
        let packer = |_: usize| Packer { list: Vec::new(), frames: Vec::new(), done: &done };
        let (graph, cx) = (self.graph, self.cx);
        if self.wanted.weighted {
            graph.gather_weighted(direction, &set, cx, packer, |packer, v, list, weights| {
                list.decode_into(&mut packer.list)?;
                let weights = (0..packer.list.len()).map(|i| weights.get(i));
                packer.put(self.partition.owner(v), v, weights);
                Ok(())
            })?;
        } else {
            graph.gather(direction, &set, cx, packer, |packer, v, list| {
                list.decode_into(&mut packer.list)?;
                packer.put(self.partition.owner(v), v, std::iter::empty());
                Ok(())
            })?;
        }
        Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Collects lists for each server, by one thread.
struct Packer<'d> {
    /// The list that is put next.
    list: Vec<VertexId>,
    frames: Vec<Vec<u8>>,
    done: &'d Mutex<Vec<(usize, Vec<u8>)>>,
}

impl Packer<'_> {
    fn put(&mut self, owner: usize, vertex: VertexId, weights: impl Iterator<Item = f64>) {
        if self.frames.len() <= owner {
            self.frames.resize_with(owner + 1, Vec::new);
        }
        // There are as many by now.
        let Some(frame) = self.frames.get_mut(owner) else { return };
        if frame.is_empty() {
            *frame = Session::frame(0);
        }
        Line::encode(vertex, &self.list, weights, frame);
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
