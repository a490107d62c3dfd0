//! Permutations of vertices, which layouts compute and the builder applies.

use crate::{Error, Result, VertexId};

/// A bijection of `0..n`, stored as the new id of each old id.
///
/// A layout returns one; only the builder writes files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    new_of_old: Vec<VertexId>,
}

impl Permutation {
    /// Returns the identity permutation.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for more than 2^32 vertices.
    pub fn identity(n: u64) -> Result<Self> {
        let n = check_count(n)?;
        Ok(Self { new_of_old: (0..=VertexId::MAX).take(n).collect() })
    }

    /// Makes a permutation from the new id of each old id.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless every id below the length occurs exactly once.
    pub fn from_new_of_old(new_of_old: Vec<VertexId>) -> Result<Self> {
        let mut seen = vec![false; new_of_old.len()];
        for &new in &new_of_old {
            match seen.get_mut(new as usize) {
                Some(slot) if !*slot => *slot = true,
                _ => {
                    return Err(Error::Invalid(format!(
                        "not a permutation: {new} is out of range or occurs twice"
                    )));
                }
            }
        }
        Ok(Self { new_of_old })
    }

    /// Makes a permutation from the old id of each new id, that is, from the order itself.
    ///
    /// # Errors
    /// Same as [`Permutation::from_new_of_old`].
    pub fn from_order(old_of_new: &[VertexId]) -> Result<Self> {
        Ok(Self::from_new_of_old(old_of_new.to_vec())?.inverse())
    }

    /// Returns the inverse permutation.
    pub fn inverse(&self) -> Self {
        let mut inverse = vec![0; self.new_of_old.len()];
        for (old, &new) in (0..=VertexId::MAX).zip(&self.new_of_old) {
            if let Some(slot) = inverse.get_mut(new as usize) {
                *slot = old;
            }
        }
        Self { new_of_old: inverse }
    }

    /// Returns the new id of `old`, if there is such a vertex.
    pub fn new_of(&self, old: VertexId) -> Option<VertexId> {
        self.new_of_old.get(old as usize).copied()
    }

    /// Returns the new id of each old id.
    pub fn as_slice(&self) -> &[VertexId] {
        &self.new_of_old
    }

    /// Returns the vector of new ids, indexed by old id.
    pub fn into_vec(self) -> Vec<VertexId> {
        self.new_of_old
    }

    /// Returns the number of vertices.
    pub fn len(&self) -> usize {
        self.new_of_old.len()
    }

    /// Returns true if there are no vertices.
    pub fn is_empty(&self) -> bool {
        self.new_of_old.is_empty()
    }

    /// Returns true if every id stays the same.
    pub fn is_identity(&self) -> bool {
        (0..=VertexId::MAX).zip(&self.new_of_old).all(|(old, &new)| old == new)
    }
}

/// Returns the number of vertices as a length; [`Error::Unsupported`] if it exceeds 2^32 or the
/// address space.
pub(crate) fn check_count(n: u64) -> Result<usize> {
    if n > 1 << 32 {
        return Err(Error::Unsupported(format!(
            "{n} vertices; this version holds up to 2^32 = 4294967296"
        )));
    }
    usize::try_from(n)
        .map_err(|_| Error::Unsupported(format!("{n} vertices on this machine's word size")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_of_order_is_the_map() -> Result<()> {
        let order = Permutation::from_order(&[2, 0, 1])?;
        assert_eq!(order.as_slice(), &[1, 2, 0]);
        assert_eq!(order.inverse().as_slice(), &[2, 0, 1]);
        assert!(Permutation::from_new_of_old(vec![0, 0]).is_err());
        assert!(Permutation::from_new_of_old(vec![2, 0]).is_err());
        assert!(Permutation::identity(5)?.is_identity());
        assert!(matches!(Permutation::identity((1 << 32) + 5), Err(Error::Unsupported(_))));
        Ok(())
    }
}
