//! A compressed text in one piece.

use std::ops::{ControlFlow, Range};

use crate::error::reserve;
use crate::view::{Parsed, Positions, View};
use crate::{Options, Result, build};

/// A text of up to [`MAX_LEN`](crate::MAX_LEN) bytes, compressed, with random access and search.
///
/// It works on its serialised bytes where they lie; only the table of bytes, three kilobytes, is
/// copied. The layout of the bytes is in the documentation of the crate.
#[derive(Clone, Debug)]
pub struct Succinct<B = Vec<u8>> {
    bytes: B,
    parsed: Parsed,
}

impl Succinct<Vec<u8>> {
    /// Compresses `text`, with [`Options::memory_of`] its length of memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a longer text than
    /// [`MAX_LEN`](crate::MAX_LEN) and for options out of their bounds,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn build(text: &[u8], options: &Options) -> Result<Self> {
        let mut bytes = Vec::new();
        build::write(text, options, &mut bytes)?;
        let parsed = Parsed::new(&bytes)?;
        Ok(Self { bytes, parsed })
    }
}

/// Appends the compressed form of `text` to `out`; its length is a multiple of eight.
///
/// # Errors
/// As [`Succinct::build`]; then `out` is as it was.
pub fn write(text: &[u8], options: &Options, out: &mut Vec<u8>) -> Result<()> {
    build::write(text, options, out)
}

impl<B: AsRef<[u8]>> Succinct<B> {
    /// Opens what [`write()`] wrote, no more and no less, and reads its directories to see whether
    /// they ascend: with the defaults about four bytes for a hundred of the text.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), or
    /// [`Error::Unsupported`](crate::Error::Unsupported) if a newer version wrote it.
    pub fn open(bytes: B) -> Result<Self> {
        let opened = Self::open_lazily(bytes)?;
        opened.view().check()?;
        Ok(opened)
    }

    /// As [`Succinct::open`], but reads the header and the table of bytes only. What is wrong with
    /// the rest is found by the queries that meet it.
    ///
    /// # Errors
    /// As [`Succinct::open`].
    pub fn open_lazily(bytes: B) -> Result<Self> {
        let parsed = Parsed::new(bytes.as_ref())?;
        Ok(Self { bytes, parsed })
    }

    /// The serialised form.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The bytes it was opened with.
    pub fn into_bytes(self) -> B {
        self.bytes
    }

    /// How it was compressed.
    pub fn options(&self) -> &Options {
        &self.parsed.layout.options
    }

    /// Bytes of the text.
    pub fn len(&self) -> u64 {
        self.parsed.layout.len
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the `len` bytes of the text from `offset` on, fewer where it ends, to `out`.
    ///
    /// Takes about half of [`Options::isa_rate`] steps and one for each byte.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); then `out` is as it was.
    pub fn extract(&self, offset: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
        self.view().extract(offset, len, out)
    }

    /// Appends the bytes of ranges, one range after another and fewer where the text ends, to
    /// `out`: what [`Succinct::extract`] does for each, with the steps of all side by side.
    ///
    /// # Errors
    /// As [`Succinct::extract`].
    pub fn extract_all(&self, ranges: &[Range<u64>], out: &mut Vec<u8>) -> Result<()> {
        self.view().extract_all(ranges.iter(), out)
    }

    /// How often `pattern` occurs; occurrences may overlap. The empty pattern occurs at every
    /// byte.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn count(&self, pattern: &[u8]) -> Result<u64> {
        let rows = self.view().rows(pattern)?;
        Ok(rows.end - rows.start)
    }

    /// Offsets of `pattern`, ascending.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn search(&self, pattern: &[u8]) -> Result<Vec<u64>> {
        let view = self.view();
        let rows = view.rows(pattern)?;
        let mut found = Vec::new();
        reserve(&mut found, usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX))?;
        view.locate_all(rows, |position| found.push(position))?;
        found.sort_unstable();
        Ok(found)
    }

    /// Offsets of `pattern`, one after another as they are asked for, in the order of what
    /// follows it in the text.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), here and from the iterator.
    pub fn positions(&self, pattern: &[u8]) -> Result<Positions<'_>> {
        let view = self.view();
        Ok(view.positions(view.rows(pattern)?))
    }

    /// Calls `f` with offsets of `pattern`, in the order of [`Succinct::positions`], until it
    /// breaks.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn for_each(
        &self,
        pattern: &[u8],
        mut f: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<()> {
        for position in self.positions(pattern)? {
            if f(position?).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn view(&self) -> View<'_> {
        self.parsed.view(self.bytes.as_ref())
    }
}
