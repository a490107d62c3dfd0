//! The hash partition: the server that owns each vertex.

use nakshi_engine::VertexId;
use nakshi_engine::program::pull::mixed;

use crate::{Error, Result};

/// Largest number of servers.
const MOST: usize = 1 << 16;

/// A hash partition of the vertices over servers (2.3.1).
///
/// J. Lamping, E. Veach, *A fast, minimal memory, consistent hash algorithm*, arXiv:1406.2294, 2014: of
/// `n` servers each owns the same share up to chance, and one server more takes `1 / (n + 1)` of the
/// vertices and moves no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    servers: usize,
}

impl Partition {
    /// A partition over `servers` servers.
    ///
    /// # Errors
    /// [`Error::Servers`] for none and for more than 65,536.
    pub fn new(servers: usize) -> Result<Self> {
        if (1..=MOST).contains(&servers) {
            Ok(Partition { servers })
        } else {
            Err(Error::Servers { servers, most: MOST })
        }
    }

    /// Number of servers.
    pub fn servers(&self) -> usize {
        self.servers
    }

    /// The server that owns a vertex.
    pub fn owner(&self, vertex: VertexId) -> usize {
        // Ids are dense numbers.
        let mut key = mixed(vertex.into());
        let (mut bucket, mut next) = (0, 0u64);
        while next < self.servers as u64 {
            bucket = next as usize;
            key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
            // Below 2^16 * 2^31, so that the product is exact enough and fits.
            next = ((bucket + 1) as f64 * ((1u64 << 31) as f64 / ((key >> 33) + 1) as f64)) as u64;
        }
        bucket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_even_and_one_more_server_moves_few() {
        let n = 100_000;
        for servers in [1, 2, 3, 8, 100] {
            let (now, more) =
                (Partition::new(servers).unwrap(), Partition::new(servers + 1).unwrap());
            let mut owned = vec![0u32; servers];
            let mut moved = 0;
            for v in 0..n {
                owned[now.owner(v)] += 1;
                let next = more.owner(v);
                if next != now.owner(v) {
                    assert_eq!(next, servers);
                    moved += 1;
                }
            }
            let mean = f64::from(n) / servers as f64;
            assert!(owned.iter().all(|&owned| (f64::from(owned) - mean).abs() < 5.0 * mean.sqrt()));
            let share = f64::from(n) / (servers + 1) as f64;
            assert!((f64::from(moved) - share).abs() < 5.0 * share.sqrt());
        }
    }

    #[test]
    fn no_servers_are_no_cluster() {
        assert!(matches!(Partition::new(0), Err(Error::Servers { .. })));
        assert!(matches!(Partition::new(MOST + 1), Err(Error::Servers { .. })));
    }
}
