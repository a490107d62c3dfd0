//! Programs that pull.

use super::graphs::skewed;
use crate::program::{Facts, ProgramNeeds, PullProgram, run_pull};
use crate::{CancelToken, Context, Direction, Error, Graph, VertexId};

/// Distances by Bellman and Ford.
struct Distance {
    source: VertexId,
    panics: bool,
}

impl PullProgram for Distance {
    type Value = f64;
    type Sum = f64;
    const WEIGHTED: bool = true;

    fn init(&self, v: VertexId, _: &Facts) -> f64 {
        if v == self.source { 0.0 } else { f64::INFINITY }
    }

    fn empty(&self) -> f64 {
        f64::INFINITY
    }

    fn pull(&self, sum: &mut f64, _: VertexId, value: &f64, weight: f64) {
        *sum = sum.min(value + weight);
    }

    fn apply(&self, v: VertexId, old: &f64, sum: f64, _: &Facts) -> f64 {
        assert!(!(self.panics && v == 50), "planted");
        old.min(sum)
    }

    fn changed(&self, old: &f64, new: &f64) -> bool {
        new < old
    }
}

/// Fixed iterations of PageRank: the value is what each out-neighbour gets.
struct Share {
    n: f64,
}

impl PullProgram for Share {
    type Value = f64;
    type Sum = f64;

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds { degrees: vec![Direction::Out], ..ProgramNeeds::lists(&[Direction::In]) }
    }

    fn init(&self, v: VertexId, facts: &Facts) -> f64 {
        1.0 / self.n / f64::from(facts.degree(v, Direction::Out).unwrap().max(1))
    }

    fn empty(&self) -> f64 {
        0.0
    }

    fn pull(&self, sum: &mut f64, _: VertexId, value: &f64, _: f64) {
        *sum += value;
    }

    fn apply(&self, v: VertexId, _: &f64, sum: f64, facts: &Facts) -> f64 {
        let degree = facts.degree(v, Direction::Out).unwrap().max(1);
        (0.15 / self.n + 0.85 * sum) / f64::from(degree)
    }

    fn changed(&self, _: &f64, _: &f64) -> bool {
        true
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
        let program = Distance { source: 1, panics: false };
        let (values, stats) = run_pull(&graph, &program, None, &cx).unwrap();
        assert_eq!(values, want);
        assert_eq!(stats.iterations.last().map(|i| i.frontier), Some(0));
        let program = Distance { source: 1, panics: true };
        assert!(matches!(run_pull(&graph, &program, None, &cx), Err(Error::Panicked { .. })));
    }
}

#[test]
fn floats_are_the_same_for_any_number_of_threads_and_mode() {
    let input = skewed(3000, 20_000, true, 51);
    let reference = std::cell::RefCell::new(None);
    input.each_threads(|graph, cx| {
        let program = Share { n: input.n as f64 };
        let (values, stats) = run_pull(graph, &program, Some(15), cx).unwrap();
        assert_eq!(stats.iterations.len(), 15);
        let bits: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
        assert!(reference.borrow_mut().get_or_insert_with(|| bits.clone()) == &bits);
    });
    let token = CancelToken::new();
    token.cancel();
    let graph = Graph::from_edges(input.n, &input.edges, true, None).unwrap();
    let cx = Context::new().with_cancel(token);
    let result = run_pull(&graph, &Share { n: 1.0 }, Some(15), &cx);
    assert!(matches!(result, Err(Error::Cancelled)));
}
