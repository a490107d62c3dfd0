//! Property graphs: nodes and edges with properties, queried in compressed form.
//!
//! The data model is ZipG's (Khandelwal et al., SIGMOD 2017, section 2.1): nodes with properties,
//! edges of a source, a type and a destination with a timestamp and properties. The edges of one type
//! of a node are its *edge record*, in the order of their times.
//!
//! - [`load`] with [`LoadOptions`] makes a store from [`Table`]s
//! - [`PropertyGraph`]: the queries of the paper's Table 1
//! - [`tao`]: the operations of TAO on it; [`search`]: the queries of Graph Search
//! - [`Value`], [`PropertyType`]: what properties can be
//! - `segment`, `writer`: files of nodes and edges; `verify`: whether they are right; `column`: the values of a property by the codec
//!   that takes least; `flat`: properties as compressed text instead; `texts`, `packed`, `monotone`: strings, numbers, ascending numbers

mod blob;
mod column;
mod entry;
mod flat;
mod graph;
mod import;
mod monotone;
mod packed;
pub mod search;
mod segment;
pub mod tao;
mod texts;
mod value;
mod verify;
mod writer;

pub use entry::{PropertyEntry, PropertyLayout, PropertySpec, SegmentEntry};
pub(crate) use entry::{SegmentDirectory, ShardDirectory};
pub use graph::{EdgeData, EdgeRecord, PropertyGraph};
pub use import::{LoadOptions, LoadReport, Rows, Table, load, load_with};
pub use value::{PropertyType, Scalar, Value};
