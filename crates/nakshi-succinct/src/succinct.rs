//! A compressed text in one piece.

use std::ops::{ControlFlow, Range};

use crate::view::{ParsedHeader, Positions, TextView};
use crate::{Options, Result, build};

/// A compressed text of up to [`MAX_LEN`](crate::MAX_LEN) bytes, with random access and search.
///
/// Queries work on the serialised bytes in place; only the byte table, three kilobytes, is copied.
/// The documentation of the crate describes the layout of the bytes.
#[derive(Clone, Debug)]
pub struct Succinct<B = Vec<u8>> {
    bytes: B,
    parsed: ParsedHeader,
}

impl Succinct<Vec<u8>> {
    /// Compresses `text`, in at most [`Options::memory_of`] bytes of memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a text longer than
    /// [`MAX_LEN`](crate::MAX_LEN) and for options out of their bounds,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn build(text: &[u8], options: &Options) -> Result<Self> {
        let mut bytes = Vec::new();
        build::write(text, options, &mut bytes)?;
        let parsed = ParsedHeader::of(&bytes)?;
        Ok(Self { bytes, parsed })
    }
}

/// Appends the compressed form of `text` to `out`; its length is a multiple of eight.
///
/// # Errors
/// Same as [`Succinct::build`]; `out` is unchanged then.
pub fn write(text: &[u8], options: &Options, out: &mut Vec<u8>) -> Result<()> {
    build::write(text, options, out)
}

impl<B: AsRef<[u8]>> Succinct<B> {
    /// Opens exactly the bytes that [`write()`] wrote, and checks that their directories ascend.
    /// With the defaults that reads about four bytes for a hundred of the text.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), or
    /// [`Error::Unsupported`](crate::Error::Unsupported) if a newer version wrote it.
    pub fn open(bytes: B) -> Result<Self> {
        let opened = Self::open_lazily(bytes)?;
        opened.view().check()?;
        Ok(opened)
    }

    /// Opens like [`Succinct::open`], but reads only the header and the byte table. Queries find
    /// other damage when they meet it.
    ///
    /// # Errors
    /// Same as [`Succinct::open`].
    pub fn open_lazily(bytes: B) -> Result<Self> {
        let parsed = ParsedHeader::of(bytes.as_ref())?;
        Ok(Self { bytes, parsed })
    }

    /// Returns the serialised form.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Returns the bytes with which the text was opened.
    pub fn into_bytes(self) -> B {
        self.bytes
    }

    /// Returns the options of the compression.
    pub fn options(&self) -> &Options {
        &self.parsed.layout.header.options
    }

    /// Returns the number of bytes of the text.
    pub fn len(&self) -> u64 {
        self.parsed.layout.header.len
    }

    /// Returns true if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the `len` bytes of the text from `offset` on, or fewer at its end, to `out`.
    ///
    /// Takes about half of [`Options::isa_rate`] steps, plus one for each byte.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); `out` is unchanged then.
    pub fn extract(&self, offset: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
        self.view().extract(offset, len, out)
    }

    /// Appends the bytes of several ranges to `out`, one range after another, or fewer where the
    /// text ends. Equals [`Succinct::extract`] of each range, but interleaves their steps.
    ///
    /// # Errors
    /// Same as [`Succinct::extract`].
    pub fn extract_all(&self, ranges: &[Range<u64>], out: &mut Vec<u8>) -> Result<()> {
        self.view().extract_all(ranges, out)
    }

    /// Counts the occurrences of `pattern`, which may overlap. The empty pattern occurs at every
    /// byte.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub fn count(&self, pattern: &[u8]) -> Result<u64> {
        self.view().count(pattern)
    }

    /// Returns the offsets of `pattern`, ascending.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn search(&self, pattern: &[u8]) -> Result<Vec<u64>> {
        self.view().search(pattern)
    }

    /// Returns an iterator over the offsets of `pattern`, which finds each when it is asked for, in
    /// the order of the suffixes.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), from this call and from the iterator.
    pub fn positions(&self, pattern: &[u8]) -> Result<Positions<'_, &[u8]>> {
        let view = self.view();
        Ok(view.positions(view.rows(pattern)?))
    }

    /// Calls `f` with the offsets of `pattern`, in the order of [`Succinct::positions`], until it
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

    fn view(&self) -> TextView<'_, &[u8]> {
        self.parsed.view(self.bytes.as_ref())
    }
}
