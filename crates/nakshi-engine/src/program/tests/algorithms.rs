//! The shipped programs, checked by other methods.

use super::graphs::{Edges, skewed};
use super::model::tight;
use crate::Graph;
use crate::program::programs::{Bfs, Components, PageRank, ScanStatistics, Triangles, UNREACHED};
use crate::program::{ProgramConfig, run_program};

fn inputs() -> Vec<Edges> {
    let mut all = Vec::new();
    for seed in 0..3 {
        for directed in [true, false] {
            all.push(skewed(900, 900 << seed, directed, 10 + seed));
        }
    }
    // A path: many iterations with one active vertex each.
    all.push(Edges { n: 300, edges: (0..299).map(|v| (v, v + 1)).collect(), directed: false });
    all
}

/// Seen to hang when worker 0, after an iteration on its own, changed the plan before all
/// others had come to the barrier, or met them there with another closure than theirs.
#[test]
fn bfs_levels() {
    for input in inputs() {
        let level = input.levels(1, UNREACHED);
        input.each_threads(|graph, cx| {
            for config in [tight(), ProgramConfig::default()] {
                let (states, _) = run_program(graph, &Bfs { source: 1 }, &config, cx).unwrap();
                assert_eq!(states, level);
            }
        });
    }
}

#[test]
fn components_are_those_of_union_find() {
    for input in inputs() {
        let mut root: Vec<u32> = (0..input.n as u32).collect();
        fn find(root: &mut [u32], v: u32) -> u32 {
            let mut v = v;
            while root[v as usize] != v {
                root[v as usize] = root[root[v as usize] as usize];
                v = root[v as usize];
            }
            v
        }
        for &(u, v) in &input.edges {
            let (a, b) = (find(&mut root, u), find(&mut root, v));
            root[a.max(b) as usize] = a.min(b);
        }
        let expected: Vec<u32> = (0..input.n as u32).map(|v| find(&mut root, v)).collect();
        input.each_threads(|graph, cx| {
            for config in [tight(), ProgramConfig::default()] {
                let (states, _) = run_program(graph, &Components, &config, cx).unwrap();
                assert!(states.iter().map(|s| s.label).eq(expected.iter().copied()));
            }
        });
    }
}

/// Power iteration, with the mass of dangling vertices spread evenly.
fn power_iteration(input: &Edges) -> Vec<f64> {
    let lists = input.adjacency();
    let n = input.n as f64;
    let mut rank = vec![1.0 / n; input.n];
    for _ in 0..200 {
        let dangling: f64 =
            rank.iter().zip(&lists).filter(|(_, l)| l.is_empty()).map(|(r, _)| r).sum();
        let mut next = vec![0.15 / n + 0.85 * dangling / n; input.n];
        for (u, list) in lists.iter().enumerate() {
            for &v in list {
                next[v as usize] += 0.85 * rank[u] / list.len() as f64;
            }
        }
        rank = next;
    }
    rank
}

#[test]
fn pagerank_is_right_and_the_same_for_any_number_of_threads() {
    for input in inputs() {
        let expected = power_iteration(&input);
        let program = PageRank::new(input.n, 0.85, 1e-9);
        let reference = std::cell::RefCell::new(None);
        input.each_threads(|graph, cx| {
            for config in [tight(), ProgramConfig::default()] {
                let (states, _) = run_program(graph, &program, &config, cx).unwrap();
                let ranks = PageRank::ranks(&states);
                assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                for (got, want) in ranks.iter().zip(&expected) {
                    assert!((got - want).abs() <= 1e-6 * want, "{got} instead of {want}");
                }
                let same = reference.borrow_mut().get_or_insert_with(|| states.clone()) == &states;
                assert!(same, "differs from the first run");
            }
        });
    }
}

fn common(a: &[u32], b: &[u32]) -> impl Iterator<Item = u32> {
    a.iter().copied().filter(|x| b.binary_search(x).is_ok())
}

#[test]
fn triangles_with_and_without_parts() {
    for input in inputs().into_iter().filter(|i| !i.directed) {
        let lists = input.adjacency();
        let mut expected = vec![0u64; input.n];
        for v in 0..input.n as u32 {
            for &u in lists[v as usize].iter().filter(|&&u| u < v) {
                for w in common(&lists[v as usize], &lists[u as usize]).filter(|&w| w < u) {
                    for corner in [u, v, w] {
                        expected[corner as usize] += 1;
                    }
                }
            }
        }
        input.each_threads(|graph, cx| {
            for split_degree in [5, 1 << 15] {
                for config in [tight(), ProgramConfig::default()] {
                    let program = Triangles { split_degree };
                    let (states, _) = run_program(graph, &program, &config, cx).unwrap();
                    assert_eq!(states, expected);
                    assert_eq!(Triangles::total(&states) * 3, expected.iter().sum::<u64>());
                }
            }
        });
    }
}

#[test]
fn scan_statistics_stop_early() {
    for input in inputs().into_iter().filter(|i| !i.directed) {
        let lists: Vec<Vec<u32>> = input
            .adjacency()
            .into_iter()
            .enumerate()
            .map(|(v, list)| list.into_iter().filter(|&u| u != v as u32).collect())
            .collect();
        let statistic = |list: &Vec<u32>| {
            let among: usize = list.iter().map(|&u| common(list, &lists[u as usize]).count()).sum();
            (list.len() + among / 2) as u64
        };
        let expected = lists.iter().map(statistic).max().unwrap();
        input.each_threads(|graph: &Graph, cx| {
            for config in [ScanStatistics::config(), ProgramConfig { running: 4, ..tight() }] {
                let program = ScanStatistics::new();
                let (states, _) = run_program(graph, &program, &config, cx).unwrap();
                assert_eq!(program.largest(), expected);
                for (v, state) in states.iter().enumerate() {
                    assert!(state.is_none_or(|s| s == statistic(&lists[v])));
                }
                if input.edges.len() > 3000 {
                    let computed = states.iter().filter(|s| s.is_some()).count();
                    assert!(computed < input.n / 2, "{computed} vertices were computed");
                }
            }
        });
    }
}
