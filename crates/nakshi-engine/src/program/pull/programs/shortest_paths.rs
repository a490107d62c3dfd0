//! Shortest paths from one vertex (section 2.2.4).

use crate::VertexId;
use crate::error::Result;
use crate::program::pull::{Origin, PullProgram, PullVertex, Totals};

/// Distances along weighted edges; a vertex looks at those in-neighbours whose distance has changed.
#[derive(Clone, Copy, Debug)]
pub struct PullShortestPaths {
    /// The vertex at which the search starts.
    pub source: VertexId,
}

impl PullProgram for PullShortestPaths {
    types!(Value = f64, Output = f64);
    const WEIGHTED: bool = true;
    const LENGTHS: bool = true;

    fn init(&self, origin: &Origin, _: &mut Totals) -> f64 {
        if origin.vertex == self.source { 0.0 } else { f64::INFINITY }
    }

    #[inline]
    fn step<V: PullVertex<f64>>(&self, me: &mut V) -> Result<()> {
        let mut least = f64::INFINITY;
        me.updated_links(|_, distance, weight| least = least.min(distance + weight))?;
        if least < *me.value() {
            me.put(least);
        }
        Ok(())
    }

    fn output(&self, _: &Origin, value: &f64) -> f64 {
        *value
    }
}
