//! Edges between provisional ids, which are spooled while the input is read.

use super::spill::{Spill, SpillExtent, put_words, words};
use super::weights::{WeightBuffer, as_float};
use crate::Result;

/// Number of edges in a chunk.
const CHUNK: usize = 32 << 10;

/// A chunk of edges on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairChunk {
    extent: SpillExtent,
    /// Number of edges.
    pub edges: usize,
    weighted: bool,
    float: bool,
}

/// The writer of chunks of edges.
#[derive(Debug)]
pub(crate) struct PairWriter<'s> {
    spill: &'s Spill,
    pairs: Vec<u64>,
    weights: WeightBuffer,
    bytes: Vec<u8>,
    chunks: Vec<PairChunk>,
}

impl<'s> PairWriter<'s> {
    pub fn new(spill: &'s Spill) -> Self {
        let (pairs, bytes) = (Vec::with_capacity(CHUNK), Vec::new());
        Self { spill, pairs, weights: WeightBuffer::default(), bytes, chunks: Vec::new() }
    }

    /// Adds an edge without weight.
    #[inline]
    pub fn push(&mut self, source: u32, target: u32) -> Result<()> {
        self.pairs.push(u64::from(source) << 32 | u64::from(target));
        if self.pairs.len() >= CHUNK { self.flush() } else { Ok(()) }
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
        put_words(&mut self.bytes, &self.pairs);
        put_words(&mut self.bytes, self.weights.bits());
        let extent = self.spill.append(&self.bytes)?;
        let weighted = !self.weights.bits().is_empty();
        self.chunks.push(PairChunk {
            extent,
            edges: self.pairs.len(),
            weighted,
            float: self.weights.is_float(),
        });
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

/// Visits the edges of a chunk: source, target, and a word in the order of the weights (see
/// [`sortable`]), which is 0 without weights.
pub(crate) fn read_chunk(
    spill: &Spill,
    chunk: PairChunk,
    float: bool,
    bytes: &mut Vec<u8>,
    mut visit: impl FnMut(u32, u32, u64) -> Result<()>,
) -> Result<()> {
    bytes.resize(chunk.extent.len as usize, 0);
    spill.read(chunk.extent.offset, bytes)?;
    let (pairs, weights) = bytes.split_at((chunk.edges * 8).min(bytes.len()));
    let split = |pair: u64| ((pair >> 32) as u32, pair as u32);
    if !chunk.weighted {
        return words(pairs).try_for_each(|pair| {
            let (source, target) = split(pair);
            visit(source, target, 0)
        });
    }
    words(pairs).zip(words(weights)).try_for_each(|(pair, bits)| {
        let (source, target) = split(pair);
        let bits =
            if float && !chunk.float { as_float(bits.cast_signed()).to_bits() } else { bits };
        visit(source, target, sortable(bits, float))
    })
}

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
