//! Breadth-first search.

use crate::VertexId;
use crate::error::Result;
pub use crate::program::programs::UNREACHED;
use crate::program::pull::{Origin, PullProgram, PullVertex, Totals};

/// Levels of a breadth-first search: edges from the source.
#[derive(Clone, Copy, Debug)]
pub struct PullLevels {
    /// The vertex at which the search starts.
    pub source: VertexId,
}

impl PullProgram for PullLevels {
    types!(Value = u32, Output = u32);

    fn init(&self, origin: &Origin, _: &mut Totals) -> u32 {
        if origin.vertex == self.source { 0 } else { UNREACHED }
    }

    #[inline]
    fn step<V: PullVertex<u32>>(&self, me: &mut V) -> Result<()> {
        if *me.value() != UNREACHED {
            return Ok(());
        }
        // All are updated in the first step, as values of step 0.
        if me.any_updated_link(|_, level, _| *level != UNREACHED)? {
            let step = me.step();
            me.put(step);
        }
        Ok(())
    }

    fn output(&self, _: &Origin, value: &u32) -> u32 {
        *value
    }
}
