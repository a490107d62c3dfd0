//! Look-ups and streams over a store's external ids.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use nakshi_io::{BlockReader, CancelToken, IoStats, PagedFile, ReaderOptions};

use super::keys::{self, BLOCK, Key};
use super::{ExternalId, IdKind};
use crate::{Error, Result, VertexId};

/// The external ids of a store. Holds only open files: a look-up reads a few pages.
#[derive(Clone, Debug)]
pub struct IdMap {
    pub(crate) kind: IdKind,
    pub(crate) count: u64,
    pub(crate) first: i64,
    /// Keys and the offsets of their blocks; `None` for dense ids.
    pub(crate) keys: Option<(Arc<PagedFile>, Arc<PagedFile>)>,
    /// Internal id of each rank, and rank of each internal id; `None` if they are equal.
    pub(crate) orders: Option<(Arc<PagedFile>, Arc<PagedFile>)>,
    /// Token that stops look-ups and the reading of whole files.
    pub(crate) cancel: CancelToken,
}

impl IdMap {
    /// Returns the same ids, with another token that stops look-ups and the reading of whole files.
    #[must_use]
    pub fn until(self, cancel: &CancelToken) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Returns the kind of the ids.
    pub fn kind(&self) -> IdKind {
        self.kind
    }

    /// Returns the number of ids, which is the number of vertices.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns true if there are no vertices.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the first id, if ids are consecutive integers.
    pub fn dense_first(&self) -> Option<i64> {
        (self.kind == IdKind::Dense).then_some(self.first)
    }

    /// Returns true if the layout kept the order of the ids, so that rank and internal id are
    /// equal.
    pub fn ranks_are_internal(&self) -> bool {
        self.orders.is_none()
    }

    /// Finds the internal id of an external one; returns `None` if the graph has no such vertex.
    /// Integers are also found by their decimal text.
    ///
    /// # Errors
    /// Read errors.
    pub fn internal(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        let dense = self.keys.is_none().then_some((self.first, self.count));
        let rank = id.rank(self.kind, dense, |id| self.search(id))?;
        match (rank, &self.orders) {
            (None, _) => Ok(None),
            (Some(rank), None) => narrow(rank).map(Some),
            (Some(rank), Some((internal, _))) => read_u32(internal, rank).map(Some),
        }
    }

    /// Finds the external id of an internal one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such vertex; read errors.
    pub fn external(&self, v: VertexId) -> Result<ExternalId> {
        if u64::from(v) >= self.count {
            return Err(Error::Invalid(format!("there is no vertex {v}, only {}", self.count)));
        }
        let rank = match &self.orders {
            None => u64::from(v),
            Some((_, ranks)) => u64::from(read_u32(ranks, u64::from(v))?),
        };
        let Some(mut points) = self.points()? else { return self.dense(rank).map(ExternalId::I64) };
        let mut found = None;
        self.block(&mut points, rank / BLOCK, |r, key| {
            if r == rank {
                found = Some(key.to_external(self.kind)?);
            }
            Ok(())
        })?;
        found.ok_or(Error::BadList("the id dictionary is too short"))
    }

    /// The smallest and the largest id; `None` without vertices.
    ///
    /// # Errors
    /// Those of reading.
    pub fn ends(&self) -> Result<Option<(ExternalId, ExternalId)>> {
        let Some(last) = self.count.checked_sub(1) else { return Ok(None) };
        let mut points = self.points()?;
        let first = self.block_ids(points.as_mut(), 0)?.into_iter().next();
        let last = self.block_ids(points.as_mut(), last / BLOCK)?.into_iter().next_back();
        match (first, last) {
            (Some(first), Some(last)) => Ok(Some((first, last))),
            _ => Err(Error::BadList("the id dictionary is too short")),
        }
    }

    /// Returns the internal id in `other` of every id here, by rank; `None` where `other` has no
    /// such id. Reads both dictionaries once, in order. Takes 8 bytes a vertex, and 4 for each
    /// vertex of the other store.
    ///
    /// # Errors
    /// Read errors.
    pub fn internal_in(&self, other: &IdMap) -> Result<Vec<Option<VertexId>>> {
        let mut found = vec![None; crate::permutation::check_count(self.count)?];
        let mut set = |rank: u64, internal: Option<VertexId>| {
            if let Some(slot) = usize::try_from(rank).ok().and_then(|rank| found.get_mut(rank)) {
                *slot = internal;
            }
        };
        let whole = |kind: IdKind| matches!(kind, IdKind::Dense | IdKind::U64 | IdKind::I64);
        if self.kind != other.kind && !(whole(self.kind) && whole(other.kind)) {
            // Different kinds, such as numbers here and text there: rare enough for look-ups.
            self.for_each(|rank, key| {
                set(rank, other.internal(&key.to_external(self.kind)?)?);
                Ok(())
            })?;
            return Ok(found);
        }
        let internal = other.internal_by_rank()?;
        let (mut block, mut read, mut at) = (Vec::new(), None, 0u64);
        let mut points = other.points()?;
        self.for_each(|rank, key| {
            while at < other.count {
                if read != Some(at / BLOCK) {
                    block = other.block_ids(points.as_mut(), at / BLOCK)?;
                    read = Some(at / BLOCK);
                }
                let theirs = usize::try_from(at % BLOCK).ok().and_then(|k| block.get(k));
                let theirs = theirs.ok_or(Error::BadList("the id dictionary is too short"))?;
                let order =
                    key.compare_numbers(theirs).unwrap_or_else(|| key.compare(self.kind, theirs));
                if order == Ordering::Equal {
                    let at = usize::try_from(at).ok();
                    set(rank, at.and_then(|at| internal.get(at)).copied());
                }
                if order != Ordering::Less {
                    at += 1;
                }
                if order != Ordering::Greater {
                    break;
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the ids of one block.
    fn block_ids(&self, points: Option<&mut Points>, block: u64) -> Result<Vec<ExternalId>> {
        let Some(points) = points else {
            let ranks = block * BLOCK..self.count.min((block + 1) * BLOCK);
            return ranks.map(|rank| self.dense(rank).map(ExternalId::I64)).collect();
        };
        let mut ids = Vec::new();
        self.block(points, block, |_, key| {
            ids.push(key.to_external(self.kind)?);
            Ok(())
        })?;
        Ok(ids)
    }

    /// Reads the rank of each internal id: 4 bytes a vertex.
    ///
    /// # Errors
    /// Read errors.
    pub fn rank_of(&self) -> Result<Vec<u32>> {
        self.order(self.orders.as_ref().map(|o| &o.1))
    }

    /// Reads the internal id of each rank: 4 bytes a vertex.
    ///
    /// # Errors
    /// Read errors.
    pub fn internal_by_rank(&self) -> Result<Vec<VertexId>> {
        self.order(self.orders.as_ref().map(|o| &o.0))
    }

    fn order(&self, file: Option<&Arc<PagedFile>>) -> Result<Vec<u32>> {
        let Some(file) = file else { return (0..self.count).map(narrow).collect() };
        let mut order = Vec::new();
        let n = crate::permutation::check_count(self.count)?;
        order
            .try_reserve_exact(n)
            .map_err(|_| Error::Budget { needed: self.count * 4, given: 0 })?;
        stream(file, 0..file.len(), &self.cancel, |bytes| {
            order.extend(bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)));
            Ok(())
        })?;
        if order.len() != n {
            return Err(Error::BadList("an id order has another length than the graph"));
        }
        Ok(order)
    }

    /// Calls `f` with rank and id of every vertex, ascending, in constant memory.
    ///
    /// # Errors
    /// Read errors, and those of `f`.
    pub fn for_each(&self, mut f: impl FnMut(u64, Key<'_>) -> Result<()>) -> Result<()> {
        let Some((keys, blocks)) = &self.keys else {
            for rank in 0..self.count {
                f(rank, Key::I64(self.dense(rank)?))?;
            }
            return Ok(());
        };
        /// Number of blocks read at a time.
        const RUN: u64 = 1024;
        let all = self.count.div_ceil(BLOCK);
        let mut scratch = Vec::new();
        for run in (0..all).step_by(1024) {
            let end = (run + RUN).min(all);
            let from = read_u64(blocks, run)?;
            let to = if end < all { read_u64(blocks, end)? } else { keys.len() };
            let bytes = read(keys, from..to)?;
            let mut at = 0;
            for block in run..end {
                let mut rank = block * BLOCK;
                let count = BLOCK.min(self.count - rank);
                at += keys::decode_block(
                    self.kind,
                    bytes.get(at..).unwrap_or_default(),
                    count,
                    &mut scratch,
                    |key| {
                        f(rank, key)?;
                        rank += 1;
                        Ok(())
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Calls `f` with internal id and id of every vertex, in the order of the ids, in constant memory.
    ///
    /// # Errors
    /// Read errors, and those of `f`.
    pub fn for_each_vertex(
        &self,
        mut f: impl FnMut(VertexId, Key<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some((internal, _)) = &self.orders else {
            return self.for_each(|rank, key| f(narrow(rank)?, key));
        };
        /// Number of internal ids read at a time.
        const RUN: u64 = 1 << 16;
        let mut run = Vec::new();
        self.for_each(|rank, key| {
            if rank % RUN == 0 {
                run = read(internal, rank * 4..(rank + RUN).min(self.count) * 4)?;
            }
            let at = usize::try_from(rank % RUN).unwrap_or(usize::MAX);
            let v = run.as_chunks::<4>().0.get(at);
            f(u32::from_le_bytes(*v.ok_or(Error::BadList("an id file is too short"))?), key)
        })
    }

    fn dense(&self, rank: u64) -> Result<i64> {
        i64::try_from(i128::from(self.first) + i128::from(rank))
            .map_err(|_| Error::BadList("dense ids exceed 64 bits"))
    }

    /// Finds the rank of `id` by binary search over the first ids of blocks.
    fn search(&self, id: &ExternalId) -> Result<Option<u64>> {
        let Some(mut points) = self.points()? else { return Ok(None) };
        let (mut low, mut high) = (0, self.count.div_ceil(BLOCK));
        // invariant: blocks below `low` begin at or before `id`, those from `high` on behind it
        while low < high {
            let middle = low + (high - low) / 2;
            let mut order = Ordering::Greater;
            self.block(&mut points, middle, |rank, key| {
                if rank == middle * BLOCK {
                    order = key.compare(self.kind, id);
                }
                Ok(())
            })?;
            if order == Ordering::Greater {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let mut found = None;
        if let Some(block) = low.checked_sub(1) {
            self.block(&mut points, block, |rank, key| {
                if key.compare(self.kind, id) == Ordering::Equal {
                    found = Some(rank);
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    fn points(&self) -> Result<Option<Points>> {
        let Some((keys, blocks)) = &self.keys else { return Ok(None) };
        Ok(Some(Points {
            keys: self.point_reader(keys)?,
            blocks: self.point_reader(blocks)?,
            len: keys.len(),
        }))
    }

    fn point_reader(&self, file: &Arc<PagedFile>) -> Result<BlockReader> {
        let options = ReaderOptions { depth: 1, block: 4096, cancel: Some(self.cancel.clone()) };
        Ok(file.reader_with(&options, Arc::new(IoStats::new()))?)
    }

    /// Decodes one block and calls `f` with rank and id of each entry.
    fn block(
        &self,
        points: &mut Points,
        block: u64,
        mut f: impl FnMut(u64, Key<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut rank = block * BLOCK;
        let count = BLOCK.min(self.count.saturating_sub(rank));
        let last = rank + count >= self.count;
        let offsets =
            read_point(&mut points.blocks, block * 8..(block + if last { 1 } else { 2 }) * 8)?;
        let mut offsets = offsets.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b));
        let from = offsets.next().unwrap_or(0);
        let to = offsets.next().unwrap_or(points.len);
        if from > to || to > points.len {
            return Err(Error::BadList("the id dictionary's block offsets are not ascending"));
        }
        let bytes = read_point(&mut points.keys, from..to)?;
        keys::decode_block(self.kind, &bytes, count, &mut Vec::new(), |key| {
            f(rank, key)?;
            rank += 1;
            Ok(())
        })?;
        Ok(())
    }
}

/// Readers of the dictionary for one look-up, which probes several blocks.
struct Points {
    keys: BlockReader,
    blocks: BlockReader,
    /// Bytes of the keys.
    len: u64,
}

fn read_point(reader: &mut BlockReader, range: Range<u64>) -> Result<Vec<u8>> {
    reader.submit(range, 0)?;
    let block = reader.next()?.ok_or(Error::BadList("a file ended before its length"))?;
    Ok(block.bytes().to_vec())
}

fn narrow(v: u64) -> Result<u32> {
    u32::try_from(v).map_err(|_| Error::BadList("a vertex id does not fit 32 bits"))
}

fn read_u32(file: &Arc<PagedFile>, i: u64) -> Result<u32> {
    let bytes = read(file, i * 4..i * 4 + 4)?;
    Ok(u32::from_le_bytes(*bytes.first_chunk().ok_or(Error::BadList("an id file is too short"))?))
}

fn read_u64(file: &Arc<PagedFile>, i: u64) -> Result<u64> {
    let bytes = read(file, i * 8..i * 8 + 8)?;
    Ok(u64::from_le_bytes(*bytes.first_chunk().ok_or(Error::BadList("an id file is too short"))?))
}

/// Reads a small range.
fn read(file: &Arc<PagedFile>, range: Range<u64>) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    stream(file, range, &CancelToken::new(), |bytes| {
        all.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(all)
}

/// Reads a range in order, in constant memory, by pieces that are multiples of eight bytes.
pub(crate) fn stream(
    file: &Arc<PagedFile>,
    range: Range<u64>,
    cancel: &CancelToken,
    mut f: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    const PIECE: u64 = 256 << 10;
    if range.end > file.len() || range.start > range.end {
        return Err(Error::BadList("a range lies outside its file"));
    }
    let small = usize::try_from((range.end - range.start).clamp(4096, PIECE)).unwrap_or(4096);
    let mut reader = file.reader_with(
        &ReaderOptions { depth: 2, block: small, cancel: Some(cancel.clone()) },
        Arc::new(IoStats::new()),
    )?;
    let mut sent = range.start;
    let mut done = range.start;
    let mut early = std::collections::BTreeMap::new();
    while done < range.end {
        while sent < range.end && reader.pending() < 2 {
            let end = (sent + PIECE).min(range.end);
            reader.submit(sent..end, sent)?;
            sent = end;
        }
        let Some(block) = reader.next()? else {
            return Err(Error::BadList("a file ended before its length"));
        };
        early.insert(block.token, block);
        while let Some(block) = early.remove(&done) {
            done += block.bytes().len() as u64;
            f(block.bytes())?;
        }
    }
    Ok(())
}
