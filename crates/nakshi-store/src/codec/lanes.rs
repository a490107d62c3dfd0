//! Sizes of blocks and groups, and sums by the position in a list.

use crate::{Error, VertexId};

/// Most neighbours handed out at once.
pub const BLOCK: usize = 128;

/// Gaps that share one width.
pub(crate) const GROUP: usize = 8;

pub(super) const NO_VERTEX: Error = Error::BadList("a neighbour is no vertex of the graph");

/// Largest id that may occur where none is above `max` and each needs a value; `None` without
/// values.
#[inline]
pub(super) fn bound<T>(values: &[T], max: VertexId) -> Option<VertexId> {
    let last = values.len().checked_sub(1)?;
    Some(VertexId::try_from(last).map_or(max, |last| last.min(max)))
}

/// Eight partial sums, by position in a list.
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

    /// `first` and all partial sums.
    #[inline]
    pub(super) fn total(self, first: f64) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        first + (((a + e) + (c + g)) + ((b + f) + (d + h)))
    }
}
