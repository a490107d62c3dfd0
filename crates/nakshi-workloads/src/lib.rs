//! Workloads that measure a store with properties: what `nakshi bench` runs.
//!
//! - [`queries`]: the reading queries of TAO and of Graph Search;
//! - `served`: the same queries, asked of a server;
//! - [`changes`]: LinkBench's mix of reads and durable changes; durable appends;
//! - [`transactions`]: transactions against commits that only write;
//! - [`compaction`]: reads before, during and after a compaction;
//! - [`sustained`]: changes for minutes, and reads beside them;
//! - [`friends`]: lists of friends on cold pages, the workload of Bondhu.

pub mod changes;
pub mod compaction;
mod draw;
pub mod friends;
pub mod queries;
#[cfg(feature = "server")]
pub mod served;
pub mod sustained;
pub mod transactions;
