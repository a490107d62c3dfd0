//! Files that are read from their end, Parquet and Arrow: every length in them is checked before
//! use.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use super::Opened;
use super::thrift;
use crate::{Error, Result};

/// Bytes behind the footer of a Parquet file: its length and a magic.
const TAIL: u64 = 8;
/// Longest header of a page; its longest part is statistics of text.
const PAGE_HEADER: u64 = 1 << 20;

/// A file, or the contents of a pipe or a compressed file in memory.
#[derive(Clone, Debug)]
enum ByteSource {
    File(Arc<File>),
    Memory(Bytes),
}

/// Random access to bytes that reads no more at a time than there are.
///
/// Lengths and offsets come from the file itself, and libraries allocate by them. They are
/// therefore compared with the file's length and with the available memory before anything is read.
#[derive(Clone, Debug)]
pub(super) struct Seekable {
    place: ByteSource,
    len: u64,
    /// Most bytes that may be read at a time.
    at_once: u64,
    /// Most bytes that compressed bytes may expand to at a time.
    expanded: u64,
}

impl Seekable {
    /// Takes a plain file as it is, and reads any other input into memory, where it may take a
    /// quarter of `memory`.
    ///
    /// # Errors
    /// [`Error::Input`] if it does not fit there; read errors.
    pub fn new(name: &Path, opened: Opened<'_>, memory: u64) -> Result<Self> {
        let at_once = memory / 4;
        let (place, len) = if let Some(file) = opened.file {
            let meta = file.metadata().map_err(|source| Error::io("read", name, source))?;
            (ByteSource::File(Arc::new(file)), meta.len())
        } else {
            let mut bytes = Vec::new();
            let read = opened.reader.take(at_once + 1).read_to_end(&mut bytes);
            let read = read.map_err(|source| Error::io("read", name, source))? as u64;
            if read > at_once {
                let what = format!(
                    "compressed or piped Parquet and Arrow files must fit a quarter of the memory, \
                     {at_once} bytes; save it as a plain file or raise the memory"
                );
                return Err(Error::Input { file: name.into(), line: 1, what });
            }
            (ByteSource::Memory(bytes.into()), read)
        };
        Ok(Self { place, len, at_once, expanded: expansion(len, memory) })
    }

    /// Returns the most bytes that compressed bytes may expand to at a time.
    pub fn expanded(&self) -> u64 {
        self.expanded
    }

    /// Returns the bytes of a range, or the reason why they are refused.
    pub fn bytes(&self, start: u64, length: u64) -> std::result::Result<Bytes, String> {
        if start.checked_add(length).is_none_or(|end| end > self.len) {
            return Err(format!(
                "{length} bytes at {start} are promised, the file has {}; it is damaged",
                self.len
            ));
        }
        if length > self.at_once {
            return Err(format!(
                "a piece of it takes {length} bytes; write smaller batches or raise the memory to \
                 {}",
                length.saturating_mul(4)
            ));
        }
        let size = usize::try_from(length).map_err(|error| error.to_string())?;
        match &self.place {
            ByteSource::File(file) => {
                let mut bytes = vec![0; size];
                file.read_exact_at(&mut bytes, start).map_err(|error| error.to_string())?;
                Ok(bytes.into())
            }
            ByteSource::Memory(bytes) => {
                let start = usize::try_from(start).map_err(|error| error.to_string())?;
                Ok(bytes.slice(start..start + size))
            }
        }
    }

    /// Checks the footer of a Parquet file before the library allocates by it.
    pub fn check_parquet(&self) -> std::result::Result<(), String> {
        let tail = self.bytes(self.len.saturating_sub(TAIL), TAIL.min(self.len))?;
        let Some((length, magic)) = tail.split_first_chunk::<4>() else {
            return Err("it is too short".into());
        };
        if magic != b"PAR1" {
            return Err("it does not end like a Parquet file; is it complete?".into());
        }
        let length = u64::from(u32::from_le_bytes(*length));
        let start = self.len.saturating_sub(TAIL).checked_sub(length);
        let start = start.ok_or("its footer is longer than the file; it is damaged")?;
        thrift::check_footer(&self.bytes(start, length)?)
    }

    /// Checks the header of the page at `start`.
    fn check_page(&self, start: u64) -> std::result::Result<(), String> {
        let rest = self.len.saturating_sub(start).min(PAGE_HEADER).min(self.at_once);
        let mut length = 256.min(rest);
        let page = loop {
            match thrift::page(&self.bytes(start, length)?) {
                Ok(page) => break page,
                Err(thrift::ThriftFault::Short) if length < rest => length = (length * 8).min(rest),
                Err(_) => return Err("the header of a page is damaged".into()),
            }
        };
        if page.expanded > self.expanded {
            return Err(format!(
                "a page claims to hold {} bytes; write smaller pages or raise the memory",
                page.expanded
            ));
        }
        if page.dictionary > page.expanded {
            return Err("a dictionary claims more values than it has bytes".into());
        }
        Ok(())
    }
}

/// Returns the most bytes that `input` bytes may expand to at a time: sixteen times as many plus a
/// mebibyte, but at most an eighth of the memory.
pub(super) fn expansion(input: u64, memory: u64) -> u64 {
    input.saturating_mul(16).saturating_add(1 << 20).min(memory / 8)
}

impl Length for Seekable {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Seekable {
    type T = Box<dyn Read>;

    /// The library reads only the end of the file (its last eight bytes are no page) and headers of
    /// pages by this method.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        if start.saturating_add(TAIL) < self.len {
            self.check_page(start).map_err(ParquetError::General)?;
        }
        match &self.place {
            ByteSource::File(file) => {
                Ok(Box::new(SeekableReader { file: Arc::clone(file), at: start }))
            }
            ByteSource::Memory(bytes) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX).min(bytes.len());
                Ok(Box::new(bytes.slice(start..).reader()))
            }
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.bytes(start, length as u64).map_err(ParquetError::General)
    }
}

/// Reads from an offset on, without the position that copies of a file share. The library reads a
/// header byte by byte.
struct SeekableReader {
    file: Arc<File>,
    at: u64,
}

impl Read for SeekableReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(bytes: Vec<u8>, expanded: u64) -> Seekable {
        let len = bytes.len() as u64;
        Seekable { place: ByteSource::Memory(bytes.into()), len, at_once: 1 << 10, expanded }
    }

    /// Seen red with each of the comparisons in `bytes` and in `check_page` left out.
    #[test]
    fn promises_are_compared_with_what_there_is() {
        let file = place(vec![0; 2000], 0);
        for (start, length) in [(0, 2001), (1999, 2), (2001, 0), (u64::MAX, 2), (0, 1025)] {
            assert!(file.bytes(start, length).is_err(), "{length} at {start}");
        }
        assert_eq!(file.bytes(1990, 10).map(|bytes| bytes.len()), Ok(10));
        // The header of a dictionary page: kind 2, 2^29 bytes, 40 of them compressed, 7 values.
        let mut header = vec![0x15, 4, 0x15, 0x80, 0x80, 0x80, 0x80, 0x04, 0x15, 80];
        header.extend([0x4c, 0x15, 14, 0x15, 0, 0, 0]);
        header.resize(100, 0);
        assert!(place(header.clone(), 1 << 29).get_read(0).is_ok());
        assert!(place(header.clone(), (1 << 29) - 1).get_read(0).is_err());
        // As many values as bytes, and one value more.
        for (bytes, fine) in [(14, true), (12, false)] {
            let mut small = header.clone();
            small.splice(3..8, [bytes]);
            assert_eq!(place(small, 1 << 29).get_read(0).is_ok(), fine, "{bytes}");
        }
    }
}
