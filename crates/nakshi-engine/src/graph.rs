//! A store prepared for runs.

use crate::context::{Context, EngineMode};
use crate::error::{Error, Result};
use crate::source::Lists;
use crate::source::list::{Direction, VertexId, WeightKind};
use crate::source::memory::MemoryLists;

/// A graph prepared for runs: index in memory, lists in memory or on the SSD.
///
/// Vertices are `0..num_vertices()` in layout order (internal ids).
#[derive(Debug)]
pub struct Graph {
    n: usize,
    arcs: u64,
    directed: bool,
    weighted: bool,
    mode: EngineMode,
    out: Lists,
    incoming: Option<Lists>,
}

impl Graph {
    /// A graph in memory from `(source, target)` pairs; duplicates are dropped, self-loops
    /// kept. Undirected: each edge goes into both lists. Weights belong to the pairs, the
    /// smallest one wins among duplicates. For tests, examples and small graphs.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`] if an end is not below `n`; [`Error::Parameter`] if
    /// `weights` has another length than `edges`.
    pub fn from_edges(
        n: usize,
        edges: &[(VertexId, VertexId)],
        directed: bool,
        weights: Option<&[f64]>,
    ) -> Result<Graph> {
        if weights.is_some_and(|w| w.len() != edges.len()) {
            return Err(Error::parameter("weights", "one weight per edge is needed"));
        }
        let mut arcs = Vec::with_capacity(edges.len() * 2);
        for (i, &(u, v)) in edges.iter().enumerate() {
            if let Some(bad) = [u, v].into_iter().find(|&x| x as usize >= n) {
                return Err(Error::UnknownVertex { id: bad.to_string() });
            }
            let w = weights.and_then(|w| w.get(i)).copied().unwrap_or(1.0);
            arcs.push((u, v, w));
            if !directed && u != v {
                arcs.push((v, u, w));
            }
        }
        let encode = |mut arcs: Vec<(VertexId, VertexId, f64)>| {
            arcs.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
            arcs.dedup_by_key(|a| (a.0, a.1));
            (arcs.len() as u64, Lists::Memory(MemoryLists::encode(n, &arcs, weights.is_some())))
        };
        let incoming =
            directed.then(|| encode(arcs.iter().map(|&(u, v, w)| (v, u, w)).collect()).1);
        let (count, out) = encode(arcs);
        Ok(Graph {
            n,
            arcs: count,
            directed,
            weighted: weights.is_some(),
            mode: EngineMode::Memory,
            out,
            incoming,
        })
    }

    /// Number of vertices.
    pub fn num_vertices(&self) -> usize {
        self.n
    }

    /// Number of list entries of one direction: in an undirected graph each edge counts
    /// twice, a self-loop once.
    pub fn num_arcs(&self) -> u64 {
        self.arcs
    }

    /// Whether edges have a direction.
    pub fn directed(&self) -> bool {
        self.directed
    }

    /// Whether a weight column is open; without one all weights are 1.
    pub fn weighted(&self) -> bool {
        self.weighted
    }

    /// How the weights are stored that [`Graph::scan_weighted`] hands out.
    pub fn weight_kind(&self) -> WeightKind {
        if self.weighted { WeightKind::F64 } else { WeightKind::Unit }
    }

    /// [`EngineMode::Memory`] or [`EngineMode::Ssd`], never `Auto`.
    pub fn mode(&self) -> EngineMode {
        self.mode
    }

    /// The lists of a direction; in an undirected graph both are the same.
    pub(crate) fn lists(&self, direction: Direction) -> &Lists {
        match direction {
            Direction::In => self.incoming.as_ref().unwrap_or(&self.out),
            Direction::Out => &self.out,
        }
    }

    /// Where the encoded list of `v` lies in the bytes of its direction; empty at 0 beyond
    /// the last vertex.
    pub fn extent(&self, direction: Direction, v: usize) -> std::ops::Range<u64> {
        let Lists::Memory(lists) = self.lists(direction);
        lists.extent(v)
    }

    /// Degrees in a direction, one per vertex.
    ///
    /// # Errors
    /// Of reading; [`Error::Cancelled`].
    pub fn degrees(&self, direction: Direction, cx: &Context) -> Result<Vec<u32>> {
        let mut degrees = vec![0u32; self.n];
        let shared = crate::shared::share_u32(&mut degrees);
        self.scan(
            direction,
            cx,
            |_| (),
            |(), v, list| {
                if let Some(slot) = shared.get(v as usize) {
                    // A list has at most 2^32 - 1 entries besides the self-loop: ids are 32 bits.
                    let degree = u32::try_from(list.degree()).unwrap_or(u32::MAX);
                    slot.store(degree, std::sync::atomic::Ordering::Relaxed);
                }
                Ok(())
            },
        )?;
        Ok(degrees)
    }

    /// Position of each vertex in the ascending order of the users' ids: what algorithms
    /// compare when a result speaks of the smallest id. `None` if it is the internal order.
    ///
    /// # Errors
    /// Of reading the id files.
    pub fn id_ranks(&self, _cx: &Context) -> Result<Option<Vec<u32>>> {
        Ok(None)
    }

    /// The internal id of a vertex that a user names in JSON (a number or a string).
    ///
    /// # Errors
    /// [`Error::UnknownVertex`].
    pub fn vertex_by_json(&self, id: &serde_json::Value) -> Result<VertexId> {
        id.as_u64()
            .filter(|&v| v < self.n as u64)
            .and_then(|v| VertexId::try_from(v).ok())
            .ok_or_else(|| Error::UnknownVertex { id: id.to_string() })
    }
}
