//! Sorted runs of ids as bytes on disk.

use std::cmp::Ordering;

use super::merge::{Entry, Mark, RunKey, RunReader, marks_before};
use super::order::IdOrder;
use crate::Result;
use crate::sort::spill::{Spill, SpillExtent, StreamReader, StreamWriter};

/// Entries between two marks of a run.
const MARK: u32 = 8 << 10;
/// Most bytes of an entry without its key: four numbers.
const ENTRY: usize = 40;

/// An external id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdKey {
    /// An integer of 64 bits, with or without sign (in integer order only).
    Int(i128),
    /// The id as it was written in the input.
    Bytes(Vec<u8>),
}

impl IdKey {
    /// Returns the bytes of the id as it was written in the input.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Int(int) => int.to_string().into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// An id in a run, which knows its order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ByteKey {
    order: IdOrder,
    pub bytes: Vec<u8>,
}

impl Clone for ByteKey {
    fn clone(&self) -> Self {
        Self { order: self.order, bytes: self.bytes.clone() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.order = other.order;
        self.bytes.clone_from(&other.bytes);
    }
}

impl Ord for ByteKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.compare(&self.bytes, &other.bytes)
    }
}

impl PartialOrd for ByteKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl RunKey for ByteKey {
    const FIRST: Self = Self { order: IdOrder::Bytes, bytes: Vec::new() };

    fn put(&self, before: &Self, ends: u64, out: &mut Vec<u8>) {
        put_entry(out, &self.bytes, &before.bytes, [0, ends]);
    }

    fn take(&mut self, stream: &mut StreamReader<'_>) -> Result<Option<u64>> {
        Ok(take_entry(stream, &mut self.bytes)?.map(|[_, ends]| ends))
    }
}

/// Appends a key behind `before`, as the length of what both begin with and the rest, with two
/// numbers.
fn put_entry(out: &mut Vec<u8>, key: &[u8], before: &[u8], numbers: [u64; 2]) {
    let shared = key.iter().zip(before).take_while(|(a, b)| a == b).count();
    let rest = key.get(shared..).unwrap_or_default();
    for number in [shared as u64, rest.len() as u64, numbers[0], numbers[1]] {
        crate::varint::put(out, number);
    }
    out.extend_from_slice(rest);
}

/// Makes `key` the one behind itself in a stream, and returns its two numbers.
fn take_entry(stream: &mut StreamReader<'_>, key: &mut Vec<u8>) -> Result<Option<[u64; 2]>> {
    let bytes = stream.peek(ENTRY)?;
    let mut at = 0;
    let mut next = || crate::varint::get(bytes, &mut at);
    let (Some(shared), Some(rest), Some(number), Some(ends)) = (next(), next(), next(), next())
    else {
        return Ok(None);
    };
    stream.consume(at);
    let rest = usize::try_from(rest).unwrap_or(usize::MAX);
    stream.peek(rest)?;
    key.truncate(usize::try_from(shared).unwrap_or(usize::MAX));
    key.extend_from_slice(stream.take(rest));
    Ok(Some([number, ends]))
}

/// A sorted sequence of ids on disk: `(id, number in its generation, edge ends)`.
#[derive(Debug)]
pub(crate) struct IdRun {
    pub generation: u32,
    pub order: IdOrder,
    pub(super) marks: Vec<Mark<ByteKey>>,
    extents: Vec<SpillExtent>,
}

impl IdRun {
    /// Writes a run of ids that are already sorted.
    pub fn write<'k>(
        spill: &Spill,
        generation: u32,
        order: IdOrder,
        keys: impl Iterator<Item = (&'k [u8], u32, u64)>,
    ) -> Result<Self> {
        let mut writer = StreamWriter::new(spill, 256 << 10);
        let (mut before, mut marks, mut offset) = (Vec::new(), Vec::new(), 0);
        for (count, (key, number, ends)) in (0_u32..).zip(keys) {
            if count.is_multiple_of(MARK) && count > 0 {
                let key = ByteKey { order, bytes: before.clone() };
                marks.push(Mark { key, number: 0, offset });
            }
            let out = writer.buffer();
            let old = out.len();
            put_entry(out, key, &before, [number.into(), ends]);
            offset += (out.len() - old) as u64;
            before.clear();
            before.extend_from_slice(key);
            writer.settle()?;
        }
        Ok(Self { generation, order, marks, extents: writer.finish()? })
    }

    /// Returns the run in another order, in pieces that take about `memory` bytes.
    pub fn reorder(self, spill: &Spill, order: IdOrder, memory: u64) -> Result<Vec<Self>> {
        if self.order == order {
            return Ok(vec![self]);
        }
        let mut reader = ByteReader::new(spill, &self, None, 256 << 10)?;
        let next = move || {
            let Some(open) = &mut reader else { return Ok(None) };
            let entry = open.entry();
            let found = (entry.key.bytes.clone(), entry.number, entry.ends);
            if !open.advance()? {
                reader = None;
            }
            Ok(Some(found))
        };
        let runs = sorted_runs(spill, self.generation, order, memory, next)?;
        self.free(spill)?;
        Ok(runs)
    }

    /// Gives the space of the run back.
    pub fn free(&self, spill: &Spill) -> Result<()> {
        self.extents.iter().try_for_each(|&extent| spill.free(extent))
    }
}

/// Sorts ids of a generation into runs, in about `memory` bytes.
pub(super) fn sorted_runs(
    spill: &Spill,
    generation: u32,
    order: IdOrder,
    memory: u64,
    mut next: impl FnMut() -> Result<Option<(Vec<u8>, u32, u64)>>,
) -> Result<Vec<IdRun>> {
    // An entry takes about 64 bytes here.
    let limit = usize::try_from(memory / 64).unwrap_or(usize::MAX).max(1024);
    let mut runs = Vec::new();
    loop {
        let mut entries: Vec<(Vec<u8>, u32, u64)> = Vec::new();
        while entries.len() < limit
            && let Some(entry) = next()?
        {
            entries.push(entry);
        }
        if entries.is_empty() {
            return Ok(runs);
        }
        entries.sort_unstable_by(|a, b| order.compare(&a.0, &b.0));
        let sorted = entries.iter().map(|(key, number, ends)| (key.as_slice(), *number, *ends));
        runs.push(IdRun::write(spill, generation, order, sorted)?);
    }
}

/// Reads a run.
pub(super) struct ByteReader<'s> {
    stream: StreamReader<'s>,
    entry: Entry<ByteKey>,
}

impl<'s> ByteReader<'s> {
    /// Reads the part of a run from `from` on, `chunk` bytes at a time; nothing if it is empty.
    pub fn new(
        spill: &'s Spill,
        run: &IdRun,
        from: Option<&ByteKey>,
        chunk: usize,
    ) -> Result<Option<Self>> {
        let (bytes, offset) = match marks_before(&run.marks, from) {
            Some(mark) => (mark.key.bytes.clone(), mark.offset),
            None => (Vec::new(), 0),
        };
        let stream = StreamReader::behind(spill, &run.extents, offset, chunk);
        let key = ByteKey { order: run.order, bytes };
        let mut reader = Self { stream, entry: Entry { key, ends: 0, number: 0 } };
        while reader.advance()? {
            if from.is_none_or(|from| reader.entry.key >= *from) {
                return Ok(Some(reader));
            }
        }
        Ok(None)
    }
}

impl RunReader for ByteReader<'_> {
    type Key = ByteKey;

    fn advance(&mut self) -> Result<bool> {
        let Some([number, ends]) = take_entry(&mut self.stream, &mut self.entry.key.bytes)? else {
            return Ok(false);
        };
        (self.entry.number, self.entry.ends) = (number as u32, ends);
        Ok(true)
    }

    fn entry(&self) -> &Entry<ByteKey> {
        &self.entry
    }
}
