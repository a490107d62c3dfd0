//! The order of an earlier store, with new vertices next to their neighbours.
//!
//! Vertices that the graph has gained since it was laid out are placed without moving the others. A
//! new vertex goes behind the median position of its neighbours. A vertex whose neighbours are all
//! new is placed in a later round, and a vertex without neighbours goes to the end.

use std::sync::Arc;

use super::csr::Csr;
use super::{LayoutInput, Ordering, csr_memory};
use crate::hooks::Hooks;
use crate::{Permutation, Result, Store, VertexId};

/// Rounds in which new vertices are placed beside new vertices.
const ROUNDS: usize = 8;
/// Mark of a vertex without a position.
const NONE: u32 = u32::MAX;

/// The order of an earlier store of the graph, extended by the new vertices.
#[derive(Debug, Clone)]
pub struct Extend {
    /// The earlier store.
    pub like: Arc<Store>,
}

impl Ordering for Extend {
    fn name(&self) -> &'static str {
        "extend"
    }

    fn memory(&self, store: &Store) -> u64 {
        // Positions before and after a round, and the order with its keys.
        csr_memory(store, true) + 28 * store.num_vertices() + 4 * self.like.num_vertices()
    }

    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        let graph = Csr::symmetric(&LayoutInput { weight: None, ..source.clone() })?;
        let known = self.known(source)?;
        let order = extended(&graph, &known, &source.hooks)?;
        source.by_rank(Permutation::from_order(&order)?)
    }
}

impl Extend {
    /// Returns the position of every vertex, by rank, in the earlier store.
    fn known(&self, source: &LayoutInput<'_>) -> Result<Vec<u32>> {
        let ours = source.store.ids()?.until(&source.hooks.cancel);
        let places = ours.internal_in(&self.like.ids()?)?;
        Ok(places.into_iter().map(|place| place.unwrap_or(NONE)).collect())
    }
}

/// Returns the vertices in the order of their known positions, with each new one behind the median
/// of its neighbours.
fn extended(graph: &Csr, known: &[u32], hooks: &Hooks) -> Result<Vec<VertexId>> {
    let of = |places: &[u32], v: VertexId| places.get(v as usize).copied().unwrap_or(NONE);
    let mut places = known.to_vec();
    let mut around = Vec::new();
    for _ in 0..ROUNDS {
        let mut found = Vec::new();
        for v in graph.vertices().filter(|&v| of(&places, v) == NONE) {
            hooks.check()?;
            around.clear();
            around.extend(graph.list(v).iter().map(|&u| of(&places, u)).filter(|&p| p != NONE));
            around.sort_unstable();
            if let Some(&median) = around.get(around.len().saturating_sub(1) / 2) {
                found.push((v, median));
            }
        }
        if found.is_empty() {
            break;
        }
        for (v, place) in found {
            if let Some(slot) = places.get_mut(v as usize) {
                *slot = place;
            }
        }
    }
    let mut order = super::all(graph.len() as u64)?;
    order.sort_unstable_by_key(|&v| (of(&places, v), of(known, v) == NONE, v));
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen red with new vertices before the old ones of the same position, and with one round
    /// only.
    #[test]
    fn new_vertices_follow_their_neighbours() -> Result<()> {
        // Old: 0, 2, 4 at positions 2, 0, 1. New: 1 beside 2 and 4, 3 beside 1 only, 5 alone.
        let graph = Csr::of_edges(6, &[(0, 2), (2, 4), (1, 2), (1, 4), (3, 1)]);
        let known = [2, NONE, 0, NONE, 1, NONE];
        assert_eq!(extended(&graph, &known, &Hooks::default())?, [2, 1, 3, 4, 0, 5]);
        assert_eq!(extended(&graph, &[NONE; 6], &Hooks::default())?, [0, 1, 2, 3, 4, 5]);
        Ok(())
    }
}
