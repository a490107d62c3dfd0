//! The directory of a chunked text: the positions of its chunks. It follows the chunks, so that
//! they can be written as they are made.

use crate::error::{grow, reserve};
use crate::layout::{MAGIC_BITS, refuse_version};
use crate::{Error, Result, TextBytes};

/// Bytes of the trailer.
const TRAILER: usize = 32;
/// Bytes of an entry of the directory.
const ENTRY: usize = 16;
/// Last word of a chunked text; the version of its layout in the highest byte.
const MAGIC: u64 = u64::from_le_bytes(*b"nkstext\0") | VERSION << MAGIC_BITS;
const VERSION: u64 = 1;
/// The entry for no delimiter, above the 256 bytes.
const NO_DELIMITER: u64 = 256;

/// The ends of one chunk, in the text and in the serialised bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkEnds {
    pub(crate) text_end: u64,
    pub(crate) bytes_end: u64,
}

/// The directory and the trailer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkDirectory {
    pub(crate) chunks: Vec<ChunkEnds>,
    pub(crate) delimiter: Option<u8>,
}

impl ChunkDirectory {
    pub(crate) fn add(&mut self, text: u64, bytes: u64) -> Result<()> {
        let last = self.chunks.last().copied().unwrap_or_default();
        grow(&mut self.chunks, 1)?;
        self.chunks
            .push(ChunkEnds { text_end: last.text_end + text, bytes_end: last.bytes_end + bytes });
        Ok(())
    }

    /// Appends the directory and the trailer.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        reserve(out, self.chunks.len() * ENTRY + TRAILER)?;
        let mut put = |word: u64| out.extend_from_slice(&word.to_le_bytes());
        for chunk in &self.chunks {
            put(chunk.text_end);
            put(chunk.bytes_end);
        }
        put(self.chunks.len() as u64);
        put(self.delimiter.map_or(NO_DELIMITER, u64::from));
        put(self.chunks.last().map_or(0, |last| last.text_end));
        put(MAGIC);
        Ok(())
    }

    /// Parses the directory at the end of a chunked text. The chunks are contiguous and fill all
    /// bytes before it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        const WRONG: Error = Error::corrupt("its directory of chunks does not fit its length");
        let body = bytes.len().checked_sub(TRAILER).ok_or(WRONG)?;
        let word = |at: usize| bytes.word(at).ok_or(WRONG);
        let magic = word(body + 24)?;
        if magic != MAGIC {
            refuse_version(magic, MAGIC, "a chunked text")?;
            return Err(Error::corrupt("it does not end as a chunked text"));
        }
        let count = usize::try_from(word(body)?).map_err(|_| WRONG)?;
        let size = count.checked_mul(ENTRY).ok_or(WRONG)?;
        let begin = body.checked_sub(size).ok_or(WRONG)?;
        let delimiter = match word(body + 8)? {
            NO_DELIMITER => None,
            byte => Some(u8::try_from(byte).map_err(|_| WRONG)?),
        };
        let mut chunks = Vec::new();
        reserve(&mut chunks, count)?;
        let mut last = ChunkEnds::default();
        for at in (begin..body).step_by(ENTRY) {
            let chunk = ChunkEnds { text_end: word(at)?, bytes_end: word(at + 8)? };
            if chunk.text_end <= last.text_end || chunk.bytes_end <= last.bytes_end {
                return Err(WRONG);
            }
            chunks.push(chunk);
            last = chunk;
        }
        if last.bytes_end != begin as u64 || last.text_end != word(body + 16)? {
            return Err(WRONG);
        }
        Ok(Self { chunks, delimiter })
    }
}
