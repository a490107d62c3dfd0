//! Sizes of blocks and groups, and sums by position in a list.

use crate::{Error, VertexId};

/// Most neighbours passed to a visitor at a time.
pub const BLOCK: usize = 128;

/// Number of gaps that share one width.
pub(crate) const GROUP: usize = 8;

pub(super) const NO_VERTEX: Error = Error::BadList("a neighbour is no vertex of the graph");

/// Largest id that may occur, if no id is above `max` and each has a value; `None` without values.
#[inline]
pub(super) fn bound<T>(values: &[T], max: VertexId) -> Option<VertexId> {
    let last = values.len().checked_sub(1)?;
    Some(VertexId::try_from(last).map_or(max, |last| last.min(max)))
}

/// Eight partial sums, one for each position modulo eight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lanes(pub(super) [f64; Self::WIDTH]);

impl Lanes {
    pub(super) const WIDTH: usize = 8;

    /// Adds the values of up to eight ids.
    #[inline]
    pub(super) fn add<T: Copy + Into<f64>>(&mut self, ids: &[VertexId], values: &[T]) {
        for (lane, &id) in self.0.iter_mut().zip(ids) {
            *lane += values.get(id as usize).map_or(0.0, |&value| value.into());
        }
    }

    /// Adds the values of a block of ids, without that of the first neighbour of a list.
    #[inline]
    pub(super) fn add_block<T: Copy + Into<f64>>(&mut self, ids: &[VertexId], values: &[T]) {
        ids.chunks(Self::WIDTH).for_each(|group| self.add(group, values));
    }

    /// Returns the sum of `first` and all partial sums.
    #[inline]
    pub(super) fn total(self, first: f64) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        first + (((a + e) + (c + g)) + ((b + f) + (d + h)))
    }
}
