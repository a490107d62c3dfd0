//! Conditions, with a filter over all nodes and edges of the model as oracle.

use std::ops::Bound;

use nakshi_property::{Condition, EdgeData, PropertyGraph, QueryOrder, Value};
use proptest::prelude::*;

use super::model::{Edge, Model, Properties, compare_found_edges, id, number};

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

/// Conditions on the number `age`, the string `name` and the list of strings `tags`.
fn conditions() -> Vec<(&'static str, Condition)> {
    use Bound::{Excluded, Included, Unbounded};
    let (one, two) = (Value::Int(1), Value::Int(2));
    let range = Condition::Range;
    vec![
        ("age", range(Included(one.clone()), Unbounded)),
        ("age", range(Excluded(one.clone()), Unbounded)),
        ("age", range(Unbounded, Excluded(two.clone()))),
        ("age", range(Included(one.clone()), Included(two.clone()))),
        ("age", range(Included(two.clone()), Included(one.clone()))),
        ("age", Condition::In(vec![Value::Int(0), Value::Int(3)])),
        ("age", Condition::In(vec![])),
        ("age", Condition::Null),
        ("age", not(Condition::Null)),
        ("age", not(Condition::Is(two.clone()))),
        ("age", Condition::Any(vec![Condition::Null, range(Excluded(two), Unbounded)])),
        ("age", Condition::All(vec![not(Condition::Is(one)), not(Condition::Null)])),
        ("age", Condition::All(vec![])),
        ("name", Condition::Starts(text("a"))),
        ("name", Condition::Starts(text(""))),
        ("name", range(Excluded(text("a")), Included(text("b")))),
        ("name", Condition::In(vec![text("ab"), text("")])),
        ("name", not(Condition::Contains(text("b")))),
        (
            "name",
            Condition::All(vec![Condition::Contains(text("a")), not(Condition::Is(text("a")))]),
        ),
        ("tags", Condition::Starts(text("y"))),
        ("tags", Condition::In(vec![text("x"), text("z")])),
        ("tags", range(Excluded(text("x")), Unbounded)),
        ("tags", not(Condition::Is(text("x")))),
        ("tags", Condition::Any(vec![Condition::Null, Condition::Contains(text("y"))])),
    ]
}

/// The oracle: evaluates a condition on a value.
fn holds(condition: &Condition, value: Option<&Value>) -> bool {
    match (condition, value) {
        (Condition::Null, _) => value.is_none(),
        (Condition::Not(one), _) => !holds(one, value),
        (Condition::All(all), _) => all.iter().all(|one| holds(one, value)),
        (Condition::Any(all), _) => all.iter().any(|one| holds(one, value)),
        (Condition::In(all), _) => all.iter().any(|one| holds(&one.clone().into(), value)),
        (_, None) => false,
        (_, Some(Value::List(items))) => items.iter().any(|item| holds_of(condition, item)),
        (_, Some(value)) => holds_of(condition, value),
    }
}

fn holds_of(condition: &Condition, value: &Value) -> bool {
    match (condition, value) {
        (Condition::Is(wanted), _) => wanted == value,
        (Condition::Contains(Value::String(part)), Value::String(text)) => text.contains(part),
        (Condition::Starts(Value::String(part)), Value::String(text)) => text.starts_with(part),
        (Condition::Range(low, high), _) => {
            let order = |bound: &Value| value.compare(bound).unwrap();
            let from = match low {
                Bound::Included(low) => order(low).is_ge(),
                Bound::Excluded(low) => order(low).is_gt(),
                Bound::Unbounded => true,
            };
            from && match high {
                Bound::Included(high) => order(high).is_le(),
                Bound::Excluded(high) => order(high).is_lt(),
                Bound::Unbounded => true,
            }
        }
        _ => false,
    }
}

/// Compares the nodes, edges and neighbours that meet each condition, alone and beside another one.
pub fn compare_conditions(graph: &PropertyGraph, model: &Model) -> Result<(), TestCaseError> {
    let young = ("age", Condition::Range(Bound::Unbounded, Bound::Included(Value::Int(1))));
    let edge_names: Vec<&str> =
        graph.edge_properties().iter().map(|spec| spec.name.as_str()).collect();
    for (name, condition) in conditions() {
        let fits = |properties: &Properties| holds(&condition, properties.get(name));
        let is_young = |properties: &Properties| holds(&young.1, properties.get("age"));
        let both = [(name, condition.clone()), young.clone()];
        let mut expected: Vec<u32> = Vec::new();
        for (asked, with_young) in [(&both[..1], false), (&both[..], true)] {
            let nodes = model.nodes.iter().filter(|(_, p)| fits(p) && (!with_young || is_young(p)));
            expected = nodes.map(|(v, _)| *v).collect();
            let mut found: Vec<u32> =
                graph.get_node_ids(asked).unwrap().iter().map(number).collect();
            found.sort_unstable();
            prop_assert_eq!(&found, &expected, "{} {:?}", name, condition);
            prop_assert_eq!(graph.count_nodes(asked).unwrap(), expected.len() as u64);
        }
        for (v, ty) in [(0, "A"), (1, "B"), (9, "A")] {
            if model.nodes.contains_key(&v) {
                // A type that no edge has had yet is refused, and the model has no edges of it.
                let found = match graph.get_neighbor_ids(&id(v), Some(ty), &both) {
                    Err(error) if error.to_string().contains("no edges of type") => Vec::new(),
                    found => found.unwrap(),
                };
                let mut found: Vec<u32> = found.iter().map(number).collect();
                let ends = model.record(v, ty).into_iter().map(|edge| edge.target);
                let mut near: Vec<u32> = ends.filter(|end| expected.contains(end)).collect();
                near.sort_unstable();
                near.dedup();
                found.sort_unstable();
                prop_assert_eq!(found, near);
            }
        }
        if edge_names.contains(&name) {
            compare_found_edges(graph, model, (name, condition.clone()), fits)?;
        }
    }
    compare_orders(graph, model)?;
    compare_counts(graph, model)?;
    compare_edges(graph, model)
}

/// Compares edges by time and by age, of each type and of all, and their counts by age. Seen red with
/// edges without the property first, and with counts that ignored the type.
fn compare_edges(graph: &PropertyGraph, model: &Model) -> Result<(), TestCaseError> {
    let has_age = graph.edge_properties().iter().any(|spec| spec.name == "age");
    let types = graph.edge_types().iter().map(|ty| Some(ty.as_str())).chain([None]);
    for ty in types {
        let edges: Vec<&Edge> =
            model.edges.iter().filter(|edge| ty.is_none_or(|ty| edge.ty == ty)).collect();
        prop_assert_eq!(graph.count_edges(ty, &[]).unwrap(), edges.len() as u64);
        for (descending, limit) in [(false, None), (true, Some(3))] {
            let sorted = |by| {
                let order = QueryOrder { by: Some(by), descending, limit };
                graph.find_edges_of(ty, &[], &order).unwrap()
            };
            let flip = |value: i64| if descending { -value } else { value };
            let mut times: Vec<i64> = edges.iter().map(|edge| edge.time).collect();
            times.sort_by_key(|time| flip(*time));
            times.truncate(limit.unwrap_or(usize::MAX));
            let found: Vec<i64> =
                sorted("timestamp").iter().map(|(_, _, data)| data.timestamp).collect();
            prop_assert_eq!(found, times);
            if has_age {
                let age = |value: Option<&Value>| match value {
                    Some(Value::Int(age)) => Some(*age),
                    _ => None,
                };
                let mut ages: Vec<Option<i64>> =
                    edges.iter().map(|edge| age(edge.properties.get("age"))).collect();
                ages.sort_by_key(|age| (age.is_none(), flip(age.unwrap_or(0))));
                ages.truncate(limit.unwrap_or(usize::MAX));
                let of = |data: &EdgeData<'_>| {
                    age(data.properties.iter().find(|(name, _)| *name == "age").map(|(_, v)| v))
                };
                let found: Vec<Option<i64>> =
                    sorted("age").iter().map(|(_, _, data)| of(data)).collect();
                prop_assert_eq!(found, ages);
            }
        }
        if has_age {
            for (value, count) in graph.count_edges_by(ty, &[], "age").unwrap() {
                let wanted = if value == Value::Null { None } else { Some(&value) };
                let expected = edges.iter().filter(|edge| edge.properties.get("age") == wanted);
                prop_assert_eq!(count, expected.count() as u64);
            }
        }
    }
    Ok(())
}

/// Compares nodes in the order of their age, with those without an age last.
fn compare_orders(graph: &PropertyGraph, model: &Model) -> Result<(), TestCaseError> {
    let age = |v: &u32| match model.nodes[v].get("age") {
        Some(Value::Int(age)) => Some(*age),
        _ => None,
    };
    for (descending, limit) in [(false, None), (true, None), (false, Some(3)), (true, Some(1))] {
        let order = QueryOrder { by: Some("age"), descending, limit };
        let found = graph.find_nodes(&[], &order).unwrap();
        let found: Vec<Option<i64>> = found.iter().map(|id| age(&number(id))).collect();
        let mut expected: Vec<Option<i64>> = model.nodes.keys().map(age).collect();
        let key = |age: &Option<i64>| {
            let value = age.unwrap_or(0);
            (age.is_none(), if descending { -value } else { value })
        };
        expected.sort_by_key(key);
        expected.truncate(limit.unwrap_or(usize::MAX));
        prop_assert_eq!(found, expected);
    }
    let lists = QueryOrder { by: Some("tags"), ..QueryOrder::default() };
    prop_assert!(graph.find_nodes(&[], &lists).is_err());
    Ok(())
}

/// Compares counts of nodes by age, and by each of their tags.
fn compare_counts(graph: &PropertyGraph, model: &Model) -> Result<(), TestCaseError> {
    let ages = graph.count_nodes_by(&[], "age").unwrap();
    for (value, count) in &ages {
        let wanted = if *value == Value::Null { None } else { Some(value) };
        let expected = model.nodes.values().filter(|p| p.get("age") == wanted).count();
        prop_assert_eq!(*count, expected as u64);
    }
    prop_assert_eq!(ages.iter().map(|(_, count)| count).sum::<u64>(), model.nodes.len() as u64);
    prop_assert!(ages.is_sorted_by(|(_, a), (_, b)| a >= b));
    for (value, count) in graph.count_nodes_by(&[], "tags").unwrap() {
        let has = |p: &&Properties| match p.get("tags") {
            None => value == Value::Null,
            Some(Value::List(tags)) => tags.contains(&value),
            Some(_) => false,
        };
        prop_assert_eq!(count, model.nodes.values().filter(has).count() as u64);
    }
    Ok(())
}
