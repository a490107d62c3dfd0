//! Transactions: the twelve anomalies of the LDBC ACID test suite (Waudby et al., TPCTC 2020) with eight
//! threads, and a model: what a transaction has read is what it would read when it commits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nakshi_property::{
    Change, Condition, EdgeId, PropertyGraph, PropertyStore, Transaction, Value,
};
use nakshi_store::{Error, ExternalId, Result};
use proptest::prelude::*;
use tempfile::TempDir;

use super::model::{Edge, Step, change, changes, compare, edge, edge_id, id, started};
use super::open;

const THREADS: u32 = 8;

fn shared(path: &Path) -> Arc<PropertyStore> {
    let store = Arc::new(open(path));
    store.start_writing(&nakshi_io::CancelToken::new()).unwrap();
    store
}

/// A query of a transaction.
#[derive(Clone, Debug)]
enum Query {
    Has(u32),
    Properties(u32),
    Record(u32, String),
    Edge(Edge),
    Records(u32),
    Incoming(u32),
    Neighbors(u32, i64),
    Age(i64),
    Older(i64),
    Tagged(String),
    WithoutName,
    Edges(Option<String>),
    Counts,
}

fn query() -> impl Strategy<Value = Query> {
    let v = || 0..14u32;
    prop_oneof![
        v().prop_map(Query::Has),
        v().prop_map(Query::Properties),
        (v(), "[ABC]").prop_map(|(v, ty)| Query::Record(v, ty)),
        edge().prop_map(Query::Edge),
        v().prop_map(Query::Records),
        v().prop_map(Query::Incoming),
        (v(), 0..4i64).prop_map(|(v, age)| Query::Neighbors(v, age)),
        (0..4i64).prop_map(Query::Age),
        (0..4i64).prop_map(Query::Older),
        "[xy]".prop_map(Query::Tagged),
        Just(Query::WithoutName),
        prop::option::of("[ABC]").prop_map(Query::Edges),
        Just(Query::Counts),
    ]
}

/// The answer to a query, whatever its form.
fn answer(graph: &PropertyGraph, query: &Query) -> String {
    let nodes = |name: &str, condition: Condition| {
        format!("{:?}", graph.get_node_ids(&[(name, condition)]).ok())
    };
    match query {
        Query::Has(v) => format!("{:?}", graph.has_node(&id(*v))),
        Query::Properties(v) => format!("{:?}", graph.get_node_property(&id(*v), None).ok()),
        Query::Record(v, ty) => {
            let record = graph.get_edge_record(&id(*v), ty).ok();
            format!("{:?}", record.as_ref().map(|record| record.edges(0..u64::MAX)))
        }
        Query::Edge(edge) => format!("{:?}", graph.get_edge(&edge_id(edge)).ok()),
        Query::Records(v) => {
            let records = graph.get_edge_records(&id(*v)).ok();
            let edges = records.iter().flatten().map(|record| record.edges(0..u64::MAX));
            format!("{:?}", edges.collect::<Vec<_>>())
        }
        Query::Incoming(v) => format!("{:?}", graph.get_incoming_edges(&id(*v), None).ok()),
        Query::Neighbors(v, age) => {
            let aged = [("age", Condition::from(Value::Int(*age)))];
            format!("{:?}", graph.get_neighbor_ids(&id(*v), None, &aged).ok())
        }
        Query::Age(age) => nodes("age", Value::Int(*age).into()),
        Query::Older(age) => nodes(
            "age",
            Condition::Range(
                std::ops::Bound::Excluded(Value::Int(*age)),
                std::ops::Bound::Unbounded,
            ),
        ),
        Query::Tagged(tag) => nodes("tags", Value::String(tag.clone()).into()),
        Query::WithoutName => nodes("name", Condition::Null),
        Query::Edges(ty) => {
            let order = nakshi_property::QueryOrder::default();
            format!("{:?}", graph.find_edges_of(ty.as_deref(), &[], &order).ok())
        }
        Query::Counts => format!("{} {}", graph.num_nodes(), graph.num_edges()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Seen red without each of the keys that `conflict.rs` has: of an id that no node has, of existence,
    /// properties, edges, records, incoming edges, values, properties in a search, all nodes, edges of a
    /// type and all edges; and with the edges of a deleted node left out.
    #[test]
    fn a_transaction_commits_only_if_its_queries_still_have_their_answers(
        edges in prop::collection::vec(edge(), 0..20),
        before in prop::collection::vec(change(), 0..8),
        queries in prop::collection::vec(query(), 0..4),
        own in prop::collection::vec(change(), 1..4),
        others in prop::collection::vec(change(), 0..3),
    ) {
        let (_home, path, mut model) = started(&edges);
        let store = shared(&path);
        for step in &before {
            if model.apply(step).is_some() {
                store.commit(&changes(step)).unwrap();
            }
        }
        let mut transaction = store.transaction().unwrap();
        let read: Vec<String> = queries.iter().map(|one| answer(transaction.graph(), one)).collect();
        let mut mine = model.clone();
        let mut made = Vec::new();
        for step in &own {
            let expected = mine.apply(step);
            let found = transaction.apply(changes(step).remove(0)).ok().map(u64::from);
            prop_assert_eq!(found, expected, "{:?}", step);
            if found.is_some_and(|changed| changed > 0) {
                made.push(step);
            }
        }
        for step in &others {
            prop_assert_eq!(store.commit(&changes(step)).ok(), model.apply(step));
        }
        let now = store.snapshot();
        let same = queries.iter().zip(&read).all(|(one, then)| answer(&now, one) == *then);
        match transaction.commit() {
            Ok(_) => {
                // One that has changed nothing has read one state, and that is all it promises.
                prop_assert!(same || made.is_empty(), "a query has another answer");
                for step in made {
                    model.apply(step);
                }
            }
            Err(Error::Conflict(_)) => prop_assert!(!others.is_empty(), "nobody else has written"),
            Err(error) => prop_assert!(false, "{}", error),
        }
        compare(&store.snapshot(), &model)?;
        drop(store);
        compare(&open(&path).snapshot(), &model)?;
    }

    /// Seen red with the state of the store in place of that of the transaction.
    #[test]
    fn a_transaction_reads_its_own_writes(
        edges in prop::collection::vec(edge(), 0..20),
        own in prop::collection::vec(change(), 1..12),
        commits in any::<bool>(),
    ) {
        let (_home, path, mut model) = started(&edges);
        let store = shared(&path);
        let mut transaction = store.transaction().unwrap();
        let mut mine = model.clone();
        for step in &own {
            let found = transaction.apply(changes(step).remove(0)).ok().map(u64::from);
            prop_assert_eq!(found, mine.apply(step), "{:?}", step);
        }
        compare(transaction.graph(), &mine)?;
        compare(&store.snapshot(), &model)?;
        if commits {
            transaction.commit().unwrap();
            model = mine;
        } else {
            transaction.roll_back().unwrap();
        }
        compare(&store.snapshot(), &model)?;
    }
}

fn int(graph: &PropertyGraph, v: u32, name: &str) -> Result<i64> {
    match graph.get_node_property(&id(v), Some(&[name]))?.pop() {
        Some((_, Value::Int(number))) => Ok(number),
        other => panic!("{v} has {other:?}"),
    }
}

fn set(v: u32, name: &str, value: impl Into<i64>) -> Change {
    let properties = vec![(name.to_owned(), Value::Int(value.into()))];
    Change::UpdateNode { id: id(v), properties, merge: true }
}

fn list(graph: &PropertyGraph, v: u32, name: &str) -> Result<Vec<Value>> {
    match graph.get_node_property(&id(v), Some(&[name]))?.pop() {
        Some((_, Value::List(items))) => Ok(items),
        other => panic!("{v} has {other:?}"),
    }
}

fn add_to_list(transaction: &mut Transaction, v: u32, item: u32) -> Result<()> {
    let mut items = list(transaction.graph(), v, "history")?;
    items.push(Value::Int(item.into()));
    let properties = vec![("history".to_owned(), Value::List(items))];
    transaction.apply(Change::UpdateNode { id: id(v), properties, merge: true }).map(|_| ())
}

fn link(source: u32, end: u32) -> Change {
    Change::AppendEdge {
        source: id(source),
        edge_type: "link".into(),
        destination: id(end),
        timestamp: 0,
        properties: Vec::new(),
    }
}

/// Gives `f` to eight threads, with the number of each.
fn threads(f: impl Fn(u32) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let f = &f;
            scope.spawn(move || f(thread));
        }
    });
}

/// A store whose nodes 0 to 7 have a version 0, a balance and an empty history, with a node 100; its
/// folder is removed with the first result.
fn prepared() -> (TempDir, Arc<PropertyStore>) {
    let (home, path, _) = started(&[]);
    let store = shared(&path);
    let history = |v| Change::UpdateNode {
        id: id(v),
        properties: vec![("history".to_owned(), Value::List(vec![Value::Int(0)]))],
        merge: true,
    };
    let nodes = (0..8).flat_map(|v| [set(v, "version", 0), set(v, "balance", 75), history(v)]);
    let mut made: Vec<Change> = nodes.collect();
    made.push(Change::AppendNode { id: id(100), properties: Vec::new() });
    made.extend([link(0, 1), link(1, 2), link(2, 3), link(3, 0)]);
    store.commit(&made).unwrap();
    (home, store)
}

/// How often each thread repeats its transaction.
const TIMES: u32 = 30;

/// Reads twice in one transaction, with a pause in between.
fn twice<T>(transaction: &Transaction, f: impl Fn(&PropertyGraph) -> Result<T>) -> Result<(T, T)> {
    let first = f(transaction.graph())?;
    std::thread::yield_now();
    Ok((first, f(transaction.graph())?))
}

/// C and RB: a transaction is there as a whole, or not at all.
#[test]
fn atomicity() {
    let (_home, store) = prepared();
    threads(|thread| {
        for i in 0..TIMES {
            let node = 1000 * (thread + 1) + i;
            let made = store.transact(|transaction| {
                transaction.apply(Change::AppendNode { id: id(node), properties: Vec::new() })?;
                transaction.apply(set(100, "last", node))?;
                transaction.apply(link(100, node))?;
                match i % 3 {
                    0 => Err(Error::Invalid("rolled back".into())),
                    _ => Ok(()),
                }
            });
            assert_eq!(made.is_ok(), i % 3 > 0, "{made:?}");
        }
    });
    let (graph, made) = (store.snapshot(), u64::from(THREADS * TIMES / 3 * 2));
    assert_eq!(graph.num_nodes(), 9 + made);
    assert_eq!(graph.get_edge_record(&id(100), "link").unwrap().len(), made);
}

/// G0 and LU: no write is overwritten by a transaction that has not seen it.
#[test]
fn dirty_writes_and_lost_updates() {
    let (_home, store) = prepared();
    threads(|thread| {
        for i in 0..TIMES {
            store
                .transact(|transaction| {
                    let item = 1000 * (thread + 1) + i;
                    add_to_list(transaction, 0, item)?;
                    let version = int(transaction.graph(), 2, "version")?;
                    transaction.apply(set(2, "version", version + 1))?;
                    add_to_list(transaction, 1, item)
                })
                .unwrap();
        }
    });
    let graph = store.snapshot();
    let [a, b] = [0, 1].map(|v| list(&graph, v, "history").unwrap());
    assert_eq!(a, b, "G0");
    assert_eq!(a.len(), 1 + (THREADS * TIMES) as usize, "LU");
    assert_eq!(int(&graph, 2, "version").unwrap(), i64::from(THREADS * TIMES), "LU");
}

/// G1a and G1b: nobody reads what is rolled back, and nobody reads what is written over.
#[test]
fn aborted_and_intermediate_reads() {
    let (_home, store) = prepared();
    threads(|thread| {
        for i in 0..TIMES {
            if thread % 2 == 0 {
                let read = store.transact(|transaction| int(transaction.graph(), 0, "version"));
                assert_eq!(read.unwrap() % 2, 0, "G1a or G1b");
                continue;
            }
            let written = store.transact(|transaction| {
                transaction.apply(set(0, "version", 1))?;
                std::thread::yield_now();
                if i % 2 == 0 {
                    return Err(Error::Invalid("rolled back".into()));
                }
                transaction.apply(set(0, "version", 2 * i)).map(|_| ())
            });
            assert_eq!(written.is_ok(), i % 2 > 0);
        }
    });
}

/// G1c and WS: no two transactions read before each other, or each after the other.
#[test]
fn circular_flow_and_write_skew() {
    let (_home, store) = prepared();
    let next = AtomicU64::new(1);
    let seen = std::sync::Mutex::new(Vec::new());
    threads(|thread| {
        for _ in 0..TIMES {
            let (mine, other) = if thread % 2 == 0 { (4, 5) } else { (5, 4) };
            let number = next.fetch_add(1, Ordering::Relaxed) as i64;
            let read = store
                .transact(|transaction| {
                    transaction.apply(set(mine, "version", number))?;
                    int(transaction.graph(), other, "version")
                })
                .unwrap();
            seen.lock().unwrap().push((number, read));
            // Both balances together may not fall below zero.
            let (a, b) = (6, 7);
            store
                .transact(|transaction| {
                    let graph = transaction.graph();
                    let balances = [int(graph, a, "balance")?, int(graph, b, "balance")?];
                    if balances.iter().sum::<i64>() >= 100 {
                        let (v, balance) =
                            if thread % 2 == 0 { (a, balances[0]) } else { (b, balances[1]) };
                        transaction.apply(set(v, "balance", balance - 100))?;
                    } else {
                        transaction.apply(set(a, "balance", 75))?;
                        transaction.apply(set(b, "balance", 75))?;
                    }
                    Ok(())
                })
                .unwrap();
            let graph = store.snapshot();
            let sum = int(&graph, a, "balance").unwrap() + int(&graph, b, "balance").unwrap();
            assert!(sum >= 0, "WS: {sum}");
        }
    });
    let seen: std::collections::HashMap<i64, i64> =
        seen.into_inner().unwrap().into_iter().collect();
    for (number, read) in &seen {
        assert_ne!(seen.get(read), Some(number), "G1c: {number} and {read}");
    }
}

/// IMP, PMP, OTV and FR: a transaction reads one state.
#[test]
fn reads_of_one_state() {
    let (_home, store) = prepared();
    let cycle = |graph: &PropertyGraph| {
        let mut v = id(0);
        let mut versions = Vec::new();
        for _ in 0..4 {
            let ExternalId::I64(number) = v else { panic!("{v}") };
            versions.push(int(graph, number as u32, "version")?);
            v = graph.get_neighbor_ids(&v, Some("link"), &[])?.remove(0);
        }
        Ok(versions)
    };
    let aged =
        |graph: &PropertyGraph| graph.count_nodes(&[("balance", Condition::from(Value::Int(75)))]);
    threads(|thread| {
        for i in 0..TIMES {
            if thread < THREADS / 2 {
                store
                    .transact(|transaction| {
                        let version = int(transaction.graph(), 0, "version")? + 1;
                        for v in 0..4 {
                            transaction.apply(set(v, "version", version))?;
                        }
                        let balance = if i % 2 == 0 { 75 } else { 0 };
                        transaction.apply(set(4 + thread % 4, "balance", balance)).map(|_| ())
                    })
                    .unwrap();
                continue;
            }
            store
                .transact(|transaction| {
                    let (first, second) = twice(transaction, cycle)?;
                    assert_eq!(first, second, "IMP, FR");
                    assert!(first.iter().all(|version| *version == first[0]), "OTV: {first:?}");
                    let (first, second) = twice(transaction, aged)?;
                    assert_eq!(first, second, "PMP");
                    Ok(())
                })
                .unwrap();
        }
    });
    assert_eq!(int(&store.snapshot(), 3, "version").unwrap(), i64::from(THREADS / 2 * TIMES));
}

/// One of many transactions that look for a name makes the node, and the others find it.
#[test]
fn a_name_is_given_once() {
    let (_home, store) = prepared();
    let made = AtomicU64::new(0);
    threads(|thread| {
        for i in 0..TIMES {
            let name = Value::String(format!("name {i}"));
            let new = store.transact(|transaction| {
                let wanted = [("name", Condition::from(name.clone()))];
                if transaction.graph().count_nodes(&wanted)? > 0 {
                    return Ok(false);
                }
                let properties = vec![("name".to_owned(), name.clone())];
                let id = id(1000 * (thread + 1) + i);
                transaction.apply(Change::AppendNode { id, properties })
            });
            made.fetch_add(u64::from(new.unwrap()), Ordering::Relaxed);
        }
    });
    assert_eq!(made.into_inner(), u64::from(TIMES));
}

/// A thread whose transactions take long comes to its end beside seven whose transactions are short.
/// Seen red without turns: the long one gave up after 100 conflicts.
#[test]
fn nobody_starves() {
    let (_home, store) = prepared();
    let stop = super::Flag::default();
    std::thread::scope(|scope| {
        let short = || {
            while !stop.0.load(Ordering::Relaxed) {
                store.commit(&[set(0, "version", 1)]).unwrap();
            }
        };
        let _stop = stop.at_the_end();
        (1..THREADS).for_each(|_| drop(scope.spawn(short)));
        for _ in 0..3 {
            store
                .transact(|transaction| {
                    let version = int(transaction.graph(), 0, "version")?;
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    transaction.apply(set(0, "version", version + 1)).map(|_| ())
                })
                .unwrap();
        }
    });
}

/// Transactions that share nothing do not hinder each other: also not at one hub, or in one search.
#[test]
fn what_does_not_meet_commits() {
    let (_home, store) = prepared();
    let named = |name: &str| [("name", Condition::from(Value::String(name.into())))];
    let make = |v, name: &str| Change::AppendNode {
        id: id(v),
        properties: vec![("name".to_owned(), Value::String(name.into()))],
    };
    store.commit(&[make(200, "old")]).unwrap();
    let mut one = store.transaction().unwrap();
    let mut two = store.transaction().unwrap();
    for (transaction, v) in [(&mut one, 201), (&mut two, 202)] {
        let name = format!("new {v}");
        assert_eq!(transaction.graph().count_nodes(&named(&name)).unwrap(), 0);
        transaction.apply(make(v, &name)).unwrap();
        transaction.apply(link(0, v)).unwrap();
    }
    // The properties of a node are not its edges.
    let mut three = store.transaction().unwrap();
    three.graph().get_node_property(&id(0), None).unwrap();
    three.apply(set(0, "version", 9)).unwrap();
    one.commit().unwrap();
    two.commit().unwrap();
    three.commit().unwrap();
    assert_eq!(store.snapshot().get_edge_record(&id(0), "link").unwrap().len(), 3);
}

/// A change is a conflict for a search only if a node comes into its answer, or leaves it. Seen red
/// with searches that meet every change of a property that they ask for.
#[test]
fn a_search_meets_only_changes_of_its_answer() {
    use std::ops::Bound::{Included, Unbounded};
    let (_home, store) = prepared();
    store.commit(&[set(0, "version", 3), set(1, "version", 5), set(1, "count", 1)]).unwrap();
    let least = |value: i64| Condition::Range(Included(Value::Int(value)), Unbounded);
    let ones = || [("version", least(4)), ("count", Condition::from(Value::Int(1)))];
    let commits = |change: Change| {
        let mut transaction = store.transaction().unwrap();
        assert_eq!(transaction.graph().get_node_ids(&ones()).unwrap(), [id(1)]);
        transaction.apply(set(2, "seen", 1)).unwrap();
        store.commit(&[change]).unwrap();
        match transaction.commit() {
            Ok(_) => true,
            Err(Error::Conflict(_)) => false,
            Err(error) => panic!("{error}"),
        }
    };
    store.commit(&[set(2, "seen", 0)]).unwrap();
    let (version, count) = (Value::Int(9), Value::Int(2));
    let added = vec![("version".to_owned(), version), ("count".to_owned(), count)];
    assert!(commits(set(1, "version", 6)), "a value within the range takes the place of another");
    assert!(commits(set(0, "version", 1)), "a value outside takes the place of another");
    assert!(commits(Change::AppendNode { id: id(300), properties: added }), "a node not in it");
    assert!(commits(delete(300)), "a node that was not in it goes");
    assert!(!commits(set(1, "version", 2)), "the value leaves the range");
}

/// The conditions of the first searches of a transaction are kept; later ones meet a change by their keys.
/// Seen red without those keys.
#[test]
fn the_last_of_many_searches_counts() {
    let (_home, store) = prepared();
    for (value, commits) in [(299, false), (300, true)] {
        // No search asks for this value, so only the next one can meet a search.
        store.commit(&[set(1, "version", 400)]).unwrap();
        let mut transaction = store.transaction().unwrap();
        for version in 0..300 {
            let wanted = [("version", Condition::from(Value::Int(version)))];
            transaction.graph().count_nodes(&wanted).unwrap();
        }
        transaction.apply(set(2, "balance", value)).unwrap();
        store.commit(&[set(1, "version", value), set(3, "balance", 1)]).unwrap();
        assert_eq!(transaction.commit().is_ok(), commits, "{value}");
    }
}

type Read = Box<dyn Fn(&PropertyGraph) -> String>;

fn read<T: std::fmt::Debug>(f: impl Fn(&PropertyGraph) -> T + 'static) -> Read {
    Box::new(move |graph| format!("{:?}", f(graph)))
}

fn append(v: u32) -> Change {
    Change::AppendNode { id: id(v), properties: vec![] }
}

fn delete(v: u32) -> Change {
    Change::DeleteNode { id: id(v) }
}

fn found(name: &'static str, condition: impl Into<Condition>) -> Read {
    let wanted = [(name, condition.into())];
    read(move |graph| graph.get_node_ids(&wanted).unwrap())
}

/// Queries of nodes, each with a change of its answer, to be made in this order.
fn node_cases() -> Vec<(&'static str, Read, Change)> {
    use std::ops::Bound::{Included, Unbounded};
    let version = |version: i64| found("version", Value::Int(version));
    let all = Condition::Range(Included(Value::Int(0)), Unbounded);
    let fewer = Change::ChangeLabels { id: id(6), add: vec![], remove: vec!["Q".into()] };
    vec![
        ("id", read(|graph| graph.has_node(&id(300)).unwrap()), append(300)),
        ("existence", read(|graph| graph.has_node(&id(7)).unwrap()), delete(7)),
        (
            "properties",
            read(|graph| format!("{:?}", graph.get_node_property(&id(0), None))),
            set(0, "version", 2),
        ),
        ("value that a node gets", version(7), set(1, "version", 7)),
        ("value that a node loses", version(7), set(1, "version", 8)),
        ("value of a deleted node", version(8), delete(1)),
        ("item of a list", found("labels", Value::String("Q".into())), fewer),
        ("range", found("version", all), set(3, "version", 4)),
        ("no value", found("version", Condition::Null), set(5, "version", 4)),
        ("all nodes", read(PropertyGraph::num_nodes), append(301)),
    ]
}

/// As [`node_cases`], of edges.
fn edge_cases() -> Vec<(&'static str, Read, Change)> {
    let edge = |number: u64| EdgeId { number, ..edge_id(&plain(2, 3)) };
    let get = move |number: u64| {
        read(move |graph| format!("{:?}", graph.get_edge(&edge(number)).unwrap()))
    };
    let record = |v: u32, ty: &'static str| {
        read(move |graph| graph.get_edge_record(&id(v), ty).unwrap().len())
    };
    let incoming = || read(|graph| graph.get_incoming_edges(&id(4), None).unwrap());
    let older = Change::UpdateEdge {
        edge: edge(5),
        properties: vec![("age".into(), Value::Int(3))],
        merge: true,
    };
    let other = changes(&Step::AppendEdge(plain(0, 3))).remove(0);
    vec![
        ("edge", get(5), older),
        ("edge that goes", get(6), Change::RemoveEdge { edge: edge(6) }),
        ("record", record(0, "link"), link(0, 2)),
        ("records", read(|graph| graph.get_edge_records(&id(0)).unwrap().len()), other),
        ("record with an edge to a deleted node", record(4, "C"), delete(5)),
        ("incoming", incoming(), link(2, 4)),
        ("incoming from a deleted node", incoming(), delete(2)),
        (
            "edges of a type",
            read(|graph| graph.count_edges(Some("link"), &[]).unwrap()),
            link(3, 4),
        ),
        ("all edges", read(PropertyGraph::num_edges), link(4, 4)),
    ]
}

/// Each kind of query with a change that gives it another answer. Seen red without each of the keys that
/// commits write, one by one.
#[test]
fn each_query_meets_the_change_of_its_answer() {
    let (_home, path, _) = started(&[Edge { ty: "C".into(), ..plain(4, 5) }]);
    let store = shared(&path);
    let create = |number: u64| changes(&Step::CreateEdge(Edge { number, ..plain(2, 3) })).remove(0);
    let labels = vec!["P".into(), "Q".into()];
    let begin = [
        set(0, "version", 0),
        set(1, "version", 1),
        link(0, 1),
        create(5),
        create(6),
        Change::ChangeLabels { id: id(6), add: labels, remove: vec![] },
    ];
    store.commit(&begin).unwrap();
    for (name, query, change) in node_cases().into_iter().chain(edge_cases()) {
        let mut transaction = store.transaction().unwrap();
        let before = query(transaction.graph());
        transaction.apply(append(400)).unwrap();
        store.commit(&[change]).unwrap();
        assert_ne!(query(&store.snapshot()), before, "{name}");
        assert!(matches!(transaction.commit(), Err(Error::Conflict(_))), "{name}");
    }
}

fn plain(source: u32, target: u32) -> Edge {
    let (ty, properties) = ("A".to_owned(), super::Properties::new());
    Edge { source, ty, target, time: 0, number: 0, properties }
}

/// A node that was deleted and is there again is a change for whoever has found it missing. Seen red
/// without the key of its existence.
#[test]
fn a_node_comes_back() {
    let (_home, store) = prepared();
    store.commit(&[Change::DeleteNode { id: id(7) }]).unwrap();
    let mut transaction = store.transaction().unwrap();
    assert!(!transaction.graph().has_node(&id(7)).unwrap());
    transaction.apply(set(0, "version", 1)).unwrap();
    store.commit(&[Change::AppendNode { id: id(7), properties: Vec::new() }]).unwrap();
    assert!(matches!(transaction.commit(), Err(Error::Conflict(_))));
}

/// A compaction numbers the nodes anew, so a transaction that began before it runs again.
#[test]
fn a_compaction_is_a_conflict() {
    let (_home, store) = prepared();
    let mut transaction = store.transaction().unwrap();
    transaction.apply(set(0, "version", 5)).unwrap();
    store.compact(&super::options(), &nakshi_store::import::Hooks::default()).unwrap();
    let error = transaction.commit().unwrap_err();
    assert!(matches!(&error, Error::Conflict(what) if what.contains("compacted")), "{error}");
    let mut runs = 0;
    store
        .transact(|transaction| {
            runs += 1;
            transaction.apply(set(0, "version", 5))
        })
        .unwrap();
    assert_eq!((runs, int(&store.snapshot(), 0, "version").unwrap()), (1, 5));
}

/// A handle that stops writing during a transaction does not know what others have written until it
/// writes again. Seen red with a transaction that any session of the writer may commit.
#[test]
fn a_handle_that_was_released_is_another_writer() {
    let (home, store) = prepared();
    let mut transaction = store.transaction().unwrap();
    let version = int(transaction.graph(), 0, "version").unwrap();
    transaction.apply(set(0, "version", version + 1)).unwrap();
    store.release(&nakshi_io::CancelToken::new()).unwrap();
    open(&home.path().join("g.nakshi")).commit(&[set(0, "version", 7)]).unwrap();
    assert!(matches!(transaction.commit(), Err(Error::Conflict(_))));
    assert_eq!(int(&store.snapshot(), 0, "version").unwrap(), 7);
}

/// A transaction of a handle that does not write yet commits if nobody has written since, and is a
/// conflict otherwise.
#[test]
fn a_reader_begins_and_becomes_the_writer() {
    let (home, before) = prepared();
    drop(before);
    let path = home.path().join("g.nakshi");
    let store = Arc::new(open(&path));
    let mut transaction = store.transaction().unwrap();
    transaction.apply(set(0, "version", 5)).unwrap();
    {
        let other = open(&path);
        other.commit(&[set(1, "version", 7)]).unwrap();
    }
    assert!(matches!(transaction.commit(), Err(Error::Conflict(_))));
    store.transact(|transaction| transaction.apply(set(0, "version", 5))).unwrap();
    assert!(store.is_writer());
    assert_eq!([0, 1].map(|v| int(&store.snapshot(), v, "version").unwrap()), [5, 7]);
}
