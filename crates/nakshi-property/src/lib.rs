//! Property graphs: nodes and edges with properties, queried in compressed form.
//!
//! The data model is ZipG's (Khandelwal et al., SIGMOD 2017, section 2.1): nodes with properties,
//! edges of a source, a type and a destination with a timestamp and properties. The edges of one type
//! of a node are its *edge record*, in the order of their times.
//!
//! - [`load`] with [`LoadOptions`] makes a store from [`Table`]s
//! - [`Relaid`]: a graph in another order of its nodes, in a new store
//! - [`PropertyGraph`]: the queries of the paper's Table 1, on the state after a commit
//! - [`PropertyStore`]: changes, durable and one commit after the other; [`Change`]
//! - [`project`]: some of its edges as a graph for algorithms
//! - [`tao`]: the operations of TAO on it; [`search`]: the queries of Graph Search
//! - [`check()`], [`backup()`], [`export`]: those of `nakshi-store`, with properties and their log
//! - [`Value`], [`PropertyType`]: what properties can be; [`Condition`]: what is asked of them
//! - `state`: files (`base`) and what has changed since (`logstore`, with `timeline`); `record`: the edges
//!   of both as one list; `apply`: what a change does; `log`: its files; `live`: the writer; `compact`: the
//!   log becomes files
//! - `segment`, `writer`: files of nodes and edges; `verify`: whether they are right; `column`: the values of a property by the codec
//!   that takes least, or by `searchable`; `flat`: properties as compressed text instead; `blocks`: as they are, side by side; `texts`, `packed`, `monotone`: strings, numbers, ascending numbers

#![deny(missing_docs)]

mod apply;
mod aside;
mod backup;
mod base;
mod blob;
mod blocks;
mod check;
mod column;
mod compact;
mod compressed_text;
mod entry;
pub mod export;
mod flat;
mod graph;
mod import;
mod live;
mod log;
mod logstore;
mod monotone;
mod orphans;
mod packed;
mod project;
mod record;
mod replay;
mod row;
mod schema;
pub mod search;
mod searchable;
mod segment;
mod spec;
mod state;
pub mod tao;
mod texts;
mod timeline;
mod value;
mod verify;
mod walk;
mod wanted;
mod writer;

pub(crate) use aside::unless_cancelled;
pub use backup::backup;
pub(crate) use base::Base;
pub use check::{PropertyCheck, check};
pub use compact::CompactReport;
pub use entry::{PropertyEntry, PropertyLayout, SegmentEntry};
pub(crate) use entry::{SegmentDirectory, ShardDirectory};
pub use graph::{EdgeData, PropertyGraph};
pub(crate) use import::TIME;
pub use import::{LoadOptions, LoadReport, Relaid, Rows, Table, load, load_with};
pub use live::{PropertyStore, Ticket};
pub use log::Change;
pub use project::{Along, Projection, project};
pub use record::EdgeRecord;
pub use spec::PropertySpec;
pub use value::{PropertyType, Scalar, Value};
pub(crate) use walk::id_bytes;
pub use wanted::Condition;
