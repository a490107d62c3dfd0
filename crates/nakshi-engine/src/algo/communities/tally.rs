//! Weights of the edges from one vertex to each community.

use nakshi_store::VertexId;

/// A table by open addressing that is as large as the list of the vertex asks for; a slot without weight
/// is free.
#[derive(Debug, Default)]
pub(in crate::algo) struct Tally {
    slots: Vec<(VertexId, f64)>,
    /// Slots in use, in the order in which they were taken.
    used: Vec<usize>,
    mask: usize,
    shift: u32,
}

impl Tally {
    /// Empties the table, for a list of `degree` neighbours.
    pub(in crate::algo) fn clear(&mut self, degree: usize) {
        for &at in &self.used {
            if let Some(slot) = self.slots.get_mut(at) {
                slot.1 = 0.0;
            }
        }
        self.used.clear();
        // At most half full, so that a free slot is always found.
        let slots = (2 * degree.max(4)).next_power_of_two();
        if self.slots.len() < slots {
            self.slots.resize(slots, (0, 0.0));
        }
        self.mask = slots - 1;
        self.shift = u64::BITS - slots.trailing_zeros();
    }

    /// Adds to the weight of a community.
    #[inline]
    pub(in crate::algo) fn add(&mut self, community: VertexId, weight: f64) {
        if weight <= 0.0 {
            return;
        }
        let hash = u64::from(community).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift;
        let mut at = hash as usize;
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.1 == 0.0 {
                *slot = (community, weight);
                self.used.push(at);
                return;
            }
            if slot.0 == community {
                slot.1 += weight;
                return;
            }
            at = (at + 1) & self.mask;
        }
    }

    /// The communities with their weights, in the order of the list.
    pub(in crate::algo) fn entries(&self) -> impl Iterator<Item = (VertexId, f64)> + '_ {
        self.used.iter().filter_map(|&at| self.slots.get(at).copied())
    }
}
