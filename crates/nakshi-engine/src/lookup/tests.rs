//! Look-ups against lists, and paths against whole searches, by another method: plain vectors.

use super::*;
use crate::algo::oracle::sample::{Sample, cases, contexts, graphs, power_law, power_laws};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

impl OpenLists {
    /// Look-ups in a graph that a test has made.
    fn of(graph: Graph) -> OpenLists {
        OpenLists { graph, needs: ListNeeds::default(), idle: Default::default(), room: None }
    }
}

fn settings(sample: &Sample) -> Vec<(OpenLists, Context)> {
    let capped = |cx: Context| {
        let room = Some(Room { budget: 1 << 30, used: 1 << 20 });
        (OpenLists { room, ..OpenLists::of(sample.graph_on_ssd()) }, cx)
    };
    let both = |cx: Context| [(sample.graph(), cx.clone()), (sample.graph_on_ssd(), cx)];
    let open = contexts().into_iter().flat_map(both).map(|(graph, cx)| (OpenLists::of(graph), cx));
    open.chain(contexts().into_iter().map(capped)).collect()
}

fn lists_of(sample: &Sample, direction: Direction) -> Vec<Vec<u32>> {
    match direction {
        Direction::Out => sample.adjacency(),
        Direction::In => {
            let mut lists = vec![Vec::new(); sample.n];
            sample.arcs().iter().for_each(|&(u, v)| lists[v as usize].push(u));
            lists
        }
    }
}

/// Vertices of a request, some of them several times.
fn request(n: usize, seed: u64, count: usize) -> Vec<VertexId> {
    let draw = |i: u64| nakshi_store::layout::mix(seed ^ (i << 20)) % n as u64;
    (0..count as u64).map(|i| draw(i) as VertexId).collect()
}

fn copied(from: &[VertexId], to: &mut [u32]) -> Result<()> {
    to.copy_from_slice(from);
    Ok(())
}

fn check_lists(sample: &Sample, seed: u64, count: usize) {
    let wanted = request(sample.n, seed, count);
    for (open, cx) in settings(sample) {
        for direction in [Direction::Out, Direction::In] {
            let lists = lists_of(sample, direction);
            let found = open.neighbors(direction, &wanted, &cx, copied).unwrap();
            let degrees = open.degrees(direction, &wanted, &cx).unwrap();
            assert_eq!(found.offsets.len(), wanted.len() + 1);
            for (i, &v) in wanted.iter().enumerate() {
                let range = found.offsets[i] as usize..found.offsets[i + 1] as usize;
                assert_eq!(found.targets[range], lists[v as usize], "list {i}, of {v}");
                assert_eq!(degrees[i], lists[v as usize].len() as u64);
            }
        }
        let pairs: Vec<(u32, u32)> =
            wanted.iter().copied().zip(request(sample.n, !seed, wanted.len())).collect();
        let known: BTreeSet<(u32, u32)> = sample.arcs().into_iter().collect();
        let all: Vec<(u32, u32)> = known.iter().copied().chain(pairs).collect();
        let found = open.has_edges(&all, &cx).unwrap();
        for (pair, found) in all.iter().zip(found) {
            assert_eq!(found == 1, known.contains(pair), "{pair:?}");
        }
    }
}

fn check_samples(sample: &Sample, seed: u64, count: usize) {
    let wanted = request(sample.n, seed, 50);
    for replace in [false, true] {
        let sampling = Sampling { count, seed, replace };
        let mut first = None;
        for (open, cx) in settings(sample) {
            let lists = lists_of(sample, Direction::Out);
            let found = open.sample(Direction::Out, &wanted, sampling, &cx, copied).unwrap();
            for (i, &v) in wanted.iter().enumerate() {
                let list = &lists[v as usize];
                let drawn =
                    &found.targets[found.offsets[i] as usize..found.offsets[i + 1] as usize];
                assert!(drawn.iter().all(|u| list.contains(u)), "{drawn:?} of {list:?}");
                match replace {
                    true => assert_eq!(drawn.len(), if list.is_empty() { 0 } else { count }),
                    false => {
                        assert_eq!(drawn.len(), list.len().min(count));
                        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]), "{drawn:?}");
                    }
                }
            }
            // The same for every mode and number of threads.
            assert_eq!(*first.get_or_insert_with(|| found.clone()), found);
        }
    }
}

/// Edges between two vertices by a whole search.
fn distance(lists: &[Vec<u32>], from: u32, to: u32) -> Option<usize> {
    let mut found = vec![usize::MAX; lists.len()];
    found[from as usize] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(u) = queue.pop_front() {
        for &v in &lists[u as usize] {
            if found[v as usize] == usize::MAX {
                found[v as usize] = found[u as usize] + 1;
                queue.push_back(v);
            }
        }
    }
    Some(found[to as usize]).filter(|&d| d != usize::MAX)
}

fn check_path(sample: &Sample, from: u32, to: u32) {
    let lists = sample.adjacency();
    let mut first = None;
    for (open, cx) in settings(sample) {
        let path = open.shortest_path(from, to, &cx).unwrap();
        assert_eq!(path.as_ref().map(|path| path.len() - 1), distance(&lists, from, to));
        if let Some(path) = &path {
            assert_eq!((path[0], path[path.len() - 1]), (from, to));
            assert!(path.windows(2).all(|pair| lists[pair[0] as usize].contains(&pair[1])));
        }
        assert_eq!(*first.get_or_insert_with(|| path.clone()), path);
        // Without weights every edge has length 1.
        let light = open.lightest_path(from, to, &cx).unwrap();
        assert_eq!(light.map(|path| path.length), path.map(|path| (path.len() - 1) as f64));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn lists_are_those_of_the_edges(sample in graphs(60, 200), seed: u64) {
        check_lists(&sample, seed, 40);
    }

    #[test]
    fn samples_come_from_lists(sample in graphs(60, 300), seed: u64, count in 0..8usize) {
        check_samples(&sample, seed, count);
    }

    #[test]
    fn paths_are_shortest(sample in graphs(60, 120), ends: (u32, u32)) {
        let n = sample.n as u32;
        check_path(&sample, ends.0 % n, ends.1 % n);
    }

    #[test]
    fn weighted_paths_are_shortest(
        sample in graphs(40, 120), ends: (u32, u32), seed: u64, whole: bool,
    ) {
        let n = sample.n as u32;
        let (from, to) = (ends.0 % n, ends.1 % n);
        let weight = |i: usize| {
            let drawn = nakshi_store::layout::mix(seed ^ i as u64) % 7;
            if whole { drawn as f64 } else { drawn as f64 / 3.0 }
        };
        let weights: Vec<f64> = (0..sample.edges.len()).map(weight).collect();
        let expected = lengths(&sample, &weights, from)[to as usize];
        for ssd in [false, true] {
            let (n, edges) = (sample.n, &sample.edges);
            let graph = if ssd {
                let cache = 16 << 10;
                Graph::from_edges_on_ssd(n, edges, sample.directed, Some(&weights), cache, &|b| b)
            } else {
                Graph::from_edges(n, edges, sample.directed, Some(&weights))
            };
            let found = OpenLists::of(graph.unwrap()).lightest_path(from, to, &Context::new()).unwrap();
            let length = found.map_or(f64::INFINITY, |path| path.length);
            prop_assert!(length == expected || (length - expected).abs() < 1e-9, "{length} {expected}");
        }
    }
}

/// Small weights, some of them 0.
fn small_weights(sample: &Sample, seed: u64) -> Vec<f64> {
    let weight = |i: usize| (nakshi_store::layout::mix(seed ^ i as u64) % 5) as f64;
    (0..sample.edges.len()).map(weight).collect()
}

fn weighted(sample: &Sample, weights: &[f64]) -> [OpenLists; 2] {
    let (n, edges, cache) = (sample.n, &sample.edges, 16 << 10);
    let given = Some(weights);
    let on_ssd = Graph::from_edges_on_ssd(n, edges, sample.directed, given, cache, &|b| b);
    [Graph::from_edges(n, edges, sample.directed, given), on_ssd].map(|g| OpenLists::of(g.unwrap()))
}

/// The lightest edge between two vertices.
fn step(sample: &Sample, weights: &[f64], from: u32, to: u32) -> f64 {
    let joins =
        |&(u, v): &(u32, u32)| (u, v) == (from, to) || (!sample.directed && (v, u) == (from, to));
    let edges = sample.edges.iter().zip(weights).filter(|(edge, _)| joins(edge));
    edges.map(|(_, weight)| *weight).fold(f64::INFINITY, f64::min)
}

/// Lengths of all paths that visit no vertex twice, ascending.
fn all_lengths(sample: &Sample, weights: &[f64], from: u32, to: u32) -> Vec<f64> {
    let lists = sample.adjacency();
    let mut found = Vec::new();
    let mut open = vec![vec![from]];
    while let Some(path) = open.pop() {
        let last = path[path.len() - 1];
        if last == to {
            found.push(
                path.windows(2).map(|p| step(sample, weights, p[0], p[1])).fold(0.0, |a, b| a + b),
            );
            continue;
        }
        let more = lists[last as usize].iter().filter(|next| !path.contains(next));
        open.extend(more.map(|&next| [path.as_slice(), &[next]].concat()));
    }
    found.sort_by(f64::total_cmp);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn several_paths_are_the_shortest_of_all(
        sample in graphs(7, 20), ends: (u32, u32), seed: u64, count in 0..12usize,
    ) {
        let (from, to) = (ends.0 % sample.n as u32, ends.1 % sample.n as u32);
        // Edges that are given twice may have two weights; the lists keep one of them.
        let mut sample = sample;
        sample.edges.sort_unstable_by_key(|&(u, v)| if sample.directed { (u, v) } else { (u.min(v), u.max(v)) });
        sample.edges.dedup_by_key(|&mut (u, v)| if sample.directed { (u, v) } else { (u.min(v), u.max(v)) });
        let weights = small_weights(&sample, seed);
        let mut expected = all_lengths(&sample, &weights, from, to);
        expected.truncate(count);
        let mut first = None;
        for open in weighted(&sample, &weights) {
            let found = open.lightest_paths(from, to, count, &Context::new()).unwrap();
            let lengths: Vec<f64> = found.iter().map(|path| path.length).collect();
            prop_assert_eq!(&lengths, &expected);
            for path in &found {
                let sum = path.vertices.windows(2).map(|p| step(&sample, &weights, p[0], p[1])).fold(0.0, |a, b| a + b);
                prop_assert_eq!(sum, path.length);
                prop_assert_eq!((path.vertices[0], path.vertices.last()), (from, Some(&to)));
                prop_assert_eq!(path.vertices.iter().collect::<BTreeSet<_>>().len(), path.vertices.len());
            }
            let different: BTreeSet<_> = found.iter().map(|path| path.vertices.clone()).collect();
            prop_assert_eq!(different.len(), found.len());
            prop_assert_eq!(first.get_or_insert_with(|| found.clone()), &found);
        }
    }

    /// Bounds between 0 and the distance, which differ so much between neighbours that vertices are opened
    /// again.
    #[test]
    fn guided_paths_are_shortest(sample in graphs(40, 160), ends: (u32, u32), seed: u64) {
        let (from, to) = (ends.0 % sample.n as u32, ends.1 % sample.n as u32);
        let weights = small_weights(&sample, seed);
        let expected = lengths(&sample, &weights, from)[to as usize];
        let edges = sample.edges.iter().map(|&(u, v)| (v, u)).collect();
        let turned = Sample { edges, ..sample.clone() };
        let left = lengths(&turned, &weights, to);
        let share = |v: u32| (nakshi_store::layout::mix(seed ^ u64::from(v)) % 5) as f64 / 4.0;
        let some = |v: u32| {
            let left = left[v as usize];
            if left.is_finite() { left * share(v) } else { left }
        };
        let bounds: [&dyn Fn(u32) -> f64; 3] = [&|_| 0.0, &|v| left[v as usize], &some];
        for open in weighted(&sample, &weights) {
            for bound in bounds {
                let found = open.guided_path(from, to, bound, &Context::new()).unwrap();
                prop_assert_eq!(found.as_ref().map_or(f64::INFINITY, |path| path.length), expected);
            }
        }
    }
}

#[test]
fn bounds_that_are_no_numbers_are_refused() {
    let open = OpenLists::of(Graph::from_edges(2, &[(0, 1)], true, None).unwrap());
    let error = open.guided_path(0, 1, |_| f64::NAN, &Context::new()).unwrap_err().to_string();
    assert!(error.contains("potential"), "{error}");
}

/// Distances from a vertex by Bellman and Ford.
fn lengths(sample: &Sample, weights: &[f64], from: u32) -> Vec<f64> {
    let mut found = vec![f64::INFINITY; sample.n];
    found[from as usize] = 0.0;
    for _ in 0..sample.n {
        for (&(u, v), w) in sample.edges.iter().zip(weights) {
            let mut relax = |u: u32, v: u32| {
                let sum = found[u as usize] + w;
                if sum < found[v as usize] {
                    found[v as usize] = sum;
                }
            };
            relax(u, v);
            if !sample.directed {
                relax(v, u);
            }
        }
    }
    found
}

#[test]
fn many_vertices_with_hubs() {
    for sample in power_laws(20_000, 200_000, 5) {
        check_lists(&sample, 3, 9_000);
        check_samples(&sample, 4, 10);
        for i in 0..20 {
            check_path(&sample, i * 31 % 20_000, i * 977 % 20_000);
        }
    }
}

#[test]
fn marks_are_the_places() {
    for count in [0, 1, 3, 10, 100, 127] {
        let sampling = Sampling { count, seed: 9, replace: false };
        for degree in count as u64..=128 {
            let mut places = Vec::new();
            sampling.places(degree, degree, &mut places);
            let marks = sampling.marks(degree, degree);
            let marked: Vec<u64> = (0..128).filter(|&place| marks >> place & 1 == 1).collect();
            assert_eq!(marked, places, "{count} of {degree}");
        }
    }
}

#[test]
fn places_are_drawn_evenly() {
    let sampling = |seed| Sampling { count: 3, seed, replace: false };
    let mut counts = [0u32; 10];
    for seed in 0..10_000 {
        let mut places = Vec::new();
        sampling(seed).places(10, 7, &mut places);
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]) && places.len() == 3);
        places.iter().for_each(|&place| counts[place as usize] += 1);
    }
    // 3,000 each, with a standard deviation of 46.
    assert!(counts.iter().all(|&count| (2_750..3_250).contains(&count)), "{counts:?}");
}

#[test]
fn cancelled_calls_stop() {
    let sample = power_law(2_000, 20_000, false, 5);
    for (open, cx) in settings(&sample) {
        cx.cancel_token().cancel();
        let wanted = request(sample.n, 1, 100);
        let found = open.neighbors(Direction::Out, &wanted, &cx, copied);
        assert!(matches!(found, Err(Error::Cancelled)), "{found:?}");
        assert!(matches!(open.shortest_path(1, 2, &cx), Err(Error::Cancelled)));
    }
}
