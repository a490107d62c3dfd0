//! Spill files: temporary data on disk that needs no clean-up.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nakshi_io::write::{WriteFile, WriteFs};

use crate::{Error, Result};

/// Counts of the bytes of all spill files of a job.
#[derive(Debug, Default)]
pub struct ScratchMeter {
    written: AtomicU64,
    live: AtomicU64,
    peak: AtomicU64,
}

impl ScratchMeter {
    /// Returns the bytes written so far.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Returns the bytes that are on the disk now.
    pub fn live(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    /// Returns the most bytes that were on the disk at a time.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: u64) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Least bytes that are given back to the disk at once: smaller holes cost more calls than they
/// free.
const HOLE: u64 = 16 << 10;
/// File systems give back whole blocks of this size.
const BLOCK: u64 = 4096;

/// A file without a name: it is unlinked as soon as it is open, so that its space returns to the
/// disk however the process ends.
#[derive(Debug)]
pub struct Spill {
    writer: Mutex<Box<dyn WriteFile>>,
    reader: File,
    path: PathBuf,
    meter: Arc<ScratchMeter>,
    freed: AtomicU64,
}

/// A piece of a [`Spill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpillExtent {
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Spill {
    /// Creates an empty spill file in `directory`; `name` shows in messages.
    ///
    /// # Errors
    /// The errors of creating it.
    pub fn create(fs: &dyn WriteFs, directory: &Path, name: &str) -> Result<Self> {
        Self::metered(fs, directory, name, &Arc::default())
    }

    /// Creates a spill file like [`Spill::create`], whose bytes `meter` counts.
    ///
    /// # Errors
    /// The errors of creating it.
    pub fn metered(
        fs: &dyn WriteFs,
        directory: &Path,
        name: &str,
        meter: &Arc<ScratchMeter>,
    ) -> Result<Self> {
        let path = directory.join(format!("spill-{name}"));
        let writer = Mutex::new(fs.create(&path)?);
        let reader = File::open(&path).map_err(|source| Error::io("open", &path, source))?;
        fs.remove_file(&path)?;
        let (meter, freed) = (Arc::clone(meter), AtomicU64::new(0));
        Ok(Self { writer, reader, path, meter, freed })
    }

    /// Appends bytes; several threads may call it at the same time.
    ///
    /// # Errors
    /// Write errors.
    pub fn append(&self, bytes: &[u8]) -> Result<SpillExtent> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = writer.len();
        writer.append(bytes)?;
        drop(writer);
        self.meter.add(bytes.len() as u64);
        Ok(SpillExtent { offset, len: bytes.len() as u64 })
    }

    /// Gives the space of an extent that nobody will read again back to the disk, but for the
    /// blocks that it shares with its neighbours.
    ///
    /// # Errors
    /// The errors of the call; none where the file system has no such call.
    pub fn free(&self, extent: SpillExtent) -> Result<()> {
        let start = extent.offset.next_multiple_of(BLOCK);
        let end = (extent.offset + extent.len) / BLOCK * BLOCK;
        if end < start + HOLE {
            return Ok(());
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.punch(start, end - start)? {
            self.freed.fetch_add(end - start, Ordering::Relaxed);
            self.meter.give_back(end - start);
        }
        Ok(())
    }

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// Read errors.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.reader
            .read_exact_at(buffer, offset)
            .map_err(|source| Error::io("read", &self.path, source))
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.meter.give_back(writer.len().saturating_sub(*self.freed.get_mut()));
    }
}

/// Appends words in little-endian order.
pub(crate) fn put_words(bytes: &mut Vec<u8>, words: &[u64]) {
    bytes.reserve(words.len() * 8);
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

/// Reads words back.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// Writes a stream of bytes in chunks, which can be read back in the same order.
#[derive(Debug)]
pub struct StreamWriter<'s> {
    spill: &'s Spill,
    buffer: Vec<u8>,
    chunk: usize,
    extents: Vec<SpillExtent>,
}

impl<'s> StreamWriter<'s> {
    /// Makes an empty stream that is written to `spill` by pieces of `chunk` bytes.
    pub fn new(spill: &'s Spill, chunk: usize) -> Self {
        Self { spill, buffer: Vec::new(), chunk, extents: Vec::new() }
    }

    /// Returns the end of the stream, to which records are appended; call [`StreamWriter::settle`]
    /// after each.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes the buffer once it is full. Records may span chunks.
    ///
    /// # Errors
    /// Write errors.
    pub fn settle(&mut self) -> Result<()> {
        if self.buffer.len() >= self.chunk { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            let extent = self.spill.append(&self.buffer)?;
            self.extents.push(extent);
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the rest; returns the extents of the stream.
    ///
    /// # Errors
    /// Write errors.
    pub fn finish(mut self) -> Result<Vec<SpillExtent>> {
        self.flush()?;
        Ok(self.extents)
    }
}

/// Reads the stream that a [`StreamWriter`] wrote.
#[derive(Debug)]
pub struct StreamReader<'s> {
    spill: &'s Spill,
    extents: std::vec::IntoIter<SpillExtent>,
    rest: SpillExtent,
    buffer: Vec<u8>,
    at: usize,
    chunk: usize,
}

impl<'s> StreamReader<'s> {
    /// Reads the stream in `extents`, `chunk` bytes at a time.
    pub fn new(spill: &'s Spill, extents: Vec<SpillExtent>, chunk: usize) -> Self {
        let rest = SpillExtent { offset: 0, len: 0 };
        Self { spill, extents: extents.into_iter(), rest, buffer: Vec::new(), at: 0, chunk }
    }

    /// Reads the stream from the byte `offset` on.
    pub(crate) fn behind(
        spill: &'s Spill,
        extents: &[SpillExtent],
        mut offset: u64,
        chunk: usize,
    ) -> Self {
        let mut rest = Vec::new();
        for extent in extents {
            let skipped = offset.min(extent.len);
            offset -= skipped;
            if skipped < extent.len {
                rest.push(SpillExtent {
                    offset: extent.offset + skipped,
                    len: extent.len - skipped,
                });
            }
        }
        Self::new(spill, rest, chunk)
    }

    /// Returns the buffered bytes, at least `wanted` unless the stream ends before.
    ///
    /// # Errors
    /// Read errors.
    pub fn peek(&mut self, wanted: usize) -> Result<&[u8]> {
        while self.buffer.len() - self.at < wanted {
            if self.rest.len == 0 {
                match self.extents.next() {
                    Some(extent) => self.rest = extent,
                    None => break,
                }
            }
            self.buffer.drain(..self.at);
            self.at = 0;
            let take = self.rest.len.min(self.chunk.max(wanted) as u64);
            let old = self.buffer.len();
            self.buffer.resize(old + usize::try_from(take).unwrap_or(self.chunk), 0);
            let fresh = self.buffer.get_mut(old..).unwrap_or_default();
            self.spill.read(self.rest.offset, fresh)?;
            self.rest.offset += take;
            self.rest.len -= take;
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }

    /// Consumes `bytes` peeked bytes and returns them.
    pub fn take(&mut self, bytes: usize) -> &[u8] {
        let start = self.at;
        self.consume(bytes);
        self.buffer.get(start..self.at).unwrap_or_default()
    }

    /// Consumes `bytes` peeked bytes.
    pub fn consume(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.buffer.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_come_back_and_leave_nothing() -> Result<()> {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::create(&*nakshi_io::write::default_fs(), dir.path(), "t")?;
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut writers = [StreamWriter::new(&spill, 100), StreamWriter::new(&spill, 64)];
        for i in 0..10_000_u64 {
            for writer in &mut writers {
                put_words(writer.buffer(), &[i]);
                writer.settle()?;
            }
        }
        for writer in writers {
            let mut reader = StreamReader::new(&spill, writer.finish()?, 1000);
            for i in 0..10_000_u64 {
                assert_eq!(words(reader.peek(8)?).next(), Some(i));
                reader.consume(8);
            }
            assert!(reader.peek(1)?.is_empty());
        }
        Ok(())
    }
}
