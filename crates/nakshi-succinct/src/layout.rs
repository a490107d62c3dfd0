//! Positions of the sections of a compressed text, computed from its header.

use std::ops::Range;

use crate::options::{MAX_LEN, sample_width, samples};
use crate::{Error, Options, Result, TextBytes, bits, marks};

/// Bytes of the header.
pub(crate) const HEADER: usize = 56;
/// First word of a header: a magic, with the version of the layout in the highest byte.
const MAGIC: u64 = u64::from_le_bytes(*b"nkspsi\0\0") | VERSION << MAGIC_BITS;
/// Bits below the version.
pub(crate) const MAGIC_BITS: u32 = 56;
const VERSION: u64 = 1;
/// Longest body of next pointers, so that no sum of lengths wraps.
const MAX_BODY: u64 = 1 << 40;
/// Widest offset of a block in its group, in bits.
const MAX_PLACE: u32 = 32;

/// Blocks of next pointers in a group of their directory.
pub(crate) const GROUP: u64 = 16;

/// The header of a compressed text, and what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct TextLayout {
    pub(crate) header: TextHeader,
    pub(crate) widths: Widths,
    pub(crate) sections: Sections,
}

impl TextLayout {
    /// # Errors
    /// [`Error::Unsupported`] if the text or its pointers are too long.
    pub(crate) fn new(header: TextHeader) -> Result<Self> {
        let TextHeader { len, options, bucket_count, size } = header;
        let PointerSize { body_bits, place_bits } = size;
        if len > MAX_LEN || body_bits > MAX_BODY || place_bits > MAX_PLACE || bucket_count > 256 {
            return Err(Error::unsupported(format!(
                "a text of {len} bytes in one piece; cut it into chunks of at most {MAX_LEN}"
            )));
        }
        let rows = len + 1;
        let widths = Widths {
            row: bits::width_of(len),
            offset: bits::width_of(body_bits),
            position: sample_width(len, options.sa_rate),
        };
        let directory_bits = directory_bits(rows, &options, widths.row + widths.offset, size);
        let marked = samples(len, options.sa_rate);
        let mut at = HEADER as u64;
        let mut next = |bytes: u64| {
            let from = at;
            at += bytes;
            extent(from, at)
        };
        let sections = Sections {
            buckets: next(bucket_count * 8)?,
            mark_directory: next(marks::directory_bytes(rows))?,
            marks: next(bits::section(marked * 8))?,
            positions: next(bits::section(marked * u64::from(widths.position)))?,
            sampled_rows: next(bits::section(
                samples(len, options.isa_rate) * u64::from(widths.row),
            ))?,
            body: next(bits::section(body_bits))?,
            directory: next(bits::section(directory_bits))?,
            total: at,
        };
        Ok(Self { header, widths, sections })
    }

    /// Number of suffixes, including the empty one.
    pub(crate) fn rows(&self) -> u64 {
        self.header.len + 1
    }

    /// Parses the layout of the first `len` of `bytes`, which must be exactly one compressed text.
    pub(crate) fn parse(bytes: impl TextBytes, len: u64) -> Result<Self> {
        let (header, total) = TextHeader::parse(bytes)?;
        let layout = Self::new(header)
            .map_err(|_| Error::corrupt("its header speaks of lengths beyond all bounds"))?;
        if total != layout.sections.total || total != len {
            return Err(Error::corrupt("its length is not what its header says"));
        }
        Ok(layout)
    }
}

/// What the header of a compressed text says.
#[derive(Clone, Debug)]
pub(crate) struct TextHeader {
    pub(crate) len: u64,
    pub(crate) options: Options,
    pub(crate) bucket_count: u64,
    pub(crate) size: PointerSize,
}

impl TextHeader {
    /// The words of the header of a text that takes `total` bytes.
    pub(crate) fn words(&self, total: u64) -> [u64; HEADER / 8] {
        let PointerSize { body_bits, place_bits } = self.size;
        let options = self.options.to_word();
        [MAGIC, self.len, options, self.bucket_count, body_bits, place_bits.into(), total]
    }

    /// Parses the header of `bytes`, and how many bytes the text takes.
    fn parse(bytes: impl TextBytes) -> Result<(Self, u64)> {
        const SHORT: Error = Error::corrupt("it is shorter than its header");
        let mut words = (0..HEADER / 8).map_while(|number| bytes.word(8 * number));
        let mut word = || words.next().ok_or(SHORT);
        let magic = word()?;
        if magic != MAGIC {
            refuse_version(magic, MAGIC, "a compressed text")?;
            return Err(Error::corrupt("it does not begin as a compressed text"));
        }
        let (len, options) = (word()?, Options::of_word(word()?)?);
        let (bucket_count, body_bits, place_bits, total) = (word()?, word()?, word()?, word()?);
        let place_bits = u32::try_from(place_bits).unwrap_or(u32::MAX);
        let size = PointerSize { body_bits, place_bits };
        Ok((TextHeader { len, options, bucket_count, size }, total))
    }
}

/// Size of the code of next pointers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PointerSize {
    pub(crate) body_bits: u64,
    /// Width in bits of the offset of a block in its group.
    pub(crate) place_bits: u32,
}

/// Widths of numbers, in bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Widths {
    pub(crate) row: u32,
    /// Width of the offset of a group in the body.
    pub(crate) offset: u32,
    /// Width of a sampled position.
    pub(crate) position: u32,
}

/// Extents of the sections, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Sections {
    pub(crate) buckets: Range<usize>,
    pub(crate) mark_directory: Range<usize>,
    pub(crate) marks: Range<usize>,
    pub(crate) positions: Range<usize>,
    pub(crate) sampled_rows: Range<usize>,
    pub(crate) body: Range<usize>,
    pub(crate) directory: Range<usize>,
    /// Bytes of the header and of all sections.
    pub(crate) total: u64,
}

fn extent(from: u64, to: u64) -> Result<Range<usize>> {
    let fits = |at: u64| {
        usize::try_from(at).map_err(|_| {
            Error::unsupported(format!("{at} bytes in one piece on this machine's word size"))
        })
    };
    Ok(fits(from)?..fits(to)?)
}

/// Bits of the directory; a group's first pointer and beginning take `fixed` bits together.
fn directory_bits(rows: u64, options: &Options, fixed: u32, size: PointerSize) -> u64 {
    let groups = rows.div_ceil(u64::from(options.psi_block) * GROUP);
    groups * (u64::from(fixed) + (GROUP - 1) * u64::from(size.place_bits))
}

/// Returns an error if `found` differs from `magic` in the version alone, which is its highest byte.
pub(crate) fn refuse_version(found: u64, magic: u64, what: &str) -> Result<()> {
    if found & bits::mask(MAGIC_BITS) != magic & bits::mask(MAGIC_BITS) {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "layout {} of {what}, this version reads {}; use a newer nakshi",
        found >> MAGIC_BITS,
        magic >> MAGIC_BITS
    )))
}
