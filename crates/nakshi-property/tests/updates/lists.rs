//! The edge lists of a graph after its last commit, against the model.

use std::path::Path;

use nakshi_property::{EdgeWeight, PropertyGraph, Topology, Value};
use nakshi_store::import::Hooks;
use nakshi_store::{AmendOptions, Direction, ListStream, OpenOptions, Store};
use proptest::prelude::*;

use super::model::{Edge, Model, number};

/// Edges as source, target and weight.
type Listed = Vec<(u32, u32, String)>;

/// Compares the lists of both directions, without weights and with two kinds of them.
pub fn compare_lists(
    path: &Path,
    graph: &PropertyGraph,
    model: &Model,
) -> Result<(), TestCaseError> {
    let store = Store::open(path, &OpenOptions::default()).unwrap();
    let bring = |weight: Option<&EdgeWeight>| {
        let (options, hooks) = (AmendOptions { memory: None, threads: 2 }, Hooks::default());
        Topology::bring_up_to_date(graph, &store, weight, options, &hooks).unwrap()
    };
    let plain = bring(None);
    let one = |edge: &Edge| (edge.source, edge.target, String::new());
    let mut expected: Listed = model.edges.iter().map(one).collect();
    expected.sort_unstable();
    expected.dedup();
    compare_store(plain.store(), model, None, &expected)?;
    if !graph.weights().contains(&"age") {
        return Ok(());
    }
    for missing in [1.0, 0.5] {
        let weight = EdgeWeight { property: "age".into(), missing: Some(missing) };
        let weighted = bring(Some(&weight));
        let one = |edge: &Edge| {
            let age = match edge.properties.get("age") {
                Some(Value::Int(age)) => *age as f64,
                _ => missing,
            };
            (edge.source, edge.target, age.to_string())
        };
        let mut expected: Listed = model.edges.iter().map(one).collect();
        expected.sort_unstable();
        compare_store(weighted.store(), model, Some("age"), &expected)?;
        let lack = model.edges.iter().filter(|edge| !edge.properties.contains_key("age"));
        prop_assert_eq!(weighted.unweighted(), lack.count() as u64);
    }
    Ok(())
}

fn compare_store(
    store: &Store,
    model: &Model,
    weight: Option<&str>,
    expected: &Listed,
) -> Result<(), TestCaseError> {
    let ids = store.ids().unwrap();
    let id = |v: u32| number(&ids.external(v).unwrap());
    let vertices = u32::try_from(store.num_vertices()).unwrap();
    let mut nodes: Vec<u32> = (0..vertices).map(id).collect();
    nodes.sort_unstable();
    prop_assert_eq!(nodes, model.nodes.keys().copied().collect::<Vec<_>>());
    for node in model.nodes.keys() {
        let found = ids.internal(&super::model::id(*node)).unwrap();
        prop_assert_eq!(found.map(id), Some(*node));
    }
    for direction in [Direction::Out, Direction::In] {
        let column = weight.map(|name| store.column(name, direction).unwrap());
        let stream = ListStream::new(store, direction, column.as_ref()).unwrap();
        let (mut reader, mut found) = (stream.reader().unwrap(), Listed::new());
        for chunk in 0..stream.chunks() {
            let visited = reader.visit(chunk, |list| {
                for (i, other) in list.neighbours.iter().enumerate() {
                    let weight = list.values.as_ref().and_then(|values| values.get_f64(i));
                    let weight = weight.map_or_else(String::new, |weight| weight.to_string());
                    let (own, other) = (id(list.vertex), id(*other));
                    found.push(match direction {
                        Direction::Out => (own, other, weight),
                        Direction::In => (other, own, weight),
                    });
                }
                Ok(())
            });
            visited.unwrap();
        }
        found.sort_unstable();
        prop_assert_eq!(&found, expected, "{:?} {:?}", direction, weight);
    }
    Ok(())
}
