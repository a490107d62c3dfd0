//! Layouts: in which order vertices lie on disk.
//!
//! A layout is a bijection from *ranks* (vertices ascending by external id) to *places*. It is
//! defined without reference to memory, threads or the order of the input, so that the same
//! graph always gets the same store.

mod random;

use std::collections::HashMap;

use crate::{Error, Permutation, Result, VertexId};

pub(crate) use random::{Shuffle, mix};

/// Vertices in the order of their external ids.
///
/// # Errors
/// [`Error::Unsupported`] for more than 2^32 vertices.
pub fn original(vertices: u64) -> Result<Permutation> {
    Permutation::identity(vertices)
}

/// Vertices by descending degree, ties in the order of `degrees`.
///
/// Hub-first order packs the lists that traversals touch into few pages and shortens the gaps in
/// compressed lists.
///
/// # Errors
/// [`Error::Unsupported`] for more than 2^32 vertices.
pub fn degree(degrees: &[u64]) -> Result<Permutation> {
    let mut histogram = HashMap::new();
    for &degree in degrees {
        *histogram.entry(degree).or_insert(0) += 1;
    }
    let mut placer = Placer::degree(&histogram);
    Permutation::from_new_of_old(
        degrees.iter().map(|&degree| placer.place(degree)).collect::<Result<_>>()?,
    )
}

/// Vertices shuffled by a seed.
///
/// # Errors
/// [`Error::Unsupported`] for more than 2^32 vertices.
pub fn random(vertices: u64, seed: u64) -> Result<Permutation> {
    let mut placer = Placer::random(vertices, seed);
    Permutation::from_new_of_old((0..vertices).map(|_| placer.place(0)).collect::<Result<_>>()?)
}

/// A layout as a stream: takes the vertices in rank order and needs no memory per vertex.
#[derive(Debug)]
pub(crate) enum Placer {
    Original {
        next: u64,
    },
    /// The next place of each degree.
    Degree {
        next: HashMap<u64, u64>,
    },
    Random {
        next: u64,
        shuffle: Shuffle,
    },
}

impl Placer {
    /// Descending by degree, given how many vertices have each.
    pub fn degree(histogram: &HashMap<u64, u64>) -> Self {
        let mut degrees: Vec<_> = histogram.iter().collect();
        degrees.sort_unstable_by(|a, b| b.0.cmp(a.0));
        let starts = degrees.iter().scan(0, |sum, &(&degree, &count)| {
            let start = *sum;
            *sum += count;
            Some((degree, start))
        });
        Self::Degree { next: starts.collect() }
    }

    pub fn random(vertices: u64, seed: u64) -> Self {
        Self::Random { next: 0, shuffle: Shuffle::new(vertices, seed) }
    }

    /// The place of the next vertex.
    #[inline]
    pub fn place(&mut self, degree: u64) -> Result<VertexId> {
        let place = match self {
            Self::Original { next } => post_increment(next),
            Self::Degree { next } => post_increment(next.entry(degree).or_default()),
            Self::Random { next, shuffle } => shuffle.apply(post_increment(next)),
        };
        VertexId::try_from(place)
            .map_err(|_| Error::Unsupported(format!("vertex {place}; this version holds 2^32")))
    }
}

fn post_increment(next: &mut u64) -> u64 {
    let value = *next;
    *next += 1;
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hubs_come_first_and_ties_keep_their_order() -> Result<()> {
        assert_eq!(degree(&[1, 5, 1, 0, 5])?.as_slice(), [2, 0, 3, 4, 1]);
        assert!(original(4)?.is_identity());
        Ok(())
    }

    #[test]
    fn shuffles_are_permutations() -> Result<()> {
        for n in [0, 1, 2, 3, 100, 65_537] {
            let one = random(n, 1)?;
            assert_eq!(one.len() as u64, n);
            assert!(n < 100 || one != random(n, 2)?);
        }
        Ok(())
    }
}
