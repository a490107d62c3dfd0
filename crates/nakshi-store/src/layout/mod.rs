//! Layouts: orders of the vertices on disk.
//!
//! A layout is a bijection from *ranks* (vertices ascending by external id) to internal ids, which
//! are positions on disk. Its definition does not refer to memory, threads or the order of the
//! input, so the same graph always gets the same store.
//!
//! - [`Ordering`] with [`LayoutInput`]: the interface of every layout, and its input
//! - [`Original`], [`Random`], [`Degree`], [`ByScore`], [`OrganPipe`]: by degrees and scores
//! - [`Norder`], [`Gorder`]: neighbours beside each other
//! - [`Bondhu`]: communities, placed greedily
//! - [`Bisection`]: our own, by the cost of a linear arrangement
//! - [`cost`]: the cost of a layout, by each paper's measure
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
    /// Returns the name, as in the manifest.
    fn name(&self) -> &'static str;

    /// Returns the peak memory in bytes of [`Ordering::order`], without a page cache.
    fn memory(&self, store: &Store) -> u64;

    /// Computes the permutation, the new internal id of every internal id, without a check of the
    /// memory budget.
    ///
    /// # Errors
    /// [`Error::Invalid`] for parameters that do not fit the graph; [`Error::Budget`] if the system
    /// cannot provide the memory; read errors; [`Error::Cancelled`].
    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation>;

    /// Computes the permutation, the new internal id of every internal id, within the memory budget
    /// of `source`. It is the argument of [`crate::rewrite()`].
    ///
    /// # Errors
    /// [`Error::Budget`] at once if the memory of `source` is less than [`Ordering::memory`];
    /// [`Error::Unsupported`] for 2^32 vertices; otherwise same as [`Ordering::permutation`].
    fn order(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        Error::afford(self.memory(source.store), source.memory)?;
        if source.store.num_vertices() > u64::from(VertexId::MAX) {
            return Err(Error::Unsupported("a layout of 2^32 vertices".into()));
        }
        self.permutation(source)
    }
}

/// The input of a layout.
#[derive(Clone, Debug)]
pub struct LayoutInput<'s> {
    /// The graph.
    pub store: &'s Store,
    /// The column whose values are the weights of edges, for layouts that use weights.
    pub weight: Option<String>,
    /// Memory budget in bytes; without a limit if not given.
    pub memory: Option<u64>,
    /// Number of threads, which does not change the layout.
    pub threads: usize,
    /// Cancellation and progress.
    pub hooks: Hooks,
}

impl<'s> LayoutInput<'s> {
    /// Makes an input without weights, memory budget or progress, with one thread.
    pub fn new(store: &'s Store) -> Self {
        LayoutInput { store, weight: None, memory: None, threads: 1, hooks: Hooks::default() }
    }

    /// Returns the rank of every internal id; `None` if they are the same.
    pub(crate) fn ranks(&self) -> Result<Option<Vec<u32>>> {
        let ids = self.store.ids()?.until(&self.hooks.cancel);
        if ids.ranks_are_internal() { Ok(None) } else { ids.rank_of().map(Some) }
    }

    /// Converts a permutation by rank to one by internal id.
    fn by_rank(&self, places: Permutation) -> Result<Permutation> {
        let Some(mut ranks) = self.ranks()? else { return Ok(places) };
        for rank in &mut ranks {
            *rank = places.new_of(*rank).unwrap_or(*rank);
        }
        Permutation::from_new_of_old(ranks)
    }

    /// Returns the degrees in a direction, by rank.
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

/// Returns the bytes of the orders between ranks and internal ids that a layout holds; 0 if they
/// agree.
fn ranks_memory(store: &Store) -> u64 {
    let ids = &store.manifest().ids;
    let apart = ids.internal.is_some() || ids.ranks.is_some();
    if apart { 8 * store.num_vertices() } else { 0 }
}

/// Returns the bytes of a [`Csr`] of all edges without direction, including those of one direction
/// that are held while it is made.
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

/// Returns the ids of all vertices.
fn all(vertices: u64) -> Result<Vec<VertexId>> {
    let n = crate::permutation::check_count(vertices)?;
    Ok((0..=VertexId::MAX).take(n).collect())
}
