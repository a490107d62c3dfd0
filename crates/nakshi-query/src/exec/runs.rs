//! Sorted rows on the disk: runs, which are merged as they are taken.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use nakshi_store::sort::{Spill, SpillExtent};

use super::context::Context;
use super::limits::Held;
use crate::error::{Class, QueryError, Result};
use crate::order::order;
use crate::value::{Row, Value, weight_of};

/// How many times the memory of a query its rows on the disk may take.
const MOST: u64 = 32;
/// Bytes of the blocks of a run: at least and at most, and as a part of the query's memory.
const BLOCK: std::ops::RangeInclusive<u64> = 4 << 10..=64 << 10;
const PART: u64 = 512;

/// A row with the values that it is sorted by.
pub(super) type Keyed = (Vec<Value>, Row);

/// The order of two values of a key.
pub(super) fn of_key(a: &Value, b: &Value, descends: bool) -> Ordering {
    if descends { order(b, a) } else { order(a, b) }
}

/// The order of two rows by their keys, each of which ascends or descends.
pub(super) fn of_keys(descends: impl Iterator<Item = bool>, a: &[Value], b: &[Value]) -> Ordering {
    let mut orders = descends.zip(a.iter().zip(b)).map(|(descends, (a, b))| of_key(a, b, descends));
    orders.find(|found| found.is_ne()).unwrap_or(Ordering::Equal)
}

/// Runs of sorted rows.
pub(super) struct Runs {
    spill: Spill,
    runs: Vec<Vec<SpillExtent>>,
    /// Bytes that the rows had in memory.
    bytes: u64,
}

/// The error of rows that cannot be written, or not read again.
fn failed(error: &dyn std::fmt::Display) -> QueryError {
    let message = format!(
        "the rows that the query sorts do not fit into its memory, and {error}; give it more memory, or sort fewer"
    );
    QueryError::run(Class::Memory, "Memory", message)
}

impl Runs {
    /// No runs yet.
    pub(super) fn new(cx: &Context) -> Result<Self> {
        let spill = cx.view.graph.spill().map_err(|error| failed(&error))?;
        Ok(Runs { spill, runs: Vec::new(), bytes: 0 })
    }

    /// Writes a run of sorted rows, which take so many bytes of memory.
    pub(super) fn write(&mut self, cx: &Context, rows: &[Keyed], bytes: u64) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > cx.limits.memory.saturating_mul(MOST) {
            return Err(cx.limits.too_much());
        }
        let size = (cx.limits.memory / PART).clamp(*BLOCK.start(), *BLOCK.end());
        let (mut extents, mut block) = (Vec::new(), Vec::new());
        for row in rows {
            cx.limits.step()?;
            block = postcard::to_extend(row, block).map_err(|error| failed(&error))?;
            if block.len() as u64 >= size {
                extents.push(self.spill.append(&block).map_err(|error| failed(&error))?);
                block.clear();
            }
        }
        if !block.is_empty() {
            extents.push(self.spill.append(&block).map_err(|error| failed(&error))?);
        }
        self.runs.push(extents);
        Ok(())
    }

    /// The first `left` rows of all runs, by keys of which each ascends or descends.
    pub(super) fn merge(self, cx: &Context, descends: Arc<[bool]>, left: usize) -> Result<Merge> {
        let read = |extents: Vec<SpillExtent>| Run {
            extents: extents.into_iter(),
            block: Vec::new(),
            at: 0,
            held: Held::new(&cx.limits),
        };
        let runs = self.runs.into_iter().map(read).collect();
        let heads = BinaryHeap::new();
        let mut merge = Merge { spill: self.spill, runs, heads, descends, left };
        (0..merge.runs.len()).try_for_each(|number| merge.advance(number))?;
        Ok(merge)
    }
}

/// A run that is read.
struct Run {
    extents: std::vec::IntoIter<SpillExtent>,
    block: Vec<u8>,
    at: usize,
    /// The memory of the block.
    held: Held,
}

impl Run {
    /// The next row; gives its block back to the disk when it is in memory.
    fn next(&mut self, spill: &Spill) -> Result<Option<Keyed>> {
        if self.at == self.block.len() {
            let Some(extent) = self.extents.next() else { return Ok(None) };
            self.held.free();
            self.held.take(extent.len)?;
            self.block.resize(usize::try_from(extent.len).unwrap_or(usize::MAX), 0);
            self.at = 0;
            let read = spill.read(extent.offset, &mut self.block).and_then(|()| spill.free(extent));
            read.map_err(|error| failed(&error))?;
        }
        let rest = self.block.get(self.at..).unwrap_or_default();
        let (row, rest) = postcard::take_from_bytes(rest).map_err(|error| failed(&error))?;
        self.at = self.block.len() - rest.len();
        Ok(Some(row))
    }
}

/// The first row of a run that has not been taken.
struct Head {
    keyed: Keyed,
    run: usize,
    descends: Arc<[bool]>,
}

impl Ord for Head {
    /// The next one is the greatest; of equal rows, that of the earlier run.
    fn cmp(&self, other: &Self) -> Ordering {
        let keys = of_keys(self.descends.iter().copied(), &other.keyed.0, &self.keyed.0);
        keys.then_with(|| other.run.cmp(&self.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

/// The rows of all runs, in their order.
pub(super) struct Merge {
    spill: Spill,
    runs: Vec<Run>,
    heads: BinaryHeap<Head>,
    descends: Arc<[bool]>,
    /// Rows still to hand on.
    left: usize,
}

impl Merge {
    /// Brings in the next row of a run.
    fn advance(&mut self, number: usize) -> Result<()> {
        let Some(run) = self.runs.get_mut(number) else { return Ok(()) };
        if let Some(keyed) = run.next(&self.spill)? {
            let descends = Arc::clone(&self.descends);
            self.heads.push(Head { keyed, run: number, descends });
        }
        Ok(())
    }

    /// At most `most` further rows, and fewer if they are large.
    pub(super) fn next(&mut self, cx: &Context, most: usize) -> Result<Vec<Row>> {
        let (mut rows, mut weight) = (Vec::new(), 0_u64);
        while rows.len() < most.min(self.left) && weight <= cx.limits.of_batch() {
            let Some(Head { keyed: (_, row), run, .. }) = self.heads.pop() else { break };
            cx.limits.step()?;
            weight = weight.saturating_add(weight_of(&row));
            rows.push(row);
            self.advance(run)?;
        }
        self.left -= rows.len();
        Ok(rows)
    }
}
