//! Runs of programs whose vertices send messages: a step reads the lists of those that send, or of those that
//! may receive, whichever costs less (S. Beamer, K. Asanović, D. Patterson, "Direction-optimizing
//! breadth-first search", SC 2012).

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::frontier_model::{FrontierBlocks, FrontierShape, FrontierStep, Received};
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
use crate::shared::{share_u64, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, VertexSet};
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
    let state = program.value_bytes() + 8.0 + degrees + 0.5;
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
    let mut inbox = zeroed::<u64>(n, "messages")?;
    inbox.fill(program.identity());
    let inbox = share_u64(&mut inbox);
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
            let bits = wants.iter().enumerate().filter(|(_, wants)| **wants != 0);
            all.store_word(first / 64 + k, bits.fold(0, |word, (bit, _)| word | 1 << bit));
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
    /// A message for each vertex.
    inbox: &'a [AtomicU64],
    /// The vertices that have one.
    got: AtomicBitmap,
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
        inbox: &'a [AtomicU64],
        wants: AtomicBitmap,
        cx: &'a Context,
    ) -> Result<Self> {
        let with_heads = takes_heads(&shape) && !graph.selective();
        let heads = with_heads.then(|| graph.heads(Direction::In, cx)).transpose()?;
        let end = match shape.links {
            Links::In => graph.last_list(Direction::In)?,
            Links::Both => graph.num_vertices(),
        };
        let (got, costs) =
            (AtomicBitmap::new(graph.num_vertices()), ReadCosts::of(graph, Direction::Out)?);
        Ok(Delivery { graph, program, shape, cx, inbox, got, wants, heads, end, costs })
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
        let Some(place) = self.inbox.get(v as usize) else { return };
        if self.shape.any {
            if self.got.set(v as usize) {
                place.store(message, Relaxed);
            }
            return;
        }
        let mut before = place.load(Relaxed);
        loop {
            let after = self.program.combined(before, message);
            if after == before {
                break;
            }
            match place.compare_exchange_weak(before, after, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(now) => before = now,
            }
        }
        self.got.set(v as usize);
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
                let open = self.wants.word(k) & !self.got.word(k);
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
                let mut bits = 0;
                while open != 0 {
                    let bit = open.trailing_zeros();
                    open &= open - 1;
                    let v = 64 * k + bit as usize;
                    if v < range.end && self.head(step, (heads, v), active, (&mut worker, &rest)) {
                        bits |= 1 << bit;
                    }
                    if worker.lists.is_full() {
                        work(&mut worker)?;
                    }
                }
                if bits != 0 {
                    self.got.unite_word(k, bits);
                }
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
        (heads, v): (&Heads, usize),
        active: &VertexSet,
        (worker, rest): (&mut Worker, &AtomicBitmap),
    ) -> bool {
        // Lossless: vertices are below 2^32.
        let (vertex, pair) = (v as VertexId, heads.get(v as VertexId));
        let sends = pair.map(|u| active.contains(u));
        if sends == [false; 2] {
            return false;
        }
        // A head that is the vertex itself may stand for none.
        if pair.contains(&vertex) && active.contains(vertex) {
            rest.set(v);
            return false;
        }
        let mut all = None;
        for (u, _) in pair.iter().zip(sends).filter(|(_, sends)| *sends) {
            let Some(one) = self.program.single(*u, step) else {
                worker.lists.push_entries(vertex, pair.into_iter(), &[]);
                return false;
            };
            all = Some(all.map_or(one, |all| self.program.combined(all, one)));
        }
        if let Some(message) = all {
            self.put(v, message);
        }
        all.is_some()
    }

    /// Adds a message where no other thread does.
    #[inline]
    fn put(&self, v: usize, message: u64) {
        let Some(place) = self.inbox.get(v) else { return };
        // Of another direction, or of the heads, there may be one already.
        let before = if self.got.get(v) { place.load(Relaxed) } else { self.program.identity() };
        place.store(self.program.combined(before, message), Relaxed);
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
                self.got.unite_word(word, bits);
                (word, bits) = (v / 64, 0);
            }
            bits |= 1 << (v % 64);
        }
        self.got.unite_word(word, bits);
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
        let n = self.inbox.len();
        let next = AtomicBitmap::new(n);
        let parts = cut::<P::State>(values, n.div_ceil(BLOCK), |_| BLOCK);
        parallel_parts(self.cx, parts, |number_of_part, part| {
            let first = number_of_part * BLOCK;
            let words = first / 64..(first + BLOCK).min(n).div_ceil(64);
            let mut worker = Receiver { vertices: Vec::new(), messages: Vec::new() };
            for k in words {
                let mut word = self.got.word(k);
                if word == 0 {
                    continue;
                }
                self.got.store_word(k, 0);
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
        let Receiver { vertices, messages } = worker;
        messages.clear();
        for place in vertices.iter().filter_map(|v| self.inbox.get(*v as usize)) {
            messages.push(place.load(Relaxed));
            place.store(self.program.identity(), Relaxed);
        }
        let (mut changed, mut wants) = (vec![0; vertices.len()], vec![1; vertices.len()]);
        let received = Received {
            // Lossless: vertices are below 2^32.
            first: first as VertexId,
            vertices,
            messages,
            changed: &mut changed,
            wants: &mut wants,
        };
        self.program.receive(number, degrees, part, received)?;
        for (v, (changed, wants)) in vertices.iter().zip(changed.iter().zip(&wants)) {
            let v = *v as usize;
            // The words of a part are this worker's.
            let (k, bit) = (v / 64, 1 << (v % 64));
            if *changed != 0 {
                next.store_word(k, next.word(k) | bit);
            }
            if *wants == 0 {
                self.wants.store_word(k, self.wants.word(k) & !bit);
            }
        }
        vertices.clear();
        Ok(())
    }
}

/// Vertices that have got messages.
struct Receiver {
    vertices: Vec<VertexId>,
    messages: Vec<u64>,
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
