//! The programming model: what a user writes, and what a callback can do besides changing its state.

use super::frontier::Frontier;
use super::lists::{EdgeList, ListKind, Pending};
use super::outbox::Outbox;
use crate::error::Result;
use crate::{Direction, VertexId};
use serde::{Deserialize, Serialize};
use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// [`ProgramConfig::order`](super::ProgramConfig::order) says otherwise.
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

/// Requests of callbacks about the run as a whole.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// No further vertex is to be taken from the schedule.
    pub(super) stop: AtomicBool,
    /// The iteration is to be the last.
    pub(super) last: AtomicBool,
}

/// State that callbacks of one iteration share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Board<'a> {
    pub(super) facts: &'a Facts,
    pub(super) next: &'a Frontier,
    pub(super) notify: &'a Frontier,
    pub(super) wishes: &'a Wishes,
    pub(super) iteration: u32,
}

/// Operations of every callback: send, activate, look up facts, ask for the end of the iteration.
pub struct Signals<'a, P: VertexProgram> {
    program: &'a P,
    board: Board<'a>,
    out: &'a mut Outbox<P::Message>,
    vertex: VertexId,
}

impl<'a, P: VertexProgram> Signals<'a, P> {
    #[inline]
    pub(super) fn new(
        program: &'a P,
        board: Board<'a>,
        out: &'a mut Outbox<P::Message>,
        vertex: VertexId,
    ) -> Self {
        Signals { program, board, out, vertex }
    }

    /// The vertex whose callback this is.
    #[inline]
    pub fn vertex(&self) -> VertexId {
        self.vertex
    }

    /// The iteration, counted from 0.
    #[inline]
    pub fn iteration(&self) -> u32 {
        self.board.iteration
    }

    /// Facts about the graph: size, direction, degrees.
    #[inline]
    pub fn facts(&self) -> &'a Facts {
        self.board.facts
    }

    /// Makes a vertex active in the next iteration. Activating it again changes nothing.
    /// A vertex that does not exist ends the run with [`crate::Error::UnknownVertex`]; so it
    /// is with all other calls that name a vertex.
    #[inline]
    pub fn activate(&mut self, vertex: VertexId) {
        match self.board.next.insert(vertex) {
            Some(true) => self.out.count_activation(),
            Some(false) => {}
            None => self.out.unknown(vertex),
        }
    }

    /// Makes several vertices active in the next iteration: a multicast without data.
    #[inline]
    pub fn activate_many(&mut self, vertices: &[VertexId]) {
        for &vertex in vertices {
            self.activate(vertex);
        }
    }

    /// Activates all neighbours in a list.
    ///
    /// # Errors
    /// Of decoding the list.
    #[inline]
    pub fn activate_list(&mut self, list: &EdgeList<'_>) -> Result<()> {
        list.blocks(|block| {
            self.activate_many(block);
            ControlFlow::Continue(())
        })
    }

    /// Sends a message to one vertex.
    #[inline]
    pub fn send(&mut self, to: VertexId, message: P::Message) {
        let program = self.program;
        let combine = P::COMBINES
            .then_some(|m: &mut P::Message, later: &P::Message| program.combine(m, later));
        self.out.send(to, message, combine);
    }

    /// Sends the same message to many vertices; it is stored once for each partition. Best if
    /// they are sorted.
    #[inline]
    pub fn multicast(&mut self, to: &[VertexId], message: P::Message) {
        self.out.begin_multicast();
        self.out.multicast(to, message);
    }

    /// Sends the same message to all neighbours in a list.
    ///
    /// # Errors
    /// Of decoding the list.
    #[inline]
    pub fn multicast_list(&mut self, list: &EdgeList<'_>, message: P::Message) -> Result<()> {
        self.out.begin_multicast();
        list.blocks(|block| {
            self.out.multicast(block, message);
            ControlFlow::Continue(())
        })
    }

    /// Asks for [`VertexProgram::run_on_iteration_end`] of this vertex at the end of the
    /// iteration; asked there, at the end of the next one, if there is one.
    #[inline]
    pub fn request_iteration_end(&mut self) {
        self.board.notify.insert(self.vertex);
    }

    /// Early stop: no further vertex is taken from the schedule. Those taken are run (in a
    /// custom order that is everybody before this one, and a few behind), messages delivered,
    /// ends of the iteration told; then the run ends.
    pub fn stop(&mut self) {
        self.board.wishes.stop.store(true, Ordering::Relaxed);
    }

    /// Makes this iteration the last.
    pub fn finish_after_iteration(&mut self) {
        self.board.wishes.last.store(true, Ordering::Relaxed);
    }
}

/// Operations of a running vertex: all of [`Signals`], and requests for edge lists.
pub struct RunContext<'a, P: VertexProgram> {
    signals: Signals<'a, P>,
    requests: &'a mut Vec<Pending>,
    slot: u32,
}

impl<'a, P: VertexProgram> RunContext<'a, P> {
    #[inline]
    pub(super) fn new(signals: Signals<'a, P>, requests: &'a mut Vec<Pending>, slot: u32) -> Self {
        RunContext { signals, requests, slot }
    }

    /// Asks for the vertex's own list.
    #[inline]
    pub fn request_own(&mut self, kind: ListKind) {
        self.requests.push(Pending { vertex: self.signals.vertex, slot: self.slot, kind });
    }

    /// Asks for the list of any vertex.
    #[inline]
    pub fn request(&mut self, vertex: VertexId, kind: ListKind) {
        if vertex as usize >= self.signals.board.facts.num_vertices() {
            return self.signals.out.unknown(vertex);
        }
        self.requests.push(Pending { vertex, slot: self.slot, kind });
    }

    /// Asks for the lists of several vertices; each arrives as an event of its own.
    pub fn request_many(&mut self, vertices: &[VertexId], kind: ListKind) {
        for &vertex in vertices {
            self.request(vertex, kind);
        }
    }
}

impl<'a, P: VertexProgram> Deref for RunContext<'a, P> {
    type Target = Signals<'a, P>;

    fn deref(&self) -> &Signals<'a, P> {
        &self.signals
    }
}

impl<'a, P: VertexProgram> DerefMut for RunContext<'a, P> {
    fn deref_mut(&mut self) -> &mut Signals<'a, P> {
        &mut self.signals
    }
}
