//! Look-ups: the lists, degrees and edges of named vertices, samples of their neighbours, and paths.
//!
//! * [`OpenLists`]: a graph that stays open between calls, with its index, page cache and readers;
//! * [`lists`]: lists and degrees, one or many at a time; [`answer`]: lists in the order of a request;
//!   [`resident`]: the same where lists are in memory;
//! * [`edges`]: whether edges exist; [`sample`]: some neighbours of each vertex;
//! * [`path`], [`weighted_path`]: a shortest path between two vertices; [`guided_path`]: the same with
//!   lower bounds of what is left; [`k_paths`]: several.

mod answer;
mod edges;
mod guided_path;
mod k_paths;
mod lists;
mod path;
mod resident;
mod sample;
mod weighted_path;

pub use answer::NeighborLists;
pub use sample::Sampling;
pub use weighted_path::WeightedPath;

use crate::context::{Context, EngineMode};
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Needs, Summary};
use crate::gather::ListReader;
use crate::graph::Graph;
use crate::parallel::{Tickets, run_workers};
use crate::source::weights::Weights;
use crate::source::{Data, unit_weights};
use nakshi_io::CachedReader;
use nakshi_store::{Direction, List, Store, VertexId};
use std::sync::{Arc, Mutex, PoisonError};

/// Requests that a worker takes at once.
const BATCH: usize = 1024;
/// Requests below which a second thread costs more than it saves, lists in memory.
const ALONE_IN_MEMORY: usize = 4 * BATCH;
/// The same, lists on the SSD.
const ALONE_ON_SSD: usize = 64;

/// The lists that look-ups read, and the memory that their caller needs beside them.
#[derive(Debug, Clone, Default)]
pub struct ListNeeds {
    /// Directions whose lists are read.
    pub directions: Vec<Direction>,
    /// Weight column that is read beside the lists.
    pub column: Option<String>,
    /// Bytes that the caller keeps as long as the look-ups: its dictionary of ids.
    pub beside: u64,
}

impl ListNeeds {
    fn needs(&self) -> Needs {
        Needs {
            state_bytes_fixed: self.beside,
            directions: self.directions.clone(),
            gathers: true,
            column: self.column.clone(),
            ..Needs::default()
        }
    }
}

/// A reader of lists and one of weights, which a worker borrows for a call.
#[derive(Debug, Default)]
struct Readers {
    lists: Option<CachedReader>,
    weights: Option<CachedReader>,
}

/// Answers to questions about single vertices of a store. One object serves any number of calls and
/// threads, and keeps index, page cache and readers between them.
#[derive(Debug)]
pub struct OpenLists {
    graph: Graph,
    needs: ListNeeds,
    /// Readers that no call is using: of out-lists, of in-lists.
    idle: [Mutex<Vec<Readers>>; 2],
    /// Memory that results may take, with the budget and the part of it that is in use; `None`
    /// without a budget.
    room: Option<Room>,
}

/// Memory that a budget leaves for results, in bytes.
#[derive(Debug, Clone, Copy)]
struct Room {
    budget: u64,
    used: u64,
}

impl OpenLists {
    /// Opens `store` for look-ups in the mode and the memory budget of `cx`: the lists are in memory
    /// or read through a page cache. A quarter of what the budget leaves is page cache, the rest is for
    /// results.
    ///
    /// # Errors
    /// [`Error::Budget`] with the smallest budget that works; no such weight column; reading;
    /// [`Error::Cancelled`].
    pub fn open(store: &Arc<Store>, needs: ListNeeds, cx: &Context) -> Result<OpenLists> {
        let estimate = Estimate::new(&needs.needs(), &Summary::of_store(store), cx.threads());
        let cx = cx.clone();
        let (cx, room) = match cx.memory() {
            None => (cx, None),
            Some(budget) => {
                let loads = cx.mode() != EngineMode::Ssd && budget >= estimate.in_memory;
                let least = if loads { estimate.in_memory } else { estimate.minimum };
                let spare = budget.saturating_sub(least);
                // Graph::open makes half of what is left a page cache.
                let given = if budget < least { budget } else { least + spare / 2 };
                let used = least.saturating_add(if loads { 0 } else { spare / 4 });
                (cx.with_memory(Some(given)), Some(Room { budget, used }))
            }
        };
        let graph = Graph::open(store, &needs.needs(), &cx)?;
        Ok(OpenLists { graph, needs, idle: Default::default(), room })
    }

    /// The graph that is read.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The needs with which the look-ups were opened.
    pub fn needs(&self) -> &ListNeeds {
        &self.needs
    }

    /// Fails if results of `bytes` are more than the budget leaves.
    ///
    /// # Errors
    /// [`Error::Budget`] with the smallest budget that works.
    pub fn check_room(&self, bytes: u64, what: &str) -> Result<()> {
        let Some(Room { budget, used }) = self.room else { return Ok(()) };
        let needed = used.saturating_add(bytes);
        if needed <= budget {
            return Ok(());
        }
        Err(Error::Budget { what: what.to_owned(), needed, given: budget })
    }

    /// True if the lists of a direction are in memory.
    fn in_memory(&self, direction: Direction) -> Result<bool> {
        Ok(matches!(self.graph.side(direction)?.data, Data::Memory(_)))
    }

    fn pool(&self, direction: Direction) -> &Mutex<Vec<Readers>> {
        let [out, incoming] = &self.idle;
        match direction {
            Direction::In if self.graph.directed() => incoming,
            _ => out,
        }
    }

    /// Runs `work` with a reader of lists, an idle one if there is one.
    fn with_reader<T>(
        &self,
        direction: Direction,
        cx: &Context,
        work: impl FnOnce(&mut ListReader<'_>) -> Result<T>,
    ) -> Result<T> {
        let side = self.graph.side(direction)?;
        let pool = || self.pool(direction).lock().unwrap_or_else(PoisonError::into_inner);
        let readers = pool().pop();
        let mut reader = match readers {
            Some(Readers { lists, weights }) => ListReader::reuse(side, lists, weights, cx),
            None => self.graph.reader(direction, cx)?,
        };
        // After an error it may wait for a device for ever: the next call makes another.
        let answer = work(&mut reader)?;
        let (lists, weights) = reader.into_readers();
        if lists.is_some() || weights.is_some() {
            pool().push(Readers { lists, weights });
        }
        Ok(answer)
    }

    /// Visits the list of each vertex of `asked`, with its position among them. The order of the visits
    /// is that of the positions where lists are in memory, else that of the file.
    ///
    /// # Errors
    /// The first error of `visit`; of reading; [`Error::Cancelled`], [`Error::Deadline`].
    fn visit<W: Send>(
        &self,
        asked: Asked<'_>,
        init: impl Fn() -> W + Sync,
        visit: impl Fn(&mut W, usize, &List<'_>, &Weights<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        let Asked { direction, vertices, cx } = asked;
        let in_memory = self.in_memory(direction)?;
        let order = if in_memory { None } else { Some(by_place(vertices)) };
        let weighted = self.needs.column.is_some();
        let tickets = Tickets::new(vertices.len().div_ceil(BATCH));
        run_workers(workers(in_memory, vertices.len(), cx), |_| {
            let mut w = init();
            let work = |reader: &mut ListReader<'_>| -> Result<()> {
                let mut requests = Vec::with_capacity(BATCH.min(vertices.len()));
                while let Some(ticket) = tickets.draw() {
                    cx.check()?;
                    let from = ticket * BATCH;
                    let to = vertices.len().min(from + BATCH);
                    requests.clear();
                    match &order {
                        Some(order) => requests.extend(order.get(from..to).unwrap_or_default()),
                        None => {
                            let part = vertices.get(from..to).unwrap_or_default();
                            requests.extend(part.iter().copied().zip(from as u64..));
                        }
                    }
                    // Lossless: positions in a slice.
                    if weighted {
                        reader.read_weighted(&requests, &mut |at, _, list, weights| {
                            visit(&mut w, at as usize, list, weights)
                        })?;
                    } else {
                        reader.read(&requests, &mut |at, _, list| {
                            visit(&mut w, at as usize, list, &unit_weights(list.degree()))
                        })?;
                    }
                }
                Ok(())
            };
            tickets.settle(self.with_reader(direction, cx, work))?;
            Ok(w)
        })
    }
}

/// The lists that a call asks for, and its context.
#[derive(Clone, Copy)]
struct Asked<'a> {
    direction: Direction,
    vertices: &'a [VertexId],
    cx: &'a Context,
}

/// The vertices with their positions, in the order of their lists in the file.
fn by_place(vertices: &[VertexId]) -> Vec<(VertexId, u64)> {
    let mut order: Vec<(VertexId, u64)> = vertices.iter().copied().zip(0..).collect();
    order.sort_unstable();
    order
}

/// Number of workers for so many requests.
fn workers(in_memory: bool, requests: usize, cx: &Context) -> usize {
    let alone = if in_memory { ALONE_IN_MEMORY } else { ALONE_ON_SSD };
    if requests <= alone { 1 } else { cx.threads().min(requests.div_ceil(BATCH)).max(1) }
}

#[cfg(test)]
mod tests;
