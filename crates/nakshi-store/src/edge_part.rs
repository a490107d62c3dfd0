//! A part of a graph on its way to a process of the same machine: ids of vertices, and lists of edges.
//!
//! The bytes are blocks, each of which begins with its kind (a byte), the number of its bytes and their
//! CRC-32C (four bytes each). The first block says whether edges have weights, and the last one that nothing
//! is missing. In between, a block has ids, each with the number by which lists name it and the length of its
//! text, or lists: the number of a source, how many targets it has, their numbers, and their weights. All
//! numbers are little-endian.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::files::crc32c;
use crate::{Error, Result, VertexId};

/// Bytes of a block, about.
const BLOCK: usize = 256 << 10;
/// Targets of a list; a vertex with more has several.
const TARGETS: usize = 16 << 10;
/// Bytes before those of a block.
const HEADER: usize = 9;
/// Most bytes of a block: an id has 65,535 at most.
const LARGEST: u32 = 16 << 20;

const BEGIN: u8 = b'B';
const IDS: u8 = b'I';
const LISTS: u8 = b'L';
const END: u8 = b'E';

/// Writes a part of a graph.
#[derive(Debug)]
pub struct EdgePartWriter<W> {
    to: W,
    ids: Vec<u8>,
    lists: Vec<u8>,
}

fn failed(error: std::io::Error) -> Error {
    Error::io("write", "a part of a graph", error)
}

impl<W: Write> EdgePartWriter<W> {
    /// Begins a part, whose edges may have weights.
    ///
    /// # Errors
    /// Those of writing.
    pub fn new(to: W, weighted: bool) -> Result<Self> {
        let mut part = EdgePartWriter { to, ids: Vec::new(), lists: Vec::new() };
        part.block(BEGIN, &[weighted.into()])?;
        Ok(part)
    }

    fn block(&mut self, kind: u8, bytes: &[u8]) -> Result<()> {
        let mut header = [kind; HEADER];
        // Blocks are far smaller.
        header[1..5].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        header[5..].copy_from_slice(&crc32c(bytes).to_le_bytes());
        self.to.write_all(&header).map_err(failed)?;
        self.to.write_all(bytes).map_err(failed)
    }

    /// Writes the text of the id of a vertex, and the number by which lists name it.
    ///
    /// # Errors
    /// Those of writing.
    pub fn id(&mut self, number: VertexId, text: &[u8]) -> Result<()> {
        self.ids.extend_from_slice(&number.to_le_bytes());
        // The dictionary of a store has a limit of 65,535.
        self.ids.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.ids.extend_from_slice(text);
        if self.ids.len() < BLOCK {
            return Ok(());
        }
        let full = std::mem::take(&mut self.ids);
        self.block(IDS, &full)
    }

    /// Writes edges of a source, with a weight each if edges have weights.
    ///
    /// # Errors
    /// Those of writing.
    pub fn list(&mut self, source: VertexId, targets: &[VertexId], weights: &[f64]) -> Result<()> {
        let mut weights = weights.chunks(TARGETS);
        for targets in targets.chunks(TARGETS) {
            self.lists.extend_from_slice(&source.to_le_bytes());
            self.lists.extend_from_slice(&(targets.len() as u32).to_le_bytes());
            targets.iter().for_each(|target| self.lists.extend_from_slice(&target.to_le_bytes()));
            let weights = weights.next().unwrap_or_default();
            weights.iter().for_each(|weight| self.lists.extend_from_slice(&weight.to_le_bytes()));
            if self.lists.len() >= BLOCK {
                let full = std::mem::take(&mut self.lists);
                self.block(LISTS, &full)?;
            }
        }
        Ok(())
    }

    /// Writes what is left, and the end.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self) -> Result<W> {
        for (kind, bytes) in
            [(IDS, std::mem::take(&mut self.ids)), (LISTS, std::mem::take(&mut self.lists))]
        {
            if !bytes.is_empty() {
                self.block(kind, &bytes)?;
            }
        }
        self.block(END, &[])?;
        self.to.flush().map_err(failed)?;
        Ok(self.to)
    }
}

/// A part of a graph in a file.
#[derive(Debug)]
pub struct EdgePart {
    file: File,
    path: PathBuf,
    weighted: bool,
    /// Offset of the first block of ids or lists.
    first: u64,
}

impl EdgePart {
    /// Opens a part.
    ///
    /// # Errors
    /// Those of reading; [`Error::Invalid`] for a file that is none.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
        let mut part = EdgePart { file, path: path.to_path_buf(), weighted: false, first: 0 };
        let (kind, bytes, next) = part.block_at(0, |_| true)?;
        let weighted = bytes.first().filter(|_| kind == BEGIN);
        part.weighted = *weighted.ok_or_else(|| part.damaged("it has another beginning"))? == 1;
        part.first = next;
        Ok(part)
    }

    /// Returns true if edges have weights.
    pub fn weighted(&self) -> bool {
        self.weighted
    }

    /// Its bytes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn bytes(&self) -> Result<u64> {
        let meta = self.file.metadata();
        Ok(meta.map_err(|error| Error::io("look at", &self.path, error))?.len())
    }

    /// All blocks of ids.
    pub fn ids(&self) -> EdgePartBlocks<'_> {
        EdgePartBlocks { part: self, kind: IDS, at: self.first }
    }

    /// All blocks of lists.
    pub fn lists(&self) -> EdgePartBlocks<'_> {
        EdgePartBlocks { part: self, kind: LISTS, at: self.first }
    }

    fn damaged(&self, what: &str) -> Error {
        Error::Invalid(format!("{}: this is no part of a graph: {what}", self.path.display()))
    }

    fn read(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        self.file.read_exact_at(bytes, at).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.damaged("it is cut off"),
            _ => Error::io("read", &self.path, error),
        })
    }

    /// The kind of the block at an offset, its bytes if that is `wanted`, and the offset of the next one.
    fn block_at(&self, at: u64, wanted: impl Fn(u8) -> bool) -> Result<(u8, Vec<u8>, u64)> {
        let mut header = [0; HEADER];
        self.read(&mut header, at)?;
        let [kind, l0, l1, l2, l3, crc @ ..] = header;
        let len = u32::from_le_bytes([l0, l1, l2, l3]);
        if len > LARGEST {
            return Err(self.damaged("a block is too long"));
        }
        let (from, next) = (at + HEADER as u64, at + HEADER as u64 + u64::from(len));
        if !wanted(kind) {
            return Ok((kind, Vec::new(), next));
        }
        let mut bytes = vec![0; len as usize];
        self.read(&mut bytes, from)?;
        if crc32c(&bytes) != u32::from_le_bytes(crc) {
            return Err(self.damaged("a checksum differs"));
        }
        Ok((kind, bytes, next))
    }
}

/// The blocks of one kind, one after the other.
#[derive(Debug)]
pub struct EdgePartBlocks<'p> {
    part: &'p EdgePart,
    kind: u8,
    at: u64,
}

impl EdgePartBlocks<'_> {
    /// The next block; `None` at the end of the part.
    ///
    /// # Errors
    /// Those of reading; [`Error::Invalid`] for a part that is damaged or cut off.
    pub fn next_block(&mut self) -> Result<Option<EdgePartBlock>> {
        loop {
            let (kind, bytes, next) = self.part.block_at(self.at, |kind| kind == self.kind)?;
            match kind {
                END => return Ok(None),
                IDS | LISTS => self.at = next,
                _ => return Err(self.part.damaged("a block of no kind that is known")),
            }
            if kind == self.kind {
                return Ok(Some(EdgePartBlock { bytes, weighted: self.part.weighted }));
            }
        }
    }

    /// Offset of the next block.
    pub fn position(&self) -> u64 {
        self.at
    }
}

/// Ids, or lists.
#[derive(Debug)]
pub struct EdgePartBlock {
    bytes: Vec<u8>,
    weighted: bool,
}

fn short() -> Error {
    Error::Invalid("a block of a part of a graph ends in its middle".into())
}

/// Takes four bytes.
fn number(bytes: &mut &[u8]) -> Result<u32> {
    let (number, rest) = bytes.split_first_chunk().ok_or_else(short)?;
    *bytes = rest;
    Ok(u32::from_le_bytes(*number))
}

/// Takes some bytes.
fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Result<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(short)?;
    *bytes = rest;
    Ok(taken)
}

impl EdgePartBlock {
    /// Hands the number and the text of each id to `f`.
    ///
    /// # Errors
    /// Those of `f`; [`Error::Invalid`] for a damaged block.
    pub fn each_id<E: From<Error>>(
        &self,
        mut f: impl FnMut(VertexId, &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut left = self.bytes.as_slice();
        while !left.is_empty() {
            let (id, len) = (number(&mut left)?, number(&mut left)?);
            f(id, take(&mut left, len as usize)?)?;
        }
        Ok(())
    }

    /// Hands source, target and weight of each edge to `f`; the weight is 1 without weights.
    ///
    /// # Errors
    /// As [`EdgePartBlock::each_id`].
    pub fn each_edge<E: From<Error>>(
        &self,
        mut f: impl FnMut(VertexId, VertexId, f64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut left = self.bytes.as_slice();
        while !left.is_empty() {
            let (source, count) = (number(&mut left)?, number(&mut left)? as usize);
            let targets = take(&mut left, 4 * count)?.as_chunks().0;
            let weights = take(&mut left, if self.weighted { 8 * count } else { 0 })?.as_chunks().0;
            for (place, target) in targets.iter().enumerate() {
                let weight = weights.get(place).map_or(1.0, |weight| f64::from_le_bytes(*weight));
                f(source, VertexId::from_le_bytes(*target), weight)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = (Vec<(VertexId, Vec<u8>)>, Vec<(VertexId, VertexId, f64)>);

    fn read(path: &Path) -> Result<Read> {
        let part = EdgePart::open(path)?;
        let (mut ids, mut edges) = (Vec::new(), Vec::new());
        let mut blocks = part.ids();
        while let Some(block) = blocks.next_block()? {
            block.each_id(|number, text| {
                ids.push((number, text.to_vec()));
                Ok::<_, Error>(())
            })?;
        }
        let mut blocks = part.lists();
        while let Some(block) = blocks.next_block()? {
            block.each_edge(|u, v, weight| {
                edges.push((u, v, weight));
                Ok::<_, Error>(())
            })?;
        }
        Ok((ids, edges))
    }

    fn written(weighted: bool) -> (Vec<u8>, Read) {
        let mut part = EdgePartWriter::new(Vec::new(), weighted).unwrap();
        let (mut ids, mut edges) = (Vec::new(), Vec::new());
        for v in 0..30_000_u32 {
            let text = format!("vertex {v}").into_bytes();
            part.id(v, &text).unwrap();
            ids.push((v, text));
            let count = if v == 7 { 3 * TARGETS as u32 + 1 } else { v % 5 };
            let targets: Vec<u32> = (0..count).map(|k| v ^ k).collect();
            let weight = |k: u32| if weighted { f64::from(k) / 3.0 } else { 1.0 };
            let weights: Vec<f64> = (0..count).filter(|_| weighted).map(weight).collect();
            part.list(v, &targets, &weights).unwrap();
            edges.extend((0..count).zip(&targets).map(|(k, target)| (v, *target, weight(k))));
        }
        (part.finish().unwrap(), (ids, edges))
    }

    #[test]
    fn a_part_comes_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        for weighted in [false, true] {
            let (bytes, wanted) = written(weighted);
            std::fs::write(&path, &bytes).unwrap();
            assert!(read(&path).unwrap() == wanted);
            assert_eq!(EdgePart::open(&path).unwrap().weighted(), weighted);
        }
        let empty = EdgePartWriter::new(Vec::new(), false).unwrap().finish().unwrap();
        std::fs::write(&path, &empty).unwrap();
        assert_eq!(read(&path).unwrap(), (Vec::new(), Vec::new()));
    }

    /// Seen red without the check of the end, and without checksums.
    #[test]
    fn a_part_that_is_damaged_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        let (bytes, wanted) = written(true);
        for cut in [0, 5, HEADER, HEADER + 1, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert!(matches!(read(&path), Err(Error::Invalid(_))), "cut at {cut}");
        }
        for at in (0..bytes.len()).step_by(bytes.len() / 97).chain([1, 6, 9]) {
            let mut wrong = bytes.clone();
            wrong[at] ^= 4;
            std::fs::write(&path, &wrong).unwrap();
            assert!(read(&path).map_or(true, |found| found == wanted), "byte {at}");
            assert!(read(&path).is_err(), "byte {at}");
        }
    }
}
