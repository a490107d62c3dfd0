//! Orders that an import can apply while it streams.

use std::collections::HashMap;

use crate::random::Shuffle;
use crate::{Error, Result, VertexId};

/// An order as a stream: takes the vertices in rank order and needs no memory per vertex.
#[derive(Debug)]
pub(crate) enum StreamingOrder {
    Original {
        next: u64,
    },
    /// The next internal id of each degree.
    Degree {
        next: HashMap<u64, u64>,
    },
    Random {
        next: u64,
        shuffle: Shuffle,
    },
}

impl StreamingOrder {
    /// Makes the descending order of degrees from the number of vertices of each degree.
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

    /// Returns the internal id of the next vertex.
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
