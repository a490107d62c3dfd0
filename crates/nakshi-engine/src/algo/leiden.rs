//! Communities by the Leiden method.
//!
//! V. Traag, L. Waltman, N. J. van Eck, "From Louvain to Leiden: guaranteeing well-connected
//! communities", Sci. Rep. 9 (2019); the greedy refinement is that of S. Sahu, "A fast parallel
//! algorithm for Leiden community detection", arXiv 2411.02268.
//!
//! The search is [`super::communities`], which tells the state.

use super::communities::{Modules, Search};
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;

algorithm! {
    /// Connected communities of high modularity, by the Leiden method; the direction of edges is ignored.
    ///
    /// As the Louvain method, but before communities become the vertices of the next level, each is split
    /// into parts that grow along edges. No community falls apart into pieces without edges between them.
    pub struct Leiden = "leiden" {
        /// Resolution of modularity. Above 1 communities are smaller, below 1 larger.
        pub resolution: f64 = 1.0 => Parameter::NUMBER.above(0.0);
        /// Searches at most, each from the communities of the one before. A search that gains less
        /// modularity than `tolerance` is the last.
        pub iterations: u32 = 2 => Parameter::INTEGER.at_least(1.0);
        /// A level ends when a pass over its vertices gains less modularity than this.
        pub tolerance: f64 = 1e-4 => Parameter::NUMBER.at_least(0.0);
        /// Seed of the choice between communities that gain the same.
        pub seed: u64 = 0 => Parameter::INTEGER;
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    citation: "V. Traag, L. Waltman, N. J. van Eck, \"From Louvain to Leiden\", Sci. Rep. 9 (2019); \
        S. Sahu, arXiv 2411.02268";
    outside: &[Parameter::UNIT];
    columns: &[
        Output::new("community", "vertex", "the community, named by the smallest id in it"),
    ];
    summary: &[
        Output::new("communities", "uint64", "number of communities"),
        Output::new("modularity", "float64", "modularity of the communities, at this resolution"),
        Output::new("levels", "uint64", "levels that were searched, the graph itself included"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
    ];
    raises: "a negative or NaN weight, no such column, or several columns and none named.";
}

impl Leiden {
    fn search(&self) -> Search<'_> {
        let Leiden { resolution, iterations, tolerance, seed, ref weight } = *self;
        Search { resolution, tolerance, seed, weight, refines: true, rounds: iterations }
    }
}

impl Algorithm for Leiden {
    type Output = Modules;

    fn needs(&self, summary: &Summary) -> Needs {
        self.search().needs(summary)
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Modules> {
        self.check()?;
        self.search().run(graph, cx)
    }
}
