//! Graphs larger than memory: store, analyse, serve.
//!
//! This crate gives the layers one name:
//!
//! - [`io`]: storage backends, page cache, checksummed page files;
//! - [`store`]: the format on disk, import, external ids;
//! - [`property`]: properties of nodes and edges: queries and changes;
//! - [`engine`]: semi-external engine, vertex programs, algorithms;
//! - [`topology`]: which edge lists an algorithm runs on, after the last commit or the last compaction;
//! - [`analysis`], [`cluster`]: runs of an algorithm by its name, on one machine and on several;
//! - [`lookup`]: lists, degrees, edges, samples and paths of named vertices;
//! - [`layout`]: orders of vertices and plans of a static cache, by name;
//! - [`table`], [`names`], [`files`], [`write_back`](write_back()): results by external id, as Arrow, as
//!   files and as properties;
//! - [`info`]: the description of a store;
//! - `server`: server and client of property graphs, with the feature of that name.
//!
//! # Guide
//!
//! A *store* is a directory that an import writes once. Ids may be integers or text.
//!
//! ```
//! use nakshi::store::import::{Hooks, ImportOptions, Input, import};
//! use nakshi::store::{OpenOptions, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let edges = folder.join("edges.tsv");
//! std::fs::write(&edges, "ada\tbob\nbob\tcleo\ncleo\tada\ncleo\tdora\n")?;
//! let path = folder.join("friends.nakshi");
//! let options = ImportOptions { directed: false, ..ImportOptions::default() };
//! let report = import(vec![Input::Path(edges)], &path, &options, &Hooks::default())?;
//! assert_eq!(report.vertices, 4);
//!
//! let store = Store::open(&path, &OpenOptions::default())?;
//! assert_eq!((store.num_vertices(), store.num_edges()), (4, 4));
//! # Ok(())
//! # }
//! ```
//!
//! An algorithm runs by its name. Its parameters are JSON, and vertices have the users' ids in
//! parameters and results. An [estimate](analysis::estimate) gives the memory of a run beforehand.
//! A budget below its minimum is refused; edge lists that do not fit in the budget stay on the SSD.
//!
//! ```
//! use nakshi::analysis;
//! use nakshi::engine::Context;
//! # use nakshi::store::import::{Hooks, ImportOptions, Input, import};
//! # use nakshi::store::{OpenOptions, Store};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (edges, path) = (folder.path().join("edges.tsv"), folder.path().join("friends.nakshi"));
//! # std::fs::write(&edges, "ada\tbob\nbob\tcleo\ncleo\tada\ncleo\tdora\n")?;
//! # let options = ImportOptions { directed: false, ..ImportOptions::default() };
//! # import(vec![Input::Path(edges)], &path, &options, &Hooks::default())?;
//! # let store = Store::open(&path, &OpenOptions::default())?;
//! let parameters = json!({ "source": "dora" });
//! let needed = analysis::estimate(&store, "bfs", &parameters, &Context::new())?;
//! let cx = Context::new().with_memory(Some(needed.minimum));
//! let answer = analysis::run(&store, "bfs", &parameters, &cx)?;
//! assert_eq!(answer.summary["depth"], 2);
//! assert_eq!(answer.stats.engine, "ssd");
//!
//! // One row a vertex, ascending by id: as Arrow, or as a file.
//! let table = answer.table.ok_or("bfs has a value for every vertex")?;
//! let levels = folder.path().join("levels.tsv");
//! nakshi::files::write(&table, &levels, None, cx.cancel_token())?;
//! assert_eq!(std::fs::read_to_string(&levels)?, "ada\t2\nbob\t2\ncleo\t1\ndora\t0\n");
//!
//! let too_little = Context::new().with_memory(Some(1 << 20));
//! let refused = analysis::run(&store, "bfs", &parameters, &too_little);
//! assert!(refused.is_err_and(|e| e.to_string().contains("memory")));
//! # Ok(())
//! # }
//! ```
//!
//! A [vertex program](engine::program) defines what one vertex does; the engine runs it on all
//! vertices, with edge lists in memory or on the SSD. This one finds the largest number that
//! reaches a vertex.
//!
//! ```
//! use nakshi::engine::program::{
//!     Config, EdgeList, Facts, ListKind, ProgramNeeds, RunContext, Signals, Vertex,
//!     VertexProgram, run_program,
//! };
//! use nakshi::engine::{Context, Direction, Graph, Result, VertexId};
//!
//! struct Largest;
//!
//! impl VertexProgram for Largest {
//!     /// The largest number so far: what the engine keeps in memory.
//!     type State = u32;
//!     type Message = u32;
//!     type Scratch = ();
//!
//!     fn needs(&self) -> ProgramNeeds {
//!         ProgramNeeds::lists(&[Direction::Out])
//!     }
//!
//!     fn init(&self, vertex: VertexId, _: &Facts) -> u32 {
//!         vertex
//!     }
//!
//!     /// Runs once an iteration for every active vertex, and asks for its edge list.
//!     fn run(&self, _: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
//!         cx.request_own(ListKind::OUT);
//!     }
//!
//!     /// Runs when the list has arrived, and sends the number to all neighbours.
//!     fn run_on_vertex(
//!         &self,
//!         me: &mut Vertex<Self>,
//!         list: &EdgeList<'_>,
//!         cx: &mut RunContext<'_, Self>,
//!     ) -> Result<()> {
//!         cx.multicast_list(list, me.state)
//!     }
//!
//!     /// Takes a larger number over, and activates the vertex for the next iteration.
//!     fn run_on_message(&self, state: &mut u32, heard: &u32, cx: &mut Signals<'_, Self>) {
//!         if *heard > *state {
//!             *state = *heard;
//!             cx.activate(cx.vertex());
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<()> {
//! let graph = Graph::from_edges(5, &[(2, 0), (0, 1), (4, 3)], true, None)?;
//! let (largest, _) = run_program(&graph, &Largest, &Config::default(), &Context::new())?;
//! assert_eq!(largest, [2, 2, 2, 4, 4]);
//! # Ok(())
//! # }
//! ```

pub use nakshi_commands::{
    Error, Result, analysis, changes, cluster, files, info, layout, lookup, names, procedures,
    rows, table, topology, write_back,
};
pub use nakshi_engine as engine;
pub use nakshi_io as io;
pub use nakshi_property as property;
pub use nakshi_query as query;
#[cfg(feature = "server")]
pub use nakshi_server as server;

/// The on-disk graph store: format, import, external ids. Its check, backup and export know properties too.
pub mod store {
    pub use nakshi_property::{backup, check, export};
    pub use nakshi_store::*;
}
