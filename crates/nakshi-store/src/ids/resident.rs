//! External ids in memory, encoded as on disk: look-ups without a read.

use std::cmp::Ordering;

use nakshi_io::{CancelToken, Resident};

use super::keys::{self, BLOCK, Key};
use super::{ExternalId, IdKind, IdMap};
use crate::{Error, Result, VertexId};

/// An [`IdMap`] with its files in memory.
#[derive(Debug)]
pub struct ResidentIds {
    kind: IdKind,
    count: u64,
    first: i64,
    /// Keys, and the offsets of their blocks.
    keys: Option<(Resident, Resident)>,
    /// The first id of each block, if ids are integers of 64 bits.
    firsts: Vec<i128>,
    /// Internal id of each rank, and rank of each internal id.
    orders: Option<(Resident, Resident)>,
}

impl ResidentIds {
    /// Reads the files of `map`.
    ///
    /// # Errors
    /// Read errors; [`Error::Cancelled`].
    pub fn load(map: &IdMap, cancel: &CancelToken) -> Result<Self> {
        let pair = |files: &Option<_>| -> Result<Option<(Resident, Resident)>> {
            let Some((a, b)): &Option<(std::sync::Arc<nakshi_io::PagedFile>, _)> = files else {
                return Ok(None);
            };
            let b: &std::sync::Arc<nakshi_io::PagedFile> = b;
            Ok(Some((a.load(cancel)?, b.load(cancel)?)))
        };
        let mut ids = ResidentIds {
            kind: map.kind,
            count: map.count,
            first: map.first,
            keys: pair(&map.keys)?,
            firsts: Vec::new(),
            orders: pair(&map.orders)?,
        };
        if matches!(ids.kind, IdKind::U64 | IdKind::I64) {
            let mut firsts = Vec::new();
            for block in 0..ids.count.div_ceil(BLOCK) {
                ids.block(block, 1, |_, key| {
                    firsts.extend(integer(&key.to_external(ids.kind)?));
                    Ok(())
                })?;
            }
            ids.firsts = firsts;
        }
        Ok(ids)
    }

    /// The kind of the ids.
    pub fn kind(&self) -> IdKind {
        self.kind
    }

    /// The largest id; `None` without vertices.
    ///
    /// # Errors
    /// Damage.
    pub fn last(&self) -> Result<Option<ExternalId>> {
        let Some(rank) = self.count.checked_sub(1) else { return Ok(None) };
        let vertex = match &self.orders {
            Some((internal, _)) => number(internal, rank)?,
            None => u32::try_from(rank).map_err(|_| short())?,
        };
        self.external(vertex).map(Some)
    }

    /// Writes the ids of `vertices`, which are integers of 64 bits with a sign, to `out`, which is as long.
    ///
    /// # Errors
    /// [`Error::Invalid`] for ids of another kind, or a vertex that is not there; damage.
    pub fn write_integers(&self, vertices: &[VertexId], out: &mut [i64]) -> Result<()> {
        for (slot, &v) in out.iter_mut().zip(vertices) {
            *slot = match self.external(v)? {
                ExternalId::I64(id) => id,
                ExternalId::U64(id) => i64::try_from(id).map_err(|_| wide(id))?,
                other => return Err(Error::Invalid(format!("{other} is no integer"))),
            };
        }
        Ok(())
    }

    /// Finds an id like [`IdMap::internal`].
    ///
    /// # Errors
    /// Damage.
    pub fn internal(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        let dense = self.keys.is_none().then_some((self.first, self.count));
        let rank = id.rank(self.kind, dense, |id| self.search(id))?;
        match (rank, &self.orders) {
            (None, _) => Ok(None),
            (Some(rank), Some((internal, _))) => number(internal, rank).map(Some),
            (Some(rank), None) => u32::try_from(rank).map(Some).map_err(|_| short()),
        }
    }

    /// Returns the form that all equal ids share, even if this dictionary could not hold it.
    pub fn canonical(&self, id: &ExternalId) -> ExternalId {
        id.in_kind(self.kind).unwrap_or_else(|| id.plain())
    }

    /// Returns true if an id is of the same kind as those of the graph: integers of any size, text,
    /// or bytes.
    pub fn takes(&self, id: &ExternalId) -> bool {
        let kind = match self.kind {
            IdKind::Dense | IdKind::U64 | IdKind::I64 | IdKind::Big => IdKind::Big,
            other => other,
        };
        id.in_kind(kind).is_some()
    }

    /// Returns the name of the ids' kind.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            IdKind::Text => "text",
            IdKind::Bytes => "bytes",
            _ => "integers",
        }
    }

    /// Finds an id like [`IdMap::external`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for a vertex that does not exist; damage.
    pub fn external(&self, v: VertexId) -> Result<ExternalId> {
        if u64::from(v) >= self.count {
            return Err(Error::Invalid(format!("there is no vertex {v}, only {}", self.count)));
        }
        let rank = match &self.orders {
            Some((_, ranks)) => number(ranks, v.into())?.into(),
            None => u64::from(v),
        };
        if self.keys.is_none() {
            let id = i64::try_from(i128::from(self.first) + i128::from(rank));
            return id.map(ExternalId::I64).map_err(|_| short());
        }
        if let Some(first) = usize::try_from(rank / BLOCK).ok().and_then(|b| self.firsts.get(b)) {
            let found = keys::integer_at(self.bytes(rank / BLOCK)?, *first, rank % BLOCK)?;
            return match self.kind {
                IdKind::U64 => u64::try_from(found).map(ExternalId::U64),
                _ => i64::try_from(found).map(ExternalId::I64),
            }
            .map_err(|_| short());
        }
        let mut found = None;
        self.block(rank / BLOCK, rank % BLOCK + 1, |at, key| {
            if at == rank {
                found = Some(key.to_external(self.kind)?);
            }
            Ok(())
        })?;
        found.ok_or_else(short)
    }

    /// Finds the rank of `id`: searches the last block that begins at or before it, entry by entry.
    fn search(&self, id: &ExternalId) -> Result<Option<u64>> {
        if let Some(id) = integer(id).filter(|_| !self.firsts.is_empty()) {
            return self.search_integer(id);
        }
        let (mut low, mut high) = (0, self.count.div_ceil(BLOCK));
        while low < high {
            let middle = low + (high - low) / 2;
            let mut order = Ordering::Greater;
            self.block(middle, 1, |_, key| {
                order = key.compare(self.kind, id);
                Ok(())
            })?;
            if order == Ordering::Greater { high = middle } else { low = middle + 1 }
        }
        let Some(block) = low.checked_sub(1) else { return Ok(None) };
        let mut found = None;
        self.block(block, BLOCK, |rank, key| {
            if key.compare(self.kind, id) == Ordering::Equal {
                found = Some(rank);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Finds a rank like [`search`](Self::search), by the first integers of the blocks.
    fn search_integer(&self, id: i128) -> Result<Option<u64>> {
        let after = self.firsts.partition_point(|first| *first <= id);
        let Some((first, block)) = self.firsts[..after].last().zip(after.checked_sub(1)) else {
            return Ok(None);
        };
        let begin = block as u64 * BLOCK;
        let count = BLOCK.min(self.count - begin);
        let place = keys::place_of(self.bytes(block as u64)?, *first, id, count)?;
        Ok(place.map(|place| begin + place))
    }

    /// Calls `f` with rank and id of the first `count` ids of a block.
    fn block(
        &self,
        block: u64,
        count: u64,
        mut f: impl FnMut(u64, Key<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut rank = block * BLOCK;
        let count = count.min(self.count.saturating_sub(rank));
        keys::decode_block(self.kind, self.bytes(block)?, count, &mut Vec::new(), |key| {
            f(rank, key)?;
            rank += 1;
            Ok(())
        })?;
        Ok(())
    }

    /// Returns the bytes of the keys from the beginning of a block on.
    fn bytes(&self, block: u64) -> Result<&[u8]> {
        let (keys, blocks) = self.keys.as_ref().ok_or_else(short)?;
        let offsets = blocks.as_chunks::<8>().0;
        let offset = usize::try_from(block).ok().and_then(|block| offsets.get(block));
        let offset = u64::from_le_bytes(*offset.ok_or_else(short)?);
        let bytes = usize::try_from(offset).ok().and_then(|from| keys.get(from..));
        bytes.ok_or_else(short)
    }
}

fn integer(id: &ExternalId) -> Option<i128> {
    match id {
        ExternalId::U64(v) => Some((*v).into()),
        ExternalId::I64(v) => Some((*v).into()),
        _ => None,
    }
}

fn number(file: &Resident, i: u64) -> Result<u32> {
    let numbers = file.as_chunks::<4>().0;
    let number = usize::try_from(i).ok().and_then(|i| numbers.get(i));
    Ok(u32::from_le_bytes(*number.ok_or_else(short)?))
}

fn wide(id: u64) -> Error {
    Error::Invalid(format!("{id} takes more than 63 bits"))
}

fn short() -> Error {
    Error::BadList("the id dictionary is too short")
}
