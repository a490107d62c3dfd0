//! The sort of one bucket: in memory, or by runs on disk that are merged if it does not fit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::packed::{self, Packer, Unpacker};
use super::partition::Bucket;
use super::radix::{self, Record};
use super::spill::{Spill, SpillExtent, StreamReader, StreamWriter};
use crate::Result;

/// Most records in a block of a run.
const BLOCK: usize = 2048;

/// A sorted bucket.
pub(crate) enum Sorted<'s, R> {
    /// All records of the bucket.
    Memory(Vec<R>),
    /// Too large for memory: sorted runs, to be merged as they are read.
    Runs(MergedRuns<'s, R>),
}

/// Loads and sorts a bucket, which is gone then; `limit` is the number of records that fit in
/// memory.
pub(crate) fn sort<'s, R: Record>(
    spill: &Spill,
    runs: &'s Spill,
    bucket: &Bucket,
    limit: usize,
    scratch: &mut Vec<R>,
) -> Result<Sorted<'s, R>> {
    let total = usize::try_from(bucket.records).unwrap_or(usize::MAX);
    let mut records: Vec<R> = Vec::with_capacity(total.min(limit));
    let mut unpacker = Unpacker::default();
    let mut sorted_runs = Vec::new();
    bucket.consume(spill, |block| {
        if records.len() + packed::count(block) > limit && !records.is_empty() {
            sorted_runs.push(write_run(runs, &mut records, scratch, limit)?);
        }
        unpacker.unpack(block, &mut records)
    })?;
    if sorted_runs.is_empty() {
        radix::sort(&mut records, scratch);
        return Ok(Sorted::Memory(records));
    }
    sorted_runs.push(write_run(runs, &mut records, scratch, limit)?);
    drop(records);
    *scratch = Vec::new();
    MergedRuns::new(runs, sorted_runs, limit).map(Sorted::Runs)
}

fn write_run<R: Record>(
    spill: &Spill,
    records: &mut Vec<R>,
    scratch: &mut Vec<R>,
    limit: usize,
) -> Result<Vec<SpillExtent>> {
    radix::sort(records, scratch);
    let mut writer = FrameWriter::new(spill);
    for block in records.chunks((limit / 64).clamp(64, BLOCK)) {
        writer.write(block)?;
    }
    records.clear();
    writer.finish()
}

/// Writes a stream of packed blocks, each behind its length.
#[derive(Debug)]
pub(crate) struct FrameWriter<'s> {
    stream: StreamWriter<'s>,
    packer: Packer,
    block: Vec<u8>,
}

impl<'s> FrameWriter<'s> {
    pub fn new(spill: &'s Spill) -> Self {
        let stream = StreamWriter::new(spill, 256 << 10);
        Self { stream, packer: Packer::default(), block: Vec::new() }
    }

    /// Appends a block of records that are sorted by key.
    pub fn write<R: Record>(&mut self, records: &[R]) -> Result<()> {
        self.block.clear();
        self.packer.pack(records, &mut self.block)?;
        let out = self.stream.buffer();
        out.extend_from_slice(&(self.block.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.block);
        self.stream.settle()
    }

    /// Writes the rest; returns the extents of the stream.
    pub fn finish(self) -> Result<Vec<SpillExtent>> {
        self.stream.finish()
    }
}

/// Reads the stream that a [`FrameWriter`] wrote.
#[derive(Debug)]
pub(crate) struct FrameReader<'s> {
    stream: StreamReader<'s>,
}

impl<'s> FrameReader<'s> {
    /// Reads the stream in `extents`, `chunk` bytes at a time.
    pub fn new(spill: &'s Spill, extents: Vec<SpillExtent>, chunk: usize) -> Self {
        Self { stream: StreamReader::new(spill, extents, chunk) }
    }

    /// Replaces `out` by the next block; makes it empty at the end.
    pub fn read<R: Record>(&mut self, unpacker: &mut Unpacker, out: &mut Vec<R>) -> Result<()> {
        out.clear();
        let Some(len) = self.stream.peek(4)?.first_chunk::<4>().copied() else { return Ok(()) };
        let len = u32::from_le_bytes(len) as usize;
        self.stream.consume(4);
        self.stream.peek(len)?;
        unpacker.unpack(self.stream.take(len), out)
    }
}

/// One run of a merge, with its decoded block.
#[derive(Debug)]
struct RunReader<'s, R> {
    frames: FrameReader<'s>,
    block: Vec<R>,
    at: usize,
}

/// A merge of sorted runs.
pub(crate) struct MergedRuns<'s, R> {
    readers: Vec<RunReader<'s, R>>,
    unpacker: Unpacker,
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
}

impl<'s, R: Record> MergedRuns<'s, R> {
    fn new(spill: &'s Spill, runs: Vec<Vec<SpillExtent>>, limit: usize) -> Result<Self> {
        // The read buffers of all runs together take less memory than the records took.
        let chunk = (limit * 4 / runs.len().max(1)).clamp(4 << 10, 256 << 10);
        let reader = |run| RunReader {
            frames: FrameReader::new(spill, run, chunk),
            block: Vec::new(),
            at: 0,
        };
        let readers: Vec<_> = runs.into_iter().map(reader).collect();
        let mut merged = Self { readers, unpacker: Unpacker::default(), heap: BinaryHeap::new() };
        for run in 0..merged.readers.len() {
            let head = merged.head(run)?;
            merged.heap.extend(head.map(|(key, weight)| Reverse((key, weight, run))));
        }
        Ok(merged)
    }

    fn head(&mut self, run: usize) -> Result<Option<(u64, u64)>> {
        let Some(reader) = self.readers.get_mut(run) else { return Ok(None) };
        if reader.at == reader.block.len() {
            reader.frames.read(&mut self.unpacker, &mut reader.block)?;
            reader.at = 0;
        }
        let head = reader.block.get(reader.at).map(|record| (record.key(), record.weight()));
        reader.at += usize::from(head.is_some());
        Ok(head)
    }

    /// Fills `out` with the next records, at most `limit`, and with none at the end.
    pub fn fill(&mut self, out: &mut Vec<R>, limit: usize) -> Result<()> {
        out.clear();
        while out.len() < limit {
            let Some(&Reverse((key, weight, run))) = self.heap.peek() else { return Ok(()) };
            out.push(R::new(key, weight));
            let next = self.head(run)?;
            if let Some(mut top) = self.heap.peek_mut() {
                match next {
                    Some((key, weight)) => *top = Reverse((key, weight, run)),
                    None => {
                        std::collections::binary_heap::PeekMut::pop(top);
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::partition::{ArcCells, Scatter};
    use crate::sort::radix::Weighted;

    #[test]
    fn runs_and_memory_give_the_same() -> Result<()> {
        let dir = tempfile::tempdir().unwrap();
        let fs = nakshi_io::write::default_fs();
        let (spill, runs) =
            (Spill::create(&*fs, dir.path(), "a")?, Spill::create(&*fs, dir.path(), "b")?);
        let mut cells = ArcCells::new(1);
        cells.add(0, 50_000);
        let ranges = cells.ranges::<Weighted>(1 << 20, 16 << 10);
        let mut sorted = Vec::new();
        for limit in [1 << 20, 3000] {
            let mut scatter = Scatter::<Weighted>::new(&spill, &ranges);
            for i in 0..50_000_u64 {
                let target = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 10_000;
                scatter.push(0, target as u32, i % 7)?;
            }
            let [bucket] = scatter.finish()?.try_into().unwrap();
            assert_eq!(bucket.records, 50_000);
            sorted.push(sort::<Weighted>(&spill, &runs, &bucket, limit, &mut Vec::new())?);
        }
        let [Sorted::Memory(all), Sorted::Runs(merged)] = &mut sorted[..] else {
            panic!("the first fits, the second does not");
        };
        let (mut piece, mut joined) = (Vec::new(), Vec::new());
        loop {
            merged.fill(&mut piece, 999)?;
            if piece.is_empty() {
                break;
            }
            joined.extend_from_slice(&piece);
        }
        assert!(*all == joined && all.len() == 50_000);
        Ok(())
    }
}
