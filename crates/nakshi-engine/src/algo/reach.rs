//! One step of a search: from a set of vertices along their lists, or against those of the others.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use std::ops::ControlFlow;

/// The vertices that lists of `frontier` in these directions lead to and that are not yet visited.
///
/// # Errors
/// As [`Graph::gather`].
pub(crate) fn reach(
    graph: &Graph,
    along: &[Direction],
    frontier: &VertexSet,
    visited: &Bitmap,
    cx: &Context,
) -> Result<VertexSet> {
    let next = AtomicBitmap::new(graph.num_vertices());
    for &direction in along {
        graph.gather(
            direction,
            frontier,
            cx,
            |_| (),
            |(), _, list| {
                Ok(list.for_each(|u| {
                    if !visited.get(u as usize) {
                        next.set(u as usize);
                    }
                })?)
            },
        )?;
    }
    Ok(next.into())
}

/// As [`reach`], or by the lists of the `left` vertices that are not yet visited, whichever reads
/// less; `directions` are those of the search and their opposites.
///
/// # Errors
/// As [`Graph::gather`].
pub(crate) fn step(
    graph: &Graph,
    directions: (&[Direction], &[Direction]),
    frontier: &VertexSet,
    visited: &Bitmap,
    left: usize,
    cx: &Context,
) -> Result<VertexSet> {
    // Vertices stand for edges here: the frontier of a power-law graph soon has the hubs, after
    // which the unvisited vertices have the shorter lists by far.
    if graph.selective() || frontier.count() * 16 < left {
        reach(graph, directions.0, frontier, visited, cx)
    } else {
        pull(graph, directions.1, frontier, visited, cx)
    }
}

/// The vertices of `within` that `source` reaches along lists of a direction without leaving
/// `within`.
///
/// # Errors
/// As [`Graph::gather`].
pub(crate) fn reachable(
    graph: &Graph,
    direction: Direction,
    source: VertexId,
    within: &Bitmap,
    cx: &Context,
) -> Result<Bitmap> {
    let against = if direction == Direction::Out { Direction::In } else { Direction::Out };
    let mut visited = within.complement();
    visited.set(source as usize);
    let mut frontier = VertexSet::new(graph.num_vertices());
    frontier.insert(source);
    let mut left = within.count().saturating_sub(1);
    while !frontier.is_empty() {
        cx.check()?;
        frontier = step(graph, (&[direction], &[against]), &frontier, &visited, left, cx)?;
        left -= frontier.count();
        visited.unite(frontier.bits());
    }
    let words = visited.words_mut().iter_mut().zip(within.words());
    words.for_each(|(found, within)| *found &= within);
    Ok(visited)
}

/// Breadth-first search from `sources` at once, by [`step`]; `level` gets every level but the
/// first, with its depth. Returns the greatest depth, and the vertices there.
///
/// # Errors
/// As [`Graph::gather`]; of `level`.
pub(crate) fn search(
    graph: &Graph,
    directions: (&[Direction], &[Direction]),
    sources: VertexSet,
    cx: &Context,
    mut level: impl FnMut(u32, &VertexSet) -> Result<()>,
) -> Result<(u32, VertexSet)> {
    let mut visited = sources.bits().clone();
    let mut left = graph.num_vertices() - sources.count();
    let (mut frontier, mut depth) = (sources, 0);
    loop {
        let next = step(graph, directions, &frontier, &visited, left, cx)?;
        if next.is_empty() {
            return Ok((depth, frontier));
        }
        depth += 1;
        level(depth, &next)?;
        left -= next.count();
        visited.unite(next.bits());
        frontier = next;
    }
}

fn pull(
    graph: &Graph,
    back: &[Direction],
    frontier: &VertexSet,
    visited: &Bitmap,
    cx: &Context,
) -> Result<VertexSet> {
    let mut left: VertexSet = visited.complement().into();
    let next = AtomicBitmap::new(graph.num_vertices());
    for (i, &direction) in back.iter().enumerate() {
        graph.gather(
            direction,
            &left,
            cx,
            |_| (),
            |(), v, list| {
                Ok(list.blocks(|block| {
                    if block.iter().any(|&u| frontier.contains(u)) {
                        next.set(v as usize);
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                })?)
            },
        )?;
        if i + 1 < back.len() {
            left = left.without(&next);
        }
    }
    Ok(next.into())
}
