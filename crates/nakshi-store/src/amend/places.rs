//! The new numbers of vertices.

use crate::{Error, ExternalId, Result, VertexId};

/// Vertices to add to a store, and vertices to remove from it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Amendment<'a> {
    /// Ids of new vertices. Their numbers follow those of the source.
    pub added: &'a [ExternalId],
    /// Numbers of the vertices to remove with all their edges, ascending; new ones may be among them.
    pub removed: &'a [VertexId],
}

/// Mark of a removed vertex.
const GONE: VertexId = VertexId::MAX;

/// The new number of each vertex; vertices that stay keep their order.
pub(super) enum NewNumbers {
    /// Every vertex stays; the number of vertices.
    Same(u64),
    /// The new number of each vertex or [`GONE`], and how many stay.
    Moved(Vec<VertexId>, u64),
}

impl NewNumbers {
    /// The new numbers in a source with `vertices` vertices.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for more than 2^32 vertices; [`Error::Invalid`] if the vertices to
    /// remove are not ascending or do not exist.
    pub(super) fn new(vertices: u64, changes: Amendment<'_>) -> Result<Self> {
        let all = vertices + changes.added.len() as u64;
        let count = crate::permutation::check_count(all)?;
        if changes.removed.is_empty() {
            return Ok(Self::Same(all));
        }
        let (mut places, mut removed) = (Vec::new(), changes.removed.iter().peekable());
        places.try_reserve_exact(count).map_err(|_| Error::Budget { needed: 4 * all, given: 0 })?;
        let mut next = 0;
        for v in 0..all {
            if removed.next_if(|&&gone| u64::from(gone) == v).is_some() {
                places.push(GONE);
                continue;
            }
            places.push(next);
            next += 1;
        }
        match removed.next() {
            Some(v) => Err(Error::Invalid(format!("vertex {v} goes twice, or is not there"))),
            None => Ok(Self::Moved(places, next.into())),
        }
    }

    /// Number of vertices that stay, new ones included.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Same(count) | Self::Moved(_, count) => *count,
        }
    }

    /// The new number of a vertex; `None` if it is removed.
    #[inline]
    pub(super) fn of(&self, v: VertexId) -> Option<VertexId> {
        match self {
            Self::Same(_) => Some(v),
            Self::Moved(places, _) => places.get(v as usize).copied().filter(|new| *new != GONE),
        }
    }

    /// Renumbers an ascending list, without removed neighbours.
    pub(super) fn renumber(&self, list: &mut Vec<VertexId>) {
        if let Self::Moved(..) = self {
            list.retain_mut(|v| self.of(*v).inspect(|new| *v = *new).is_some());
        }
    }
}
