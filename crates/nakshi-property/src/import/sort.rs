//! External sort of records with keys of fixed length, under a memory cap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use nakshi_store::sort::{Spill, SpillExtent};
use nakshi_store::{Error, Result, varint};

/// Fewest bytes of a run that are read at once.
const BLOCK: usize = 64 << 10;

/// Sort key, compared number by number.
pub(super) type SortKey = [u64; 4];

/// Sorts records of a key and bytes each.
#[derive(Debug)]
pub(super) struct RowSorter<'s> {
    spill: &'s Spill,
    memory: usize,
    bytes: Vec<u8>,
    records: Vec<(SortKey, usize, usize)>,
    runs: Vec<Vec<SpillExtent>>,
}

impl<'s> RowSorter<'s> {
    /// Starts a sort whose runs are written to `spill`.
    pub(super) fn new(spill: &'s Spill, memory: usize) -> Self {
        RowSorter { spill, memory, bytes: Vec::new(), records: Vec::new(), runs: Vec::new() }
    }

    pub(super) fn push(&mut self, key: SortKey, bytes: &[u8]) -> Result<()> {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.records.push((key, from, self.bytes.len()));
        let held = self.bytes.len() + self.records.len() * size_of::<(SortKey, usize, usize)>();
        if 2 * held > self.memory { self.write_run() } else { Ok(()) }
    }

    fn write_run(&mut self) -> Result<()> {
        self.records.sort_unstable_by_key(|record| record.0);
        let (mut extents, mut block) = (Vec::new(), Vec::new());
        for (key, from, to) in self.records.drain(..) {
            key.iter().for_each(|word| block.extend_from_slice(&word.to_le_bytes()));
            varint::put(&mut block, (to - from) as u64);
            block.extend_from_slice(self.bytes.get(from..to).unwrap_or_default());
            if block.len() >= BLOCK {
                extents.push(self.spill.append(&block)?);
                block.clear();
            }
        }
        if !block.is_empty() {
            extents.push(self.spill.append(&block)?);
        }
        self.runs.push(extents);
        self.bytes.clear();
        Ok(())
    }

    /// Hands all records to `f`, ascending by key.
    pub(super) fn finish(mut self, mut f: impl FnMut(&SortKey, &[u8]) -> Result<()>) -> Result<()> {
        if self.runs.is_empty() {
            self.records.sort_unstable_by_key(|record| record.0);
            for (key, from, to) in &self.records {
                f(key, self.bytes.get(*from..*to).unwrap_or_default())?;
            }
            return Ok(());
        }
        self.write_run()?;
        self.bytes = Vec::new();
        self.records = Vec::new();
        let mut runs: Vec<SortRun<'_>> =
            self.runs.into_iter().map(|extents| SortRun::new(self.spill, extents)).collect();
        let mut queue = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            if let Some(key) = run.next()? {
                queue.push(Reverse((key, number)));
            }
        }
        while let Some(Reverse((key, number))) = queue.pop() {
            let Some(run) = runs.get_mut(number) else { continue };
            f(&key, run.value())?;
            if let Some(key) = run.next()? {
                queue.push(Reverse((key, number)));
            }
        }
        Ok(())
    }
}

/// Reader of a run, block by block; records do not span blocks.
struct SortRun<'s> {
    spill: &'s Spill,
    extents: std::vec::IntoIter<SpillExtent>,
    block: Vec<u8>,
    at: usize,
    value: std::ops::Range<usize>,
}

impl<'s> SortRun<'s> {
    fn new(spill: &'s Spill, extents: Vec<SpillExtent>) -> Self {
        SortRun { spill, extents: extents.into_iter(), block: Vec::new(), at: 0, value: 0..0 }
    }

    /// The key of the next record, whose bytes [`SortRun::value`] then returns.
    fn next(&mut self) -> Result<Option<SortKey>> {
        if self.at == self.block.len() {
            let Some(extent) = self.extents.next() else { return Ok(None) };
            self.block.resize(usize::try_from(extent.len).unwrap_or(usize::MAX), 0);
            self.spill.read(extent.offset, &mut self.block)?;
            self.at = 0;
        }
        let broken = || Error::Invalid("a temporary file does not hold what was written".into());
        let mut key = [0; 4];
        let (words, _) = self.block.get(self.at..).unwrap_or_default().as_chunks::<8>();
        for (to, from) in key.iter_mut().zip(words) {
            *to = u64::from_le_bytes(*from);
        }
        self.at += 32;
        let len = varint::get(&self.block, &mut self.at).ok_or_else(broken)?;
        let end = self.at + usize::try_from(len).map_err(|_| broken())?;
        self.value = self.at..end;
        self.at = end;
        Ok(Some(key))
    }

    fn value(&self) -> &[u8] {
        self.block.get(self.value.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Seen red with a run whose last block is not written.
        #[test]
        fn records_come_in_order_whatever_the_memory(
            records in prop::collection::vec((0..50u64, prop::collection::vec(any::<u8>(), 0..40)), 0..300),
            memory in prop_oneof![Just(1usize), 200..4000usize, Just(1 << 20)],
        ) {
            let home = tempfile::tempdir().unwrap();
            let fs = nakshi_io::write::default_fs();
            let spill = Spill::create(fs.as_ref(), home.path(), "runs").unwrap();
            let mut sorter = RowSorter::new(&spill, memory);
            let mut expected = Vec::new();
            for (number, (key, bytes)) in (0..).zip(&records) {
                sorter.push([*key, 0, number, 0], bytes).unwrap();
                expected.push(([*key, 0, number, 0], bytes.clone()));
            }
            expected.sort();
            let mut found = Vec::new();
            sorter.finish(|key, bytes| { found.push((*key, bytes.to_vec())); Ok(()) }).unwrap();
            prop_assert_eq!(found, expected);
        }
    }
}
