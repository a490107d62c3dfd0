//! The sums of the weights of the edges of each vertex.

use super::lists::checked;
use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::parallel::det_sum;
use crate::shared::{SharedF64, share_f64, zeroed};
use nakshi_store::{Direction, List, VertexId};

/// Strengths of the vertices; a self-loop counts twice.
pub(super) struct Strengths {
    pub(super) of: Vec<f64>,
    pub(super) sum: f64,
    /// The part of the sum that is inside communities of one vertex each: that of self-loops.
    pub(super) inside: f64,
}

impl Strengths {
    /// Reads all lists once.
    pub(super) fn read(graph: &Graph, cx: &Context) -> Result<Strengths> {
        let n = graph.num_vertices();
        let mut of = zeroed::<f64>(n, "strengths")?;
        let directions: &[Direction] =
            if graph.directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        let mut inside = 0.0;
        for &direction in directions {
            inside += add(graph, direction, share_f64(&mut of), cx)?;
        }
        let sum = det_sum(cx, n, |v| of.get(v).copied().unwrap_or(0.0))?;
        Ok(Strengths { of, sum, inside })
    }
}

/// Adds the weights of the lists of a direction, and those of self-loops once more in an undirected graph,
/// where one list has them. Returns the sum of what self-loops add.
fn add(graph: &Graph, direction: Direction, of: &[SharedF64], cx: &Context) -> Result<f64> {
    let more = if graph.directed() { 0.0 } else { 1.0 };
    let put = |loops: &mut Vec<(VertexId, f64)>, v: VertexId, sum: f64, own: f64| {
        if own > 0.0 {
            loops.push((v, own * (1.0 + more)));
        }
        if let Some(slot) = of.get(v as usize) {
            slot.set(slot.get() + sum + own * more);
        }
        Ok(())
    };
    let init = |_| Vec::new();
    let found = if graph.weighted() {
        graph.scan_weighted(direction, cx, init, |loops, v, list, weights| {
            let mut sum = 0.0;
            for at in 0..weights.len() {
                sum += checked(weights.get(at))?;
            }
            put(loops, v, sum, place(v, list)?.map_or(0.0, |at| weights.get(at)))
        })?
    } else {
        graph.scan(direction, cx, init, |loops, v, list| {
            let own = if place(v, list)?.is_some() { 1.0 } else { 0.0 };
            put(loops, v, list.degree() as f64, own)
        })?
    };
    let mut loops: Vec<(VertexId, f64)> = found.into_iter().flatten().collect();
    loops.sort_unstable_by_key(|own| own.0);
    Ok(loops.iter().map(|own| own.1).sum())
}

/// The place of a vertex in its own list.
fn place(v: VertexId, list: &List<'_>) -> Result<Option<usize>> {
    let (mut at, mut found) = (0, None);
    list.for_each(|u| {
        if u == v {
            found = Some(at);
        }
        at += 1;
    })?;
    Ok(found)
}
