//! Edges between provisional ids, which are spooled while the input is read.

use super::packed::{self, Packer, Unpacker};
use super::radix::{self, Record, Weighted};
use super::spill::{Spill, SpillExtent};
use super::weights::{WeightBuffer, as_float};
use crate::Result;

/// A chunk of edges on disk: one packed block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairChunk {
    pub extent: SpillExtent,
    weighted: bool,
    float: bool,
}

impl PairChunk {
    /// Returns true if its weights are floats.
    pub fn is_float(self) -> bool {
        self.float
    }
}

/// The writer of chunks of edges.
#[derive(Debug)]
pub(crate) struct PairWriter<'s> {
    spill: &'s Spill,
    /// Number of edges in a chunk.
    chunk: usize,
    pairs: Vec<u64>,
    weights: WeightBuffer,
    scratch: Vec<u64>,
    packer: Packer,
    bytes: Vec<u8>,
    chunks: Vec<PairChunk>,
}

impl<'s> PairWriter<'s> {
    /// Makes a writer that takes about `memory` bytes, or three times as much for edges with
    /// weights. The larger the chunks, the fewer bytes an edge takes.
    pub fn new(spill: &'s Spill, memory: u64) -> Self {
        let chunk = usize::try_from(memory / 20).unwrap_or(usize::MAX);
        Self {
            spill,
            chunk: chunk.clamp(16 << 10, packed::MOST),
            pairs: Vec::new(),
            weights: WeightBuffer::default(),
            scratch: Vec::new(),
            packer: Packer::default(),
            bytes: Vec::new(),
            chunks: Vec::new(),
        }
    }

    /// Adds an edge without weight.
    #[inline]
    pub fn push(&mut self, source: u32, target: u32) -> Result<()> {
        self.pairs.push(u64::from(source) << 32 | u64::from(target));
        if self.pairs.len() >= self.chunk { self.flush() } else { Ok(()) }
    }

    /// Adds an edge with a weight: the bits of an `f64` if `float`, else of an `i64`.
    #[inline]
    pub fn push_weighted(
        &mut self,
        source: u32,
        target: u32,
        weight: u64,
        float: bool,
    ) -> Result<()> {
        if float {
            self.weights.push_float(f64::from_bits(weight));
        } else {
            self.weights.push_int(weight.cast_signed());
        }
        self.push(source, target)
    }

    /// Writes the collected edges.
    pub fn flush(&mut self) -> Result<()> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        self.bytes.clear();
        let (weighted, float) = (!self.weights.bits().is_empty(), self.weights.is_float());
        if weighted {
            let words = self.weights.bits().iter().map(|&bits| sortable(bits, float));
            let pairs = self.pairs.iter().zip(words);
            let mut records: Vec<Weighted> =
                pairs.map(|(&pair, word)| Weighted::new(pair, word)).collect();
            radix::sort(&mut records, &mut Vec::new());
            self.packer.pack(&records, &mut self.bytes)?;
        } else {
            radix::sort(&mut self.pairs, &mut self.scratch);
            self.packer.pack(&self.pairs, &mut self.bytes)?;
        }
        let extent = self.spill.append(&self.bytes)?;
        self.chunks.push(PairChunk { extent, weighted, float });
        self.pairs.clear();
        self.weights.clear();
        Ok(())
    }

    /// Writes the rest and returns all chunks since the last call.
    pub fn take_chunks(&mut self) -> Result<Vec<PairChunk>> {
        self.flush()?;
        Ok(std::mem::take(&mut self.chunks))
    }
}

/// The reader of chunks of edges. Holds its buffers for the next chunk.
#[derive(Debug, Default)]
pub(crate) struct PairReader {
    bytes: Vec<u8>,
    unpacker: Unpacker,
    pairs: Vec<u64>,
    weighted: Vec<Weighted>,
}

impl PairReader {
    /// As [`PairReader::read`], some edges at a time, which `visit` may overwrite.
    pub fn blocks(
        &mut self,
        spill: &Spill,
        chunk: PairChunk,
        float: bool,
        mut visit: impl FnMut(&mut [(u32, u32, u64)]) -> Result<()>,
    ) -> Result<()> {
        let mut block = Vec::with_capacity(BLOCK);
        self.read(spill, chunk, float, |source, target, weight| {
            block.push((source, target, weight));
            if block.len() < BLOCK {
                return Ok(());
            }
            visit(&mut block)?;
            block.clear();
            Ok(())
        })?;
        visit(&mut block)
    }

    /// Visits the edges of a chunk: source, target, and a word in the order of the weights (see
    /// [`sortable`]), which is 0 without weights.
    pub fn read(
        &mut self,
        spill: &Spill,
        chunk: PairChunk,
        float: bool,
        mut visit: impl FnMut(u32, u32, u64) -> Result<()>,
    ) -> Result<()> {
        self.bytes.resize(chunk.extent.len as usize, 0);
        spill.read(chunk.extent.offset, &mut self.bytes)?;
        let split = |pair: u64| ((pair >> 32) as u32, pair as u32);
        if !chunk.weighted {
            self.pairs.clear();
            self.unpacker.unpack(&self.bytes, &mut self.pairs)?;
            return self.pairs.iter().try_for_each(|&pair| {
                let (source, target) = split(pair);
                visit(source, target, 0)
            });
        }
        self.weighted.clear();
        self.unpacker.unpack(&self.bytes, &mut self.weighted)?;
        self.weighted.iter().try_for_each(|record| {
            let (source, target) = split(record.key());
            let word = if float && !chunk.float {
                let int = unsortable(record.weight(), false).cast_signed();
                sortable(as_float(int).to_bits(), true)
            } else {
                record.weight()
            };
            visit(source, target, word)
        })
    }
}

/// Edges of a block of [`PairReader::blocks`].
const BLOCK: usize = 128;

/// Maps the bits of a weight to a word of the same order.
pub(crate) fn sortable(bits: u64, float: bool) -> u64 {
    const SIGN: u64 = 1 << 63;
    if float && bits & SIGN != 0 { !bits } else { bits ^ SIGN }
}

/// Inverts [`sortable`].
pub(crate) fn unsortable(word: u64, float: bool) -> u64 {
    const SIGN: u64 = 1 << 63;
    if float && word & SIGN == 0 { !word } else { word ^ SIGN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_sort_like_weights() {
        let floats = [-1e300, -2.0, -0.5, 0.0, 1e-300, 3.0, 1e300].map(f64::to_bits);
        let ints = [i64::MIN, -7, -1, 0, 5, i64::MAX].map(i64::cast_unsigned);
        for (bits, float) in [(&floats[..], true), (&ints[..], false)] {
            assert!(bits.windows(2).all(|w| sortable(w[0], float) < sortable(w[1], float)));
            assert!(bits.iter().all(|&b| unsortable(sortable(b, float), float) == b));
        }
    }
}
