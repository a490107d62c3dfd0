//! LDBC Graphalytics' validation inputs under its own rules: labels must be equal,
//! coefficients and distances within 1e-4 relative, and every vertex must be there.
//!
//! The archive lies beside a checkout (`../shared/data`) or where `NAKSHI_DATA` says;
//! without it the test says so and passes.

#![allow(clippy::unwrap_used)]

mod archive;

use nakshi_engine::algo::run_named;
use nakshi_engine::{Context, Graph, Outcome, Values};
use serde_json::json;
use std::collections::BTreeMap;

type Files = BTreeMap<String, String>;

/// The archive's files by name, or `None` with a reason on standard error.
fn files() -> Option<Files> {
    let found = archive::files("graphalytics-validation.tar.zst")?;
    let text = |(name, bytes)| (name, String::from_utf8(bytes).unwrap());
    Some(found.into_iter().map(text).collect())
}

/// A graph with the ids of its vertices, which are ascending: internal ids are ranks.
struct Input {
    ids: Vec<u64>,
    graph: Graph,
}

impl Input {
    fn new(mut ids: Vec<u64>, edges: &[(u64, u64, f64)], directed: bool, weighted: bool) -> Self {
        ids.sort_unstable();
        let at = |id: u64| ids.binary_search(&id).unwrap() as u32;
        let pairs: Vec<(u32, u32)> = edges.iter().map(|&(u, v, _)| (at(u), at(v))).collect();
        let weights: Vec<f64> = edges.iter().map(|e| e.2).collect();
        let weights = weighted.then_some(weights.as_slice());
        let graph = Graph::from_edges(ids.len(), &pairs, directed, weights).unwrap();
        Input { ids, graph }
    }

    /// `id neighbour neighbour ...`, one line a vertex.
    fn lists(text: &str, directed: bool) -> Self {
        let (mut ids, mut edges) = (Vec::new(), Vec::new());
        for line in text.lines() {
            let mut numbers = line.split_whitespace().map(|x| x.parse().unwrap());
            let id = numbers.next().unwrap();
            ids.push(id);
            edges.extend(numbers.map(|other| (id, other, 1.0)));
        }
        Input::new(ids, &edges, directed, false)
    }

    /// A file of vertices and one of `source target [weight]`.
    fn edges(vertices: &str, edges: &str, directed: bool) -> Self {
        let ids = vertices.lines().map(|line| line.trim().parse().unwrap()).collect();
        let mut weighted = false;
        let mut list = Vec::new();
        for line in edges.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            weighted |= fields.len() > 2;
            let weight = fields.get(2).map_or(1.0, |w| w.parse().unwrap());
            list.push((fields[0].parse().unwrap(), fields[1].parse().unwrap(), weight));
        }
        Input::new(ids, &list, directed, weighted)
    }

    /// Runs `algorithm` and checks its first column against `expected`.
    fn check(&self, algorithm: &str, parameters: &serde_json::Value, expected: &str) {
        for threads in [1, 2] {
            let cx = Context::new().with_threads(threads);
            let outcome = run_named(algorithm, parameters, &self.graph, &cx).unwrap();
            self.compare(&outcome, expected, algorithm);
        }
    }

    fn compare(&self, outcome: &Outcome, expected: &str, algorithm: &str) {
        let column = &outcome.columns[0];
        assert_eq!(expected.lines().count(), self.ids.len(), "{algorithm}: number of vertices");
        for line in expected.lines() {
            let (id, value) = line.split_once(' ').unwrap();
            let at = self.ids.binary_search(&id.parse().unwrap()).unwrap();
            let value = value.trim();
            match &column.values {
                Values::Vertex(labels) => {
                    let label = self.ids[labels[at] as usize];
                    assert_eq!(label.to_string(), value, "{algorithm}: vertex {id}");
                }
                Values::F64(found) => {
                    let value: f64 = value.to_lowercase().parse().unwrap();
                    let reached = column.valid.as_ref().is_none_or(|valid| valid.get(at));
                    assert_eq!(reached, value.is_finite(), "{algorithm}: vertex {id}");
                    let near = (found[at] - value).abs() <= 1e-4 * value.abs();
                    assert!(!reached || near, "{algorithm}: vertex {id}: {} {value}", found[at]);
                }
                other => panic!("{algorithm}: unexpected column {other:?}"),
            }
        }
    }
}

#[test]
fn label_propagation() {
    let Some(files) = files() else { return };
    for (kind, directed) in [("dir", true), ("undir", false)] {
        let input = Input::lists(&files[&format!("cdlp/{kind}-input")], directed);
        let expected = &files[&format!("cdlp/{kind}-output")];
        input.check("cdlp", &json!({ "iterations": 5 }), expected);
    }
    for (kind, directed) in [("directed", true), ("undirected", false)] {
        let input = example(&files, kind, directed);
        let expected = &files[&format!("example/example-{kind}-CDLP")];
        input.check("cdlp", &json!({ "iterations": 2 }), expected);
    }
}

#[test]
fn clustering_coefficients() {
    let Some(files) = files() else { return };
    for (kind, directed) in [("dir", true), ("undir", false)] {
        let input = Input::lists(&files[&format!("lcc/{kind}-input")], directed);
        input.check("lcc", &json!({}), &files[&format!("lcc/{kind}-output")]);
    }
    for (kind, directed) in [("directed", true), ("undirected", false)] {
        let input = example(&files, kind, directed);
        input.check("lcc", &json!({}), &files[&format!("example/example-{kind}-LCC")]);
    }
}

#[test]
fn shortest_paths() {
    let Some(files) = files() else { return };
    for (kind, directed) in [("dir", true), ("undir", false)] {
        let file = |end: &str| &files[&format!("sssp/{kind}-{end}")];
        let input = Input::edges(file("input.v"), file("input.e"), directed);
        // The search of both starts at vertex 1, which has internal id 0.
        input.check("sssp", &json!({ "source": 0, "weight": "weight" }), file("output"));
    }
    for (kind, directed) in [("directed", true), ("undirected", false)] {
        let input = example(&files, kind, directed);
        // At vertex 1 and at vertex 2, the first of each graph.
        let expected = &files[&format!("example/example-{kind}-SSSP")];
        input.check("sssp", &json!({ "source": 0, "weight": "weight" }), expected);
    }
}

fn example(files: &Files, kind: &str, directed: bool) -> Input {
    let file = |end: &str| &files[&format!("example/example-{kind}.{end}")];
    Input::edges(file("v"), file("e"), directed)
}
