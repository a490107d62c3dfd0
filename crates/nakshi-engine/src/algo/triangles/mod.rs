//! Triangles: how many there are, and how many go through each vertex.
//!
//! Edges are oriented towards the smaller rank by degree and the lists of smaller
//! neighbours are intersected along the edges, as in Schank and Wagner, *Finding,
//! Counting and Listing All Triangles in Large Graphs* (WEA 2005) and in section 4 of
//! FlashGraph (FAST 2015), whose vertices notify the corners of what they find. When the
//! oriented lists do not fit in memory, ranges of them meet pairwise, as in Hu, Tao and
//! Chung, *Massive Graph Triangulation* (SIGMOD 2013).
//!
//! * [`oriented`]: the lists, read from the store into 16 and 32-bit ranks;
//! * [`count`]: the intersection kernel;
//! * [`flagged`]: the same with the directions of the edges, for clustering coefficients and triads.
//!
//! State: oriented lists (2 to 4 bytes per edge), 8 bytes per vertex of their index,
//! with per-vertex counts 8 more. Integers throughout: the result does not depend on the
//! number of threads, on the layout or on the budget.

pub(crate) mod count;
pub(crate) mod flagged;
pub(crate) mod oriented;

use crate::algo::pulling::{self, PulledResult, Pulls};
use crate::algo::{Algorithm, Output, Parameter, algorithm, choices};
use crate::both;
use crate::context::{Context, EngineMode};
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::program::programs::Triangles as VertexTriangles;
use crate::program::pull::programs;
use crate::program::{ProgramConfig, run_program};
use crate::shared::share_u64;
use crate::stats::{IterationLog, RunStats};
use count::Core;
use nakshi_store::Direction;
use oriented::{Census, Facts, OrientedPart, Ranking};
use std::sync::atomic::AtomicU64;

/// Memory for the bit rows of hubs.
const CORE_BYTES: u64 = 16 << 20;
/// The smallest memory for oriented lists with which a run is worth starting.
const LEAST_LISTS: u64 = 16 << 20;

algorithm! {
    /// Triangles, with edges taken as undirected; self-loops and duplicates never count.
    pub struct Triangles = "triangles" {
        /// Count those of each vertex, too. It takes longer, because each triangle must be named.
        pub per_vertex: bool = false => Parameter::FLAG;
        /// Method that counts triangles; the results are the same.
        pub variant: Variant = Variant::Direct => Parameter::choice(Variant::CHOICES);
    }
    citation: "T. Schank, D. Wagner, \"Finding, Counting and Listing All Triangles in Large Graphs\", WEA 2005";
    columns: &[
        Output::new("triangles", "uint64", "how many contain the vertex").when("per_vertex"),
    ];
    summary: &[Output::new("triangles", "uint64", "how many there are in all")];
}

choices! {
    /// Methods of counting triangles.
    pub enum Variant {
        /// intersections of oriented lists
        Direct = "direct",
        /// FlashGraph's vertex program, for undirected graphs
        Vertex = "vertex",
        /// LFGraph's pull program, which also runs on several servers
        PullProgram = "pull-program",
    }
}

/// Result of [`Triangles`].
#[derive(Debug, Clone, Default)]
pub struct TriangleCounts {
    /// Triangles in the graph.
    pub total: u64,
    /// Triangles through each vertex, in internal order, if asked for.
    pub per_vertex: Option<Vec<u64>>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<TriangleCounts> for Outcome {
    fn from(found: TriangleCounts) -> Self {
        let column = found.per_vertex.map(|c| Column::new("triangles", Values::U64(c)));
        let columns = column.into_iter().collect();
        Outcome::of(columns, found.stats).with_summary("triangles", found.total)
    }
}

impl Algorithm for Triangles {
    type Output = TriangleCounts;

    fn needs(&self, summary: &Summary) -> Needs {
        if self.variant == Variant::Vertex {
            let mut needs = ProgramConfig::default().needs(&VertexTriangles::default());
            // Neighbours of a running vertex and what was found with them.
            needs.state_bytes_fixed += 64 * summary.longest_list;
            return needs;
        }
        if self.variant == Variant::PullProgram {
            // Lists of later neighbours, which may have room for twice as many.
            let mut needs = pulling::needs(self, summary, 0.0);
            needs.state_bytes_fixed += 8 * summary.arcs;
            return needs;
        }
        needs(summary, if self.per_vertex { 8.0 } else { 0.0 })
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<TriangleCounts> {
        match self.variant {
            Variant::PullProgram => return pulling::run(self, graph, cx),
            Variant::Vertex => return self.by_program(graph, cx),
            Variant::Direct => {}
        }
        let mut log = IterationLog::new(graph);
        let by = Ranking::new(graph, cx)?;
        let mut census = Census::take(graph, &by, Facts::Edges, cx)?;
        log.end("census", graph.num_vertices() as u64);
        let n = graph.num_vertices();
        let mut counts = vec![0u64; if self.per_vertex { n } else { 0 }];
        let shared = share_u64(&mut counts);
        let per_rank = self.per_vertex.then_some(shared);
        let room = room(&self.needs(&graph.summary()), graph, cx)?;
        let total = count_all(graph, &by, &mut census, room, per_rank, &mut log, cx)?;
        drop(census);
        let per_vertex = self.per_vertex.then(|| by.by_vertex(counts));
        Ok(TriangleCounts { total, per_vertex, stats: log.finish() })
    }
}

impl Triangles {
    fn by_program(&self, graph: &Graph, cx: &Context) -> Result<TriangleCounts> {
        refuse_directed(graph)?;
        let program = VertexTriangles::default();
        let (states, stats) = run_program(graph, &program, &ProgramConfig::default(), cx)?;
        let total = VertexTriangles::total(&states);
        Ok(TriangleCounts { total, per_vertex: self.per_vertex.then_some(states), stats })
    }
}

/// Fails on a directed graph, of which the vertex programs of this folder and of scan statistics read one
/// direction only.
pub(crate) fn refuse_directed(graph: &Graph) -> Result<()> {
    if !graph.directed() {
        return Ok(());
    }
    let what = "the vertex program reads the lists of undirected graphs; take another variant";
    Err(Error::parameter("variant", what))
}

impl Pulls for Triangles {
    type Program = programs::PullTriangles;

    fn program(&self) -> programs::PullTriangles {
        programs::PullTriangles
    }

    fn assemble(&self, found: PulledResult<'_, u64>) -> Result<TriangleCounts> {
        let total = found.values.iter().sum();
        Ok(TriangleCounts { total, per_vertex: None, stats: found.stats })
    }
}

/// Needs of an algorithm on oriented lists with `extra` bytes per vertex.
pub(crate) fn needs(summary: &Summary, extra: f64) -> Needs {
    let directions: &[Direction] =
        if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
    // Rank, degree, and the two counts that become the index.
    let mut needs = Needs::new(8.0 + 8.0 + extra, directions);
    let both = if summary.directed { both::state_bytes(summary.longest_list) } else { 0 };
    needs.takes_spare = true;
    needs.state_bytes_fixed = LEAST_LISTS + both;
    needs
}

/// Bytes for oriented lists and rows under the budget of `cx`.
pub(crate) fn room(needs: &Needs, graph: &Graph, cx: &Context) -> Result<u64> {
    let Some(given) = cx.memory() else { return Ok(u64::MAX) };
    let estimate = crate::estimate::Estimate::new(needs, &graph.summary(), cx.threads());
    let resident = match graph.mode() {
        EngineMode::Memory => estimate.in_memory,
        _ => estimate.minimum,
    };
    let needed = estimate.minimum;
    given.checked_sub(resident.min(given)).map(|more| more + LEAST_LISTS).ok_or(Error::Budget {
        what: "triangles".into(),
        needed,
        given,
    })
}

/// Counts over all pairs of parts that, with the rows of hubs, fit in `room` bytes.
pub(crate) fn count_all(
    graph: &Graph,
    by: &Ranking,
    census: &mut Census,
    room: u64,
    per_rank: Option<&[AtomicU64]>,
    log: &mut IterationLog,
    cx: &Context,
) -> Result<u64> {
    let n = graph.num_vertices();
    let core_bytes = CORE_BYTES.min(room / 4);
    let mut total = 0;
    let mut seen = 0;
    let pair = |top: &OrientedPart, lists: &OrientedPart| {
        let core = Core::build(lists, core_bytes);
        count::count(top, lists, &core, per_rank, n, cx)
    };
    for_each_pair(graph, by, census, room - core_bytes, Facts::Edges, cx, |top, lists, steps| {
        total += pair(top, lists)?;
        seen += 1;
        cx.progress().update("triangles", seen, steps);
        log.end("intersect", top.ranks.len() as u64);
        Ok(())
    })?;
    Ok(total)
}

/// Builds parts of oriented lists that fit in `bytes` and calls `visit(top, lists, pairs)`
/// for every two of them with `lists` not above `top`: every edge `(v, u)`, `u < v`, has
/// `v` in one `top` and `u` in one `lists` of exactly one pair.
pub(crate) fn for_each_pair(
    graph: &Graph,
    by: &Ranking,
    census: &mut Census,
    bytes: u64,
    facts: Facts,
    cx: &Context,
    mut visit: impl FnMut(&OrientedPart, &OrientedPart, u64) -> Result<()>,
) -> Result<()> {
    let whole = census.bytes(facts) <= bytes;
    // Two parts are in memory at a time unless one is enough.
    let ranges = census.ranges(if whole { u64::MAX } else { bytes / 2 }, facts);
    let pairs = ranges.len() as u64 * (ranges.len() as u64 + 1) / 2;
    for (t, range) in ranges.iter().enumerate() {
        let top = OrientedPart::build(graph, by, census, range.clone(), facts, cx)?;
        visit(&top, &top, pairs)?;
        for range in ranges.get(..t).unwrap_or(&[]) {
            let lists = OrientedPart::build(graph, by, census, range.clone(), facts, cx)?;
            visit(&top, &lists, pairs)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::sample::{cases, graphs_and_hubs_first};
    use crate::algo::oracle::triangles as oracle;
    use proptest::prelude::*;

    /// Counts with parts of at most `bytes` and rows of at most `core` bytes.
    fn in_parts(graph: &Graph, bytes: u64, core: u64, per_rank: bool, cx: &Context) -> Vec<u64> {
        let by = Ranking::new(graph, cx).unwrap();
        let mut census = Census::take(graph, &by, Facts::Edges, cx).unwrap();
        let n = graph.num_vertices();
        let mut counts = vec![0u64; n];
        let mut total = 0;
        let shared = share_u64(&mut counts);
        for_each_pair(graph, &by, &mut census, bytes, Facts::Edges, cx, |top, lists, _| {
            let core = Core::build(lists, core);
            total += count::count(top, lists, &core, per_rank.then_some(shared), n, cx)?;
            Ok(())
        })
        .unwrap();
        if per_rank {
            let counts = by.by_vertex(counts);
            assert_eq!(counts.iter().sum::<u64>(), 3 * total);
            counts
        } else {
            vec![total]
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(40)))]
        #[test]
        fn equals_the_oracle(sample in graphs_and_hubs_first(40, 300)) {
            let expected = oracle::per_vertex(&sample.adjacency());
            for (graph, cx) in sample.settings() {
                let found = Triangles { per_vertex: true, ..Triangles::default() }.run(&graph, &cx).unwrap();
                prop_assert_eq!(found.total * 3, expected.iter().sum::<u64>());
                prop_assert_eq!(found.per_vertex.as_ref(), Some(&expected));
                prop_assert_eq!(Triangles::default().run(&graph, &cx).unwrap().total, found.total);
                let program = Triangles { per_vertex: true, variant: Variant::Vertex };
                match program.run(&graph, &cx) {
                    Ok(other) => {
                        prop_assert_eq!(other.total, found.total);
                        prop_assert_eq!(other.per_vertex, found.per_vertex);
                    }
                    Err(error) => prop_assert!(graph.directed(), "{error}"),
                }
                // Ranges of about a vertex each; no rows.
                prop_assert_eq!(&in_parts(&graph, 64, 0, true, &cx), &expected);
                prop_assert_eq!(in_parts(&graph, 300, 0, false, &cx), vec![found.total]);
            }
        }
    }

    /// Larger than the 16-bit ranks, dense enough for rows and all ways to intersect:
    /// a complete core of 300 hubs, and 70,000 vertices each joined to a triangle's worth
    /// of hubs and to the next vertex.
    #[test]
    fn ranks_beyond_16_bits() {
        let (hubs, n) = (300u32, 70_000u32);
        let mut edges: Vec<(u32, u32)> =
            (0..hubs).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        for v in hubs..n {
            let first = v * 7 % hubs;
            edges.extend((0..3).map(|k| (v, (first + 50 * k) % hubs)));
            edges.push((v, if v + 1 < n { v + 1 } else { hubs }));
        }
        let graph = Graph::from_edges(n as usize, &edges, false, None).unwrap();
        let h = u64::from(hubs);
        let core = h * (h - 1) * (h - 2) / 6;
        let outer = u64::from(n - hubs);
        // Each outer vertex closes three triangles with its hubs; neighbours share no hub
        // (their first hubs differ by 7, their hubs by multiples of 50).
        let expected = core + 3 * outer;
        let cx = Context::new().with_threads(2);
        assert_eq!(Triangles::default().run(&graph, &cx).unwrap().total, expected);
        for (bytes, rows) in [(u64::MAX, 0), (u64::MAX, 1 << 20), (400_000, 1 << 20)] {
            assert_eq!(in_parts(&graph, bytes, rows, false, &cx), vec![expected]);
            let each = in_parts(&graph, bytes, rows, true, &cx);
            assert_eq!(each.iter().sum::<u64>(), 3 * expected);
        }
    }

    /// More neighbours than 16 bits count: a hub, and a path through all the others, in which
    /// every edge closes a triangle with the hub.
    #[test]
    fn a_hub_of_more_than_16_bits() {
        let n = 70_001u32;
        // The hub last, so that ranks are not internal ids, and self-loops besides.
        let hub = n - 1;
        let mut edges: Vec<(u32, u32)> = (0..hub).map(|v| (v, hub)).collect();
        edges.extend((1..hub).map(|v| (v - 1, v)));
        edges.extend([(hub, hub), (5, 5)]);
        let cx = Context::new().with_threads(2);
        for directed in [false, true] {
            let graph = Graph::from_edges(n as usize, &edges, directed, None).unwrap();
            let found =
                Triangles { per_vertex: true, ..Triangles::default() }.run(&graph, &cx).unwrap();
            assert_eq!(found.total, u64::from(n) - 2);
            let counts = found.per_vertex.unwrap();
            assert_eq!((counts[hub as usize], counts[0], counts[5]), (u64::from(n) - 2, 1, 2));
            for bytes in [300_000, u64::MAX] {
                assert_eq!(in_parts(&graph, bytes, 1 << 16, true, &cx), counts);
            }
        }
    }

    #[test]
    fn graphs_without_triangles() {
        let cx = Context::new().with_threads(2);
        let inputs: [(usize, &[(u32, u32)]); 4] =
            [(0, &[]), (1, &[]), (1, &[(0, 0)]), (3, &[(0, 0), (0, 1), (1, 0), (1, 1)])];
        for (n, edges) in inputs {
            for directed in [false, true] {
                let graph = Graph::from_edges(n, edges, directed, None).unwrap();
                let found = Triangles { per_vertex: true, ..Triangles::default() }
                    .run(&graph, &cx)
                    .unwrap();
                assert_eq!((found.total, found.per_vertex), (0, Some(vec![0; n])));
            }
        }
    }

    #[test]
    fn a_cancelled_count_stops() {
        let graph = Graph::from_edges(3, &[(0, 1), (1, 2), (2, 0)], false, None).unwrap();
        let cx = Context::new();
        cx.cancel_token().cancel();
        assert!(matches!(Triangles::default().run(&graph, &cx), Err(Error::Cancelled)));
    }
}
