//! Programs that pull, against the built-in algorithms and by definition.

use super::graphs::{Edges, skewed};
use crate::algo::cdlp::Cdlp;
use crate::algo::pagerank::PageRank as BuiltIn;
use crate::algo::wcc::Wcc;
use crate::algo::{Algorithm, triangles};
use crate::program::pull::programs::{
    PullColoring, PullCommunities, PullComponents, PullLevels, PullMatching, PullPageRank,
    PullShortestPaths, PullTriangles, UNMATCHED, UNREACHED,
};
use crate::program::pull::{Origin, PullProgram, PullVertex, Totals, run_pull};
use crate::{CancelToken, Context, Error, Graph, Result, VertexId};

/// Shortest paths that panic at a vertex.
struct Panics;

impl PullProgram for Panics {
    types!(Value = u32, Output = u32);

    fn init(&self, _: &Origin, _: &mut Totals) -> u32 {
        0
    }

    fn step<V: PullVertex<u32>>(&self, me: &mut V) -> Result<()> {
        assert!(me.origin().vertex != 50, "planted");
        Ok(())
    }

    fn output(&self, _: &Origin, value: &u32) -> u32 {
        *value
    }
}

#[test]
fn shortest_paths_by_pulling() {
    let input = skewed(800, 4000, true, 50);
    let weights: Vec<f64> = (0..input.edges.len()).map(|i| (i % 17 + 1) as f64).collect();
    let graph = Graph::from_edges(input.n, &input.edges, true, Some(&weights)).unwrap();
    let mut want = vec![f64::INFINITY; input.n];
    want[1] = 0.0;
    while {
        let before = want.clone();
        for (&(u, v), w) in input.edges.iter().zip(&weights) {
            want[v as usize] = want[v as usize].min(want[u as usize] + w);
        }
        before != want
    } {}
    for threads in [1, 2, 4] {
        let cx = Context::new().with_threads(threads);
        let found = run_pull(&graph, &PullShortestPaths { source: 1 }, None, &cx).unwrap();
        assert_eq!(found.values, want);
        assert_eq!(found.stats.iterations.last().map(|i| i.frontier), Some(0));
        assert!(matches!(run_pull(&graph, &Panics, None, &cx), Err(Error::Panicked { .. })));
    }
}

#[test]
fn the_same_as_the_built_in_algorithms() {
    for directed in [true, false] {
        let input = skewed(1500, 9000, directed, 51);
        input.each_threads(|graph, cx| {
            let ranks = run_pull(
                graph,
                &PullPageRank { damping: 0.85, iterations: 15, tolerance: 0.0 },
                None,
                cx,
            )
            .unwrap();
            let built_in = BuiltIn { iterations: 15, tolerance: 0.0, ..BuiltIn::default() };
            let want = built_in.run(graph, cx).unwrap().ranks;
            assert!(ranks.values.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12));
            assert_eq!(ranks.steps, 15);

            let found = run_pull(graph, &PullComponents, None, cx).unwrap().values;
            assert_eq!(found, Wcc::default().run(graph, cx).unwrap().components);
            let found =
                run_pull(graph, &PullCommunities { iterations: 10 }, None, cx).unwrap().values;
            assert_eq!(found, Cdlp::default().run(graph, cx).unwrap().labels);
            let count: u64 = run_pull(graph, &PullTriangles, None, cx).unwrap().values.iter().sum();
            assert_eq!(count, triangles::Triangles::default().run(graph, cx).unwrap().total);
        });
    }
}

#[test]
fn levels_are_those_of_a_search() {
    let input = skewed(1500, 3000, true, 52);
    let want = input.levels(1, UNREACHED);
    input.each_threads(|graph, cx| {
        assert_eq!(run_pull(graph, &PullLevels { source: 1 }, None, cx).unwrap().values, want);
    });
}

/// Neighbours in either direction, without oneself.
fn neighbours(input: &Edges) -> Vec<Vec<VertexId>> {
    let mut all = Edges { n: input.n, edges: input.edges.clone(), directed: false }.adjacency();
    (0..).zip(&mut all).for_each(|(v, list)| list.retain(|u| *u != v));
    all
}

#[test]
fn colours_differ_and_matchings_are_maximal() {
    for directed in [true, false] {
        let input = skewed(1200, 6000, directed, 53);
        let lists = neighbours(&input);
        let reference = std::cell::RefCell::new(None);
        input.each_threads(|graph, cx| {
            let colors = run_pull(graph, &PullColoring, None, cx).unwrap().values;
            let mates = run_pull(graph, &PullMatching, None, cx).unwrap().values;
            for (v, list) in (0u32..).zip(&lists) {
                let at = v as usize;
                assert!(list.iter().all(|&u| colors[u as usize] != colors[at]));
                assert!(colors[at] as usize <= list.len());
                match mates[at] {
                    UNMATCHED => assert!(list.iter().all(|&u| mates[u as usize] != UNMATCHED)),
                    mate => {
                        assert!(list.contains(&mate));
                        assert_eq!(mates[mate as usize], v);
                    }
                }
            }
            let found = (colors, mates);
            assert!(reference.borrow_mut().get_or_insert_with(|| found.clone()) == &found);
        });
    }
}

#[test]
fn floats_are_the_same_for_any_number_of_threads_and_mode() {
    let input = skewed(3000, 20_000, true, 51);
    let reference = std::cell::RefCell::new(None);
    input.each_threads(|graph, cx| {
        let program = PullPageRank { damping: 0.85, iterations: 15, tolerance: 0.0 };
        let found = run_pull(graph, &program, None, cx).unwrap();
        let bits: Vec<u64> = found.values.iter().map(|v| v.to_bits()).collect();
        assert!(reference.borrow_mut().get_or_insert_with(|| bits.clone()) == &bits);
    });
    let token = CancelToken::new();
    token.cancel();
    let graph = Graph::from_edges(input.n, &input.edges, true, None).unwrap();
    let cx = Context::new().with_cancel(token);
    let program = PullPageRank { damping: 0.85, iterations: 15, tolerance: 0.0 };
    assert!(matches!(run_pull(&graph, &program, None, &cx), Err(Error::Cancelled)));
}
