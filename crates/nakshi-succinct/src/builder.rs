//! Compression of a text that arrives in pieces, chunk by chunk.

use crate::chunks::ChunkDirectory;
use crate::error::reserve;
use crate::options::MAX_LEN;
use crate::{Error, Options, Result, build};

/// Compresses a text of any length in bounded memory.
///
/// The text is cut into chunks. Each is compressed by itself and appended to the output as soon as
/// it is full, so a caller may move the output elsewhere between calls and continue with an empty
/// one. With a delimiter, every chunk but the last ends with it, and no record spans two chunks.
#[derive(Clone, Debug)]
pub struct Builder {
    options: Options,
    chunk: usize,
    pending: Vec<u8>,
    directory: ChunkDirectory,
}

impl Builder {
    /// Makes a builder that takes at most `memory` bytes for chunks, apart from the output and the
    /// pieces that are passed in; see [`Options::memory_of`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for options out of their bounds, and for less memory than slightly
    /// over a megabyte.
    pub fn new(options: Options, delimiter: Option<u8>, memory: u64) -> Result<Self> {
        Self::of_chunks(options, delimiter, options.chunk_of(memory)).map_err(|error| match error {
            Error::Unsupported { .. } if options.check().is_ok() => Error::unsupported(format!(
                "{memory} bytes of memory to compress text; give at least {}",
                options.memory_of(1)
            )),
            other => other,
        })
    }

    /// Makes a builder with chunks of at most `chunk` bytes, at most [`MAX_LEN`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for options and chunks out of their bounds.
    pub fn of_chunks(options: Options, delimiter: Option<u8>, chunk: u64) -> Result<Self> {
        options.check()?;
        let chunk = usize::try_from(chunk.min(MAX_LEN)).unwrap_or(usize::MAX);
        if chunk == 0 {
            return Err(Error::unsupported("chunks of no bytes"));
        }
        let directory = ChunkDirectory { chunks: Vec::new(), delimiter };
        Ok(Self { options, chunk, pending: Vec::new(), directory })
    }

    /// Returns the most bytes of text in a chunk.
    pub fn chunk(&self) -> u64 {
        self.chunk as u64
    }

    /// Adds the next piece of the text; appends full chunks to `out`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a record is longer than a chunk, [`Error::OutOfMemory`]. The
    /// builder cannot be used any more then.
    pub fn push(&mut self, mut piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
        while !piece.is_empty() {
            if self.pending.len() == self.chunk {
                self.cut(out)?;
            }
            let room = self.chunk - self.pending.len();
            let (now, later) = piece.split_at(room.min(piece.len()));
            self.make_room(now.len())?;
            self.pending.extend_from_slice(now);
            piece = later;
        }
        Ok(())
    }

    /// Appends the last chunk and the directory to `out`. The concatenation of all appended bytes
    /// is the input of [`ChunkedText::open`](crate::ChunkedText::open).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<()> {
        if !self.pending.is_empty() {
            self.compress(self.pending.len(), out)?;
        }
        self.directory.write(out)
    }

    /// Grows the buffer by doubling, but never beyond a chunk.
    fn make_room(&mut self, more: usize) -> Result<()> {
        let len = self.pending.len();
        let needed = len + more;
        if needed > self.pending.capacity() {
            let doubled = self.pending.capacity().saturating_mul(2);
            let target = needed.max(doubled).min(self.chunk);
            reserve(&mut self.pending, target - len)?;
        }
        Ok(())
    }

    /// Compresses the pending bytes up to their last delimiter.
    fn cut(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let end = match self.directory.delimiter {
            None => self.pending.len(),
            Some(delimiter) => {
                let last = self.pending.iter().rposition(|byte| *byte == delimiter);
                last.map(|at| at + 1).ok_or_else(|| {
                    Error::unsupported(format!(
                        "a record longer than a chunk of {} bytes; give more memory",
                        self.chunk
                    ))
                })?
            }
        };
        self.compress(end, out)?;
        self.pending.drain(..end);
        Ok(())
    }

    fn compress(&mut self, end: usize, out: &mut Vec<u8>) -> Result<()> {
        let text = self.pending.get(..end).unwrap_or_default();
        let before = out.len();
        build::write(text, &self.options, out)?;
        self.directory.add(end as u64, (out.len() - before) as u64)
    }
}
