//! Graphs larger than memory: store, analyse, serve.
//!
//! The layers under one name:
//!
//! - [`io`]: storage backends, page cache, checksummed page files;
//! - [`store`]: the format on disk, import, external ids;
//! - [`engine`]: semi-external engine, vertex programs, algorithms;
//!
//! and what needs several of them at once, shared by the faces:
//!
//! - [`analysis`]: from the name of an algorithm to an answer in the users' ids;
//! - [`table`], [`names`], [`files`]: per-vertex results by external id, as Arrow and as files;
//! - [`describe`]: what a store holds.

pub use nakshi_engine as engine;
pub use nakshi_io as io;
pub use nakshi_store as store;

pub mod analysis;
pub mod describe;
mod error;
pub mod files;
pub mod names;
pub mod table;

pub use error::{Error, Result};
