//! Local clustering coefficients as LDBC Graphalytics defines them (specification 1.0,
//! section 2.3.5): of all ordered pairs of neighbours of a vertex, the share that is
//! joined by an arc. Neighbours are joined to the vertex by an arc in any direction; in
//! an undirected graph each edge is two arcs. Self-loops and duplicates never count; a
//! vertex with fewer than two neighbours has 0.
//!
//! State: 8 bytes per vertex for arcs among neighbours, which the coefficients replace,
//! 4 to 8 for degrees, and the oriented lists of [`crate::algo::triangles`].

use super::triangles::oriented::{Census, Facts, Ranking};
use super::triangles::{self, flagged};
use crate::algo::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::shared::share_u64;
use crate::stats::{IterationLog, RunStats};

algorithm! {
    /// Local clustering coefficient (LDBC Graphalytics); self-loops never count.
    pub struct Lcc = "lcc" {}
    citation: "LDBC Graphalytics specification 1.0, section 2.3.5";
    columns: &[
        Output::new("lcc", "float64", "edges between neighbours, over the pairs of neighbours"),
    ];
    summary: &[Output::new("mean", "float64", "mean over all vertices")];
}

/// Result of [`Lcc`].
#[derive(Debug, Clone, Default)]
pub struct Clustering {
    /// Coefficient of each vertex, 0 to 1, in internal order.
    pub coefficients: Vec<f64>,
    /// Mean of the coefficients; 0 without vertices.
    pub mean: f64,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Clustering> for Outcome {
    fn from(found: Clustering) -> Self {
        Outcome::of(vec![Column::new("lcc", Values::F64(found.coefficients))], found.stats)
            .with_summary("mean", found.mean)
    }
}

impl Algorithm for Lcc {
    type Output = Clustering;

    fn needs(&self, summary: &Summary) -> Needs {
        triangles::needs(summary, if summary.directed { 24.0 } else { 20.0 })
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Clustering> {
        let mut log = IterationLog::new(graph);
        let by = Ranking::new(graph, cx)?;
        let (census, arcs) =
            neighbourhood_arcs(graph, &by, &self.needs(&graph.summary()), &mut log, cx)?;
        let share = |(&degree, arcs): (&u32, u64)| {
            let degree = f64::from(degree);
            if degree < 2.0 { 0.0 } else { arcs as f64 / (degree * (degree - 1.0)) }
        };
        let by_rank: Vec<f64> = census.degree.iter().zip(arcs).map(share).collect();
        let coefficients = by.by_vertex(by_rank);
        let n = coefficients.len();
        let sum = crate::parallel::det_sum(cx, n, |v| coefficients.get(v).copied().unwrap_or(0.0))?;
        let mean = if n == 0 { 0.0 } else { sum / n as f64 };
        Ok(Clustering { coefficients, mean, stats: log.finish() })
    }
}

/// By rank, the arcs among the neighbours of each vertex (two per undirected edge); and
/// the census with the degrees.
pub(crate) fn neighbourhood_arcs(
    graph: &Graph,
    by: &Ranking,
    needs: &Needs,
    log: &mut IterationLog,
    cx: &Context,
) -> Result<(Census, Vec<u64>)> {
    let n = graph.num_vertices();
    let mut census = Census::take(graph, by, Facts::Mutual, cx)?;
    log.end("census", n as u64);
    let mut arcs = vec![0u64; n];
    let shared = share_u64(&mut arcs);
    let room = triangles::room(needs, graph, cx)?;
    if graph.directed() {
        let mut seen = 0;
        triangles::for_each_pair(
            graph,
            by,
            &mut census,
            room,
            Facts::Mutual,
            cx,
            |top, lists, pairs| {
                flagged::count(top, lists, shared, n, cx)?;
                seen += 1;
                cx.progress().update("neighbourhoods", seen, pairs);
                log.end("intersect", top.ranks.len() as u64);
                Ok(())
            },
        )?;
    } else {
        triangles::count_all(graph, by, &mut census, room, Some(shared), log, cx)?;
        arcs.iter_mut().for_each(|a| *a *= 2);
    }
    Ok((census, arcs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::sample::{cases, graphs_and_hubs_first};
    use crate::algo::oracle::triangles as oracle;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(40)))]
        #[test]
        fn equals_the_oracle(sample in graphs_and_hubs_first(40, 400)) {
            let expected = oracle::clustering(&sample.adjacency());
            sample.compare(&expected, |graph, cx| Lcc {}.run(graph, cx).unwrap().coefficients)?;
        }
    }
}
