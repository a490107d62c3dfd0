//! Greedy Vertex Selection: charges by neighbourhoods.
//!
//! E. Lee et al., "Pre-Select Static Caching and Neighborhood Ordering for BFS-like Algorithms on
//! Disk-based Graph Engines", USENIX ATC 2019, section 3. A traversal asks for the lists of all
//! neighbours of a vertex at once; a page that it reads for few of them is a waste. Every list is
//! charged with the waste that it causes, `1 / (r t d)` for each edge to its vertex: `r` lists begin
//! in its page, `t` bytes of them belong to neighbours of the same vertex, and `d` edges share the
//! request.
//!
//! Charges are integers, so that adding and taking away leaves exactly what counting anew would.
//! State: charge, in-degree, page and a queue entry a vertex, about 40 bytes; lists are scanned.

use super::charges::{Charges, ListExtents};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::shared::{share_u64, zeroed};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::{Direction, List, VertexId};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A charge of 1.
pub(super) const ONE: f64 = (1u64 << 62) as f64;

/// The charge of every list.
pub(super) struct Neighbourhoods<'g> {
    at: ListExtents<'g>,
    cx: &'g Context,
    /// Edges to each vertex: between them the request for its list is shared.
    requests: Vec<u32>,
    /// Lists that begin in each page.
    lists: Vec<u32>,
    charge: Vec<u64>,
}

impl<'g> Neighbourhoods<'g> {
    pub(super) fn new(graph: &'g Graph, direction: Direction, cx: &'g Context) -> Result<Self> {
        let at = ListExtents::new(graph, direction);
        let pages = graph.total_bytes(direction)? / at.page_size + 1;
        let pages = usize::try_from(pages)
            .map_err(|_| Error::Unsupported { what: "so many pages on this machine".into() })?;
        let mut charges = Neighbourhoods {
            at,
            cx,
            requests: graph.degrees(reverse(graph, direction), cx)?,
            lists: zeroed(pages, "lists of pages")?,
            charge: zeroed(graph.num_vertices(), "charges")?,
        };
        // Lossless: vertices.
        for v in 0..graph.num_vertices() as VertexId {
            let page = charges.at.page(v) as usize;
            if charges.at.bytes(v) > 0
                && let Some(lists) = charges.lists.get_mut(page)
            {
                *lists += 1;
            }
        }
        Ok(charges)
    }

    /// The cost of an edge to `v`, when `used` bytes of its page are requested together.
    fn term(&self, v: VertexId, page: u64, used: u64) -> u64 {
        let lists = self.lists.get(page as usize).copied().unwrap_or(1);
        let requests = self.requests.get(v as usize).copied().unwrap_or(1);
        // Rounded the same way whenever it is added or taken away.
        (ONE / (f64::from(lists) * f64::from(requests.max(1)) * used as f64)) as u64
    }

    /// Neighbours in one page whose lists are not empty: those outside `chosen` share the bytes
    /// that they use; `change` gets the term of each.
    fn page_terms(
        &self,
        page: u64,
        neighbours: &[VertexId],
        chosen: &Bitmap,
        mut change: impl FnMut(VertexId, u64),
    ) {
        let open = |v: &&VertexId| !chosen.get(**v as usize) && self.at.bytes(**v) > 0;
        let used: u64 = neighbours.iter().filter(open).map(|&v| self.at.bytes(v)).sum();
        for &v in neighbours.iter().filter(open) {
            change(v, self.term(v, page, used));
        }
    }
}

impl Charges for Neighbourhoods<'_> {
    fn all(&mut self, chosen: &Bitmap) -> Result<()> {
        let mut charge = std::mem::take(&mut self.charge);
        charge.fill(0);
        let shared = share_u64(&mut charge);
        self.at.graph.scan(
            self.at.direction,
            self.cx,
            |_| Vec::new(),
            |neighbours, _, list| {
                self.cx.check()?;
                distinct(list, neighbours)?;
                for run in neighbours.chunk_by(|a, b| self.at.page(*a) == self.at.page(*b)) {
                    let page = run.first().map_or(0, |&v| self.at.page(v));
                    self.page_terms(page, run, chosen, |v, term| add(shared, v, term));
                }
                Ok(())
            },
        )?;
        self.charge = charge;
        Ok(())
    }

    /// Only neighbours, in the pages of the news, of vertices that have an edge to one of them
    /// (section 3.2).
    fn update(&mut self, chosen: &Bitmap, news: &[VertexId]) -> Result<()> {
        let requests =
            |v: &VertexId| u64::from(self.requests.get(*v as usize).copied().unwrap_or(0));
        // Beyond this the pairs would take more memory, and time, than to begin again.
        if news.iter().map(requests).sum::<u64>() > self.at.graph.num_arcs() / 8 + 1024 {
            return self.all(chosen);
        }
        let mut before = chosen.clone();
        let mut set = VertexSet::new(self.at.graph.num_vertices());
        for &v in news {
            before.clear(v as usize);
            set.insert(v);
        }
        // Who has an edge to a new one, and in which page.
        let parts = self.at.graph.gather(
            reverse(self.at.graph, self.at.direction),
            &set,
            self.cx,
            |_| Vec::new(),
            |pairs: &mut Vec<(VertexId, u64)>, v, list| {
                let page = self.at.page(v);
                list.for_each(|u| pairs.push((u, page)))?;
                Ok(())
            },
        )?;
        let mut pairs: Vec<(VertexId, u64)> = parts.into_iter().flatten().collect();
        sort(&mut pairs, self.cx)?;
        pairs.dedup();
        let mut touched = VertexSet::new(self.at.graph.num_vertices());
        for run in pairs.chunk_by(|a, b| a.0 == b.0) {
            run.first().into_iter().for_each(|pair| {
                touched.insert(pair.0);
            });
        }
        let mut charge = std::mem::take(&mut self.charge);
        let shared = share_u64(&mut charge);
        self.at.graph.gather(
            self.at.direction,
            &touched,
            self.cx,
            |_| Vec::new(),
            |neighbours, v, list| {
                self.cx.check()?;
                distinct(list, neighbours)?;
                let from = pairs.partition_point(|pair| pair.0 < v);
                let mine = pairs.get(from..).unwrap_or_default();
                for &(_, page) in mine.iter().take_while(|pair| pair.0 == v) {
                    // Lists lie in the order of their vertices, and so do pages.
                    let from = neighbours.partition_point(|&u| self.at.page(u) < page);
                    let to = neighbours.partition_point(|&u| self.at.page(u) <= page);
                    let run = neighbours.get(from..to).unwrap_or_default();
                    self.page_terms(page, run, &before, |u, term| take(shared, u, term));
                    self.page_terms(page, run, chosen, |u, term| add(shared, u, term));
                }
                Ok(())
            },
        )?;
        self.charge = charge;
        Ok(())
    }

    fn rate(&self, v: VertexId) -> f64 {
        self.charge.get(v as usize).map_or(0.0, |&charge| charge as f64 / self.at.bytes(v) as f64)
    }
}

/// Pairs that are sorted without a look at the token.
const SORTED: usize = 1 << 16;

/// Sorts millions of pairs, and stops when `cx` says so.
fn sort(pairs: &mut [(VertexId, u64)], cx: &Context) -> Result<()> {
    cx.check()?;
    if pairs.len() <= SORTED {
        pairs.sort_unstable();
        return Ok(());
    }
    let (below, _, above) = pairs.select_nth_unstable(pairs.len() / 2);
    sort(below, cx)?;
    sort(above, cx)
}

/// The direction in which the edges to a vertex are found.
fn reverse(graph: &Graph, direction: Direction) -> Direction {
    if graph.directed() { direction.reverse() } else { direction }
}

/// The neighbours of a list, each once.
fn distinct(list: &List<'_>, neighbours: &mut Vec<VertexId>) -> Result<()> {
    neighbours.clear();
    list.decode_into(neighbours)?;
    neighbours.dedup();
    Ok(())
}

fn add(charges: &[AtomicU64], v: VertexId, term: u64) {
    if let Some(charge) = charges.get(v as usize) {
        charge.fetch_add(term, Relaxed);
    }
}

fn take(charges: &[AtomicU64], v: VertexId, term: u64) {
    if let Some(charge) = charges.get(v as usize) {
        charge.fetch_sub(term, Relaxed);
    }
}
