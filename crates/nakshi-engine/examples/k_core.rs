//! A vertex program of one's own: which vertices belong to the k-core.
//!
//! The k-core of an undirected graph is what is left when vertices with fewer than `k`
//! neighbours are removed again and again (S. B. Seidman, *Network structure and minimum
//! degree*, 1983). This file is a tour of the programming model; run it with
//!
//! ```text
//! cargo run --release -p nakshi-engine --example k_core
//! ```
//!
//! **What a vertex knows.** The engine keeps one `State` for each vertex in memory, while the
//! edge lists may be on the SSD. Ours is how many neighbours are left.
//!
//! **What a vertex does.** In each iteration the engine calls `run` once for every *active*
//! vertex. A vertex with too few neighbours leaves: it asks for its own edge list. When the
//! list has arrived, `run_on_vertex` is called, and the vertex tells its neighbours, by one
//! message to all of them, that there is one neighbour fewer. `run_on_message` of each
//! neighbour counts down and, if that makes it leave too, activates it for the next iteration.
//! When nobody is active any more, what is left is the core.
//!
//! **What it does not do.** It never touches another vertex's state, so it needs no locks; and
//! it reads the list of a vertex only when that vertex leaves, at most once.

use nakshi_engine::program::{
    EdgeList, Facts, ListKind, ProgramConfig, ProgramNeeds, RunContext, Signals, Start, Vertex,
    VertexProgram, run_program,
};
use nakshi_engine::{Context, Direction, Graph, Result, VertexId};

/// Finds the `k`-core.
#[derive(Clone, Copy, Debug)]
pub struct KCore {
    /// The least number of neighbours inside the core.
    pub k: u32,
}

/// State of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Neighbours that have not left.
    pub neighbours: u32,
    /// True once the vertex itself has left.
    pub left: bool,
}

impl VertexProgram for KCore {
    type State = Member;
    /// The number of neighbours that have left.
    type Message = u32;
    /// Nothing is kept between `run` and `run_on_vertex`.
    type Scratch = ();
    /// Several messages to one vertex may become one; see `combine`.
    const COMBINES: bool = true;

    /// The engine opens out-lists (of an undirected graph: all neighbours) and looks up degrees.
    fn needs(&self) -> ProgramNeeds {
        let degrees = vec![Direction::Out];
        ProgramNeeds { degrees, ..ProgramNeeds::lists(&[Direction::Out]) }
    }

    fn init(&self, vertex: VertexId, facts: &Facts) -> Member {
        let neighbours = facts.degree(vertex, Direction::Out).unwrap_or(0);
        Member { neighbours, left: false }
    }

    /// At first everybody checks.
    fn start(&self) -> Start {
        Start::All
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        // Messages may arrive before a vertex runs as well as after, so it may be activated
        // twice: it leaves once.
        if !me.state.left && me.state.neighbours < self.k {
            me.state.left = true;
            cx.request_own(ListKind::OUT);
        }
    }

    fn run_on_vertex(
        &self,
        _me: &mut Vertex<Self>,
        list: &EdgeList<'_>,
        cx: &mut RunContext<'_, Self>,
    ) -> Result<()> {
        cx.multicast_list(list, 1)
    }

    fn run_on_message(&self, state: &mut Member, message: &u32, cx: &mut Signals<'_, Self>) {
        // A self-loop makes a vertex its own neighbour; hence saturating.
        state.neighbours = state.neighbours.saturating_sub(*message);
        if !state.left && state.neighbours < self.k {
            cx.activate(cx.vertex());
        }
    }

    fn combine(&self, message: &mut u32, later: &u32) {
        *message += later;
    }
}

/// The vertices of the `k`-core, ascending.
///
/// # Errors
/// Errors of [`run_program`].
pub fn k_core(graph: &Graph, k: u32, cx: &Context) -> Result<Vec<VertexId>> {
    let (states, _stats) = run_program(graph, &KCore { k }, &ProgramConfig::default(), cx)?;
    Ok((0..).zip(states).filter(|(_, member)| !member.left).map(|(v, _)| v).collect())
}

/// A graph in memory for the tour: a clique of five with a tail. A store on disk goes in the
/// same way: `Graph::open(&store, &ProgramConfig::default().needs(&program), &cx)`.
#[allow(dead_code)]
fn main() -> Result<()> {
    let edges = [
        (0, 1),
        (0, 2),
        (0, 3),
        (0, 4),
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 3),
        (2, 4),
        (3, 4),
        (4, 5),
        (5, 6),
        (6, 7),
    ];
    let graph = Graph::from_edges(8, &edges, false, None)?;
    for k in 1..=5 {
        println!("{k}-core: {:?}", k_core(&graph, k, &Context::new())?);
    }
    Ok(())
}
