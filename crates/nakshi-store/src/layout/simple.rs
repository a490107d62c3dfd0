//! Orders by degrees and scores alone.

use std::cmp::Reverse;

use super::{LayoutInput, Ordering, all, ranks_memory};
use crate::random::Shuffle;
use crate::{Direction, Error, Permutation, Result, Store, VertexId};

/// The ascending order of external ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Original;

impl Ordering for Original {
    fn name(&self) -> &'static str {
        "original"
    }

    fn memory(&self, store: &Store) -> u64 {
        4 * store.num_vertices() + ranks_memory(store)
    }

    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        source.by_rank(Permutation::identity(source.store.num_vertices())?)
    }
}

/// An order shuffled by a seed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Random {
    /// The seed.
    pub seed: u64,
}

impl Ordering for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn memory(&self, store: &Store) -> u64 {
        5 * store.num_vertices() + ranks_memory(store)
    }

    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        let vertices = source.store.num_vertices();
        let shuffle = Shuffle::new(vertices, self.seed);
        // Lossless: a shuffle stays below the number of vertices.
        let places = (0..vertices).map(|v| shuffle.apply(v) as VertexId).collect();
        source.by_rank(Permutation::from_new_of_old(places)?)
    }
}

/// The edges that count for a degree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Edges that lead to a vertex.
    In,
    /// Edges that leave it.
    Out,
    /// Both; the same in an undirected graph.
    #[default]
    Total,
}

impl By {
    /// Returns the degrees by rank.
    pub(super) fn degrees(self, source: &LayoutInput<'_>) -> Result<Vec<u32>> {
        match self {
            By::In => source.degrees(Direction::In),
            By::Out => source.degrees(Direction::Out),
            By::Total if !source.store.directed() => source.degrees(Direction::Out),
            By::Total => {
                let mut degrees = source.degrees(Direction::Out)?;
                let into = source.degrees(Direction::In)?;
                degrees.iter_mut().zip(into).for_each(|(d, more)| *d = d.saturating_add(more));
                Ok(degrees)
            }
        }
    }
}

/// The descending order of degrees, ties ascending by external id. The lists that traversals touch
/// lie on few pages, and the gaps in compressed lists are short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Degree {
    /// The edges that count.
    pub by: By,
}

impl Ordering for Degree {
    fn name(&self) -> &'static str {
        "degree"
    }

    fn memory(&self, store: &Store) -> u64 {
        // Two kinds of degrees, or degrees, order and positions.
        12 * store.num_vertices() + ranks_memory(store) / 2
    }

    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        let order = descending(&self.by.degrees(source)?, |degree| degree)?;
        source.by_rank(Permutation::from_order(&order)?)
    }
}

/// Returns ranks in descending order of `value`, ties ascending.
pub(super) fn descending<T: Copy, K: Ord>(
    values: &[T],
    key: impl Fn(T) -> K,
) -> Result<Vec<VertexId>> {
    let mut order = all(values.len() as u64)?;
    let key = |v: VertexId| values.get(v as usize).map(|&value| key(value));
    order.sort_unstable_by_key(|&v| (Reverse(key(v)), v));
    Ok(order)
}

/// The descending order of a score, such as PageRank, ties ascending by external id.
#[derive(Clone, PartialEq)]
pub struct ByScore {
    /// Name, as in the manifest.
    pub name: &'static str,
    /// The score of every internal id.
    pub scores: Vec<f64>,
}

impl std::fmt::Debug for ByScore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByScore").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Ordering for ByScore {
    fn name(&self) -> &'static str {
        self.name
    }

    fn memory(&self, store: &Store) -> u64 {
        16 * store.num_vertices()
    }

    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        if self.scores.len() as u64 != source.store.num_vertices() {
            return Err(Error::Invalid(format!(
                "{} scores for {} vertices",
                self.scores.len(),
                source.store.num_vertices()
            )));
        }
        let ranks = source.ranks()?;
        let rank =
            |v: VertexId| ranks.as_ref().and_then(|r| r.get(v as usize)).copied().unwrap_or(v);
        let score = |v: VertexId| self.scores.get(v as usize).copied().unwrap_or_default();
        let mut order = all(self.scores.len() as u64)?;
        order.sort_unstable_by(|&a, &b| {
            score(b).total_cmp(&score(a)).then_with(|| rank(a).cmp(&rank(b)))
        });
        Permutation::from_order(&order)
    }
}

/// An order with the vertex of the largest degree in the middle, and the next ones alternately to
/// its left and right.
///
/// Source: D. D. Grossman, H. F. Silverman, "Placement of Records on a Secondary Storage Device to
/// Minimize Access Time", J. ACM 20(3), 1973; compared with Bondhu in I. Hoque's thesis, section
/// 5.7, with the degree as popularity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrganPipe;

impl Ordering for OrganPipe {
    fn name(&self) -> &'static str {
        "organ-pipe"
    }

    fn memory(&self, store: &Store) -> u64 {
        12 * store.num_vertices() + ranks_memory(store) / 2
    }

    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        let mut order = descending(&By::Total.degrees(source)?, |degree| degree)?;
        from_the_middle(&mut order)?;
        source.by_rank(Permutation::from_order(&order)?)
    }
}

/// Moves the first vertex to the middle (rounded up), the second to its left, the third to its
/// right, and so on.
pub(super) fn from_the_middle(order: &mut [VertexId]) -> Result<()> {
    let mut arranged = super::csr::reserved(order.len())?;
    arranged.extend(order.iter().skip(1).step_by(2).rev());
    arranged.extend(order.iter().step_by(2));
    order.copy_from_slice(&arranged);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hubs_come_first_and_ties_keep_their_order() -> Result<()> {
        let order = descending(&[1, 5, 1, 0, 5], |degree| degree)?;
        assert_eq!(order, [1, 4, 0, 2, 3]);
        Ok(())
    }

    #[test]
    fn the_middle_is_rounded_up() -> Result<()> {
        let arranged = |n: u32| -> Result<Vec<u32>> {
            let mut order: Vec<u32> = (0..n).collect();
            from_the_middle(&mut order)?;
            Ok(order)
        };
        assert_eq!(arranged(7)?, [5, 3, 1, 0, 2, 4, 6]);
        assert_eq!(arranged(4)?, [3, 1, 0, 2]);
        assert_eq!(arranged(1)?, [0]);
        assert!(arranged(0)?.is_empty());
        Ok(())
    }
}
