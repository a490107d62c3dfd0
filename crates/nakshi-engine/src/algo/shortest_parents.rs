//! The vertices before others on shortest paths, from distances that are known.
//!
//! An edge is *tight* if its weight is the difference of the distances of its ends; the path to a vertex
//! ends with a tight edge. A vertex takes the source of a tight edge that is strictly nearer, the one with
//! the smallest id. Where there is none, its tight edges have weight 0 and may lie on circles: rounds
//! then settle the vertices next to settled ones.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::shared::{share_u32, zeroed};
use crate::source::weights::Weights;
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, List, VertexId};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Distances from a vertex, and the order of the users' ids.
struct Tight<'a> {
    distances: &'a [f64],
    ranks: Option<Vec<u32>>,
}

impl Tight<'_> {
    fn distance(&self, v: VertexId) -> f64 {
        self.distances.get(v as usize).copied().unwrap_or(f64::INFINITY)
    }

    /// The source with the smallest id of the tight edges to `v`: of those from nearer vertices, or with
    /// `settled` of those from settled ones.
    fn first(
        &self,
        v: VertexId,
        list: &List<'_>,
        weights: &Weights<'_>,
        settled: Option<&Bitmap>,
    ) -> Result<Option<VertexId>> {
        let rank = |u: VertexId| match &self.ranks {
            Some(ranks) => ranks.get(u as usize).copied().unwrap_or(u32::MAX),
            None => u,
        };
        let far = self.distance(v);
        let (mut at, mut best): (usize, Option<(u32, VertexId)>) = (0, None);
        list.for_each(|u| {
            let (near, weight) = (self.distance(u), weights.get(at));
            at += 1;
            let usable = settled.map_or(near < far, |settled| settled.get(u as usize));
            if usable && near + weight == far {
                let candidate = (rank(u), u);
                best = Some(best.map_or(candidate, |best| best.min(candidate)));
            }
        })?;
        Ok(best.map(|best| best.1))
    }
}

/// For each vertex with a finite distance, other than `source`, the vertex before it on a shortest path
/// from there; other entries mean nothing.
///
/// # Errors
/// Errors of reading; [`crate::Error::Cancelled`].
pub(super) fn parents(
    graph: &Graph,
    cx: &Context,
    distances: &[f64],
    source: VertexId,
) -> Result<Vec<VertexId>> {
    let n = distances.len();
    let tight = Tight { distances, ranks: graph.id_ranks(cx)? };
    let mut parents = zeroed::<u32>(n, "parents")?;
    let shared = share_u32(&mut parents);
    let (settled, open) = (AtomicBitmap::new(n), AtomicBitmap::new(n));
    settled.set(source as usize);
    graph.scan_weighted(
        Direction::In,
        cx,
        |_| (),
        |(), v, list, weights| {
            if v == source || !tight.distance(v).is_finite() {
                return Ok(());
            }
            note(v, tight.first(v, list, weights, None)?, shared, (&settled, &open));
            Ok(())
        },
    )?;
    settle(graph, cx, &tight, (settled.into_bitmap(), open.into()), shared)?;
    Ok(parents)
}

/// Notes the parent of `v` and adds `v` to `found`, or to `rest` if it has no parent yet.
fn note(
    v: VertexId,
    parent: Option<VertexId>,
    parents: &[AtomicU32],
    (found, rest): (&AtomicBitmap, &AtomicBitmap),
) {
    let set = match (parent, parents.get(v as usize)) {
        (Some(parent), Some(slot)) => {
            slot.store(parent, Relaxed);
            found
        }
        _ => rest,
    };
    set.set(v as usize);
}

/// Gives parents to open vertices, whose tight edges have weight 0, in rounds from the settled ones.
fn settle(
    graph: &Graph,
    cx: &Context,
    tight: &Tight<'_>,
    (mut settled, mut open): (Bitmap, VertexSet),
    parents: &[AtomicU32],
) -> Result<()> {
    let n = tight.distances.len();
    while !open.is_empty() {
        cx.check()?;
        let (found, rest) = (AtomicBitmap::new(n), AtomicBitmap::new(n));
        graph.gather_weighted(
            Direction::In,
            &open,
            cx,
            |_| (),
            |(), v, list, weights| {
                note(v, tight.first(v, list, weights, Some(&settled))?, parents, (&found, &rest));
                Ok(())
            },
        )?;
        let found = found.into_bitmap();
        if found.count() == 0 {
            break;
        }
        found.iter().for_each(|v| settled.set(v));
        open = VertexSet::from(rest);
    }
    Ok(())
}
