//! Runs of programs whose vertices send messages: a step reads the lists of those that send, or of those that
//! may receive, whichever costs less (S. Beamer, K. Asanović, D. Patterson, "Direction-optimizing
//! breadth-first search", SC 2012).

use std::sync::Arc;

use super::frontier_model::{FrontierBlocks, FrontierShape, FrontierStep, Received};
use super::inbox::{Inbox, Room};
use super::lists::{Lists, VERTICES};
use super::run::{cut, longest_block, parallel_parts};
use super::state::State;
use crate::context::Context;
use crate::costs::{ReadCosts, misses};
use crate::error::{Error, Result};
use crate::graph::{Graph, Heads};
use crate::parallel::{BLOCK, map_blocks};
use crate::program::pull::Links;
use crate::program::team::caught;
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, VertexSet, word_of};
use crate::{Direction, List, Needs, Summary, VertexId, Weights};

/// A round over heads is worth it while this part of all vertices, or more, sends.
const FEW: usize = 64;

/// The outcome of a run.
#[derive(Debug)]
pub struct FrontierRun<S> {
    /// The values of all vertices.
    pub values: S,
    /// Steps that were run.
    pub steps: u32,
    /// Vertices whose value changed in the last step: none, unless the run was cut short.
    pub active: u64,
    /// Statistics of the run.
    pub stats: RunStats,
}

/// Memory and lists that a run needs. `column` is the attribute that weights are.
pub fn frontier_needs<P: FrontierBlocks>(
    program: &P,
    column: Option<&str>,
    summary: &Summary,
) -> Needs {
    let shape = program.shape();
    let degrees = if shape.degrees { 4.0 } else { 0.0 };
    // A message, and flags of those that send now and next, of those that have got something and want it.
    let message = if shape.narrow { 4.0 } else { 8.0 };
    let state = program.value_bytes() + message + degrees + 0.5;
    Needs {
        column: column.map(str::to_owned),
        heads: takes_heads(&shape).then_some(Direction::In),
        gathers: true,
        state_bytes_fixed: longest_block(summary, shape.weighted),
        ..Needs::new(state, &[Direction::Out, Direction::In])
    }
}

/// Returns true if the first two entries of lists, which are in memory, can be enough, or a good beginning.
fn takes_heads(shape: &FrontierShape) -> bool {
    !shape.weighted && (shape.eager || shape.any && shape.links == Links::In)
}

/// Runs a program until no value changes, or for `most` steps.
///
/// # Errors
/// [`Error::Panicked`] if a callback panics, [`Error::Unsupported`] if the graph was opened without what
/// the program needs, [`Error::UnknownVertex`] if it starts at one, [`Error::OutOfMemory`],
/// [`Error::Cancelled`], [`Error::Deadline`], and errors of reading and of the program.
pub fn run_frontier<P: FrontierBlocks>(
    graph: &Graph,
    program: &P,
    most: Option<u32>,
    cx: &Context,
) -> Result<FrontierRun<P::State>> {
    caught(|| run(graph, program, most, cx))
}

fn run<P: FrontierBlocks>(
    graph: &Graph,
    program: &P,
    most: Option<u32>,
    cx: &Context,
) -> Result<FrontierRun<P::State>> {
    let mut log = IterationLog::new(graph);
    let shape = program.shape();
    let n = graph.num_vertices();
    let degrees = if shape.degrees { graph.degrees(Direction::Out, cx)? } else { Vec::new() };
    let mut values = program.state(n)?;
    let wants = begin(program, &degrees, &mut values, n, cx)?;
    let mut active = VertexSet::new(n);
    match program.starts() {
        None => active = VertexSet::full(n),
        Some(starts) => {
            for start in starts {
                if *start as usize >= n {
                    return Err(Error::UnknownVertex { id: start.to_string() });
                }
                active.insert(*start);
            }
        }
    }
    let mut room = Room::new(n, shape.narrow)?;
    let inbox = Inbox::new(&mut room, program.identity());
    let delivery = Delivery::new(graph, program, shape, inbox, wants, cx)?;
    let (mut number, cap) = (0, most.unwrap_or(u32::MAX));
    if most.is_none() && shape.eager {
        let size = active.count() as u64;
        active = delivery.hurry(&degrees, &mut values, active)?;
        log.end("heads", size);
    }
    while !active.is_empty() && number < cap {
        number += 1;
        let size = active.count() as u64;
        let step =
            FrontierStep { number, values: &values, active: active.bits(), degrees: &degrees };
        let push = delivery.push_is_cheaper(&active)?;
        if push {
            delivery.push(&step, &active)?;
        } else {
            delivery.pull(&step, &active)?;
        }
        active = delivery.receive(number, &degrees, &mut values)?;
        log.end(if push { "push" } else { "pull" }, size);
        cx.progress().update("steps", number.into(), most.unwrap_or_default().into());
    }
    Ok(FrontierRun { values, steps: number, active: active.count() as u64, stats: log.finish() })
}

/// Writes the values before the first step; returns the vertices that want messages.
fn begin<P: FrontierBlocks>(
    program: &P,
    degrees: &[u32],
    values: &mut P::State,
    n: usize,
    cx: &Context,
) -> Result<AtomicBitmap> {
    let all = AtomicBitmap::new(n);
    let parts = cut::<P::State>(values, n.div_ceil(BLOCK), |_| BLOCK);
    parallel_parts(cx, parts, |number, part| {
        let first = number * BLOCK;
        let mut wants = vec![1; BLOCK.min(n - first)];
        // Lossless: vertices are below 2^32.
        program.init(first as VertexId, degrees, part, &mut wants)?;
        for (k, wants) in wants.chunks(64).enumerate() {
            all.store_word(first / 64 + k, word_of(wants));
        }
        Ok(())
    })?;
    Ok(all)
}

/// Messages on their way.
struct Delivery<'a, P> {
    graph: &'a Graph,
    program: &'a P,
    shape: FrontierShape,
    cx: &'a Context,
    inbox: Inbox<'a>,
    /// The vertices whose values messages can change.
    wants: AtomicBitmap,
    heads: Option<Arc<Heads>>,
    /// Vertices behind this one have no in-edges.
    end: usize,
    costs: ReadCosts,
}

/// A worker's lists, and what the program writes for them.
#[derive(Default)]
struct Worker {
    lists: Lists,
    messages: Vec<u64>,
    got: Vec<u8>,
}

impl<'a, P: FrontierBlocks> Delivery<'a, P> {
    fn new(
        graph: &'a Graph,
        program: &'a P,
        shape: FrontierShape,
        inbox: Inbox<'a>,
        wants: AtomicBitmap,
        cx: &'a Context,
    ) -> Result<Self> {
        let with_heads = takes_heads(&shape) && !graph.selective();
        let heads = with_heads.then(|| graph.heads(Direction::In, cx)).transpose()?;
        let end = match shape.links {
            Links::In => graph.last_list(Direction::In)?,
            Links::Both => graph.num_vertices(),
        };
        let costs = ReadCosts::of(graph, Direction::Out)?;
        Ok(Delivery { graph, program, shape, cx, inbox, wants, heads, end, costs })
    }

    /// Directions of the lists of senders, and of those of receivers.
    fn directions(&self) -> &'static [(Direction, Direction)] {
        const ALONG: (Direction, Direction) = (Direction::Out, Direction::In);
        const AGAINST: (Direction, Direction) = (Direction::In, Direction::Out);
        match self.shape.links {
            Links::Both if self.graph.directed() => &[ALONG, AGAINST],
            Links::In | Links::Both => &[ALONG],
        }
    }

    fn push_is_cheaper(&self, active: &VertexSet) -> Result<bool> {
        if !self.shape.exact {
            return Ok(false);
        }
        if self.graph.selective() {
            return Ok(true);
        }
        let push = self.costs.visits(self.graph, Direction::Out, active, self.end)?;
        if !self.shape.selects {
            return Ok(push < self.costs.everything());
        }
        let open = self.wants.count().min(self.end) as f64;
        let lists = match self.heads.as_ref().filter(|_| self.shape.any) {
            Some(heads) => open * misses(heads, self.end, active, |v| self.wants.get(v)),
            None => open,
        };
        Ok(push < open * 3.0 + self.costs.some(lists))
    }

    /// Adds a message from one of several threads.
    #[inline]
    fn add(&self, v: VertexId, message: u64) {
        let (v, got) = (v as usize, self.inbox.got());
        if self.shape.any {
            if got.set(v) {
                self.inbox.put(v, message);
            }
            return;
        }
        self.inbox.combine(v, |before| self.program.combined(before, message));
        got.set(v);
    }

    /// Reads the lists of those that send.
    fn push(&self, step: &FrontierStep<'_, P::State>, active: &VertexSet) -> Result<()> {
        for (direction, _) in self.directions() {
            self.gathered(*direction, active, &|worker: &mut Worker| {
                let Worker { lists, messages, .. } = worker;
                let block = lists.block();
                messages.clear();
                messages.resize(block.neighbors().len(), 0);
                self.program.send(&block, step, messages)?;
                for (u, message) in block.neighbors().iter().zip(messages.iter()) {
                    if !self.shape.selects || self.wants.get(*u as usize) {
                        self.add(*u, *message);
                    }
                }
                lists.clear();
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Reads the lists of those that may receive.
    fn pull(&self, step: &FrontierStep<'_, P::State>, active: &VertexSet) -> Result<()> {
        let work = |worker: &mut Worker| self.take(step, worker);
        if let Some(heads) = self.heads.as_ref().filter(|_| self.shape.any) {
            let rest = self.along_heads(step, heads, active)?;
            let words = active.universe().div_ceil(64);
            for k in 0..words {
                let more = heads.more.words().get(k).copied().unwrap_or(0);
                let open = self.wants.word(k) & !self.inbox.got().word(k);
                rest.store_word(k, rest.word(k) | open & more);
            }
            return self.gathered(Direction::In, &rest.into(), &work);
        }
        let open = match self.shape.selects {
            true => self.wants.copied().into(),
            false => VertexSet::full(active.universe()),
        };
        self.directions()
            .iter()
            .try_for_each(|(_, direction)| self.gathered(*direction, &open, &work))
    }

    /// Delivers messages along the heads of lists; returns vertices whose heads do not tell what their lists
    /// would.
    fn along_heads(
        &self,
        step: &FrontierStep<'_, P::State>,
        heads: &Heads,
        active: &VertexSet,
    ) -> Result<AtomicBitmap> {
        let rest = AtomicBitmap::new(active.universe());
        let work = |worker: &mut Worker| self.take(step, worker);
        map_blocks(self.cx, self.end, |range| {
            let mut worker = Worker::default();
            for k in range.start / 64..range.end.div_ceil(64) {
                let mut open = if self.shape.selects { self.wants.word(k) } else { u64::MAX };
                // A head that is the vertex itself may stand for none.
                let sending = active.bits().words().get(k).copied().unwrap_or(0);
                let (mut bits, mut doubtful) = (0, 0);
                while open != 0 {
                    let bit = open.trailing_zeros();
                    open &= open - 1;
                    let v = 64 * k + bit as usize;
                    let Some(pair) = heads.pairs.get(v).filter(|_| v < range.end) else { break };
                    // Lossless: vertices are below 2^32.
                    if sending >> bit & 1 == 1 && pair.contains(&(v as VertexId)) {
                        doubtful |= 1 << bit;
                    } else if self.head(step, *pair, v, active, &mut worker) {
                        bits |= 1 << bit;
                    }
                    if worker.lists.is_full() {
                        work(&mut worker)?;
                    }
                }
                rest.unite_word(k, doubtful);
                self.inbox.got().unite_word(k, bits);
            }
            work(&mut worker)
        })?;
        Ok(rest)
    }

    /// Delivers messages along heads until few values change; returns the vertices that still have to send
    /// along all of their edges.
    fn hurry(
        &self,
        degrees: &[u32],
        values: &mut P::State,
        active: VertexSet,
    ) -> Result<VertexSet> {
        let Some(heads) = &self.heads else { return Ok(active) };
        let (few, mut pending) = (active.universe() / FEW, active.bits().clone());
        let mut active = active;
        while active.count() > few {
            let step = FrontierStep { number: 0, values, active: active.bits(), degrees };
            self.along_heads(&step, heads, &active)?;
            active = self.receive(0, degrees, values)?;
            pending.unite(active.bits());
        }
        Ok(pending.into())
    }

    /// Takes the messages that come along the heads of a vertex, and returns true if there is one; or adds
    /// the heads to the lists of a worker.
    #[inline]
    fn head(
        &self,
        step: &FrontierStep<'_, P::State>,
        pair: [VertexId; 2],
        v: usize,
        active: &VertexSet,
        worker: &mut Worker,
    ) -> bool {
        let [first, second] = pair;
        let message = match (active.contains(first), active.contains(second)) {
            (false, false) => return false,
            (false, true) => self.program.single(second, step),
            (true, true) if !self.shape.any => {
                let both = [first, second].map(|u| self.program.single(u, step));
                let [Some(one), Some(other)] = both else { return self.later(pair, v, worker) };
                Some(self.program.combined(one, other))
            }
            (true, _) => self.program.single(first, step),
        };
        let Some(message) = message else { return self.later(pair, v, worker) };
        self.put(v, message);
        true
    }

    /// Adds the heads of a vertex to the lists of a worker: no message has come yet.
    fn later(&self, pair: [VertexId; 2], v: usize, worker: &mut Worker) -> bool {
        // Lossless: vertices are below 2^32.
        worker.lists.push_entries(v as VertexId, pair.into_iter(), &[]);
        false
    }

    /// Adds a message where no other thread does; the flag is the caller's.
    #[inline]
    fn put(&self, v: usize, message: u64) {
        // Of another direction, or of the heads, there may be one already.
        let all = match self.shape.any {
            true => message,
            false => self.program.combined(self.inbox.message(v), message),
        };
        self.inbox.put(v, all);
    }

    /// Has the program combine the messages to the vertices of a worker's lists.
    fn take(&self, step: &FrontierStep<'_, P::State>, worker: &mut Worker) -> Result<()> {
        let Worker { lists, messages, got } = worker;
        let block = lists.block();
        messages.clear();
        messages.resize(block.len(), 0);
        got.clear();
        got.resize(block.len(), 0);
        self.program.gather(&block, step, messages, got)?;
        let told = block.vertices().iter().zip(messages.iter()).zip(got.iter());
        // Vertices ascend, so those of a word of flags follow each other.
        let (mut word, mut bits) = (0, 0);
        for ((v, message), _) in told.filter(|(_, got)| **got != 0) {
            let v = *v as usize;
            self.put(v, *message);
            if v / 64 != word {
                self.inbox.got().unite_word(word, bits);
                (word, bits) = (v / 64, 0);
            }
            bits |= 1 << (v % 64);
        }
        self.inbox.got().unite_word(word, bits);
        lists.clear();
        Ok(())
    }

    /// Calls `work` for blocks of the lists of a set.
    fn gathered(
        &self,
        direction: Direction,
        set: &VertexSet,
        work: &(impl Fn(&mut Worker) -> Result<()> + Sync),
    ) -> Result<()> {
        let init = |_| Worker::default();
        let workers = if self.shape.weighted {
            self.graph.gather_weighted(
                direction,
                set,
                self.cx,
                init,
                |worker, v, list, weights| collect(worker, v, list, Some(weights), work),
            )?
        } else {
            self.graph.gather(direction, set, self.cx, init, |worker, v, list| {
                collect(worker, v, list, None, work)
            })?
        };
        workers.into_iter().try_for_each(|mut worker| work(&mut worker))
    }

    /// Hands over the messages; returns the vertices whose values have changed.
    fn receive(&self, number: u32, degrees: &[u32], values: &mut P::State) -> Result<VertexSet> {
        let n = self.graph.num_vertices();
        let next = AtomicBitmap::new(n);
        let parts = cut::<P::State>(values, n.div_ceil(BLOCK), |_| BLOCK);
        parallel_parts(self.cx, parts, |number_of_part, part| {
            let first = number_of_part * BLOCK;
            let words = first / 64..(first + BLOCK).min(n).div_ceil(64);
            let mut worker = Receiver::default();
            for k in words {
                let mut word = self.inbox.got().word(k);
                if word == 0 {
                    continue;
                }
                self.inbox.got().store_word(k, 0);
                while word != 0 {
                    // Lossless: vertices are below 2^32.
                    worker.vertices.push((64 * k) as VertexId + word.trailing_zeros());
                    word &= word - 1;
                }
                if worker.vertices.len() + 64 > VERTICES {
                    self.flush(&mut worker, (number, first), degrees, part, &next)?;
                }
            }
            self.flush(&mut worker, (number, first), degrees, part, &next)
        })?;
        Ok(next.into())
    }

    /// Has the program change the values of a worker's vertices.
    fn flush(
        &self,
        worker: &mut Receiver,
        (number, first): (u32, usize),
        degrees: &[u32],
        part: &mut <P::State as State>::Part<'_>,
        next: &AtomicBitmap,
    ) -> Result<()> {
        let Receiver { vertices, messages, changed, wants } = worker;
        messages.clear();
        messages.extend(vertices.iter().map(|v| self.inbox.message(*v as usize)));
        if !self.shape.any {
            vertices.iter().for_each(|v| self.inbox.put(*v as usize, self.program.identity()));
        }
        changed.clear();
        changed.resize(vertices.len(), 0);
        wants.clear();
        wants.resize(vertices.len(), 1);
        let received = Received {
            // Lossless: vertices are below 2^32.
            first: first as VertexId,
            vertices,
            messages,
            changed,
            wants,
        };
        self.program.receive(number, degrees, part, received)?;
        // The words of a part are this worker's.
        let set = |k: usize, changed: u64, content: u64| {
            next.store_word(k, next.word(k) | changed);
            self.wants.store_word(k, self.wants.word(k) & !content);
        };
        let (mut word, mut all, mut content) = (0, 0, 0);
        for (v, (changed, wants)) in vertices.iter().zip(changed.iter().zip(wants.iter())) {
            let (k, bit) = (*v as usize / 64, v % 64);
            if k != word {
                set(word, all, content);
                (word, all, content) = (k, 0, 0);
            }
            all |= u64::from(*changed != 0) << bit;
            content |= u64::from(*wants == 0) << bit;
        }
        set(word, all, content);
        vertices.clear();
        Ok(())
    }
}

/// Vertices that have got messages, and what these do.
#[derive(Default)]
struct Receiver {
    vertices: Vec<VertexId>,
    messages: Vec<u64>,
    changed: Vec<u8>,
    wants: Vec<u8>,
}

/// Adds a list to those of a worker.
#[inline]
fn collect(
    worker: &mut Worker,
    v: VertexId,
    list: &List<'_>,
    weights: Option<&Weights<'_>>,
    work: &impl Fn(&mut Worker) -> Result<()>,
) -> Result<()> {
    worker.lists.push(v, list, weights)?;
    if worker.lists.is_full() { work(worker) } else { Ok(()) }
}
