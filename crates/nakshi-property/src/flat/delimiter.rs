//! Properties by name, and the delimiter of each (section 3.3).

use super::directory::FlatProperty;
use super::form::Form;
use crate::spec::PropertySpec;
use nakshi_store::{Error, Result};

/// First bytes of delimiters: unprintable and no white space, so that texts need few escapes.
const LEADS: [u8; 24] = [
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x0b, 0x0c, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13,
    0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b,
];
/// Delimiter that ends a list.
const END: u8 = 0x1c;
/// Lowest second byte of a delimiter of two bytes.
const SECOND: u8 = 0x30;
/// Number of second bytes.
const SECONDS: usize = 0x100 - SECOND as usize;

/// The properties of a file.
#[derive(Debug)]
pub(super) struct DelimitedProperties {
    /// Properties by name.
    ordered: Vec<FlatProperty>,
    /// Number of each property and its position by name, ascending by number.
    ranks: Vec<(u32, usize)>,
}

/// A delimiter of one byte or two, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delimiter([u8; 2], usize);

impl Delimiter {
    pub(super) fn bytes(&self) -> &[u8] {
        self.0.get(..self.1).unwrap_or_default()
    }
}

impl DelimitedProperties {
    /// Orders properties by name.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for more properties than there are delimiters of two bytes.
    pub(super) fn of(specs: &[PropertySpec]) -> Result<Self> {
        if specs.len() > LEADS.len() * SECONDS {
            return Err(Error::Unsupported(format!(
                "{} properties in the layout zipg, which has delimiters for {}; take columns",
                specs.len(),
                LEADS.len() * SECONDS
            )));
        }
        let mut named: Vec<(&str, FlatProperty)> = (0..)
            .zip(specs)
            .map(|(number, spec)| {
                (spec.name.as_str(), FlatProperty { number, form: Form::of(spec.ty) })
            })
            .collect();
        named.sort_unstable_by_key(|(name, _)| *name);
        Ok(Self::ordered(named.into_iter().map(|(_, property)| property).collect()))
    }

    /// Takes properties that are ordered by name already.
    pub(super) fn ordered(ordered: Vec<FlatProperty>) -> Self {
        let ranks = ordered.iter().enumerate().map(|(rank, property)| (property.number, rank));
        let mut ranks: Vec<(u32, usize)> = ranks.collect();
        ranks.sort_unstable();
        Self { ordered, ranks }
    }

    pub(super) fn into_ordered(self) -> Vec<FlatProperty> {
        self.ordered
    }

    pub(super) fn len(&self) -> usize {
        self.ordered.len()
    }

    /// Position of a property by name.
    pub(super) fn rank(&self, number: u32) -> Option<usize> {
        let at = self.ranks.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.ranks.get(at).map(|(_, rank)| *rank)
    }

    /// Number of each property and its position by name, ascending by number.
    pub(super) fn by_number(&self) -> impl Iterator<Item = (u32, usize)> {
        self.ranks.iter().copied()
    }

    pub(super) fn form(&self, rank: usize) -> Form {
        self.ordered.get(rank).map_or(Form::Bytes, |property| property.form)
    }

    /// Bytes of a delimiter: two if there are more properties than delimiters of one byte.
    pub(super) fn width(&self) -> usize {
        if self.ordered.len() > LEADS.len() { 2 } else { 1 }
    }

    /// The delimiter before the value at position `rank`; behind the last position, the one that
    /// ends a list.
    pub(super) fn delimiter(&self, rank: usize) -> Delimiter {
        if rank >= self.ordered.len() {
            return Delimiter([END, 0], 1);
        }
        let lead = |i: usize| LEADS.get(i).copied().unwrap_or(END);
        match self.width() {
            1 => Delimiter([lead(rank), 0], 1),
            // Less than the number of second bytes.
            _ => Delimiter([lead(rank / SECONDS), SECOND + (rank % SECONDS) as u8], 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PropertyType, Scalar};
    use std::collections::HashSet;

    fn properties(count: usize) -> Result<DelimitedProperties> {
        let spec =
            |i| PropertySpec::new(format!("p{:04}", count - i), PropertyType::of(Scalar::String));
        DelimitedProperties::of(&(0..count).map(spec).collect::<Vec<_>>())
    }

    /// Seen red with second bytes that begin anew too early.
    #[test]
    fn delimiters_widen_beyond_tens_of_properties() {
        for (count, width) in [(1, 1), (24, 1), (25, 2), (300, 2), (4992, 2)] {
            let properties = properties(count).unwrap();
            assert_eq!(properties.width(), width);
            let all: HashSet<Vec<u8>> =
                (0..=count).map(|rank| properties.delimiter(rank).bytes().to_vec()).collect();
            assert_eq!(all.len(), count + 1);
            assert_eq!(properties.rank(0), Some(count - 1), "names descend by number");
        }
        assert!(matches!(properties(4993), Err(Error::Unsupported(_))));
    }
}
