//! Blocks of sorted records, compressed for scratch files.
//!
//! A record is coded against the one before it. Its *class*, one byte, says how many bits follow:
//! those of the step to its source, and those of its target, or of the step to its target if the
//! source is the same. Zstandard codes the classes, whose distribution is skewed, and the bits
//! follow as they are. Weights have classes and bits of their own, as distances from the least
//! weight.

use zstd::bulk::{Compressor, Decompressor};

use super::radix::Record;
use crate::{Error, Result};

/// Number of classes of a target: one for each number of bits.
const LENGTHS: u32 = 33;
/// First step to a source whose number of bits is written out.
const FAR: u32 = 5;
/// Level of Zstandard; it has only symbols to count.
const LEVEL: i32 = 1;
/// Most records of a block.
pub(crate) const MOST: usize = 1 << 20;
/// Bytes that the readers of bits may look ahead.
const SLACK: usize = 8;

/// Makes blocks. Holds its buffers for the next one.
#[derive(Default)]
pub(crate) struct Packer {
    classes: Vec<u8>,
    bits: BitWriter,
    compressor: Option<Compressor<'static>>,
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

impl Packer {
    /// Appends the block of these records, at most [`MOST`], which are sorted by key.
    pub fn pack<R: Record>(&mut self, records: &[R], out: &mut Vec<u8>) -> Result<()> {
        debug_assert!(records.len() <= MOST);
        out.extend_from_slice(&(records.len() as u32).to_le_bytes());
        self.classes.clear();
        self.bits.clear();
        let (mut source, mut target) = (0, 0);
        for record in records {
            let next = halves(record.key());
            self.class(next.0.wrapping_sub(source), next.1, target);
            (source, target) = next;
        }
        self.finish(out)?;
        if R::WEIGHTED {
            self.weights(records, out)?;
        }
        Ok(())
    }

    #[inline]
    fn class(&mut self, step: u32, target: u32, before: u32) {
        if step == 0 {
            let step = target.wrapping_sub(before);
            self.classes.push(length(step) as u8);
            self.bits.push_below(step);
            return;
        }
        let steps = length(step - 1);
        self.classes.push((LENGTHS * (1 + steps.min(FAR)) + length(target)) as u8);
        if steps >= FAR {
            self.bits.push(u64::from(steps), 6);
        }
        self.bits.push_below(step - 1);
        self.bits.push_below(target);
    }

    fn weights<R: Record>(&mut self, records: &[R], out: &mut Vec<u8>) -> Result<()> {
        let least = records.iter().map(|r| r.weight()).min().unwrap_or(0);
        let any = records.iter().fold(0, |any, r| any | (r.weight() - least));
        let shift = any.trailing_zeros().min(63);
        out.extend_from_slice(&least.to_le_bytes());
        out.push(shift as u8);
        self.classes.clear();
        self.bits.clear();
        for record in records {
            let distance = (record.weight() - least) >> shift;
            let len = u64::BITS - distance.leading_zeros();
            self.classes.push(len as u8);
            // The highest bit follows from the length.
            let below = len.saturating_sub(1);
            self.bits.push(distance & 0xffff_ffff & mask(below), below.min(32));
            self.bits.push(distance >> 32 & mask(below.saturating_sub(32)), below.max(32) - 32);
        }
        self.finish(out)
    }

    /// Appends classes and bits, each behind its length.
    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.bits.flush();
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(LEVEL).map_err(failed)?),
        };
        let squeezed = compressor.compress(&self.classes).map_err(failed)?;
        for part in [&squeezed, &self.bits.bytes] {
            let len = u32::try_from(part.len());
            let len = len.map_err(|_| Error::Unsupported("a block of 4 GiB".into()))?;
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(part);
        }
        Ok(())
    }
}

/// Reads blocks. Holds its buffers for the next one.
#[derive(Default)]
pub(crate) struct Unpacker {
    classes: Vec<u8>,
    bits: Vec<u8>,
    decompressor: Option<Decompressor<'static>>,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").finish_non_exhaustive()
    }
}

impl Unpacker {
    /// Appends the records of a block to `out`.
    pub fn unpack<R: Record>(&mut self, block: &[u8], out: &mut Vec<R>) -> Result<()> {
        let (count, mut rest) = (count(block), block.get(4..).unwrap_or_default());
        if count > MOST {
            return Err(damaged());
        }
        self.part(&mut rest, count)?;
        let first = out.len();
        let mut bits = BitReader { bytes: &self.bits, at: 0 };
        let (mut source, mut target) = (0_u32, 0_u32);
        out.reserve(count);
        for &class in &self.classes {
            let (steps, len) = (u32::from(class) / LENGTHS, u32::from(class) % LENGTHS);
            if steps == 0 {
                target = target.wrapping_add(bits.below(len));
            } else {
                let far = steps > FAR;
                let steps = if far { bits.take(6) as u32 } else { steps - 1 };
                source = source.wrapping_add(bits.below(steps.min(32))).wrapping_add(1);
                target = bits.below(len);
            }
            out.push(R::new(u64::from(source) << 32 | u64::from(target), 0));
        }
        if bits.at > (self.bits.len() - SLACK) as u64 * 8 {
            return Err(damaged());
        }
        if R::WEIGHTED {
            let (least, after) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
            let (&shift, after) = after.split_first().ok_or_else(damaged)?;
            rest = after;
            self.part(&mut rest, count)?;
            let (least, shift) = (u64::from_le_bytes(*least), u32::from(shift).min(63));
            let mut bits = BitReader { bytes: &self.bits, at: 0 };
            let fresh = out.get_mut(first..).unwrap_or_default();
            for (record, &class) in fresh.iter_mut().zip(&self.classes) {
                let below = u32::from(class).min(64).saturating_sub(1);
                let low = bits.take(below.min(32));
                let high = bits.take(below.max(32) - 32);
                let top = u64::from(class > 0) << below;
                let distance = low | high << 32 | top;
                *record = R::new(record.key(), least.wrapping_add(distance << shift));
            }
        }
        Ok(())
    }

    /// Takes classes and bits off the block.
    fn part(&mut self, rest: &mut &[u8], count: usize) -> Result<()> {
        let squeezed = prefixed(rest)?;
        self.classes.clear();
        self.classes.reserve(count);
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().map_err(failed)?),
        };
        decompressor.decompress_to_buffer(squeezed, &mut self.classes).map_err(failed)?;
        if self.classes.len() != count {
            return Err(damaged());
        }
        self.bits.clear();
        self.bits.extend_from_slice(prefixed(rest)?);
        self.bits.extend_from_slice(&[0; SLACK]);
        Ok(())
    }
}

/// Returns the number of records of a block.
pub(crate) fn count(block: &[u8]) -> usize {
    block.first_chunk::<4>().map_or(0, |count| u32::from_le_bytes(*count) as usize)
}

fn prefixed<'b>(rest: &mut &'b [u8]) -> Result<&'b [u8]> {
    let (len, after) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
    let part = after.split_at_checked(u32::from_le_bytes(*len) as usize);
    let (part, after) = part.ok_or_else(damaged)?;
    *rest = after;
    Ok(part)
}

fn halves(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

fn length(value: u32) -> u32 {
    u32::BITS - value.leading_zeros()
}

fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

fn failed(error: std::io::Error) -> Error {
    Error::Invalid(format!("a block of the scratch files cannot be coded: {error}"))
}

fn damaged() -> Error {
    Error::Invalid(
        "a block of the scratch files is not what was written; check the disk, or choose another \
         one (--scratch)"
            .into(),
    )
}

#[derive(Debug, Default)]
struct BitWriter {
    bytes: Vec<u8>,
    word: u64,
    used: u32,
}

impl BitWriter {
    fn clear(&mut self) {
        self.bytes.clear();
        (self.word, self.used) = (0, 0);
    }

    /// Appends at most 32 bits.
    #[inline]
    fn push(&mut self, value: u64, bits: u32) {
        self.word |= value << self.used;
        self.used += bits;
        if self.used >= 32 {
            self.bytes.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.used -= 32;
        }
    }

    /// Appends a number without its highest bit.
    #[inline]
    fn push_below(&mut self, value: u32) {
        let below = length(value).saturating_sub(1);
        self.push(u64::from(value) & mask(below), below);
    }

    fn flush(&mut self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.bytes.extend_from_slice(self.word.to_le_bytes().get(..bytes).unwrap_or_default());
        (self.word, self.used) = (0, 0);
    }
}

struct BitReader<'b> {
    /// The bits and the slack behind them.
    bytes: &'b [u8],
    at: u64,
}

impl BitReader<'_> {
    /// Takes at most 32 bits; zeros behind the end.
    #[inline]
    fn take(&mut self, bits: u32) -> u64 {
        let tail = self.bytes.get((self.at / 8) as usize..).unwrap_or_default();
        let word = tail.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word));
        let value = word >> (self.at % 8) & mask(bits);
        self.at += u64::from(bits);
        value
    }

    /// Takes a number of that length.
    #[inline]
    fn below(&mut self, len: u32) -> u32 {
        match len {
            0 => 0,
            len => self.take(len - 1) as u32 | 1 << (len - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::radix::Weighted;
    use proptest::prelude::*;

    fn keys() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            0..1000_u64,
            (0..50_u64, 0..100_u64).prop_map(|(s, t)| s << 32 | t),
            (any::<u16>(), any::<u32>()).prop_map(|(s, t)| u64::from(s) << 40 | u64::from(t)),
        ]
    }

    proptest! {
        #[test]
        fn blocks_come_back(
            mut records in proptest::collection::vec((keys(), prop_oneof![any::<u64>(), 5..9_u64]), 0..600),
            shift in 0..30_u32,
        ) {
            records.sort_unstable();
            let (mut packer, mut unpacker) = (Packer::default(), Unpacker::default());
            let weighted: Vec<Weighted> =
                records.iter().map(|&(key, weight)| Weighted::new(key, weight << shift)).collect();
            let plain: Vec<u64> = records.iter().map(|(key, _)| *key).collect();
            for _ in 0..2 {
                let mut block = Vec::new();
                packer.pack(&weighted, &mut block).unwrap();
                prop_assert_eq!(count(&block), weighted.len());
                let mut back: Vec<Weighted> = Vec::new();
                unpacker.unpack(&block, &mut back).unwrap();
                prop_assert_eq!(&back, &weighted);
                block.clear();
                packer.pack(&plain, &mut block).unwrap();
                let mut back: Vec<u64> = Vec::new();
                unpacker.unpack(&block, &mut back).unwrap();
                prop_assert_eq!(&back, &plain);
            }
        }

        #[test]
        fn any_bytes(block in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Unpacker::default().unpack::<Weighted>(&block, &mut Vec::new());
        }
    }

    /// Edges between 2^16 vertices, sorted: 32 bits each, of which sorting saves about 14.
    #[test]
    fn random_edges_take_two_and_a_half_bytes() {
        let mut edges: Vec<u64> = (0..1_u64 << 16)
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32)
            .map(|edge| (edge >> 16) << 32 | (edge & 0xffff))
            .collect();
        edges.sort_unstable();
        let mut block = Vec::new();
        Packer::default().pack(&edges, &mut block).unwrap();
        assert!(block.len() < edges.len() * 5 / 2, "{} bytes", block.len());
    }
}
