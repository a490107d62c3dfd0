//! Sorted runs of integers on disk.

use super::Direct;
use super::merge::{Entry, Mark, RunKey, RunReader, marks_before};
use crate::Result;
use crate::sort::spill::{Spill, SpillExtent, StreamReader, StreamWriter};

/// Entries between two marks of a run.
const MARK: u32 = 8 << 10;
/// Most bytes of an entry: 10 for the step, 9 for a count.
const ENTRY: usize = 20;

/// A sorted sequence of distinct integers on disk, each with its number of edge ends. An entry is
/// the step from the one before it, and a count only if that is not 1. The number of an id in its
/// generation is its place in the run.
#[derive(Debug)]
pub(crate) struct IntRun {
    pub generation: u32,
    pub marks: Vec<Mark<i128>>,
    extents: Vec<SpillExtent>,
}

impl IntRun {
    /// Writes a run of integers that ascend.
    pub fn write(
        spill: &Spill,
        generation: u32,
        entries: impl Iterator<Item = Result<(i128, u64)>>,
    ) -> Result<Self> {
        let mut writer = StreamWriter::new(spill, 256 << 10);
        let (mut marks, mut before, mut offset) = (Vec::new(), i128::FIRST, 0);
        for (number, entry) in (0_u32..).zip(entries) {
            let (key, ends) = entry?;
            if number.is_multiple_of(MARK) && number > 0 {
                marks.push(Mark { key: before, number, offset });
            }
            let out = writer.buffer();
            let old = out.len();
            put_entry(out, key, before, ends);
            offset += (out.len() - old) as u64;
            before = key;
            writer.settle()?;
        }
        Ok(Self { generation, marks, extents: writer.finish()? })
    }

    /// Gives the space of the run back.
    pub fn free(&self, spill: &Spill) -> Result<()> {
        self.extents.iter().try_for_each(|&extent| spill.free(extent))
    }
}

/// Appends an integer behind `before`.
pub(super) fn put_entry(out: &mut Vec<u8>, key: i128, before: i128, ends: u64) {
    let step = key.wrapping_sub(before).cast_unsigned();
    let mut word = step << 1 | u128::from(ends != 1);
    while word >= 0x80 {
        out.push(word as u8 | 0x80);
        word >>= 7;
    }
    out.push(word as u8);
    if ends != 1 {
        crate::varint::put(out, ends);
    }
}

/// Takes the integer behind `before` off a stream, with its count.
pub(super) fn take_entry(
    stream: &mut StreamReader<'_>,
    before: i128,
) -> Result<Option<(i128, u64)>> {
    let bytes = stream.peek(ENTRY)?;
    let (mut word, mut at) = (0_u128, 0);
    loop {
        let Some(&byte) = bytes.get(at) else { return Ok(None) };
        word |= u128::from(byte & 0x7f) << (7 * at).min(126);
        at += 1;
        if byte < 0x80 {
            break;
        }
    }
    let ends = if word & 1 == 0 { Some(1) } else { crate::varint::get(bytes, &mut at) };
    stream.consume(at);
    Ok(ends.map(|ends| (before.wrapping_add((word >> 1).cast_signed()), ends)))
}

/// Reads a run of integers, or those that [`Direct`] counts.
pub(super) enum IntReader<'d> {
    Run { stream: StreamReader<'d>, entry: Entry<i128> },
    Direct { vertices: Box<dyn Iterator<Item = (u64, u64)> + 'd>, entry: Entry<i128> },
}

impl<'d> IntReader<'d> {
    /// Reads the part of a run from `from` on, `chunk` bytes at a time.
    pub fn run(
        spill: &'d Spill,
        run: &IntRun,
        from: Option<&i128>,
        chunk: usize,
    ) -> Result<Option<Self>> {
        let (key, number, offset) = match marks_before(&run.marks, from) {
            Some(mark) => (mark.key, mark.number, mark.offset),
            None => (i128::FIRST, 0, 0),
        };
        let stream = StreamReader::behind(spill, &run.extents, offset, chunk);
        // The number is increased before the first entry.
        let entry = Entry { key, ends: 0, number: number.wrapping_sub(1) };
        Self::Run { stream, entry }.from(from)
    }

    /// Reads the counted integers from `from` on.
    pub fn direct(direct: &'d Direct, from: Option<&i128>) -> Result<Option<Self>> {
        let start = from.map_or(0, |&from| u64::try_from(from).unwrap_or(0));
        let vertices = Box::new(direct.vertices_from(start));
        Self::Direct { vertices, entry: Entry { key: 0, ends: 0, number: 0 } }.from(from)
    }

    /// Skips what is before `from`; returns nothing if nothing else is there.
    fn from(mut self, from: Option<&i128>) -> Result<Option<Self>> {
        while self.advance()? {
            if from.is_none_or(|from| self.entry().key >= *from) {
                return Ok(Some(self));
            }
        }
        Ok(None)
    }
}

impl RunReader for IntReader<'_> {
    type Key = i128;

    #[inline]
    fn advance(&mut self) -> Result<bool> {
        match self {
            Self::Run { stream, entry } => {
                let Some((key, ends)) = take_entry(stream, entry.key)? else { return Ok(false) };
                *entry = Entry { key, ends, number: entry.number.wrapping_add(1) };
                Ok(true)
            }
            Self::Direct { vertices, entry } => {
                let Some((id, ends)) = vertices.next() else { return Ok(false) };
                *entry = Entry { key: id.into(), ends, number: id as u32 };
                Ok(true)
            }
        }
    }

    #[inline]
    fn entry(&self) -> &Entry<i128> {
        match self {
            Self::Run { entry, .. } | Self::Direct { entry, .. } => entry,
        }
    }
}

impl RunKey for i128 {
    const FIRST: Self = i64::MIN as Self;

    fn put(&self, before: &Self, ends: u64, out: &mut Vec<u8>) {
        put_entry(out, *self, *before, ends);
    }

    fn take(&mut self, stream: &mut StreamReader<'_>) -> Result<Option<u64>> {
        let taken = take_entry(stream, *self)?;
        Ok(taken.map(|(key, ends)| {
            *self = key;
            ends
        }))
    }
}
