//! Costs of reading lists, by which a search chooses between those of its frontier and those of the vertices
//! that it has not reached.

use crate::context::EngineMode;
use crate::error::Result;
use crate::graph::{Graph, Heads};
use crate::vertex_set::VertexSet;
use nakshi_store::Direction;

/// Vertices in a sample.
const SAMPLES: usize = 1024;

/// Costs in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadCosts {
    per_list: f64,
    per_byte: f64,
    /// Bytes of all lists.
    total: f64,
}

impl ReadCosts {
    /// Costs of the lists of a direction.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] if the direction is not open.
    pub(crate) fn of(graph: &Graph, direction: Direction) -> Result<Self> {
        // Measured: a list in memory costs a few cache misses, one on the SSD its share of
        // a request; a byte of list is decoded in about a nanosecond, or read and decoded.
        let (per_list, per_byte) = match graph.mode() {
            EngineMode::Ssd => (3000.0, 1.5),
            _ => (60.0, 1.0),
        };
        Ok(ReadCosts { per_list, per_byte, total: graph.total_bytes(direction)? as f64 })
    }

    /// Cost of reading all lists in order.
    pub(crate) fn everything(&self) -> f64 {
        self.total * self.per_byte
    }

    /// Cost of reading so many lists out of order, at most.
    pub(crate) fn some(&self, lists: f64) -> f64 {
        // Whatever is read in order costs no more than a scan does.
        (lists * self.per_list).min(self.everything())
    }

    /// Cost of reading the lists of a set, and of a random access for each entry. Lists are those of `end`
    /// vertices.
    ///
    /// # Errors
    /// As [`ReadCosts::of`].
    pub(crate) fn visits(
        &self,
        graph: &Graph,
        direction: Direction,
        set: &VertexSet,
        end: usize,
    ) -> Result<f64> {
        let members = set.count() as f64;
        let bytes = if set.count() <= 4 * SAMPLES {
            let mut sum = 0u64;
            for v in set.iter() {
                sum += graph.list_bytes(direction, v)?;
            }
            sum as f64
        } else {
            self.total * members / end.max(1) as f64
        };
        Ok(self.some(members) + bytes * self.per_byte * 4.0)
    }
}

/// Share of the `open` vertices below `end` with more than two neighbours neither of whose heads is in a set.
pub(crate) fn misses(
    heads: &Heads,
    end: usize,
    set: &VertexSet,
    open: impl Fn(usize) -> bool,
) -> f64 {
    let (mut seen, mut missed) = (0u32, 0u32);
    for v in (0..end).step_by((end / SAMPLES).max(1)) {
        if open(v) && heads.more.get(v) {
            let hit = heads.pairs.get(v).is_some_and(|p| p.iter().any(|&u| set.contains(u)));
            seen += 1;
            missed += u32::from(!hit);
        }
    }
    f64::from(missed) / f64::from(seen.max(1))
}
