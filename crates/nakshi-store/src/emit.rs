//! Emission, the last phase of an import: sorts buckets, resolves duplicates, encodes and writes
//! lists.
//!
//! Workers sort and encode buckets in parallel; the calling thread appends the lists in order.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use nakshi_io::run_beside;

use crate::hooks::{Hooks, Progress};
use crate::sort::bucket::{FrameReader, FrameWriter, MergedRuns, Sorted, sort};
use crate::sort::packed::Unpacker;
use crate::sort::pairs::unsortable;
use crate::sort::partition::Bucket;
use crate::sort::radix::{Record, Weighted};
use crate::sort::spill::{Spill, SpillExtent};
use crate::{Error, ListBatch, NumberSlice, Result, StoreBuilder};

/// The treatment of an edge that occurs more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// One edge stays, with the smallest of the weights (so the order of the input does not
    /// matter).
    #[default]
    Drop,
    /// All stay: a multigraph.
    Keep,
    /// One edge stays, with the sum of the weights; without weights, with the number of edges.
    Sum,
}

/// Most consecutive vertices without a list in a batch.
const GAP: u64 = 1 << 16;

/// Neighbours in a packed block of a list on disk.
const LISTED: usize = 16 << 10;

/// The rules by which lists are made from arcs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListRules {
    pub duplicates: Duplicates,
    /// True if lists carry weights, including the counts of [`Duplicates::Sum`].
    pub valued: bool,
    pub float: bool,
}

/// Counts of the emitted and dropped arcs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Emitted {
    /// List entries.
    pub arcs: u64,
    /// Arcs other than self-loops that were dropped or summed into another.
    pub dropped_arcs: u64,
    /// Self-loops that were dropped or summed into another.
    pub dropped_loops: u64,
}

/// The spill files of an emission, and the limits of its sorters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EmitScratch<'s> {
    pub arcs: &'s Spill,
    pub runs: &'s Spill,
    pub lists: &'s Spill,
    /// Most records of a bucket that are sorted in memory.
    pub limit: usize,
    pub sorters: usize,
}

/// A message from a sorter to the writer.
enum SorterMessage {
    /// Encoded lists.
    Lists(Box<ListBatch>, Emitted),
    /// A list that was too large for memory, as packed blocks of neighbours and values.
    Giant { vertex: u32, degree: u64, extents: Vec<SpillExtent>, stats: Emitted },
    /// The sum of the weights of the edges between these two exceeds the type.
    Overflow { source: u32, target: u32 },
    /// The end of a bucket.
    End,
}

/// Sorts all buckets and appends their lists to the adjacency that the builder has begun.
pub(crate) fn emit<R: Record>(
    buckets: &[Bucket],
    place: EmitScratch<'_>,
    rules: ListRules,
    hooks: &Hooks,
    builder: &mut StoreBuilder,
) -> Result<Emitted> {
    let total = buckets.iter().map(|bucket| bucket.records).sum();
    let sorters = place.sorters.clamp(1, buckets.len().max(1));
    let (mut receivers, mut given) = (Vec::new(), Vec::new());
    for _ in 0..sorters {
        let (sender, receiver) = sync_channel(1);
        receivers.push(receiver);
        given.push(Mutex::new(Some((sender, builder.batch()))));
    }
    let sorts = |first: usize| -> Result<()> {
        let given = given.get(first);
        // The sorter owns its sender, so the writer notices when the sorter ends.
        let given = given.and_then(|g| g.lock().unwrap_or_else(PoisonError::into_inner).take());
        let (sender, batch) = given.ok_or(Error::Abandoned)?;
        let mut sorter = BucketSorter::<R>::new(place, rules, batch, sender);
        for bucket in buckets.iter().skip(first).step_by(sorters) {
            let done = hooks.check().and_then(|()| sorter.bucket(bucket));
            let failed = done.is_err();
            // A receiver that is gone has an error of its own to report.
            if sorter.sender.send(done.map(|()| SorterMessage::End)).is_err() || failed {
                break;
            }
        }
        Ok(())
    };
    let writes = || write(receivers, buckets.len(), place, rules, hooks, total, builder);
    run_beside(sorters, writes, sorts).map(|(emitted, _)| emitted)
}

fn write(
    receivers: Vec<Receiver<Result<SorterMessage>>>,
    buckets: usize,
    place: EmitScratch<'_>,
    rules: ListRules,
    hooks: &Hooks,
    total: u64,
    builder: &mut StoreBuilder,
) -> Result<Emitted> {
    let mut emitted = Emitted::default();
    for receiver in receivers.iter().cycle().take(buckets) {
        loop {
            // A sorter ends early only by a panic, which is reported.
            let piece = receiver.recv().map_err(|_| Error::Abandoned)?;
            hooks.check()?;
            match piece? {
                SorterMessage::End => break,
                SorterMessage::Overflow { source, target } => {
                    return Err(overflow(source, target, rules, builder)?);
                }
                SorterMessage::Lists(batch, stats) => {
                    builder.push_batch(*batch)?;
                    emitted.add(stats);
                }
                SorterMessage::Giant { vertex, degree, extents, stats } => {
                    write_giant(vertex, degree, extents, place, rules, builder)?;
                    emitted.add(stats);
                }
            }
            let arcs = emitted.arcs;
            hooks.tell(Progress { phase: "write", done: arcs, total: Some(total), edges: arcs });
        }
    }
    Ok(emitted)
}

/// Returns the error that names the edge.
fn overflow(source: u32, target: u32, rules: ListRules, builder: &StoreBuilder) -> Result<Error> {
    let (source, target) = (builder.id_of(source)?, builder.id_of(target)?);
    let most = if rules.float { "a double" } else { "64 bits" };
    Ok(Error::Invalid(format!(
        "the weights of the edges from {source} to {target} add up to more than {most} can hold; \
         keep or drop duplicates instead of summing them, or make the weights smaller"
    )))
}

fn write_giant(
    vertex: u32,
    degree: u64,
    extents: Vec<SpillExtent>,
    place: EmitScratch<'_>,
    rules: ListRules,
    builder: &mut StoreBuilder,
) -> Result<()> {
    let mut reader = FrameReader::new(place.lists, extents, 512 << 10);
    builder.start_list(vertex, degree)?;
    let (mut list, mut records, mut unpacker) =
        (OneList::default(), Vec::<Weighted>::new(), Unpacker::default());
    loop {
        reader.read(&mut unpacker, &mut records)?;
        if records.is_empty() {
            return builder.finish_list();
        }
        list.clear();
        for record in &records {
            list.push(record.key() as u32, record.weight(), rules);
        }
        builder.extend_list(&list.neighbours, list.values(rules).as_slice())?;
    }
}

impl Emitted {
    fn add(&mut self, other: Self) {
        self.arcs += other.arcs;
        self.dropped_arcs += other.dropped_arcs;
        self.dropped_loops += other.dropped_loops;
    }
}

/// The neighbours of one vertex, or a part of them.
#[derive(Debug, Default)]
struct OneList {
    neighbours: Vec<u32>,
    ints: Vec<i64>,
    floats: Vec<f64>,
}

impl OneList {
    fn clear(&mut self) {
        self.neighbours.clear();
        self.ints.clear();
        self.floats.clear();
    }

    fn push(&mut self, neighbour: u32, bits: u64, rules: ListRules) {
        self.neighbours.push(neighbour);
        if rules.float {
            self.floats.push(f64::from_bits(bits));
        } else if rules.valued {
            self.ints.push(bits.cast_signed());
        }
    }

    fn bits(&self, at: usize, rules: ListRules) -> u64 {
        match (rules.valued, rules.float) {
            (_, true) => self.floats[at].to_bits(),
            (true, false) => self.ints[at].cast_unsigned(),
            (false, false) => 0,
        }
    }

    fn values(&self, rules: ListRules) -> Option<NumberSlice<'_>> {
        match (rules.valued, rules.float) {
            (_, true) => Some(NumberSlice::Float(&self.floats)),
            (true, false) => Some(NumberSlice::Int(&self.ints)),
            (false, false) => None,
        }
    }
}

/// The sorter, which turns buckets into lists.
struct BucketSorter<'s, R> {
    place: EmitScratch<'s>,
    rules: ListRules,
    sender: SyncSender<Result<SorterMessage>>,
    scratch: Vec<R>,
    list: OneList,
    batch: ListBatch,
    stats: Emitted,
}

/// Arcs between the same two vertices, while they are combined into one.
#[derive(Clone, Copy)]
struct Merged {
    key: u64,
    /// Bits of an `f64` or `i64`.
    weight: u64,
}

/// Returns the sum of two weights as bits of their type; `None` if it exceeds the type.
fn sum(a: u64, b: u64, float: bool) -> Option<u64> {
    if float {
        let sum = f64::from_bits(a) + f64::from_bits(b);
        return sum.is_finite().then(|| sum.to_bits());
    }
    a.cast_signed().checked_add(b.cast_signed()).map(i64::cast_unsigned)
}

/// A list that is read from a merge.
struct MergedList<'s> {
    vertex: u32,
    degree: u64,
    spilled: Option<FrameWriter<'s>>,
}

impl<'s, R: Record> BucketSorter<'s, R> {
    fn new(
        place: EmitScratch<'s>,
        rules: ListRules,
        batch: ListBatch,
        sender: SyncSender<Result<SorterMessage>>,
    ) -> Self {
        let (scratch, list, stats) = (Vec::new(), OneList::default(), Emitted::default());
        Self { place, rules, sender, scratch, list, batch, stats }
    }

    fn bucket(&mut self, bucket: &Bucket) -> Result<()> {
        match sort::<R>(
            self.place.arcs,
            self.place.runs,
            bucket,
            self.place.limit,
            &mut self.scratch,
        )? {
            Sorted::Memory(records) => {
                let mut rest = records.as_slice();
                while let Some(first) = rest.first() {
                    let vertex = first.key() >> 32;
                    let end =
                        rest.iter().position(|r| r.key() >> 32 != vertex).unwrap_or(rest.len());
                    let (list, others) = rest.split_at(end);
                    self.whole_list(vertex as u32, list)?;
                    rest = others;
                }
                self.send()
            }
            Sorted::Runs(merged) => self.merged(merged),
        }
    }

    /// Encodes the list of one vertex from sorted records.
    fn whole_list(&mut self, vertex: u32, records: &[R]) -> Result<()> {
        self.list.clear();
        if self.rules.valued {
            let mut pending = None;
            for record in records {
                if let Some(done) = self.fold(&mut pending, *record)? {
                    self.list.push(done.key as u32, done.weight, self.rules);
                }
            }
            if let Some(done) = pending {
                self.list.push(done.key as u32, done.weight, self.rules);
            }
        } else {
            self.list.neighbours.extend(records.iter().map(|r| r.key() as u32));
            if self.rules.duplicates != Duplicates::Keep {
                self.list.neighbours.dedup();
                let dropped = (records.len() - self.list.neighbours.len()) as u64;
                if dropped > 0 {
                    let loops = records.iter().filter(|r| r.key() as u32 == vertex).count() as u64;
                    self.stats.dropped_loops += loops.saturating_sub(1);
                    self.stats.dropped_arcs += dropped - loops.saturating_sub(1);
                }
            }
        }
        self.stats.arcs += self.list.neighbours.len() as u64;
        self.push(vertex)
    }

    /// Adds the list to the batch. A batch has entries for vertices without a list too, so a long
    /// run of them ends the batch.
    fn push(&mut self, vertex: u32) -> Result<()> {
        let end = self.batch.end();
        if end > 0 && u64::from(vertex).saturating_sub(end) > GAP {
            self.send()?;
        }
        self.batch.push(vertex, &self.list.neighbours, self.list.values(self.rules).as_slice())
    }

    /// Adds one more arc; returns the arc before it if that is complete.
    fn fold(&mut self, pending: &mut Option<Merged>, record: R) -> Result<Option<Merged>> {
        let float = self.rules.float;
        // Without weights, every arc counts as one.
        let weight = if R::WEIGHTED { unsortable(record.weight(), float) } else { 1 };
        match pending {
            Some(last) if last.key == record.key() && self.rules.duplicates != Duplicates::Keep => {
                if self.rules.duplicates == Duplicates::Sum {
                    let Some(sum) = sum(last.weight, weight, float) else {
                        let (source, target) = ((last.key >> 32) as u32, last.key as u32);
                        self.give(SorterMessage::Overflow { source, target })?;
                        return Err(Error::Cancelled);
                    };
                    last.weight = sum;
                }
                let own = record.key() >> 32 == record.key() & 0xffff_ffff;
                let dropped =
                    if own { &mut self.stats.dropped_loops } else { &mut self.stats.dropped_arcs };
                *dropped += 1;
                Ok(None)
            }
            _ => Ok(pending.replace(Merged { key: record.key(), weight })),
        }
    }

    /// Reads the lists from a merge of runs.
    fn merged(&mut self, mut merged: MergedRuns<'s, R>) -> Result<()> {
        let mut piece = Vec::new();
        let mut stream: Option<MergedList<'s>> = None;
        let mut pending: Option<Merged> = None;
        let limit = (self.place.limit / 4).clamp(64, 1 << 16);
        loop {
            merged.fill(&mut piece, limit)?;
            if piece.is_empty() {
                break;
            }
            for record in &piece {
                if let Some(done) = self.fold(&mut pending, *record)? {
                    self.stream(&mut stream, done)?;
                }
            }
        }
        if let Some(done) = pending {
            self.stream(&mut stream, done)?;
        }
        self.end_stream(stream)?;
        self.send()
    }

    /// Adds an arc of a merge: short lists are encoded; long ones go to disk until they end.
    fn stream(&mut self, stream: &mut Option<MergedList<'s>>, arc: Merged) -> Result<()> {
        let vertex = (arc.key >> 32) as u32;
        if stream.as_ref().is_none_or(|stream| stream.vertex != vertex) {
            self.end_stream(stream.take())?;
            if self.batch.memory() >= self.place.limit * 4 {
                self.send()?;
            }
            self.list.clear();
        }
        let stream = stream.get_or_insert(MergedList { vertex, degree: 0, spilled: None });
        stream.degree += 1;
        self.list.push(arc.key as u32, arc.weight, self.rules);
        let long = self.list.neighbours.len() >= (self.place.limit / 4).clamp(16, 1 << 20);
        if long { self.spill(stream) } else { Ok(()) }
    }

    /// Moves the collected part of a long list to disk.
    fn spill(&mut self, stream: &mut MergedList<'s>) -> Result<()> {
        let writer = stream.spilled.get_or_insert_with(|| FrameWriter::new(self.place.lists));
        let neighbours = (0..).zip(&self.list.neighbours);
        let records: Vec<Weighted> = neighbours
            .map(|(at, &to)| Weighted::new(to.into(), self.list.bits(at, self.rules)))
            .collect();
        for block in records.chunks(LISTED) {
            writer.write(block)?;
        }
        self.list.clear();
        Ok(())
    }

    fn end_stream(&mut self, stream: Option<MergedList<'s>>) -> Result<()> {
        let Some(mut stream) = stream else { return Ok(()) };
        self.stats.arcs += stream.degree;
        if stream.spilled.is_none() {
            return self.push(stream.vertex);
        }
        self.spill(&mut stream)?;
        let stats = std::mem::take(&mut self.stats);
        self.send()?;
        let extents =
            stream.spilled.take().map(FrameWriter::finish).transpose()?.unwrap_or_default();
        self.give(SorterMessage::Giant {
            vertex: stream.vertex,
            degree: stream.degree,
            extents,
            stats,
        })
    }

    fn send(&mut self) -> Result<()> {
        let fresh = self.batch.fresh();
        let batch = std::mem::replace(&mut self.batch, fresh);
        let stats = std::mem::take(&mut self.stats);
        self.give(SorterMessage::Lists(Box::new(batch), stats))
    }

    fn give(&self, piece: SorterMessage) -> Result<()> {
        // The writer ends early only after an error, which it reports itself.
        self.sender.send(Ok(piece)).map_err(|_| Error::Abandoned)
    }
}
