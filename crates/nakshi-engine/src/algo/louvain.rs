//! Communities by the Louvain method.
//!
//! V. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre, "Fast unfolding of communities in large
//! networks", J. Stat. Mech. (2008).
//!
//! The search is [`super::communities`], which tells the state.

use super::communities::{Modules, Search};
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;

algorithm! {
    /// Communities of high modularity, by the Louvain method; the direction of edges is ignored.
    ///
    /// Vertices move to the community of a neighbour while modularity grows, then communities become the
    /// vertices of the next level, whose edges are kept in memory.
    pub struct Louvain = "louvain" {
        /// Resolution of modularity. Above 1 communities are smaller, below 1 larger.
        pub resolution: f64 = 1.0 => Parameter::NUMBER.above(0.0);
        /// A level ends when a pass over its vertices gains less modularity than this.
        pub tolerance: f64 = 1e-4 => Parameter::NUMBER.at_least(0.0);
        /// Seed of the choice between communities that gain the same.
        pub seed: u64 = 0 => Parameter::INTEGER;
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    citation: "V. Blondel et al., \"Fast unfolding of communities in large networks\", J. Stat. Mech. (2008)";
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

impl Louvain {
    fn search(&self) -> Search<'_> {
        let Louvain { resolution, tolerance, seed, ref weight } = *self;
        Search { resolution, tolerance, seed, weight, refines: false, rounds: 1 }
    }
}

impl Algorithm for Louvain {
    type Output = Modules;

    fn needs(&self, summary: &Summary) -> Needs {
        self.search().needs(summary)
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Modules> {
        self.check()?;
        self.search().run(graph, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::leiden::Leiden;
    use crate::algo::oracle::{modularity as oracle, sample};
    use crate::error::Error;
    use proptest::prelude::*;

    /// Runs both methods and compares with the definition. Returns modularity.
    fn check(
        (graphs, directed): (&[(Graph, Context)], bool),
        arcs: &[(u32, u32, f64)],
        resolution: f64,
    ) -> [f64; 2] {
        let n = graphs[0].0.num_vertices();
        let matrix = oracle::matrix(n, arcs, directed);
        let weight = graphs[0].0.weighted().then(|| "weight".to_owned());
        let louvain = Louvain { resolution, weight: weight.clone(), ..Louvain::default() };
        let leiden = Leiden { resolution, weight, ..Leiden::default() };
        let run = |(graph, cx): &(Graph, Context)| {
            [louvain.run(graph, cx).unwrap(), leiden.run(graph, cx).unwrap()]
        };
        let first = run(&graphs[0]);
        for found in graphs.iter().map(run) {
            for (found, first) in found.iter().zip(&first) {
                assert_eq!(found.communities, first.communities);
                let expected = oracle::modularity(&matrix, &found.communities, resolution);
                assert!(
                    (found.modularity - expected).abs() < 1e-9,
                    "{} {expected}",
                    found.modularity
                );
                let mut names = found.communities.clone();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len() as u64, found.count);
                assert!(names.iter().all(|&v| found.communities[v as usize] == v));
            }
        }
        assert!(oracle::connected(&matrix, &first[1].communities), "{:?}", first[1]);
        first.map(|found| found.modularity)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn tells_the_modularity(sample in sample::graphs(40, 150), resolution in 0.2..3.0) {
            let arcs: Vec<_> = sample.arcs().iter().map(|&(u, v)| (u, v, 1.0)).collect();
            let alone: Vec<u32> = (0..sample.n as u32).collect();
            let matrix = oracle::matrix(sample.n, &arcs, sample.directed);
            let least = oracle::modularity(&matrix, &alone, resolution);
            for found in check((&sample.settings(), sample.directed), &arcs, resolution) {
                prop_assert!(found >= least - 1e-9, "{} is below {}", found, least);
            }
        }

        #[test]
        fn counts_weights(
            sample in sample::graphs(30, 100),
            seed in proptest::collection::vec(0u32..50, 100),
        ) {
            let mut edges = sample.edges.clone();
            edges.iter_mut().filter(|_| !sample.directed).for_each(|e| *e = (e.0.min(e.1), e.0.max(e.1)));
            edges.sort_unstable();
            edges.dedup();
            let weights: Vec<f64> = edges.iter().zip(&seed).map(|(_, &w)| f64::from(w) / 7.0).collect();
            let arcs: Vec<_> = edges.iter().zip(&weights).flat_map(|(&(u, v), &w)| {
                let back = (!sample.directed && u != v).then_some((v, u, w));
                std::iter::once((u, v, w)).chain(back)
            }).collect();
            let graphs: Vec<_> = sample::contexts().into_iter().map(|cx| {
                (Graph::from_edges(sample.n, &edges, sample.directed, Some(&weights)).unwrap(), cx)
            }).collect();
            check((&graphs, sample.directed), &arcs, 1.0);
        }
    }

    #[test]
    fn finds_cliques_in_a_ring() {
        let (cliques, size) = (12, 6);
        let mut edges = Vec::new();
        for clique in 0..cliques {
            let first = clique * size;
            for a in 0..size {
                edges.extend((0..a).map(|b| (first + a, first + b)));
            }
            edges.push((first, (first + size) % (cliques * size)));
        }
        let n = (cliques * size) as usize;
        let graph = Graph::from_edges(n, &edges, false, None).unwrap();
        let cx = Context::new();
        let expected: Vec<u32> = (0..n as u32).map(|v| v / size * size).collect();
        assert_eq!(Louvain::default().run(&graph, &cx).unwrap().communities, expected);
        assert_eq!(Leiden::default().run(&graph, &cx).unwrap().communities, expected);
    }

    /// Large enough for windows of vertices that decide at once.
    #[test]
    fn threads_find_the_same() {
        let sample = sample::power_law(3000, 30_000, false, 3);
        let run = |threads: usize, ssd: bool| {
            let cx = Context::new().with_threads(threads);
            let graph = if ssd { sample.graph_on_ssd() } else { sample.graph() };
            let louvain = Louvain::default().run(&graph, &cx).unwrap();
            let leiden = Leiden::default().run(&graph, &cx).unwrap();
            (louvain.communities, louvain.modularity, leiden.communities, leiden.modularity)
        };
        let one = run(1, false);
        assert!(one.1 > 0.0 && one.3 > 0.0);
        assert!(run(2, true) == one);
    }

    #[test]
    fn refuses_negative_weights_and_too_little_memory() {
        let graph = Graph::from_edges(2, &[(0, 1)], false, Some(&[-1.0])).unwrap();
        let error = Louvain::default().run(&graph, &Context::new()).unwrap_err();
        assert!(matches!(error, Error::NegativeWeight { weight: -1.0 }), "{error}");
        let graph = sample::power_law(20_000, 100_000, false, 3).graph();
        let run = |bytes| Louvain::default().run(&graph, &Context::new().with_memory(Some(bytes)));
        let Error::Budget { needed, .. } = run(32 << 20).unwrap_err() else { panic!() };
        assert!(run(needed - 64).is_err());
        let whole = Louvain::default().run(&graph, &Context::new()).unwrap();
        assert_eq!(run(needed).unwrap().communities, whole.communities);
    }
}
