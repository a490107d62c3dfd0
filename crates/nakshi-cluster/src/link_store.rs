//! The links of a server's vertices: in memory, or on its SSD where memory is short.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_engine::VertexId;
use nakshi_io::write::{SyncFile, default_fs};
use nakshi_io::{Block, BlockReader, IoStats, PagedFile, ReaderOptions, Salt, Striping};

use crate::{Error, Result};

/// Bytes that are read at a time.
const PIECE: u64 = 256 << 10;
/// Bytes of a page.
const PAGE: u32 = 4096;
/// Reads in flight.
const DEPTH: usize = 4;
/// Links from one that is read to the one whose value is asked for: far enough for a value to come from
/// beyond the processor's caches.
const AHEAD: usize = 128;

/// Lists of slots, one after the other, and weights beside them.
#[derive(Debug)]
pub(crate) enum LinkStore {
    Memory { links: Vec<u32>, weights: Vec<f64> },
    Disk { links: Arc<PagedFile>, weights: Option<Arc<PagedFile>> },
}

impl Default for LinkStore {
    fn default() -> Self {
        LinkStore::Memory { links: Vec::new(), weights: Vec::new() }
    }
}

/// Lists while they arrive: vertices instead of slots, in no order.
#[derive(Debug)]
pub(crate) enum LinkBuilder {
    Memory { links: Vec<VertexId>, weights: Vec<f64> },
    Disk { links: ScratchFile, weights: Option<ScratchFile> },
}

/// A file that is gone when nobody has it open.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    file: File,
    path: PathBuf,
}

impl ScratchFile {
    fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(unique());
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(failed("create", &path))?;
        std::fs::remove_file(&path).map_err(failed("remove", &path))?;
        Ok(ScratchFile { file, path })
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        self.file.write_all_at(bytes, at).map_err(failed("write", &self.path))
    }

    /// Converts the bytes piece by piece into a file that is read past the page cache.
    fn finish(mut self, len: u64, mut change: impl FnMut(&mut [u8])) -> Result<Arc<PagedFile>> {
        let path = self.path.with_file_name(unique());
        let backend = nakshi_io::default_backend();
        let salt = Salt { store: [0; 16], file: 0 };
        let striping = Striping::single(path.clone());
        let mut out = SyncFile::create(default_fs().as_ref(), striping, PAGE, salt).map_err(io)?;
        let opened = (|| -> Result<Arc<PagedFile>> {
            self.file.seek(SeekFrom::Start(0)).map_err(failed("seek", &self.path))?;
            let (mut left, mut piece) = (len, vec![0; PIECE as usize]);
            while left > 0 {
                let now = left.min(PIECE) as usize;
                let part = piece.get_mut(..now).unwrap_or_default();
                self.file.read_exact(part).map_err(failed("read", &self.path))?;
                change(part);
                out.append(part).map_err(io)?;
                left -= now as u64;
            }
            PagedFile::open(&backend, &out.finish().map_err(io)?.spec()).map_err(io)
        })();
        // Open, or of no use.
        let _ = std::fs::remove_file(&path);
        opened
    }
}

fn unique() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(std::process::id());
    format!("nakshi-lists-{}-{random:016x}", std::process::id())
}

fn failed(op: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| io(nakshi_io::Error::io(op, path, error))
}

fn io(error: nakshi_io::Error) -> Error {
    Error::Engine(error.into())
}

impl LinkBuilder {
    /// Reserves space for `links` links: in memory, or in files of a folder.
    pub(crate) fn new(links: usize, weighted: bool, folder: Option<&Path>) -> Result<Self> {
        let weights = if weighted { links } else { 0 };
        Ok(match folder {
            None => LinkBuilder::Memory { links: vec![0; links], weights: vec![0.0; weights] },
            Some(folder) => LinkBuilder::Disk {
                links: ScratchFile::create(folder)?,
                weights: weighted.then(|| ScratchFile::create(folder)).transpose()?,
            },
        })
    }

    /// Stores a list at its position; returns false if the list does not fit.
    pub(crate) fn put(&mut self, at: u64, list: &[[u8; 4]], weighed: &[[u8; 8]]) -> Result<bool> {
        match self {
            LinkBuilder::Memory { links, weights } => {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let Some(places) = links.get_mut(from..).and_then(|l| l.get_mut(..list.len()))
                else {
                    return Ok(false);
                };
                places.iter_mut().zip(list).for_each(|(p, v)| *p = VertexId::from_le_bytes(*v));
                let weights = weights.get_mut(from..).unwrap_or_default();
                weights.iter_mut().zip(weighed).for_each(|(p, w)| *p = f64::from_le_bytes(*w));
            }
            LinkBuilder::Disk { links, weights } => {
                links.write(list.as_flattened(), 4 * at)?;
                if let Some(weights) = weights {
                    weights.write(weighed.as_flattened(), 8 * at)?;
                }
            }
        }
        Ok(true)
    }

    /// Lists of slots: `slots` of each vertex.
    pub(crate) fn finish(self, len: u64, slots: &[u32]) -> Result<LinkStore> {
        let slot = |v: VertexId| slots.get(v as usize).copied().unwrap_or_default();
        Ok(match self {
            LinkBuilder::Memory { mut links, weights } => {
                links.iter_mut().for_each(|link| *link = slot(*link));
                LinkStore::Memory { links, weights }
            }
            LinkBuilder::Disk { links, weights } => {
                let change = |part: &mut [u8]| {
                    for link in part.as_chunks_mut().0 {
                        *link = slot(VertexId::from_le_bytes(*link)).to_le_bytes();
                    }
                };
                let links = links.finish(4 * len, change)?;
                let weights = weights.map(|weights| weights.finish(8 * len, |_| {})).transpose()?;
                LinkStore::Disk { links, weights }
            }
        })
    }
}

/// A list of links.
#[derive(Clone, Copy)]
pub(crate) struct LinkList<'l> {
    /// Slots.
    pub(crate) links: &'l [u32],
    /// The links of this list and of later lists, as far as they are in memory.
    onwards: &'l [u32],
    /// Weights of the links; empty if the program reads none.
    pub(crate) weights: &'l [f64],
}

impl<'l> LinkList<'l> {
    /// As many links that come [`AHEAD`] later; `None` if they are not in memory.
    #[inline]
    pub(crate) fn ahead(&self) -> Option<&'l [u32]> {
        self.onwards.get(AHEAD..AHEAD + self.links.len())
    }
}

/// Lists as one thread reads them.
pub(crate) enum LinkReader<'l> {
    Memory { links: &'l [u32], weights: &'l [f64] },
    Disk(Box<DiskLinks>),
}

/// Files that are read, and the list that was read last.
pub(crate) struct DiskLinks {
    links: ReadAhead,
    weights: Option<ReadAhead>,
    list: Vec<u32>,
    weighed: Vec<f64>,
}

impl LinkStore {
    pub(crate) fn source(&self) -> Result<LinkReader<'_>> {
        Ok(match self {
            LinkStore::Memory { links, weights } => LinkReader::Memory { links, weights },
            LinkStore::Disk { links, weights } => LinkReader::Disk(Box::new(DiskLinks {
                links: ReadAhead::new(links)?,
                weights: weights.as_ref().map(ReadAhead::new).transpose()?,
                list: Vec::new(),
                weighed: Vec::new(),
            })),
        })
    }

    /// Bytes of memory that a thread takes that reads lists from the SSD; none if they are in memory.
    pub(crate) fn reading_memory(&self) -> u64 {
        let files = match self {
            LinkStore::Memory { .. } => 0,
            LinkStore::Disk { weights, .. } => 1 + u64::from(weights.is_some()),
        };
        files * ReaderOptions { depth: DEPTH, ..ReaderOptions::default() }.memory(PAGE) as u64
    }
}

impl LinkReader<'_> {
    /// Announces the range of links whose lists are read next.
    pub(crate) fn begin(&mut self, range: Range<usize>) -> nakshi_engine::Result<()> {
        if let LinkReader::Disk(reading) = self {
            let bytes = |size: u64| range.start as u64 * size..range.end as u64 * size;
            reading.links.begin(bytes(4))?;
            reading.weights.iter_mut().try_for_each(|weights| weights.begin(bytes(8)))?;
        }
        Ok(())
    }

    /// Reads the next list, which is at `range`.
    #[inline(always)]
    pub(crate) fn next(&mut self, range: Range<usize>) -> nakshi_engine::Result<LinkList<'_>> {
        match self {
            LinkReader::Memory { links, weights } => {
                let onwards = links.get(range.start..).unwrap_or_default();
                let links = onwards.get(..range.len()).unwrap_or_default();
                Ok(LinkList { links, onwards, weights: weights.get(range).unwrap_or_default() })
            }
            LinkReader::Disk(reading) => reading.next(range.len()),
        }
    }
}

impl DiskLinks {
    /// Reads the next list, of `len` links.
    fn next(&mut self, len: usize) -> nakshi_engine::Result<LinkList<'_>> {
        let DiskLinks { links, weights, list, weighed } = self;
        links.take(len, list, u32::from_le_bytes)?;
        if let Some(weights) = weights {
            weights.take(len, weighed, f64::from_le_bytes)?;
        }
        Ok(LinkList { links: list, onwards: list, weights: weighed })
    }
}

/// Reads ranges of a file, some pieces ahead.
pub(crate) struct ReadAhead {
    path: PathBuf,
    reader: BlockReader,
    /// Offset of the next byte to take, and of the next piece to request.
    at: u64,
    asked: u64,
    end: u64,
    /// Pieces that have come, by where they begin.
    arrived: BTreeMap<u64, Block>,
}

impl ReadAhead {
    fn new(file: &Arc<PagedFile>) -> Result<Self> {
        let reader = file.reader(DEPTH, Arc::new(IoStats::default())).map_err(io)?;
        Ok(ReadAhead {
            path: file.path().to_path_buf(),
            reader,
            at: 0,
            asked: 0,
            end: 0,
            arrived: BTreeMap::new(),
        })
    }

    fn begin(&mut self, range: Range<u64>) -> nakshi_engine::Result<()> {
        (self.at, self.asked, self.end) = (range.start, range.start, range.end);
        self.arrived.clear();
        for _ in 0..DEPTH {
            self.ask()?;
        }
        Ok(())
    }

    fn ask(&mut self) -> nakshi_engine::Result<()> {
        let to = self.end.min(self.asked + PIECE);
        if self.asked < to {
            self.reader.submit(self.asked..to, 0)?;
            self.asked = to;
        }
        Ok(())
    }

    /// Reads the next `count` numbers.
    fn take<T, const N: usize>(
        &mut self,
        count: usize,
        into: &mut Vec<T>,
        number: fn([u8; N]) -> T,
    ) -> nakshi_engine::Result<()> {
        into.clear();
        while into.len() < count {
            let Some((&start, block)) =
                self.arrived.first_key_value().filter(|(k, _)| **k <= self.at)
            else {
                let (file, found) = (self.path.clone(), self.at);
                let end = nakshi_io::Error::Truncated { file, expected: self.end, found };
                let block = self.reader.next()?.ok_or(end)?;
                self.arrived.insert(block.range.start, block);
                continue;
            };
            let rest = block.bytes().get((self.at - start) as usize..).unwrap_or_default();
            let numbers = rest.as_chunks::<N>().0;
            let now = numbers.len().min(count - into.len());
            into.extend(numbers.iter().take(now).map(|bytes| number(*bytes)));
            self.at += (now * N) as u64;
            if now == numbers.len() {
                self.arrived.pop_first();
                self.ask()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_knows_what_comes_later() {
        let links: Vec<u32> = (0..1000).collect();
        let weights: Vec<f64> = links.iter().map(|&link| f64::from(link)).collect();
        let lists = LinkStore::Memory { links, weights };
        let mut source = lists.source().unwrap();
        for range in [0..0, 0..7, 500..700, 800..872, 800..873, 990..1000, 1000..1000] {
            let list = source.next(range.clone()).unwrap();
            let numbers = |range: Range<usize>| range.map(|k| k as u32).collect::<Vec<_>>();
            assert_eq!(list.links, numbers(range.clone()));
            assert!(list.weights.iter().map(|weight| *weight as u32).eq(numbers(range.clone())));
            let later = range.start + AHEAD..range.end + AHEAD;
            let known = (later.end <= 1000).then(|| numbers(later));
            assert_eq!(list.ahead(), known.as_deref(), "{range:?}");
        }
    }
}
