//! One worker: runs vertices in batches, delivers messages, tells the end of iterations.

use super::engine::{Engine, Plan, TeamStep};
use super::lists::{EdgeList, Fetcher, Pending, Waves};
use super::model::{Board, RunContext, Signals};
use super::model::{Vertex, VertexProgram};
use super::outbox::Outbox;
use super::schedule::{Queue, Split, Stand, VertexTask};
use super::states::StateCursor;
use crate::VertexId;
use crate::error::Result;
use std::sync::atomic::Ordering;

/// State that one worker has for itself.
pub(super) struct ProgramWorker<'e, 'a, P: VertexProgram> {
    engine: &'e Engine<'a, P>,
    index: usize,
    out: Outbox<P::Message>,
    /// The running vertices.
    slab: Vec<Vertex<P>>,
    requests: Vec<Pending>,
    waves: Waves,
    fetcher: Fetcher<'a>,
    /// Drawn but not yet running, from `next_task` on.
    tasks: Vec<VertexTask>,
    next_task: usize,
    stand: Stand,
    /// The iteration and stage of `stand`.
    stage: Option<(u32, u32)>,
}

impl<'e, 'a, P: VertexProgram> ProgramWorker<'e, 'a, P> {
    pub(super) fn new(engine: &'e Engine<'a, P>, index: usize) -> Self {
        ProgramWorker {
            engine,
            index,
            out: Outbox::new(engine.grid),
            slab: Vec::new(),
            requests: Vec::new(),
            waves: Waves::new(engine.graph.mode()),
            fetcher: Fetcher::new(engine.graph),
            tasks: Vec::new(),
            next_task: 0,
            stand: Stand::default(),
            stage: None,
        }
    }

    /// Does this worker's share of the present step, and hands its messages over.
    pub(super) fn step(&mut self, plan: &Plan<'a, P::State>) -> Result<()> {
        let board = self.engine.board(plan.iteration);
        match plan.step {
            TeamStep::Run => self.run(plan, board)?,
            TeamStep::Deliver => self.deliver(board)?,
            TeamStep::Notify => self.notify(plan, board)?,
            TeamStep::Done => {}
        }
        self.out.fault.take().map_or(Ok(()), Err)?;
        self.hand_over();
        Ok(())
    }

    /// Runs vertices until the stage has none left, or so many messages wait that they must
    /// be delivered first.
    fn run(&mut self, plan: &Plan<'a, P::State>, board: Board<'_>) -> Result<()> {
        let engine = self.engine;
        if self.stage != Some((plan.iteration, plan.stage)) {
            self.stage = Some((plan.iteration, plan.stage));
            self.stand = Stand::default();
        }
        let capacity = engine.config.message_bytes.max(1);
        loop {
            engine.cx.check()?;
            if engine.queued.load(Ordering::Relaxed) >= capacity || !self.fill(plan) {
                return Ok(());
            }
            self.run_batch(board)?;
            engine.queued.fetch_add(self.out.take_queued(), Ordering::Relaxed);
            if self.out.fault.is_some() {
                return Ok(());
            }
        }
    }

    /// Makes vertices running: as many as may run together, by number and by bytes of lists.
    fn fill(&mut self, plan: &Plan<'a, P::State>) -> bool {
        let engine = self.engine;
        let mut states = engine.states.cursor();
        let mut bytes = 0u64;
        self.slab.clear();
        while self.slab.len() < engine.config.running.max(1) && bytes < engine.config.batch_bytes {
            let Some(task) = self.next_task(plan) else { break };
            bytes += u64::from(task.bytes);
            let (id, state, parts) = match plan.splits.get(task.split as usize) {
                Some(split) if matches!(plan.queue, Queue::Parts { .. }) => {
                    (split.vertex, split.state, split.parts)
                }
                _ => {
                    let parts = engine.program.parts(task.vertex, &engine.facts).max(1);
                    // The schedule holds vertices of the graph only.
                    let Some(state) = states.get(task.vertex).copied() else { continue };
                    if parts > 1 {
                        engine.add_split(Split { vertex: task.vertex, parts, state });
                    }
                    (task.vertex, state, parts)
                }
            };
            let scratch = P::Scratch::default();
            self.slab.push(Vertex { state, scratch, id, part: task.part, parts });
        }
        !self.slab.is_empty()
    }

    fn next_task(&mut self, plan: &Plan<'a, P::State>) -> Option<VertexTask> {
        if self.next_task >= self.tasks.len() {
            self.tasks.clear();
            self.next_task = 0;
            let engine = self.engine;
            if engine.wishes.stop.load(Ordering::Relaxed) {
                return None;
            }
            let (fetcher, directions) = (&self.fetcher, &engine.needs.lists);
            let frontier = engine.active(plan.iteration);
            engine.cursors.draw(
                &plan.queue,
                frontier,
                self.index,
                &mut self.stand,
                &mut self.tasks,
                |vertices| directions.iter().map(|&d| fetcher.bytes(d, vertices.clone())).sum(),
            );
        }
        let task = self.tasks.get(self.next_task).copied()?;
        self.next_task += 1;
        Some(task)
    }

    /// Runs the vertices of the slab to their ends and puts their states back.
    fn run_batch(&mut self, board: Board<'_>) -> Result<()> {
        let ProgramWorker { engine, out, slab, requests, waves, fetcher, .. } = self;
        let program = engine.program;
        for (slot, me) in slab.iter_mut().enumerate() {
            let signals = Signals::new(program, board, out, me.id);
            // The slab has at most as many slots as there are 32-bit ids.
            program.run(me, &mut RunContext::new(signals, requests, slot as u32));
        }
        let mut visit = |requests: &mut Vec<Pending>, slot: u32, list: &EdgeList<'_>| match slab
            .get_mut(slot as usize)
        {
            Some(me) => {
                let signals = Signals::new(program, board, out, me.id);
                program.run_on_vertex(me, list, &mut RunContext::new(signals, requests, slot))
            }
            None => Ok(()),
        };
        while fetcher.serve(waves, requests, engine.cx, &mut visit)? {}
        let mut states = engine.states.cursor();
        for me in slab.iter().filter(|me| me.parts == 1) {
            put_back(&mut states, me.id, me.state);
        }
        Ok(())
    }

    /// Delivers the messages to one partition after the other, own ones first.
    fn deliver(&mut self, board: Board<'_>) -> Result<()> {
        let engine = self.engine;
        let partitions = engine.grid.partitions();
        // A worker may have sent most messages of one round, and another one those of the next:
        // bundles that kept what they needed once would take the limit for each of them.
        let keep = engine.config.message_bytes / (engine.workers * partitions);
        let own = (self.index..partitions).step_by(engine.workers);
        let others = (0..partitions).filter(|p| p % engine.workers != self.index);
        for partition in own.chain(others) {
            if !engine.claim(partition) {
                continue;
            }
            let mut states = engine.states.partition(partition);
            for sender in 0..engine.workers {
                engine.cx.check()?;
                let Some(mut bundle) = engine.bundle(sender, partition) else { continue };
                bundle.drain(keep, |to, message| {
                    if let Some(state) = states.get(to) {
                        let mut signals = Signals::new(engine.program, board, &mut self.out, to);
                        engine.program.run_on_message(state, message, &mut signals);
                    }
                });
            }
        }
        Ok(())
    }

    /// Tells the end of the iteration to the vertices that asked for it.
    fn notify(&mut self, plan: &Plan<'a, P::State>, board: Board<'_>) -> Result<()> {
        let engine = self.engine;
        let mut states = engine.states.cursor();
        while let Some(words) = engine.draw_words(plan) {
            engine.cx.check()?;
            for &word in words {
                let mut bits = engine.notify.take_word(word as usize);
                while bits != 0 {
                    // Members are vertices, which have 32 bits.
                    let vertex: VertexId = word * 64 + bits.trailing_zeros();
                    bits &= bits - 1;
                    if let Some(state) = states.get(vertex) {
                        let mut signals =
                            Signals::new(engine.program, board, &mut self.out, vertex);
                        engine.program.run_on_iteration_end(state, &mut signals);
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts the bundles where the receivers' workers find them, and the counters on the
    /// common account.
    fn hand_over(&mut self) {
        let engine = self.engine;
        let mut pending = 0;
        for (partition, mine) in self.out.bundles_mut().iter_mut().enumerate() {
            if mine.is_empty() {
                continue;
            }
            if let Some(mut slot) = engine.bundle(self.index, partition) {
                pending += mine.len();
                // What lies in the slot was delivered; its memory comes back for reuse.
                std::mem::swap(mine, &mut *slot);
            }
        }
        self.out.take_queued();
        engine.pending.fetch_add(pending, Ordering::Relaxed);
        engine.activated.fetch_add(self.out.take_activated(), Ordering::Relaxed);
        engine.leftover.fetch_add(self.tasks.len() - self.next_task, Ordering::Relaxed);
    }
}

fn put_back<S: Copy>(states: &mut StateCursor<'_, '_, S>, vertex: VertexId, state: S) {
    if let Some(place) = states.get(vertex) {
        *place = state;
    }
}
