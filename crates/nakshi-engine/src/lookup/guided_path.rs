//! A shortest path by weights, searched from one end with lower bounds of the way to the other.
//!
//! P. E. Hart, N. J. Nilsson, B. Raphael, "A formal basis for the heuristic determination of minimum cost
//! paths" (A*), IEEE Transactions on Systems Science and Cybernetics 4 (1968). A vertex is open again
//! whenever a shorter way to it is found, so that bounds need not be consistent.
//!
//! State: an entry of a hash table for each vertex that was reached, about 64 bytes.

use super::OpenLists;
use super::weighted_path::{ENTRY, Open, Route, WeightedPath, no_length};
use crate::context::Context;
use crate::error::{Error, Result};
use nakshi_store::{Direction, VertexId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// How a vertex is reached: its distance, the vertex before it, and the weight between them.
#[derive(Debug, Clone, Copy)]
struct Reached {
    distance: f64,
    before: VertexId,
    weight: f64,
}

impl OpenLists {
    /// A path from `from` to `to` with the smallest sum of weights, as [`OpenLists::lightest_path`], if
    /// `bound` is never above the length of the shortest path from a vertex to `to`. The nearer it is, the
    /// fewer lists are read; a vertex whose bound is infinite is on no path. Only out-lists are read.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a bound that is no number; else as there.
    pub fn guided_path(
        &self,
        from: VertexId,
        to: VertexId,
        bound: impl Fn(VertexId) -> f64,
        cx: &Context,
    ) -> Result<Option<WeightedPath>> {
        let bound = |v: VertexId| {
            let bound = bound(v);
            if bound.is_nan() {
                return Err(Error::parameter("potential", "a potential is no number"));
            }
            Ok(bound)
        };
        let start = Reached { distance: 0.0, before: from, weight: 0.0 };
        let mut reached = HashMap::from([(from, start)]);
        let mut open =
            BinaryHeap::from([(Reverse(Open(bound(from)?, from)), Reverse(Open(0.0, from)))]);
        self.with_reader(Direction::Out, cx, |out| {
            while let Some((_, Reverse(Open(distance, vertex)))) = open.pop() {
                // A shorter way was found since.
                if reached.get(&vertex).is_some_and(|label| distance > label.distance) {
                    continue;
                }
                if vertex == to {
                    break;
                }
                cx.check()?;
                let entries = (reached.len() + open.len()) as u64;
                self.check_room(entries.saturating_mul(ENTRY), "a search for a path")?;
                out.read_weighted(&[(vertex, 0)], &mut |_, _, list, weights| {
                    let (mut at, mut fault) = (0, None);
                    list.for_each(|next| {
                        let weight = weights.get(at);
                        at += 1;
                        if weight.is_nan() || weight < 0.0 {
                            fault = Some(no_length(weight));
                        }
                        let sum = distance + weight;
                        let known =
                            reached.get(&next).map_or(f64::INFINITY, |label| label.distance);
                        if fault.is_some() || sum >= known {
                            return;
                        }
                        match bound(next) {
                            Ok(bound) if bound == f64::INFINITY => {}
                            Ok(bound) => {
                                let label = Reached { distance: sum, before: vertex, weight };
                                reached.insert(next, label);
                                let key = Reverse(Open(sum + bound, next));
                                open.push((key, Reverse(Open(sum, next))));
                            }
                            Err(error) => fault = Some(error),
                        }
                    })?;
                    fault.map_or(Ok(()), Err)
                })?;
            }
            Ok(())
        })?;
        Ok(back(&reached, from, to).map(WeightedPath::from))
    }
}

/// The path to a vertex, if it was reached.
fn back(reached: &HashMap<VertexId, Reached>, from: VertexId, to: VertexId) -> Option<Route> {
    let (mut vertices, mut weights, mut vertex) = (vec![to], Vec::new(), to);
    while vertex != from {
        let label = reached.get(&vertex)?;
        vertices.push(label.before);
        weights.push(label.weight);
        vertex = label.before;
    }
    vertices.reverse();
    weights.reverse();
    Some(Route { vertices, weights })
}
