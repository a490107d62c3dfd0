//! The users' ids of all vertices by rank, which turn internal ids into rows of a table.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_array::builder::{Int64Builder, LargeBinaryBuilder, LargeStringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, LargeBinaryArray, LargeStringArray};
use arrow_schema::{DataType, Field};
use nakshi_store::{ExternalId, IdKind, IdMap, Key, is_canonical_integer};

use crate::Result;

/// Key in the metadata of a column of text that holds integers of any size.
pub const BIG: &str = "nakshi.integers";

/// Ids in ascending order; `rank` counts them from 0.
#[derive(Debug)]
enum Ids {
    /// Consecutive integers, by the first of them.
    Dense(i64),
    /// Integers close enough to the first for 32 bits each.
    Narrow(i64, Vec<u32>),
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Text(LargeStringArray),
    Bytes(LargeBinaryArray),
}

/// The ids of a store in memory: nothing for consecutive integers, else 4 to 8 bytes a vertex for
/// integers, and the texts themselves for texts. The order of the layout costs 4 bytes a vertex,
/// and 4 more once a column of vertices is read.
#[derive(Debug)]
pub struct Names {
    ids: Ids,
    /// True if the texts are integers of any size.
    big: bool,
    count: u64,
    /// Internal id of each rank; `None` if the two are equal.
    vertices: Option<Vec<u32>>,
    /// Rank of each internal id, computed at first use.
    ranks: OnceLock<Vec<u32>>,
}

impl Names {
    /// Reads the ids of a store.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn load(map: &IdMap) -> Result<Names> {
        let vertices = if map.ranks_are_internal() { None } else { Some(map.internal_by_rank()?) };
        Ok(Names {
            ids: load_ids(map)?,
            big: map.kind() == IdKind::Big,
            count: map.len(),
            vertices,
            ranks: OnceLock::new(),
        })
    }

    /// Names of a graph without a store: the internal ids themselves.
    pub fn dense(count: u64) -> Names {
        Names { ids: Ids::Dense(0), big: false, count, vertices: None, ranks: OnceLock::new() }
    }

    /// Names of a graph without a store, whose vertices are numbered in the order of their ids.
    pub fn integers(ascending: &[u64]) -> Names {
        let mut ids = Ids::Narrow(0, Vec::new());
        ascending.iter().zip(0..).for_each(|(&id, rank)| add(&mut ids, rank, i128::from(id)));
        Names { ids, ..Names::dense(ascending.len() as u64) }
    }

    /// Names of a graph without a store, whose vertices are numbered in the order of ids that servers have found.
    pub fn of_ids(ids: &nakshi_cluster::Ids) -> Names {
        let names = match ids {
            nakshi_cluster::Ids::Integers(ids) => return Names::integers(ids),
            nakshi_cluster::Ids::Names(names) => names,
        };
        let texts = names.iter().map(|name| std::str::from_utf8(name));
        let Ok(texts) = texts.collect::<std::result::Result<Vec<&str>, _>>() else {
            let ids = Ids::Bytes(names.iter().map(Some).collect());
            return Names { ids, ..Names::dense(names.len() as u64) };
        };
        let small = || texts.iter().map(|text| text.parse::<i64>());
        let whole = names.iter().all(|name| is_canonical_integer(name));
        let ids = match small().collect::<std::result::Result<Vec<i64>, _>>() {
            Ok(ids) if whole => Ids::Signed(ids),
            _ => Ids::Text(texts.iter().map(Some).collect()),
        };
        let big = whole && matches!(ids, Ids::Text(_));
        Names { ids, big, ..Names::dense(names.len() as u64) }
    }

    /// Names of a graph without a store, whose vertices are numbered as the rows of a column of ids, which
    /// ascend.
    ///
    /// # Errors
    /// A column of another type.
    pub fn of_column(field: &Field, column: &ArrayRef) -> Result<Names> {
        let mut integers = Ids::Narrow(0, Vec::new());
        let ids = match column.data_type() {
            DataType::Int64 => {
                let ids = column.as_primitive::<Int64Type>().values();
                ids.iter().zip(0..).for_each(|(id, rank)| add(&mut integers, rank, (*id).into()));
                integers
            }
            DataType::UInt64 => {
                let ids = column.as_primitive::<UInt64Type>().values();
                ids.iter().zip(0..).for_each(|(id, rank)| add(&mut integers, rank, (*id).into()));
                integers
            }
            DataType::LargeUtf8 => Ids::Text(column.as_string::<i64>().clone()),
            DataType::LargeBinary => Ids::Bytes(column.as_binary::<i64>().clone()),
            other => return Err(no_ids(other)),
        };
        let big = field.metadata().contains_key(BIG);
        Ok(Names { ids, big, ..Names::dense(column.len() as u64) })
    }

    /// The rank of each id of a column, such as [`Names::of_optional_ranks`] makes; `None` for a null.
    ///
    /// # Errors
    /// An id that is not there; a column of another type.
    pub fn ranks_of(&self, column: &ArrayRef) -> Result<Vec<Option<u32>>> {
        let all: Vec<u32> = (0..u32::try_from(self.count).unwrap_or(u32::MAX)).collect();
        let known = self.of_ranks(&all)?;
        let known: HashMap<Vec<u8>, u32> = keys(&known)?.into_iter().flatten().zip(all).collect();
        let rank = |key: Option<Vec<u8>>| {
            key.map(|key| known.get(&key).copied().ok_or_else(missing)).transpose()
        };
        keys(column)?.into_iter().map(rank).collect()
    }

    /// Number of vertices.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns true if there are no vertices.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A column of ids: `Int64`, `UInt64` where an id needs it, text or bytes. Integers beyond
    /// 64 bits are decimal text, with [`BIG`] in the metadata.
    pub fn field(&self, name: &str, nullable: bool) -> Field {
        let data_type = match self.ids {
            Ids::Dense(_) | Ids::Narrow(..) | Ids::Signed(_) => DataType::Int64,
            Ids::Unsigned(_) => DataType::UInt64,
            Ids::Text(_) => DataType::LargeUtf8,
            Ids::Bytes(_) => DataType::LargeBinary,
        };
        let field = Field::new(name, data_type, nullable);
        if !self.big {
            return field;
        }
        field.with_metadata([(BIG.to_owned(), "decimal".to_owned())].into())
    }

    /// The vertex of a rank.
    #[inline]
    pub fn vertex(&self, rank: u32) -> u32 {
        match &self.vertices {
            None => rank,
            Some(vertices) => vertices.get(rank as usize).copied().unwrap_or(rank),
        }
    }

    /// The rank of a vertex.
    pub fn rank(&self, vertex: u32) -> u32 {
        let Some(vertices) = &self.vertices else { return vertex };
        let ranks = self.ranks.get_or_init(|| {
            let mut ranks = vec![0; vertices.len()];
            for (rank, &vertex) in (0..).zip(vertices) {
                if let Some(slot) = ranks.get_mut(vertex as usize) {
                    *slot = rank;
                }
            }
            ranks
        });
        ranks.get(vertex as usize).copied().unwrap_or(vertex)
    }

    /// The ids of some ranks.
    ///
    /// # Errors
    /// A rank that does not exist.
    pub fn of_ranks(&self, ranks: &[u32]) -> Result<ArrayRef> {
        self.gather(ranks.iter().map(|&rank| Some(rank)))
    }

    /// The ids of some ranks; a gap becomes a null.
    ///
    /// # Errors
    /// A rank that does not exist.
    pub fn of_optional_ranks(&self, ranks: &[Option<u32>]) -> Result<ArrayRef> {
        self.gather(ranks.iter().copied())
    }

    fn gather(&self, ranks: impl Iterator<Item = Option<u32>>) -> Result<ArrayRef> {
        macro_rules! build {
            ($builder:expr, $get:expr) => {{
                let mut builder = $builder;
                for rank in ranks {
                    match rank {
                        Some(rank) => {
                            builder.append_value($get(rank as usize).ok_or_else(missing)?)
                        }
                        None => builder.append_null(),
                    }
                }
                Arc::new(builder.finish())
            }};
        }
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        Ok(match &self.ids {
            Ids::Dense(first) => build!(Int64Builder::new(), |rank: usize| {
                i64::try_from(rank).ok().filter(|_| rank < count).and_then(|r| first.checked_add(r))
            }),
            Ids::Narrow(first, offsets) => build!(Int64Builder::new(), |rank: usize| {
                offsets.get(rank).and_then(|&offset| first.checked_add(i64::from(offset)))
            }),
            Ids::Signed(ids) => build!(Int64Builder::new(), |rank: usize| ids.get(rank).copied()),
            Ids::Unsigned(ids) => {
                build!(UInt64Builder::new(), |rank: usize| ids.get(rank).copied())
            }
            Ids::Text(ids) => build!(LargeStringBuilder::new(), |rank: usize| {
                (rank < count).then(|| ids.value(rank))
            }),
            Ids::Bytes(ids) => build!(LargeBinaryBuilder::new(), |rank: usize| {
                (rank < count).then(|| ids.value(rank))
            }),
        })
    }
}

/// The vertex of a row as its store knows it: bytes only where they are not UTF-8.
///
/// # Errors
/// A column that has no vertices.
pub fn id_at(field: &Field, array: &ArrayRef, row: usize) -> Result<ExternalId> {
    Ok(match array.data_type() {
        DataType::Int64 => ExternalId::I64(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => {
            let id = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(id).map_or(ExternalId::U64(id), ExternalId::I64)
        }
        DataType::LargeUtf8 => {
            let text = array.as_string::<i64>().value(row);
            match field.metadata().contains_key(BIG) {
                true => {
                    text.parse().map_or_else(|_| ExternalId::Big(text.to_owned()), ExternalId::I64)
                }
                false => ExternalId::Text(text.to_owned()),
            }
        }
        DataType::LargeBinary => {
            let bytes = array.as_binary::<i64>().value(row).to_vec();
            String::from_utf8(bytes)
                .map_or_else(|error| ExternalId::Bytes(error.into_bytes()), ExternalId::Text)
        }
        _ => {
            return Err(
                nakshi_store::Error::Internal("a vertex is neither a number nor text").into()
            );
        }
    })
}

/// An id as JSON: a number where it fits 64 bits, else text.
pub fn json_id(id: &ExternalId) -> serde_json::Value {
    match id {
        ExternalId::U64(id) => (*id).into(),
        ExternalId::I64(id) => (*id).into(),
        ExternalId::Big(_) | ExternalId::Text(_) | ExternalId::Bytes(_) => id.to_string().into(),
    }
}

/// The bytes of each id of a column, the same for the same id; `None` for a null.
fn keys(column: &ArrayRef) -> Result<Vec<Option<Vec<u8>>>> {
    let rows = 0..column.len();
    let key: Box<dyn Fn(usize) -> Vec<u8>> = match column.data_type() {
        DataType::Int64 => {
            let ids = column.as_primitive::<Int64Type>();
            Box::new(|row| ids.value(row).to_le_bytes().to_vec())
        }
        DataType::UInt64 => {
            let ids = column.as_primitive::<UInt64Type>();
            Box::new(|row| ids.value(row).to_le_bytes().to_vec())
        }
        DataType::LargeUtf8 => {
            let ids = column.as_string::<i64>();
            Box::new(|row| ids.value(row).as_bytes().to_vec())
        }
        DataType::LargeBinary => {
            let ids = column.as_binary::<i64>();
            Box::new(|row| ids.value(row).to_vec())
        }
        other => return Err(no_ids(other)),
    };
    Ok(rows.map(|row| (!column.is_null(row)).then(|| key(row))).collect())
}

fn no_ids(found: &DataType) -> crate::Error {
    arrow_schema::ArrowError::SchemaError(format!("ids are never {found}")).into()
}

fn missing() -> crate::Error {
    arrow_schema::ArrowError::ComputeError("a vertex is not in the id dictionary".into()).into()
}

fn load_ids(map: &IdMap) -> Result<Ids> {
    Ok(match map.kind() {
        IdKind::Dense => Ids::Dense(map.dense_first().unwrap_or(0)),
        IdKind::U64 | IdKind::I64 => load_integers(map)?,
        IdKind::Bytes => {
            let mut builder = LargeBinaryBuilder::new();
            map.for_each(|_, key| {
                if let Key::Bytes(bytes) = key {
                    builder.append_value(bytes);
                }
                Ok(())
            })?;
            Ids::Bytes(builder.finish())
        }
        IdKind::Text | IdKind::Big => {
            let mut builder = LargeStringBuilder::new();
            map.for_each(|_, key| {
                if let Key::Bytes(bytes) = key {
                    // The import checked the text, and a damaged page fails its checksum.
                    builder.append_value(String::from_utf8_lossy(bytes));
                }
                Ok(())
            })?;
            Ids::Text(builder.finish())
        }
    })
}

/// Reads integers, as 32-bit distances from the first of them where all distances fit.
fn load_integers(map: &IdMap) -> Result<Ids> {
    let mut ids = Ids::Narrow(0, Vec::new());
    map.for_each(|rank, key| {
        let id = match key {
            Key::U64(id) => i128::from(id),
            Key::I64(id) => i128::from(id),
            Key::Bytes(_) => return Ok(()),
        };
        add(&mut ids, rank, id);
        Ok(())
    })?;
    Ok(ids)
}

/// Appends the id of a rank, in a representation that has room for it.
fn add(ids: &mut Ids, rank: u64, id: i128) {
    if rank == 0
        && let Ok(first) = i64::try_from(id)
    {
        *ids = Ids::Narrow(first, Vec::new());
    }
    if !push(ids, id) {
        *ids = widen(std::mem::replace(ids, Ids::Dense(0)), id);
        push(ids, id);
    }
}

/// Appends an id if its representation has room for it.
fn push(ids: &mut Ids, id: i128) -> bool {
    macro_rules! append {
        ($ids:expr, $value:expr) => {
            $value.map(|value| $ids.push(value)).is_ok()
        };
    }
    match ids {
        // The first id is near 2^63, and this one is beyond: a column of `i64` has no room for it.
        Ids::Narrow(..) if i64::try_from(id).is_err() => false,
        Ids::Narrow(first, offsets) => append!(offsets, u32::try_from(id - i128::from(*first))),
        Ids::Signed(ids) => append!(ids, i64::try_from(id)),
        Ids::Unsigned(ids) => append!(ids, u64::try_from(id)),
        Ids::Dense(_) | Ids::Text(_) | Ids::Bytes(_) => false,
    }
}

/// The ids so far in a representation that has room for `id`, which is larger than all of them.
fn widen(ids: Ids, id: i128) -> Ids {
    let wide: Vec<i64> = match ids {
        Ids::Narrow(first, offsets) => {
            offsets.into_iter().map(|offset| first + i64::from(offset)).collect()
        }
        Ids::Signed(ids) => ids,
        other => return other,
    };
    if i64::try_from(id).is_ok() {
        return Ids::Signed(wide);
    }
    // Beyond 2^63 - 1 the dictionary is unsigned, so that none of the ids is negative.
    Ids::Unsigned(wide.into_iter().map(|id| u64::try_from(id).unwrap_or(0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen red with distances from the first id that reach beyond 2^63 - 1: "a vertex is not in the
    /// id dictionary".
    #[test]
    fn integers_on_both_sides_of_2_to_the_63() -> Result<()> {
        let border = 1u64 << 63;
        for ascending in [
            vec![border - 1, border],
            vec![border - 2, border - 1, border, u64::MAX],
            vec![0, border],
            vec![border, border + 1],
            vec![border - 2, border - 1],
        ] {
            let names = Names::integers(&ascending);
            let ranks: Vec<u32> = (0..).take(ascending.len()).collect();
            let ids = names.of_ranks(&ranks)?;
            assert_eq!(ids.data_type(), names.field("id", false).data_type());
            let found: Vec<u64> = match ids.data_type() {
                DataType::Int64 => {
                    let ids = ids.as_primitive::<Int64Type>().values();
                    ids.iter().filter_map(|&id| u64::try_from(id).ok()).collect()
                }
                _ => ids.as_primitive::<UInt64Type>().values().to_vec(),
            };
            assert_eq!(found, ascending);
        }
        Ok(())
    }
}
