//! A shortest path between two vertices, searched from both ends.
//!
//! I. Pohl, "Bi-directional search", Machine Intelligence 6 (1971). Each step goes one level further
//! on the side whose frontier has fewer bytes of lists. The sets that the two sides have reached
//! are disjoint until a step finds a vertex of the other side, and every path is then longer than
//! the levels of both sides together, so that the first vertex found ends the search.
//!
//! State: a bit a vertex and side, and 8 bytes for each vertex that was reached. One thread searches,
//! and looks at the lists of a frontier in the order of their lengths and vertices: the path is the
//! same in memory and on the SSD.

use super::OpenLists;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::gather::ListReader;
use crate::graph::Graph;
use crate::vertex_set::Bitmap;
use nakshi_store::{Direction, List, VertexId};
use std::ops::ControlFlow;

/// Lists that are read at once from the SSD, and their bytes.
const BATCH: usize = 256;
const BATCH_BYTES: u64 = 1 << 20;

/// A vertex that a side has reached, and the place of the one before it.
#[derive(Debug, Clone, Copy)]
struct Reached {
    vertex: VertexId,
    before: u32,
}

/// One of the two searches.
#[derive(Debug)]
struct Wave {
    direction: Direction,
    seen: Bitmap,
    reached: Vec<Reached>,
    /// Where the last level begins in `reached`.
    level: usize,
}

impl Wave {
    fn new(direction: Direction, start: VertexId, n: usize) -> Self {
        let mut seen = Bitmap::new(n);
        seen.set(start as usize);
        let reached = vec![Reached { vertex: start, before: 0 }];
        Wave { direction, seen, reached, level: 0 }
    }

    fn frontier(&self) -> &[Reached] {
        self.reached.get(self.level..).unwrap_or_default()
    }

    /// Bytes of the lists of the frontier.
    fn cost(&self, graph: &Graph) -> u64 {
        let bytes = |one: &Reached| graph.list_bytes(self.direction, one.vertex).unwrap_or(0);
        self.frontier().iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Puts short lists first: they may end the search before a long one is read.
    fn sort(&mut self, graph: &Graph) {
        let direction = self.direction;
        if let Some(frontier) = self.reached.get_mut(self.level..) {
            frontier.sort_by_cached_key(|one| {
                (graph.list_bytes(direction, one.vertex).unwrap_or(0), one.vertex)
            });
        }
    }

    /// The vertices from the one at a place back to the start.
    fn back(&self, mut place: usize) -> Vec<VertexId> {
        let mut path = Vec::new();
        while let Some(one) = self.reached.get(place) {
            path.push(one.vertex);
            if place == 0 {
                break;
            }
            place = one.before as usize;
        }
        path
    }
}

impl OpenLists {
    /// The vertices of a path from `from` to `to` with as few edges as possible, both included; `None`
    /// if there is no path. In a directed graph the look-ups need the lists of both directions.
    ///
    /// # Errors
    /// [`Error::Budget`]; of reading; [`Error::Cancelled`], [`Error::Deadline`].
    pub fn shortest_path(
        &self,
        from: VertexId,
        to: VertexId,
        cx: &Context,
    ) -> Result<Option<Vec<VertexId>>> {
        if from == to {
            return Ok(Some(vec![from]));
        }
        let n = self.graph.num_vertices();
        let mut ahead = Wave::new(Direction::Out, from, n);
        let mut behind = Wave::new(Direction::In, to, n);
        let bitmaps = n as u64 / 4;
        self.with_reader(Direction::Out, cx, |out| {
            self.with_reader(Direction::In, cx, |into| {
                loop {
                    cx.check()?;
                    let entries = ahead.reached.len() + behind.reached.len();
                    self.check_room(bitmaps + 16 * entries as u64, "a search for a path")?;
                    let costs = (ahead.cost(&self.graph), behind.cost(&self.graph));
                    let forward = costs.0 <= costs.1;
                    let met = if forward {
                        step(&self.graph, &mut ahead, &behind.seen, out, cx)?
                    } else {
                        step(&self.graph, &mut behind, &ahead.seen, into, cx)?
                    };
                    if let Some((place, vertex)) = met {
                        let (mine, other) =
                            if forward { (&ahead, &behind) } else { (&behind, &ahead) };
                        return Ok(Some(joined(mine, place, other, vertex, forward)));
                    }
                    if ahead.frontier().is_empty() || behind.frontier().is_empty() {
                        return Ok(None);
                    }
                }
            })
        })
    }
}

/// The path over the vertex at `place` of one side to `vertex`, which is in the last level of the other.
fn joined(
    mine: &Wave,
    place: usize,
    other: &Wave,
    vertex: VertexId,
    forward: bool,
) -> Vec<VertexId> {
    let mut path = mine.back(place);
    path.reverse();
    let there = other.frontier().iter().position(|one| one.vertex == vertex);
    path.extend(there.map_or_else(Vec::new, |at| other.back(other.level + at)));
    if !forward {
        path.reverse();
    }
    path
}

/// Goes one level further. Returns the place of a vertex of the frontier and its neighbour on the other
/// side, once there is one.
fn step(
    graph: &Graph,
    wave: &mut Wave,
    other: &Bitmap,
    reader: &mut ListReader<'_>,
    cx: &Context,
) -> Result<Option<(usize, VertexId)>> {
    wave.sort(graph);
    let (begin, end) = (wave.level, wave.reached.len());
    let mut lists = Vec::new();
    let mut at = begin;
    while at < end {
        cx.check()?;
        let part = batch(graph, wave, at..end);
        // In memory a list is looked at where it lies; from the SSD they come in any order.
        if reader.in_memory() {
            for (vertex, place) in part.iter().copied() {
                let mut met = None;
                reader.read(&[(vertex, place)], &mut |_, _, list| {
                    met = look(wave, other, at_place(place), list)?;
                    Ok(())
                })?;
                if met.is_some() {
                    return Ok(met);
                }
            }
        } else {
            lists.clear();
            lists.resize_with(part.len(), Vec::new);
            let numbered: Vec<(VertexId, u64)> = part.iter().map(|one| one.0).zip(0..).collect();
            reader.read(&numbered, &mut |k, _, list| {
                lists.get_mut(at_place(k)).map_or(Ok(()), |slot| Ok(list.decode_into(slot)?))
            })?;
            for ((_, place), list) in part.iter().zip(&lists) {
                if let Some(met) = meet(wave, other, at_place(*place), list)? {
                    return Ok(Some((at_place(*place), met)));
                }
            }
        }
        at += part.len();
    }
    wave.level = end;
    Ok(None)
}

/// Vertices of the frontier from a place on, with their places, whose lists are read at once.
fn batch(graph: &Graph, wave: &Wave, range: std::ops::Range<usize>) -> Vec<(VertexId, u64)> {
    let (mut part, mut bytes) = (Vec::new(), 0u64);
    let rest = wave.reached.get(range.clone()).unwrap_or_default();
    for (one, place) in rest.iter().zip(range.start as u64..).take(BATCH) {
        bytes += graph.list_bytes(wave.direction, one.vertex).unwrap_or(0);
        if bytes > BATCH_BYTES && !part.is_empty() {
            break;
        }
        part.push((one.vertex, place));
    }
    part
}

/// A place that was a position in a slice.
fn at_place(token: u64) -> usize {
    usize::try_from(token).unwrap_or(usize::MAX)
}

/// As [`meet`], for a whole list; decodes no block behind the vertex that is found.
fn look(
    wave: &mut Wave,
    other: &Bitmap,
    place: usize,
    list: &List<'_>,
) -> Result<Option<(usize, VertexId)>> {
    let mut met = Ok(None);
    list.blocks(|block| {
        met = meet(wave, other, place, block);
        if matches!(met, Ok(None)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(met?.map(|vertex| (place, vertex)))
}

/// Notes the neighbours of the vertex at `place` that are new. Returns the first that the other side
/// has reached.
fn meet(
    wave: &mut Wave,
    other: &Bitmap,
    place: usize,
    block: &[VertexId],
) -> Result<Option<VertexId>> {
    if let Some(&vertex) = block.iter().find(|&&v| other.get(v as usize)) {
        return Ok(Some(vertex));
    }
    let what = || Error::Unsupported { what: "a path over more than 2^32 vertices".into() };
    let before = u32::try_from(place).map_err(|_| what())?;
    for &vertex in block {
        if !wave.seen.get(vertex as usize) {
            wave.seen.set(vertex as usize);
            wave.reached.push(Reached { vertex, before });
        }
    }
    Ok(None)
}
