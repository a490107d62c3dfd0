//! Strongly connected components.
//!
//! G. Slota, S. Rajamanickam, K. Madduri, "BFS and coloring-based parallel algorithms for strongly
//! connected components and related problems" (Multistep), IPDPS 2014. Vertices without in- or
//! out-edges are alone. A search forward from a hub and one backward inside what it reached find
//! the giant component, which in a power-law graph leaves little. The arcs of what is left are read
//! into memory where they fit into the state's room, and searched depth-first ([`rest`]). Where
//! they do not fit, all components that the smallest vertex of a colour reaches backward are taken
//! out first, and colours divide the others.
//!
//! State: the label, 4 bytes a vertex; three bitmaps; a count, 4 bytes; and room for the rest, 16
//! bytes. In an undirected graph strong components are those of [`super::wcc`].

mod rest;

use super::components;
use super::reach::reachable;
use super::wcc::Wcc;
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::for_each_block_mut;
use crate::shared::{share_u32, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, Bitmap};
use nakshi_store::{Direction, VertexId};
use rest::{Parts, Rest};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Bytes a vertex in which the rest of the arcs is searched.
const ROOM: u64 = 16;

algorithm! {
    /// Strongly connected components: sets of vertices that all reach each other along edges.
    ///
    /// In an undirected graph they are the connected components.
    #[derive(Eq)]
    pub struct Scc = "scc" {}
    citation: "G. Slota, S. Rajamanickam, K. Madduri, \"BFS and coloring-based parallel algorithms for \
        strongly connected components and related problems\", IPDPS 2014; R. Tarjan, SIAM J. Comput. 1 (1972)";
    columns: &[Output::new("component", "vertex", "the smallest vertex id of the component")];
    summary: &[
        Output::new("components", "uint64", "number of components"),
        Output::new("largest", "uint64", "vertices in the largest"),
    ];
}

/// Components in internal order.
#[derive(Debug, Clone, Default)]
pub struct StrongComponents {
    /// For each vertex the vertex of its component whose user id is smallest.
    pub components: Vec<VertexId>,
    /// Number of components.
    pub count: usize,
    /// Number of vertices in the largest component.
    pub largest: usize,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<StrongComponents> for Outcome {
    fn from(found: StrongComponents) -> Self {
        let column = Column::new("component", Values::Vertex(found.components));
        Outcome::of(vec![column], found.stats)
            .with_summary("components", found.count)
            .with_summary("largest", found.largest)
    }
}

impl Algorithm for Scc {
    type Output = StrongComponents;

    fn needs(&self, summary: &Summary) -> Needs {
        if !summary.directed {
            return Wcc::default().needs(summary);
        }
        let bytes = 4.0 + 4.0 + ROOM as f64 + 0.75;
        Needs { gathers: true, ..Needs::new(bytes, &[Direction::Out, Direction::In]) }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<StrongComponents> {
        if !graph.directed() {
            let found = Wcc::default().run(graph, cx)?;
            let (components, count) = (found.components, found.count);
            let (largest, stats) = (found.largest, found.stats);
            return Ok(StrongComponents { components, count, largest, stats });
        }
        search(graph, graph.num_vertices() as u64 * ROOM, cx)
    }
}

/// Finds the components of a directed graph with `room` bytes for the rest.
fn search(graph: &Graph, room: u64, cx: &Context) -> Result<StrongComponents> {
    let mut log = IterationLog::new(graph);
    let mut components = zeroed::<u32>(graph.num_vertices(), "components")?;
    for_each_block_mut(cx, &mut components, |start, block| {
        // Internal ids are 32 bits.
        block.iter_mut().zip(start as u32..).for_each(|(label, v)| *label = v);
        Ok(())
    })?;
    let labels = share_u32(&mut components);
    let (pivot, open) = candidates(graph, cx)?;
    log.end("trim", open.count() as u64);
    cx.progress().update("scc", 1, 4);
    if let Some(pivot) = pivot {
        let mut parts = giant(graph, pivot, &open, labels, cx)?;
        log.end("giant", (open.count() - parts.open.count()) as u64);
        drop(open);
        cx.progress().update("scc", 2, 4);
        divide(graph, &mut parts, room, &mut log, cx)?;
    }
    cx.progress().update("scc", 3, 4);
    let (count, largest) = components::finish(graph, cx, labels, &mut log)?;
    cx.progress().update("scc", 4, 4);
    Ok(StrongComponents { components, count, largest, stats: log.finish() })
}

/// The vertices with edges in both directions, and the one with the most pairs of them.
fn candidates(graph: &Graph, cx: &Context) -> Result<(Option<VertexId>, Bitmap)> {
    let out = graph.degrees(Direction::Out, cx)?;
    let incoming = graph.degrees(Direction::In, cx)?;
    let mut open = Bitmap::new(out.len());
    let mut best: Option<(u64, VertexId)> = None;
    // Internal ids are 32 bits.
    for (v, (&a, &b)) in (0u32..).zip(out.iter().zip(&incoming)) {
        let pairs = u64::from(a) * u64::from(b);
        if pairs > 0 {
            open.set(v as usize);
            if best.is_none_or(|(most, _)| pairs > most) {
                best = Some((pairs, v));
            }
        }
    }
    Ok((best.map(|(_, v)| v), open))
}

/// Labels the component of `pivot`; the rest is what the pivot reaches, and what it does not.
fn giant<'a>(
    graph: &Graph,
    pivot: VertexId,
    open: &Bitmap,
    labels: &'a [AtomicU32],
    cx: &Context,
) -> Result<Parts<'a>> {
    let forward = reachable(graph, Direction::Out, pivot, open, cx)?;
    let members = reachable(graph, Direction::In, pivot, &forward, cx)?;
    let root = members.iter().next().unwrap_or(pivot as usize) as u32;
    let mut rest = open.clone();
    for v in open.iter() {
        let label = if members.get(v) { root } else { u32::from(forward.get(v)) };
        if let Some(slot) = labels.get(v) {
            slot.store(label, Relaxed);
        }
    }
    rest.words_mut().iter_mut().zip(members.words()).for_each(|(rest, found)| *rest &= !found);
    Ok(Parts { open: rest.into(), labels })
}

/// Labels the components of all parts.
fn divide(
    graph: &Graph,
    parts: &mut Parts<'_>,
    room: u64,
    log: &mut IterationLog<'_>,
    cx: &Context,
) -> Result<()> {
    while !parts.open.is_empty() {
        let size = parts.open.count();
        let mut counts = zeroed::<u32>(graph.num_vertices(), "arcs by vertex")?;
        let counts = share_u32(&mut counts);
        let (arcs, entered) = count(graph, parts, counts, cx)?;
        if rest::bytes(size, arcs) <= room && arcs < u64::from(u32::MAX) {
            Rest::read(graph, parts, counts, cx)?.label(parts.labels, cx)?;
            log.end("rest", size as u64);
            return Ok(());
        }
        trim(parts, counts, &entered);
        log.end("trim", size as u64);
        // A pass that takes out much is worth another one.
        if (size - parts.open.count()) * 8 < size {
            divide_by_colors(graph, parts, counts, cx)?;
            log.end("colors", size as u64);
        }
    }
    Ok(())
}

/// Counts the arcs of each open vertex inside its part; returns their sum, and the vertices in
/// which one ends.
fn count(
    graph: &Graph,
    parts: &Parts<'_>,
    counts: &[AtomicU32],
    cx: &Context,
) -> Result<(u64, AtomicBitmap)> {
    let entered = AtomicBitmap::new(graph.num_vertices());
    let sums = graph.gather(
        Direction::Out,
        &parts.open,
        cx,
        |_| 0u64,
        |sum, v, list| {
            let part = parts.part(v);
            let mut found = 0u32;
            list.for_each(|u| {
                if parts.joined(part, u) {
                    found += 1;
                    entered.set(u as usize);
                }
            })?;
            if let Some(slot) = counts.get(v as usize) {
                slot.store(found, Relaxed);
            }
            *sum += u64::from(found);
            Ok(())
        },
    )?;
    Ok((sums.into_iter().sum(), entered))
}

/// Closes the vertices without arcs in one of the directions: each is a component.
fn trim(parts: &mut Parts<'_>, counts: &[AtomicU32], entered: &AtomicBitmap) {
    let mut open = parts.open.bits().clone();
    for v in parts.open.iter() {
        let left = counts.get(v as usize).is_some_and(|slot| slot.load(Relaxed) > 0);
        if left && entered.get(v as usize) {
            continue;
        }
        open.clear(v as usize);
        if let Some(slot) = parts.labels.get(v as usize) {
            slot.store(v, Relaxed);
        }
    }
    parts.open = open.into();
}

/// Gives each open vertex the smallest vertex that reaches it inside its part as colour, and labels
/// the components of these; the colours are the new parts.
fn divide_by_colors(
    graph: &Graph,
    parts: &mut Parts<'_>,
    colors: &[AtomicU32],
    cx: &Context,
) -> Result<()> {
    let color = |v: VertexId| colors.get(v as usize).map_or(v, |slot| slot.load(Relaxed));
    for v in parts.open.iter() {
        if let Some(slot) = colors.get(v as usize) {
            slot.store(v, Relaxed);
        }
    }
    let mut frontier = parts.open.clone();
    while !frontier.is_empty() {
        let next = AtomicBitmap::new(graph.num_vertices());
        let spread = |(): &mut (), v: VertexId, list: &nakshi_store::List<'_>| {
            let (part, own) = (parts.part(v), color(v));
            Ok(list.for_each(|u| {
                if parts.joined(part, u)
                    && let Some(slot) = colors.get(u as usize)
                    && slot.load(Relaxed) > own
                    && slot.fetch_min(own, Relaxed) > own
                {
                    next.set(u as usize);
                }
            })?)
        };
        graph.gather(Direction::Out, &frontier, cx, |_| (), spread)?;
        frontier = next.into();
    }
    let mut found = Bitmap::new(graph.num_vertices());
    parts.open.iter().filter(|&v| color(v) == v).for_each(|v| found.set(v as usize));
    frontier = found.clone().into();
    while !frontier.is_empty() {
        let next = AtomicBitmap::new(graph.num_vertices());
        let back = |(): &mut (), v: VertexId, list: &nakshi_store::List<'_>| {
            let (part, own) = (parts.part(v), color(v));
            Ok(list.for_each(|u| {
                if parts.joined(part, u) && color(u) == own && !found.get(u as usize) {
                    next.set(u as usize);
                }
            })?)
        };
        graph.gather(Direction::In, &frontier, cx, |_| (), back)?;
        frontier = next.into();
        found.unite(frontier.bits());
    }
    let mut open = parts.open.bits().clone();
    for v in parts.open.iter() {
        if let Some(slot) = parts.labels.get(v as usize) {
            slot.store(color(v), Relaxed);
        }
        if found.get(v as usize) {
            open.clear(v as usize);
        }
    }
    parts.open = open.into();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, scc as oracle};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_mutual_reachability(sample in sample::graphs(50, 120)) {
            let expected = oracle::components(&sample.adjacency());
            sample.compare(&expected, |graph, cx| Scc {}.run(graph, cx).unwrap().components)?;
            let mut sizes = vec![0; sample.n];
            expected.iter().for_each(|&root| sizes[root as usize] += 1);
            let found = Scc {}.run(&sample.graph(), &Context::new()).unwrap();
            prop_assert_eq!(found.count, sizes.iter().filter(|&&size| size > 0).count());
            prop_assert_eq!(found.largest, sizes.into_iter().max().unwrap());
        }

        /// Without room for arcs, colours find all components.
        #[test]
        fn colors_find_the_same(sample in sample::graphs(50, 90)) {
            let sample = sample::Sample { directed: true, ..sample };
            let expected = oracle::components(&sample.adjacency());
            sample.compare(&expected, |graph, cx| search(graph, 0, cx).unwrap().components)?;
        }
    }
}
