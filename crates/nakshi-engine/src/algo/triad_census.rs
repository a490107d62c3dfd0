//! The triad census: sets of three vertices by the arcs among them.
//!
//! P. Holland, S. Leinhardt, "A method for detecting structure in sociometric data", American Journal of
//! Sociology 76 (1970) name the 16 kinds. V. Batagelj, A. Mrvar, "A subquadratic triad census algorithm for
//! large sparse networks with small maximum degree", Social Networks 23 (2001) look only at triads with
//! edges, and have the others from sums.
//!
//! Here that holds for the open ones, too. The neighbours of a vertex, by the directions of their edges, give
//! the number of *paths* of two edges through it; three of them lie in every triangle. Triangles are listed
//! by [`crate::algo::triangles`], with the directions of their edges, and the paths in them taken off. The
//! triads with one edge, and with none, are what is left of all.
//!
//! State: three degrees, 12 bytes a vertex, and oriented lists with two bits more an edge.

use super::triangles::flagged::Marks;
use super::triangles::oriented::{BACK, Census, FORTH, Facts, OrientedPart, Ranking};
use super::triangles::{self, for_each_pair};
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::Outcome;
use crate::parallel::map_ranges;
use crate::stats::{IterationLog, RunStats};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Ranks per ticket.
const CHUNK: usize = 128;
/// Edges between two looks at whether the call shall stop.
const CHECK: usize = 1024;
/// Both directions of an edge.
const MUTUAL: u8 = FORTH | BACK;

algorithm! {
    /// Triad census: how many sets of three vertices have each of the 16 patterns of arcs.
    ///
    /// The name of a pattern has the pairs of vertices with arcs both ways, with one arc, and with none; a
    /// letter tells patterns with the same numbers apart: down, up, cyclic, transitive. Edges from one
    /// vertex to another are one, and self-loops never count. An undirected graph is refused.
    #[derive(Eq)]
    pub struct TriadCensus = "triad-census" {}
    method: "triad_census";
    citation: "V. Batagelj, A. Mrvar, \"A subquadratic triad census algorithm for large sparse networks with \
        small maximum degree\", Social Networks 23 (2001)";
    summary: &[
        Output::new("003", "uint64", "no arcs; a rounded float where it exceeds 64 bits"),
        Output::new("012", "uint64", "A -> B, and C"),
        Output::new("102", "uint64", "A <-> B, and C"),
        Output::new("021D", "uint64", "A <- B -> C"),
        Output::new("021U", "uint64", "A -> B <- C"),
        Output::new("021C", "uint64", "A -> B -> C"),
        Output::new("111D", "uint64", "A <-> B <- C"),
        Output::new("111U", "uint64", "A <-> B -> C"),
        Output::new("030T", "uint64", "A <- B -> C, A -> C"),
        Output::new("030C", "uint64", "A -> B -> C -> A"),
        Output::new("201", "uint64", "A <-> B <-> C"),
        Output::new("120D", "uint64", "A <- B -> C, A <-> C"),
        Output::new("120U", "uint64", "A -> B <- C, A <-> C"),
        Output::new("120C", "uint64", "A -> B -> C, A <-> C"),
        Output::new("210", "uint64", "A -> B <-> C, A <-> C"),
        Output::new("300", "uint64", "A <-> B <-> C, A <-> C"),
    ];
    raises: "an undirected graph.";
}

/// Number of triads of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    /// Triads with edges between two pairs of vertices, by the kind of path.
    open: [u128; 6],
    /// Triads with edges between all pairs.
    closed: [u128; 7],
    /// Triads with no edge, with one of one direction, with one of both.
    rest: [u128; 3],
}

/// Names of the kinds of [`Counts::open`].
const OPEN: [&str; 6] = ["021D", "021U", "021C", "111D", "111U", "201"];
/// Names of the kinds of [`Counts::closed`].
const CLOSED: [&str; 7] = ["030T", "030C", "120D", "120U", "120C", "210", "300"];
/// Names of the kinds of [`Counts::rest`].
const REST: [&str; 3] = ["003", "012", "102"];

/// Result of [`TriadCensus`].
#[derive(Debug, Clone, Default)]
pub struct Triads {
    counts: Counts,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl Triads {
    /// Names of the triads with their numbers.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u128)> + '_ {
        let Counts { open, closed, rest } = self.counts;
        REST.into_iter()
            .zip(rest)
            .chain(OPEN.into_iter().zip(open))
            .chain(CLOSED.into_iter().zip(closed))
    }
}

impl From<Triads> for Outcome {
    fn from(found: Triads) -> Self {
        let counts: Vec<_> = found.counts().collect();
        let outcome = Outcome::of(Vec::new(), found.stats);
        counts.into_iter().fold(outcome, |outcome, (name, count)| {
            let exact = u64::try_from(count).map(Value::from);
            outcome.with_summary(name, exact.unwrap_or_else(|_| (count as f64).into()))
        })
    }
}

impl Algorithm for TriadCensus {
    type Output = Triads;

    fn needs(&self, summary: &Summary) -> Needs {
        triangles::needs(summary, 12.0)
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Triads> {
        if !graph.directed() {
            let what = "a triad census of an undirected graph; import its edges as directed";
            return Err(Error::Unsupported { what: what.into() });
        }
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let by = Ranking::new(graph, cx)?;
        let mut census = Census::take(graph, &by, Facts::Arcs, cx)?;
        log.end("census", n as u64);
        let (paths, dyads) = paths(&census);
        let triangles: Vec<_> = (0..64).map(|_| AtomicU64::new(0)).collect();
        let room = triangles::room(&self.needs(&graph.summary()), graph, cx)?;
        let mut seen = 0;
        for_each_pair(graph, &by, &mut census, room, Facts::Arcs, cx, |top, lists, pairs| {
            list(top, lists, &triangles, n, cx)?;
            seen += 1;
            cx.progress().update("triads", seen, pairs);
            log.end("intersect", top.ranks.len() as u64);
            Ok(())
        })?;
        let triangles = triangles.into_iter().map(AtomicU64::into_inner);
        let counts = Counts::new(n, paths, dyads, triangles);
        Ok(Triads { counts, stats: log.finish() })
    }
}

/// Numbers of paths of two edges, by kind, and of pairs of vertices with one arc and with both.
fn paths(census: &Census) -> ([u128; 6], [u128; 2]) {
    let (mut paths, mut ends) = ([0; 6], [0; 2]);
    let choose = |count: u128| count * count.saturating_sub(1) / 2;
    let degrees = census.degree.iter().zip(&census.mutual).zip(&census.out);
    for ((&degree, &mutual), &out) in degrees {
        let [degree, both, out] = [degree, mutual, out].map(u128::from);
        // Neighbours with an arc forth only, and back only.
        let (forth, back) = (out.saturating_sub(both), degree.saturating_sub(out));
        let through =
            [choose(forth), choose(back), forth * back, both * back, both * forth, choose(both)];
        paths.iter_mut().zip(through).for_each(|(sum, more)| *sum += more);
        ends.iter_mut().zip([forth + back, both]).for_each(|(sum, more)| *sum += more);
    }
    (paths, ends.map(|ends| ends / 2))
}

/// The kind of the path between two edges, by their directions as seen from the vertex between them: a place
/// in [`OPEN`].
fn path(one: u8, other: u8) -> usize {
    match (one.min(other), one.max(other)) {
        (FORTH, FORTH) => 0,
        (BACK, BACK) => 1,
        (FORTH, BACK) => 2,
        (BACK, _) => 3,
        (FORTH, _) => 4,
        _ => 5,
    }
}

/// An edge as seen from its other end.
fn turned(arcs: u8) -> u8 {
    match arcs {
        FORTH => BACK,
        BACK => FORTH,
        other => other,
    }
}

/// The kinds of the three paths in a triangle v, u, w of which these are the edges v-u, v-w and u-w.
fn paths_inside([vu, vw, uw]: [u8; 3]) -> [usize; 3] {
    [path(vu, vw), path(turned(vu), uw), path(turned(vw), turned(uw))]
}

/// The kind of that triangle: a place in [`CLOSED`].
fn triangle(edges: [u8; 3]) -> usize {
    let mutual = edges.iter().filter(|arcs| **arcs == MUTUAL).count();
    let paths = paths_inside(edges);
    match mutual {
        // A path through each vertex is a cycle.
        0 if paths == [2, 2, 2] => 1,
        0 => 0,
        // The path that leaves out the edge with both directions tells how the third vertex is joined.
        1 => 2 + paths.into_iter().find(|path| *path < 3).unwrap_or(0),
        2 => 5,
        _ => 6,
    }
}

impl Counts {
    /// Counts from the numbers of all paths and edges, and of the triangles by the code of their edges.
    fn new(
        n: usize,
        paths: [u128; 6],
        dyads: [u128; 2],
        triangles: impl Iterator<Item = u64>,
    ) -> Counts {
        let mut counts = Counts { open: paths, ..Counts::default() };
        for (code, count) in (0..64u8).zip(triangles).filter(|(_, count)| *count > 0) {
            let edges = [code >> 4 & 3, code >> 2 & 3, code & 3];
            if let Some(sum) = counts.closed.get_mut(triangle(edges)) {
                *sum += u128::from(count);
            }
            for path in paths_inside(edges) {
                if let Some(sum) = counts.open.get_mut(path) {
                    *sum = sum.saturating_sub(count.into());
                }
            }
        }
        let n = n as u128;
        // In how many triads of each kind edges of one direction lie, and of both.
        let open = [[2, 0], [2, 0], [2, 0], [1, 1], [1, 1], [0, 2]];
        let closed = [[3, 0], [3, 0], [2, 1], [2, 1], [2, 1], [1, 2], [0, 3]];
        let all = || counts.open.iter().zip(open).chain(counts.closed.iter().zip(closed));
        let [single, mutual] = dyads.map(|dyads| dyads * n.saturating_sub(2));
        let inside =
            |at: fn([u128; 2]) -> u128| all().map(|(count, edges)| count * at(edges)).sum();
        let single: u128 = single.saturating_sub(inside(|edges| edges[0]));
        let mutual: u128 = mutual.saturating_sub(inside(|edges| edges[1]));
        let others: u128 = all().map(|(count, _)| count).sum::<u128>() + single + mutual;
        let triads = n * n.saturating_sub(1) * n.saturating_sub(2) / 6;
        counts.rest = [triads.saturating_sub(others), single, mutual];
        counts
    }
}

/// Adds to `counts`, by the code of its edges, every triangle `w < u < v` with `v` in `top` and `u` in
/// `lists`. Both parts must have the directions.
fn list(
    top: &OrientedPart,
    lists: &OrientedPart,
    counts: &[AtomicU64],
    n: usize,
    cx: &Context,
) -> Result<()> {
    let first = top.ranks.start;
    let count = |marks: &mut Marks, range: std::ops::Range<usize>| {
        let mut found = [0u64; 64];
        for at in range {
            // Ranks are 32 bits.
            vertex(top, lists, marks, first + at as u32, &mut found, cx)?;
        }
        for (sum, more) in counts.iter().zip(found).filter(|(_, more)| *more > 0) {
            sum.fetch_add(more, Relaxed);
        }
        Ok(())
    };
    map_ranges(cx, (top.ranks.len(), CHUNK), || Marks::new(n), count)?;
    Ok(())
}

fn vertex(
    top: &OrientedPart,
    lists: &OrientedPart,
    marks: &mut Marks,
    v: u32,
    found: &mut [u64; 64],
    cx: &Context,
) -> Result<()> {
    let (low, high) = top.lists(v);
    if low.len() + high.len() < 2 {
        return Ok(());
    }
    marks.set(top.arcs(v));
    for (i, (u, vu)) in top.arcs(v).enumerate() {
        if i % CHECK == CHECK - 1 {
            cx.check()?;
        }
        for (w, uw) in lists.arcs(u) {
            let vw = marks.get(w);
            let code = usize::from(vu << 4 | vw << 2 | uw);
            if vw > 0
                && let Some(count) = found.get_mut(code)
            {
                *count += 1;
            }
        }
    }
    marks.clear(top, v);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, triad_census as oracle};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_all_sets_of_three(sample in sample::graphs_and_hubs_first(25, 200)) {
            let sample = sample::Sample { directed: true, ..sample };
            let mut expected = oracle::triads(&sample.adjacency());
            expected.sort_unstable();
            sample.compare(&expected, |graph, cx| {
                let mut found: Vec<_> = TriadCensus {}.run(graph, cx).unwrap().counts().collect();
                found.sort_unstable();
                found
            })?;
        }
    }

    /// Ranks beyond 16 bits: a hub with arcs of all kinds to a ring.
    #[test]
    fn a_hub_and_a_ring() {
        let n = 70_001u32;
        let hub = n - 1;
        let mut edges = Vec::new();
        for v in 0..hub {
            edges.push((v, (v + 1) % hub));
            edges.extend(
                [(v, hub), (hub, v)]
                    .iter()
                    .skip((v % 3 == 1).into())
                    .take(2 - usize::from(v % 3 == 0)),
            );
        }
        let graph = Graph::from_edges(n as usize, &edges, true, None).unwrap();
        let found = TriadCensus {}.run(&graph, &Context::new().with_threads(2)).unwrap();
        let of = |name: &str| found.counts().find(|(known, _)| *known == name).unwrap().1;
        let closed: u128 = CLOSED.iter().map(|name| of(name)).sum();
        assert_eq!(closed, u128::from(hub));
        let all: u128 = found.counts().map(|(_, count)| count).sum();
        let n = u128::from(n);
        assert_eq!(all, n * (n - 1) * (n - 2) / 6);
    }

    #[test]
    fn counts_beyond_64_bits_are_floats() {
        let rest = [u128::from(u64::MAX) + 1, 5, 0];
        let triads = Triads { counts: Counts { rest, ..Counts::default() }, ..Triads::default() };
        let outcome = Outcome::from(triads);
        assert_eq!(outcome.summary["003"].as_f64(), Some(18_446_744_073_709_551_616.0));
        assert_eq!(outcome.summary["012"], 5);
    }

    #[test]
    fn undirected_graphs_are_refused() {
        let graph = Graph::from_edges(2, &[(0, 1)], false, None).unwrap();
        let error = TriadCensus {}.run(&graph, &Context::new()).unwrap_err().to_string();
        assert!(error.contains("import its edges as directed"), "{error}");
    }
}
