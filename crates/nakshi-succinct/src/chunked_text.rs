//! A text of any length, in chunks.

use std::ops::{ControlFlow, Range};

use crate::chunks::ChunkDirectory;
use crate::error::{grow, reserve};
use crate::view::{ParsedHeader, TextView};
use crate::{Error, Options, Result};

/// A text that a [`Builder`](crate::Builder) wrote: the queries of a [`Succinct`](crate::Succinct)
/// over all chunks, with offsets into the whole text.
///
/// The answers are those of the text in one piece. An occurrence across the end of a chunk is found
/// by reading the text around that end. With a delimiter there can be none unless the pattern
/// contains the delimiter before its last byte; otherwise nothing is read.
#[derive(Clone, Debug)]
pub struct ChunkedText<B = Vec<u8>> {
    bytes: B,
    delimiter: Option<u8>,
    chunks: Vec<ChunkEntry>,
}

#[derive(Clone, Debug)]
struct ChunkEntry {
    /// Offset in the text.
    begin: u64,
    end: u64,
    /// Range of the chunk in the serialised bytes.
    range: Range<usize>,
    parsed: ParsedHeader,
}

impl ChunkedText<Vec<u8>> {
    /// Compresses a text that is in memory, in chunks that take at most `memory` each.
    ///
    /// # Errors
    /// Same as [`Builder::new`](crate::Builder::new) and [`Builder::push`](crate::Builder::push).
    pub fn build(
        text: &[u8],
        options: Options,
        delimiter: Option<u8>,
        memory: u64,
    ) -> Result<Self> {
        let mut out = Vec::new();
        let mut builder = crate::Builder::new(options, delimiter, memory)?;
        builder.push(text, &mut out)?;
        builder.finish(&mut out)?;
        Self::open_lazily(out)
    }
}

impl<B: AsRef<[u8]>> ChunkedText<B> {
    /// Opens exactly the bytes that a [`Builder`](crate::Builder) wrote, and checks that all
    /// directories ascend.
    ///
    /// # Errors
    /// [`Error::Corrupt`], or [`Error::Unsupported`] if a newer version wrote it.
    pub fn open(bytes: B) -> Result<Self> {
        let opened = Self::open_lazily(bytes)?;
        opened.views().try_for_each(|(_, view)| view.check())?;
        Ok(opened)
    }

    /// Opens like [`ChunkedText::open`], but reads only the headers and byte tables of the chunks.
    /// Queries find other damage when they meet it.
    ///
    /// # Errors
    /// Same as [`ChunkedText::open`].
    pub fn open_lazily(bytes: B) -> Result<Self> {
        let all = bytes.as_ref();
        let directory = ChunkDirectory::parse(all)?;
        let mut chunks = Vec::new();
        reserve(&mut chunks, directory.chunks.len())?;
        let (mut begin, mut from) = (0, 0);
        for chunk in &directory.chunks {
            // the directory was checked to fit the bytes
            let range = from..usize::try_from(chunk.bytes_end).unwrap_or(usize::MAX);
            let parsed = ParsedHeader::of(all.get(range.clone()).unwrap_or_default())?;
            if parsed.layout.header.len != chunk.text_end - begin {
                return Err(Error::corrupt("a chunk is not as long as its directory says"));
            }
            from = range.end;
            chunks.push(ChunkEntry { begin, end: chunk.text_end, range, parsed });
            begin = chunk.text_end;
        }
        Ok(Self { delimiter: directory.delimiter, chunks, bytes })
    }

    /// Returns the serialised form.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Returns the bytes with which the text was opened.
    pub fn into_bytes(self) -> B {
        self.bytes
    }

    /// Returns the number of bytes of the text.
    pub fn len(&self) -> u64 {
        self.chunks.last().map_or(0, |last| last.end)
    }

    /// Returns true if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Returns the byte with which every chunk but the last ends.
    pub fn delimiter(&self) -> Option<u8> {
        self.delimiter
    }

    /// Returns the ranges of the chunks in the text, in order.
    pub fn chunks(&self) -> impl Iterator<Item = Range<u64>> {
        self.chunks.iter().map(|chunk| chunk.begin..chunk.end)
    }

    /// Appends the `len` bytes of the text from `offset` on, or fewer at its end, to `out`.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::OutOfMemory`]; `out` is unchanged then.
    pub fn extract(&self, offset: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
        let end = offset.saturating_add(len as u64).min(self.len());
        let before = out.len();
        let first = self.chunks.partition_point(|chunk| chunk.end <= offset);
        for chunk in self.chunks.iter().skip(first).take_while(|chunk| chunk.begin < end) {
            let (from, to) = (chunk.begin.max(offset), chunk.end.min(end));
            let part = self.view(chunk).extract(from - chunk.begin, (to - from) as usize, out);
            if part.is_err() {
                out.truncate(before);
                return part;
            }
        }
        Ok(())
    }

    /// Counts the occurrences of `pattern`, which may overlap. The empty pattern occurs at every
    /// byte.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::OutOfMemory`].
    pub fn count(&self, pattern: &[u8]) -> Result<u64> {
        let mut count = 0;
        for (_, view) in self.views() {
            count += view.count(pattern)?;
        }
        self.across(pattern, |_| {
            count += 1;
            ControlFlow::Continue(())
        })?;
        Ok(count)
    }

    /// Returns the offsets of `pattern`, ascending.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::OutOfMemory`].
    pub fn search(&self, pattern: &[u8]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        for (begin, view) in self.views() {
            let rows = view.rows(pattern)?;
            grow(&mut found, usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX))?;
            view.locate_all(rows, |position| found.push(begin + position))?;
        }
        self.across(pattern, |position| {
            found.push(position);
            ControlFlow::Continue(())
        })?;
        found.sort_unstable();
        Ok(found)
    }

    /// Calls `f` with the offsets of `pattern`, in no order, until it breaks.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::OutOfMemory`].
    pub fn for_each(
        &self,
        pattern: &[u8],
        mut f: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<()> {
        for (begin, view) in self.views() {
            for position in view.positions(view.rows(pattern)?) {
                if f(begin + position?).is_break() {
                    return Ok(());
                }
            }
        }
        self.across(pattern, f)
    }

    /// Calls `f` with the offsets of `pattern` that begin in one chunk and end in another.
    fn across(&self, pattern: &[u8], mut f: impl FnMut(u64) -> ControlFlow<()>) -> Result<()> {
        let Some((_, before_last)) = pattern.split_last() else { return Ok(()) };
        if self.delimiter.is_some_and(|delimiter| !before_last.contains(&delimiter)) {
            return Ok(());
        }
        let reach = before_last.len() as u64;
        let mut around = Vec::new();
        for chunk in &self.chunks {
            let from = chunk.begin.max(chunk.end.saturating_sub(reach));
            let len = (chunk.end - from).saturating_add(reach);
            around.clear();
            self.extract(from, usize::try_from(len).unwrap_or(usize::MAX), &mut around)?;
            for (offset, window) in (from..chunk.end).zip(around.windows(pattern.len())) {
                if window == pattern && f(offset).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn view<'a>(&'a self, chunk: &'a ChunkEntry) -> TextView<'a, &'a [u8]> {
        let bytes = self.bytes.as_ref().get(chunk.range.clone());
        chunk.parsed.view(bytes.unwrap_or_default())
    }

    /// Returns the offset of each chunk in the text, and its queries.
    fn views(&self) -> impl Iterator<Item = (u64, TextView<'_, &[u8]>)> {
        self.chunks.iter().map(|chunk| (chunk.begin, self.view(chunk)))
    }
}
