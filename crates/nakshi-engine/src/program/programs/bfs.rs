//! Breadth-first search (FlashGraph Figure 4).

use crate::error::Result;
use crate::program::{
    EdgeList, Facts, ListKind, ProgramNeeds, RunContext, Start, Vertex, VertexProgram,
};
use crate::{Direction, VertexId};

/// State of a vertex that was not reached.
pub const UNREACHED: u32 = u32::MAX;

/// Levels from one source along out-edges; the state is the level, or [`UNREACHED`].
#[derive(Clone, Copy, Debug)]
pub struct Bfs {
    /// The vertex at which the search starts.
    pub source: VertexId,
}

impl VertexProgram for Bfs {
    types!(State = u32, Message = (), Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    fn init(&self, _vertex: VertexId, _facts: &Facts) -> u32 {
        UNREACHED
    }

    fn start(&self) -> Start {
        Start::Vertices(vec![self.source])
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        if me.state == UNREACHED {
            me.state = cx.iteration();
            cx.request_own(ListKind::OUT);
        }
    }

    on_list!(self, _me, list, cx => {
        cx.activate_list(list)
    });
}
