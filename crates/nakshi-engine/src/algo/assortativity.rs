//! Degrees of the two ends of edges: assortativity, reciprocity, degrees of neighbours.
//!
//! M. Newman, "Mixing patterns in networks", Phys. Rev. E 67 (2003).
//!
//! A pass over the lists adds up the degrees of the neighbours of each vertex; everything else follows
//! from the sums, which are integers. State: degrees, two sums and the mean, 36 bytes a vertex.

use super::{Algorithm, Output, algorithm};
use crate::both::{self, both_lists};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::map_blocks;
use crate::shared::{share_u64, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use std::sync::atomic::{AtomicU64, Ordering};

algorithm! {
    /// Degree assortativity, reciprocity, and the mean degree of the neighbours of each vertex.
    ///
    /// In a directed graph assortativity compares out-degrees of sources with in-degrees of targets. A
    /// self-loop of an undirected graph adds two to the degree of its vertex.
    #[derive(Eq)]
    pub struct Assortativity = "assortativity" {}
    citation: "M. Newman, \"Mixing patterns in networks\", Phys. Rev. E 67 (2003)";
    columns: &[
        Output::new("average_neighbor_degree", "float64", "mean degree of the neighbours; in a directed \
            graph out-degrees of out-neighbours; 0 without any"),
    ];
    summary: &[
        Output::new("assortativity", "float64", "correlation of the degrees at the two ends of edges; \
            missing if one side has no variance"),
        Output::new("reciprocity", "float64", "share of the edges whose reverse is an edge, too; 1 in an \
            undirected graph"),
    ];
}

/// Degrees at the ends of edges.
#[derive(Debug, Clone, Default)]
pub struct Mixing {
    /// Mean degree of the neighbours of each vertex, in internal order.
    pub neighbor_degrees: Vec<f64>,
    /// Correlation of the degrees at the two ends of edges; NaN if one side has no variance.
    pub assortativity: f64,
    /// Share of the arcs whose reverse is an arc; NaN without arcs.
    pub reciprocity: f64,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Mixing> for Outcome {
    fn from(found: Mixing) -> Self {
        let number = serde_json::Number::from_f64;
        let column = Column::new("average_neighbor_degree", Values::F64(found.neighbor_degrees));
        Outcome::of(vec![column], found.stats)
            .with_summary("assortativity", number(found.assortativity))
            .with_summary("reciprocity", number(found.reciprocity))
    }
}

/// Sums over the arcs, x the degree of the source and y that of the target.
#[derive(Default, Clone, Copy)]
struct Sums {
    arcs: u128,
    x: u128,
    y: u128,
    xx: u128,
    yy: u128,
    xy: u128,
}

impl Sums {
    fn plus(self, other: Sums) -> Sums {
        Sums {
            arcs: self.arcs + other.arcs,
            x: self.x + other.x,
            y: self.y + other.y,
            xx: self.xx + other.xx,
            yy: self.yy + other.yy,
            xy: self.xy + other.xy,
        }
    }

    /// Pearson's correlation.
    fn correlation(self) -> f64 {
        let covariance = difference((self.arcs, self.xy), (self.x, self.y));
        let x = difference((self.arcs, self.xx), (self.x, self.x));
        let y = difference((self.arcs, self.yy), (self.y, self.y));
        if x > 0.0 && y > 0.0 { covariance / (x.sqrt() * y.sqrt()) } else { f64::NAN }
    }
}

/// The difference of two products, exact up to its rounding where they fit 128 bits.
fn difference(one: (u128, u128), other: (u128, u128)) -> f64 {
    match (one.0.checked_mul(one.1), other.0.checked_mul(other.1)) {
        (Some(one), Some(other)) if one >= other => (one - other) as f64,
        (Some(one), Some(other)) => -((other - one) as f64),
        _ => one.0 as f64 * one.1 as f64 - other.0 as f64 * other.1 as f64,
    }
}

impl Algorithm for Assortativity {
    type Output = Mixing;

    fn needs(&self, summary: &Summary) -> Needs {
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        let mut needs = Needs::new(36.25, directions);
        needs.state_bytes_fixed = 8 * summary.longest_list
            + if summary.directed { both::state_bytes(summary.longest_list) } else { 0 };
        needs
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Mixing> {
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let mut out = graph.degrees(Direction::Out, cx)?;
        let loops = if graph.directed() { None } else { Some(loops(graph, cx)?) };
        let length = out.clone();
        if let Some(loops) = &loops {
            for (v, degree) in out.iter_mut().enumerate() {
                *degree = degree.saturating_add(u32::from(loops.get(v)));
            }
        }
        let incoming =
            if graph.directed() { graph.degrees(Direction::In, cx)? } else { Vec::new() };
        let targets = if graph.directed() { &incoming } else { &out };
        log.end("degrees", n as u64);
        let mut sums = [
            zeroed::<u64>(n, "degrees of neighbours")?,
            zeroed::<u64>(n, "degrees of neighbours")?,
        ];
        let reciprocal = add_up(graph, (&out, targets), &mut sums, cx)?;
        log.end("neighbours", n as u64);
        let [of_sources, of_targets] = sums;
        let number = |all: &[u32], v: usize| u128::from(all.get(v).copied().unwrap_or(0));
        let sum = |v: usize| u128::from(of_targets.get(v).copied().unwrap_or(0));
        let blocks = map_blocks(cx, n, |range| {
            Ok(range.fold(Sums::default(), |all, v| {
                let (arcs, x, y) = (number(&length, v), number(&out, v), number(targets, v));
                let ends = if graph.directed() { y } else { arcs };
                all.plus(Sums {
                    arcs,
                    x: arcs * x,
                    y: ends * y,
                    xx: arcs * x * x,
                    yy: ends * y * y,
                    xy: x * sum(v),
                })
            }))
        })?;
        let all = blocks.into_iter().fold(Sums::default(), Sums::plus);
        let mean = |(&sum, &degree): (&u64, &u32)| {
            if degree == 0 { 0.0 } else { sum as f64 / f64::from(degree) }
        };
        let reciprocity = if graph.directed() { reciprocal as f64 / all.arcs as f64 } else { 1.0 };
        Ok(Mixing {
            neighbor_degrees: of_sources.iter().zip(&out).map(mean).collect(),
            assortativity: all.correlation(),
            reciprocity,
            stats: log.finish(),
        })
    }
}

/// The vertices of an undirected graph that have a self-loop.
fn loops(graph: &Graph, cx: &Context) -> Result<AtomicBitmap> {
    let found = AtomicBitmap::new(graph.num_vertices());
    graph.scan(
        Direction::Out,
        cx,
        |_| (),
        |(), v, list| {
            let mut own = false;
            list.for_each(|u| own |= u == v)?;
            if own {
                found.set(v as usize);
            }
            Ok(())
        },
    )?;
    Ok(found)
}

/// Adds up, for each vertex, both kinds of degrees over its out-neighbours. Returns the number of arcs
/// that have a reverse.
fn add_up(
    graph: &Graph,
    degrees: (&[u32], &[u32]),
    sums: &mut [Vec<u64>; 2],
    cx: &Context,
) -> Result<u64> {
    let [of_sources, of_targets] = sums;
    let (of_sources, of_targets) = (share_u64(of_sources), share_u64(of_targets));
    let reciprocal = AtomicU64::new(0);
    let all = VertexSet::full(graph.num_vertices());
    both_lists(
        graph,
        &all,
        cx,
        |_| (),
        |(), v, out, incoming| {
            let sum = |degrees: &[u32]| -> u64 {
                out.iter().map(|&u| u64::from(degrees.get(u as usize).copied().unwrap_or(0))).sum()
            };
            let slots = (of_sources.get(v as usize), of_targets.get(v as usize));
            if let (Some(source), Some(target)) = slots {
                source.store(sum(degrees.0), Ordering::Relaxed);
                target.store(sum(degrees.1), Ordering::Relaxed);
            }
            reciprocal.fetch_add(common(out, incoming, v), Ordering::Relaxed);
            Ok(())
        },
    )?;
    Ok(reciprocal.into_inner())
}

/// Number of vertices but `v` in both of two ascending lists.
fn common(one: &[VertexId], other: &[VertexId], v: VertexId) -> u64 {
    let (mut rest, mut count) = (other, 0);
    for &u in one {
        let skip = rest.iter().take_while(|&&w| w < u).count();
        rest = rest.get(skip..).unwrap_or_default();
        count += u64::from(rest.first() == Some(&u) && u != v);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{mixing as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_the_oracle(sample in sample::graphs(40, 200)) {
            let arcs = sample.arcs();
            let (expected, reciprocity) = oracle::mixing(sample.n, &arcs, sample.directed);
            let means = oracle::neighbor_degrees(sample.n, &arcs, sample.directed);
            for (graph, cx) in sample.settings() {
                let found = Assortativity {}.run(&graph, &cx).unwrap();
                let same = |a: f64, b: f64| a.is_nan() && b.is_nan() || (a - b).abs() < 1e-9;
                prop_assert!(same(found.assortativity, expected), "{} {}", found.assortativity, expected);
                if sample.directed {
                    prop_assert!(same(found.reciprocity, reciprocity));
                }
                for (a, b) in found.neighbor_degrees.iter().zip(&means) {
                    prop_assert!(same(*a, *b), "{} {}", a, b);
                }
            }
        }
    }
}
