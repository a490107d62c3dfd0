//! All encoded lists of one direction, resident in memory.

use super::list::{List, VertexId, WeightKind, Weights};
use crate::error::Result;
use std::ops::Range;

/// Encoded lists of one direction with their offsets and, if the graph has one, the
/// weight column.
#[derive(Debug)]
pub(crate) struct MemoryLists {
    bytes: Vec<u8>,
    offsets: Vec<u64>,
    weights: Vec<f64>,
}

impl MemoryLists {
    /// Encodes `(source, target, weight)` arcs, sorted and without duplicates.
    pub(crate) fn encode(n: usize, arcs: &[(VertexId, VertexId, f64)], weighted: bool) -> Self {
        let mut offsets = Vec::with_capacity(n + 1);
        let mut bytes = Vec::with_capacity(arcs.len() * 4);
        let mut rest = arcs;
        offsets.push(0);
        for v in 0..n {
            while let Some((&(source, target, _), tail)) = rest.split_first()
                && source as usize == v
            {
                bytes.extend_from_slice(&target.to_le_bytes());
                rest = tail;
            }
            offsets.push(bytes.len() as u64);
        }
        let weights = if weighted { arcs.iter().map(|a| a.2).collect() } else { Vec::new() };
        MemoryLists { bytes, offsets, weights }
    }

    pub(crate) fn extent(&self, v: usize) -> Range<u64> {
        match self.offsets.get(v..v + 2) {
            Some(&[from, to]) => from..to,
            _ => 0..0,
        }
    }

    pub(crate) fn list(&self, v: usize) -> Result<List<'_>> {
        let extent = self.extent(v);
        let bytes = self.bytes.get(extent.start as usize..extent.end as usize).unwrap_or(&[]);
        List::new(bytes, v as VertexId)
    }

    /// Runs `f` with the list and the weights of `v`.
    pub(crate) fn with_weights<T>(
        &self,
        v: usize,
        f: impl FnOnce(&List<'_>, &Weights<'_>) -> Result<T>,
    ) -> Result<T> {
        let list = self.list(v)?;
        let degree = list.degree() as usize;
        if self.weights.is_empty() {
            return f(&list, &Weights::new(WeightKind::Unit, &[], degree));
        }
        let first = self.extent(v).start as usize / 4;
        let bytes: Vec<u8> = self
            .weights
            .get(first..first + degree)
            .unwrap_or(&[])
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        f(&list, &Weights::new(WeightKind::F64, &bytes, degree))
    }
}
