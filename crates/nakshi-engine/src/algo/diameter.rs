//! A lower bound of the diameter by sweeps.
//!
//! Double sweep: C. Magnien, M. Latapy, M. Habib, "Fast computation of empirically tight
//! bounds for the diameter of massive graphs", J. Exp. Algorithmics 13 (2009). A search
//! from any vertex ends at one that lies far out; a search from there finds a path that is
//! nearly as long as any, on a tree exactly. Sweeps go on from the far end of the last one
//! while they find longer paths.
//!
//! The exact diameter and the radius come from the bounds of [`super::eccentricity`]: F. Takes, W. Kosters,
//! "Determining the diameter of small world networks", CIKM 2011.
//!
//! State: three bits per vertex; 4 bytes per vertex while the users' ids settle ties; 28 bytes
//! per vertex for the exact diameter.

use super::eccentricity::{
    self,
    bounds::{Bounds, Goal},
};
use super::reach::step;
use super::{Algorithm, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::Outcome;
use crate::stats::{IterationLog, RunStats};
use crate::thin::{self, Taken, Thin};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};

algorithm! {
    /// Lower bound of the diameter by repeated sweeps, or the diameter and the radius.
    #[derive(Eq)]
    pub struct Diameter = "diameter" {
        /// Breadth-first searches at most, each from the farthest vertex of the one before. There are fewer
        /// when one finds nothing longer.
        pub sweeps: u32 = 10 => Parameter::INTEGER;
        /// Vertex to start from. By default that is the vertex with most neighbours, the one with the
        /// smallest id among several.
        pub source: Option<VertexId> = None => Parameter::VERTEX;
        /// Follow edges both ways. Otherwise sweeps alternate between out- and in-edges, and the bound is
        /// for directed paths.
        pub ignore_direction: bool = true => Parameter::FLAG.off_by("directed");
        /// Find the diameter itself, by as many searches as it takes, and the radius. `sweeps` and `source`
        /// have no part in it. Along directed edges the graph must be strongly connected.
        pub exact: bool = false => Parameter::FLAG;
    }
    citation: "C. Magnien, M. Latapy, M. Habib, \"Fast computation of empirically tight bounds for the \
        diameter of massive graphs\", J. Exp. Algorithmics 13 (2009)";
    summary: &[
        Output::new("diameter", "uint64", "edges of the longest shortest path that was found"),
        Output::new("radius", "uint64", "the smallest eccentricity in the largest component; if there are \
            several as large, in any of them").when("exact"),
        Output::new("sweeps", "uint64", "sweeps that were run"),
        Output::new("from", "vertex", "the beginning of that path"),
        Output::new("to", "vertex", "the end of that path"),
    ];
}

/// Result of [`Diameter`].
#[derive(Debug, Clone, Default)]
pub struct DiameterBound {
    /// Hops of the longest shortest path that was found: the diameter is at least this.
    pub diameter: u32,
    /// The smallest eccentricity in the largest component, if the diameter is exact.
    pub radius: Option<u32>,
    /// The ends of that path; `None` without vertices.
    pub ends: Option<(VertexId, VertexId)>,
    /// Sweeps that were run.
    pub sweeps: u32,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<DiameterBound> for Outcome {
    fn from(found: DiameterBound) -> Self {
        let ends = found.ends.map(|(a, b)| [("from".to_owned(), a), ("to".to_owned(), b)]);
        let summary_vertices = ends.into_iter().flatten().collect();
        let outcome = Outcome { summary_vertices, stats: found.stats, ..Outcome::default() }
            .with_summary("diameter", found.diameter)
            .with_summary("sweeps", found.sweeps);
        match found.radius {
            Some(radius) => outcome.with_summary("radius", radius),
            None => outcome,
        }
    }
}

impl Algorithm for Diameter {
    type Output = DiameterBound;

    fn needs(&self, summary: &Summary) -> Needs {
        if self.exact {
            return eccentricity::needs(summary);
        }
        let needs = Needs::new(0.75 + 8.0, &[Direction::Out, Direction::In]);
        Needs { repeats: true, gathers: true, state_bytes_fixed: thin::STATE_BYTES, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<DiameterBound> {
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        if let Some(source) = self.source
            && source as usize >= n
        {
            return Err(Error::UnknownVertex { id: source.to_string() });
        }
        if self.exact {
            return self.extremes(graph, cx);
        }
        // Before the ranks, so that degrees and ranks are not there at once.
        let starts = match self.source {
            Some(source) => only(source, n),
            None => hubs(graph, cx)?,
        };
        let ranks = graph.id_ranks(cx)?;
        let rank =
            |v: VertexId| ranks.as_ref().map_or(Some(v), |ranks| ranks.get(v as usize).copied());
        let mut found = DiameterBound::default();
        let first = starts.iter().min_by_key(|&v| rank(v));
        drop(starts);
        let Some(mut source) = first else { return Ok(found) };
        found.ends = Some((source, source));
        let both = self.ignore_direction || !graph.directed();
        let mut direction = Direction::Out;
        while found.sweeps < self.sweeps.max(1) {
            let (depth, last) = sweep(graph, source, direction, both, &mut log, cx)?;
            found.sweeps += 1;
            cx.progress().update("sweeps", found.sweeps.into(), self.sweeps.into());
            // The first sweep only finds where to start; it still bounds the diameter.
            let longer = depth > found.diameter || found.sweeps == 1;
            let far = last.iter().min_by_key(|&v| rank(v)).unwrap_or(source);
            if depth > found.diameter {
                found.diameter = depth;
                let path = (source, far);
                found.ends = Some(if direction == Direction::In { (far, source) } else { path });
            }
            if !longer {
                break;
            }
            source = far;
            if !both {
                direction =
                    if direction == Direction::Out { Direction::In } else { Direction::Out };
            }
        }
        found.stats = log.finish();
        Ok(found)
    }
}

impl Diameter {
    fn extremes(&self, graph: &Graph, cx: &Context) -> Result<DiameterBound> {
        let both = self.ignore_direction || !graph.directed();
        let all = VertexSet::full(graph.num_vertices());
        let (mut bounds, mut stats) = Bounds::new(graph, all, both, cx)?;
        let mut log = IterationLog::new(graph);
        let largest = bounds.largest();
        bounds.tighten(Goal::Extremes(&largest), &mut log)?;
        stats.append(log.finish());
        let (diameter, ends, sweeps) = (bounds.longest, bounds.ends, bounds.searches);
        let radius = Some(bounds.least(&largest));
        Ok(DiameterBound { diameter, radius, ends, sweeps, stats })
    }
}

fn only(vertex: VertexId, n: usize) -> VertexSet {
    let mut set = VertexSet::new(n);
    set.insert(vertex);
    set
}

/// The vertices with the most list entries.
fn hubs(graph: &Graph, cx: &Context) -> Result<VertexSet> {
    let mut degrees = graph.degrees(Direction::Out, cx)?;
    if graph.directed() {
        let incoming = graph.degrees(Direction::In, cx)?;
        degrees.iter_mut().zip(incoming).for_each(|(d, more)| *d = d.saturating_add(more));
    }
    let most = degrees.iter().max().copied();
    let mut hubs = VertexSet::new(degrees.len());
    // Internal ids are 32 bits.
    (0..).zip(&degrees).filter(|(_, d)| Some(**d) == most).for_each(|(v, _)| {
        hubs.insert(v);
    });
    Ok(hubs)
}

/// Breadth-first search that keeps nothing but the depth and the last level.
fn sweep(
    graph: &Graph,
    source: VertexId,
    direction: Direction,
    both: bool,
    log: &mut IterationLog,
    cx: &Context,
) -> Result<(u32, VertexSet)> {
    let n = graph.num_vertices();
    let mut visited = Bitmap::new(n);
    visited.set(source as usize);
    let mut left = n.saturating_sub(1);
    let mut frontier = only(source, n);
    let against = if direction == Direction::Out { Direction::In } else { Direction::Out };
    let (along, back): (&[Direction], &[Direction]) = if both {
        (graph.all_lists(), graph.all_lists())
    } else {
        (std::slice::from_ref(&direction), std::slice::from_ref(&against))
    };
    let mut depth = 0;
    let mut thin = Thin::new(graph, along, cx);
    loop {
        if let Some(members) = thin.members(&frontier)? {
            let taken = thin_levels(&mut thin, along, members, &mut visited)?;
            log.end_steps("sweep", taken.steps, taken.members);
            // Lossless: there are at most as many levels as vertices.
            depth += taken.steps as u32;
            if taken.frontier.is_empty() {
                return Ok((depth - 1, VertexSet::of(n, &taken.before)));
            }
            left = n - visited.count();
            frontier = VertexSet::of(n, &taken.frontier);
        }
        let next = step(graph, (along, back), &frontier, &visited, left, cx)?;
        log.end("sweep", frontier.count() as u64);
        if next.is_empty() {
            return Ok((depth, frontier));
        }
        depth += 1;
        left -= next.count();
        visited.unite(next.bits());
        frontier = next;
    }
}

/// Levels of a sweep from a thin frontier on.
fn thin_levels(
    thin: &mut Thin<'_>,
    along: &[Direction],
    members: Vec<VertexId>,
    visited: &mut Bitmap,
) -> Result<Taken> {
    thin.steps(members, |thin, members, next| {
        for &direction in along {
            thin.visit(direction, members, |_, list| {
                Ok(list.for_each(|u| {
                    if !visited.get(u as usize) {
                        visited.set(u as usize);
                        next.push(u);
                    }
                })?)
            })?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::apsp as oracle;
    use crate::algo::oracle::sample::{cases, graphs};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(40)))]
        #[test]
        fn is_a_path_of_the_graph(sample in graphs(40, 80), ignore_direction: bool, source: u32) {
            let mut lists = sample.adjacency();
            if ignore_direction {
                for &(u, v) in &sample.edges {
                    lists[v as usize].push(u);
                }
            }
            let distance = oracle::all_pairs(&lists);
            let source = source % sample.n as u32;
            for (graph, cx) in sample.settings() {
                let config = Diameter { source: Some(source), ignore_direction, ..Diameter::default() };
                let found = config.run(&graph, &cx).unwrap();
                let (a, b) = found.ends.unwrap();
                prop_assert_eq!(distance[a as usize][b as usize], Some(found.diameter));
                let from_source =
                    distance[source as usize].iter().flatten().copied().max().unwrap();
                prop_assert!(found.diameter >= from_source);
                prop_assert!(found.diameter <= oracle::diameter(&distance));
            }
        }

        #[test]
        fn exact_is_the_largest_eccentricity(sample in graphs(40, 80)) {
            let distance = oracle::all_pairs(&sample.undirected());
            let far: Vec<u32> =
                distance.iter().map(|row| row.iter().flatten().max().copied().unwrap()).collect();
            let sizes: Vec<usize> =
                distance.iter().map(|row| row.iter().flatten().count()).collect();
            let most = sizes.iter().max().unwrap();
            let radius = far.iter().zip(&sizes).filter(|(_, size)| *size == most).map(|(far, _)| *far);
            let expected = (oracle::diameter(&distance), radius.min());
            sample.compare(&expected, |graph, cx| {
                let found = Diameter { exact: true, ..Diameter::default() }.run(graph, cx).unwrap();
                let (a, b) = found.ends.unwrap();
                assert_eq!(distance[a as usize][b as usize], Some(found.diameter));
                (found.diameter, found.radius)
            })?;
        }

        /// Two sweeps find the diameter of a tree.
        #[test]
        fn is_exact_on_trees(parents in proptest::collection::vec(any::<u32>(), 0..60)) {
            let n = parents.len() + 1;
            let edges: Vec<(u32, u32)> =
                parents.iter().enumerate().map(|(i, p)| (i as u32 + 1, p % (i as u32 + 1))).collect();
            let graph = Graph::from_edges(n, &edges, false, None).unwrap();
            let mut lists = vec![Vec::new(); n];
            for &(u, v) in &edges {
                lists[u as usize].push(v);
                lists[v as usize].push(u);
            }
            let expected = oracle::diameter(&oracle::all_pairs(&lists));
            let config = Diameter { sweeps: 2, ..Diameter::default() };
            prop_assert_eq!(config.run(&graph, &Context::new()).unwrap().diameter, expected);
        }
    }
}
