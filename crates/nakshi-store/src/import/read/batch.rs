//! Batches: the edges and vertices that every reader yields, with external ids.

use std::ops::Range;

use crate::decimal::parse_u64;
use crate::sort::weights::WeightBuffer;
use crate::{Error, Result};

/// A range of [`Batch::arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSpan {
    start: u32,
    len: u32,
}

/// Edges and vertices of one block of input, in no particular order.
///
/// Canonical integers below 2^64 (no sign, no leading zero) are stored as integers, all other ids
/// as bytes in the arena. The choice does not change the store.
#[derive(Debug, Default)]
pub struct Batch {
    /// Edges between integer ids: `[source, target]`.
    pub ints: Vec<[u64; 2]>,
    /// Weights of `ints`, or empty.
    pub int_weights: WeightBuffer,
    /// Edges with at least one other id.
    pub texts: Vec<[TextSpan; 2]>,
    /// Weights of `texts`, or empty.
    pub text_weights: WeightBuffer,
    /// Vertices that exist even without an edge.
    pub int_vertices: Vec<u64>,
    /// Vertices with other ids that exist even without an edge.
    pub text_vertices: Vec<TextSpan>,
    /// Ranges of integer vertices that exist even without an edge (Matrix Market's rows).
    pub ranges: Vec<Range<u64>>,
    /// Lines that were left out as comments.
    pub comments: u64,
    /// What the reader guessed or left out, a sentence each.
    pub notes: Vec<String>,
    arena: Vec<u8>,
}

impl Batch {
    /// Removes the content and keeps the memory.
    pub fn clear(&mut self) {
        self.ints.clear();
        self.int_weights.clear();
        self.texts.clear();
        self.text_weights.clear();
        self.int_vertices.clear();
        self.text_vertices.clear();
        self.ranges.clear();
        self.comments = 0;
        self.notes.clear();
        self.arena.clear();
    }

    /// Returns the number of edges in this batch.
    pub fn edges(&self) -> usize {
        self.ints.len() + self.texts.len()
    }

    /// Returns the bytes of a span.
    pub fn text(&self, span: TextSpan) -> &[u8] {
        let start = span.start as usize;
        self.arena.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// Copies an id into the arena.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when one batch holds 4 GiB of ids.
    pub fn intern(&mut self, id: &[u8]) -> Result<TextSpan> {
        let full = |_| Error::Unsupported("a block with 4 GiB of ids".into());
        let start = u32::try_from(self.arena.len()).map_err(full)?;
        let len = u32::try_from(id.len()).map_err(full)?;
        start
            .checked_add(len)
            .ok_or_else(|| Error::Unsupported("a block with 4 GiB of ids".into()))?;
        self.arena.extend_from_slice(id);
        Ok(TextSpan { start, len })
    }

    /// Adds an edge between ids of any kind.
    ///
    /// # Errors
    /// Same as [`Batch::intern`].
    pub fn push_edge(
        &mut self,
        source: &[u8],
        target: &[u8],
        weight: Option<Weight>,
    ) -> Result<()> {
        let weights = if let (Some(s), Some(t)) = (canonical_u64(source), canonical_u64(target)) {
            self.ints.push([s, t]);
            &mut self.int_weights
        } else {
            let edge = [self.intern(source)?, self.intern(target)?];
            self.texts.push(edge);
            &mut self.text_weights
        };
        match weight {
            Some(Weight::Int(weight)) => weights.push_int(weight),
            Some(Weight::Float(weight)) => weights.push_float(weight),
            None => {}
        }
        Ok(())
    }

    /// Adds a vertex with an id of any kind.
    ///
    /// # Errors
    /// Same as [`Batch::intern`].
    pub fn push_vertex(&mut self, id: &[u8]) -> Result<()> {
        if let Some(id) = canonical_u64(id) {
            self.int_vertices.push(id);
        } else {
            let span = self.intern(id)?;
            self.text_vertices.push(span);
        }
        Ok(())
    }
}

/// A weight in the form of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weight {
    /// An integer.
    Int(i64),
    /// Any other finite number.
    Float(f64),
}

/// Returns the value of a canonical integer below 2^64: digits only, with no leading zero except in
/// `0`.
pub fn canonical_u64(id: &[u8]) -> Option<u64> {
    let (&first, rest) = id.split_first()?;
    if (first == b'0' && !rest.is_empty()) || id.len() > 20 {
        return None;
    }
    parse_u64(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_integers_are_integers() {
        for (text, value) in [("0", 0), ("7", 7), ("18446744073709551615", u64::MAX)] {
            assert_eq!(canonical_u64(text.as_bytes()), Some(value));
        }
        for text in [
            "",
            "007",
            "-1",
            "+1",
            "1.0",
            " 1",
            "18446744073709551616",
            "99999999999999999999",
            "1e3",
        ] {
            assert_eq!(canonical_u64(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_float_turns_the_integers_before_it() {
        let mut weights = WeightBuffer::default();
        weights.push_int(-3);
        weights.push_float(0.5);
        weights.push_int(7);
        let floats: Vec<f64> = weights.bits().iter().map(|&b| f64::from_bits(b)).collect();
        assert_eq!(floats, [-3.0, 0.5, 7.0]);
    }
}
