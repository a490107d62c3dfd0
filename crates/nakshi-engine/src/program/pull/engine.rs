//! Pull-style programs on one machine, with lists in memory or on the SSD.

use super::model::{Links, Origin, PullProgram, PullVertex};
use super::totals::{Seen, Totals};
use super::value::PullValue;
use crate::both::both_lists;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::parallel::{BLOCK, run_workers};
use crate::program::config::ProgramConfig;
use crate::program::grid::Grid;
use crate::program::states::States;
use crate::program::team::caught;
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use crate::{Direction, List, Needs, VertexId, Weights};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Pulled<T> {
    /// The result of each vertex.
    pub values: Vec<T>,
    /// Steps that were run.
    pub steps: u32,
    /// Totals of the last step.
    pub totals: Totals,
    /// Statistics of the run.
    pub stats: RunStats,
}

/// Memory and lists that a run of `program` needs, for [`Graph::open`] and for an estimate. `column` is
/// the
/// attribute that weights are.
pub fn pull_needs<P: PullProgram>(_program: &P, column: Option<&str>) -> Needs {
    let value = size_of::<P::Value>() as f64;
    let directions: &[Direction] = match P::LINKS {
        Links::In => &[Direction::In, Direction::Out],
        Links::Both => &[Direction::Out, Direction::In],
    };
    // Two values, degree, rank, three bits.
    let needs = Needs::new(2.0 * value + 8.375, directions);
    Needs { repeats: true, column: column.map(str::to_owned), ..needs }
}

/// Number of values that a worker collects before it writes them.
const RUN: usize = 512;

/// The shadow versions, which a step writes.
struct Shadow<'a, T> {
    values: States<'a, T>,
    updated: AtomicBitmap,
}

/// Values and totals that a step reads.
struct Real<'a, T> {
    values: &'a [T],
    /// Vertices that were given a value in the step before.
    updated: &'a Bitmap,
    origins: &'a Origins,
    step: u32,
    totals: Seen,
}

/// Constant properties of every vertex: rank of its id, and degree.
#[derive(Debug)]
pub struct Origins {
    ranks: Option<Vec<u32>>,
    degrees: Vec<u32>,
}

impl Origins {
    /// Reads the origins of all vertices of a graph whose values come along `links`.
    ///
    /// # Errors
    /// Errors of reading degrees and ids.
    pub fn of(graph: &Graph, links: Links, cx: &Context) -> Result<Self> {
        let mut degrees = graph.degrees(Direction::Out, cx)?;
        if links == Links::Both && graph.directed() {
            for (out, more) in degrees.iter_mut().zip(graph.degrees(Direction::In, cx)?) {
                *out = out.saturating_add(more);
            }
        }
        Ok(Origins { ranks: graph.id_ranks(cx)?, degrees })
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.degrees.len()
    }

    /// Returns true if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.degrees.is_empty()
    }

    /// The origin of one vertex.
    pub fn get(&self, vertex: VertexId) -> Origin {
        let at = |numbers: &[u32]| numbers.get(vertex as usize).copied().unwrap_or_default();
        Origin {
            vertex,
            rank: self.ranks.as_deref().map_or(vertex, at),
            degree: at(&self.degrees),
            vertices: self.degrees.len() as u64,
        }
    }
}

/// The lists of the vertex that runs.
enum LinkLists<'a> {
    Plain(&'a List<'a>),
    Weighted(&'a List<'a>, &'a Weights<'a>),
    Both(&'a [VertexId], &'a [VertexId]),
}

struct GraphVertex<'a, T> {
    vertex: VertexId,
    lists: LinkLists<'a>,
    real: &'a Real<'a, T>,
    put: Option<T>,
    totals: &'a mut Totals,
}

impl<T> GraphVertex<'_, T> {
    #[inline]
    fn each(&self, mut f: impl FnMut(VertexId, f64)) -> Result<()> {
        match &self.lists {
            LinkLists::Plain(list) => list.for_each(|u| f(u, 1.0))?,
            LinkLists::Weighted(list, weights) => {
                let mut i = 0;
                list.for_each(|u| {
                    f(u, weights.get(i));
                    i += 1;
                })?;
            }
            LinkLists::Both(one, other) => one.iter().chain(*other).for_each(|&u| f(u, 1.0)),
        }
        Ok(())
    }

    /// Returns true if `f` is true of a link; later links are not read.
    #[inline]
    fn any(&self, mut f: impl FnMut(VertexId, f64) -> bool) -> Result<bool> {
        let mut i = 0;
        let weight = |i: &mut usize| match &self.lists {
            LinkLists::Weighted(_, weights) => {
                *i += 1;
                weights.get(*i - 1)
            }
            _ => 1.0,
        };
        match &self.lists {
            LinkLists::Plain(list) | LinkLists::Weighted(list, _) => {
                let mut found = false;
                list.blocks(|block| {
                    found = block.iter().any(|&u| f(u, weight(&mut i)));
                    if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
                Ok(found)
            }
            LinkLists::Both(one, other) => Ok(one.iter().chain(*other).any(|&u| f(u, 1.0))),
        }
    }
}

impl<T: PullValue> PullVertex<T> for GraphVertex<'_, T> {
    fn origin(&self) -> Origin {
        self.real.origins.get(self.vertex)
    }

    fn step(&self) -> u32 {
        self.real.step
    }

    fn value(&self) -> &T {
        // A vertex that runs has a value.
        &self.real.values[self.vertex as usize]
    }

    fn put(&mut self, value: T) {
        self.put = Some(value);
    }

    #[inline]
    fn links(&mut self, mut f: impl FnMut(VertexId, &T, f64)) -> Result<()> {
        self.each(|u, weight| {
            if let Some(value) = self.real.values.get(u as usize) {
                f(u, value, weight);
            }
        })
    }

    #[inline]
    fn updated_links(&mut self, mut f: impl FnMut(VertexId, &T, f64)) -> Result<()> {
        self.each(|u, weight| {
            if self.real.updated.get(u as usize)
                && let Some(value) = self.real.values.get(u as usize)
            {
                f(u, value, weight);
            }
        })
    }

    #[inline]
    fn any_updated_link(&mut self, mut f: impl FnMut(VertexId, &T, f64) -> bool) -> Result<bool> {
        self.any(|u, weight| {
            let value = self.real.values.get(u as usize);
            self.real.updated.get(u as usize) && value.is_some_and(|value| f(u, value, weight))
        })
    }

    fn totals(&self) -> &Seen {
        &self.real.totals
    }

    fn add(&mut self, number: f64) {
        self.totals.add(number);
    }

    fn add_apart(&mut self, number: f64) {
        self.totals.add_apart(number);
    }
}

/// Runs `program` until it is finished, or for `most` steps.
///
/// # Errors
/// [`Error::Panicked`] if a callback panics, [`Error::Unsupported`] if the graph was opened without what
/// the program needs, [`Error::OutOfMemory`], [`Error::Cancelled`], [`Error::Deadline`], and errors of
/// reading.
pub fn run_pull<P: PullProgram>(
    graph: &Graph,
    program: &P,
    most: Option<u32>,
    cx: &Context,
) -> Result<Pulled<P::Output>> {
    caught(|| run(graph, program, most, cx))
}

fn run<P: PullProgram>(
    graph: &Graph,
    program: &P,
    most: Option<u32>,
    cx: &Context,
) -> Result<Pulled<P::Output>> {
    let mut log = IterationLog::new(graph);
    if P::WEIGHTED && P::LINKS == Links::Both {
        let what = "weights along edges of both directions; pull along in-edges";
        return Err(Error::Unsupported { what: what.into() });
    }
    let origins = Origins::of(graph, P::LINKS, cx)?;
    let n = graph.num_vertices();
    let mut totals = Totals::default();
    let mut values = reserved(n)?;
    // Ids are 32 bits wide: the graph is no larger.
    values.extend((0..n).map(|v| program.init(&origins.get(v as VertexId), &mut totals)));
    let mut shadow = reserved(n)?;
    shadow.resize(n, P::Value::default());
    let mut updated = Bitmap::full(n);
    let (mut step, cap) = (0, most.unwrap_or(u32::MAX));
    while step < cap {
        step += 1;
        let real = Real {
            values: &values,
            updated: &updated,
            origins: &origins,
            step,
            totals: totals.seen(),
        };
        let (now, added) = advance(graph, program, &real, &mut shadow, cx)?;
        updated = now;
        totals = added;
        commit(&mut values, &mut shadow, &updated, cx)?;
        let count = updated.count() as u64;
        log.end("pull", count);
        cx.progress().update("steps", step.into(), most.unwrap_or_default().into());
        if program.finished(step, &totals, count) {
            break;
        }
    }
    let output = |(v, value)| program.output(&origins.get(v), value);
    let values = (0..).zip(&values).map(output).collect();
    Ok(Pulled { values, steps: step, totals, stats: log.finish() })
}

fn reserved<T>(n: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let bytes = (n * size_of::<T>()) as u64;
    let too_much = |_| Error::OutOfMemory { what: "vertex values", bytes };
    values.try_reserve_exact(n).map_err(too_much)?;
    Ok(values)
}

/// Runs one step; returns the vertices that were given a value, and the totals.
fn advance<P: PullProgram>(
    graph: &Graph,
    program: &P,
    real: &Real<'_, P::Value>,
    shadow: &mut [P::Value],
    cx: &Context,
) -> Result<(Bitmap, Totals)> {
    let n = real.values.len();
    let grid = Grid::new(n, cx.threads(), ProgramConfig::default().running, None);
    let shadow = Shadow { values: States::new(shadow, grid), updated: AtomicBitmap::new(n) };
    let totals = Mutex::new(Totals::default());
    let worker = |_| PullWorker {
        program,
        real,
        shadow: &shadow,
        written: Vec::with_capacity(RUN),
        totals: Totals::default(),
        all: &totals,
    };
    match P::LINKS {
        Links::In if P::WEIGHTED => {
            graph.scan_weighted(Direction::In, cx, worker, |worker, v, list, weights| {
                worker.run(v, LinkLists::Weighted(list, weights))
            })?;
        }
        Links::In => {
            graph.scan(Direction::In, cx, worker, |worker, v, list| {
                worker.run(v, LinkLists::Plain(list))
            })?;
        }
        Links::Both => {
            both_lists(graph, &VertexSet::full(n), cx, worker, |worker, v, one, other| {
                worker.run(v, LinkLists::Both(one, other))
            })?;
        }
    }
    Ok((shadow.updated.into_bitmap(), totals.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Runs vertices of one thread.
struct PullWorker<'a, 's, P: PullProgram> {
    program: &'a P,
    real: &'a Real<'a, P::Value>,
    shadow: &'a Shadow<'s, P::Value>,
    /// Values that are not in the shadow versions yet.
    written: Vec<(VertexId, P::Value)>,
    totals: Totals,
    all: &'a Mutex<Totals>,
}

impl<P: PullProgram> PullWorker<'_, '_, P> {
    fn run(&mut self, vertex: VertexId, lists: LinkLists<'_>) -> Result<()> {
        let totals = &mut self.totals;
        let mut me = GraphVertex { vertex, lists, real: self.real, put: None, totals };
        self.program.step(&mut me)?;
        if let Some(value) = me.put {
            self.written.push((vertex, value));
            if self.written.len() >= RUN {
                self.flush();
            }
        }
        Ok(())
    }

    /// Holds the lock of a range only for the move: other workers may be in the same range.
    fn flush(&mut self) {
        let mut places = self.shadow.values.cursor();
        for (vertex, value) in self.written.drain(..) {
            if let Some(place) = places.get(vertex) {
                *place = value;
                self.shadow.updated.set(vertex as usize);
            }
        }
    }
}

impl<P: PullProgram> Drop for PullWorker<'_, '_, P> {
    fn drop(&mut self) {
        self.flush();
        self.all.lock().unwrap_or_else(PoisonError::into_inner).merge(&self.totals);
    }
}

/// Moves the written values from the shadow to the real versions.
fn commit<T: PullValue>(
    values: &mut [T],
    shadow: &mut [T],
    updated: &Bitmap,
    cx: &Context,
) -> Result<()> {
    let pairs = values.chunks_mut(BLOCK).zip(shadow.chunks_mut(BLOCK)).enumerate();
    let blocks = Mutex::new(pairs);
    run_workers(cx.threads(), |_| {
        loop {
            let next = blocks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((block, (values, shadow))) = next else { return Ok(()) };
            cx.check()?;
            let first = block * BLOCK;
            for v in updated.iter_in(first, first + values.len()) {
                if let (Some(value), Some(new)) =
                    (values.get_mut(v - first), shadow.get_mut(v - first))
                {
                    *value = std::mem::take(new);
                }
            }
        }
    })
    .map(|_| ())
}
