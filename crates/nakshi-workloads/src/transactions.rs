//! Transactions against commits without reads, of different nodes and of one node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{Change, PropertyStore, Value};
use nakshi_store::{Error, ExternalId, Result};
use serde::Serialize;

/// The property that is written.
const COUNT: &str = "count";
/// Nodes of each thread, where threads have nodes of their own.
const NODES: usize = 1000;

/// Measurements of one kind of commits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transactions {
    /// True for transactions that read a node, add one and write it; false for commits that only write.
    pub reads: bool,
    /// True if all threads write one node; false if each has nodes of its own.
    pub one_node: bool,
    /// Threads.
    pub threads: usize,
    /// Durable commits a second.
    pub rate: f64,
    /// Commits of the thread with the fewest, and of that with the most.
    pub per_thread: (u64, u64),
}

/// Commits from all threads for some seconds, of each kind. The nodes keep the property `count`.
///
/// # Errors
/// A graph with too few nodes; errors of writing; an update that was lost; cancellation.
pub fn run(
    store: &Arc<PropertyStore>,
    threads: usize,
    lasts: Duration,
    cancel: &CancelToken,
) -> Result<Vec<Transactions>> {
    let nodes = store.snapshot().get_node_ids(&[])?;
    if nodes.len() < threads * NODES {
        return Err(Error::Invalid(format!(
            "{threads} threads need {} nodes, and there are {}",
            threads * NODES,
            nodes.len()
        )));
    }
    let mut found = Vec::new();
    for (one_node, reads) in [(false, false), (false, true), (true, false), (true, true)] {
        let own = if one_node { nodes.get(..1) } else { nodes.get(..threads * NODES) };
        let own = own.unwrap_or_default();
        let zero: Vec<Change> = own.iter().map(|id| count(id, 0)).collect();
        store.commit_until(&zero, cancel)?;
        let began = Instant::now();
        let work = |thread: usize| -> Result<u64> {
            let mine =
                if one_node { own } else { own.chunks(NODES).nth(thread).unwrap_or_default() };
            let mut done = 0;
            for id in mine.iter().cycle().take_while(|_| began.elapsed() < lasts) {
                cancel.check()?;
                match reads {
                    false => store.commit(&[count(id, done as i64)]).map(|_| ())?,
                    true => store.transact(|transaction| {
                        let value =
                            transaction.graph().get_node_property(id, Some(&[COUNT]))?.pop();
                        let Some((_, Value::Int(before))) = value else {
                            return Err(Error::Internal("a count is no number"));
                        };
                        transaction.apply(count(id, before + 1)).map(|_| ())
                    })?,
                }
                done += 1;
            }
            Ok(done)
        };
        let done = nakshi_io::run_workers(threads, work)?;
        let seconds = began.elapsed().as_secs_f64();
        let sum: u64 = done.iter().sum();
        if reads {
            no_update_is_lost(store, own, sum)?;
        }
        let least = done.iter().min().copied().unwrap_or(0);
        let per_thread = (least, done.iter().max().copied().unwrap_or(0));
        found.push(Transactions {
            reads,
            one_node,
            threads,
            rate: sum as f64 / seconds,
            per_thread,
        });
    }
    Ok(found)
}

/// A change that writes the count of a node.
fn count(id: &ExternalId, to: i64) -> Change {
    let properties = vec![(COUNT.to_owned(), Value::Int(to))];
    Change::UpdateNode { id: id.clone(), properties, merge: true }
}

/// Compares the sum of all counts with the number of transactions.
fn no_update_is_lost(store: &PropertyStore, nodes: &[ExternalId], made: u64) -> Result<()> {
    let graph = store.snapshot();
    let all = graph.get_node_properties(nodes, Some(&[COUNT]))?;
    let counts = all.iter().flatten().map(|(_, value)| match value {
        Value::Int(count) => *count,
        _ => 0,
    });
    let sum: i64 = counts.sum();
    if sum == made as i64 {
        return Ok(());
    }
    Err(Error::Invalid(format!("{made} transactions have added one, and the sum is {sum}")))
}
