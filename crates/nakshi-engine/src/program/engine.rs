//! The iterations of a run: what all workers share, and who decides what is next.

use super::config::ProgramConfig;
use super::frontier::Frontier;
use super::grid::Grid;
use super::model::{Board, Wishes};
use super::model::{Facts, Order, ProgramNeeds, Start, VertexProgram};
use super::outbox::Bundle;
use super::schedule::{self, Cursors, Queue, Split};
use super::states::States;
use super::team::Team;
use crate::Direction;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::stats::IterationLog;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// Active vertices up to which one worker does the iteration alone: waking the others would
/// take longer.
const SOLO: u64 = 64;
/// Words of the notification set that a worker draws at once.
const WORDS: usize = 64;

/// The work of the team between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TeamStep {
    /// Runs vertices.
    Run,
    /// Delivers the messages that were handed over in the last step.
    Deliver,
    /// Tells the end of the iteration.
    Notify,
    /// Nothing more.
    Done,
}

/// The present step and what belongs to it; changes only at barriers.
#[derive(Debug)]
pub(super) struct Plan<'a, S> {
    pub(super) step: TeamStep,
    /// True if worker 0 should do the step alone.
    pub(super) solo: bool,
    /// True while worker 0 does the step alone and the others wait at the barrier. Unlike all else
    /// this changes only while all workers are at the barrier: one that is late must not
    /// find a plan under which it would not wait.
    pub(super) alone: bool,
    pub(super) iteration: u32,
    /// The vertical partition that runs.
    pub(super) stage: u32,
    pub(super) queue: Queue,
    pub(super) splits: Vec<Split<S>>,
    /// Words with vertices that want to be told of the end of the iteration.
    words: Vec<u32>,
    /// True once all vertices of the iteration have run.
    ending: bool,
    active: u64,
    active_next: u64,
    pub(super) log: Option<IterationLog<'a>>,
}

/// State that the workers of one run share.
pub(super) struct Engine<'a, P: VertexProgram> {
    pub(super) program: &'a P,
    pub(super) graph: &'a Graph,
    pub(super) cx: &'a Context,
    pub(super) config: &'a ProgramConfig,
    pub(super) needs: ProgramNeeds,
    order: Cow<'a, Order>,
    pub(super) facts: Facts,
    pub(super) grid: Grid,
    pub(super) workers: usize,
    pub(super) states: States<'a, P::State>,
    /// Active vertices of even and odd iterations.
    active: [Frontier; 2],
    /// Vertices that want to be told of the end of the iteration.
    pub(super) notify: Frontier,
    pub(super) wishes: Wishes,
    pub(super) cursors: Cursors,
    /// Hand-over of messages, by sender and partition.
    slots: Vec<Mutex<Bundle<P::Message>>>,
    /// Partitions whose messages have a worker that delivers them in this step.
    claimed: Vec<AtomicBool>,
    /// Split vertices of this iteration, as they are met.
    met: Mutex<Vec<Split<P::State>>>,
    /// The number of [`Plan::words`] that workers have drawn.
    drawn: AtomicUsize,
    /// Bytes of messages that wait in the outboxes, about.
    pub(super) queued: AtomicUsize,
    /// Messages handed over.
    pub(super) pending: AtomicUsize,
    /// Vertices activated.
    pub(super) activated: AtomicU64,
    /// Vertices drawn by workers and not yet run.
    pub(super) leftover: AtomicUsize,
    pub(super) plan: RwLock<Plan<'a, P::State>>,
    pub(super) team: Team,
}

pub(super) fn facts(graph: &Graph, needs: &ProgramNeeds, cx: &Context) -> Result<Facts> {
    if let Some(name) = needs.column.as_ref().filter(|_| !graph.weighted()) {
        let what = format!("the program reads column `{name}`; open the graph with it");
        return Err(Error::Unsupported { what });
    }
    let directed = graph.directed();
    let mut facts = Facts { vertices: graph.num_vertices(), directed, ..Facts::default() };
    for &direction in &needs.degrees {
        let side = match direction {
            Direction::In if directed => &mut facts.in_degrees,
            _ => &mut facts.out_degrees,
        };
        if side.is_none() {
            *side = Some(graph.degrees(direction, cx)?);
        }
    }
    Ok(facts)
}

impl<'a, P: VertexProgram> Engine<'a, P> {
    pub(super) fn new(
        graph: &'a Graph,
        program: &'a P,
        config: &'a ProgramConfig,
        cx: &'a Context,
        facts: Facts,
        states: &'a mut [P::State],
        log: IterationLog<'a>,
    ) -> Result<Self> {
        let n = states.len();
        // A team larger than the graph has words would only wait.
        let workers = cx.threads().min(n.div_ceil(64)).max(1);
        let grid = Grid::new(n, workers, config.running, config.range_bits);
        let frontier = || Frontier::new(n, grid.range_bits());
        let engine = Engine {
            program,
            graph,
            cx,
            config,
            needs: program.needs(),
            order: config.order.as_ref().map_or_else(|| Cow::Owned(program.order()), Cow::Borrowed),
            facts,
            grid,
            workers,
            states: States::new(states, grid),
            active: [frontier(), frontier()],
            notify: frontier(),
            wishes: Wishes::default(),
            cursors: Cursors::new(grid, workers),
            slots: (0..workers * grid.partitions()).map(|_| Mutex::default()).collect(),
            claimed: (0..grid.partitions()).map(|_| AtomicBool::new(false)).collect(),
            met: Mutex::new(Vec::new()),
            drawn: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            activated: AtomicU64::new(0),
            leftover: AtomicUsize::new(0),
            plan: RwLock::new(Plan {
                step: TeamStep::Done,
                solo: false,
                alone: false,
                iteration: 0,
                stage: 0,
                queue: Queue::Listed(Vec::new()),
                splits: Vec::new(),
                words: Vec::new(),
                ending: false,
                active: 0,
                active_next: 0,
                log: Some(log),
            }),
            team: Team::new(workers),
        };
        engine.start()?;
        Ok(engine)
    }

    /// Activates the first vertices and plans the first iteration.
    fn start(&self) -> Result<()> {
        let first = self.active(0);
        let mut active = 0;
        match self.program.start() {
            Start::All => {
                first.fill();
                active = self.grid.vertices() as u64;
            }
            Start::Vertices(vertices) => {
                for v in vertices {
                    let new = first.insert(v).ok_or(Error::UnknownVertex { id: v.to_string() })?;
                    active += u64::from(new);
                }
            }
        }
        let mut plan = self.plan.write().unwrap_or_else(PoisonError::into_inner);
        plan.active_next = active;
        self.plan_iteration(&mut plan, 0);
        plan.alone = plan.solo;
        Ok(())
    }

    /// Lets worker 0 go on alone, or not, as planned; called while all others are waiting, and
    /// by whoever comes last: all who may meet at a barrier bring the same.
    pub(super) fn settle(&self) -> Result<()> {
        let mut plan = self.plan.write().unwrap_or_else(PoisonError::into_inner);
        plan.alone = plan.solo;
        Ok(())
    }

    /// Decides what comes next; called by one worker while the others wait.
    pub(super) fn advance(&self) -> Result<()> {
        let mut plan = self.plan.write().unwrap_or_else(PoisonError::into_inner);
        plan.active_next += self.activated.swap(0, Ordering::Relaxed);
        let leftover = self.leftover.swap(0, Ordering::Relaxed);
        self.queued.store(0, Ordering::Relaxed);
        if self.pending.swap(0, Ordering::Relaxed) > 0 {
            for claimed in &self.claimed {
                claimed.store(false, Ordering::Relaxed);
            }
            plan.step = TeamStep::Deliver;
            return Ok(());
        }
        if !plan.ending {
            let words_per_block = self.notify.words_per_block();
            // Whoever was drawn before a stop is run: in a custom order that is everybody who
            // stands before the one that stopped.
            let stop = self.wishes.stop.load(Ordering::Relaxed);
            let more = || self.cursors.left(&plan.queue, words_per_block);
            if leftover > 0 || !stop && (more() || self.next_stage(&mut plan)) {
                plan.step = TeamStep::Run;
                return Ok(());
            }
            plan.ending = true;
            plan.words = schedule::words_of(&self.notify);
            if !plan.words.is_empty() {
                self.drawn.store(0, Ordering::Relaxed);
                plan.step = TeamStep::Notify;
                return Ok(());
            }
        }
        self.end_iteration(&mut plan)
    }

    /// Goes on to the next vertical partition; `false` if there is none.
    fn next_stage(&self, plan: &mut Plan<'a, P::State>) -> bool {
        if plan.stage == 0 {
            let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
            plan.splits = plan.queue.sorted(std::mem::take(&mut *met));
        }
        plan.stage += 1;
        let part = plan.stage;
        let splits: Vec<u32> = (0u32..)
            .zip(&plan.splits)
            .filter(|(_, split)| split.parts > part)
            .map(|(index, _)| index)
            .collect();
        if splits.is_empty() {
            return false;
        }
        plan.queue = Queue::Parts { splits, part };
        self.cursors.reset();
        true
    }

    fn end_iteration(&self, plan: &mut Plan<'a, P::State>) -> Result<()> {
        if let Some(log) = &mut plan.log {
            log.end("iteration", plan.active);
        }
        let flow = self.program.after_iteration(plan.iteration, plan.active_next);
        let next = plan.iteration.saturating_add(1);
        let cap = self.config.max_iterations.unwrap_or(u32::MAX);
        self.cx.progress().update("iterations", next.into(), cap.into());
        self.cx.check()?;
        let asked = self.wishes.stop.load(Ordering::Relaxed)
            || self.wishes.last.load(Ordering::Relaxed)
            || flow.is_break();
        if asked {
            plan.active_next = 0;
        }
        self.plan_iteration(plan, next);
        Ok(())
    }

    /// Plans an iteration of the vertices that have been activated for it.
    fn plan_iteration(&self, plan: &mut Plan<'a, P::State>, iteration: u32) {
        plan.active = std::mem::take(&mut plan.active_next);
        if plan.active == 0 || self.config.max_iterations.is_some_and(|cap| iteration >= cap) {
            plan.step = TeamStep::Done;
            plan.solo = false;
            return;
        }
        plan.iteration = iteration;
        plan.stage = 0;
        plan.splits.clear();
        plan.ending = false;
        plan.queue =
            schedule::plan(&self.order, self.active(iteration), self.grid, iteration, |v| {
                self.program.key(v, iteration, &self.facts)
            });
        self.cursors.reset();
        plan.step = TeamStep::Run;
        plan.solo = plan.active <= SOLO;
    }

    /// The vertices that are active in an iteration.
    pub(super) fn active(&self, iteration: u32) -> &Frontier {
        let [even, odd] = &self.active;
        if iteration.is_multiple_of(2) { even } else { odd }
    }

    /// The state that callbacks of this iteration see.
    pub(super) fn board(&self, iteration: u32) -> Board<'_> {
        Board {
            facts: &self.facts,
            next: self.active(iteration.wrapping_add(1)),
            notify: &self.notify,
            wishes: &self.wishes,
            iteration,
        }
    }

    /// Notes a vertex that is split in this iteration.
    pub(super) fn add_split(&self, split: Split<P::State>) {
        self.met.lock().unwrap_or_else(PoisonError::into_inner).push(split);
    }

    /// Takes the delivery to a partition; `true` for one worker in each step.
    pub(super) fn claim(&self, partition: usize) -> bool {
        self.claimed.get(partition).is_some_and(|c| !c.swap(true, Ordering::Relaxed))
    }

    /// The hand-over place from a worker to a partition.
    pub(super) fn bundle(
        &self,
        sender: usize,
        partition: usize,
    ) -> Option<MutexGuard<'_, Bundle<P::Message>>> {
        let slot = self.slots.get(sender * self.grid.partitions() + partition)?;
        // Senders and receivers use it in different steps: the lock is free.
        Some(slot.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next words of the notification set for a worker.
    pub(super) fn draw_words<'p>(&self, plan: &'p Plan<'a, P::State>) -> Option<&'p [u32]> {
        let from = self.drawn.fetch_add(WORDS, Ordering::Relaxed);
        let to = plan.words.len().min(from + WORDS);
        plan.words.get(from..to).filter(|words| !words.is_empty())
    }
}
