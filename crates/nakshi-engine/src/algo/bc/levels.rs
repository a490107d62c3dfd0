//! The vertices of a search by levels: the order of visits, and a bit where a level begins.

use crate::vertex_set::Bitmap;
use nakshi_store::VertexId;
use std::ops::Range;

/// The levels of one search; reused for the next.
pub(super) struct Levels {
    /// The members of each level in ascending order, level after level.
    order: Vec<VertexId>,
    /// Positions in `order` at which a level begins.
    starts: Bitmap,
    depth: usize,
    /// End of the levels that are not taken back yet.
    end: usize,
}

impl Levels {
    pub(super) fn new(n: usize) -> Self {
        Levels { order: Vec::with_capacity(n), starts: Bitmap::new(n), depth: 0, end: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.starts.words_mut().fill(0);
        (self.depth, self.end) = (0, 0);
    }

    /// Number of levels that were appended.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Appends a level, which has a member.
    pub(super) fn push(&mut self, members: impl Iterator<Item = VertexId>) {
        self.starts.set(self.order.len());
        self.order.extend(members);
        self.end = self.order.len();
        self.depth += 1;
    }

    /// Takes the last level back that is there: the place of its members.
    pub(super) fn pop(&mut self) -> Option<Range<usize>> {
        let end = self.end;
        self.end = end.checked_sub(1)?;
        while !self.starts.get(self.end) {
            self.end = self.end.checked_sub(1)?;
        }
        Some(self.end..end)
    }

    /// The members of a level by their place.
    pub(super) fn members(&self, place: &Range<usize>) -> &[VertexId] {
        self.order.get(place.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_come_back_from_the_last_one_on() {
        let mut levels = Levels::new(200);
        for _ in 0..2 {
            for (first, len) in [(0, 1), (1, 70), (71, 1), (72, 128)] {
                levels.push(first..first + len);
            }
            assert_eq!(levels.depth(), 4);
            for expected in [72..200, 71..72, 1..71, 0..1] {
                let place = levels.pop().unwrap();
                assert!(levels.members(&place).iter().copied().eq(expected));
            }
            assert_eq!(levels.pop(), None);
            levels.clear();
        }
    }
}
