//! The ids of a store in memory, in the form that answers look-ups fastest.
//!
//! Integers that lie close together take two arrays of 32 bits: the vertex of each integer, and the
//! integer of each vertex, as a distance from the smallest. All other ids stay encoded, as in
//! [`ResidentIds`].

use nakshi_engine::{self as engine, CancelToken, VertexId};
use nakshi_store::{Error, ExternalId, IdKind, IdMap, Key, ResidentIds, Result, Store};

use super::ids::Form;

/// Integers that an array by integer may have for each vertex, and beyond.
const SPREAD: u64 = 4;
const SLACK: u64 = 1 << 16;

/// The ids of a store, in memory.
#[derive(Debug)]
pub(super) enum Dictionary {
    /// Integers that lie close together.
    Close(CloseIds),
    /// All other ids.
    Encoded(Box<ResidentIds>),
}

/// Integers from `first` on.
#[derive(Debug)]
pub(super) struct CloseIds {
    first: i64,
    /// The vertex of the integer at a distance from the first, and 1; 0 where there is none.
    vertices: Vec<u32>,
    /// The distance of the integer of each vertex.
    distances: Vec<u32>,
}

/// The smallest integer of a store and the distance of the largest, if they lie close together.
fn close(map: &IdMap) -> Result<Option<(i64, u64)>> {
    let count = map.len();
    if let Some(first) = map.dense_first() {
        return Ok((count > 0).then(|| (first, count - 1)));
    }
    if !matches!(map.kind(), IdKind::U64 | IdKind::I64) {
        return Ok(None);
    }
    let whole = |id: &ExternalId| match id {
        ExternalId::I64(id) => Some(*id),
        ExternalId::U64(id) => i64::try_from(*id).ok(),
        _ => None,
    };
    let Some((first, last)) = map.ends()? else { return Ok(None) };
    let (Some(first), Some(last)) = (whole(&first), whole(&last)) else { return Ok(None) };
    let distance = u64::try_from(i128::from(last) - i128::from(first)).unwrap_or(u64::MAX);
    let most = count.saturating_mul(SPREAD).saturating_add(SLACK).min(u32::MAX.into());
    Ok((distance < most && count < u64::from(u32::MAX)).then_some((first, distance)))
}

impl Dictionary {
    /// Bytes of memory that the ids of a store take.
    pub(super) fn memory_of(store: &Store) -> Result<u64> {
        let map = store.ids()?;
        Ok(match close(&map)? {
            Some((_, distance)) => 4 * (map.len() + distance + 1),
            None => store.ids_memory(),
        })
    }

    /// Reads the ids of a store.
    pub(super) fn load(store: &Store, cancel: &CancelToken) -> Result<Dictionary> {
        let map = store.ids()?.until(cancel);
        let Some((first, distance)) = close(&map)? else {
            return Ok(Dictionary::Encoded(Box::new(ResidentIds::load(&map, cancel)?)));
        };
        let internal = map.internal_by_rank()?;
        let zeros = |count: u64| {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let needed = (count as u64).saturating_mul(4);
            engine::shared::zeroed::<u32>(count, "ids")
                .map_err(|_| Error::Budget { needed, given: 0 })
        };
        let (mut vertices, mut distances) = (zeros(distance + 1)?, zeros(map.len())?);
        map.for_each(|rank, key| {
            let id = match key {
                Key::I64(id) => i128::from(id),
                Key::U64(id) => i128::from(id),
                Key::Bytes(_) => return Err(damaged()),
            };
            let at = usize::try_from(id - i128::from(first)).map_err(|_| damaged())?;
            let vertex = usize::try_from(rank).ok().and_then(|rank| internal.get(rank).copied());
            let vertex = vertex.ok_or_else(damaged)?;
            let slot = vertices.get_mut(at).ok_or_else(damaged)?;
            *slot = vertex.checked_add(1).ok_or_else(damaged)?;
            // Lossless: below the length of an array that 32 bits count.
            *distances.get_mut(vertex as usize).ok_or_else(damaged)? = at as u32;
            Ok(())
        })?;
        Ok(Dictionary::Close(CloseIds { first, vertices, distances }))
    }

    /// The form of the ids in answers.
    pub(super) fn form(&self) -> crate::Result<Form> {
        match self {
            Dictionary::Close(_) => Ok(Form::Signed),
            Dictionary::Encoded(ids) => Form::of(ids),
        }
    }

    /// The vertex of an id; `None` if the graph does not have it.
    #[inline]
    pub(super) fn vertex(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        match (self, id) {
            (Dictionary::Close(ids), ExternalId::I64(id)) => Ok(ids.vertex(*id)),
            (Dictionary::Close(ids), ExternalId::U64(id)) => {
                Ok(i64::try_from(*id).ok().and_then(|id| ids.vertex(id)))
            }
            // Decimal text is the integer that it stands for, if it is how the integer is written.
            (Dictionary::Close(ids), other) => {
                let text = match other {
                    ExternalId::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    other => other.to_string(),
                };
                let number = text.parse::<i64>().ok().filter(|id| id.to_string() == text);
                Ok(number.and_then(|id| ids.vertex(id)))
            }
            (Dictionary::Encoded(ids), id) => ids.internal(id),
        }
    }

    /// The vertex of each of some integers, if an array has them: the processor then fetches the
    /// answers of several at once.
    #[inline]
    pub(super) fn vertices_of(
        &self,
        integers: &[i64],
    ) -> Option<impl Iterator<Item = Option<VertexId>>> {
        match self {
            Dictionary::Close(ids) => Some(integers.iter().map(|&id| ids.vertex(id))),
            Dictionary::Encoded(_) => None,
        }
    }

    /// The id of a vertex.
    pub(super) fn external(&self, v: VertexId) -> Result<ExternalId> {
        match self {
            Dictionary::Close(ids) => ids.id(v).map(ExternalId::I64).ok_or_else(damaged),
            Dictionary::Encoded(ids) => ids.external(v),
        }
    }

    /// Writes the ids of `vertices`, which are integers, to `out`, which is as long.
    #[inline]
    pub(super) fn write_integers(&self, vertices: &[VertexId], out: &mut [i64]) -> Result<()> {
        match self {
            Dictionary::Close(ids) => {
                for (slot, &v) in out.iter_mut().zip(vertices) {
                    *slot = ids.id(v).ok_or_else(damaged)?;
                }
                Ok(())
            }
            Dictionary::Encoded(ids) => ids.write_integers(vertices, out),
        }
    }
}

impl CloseIds {
    #[inline]
    fn vertex(&self, id: i64) -> Option<VertexId> {
        let at = usize::try_from(id.checked_sub(self.first)?).ok()?;
        self.vertices.get(at)?.checked_sub(1)
    }

    #[inline]
    fn id(&self, v: VertexId) -> Option<i64> {
        let distance = self.distances.get(v as usize)?;
        Some(self.first.wrapping_add(i64::from(*distance)))
    }
}

#[cold]
fn damaged() -> Error {
    Error::BadList("the id dictionary does not decode")
}
