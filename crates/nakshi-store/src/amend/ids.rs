//! The ids of an amended store.

use std::cmp::Ordering;

use super::job::AmendJob;
use crate::ids::keys::Key;
use crate::{Error, ExternalId, IdKind, IdMap, Result, StoreBuilder, VertexId};

impl AmendJob<'_> {
    /// Writes the ids of the vertices that stay, and those of new ones among them.
    pub(super) fn write_ids(&self, builder: &mut StoreBuilder) -> Result<()> {
        let ids = self.source.ids()?.until(&self.hooks.cancel);
        if self.changes.added.is_empty() && self.changes.removed.is_empty() {
            return copy(&ids, builder);
        }
        let kind = kind(&ids, self.changes.added)?;
        let mut added = self.new_ids(kind)?.into_iter().peekable();
        let order = if ids.ranks_are_internal() { None } else { Some(ids.internal_by_rank()?) };
        builder.begin_ids(kind)?;
        builder.begin_order()?;
        let mut push = |key: Key<'_>, place| {
            builder.push_id(key)?;
            builder.push_order(place)
        };
        ids.for_each(|rank, key| {
            let v = match &order {
                None => VertexId::try_from(rank).ok(),
                Some(order) => usize::try_from(rank).ok().and_then(|r| order.get(r)).copied(),
            };
            let v = v.ok_or(Error::BadList("an id order has another length than the graph"))?;
            let Some(place) = self.places.of(v) else { return Ok(()) };
            let wide;
            let key = if kind == ids.kind() {
                key
            } else {
                wide = key.to_external(ids.kind())?.in_kind(kind).ok_or_else(misfit)?;
                borrowed(&wide)
            };
            while let Some((id, new)) =
                added.next_if(|(id, _)| key.compare(kind, id) == Ordering::Greater)
            {
                push(borrowed(&id), new)?;
            }
            push(key, place)
        })?;
        added.try_for_each(|(id, new)| {
            self.hooks.check()?;
            push(borrowed(&id), new)
        })?;
        builder.finish_ids(None)
    }

    /// The new ids that stay, ascending, with the numbers of their vertices.
    fn new_ids(&self, kind: IdKind) -> Result<Vec<(ExternalId, VertexId)>> {
        let mut found = Vec::new();
        for (id, v) in self.changes.added.iter().zip(self.source.num_vertices()..) {
            self.hooks.check()?;
            let v = VertexId::try_from(v).ok().and_then(|v| self.places.of(v));
            if let Some(place) = v {
                found.push((id.in_kind(kind).ok_or_else(misfit)?, place));
            }
        }
        found.sort_by(|(a, _), (b, _)| borrowed(a).compare(kind, b));
        Ok(found)
    }
}

/// Copies the ids of the source.
fn copy(ids: &IdMap, builder: &mut StoreBuilder) -> Result<()> {
    if ids.kind() != IdKind::Dense {
        builder.begin_ids(ids.kind())?;
        ids.for_each(|_, key| builder.push_id(key))?;
    }
    if !ids.ranks_are_internal() {
        builder.begin_order()?;
        ids.internal_by_rank()?.into_iter().try_for_each(|v| builder.push_order(v))?;
    }
    match ids.dense_first() {
        Some(first) => builder.set_dense_ids(first, None),
        None => builder.finish_ids(None),
    }
}

/// The narrowest kind that holds the ids of a store and new ids; an import would choose the same.
fn kind(ids: &IdMap, added: &[ExternalId]) -> Result<IdKind> {
    let empty = ids.is_empty();
    let integers = !matches!(ids.kind(), IdKind::Text | IdKind::Bytes);
    for kind in [IdKind::U64, IdKind::I64, IdKind::Big, IdKind::Text, IdKind::Bytes] {
        if !added.iter().all(|id| id.in_kind(kind).is_some()) {
            continue;
        }
        let holds = match kind {
            _ if empty => true,
            IdKind::U64 => {
                ids.kind() == IdKind::U64 || ids.dense_first().is_some_and(|first| first >= 0)
            }
            IdKind::I64 => match ids.kind() {
                IdKind::Dense | IdKind::I64 => true,
                IdKind::U64 => fits_signed(ids)?,
                _ => false,
            },
            IdKind::Big => integers,
            IdKind::Text => ids.kind() == IdKind::Text,
            _ => !integers,
        };
        if holds {
            return Ok(kind);
        }
    }
    Err(misfit())
}

/// Returns true if all ids, which are unsigned, are also signed integers of 64 bits.
fn fits_signed(ids: &IdMap) -> Result<bool> {
    let mut fits = true;
    ids.for_each(|_, key| {
        fits &= !matches!(key, Key::U64(id) if i64::try_from(id).is_err());
        Ok(())
    })?;
    Ok(fits)
}

fn borrowed(id: &ExternalId) -> Key<'_> {
    match id {
        ExternalId::U64(id) => Key::U64(*id),
        ExternalId::I64(id) => Key::I64(*id),
        ExternalId::Big(id) | ExternalId::Text(id) => Key::Bytes(id.as_bytes()),
        ExternalId::Bytes(id) => Key::Bytes(id),
    }
}

fn misfit() -> Error {
    Error::Internal("the ids of new vertices are of another kind than the others")
}
