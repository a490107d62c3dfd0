//! Scan, gather and the list reader against the edges they were built from, with and
//! without faults.

use crate::algo::oracle::sample::{Sample, cases, contexts, graphs, power_law, power_laws};
use crate::{Context, Direction, Error, Graph, List, Result, VertexId, VertexSet};
use nakshi_io::backend::{FaultPlan, FaultyBackend};
use proptest::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Collects the lists that a primitive visits and checks that none comes twice.
struct Seen {
    times: Vec<AtomicU32>,
    lists: Vec<Mutex<Vec<VertexId>>>,
}

impl Seen {
    fn new(n: usize) -> Self {
        Seen {
            times: (0..n).map(|_| AtomicU32::new(0)).collect(),
            lists: (0..n).map(|_| Mutex::default()).collect(),
        }
    }

    fn see(&self, v: VertexId, list: &List<'_>) -> Result<()> {
        self.times[v as usize].fetch_add(1, Ordering::Relaxed);
        list.decode_into(&mut self.lists[v as usize].lock().unwrap())?;
        Ok(())
    }

    fn check(&self, expected: &[Vec<u32>], wanted: impl Fn(usize) -> bool) {
        for (v, list) in expected.iter().enumerate() {
            let times = self.times[v].load(Ordering::Relaxed);
            assert_eq!(times, u32::from(wanted(v)), "visits of {v}");
            if wanted(v) {
                assert_eq!(&*self.lists[v].lock().unwrap(), list, "list of {v}");
            }
        }
    }
}

fn incoming(sample: &Sample) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); sample.n];
    sample.arcs().iter().for_each(|&(u, v)| lists[v as usize].push(u));
    lists
}

fn some(n: usize, seed: u64) -> VertexSet {
    let mut set = VertexSet::new(n);
    let few = [1, 7, 64][(seed % 3) as usize];
    for v in (0..n as u32).filter(|v| (u64::from(*v) ^ seed).wrapping_mul(0x9E37_79B9) % 64 < few) {
        set.insert(v);
    }
    set
}

fn check_all(sample: &Sample, graph: &Graph, cx: &Context, seed: u64) {
    let both = [(Direction::Out, sample.adjacency()), (Direction::In, incoming(sample))];
    for (direction, expected) in both {
        let seen = Seen::new(sample.n);
        graph.scan(direction, cx, |_| (), |(), v, list| seen.see(v, list)).unwrap();
        seen.check(&expected, |_| true);
        let set = some(sample.n, seed);
        let seen = Seen::new(sample.n);
        graph.gather(direction, &set, cx, |_| (), |(), v, list| seen.see(v, list)).unwrap();
        seen.check(&expected, |v| set.contains(v as u32));
        let seen = Seen::new(sample.n);
        let requests: Vec<_> = set.iter().map(|v| (v, u64::from(v) + 5)).collect();
        let mut reader = graph.reader(direction, cx).unwrap();
        let mut visit = |token: u64, v: VertexId, list: &List<'_>| {
            assert_eq!(token, u64::from(v) + 5);
            seen.see(v, list)
        };
        reader.read(&requests, &mut visit).unwrap();
        seen.check(&expected, |v| set.contains(v as u32));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]
    #[test]
    fn every_list_once(sample in graphs(300, 600), seed: u64) {
        for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
            for cx in contexts() {
                check_all(&sample, &graph, &cx, seed);
            }
        }
    }

    /// The weight of an edge is a function of its ends, so that each list's are known.
    #[test]
    fn weights_belong_to_their_edges(sample in graphs(200, 400), seed: u64) {
        let weight = |u: u32, v: u32| {
            if sample.directed { f64::from(u) + f64::from(v) / 1024.0 } else { f64::from(u ^ v) }
        };
        let weights: Vec<f64> = sample.edges.iter().map(|&(u, v)| weight(u, v)).collect();
        let (n, directed) = (sample.n, sample.directed);
        let memory = Graph::from_edges(n, &sample.edges, directed, Some(&weights)).unwrap();
        let ssd = Graph::from_edges_on_ssd(n, &sample.edges, directed, Some(&weights), 1 << 14, &|b| b);
        let set = some(sample.n, seed);
        let cx = Context::new().with_threads(2);
        let decoded = Graph::from_edges(n, &sample.edges, directed, Some(&weights)).unwrap();
        let decoded = decoded.decoded_lists().unwrap();
        for graph in [memory, decoded, ssd.unwrap()] {
            let check = |(): &mut (), v: VertexId, list: &List<'_>, weights: &crate::Weights<'_>| {
                let mut neighbours = Vec::new();
                list.decode_into(&mut neighbours)?;
                assert_eq!(weights.len(), neighbours.len());
                for (i, &u) in neighbours.iter().enumerate() {
                    assert_eq!(weights.get(i), weight(v, u));
                }
                Ok(())
            };
            graph.scan_weighted(Direction::Out, &cx, |_| (), check).unwrap();
            graph.gather_weighted(Direction::Out, &set, &cx, |_| (), check).unwrap();
            let requests: Vec<_> = set.iter().map(|v| (v, 0)).collect();
            let mut reader = graph.reader(Direction::Out, &cx).unwrap();
            let mut visit = |_, v, list: &List<'_>, weights: &crate::Weights<'_>| check(&mut (), v, list, weights);
            reader.read_weighted(&requests, &mut visit).unwrap();
        }
    }
}

#[test]
fn many_chunks_many_threads() {
    for sample in power_laws(150_000, 600_000, 42) {
        for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
            assert!(graph.side(Direction::Out).unwrap().chunk_starts().len() > 4);
            for (seed, threads) in [1, 2, 3, 8].into_iter().enumerate() {
                check_all(&sample, &graph, &Context::new().with_threads(threads), seed as u64);
            }
        }
    }
}

#[test]
fn folds_do_not_depend_on_threads_or_mode() {
    let sample = power_law(150_000, 600_000, true, 1);
    let mut first: Option<Vec<f64>> = None;
    for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
        for threads in 1..4 {
            let cx = Context::new().with_threads(threads);
            let visit = |sum: &mut f64, v: VertexId, list: &List<'_>| {
                *sum += (list.degree() as f64).sqrt() / f64::from(v + 1);
                Ok(())
            };
            let sums = graph.scan_fold(Direction::Out, &cx, || 0.0, visit).unwrap();
            assert_eq!(first.get_or_insert_with(|| sums.clone()), &sums);
        }
    }
}

/// Bytes that passes over all lists read, one after the other; each pass sees every edge.
fn passes(graph: &Graph, sample: &Sample, weighted: bool, threads: usize) -> [u64; 4] {
    let (expected, cx) = (sample.adjacency(), Context::new().with_threads(threads));
    [(); 4].map(|()| {
        let (seen, before) = (Seen::new(sample.n), graph.io_stats());
        let visit = |v, list: &List<'_>| seen.see(v, list);
        let passed = if weighted {
            graph.scan_weighted(
                Direction::Out,
                &cx,
                |_| (),
                |(), v, list, weights| {
                    assert!((0..weights.len()).all(|i| weights.get(i) == f64::from(v)));
                    visit(v, list)
                },
            )
        } else {
            graph.scan(Direction::Out, &cx, |_| (), |(), v, list| visit(v, list))
        };
        passed.unwrap();
        seen.check(&expected, |_| true);
        (graph.io_stats() - before).bytes_read
    })
}

/// From the second reading on a share of the bytes stays in memory, never more than was
/// allowed. Seen red with chunks chosen beyond the share, with nothing kept and with a
/// release that keeps.
#[test]
fn a_share_of_the_chunks_is_read_twice_only() {
    let sample = power_law(150_000, 600_000, true, 5);
    let weights: Vec<f64> = sample.edges.iter().map(|&(u, _)| u.into()).collect();
    for (share, weighted) in [(0.0, false), (0.3, false), (0.3, true), (2.0, false), (2.0, true)] {
        let weights = weighted.then_some(&*weights);
        let mut graph =
            Graph::from_edges_on_ssd(sample.n, &sample.edges, true, weights, 1 << 14, &|b| b)
                .unwrap();
        graph.keep(share);
        let [first, second, third, fourth] = passes(&graph, &sample, weighted, 2);
        assert_eq!((first, third), (second, fourth));
        let width = graph.weight_kind().map_or(0, nakshi_store::ColumnType::width);
        let bytes = graph.total_bytes(Direction::Out).unwrap() + graph.num_arcs() * width as u64;
        assert!(first >= bytes, "{first} of {bytes}");
        let kept = (first - third) as f64;
        let allowed = share.min(1.0) * bytes as f64;
        // Whole pages are read, less is kept.
        let chunks = graph.side(Direction::Out).unwrap().chunk_starts().len() as f64;
        assert!(kept <= allowed + 4.0 * 4096.0 * chunks, "{kept} of {bytes} at {share}");
        assert!(kept >= allowed / 2.0, "{kept} of {bytes} at {share}");
        if weighted {
            // Lists alone are found among what is kept of both.
            assert!(passes(&graph, &sample, false, 2)[0] <= third);
        }
        graph.release();
        assert_eq!(passes(&graph, &sample, weighted, 3), [first; 4]);
    }
}

/// Two hundred neighbours cost the pages of their lists, vertices all over the graph cost all of it. Seen red
/// with chunks of 16 members read whole.
#[test]
fn neighbours_are_read_by_their_pages() {
    let sample = power_law(150_000, 600_000, true, 5);
    let graph =
        Graph::from_edges_on_ssd(sample.n, &sample.edges, true, None, 1 << 14, &|b| b).unwrap();
    let bytes = |vertices: &mut dyn Iterator<Item = VertexId>| {
        let (mut set, seen) = (VertexSet::new(sample.n), Seen::new(sample.n));
        vertices.for_each(|v| {
            set.insert(v);
        });
        let (cx, before) = (Context::new().with_threads(2), graph.io_stats());
        let visit = |(): &mut (), v, list: &List<'_>| seen.see(v, list);
        graph.gather(Direction::Out, &set, &cx, |_| (), visit).unwrap();
        seen.check(&sample.adjacency(), |v| set.contains(v as u32));
        (graph.io_stats() - before).bytes_read
    };
    let near = bytes(&mut (70_000..70_200));
    assert!(near <= 3 * 4096, "{near}");
    let all = graph.total_bytes(Direction::Out).unwrap();
    let spread = bytes(&mut (0..150_000).step_by(20));
    assert!((all * 3 / 4..all * 3 / 2).contains(&spread), "{spread} of {all}");
}

/// Chunks of many vertices without lists lie between others, and are not read. Seen red with
/// the bytes of an empty chunk assumed to be at the end of the file.
#[test]
fn long_runs_of_empty_lists() {
    let edges = (0..1000).map(|v| (v, 399_999 - v)).collect();
    let sample = Sample { n: 400_000, directed: false, edges };
    for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
        check_all(&sample, &graph, &Context::new().with_threads(2), 1);
    }
}

fn faulty(sample: &Sample, plan: &FaultPlan) -> Graph {
    Graph::from_edges_on_ssd(sample.n, &sample.edges, sample.directed, None, 16 << 10, &|inner| {
        std::sync::Arc::new(FaultyBackend::new(inner, plan.clone()))
    })
    .unwrap()
}

/// A right result or an error, never a wrong result and never a hang (E2). Seen red with
/// `PagedFile::verify` accepting every page.
#[test]
fn faults_give_the_right_result_or_an_error() {
    let sample = power_law(20_000, 200_000, false, 9);
    let expected = sample.adjacency();
    let (mut failed, mut succeeded) = (0, 0);
    for seed in 0..u64::from(cases(60)) {
        let rate = [0.0, 0.002, 0.01][(seed % 3) as usize];
        let plan = FaultPlan {
            seed,
            errors: rate,
            torn: if seed % 2 == 0 { rate } else { 0.0 },
            short: 0.2,
            ..FaultPlan::default()
        };
        let graph = faulty(&sample, &plan);
        let cx = Context::new().with_threads(1 + (seed % 2) as usize);
        let seen = Seen::new(sample.n);
        let set = some(sample.n, seed);
        let scanned = graph.scan(Direction::Out, &cx, |_| (), |(), v, list| seen.see(v, list));
        let gathered = Seen::new(sample.n);
        let result =
            graph.gather(Direction::Out, &set, &cx, |_| (), |(), v, list| gathered.see(v, list));
        if scanned.is_ok() {
            seen.check(&expected, |_| true);
        }
        if result.is_ok() {
            gathered.check(&expected, |v| set.contains(v as u32));
        }
        for outcome in [scanned.err(), result.err()] {
            match outcome {
                None => succeeded += 1,
                Some(Error::Io(_)) => failed += 1,
                Some(other) => panic!("unexpected {other}"),
            }
        }
    }
    assert!(failed > 0 && succeeded > 0, "{failed} failed, {succeeded} succeeded");
}

/// Reads of which this share is late by `delay`.
fn late(share: f64, delay: Duration) -> FaultPlan {
    FaultPlan { seed: 1, delays: share, delay, ..FaultPlan::default() }
}

/// Seen red with short reads taken for whole ones by a `PagedFile::verify` that accepts them.
#[test]
fn slow_reads_are_only_slow() {
    let sample = power_law(5_000, 40_000, true, 2);
    let plan = FaultPlan { short: 0.1, ..late(0.1, Duration::from_millis(20)) };
    check_all(&sample, &faulty(&sample, &plan), &Context::new().with_threads(2), 1);
}

/// Seen red (it hangs) with a token that never says it was cancelled.
#[test]
fn cancel_and_deadline_stop_a_slow_scan() {
    let sample = power_law(150_000, 600_000, false, 3);
    let graph = faulty(&sample, &late(1.0, Duration::from_secs(3600)));
    let cx = Context::new().with_threads(2);
    let token = cx.cancel_token().clone();
    let started = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            token.cancel();
        });
        let result = graph.scan(Direction::Out, &cx, |_| (), |(), _, _| Ok(()));
        assert!(matches!(result, Err(Error::Cancelled)));
    });
    assert!(started.elapsed() < Duration::from_secs(10));
    let memory = sample.graph();
    let cx = Context::new().with_threads(2).with_timeout(Duration::ZERO);
    let result = memory.scan(Direction::Out, &cx, |_| (), |(), _, _| Ok(()));
    assert!(matches!(result, Err(Error::Deadline { .. })));
}

/// Seen red with panics of visits not caught.
#[test]
fn a_panic_or_an_error_in_visit_ends_the_run() {
    let sample = power_law(20_000, 100_000, false, 4);
    for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
        for cx in contexts() {
            let set = VertexSet::full(sample.n);
            let panics = |(): &mut (), v: VertexId, _: &List<'_>| {
                assert!(v != 777, "planted");
                Ok(())
            };
            for result in [
                graph.scan(Direction::Out, &cx, |_| (), panics),
                graph.gather(Direction::Out, &set, &cx, |_| (), panics),
            ] {
                assert!(
                    matches!(result, Err(Error::Panicked { message }) if message.contains("planted"))
                );
            }
            let fails = |(): &mut (), v: VertexId, _: &List<'_>| match v {
                777 => Err(Error::parameter("planted", "error")),
                _ => Ok(()),
            };
            for result in [
                graph.scan(Direction::Out, &cx, |_| (), fails),
                graph.gather(Direction::Out, &set, &cx, |_| (), fails),
            ] {
                assert!(matches!(result, Err(Error::Parameter { .. })));
            }
            // The graph works after a failure.
            check_all(&sample, &graph, &cx, 1);
        }
    }
}
