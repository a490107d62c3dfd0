//! Rows of edges with the same source, type and destination.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::options::ParallelEdges;
use super::sort::{RowSorter, SortKey};
use nakshi_store::{Error, Result, VertexId};

/// Examples that a message has.
const EXAMPLES: usize = 3;
/// Bits of a sort key for the destination, below those of the type.
const END: u32 = 32;

/// Collects the keys of rows, and finds the parallel ones.
pub(super) struct ParallelRows<'s> {
    keys: RowSorter<'s>,
}

/// Two parallel rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ParallelPair {
    /// The rows, the later first.
    pub(super) rows: [u64; 2],
    pub(super) source: VertexId,
    /// Number of the type.
    pub(super) ty: u64,
    pub(super) end: VertexId,
}

/// What becomes of parallel rows.
#[derive(Clone, Debug, Default)]
pub(super) struct ParallelOutcome {
    /// Rows that are no edge of their own, ascending.
    pub(super) dropped: Vec<u64>,
    /// Edges that stand beside an earlier one of the same source, type and destination.
    pub(super) parallel: u64,
    /// Rows that repeat another one in everything, and are left out.
    pub(super) repeated: u64,
    /// Rows that a later one replaces.
    pub(super) replaced: u64,
    pub(super) examples: Vec<ParallelPair>,
}

impl<'s> ParallelRows<'s> {
    pub(super) fn new(keys: RowSorter<'s>) -> Self {
        ParallelRows { keys }
    }

    /// Adds a row: source, number of the type, destination, and the bytes of the rest.
    pub(super) fn push(
        &mut self,
        source: VertexId,
        ty: u64,
        end: VertexId,
        row: u64,
        rest: &[u8],
    ) -> Result<()> {
        let ty = u32::try_from(ty).map_err(|_| Error::Unsupported("2^32 types of edges".into()))?;
        // 128 bits, so that rows which differ are not taken for equal.
        let hash = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            hasher.write(rest);
            hasher.finish()
        };
        let key = [source.into(), u64::from(ty) << END | u64::from(end), hash(1), row];
        self.keys.push(key, &hash(2).to_le_bytes())
    }

    pub(super) fn finish(self, wanted: ParallelEdges) -> Result<ParallelOutcome> {
        let mut outcome = ParallelOutcome::default();
        let mut last: Option<(SortKey, Vec<u8>)> = None;
        // The latest row of the same source, type and destination.
        let mut latest = 0;
        self.keys.finish(|key, hash| {
            let [source, middle, .., row] = *key;
            let Some((before, other)) = &mut last else {
                (last, latest) = (Some((*key, hash.to_vec())), row);
                return Ok(());
            };
            let same = before.get(..2) == key.get(..2);
            let equal = before.get(..3) == key.get(..3) && other.as_slice() == hash;
            if same && !(equal && wanted == ParallelEdges::Distinct) {
                let rows = [row.max(latest), row.min(latest)];
                let source = source as VertexId;
                // Halves of what was joined.
                let (ty, end) = (middle >> END, (middle & u64::from(u32::MAX)) as VertexId);
                outcome.see(ParallelPair { rows, source, ty, end });
                if wanted == ParallelEdges::Replace {
                    outcome.replaced += 1;
                    outcome.dropped.push(row.min(latest));
                } else {
                    outcome.parallel += 1;
                }
            } else if same {
                outcome.repeated += 1;
                outcome.dropped.push(row);
                return Ok(());
            }
            latest = if same { row.max(latest) } else { row };
            *before = *key;
            other.clear();
            other.extend_from_slice(hash);
            Ok(())
        })?;
        outcome.dropped.sort_unstable();
        outcome.examples.sort_unstable();
        outcome.examples.truncate(EXAMPLES);
        Ok(outcome)
    }
}

impl ParallelOutcome {
    fn see(&mut self, pair: ParallelPair) {
        self.examples.push(pair);
        if self.examples.len() > 8 * EXAMPLES {
            self.examples.sort_unstable();
            self.examples.truncate(EXAMPLES);
        }
    }
}
