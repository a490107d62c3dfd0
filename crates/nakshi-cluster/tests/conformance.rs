//! One program, three engines: lists in memory, lists on the SSD, several servers.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions

use nakshi_cluster::exchange::simulated::Faults;
use nakshi_cluster::{Error, local};
use nakshi_engine::program::pull::programs::{
    PullColoring, PullCommunities, PullComponents, PullLevels, PullMatching, PullPageRank,
    PullShortestPaths, PullTriangles,
};
use nakshi_engine::program::pull::{Origin, PullProgram, PullVertex, Totals, run_pull};
use nakshi_engine::{Context, Graph};
use proptest::prelude::*;

/// A graph in which a few vertices have most edges, with self-loops, duplicates and isolated vertices.
fn skewed(n: u32, edges: usize, directed: bool, mut seed: u64) -> Graph {
    let mut draw = |limit: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % u64::from(limit.max(1))) as u32
    };
    let limit = n * 9 / 10 + 1;
    let mut end =
        || (u64::from(draw(limit)) * u64::from(draw(limit)) / u64::from(limit)) as u32 % n;
    let edges: Vec<_> = (0..edges).map(|_| (end(), end())).collect();
    let weights: Vec<f64> = (0..edges.len()).map(|i| (i % 17 + 1) as f64).collect();
    Graph::from_edges(n as usize, &edges, directed, Some(&weights)).unwrap()
}

/// The same values, to the bit, as on one machine.
fn same<P: PullProgram>(graph: &Graph, program: &P, servers: usize) {
    same_within(graph, program, servers, None);
}

/// As `run`, with a memory budget for each server.
fn same_within<P: PullProgram>(graph: &Graph, program: &P, servers: usize, memory: Option<u64>) {
    let cx = Context::new().with_threads(2);
    let alone = run_pull(graph, program, None, &cx).unwrap();
    // On the SSD each thread takes some of it.
    let cx = cx.with_memory(memory).with_threads(if memory.is_some() { 1 } else { 2 });
    let found = local::run(graph, program, servers, None, &cx).unwrap();
    let text = |values: &[P::Output]| format!("{values:?}");
    assert_eq!(text(&found.values), text(&alone.values), "{servers} servers");
    for steps in &found.steps {
        assert_eq!(steps.last().map(|step| step.step), Some(alone.steps));
    }
}

/// In how many steps a vertex has heard that a neighbour was given a value that is no multiple of three: by
/// updated links, of which each vertex has others in every step.
struct Rumours;

impl PullProgram for Rumours {
    type Value = u32;
    type Output = u32;

    fn init(&self, origin: &Origin, _: &mut Totals) -> u32 {
        origin.vertex % 5
    }

    fn step<V: PullVertex<u32>>(&self, me: &mut V) -> nakshi_engine::Result<()> {
        let (value, step) = (*me.value(), me.step());
        if me.any_updated_link(|_, heard, _| heard % 3 != 0)? && step < 30 {
            me.put(value + 1);
        }
        Ok(())
    }

    fn output(&self, _: &Origin, value: &u32) -> u32 {
        *value
    }
}

fn all_the_same(graph: &Graph, servers: usize) {
    same(graph, &PullPageRank { damping: 0.85, iterations: 12, tolerance: 0.0 }, servers);
    same(graph, &PullShortestPaths { source: 1 }, servers);
    same(graph, &PullLevels { source: 1 }, servers);
    same(graph, &PullComponents, servers);
    same(graph, &PullCommunities { iterations: 10 }, servers);
    same(graph, &PullColoring, servers);
    same(graph, &PullMatching, servers);
    same(graph, &PullTriangles, servers);
    same(graph, &Rumours, servers);
}

/// Lists are in files where memory is short, and what does not fit even so is refused. Seen red with pieces
/// of a file that are taken as they arrive, and with weights that begin where links do.
#[test]
fn lists_on_the_ssd() {
    let graph = skewed(3000, 1_200_000, true, 7);
    for servers in [1, 2] {
        // Buffers of connections count.
        let least = (10 + 2 * (servers as u64 - 1)) << 20;
        let memory = Some(least);
        same_within(
            &graph,
            &PullPageRank { damping: 0.85, iterations: 5, tolerance: 0.0 },
            servers,
            memory,
        );
        same_within(&graph, &PullShortestPaths { source: 1 }, servers, Some(least + (2 << 20)));
        same_within(&graph, &PullComponents, servers, memory);
        same_within(&graph, &PullTriangles, servers, memory);
    }
    let cx = Context::new().with_memory(Some(1 << 20));
    let refused = local::run(&graph, &PullComponents, 1, None, &cx);
    let budget = |error: &Error| matches!(error, Error::Engine(nakshi_engine::Error::Budget { needed, .. }) if *needed > 1 << 20);
    assert!(refused.is_err_and(|error| budget(&error)));
}

/// Seen red with flags of own vertices that are not kept for the next step, with publish lists in another
/// order than slots, and with searches among updated links that find others.
#[test]
fn every_program_on_every_number_of_servers() {
    for directed in [true, false] {
        let graph = skewed(2000, 12_000, directed, 50);
        for servers in [1, 2, 3, 4, 7] {
            all_the_same(&graph, servers);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn small_graphs(n in 2u32..40, edges in 0usize..120, directed in any::<bool>(), seed in any::<u64>()) {
        // More servers than vertices among them.
        all_the_same(&skewed(n, edges, directed, seed), 1 + seed as usize % 12);
    }
}

/// Faults of the net are errors or have no effect. Seen red with frames that are not numbered,
/// with rounds that are over without their last frames, and with late frames that count.
#[test]
fn a_bad_net_gives_the_exact_result_or_an_error() {
    let graph = skewed(600, 3000, true, 9);
    let cx = Context::new().with_threads(1);
    let program = PullComponents;
    let right = run_pull(&graph, &program, None, &cx).unwrap().values;
    let run = |faults| local::run_simulated(&graph, &program, 4, faults, &cx);
    let (mut exact, mut errors) = (0, 0);
    for seed in 0..60 {
        let harmless = Faults { seed, doubled: 0.3, late: 0.3, ..Faults::default() };
        let found = run(harmless).unwrap();
        assert_eq!(found.values, right);
        assert!(found.counters.iter().map(|c| c.doubles + c.late).sum::<u64>() > 0);
        let few = Faults { seed, lost: 0.003, damaged: 0.002, doubled: 0.1, late: 0.1, dies: None };
        match run(few) {
            Ok(found) => {
                assert_eq!(found.values, right);
                exact += 1;
            }
            Err(Error::Missing { .. } | Error::Damaged { .. } | Error::Lost { .. }) => errors += 1,
            Err(other) => panic!("{other}"),
        }
        let dies = Faults { seed, dies: Some((seed % 7, seed as usize % 4)), ..Faults::default() };
        assert!(matches!(run(dies), Err(Error::Lost { .. })));
    }
    assert!(exact > 5 && errors > 5, "{exact} exact, {errors} errors");
}

/// A frame takes eight bytes a value and hardly more.
#[test]
fn bytes_on_the_wire() {
    let graph = skewed(60_000, 400_000, true, 3);
    let cx = Context::new().with_threads(2);
    let program = PullPageRank { damping: 0.85, iterations: 2, tolerance: 0.0 };
    let found = local::run(&graph, &program, 2, None, &cx).unwrap();
    for steps in &found.steps {
        for step in steps {
            assert!(step.bytes as f64 <= 8.4 * step.sent as f64 + 2000.0, "{step:?}");
        }
    }
}
