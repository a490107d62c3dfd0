//! Label propagation as LDBC Graphalytics defines it (specification 1.0, section 2.3.4).

use crate::error::Result;
use crate::program::pull::{Links, Origin, PullProgram, PullVertex, Totals};

/// All vertices take the most frequent label among their neighbours, of several the least. A neighbour
/// that is joined both ways counts twice. A label is the place of an id in the ascending order of the
/// users' ids.
#[derive(Clone, Copy, Debug)]
pub struct PullCommunities {
    /// Rounds at most.
    pub iterations: u32,
}

impl PullProgram for PullCommunities {
    types!(Value = u32, Output = u32);
    const LINKS: Links = Links::Both;

    fn init(&self, origin: &Origin, _: &mut Totals) -> u32 {
        origin.rank
    }

    fn step<V: PullVertex<u32>>(&self, me: &mut V) -> Result<()> {
        let mut labels = Vec::new();
        me.links(|_, label, _| labels.push(*label))?;
        labels.sort_unstable();
        let runs = labels.chunk_by(|a, b| a == b);
        let most = runs.max_by_key(|run| (run.len(), std::cmp::Reverse(run.first().copied())));
        if let Some(&label) = most.and_then(<[u32]>::first)
            && label != *me.value()
        {
            me.put(label);
        }
        Ok(())
    }

    fn finished(&self, step: u32, _: &Totals, updated: u64) -> bool {
        step >= self.iterations || updated == 0
    }

    fn output(&self, _: &Origin, value: &u32) -> u32 {
        *value
    }
}
