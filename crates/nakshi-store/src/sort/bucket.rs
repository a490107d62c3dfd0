//! The sort of one bucket: in memory, or by runs on disk that are merged if it does not fit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::partition::Bucket;
use super::radix::{self, Record};
use super::spill::{Spill, SpillExtent, StreamReader, StreamWriter, put_words, words};
use crate::Result;

/// A sorted bucket.
pub(crate) enum Sorted<'s, R> {
    /// All records of the bucket.
    Memory(Vec<R>),
    /// Too large for memory: sorted runs, to be merged as they are read.
    Runs(MergedRuns<'s, R>),
}

/// Loads and sorts a bucket; `limit` is the number of records that fit in memory.
pub(crate) fn sort<'s, R: Record>(
    spill: &'s Spill,
    runs: &'s Spill,
    bucket: &Bucket,
    limit: usize,
    scratch: &mut Vec<R>,
) -> Result<Sorted<'s, R>> {
    let total = usize::try_from(bucket.bytes).unwrap_or(usize::MAX) / (8 * R::WORDS);
    let mut records: Vec<R> = Vec::with_capacity(total.min(limit));
    let mut bytes = Vec::new();
    let mut sorted_runs = Vec::new();
    for &SpillExtent { offset, len } in &bucket.extents {
        let incoming = len as usize / (8 * R::WORDS);
        if records.len() + incoming > limit && !records.is_empty() {
            sorted_runs.push(write_run(runs, &mut records, scratch)?);
        }
        bytes.resize(len as usize, 0);
        spill.read(offset, &mut bytes)?;
        let mut words = words(&bytes);
        while let Some(key) = words.next() {
            let weight = if R::WEIGHTED { words.next().unwrap_or(0) } else { 0 };
            records.push(R::new(key, weight));
        }
    }
    if sorted_runs.is_empty() {
        radix::sort(&mut records, scratch);
        return Ok(Sorted::Memory(records));
    }
    sorted_runs.push(write_run(runs, &mut records, scratch)?);
    drop(records);
    *scratch = Vec::new();
    // The read buffers of all runs together take the memory that the records took.
    let chunk = (limit * 8 * R::WORDS / sorted_runs.len()).clamp(4 << 10, 256 << 10);
    MergedRuns::new(runs, sorted_runs, chunk).map(Sorted::Runs)
}

fn write_run<R: Record>(
    spill: &Spill,
    records: &mut Vec<R>,
    scratch: &mut Vec<R>,
) -> Result<Vec<SpillExtent>> {
    radix::sort(records, scratch);
    let mut writer = StreamWriter::new(spill, 256 << 10);
    for record in records.iter() {
        put_words(writer.buffer(), &[record.key(), record.weight()][..R::WORDS]);
        writer.settle()?;
    }
    records.clear();
    writer.finish()
}

/// A merge of sorted runs.
pub(crate) struct MergedRuns<'s, R> {
    readers: Vec<StreamReader<'s>>,
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    record: std::marker::PhantomData<R>,
}

impl<'s, R: Record> MergedRuns<'s, R> {
    fn new(spill: &'s Spill, runs: Vec<Vec<SpillExtent>>, chunk: usize) -> Result<Self> {
        let readers = runs.into_iter().map(|run| StreamReader::new(spill, run, chunk)).collect();
        let mut merged =
            Self { readers, heap: BinaryHeap::new(), record: std::marker::PhantomData };
        for run in 0..merged.readers.len() {
            let head = Self::head(&mut merged.readers[run])?;
            merged.heap.extend(head.map(|(key, weight)| Reverse((key, weight, run))));
        }
        Ok(merged)
    }

    fn head(reader: &mut StreamReader<'_>) -> Result<Option<(u64, u64)>> {
        let mut words = words(reader.peek(8 * R::WORDS)?).take(R::WORDS);
        let head = words.next().map(|key| (key, words.next().unwrap_or(0)));
        drop(words);
        reader.consume(8 * R::WORDS);
        Ok(head)
    }

    /// Fills `out` with the next records, at most `limit`, and with none at the end.
    pub fn fill(&mut self, out: &mut Vec<R>, limit: usize) -> Result<()> {
        out.clear();
        while out.len() < limit {
            let Some(mut top) = self.heap.peek_mut() else { return Ok(()) };
            let Reverse((key, weight, run)) = *top;
            out.push(R::new(key, weight));
            match Self::head(&mut self.readers[run])? {
                Some((key, weight)) => *top = Reverse((key, weight, run)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(top);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::radix::Weighted;

    #[test]
    fn runs_and_memory_give_the_same() -> Result<()> {
        let dir = tempfile::tempdir().unwrap();
        let fs = nakshi_io::write::default_fs();
        let (spill, runs) =
            (Spill::create(&*fs, dir.path(), "a")?, Spill::create(&*fs, dir.path(), "b")?);
        let mut writer = StreamWriter::new(&spill, 4096);
        for i in 0..50_000_u64 {
            put_words(writer.buffer(), &[i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 10_000, i % 7]);
            writer.settle()?;
        }
        let bucket = Bucket { extents: writer.finish()?, bytes: 800_000 };
        let Sorted::Memory(all) =
            sort::<Weighted>(&spill, &runs, &bucket, 1 << 20, &mut Vec::new())?
        else {
            panic!("fits");
        };
        let Sorted::Runs(mut merged) =
            sort::<Weighted>(&spill, &runs, &bucket, 3000, &mut Vec::new())?
        else {
            panic!("does not fit");
        };
        let (mut piece, mut joined) = (Vec::new(), Vec::new());
        loop {
            merged.fill(&mut piece, 999)?;
            if piece.is_empty() {
                break;
            }
            joined.extend_from_slice(&piece);
        }
        assert!(all == joined && all.len() == 50_000);
        Ok(())
    }
}
