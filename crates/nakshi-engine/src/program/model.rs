//! The programming model: what a user writes.

use super::cx::{RunContext, Signals};
use super::lists::EdgeList;
use crate::error::Result;
use crate::{Direction, VertexId};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// A program that every vertex of a graph runs (FlashGraph section 3.4).
///
/// A run goes in iterations. In each, [`run`](Self::run) is executed exactly once for every
/// *active* vertex; whoever is activated in an iteration is active in the next one; when
/// nobody is, the run ends. A callback sees the state of its own vertex only. It affects others
/// by messages and activations, and reads edge lists, of any vertex, by asking for them.
///
/// A vertex is *running* from `run` until it has been given the last list that it asked for.
/// No two callbacks of one vertex ever run at the same time.
///
/// **When messages arrive.** A message is delivered in the iteration in which it was sent, at
/// some time before that iteration's [`run_on_iteration_end`](Self::run_on_iteration_end), to
/// active and inactive vertices alike, never to a vertex while it is running, and in no
/// particular order. Whether it finds its receiver before or after the receiver's own `run`
/// is open: buffers are emptied when they are full. A program whose result must not depend on
/// that collects into one field of its state in `run_on_message`, asks for the end of the
/// iteration, and moves the field over in `run_on_iteration_end`; [`super::programs::PageRank`]
/// is written so, and its result is the same, to the bit, for any number of threads.
pub trait VertexProgram: Sync + Sized {
    /// State of each vertex, which the engine keeps in memory; of constant size.
    type State: Copy + Send + Sync;
    /// Message from one vertex to another; of constant size.
    type Message: Copy + Send;
    /// Data that a vertex holds only while it runs, such as its own edge list when it is to be
    /// compared with others. It is made anew for every `run`, and may allocate.
    type Scratch: Default;

    /// True if the engine may use [`combine`](Self::combine).
    const COMBINES: bool = false;

    /// Lists, degrees and columns that the engine must prepare.
    fn needs(&self) -> ProgramNeeds;

    /// The state of a vertex before the first iteration.
    fn init(&self, vertex: VertexId, facts: &Facts) -> Self::State;

    /// The vertices that are active in the first iteration.
    fn start(&self) -> Start {
        Start::All
    }

    /// Order in which the active vertices of an iteration are run, unless
    /// [`ProgramConfig::order`](super::Config::order) says otherwise.
    fn order(&self) -> Order {
        Order::Alternating
    }

    /// With [`Order::Key`]: vertices with larger keys run first in `iteration`.
    fn key(&self, _vertex: VertexId, _iteration: u32, _facts: &Facts) -> u64 {
        0
    }

    /// Vertical partitioning (section 3.8): into how many parts a vertex is split, 1 for not
    /// at all. Asked for every active vertex in every iteration.
    ///
    /// Each part is run with its own copy of the state, taken when part 0 is scheduled and
    /// dropped at the end: a part speaks by messages only, to its own vertex too. In an
    /// iteration all parts `j` of all vertices are run before any part `j + 1`, and different
    /// threads may run parts of one vertex.
    fn parts(&self, _vertex: VertexId, _facts: &Facts) -> u32 {
        1
    }

    /// The entry point of an iteration; executed once for each active vertex (or part).
    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>);

    /// A requested list has arrived. Called once for each request, in no
    /// particular order, on the bytes where they are, without a copy.
    ///
    /// # Errors
    /// Errors of decoding the list, which end the run.
    fn run_on_vertex(
        &self,
        _me: &mut Vertex<Self>,
        _list: &EdgeList<'_>,
        _cx: &mut RunContext<'_, Self>,
    ) -> Result<()> {
        Ok(())
    }

    /// A message has arrived; also called for vertices that are not active.
    fn run_on_message(
        &self,
        _state: &mut Self::State,
        _message: &Self::Message,
        _cx: &mut Signals<'_, Self>,
    ) {
    }

    /// All active vertices of the iteration have run and all messages are delivered. Called
    /// only for vertices that asked by [`Signals::request_iteration_end`].
    fn run_on_iteration_end(&self, _state: &mut Self::State, _cx: &mut Signals<'_, Self>) {}

    /// Merges `later` into `message`; both go to the same vertex. Must not depend on order or
    /// grouping; with floats that is so up to rounding. Applied to messages sent one by one
    /// that meet in a buffer, so a vertex may still get several.
    fn combine(&self, _message: &mut Self::Message, _later: &Self::Message) {}

    /// Called once after each iteration, while nothing runs; breaking ends the run.
    fn after_iteration(&self, _iteration: u32, _active_next: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Lists, degrees and columns that a program reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramNeeds {
    /// Directions whose lists are asked for.
    pub lists: Vec<Direction>,
    /// Directions whose degrees are looked up for any vertex (4 bytes per vertex each).
    pub degrees: Vec<Direction>,
    /// The attribute column that requests may name.
    pub column: Option<String>,
}

impl ProgramNeeds {
    /// Own lists of these directions, no degrees, no attributes.
    pub fn lists(directions: &[Direction]) -> Self {
        ProgramNeeds { lists: directions.to_vec(), ..Self::default() }
    }
}

/// The vertices that are active in the first iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// All vertices.
    All,
    /// The given vertices.
    Vertices(Vec<VertexId>),
}

/// The schedule of an iteration (section 3.7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// By id, up and down in turn, so that the pages read last are read first in the next
    /// iteration, while they are in the cache. Each worker starts with its own partitions.
    Alternating,
    /// By id, always upwards.
    Ascending,
    /// By [`VertexProgram::key`], largest first, equal keys by id; one queue for all workers.
    Key,
    /// As the vertices stand here, which need not be all; those missing follow by id. One
    /// queue for all workers.
    Vector(Vec<VertexId>),
}

/// Facts about the graph besides its lists.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub(super) vertices: usize,
    pub(super) directed: bool,
    pub(super) out_degrees: Option<Vec<u32>>,
    pub(super) in_degrees: Option<Vec<u32>>,
}

impl Facts {
    /// Number of vertices.
    pub fn num_vertices(&self) -> usize {
        self.vertices
    }

    /// True if edges have a direction; otherwise the lists of both directions are the same.
    pub fn directed(&self) -> bool {
        self.directed
    }

    /// Degree of any vertex; `None` for an unknown vertex, and if the program's
    /// [`ProgramNeeds::degrees`] do not name the direction.
    #[inline]
    pub fn degree(&self, vertex: VertexId, direction: Direction) -> Option<u32> {
        let degrees = match direction {
            Direction::In if self.directed => &self.in_degrees,
            _ => &self.out_degrees,
        };
        degrees.as_ref()?.get(vertex as usize).copied()
    }
}

/// A running vertex, or a part of one.
pub struct Vertex<P: VertexProgram> {
    /// The state: the vertex's own, or a part's copy.
    pub state: P::State,
    /// Data that the vertex holds only while it runs.
    pub scratch: P::Scratch,
    pub(super) id: VertexId,
    pub(super) part: u32,
    pub(super) parts: u32,
}

impl<P: VertexProgram> Vertex<P> {
    /// The vertex.
    pub fn id(&self) -> VertexId {
        self.id
    }

    /// Which part of the vertex this is, and of how many; `(0, 1)` for a whole vertex.
    pub fn part(&self) -> (u32, u32) {
        (self.part, self.parts)
    }

    /// The vertices whose lists this part is to ask for: the ids are cut into as many ranges
    /// as the vertex has parts (Figure 7). All ids for a whole vertex.
    pub fn part_range(&self, facts: &Facts) -> std::ops::Range<u64> {
        let n = facts.vertices as u64;
        let parts = u64::from(self.parts.max(1));
        let cut = |j: u64| (u128::from(n) * u128::from(j) / u128::from(parts)) as u64;
        cut(self.part.into())..cut(u64::from(self.part) + 1)
    }
}
