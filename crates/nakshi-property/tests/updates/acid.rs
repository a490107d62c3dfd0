//! The anomalies of the LDBC ACID test suite (Waudby et al., TPCTC 2020) that do not need read
//! transactions: many threads write and read the same few nodes, and never see a forbidden state.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use nakshi_property::{Change, PropertyGraph, PropertyStore, Value};

use super::model::{id, started};
use super::{Flag, open};

/// Commits of each thread.
const COMMITS: u64 = 40;
/// Nodes whose versions belong together.
const PAIR: [u32; 2] = [0, 1];
/// Version of the nodes that only impossible batches set.
const ABORTED: i64 = -1;

fn version(v: u32, version: i64) -> Change {
    let properties = vec![("version".to_owned(), Value::Int(version))];
    Change::UpdateNode { id: id(v), properties, merge: true }
}

fn versions(graph: &PropertyGraph) -> [Value; 2] {
    PAIR.map(|v| graph.get_node_property(&id(v), Some(&["version"])).unwrap()[0].1.clone())
}

/// Each batch sets a version of both nodes of a pair and adds an edge that proves the commit. Some
/// batches set a version and then fail.
fn write(store: &PropertyStore, thread: u32, seed: u64) {
    for i in 0..COMMITS {
        let number = i64::from(thread) * 1_000_000 + (i + seed) as i64;
        let node = 1_000 * (thread + 1) + i as u32;
        let made = [
            Change::AppendNode { id: id(node), properties: vec![] },
            version(PAIR[0], number),
            Change::AppendEdge {
                source: id(2),
                edge_type: "made".into(),
                destination: id(node),
                timestamp: number,
                properties: vec![],
            },
            version(PAIR[1], number),
        ];
        store.commit(&made).unwrap();
        let fails = [version(PAIR[0], ABORTED), version(PAIR[1], ABORTED), made[0].clone()];
        assert!(store.commit(&fails).is_err());
    }
}

fn read(store: &PropertyStore, stop: &Flag, reads: &AtomicU64) {
    let (mut commit, mut made) = (0, 0);
    while !stop.0.load(Ordering::Relaxed) {
        let graph = store.snapshot();
        let [a, b] = versions(&graph);
        assert_eq!(a, b, "G0, G1b, FR: half of a batch");
        assert_ne!(a, Value::Int(ABORTED), "G1a: a batch that failed");
        // IMP, OTV: a snapshot gives the same answer every time.
        assert_eq!(versions(&graph), [a, b]);
        // G1c: a reader never sees an earlier state after a later one.
        // The type is unknown until the first edge is committed.
        let edges = graph.get_edge_record(&id(2), "made").map_or(0, |record| record.len());
        assert!(graph.commit() >= commit && edges >= made);
        (commit, made) = (graph.commit(), edges);
        reads.fetch_add(1, Ordering::Relaxed);
    }
}

fn run(path: &Path, threads: u32, seed: u64) {
    let store = open(path);
    store.commit(&PAIR.map(|v| version(v, 0))).unwrap();
    let (stop, reads) = (Flag::default(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let readers = [(); 2].map(|()| scope.spawn(|| read(&store, &stop, &reads)));
        let _stop = stop.at_the_end();
        // On busy cores, all writers could end before a reader begins.
        while reads.load(Ordering::Relaxed) == 0 && !readers.iter().any(|r| r.is_finished()) {
            std::thread::yield_now();
        }
        let writer = |thread| {
            let store = &store;
            scope.spawn(move || write(store, thread, seed))
        };
        let writers: Vec<_> = (0..threads).map(writer).collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    assert!(reads.into_inner() > 0);
    drop(store);
    // LU, C, RB: every commit has left its edge, and failed batches have left nothing.
    let graph = open(path).snapshot();
    let commits = u64::from(threads) * COMMITS;
    assert_eq!(graph.get_edge_record(&id(2), "made").unwrap().len(), commits);
    assert_eq!((graph.commit(), graph.num_nodes()), (commits + 1, 8 + commits));
    let [a, b] = versions(&graph);
    assert_eq!(a, b);
}

/// Seen red with changes of a failed batch kept, and with a state published between two changes.
#[test]
fn no_anomaly_is_seen() {
    for (seed, threads) in (0..10).zip([2, 2, 4, 4, 8, 8, 16, 16, 32, 32]) {
        let (_home, path, _) = started(&[]);
        run(&path, threads, seed);
    }
}
