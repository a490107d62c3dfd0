//! The external id of every vertex, in memory.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, StringArray, UInt64Array};
use arrow_schema::DataType;

use crate::decimal::decimal;
use crate::hooks::Hooks;
use crate::{Error, IdKind, IdMap, Key, Result, Store, VertexId};

/// Number of ids read between two checks of the token.
const STEP: u64 = 1 << 16;

/// External ids by internal id.
pub struct Names {
    kind: IdKind,
    ids: IdValues,
}

enum IdValues {
    Unsigned(Vec<u64>),
    Signed(Vec<i64>),
    /// Ids in rank order, the offset of each, and the rank of each vertex.
    Bytes {
        text: Vec<u8>,
        starts: Vec<u64>,
        ranks: Vec<u32>,
    },
}

/// Looks at the token after every [`STEP`] ids.
fn check(rank: u64, hooks: &Hooks) -> Result<()> {
    if rank.is_multiple_of(STEP) { hooks.check() } else { Ok(()) }
}

/// Reads ids that are integers, by internal id; `get` returns the integer of a key.
fn integers<T: Clone + Default>(
    map: &IdMap,
    hooks: &Hooks,
    get: impl Fn(Key<'_>) -> Option<T>,
) -> Result<Vec<T>> {
    let vertices = map.internal_by_rank()?;
    let mut ids = vec![T::default(); vertices.len()];
    map.for_each(|rank, key| {
        let vertex = usize::try_from(rank).ok().and_then(|rank| vertices.get(rank));
        let slot = vertex.and_then(|&v| ids.get_mut(v as usize));
        if let (Some(slot), Some(id)) = (slot, get(key)) {
            *slot = id;
        }
        check(rank, hooks)
    })?;
    Ok(ids)
}

impl Names {
    /// Reads all ids.
    pub fn load(store: &Store, hooks: &Hooks) -> Result<Self> {
        let map = store.ids()?;
        let kind = map.kind();
        let ids = match kind {
            IdKind::U64 => {
                let get = |key: Key<'_>| if let Key::U64(id) = key { Some(id) } else { None };
                IdValues::Unsigned(integers(&map, hooks, get)?)
            }
            IdKind::Dense | IdKind::I64 => {
                let get = |key: Key<'_>| if let Key::I64(id) = key { Some(id) } else { None };
                IdValues::Signed(integers(&map, hooks, get)?)
            }
            IdKind::Big | IdKind::Text | IdKind::Bytes => {
                let (mut text, mut starts) = (Vec::new(), vec![0]);
                map.for_each(|rank, key| {
                    if let Key::Bytes(bytes) = key {
                        text.extend_from_slice(bytes);
                    }
                    starts.push(text.len() as u64);
                    check(rank, hooks)
                })?;
                IdValues::Bytes { text, starts, ranks: map.rank_of()? }
            }
        };
        Ok(Self { kind, ids })
    }

    /// Returns true if ids are text, which may need quotes and a header.
    pub fn is_text(&self) -> bool {
        matches!(self.kind, IdKind::Text | IdKind::Bytes)
    }

    /// Returns the number of vertices.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks if there are no names")]
    pub fn len(&self) -> usize {
        match &self.ids {
            IdValues::Unsigned(ids) => ids.len(),
            IdValues::Signed(ids) => ids.len(),
            IdValues::Bytes { ranks, .. } => ranks.len(),
        }
    }

    fn bytes(&self, v: VertexId) -> &[u8] {
        let IdValues::Bytes { text, starts, ranks } = &self.ids else { return &[] };
        let rank = ranks.get(v as usize).map_or(0, |&rank| rank as usize);
        let start = |rank: usize| {
            starts.get(rank).and_then(|&start| usize::try_from(start).ok()).unwrap_or(0)
        };
        text.get(start(rank)..start(rank + 1)).unwrap_or_default()
    }

    /// Appends the id of `v`, in quotes if it could not be read back without them.
    pub fn write(&self, v: VertexId, separator: u8, out: &mut Vec<u8>) -> Result<()> {
        match &self.ids {
            IdValues::Bytes { .. } => quote(self.bytes(v), separator, out)?,
            IdValues::Unsigned(_) | IdValues::Signed(_) => self.put(v, out),
        }
        Ok(())
    }

    /// Appends the id of `v` as it is.
    pub fn put(&self, v: VertexId, out: &mut Vec<u8>) {
        let mut digits = [0; 20];
        match &self.ids {
            IdValues::Unsigned(ids) => {
                out.extend_from_slice(decimal(
                    ids.get(v as usize).copied().unwrap_or(0),
                    &mut digits,
                ));
            }
            IdValues::Signed(ids) => {
                let id = ids.get(v as usize).copied().unwrap_or(0);
                if id < 0 {
                    out.push(b'-');
                }
                out.extend_from_slice(decimal(id.unsigned_abs(), &mut digits));
            }
            IdValues::Bytes { .. } => out.extend_from_slice(self.bytes(v)),
        }
    }

    /// Returns the ids of some vertices as an Arrow array.
    pub fn array(&self, vertices: &[VertexId]) -> Result<ArrayRef> {
        let index = |v: &VertexId| *v as usize;
        Ok(match &self.ids {
            IdValues::Unsigned(ids) => Arc::new(
                vertices
                    .iter()
                    .map(|v| ids.get(index(v)).copied().unwrap_or(0))
                    .collect::<UInt64Array>(),
            ),
            IdValues::Signed(ids) => Arc::new(
                vertices
                    .iter()
                    .map(|v| ids.get(index(v)).copied().unwrap_or(0))
                    .collect::<Int64Array>(),
            ),
            IdValues::Bytes { .. } if self.kind == IdKind::Bytes => {
                Arc::new(BinaryArray::from_iter_values(vertices.iter().map(|&v| self.bytes(v))))
            }
            IdValues::Bytes { .. } => {
                let texts = vertices.iter().map(|&v| std::str::from_utf8(self.bytes(v)));
                let texts = texts
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|_| Error::BadList("a text id is not UTF-8"))?;
                Arc::new(StringArray::from_iter_values(texts))
            }
        })
    }

    /// Returns the type of [`Names::array`].
    pub fn data_type(&self) -> DataType {
        match (&self.ids, self.kind) {
            (IdValues::Unsigned(_), _) => DataType::UInt64,
            (IdValues::Signed(_), _) => DataType::Int64,
            (IdValues::Bytes { .. }, IdKind::Bytes) => DataType::Binary,
            (IdValues::Bytes { .. }, _) => DataType::Utf8,
        }
    }
}

/// Appends an id to a line. Quotes protect separators, comment marks, and blanks at its ends.
fn quote(id: &[u8], separator: u8, out: &mut Vec<u8>) -> Result<()> {
    if memchr::memchr2(b'\n', b'\r', id).is_some() {
        return Err(Error::Invalid(format!(
            "the id '{}' has a line break, which text formats cannot hold; export to Parquet",
            id.escape_ascii()
        )));
    }
    let plain = id.trim_ascii().len() == id.len()
        && memchr::memchr2(separator, b'"', id).is_none()
        && !(separator == b' ' && id.contains(&b'\t'))
        && !matches!(id.first(), None | Some(b'#' | b'%'));
    if plain {
        out.extend_from_slice(id);
        return Ok(());
    }
    out.push(b'"');
    for &byte in id {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
    Ok(())
}
