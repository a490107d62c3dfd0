//! The compiled half of the `nakshi` Python package: wrappers without logic.
//!
//! - [`store`], [`outcome`]: handles of opened stores and of results;
//! - [`load`]: loading tables with properties; [`property`], [`changes`]: queries and changes;
//! - `serve`, `remote`, `on_server`: a server of a graph, and a graph on a server;
//! - [`conditions`]: property values and conditions; [`temporal`]: dates and times of properties;
//! - [`cypher`]: values and rows of queries in Cypher;
//! - [`programs`]: programs of users;
//! - [`lookup`]: lists, degrees, edges, samples and paths of named vertices;
//! - [`edge_record`]: the edges of one type of a node; [`values`]: ids and values;
//! - [`builders`]: functions that make, check and copy stores;
//! - [`cluster`]: a server of a cluster, and runs on servers;
//! - [`workloads`]: the measurements of `nakshi bench`;
//! - [`call`]: long calls that can be stopped;
//! - [`arrow_stream`], [`arrays`]: tables and NumPy arrays, as input and output;
//! - [`errors`]: the exceptions of `nakshi.errors`.
use pyo3::prelude::*;

mod arrays;
mod arrow_stream;
mod builders;
mod call;
mod changes;
mod cluster;
mod conditions;
mod cypher;
mod edge_record;
mod errors;
mod load;
mod lookup;
#[cfg(feature = "server")]
mod on_server;
mod outcome;
mod programs;
mod property;
#[cfg(feature = "server")]
mod remote;
#[cfg(feature = "server")]
mod serve;
mod store;
mod temporal;
mod values;
mod workloads;

/// The compiled half of the `nakshi` package.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::builders::{Batches, backup, build, check, export, generate};
    #[pymodule_export]
    use crate::cluster::{run_on_servers, serve};
    #[pymodule_export]
    use crate::cypher::QueryRows;
    #[pymodule_export]
    use crate::edge_record::{Record, RecordIterator};
    #[pymodule_export]
    use crate::load::{columns, import_memory, load};
    #[pymodule_export]
    use crate::lookup::{
        EdgePairs, Neighborhood, contains, degrees, edges, guided_path, has_edges, neighbors,
        shortest_path, shortest_paths, similarities, subgraph, walks,
    };
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::programs::{block_arguments, run_program};
    #[pymodule_export]
    use crate::property::{PyLogEntries, PyProperties, PyTicket};
    #[cfg(feature = "server")]
    #[pymodule_export]
    use crate::remote::{Remote, RemoteTicket};
    #[cfg(feature = "server")]
    #[pymodule_export]
    use crate::serve::{agreeing_servers, bucket_of, hash_password, serve_graph};
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::workloads::{
        measure_appends, measure_compaction, measure_friends, measure_linkbench, measure_queries,
        measure_sustained, measure_transactions,
    };

    #[cfg(feature = "server")]
    #[pymodule_export]
    use crate::workloads::measure_served;

    /// Version of the package.
    #[allow(non_upper_case_globals)] // Python's name for it.
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Declarations of all algorithms as a JSON array: parameters with defaults, help, outputs.
    #[pyfunction]
    fn declarations() -> String {
        nakshi::engine::algo::declarations().to_string()
    }
}
