//! Shortest paths from one source over non-negative weights.
//!
//! Delta-stepping: U. Meyer, P. Sanders, "Delta-stepping: a parallelizable shortest path
//! algorithm", J. Algorithms 49 (2003), with the near and the far pile of Davidson et al.,
//! "Work-efficient parallel GPU methods for single-source shortest paths", IPDPS 2014.
//!
//! State: a distance per vertex, 4 bytes where weights are integers of at most 32 bits and
//! 8 otherwise, and three bits: whether the distance has improved since the vertex was last
//! expanded, whether it then was beyond the current window, and whether the vertex has been
//! expanded at all. A step expands all improved vertices below a threshold, by a gather;
//! the threshold moves on by delta when none is left. Delta adapts: in memory it starts far
//! below the mean weight, because in a power-law graph the hubs have very short paths and a
//! hub expanded too early costs most; from the SSD far above it, because reading the same
//! pages again costs more. It grows fast while hardly anything is expanded in vain, and
//! where the frontier is thin.
//!
//! Without weights every edge has length 1, and a breadth-first search finds the same distances.
//!
//! Shortest distances are unique, so the result depends neither on the schedule nor on
//! the number of threads. With integer weights it is exact, otherwise each distance is
//! the smallest sum, in the order of the path, of doubles.

use super::bfs::Bfs;
use super::pulling::{self, PulledResult, Pulls};
use super::shortest_parents::parents;
use super::{Algorithm, Declared, Output, Parameter, algorithm, choices};
use crate::context::{Context, EngineMode};
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::{for_each_block_mut, map_blocks};
use crate::program::block::programs::FrontierPaths;
use crate::program::block::{PerVertex, frontier_needs, run_frontier};
use crate::program::pull::programs::PullShortestPaths;
use crate::shared::{Zero, share_u32, share_u64, zeroed};
use crate::source::weights::Weights;
use crate::stats::{IterationLog, RunStats};
use crate::thin::{self, Thin};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{ColumnType, Direction, List, VertexId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

algorithm! {
    /// Shortest paths along out-edges by non-negative weights.
    pub struct Sssp = "sssp" {
        /// Vertex to start from.
        pub source: VertexId = 0 => Parameter::VERTEX.required().pulls();
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge has length 1.
        pub weight: Option<String> = None => Parameter::COLUMN.pulls();
        /// Width of a step. Chosen from the weights by default.
        pub delta: Option<f64> = None => Parameter::NUMBER.above(0.0).in_units_of("the weights");
        /// Find parents, too. For each reached vertex that is an in-neighbour on a shortest path, the one
        /// with the smallest id among those that are nearer; it costs a pass over the edges of all reached
        /// vertices.
        pub parents: bool = false => Parameter::FLAG;
        /// Method that finds the distances; they are the same, but for the rounding of doubles.
        pub variant: Variant = Variant::Direct => Parameter::choice(Variant::CHOICES);
    }
    citation: "U. Meyer, P. Sanders, \"Delta-stepping: a parallelizable shortest path algorithm\", \
        J. Algorithms 49 (2003)";
    outside: &[
        Parameter::UNIT.pulls(),
        Parameter::FLAG.command_line().named(
            "weighted",
            &["Fail if the store has no weights (without it, edges then count as 1)."],
        ),
    ];
    columns: &[
        Output::new("distance", "float64", "sum of weights on a shortest path; missing where unreachable"),
        Output::new("parent", "vertex", "the vertex before it on such a path; missing at the source and \
            where unreachable").when("parents"),
    ];
    summary: &[
        Output::new("reached", "uint64", "vertices with a path from the source"),
        Output::new("farthest", "float64", "the longest distance"),
        Output::new("lengths", "text", "the column that was used, or \"unit\"").alone(),
    ];
    raises: "a negative or NaN weight, no such column, or several columns and none named.";
}

choices! {
    /// Methods of shortest paths.
    pub enum Variant {
        /// delta-stepping
        Direct = "direct",
        /// LFGraph's pull program, which also runs on several servers
        PullProgram = "pull-program",
        /// a program on blocks of vertices
        Block = "block",
    }
}

/// Distances in internal order.
#[derive(Debug, Clone)]
pub struct Distances {
    /// Length of a shortest path from the source; infinite where there is none.
    pub distances: Vec<f64>,
    /// Vertices with a path from the source.
    pub reached: Bitmap,
    /// The longest distance.
    pub farthest: f64,
    /// The column with the lengths; `None` if every edge had length 1.
    pub weight: Option<String>,
    /// The vertex at which the paths start.
    pub source: VertexId,
    /// For each reached vertex except the source the vertex before it on a shortest path; other entries
    /// mean nothing.
    pub parents: Option<Vec<VertexId>>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Distances> for Outcome {
    fn from(found: Distances) -> Self {
        let (reached, far) = (found.reached.count(), found.farthest);
        let mut columns = Vec::new();
        if let Some(parents) = found.parents {
            let mut valid = found.reached.clone();
            valid.clear(found.source as usize);
            columns.push(Column::with_valid("parent", Values::Vertex(parents), valid));
        }
        columns
            .insert(0, Column::with_valid("distance", Values::F64(found.distances), found.reached));
        Outcome::of(columns, found.stats)
            .with_summary("reached", reached as u64)
            .with_summary("farthest", far)
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Algorithm for Sssp {
    type Output = Distances;

    fn needs(&self, summary: &Summary) -> Needs {
        // Parents, ranks of the users' ids while they are found, bits for which are.
        let parents = if self.parents { 8.75 } else { 0.0 };
        let incoming = self.parents.then_some(Direction::In);
        if self.variant == Variant::PullProgram {
            let mut needs = pulling::needs(self, summary, 0.125 + parents);
            needs.directions.extend(incoming.filter(|d| !needs.directions.contains(d)));
            return needs;
        }
        if self.variant == Variant::Block {
            let program = PerVertex(&self.frontier_program());
            let mut needs = frontier_needs(&program, self.weight.as_deref(), summary);
            needs.state_bytes_per_vertex += 0.125 + parents;
            return needs;
        }
        if self.weight.is_none() {
            let mut needs = self.by_hops().needs(summary);
            needs.state_bytes_per_vertex += 8.0 + parents;
            needs.against = needs.against.filter(|_| !self.parents);
            return needs;
        }
        // Distances as the kernel has them and as they are handed out, five bitmaps, a pile of
        // improved vertices, and where the weights of each list are.
        let kernel = if self.weight.is_some() && summary.weight_width == 8 { 8.0 } else { 4.0 };
        let mut needs = Needs::new(kernel + 8.0 + 2.25 + parents, &[Direction::Out]);
        needs.directions.extend(incoming);
        let (column, state_bytes_fixed) = (self.weight.clone(), thin::STATE_BYTES);
        Needs { column, gathers: true, state_bytes_fixed, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Distances> {
        let mut found = self.search(graph, cx)?;
        if self.parents {
            let mut log = IterationLog::new(graph);
            found.parents = Some(parents(graph, cx, &found.distances, self.source)?);
            log.end("parents", graph.num_vertices() as u64);
            found.stats.append(log.finish());
        }
        Ok(found)
    }
}

impl Sssp {
    fn frontier_program(&self) -> FrontierPaths {
        FrontierPaths { source: self.source }
    }

    /// The distances, without parents.
    fn search(&self, graph: &Graph, cx: &Context) -> Result<Distances> {
        if self.source as usize >= graph.num_vertices() {
            return Err(Error::UnknownVertex { id: self.source.to_string() });
        }
        self.check()?;
        if self.delta.is_some_and(|delta| !delta.is_finite() || delta <= 0.0) {
            return Err(Error::parameter("delta", "must be a finite number above 0"));
        }
        let kind = graph.weight_kind();
        if kind.is_none() && self.variant == Variant::Direct {
            let found = self.by_hops().run(graph, cx)?;
            let far =
                |(v, level)| if found.reached.get(v) { f64::from(level) } else { f64::INFINITY };
            let distances = found.levels.iter().copied().enumerate().map(far).collect();
            return self.output(distances, found.stats, cx);
        }
        let mut log = IterationLog::new(graph);
        let integers = kind
            .is_none_or(|kind| matches!(kind, ColumnType::U8 | ColumnType::U16 | ColumnType::U32));
        if !integers {
            refuse_negative(graph, cx)?;
            log.end("check weights", graph.num_vertices() as u64);
        }
        if self.variant == Variant::PullProgram {
            return pulling::run(self, graph, cx);
        }
        if self.variant == Variant::Block {
            let program = self.frontier_program();
            let found = run_frontier(graph, &PerVertex(&program), None, cx)?;
            return self.output(found.values, found.stats, cx);
        }
        let whole = if integers { self.distances::<u32>(graph, &mut log, cx)? } else { None };
        let distances = match whole {
            Some(distances) => distances,
            // Floating point, or a path longer than 32 bits: doubles hold 53.
            None => self
                .distances::<Double>(graph, &mut log, cx)?
                .ok_or_else(|| Error::parameter("weight", "path lengths are not finite"))?,
        };
        log.end("distances", graph.num_vertices() as u64);
        self.output(distances, log.finish(), cx)
    }
}

impl Pulls for Sssp {
    type Program = PullShortestPaths;

    fn program(&self) -> PullShortestPaths {
        PullShortestPaths { source: self.source }
    }

    fn column(&self) -> Option<&str> {
        self.weight.as_deref()
    }

    fn assemble(&self, found: PulledResult<'_, f64>) -> Result<Distances> {
        // On several servers no call of an engine is left that a context could end.
        self.output(found.values, found.stats, &Context::new())
    }
}

/// Fails if any weight is below zero; the column is read once.
fn refuse_negative(graph: &Graph, cx: &Context) -> Result<()> {
    graph.scan_weighted(
        Direction::Out,
        cx,
        |_| (),
        |(), _, _, weights| match (0..weights.len()).map(|i| weights.get(i)).find(|w| *w < 0.0) {
            Some(weight) => Err(Error::NegativeWeight { weight }),
            None => Ok(()),
        },
    )?;
    Ok(())
}

/// A path length: ordered, with an atomic cell.
trait Length: Copy + Ord + Send + Sync {
    type Cell: Sync + Send;
    /// A cell outside a step.
    type Plain: Zero;
    /// The length of what is not reached.
    const FAR: Self::Plain;
    const NONE: Self;
    fn share(plain: &mut [Self::Plain]) -> &[Self::Cell];
    fn of(plain: Self::Plain) -> Self;
    fn get(cell: &Self::Cell) -> Self;
    /// Stores `value` if it is below what is there, and tells whether it was.
    fn lower(cell: &Self::Cell, value: Self) -> bool;
    /// As a double; infinite if unreached.
    fn as_f64(self) -> f64;
    /// Calls `relax(neighbour, length over this vertex)` for each edge of a list. `false`
    /// if a length does not fit.
    fn expand(
        self,
        list: &List<'_>,
        weights: &Weights<'_>,
        relax: impl FnMut(VertexId, Self),
    ) -> Result<bool>;
}

/// Lengths beyond this are not handed to the 32-bit kernel: one more weight of 16 bits fits.
const NEAR_OVERFLOW: u32 = u32::MAX - (1 << 16) - 1;

impl Length for u32 {
    type Cell = AtomicU32;
    type Plain = u32;
    const FAR: u32 = u32::MAX;
    const NONE: u32 = 0;

    fn share(plain: &mut [u32]) -> &[AtomicU32] {
        share_u32(plain)
    }

    fn of(plain: u32) -> u32 {
        plain
    }

    #[inline]
    fn get(cell: &AtomicU32) -> u32 {
        cell.load(Relaxed)
    }

    #[inline]
    fn lower(cell: &AtomicU32, value: u32) -> bool {
        value < cell.load(Relaxed) && value < cell.fetch_min(value, Relaxed)
    }

    fn as_f64(self) -> f64 {
        if self == u32::MAX { f64::INFINITY } else { self.into() }
    }

    fn expand(
        self,
        list: &List<'_>,
        weights: &Weights<'_>,
        mut relax: impl FnMut(VertexId, u32),
    ) -> Result<bool> {
        if self > NEAR_OVERFLOW {
            return Ok(false);
        }
        let mut fits = true;
        let bytes = weights.bytes();
        match weights.kind() {
            None => list.for_each(|u| relax(u, self + 1))?,
            Some(ColumnType::U8) => {
                beside(list, bytes, |u, &w| relax(u, self + u32::from(w)))?;
            }
            Some(ColumnType::U16) => {
                beside(list, bytes.as_chunks::<2>().0, |u, &w| {
                    relax(u, self + u32::from(u16::from_le_bytes(w)));
                })?;
            }
            _ => {
                beside(list, bytes.as_chunks::<4>().0, |u, &w| {
                    match self.checked_add(u32::from_le_bytes(w)) {
                        Some(length) if length < u32::MAX => relax(u, length),
                        _ => fits = false,
                    }
                })?;
            }
        }
        Ok(fits)
    }
}

/// Visits the neighbours of a list with their weights, of which there are as many.
#[inline]
fn beside<W>(list: &List<'_>, weights: &[W], mut visit: impl FnMut(VertexId, &W)) -> Result<()> {
    let mut rest = weights;
    list.for_each_slice(|ids| {
        let (now, later) = rest.split_at(ids.len().min(rest.len()));
        ids.iter().zip(now).for_each(|(&u, weight)| visit(u, weight));
        rest = later;
    })?;
    Ok(())
}

/// A double that is at least 0: its bits are ordered as it is.
#[derive(Clone, Copy)]
struct Double(f64);

impl Ord for Double {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Double {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Double {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Double {}

impl Length for Double {
    type Cell = AtomicU64;
    type Plain = u64;
    const FAR: u64 = f64::INFINITY.to_bits();
    const NONE: Double = Double(0.0);

    fn share(plain: &mut [u64]) -> &[AtomicU64] {
        share_u64(plain)
    }

    fn of(plain: u64) -> Double {
        Double(f64::from_bits(plain))
    }

    #[inline]
    fn get(cell: &AtomicU64) -> Double {
        Double(f64::from_bits(cell.load(Relaxed)))
    }

    #[inline]
    fn lower(cell: &AtomicU64, value: Double) -> bool {
        // Adding 0 turns a negative zero into a positive one, whose bits are 0.
        let bits = (value.0 + 0.0).to_bits();
        bits < cell.load(Relaxed) && bits < cell.fetch_min(bits, Relaxed)
    }

    fn as_f64(self) -> f64 {
        self.0
    }

    fn expand(
        self,
        list: &List<'_>,
        weights: &Weights<'_>,
        mut relax: impl FnMut(VertexId, Double),
    ) -> Result<bool> {
        let mut i = 0;
        let mut fits = true;
        list.for_each(|u| {
            let length = self.0 + weights.get(i);
            fits &= length.is_finite();
            if length.is_finite() {
                relax(u, Double(length));
            }
            i += 1;
        })?;
        Ok(fits)
    }
}

/// Weights of a step that are enough for their mean.
const WEIGHED: u64 = 4096;

/// Counts of one worker in a step.
#[derive(Default, Clone, Copy)]
struct Expanded {
    edges: u64,
    /// Edges of vertices that had been expanded before, with a longer distance.
    again: u64,
    /// Edges whose weights are in `weight`: a sample tells the mean.
    weighed: u64,
    weight: f64,
}

impl Expanded {
    fn count(&mut self, list: &List<'_>, weights: &Weights<'_>, again: bool) {
        self.edges += list.degree();
        self.again += if again { list.degree() } else { 0 };
        if self.weighed < WEIGHED {
            let weighed = weights.len().min(WEIGHED as usize);
            self.weighed += weighed as u64;
            self.weight += (0..weighed).map(|i| weights.get(i)).sum::<f64>();
        }
    }

    fn plus(self, other: Expanded) -> Expanded {
        Expanded {
            edges: self.edges + other.edges,
            again: self.again + other.again,
            weighed: self.weighed + other.weighed,
            weight: self.weight + other.weight,
        }
    }
}

impl Sssp {
    /// The search that finds the distances where every edge has length 1.
    fn by_hops(&self) -> Bfs {
        Bfs { source: self.source, ..Bfs::default() }
    }

    fn output(&self, distances: Vec<f64>, stats: RunStats, cx: &Context) -> Result<Distances> {
        let reached = AtomicBitmap::new(distances.len());
        let farthest = map_blocks(cx, distances.len(), |block| {
            let mut most = 0.0;
            let words = block.start / 64..;
            let distances = distances.get(block).unwrap_or_default();
            for (word, distances) in words.zip(distances.chunks(64)) {
                let mut bits = 0u64;
                for (bit, distance) in distances.iter().enumerate() {
                    bits |= u64::from(distance.is_finite()) << bit;
                    most = if distance.is_finite() && *distance > most { *distance } else { most };
                }
                reached.store_word(word, bits);
            }
            Ok(most)
        })?;
        let farthest = farthest.into_iter().fold(0.0, f64::max);
        let (reached, weight, source) = (reached.into_bitmap(), self.weight.clone(), self.source);
        Ok(Distances { distances, reached, farthest, weight, source, parents: None, stats })
    }

    /// Distances of all vertices, or `None` if one does not fit `L`.
    fn distances<L: Length>(
        &self,
        graph: &Graph,
        log: &mut IterationLog,
        cx: &Context,
    ) -> Result<Option<Vec<f64>>> {
        let n = graph.num_vertices();
        let mut lengths = zeroed::<L::Plain>(n, "distances")?;
        for_each_block_mut(cx, &mut lengths, |_, block| {
            block.fill(L::FAR);
            Ok(())
        })?;
        let cells = L::share(&mut lengths);
        if let Some(cell) = cells.get(self.source as usize) {
            L::lower(cell, L::NONE);
        }
        let search = SsspSearch::<L> {
            graph,
            cells,
            improved: AtomicBitmap::new(n),
            expanded: AtomicBitmap::new(n),
            misfit: AtomicBool::new(false),
        };
        search.improved.set(self.source as usize);
        if !search.settle(Pace::new(self.delta, graph), log, cx)? {
            return Ok(None);
        }
        let mut distances = zeroed::<f64>(n, "distances")?;
        for_each_block_mut(cx, &mut distances, |first, block| {
            let known = lengths.iter().skip(first);
            block.iter_mut().zip(known).for_each(|(to, &from)| *to = L::of(from).as_f64());
            Ok(())
        })?;
        Ok(Some(distances))
    }
}

/// Width of the steps.
struct Pace {
    delta: f64,
    fixed: bool,
    /// The first width over the mean weight.
    first: f64,
    /// True if weights have been seen.
    begun: bool,
    arcs: u64,
}

/// The first width over the mean weight around the source, of lists in memory: hubs are near, and one that
/// is expanded too early costs most.
const FIRST: f64 = 1.0 / 32.0;
/// The same from the SSD, where to read the lists of a step costs more than to expand some of them again.
const FIRST_ON_SSD: f64 = 16.0;

impl Pace {
    fn new(delta: Option<f64>, graph: &Graph) -> Self {
        let (fixed, arcs) = (delta.is_some(), graph.num_arcs());
        let first = if graph.mode() == EngineMode::Ssd { FIRST_ON_SSD } else { FIRST };
        Pace { delta: delta.unwrap_or(1.0), fixed, first, begun: false, arcs }
    }

    /// Takes the first width from the first weights.
    fn begin(&mut self, seen: Expanded) {
        let first = !std::mem::replace(&mut self.begun, true);
        if first && !self.fixed && seen.weighed > 0 {
            let mean = seen.weight / seen.weighed as f64;
            self.delta = (mean * self.first).max(f64::MIN_POSITIVE);
        }
    }

    /// Wider steps where less than a tenth of the edges are expanded in vain, or few edges at
    /// all; narrower ones where most are in vain.
    fn adapt(&mut self, seen: Expanded) {
        if self.fixed {
            return;
        }
        self.delta *= if seen.again < seen.edges / 10 {
            4.0
        } else if seen.edges < self.arcs / 256 {
            1.25
        } else if seen.again > seen.edges / 2 {
            0.5
        } else {
            1.0
        };
    }
}

/// State that the workers of a step share.
struct SsspSearch<'a, L: Length> {
    graph: &'a Graph,
    cells: &'a [L::Cell],
    /// Vertices whose distance has improved since they were last expanded.
    improved: AtomicBitmap,
    /// Vertices that have been expanded.
    expanded: AtomicBitmap,
    /// True if a length did not fit.
    misfit: AtomicBool,
}

/// Improved vertices with their distances, the nearest on top; some are out of date.
type Pile<L> = BinaryHeap<Reverse<(L, VertexId)>>;

/// Thin steps between two reports of progress.
const PROGRESS: u64 = 1024;

/// Improved vertices, as a step finds them.
struct Piles {
    /// Those within the threshold.
    near: VertexSet,
    /// Number of the others.
    far: usize,
    /// The least distance of the others; infinite if there are none.
    least: f64,
}

impl<L: Length> SsspSearch<'_, L> {
    /// Expands improved vertices until there are none; returns false if a distance does not fit `L`.
    fn settle(mut self, mut pace: Pace, log: &mut IterationLog, cx: &Context) -> Result<bool> {
        let mut thin = Thin::new(self.graph, &[Direction::Out], cx);
        let (mut threshold, mut expanded, mut left) = (0.0, 0, false);
        loop {
            let Piles { near, far, least } = self.take(threshold, cx)?;
            if near.is_empty() && far == 0 {
                break;
            }
            if !left && near.count() + far <= thin.most_members() {
                near.iter().for_each(|v| _ = self.improved.insert(v as usize));
                let next = self.settle_thin(&mut thin, &mut pace, &mut expanded, log, cx)?;
                (threshold, left) = (next + pace.delta, true);
            } else if near.is_empty() {
                threshold = least + pace.delta;
            } else {
                let seen = self.step(&near, cx)?;
                log.end("relax", near.count() as u64);
                expanded += near.count() as u64;
                left = false;
                if !pace.begun {
                    pace.begin(seen);
                    threshold = pace.delta;
                }
                pace.adapt(seen);
            }
            if self.misfit.load(Relaxed) {
                return Ok(false);
            }
            cx.progress().update("vertices expanded", expanded, 0);
        }
        Ok(true)
    }

    /// Expands improved vertices in the order of their distances while they are few, by one thread:
    /// one by one where lists are in memory, and as many at once as are within the width of a step
    /// where they are read. Returns the least distance of those that it leaves.
    fn settle_thin(
        &mut self,
        thin: &mut Thin<'_>,
        pace: &mut Pace,
        expanded: &mut u64,
        log: &mut IterationLog,
        cx: &Context,
    ) -> Result<f64> {
        let improved = self.improved.iter().filter_map(|v| Some((L::get(self.cells.get(v)?), v)));
        // Lossless: vertices are below 2^32.
        let mut pile: BinaryHeap<_> = improved.map(|(l, v)| Reverse((l, v as VertexId))).collect();
        let on_ssd = self.graph.mode() == EngineMode::Ssd;
        let (mut members, mut steps, mut count) = (Vec::new(), 0u64, 0);
        let mut rest = f64::INFINITY;
        let mut sum = Expanded::default();
        while let Some(Reverse((least, _))) = pile.peek() {
            let least = least.as_f64();
            let limit = if on_ssd { least + pace.delta } else { least };
            self.within(limit, &mut pile, &mut members);
            if !thin.takes(&members)? || pile.len() > 2 * thin.most_members() {
                members.iter().for_each(|&v| _ = self.improved.insert(v as usize));
                rest = least;
                break;
            }
            let seen = self.relax_thin(thin, &members, &mut pile)?;
            if self.misfit.load(Relaxed) {
                break;
            }
            (steps, count) = (steps + 1, count + members.len() as u64);
            if steps.is_multiple_of(PROGRESS) {
                cx.progress().update("vertices expanded", *expanded + count, 0);
            }
            sum = sum.plus(seen);
            if on_ssd {
                pace.begin(seen);
                pace.adapt(seen);
            }
        }
        pace.begin(sum);
        *expanded += count;
        log.end_steps("relax", steps, count);
        Ok(rest)
    }

    /// Takes the improved vertices with distances of at most `limit` off a pile, into `members`.
    fn within(&mut self, limit: f64, pile: &mut Pile<L>, members: &mut Vec<VertexId>) {
        members.clear();
        while let Some(top) = pile.peek_mut().filter(|top| top.0.0.as_f64() <= limit) {
            let Reverse((_, v)) = PeekMut::pop(top);
            // Others have been expanded since they were put on the pile.
            if self.improved.remove(v as usize) {
                members.push(v);
            }
        }
        members.sort_unstable();
    }

    /// Relaxes the out-edges of `members`, and puts the vertices that they improve on a pile.
    fn relax_thin(
        &mut self,
        thin: &mut Thin<'_>,
        members: &[VertexId],
        pile: &mut Pile<L>,
    ) -> Result<Expanded> {
        let SsspSearch { cells, improved, expanded, misfit, .. } = self;
        let mut seen = Expanded::default();
        thin.visit_weighted(Direction::Out, members, |v, list, weights| {
            let Some(own) = cells.get(v as usize) else { return Ok(()) };
            seen.count(list, weights, !expanded.insert(v as usize));
            let fits = L::get(own).expand(list, weights, |u, length| {
                if let Some(cell) = cells.get(u as usize)
                    && L::lower(cell, length)
                {
                    improved.insert(u as usize);
                    pile.push(Reverse((length, u)));
                }
            })?;
            if !fits {
                *misfit.get_mut() = true;
            }
            Ok(())
        })?;
        Ok(seen)
    }

    /// Takes the improved vertices with distances of at most `threshold` out of `improved`.
    fn take(&self, threshold: f64, cx: &Context) -> Result<Piles> {
        let SsspSearch { cells, improved, .. } = self;
        let n = cells.len();
        let near = AtomicBitmap::new(n);
        let parts = map_blocks(cx, n, |block| {
            let (mut least, mut far) = (f64::INFINITY, 0);
            for k in block.start / 64..block.end.div_ceil(64) {
                let word = improved.word(k);
                let (mut rest, mut taken) = (word, 0u64);
                while rest != 0 {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    let cell = cells.get(64 * k + bit);
                    let length = cell.map_or(f64::INFINITY, |c| L::get(c).as_f64());
                    if length <= threshold {
                        taken |= 1 << bit;
                    } else {
                        least = least.min(length);
                        far += 1;
                    }
                }
                if taken != 0 {
                    improved.store_word(k, word & !taken);
                    near.store_word(k, taken);
                }
            }
            Ok((least, far))
        })?;
        let add = |(least, far): (f64, usize), (low, more)| (least.min(low), far + more);
        let (least, far) = parts.into_iter().fold((f64::INFINITY, 0), add);
        Ok(Piles { near: near.into(), far, least })
    }

    /// Relaxes the out-edges of `frontier`.
    fn step(&self, frontier: &VertexSet, cx: &Context) -> Result<Expanded> {
        let parts = self.graph.gather_weighted(
            Direction::Out,
            frontier,
            cx,
            |_| Expanded::default(),
            |seen, v, list, weights| {
                let Some(own) = self.cells.get(v as usize) else { return Ok(()) };
                seen.count(list, weights, !self.expanded.set(v as usize));
                let fits = L::get(own).expand(list, weights, |u, length| {
                    if let Some(cell) = self.cells.get(u as usize)
                        && L::lower(cell, length)
                    {
                        self.improved.set(u as usize);
                    }
                })?;
                if !fits {
                    self.misfit.store(true, Relaxed);
                }
                Ok(())
            },
        )?;
        Ok(parts.into_iter().fold(Expanded::default(), Expanded::plus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::sample::{cases, contexts, graphs};
    use crate::algo::oracle::sssp as oracle;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(40)))]
        #[test]
        fn equals_the_oracle(
            sample in graphs(60, 300),
            seed: u32,
            unit: bool,
            delta in proptest::option::of(0.5f64..50.0),
        ) {
            let mut weights = Vec::new();
            let mut smallest: BTreeMap<(u32, u32), f64> = BTreeMap::new();
            for (i, &(u, v)) in sample.edges.iter().enumerate() {
                let w = if unit { 1.0 } else {
                    f64::from((i as u32 ^ seed).wrapping_mul(0x9E37_79B9) >> 20) / 16.0
                };
                weights.push(w);
                for arc in if sample.directed { vec![(u, v)] } else { vec![(u, v), (v, u)] } {
                    let old = smallest.entry(arc).or_insert(w);
                    *old = old.min(w);
                }
            }
            let arcs: Vec<_> = smallest.iter().map(|(&(u, v), &w)| (u, v, w)).collect();
            let source = seed % sample.n as u32;
            let expected = oracle::distances(sample.n, &arcs, source);
            let given = (!unit).then_some(weights.as_slice());
            let (n, edges, directed) = (sample.n, &sample.edges, sample.directed);
            let weight = (!unit).then(|| "w".into());
            let config = Sssp { source, delta, weight, ..Sssp::default() };
            let on_ssd = || Graph::from_edges_on_ssd(n, edges, directed, given, 16 << 10, &|b| b);
            let in_memory = || Graph::from_edges(n, edges, directed, given);
            let decoded = || in_memory().and_then(Graph::decoded_lists);
            let bounds = [None, Some(0), Some(24)].into_iter();
            let graphs = bounds.flat_map(|thin| {
                [in_memory(), decoded(), on_ssd()].map(|graph| graph.unwrap().with_thin(thin))
            });
            for graph in graphs {
                for cx in contexts() {
                    let blocks = Sssp { variant: Variant::Block, ..config.clone() };
                    let distances = blocks.run(&graph, &cx).unwrap().distances;
                    prop_assert_eq!(&distances, &expected);
                    let config = Sssp { parents: true, ..config.clone() };
                    let found = config.run(&graph, &cx).unwrap();
                    prop_assert_eq!(&found.distances, &expected);
                    let parents = found.parents.unwrap();
                    for v in (0..n).filter(|&v| expected[v].is_finite()) {
                        // Every way back ends at the source, along edges that are tight.
                        let (mut at, mut steps) = (v as u32, 0);
                        while at != source {
                            let before = parents[at as usize];
                            let length = expected[before as usize] + smallest[&(before, at)];
                            prop_assert_eq!(length, expected[at as usize]);
                            (at, steps) = (before, steps + 1);
                            prop_assert!(steps <= n);
                        }
                    }
                    let finite = expected.iter().filter(|d| d.is_finite()).count();
                    prop_assert_eq!(found.reached.count(), finite);
                }
            }
        }
    }

    #[test]
    fn a_negative_weight_is_refused_even_out_of_reach() {
        let graph = Graph::from_edges(4, &[(0, 1), (2, 3)], true, Some(&[1.0, -2.0])).unwrap();
        let config = Sssp { weight: Some("w".into()), ..Sssp::default() };
        let result = config.run(&graph, &Context::new());
        assert!(matches!(result, Err(Error::NegativeWeight { weight }) if weight == -2.0));
    }

    #[test]
    fn integers_add_without_overflow() {
        let bytes = [u32::MAX.to_le_bytes(), 5u32.to_le_bytes()].concat();
        let weights = Weights::new(Some(ColumnType::U32), &bytes, 2);
        let graph = Graph::from_edges(3, &[(0, 1), (0, 2)], true, None).unwrap();
        graph
            .scan(
                Direction::Out,
                &Context::new().with_threads(1),
                |_| (),
                |(), v, list| {
                    if v == 0 {
                        let mut seen = Vec::new();
                        assert!(!7u32.expand(list, &weights, |u, d| seen.push((u, d)))?);
                        assert_eq!(seen, vec![(2, 12)]);
                        assert!(!u32::MAX.expand(list, &weights, |_, _| unreachable!())?);
                    }
                    Ok(())
                },
            )
            .unwrap();
    }
}
