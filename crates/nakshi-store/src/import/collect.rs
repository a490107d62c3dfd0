//! The first phase of an import: several workers read all inputs, give ids provisional numbers, and
//! spool edges.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use nakshi_io::run_workers;

use super::dictionary::{
    Direct, IdOrder, IdRun, IntBatch, IntRun, Interner, Run, SmallIds, integer64,
};
use super::inputs::Inputs;
use super::options::{ImportOptions, SelfLoops};
use super::read::{Batch, WeightBuffer};
use super::room::Room;
use crate::hooks::{Hooks, Progress};
use crate::sort::pairs::{PairChunk, PairReader, PairWriter, unsortable};
use crate::sort::spill::Spill;
use crate::{Error, Result};

/// All edges and ids of the input, with provisional numbers.
#[derive(Debug)]
pub(crate) struct Collected {
    pub direct: Direct,
    /// Edges between ids that [`Direct`] counts.
    pub direct_chunks: Vec<PairChunk>,
    /// Edges of each generation, by its number.
    pub generations: Vec<(u32, Vec<PairChunk>)>,
    pub runs: Vec<Run>,
    /// Number of ids in each generation.
    pub sizes: Vec<u32>,
    pub totals: InputTotals,
    /// What readers guessed or left out, in the order of the sentences.
    pub notes: Vec<String>,
}

impl Collected {
    /// Adds what a worker collected.
    fn add(&mut self, output: WorkerOutput) {
        self.direct_chunks.extend(output.direct_chunks);
        for generation in output.generations {
            if let Some(slot) = self.sizes.get_mut(generation.number as usize) {
                *slot = generation.size;
            }
            self.generations.push((generation.number, generation.chunks));
            self.runs.push(generation.run);
        }
        self.totals.edges += output.totals.edges;
        self.totals.self_loops += output.totals.self_loops;
        self.totals.comments += output.totals.comments;
        self.notes.extend(output.notes);
        self.totals.canonical &= output.totals.canonical;
        self.totals.utf8 &= output.totals.utf8;
        self.totals.weights.join(output.totals.weights);
    }
}

/// The counts of all workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputTotals {
    pub edges: u64,
    pub self_loops: u64,
    /// Lines that were left out as comments.
    pub comments: u64,
    /// True if all ids but the small integers are canonical integers.
    pub canonical: bool,
    /// True if all ids are UTF-8.
    pub utf8: bool,
    pub weights: WeightRange,
}

/// The range of the weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightRange {
    pub float: bool,
    pub least: i64,
    pub most: i64,
    /// Sums of the negative and the positive integers, saturated.
    pub sums: (i64, i64),
    /// True if every float fits 32 bits.
    pub fit_f32: bool,
}

impl Default for WeightRange {
    fn default() -> Self {
        Self { float: false, least: i64::MAX, most: i64::MIN, sums: (0, 0), fit_f32: true }
    }
}

impl WeightRange {
    #[allow(clippy::cast_possible_truncation)]
    fn add(&mut self, weights: &WeightBuffer) {
        if weights.is_float() {
            self.float = true;
            let floats = weights.bits().iter().map(|&bits| f64::from_bits(bits));
            self.fit_f32 &=
                floats.into_iter().all(|w| f64::from(w as f32).to_bits() == w.to_bits());
            return;
        }
        for bits in weights.bits() {
            let weight = bits.cast_signed();
            self.least = self.least.min(weight);
            self.most = self.most.max(weight);
            let (negative, positive) = &mut self.sums;
            let sum = if weight < 0 { negative } else { positive };
            *sum = sum.saturating_add(weight);
        }
    }

    fn join(&mut self, other: Self) {
        self.float |= other.float;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.sums.0 = self.sums.0.saturating_add(other.sums.0);
        self.sums.1 = self.sums.1.saturating_add(other.sums.1);
        self.fit_f32 &= other.fit_f32;
    }
}

impl Default for InputTotals {
    fn default() -> Self {
        Self {
            edges: 0,
            self_loops: 0,
            comments: 0,
            canonical: true,
            utf8: true,
            weights: WeightRange::default(),
        }
    }
}

/// Reads all inputs. Edges are spooled to `pairs`, and ids that do not fit in memory to `keys`.
pub(crate) fn collect(
    inputs: Inputs<'_>,
    options: &ImportOptions,
    pairs: &Spill,
    keys: &Spill,
    room: &Room,
    hooks: &Hooks,
) -> Result<Collected> {
    let threads = options.threads;
    let known = inputs.known_bytes();
    let shared = SharedInputs {
        counters: std::sync::Arc::clone(&inputs.counters),
        inputs: Mutex::new(inputs),
        known,
        canonical: AtomicBool::new(true),
        generations: AtomicU32::new(0),
        stop: AtomicBool::new(false),
        failed: Mutex::new(None),
        hooks,
        room,
        edges: std::sync::atomic::AtomicU64::new(0),
    };
    let share = options.memory / threads.max(1) as u64;
    let most = options.memory / 5 * 2 / Direct::SLOT;
    let workers = run_workers(threads, |_| -> Result<Mutex<Option<Worker<'_, '_, '_>>>> {
        Ok(Mutex::new(Worker::new(options, (share, most), pairs, keys, &shared).read()))
    })?;
    let (mut ids, mut declared) = (SmallIds::default(), Vec::new());
    for worker in &workers {
        if let Some(worker) = &*worker.lock().unwrap_or_else(PoisonError::into_inner) {
            ids.absorb(&worker.small);
            declared.extend_from_slice(&worker.declared);
        }
    }
    // There is memory for the counters of each worker's ids, but perhaps not for those of all.
    let fits = ids.len() <= most;
    let results = run_workers(threads, |worker| -> Result<Option<WorkerOutput>> {
        let worker = workers.get(worker).map(Mutex::lock);
        let worker = worker.and_then(|lock| lock.unwrap_or_else(PoisonError::into_inner).take());
        Ok(worker.and_then(|worker| worker.finish(fits)))
    })?;
    drop(workers);
    let failed = shared.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, error)) = failed {
        return Err(error);
    }
    let mut all = Collected {
        direct: Direct::new(if fits { ids } else { SmallIds::default() }, declared),
        direct_chunks: Vec::new(),
        generations: Vec::new(),
        runs: Vec::new(),
        sizes: vec![0; shared.generations.into_inner() as usize],
        totals: InputTotals::default(),
        notes: Vec::new(),
    };
    for output in results.into_iter().flatten() {
        all.add(output);
    }
    count_ends(&all, pairs, options, hooks)?;
    // Not as the workers came upon them.
    all.notes.sort_unstable();
    all.notes.dedup();
    Ok(all)
}

/// Counts the edge ends at small integers: one of a self-loop of an undirected graph, else two of an edge.
fn count_ends(
    all: &Collected,
    pairs: &Spill,
    options: &ImportOptions,
    hooks: &Hooks,
) -> Result<()> {
    let (direct, edges) = (&all.direct, all.totals.edges);
    let total = Some(all.direct_chunks.len() as u64);
    let work = Mutex::new((1..).zip(&all.direct_chunks));
    run_workers(options.threads, |_| -> Result<()> {
        let mut reader = PairReader::default();
        loop {
            let next = work.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((done, &chunk)) = next else { return Ok(()) };
            hooks.check()?;
            hooks.tell(Progress { phase: "count", done, total, edges });
            // Chunks are sorted by their sources.
            let (mut last, mut ends) = (0, 0);
            let mut targets = Vec::new();
            reader.blocks(pairs, chunk, chunk.is_float(), |edges| {
                targets.clear();
                for &mut (source, target, _) in edges {
                    if source != last {
                        direct.count(last, ends);
                        (last, ends) = (source, 0);
                    }
                    ends += 1;
                    if source != target || options.directed {
                        targets.push(target);
                    }
                }
                direct.count_each(&mut targets);
                Ok(())
            })?;
            direct.count(last, ends);
        }
    })?;
    Ok(())
}

struct SharedInputs<'a, 'h> {
    inputs: Mutex<Inputs<'a>>,
    counters: std::sync::Arc<super::read::Counters>,
    known: u64,
    canonical: AtomicBool,
    generations: AtomicU32,
    stop: AtomicBool,
    failed: Mutex<Option<(u64, Error)>>,
    hooks: &'h Hooks,
    room: &'h Room,
    edges: std::sync::atomic::AtomicU64,
}

impl SharedInputs<'_, '_> {
    /// Keeps the error of the earliest piece of input, so that the message does not depend on the
    /// speed of the workers.
    fn fail(&self, task: u64, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.as_ref().is_none_or(|(earlier, _)| task < *earlier) {
            *failed = Some((task, error));
        }
    }
}

/// Ids and edges that are numbered together.
struct Generation {
    number: u32,
    size: u32,
    chunks: Vec<PairChunk>,
    run: Run,
}

struct WorkerOutput {
    direct_chunks: Vec<PairChunk>,
    generations: Vec<Generation>,
    totals: InputTotals,
    notes: Vec<String>,
}

struct Worker<'s, 'a, 'h> {
    options: &'s ImportOptions,
    shared: &'s SharedInputs<'a, 'h>,
    keys: &'s Spill,
    small: SmallIds,
    /// True if one of the small integers may have no edge.
    bare: bool,
    /// Ranges of vertices that exist even if nothing names them.
    declared: Vec<Range<u64>>,
    /// Edges between small integers.
    direct_pairs: PairWriter<'s>,
    /// Edges between other integers.
    ints: IntBatch,
    interner: Interner,
    /// Memory budget of the tables in bytes.
    room: u64,
    /// Edges between ids of the interner.
    pairs: PairWriter<'s>,
    spill: &'s Spill,
    /// Bytes for the buffers of a writer of edges.
    buffers: u64,
    /// Edges between small integers, and others.
    admitted: u64,
    refused: u64,
    generations: Vec<Generation>,
    totals: InputTotals,
    notes: Vec<String>,
}

impl<'s, 'a, 'h> Worker<'s, 'a, 'h> {
    fn new(
        options: &'s ImportOptions,
        (share, most): (u64, u64),
        pairs: &'s Spill,
        keys: &'s Spill,
        shared: &'s SharedInputs<'a, 'h>,
    ) -> Self {
        Self {
            options,
            shared,
            keys,
            small: SmallIds::new(share / 10 * 3, most),
            bare: false,
            declared: Vec::new(),
            direct_pairs: PairWriter::new(pairs, share / 16),
            ints: IntBatch::new(),
            interner: Interner::new(),
            room: share / 10 * 6,
            pairs: PairWriter::new(pairs, share / 16),
            spill: pairs,
            buffers: share / 16,
            admitted: 0,
            refused: 0,
            generations: Vec::new(),
            totals: InputTotals::default(),
            notes: Vec::new(),
        }
    }

    /// Takes pieces of input until there are none; returns nothing if that failed.
    fn read(mut self) -> Option<Self> {
        let mut batch = Batch::default();
        while !self.shared.stop.load(Ordering::Relaxed) {
            let next = {
                let mut inputs = self.shared.inputs.lock().unwrap_or_else(PoisonError::into_inner);
                self.shared.hooks.check().and_then(|()| inputs.next())
            };
            let (number, task) = match next {
                Ok(None) => break,
                Ok(Some(task)) => task,
                Err(error) => {
                    self.shared.fail(u64::MAX, error);
                    return None;
                }
            };
            batch.clear();
            if let Err(error) = task(&mut batch).and_then(|()| self.consume(&batch)) {
                self.shared.fail(number, error);
                return None;
            }
            if let Err(error) = self.report(&batch) {
                self.shared.fail(u64::MAX, error);
                return None;
            }
        }
        match self.finish_ints().and_then(|()| self.finish_generation()) {
            Ok(()) => Some(self),
            Err(error) => {
                self.shared.fail(u64::MAX, error);
                None
            }
        }
    }

    /// Ends with the chunks of small integers, or without room for all of their counters batches these as
    /// others are.
    fn finish(mut self, fits: bool) -> Option<WorkerOutput> {
        let retired = match fits {
            true => Ok(()),
            false => self.retire_small().and_then(|()| self.finish_ints()),
        };
        match retired.and_then(|()| self.direct_pairs.take_chunks()) {
            Ok(direct_chunks) => Some(WorkerOutput {
                direct_chunks,
                generations: self.generations,
                totals: self.totals,
                notes: self.notes,
            }),
            Err(error) => {
                self.shared.fail(u64::MAX, error);
                None
            }
        }
    }

    fn report(&self, batch: &Batch) -> Result<()> {
        let edges = batch.edges() as u64;
        let edges = self.shared.edges.fetch_add(edges, Ordering::Relaxed) + edges;
        let raw = self.shared.counters.raw.load(Ordering::Relaxed);
        let total = (self.shared.known > 0).then_some(self.shared.known);
        self.shared.hooks.tell(Progress { phase: "read", done: raw, total, edges });
        self.shared.room.watch(edges, total.map(|total| (raw, total)), self.shared.hooks)
    }

    fn consume(&mut self, batch: &Batch) -> Result<()> {
        let text = self.shared.counters.text.load(Ordering::Relaxed);
        self.small.allow(self.shared.known.max(text).max(self.totals.edges * 8));
        self.totals.edges += batch.edges() as u64;
        self.totals.comments += batch.comments;
        self.notes.extend_from_slice(&batch.notes);
        self.consume_vertices(batch)?;
        self.totals.weights.add(&batch.int_weights);
        self.totals.weights.add(&batch.text_weights);
        if self.options.weighted {
            self.consume_weighted(batch)?;
        } else {
            self.consume_plain(batch)?;
        }
        // A set that covers few of the ids takes the memory of batches.
        if self.small.is_full() && self.refused > self.admitted / 4 + (1 << 12) {
            self.retire_small()?;
        }
        Ok(())
    }

    fn consume_plain(&mut self, batch: &Batch) -> Result<()> {
        for &[source, target] in &batch.ints {
            if self.small.admit(source) && self.small.admit(target) {
                if source == target && self.drops_loop() {
                    self.bare = true;
                    continue;
                }
                self.admitted += 1;
                // Small integers are below 2^32.
                self.direct_pairs.push(source as u32, target as u32)?;
            } else {
                self.batch_ints(source.into(), target.into())?;
            }
        }
        for &[source, target] in &batch.texts {
            let (source, target) = (batch.text(source), batch.text(target));
            if let (Some(source), Some(target)) = (integer64(source), integer64(target)) {
                self.batch_ints(source, target)?;
            } else if let Some((source, target)) = self.intern(source, target)? {
                self.pairs.push(source, target)?;
            }
        }
        Ok(())
    }

    fn consume_weighted(&mut self, batch: &Batch) -> Result<()> {
        let float = batch.int_weights.is_float();
        if batch.int_weights.bits().len() != batch.ints.len()
            || batch.text_weights.bits().len() != batch.texts.len()
        {
            return Err(Error::Invalid("the input has no weights; import without weights".into()));
        }
        for (&[source, target], &weight) in batch.ints.iter().zip(batch.int_weights.bits()) {
            if self.small.admit(source) && self.small.admit(target) {
                if source == target && self.drops_loop() {
                    self.bare = true;
                    continue;
                }
                self.admitted += 1;
                self.direct_pairs.push_weighted(source as u32, target as u32, weight, float)?;
            } else if self.batch_ints(source.into(), target.into())? {
                self.ints.push_weight(weight, float);
            }
        }
        let float = batch.text_weights.is_float();
        for (&[source, target], &weight) in batch.texts.iter().zip(batch.text_weights.bits()) {
            let (source, target) = (batch.text(source), batch.text(target));
            if let (Some(source), Some(target)) = (integer64(source), integer64(target)) {
                if self.batch_ints(source, target)? {
                    self.ints.push_weight(weight, float);
                }
            } else if let Some((source, target)) = self.intern(source, target)? {
                self.pairs.push_weighted(source, target, weight, float)?;
            }
        }
        Ok(())
    }

    fn consume_vertices(&mut self, batch: &Batch) -> Result<()> {
        for &id in &batch.int_vertices {
            if self.small.admit(id) {
                self.bare = true;
            } else {
                self.list_int(id.into())?;
            }
        }
        for &span in &batch.text_vertices {
            match integer64(batch.text(span)) {
                Some(id) => self.list_int(id)?,
                None => drop(self.intern_one(batch.text(span), 0)?),
            }
        }
        for range in &batch.ranges {
            if !self.declared.contains(range) {
                self.declared.push(range.clone());
            }
        }
        Ok(())
    }

    /// Counts a self-loop; returns true if it is dropped.
    fn drops_loop(&mut self) -> bool {
        self.totals.self_loops += 1;
        self.options.self_loops == SelfLoops::Drop
    }

    /// Adds an edge to the batch of integers, unless it is a self-loop that is dropped; returns true
    /// if it was added.
    #[inline]
    fn batch_ints(&mut self, source: i128, target: i128) -> Result<bool> {
        self.refused += 1;
        if source == target && self.drops_loop() {
            self.list_int(source)?;
            return Ok(false);
        }
        self.add_ints(source, target)?;
        Ok(true)
    }

    /// Adds an edge to the batch of integers.
    #[inline]
    fn add_ints(&mut self, source: i128, target: i128) -> Result<()> {
        self.make_room_for_ints()?;
        let both = source != target || self.options.directed;
        self.ints.push(source, target, [1, u32::from(both)]);
        Ok(())
    }

    fn list_int(&mut self, id: i128) -> Result<()> {
        self.make_room_for_ints()?;
        self.ints.list(id);
        Ok(())
    }

    #[inline]
    fn make_room_for_ints(&mut self) -> Result<()> {
        let taken = self.small.memory() + self.interner.memory();
        if self.ints.is_full(self.room.saturating_sub(taken)) { self.finish_ints() } else { Ok(()) }
    }

    /// Writes the ids of the batch of integers as a run, and its edges, and begins the next batch.
    fn finish_ints(&mut self) -> Result<()> {
        if self.ints.is_empty() {
            return Ok(());
        }
        let number = self.shared.generations.fetch_add(1, Ordering::Relaxed);
        let mut pairs = PairWriter::new(self.spill, self.buffers);
        let mut run = None;
        let size = self.ints.finish(&mut pairs, |ids| {
            run = Some(IntRun::write(self.keys, number, ids)?);
            Ok(())
        })?;
        let chunks = pairs.take_chunks()?;
        let run = run.map(Run::Ints);
        self.generations.extend(run.map(|run| Generation { number, size, chunks, run }));
        Ok(())
    }

    /// Batches the small integers and their edges as others are; their memory is free then.
    fn retire_small(&mut self) -> Result<()> {
        let small = self.small.retire();
        let mut reader = PairReader::default();
        for chunk in self.direct_pairs.take_chunks()? {
            self.shared.hooks.check()?;
            let float = chunk.is_float();
            reader.read(self.spill, chunk, float, |source, target, word| {
                self.add_ints(source.into(), target.into())?;
                if self.options.weighted {
                    self.ints.push_weight(unsortable(word, float), float);
                }
                Ok(())
            })?;
            self.spill.free(chunk.extent)?;
        }
        if self.bare {
            small.iter().try_for_each(|id| self.list_int(id.into()))?;
        }
        Ok(())
    }

    fn intern(&mut self, source: &[u8], target: &[u8]) -> Result<Option<(u32, u32)>> {
        if source == target {
            let dropped = self.drops_loop();
            let ends = if dropped {
                0
            } else if self.options.directed {
                2
            } else {
                1
            };
            let number = self.intern_one(source, ends)?;
            return Ok((!dropped).then_some((number, number)));
        }
        // Both ends must belong to one generation, so it may end only before the first of them.
        let source = self.intern_one(source, 1)?;
        let target = self.interner.intern(target, 1);
        Ok(Some((source, target)))
    }

    fn intern_one(&mut self, key: &[u8], ends: u64) -> Result<u32> {
        if self.interner.len() > 1024 {
            let taken = self.small.memory();
            let room = self.room.saturating_sub(taken) / if self.ints.is_empty() { 1 } else { 2 };
            if self.interner.memory() > room.max(self.room / 4) {
                self.finish_generation()?;
            }
        }
        Ok(self.interner.intern(key, ends))
    }

    /// Writes the ids of this generation as a sorted run, and begins the next generation.
    fn finish_generation(&mut self) -> Result<()> {
        self.totals.canonical &= self.interner.canonical();
        self.totals.utf8 &= self.interner.utf8();
        if self.interner.len() == 0 {
            return Ok(());
        }
        if !self.totals.canonical {
            self.shared.canonical.store(false, Ordering::Relaxed);
        }
        // A guess at the order of all ids; a run in the wrong order is sorted again later.
        let canonical = self.shared.canonical.load(Ordering::Relaxed);
        let order = if canonical { IdOrder::Integer } else { IdOrder::Bytes };
        let number = self.shared.generations.fetch_add(1, Ordering::Relaxed);
        let run = IdRun::write(self.keys, number, order, self.interner.sorted(order))?;
        let size = u32::try_from(self.interner.len())
            .map_err(|_| Error::Unsupported("2^32 ids at once".into()))?;
        let chunks = self.pairs.take_chunks()?;
        self.generations.push(Generation { number, size, chunks, run: Run::Bytes(run) });
        self.interner = Interner::new();
        Ok(())
    }
}
