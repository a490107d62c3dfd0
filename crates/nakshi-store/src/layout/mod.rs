//! Layouts: in which order vertices lie on disk.
//!
//! A layout is a bijection from *ranks* (vertices ascending by external id) to *places*. It is
//! defined without reference to memory, threads or the order of the input, so that the same
//! graph always gets the same store.
//!
//! - [`Ordering`] with [`LayoutInput`]: what every layout is, and what it is computed from
//! - [`Original`], [`Random`], [`Degree`], [`ByScore`], [`OrganPipe`]: from degrees and scores
//! - [`Norder`], [`Gorder`]: neighbours side by side
//! - [`Bondhu`]: communities, placed greedily
//! - [`Bisection`]: our own, by the cost of a linear arrangement
//! - [`cost`]: what a layout costs, by each paper's measure
//! - [`Csr`]: a graph in memory

mod arrange;
mod bisection;
mod bondhu;
mod community;
pub mod cost;
mod csr;
mod extend;
mod gorder;
mod norder;
mod simple;
mod smooth;
mod streaming_order;

use crate::hooks::Hooks;
use crate::{Error, Manifest, Permutation, Result, Store, VertexId};

pub use crate::random::mix;
pub use arrange::Sides;
pub use bisection::Bisection;
pub use bondhu::{Bondhu, Communities, Model};
pub use csr::Csr;
pub use extend::Extend;
pub use gorder::Gorder;
pub use norder::Norder;
pub use simple::{By, ByScore, Degree, OrganPipe, Original, Random};
pub(crate) use streaming_order::StreamingOrder;

/// An order of the vertices, with its parameters.
pub trait Ordering: std::fmt::Debug {
    /// Name, as in the manifest.
    fn name(&self) -> &'static str;

    /// Bytes of memory that [`Ordering::order`] takes at its peak, beside a page cache.
    fn memory(&self, store: &Store) -> u64;

    /// The new internal id of every internal id, whatever the memory.
    ///
    /// # Errors
    /// [`Error::Invalid`] for parameters that do not fit the graph; [`Error::Budget`] if the
    /// system has no such memory; those of reading; [`Error::Cancelled`].
    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation>;

    /// The new internal id of every internal id: the argument of [`crate::rewrite()`].
    ///
    /// # Errors
    /// [`Error::Budget`] at once if the memory of `source` is less than [`Ordering::memory`];
    /// [`Error::Unsupported`] for 2^32 vertices; as [`Ordering::permutation`].
    fn order(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        Error::afford(self.memory(source.store), source.memory)?;
        if source.store.num_vertices() > u64::from(VertexId::MAX) {
            return Err(Error::Unsupported("a layout of 2^32 vertices".into()));
        }
        self.permutation(source)
    }
}

/// What a layout is computed from.
#[derive(Clone, Debug)]
pub struct LayoutInput<'s> {
    /// The graph.
    pub store: &'s Store,
    /// The column whose values are the weights of edges, for layouts that use weights.
    pub weight: Option<String>,
    /// Bytes of memory; as much as it needs if not given.
    pub memory: Option<u64>,
    /// Threads; does not change the layout.
    pub threads: usize,
    /// Cancellation and progress.
    pub hooks: Hooks,
}

impl<'s> LayoutInput<'s> {
    /// A graph without weights, memory cap or progress; one thread.
    pub fn new(store: &'s Store) -> Self {
        LayoutInput { store, weight: None, memory: None, threads: 1, hooks: Hooks::default() }
    }

    /// The rank of every internal id; `None` if they are the same.
    pub(crate) fn ranks(&self) -> Result<Option<Vec<u32>>> {
        let ids = self.store.ids()?.until(&self.hooks.cancel);
        if ids.ranks_are_internal() { Ok(None) } else { ids.rank_of().map(Some) }
    }

    /// Places by rank as places by internal id.
    fn by_rank(&self, places: Permutation) -> Result<Permutation> {
        let Some(mut ranks) = self.ranks()? else { return Ok(places) };
        for rank in &mut ranks {
            *rank = places.new_of(*rank).unwrap_or(*rank);
        }
        Permutation::from_new_of_old(ranks)
    }

    /// The degrees in a direction, by rank.
    pub(crate) fn degrees(&self, direction: crate::Direction) -> Result<Vec<u32>> {
        let degrees = self.store.degrees(direction, &self.hooks.cancel)?;
        let ids = self.store.ids()?.until(&self.hooks.cancel);
        if ids.ranks_are_internal() {
            return Ok(degrees);
        }
        let degree = |v: VertexId| degrees.get(v as usize).copied().unwrap_or(0);
        Ok(ids.internal_by_rank()?.into_iter().map(degree).collect())
    }
}

/// Bytes of the orders between ranks and internal ids that a layout holds; none where they agree.
fn ranks_memory(store: &Store) -> u64 {
    let ids = &store.manifest().ids;
    let apart = ids.internal.is_some() || ids.ranks.is_some();
    if apart { 8 * store.num_vertices() } else { 0 }
}

/// Bytes of a [`Csr`] of all edges without direction, and of one direction beside it while it is
/// made.
fn csr_memory(store: &Store, weighted: bool) -> u64 {
    let manifest = store.manifest();
    let directions = if manifest.directed { 2 } else { 1 };
    let entry = if weighted { 8 } else { 4 };
    let index: u64 = manifest.adjacency.iter().map(Manifest::index_memory).sum();
    // Joined with weights, then without.
    let joined = 8u64.saturating_mul(directions * store.arcs());
    let loaded = u64::saturating_mul(entry, directions * store.arcs());
    joined + loaded + (directions + 1) * 8 * store.num_vertices() + ranks_memory(store) + index
}

/// The numbers of vertices.
fn all(vertices: u64) -> Result<Vec<VertexId>> {
    let n = crate::permutation::check_count(vertices)?;
    Ok((0..=VertexId::MAX).take(n).collect())
}
