//! Property graphs: nodes and edges with properties, queried in compressed form.
//!
//! The data model is ZipG's (Khandelwal et al., SIGMOD 2017, section 2.1). Nodes have properties.
//! An edge has a source, a type, a destination, a timestamp and properties. The edges of one type
//! of a node, in the order of their times, are an *edge record*.
//!
//! The public items:
//!
//! - [`load`] makes a store from [`Table`]s, as [`LoadOptions`] say; [`Reorder`] writes a graph in
//!   another vertex order into a new store
//! - [`PropertyGraph`] answers the queries of the paper's Table 1 on the state after a commit
//! - [`Catalog`] has labels, types of edges and properties, with counts
//! - [`PropertyStore`] makes [`Change`]s durable, one commit after the other
//! - [`Transaction`] reads, decides and writes, and commits only if nothing that it read has changed
//! - A store is one of several with the same commits if a [`CommitLog`] has them first, which a
//!   [`Journal`] can keep
//! - [`EdgeNumbers`] is an edge by internal numbers, as queries in a language go through the graph
//! - A [`Rule`] is a constraint that every commit has to keep, or an index by name
//! - [`IncomingEdge`] is an edge as its destination sees it
//! - [`Topology`] has the edge lists after the last commit, for algorithms, with properties as weights
//! - [`project`] gives some of the edges to algorithms, as a graph without properties;
//!   [`PropertyGraph::write_part`] gives those of some buckets to a process of a run on several machines
//! - [`tao`] has the operations of TAO, [`search`] the queries of Graph Search
//! - [`check()`], [`backup()`] and [`export`] do what those of `nakshi-store` do, and include the
//!   properties and their log
//! - [`log_state`] tells whether the log has commits; [`PropertyGraph::targets`] and
//!   [`PropertyGraph::sources`] are the neighbours of a node with them
//! - [`Value`] and [`PropertyType`] say what a property can hold, [`Condition`] what a query can
//!   ask of it
//!
//! The modules inside:
//!
//! - `segment` and `writer` read and write the files of nodes and edges, and `verify` checks them.
//!   A file has one of three layouts: `column` stores the values of a property by the codec that
//!   takes fewest bytes, or as text that `searchable` searches; `flat` stores properties as
//!   compressed text; `blocks` stores them side by side, uncompressed
//! - `shard_map` has the shard of each node, and its row there
//! - `texts`, `packed` and `elias_fano` encode strings, numbers and ascending numbers
//! - `state` is a commit: the files (`base`) and the changes since (`logstore` with `timeline`);
//!   `record` reads the edges of both as one list, `edge_search` finds edges by their properties,
//!   and `query_order` sorts and counts what a query has found
//! - `keep` checks constraints for what a commit touches
//! - `conflict` says whether a transaction has read what later commits have written
//! - `bucket_set` says what a server has that shares a graph with others, `moved_buckets` which of it is
//!   elsewhere than the list of servers says, and `share` has a server take and leave buckets
//! - `apply` makes a change with `lookups`, `log` reads and writes the log files, `property_store` is
//!   the writer, and `compact` turns the log into files

#![deny(missing_docs)]

mod apply;
mod apply_log;
mod aside;
mod backup;
mod base;
mod blob;
mod blocks;
mod bucket_set;
mod by_number;
mod catalog;
mod check;
mod column;
mod commit_log;
mod compact;
mod compressed_text;
mod condition;
mod conflict;
mod edge_part;
mod edge_search;
mod elias_fano;
mod entry;
mod expand;
pub mod export;
mod flat;
mod flush;
mod fragment;
mod graph;
mod group_commit;
mod import;
mod incoming;
mod instant;
mod keep;
mod key_filter;
mod layers;
mod log;
mod logstore;
mod lookups;
mod maintenance;
mod moved_buckets;
mod nearest;
mod neighbors;
mod orphans;
mod outcome;
mod packed;
mod packed_list;
mod parts;
mod project;
mod property_store;
mod query_order;
mod record;
mod replay;
mod replication;
mod room;
mod row;
mod row_set;
mod rule;
mod schema;
mod scratch;
pub mod search;
mod searchable;
mod segment;
mod shard_map;
mod share;
mod spec;
mod state;
pub mod tao;
mod temporal;
mod texts;
mod timeline;
mod topology;
mod transaction;
mod turns;
mod upkeep;
mod value;
mod verify;
mod vertex_map;
mod walk;
mod writer;

pub use apply_log::ApplyReport;
pub(crate) use aside::unless_cancelled;
pub use backup::{backup, begin_backup};
pub(crate) use base::Base;
pub use base::{PropertyMemory, property_memory};
pub use bucket_set::{BUCKETS, BucketSet, bucket_of};
pub use by_number::{EdgeNumbers, EdgePlace};
pub use catalog::{Catalog, EdgeTypeSummary, EndsSummary, LabelSummary, PropertySummary};
pub use check::{PropertyCheck, check};
pub use commit_log::CommitLog;
pub use compact::CompactReport;
pub use condition::Condition;
pub use edge_part::PartCounts;
pub use entry::{
    Dealt, FragmentEntry, FragmentsEntry, LogStart, PropertyEntry, PropertyLayout, SegmentEntry,
    files_generation,
};
pub(crate) use entry::{SegmentDirectory, ShardDirectory};
pub use expand::Frontier;
pub use graph::{EdgeData, PropertyGraph};
pub(crate) use import::TIME;
pub use import::{
    ColumnHeader, GraphRows, IdSpaces, LoadOptions, LoadReport, MissingNodes, ParallelEdges,
    Reorder, Table, TableRows, load, load_with, table_columns,
};
pub use incoming::IncomingEdge;
pub use log::{Change, EdgeId, Journal, LogEntries, LogEntry, TransactionMark, has_changes};
pub use maintenance::LayersReport;
pub use moved_buckets::MovedBuckets;
pub use neighbors::{LogState, log_state};
pub use outcome::FoundCommit;
pub use project::{Along, Projection, project};
pub use property_store::{PropertyStore, Ticket};
pub use query_order::{QueryOrder, added_up};
pub use record::EdgeRecord;
pub use rule::{Rule, RuleKind, RuleTarget};
pub use spec::{LABELS, PropertySpec};
pub use temporal::Temporal;
pub use topology::{EdgeWeight, Topology};
pub use transaction::{Savepoint, Transaction};
pub use value::{PropertyType, Scalar, Value};
