//! Tests on graphs whose searches are deep: paths, grids, combs and beads.

use super::apsp::Apsp;
use super::bc::Bc;
use super::bfs::{Bfs, BfsOutput};
use super::diameter::Diameter;
use super::oracle::sample::{Sample, contexts};
use super::oracle::{apsp as oracle_apsp, bc as oracle_bc, bfs as oracle_bfs, sssp as oracle_sssp};
use super::sssp::Sssp;
use super::wcc::Wcc;
use super::{Algorithm, Variant};
use crate::stats::RunStats;
use crate::work;
use crate::{Context, Graph};

fn path(n: u32) -> Sample {
    let edges = (1..n).map(|v| (v - 1, v)).collect();
    Sample { n: n as usize, edges, directed: false }
}

fn grid(rows: u32, columns: u32) -> Sample {
    let along = (0..rows).flat_map(|r| (1..columns).map(move |c| r * columns + c));
    let down = columns..rows * columns;
    let edges = along.map(|v| (v - 1, v)).chain(down.map(|v| (v - columns, v))).collect();
    Sample { n: (rows * columns) as usize, edges, directed: false }
}

/// A path, from each vertex of which hangs another.
fn comb(spine: u32, tooth: u32) -> Sample {
    let edges = (1..spine * (tooth + 1)).map(|v| {
        let (at, step) = (v / (tooth + 1), v % (tooth + 1));
        if step == 0 { ((at - 1) * (tooth + 1), v) } else { (v - 1, v) }
    });
    Sample { n: (spine * (tooth + 1)) as usize, edges: edges.collect(), directed: false }
}

/// Layers of two widths in turn, each vertex joined to two of the next layer, and a tail.
fn beads(layers: u32, width: u32, tail: u32) -> Sample {
    let (mut edges, mut first, mut size) = (Vec::new(), 0, 1);
    for layer in 0..layers {
        let (next, after) = (first + size, if layer % 2 == 0 { width } else { 1 });
        for k in 0..size.max(after) {
            edges.push((first + k % size, next + k % after));
            edges.push((first + k * 7 % size, next + k % after));
        }
        (first, size) = (next, after);
    }
    edges.extend((0..tail).map(|v| (first + v, first + v + 1)));
    Sample { n: (first + size.max(tail + 1)) as usize, edges, directed: false }
}

impl Sample {
    /// The same graph with its vertices in another order.
    fn shuffled(mut self) -> Sample {
        let n = self.n as u64;
        let step = (n / 2..).find(|&step| gcd(step, n) == 1).unwrap();
        let place = |v: u32| ((u64::from(v) * step + 3) % n) as u32;
        self.edges.iter_mut().for_each(|edge| *edge = (place(edge.0), place(edge.1)));
        self
    }

    fn with_directions(mut self) -> Sample {
        self.directed = true;
        self
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn samples() -> Vec<Sample> {
    vec![
        path(300),
        path(300).shuffled(),
        path(200).with_directions().shuffled(),
        grid(15, 17).shuffled(),
        comb(30, 7),
        comb(20, 9).with_directions().shuffled(),
        beads(8, 40, 50),
        beads(9, 30, 1).with_directions().shuffled(),
    ]
}

fn check_hops(sample: &Sample, source: u32) {
    let lists = sample.adjacency();
    let distance = oracle_apsp::all_pairs(&lists);
    let sources = vec![source, 0, sample.n as u32 - 1];
    let mut scores = oracle_bc::betweenness(&lists, &sources);
    let half = if sample.directed { 1.0 } else { 0.5 };
    scores.iter_mut().for_each(|score| *score *= half);
    let mut exact: Option<Vec<f64>> = None;
    for (graph, cx) in sample.settings() {
        let found = Bfs { source, ..Bfs::default() }.run(&graph, &cx).unwrap();
        let level = |v: usize| found.reached.get(v).then(|| found.levels[v]);
        assert!((0..sample.n).map(level).eq(distance[source as usize].iter().copied()));
        let found = Apsp { sources: sources.clone(), ..Apsp::default() }.run(&graph, &cx).unwrap();
        for (distances, &source) in found.distances.iter().zip(&sources) {
            let expected = distance[source as usize].iter().map(|d| d.unwrap_or(u32::MAX));
            assert!(distances.iter().copied().eq(expected));
        }
        let found =
            Diameter { ignore_direction: false, source: Some(source), ..Diameter::default() };
        let found = found.run(&graph, &cx).unwrap();
        let (from, to) = found.ends.unwrap();
        assert_eq!(distance[from as usize][to as usize], Some(found.diameter));
        let found = Bc { sources: sources.clone(), ..Bc::default() }.run(&graph, &cx).unwrap();
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        assert!(found.scores.iter().zip(&scores).all(close));
        // The same to the last bit in every mode, with every bound, for any number of threads.
        assert_eq!(exact.get_or_insert_with(|| found.scores.clone()), &found.scores);
    }
}

#[test]
fn hops_and_shortest_paths_are_those_of_the_oracles() {
    for sample in samples() {
        check_hops(&sample, sample.n as u32 / 3);
    }
}

#[test]
fn weighted_distances_are_those_of_the_oracle() {
    for sample in samples() {
        let weights: Vec<f64> = (0..sample.edges.len()).map(|i| (i * 37 % 11) as f64).collect();
        let (n, edges) = (sample.n, &sample.edges);
        let arcs = |((u, v), w): (&(u32, u32), &f64)| [(*u, *v, *w), (*v, *u, *w)];
        let arcs = edges.iter().zip(&weights).flat_map(arcs);
        let arcs: Vec<_> = arcs.step_by(if sample.directed { 2 } else { 1 }).collect();
        let source = n as u32 / 3;
        let expected = oracle_sssp::distances(n, &arcs, source);
        let config = Sssp { source, weight: Some("w".into()), ..Sssp::default() };
        for thin in [None, Some(0), Some(24)] {
            let on_ssd = Graph::from_edges_on_ssd(
                n,
                edges,
                sample.directed,
                Some(&weights),
                16 << 10,
                &|b| b,
            );
            let in_memory = Graph::from_edges(n, edges, sample.directed, Some(&weights));
            for graph in [in_memory.unwrap(), on_ssd.unwrap()] {
                let graph = graph.with_thin(thin);
                for cx in contexts() {
                    assert_eq!(config.run(&graph, &cx).unwrap().distances, expected);
                }
            }
        }
    }
}

/// A search of which every level had passes over all vertices would take 200,000 times as many words.
#[test]
fn work_does_not_grow_with_depth_times_size() {
    const N: u32 = 200_000;
    let sample = path(N).shuffled();
    let weights = vec![1.5; sample.edges.len()];
    for on_ssd in [false, true] {
        let given = Some(weights.as_slice());
        let graph = match on_ssd {
            false => Graph::from_edges(sample.n, &sample.edges, false, given),
            true => {
                Graph::from_edges_on_ssd(sample.n, &sample.edges, false, given, 4 << 20, &|b| b)
            }
        };
        let (graph, cx) = (graph.unwrap(), Context::new().with_threads(1));
        let measured = |name: &str, run: &dyn Fn() -> RunStats| {
            work::reset();
            let stats = run();
            assert!(work::done() < 40 * u64::from(N), "{name}: {}", work::done());
            assert!(stats.iterations.len() < 40, "{name}: {}", stats.iterations.len());
            assert!(stats.steps() >= u64::from(N) / 2, "{name}: {}", stats.steps());
        };
        let sources = vec![7];
        measured("bfs", &|| Bfs { source: 7, ..Bfs::default() }.run(&graph, &cx).unwrap().stats);
        measured("sssp", &|| {
            let config = Sssp { source: 7, weight: Some("w".into()), ..Sssp::default() };
            config.run(&graph, &cx).unwrap().stats
        });
        measured("bc", &|| {
            Bc { sources: sources.clone(), ..Bc::default() }.run(&graph, &cx).unwrap().stats
        });
        measured("apsp", &|| {
            Apsp { sources: sources.clone(), ..Apsp::default() }.run(&graph, &cx).unwrap().stats
        });
        let found = Diameter::default().run(&graph, &cx).unwrap();
        assert_eq!(found.diameter, N - 1);
        measured("diameter", &|| Diameter::default().run(&graph, &cx).unwrap().stats);
        let found = Wcc::default().run(&graph, &cx).unwrap();
        assert_eq!((found.count, found.largest), (1, N as usize));
    }
}

/// Seen red with a search that forgets to hand a frontier on when it is thin no longer.
#[test]
fn frontiers_that_grow_and_shrink() {
    // A layer of 20,000 is not thin by the engine's own bound.
    let sample = beads(6, 20_000, 100).shuffled();
    let lists = sample.adjacency();
    let expected = oracle_bfs::levels(&lists, 5);
    let scores = |graph: &Graph, cx: &Context| {
        Bc { sources: vec![5], ..Bc::default() }.run(graph, cx).unwrap().scores
    };
    let mut first = None;
    for graph in sample.graphs() {
        for cx in contexts() {
            let BfsOutput { levels, reached, .. } =
                Bfs { source: 5, ..Bfs::default() }.run(&graph, &cx).unwrap();
            let level = |v: usize| reached.get(v).then(|| levels[v]);
            assert!((0..sample.n).map(level).eq(expected.iter().copied()));
            let found = scores(&graph, &cx);
            assert_eq!(first.get_or_insert_with(|| found.clone()), &found);
        }
    }
}

#[test]
fn programs_on_blocks_find_the_same_levels() {
    for sample in samples() {
        let expected = oracle_bfs::levels(&sample.adjacency(), 0);
        for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
            for variant in [Variant::Vertex, Variant::Block] {
                let config = Bfs { variant, ..Bfs::default() };
                let found = config.run(&graph, &Context::new().with_threads(2)).unwrap();
                let level = |v: usize| found.reached.get(v).then(|| found.levels[v]);
                assert!((0..sample.n).map(level).eq(expected.iter().copied()));
            }
        }
    }
}
