//! Programs in other languages, which are called for a block of vertices.

use std::sync::Mutex;

use nakshi_engine::program::block::{
    Arrays, Block, BlockProgram, BlockStep, Change, ForeignFrontier, ForeignProgram, ForeignPull,
    FrontierBlocks, FrontierStep, Lists, ProgramSpec, State,
};
use nakshi_engine::program::pull::{Origin, PullValue, Seen, Totals};
use nakshi_engine::{Bitmap, Context, VertexId};

use super::publish_lists::StepReport;
use super::value_store::{Real, ShadowBlock, ValueStore};
use super::work::{Work, each_block};
use crate::exchange::Session;
use crate::link_store::LinkReader;
use crate::{Result, Shard};

/// The values of a vertex, and whether messages can change them: at most `B` bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row<const B: usize>([u8; B]);

impl<const B: usize> Default for Row<B> {
    fn default() -> Self {
        Row([0; B])
    }
}

impl<const B: usize> Row<B> {
    /// The values at the places of some arrays, with flags.
    fn all<'a>(
        arrays: &'a Arrays,
        wants: impl Iterator<Item = u8> + 'a,
    ) -> impl Iterator<Item = Self> + 'a {
        let mut bytes = Vec::with_capacity(B);
        wants.enumerate().map(move |(at, wants)| {
            bytes.clear();
            arrays.write(at, &mut bytes);
            bytes.push(wants);
            let mut row = Row::default();
            row.0.iter_mut().zip(&bytes).for_each(|(place, byte)| *place = *byte);
            row
        })
    }

    /// The bytes of the values, with what may follow.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl<const B: usize> PullValue for Row<B> {
    const SIZE: Option<usize> = Some(B);

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let (row, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(Row(*row))
    }
}

/// A program on a server. Its functions see the numbers of vertices, the same on all servers, so a server
/// keeps arrays of all vertices; those that are nobody's neighbour here stay empty.
pub(crate) struct ForeignWork<'p, const B: usize> {
    program: &'p ForeignProgram,
    spec: &'p ProgramSpec,
    starts: Option<&'p [VertexId]>,
    cx: &'p Context,
    values: Arrays,
    degrees: Vec<u32>,
    /// Vertices that send.
    active: Bitmap,
    /// Bytes of the values of a vertex.
    width: usize,
}

impl<'p, const B: usize> ForeignWork<'p, B> {
    /// The work of a program; `starts` are the vertices that send first.
    pub(crate) fn new(
        (program, spec): (&'p ForeignProgram, &'p ProgramSpec),
        starts: Option<&'p [VertexId]>,
        vertices: usize,
        cx: &'p Context,
    ) -> Result<Self> {
        let width = spec.width();
        Ok(ForeignWork {
            program,
            spec,
            starts,
            cx,
            values: spec.arrays(vertices)?,
            degrees: Vec::new(),
            active: Bitmap::new(vertices),
            width,
        })
    }

    /// Takes over the values that are new, and marks the vertices that send.
    fn update(&mut self, shard: &Shard, step: u32, real: &Real<'_, Row<B>>) {
        self.active.words_mut().fill(0);
        let vertex = |slot: usize| shard.ids.get(slot).map_or(usize::MAX, |v| *v as usize);
        let row = |slot: usize| real.values.get(slot).map(|row| (vertex(slot), row.bytes()));
        self.values.put(|| real.updated.iter().filter_map(row));
        if self.spec.sending.is_some() {
            real.updated.iter().for_each(|slot| self.active.set(vertex(slot)));
        }
        // Before the first step all values were new.
        if let Some(starts) = self.starts.filter(|_| step == 1) {
            self.active.words_mut().fill(0);
            starts.iter().for_each(|v| self.active.set(*v as usize));
        }
    }
}

impl<const B: usize> Work for ForeignWork<'_, B> {
    type Value = Row<B>;
    type Output = Row<B>;

    fn begin(&mut self, shard: &Shard, session: &mut Session, senders: usize) -> Result<()> {
        if !self.spec.degrees {
            return Ok(());
        }
        // Out-degrees of others' vertices come as values do.
        let own = shard.degrees.iter().copied();
        let mut all = ValueStore::new(shard, own);
        all.communicate(shard, session, senders, &StepReport::default())?;
        self.degrees = nakshi_engine::shared::zeroed(shard.vertices as usize, "out-degrees")?;
        for (v, degree) in shard.ids.iter().zip(all.every()) {
            if let Some(place) = self.degrees.get_mut(*v as usize) {
                *place = *degree;
            }
        }
        Ok(())
    }

    fn first(&mut self, shard: &Shard, totals: &mut Totals) -> Result<Vec<Row<B>>> {
        let vertices = shard.vertices();
        let first = || self.program.first(vertices, &self.degrees, totals);
        let (rows, wants) = self.program.watched(self.cx, first)?;
        Ok(Row::all(&rows, wants.into_iter()).collect())
    }

    fn compute(
        &mut self,
        (shard, sources): (&Shard, &[Mutex<LinkReader<'_>>]),
        values: &mut ValueStore<Row<B>>,
        (step, totals): (u32, &Seen),
        cx: &Context,
    ) -> Result<Totals> {
        let (real, blocks) = values.versions(shard.own);
        self.update(shard, step, &real);
        let work = &*self;
        let run = |lists: &mut Lists, source: &mut LinkReader<'_>, block: &mut _, added: &mut _| {
            Part { work, shard, real: &real, step, totals, added }.run(source, lists, block)
        };
        let all = || each_block(sources, blocks, cx, Lists::default, run);
        Ok(work.program.watched(cx, all)?)
    }

    fn finished(&self, step: u32, totals: &Totals, updated: u64) -> bool {
        let change = Change { vertices: updated, distance: totals.apart() };
        self.spec.iterations.is_some_and(|most| step >= most)
            || match self.program {
                ForeignProgram::Pull(program) => program.finished(step, totals, change),
                ForeignProgram::Frontier(_) => updated == 0,
            }
    }

    fn output(&self, _: &Origin, row: &Row<B>) -> Row<B> {
        row.clone()
    }
}

/// The vertices of one thread in a step.
struct Part<'a, 'p, const B: usize> {
    work: &'a ForeignWork<'p, B>,
    shard: &'a Shard,
    real: &'a Real<'a, Row<B>>,
    step: u32,
    totals: &'a Seen,
    added: &'a mut Totals,
}

impl<const B: usize> Part<'_, '_, B> {
    /// Runs the vertices of a block of slots.
    fn run(
        &mut self,
        source: &mut LinkReader<'_>,
        lists: &mut Lists,
        block: &mut ShadowBlock<'_, Row<B>>,
    ) -> nakshi_engine::Result<()> {
        let slots = block.slots();
        let ends = self.shard.range(slots.start).start..self.shard.range(slots.end).start;
        source.begin(ends)?;
        let mut pending = Vec::new();
        lists.clear();
        for (slot, vertex) in slots.clone().zip(self.shard.ids.iter().skip(slots.start)) {
            let list = source.next(self.shard.range(slot))?;
            if self.wants(slot) {
                let ones =
                    vec![1.0; if self.lacks_weights(list.weights) { list.links.len() } else { 0 }];
                let weights = if ones.is_empty() { list.weights } else { &ones };
                lists.push_entries(*vertex, list.links.iter().copied(), weights);
                pending.push(slot);
                if lists.is_full() {
                    self.flush(lists, &mut pending, block)?;
                }
            }
        }
        self.flush(lists, &mut pending, block)
    }

    /// Returns true if the program reads weights and the graph has none: all are 1 then.
    fn lacks_weights(&self, weights: &[f64]) -> bool {
        self.work.spec.weighted && weights.is_empty()
    }

    /// Returns true if the program has to see the list of a vertex.
    fn wants(&self, slot: usize) -> bool {
        let selects = self.work.spec.sending.is_some_and(|sending| sending.selects);
        let flag = self.real.values.get(slot).and_then(|row| row.0.get(self.work.width));
        !selects || flag != Some(&0)
    }

    /// Has the program compute the next values of some slots.
    fn flush(
        &mut self,
        lists: &mut Lists,
        slots: &mut Vec<usize>,
        block: &mut ShadowBlock<'_, Row<B>>,
    ) -> nakshi_engine::Result<()> {
        let found = match &self.work.program {
            _ if slots.is_empty() => Vec::new(),
            ForeignProgram::Pull(program) => self.pulled(program, &lists.block())?,
            ForeignProgram::Frontier(program) => self.received(program, &lists.block())?,
        };
        for (at, row) in found {
            let Some(slot) = slots.get(at) else { continue };
            // Vertices of equal values have equal flags.
            if self.real.values.get(*slot) != Some(&row) {
                block.put(*slot, row);
            }
        }
        slots.clear();
        lists.clear();
        Ok(())
    }

    /// Places in a block, and new values, of a program whose vertices read values.
    fn pulled(
        &mut self,
        program: &ForeignPull,
        block: &Block<'_>,
    ) -> nakshi_engine::Result<Vec<(usize, Row<B>)>> {
        let work = self.work;
        let step = BlockStep {
            number: self.step,
            values: &work.values,
            degrees: &work.degrees,
            totals: *self.totals,
        };
        let mut new = work.values.pick(block.vertices());
        let old = work.values.pick(block.vertices());
        program.run(block, &step, &mut new.whole(), self.added)?;
        self.added.add_apart(old.distance(&new));
        Ok(Row::all(&new, std::iter::repeat_n(1, block.len())).enumerate().collect())
    }

    /// Places in a block, and new values, of a program whose vertices send messages.
    fn received(
        &mut self,
        program: &ForeignFrontier,
        block: &Block<'_>,
    ) -> nakshi_engine::Result<Vec<(usize, Row<B>)>> {
        let work = self.work;
        let step = FrontierStep {
            number: self.step,
            values: &work.values,
            active: &work.active,
            degrees: &work.degrees,
        };
        let (mut messages, mut got) = (vec![0; block.len()], vec![0; block.len()]);
        program.gather(block, &step, &mut messages, &mut got)?;
        let places: Vec<usize> = (0..block.len()).filter(|at| got.get(*at) == Some(&1)).collect();
        let at = |all: &[u64], at: usize| all.get(at).copied().unwrap_or_default();
        let messages: Vec<u64> = places.iter().map(|place| at(&messages, *place)).collect();
        let vertex = |place: &usize| block.vertices().get(*place).copied().unwrap_or_default();
        let vertices: Vec<VertexId> = places.iter().map(vertex).collect();
        let old = work.values.pick(&vertices);
        let mut wants = vec![1; vertices.len()];
        let degrees = &work.degrees;
        let new =
            program.receive_rows((self.step, degrees), &old, &vertices, &messages, &mut wants)?;
        Ok(places.into_iter().zip(Row::all(&new, wants.into_iter())).collect())
    }
}
