//! A worker with a program of its own: the largest value that has reached a vertex.

use nakshi_cluster::{NamedProgram, worker_main};
use nakshi_engine::program::pull::{Origin, PullProgram, PullVertex, Totals};
use serde::{Deserialize, Serialize};

/// The largest number of a vertex, up to a limit, that is found on any path to it.
#[derive(Serialize, Deserialize)]
pub struct Largest {
    /// The limit.
    pub limit: u32,
}

impl PullProgram for Largest {
    type Value = u32;
    type Output = u32;

    fn init(&self, origin: &Origin, _: &mut Totals) -> u32 {
        origin.vertex.min(self.limit)
    }

    fn step<V: PullVertex<u32>>(&self, me: &mut V) -> nakshi_engine::Result<()> {
        let (old, mut largest) = (*me.value(), *me.value());
        me.updated_links(|_, value, _| largest = largest.max(*value))?;
        if largest > old {
            me.put(largest);
        }
        Ok(())
    }

    fn output(&self, _: &Origin, value: &u32) -> u32 {
        *value
    }
}

impl NamedProgram for Largest {
    const NAME: &'static str = "largest";
}

worker_main!(Largest);
