//! Sorted runs of ids on disk, and their merge.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Direct;
use super::order::IdOrder;
use crate::Result;
use crate::sort::spill::{Spill, SpillExtent, StreamReader, StreamWriter};

/// The pseudo-generation of ids that [`Direct`] counts.
pub(crate) const DIRECT: u32 = u32::MAX;

/// An external id in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdKey {
    /// An integer below 2^64 (in integer order only).
    Int(u64),
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

    fn compare(&self, other: &Self, order: IdOrder) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => order.compare(a, b),
            _ => order.compare(&self.to_bytes(), &other.to_bytes()),
        }
    }
}

/// A sorted sequence of ids on disk: `(id, number in its generation, edge ends)`.
#[derive(Debug)]
pub(crate) struct IdRun {
    pub generation: u32,
    pub order: IdOrder,
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
        for (key, number, count) in keys {
            let out = writer.buffer();
            out.extend_from_slice(&(key.len() as u32).to_le_bytes());
            out.extend_from_slice(&number.to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
            out.extend_from_slice(key);
            writer.settle()?;
        }
        Ok(Self { generation, order, extents: writer.finish()? })
    }

    /// Returns the run in another order. Takes the memory that its generation took.
    pub fn reorder(self, spill: &Spill, order: IdOrder) -> Result<Self> {
        if self.order == order {
            return Ok(self);
        }
        let mut reader = RunReader::new(spill, &self, 256 << 10);
        let mut entries: Vec<(Vec<u8>, u32, u64)> = Vec::new();
        while let Some((key, number, count)) = reader.next()? {
            entries.push((key.to_vec(), number, count));
        }
        entries.sort_unstable_by(|a, b| order.compare(&a.0, &b.0));
        Self::write(
            spill,
            self.generation,
            order,
            entries.iter().map(|(k, n, c)| (k.as_slice(), *n, *c)),
        )
    }
}

struct RunReader<'s> {
    stream: StreamReader<'s>,
}

impl<'s> RunReader<'s> {
    fn new(spill: &'s Spill, run: &IdRun, chunk: usize) -> Self {
        Self { stream: StreamReader::new(spill, run.extents.clone(), chunk) }
    }

    fn next(&mut self) -> Result<Option<(&[u8], u32, u64)>> {
        let head = self.stream.peek(16)?;
        let Some((fixed, _)) = head.split_first_chunk::<16>() else { return Ok(None) };
        let [a, b, c, d, e, f, g, h, count @ ..] = *fixed;
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        let number = u32::from_le_bytes([e, f, g, h]);
        self.stream.consume(16);
        // The key stays in the reader's buffer until the next call.
        self.stream.peek(len)?;
        let key = self.stream.take(len);
        Ok(Some((key, number, u64::from_le_bytes(count))))
    }
}

/// The first remaining entry of one run in the merge; the entry with the smallest key compares
/// greatest.
struct MergeHead {
    key: IdKey,
    generation: u32,
    number: u32,
    count: u64,
    reader: usize,
    order: IdOrder,
}

impl Ord for MergeHead {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.compare(&self.key, self.order).then_with(|| other.reader.cmp(&self.reader))
    }
}

impl PartialOrd for MergeHead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for MergeHead {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for MergeHead {}

/// One distinct id of the merge.
pub(crate) struct MergedId<'m> {
    pub key: &'m IdKey,
    /// Number of edge ends at this id.
    pub ends: u64,
    /// Generations that contain the id, with its number in each.
    pub known: &'m [(u32, u32)],
}

/// Visits all distinct ids in ascending order.
///
/// `direct` is merged as a run of its own if it is in the same order, that is, unless some id is
/// not an integer; `memory` bounds the read buffers.
pub(crate) fn merge(
    spill: &Spill,
    runs: &[IdRun],
    direct: Option<&Direct>,
    order: IdOrder,
    memory: u64,
    visit: &mut dyn FnMut(MergedId<'_>) -> Result<()>,
) -> Result<()> {
    let mut integers = direct.map(Direct::vertices).into_iter().flatten();
    if runs.is_empty() {
        for (id, ends) in integers {
            visit(MergedId { key: &IdKey::Int(id), ends, known: &[(DIRECT, id as u32)] })?;
        }
        return Ok(());
    }
    let chunk = (memory / (runs.len() as u64 + 1)).clamp(4 << 10, 256 << 10) as usize;
    let mut readers: Vec<RunReader<'_>> =
        runs.iter().map(|run| RunReader::new(spill, run, chunk)).collect();
    let mut heap = BinaryHeap::with_capacity(readers.len() + 1);
    for (reader, run) in runs.iter().enumerate() {
        if let Some((key, number, count)) = readers[reader].next()? {
            let key = IdKey::Bytes(key.to_vec());
            heap.push(MergeHead { key, generation: run.generation, number, count, reader, order });
        }
    }
    let mut next_integer = move || {
        let (id, count) = integers.next()?;
        let (key, number) = (IdKey::Int(id), id as u32);
        Some(MergeHead { key, generation: DIRECT, number, count, reader: usize::MAX, order })
    };
    heap.extend(next_integer());
    let mut known = Vec::new();
    while let Some(first) = heap.peek() {
        let key = first.key.clone();
        let mut ends = 0;
        known.clear();
        while let Some(mut top) =
            heap.peek_mut().filter(|top| top.key.compare(&key, order) == Ordering::Equal)
        {
            ends += top.count;
            known.push((top.generation, top.number));
            let advanced = if top.generation == DIRECT && top.reader == usize::MAX {
                next_integer().map(|head| *top = head).is_some()
            } else if let Some((key, number, count)) = readers[top.reader].next()? {
                if let IdKey::Bytes(bytes) = &mut top.key {
                    bytes.clear();
                    bytes.extend_from_slice(key);
                }
                (top.number, top.count) = (number, count);
                true
            } else {
                false
            };
            if !advanced {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
        visit(MergedId { key: &key, ends, known: &known })?;
    }
    Ok(())
}
