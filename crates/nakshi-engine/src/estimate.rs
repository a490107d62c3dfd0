//! Estimate of the memory that a run needs, before it starts.

use crate::context::Context;
use crate::error::Result;
use crate::source::pinned::{self, Pinned};
use crate::source::{SCAN_DEPTH, weight_block};
use nakshi_store::{CachePlan, Direction, Store};
use serde::Serialize;

/// Summary of a graph, for an estimate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Number of vertices.
    pub vertices: u64,
    /// Vertices up to and including the last that has a list: those behind take no index
    /// and no heads.
    pub listed: u64,
    /// List entries of one direction.
    pub arcs: u64,
    /// True if edges have a direction.
    pub directed: bool,
    /// Bytes of the encoded out-lists.
    pub out_bytes: u64,
    /// Bytes of the encoded in-lists; 0 if the graph is undirected.
    pub in_bytes: u64,
    /// Bytes of the longest encoded list.
    pub longest_list: u64,
    /// Bytes of the index in memory, per direction.
    pub index_bytes: u64,
    /// Bytes of a weight column per list entry; 0 without one.
    pub weight_width: u64,
}

/// Memory and lists that an algorithm needs of the engine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Needs {
    /// Bytes of state per vertex, at the peak, results included.
    pub state_bytes_per_vertex: f64,
    /// Bytes of state that do not depend on the number of vertices.
    pub state_bytes_fixed: u64,
    /// Bytes of state per vertex that each worker has for itself.
    pub worker_bytes_per_vertex: f64,
    /// Bytes of state of each worker that do not depend on the number of vertices.
    pub worker_bytes_fixed: u64,
    /// Directions whose lists are read.
    pub directions: Vec<Direction>,
    /// The direction that is read only in steps against a search, which selective
    /// mode does not take.
    pub against: Option<Direction>,
    /// The direction whose first two neighbours of each vertex are held in memory.
    pub heads: Option<Direction>,
    /// Bytes of the vertex state that are taken only after [`Graph::release`](crate::Graph::release):
    /// until then they keep lists.
    pub late_bytes_per_vertex: f64,
    /// True if the run reads lists of selected vertices, not only all of them in turn: half of
    /// what the budget leaves is then a page cache. The rest keeps lists of one pass for the
    /// next.
    pub gathers: bool,
    /// True if the algorithm itself uses the memory that the budget leaves: no lists are kept then, and
    /// the page cache stays at its smallest.
    pub takes_spare: bool,
    /// True if all lists are read several times: lists in memory are then decoded first, where the budget
    /// has room.
    pub repeats: bool,
    /// Weight column that is read beside the lists.
    pub column: Option<String>,
}

impl Needs {
    /// State of `bytes` per vertex over the lists of `directions`.
    pub fn new(bytes: f64, directions: &[Direction]) -> Self {
        Needs { state_bytes_per_vertex: bytes, directions: directions.to_vec(), ..Needs::default() }
    }

    /// The needs in the mode of `cx`; see [`Context::with_selective`].
    pub(crate) fn within(mut self, cx: &Context) -> Self {
        if cx.selective() {
            self.heads = None;
            self.directions.retain(|d| Some(*d) != self.against);
        }
        self
    }
}

/// Memory that a run needs, in bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// The smallest budget that works, lists on the SSD.
    pub minimum: u64,
    /// The budget with which all lists are in memory.
    pub in_memory: u64,
    /// Parts of the minimum: name and bytes.
    pub parts: Vec<(String, u64)>,
    /// Bytes of the lists that are read, weights included.
    pub lists: u64,
}

/// Read-ahead buffers per worker, in bytes, for lists of ordinary length: those of a scan
/// and, beside a page cache of the smallest size, those of a gather.
const BUFFERS_PER_WORKER: u64 = 3 << 20;
/// The program itself, an interpreter around it, stacks and small tables.
const BASE: u64 = 24 << 20;

impl Estimate {
    /// The estimate of a run on `store` with the threads and in the mode of `cx`, its static
    /// cache included.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a static cache without a plan, or with one of another layout.
    pub fn of_run(store: &Store, needs: &Needs, cx: &Context) -> Result<Estimate> {
        Ok(Estimate::with_plan(store, &needs.clone().within(cx), cx)?.0)
    }

    /// As [`Estimate::of_run`], for needs within `cx`, and the plan of the static cache.
    pub(crate) fn with_plan(
        store: &Store,
        needs: &Needs,
        cx: &Context,
    ) -> Result<(Estimate, Option<CachePlan>)> {
        let mut estimate = Estimate::new(needs, &Summary::of_store(store), cx.threads());
        let plan = pinned::plan(store, needs.takes_spare, cx)?;
        if let Some(plan) = &plan {
            let pinned = Pinned::memory_of(store, &needs.directions, plan);
            estimate.parts.push(("static cache".to_owned(), pinned));
            estimate.minimum = estimate.minimum.saturating_add(pinned);
        }
        Ok((estimate, plan))
    }

    /// The estimate of a run with `needs` on a graph like `summary` with `threads` workers.
    pub fn new(needs: &Needs, summary: &Summary, threads: usize) -> Estimate {
        let threads = threads.max(1) as u64;
        let directions = if summary.directed { needs.directions.len() as u64 } else { 1 };
        let bytes = needs.state_bytes_per_vertex + needs.worker_bytes_per_vertex * threads as f64;
        let fixed = threads.saturating_mul(needs.worker_bytes_fixed) + needs.state_bytes_fixed;
        let state = (bytes * summary.vertices as f64).ceil() as u64 + fixed;
        // Heads, and a bit for whether there are more.
        let heads =
            if needs.heads.is_some() { summary.listed * 8 + summary.vertices / 8 } else { 0 };
        // A weight column has an index of its own, and buffers.
        let columns = 1 + u64::from(needs.column.is_some());
        let index = summary.index_bytes.saturating_mul(directions * columns);
        let weights = if needs.column.is_some() {
            (SCAN_DEPTH as u64 + 1) * weight_block(summary.weight_width)
                + 2 * summary.longest_list.saturating_mul(summary.weight_width)
        } else {
            0
        };
        let worker =
            BUFFERS_PER_WORKER.saturating_add(2 * summary.longest_list).saturating_add(weights);
        let buffers = threads.saturating_mul(worker);
        let parts = vec![
            ("state".to_owned(), state),
            ("index".to_owned(), index),
            ("heads".to_owned(), heads),
            ("buffers".to_owned(), buffers),
            ("engine".to_owned(), BASE),
        ];
        let minimum = parts.iter().map(|p| p.1).fold(0u64, u64::saturating_add);
        let uses = |d| needs.directions.contains(&d);
        let mut lists = 0u64;
        if uses(Direction::Out) || !summary.directed {
            lists = lists.saturating_add(summary.out_bytes);
        }
        if uses(Direction::In) && summary.directed {
            lists = lists.saturating_add(summary.in_bytes);
        }
        if needs.column.is_some() {
            let column = summary.arcs.saturating_mul(summary.weight_width);
            lists = lists.saturating_add(column.saturating_mul(directions));
        }
        Estimate { minimum, in_memory: minimum.saturating_add(lists), parts, lists }
    }
}
