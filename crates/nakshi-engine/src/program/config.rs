//! Settings of a program's run.

use super::frontier::Frontier;
use super::model::{Order, ProgramNeeds, VertexProgram};
use crate::Needs;
use serde::{Deserialize, Serialize};
use std::mem::size_of;

/// Settings of a run; the defaults are the paper's where it gives any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramConfig {
    /// Vertices of one worker that are running at the same time, at most. More lets more
    /// requests merge. Beyond 4,000 the paper sees no gain (section 3.7); compressed lists are a
    /// quarter as long, so that four times as many fill the same reads.
    pub running: usize,
    /// `r` of the partitioning `(id >> r) % n`: 12 to 18 by the size of the graph, less on
    /// small graphs, if `None`.
    pub range_bits: Option<u32>,
    /// Bytes of own lists of the vertices that run together, at most (or one vertex): keeps
    /// what running vertices hold in bounds when hubs run.
    pub batch_bytes: u64,
    /// Bytes of queued messages, of all workers together, beyond which they are delivered
    /// before more vertices run (section 3.4.1).
    pub message_bytes: usize,
    /// Iterations at most; no limit if `None`.
    pub max_iterations: Option<u32>,
    /// Order of the active vertices, in place of [`VertexProgram::order`], to which `None` leaves
    /// it.
    pub order: Option<Order>,
}

impl Default for ProgramConfig {
    fn default() -> Self {
        ProgramConfig {
            running: 16_384,
            range_bits: None,
            batch_bytes: 4 << 20,
            message_bytes: 16 << 20,
            max_iterations: None,
            order: None,
        }
    }
}

impl ProgramConfig {
    /// Memory and lists that a run of `P` needs, for [`crate::Graph::open`] and for an estimate.
    pub fn needs<P: VertexProgram>(&self, program: &P) -> Needs {
        let ProgramNeeds { lists, degrees, column } = program.needs();
        // Three bitmaps: active now, active next, to be told of the end of the iteration.
        let bits = 3.0 * Frontier::bytes(1 << 20) as f64 / f64::from(1 << 20);
        let bytes = size_of::<P::State>() as f64 + bits + 4.0 * degrees.len() as f64;
        Needs {
            state_bytes_per_vertex: bytes,
            // The messages that wait, and what bundles keep on both sides of a hand-over.
            state_bytes_fixed: 3 * self.message_bytes as u64 + 4 * self.batch_bytes,
            column,
            gathers: true,
            ..Needs::new(bytes, &lists)
        }
    }
}
