//! A shortest path by weights, searched from both ends.
//!
//! Dijkstra's algorithm on both sides (E. W. Dijkstra 1959; T. A. J. Nicholson, "Finding the shortest
//! route between two points in a network", The Computer Journal 9, 1966). It ends when the nearest open
//! vertices of the two sides are together as far as the best path. State: an entry of a hash table for
//! each vertex that was reached, about 64 bytes.

use super::OpenLists;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::gather::ListReader;
use nakshi_store::{Direction, VertexId};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

/// Bytes of an entry of the tables and of the heap, with room to grow.
pub(super) const ENTRY: u64 = 96;

/// A path and its length.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedPath {
    /// The vertices, both ends included.
    pub vertices: Vec<VertexId>,
    /// The sum of the weights, in the order of the path.
    pub length: f64,
}

/// A path with the weight of each step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Route {
    /// The vertices, both ends included.
    pub(super) vertices: Vec<VertexId>,
    /// The weights between them, one less.
    pub(super) weights: Vec<f64>,
}

impl Route {
    /// The sum of the weights, from the first.
    pub(super) fn length(&self) -> f64 {
        self.weights.iter().fold(0.0, |sum, weight| sum + weight)
    }

    /// The path without the cycles that edges of weight 0 allow.
    fn without_cycles(self) -> Route {
        let mut places = HashMap::with_capacity(self.vertices.len());
        let mut path = Route { vertices: Vec::new(), weights: Vec::new() };
        let steps = std::iter::once(None).chain(self.weights.into_iter().map(Some));
        for (vertex, step) in self.vertices.into_iter().zip(steps) {
            // A place may be one that the path has left again.
            if let Some(&place) = places.get(&vertex)
                && path.vertices.get(place) == Some(&vertex)
            {
                path.vertices.truncate(place + 1);
                path.weights.truncate(place);
                continue;
            }
            places.insert(vertex, path.vertices.len());
            path.vertices.push(vertex);
            path.weights.extend(step);
        }
        path
    }
}

impl From<Route> for WeightedPath {
    fn from(route: Route) -> Self {
        WeightedPath { length: route.length(), vertices: route.vertices }
    }
}

/// An open vertex, by its distance and then by its number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Open(pub(super) f64, pub(super) VertexId);

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// How a vertex is reached: its distance, the vertex before it, and the weight between them.
#[derive(Debug, Clone, Copy)]
struct PathLabel {
    distance: f64,
    before: VertexId,
    weight: f64,
    closed: bool,
}

/// One of the two searches.
#[derive(Debug)]
struct Tree {
    labels: HashMap<VertexId, PathLabel>,
    open: BinaryHeap<Reverse<Open>>,
}

impl Tree {
    fn new(start: VertexId) -> Self {
        let label = PathLabel { distance: 0.0, before: start, weight: 0.0, closed: false };
        Tree { labels: HashMap::from([(start, label)]), open: [Reverse(Open(0.0, start))].into() }
    }

    /// The distance of the nearest open vertex.
    fn nearest(&mut self) -> Option<f64> {
        while let Some(&Reverse(Open(distance, v))) = self.open.peek() {
            if self.labels.get(&v).is_some_and(|label| !label.closed) {
                return Some(distance);
            }
            self.open.pop();
        }
        None
    }

    /// From a vertex back to the start, with the weight of the step from each.
    fn back(&self, mut vertex: VertexId) -> Vec<(VertexId, f64)> {
        let mut path = Vec::new();
        while let Some(label) = self.labels.get(&vertex) {
            path.push((vertex, label.weight));
            if label.before == vertex || path.len() > self.labels.len() {
                break;
            }
            vertex = label.before;
        }
        path
    }
}

/// The best path so far: its length, the edge between the two sides.
#[derive(Debug, Clone, Copy)]
struct Junction {
    length: f64,
    /// The vertex of the tree from the first end, then that of the other.
    ends: (VertexId, VertexId),
    weight: f64,
}

impl OpenLists {
    /// A path from `from` to `to` with the smallest sum of weights; `None` if there is no path. Where
    /// several are as short, it is the same one in memory and on the SSD. The look-ups need the lists
    /// of both directions, with a weight column; without one every edge has length 1.
    ///
    /// # Errors
    /// [`Error::NegativeWeight`] for a weight below 0 on the way; [`Error::Parameter`] for one that is
    /// no number; [`Error::Budget`]; of reading; [`Error::Cancelled`], [`Error::Deadline`].
    pub fn lightest_path(
        &self,
        from: VertexId,
        to: VertexId,
        cx: &Context,
    ) -> Result<Option<WeightedPath>> {
        Ok(self.lightest_route(from, to, &|_, _| true, cx)?.map(WeightedPath::from))
    }

    /// As [`OpenLists::lightest_path`], over the edges for whose two ends `may` is true.
    pub(super) fn lightest_route(
        &self,
        from: VertexId,
        to: VertexId,
        may: &dyn Fn(VertexId, VertexId) -> bool,
        cx: &Context,
    ) -> Result<Option<Route>> {
        if from == to {
            return Ok(Some(Route { vertices: vec![from], weights: Vec::new() }));
        }
        let (mut ahead, mut behind) = (Tree::new(from), Tree::new(to));
        let mut best: Option<Junction> = None;
        self.with_reader(Direction::Out, cx, |out| {
            self.with_reader(Direction::In, cx, |into| {
                while let (Some(near), Some(far)) = (ahead.nearest(), behind.nearest()) {
                    cx.check()?;
                    if best.is_some_and(|best| near + far >= best.length) {
                        break;
                    }
                    let entries = (ahead.labels.len() + behind.labels.len()) as u64;
                    self.check_room(entries.saturating_mul(ENTRY), "a search for a path")?;
                    if near <= far {
                        expand((&mut ahead, &behind), out, may, |found| shorten(&mut best, found))?;
                    } else {
                        let turned = |mut found: Junction| {
                            found.ends = (found.ends.1, found.ends.0);
                            shorten(&mut best, found);
                        };
                        expand((&mut behind, &ahead), into, &|u, v| may(v, u), turned)?;
                    }
                }
                Ok(())
            })
        })?;
        Ok(best.map(|best| joined(&ahead, &behind, best)))
    }
}

fn shorten(best: &mut Option<Junction>, found: Junction) {
    if best.is_none_or(|best| found.length < best.length) {
        *best = Some(found);
    }
}

/// Closes the nearest open vertex and hands out the edges that lead from it to the other side, of those
/// that may be used.
fn expand(
    (mine, other): (&mut Tree, &Tree),
    reader: &mut ListReader<'_>,
    may: &dyn Fn(VertexId, VertexId) -> bool,
    mut meet: impl FnMut(Junction),
) -> Result<()> {
    let Some(Reverse(Open(distance, vertex))) = mine.open.pop() else { return Ok(()) };
    if let Some(label) = mine.labels.get_mut(&vertex) {
        label.closed = true;
    }
    reader.read_weighted(&[(vertex, 0)], &mut |_, _, list, weights| {
        let (mut at, mut fault) = (0, None);
        list.for_each(|next| {
            let weight = weights.get(at);
            at += 1;
            if weight.is_nan() || weight < 0.0 {
                fault = Some(weight);
            }
            if fault.is_some() || !may(vertex, next) {
                return;
            }
            let sum = distance + weight;
            if let Some(there) = other.labels.get(&next) {
                let length = sum + there.distance;
                meet(Junction { length, ends: (vertex, next), weight });
            }
            let label = PathLabel { distance: sum, before: vertex, weight, closed: false };
            let old =
                mine.labels.entry(next).or_insert(PathLabel { distance: f64::INFINITY, ..label });
            if !old.closed && sum < old.distance {
                *old = label;
                mine.open.push(Reverse(Open(sum, next)));
            }
        })?;
        fault.map_or(Ok(()), |weight| Err(no_length(weight)))
    })
}

/// The error of a weight that is below 0 or no number.
pub(super) fn no_length(weight: f64) -> Error {
    if weight.is_nan() {
        return Error::parameter("weight", "a weight is no number; shortest paths need numbers");
    }
    Error::NegativeWeight { weight }
}

/// The whole path.
fn joined(ahead: &Tree, behind: &Tree, best: Junction) -> Route {
    let mut first = ahead.back(best.ends.0);
    first.reverse();
    let second = behind.back(best.ends.1);
    let vertices = first.iter().chain(&second).map(|step| step.0).collect();
    // The weight beside a vertex of the first half leads to it, of the second half away from it.
    let mut weights: Vec<f64> = first.iter().skip(1).map(|step| step.1).collect();
    weights.push(best.weight);
    weights.extend(second.iter().take(second.len().saturating_sub(1)).map(|step| step.1));
    Route { vertices, weights }.without_cycles()
}
