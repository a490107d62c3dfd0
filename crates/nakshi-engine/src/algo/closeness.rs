//! Closeness centrality.
//!
//! L. Freeman, "Centrality in social networks: conceptual clarification", Social Networks 1 (1979), with
//! the formula of S. Wasserman, K. Faust for graphs in parts; computed by HyperBall, arXiv 1308.2144.
//!
//! The distances come from [`super::hyperball`], which tells the state.

use super::harmonic::DistanceScores;
use super::hyperball::{HyperBall, LOG2M};
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;

algorithm! {
    /// Closeness centrality: 1 over the mean distance from the vertices that have a path.
    ///
    /// Distances are counted in edges, along their direction. Graphs of more than 4,096 vertices are
    /// estimated by HyperBall.
    #[derive(Eq)]
    pub struct Closeness = "closeness" {
        /// Multiply by the share of the other vertices that have a path (Wasserman and Faust).
        pub improved: bool = true => Parameter::FLAG.off_by("no-improved");
        /// Binary logarithm of the registers of a counter. Each takes two bytes a vertex; four times as
        /// many halve the error.
        pub log2m: u32 = 8 => LOG2M;
        /// Search from every vertex instead. It is expensive.
        pub exact: bool = false => Parameter::FLAG;
        /// Seed of the counters.
        pub seed: u64 = 0 => Parameter::INTEGER;
    }
    citation: "P. Boldi, S. Vigna, \"In-core computation of geometric centralities with HyperBall\", \
        arXiv 1308.2144";
    columns: &[Output::new("closeness", "float64", "the score; 0 without a path from another vertex")];
    summary: &[
        Output::new("effective_diameter", "float64", "distance within which 90 % of the pairs with a \
            path lie, interpolated"),
        Output::new("neighborhood_function", "list", "pairs of vertices within each distance, from 0 on"),
        Output::new("method", "text", "\"exact\" or \"hyperball\""),
    ];
}

impl Closeness {
    fn balls(&self) -> HyperBall {
        let Closeness { log2m, exact, seed, .. } = *self;
        HyperBall { log2m, seed, exact, value: |distance| distance }
    }
}

impl Algorithm for Closeness {
    type Output = DistanceScores;

    fn needs(&self, summary: &Summary) -> Needs {
        self.balls().needs(summary)
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<DistanceScores> {
        self.check()?;
        let mut balls = self.balls().run(graph, cx)?;
        let others = (graph.num_vertices() as f64 - 1.0).max(1.0);
        let mut scores = std::mem::take(&mut balls.sums);
        for (score, reach) in scores.iter_mut().zip(&balls.reach) {
            let reached = reach - 1.0;
            let share = if self.improved { reached / others } else { 1.0 };
            *score = if *score > 0.0 { reached / *score * share } else { 0.0 };
        }
        Ok(DistanceScores::new("closeness", scores, balls))
    }
}
