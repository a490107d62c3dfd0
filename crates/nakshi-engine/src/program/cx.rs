//! Operations of a callback besides changes of its state.

use super::frontier::Frontier;
use super::lists::{EdgeList, ListKind, Pending};
use super::model::{Facts, VertexProgram};
use super::outbox::Outbox;
use crate::VertexId;
use crate::error::Result;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// Errors of decoding the list.
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
    /// Errors of decoding the list.
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
