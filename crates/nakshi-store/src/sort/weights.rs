//! The weights of edges before they are sorted.

/// Edge weights in input order: integers if all of them are, else floats.
///
/// A batch holds one kind, so that a weight costs eight bytes and no tag.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightBuffer {
    bits: Vec<u64>,
    float: bool,
}

impl WeightBuffer {
    /// Appends an integer weight.
    pub fn push_int(&mut self, weight: i64) {
        if self.float {
            self.bits.push(as_float(weight).to_bits());
        } else {
            self.bits.push(weight.cast_unsigned());
        }
    }

    /// Appends a float weight; converts integers that are already here to floats.
    pub fn push_float(&mut self, weight: f64) {
        if !self.float {
            self.float = true;
            for bits in &mut self.bits {
                *bits = as_float(bits.cast_signed()).to_bits();
            }
        }
        self.bits.push(weight.to_bits());
    }

    /// Returns true if the bits are those of `f64`, else of `i64`.
    pub fn is_float(&self) -> bool {
        self.float
    }

    /// Returns a word for each weight: the bits of an `i64`, or of an `f64` if
    /// [`WeightBuffer::is_float`].
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// Removes all weights and keeps the memory.
    pub fn clear(&mut self) {
        self.bits.clear();
        self.float = false;
    }
}

/// Returns the nearest float; integers beyond 2^53 lose their last digits among float weights.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn as_float(weight: i64) -> f64 {
    weight as f64
}
