//! Batches of edges between integers of any range.

use std::hash::{BuildHasher, RandomState};

use crate::Result;
use crate::sort::pairs::PairWriter;
use crate::sort::radix::{self, Record, Weighted};
use crate::sort::weights::WeightBuffer;

/// Most ids, and most edges, so that numbers and counts fit 32 bits.
const MOST: usize = 1 << 30;
/// Least slots of a table.
const SLOTS: usize = 1 << 10;

/// An id of a batch.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Low bits of the integer.
    bits: u64,
    /// Number of edge ends at the id.
    ends: u32,
    /// While the batch grows, one of the states below; then the number of the id.
    mark: u32,
}

/// No id is here.
const FREE: u32 = 0;
/// An integer from 0 to 2^64 - 1.
const NATURAL: u32 = 1;
/// A negative integer that fits 64 bits.
const NEGATIVE: u32 = 2;

/// The edges of one worker between integers, until they take its memory.
///
/// An edge is a pair of slots of a hash table until the batch ends. Then the ids are sorted, and
/// each is numbered by its place among them. The table is hashed with a random key, so that nobody
/// can craft ids that collide.
pub(crate) struct IntBatch {
    table: Vec<Slot>,
    used: usize,
    keys: [u64; 2],
    edges: Vec<u64>,
    weights: WeightBuffer,
}

debug_by!(IntBatch, used);

/// Returns an id as an integer of 64 bits, if that is its canonical form.
pub(crate) fn integer64(id: &[u8]) -> Option<i128> {
    let digits = id.strip_prefix(b"-").unwrap_or(id);
    let canonical = digits.first().is_some_and(|&first| first != b'0') || id == b"0";
    if !canonical || digits.len() > 20 {
        return None;
    }
    let value = i128::from(crate::decimal::parse_u64(digits)?);
    if digits.len() == id.len() {
        return Some(value);
    }
    (-value >= i128::from(i64::MIN)).then_some(-value)
}

impl IntBatch {
    pub fn new() -> Self {
        let state = RandomState::new();
        Self {
            table: Vec::new(),
            used: 0,
            keys: [state.hash_one(0), state.hash_one(1)],
            edges: Vec::new(),
            weights: WeightBuffer::default(),
        }
    }

    /// Returns true if there are no ids.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Returns true if the batch should end before another edge: it has as many ids or edges as fit
    /// in `room` bytes.
    #[inline]
    pub fn is_full(&self, room: u64) -> bool {
        // One more edge may double the table. While it ends, the batch sorts its ids, which takes
        // two words for each of them, twice.
        let slots = if self.crowded() { 3 * self.table.len() } else { self.table.len() };
        let weights = self.weights.bits().len();
        let bytes = 16 * slots + 32 * self.used + 8 * (self.edges.len() + 3 * weights);
        let full = bytes as u64 > room && self.used > SLOTS;
        full || self.used.max(self.edges.len()) >= MOST
    }

    fn crowded(&self) -> bool {
        self.used + 2 > self.table.len() / 4 * 3
    }

    /// Adds an edge between two ids, at each of which it counts as so many ends.
    #[inline]
    pub fn push(&mut self, source: i128, target: i128, ends: [u32; 2]) {
        if self.crowded() {
            self.grow();
        }
        let source = self.slot(source, ends[0]) as u64;
        let target = self.slot(target, ends[1]) as u64;
        self.edges.push(source << 32 | target);
    }

    /// Adds the weight of the edge that was added last: the bits of an `f64` if `float`, else of an
    /// `i64`.
    pub fn push_weight(&mut self, weight: u64, float: bool) {
        if float {
            self.weights.push_float(f64::from_bits(weight));
        } else {
            self.weights.push_int(weight.cast_signed());
        }
    }

    /// Adds a vertex.
    pub fn list(&mut self, id: i128) {
        if self.crowded() {
            self.grow();
        }
        self.slot(id, 0);
    }

    #[inline]
    fn home(&self, bits: u64, mark: u32) -> usize {
        let [first, second] = self.keys;
        let product = u128::from(bits ^ first ^ u64::from(mark)) * u128::from(second | 1);
        (product >> 64) as usize ^ product as usize
    }

    /// Returns the slot of an id, which is added if it is new.
    #[inline]
    fn slot(&mut self, id: i128, ends: u32) -> usize {
        let (bits, sign) = (id as u64, if id < 0 { NEGATIVE } else { NATURAL });
        let mask = self.table.len() - 1;
        let mut at = self.home(bits, sign) & mask;
        loop {
            let slot = &mut self.table[at];
            if slot.mark == sign && slot.bits == bits {
                slot.ends += ends;
                return at;
            }
            if slot.mark == FREE {
                *slot = Slot { bits, ends, mark: sign };
                self.used += 1;
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(SLOTS);
        let old = std::mem::replace(&mut self.table, vec![Slot::default(); size]);
        let mut moved = vec![0_u32; old.len()];
        for (slot, to) in old.iter().zip(&mut moved) {
            if slot.mark == FREE {
                continue;
            }
            let mut at = self.home(slot.bits, slot.mark) & (size - 1);
            while self.table[at].mark != FREE {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = *slot;
            *to = at as u32;
        }
        for edge in &mut self.edges {
            let (source, target) = ((*edge >> 32) as usize, *edge as u32 as usize);
            *edge = u64::from(moved[source]) << 32 | u64::from(moved[target]);
        }
    }

    /// Ends the batch: passes its ids with their counts, ascending, to `write`, writes its edges to
    /// `pairs`, and begins the next batch. Returns the number of ids.
    pub fn finish(
        &mut self,
        pairs: &mut PairWriter<'_>,
        write: impl FnOnce(&mut dyn Iterator<Item = Result<(i128, u64)>>) -> Result<()>,
    ) -> Result<u32> {
        let (mut negative, mut natural) = (Vec::new(), Vec::new());
        natural.reserve_exact(self.used);
        for (at, slot) in (0_u64..).zip(&self.table) {
            match slot.mark {
                FREE => {}
                NEGATIVE => negative.push(Weighted::new(slot.bits, at)),
                _ => natural.push(Weighted::new(slot.bits, at)),
            }
        }
        let mut scratch = Vec::new();
        radix::sort(&mut negative, &mut scratch);
        radix::sort(&mut natural, &mut scratch);
        drop(scratch);
        let ends = |record: &Weighted| u64::from(self.table[record.weight() as usize].ends);
        // The sign fills the upper half.
        let below =
            negative.iter().map(|record| (i128::from(record.key().cast_signed()), ends(record)));
        let above = natural.iter().map(|record| (i128::from(record.key()), ends(record)));
        write(&mut below.chain(above).map(Ok))?;
        for (number, record) in (0..).zip(negative.iter().chain(&natural)) {
            self.table[record.weight() as usize].mark = number;
        }
        drop((negative, natural));
        self.spool(pairs)?;
        let count = self.used as u32;
        self.table = Vec::new();
        self.used = 0;
        self.edges = Vec::new();
        self.weights = WeightBuffer::default();
        Ok(count)
    }

    fn spool(&mut self, pairs: &mut PairWriter<'_>) -> Result<()> {
        let number = |slot: u64| self.table[slot as u32 as usize].mark;
        if self.weights.bits().is_empty() {
            return self
                .edges
                .iter()
                .try_for_each(|&edge| pairs.push(number(edge >> 32), number(edge)));
        }
        let float = self.weights.is_float();
        self.edges.iter().zip(self.weights.bits()).try_for_each(|(&edge, &bits)| {
            pairs.push_weighted(number(edge >> 32), number(edge), bits, float)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::pairs::{PairReader, sortable};
    use crate::sort::spill::Spill;

    #[test]
    fn integers_of_64_bits() {
        for (id, value) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("18446744073709551615", Some(i128::from(u64::MAX))),
            ("18446744073709551616", None),
            ("-9223372036854775808", Some(i128::from(i64::MIN))),
            ("-9223372036854775809", None),
            ("-0", None),
            ("007", None),
            ("-", None),
            ("", None),
            ("12a", None),
        ] {
            assert_eq!(integer64(id.as_bytes()), value, "{id}");
        }
    }

    #[test]
    fn edges_come_back_by_the_order_of_their_ids() -> Result<()> {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::create(&*nakshi_io::write::default_fs(), dir.path(), "t")?;
        let id = |i: u64| match i % 3 {
            0 => i128::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            1 => -i128::from(i),
            _ => i128::from(u64::MAX - i),
        };
        let mut edges: Vec<(i128, i128)> =
            (0..5000).map(|i| (id(i % 1007), id(i * 31 % 907))).collect();
        edges.push((-1, i128::from(u64::MAX)));
        for float in [false, true] {
            let mut batch = IntBatch::new();
            for &(source, target) in &edges {
                batch.push(source, target, [1, 1]);
                batch.push_weight(7_f64.to_bits(), float);
            }
            let mut pairs = PairWriter::new(&spill, 1 << 20);
            let mut ids = Vec::new();
            let count = batch.finish(&mut pairs, |all| {
                for entry in all {
                    ids.push(entry?);
                }
                Ok(())
            })?;
            assert!(ids.is_sorted_by(|a, b| a.0 < b.0) && ids.len() == count as usize);
            assert_eq!(ids.iter().map(|(_, ends)| ends).sum::<u64>(), 2 * edges.len() as u64);
            let (mut back, mut reader) = (Vec::new(), PairReader::default());
            for chunk in pairs.take_chunks()? {
                reader.read(&spill, chunk, float, |s, t, weight| {
                    assert_eq!(weight, sortable(7_f64.to_bits(), float));
                    back.push((ids[s as usize].0, ids[t as usize].0));
                    Ok(())
                })?;
            }
            let mut expected = edges.clone();
            expected.sort_unstable();
            back.sort_unstable();
            assert_eq!(back, expected);
        }
        Ok(())
    }
}
