//! The cost of a layout, by the measures of three papers.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use nakshi_io::run_workers;

use super::csr::reserved;
use super::{Csr, LayoutInput};
use crate::hooks::Progress;
use crate::stream::ListStream;
use crate::{Direction, Error, Manifest, Result, Store, VertexId};

/// The cost of the order of a store's vertices.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LayoutCost {
    /// Name of the layout, as in the manifest.
    pub layout: String,
    /// Sum over all edges of the weight times the distance between the positions of its ends:
    /// equation 3.2 of I. Hoque's thesis (University of Illinois, 2013), with edges in both
    /// directions added.
    pub linear_arrangement: f64,
    /// Average of that sum over the vertices (equation 3.1).
    pub linear_arrangement_per_vertex: f64,
    /// Sum over all vertices of the in-degree times the variance of the out-neighbours' positions
    /// (dividing by their number): equation 1 of E. Lee et al., USENIX ATC 2019.
    pub norder: f64,
    /// Number of pages in which the lists of a vertex's out-neighbours begin, on average over
    /// vertices with out-neighbours.
    pub pages_per_neighbourhood: f64,
    /// Bytes of the out-lists as they are stored.
    pub list_bytes: u64,
    /// Bytes of the out-lists per list entry.
    pub bytes_per_entry: f64,
    /// Average binary logarithm of the gaps between neighbours, on which compression depends.
    pub log2_gap: f64,
}

/// Returns the bytes of memory that [`layout_cost`] takes.
pub fn memory(store: &Store) -> u64 {
    let index: u64 = store.manifest().adjacency.iter().map(Manifest::index_memory).sum();
    // In-degrees in a directed graph, and lists that are read and decoded.
    let lists = store.entry(Direction::Out).map_or(0, |e| 2 * e.max_list_bytes + 8 * e.max_degree);
    4 * store.num_vertices() + index + 2 * lists + (8 << 20)
}

/// Measures the order that a store has; reads all out-lists once.
///
/// # Errors
/// [`Error::Budget`]; [`Error::NoColumn`]; read errors; [`Error::Cancelled`].
pub fn layout_cost(source: &LayoutInput<'_>) -> Result<LayoutCost> {
    let store = source.store;
    Error::afford(memory(store), source.memory)?;
    let column = match &source.weight {
        Some(name) => Some(store.column_until(name, Direction::Out, &source.hooks.cancel)?),
        None => None,
    };
    let into = store.degrees(Direction::In, &source.hooks.cancel)?;
    let adjacency = store.adjacency_until(Direction::Out, &source.hooks.cancel)?;
    let page = u64::from(store.manifest().page_size);
    let stream = ListStream::new(store, Direction::Out, column.as_ref())?;
    let next = AtomicUsize::new(0);
    let sums = run_workers(source.threads, |_| -> Result<Vec<(usize, CostSums)>> {
        let (mut done, mut reader) = (Vec::new(), stream.reader()?);
        loop {
            source.hooks.check()?;
            let chunk = next.fetch_add(1, Relaxed);
            if chunk >= stream.chunks() {
                return Ok(done);
            }
            let mut sums = CostSums::default();
            reader.visit(chunk, |list| {
                source.hooks.check()?;
                let weight = |i| list.values.as_ref().and_then(|values| values.get_f64(i));
                sums.arrangement += distance(list.vertex, list.neighbours, weight);
                let degree = into.get(list.vertex as usize).copied().unwrap_or(0);
                sums.norder += f64::from(degree) * variance(list.neighbours);
                sums.log_gaps += log_gaps(list.vertex, list.neighbours);
                let pages = list.neighbours.iter().map(|&u| adjacency.extent(u).start / page);
                sums.pages += distinct(pages);
                sums.lists += 1;
                Ok(())
            })?;
            done.push((chunk, sums));
            let (at, total) = (chunk as u64 + 1, Some(stream.chunks() as u64));
            source.hooks.tell(Progress { phase: "cost", done: at, total, edges: 0 });
        }
    })?;
    let mut parts = Vec::new();
    for part in sums {
        parts.extend(part);
    }
    // The same sum of floats for any number of threads.
    parts.sort_unstable_by_key(|(chunk, _)| *chunk);
    let total = parts.into_iter().fold(CostSums::default(), |a, (_, b)| a.plus(b));
    // Undirected edges are in two lists.
    let ways = if store.directed() { 1.0 } else { 2.0 };
    let vertices = store.num_vertices().max(1) as f64;
    let entry = store.entry(Direction::Out)?;
    let entries = entry.arcs.max(1) as f64;
    Ok(LayoutCost {
        layout: store.manifest().layout.clone(),
        linear_arrangement: total.arrangement / ways,
        linear_arrangement_per_vertex: 2.0 * total.arrangement / ways / vertices,
        norder: total.norder,
        pages_per_neighbourhood: total.pages as f64 / (total.lists.max(1) as f64),
        list_bytes: entry.lists.len,
        bytes_per_entry: entry.lists.len as f64 / entries,
        log2_gap: total.log_gaps / entries,
    })
}

/// Counts the list entries in each of `bins` times `bins` squares of the adjacency matrix, in the
/// order of the store, row by row, as a picture of the matrix. Reads all out-lists once.
///
/// # Errors
/// [`Error::Invalid`] for no bins or more than 4,096; otherwise same as [`layout_cost`].
pub fn matrix(source: &LayoutInput<'_>, bins: usize) -> Result<Vec<u64>> {
    if bins == 0 || bins > 4096 {
        return Err(Error::Invalid(format!("{bins} squares a side; choose from 1 to 4,096")));
    }
    let store = source.store;
    Error::afford(memory(store) + 8 * (bins * bins) as u64, source.memory)?;
    let vertices = store.num_vertices().max(1);
    // Lossless: below the number of bins.
    let bin = |v: VertexId| (u64::from(v) * bins as u64 / vertices) as usize;
    let mut squares = vec![0; bins * bins];
    let stream = ListStream::new(store, Direction::Out, None)?;
    let mut reader = stream.reader()?;
    for chunk in 0..stream.chunks() {
        source.hooks.check()?;
        reader.visit(chunk, |list| {
            source.hooks.check()?;
            let row = bin(list.vertex) * bins;
            for &u in list.neighbours {
                if let Some(square) = squares.get_mut(row + bin(u)) {
                    *square += 1;
                }
            }
            Ok(())
        })?;
        let (done, total) = (chunk as u64 + 1, Some(stream.chunks() as u64));
        source.hooks.tell(Progress { phase: "cost", done, total, edges: 0 });
    }
    Ok(squares)
}

/// Sums over the lists of a chunk.
#[derive(Debug, Clone, Copy, Default)]
struct CostSums {
    arrangement: f64,
    norder: f64,
    log_gaps: f64,
    pages: u64,
    lists: u64,
}

impl CostSums {
    fn plus(self, other: Self) -> Self {
        CostSums {
            arrangement: self.arrangement + other.arrangement,
            norder: self.norder + other.norder,
            log_gaps: self.log_gaps + other.log_gaps,
            pages: self.pages + other.pages,
            lists: self.lists + other.lists,
        }
    }
}

/// Returns the share of one list in the cost of `v` (equation 3.1).
fn distance(v: VertexId, list: &[VertexId], weight: impl Fn(usize) -> Option<f64>) -> f64 {
    let weighted = list.iter().enumerate();
    weighted.map(|(i, &u)| weight(i).unwrap_or(1.0) * f64::from(u.abs_diff(v))).sum()
}

/// Returns the population variance of ids.
fn variance(ids: &[VertexId]) -> f64 {
    let n = ids.len().max(1) as f64;
    let mean = ids.iter().map(|&u| f64::from(u)).sum::<f64>() / n;
    ids.iter().map(|&u| (f64::from(u) - mean).powi(2)).sum::<f64>() / n
}

/// Returns the sum of the binary logarithms of gaps, counted from 1; the first gap is that to the
/// vertex.
fn log_gaps(v: VertexId, list: &[VertexId]) -> f64 {
    let mut last = v;
    list.iter()
        .map(|&u| {
            let gap = f64::from(u.abs_diff(last)) + 1.0;
            last = u;
            gap.log2()
        })
        .sum()
}

/// Returns the number of distinct values in an ascending sequence.
fn distinct(values: impl Iterator<Item = u64>) -> u64 {
    let mut last = None;
    values.filter(|&value| last.replace(value) != Some(value)).count() as u64
}

/// Returns the cost of each vertex (equation 3.1) by rank, for the position `places` of each rank:
/// for comparing orders of one graph without writing stores.
///
/// # Errors
/// [`Error::Budget`] if the system cannot provide the memory.
pub fn arrangement_by_vertex(graph: &Csr, places: &[VertexId]) -> Result<Vec<f64>> {
    let place = |v: VertexId| places.get(v as usize).copied().unwrap_or(v);
    let mut costs = reserved(graph.len())?;
    costs.extend(graph.vertices().map(|v| {
        let away = |u| f64::from(place(u).abs_diff(place(v)));
        graph.edges(v).map(|(u, weight)| f64::from(weight) * away(u)).sum::<f64>()
    }));
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables 3.1 and 3.2 of the thesis with the ten edges of the second.
    #[test]
    fn the_worked_example() -> Result<()> {
        let edges =
            [(0, 1), (0, 2), (0, 4), (1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (3, 6), (5, 6)];
        let graph = Csr::of_edges(7, &edges);
        let cost = |order: [u32; 7]| -> Result<f64> {
            let mut places = [0; 7];
            order.iter().zip(0..).for_each(|(&v, at)| places[v as usize] = at);
            Ok(arrangement_by_vertex(&graph, &places)?.iter().sum::<f64>() / 2.0)
        };
        assert_eq!(cost([0, 1, 2, 3, 4, 5, 6])?, 19.0);
        assert_eq!(cost([4, 0, 2, 1, 3, 5, 6])?, 14.0);
        Ok(())
    }

    #[test]
    fn parts_of_the_measures() {
        assert_eq!(variance(&[1, 3]), 1.0);
        assert_eq!(variance(&[7]), 0.0);
        assert_eq!(distance(5, &[3, 9], |_| None), 6.0);
        assert_eq!(distance(5, &[3, 9], |i| Some(i as f64)), 4.0);
        assert_eq!(log_gaps(4, &[3, 6]), 1.0 + 2.0);
        assert_eq!(distinct([1, 1, 2, 5, 5].into_iter()), 3);
    }
}
